#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls of the package with things of all kinds in every place: what it refuses, it refuses by a class of its own, and says why.

Left out are numbers of arguments, of which Python itself speaks, and paths, which it opens as `open` does.
"""

import collections
import unittest
import warnings
from typing import Any, Callable, List, Tuple

import numpy as np

import tessera

OF_PYTHON = ("positional argument", "os.PathLike")


def things() -> List[Any]:
    """Made anew for each call, since some are used up."""
    return [
        None, 5, -1, 1.5, float("nan"), True, 2**70, "x", b"x", object(), lambda: 1, slice(1, 2), Ellipsis, np.float16(1),
        np.datetime64("2020"), [], [1, 2], [1, "a"], [[1, 2], [3]], [2**70], (), (1, 2), {}, {"a": [1]}, {1: 2}, set(), {1, 2},
        range(3), iter([1]), memoryview(b"ab"), bytearray(b"ab"), np.array(3), np.array([1, 2]), np.array([1.5, 2.5]),
        np.ones((2, 2)), np.array([None, 1], object), np.array(["a", "b"]), np.zeros(0), np.zeros(0, np.int64),
        np.array([1, 2], ">i4"), np.arange(10)[::2], np.array([(1, 2)], [("a", "i4"), ("b", "i8")]), np.array([1, 2], "c8"),
        np.array([1, 2], "m8[s]"), np.ma.array([1, 2], mask=[0, 1]),
    ]  # fmt: skip


class NonsenseTest(unittest.TestCase):
    def setUp(self) -> None:
        self.bare: "collections.Counter[str]" = collections.Counter()
        warnings.simplefilter("ignore")

    def tearDown(self) -> None:
        warnings.resetwarnings()
        self.assertEqual(dict(self.bare), {})

    def call(self, name: str, function: Callable[..., Any], *given: Any, **named: Any) -> None:
        try:
            function(*given, **named)
        except tessera.Error as error:
            if not str(error):
                self.bare[f"{name}: says nothing"] += 1
        except Exception as error:
            if not any(text in str(error) for text in OF_PYTHON):
                self.bare[f"{name}: {type(error).__name__}: {error}"[:150]] += 1

    def call_with_all(self, name: str, function: Callable[[Any], Any]) -> None:
        for thing in things():
            self.call(name, function, thing)

    def call_with_pairs(self, name: str, function: Callable[[Any, Any], Any]) -> None:
        for at in range(len(things())):
            for second in things():
                self.call(name, function, things()[at], second)

    def test_verbs(self) -> None:
        some = np.array([1, 2])
        for name in ("unique", "factorize", "value_counts", "relabel", "group_by"):
            self.call_with_all(name, getattr(tessera, name))
        for name in ("order", "nulls", "return_inverse", "return_counts"):
            self.call_with_all(f"unique {name}", lambda thing: tessera.unique(some, **{name: thing}))
        self.call_with_pairs("isin", tessera.isin)
        self.call_with_pairs("merge", tessera.merge)
        self.call_with_pairs("merge how", lambda keys, how: tessera.merge(some, keys, how=how))
        self.call_with_pairs("merge on", lambda keys, on: tessera.merge({"a": some}, {"a": keys}, on=on))
        self.call_with_pairs("agg", lambda column, how: tessera.group_by(some).agg(a=(column, how)))
        self.call_with_all("agg how", lambda how: tessera.group_by(some).agg({"a": how}))
        self.call_with_all("agg dict", lambda given: tessera.group_by(some).agg(given))

    def test_making_tables(self) -> None:
        for name in ("key", "value", "capacity", "for_", "settings", "duplicates", "backend"):
            given = {"key": "int64", "value": "int64", "capacity": 5}
            self.call_with_all(f"Map {name}", lambda thing: tessera.Map(**{**given, name: thing}))
        self.call_with_all("Table", lambda thing: tessera.Table(thing))
        self.call_with_all("Table settings", lambda thing: tessera.Table("quickstart", settings=thing))
        self.call_with_all("Cache value", lambda thing: tessera.Cache("int64", thing, capacity=10))
        self.call_with_all("Filter capacity", lambda thing: tessera.Filter("int64", capacity=thing))
        self.call_with_all("load", tessera.Table.load)

    def test_calls_of_tables(self) -> None:
        tables: Tuple[Any, ...] = (
            tessera.Map("int64", "int64", capacity=100),
            tessera.Counter("int64", capacity=100),
            tessera.Set("int64", capacity=100),
            tessera.MultiMap("int64", "int64", capacity=100),
            tessera.Index("int64", capacity=100),
        )
        one = "find get contains erase find_or_insert find_all count number pop update join __getitem__ __delitem__ __contains__"
        for table in tables:
            kind = type(table).__name__
            for name in one.split():
                if hasattr(table, name):
                    self.call_with_all(f"{kind}.{name}", getattr(table, name))
            for name in ("insert", "get", "join"):
                self.call_with_pairs(f"{kind}.{name}", getattr(table, name))
        self.call_with_pairs("Map.__setitem__", tables[0].__setitem__)


if __name__ == "__main__":
    unittest.main()
