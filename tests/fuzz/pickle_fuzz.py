# SPDX-License-Identifier: Apache-2.0
"""Pickled tables. The first byte of an input chooses what the rest is:

    the saved table in a pickle of one of KINDS, as it is, and once more with its checksums and sizes made right
    a pickle, read by an unpickler that knows this package's names alone

A pickle can run any code, so only what is no code is tried: its numbers, texts and bytes. What is loaded must be a table that
can be used. `pickle_fuzz.py --seeds FOLDER` writes an input for each of KINDS. Read next: drive.py, save_fuzz.c.
"""

import io
import os
import pickle
import struct
import sys
import warnings
from typing import Any, Dict, List, Tuple

import numpy as np
from drive import Input, main, tessera
from tessera import _table

HEAD = struct.Struct("<8sIIQQQQQQQQ")  # as core/table/save_format.h has them
ROW = struct.Struct("<II48sQQ")
MAGIC, VERSIONS = b"TSRTAB\r\n", (2, 3)
WORD = (1 << 64) - 1
PICKLES = 0xF0  # first bytes from here on

KINDS: List[Tuple[type, Dict[str, Any]]] = [
    (tessera.Table, {}),
    (tessera.Map, {"key": "int64", "value": "int64"}),
    (tessera.Map, {"key": "uint32", "value": ("float32", 4)}),
    (tessera.Map, {"key": "int64", "value": "float64", "duplicates": "add"}),
    (tessera.Map, {"key": "str", "value": "int64"}),
    (tessera.Map, {"key": {"a": "uint32", "b": "int16"}, "value": "int32"}),
    (tessera.Set, {"key": "uuid"}),
    (tessera.MultiMap, {"key": "int32", "value": "int32"}),
    (tessera.Counter, {"key": "int64"}),
    (tessera.Index, {"key": "int64"}),
    (tessera.Cache, {"key": "int64", "value": "int64"}),
    (tessera.Filter, {"key": "int64"}),
]
NAMES = {"tessera._table": ("_unpickled",), "tessera": ("Table", "Map", "Set", "MultiMap", "Counter", "Index", "Cache", "Filter")}


def checksum(state: int, data: bytes) -> int:
    for (word,) in struct.iter_unpack("<Q", data + bytes(-len(data) % 8)):
        state = (state ^ word) * 0xFF51AFD7ED558CCD & WORD
        state ^= state >> 29
    return state


def repaired(saved: bytes) -> bytes:
    """Makes right what a reader checks first; empty if there is no room for it."""
    if len(saved) < HEAD.size:
        return b""
    head = list(HEAD.unpack_from(saved))
    head[0], head[10] = MAGIC, len(saved)
    if head[1] not in VERSIONS:
        head[1] = VERSIONS[-1]
    text_bytes, region_count = head[3], head[4]
    at = HEAD.size + text_bytes + region_count * ROW.size + 8
    if text_bytes > len(saved) or region_count > 1000 or at > len(saved):
        return b""
    rows = []
    for i in range(region_count):
        row = list(ROW.unpack_from(saved, HEAD.size + text_bytes + i * ROW.size))
        if row[3] <= len(saved) - at:
            row[4] = checksum(0, saved[at : at + row[3]])
            at += row[3]
        rows.append(ROW.pack(*row))
    front = HEAD.pack(*head)
    text = saved[HEAD.size : HEAD.size + text_bytes]
    total = checksum(checksum(checksum(head[1], front), text), b"".join(rows))
    made = front + text + b"".join(rows) + struct.pack("<Q", total)
    return made + saved[len(made) :]


class Unpickler(pickle._Unpickler):  # the one in Python: the other one makes an array as long as an item's number says
    dispatch = dict(pickle._Unpickler.dispatch)

    def load_bytearray8(self) -> None:  # for this item the one in Python does so as well
        (length,) = struct.unpack("<Q", self.read(8))
        self.append(bytearray(self.read(length)))

    dispatch[pickle.BYTEARRAY8[0]] = load_bytearray8

    def find_class(self, module: str, name: str) -> Any:
        if name in NAMES.get(module, ()):
            return getattr(sys.modules[module], name)
        raise pickle.UnpicklingError(f"{module}.{name} is not known here")


def use(table: Any) -> None:
    """All pairs come out, in as many rows as it says, and it is pickled again as it is."""
    assert repr(table).startswith("<tessera.")
    if table._kind == "filter":
        assert isinstance(table.contains(some_keys(table)).all(), (bool, np.bool_))
        return
    size = len(table)
    if table._form is None if hasattr(table, "_form") else True:
        keys = table.keys()
        assert len(keys) == size
        assert table.contains(keys).all()
    table.clear()
    assert len(table) == 0
    table.close()


def some_keys(table: Any) -> Any:
    if table._key_width == 16:
        return np.zeros((9, 2), np.uint64)
    return np.arange(9).astype(getattr(table, "_key_type", f"uint{8 * table._key_width}"))


def load(kind: int, saved: bytes) -> bool:
    cls, types = KINDS[kind]
    try:
        table = _table._unpickled(cls, types, saved, None, "wait", None)
    except tessera.Error as error:
        assert len(str(error)) > 20, str(error)
        return False
    use(table)
    return True


def test_one_input(data: bytes) -> None:
    given = Input(data)
    first = given.byte()
    rest = data[1:]
    if first >= PICKLES:
        try:
            table = Unpickler(io.BytesIO(rest)).load()
        except (AssertionError, SystemError):
            raise
        except Exception:  # of pickle, anything
            return
        if isinstance(table, tessera.Table) and hasattr(table, "_handle"):
            use(table)
        return
    kind = first % len(KINDS)
    is_loaded = load(kind, rest)
    again = repaired(rest)
    if again:
        assert load(kind, again) or not is_loaded, "what loads does not load any more when it is made right"


def seeds(folder: str) -> None:
    for i, (cls, types) in enumerate(KINDS):
        options: Dict[str, Any] = {"capacity": 20, "backend": "cpu"}
        if cls is tessera.Table:
            table: Any = cls("quickstart", settings={"table.backend": "cpu"}, capacity=20)
        else:
            table = cls(types["key"], *([types["value"]] if "value" in types else []), **options,
                        **({"duplicates": "add"} if "duplicates" in types else {}))  # fmt: skip
        keys: Any = some_keys(table)
        if types.get("key") == "str":
            keys = np.array(list("abcdefghi"))
        if isinstance(types.get("key"), dict):
            keys = {"a": np.arange(9, dtype=np.uint32), "b": np.arange(9, dtype=np.int16)}
        if cls in (tessera.Set, tessera.Counter, tessera.Filter):
            table.insert(keys)
        elif cls is tessera.Index:
            table.number(keys)
        elif isinstance(types.get("value"), tuple):
            table.insert(keys, np.ones((9, 4), np.float32))
        else:
            table.insert(keys, np.arange(9).astype(types.get("value", "uint32")))
        name = f"{cls.__name__.lower()}_{i}"
        made = {name: bytes([i]) + table.__reduce__()[1][2]}
        if i in (1, 5):
            made[name + "_pickle"] = bytes([PICKLES]) + pickle.dumps(table)
        for each, data in made.items():
            if len(data) < 1 << 14:
                with open(os.path.join(folder, each), "wb") as file:
                    file.write(data)


if __name__ == "__main__":
    warnings.simplefilter("ignore", tessera.OverflowWarning)
    if sys.argv[1:2] == ["--seeds"]:
        seeds(sys.argv[2])
    else:
        main(test_one_input)
