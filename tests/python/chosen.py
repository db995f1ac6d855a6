# SPDX-License-Identifier: Apache-2.0
"""Whether the tables of which a release has code ahead (tools/ahead/tables.sh, a line each in the file that is named) are all that
tessera.choose chooses for keys and values of 32 and 64 bits, with every policy."""

import configparser
import os
import sys

import tessera

ENTRIES = "kind", "key_bits", "value_bits", "duplicates", "overflow"


def table(recipe, settings):
    """What decides about the code of a recipe with these settings."""
    spec = configparser.ConfigParser(inline_comment_prefixes=";")
    spec.read(tessera.recipe(recipe))
    said = {**spec["table"], **{name.partition(".")[2]: str(value) for name, value in settings.items()}}
    return (recipe, *(said.get(name, "") for name in ENTRIES))


def policies(kind, need):
    if need == "static":
        return [{}]  # it has one
    if kind != "map":
        return [{}] if kind != "set" else [{"table.duplicates": name} for name in ("first", "promise_unique")]
    made = [{"table.duplicates": name} for name in ("first", "replace", "add", "min", "max", "promise_unique")]
    return [*made, {"table.duplicates": "add", "table.overflow": "wrap"}]  # of signed values


def main():
    ahead = set()
    for line in open(sys.argv[1]):
        path, *entries = [word for word in line.split() if word != "?"]
        ahead.add(table(os.path.basename(path)[: -len(".ini")], dict(entry.split("=") for entry in entries)))
    missing, looked = set(), 0
    for kind, needs in tessera._types._NEEDS.items():
        for need in needs:
            for key in ("int32", "int64"):
                for value in ("int32", "int64") if kind in ("map", "multimap", "cache") else (None,):
                    chosen = tessera.choose(kind, key, value, for_=need, capacity=1)
                    for policy in policies(kind, need):
                        looked += 1
                        wanted = table(chosen.recipe, {**chosen.settings, **policy})
                        missing |= {wanted} - ahead
    assert looked > 150 and not missing, sorted(missing)


main()
