#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions and structs that are too large to be read at once: one line for each, over the checkout in the current folder.

A function has at most 60 lines and 8 parameters. A struct has at most 20 members, in core/batch, where it is an argument of
kernels, 15. The sources are read as clang-format writes them: what stands in column 1 begins a definition, and a brace in
column 1 ends it. tsr_shape, the facts of a composition, is one plain struct by design, and tsr_backend the functions of a
device. structure_test.sh calls this.
"""
import os
import re

LINES, PARAMETERS, MEMBERS = 60, 8, 20
BY_DESIGN = {"tsr_shape": 22, "tsr_backend": 32}
IN_BATCH = 15  # of a struct in core/batch, where each is the argument of some steps, or a part of one


def sources():
    for top in ("core", "tools", "plugins", "layouts", "probing", "hashers", "allocators", "eviction"):
        for folder, _, files in os.walk(top):
            for file in sorted(files):
                if file.endswith((".c", ".h", ".cu", ".cuh")):
                    yield os.path.join(folder, file)


def definitions(path):
    """(first line, lines, head, body) of everything in braces that begins in column 1."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    at = 0
    while at < len(lines):
        if re.match(r"[A-Za-z_]", lines[at]):
            begin = at
            while at < len(lines) - 1 and lines[at] and not lines[at].rstrip("\\ ").endswith(("{", ";", "}")):
                at += 1
            if lines[at].endswith("{"):
                end = at
                while end < len(lines) and not lines[end].startswith("}"):
                    end += 1
                yield begin + 1, end - begin + 1, " ".join(line.strip() for line in lines[begin : at + 1]), lines[at + 1 : end]
                at = end
        at += 1


def commas(text):
    """How many commas stand outside brackets."""
    depth = count = 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        count += letter == "," and depth == 0
    return count


def members(body):
    text = re.sub(r"/\*.*?\*/", "", " ".join(body))
    while re.search(r"\{[^{}]*\}", text):
        text = re.sub(r"\{[^{}]*\}", "", text)
    return sum(commas(part) + 1 for part in text.split(";") if part.strip())


def main():
    for path in sources():
        for line, count, head, body in definitions(path):
            struct = re.match(r"(?:typedef )?(?:struct|union) (\w+) \{$", head)
            if struct:
                most = BY_DESIGN.get(struct.group(1), IN_BATCH if path.startswith("core/batch/") else MEMBERS)
                if members(body) > most:
                    print(f"{path}:{line}: struct {struct.group(1)} has {members(body)} members: at most {most}")
                continue
            called = re.search(r"(\w+)\(", re.sub(r"__\w+__\([^()]*\)", "", head))
            if not called or "=" in head.split("(")[0] or head == 'extern "C" {':
                continue
            if count > LINES:
                print(f"{path}:{line}: {called.group(1)} has {count} lines: at most {LINES}")
            arguments = head[head.index("(", head.index(called.group(1) + "(")) + 1 : head.rindex(")")]
            if commas(arguments) + 1 > PARAMETERS:
                print(f"{path}:{line}: {called.group(1)} has {commas(arguments) + 1} parameters: at most {PARAMETERS}")


main()
