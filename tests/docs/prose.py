#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prose figures of Markdown pages: words, sentences, mean length, sentences over 35 words, phrases to avoid (markers).

    prose.py FILE.md...          a line a file
    prose.py --show FILE.md...   the long sentences themselves
"""
import re
import sys

MARKERS = r"\bof which\b|\bbeside\b|billion|(?<![\w.\d/])\.\d+\b|, too\b|\bso many\b|\blies\b|\bhas come\b"


def plain(path):
    lines, fenced = [], False
    for line in open(path, encoding="utf-8"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        if fenced or line.startswith(("|", "#", "<!--", "![")):
            lines.append("\n")
            continue
        lines.append(line)
    text = re.sub(r"`[^`]*`", "X", "".join(lines))
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)


def sentences(text):
    found = []
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*[-*\d])", text):
        paragraph = " ".join(paragraph.split())
        found += [s for s in re.split(r"(?<=[.!?:;])\s+(?=[A-Z\"X])", paragraph) if len(s.split()) > 2]
    return found


show = sys.argv[1:2] == ["--show"]
for path in sys.argv[1 + show:]:
    text = plain(path)
    lengths = [(len(s.split()), s) for s in sentences(text)]
    words = sum(n for n, _ in lengths)
    long = [s for n, s in lengths if n > 35]
    print(f"{path}: {words} words, {len(lengths)} sentences, mean {words / max(1, len(lengths)):.1f}, "
          f"{len(long)} over 35, {len(re.findall(MARKERS, text))} markers")
    if show:
        for s in long:
            print("   ", s)
