#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# How saved_by_0.1.0.tar.xz was made: corpus.py ROOT, where ROOT is a built tree of 0.1.0. A table of every kind, layout and
# scheme that went together then, in both widths, and of the settings that change a table's memory. old_test.cc loads them
# and knows by the same rules what they hold. A later release gets an archive of its own.
import itertools
import os
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(sys.argv[1])
FOLDERS = ("layouts", "probing", "hashers", "allocators", "eviction")
LAYOUTS = ("soa", "aos", "packed", "tagged", "quotient", "slab")
SCHEMES = ("linear", "quadratic", "double_hashing", "cuckoo", "robin_hood", "two_choice", "iceberg", "slab_list",
           "hashgraph")
KINDS = ("set", "map", "multiset", "multimap", "counter")
MORE = ("stash = 16", "concurrency = mixed", "page_bytes = 4096", "filter = 8", "duplicates = promise_unique",
        "values = buckets\nallocator = slab", "value_bytes = 16", "devices = 0,0")


def keys_of(kind, bits):
    top = 1 << bits
    keys = [0, 1, 2, top - 1, top - 2, top - 3]
    keys += [(i * 0x9E3779B97F4A7C15) % (1 << 64) >> (64 - bits) for i in range(1, 25)]
    if kind.startswith("multi"):
        keys += [0, 0, top - 1, top - 2] + keys[6:12]
    return keys


def save(folder, name, kind, bits, entries):
    with open(f"{folder}/spec.ini", "w") as out:
        out.write(f"[table]\nkind = {kind}\nkey_bits = {bits}\ncapacity = 48\nbackend = cpu\nhasher = murmur3\n{entries}\n")
    keys = keys_of(kind, bits)
    has_values = kind not in ("set", "multiset", "counter", "filter")
    with open(f"{folder}/in.tsv", "w") as out:
        for i, key in enumerate(keys):
            value = f"{7 * i + 3:08x}" * 4 if "value_bytes" in entries else 7 * i + 3
            out.write(f"{key}\t{value}\n" if has_values else f"{key}\n")
    with open(f"{folder}/gone.tsv", "w") as out:
        out.write(f"2\n{keys[10]}\n")
    erase = [] if kind == "filter" else ["--erase", f"{folder}/gone.tsv"]
    plugins = ":".join(f"{ROOT}/bazel-bin/{name}" for name in FOLDERS)
    job = ["run", f"{folder}/spec.ini", "--insert", f"{folder}/in.tsv", *erase, "--save", f"{folder}/{name}.tsr", "--quiet"]
    # what does not go together is refused, and has no file
    subprocess.run([f"{ROOT}/bazel-bin/core/cli/tessera", *job], stderr=subprocess.DEVNULL, check=False,
                   env=dict(os.environ, TESSERA_PLUGINS=plugins))


def main():
    archive = os.path.abspath("saved_by_0.1.0.tar.xz")
    with tempfile.TemporaryDirectory() as folder:
        for more, kind, layout, scheme, bits in itertools.product(("",) + MORE, KINDS, LAYOUTS, SCHEMES, (32, 64)):
            if more and (bits == 64 or layout in ("soa", "aos") or scheme in ("quadratic", "double_hashing")):
                continue
            values = f"value_bits = {bits}\n" if kind in ("map", "multimap", "counter") and "value_bytes" not in more else ""
            allocator = "allocator = slab\n" if layout == "slab" else ""
            word = more.split(" ")[0]
            save(folder, "-".join((kind, layout, scheme, str(bits), word or "plain")), kind, bits,
                 f"{values}{allocator}{more}\nlayout = {layout}\nprobing = {scheme}")
        save(folder, "filter-none-none-32-plain", "filter", 32, "")
        subprocess.run(f"tar --sort=name --mtime=@0 --owner=0 --group=0 -cf - *.tsr | xz -9e >{archive}", shell=True,
                       check=True, cwd=folder)


main()
