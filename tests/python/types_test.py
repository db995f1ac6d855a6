# SPDX-License-Identifier: Apache-2.0
"""Map, Set, MultiMap, Counter, Index, Cache and Filter against a dict, for all dtypes and needs, and what they refuse."""

import os
import pickle
import tempfile
import threading
import unittest
import uuid
import warnings
from collections import Counter as CounterOf
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import tessera
from tessera import Cache, Counter, Filter, Index, Map, MultiMap, Set

KEYS = ("int32", "int64", "uint32", "uint64")
VALUES = (*KEYS, "float32", "float64")
CPU = {"backend": "cpu"}


def random_keys(rng, dtype, n, distinct=200):
    limits = np.iinfo(dtype)
    few = rng.integers(limits.min, limits.max, distinct, dtype=dtype, endpoint=True)
    few[:2] = limits.min, limits.max
    return few[rng.integers(0, distinct, n)]


def random_values(rng, dtype, n):
    if np.dtype(dtype).kind == "f":
        values = (rng.standard_normal(n) * 1000).astype(dtype)
        values[:4] = 0.0, -0.0, np.inf, -np.inf
        return values
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, n, dtype=dtype, endpoint=True)


class MapTest(unittest.TestCase):
    def test_every_need_and_dtype(self):
        rng = np.random.default_rng(1)
        for for_ in ("find", "build", "absent", "groupby", "erase", "mixed", "static"):
            for key in KEYS:
                for value in VALUES:
                    with self.subTest(for_=for_, key=key, value=value):
                        keys = np.unique(random_keys(rng, key, 400))
                        values = random_values(rng, value, keys.size)
                        duplicates = "replace" if for_ == "groupby" else None
                        with Map(key, value, for_=for_, duplicates=duplicates, **CPU) as table:
                            table.insert(keys, values)
                            got = table.get(keys)
                            self.assertEqual(got.dtype, np.dtype(value))
                            np.testing.assert_array_equal(got, values)
                            got, mask = table.find(keys[::-1].copy())
                            self.assertTrue(mask.all())
                            np.testing.assert_array_equal(got, values[::-1])
                            all_keys, all_values = table.items()
                            self.assertEqual((all_keys.dtype, all_values.dtype), (np.dtype(key), np.dtype(value)))
                            order = np.argsort(all_keys)
                            np.testing.assert_array_equal(all_keys[order], keys)
                            np.testing.assert_array_equal(all_values[order], values)

    def test_a_static_map_is_full_and_takes_distinct_keys(self):
        keys, values = np.arange(5000) * 7919, np.arange(5000) / 2
        with Map("int64", "float64", for_="static", capacity=5001, **CPU) as table:
            self.assertEqual(table.recipe.recipe, "perfect")
            self.assertLess(table.info["slots"], 5020)
            table.insert(keys, values)
            np.testing.assert_array_equal(table.get(keys), values)
            self.assertNotIn(5, table)
            with self.assertRaisesRegex(tessera.BadArgument, "keys: 0 is in the table already.*or insert each key once"):
                table.insert(keys[:1], values[:1])
            with tempfile.TemporaryDirectory() as folder:
                table.save(os.path.join(folder, "static.tsr"))
                with Map.load(os.path.join(folder, "static.tsr"), value="float64", mmap=True, backend="cpu") as again:
                    np.testing.assert_array_equal(again.get(keys), values)
                    again.insert([5], [1.5])
                    self.assertEqual((again.get([5])[0], len(again), len(table)), (1.5, 5001, 5000))
        with self.assertRaisesRegex(tessera.Incompatible, r'^settings=\{"table.probing": "perfect"\} \(a scheme that is built .*make the keys distinct'):
            Map(settings={"table.probing": "perfect"}, **CPU)
        with self.assertRaisesRegex(tessera.Incompatible, "make the keys distinct first"):
            Map(for_="static", duplicates="add", **CPU)

    def test_dtypes_of_other_libraries(self):
        class Other:  # as polars.Int64 and pandas.Int64Dtype() are shown
            def __repr__(self):
                return "Int64"

        class Torch:
            def __repr__(self):
                return "torch.int64"

        for given in (np.int64, np.dtype("int64"), np.dtype(">i8"), int, Other(), Torch(), "int64"):
            with self.subTest(given=repr(given)), Map(given, given, **CPU) as table:
                table[[-1, 2]] = [3, -4]
                self.assertEqual([array.dtype for array in table.items()], [np.dtype("int64")] * 2)
                self.assertEqual(table.get([2, -1]).tolist(), [-4, 3])
            with self.subTest(given=repr(given)), Map(key=[given], value=given, **CPU) as table:
                table.insert(([5],), [6])
                self.assertEqual(table.get(([5],)).tolist(), [6])
        for given in (np.dtype("float64"), np.float64, float):
            with self.subTest(given=repr(given)), MultiMap("int64", given, **CPU) as table:
                table.insert([1, 1], [0.5, -1.5])
                with Map("int64", "int64", **CPU) as other:
                    other.insert([1], [2])
                    self.assertEqual(other.join(table, "sum", dtype=given)[2].tolist(), [-1.0])
                    self.assertEqual(other.join(table, "sum")[2].dtype, np.dtype("float64"))
        shown = {"__repr__": lambda self: "String", "__module__": "polars.datatypes"}  # as polars.String is
        for given in (np.dtype("U3"), type("String", (), shown)(), str):
            with self.subTest(given=repr(given)), Map(given, "int64", **CPU) as table:
                table.insert(["a", "b"], [1, 2])
                self.assertEqual(table.get(["b", "z"]).tolist(), [2, 0])
        for given in (Ellipsis, object(), "Int63", "x", 3, None):
            with self.subTest(given=repr(given)), self.assertRaises(tessera.WrongType):
                Map(given, **CPU).close()

    def test_min_and_max_of_every_dtype(self):
        rng = np.random.default_rng(2)
        for value in VALUES:
            for duplicates, combine in (("min", np.minimum), ("max", np.maximum)):
                for for_ in ("find", "build", "groupby"):
                    with self.subTest(value=value, duplicates=duplicates, for_=for_):
                        keys = random_keys(rng, "int64", 3000)
                        values = random_values(rng, value, keys.size)
                        want = {}
                        for k, v in zip(keys.tolist(), values):
                            want[k] = combine(want[k], v) if k in want else v
                        with Map("int64", value, for_=for_, duplicates=duplicates, **CPU) as table:
                            for part in np.split(np.arange(keys.size), 3):
                                table.insert(keys[part], values[part])
                            asked = np.array(list(want))
                            np.testing.assert_array_equal(table.get(asked), np.array(list(want.values()), value))
                            again = pickle.loads(pickle.dumps(table))
                            np.testing.assert_array_equal(again.get(asked), table.get(asked))
                            again.close()

    def test_sums_of_signed_and_unsigned(self):
        rng = np.random.default_rng(3)
        for value in KEYS:
            keys = random_keys(rng, "int32", 3000)
            values = rng.integers(-50 if value[0] == "i" else 0, 100, keys.size).astype(value)
            want = defaultdict(int)
            for k, v in zip(keys.tolist(), values.tolist()):
                want[k] += v
            with Map("int32", value, for_="groupby", **CPU) as table:
                table.insert(keys, values)
                self.assertEqual(table.get(list(want)).tolist(), list(want.values()))
                self.assertEqual(table.get(list(want)).dtype, np.dtype(value))
        for value in ("float32", "float64"):
            with self.assertRaisesRegex(tessera.WrongType, "add whole numbers: use tessera.group_by"):
                Map("int64", value, for_="mixed", duplicates="add", **CPU)

    def test_sums_of_floats(self):
        rng = np.random.default_rng(4)
        for value in ("float32", "float64"):
            keys, values = rng.integers(-300, 300, 4000), np.round(rng.standard_normal(4000) * 8).astype(value) / 4
            want = defaultdict(float)
            for k, v in zip(keys.tolist(), values.tolist()):
                want[k] += v
            for mixed in (list, np.asarray):
                with Map("int64", value, for_="groupby", **CPU) as table:
                    for part in range(0, 4000, 1000):
                        table.insert(mixed(keys[part : part + 1000]), mixed(values[part : part + 1000]))
                    self.assertEqual(table.get(list(want)).tolist(), list(want.values()))
                    self.assertEqual(table.get([1]).dtype, np.dtype(value))
                    table.insert([1, 1, 9999], 0.5)
                    self.assertEqual(table.get([1, 9999]).tolist(), [want[1] + 1, 0.5])
                    table.rehash(capacity=5000)
                    with pickle.loads(pickle.dumps(table)) as copied:
                        copied.insert([9999], [0.25])
                        self.assertEqual(copied.get([9999]).tolist(), [0.75])
                    with self.assertRaises(tessera.Unsupported):
                        table.insert([1], [1.0], wait=False)
                    with self.assertRaisesRegex(tessera.Unsupported, "duplicates = add"):
                        table[[1]] = [1.0]
        with Map("int64", "float64", capacity=100, duplicates="add", **CPU) as table:
            table.build([5, 5, 6], [1.5, 1.5, -1.0])
            self.assertEqual(table.get([5, 6, 7]).tolist(), [3.0, -1.0, 0.0])
            self.assertEqual(table.find_or_insert([6, 8], [7.0, 7.0])[0].tolist(), [-1.0, 7.0])

    def test_signed_sums_that_have_no_room_are_told(self):
        for value, most in (("int32", 2**31 - 1), ("int64", 2**63 - 1)):
            with Map("int64", value, for_="groupby", **CPU) as table:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    table.insert([1, 1, 2, 3], [most - 1, 1, -most, 7])
                    table.insert([1, 2, 4], np.array([-5, -1, most], value))
                    table.insert([1], 5)
                self.assertEqual(table.get([1, 2, 3, 4]).tolist(), [most, -most - 1, 7, most])
                for keys, values, told in (([1], [1], "1 sum passed"), ([2, 4, 3], [-1, 1, 1], "2 sums passed")):
                    with self.assertWarnsRegex(tessera.OverflowWarning, f"^{told} 2\\^{np.iinfo(value).bits - 1} - 1"):
                        table.insert(keys, values)

    def test_keys_of_16_bytes(self):
        ids = [uuid.UUID(int=i << 64 | i) for i in range(100)]
        with Map("uuid", "float32", **CPU) as prices, Counter("uuid", **CPU) as seen, Set("V16", **CPU) as known:
            prices.insert(ids, np.arange(100, dtype=np.float32))
            self.assertEqual(prices.get([ids[7], uuid.UUID(int=5)], missing=-1.0).tolist(), [7.0, -1.0])
            self.assertEqual(repr(prices), "<tessera.Map: uuid -> float32, the CPU>")
            seen.insert(ids + ids[:3])
            self.assertEqual(seen.get(ids[2:4]).tolist(), [2, 1])
            known.insert(np.stack([np.arange(10), np.arange(10)], axis=1))
            self.assertEqual((len(known), int(known.contains(ids).sum())), (10, 10))
            with pickle.loads(pickle.dumps(prices)) as copied:
                self.assertEqual(copied[ids[9]], 9.0)
        with MultiMap("uuid", "int64", **CPU) as pairs, Index("uuid", **CPU) as index:
            pairs.insert([ids[1], ids[1]], [3, 4])
            self.assertEqual(sorted(pairs.find_all(ids[:2])[1].tolist()), [3, 4])
            self.assertEqual(sorted(index.number(ids[:5]).tolist()), list(range(5)))
        with Cache("uuid", "float64", capacity=64, **CPU) as recent:
            recent.insert(ids, np.arange(len(ids), dtype=np.float64))
            held = recent.contains(ids)
            self.assertEqual(int(held.sum()), len(recent))
            np.testing.assert_array_equal(recent.get(ids, missing=-1), np.where(held, np.arange(len(ids)), -1))
        with Index("uuid", capacity=64, eviction="lru", **CPU) as index:
            for part in range(0, 100, 10):
                self.assertLess(int(index.number(ids[part : part + 10]).max()), 64)
            self.assertTrue(index.contains(ids[90:]).all())
            self.assertEqual(len(index), 64)
        cache = {"table.kind": "cache", "table.eviction": "lru", "table.probing": "two_choice", "table.load_factor": 1}
        with tessera.Table("wide_keys", settings={**cache, "table.backend": "cpu"}, capacity=64) as recent:
            codes, gone, _ = recent.insert(ids, wait=False)
            kept = recent.contains(ids)
            self.assertEqual(len(recent), int(kept.sum()))
            self.assertEqual(int((codes == tessera.Code.EVICTED).sum()), 100 - len(recent))
            self.assertFalse(recent.contains(gone[codes == tessera.Code.EVICTED]).any())
        with self.assertRaisesRegex(tessera.WrongType, '"uuid" for 16 bytes'):
            Map("complex128")

    def test_values_that_are_absent(self):
        for value in VALUES:
            for duplicates in ("replace", "min", "max"):
                with Map("int64", value, duplicates=duplicates, **CPU) as table:
                    table.insert([1, -2], [3, 5])
                    got = table.get([1, 7, -2])
                    self.assertEqual((got.tolist(), got.dtype), ([3, 0, 5], np.dtype(value)))
                    self.assertEqual(table.get([7, 1], missing=9).tolist(), [9, 3])
                    out = np.empty(2, value)
                    self.assertIs(table.get([7, 1], missing=9, out=out), out)
                    self.assertEqual(out.tolist(), [9, 3])
                    self.assertEqual(table[-2], 5)
                    self.assertIs(type(table[-2]), float if value[0] == "f" else int)
                    self.assertEqual(table.find_or_insert([1, 8], [4, 4])[0].tolist(), [3, 4])
                    with self.assertRaises(KeyError):
                        table[99]
        with Map(value="float64", duplicates="max", **CPU) as table:
            self.assertTrue(np.isnan(table.get([1], missing=np.nan)[0]))

    def test_as_a_dict(self):
        table = Map("int32", "float32", **CPU)
        table[[1, -1]] = [1.5, 2.5]
        table[1] = -0.25
        table.update({5: 1.0})
        self.assertEqual(dict(zip(*(a.tolist() for a in table.items()))), {1: -0.25, -1: 2.5, 5: 1.0})
        self.assertEqual(table.pop(5), 1.0)
        for one in np.array([1]), np.array([1], np.uint8):  # NumPy's scalars are numbers of any width
            key = one[0]
            table[key] = np.float64(-0.25)
            self.assertEqual((table[key], table.get(key), key in table, table.find(key)[0].item()), (-0.25, -0.25, True, -0.25))
            self.assertEqual(table.pop(key), -0.25)
            table[1] = -0.25
        self.assertEqual((len(table), -1 in table, 5 in table), (2, True, False))
        table.insert(np.arange(10, dtype=np.int32), 0.5)
        self.assertEqual(table.get([3, 9]).tolist(), [0.5, 0.5])
        self.assertRegex(repr(table), r"^<tessera.Map: int32 -> float32, the CPU>$")
        for part in ("<caption>tessera.Map<", "<td>int32<", "<td>float32<"):
            self.assertIn(part, table._repr_html_())
        table.close()

    def test_the_last_value_of_a_repeated_key_stays(self):
        rng = np.random.default_rng(17)
        n = 20_000
        ids, row = rng.integers(0, 3000, n), np.arange(n)
        last = dict(zip(ids.tolist(), row.tolist()))
        halves = np.stack([ids % 7, ids // 7], 1).astype(np.uint64)
        for key, keys in (
            ("int32", ids.astype(np.int32)),
            ("uint64", ids.astype(np.uint64)),
            ("uuid", halves),
            ("str", np.array([f"town {i}" for i in ids])),
            (["int64", "int32"], (halves[:, 0].astype(np.int64), halves[:, 1].astype(np.int32))),
        ):
            with self.subTest(key=key), Map(key, "int64", **CPU) as table:
                table[keys] = row
                self.assertEqual(len(table), len(last))
                np.testing.assert_array_equal(table.get(keys), [last[i] for i in ids.tolist()])
                table.update(keys, row + n)
                np.testing.assert_array_equal(table.get(keys), [last[i] + n for i in ids.tolist()])
        with Map("int64", ("float32", 16), **CPU) as table:
            rows = rng.random((n, 16), np.float32)
            table[ids] = rows
            np.testing.assert_array_equal(table.get(ids), rows[[last[i] for i in ids.tolist()]])
        with Map("int64", "float32", **CPU) as table:
            table[[1, 1, 1]] = [1.0, 2.0, 3.5]
            table[[5, 5]] = 9.0
            table[[[7, 8], [7, 8]]] = np.array([[1, 2], [3, 4]], np.float32)
            self.assertEqual(table.get([1, 5, 7, 8]).tolist(), [3.5, 9.0, 3.0, 4.0])
            table[np.full(1_000_000, 3)] = np.arange(1_000_000, dtype=np.float32)
            self.assertEqual(table[3], 999_999)

    def test_numbers_of_8_and_16_bits_are_widened(self):
        for narrow in ("int8", "uint8", "int16", "uint16"):
            x = np.array([3, 1, 100] if narrow[0] == "u" else [3, -1, 100], narrow)
            for key in ("int32", "int64", "uint32", "uint64"):
                with self.subTest(narrow=narrow, key=key), Map(key, "float32", **CPU) as table:
                    if not np.can_cast(narrow, key):
                        with self.assertRaisesRegex(tessera.WrongType, f"keys: is {narrow}, .* convert them, as by [^,]*$"):
                            table.insert(x, x)
                        continue
                    table.insert(x, x)
                    np.testing.assert_array_equal(table.get(x.astype(key)), x.astype(np.float32))
                    np.testing.assert_array_equal(table.get(x), x.astype(np.float32))
                    self.assertEqual((table.contains(x).tolist(), table.erase(x).tolist()), ([True] * 3, [True] * 3))
            with self.assertRaisesRegex(tessera.WrongType, f"Take '{narrow.rstrip('168')}32': arrays of {narrow} are widened"):
                Map(narrow)
        with Map(value="float64", duplicates="min", **CPU) as table:
            table.insert([1, 1], np.array([1.5, -2.5], np.float16))
            self.assertEqual(table[1], -2.5)
        with Map(**CPU) as table:
            for values in np.array([1.5], np.float16), np.array([True]):
                with self.assertRaisesRegex(tessera.WrongType, r"values of int64: convert them, as by [^,]*(, which cuts fractions off.*)?$"):
                    table.insert([1], values)
        with Set("int32", **CPU) as seen, Index("int64", numbering="first_seen", **CPU) as rows:
            seen.insert(np.array([1, 2, 1], np.int8))
            self.assertEqual(seen.contains(np.array([1, 5], np.uint16)).tolist(), [True, False])
            self.assertEqual(rows.number(np.array([7, 3, 7], np.int16)).tolist(), [0, 1, 0])

    def test_it_grows_without_a_capacity_and_is_full_with_one(self):
        keys = np.arange(10_000)
        with Map(value="float64", **CPU) as table:
            table.insert(keys, keys / 4)
            np.testing.assert_array_equal(table.get(keys), keys / 4)
        for duplicates in ("replace", "min"):
            with Map(value="float64", capacity=1000, duplicates=duplicates, **CPU) as table:
                with self.assertRaises(tessera.Full) as caught:
                    table.insert(keys, -keys / 4)
                np.testing.assert_array_equal(caught.exception.values, -caught.exception.keys / 4)

    def test_rows(self):
        vectors = np.arange(80, dtype=np.float32).reshape(10, 8)
        with Map("int64", ("float32", 8), **CPU) as table:
            table.insert(np.arange(10), vectors)
            np.testing.assert_array_equal(table.get([3, 9]), vectors[[3, 9]])
            np.testing.assert_array_equal(table.get([3, 99], missing=-1)[1], np.full(8, -1, np.float32))
            with tempfile.TemporaryDirectory() as folder:
                table.save(folder + "/t")
                with Map.load(folder + "/t", value=("float32", 8), backend="cpu") as again:
                    np.testing.assert_array_equal(again.get([3]), vectors[[3]])

    def test_files_have_no_dtypes(self):
        with tempfile.TemporaryDirectory() as folder, Map("int32", "float32", duplicates="min", **CPU) as table:
            table.insert([1, 2], [1.5, -2.5])
            table.save(folder + "/t")
            with Map.load(folder + "/t", key="int32", value="float32", backend="cpu") as again:
                self.assertEqual(again.get([1, 2]).tolist(), [1.5, -2.5])
                again.insert([1], [-9.0])
                self.assertEqual(again[1], -9.0)
            with self.assertRaisesRegex(tessera.WrongType, "keys have 32 bits"):
                Map.load(folder + "/t", backend="cpu")
            with self.assertRaisesRegex(tessera.BadArgument, "has a map: load it by tessera.Map.load"):
                Set.load(folder + "/t", key="int32", backend="cpu")

    def test_joins_know_the_dtypes(self):
        left, right = MultiMap(value="float32", **CPU), MultiMap(value="int64", **CPU)
        left.insert([1, 2], [0.5, 1.5])
        right.insert([1, 1, -3], [-7, 9, 4])
        keys, lefts, rights = left.join(right)
        self.assertEqual(sorted(zip(keys.tolist(), lefts.tolist(), rights.tolist())), [(1, 0.5, -7), (1, 0.5, 9)])
        self.assertEqual(left.join(right, "min")[2].tolist(), [-7])
        self.assertEqual(right.join(left, "sum")[2].tolist(), [0.5])
        self.assertEqual([a.dtype for a in (keys, lefts, rights)], [np.int64, np.float32, np.int64])

    def test_names_of_other_libraries_are_told(self):
        table, frame = Map(**CPU), {"a": [1]}
        for call, sentence in (
            (lambda: table.join(right=table), r"^right=: is no argument of Table.join: it is called other here$"),
            (lambda: table.join(table, kind="left"), "it is called how here$"),
            (lambda: table.join(table, on="a"), "tables are joined by their keys: leave it out$"),
            (lambda: table.get([1], default=3), "^default=: is no argument of Table.get: it is called missing here$"),
            (lambda: table.insert(key=[1], values=3), "it is called keys here$"),
            (lambda: table.insert([1], vales=3), r"did you mean values\?$"),
            (lambda: table.find([1], nonsense=3), "there are keys, missing, out$"),
            (lambda: Map.load("no", keys="int64"), "^keys=: is no argument of Map.load: it is called key here$"),
            (lambda: Map(dtype="int64"), "^dtype=: is no argument of Map: it is called value here$"),
            (lambda: Map(size=100), "it is called capacity here$"),
            (lambda: Map(device="cuda"), 'backend="cuda" or "cpu" chooses'),
            (lambda: Map(load_factor=0.5), r'pass settings={"table.load_factor": ...}$'),
            (lambda: Map(capacty=3), r"did you mean capacity\?$"),
            (lambda: tessera.Table(kind="map", key_bits=64), r'tessera.Table\({"table": {"kind": "map", "key_bits": 64}}\)$'),
            (lambda: tessera.unique([1], return_index=True), "^return_index=: is no argument of unique: numpy.unique"),
            (lambda: tessera.isin(element=[1], test_elements=[1]), "it is called (x|values) here$"),
            (lambda: tessera.value_counts([1], normalize=True), "divide the counts by their sum$"),
            (lambda: tessera.merge([1], [1], validate="1:1"), "tells whether keys are distinct$"),
        ):
            with self.subTest(sentence=sentence), self.assertRaisesRegex(tessera.WrongType, sentence):
                call()
        with self.assertRaisesRegex(TypeError, "missing 1 required positional argument: 'other'"):
            table.join()
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'unknown'"):  # of the caller's own function
            table.update(type("Own", (dict,), {"values": lambda self: (lambda: 0)(unknown=1)})(frame))
        with self.assertRaisesRegex(AttributeError, r"agg\(total=\(values, 'mean'\)\)"):
            tessera.group_by([1]).mean()
        table.close()

    def test_refusals(self):
        table = Map("int64", "float32", duplicates="min", **CPU)
        for call, kind, sentence in (
            (lambda: table.insert(np.arange(2, dtype=np.uint64), [1, 2]), tessera.WrongType, "is uint64, .* keys of int64"),
            (lambda: table.insert([1], np.array([1.0])), tessera.WrongType, "is float64, .* values of float32"),
            (lambda: table.insert([1], ["a"]), tessera.WrongType, "holds 'a', and other things than float32"),
            (lambda: table.insert([1.5], [1.0]), tessera.WrongType, "holds 1.5, and other things than int64"),
            (lambda: table.insert({1, 2}, 1.0), tessera.WrongType, r"keys: is a set: pass list\(keys\)"),
            (lambda: Map(kind="map"), tessera.WrongType, "^kind=: is no argument of Map: the classes tessera.Map, Set"),
            (lambda: Map(capacity=1 << 50, **CPU), tessera.BadArgument, r"^capacity = 1125899906842624: must be 1 \.\. 2\^40$"),
            (lambda: table.insert([1], [np.nan]), tessera.BadArgument, "holds NaN"),
            (lambda: table.insert([1], np.nan), tessera.BadArgument, "is NaN"),
            (lambda: table.insert([1 << 63], [1.0]), tessera.BadArgument, "does not fit into int64"),
            (lambda: table.insert(["a"], [1.0]), tessera.WrongType, "keys are int64 here: tables with key=\"str\" have such keys"),
            (lambda: table.insert(np.ones((2, 2), np.int64), 1.0), tessera.BadArgument, r"has shape \(2, 2\)"),
            (lambda: table.get([1], out=np.zeros(1, np.int32)), tessera.WrongType, "out: is int32: pass an array of float32"),
            (lambda: Map(backend="gpu"), tessera.BadArgument, 'backend = \'gpu\': is "auto", "cuda" or "cpu"'),
            (lambda: Map(duplicates="sum", **CPU), tessera.BadArgument, 'duplicates = \'sum\': is "first"'),
            (lambda: Filter(capacity=9, **CPU).erase([1]), tessera.Unsupported, r'tessera.Filter\(for_="erase"\) has an erase'),
            (lambda: Map.load(__file__, **CPU), tessera.IoFailed, r"is no saved table: Table\.save writes one$"),
            (lambda: table.insert([1, 2], [1.0]), tessera.BadArgument, "has 1 items, and keys 2"),
            (lambda: Map("float32"), tessera.WrongType, "keys are int32"),
            (lambda: Map("nonsense"), tessera.WrongType, "is no dtype"),
            (lambda: Map(value="int16"), tessera.WrongType, "values are int32"),
            (lambda: Map(value=("float32", 2)), tessera.WrongType, "of 16 to 256 bytes"),
            (lambda: Map(value=("float32", 65)), tessera.WrongType, "a multiple of 16 bytes up to 4096"),
            (lambda: MultiMap(value=("float32", 8)), tessera.WrongType, "rows are values of maps"),
            (lambda: Map(for_="nothing"), tessera.BadArgument, "a map is for 'find' or"),
            (lambda: Filter(capacity=None), tessera.BadArgument, "a filter cannot grow"),
            (lambda: tessera.choose("mop"), tessera.BadArgument, 'is "map", "set"'),
        ):
            with self.subTest(sentence=sentence), self.assertRaisesRegex(kind, sentence):
                call()
        table.close()
        self.assertRegex(repr(table), "closed")


class OthersTest(unittest.TestCase):
    def test_a_cache_gives_up_what_was_used_longest_ago(self):
        bucket = {"table.probing": "linear", "probing.max_probes": 1}
        for key, value in (("int64", "float32"), ("uint32", "int32")):
            with Cache(key, value, capacity=8, settings=bucket, **CPU) as table:
                order = []  # the key that was used longest ago first
                for k in np.random.default_rng(3).integers(0, 20, 400).tolist():
                    gone, values = table.put([k], [k / 2 if value == "float32" else -k])
                    expected = order.pop(0) if k not in order and len(order) == 8 else None
                    order = [other for other in order if other != k] + [k]
                    self.assertEqual(gone.tolist(), [] if expected is None else [expected])
                    self.assertEqual(gone.dtype, np.dtype(key))
                    if expected is not None:
                        self.assertEqual(values.tolist(), [expected / 2 if value == "float32" else -expected])
                    table.peek(order[:1])
                    used = order[len(order) // 2]
                    table.get([used])
                    order = [other for other in order if other != used] + [used]
                self.assertEqual(sorted(table.scores()[0].tolist()), sorted(order))
                self.assertGreater(table.report()["evicted"], 100)

    def test_a_cache_of_rows(self):
        for value in (("float32", 4), ("int64", 512)):
            with Cache("int64", value, capacity=500, **CPU) as table:
                gone = np.empty(0, np.int64)
                for batch in range(8):
                    keys = np.random.default_rng(batch).permutation(4000)[:700]
                    more, lost = table.put(keys, np.repeat(keys[:, None] * 8 + batch, value[1], 1).astype(value[0]))
                    self.assertEqual(lost.shape, (len(more), value[1]))
                    np.testing.assert_array_equal(lost // 8, np.repeat(more[:, None], value[1], 1))
                    gone = np.concatenate([gone, more])
                keys, rows = table.items()
                np.testing.assert_array_equal(rows // 8, np.repeat(keys[:, None], value[1], 1))
                found, mask = table.peek(keys)
                self.assertTrue(mask.all())
                np.testing.assert_array_equal(found, rows)
                self.assertGreater(len(gone), 3000)
                self.assertEqual(table.report()["evicted"], len(gone))

    def test_a_cache_writes_behind(self):
        for value in ("int64", ("float32", 12)):
            each = value[1] if isinstance(value, tuple) else 1
            with Cache("int64", value, capacity=500, **CPU) as table:
                kept = {}

                def write(keys, values):
                    self.assertGreater(len(keys), 0)
                    for key, row in zip(keys.tolist(), values.reshape(-1, each).tolist()):
                        kept[key] = row

                table.write_behind(write)
                newest = {}
                for batch in range(6):
                    keys = np.random.default_rng(batch).permutation(3000)[:700]
                    rows = np.repeat(keys[:, None] * 8 + batch, each, 1).astype(value[0] if each > 1 else value)
                    newest.update(zip(keys.tolist(), rows.tolist()))
                    for key in keys.tolist():
                        kept.pop(key, None)
                    if batch % 2:
                        table.put(keys, rows if each > 1 else rows[:, 0])
                    else:
                        table.insert(keys, rows if each > 1 else rows[:, 0])
                keys, rows = table.items()
                kept.update(zip(keys.tolist(), rows.reshape(-1, each).tolist()))
                self.assertEqual(kept, newest)

                def refuse(keys, values):
                    raise ZeroDivisionError("no place")

                table.write_behind(refuse)
                keys = np.arange(10000, 12000)
                with self.assertRaisesRegex(ZeroDivisionError, "no place"):
                    table.put(keys, np.zeros((2000, each) if each > 1 else 2000, value[0] if each > 1 else value))
                table.write_behind(None)
                table.put(keys, np.zeros((2000, each) if each > 1 else 2000, value[0] if each > 1 else value))
        with Cache(("int32", "int32"), "int64", capacity=50, **CPU) as table:
            with self.assertRaisesRegex(tessera.BadArgument, "keys that are numbers"):
                table.write_behind(print)

    def test_threads_use_a_cache_at_once(self):
        keys = np.arange(2000)
        with Cache("int64", "int64", capacity=2000, eviction="custom", **CPU) as table:
            begun, begins = threading.Barrier(2), threading.local()

            class Keys:
                """Keys that are read while another thread reads its own."""

                @property
                def __array_interface__(self):
                    if not hasattr(begins, "once"):
                        begins.once = begun.wait(60)
                    return keys[:8].__array_interface__

            with ThreadPoolExecutor(2) as pool:  # looks, and uses
                jobs = [pool.submit(look, Keys()) for look in (table.peek, table.find)]
                self.assertEqual([job.result()[1].tolist() for job in jobs], [[False] * 8] * 2)

            def put(first):
                for _ in range(50):
                    table.put(keys[9 * first :][:4], keys[9 * first :][:4] * 3, scores=[7, 8, 9, 10])
                return 0

            def look(first):
                wrong = 0
                for _ in range(50):  # many more keys than there are scores in the other threads
                    values, mask = (table.find if first % 2 else table.peek)(keys)
                    wrong += int((values[mask] != keys[mask] * 3).sum())
                return wrong

            with ThreadPoolExecutor(6) as pool:
                jobs = [pool.submit(work, first) for first in range(3) for work in (put, look)]
                self.assertEqual([job.result() for job in jobs], [0] * 6)
            kept, scores = table.scores()
            self.assertEqual(sorted(kept.tolist()), [9 * first + i for first in range(3) for i in range(4)])
            with self.assertRaisesRegex(tessera.BadArgument, "scores: has 1 items, and keys 2"):
                table.put([1, 2], [1, 2], scores=[1])
            with self.assertRaisesRegex(tessera.BadArgument, "scores: -1 does not fit into uint32"):
                table.put([1], [1], scores=np.array([-1]))

    def test_a_cache_forgets(self):
        with Cache("int64", "int64", capacity=1000, eviction="ttl", settings={"eviction.lifetime": 30}, **CPU) as table:
            table.now = 100
            table.put([1, 2, 3], [10, 20, 30], scores=[5, 50, 7])
            table.now = 106
            values, mask = table.peek([1, 2, 3], missing=-1)
            self.assertEqual(values.tolist(), [-1, 20, 30])
            self.assertEqual(mask.tolist(), [False, True, True])
            self.assertEqual(table.erase_if(highest=106), 1)
            self.assertEqual(len(table), 2)
            for wrong in (-1, 1 << 32, 0.5):
                with self.assertRaises(tessera.BadArgument):
                    table.now = wrong
            with self.assertRaises(tessera.BadArgument):
                table.put([1, 2], [1, 2], scores=[1])
        with self.assertRaises(tessera.BadArgument):
            tessera.choose("cache")

    def test_sets_multimaps_counters_filters(self):
        rng = np.random.default_rng(4)
        for key in KEYS:
            keys = random_keys(rng, key, 5000)
            absent = np.setdiff1d(random_keys(rng, key, 200), keys)
            with Set(key, **CPU) as table:
                table.insert(keys)
                np.testing.assert_array_equal(np.sort(table.keys()), np.unique(keys))
                self.assertTrue(table.contains(keys).all() and not table.contains(absent).any())
            with Counter(key, **CPU) as table:
                table.insert(keys)
                want = CounterOf(keys.tolist())
                self.assertEqual(dict(zip(*(a.tolist() for a in table.items()))), want)
                self.assertEqual(table.get(keys).tolist(), [want[k] for k in keys.tolist()])
                self.assertEqual(table.get(keys).dtype, np.int64)
                self.assertEqual(pickle.loads(pickle.dumps(table)).get(keys[:1])[0], want[int(keys[0])])
            with Index(key, numbering="first_seen", **CPU) as table:
                firsts = keys[np.sort(np.unique(keys, return_index=True)[1])]
                numbers = table.number(keys)
                self.assertEqual(numbers.dtype, np.int32)
                np.testing.assert_array_equal(firsts[numbers], keys)
                self.assertEqual(table.get(absent, missing=-1).tolist(), [-1] * absent.size)
                by_number, mask = table.keys_by_number()
                self.assertEqual(by_number.dtype, keys.dtype)
                np.testing.assert_array_equal(by_number, firsts)
                self.assertTrue(mask.all())
                unique, inverse, counts = pickle.loads(pickle.dumps(table)).unique(keys)
                np.testing.assert_array_equal(unique, firsts)
                np.testing.assert_array_equal(inverse, numbers)
                np.testing.assert_array_equal(counts, np.bincount(numbers))
            with Filter(key, capacity=keys.size, **CPU) as table:
                table.insert(keys)
                self.assertTrue(table.contains(keys).all())
            for value in VALUES:
                for for_ in ("few", "many", "join"):
                    values = random_values(rng, value, keys.size)
                    with MultiMap(key, value, for_=for_, **CPU) as table:
                        table.insert(keys, values)
                        asked = np.unique(keys)[:20]
                        offsets, got = table.find_all(asked)
                        self.assertEqual(got.dtype, np.dtype(value))
                        for i, k in enumerate(asked):
                            np.testing.assert_array_equal(
                                np.sort(got[offsets[i] : offsets[i + 1]]), np.sort(values[keys == k])
                            )

    def test_the_recipe_is_told(self):
        with Map("int32", for_="build", **CPU) as table:
            self.assertEqual(table.recipe.recipe, "best_build")
            self.assertEqual(
                str(table.recipe),
                "best_build, table.key_bits = 32, table.value_bits = 64, table.duplicates = replace, table.growth = double, "
                "table.backend = cpu",
            )
            with tessera.Table(table.recipe.recipe, settings=table.recipe.settings, capacity=9) as again:
                self.assertEqual(again.info["key_bits"], 32)
        with Map(settings={"table": {"load_factor": 0.5, "backend": "cpu"}}, capacity=100) as table:
            self.assertEqual(table.recipe.settings["table.load_factor"], 0.5)
            self.assertNotIn("table.growth", table.recipe.settings)
        with Map(settings={"table": {"load_factor": "auto", "backend": "cpu"}}, capacity=1000) as table:
            self.assertGreaterEqual(table.info["slots"], 2000)


class TorchTest(unittest.TestCase):
    def test_values_of_tensors(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch cannot be imported")
        for value, dtype in (("int64", torch.int64), ("float32", torch.float32), ("float64", torch.float64)):
            for duplicates in ("replace", "min", "max"):
                with Map("int64", dtype, duplicates=duplicates, **CPU) as table:
                    keys = torch.arange(100) - 50
                    values = torch.arange(100).to(dtype) - 70
                    table.insert(keys, values)
                    table.insert(keys, values)
                    self.assertTrue(torch.equal(table.get(keys), values))
                    self.assertIs(table.get(keys).dtype, dtype)
                    self.assertEqual(table.get(torch.tensor([999]), missing=-3).tolist(), [-3])


if __name__ == "__main__":
    unittest.main()
