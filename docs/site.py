# SPDX-License-Identifier: Apache-2.0
"""Makes MkDocs read a page as GitHub does. Its other half is the configuration, mkdocs.yml."""

import re

ITEM = re.compile(r"([-*]|\d+\.) ")
INLINE = re.compile(r"(?<!<pre>)(?<!</span>)<code>[^<]*</code>")  # not in <pre>
OPTION = re.compile(r"(?<=[\s>=])--?\w[\w-]*")
BLOCK = re.compile(r"([-*]|\d+\.) |[\s|#<>]")  # what a list may follow at once


def anchor(heading, separator):
    """The name of a heading in links: lower case, a dash per blank, no punctuation."""
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", separator)


def on_config(config):
    config["mdx_configs"]["toc"] = {"slugify": anchor, "permalink": False}
    return config


def on_page_markdown(markdown, **_):
    """A fence keeps its language alone: `c count.c` is for tests/docs/pages_test.sh. A list ends a paragraph."""
    lines, fenced = [], False
    for line in markdown.splitlines():
        if re.match(r"\s*```", line):
            fenced = not fenced
            line = re.sub(r"^(\s*```\w+) .*$", r"\1", line)
        elif not fenced and ITEM.match(line) and lines and lines[-1] and not BLOCK.match(lines[-1]):
            lines.append("")
        lines.append(line)
    return "\n".join(lines) + "\n"


def on_page_content(html, **_):
    """A wide table scrolls by itself, not with the page; a picture leads to itself, to be seen in its own size. An option
    such as --set is not broken behind its dashes."""
    html = INLINE.sub(lambda code: OPTION.sub(r'<span class="option">\g<0></span>', code[0]), html)
    html = re.sub(r'(<img [^>]*src="([^"]+)"[^>]*>)', r'<a href="\2">\1</a>', html)
    return html.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")
