# SPDX-License-Identifier: Apache-2.0
"""Looks at the built site: every link leads to a file of it and to an anchor if it names one, and no Markdown is left.

site.py SITE prints a line for each fault, and then how many links there were.
"""

import html.parser
import os
import re
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """The links and anchors of one page, and the text of its paragraphs."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.left = [], set(), []
        self.text, self.inside = "", False
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src") and tag != "form":
                self.links.append(value)
            elif name in ("id", "name"):
                self.anchors.add(value)
        if tag == "p":
            self.text, self.inside = "", True
        elif self.inside and tag in ("code", "a"):
            self.text += "`"  # what begins with it is no list

    def handle_endtag(self, tag):
        if tag == "p" and self.inside:
            self.inside = False
            if re.search(r"^(- |\* |\d+\. |\||```|#+ )", self.text, re.MULTILINE):
                self.left.append(self.text.strip().splitlines()[0][:60])

    def handle_data(self, data):
        if self.inside:
            self.text += data


def main():
    site = os.path.realpath(sys.argv[1])
    pages = {}
    for folder, _, files in os.walk(site):
        for name in files:
            if name.endswith(".html") and not folder.endswith("/theme"):
                path = os.path.join(folder, name)
                pages[path] = Page(path)
    links = 0
    for path, page in sorted(pages.items()):
        if os.path.basename(path) in ("404.html", "search.html"):
            continue
        name = os.path.relpath(path, site)
        for text in page.left:
            print(f"{name}: a list, table or block is not one: {text}")
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            links += 1
            target = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path))) if parts.path else path
            if not os.path.isfile(target):
                print(f"{name}: leads to {link}, which is not there")
            elif parts.fragment and parts.fragment not in pages.get(target, page).anchors:
                print(f"{name}: leads to {link}, and there is no such heading")
    print(f"{len(pages)} pages, {links} links")


main()
