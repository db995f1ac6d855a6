# SPDX-License-Identifier: Apache-2.0
"""tessera.Table on the cpu backend against a dict, and the sentences for what it refuses."""

import copy
import multiprocessing
import os
import pickle
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import tessera
from tessera import Code, Op, Table

CPU = {"table.backend": "cpu"}


def spec(kind="map", key_bits=32, value_bits=32, layout="packed", probing="double_hashing", **entries):
    table = dict(kind=kind, key_bits=key_bits, layout=layout, probing=probing, hasher="murmur3", backend="cpu")
    if kind in ("map", "multimap", "counter"):
        table["value_bits"] = value_bits
    table.setdefault("capacity", 1000)
    table.update(entries)
    return {"table": table}


def wide(value_bytes=16, **entries):
    made = spec(**entries)
    del made["table"]["value_bits"]
    made["table"]["value_bytes"] = value_bytes
    return made


class SpecTest(unittest.TestCase):
    def test_a_path_a_text_and_a_dict_are_one(self):
        path = tessera.recipe("quickstart")
        with open(path) as file:
            text = file.read()
        sections = {
            "table": dict(
                kind="map",
                key_bits=32,
                value_bits=32,
                capacity="1M",
                layout="packed",
                probing="cuckoo",
                hasher="murmur3",
            )
        }
        infos = []
        for source in (path, os.fsencode(path).decode(), text, sections):
            with Table(source, settings=CPU) as table:
                infos.append(table.info)
        self.assertTrue(all(info == infos[0] for info in infos))

    def test_settings_capacity_and_seed(self):
        with Table(spec(), settings={"table.capacity": 77, "table.statistics": True}) as table:
            self.assertEqual((table.info["capacity"], table.info["statistics"]), (77, True))
        with Table(spec(), capacity=500, seed=9) as table:
            self.assertEqual((table.info["capacity"], table.info["seed"]), (500, 9))

    def test_refusals(self):
        for source, kind, sentence in (
            (spec(kind="mop"), tessera.BadSpec, r"^\[table\] kind = mop: "),
            ({"table": {"kind": "map\nlayout = x"}}, tessera.BadSpec, "no line break"),
            ({"table": {"kind": "map ; x"}}, tessera.BadSpec, "no line break, ; or #"),
            ({"table": 5}, tessera.BadSpec, "dict of sections"),
            (5, tessera.WrongType, "a path, a text of several lines or a dict"),
            ("", tessera.WrongType, "spec: is missing: pass the name of a recipe"),
            ("absent.ini", tessera.NotFound, "'absent.ini'"),
            ("absent.ini", FileNotFoundError, "'absent.ini'"),
            ("a\0b", tessera.BadArgument, "NUL"),
            ("[table]\n\0", tessera.BadSpec, "NUL"),
            ("[table]\nkind = map\n", tessera.BadSpec, "key_bits is missing"),
            (spec(probing="absent"), tessera.NotFound, "absent"),
        ):
            with self.subTest(source=source), self.assertRaisesRegex(kind, sentence):
                Table(source)
        with self.assertRaisesRegex(tessera.BadSpec, '"section.key"'):
            Table(spec(), settings={"capacity": 5})
        for wrong in (-1, 1 << 64, 1.5, "5"):
            with self.assertRaisesRegex(tessera.BadArgument, "capacity ="):
                Table(spec(), capacity=wrong)

    def test_check_plugins_and_recipes(self):
        self.assertIn("murmur3", tessera.check(spec(), settings={"table.capacity": "2K"}))
        with self.assertRaises(tessera.BadSpec):
            tessera.check(spec(kind="mop"))
        found = {f"{plugin.role}/{plugin.name}": plugin for plugin in tessera.plugins()}
        self.assertIn("probing/cuckoo", found)
        self.assertTrue(os.path.isfile(found["probing/cuckoo"].path))
        names = [parameter.name for parameter in found["layout/packed"].parameters]
        self.assertIn("bucket_slots", names)
        with self.assertRaises(tessera.Error):
            tessera.plugins("/absent")
        recipes = {recipe.name: recipe for recipe in tessera.recipes()}
        self.assertEqual(recipes["quickstart"].path, tessera.recipe("quickstart"))
        self.assertTrue(os.path.isfile(tessera.recipe("quickstart.ini")))
        self.assertTrue(recipes["quickstart"].summary)
        with Table("quickstart", settings=CPU, capacity=100) as table:
            table.insert(np.arange(10, dtype=np.uint32), np.arange(10, dtype=np.uint32))
            self.assertEqual(len(table), 10)
        for name in recipes:
            self.assertNotIn("/", name)
        with self.assertRaisesRegex(tessera.NotFound, "did you mean quickstart"):
            tessera.recipe("quickstar")
        with self.assertRaisesRegex(tessera.NotFound, "did you mean quickstart"):
            Table("quickstar")

    def test_bench(self):
        rows = tessera.bench(spec(capacity=2000), n=2000, loads=[0.5, 0.8], ops=["insert", "find100"])
        self.assertEqual(
            [(row["op"], row["load"], row["ok"]) for row in rows],
            [("insert", 0.5, "yes"), ("find100", 0.5, "yes"), ("insert", 0.8, "yes"), ("find100", 0.8, "yes")],
        )
        with self.assertRaisesRegex(tessera.Error, "bench: .*mop"):
            tessera.bench(spec(kind="mop"), n=1000)


class WideTest(unittest.TestCase):
    def test_random_rows_against_a_dict(self):
        numbers = np.random.default_rng(3)
        for policy, dtype, items in (("first", np.float32, 16), ("replace", np.uint8, 20), ("replace", np.int64, 4)):
            with self.subTest(policy=policy, dtype=dtype), Table(
                wide(items * np.dtype(dtype).itemsize, duplicates=policy, capacity=4000)
            ) as table:
                oracle = {}
                for _ in range(5):
                    keys = numbers.choice(3000, 700, replace=False).astype(np.uint32)
                    rows = numbers.integers(0, 100, (700, items)).astype(dtype)
                    table.insert(keys, rows)
                    for key, row in zip(keys.tolist(), rows):
                        if policy == "replace" or key not in oracle:
                            oracle[key] = row
                    gone = numbers.choice(3000, 50, replace=False).astype(np.uint32)
                    self.assertEqual(table.erase(gone).tolist(), [key in oracle for key in gone.tolist()])
                    for key in gone.tolist():
                        oracle.pop(key, None)
                    asked = np.arange(3000, dtype=np.uint32)
                    found, mask = table.find(asked, missing=7)
                    self.assertEqual((found.dtype, found.shape), (np.uint8, (3000, rows.nbytes // 700)))
                    self.assertEqual(mask.tolist(), [key in oracle for key in asked.tolist()])
                    self.assertTrue((found[~mask] == 7).all())
                    expected = np.array([oracle[key] for key in asked[mask].tolist()])
                    np.testing.assert_array_equal(found[mask].view(dtype), expected)
                    out = np.empty((3000, items), dtype)
                    self.assertIs(table.get(asked, missing=5, out=out), out)
                    np.testing.assert_array_equal(out[mask], expected)
                    self.assertTrue((out[~mask] == 5).all())
                keys, rows = table.items()
                self.assertEqual(len(keys), len(oracle))
                for key, row in zip(keys.tolist(), rows.view(dtype)):
                    np.testing.assert_array_equal(row, oracle[key])

    def test_records_shapes_and_numbers(self):
        record = np.dtype([("x", np.float64), ("y", np.float32), ("n", np.int32)])
        with Table(wide()) as table:
            records = np.array([(1.5, 2, 3), (4.5, 5, 6)], record)
            table.insert([1, 2], records)
            self.assertEqual(table.get([2, 1]).view(record).reshape(2).tolist(), [(4.5, 5, 6), (1.5, 2, 3)])
            out = np.empty(3, record)
            table.find([1, 2, 3], out=(out, None))
            self.assertEqual(out["n"].tolist(), [3, 6, 0])
            self.assertEqual(table.get(np.array([[1, 2], [2, 3]], np.uint32)).shape, (2, 2, 16))
            self.assertEqual(table[1].view(np.float64)[0], 1.5)
            self.assertTrue(np.isnan(table.get([9], missing=np.nan, out=np.empty((1, 4), np.float32))).all())
            self.assertIn("16 bytes", repr(table))
            rows, inserted = table.find_or_insert([2, 3], np.full((2, 16), 9, np.uint8))
            self.assertEqual(inserted.tolist(), [False, True])
            self.assertEqual((rows[0].view(record)["n"].tolist(), rows[1].tolist()), ([6], [9] * 16))
            codes, _, _ = table.insert([3, 4], np.zeros((2, 2)), wait=False)
            self.assertEqual(codes.tolist(), [tessera.Code.PRESENT, tessera.Code.INSERTED])

    def test_what_has_no_room_comes_back_as_rows(self):
        with Table(wide(capacity=100)) as table:
            keys = np.arange(1000, dtype=np.uint32)
            rows = np.repeat(keys, 4).reshape(1000, 4)
            with self.assertRaises(tessera.Full) as caught:
                table.insert(keys, rows)
            full = caught.exception
            self.assertEqual(len(full.keys) + len(table), 1000)
            np.testing.assert_array_equal(full.values.view(np.uint32), np.repeat(full.keys, 4).reshape(-1, 4))

    def test_all_rows_of_a_key_and_joins(self):
        made = wide(kind="multimap", probing="double_hashing")
        made["table"].pop("duplicates", None)
        with Table(made) as lines, Table(spec()) as orders:
            keys = np.array([1, 1, 3, 4], np.uint32)
            rows = np.repeat(keys * 10, 4).reshape(4, 4)
            lines.insert(keys, rows)
            offsets, found = lines.find_all([1, 2, 3])
            self.assertEqual(offsets.tolist(), [0, 2, 2, 3])
            self.assertEqual(found.view(np.uint32)[:, 3].tolist(), [10, 10, 30])
            out = np.empty((5, 2), np.float64)
            lines.find_all([1, 2, 3], out=(None, out))
            self.assertEqual(out.view(np.uint32)[:3, 0].tolist(), [10, 10, 30])
            orders.insert([1, 2, 3], [100, 200, 300])
            keys, left, right = orders.join(lines)
            self.assertEqual(
                sorted(zip(keys.tolist(), left.tolist(), right.view(np.uint32)[:, 1].tolist())),
                [(1, 100, 10), (1, 100, 10), (3, 300, 30)],
            )
            keys, left, right = orders.join(lines, "left", missing=255)
            self.assertEqual(right[keys == 2].tolist(), [[255] * 16])
            keys, left, _ = lines.join(orders, "anti")
            self.assertEqual((keys.tolist(), left.view(np.uint32).tolist()), ([4], [[40] * 4]))
            with self.assertRaisesRegex(tessera.Unsupported, "bytes are not added up or compared"):
                orders.join(lines, "sum")

    def test_of_several_devices_saved_and_loaded(self):
        with Table(wide(devices=[0, 1, 2], capacity=2000)) as table:
            keys = np.arange(1500, dtype=np.uint32)
            rows = np.repeat(keys, 4).reshape(1500, 4)
            table.insert(keys, rows)
            np.testing.assert_array_equal(table.get(keys[::-1].copy()).view(np.uint32), rows[::-1])
            with tempfile.TemporaryDirectory() as folder:
                table.save(os.path.join(folder, "rows.tsr"))
                with Table.load(os.path.join(folder, "rows.tsr")) as loaded:
                    np.testing.assert_array_equal(loaded.get(keys).view(np.uint32), rows)

    def test_wrong_rows(self):
        with Table(wide()) as table:
            for wrong in (5, [1, 2], np.zeros((2, 3)), np.zeros((4, 1), np.float64), np.zeros((3, 16), np.uint8)):
                with self.assertRaisesRegex(
                    tessera.WrongType, r"a value is 16 bytes: pass an array of shape \(2, 16\)"
                ):
                    table.insert([1, 2], wrong)
            with self.assertRaisesRegex(tessera.WrongType, "16 bytes"):
                table.insert([1, 2], np.array([["a"] * 2] * 2, dtype=object))
            with self.assertRaisesRegex(tessera.WrongType, "16 bytes"):
                table.get([1, 2], out=np.empty((2, 4), np.uint8))
            with self.assertRaises(tessera.BadArgument):
                table.get([1], missing=256)
            with self.assertRaisesRegex(tessera.Unsupported, "values = None"):
                table.erase_pairs([1], np.zeros((1, 16), np.uint8))


class OperationsTest(unittest.TestCase):
    """Random batches on maps of every width, against a dict."""

    def test_maps_against_a_dict(self):
        for key_bits, value_bits, probing in (
            (32, 32, "cuckoo"),
            (32, 64, "double_hashing"),
            (64, 32, "double_hashing"),
            (64, 64, "cuckoo"),
        ):
            for policy in ("replace", "add", "min", "first"):
                with self.subTest(key_bits=key_bits, value_bits=value_bits, policy=policy):
                    self.exercise(key_bits, value_bits, probing, policy)

    def exercise(self, key_bits, value_bits, probing, policy):
        seed = 7  # every run is the same
        numbers = np.random.default_rng(seed)
        key_type, value_type = np.dtype(f"u{key_bits // 8}"), np.dtype(f"u{value_bits // 8}")
        made = spec(key_bits=key_bits, value_bits=value_bits, probing=probing, duplicates=policy, capacity=4000)
        # Some keys are the largest ones, whose bits mark empty and erased slots.
        universe = np.concatenate(
            [numbers.integers(0, 1 << key_bits, 3000, dtype=key_type), np.array([-1, -2, 0]).astype(key_type)]
        )
        oracle = {}
        with Table(made) as table:
            for _ in range(6):
                keys = numbers.choice(universe, 700, replace=False)
                values = numbers.integers(0, 1000, 700, dtype=value_type)
                table.insert(keys, values)
                for key, value in zip(keys.tolist(), values.tolist()):
                    old = oracle.get(key)
                    if old is None or policy == "replace":
                        oracle[key] = value
                    elif policy != "first":
                        oracle[key] = old + value if policy == "add" else min(old, value)
                gone = numbers.choice(universe, 100, replace=False)
                erased = table.erase(gone)
                self.assertEqual(erased.tolist(), [oracle.pop(key, None) is not None for key in gone.tolist()])
                self.assertEqual(len(table), len(oracle))
                found, mask = table.find(universe, missing=1 << 20)
                want = [oracle.get(key, 1 << 20) for key in universe.tolist()]
                self.assertEqual((found.dtype, mask.dtype), (value_type, np.dtype(bool)))
                self.assertEqual(found.tolist(), want)
                self.assertEqual(mask.tolist(), [key in oracle for key in universe.tolist()])
                self.assertEqual(table.get(universe, 1 << 20).tolist(), want)
                self.assertEqual(table.contains(universe).tolist(), mask.tolist())
                self.assertEqual(table.count(universe).tolist(), mask.astype(int).tolist())
            keys, values = table.items()
            self.assertEqual(dict(zip(keys.tolist(), values.tolist())), oracle)
            self.assertEqual(set(table), set(oracle))
            table.rehash(capacity=8000)
            self.assertEqual((len(table), table.info["capacity"]), (len(oracle), 8000))
            table.clear()
            self.assertEqual(len(table), 0)

    def test_sets_multisets_and_multimaps(self):
        numbers = random.Random(5)
        with Table(spec(kind="set")) as table:
            table.insert([3, 4, 3])
            self.assertEqual(sorted(table), [3, 4])
            self.assertIsNone(table.items()[1])
            for call in (lambda: table.find([3]), lambda: table.get([3]), lambda: table.find_all([3])):
                with self.assertRaisesRegex(tessera.Unsupported, "a set has no values: use contains"):
                    call()
            with self.assertRaisesRegex(tessera.BadArgument, "a set has no values"):
                table.insert([5], [5])
            values, inserted = table.find_or_insert([4, 5])
            self.assertIsNone(values)
            self.assertEqual(inserted.tolist(), [False, True])
        with Table(spec(kind="multiset", layout="aos")) as table:
            table.insert([3, 4, 3])
            self.assertEqual(table.count([3, 4, 5]).tolist(), [2, 1, 0])
            self.assertEqual(table.erase_pairs([3, 5]).tolist(), [True, False])
            self.assertEqual(len(table), 2)
        with Table(spec(kind="multimap", layout="aos", key_bits=64)) as table:
            oracle = defaultdict(list)
            pairs = [(numbers.randrange(50), numbers.randrange(1000)) for _ in range(300)]
            for key, value in pairs:
                oracle[key].append(value)
            table.insert([key for key, _ in pairs], [value for _, value in pairs])
            asked = np.arange(60, dtype=np.int64)
            with self.assertRaisesRegex(tessera.BadArgument, r"keys: has shape \(6, 10\), and offsets have one axis"):
                table.find_all(asked.reshape(6, 10))
            offsets, values = table.find_all(asked)
            self.assertEqual((offsets.dtype, values.dtype, offsets.shape), (np.int64, np.int32, (61,)))
            for i, key in enumerate(asked.tolist()):
                self.assertEqual(sorted(values[offsets[i] : offsets[i + 1]].tolist()), sorted(oracle[key]))
            self.assertEqual(table.count(asked.reshape(6, 10)).shape, (6, 10))
            small = np.zeros(10, np.int32), np.empty(61, np.uint64)
            offsets, values = table.find_all(asked, out=(small[1], small[0]))
            self.assertEqual((int(offsets[-1]), values is small[0]), (300, True))
            offsets, values = table.find_all([1000, 1001])
            self.assertEqual((offsets.tolist(), values.size), ([0, 0, 0], 0))
            key, value = pairs[0]
            self.assertEqual(table.erase_pairs([key], [value]).tolist(), [True])
            self.assertEqual(len(table), 299)

    def test_joins(self):
        left_pairs, right_pairs = [(1, 10), (2, 20), (2, 21)], [(2, 200), (3, 300), (2, 201)]
        entries = dict(kind="multimap", layout="aos")
        with Table(spec(**entries)) as left, Table(spec(**entries)) as right:
            left.insert(*map(list, zip(*left_pairs)))
            right.insert(*map(list, zip(*right_pairs)))

            def rows(*columns):
                return sorted(zip(*(column.tolist() for column in columns)))

            inner = sorted((k, a, b) for k, a in left_pairs for j, b in right_pairs if k == j)
            self.assertEqual(rows(*left.join(right)), inner)
            self.assertEqual(rows(*left.join(right, "left", missing=9)), sorted(inner + [(1, 10, 9)]))
            keys, values, none = left.join(right, "semi")
            self.assertEqual((rows(keys, values), none), ([(2, 20), (2, 21)], None))
            self.assertEqual(left.join(right, "anti")[0].tolist(), [1])
            self.assertEqual(len(left.join(left)[0]), 5)
            for kind, expected in ("union", [1, 2, 3]), ("intersect", [2]), ("difference", [1]):
                keys, *none = left.join(right, kind)
                self.assertEqual((sorted(keys.tolist()), none), (expected, [None, None]))
            for kind, expected in ("sum", 401), ("min", 200), ("max", 201), ("count", 2):
                keys, none, values = left.join(right, kind)
                self.assertEqual((rows(keys, values), none), ([(2, expected)], None))
            self.assertEqual(left.join(right, like=np.empty(0, np.int32))[2].dtype, np.int32)
            alone = [(j, 9, b) for j, b in right_pairs if j not in dict(left_pairs)]
            self.assertEqual(rows(*left.join(right, "right", missing=9)), sorted(inner + alone))
            self.assertEqual(rows(*left.join(right, "outer", missing=9)), sorted(inner + [(1, 10, 9)] + alone))
            with self.assertRaisesRegex(tessera.BadArgument, '"inner", "left", "semi", "anti".*did you mean outer'):
                left.join(right, "full")
            with self.assertRaisesRegex(tessera.WrongType, "pass a Table"):
                left.join([1])

    def test_an_index_numbers_its_keys(self):
        generator = np.random.default_rng(3)
        for bits, dtype in ((32, np.int32), (64, np.int64), (64, np.uint64)):
            keys = generator.integers(0, 400, 1000).astype(dtype)
            with Table(spec(kind="index", key_bits=bits, numbering="first_seen")) as table:
                numbers = table.number(keys)
                self.assertEqual(numbers.dtype, np.int32 if dtype in (np.int32, np.int64) else np.uint32)
                firsts = keys[np.sort(np.unique(keys, return_index=True)[1])]
                np.testing.assert_array_equal(firsts[numbers], keys)
                self.assertEqual(len(table), len(firsts))
                self.assertEqual(table.numbers_given(), len(firsts))
                np.testing.assert_array_equal(table.number(keys.reshape(10, 100)), numbers.reshape(10, 100))
                np.testing.assert_array_equal(table.get(keys), numbers)
                found, mask = table.find(np.array([keys[0], 401], dtype))
                self.assertEqual((found.tolist(), mask.tolist()), ([0, 0], [True, False]))
                by_number, mask = table.keys_by_number(like=keys)
                np.testing.assert_array_equal(by_number, firsts)
                self.assertTrue(mask.all())
                table.erase(firsts[2:5])
                by_number, mask = table.keys_by_number(1, 4, missing=7)
                self.assertEqual(mask.tolist(), [True, False, False, False])
                self.assertEqual(by_number.tolist(), [firsts[1], 7, 7, 7])
                again = table.number(np.array([500, 501, 502, 503], dtype))
                self.assertEqual(sorted(again.tolist()), [2, 3, 4, len(firsts)])
                table.insert(np.array([504], dtype))
                self.assertEqual(table.get(504), len(firsts) + 1)

    def test_an_index_that_evicts(self):
        none = 2**32 - 1
        with Table(spec(kind="index", key_bits=64, eviction="lru", numbering="first_seen", capacity=3)) as table:
            self.assertEqual(table.number([10, 20, 30]).tolist(), [0, 1, 2])
            self.assertEqual(len(table.evicted()[0]), 0)
            table.number([10])
            table.touch(table.get([20, 99], missing=none))
            self.assertEqual(table.number([40]).tolist(), [2])
            keys, numbers = table.evicted()
            self.assertEqual((keys.tolist(), numbers.tolist()), ([30], [2]))
            self.assertEqual(table.get([10, 20, 30], missing=none).tolist(), [0, 1, none])
            self.assertEqual(table.report()["evicted"], 1)
            with self.assertRaisesRegex(tessera.Unsupported, "4 distinct keys"):
                table.number([1, 2, 3, 4])
            with self.assertRaisesRegex(tessera.WrongType, "int32"):
                table.touch(np.arange(3.0))
        with Table(spec(kind="index", key_bits=64)) as table:
            with self.assertRaisesRegex(tessera.Unsupported, "eviction = NAME"):
                table.touch([1])
            with self.assertRaisesRegex(tessera.Unsupported, "eviction = NAME"):
                table.evicted()
        with tessera.Index("int64", capacity=2, eviction="lfu", backend="cpu") as rows:
            rows.number([-5, -5, 7])
            rows.number([8])
            self.assertEqual(rows.evicted()[0].tolist(), [7])
            self.assertEqual(rows.get([-5, 7], missing=-1).tolist()[1], -1)

    def test_an_index_has_rows(self):
        generator = np.random.default_rng(5)
        rows = generator.random((300, 12)).astype(np.float32)
        keys = generator.permutation(10_000)[:300]
        with tessera.Index("int64", row=("float32", 12), backend="cpu") as index:
            numbers = index.number(keys)
            index.write_rows(numbers, rows)
            np.testing.assert_array_equal(index.read_rows(numbers), rows)
            index.number(np.arange(20_000, 30_000))  # grows
            np.testing.assert_array_equal(index.read_rows(index.get(keys).reshape(3, 100)), rows.reshape(3, 100, 12))
            self.assertEqual(index.read_rows([-1, int(numbers[0])], missing=-2.5)[:, 0].tolist(), [-2.5, rows[0, 0]])
            out = np.empty((300, 6), np.float64)
            self.assertIs(index.read_rows(numbers, out=out), out)
            np.testing.assert_array_equal(out.view(np.float32), rows)
            index.insert(keys[:5], -rows[:5])
            np.testing.assert_array_equal(index.read_rows(numbers[:5]), -rows[:5])
            for call in (lambda: index.write_rows(numbers, rows[:9]), lambda: index.write_rows(numbers, rows[:, :3].copy())):
                with self.assertRaisesRegex(tessera.WrongType, "a row is 48 bytes"):
                    call()
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "index.tsr")
                index.save(path)
                with tessera.Index.load(path, row=("float32", 12)) as loaded:
                    np.testing.assert_array_equal(loaded.read_rows(loaded.get(keys[5:])), rows[5:])
                with self.assertRaisesRegex(tessera.WrongType, "48 bytes"):
                    tessera.Index.load(path, row=("float32", 16))
        with tessera.Index("int32", eviction="lru", capacity=2, row=("int64", 512), backend="cpu") as cache:
            cache.write_rows(cache.number([1, 2]), np.ones((2, 512), np.int64))
            cache.number([3])
            gone, numbers = cache.evicted()
            self.assertEqual((gone.tolist(), cache.read_rows(numbers).sum()), ([1], 512))
        with tessera.Index("int32", backend="cpu") as index:
            with self.assertRaisesRegex(tessera.Unsupported, "no rows"):
                index.read_rows([0])
            with self.assertRaisesRegex(tessera.WrongType, "multiple of 16"):
                tessera.Index("int32", row=("float32", 3))

    def test_an_index_tells_distinct_keys(self):
        keys = np.random.default_rng(4).integers(0, 300, (20, 50))
        with Table(spec(kind="index", key_bits=64)) as table:
            for _ in range(2):
                unique, inverse, counts = table.unique(keys)
                np.testing.assert_array_equal(unique[inverse], keys)
                expected = dict(zip(*np.unique(keys, return_counts=True)))
                self.assertEqual(dict(zip(unique.tolist(), counts.tolist())), expected)
            unique, inverse, counts = table.unique(np.array([], np.int64))
            self.assertEqual((len(unique), len(inverse), len(counts)), (0, 0, 0))
            self.assertEqual(len(table.unique(np.arange(9000))[0]), 9000)  # without the table, if that need not keep them
            with self.assertRaisesRegex(tessera.Unsupported, "raise capacity"):
                table.unique(np.arange(9000), keep=True)

    def test_an_index_refuses(self):
        with Table(spec(kind="index", key_bits=64, capacity=10)) as table:
            with self.assertRaisesRegex(tessera.BadArgument, "an index gives its keys their numbers"):
                table.insert([1], [2])
            with self.assertRaises(tessera.Full) as caught:
                table.number(np.arange(500))
            self.assertIsNone(caught.exception.values)
            numbers = table.number(np.arange(500), wait=False)
            self.assertEqual(np.sum(numbers == -1), 500 - len(table))
            copy_of = pickle.loads(pickle.dumps(table))
            np.testing.assert_array_equal(copy_of.get(np.arange(500), -1), table.get(np.arange(500), -1))
        with Table(spec(kind="set")) as table:
            for call in (lambda: table.number([1]), table.keys_by_number, table.numbers_given, lambda: table.unique([1])):
                with self.assertRaisesRegex(tessera.Unsupported, "tessera.Index does|make a table of kind = index"):
                    call()

    def test_counters(self):
        keys = np.random.default_rng(11).integers(0, 500, 20_000).astype(np.uint32)
        distinct, counts = np.unique(keys, return_counts=True)
        with Table(spec(kind="counter", value_bits=32, probing="cuckoo")) as table:
            table.insert(keys)
            self.assertEqual(table.get(distinct).tolist(), counts.tolist())
            table.insert(distinct, counts.astype(np.uint32))
            self.assertEqual(table.get(distinct).tolist(), (2 * counts).tolist())
            table.insert(distinct[:1], np.array([0xFFFFFFFF], np.uint32))
            self.assertEqual(table[int(distinct[0])], 0xFFFFFFFF)
            self.assertEqual(table.get(np.array([501], np.uint32)).tolist(), [0])
            with self.assertRaisesRegex(tessera.Unsupported, "a counter counts each key"):
                table.find_or_insert(keys, keys)

    def test_filters(self):
        def filter_of(keys, **settings):
            made = Table(tessera.recipe("filter"), settings={**CPU, **settings}, capacity=20_000)
            made.insert(keys)
            return made

        keys = np.random.default_rng(12).integers(0, 1 << 62, 20_000)
        absent = ~keys
        with filter_of(keys[:10_000]) as table, filter_of(keys[10_000:]) as other:
            self.assertTrue(table.contains(keys[:10_000]).all())
            self.assertLess(table.contains(keys[10_000:]).mean(), 0.05)
            table.merge(other)
            self.assertTrue(table.contains(keys).all())
            info = table.filter_info()
            self.assertEqual((info["block_bytes"], info["functions"], info["bits_per_key"]), (32, 6, 16.0))
            self.assertLess(abs(info["keys"] / 20_000 - 1), 0.05)
            self.assertLess(abs(table.contains(absent).mean() - info["rate"]), 0.002)
            with filter_of(keys[:1], **{"table.seed": 9}) as different:
                with self.assertRaisesRegex(tessera.BadArgument, "seed"):
                    table.merge(different)
            for call in (lambda: table.find(keys), lambda: table.erase(keys), lambda: len(table)):
                with self.assertRaisesRegex(tessera.Unsupported, "a filter"):
                    call()
            with self.assertRaisesRegex(tessera.WrongType, "is this table"):
                table.merge(table)
        with tessera.Filter("int64", capacity=20_000, for_="erase", settings=CPU) as table:
            self.assertEqual(table.recipe.recipe, "cuckoo_filter")
            table.insert(keys)
            self.assertTrue(table.contains(keys).all())
            self.assertTrue(table.erase(keys[:10_000]).all())
            self.assertTrue(table.contains(keys[10_000:]).all())
            info = table.filter_info()
            self.assertEqual((info["functions"], info["keys"]), (0, 10_000))
            for asked in (keys[:10_000], absent):
                self.assertLess(table.contains(asked).mean(), info["rate"] + 0.002)
            with tessera.Filter("int64", capacity=20_000, for_="erase", settings=CPU) as other:
                self.assertRaisesRegex(tessera.Unsupported, "insert the keys of both", table.merge, other)
        with Table(spec()) as table, Table(spec()) as other:
            with self.assertRaises(tessera.Unsupported):
                table.filter_info()
            with self.assertRaises(tessera.Error):
                table.merge(other)

    def test_sums_that_overflow_are_told(self):
        keys = np.array([1, 1, 2, 2], np.uint64)
        values = np.array([2**64 - 1, 5, 2**64 - 2, 1], np.uint64)
        sums = spec(key_bits=64, value_bits=64, duplicates="add")
        with Table(sums) as table:
            with self.assertWarnsRegex(tessera.OverflowWarning, r"^1 sum passed 2\^64 - 1; .* settings={\"table.overflow\": \"saturate\"}"):
                table.insert(keys, values)
            self.assertEqual((table[1], table[2], table.report()["overflows"]), (4, 2**64 - 1, 1))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                table.insert(keys[:1], values[1:2])
                table.insert(keys.astype(np.int64), np.array([-1, -2, 3, -4]))  # right modulo 2^64
            table.report(reset=True)
            self.assertEqual(table.report()["overflows"], 0)
        with Table(sums) as table:
            table.insert(keys, values, wait=False)
            with self.assertWarns(tessera.OverflowWarning):
                table.report()
        sums["table"]["overflow"] = "saturate"
        with Table(sums) as table:
            table.insert(keys, values)
            self.assertEqual((table[1], table[2]), (2**64 - 1, 2**64 - 1))
            self.assertEqual(table.report()["overflows"], 1)
            with self.assertRaisesRegex(tessera.WrongType, "overflow = saturate adds unsigned numbers"):
                table.insert(keys.astype(np.int64), np.array([-1, -2, 3, -4]))

    def test_counts_that_stop_are_told(self):
        with Table(spec(kind="counter", value_bits=8)) as counts:
            keys = np.full(255, 7, np.uint32)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                counts.insert(keys)
            self.assertEqual(counts.report()["overflows"], 0)
            with self.assertWarnsRegex(
                tessera.OverflowWarning, r"^counts passed the largest that fits, 2\^8 - 1, and .* settings={\"table.value_bits\": 64}$"
            ):
                counts.insert(keys[:1])
            self.assertEqual((counts[7], counts.report()["overflows"]), (255, 1))
            with self.assertWarnsRegex(tessera.OverflowWarning, r"^counts passed the largest that fits, 2\^8 - 1") as caught:
                counts.insert([8, 9], [256, 1])  # of an absent key, which is no addition
            self.assertEqual((counts[[8, 9]].tolist(), caught.filename), ([255, 1], __file__))
            self.assertEqual(counts.report()["overflows"], 2)

    def test_sums_of_a_join_that_overflow_are_told(self):
        keys = np.array([1, 1, 2, 2], np.uint64)
        values = np.array([2**64 - 1, 5, 2**64 - 2, 1], np.uint64)
        with Table(spec(key_bits=64, value_bits=64)) as left:
            with Table(spec(kind="multimap", key_bits=64, value_bits=64)) as right:
                left.insert(keys, values)
                right.insert(keys, values)
                with self.assertWarnsRegex(tessera.OverflowWarning, r"^1 sum passed 2\^64 - 1; .* saturate=True"):
                    found = left.join(right, "sum")
                self.assertEqual(dict(zip(found[0].tolist(), found[2].tolist())), {1: 4, 2: 2**64 - 1})
                found = left.join(right, "sum", saturate=True)
                self.assertEqual(found[2].tolist(), [2**64 - 1, 2**64 - 1])
                with self.assertRaisesRegex(tessera.BadArgument, "only sums can overflow"):
                    left.join(right, "max", saturate=True)

    def test_arrays_that_inserts_keep_are_not_seen_again(self):
        """An insert takes the arrays of the one before for what finds no room: what it hands out must stay as it is."""
        keys = np.arange(1000, dtype=np.uint32)
        with Table(tessera.recipe("quickstart"), settings=CPU, capacity=256) as table:
            handed_out = []
            for i in range(4):
                with self.assertRaises(tessera.Full) as caught:
                    table.insert(keys + 1000 * i, keys)
                full = caught.exception
                handed_out.append((full.keys, full.values, full.keys.copy(), full.values.copy()))
            for theirs, values, as_they_were, values_were in handed_out:
                self.assertTrue((theirs == as_they_were).all() and (values == values_were).all())
            held = table.items()[0].tolist()
            everything = held + [key for theirs, *_ in handed_out for key in theirs.tolist()]
            self.assertEqual(sorted(everything), list(range(4000)))
            codes, *_ = table.insert(keys[:10], keys[:10], wait=False)
            before = codes.copy()
            table.clear()
            table.insert(keys[:10], keys[:10])
            table.insert(keys[:10], keys[:10])
            self.assertTrue((codes == before).all())

    def test_apply(self):
        with Table(tessera.recipe("mixed"), settings=CPU, capacity=100) as table:
            table.insert([1, 2], [10, 20])
            operations = np.array([Op.FIND, Op.ERASE, Op.INSERT, Op.REPLACE, Op.FIND], np.uint8)
            values, codes = table.apply(operations, [1, 2, 3, 4, 5], [0, 0, 30, 40, 0], missing=99)
            self.assertEqual((int(values[0]), int(values[4])), (10, 99))
            self.assertEqual(codes.tolist(), [Code.FOUND, Code.ERASED, Code.INSERTED, Code.INSERTED, Code.MISSING])
            self.assertEqual(sorted(table), [1, 3, 4])
            with self.assertRaisesRegex(tessera.WrongType, "operations: is 1 of uint8"):
                table.apply([0], [1, 2])
        with Table(spec()) as table, self.assertRaisesRegex(tessera.Unsupported, r"settings={\"table.concurrency\": \"mixed\"}"):
            table.apply([0], [1], [1])

    def test_find_or_insert(self):
        with Table(spec()) as table:
            table.insert([1], [10])
            values, inserted = table.find_or_insert([1, 2], [11, 22])
            self.assertEqual((values.tolist(), inserted.tolist()), ([10, 22], [False, True]))
        keys = np.arange(1000, dtype=np.uint32)
        with Table(spec(probing="cuckoo", capacity=500)) as table:
            with self.assertRaises(tessera.Full) as caught:
                table.find_or_insert(keys, keys)
            self.assertEqual(sorted([*table, *caught.exception.keys.tolist()]), keys.tolist())
        with Table(spec(kind="set")) as table, self.assertRaisesRegex(tessera.BadArgument, "out: a set has no values"):
            table.find_or_insert([1], out=keys[:1])

    def test_a_table_whose_buckets_split_grows_by_what_it_needs(self):
        keys = np.arange(50000, dtype=np.uint32)
        with Table(spec(probing="linear_hashing", growth="split", capacity=100)) as table:
            for batch in np.split(keys, 50):
                table.insert(batch, batch + 1)
            self.assertEqual(len(table), len(keys))
            self.assertLess(table.info["capacity"], 53000)
            values, mask = table.find(keys)
            self.assertTrue(mask.all() and np.array_equal(values, keys + 1))

    def test_no_memory_to_grow_is_told_with_the_pairs(self):
        def inserts(table, keys):
            try:
                table.insert(keys, keys)
            except tessera.Full as full:
                self.assertRegex(str(full), r"^\d+ pairs? found no room: there is no memory to double the table")
                self.assertTrue(np.array_equal(full.keys, full.values))
                return [full.keys]
            return []

        count, step = 1 << 20, 1 << 14
        keys = np.arange(count + 10 * step, dtype=np.uint32)
        with Table(spec(probing="cuckoo", capacity=count, load_factor=0.9, growth="double")) as table:
            table.insert(keys[:count], keys[:count])
            back = []
            soft, hard = resource.getrlimit(resource.RLIMIT_AS)
            with open("/proc/self/statm") as file:
                used = int(file.read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + (12 << 20), hard))
            try:
                for first in range(count, len(keys), step):
                    back += inserts(table, keys[first : first + step])
            finally:
                resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
            left = np.concatenate(back)
            self.assertEqual(table.report()["ungrown"], len(left))
            self.assertTrue((left < count).any(), "no pair of before was evicted")
            self.assertEqual(len(table) + len(left), len(keys))
            table.insert(left, left)  # with memory, it grows
            self.assertTrue(np.array_equal(table.get(keys), keys))

    def test_a_full_table_hands_every_pair_back(self):
        keys = np.arange(1, 2001, dtype=np.uint64)
        with Table(spec(key_bits=64, value_bits=64, probing="cuckoo", capacity=1000)) as table:
            with self.assertRaisesRegex(tessera.Full, r"^\d+ pairs found no room: ") as caught:
                table.insert(keys, keys * 3)
            full = caught.exception
            inside = dict(zip(*(array.tolist() for array in table.items())))
            back = dict(zip(full.keys.tolist(), full.values.tolist()))
            self.assertGreater(len(back), 0)
            self.assertEqual(len(inside) + len(back), 2000)
            self.assertEqual({**inside, **back}, {key: 3 * key for key in range(1, 2001)})
            # a call that has no pair without room does not raise for an earlier one
            table.erase(keys[:1500])
            table.insert(keys[:10], keys[:10])
            table.report(reset=True)
            table.insert(keys[10:20], keys[10:20])
            self.assertEqual(table.report()["inserted"], 10)
        with Table(spec(capacity=100)) as table:
            few = keys[:1000].astype(np.uint32)
            codes, back, back_values = table.insert(few, few, wait=False)
            lost = codes == Code.NOT_PLACED
            self.assertEqual(int(lost.sum()) + len(table), 1000)
            self.assertTrue(np.isin(back[lost], few).all() and (back[lost] == back_values[lost]).all())
            out = (np.zeros(1000, np.uint8), None, None)
            self.assertIs(table.insert(few, few, wait=False, out=out)[0], out[0])
            with self.assertRaisesRegex(tessera.BadArgument, "wait = False"):
                table.insert(few, few, out=out)
        with Table(spec(capacity=100, growth="double", growth_limit=400)) as table:
            with self.assertRaises(tessera.Full) as caught:
                table.insert(few, few)
            self.assertEqual(len(table) + len(caught.exception.keys), 1000)

    def test_build(self):
        keys = np.arange(900, dtype=np.uint32)
        with Table(spec(probing="cuckoo")) as table:
            table.build(keys, keys)
            self.assertEqual(table.get(keys).tolist(), keys.tolist())
            with self.assertRaisesRegex(tessera.BadArgument, "holds 900 pairs already"):
                table.build(keys, keys)
            with self.assertRaisesRegex(tessera.BadArgument, "tries = 0"):
                table.build(keys, keys, tries=0)

    def test_several_devices(self):
        keys = np.arange(20_000, dtype=np.uint32)
        with Table(spec(capacity=30_000, devices=[0, 1, 2])) as table:
            table.insert(keys, keys * 2)
            values, mask = table.find(np.arange(19_990, 20_010, dtype=np.uint32), missing=1)
            self.assertEqual(values.tolist(), [2 * key for key in range(19_990, 20_000)] + [1] * 10)
            self.assertEqual((int(mask.sum()), len(table)), (10, 20_000))
            self.assertEqual(np.sort(table.items()[0]).tolist(), keys.tolist())
            self.assertTrue(table.erase(keys[:100]).all())
            with tempfile.TemporaryDirectory() as folder:
                table.save(os.path.join(folder, "table"))
                with Table.load(os.path.join(folder, "table"), device="0,0,0") as copy:
                    self.assertEqual(len(copy), 19_900)

    def test_no_keys(self):
        none = np.empty(0, np.uint32)
        with Table(spec()) as table:
            table.insert(none, none)
            values, mask = table.find([])
            self.assertEqual((values.shape, mask.shape, len(table)), ((0,), (0,), 0))
            self.assertEqual([len(column) for column in table.items()], [0, 0])
            self.assertEqual([len(column) for column in table.join(table)], [0, 0, 0])
            self.assertEqual(table.erase(none).shape, (0,))

    def test_many_keys(self):
        keys = np.random.default_rng(1).permutation(300_000).astype(np.uint32)
        with Table(spec(probing="cuckoo", capacity=len(keys))) as table:
            table.insert(keys, keys // 2)
            values, mask = table.find(keys)
            self.assertTrue(mask.all() and np.array_equal(values, keys // 2))

    def test_as_a_dict(self):
        with Table(spec(duplicates="replace")) as table:
            table[5] = 50
            table[np.array([6, 7], np.uint32)] = [60, 70]
            table[5] = 51
            self.assertEqual((table[5], table[[6, 7]].tolist(), len(table)), (51, [60, 70], 3))
            self.assertTrue(5 in table and np.uint32(6) in table and 8 not in table)
            self.assertIsInstance(table[5], int)
            with self.assertRaisesRegex(KeyError, "^the key 9 is not in the table"):
                table[[5, 9, 10]]
            with self.assertRaisesRegex(tessera.WrongType, "contains"):
                np.array([5], np.uint32) in table
            with self.assertRaisesRegex(tessera.WrongType, "contains"):
                "5" in table
            self.assertEqual(repr(table), "<tessera.Table: map, 32-bit keys, 32-bit values, the CPU>")

    def test_save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a table")
            with Table(spec()) as table:
                table.insert([1, 2], [10, 20])
                table.save(path)
            with Table.load(path, backend="cpu") as copy:
                self.assertEqual(copy.get([1, 2, 3]).tolist(), [10, 20, 0])
                self.assertEqual(repr(copy), "<tessera.Table: map, 32-bit keys, 32-bit values, the CPU>")
            with open(path, "r+b") as file:
                file.truncate(200)
            with self.assertRaises(tessera.IoFailed):
                Table.load(path)
            with self.assertRaises(OSError):
                Table.load(folder)

    def test_rehash_to_another_spec(self):
        with Table(spec()) as table:
            table.insert([1, 2], [10, 20])
            table.rehash(spec(probing="cuckoo", duplicates="min"))
            self.assertEqual(table.get([1, 2]).tolist(), [10, 20])
            with self.assertRaisesRegex(tessera.WrongType, "unsigned"):
                table.insert([3], np.array([3], np.int32))
            with self.assertRaises(tessera.Error):
                table.rehash(spec(kind="set"))
            with self.assertRaisesRegex(tessera.BadArgument, "settings"):
                table.rehash(settings={"table.seed": 5})
            self.assertEqual(len(table), 2)

    def test_prepare(self):
        with Table(spec()) as table:
            table.prepare("insert", "find", "len")
            table.insert([1], [2])
            self.assertEqual(table.get([1]).tolist(), [2])
            with self.assertRaisesRegex(tessera.BadArgument, "calls: 'get': there are insert, find, "):
                table.prepare("get")

    def test_report_usage_and_flush(self):
        with Table(spec(statistics="yes")) as table:
            table.insert([1, 2, 2], [10, 20, 30])
            table.find([1, 5])
            report = table.report()
            self.assertEqual([report[name] for name in ("insert_keys", "inserted", "find_keys", "found")], [3, 2, 2, 1])
            self.assertEqual(sum(report["find_histogram"]), 2)
            table.report(reset=True)
            self.assertEqual(table.report()["insert_keys"], 0)
            self.assertEqual(table.usage()["pairs"], 2)
            with self.assertRaises(tessera.Unsupported):
                table.flush()
        with Table(tessera.recipe("slab_hash"), settings=CPU, capacity=1000) as table:
            keys = np.arange(5000, dtype=np.uint32)
            table.insert(keys, keys)
            table.erase(keys[:4500])
            self.assertGreater(table.flush(), 0)


class ArgumentsTest(unittest.TestCase):
    def setUp(self):
        self.table = Table(spec())
        self.addCleanup(self.table.close)
        self.keys = np.arange(10, dtype=np.uint32)
        self.table.insert(self.keys, self.keys)

    def refused(self, kind, sentence, call, *arguments, **options):
        with self.assertRaisesRegex(kind, sentence):
            call(*arguments, **options)
        self.assertEqual(len(self.table), 10)  # nothing has happened, and the table works

    def test_wrong_keys(self):
        find, wrong = self.table.find, tessera.WrongType
        self.refused(wrong, "keys: is int64, and this table has 32-bit keys: pass uint32 or int32", find, np.arange(3))
        self.refused(TypeError, "keys: is float32", find, np.zeros(3, np.float32))
        self.refused(wrong, "keys: is byte-swapped", find, self.keys.astype(">u4"))
        self.refused(wrong, "keys: ", find, np.array(["a"]))
        self.refused(wrong, "keys: ", find, np.array([None]))
        self.refused(wrong, r"keys: holds 1\.5: keys are whole numbers", find, [1.5])
        self.refused(wrong, "^keys: is 'abc': tessera.Map\(key=\"str\"\) has texts as keys", find, "abc")
        self.refused(wrong, "^keys: holds 'b': tessera.Map", find, [1, "b"])
        self.refused(wrong, "^keys: is None: pass whole numbers$", find, None)
        self.refused(wrong, "^keys: holds None: pass whole numbers$", find, [1, None])
        self.refused(wrong, "^keys: holds bools: ", find, [True])
        self.refused(wrong, r"^keys: is a set: pass list\(keys\), or an array$", find, {1, 2})
        self.refused(wrong, r"^keys: is a generator: pass list\(keys\)", find, (i for i in range(3)))
        self.refused(wrong, "masked", find, np.ma.array(self.keys))
        self.refused(tessera.BadArgument, "do not fit into 32 bits", find, [1 << 32])
        self.refused(tessera.BadArgument, "do not fit into 32 bits", find, [-1, 1 << 31])
        self.refused(tessera.BadArgument, "do not fit into 32 bits", find, -(1 << 31) - 1)
        self.refused(ValueError, "is not contiguous", find, self.keys[::2])
        self.refused(ValueError, "is not contiguous", find, np.zeros((3, 3), np.uint32).T)

    def test_the_way_out_is_numpys(self):
        get, wrong = self.table.get, tessera.WrongType
        for keys, sentence in (
            (np.arange(3), r'int64, .* int32, or create the table with settings={"table.key_bits": 64}$'),
            (np.arange(3, dtype=np.int8), r"int8, .* int32: keys.astype\('int32'\)$"),
            (np.ones(3, bool), r"bool, .*: keys.astype\('int32'\)$"),
            (np.ones(3, np.float32), r"float32, .*: keys.astype\('int32'\) converts whole numbers; nulls became NaN"),
            (np.ones(3, np.complex128), r"complex128, .*: pass uint32 or int32$"),
            (np.array(["2020-01-01"], "M8[s]"), r"datetime64, .*: pass uint32 or int32$"),
            (np.array(["a", "b"]), r'str, .*: tessera.Map\(key="str"\) has texts as keys'),
            (np.array([1, None]), "object, .* tessera.factorize numbers other things"),
            (np.zeros(2, [("id", "i4"), ("x", "f4")]), "a record, .* of a record pass one field"),
            (self.keys.astype(">u4"), "byte-swapped uint32, .*keys.dtype.newbyteorder"),
        ):
            self.refused(wrong, "^keys: is " + sentence, get, keys)
        wider = 'do not fit into 32 bits: create the table with settings={"table.key_bits": 64}'
        self.refused(tessera.BadArgument, wider, get, [1 << 32])
        self.refused(
            wrong, r"values: holds .*: pass numpy.array\(values, 'float32'\)", self.table.insert, [20, 21], [1.5, 2.5]
        )
        insert, floats = self.table.insert, np.ones(1, np.float16)
        self.refused(wrong, "values: is 2.5: a number for all keys is a whole number here: pass an array of", insert, [20], 2.5)
        self.refused(wrong, r"values: is float16, .*: pass float32: values.astype\('float32'\)$", insert, [20], floats)
        self.refused(wrong, r'values: is int64, .*{"table.value_bits": 64}', self.table.insert, [20], np.array([1]))

    def test_the_librarys_sentences_name_what_python_has(self):
        """No option of the command line, no function of C."""
        sentences = []

        def told(call):
            with self.assertRaises(tessera.Error) as caught:
                call()
            sentences.append(str(caught.exception))
            return sentences[-1]

        self.assertRegex(
            told(lambda: Table(spec(), settings={"table.bakend": "cpu"})), r'^settings={"table.bakend": "cpu"}: '
        )
        self.assertIn("`python -m tessera describe table`", told(lambda: Table(spec(), settings={"table.zzzzzz": 1})))
        self.assertRegex(told(lambda: Table(spec(kind="mop"))), r"^\[table\] kind = mop: ")
        self.assertIn("tessera.plugins()", told(lambda: Table(spec(layout="zzzzzzzz"))))
        self.assertIn("tessera.plugins()", told(lambda: Table(spec(layout="zz-!"))))
        self.assertIn("tessera.recipes()", told(lambda: Table("zzzzzzzz")))
        self.assertIn("plugins is a path or a list", told(lambda: tessera.plugins("/absent")))
        told(lambda: self.table.rehash(capacity=1 << 50))
        told(lambda: self.table.flush())
        with Table("filter", settings=CPU, capacity=100) as table:
            for call in (lambda: table.join(self.table), table.items, lambda: len(table), lambda: table.erase([1])):
                self.assertIn("filter", told(call))
        with Table(spec(kind="multimap")) as table:
            self.assertIn("use insert", told(lambda: table.find_or_insert([1], [1])))
        with Table(wide()) as table:
            self.assertIn("use erase", told(lambda: table.erase_pairs([1], np.zeros((1, 16), np.uint8))))
        for sentence in sentences:
            self.assertNotRegex(sentence, r"--[a-z]|\btsr_|NULL|README|^dict:")

    def test_numbers_of_numpy_are_numbers(self):
        self.table.insert([20, 21], np.int64(5))
        self.assertEqual(self.table.get([20, 21]).tolist(), [5, 5])
        self.table.erase([20, 21])

    def test_keys_of_many_makes(self):
        two = [1, 2]
        for keys in (two, tuple(two), range(1, 3), np.array(two, np.uint32), np.array(two, np.int32)):
            self.assertEqual(self.table.get(keys).tolist(), two)
        self.assertEqual(self.table.get(memoryview(np.array(two, np.uint32))).tolist(), two)
        self.assertEqual(self.table.get(np.uint32(7)), 7)
        self.assertEqual(self.table.get(7), 7)
        read_only = self.keys.copy()
        read_only.flags.writeable = False
        self.assertEqual(self.table.get(read_only).tolist(), self.keys.tolist())
        grid = self.keys.reshape(2, 5)
        values, mask = self.table.find(grid)
        self.assertEqual((values.tolist(), mask.shape), (grid.tolist(), (2, 5)))
        try:
            import pandas
        except ImportError:
            return
        self.assertEqual(self.table.get(pandas.Series(self.keys)).tolist(), self.keys.tolist())

    def test_wrong_values(self):
        insert = self.table.insert
        self.refused(tessera.BadArgument, "values: a map needs a value for each key", insert, [20])
        self.refused(tessera.BadArgument, "values: has 2 items, and keys 1", insert, [20], [1, 2])
        self.refused(tessera.WrongType, "values: is int64", insert, [20], np.array([1]))
        self.refused(tessera.BadArgument, "values: -1: keys are unsigned", insert, [20], -1)
        self.refused(tessera.BadArgument, "values = 4294967296", insert, [20], 1 << 32)
        with Table(spec(duplicates="add")) as table:
            with self.assertRaisesRegex(tessera.WrongType, "float32, and duplicates = add calculates"):
                table.insert([1], np.array([1.5], np.float32))
            table.insert(np.array([1, 1], np.int32), np.array([-5, 3], np.int32))
            self.assertEqual(table.get(np.array([1], np.int32)).tolist(), [-2])
        with Table(spec(duplicates="max")) as table, self.assertRaisesRegex(tessera.WrongType, "compares unsigned"):
            table.insert([1], np.array([1], np.int32))

    def test_missing(self):
        get = self.table.get
        self.assertEqual(get(np.array([1, 99], np.int32), missing=-1).tolist(), [1, -1])
        self.assertEqual(get([99], missing=(1 << 32) - 1).tolist(), [(1 << 32) - 1])
        self.refused(tessera.BadArgument, "missing = -1: is no uint32", get, [99], missing=-1)
        self.refused(tessera.WrongType, "whole numbers", get, [99], missing=1.5)

    def test_wrong_out(self):
        get, find = self.table.get, self.table.find
        out = np.zeros(10, np.uint32)
        self.assertIs(get(self.keys, out=out), out)
        self.assertEqual(out.tolist(), self.keys.tolist())
        mask = np.zeros(10, bool)
        self.assertIs(find(self.keys, out=(None, mask))[1], mask)
        self.assertTrue(mask.all())
        read_only = np.zeros(10, np.uint32)
        read_only.flags.writeable = False
        self.refused(ValueError, "out: is read-only", get, self.keys, out=read_only)
        self.refused(ValueError, "out: has 9 items: pass an array of 10", get, self.keys, out=out[:9])
        self.refused(TypeError, "out: is uint64: pass an array of uint32", get, self.keys, out=np.zeros(10, np.uint64))
        self.refused(ValueError, "is not contiguous", get, self.keys, out=np.zeros(20, np.uint32)[::2])
        self.refused(TypeError, "out: is list: pass an array", get, self.keys, out=[0] * 10)
        self.refused(ValueError, "out: shares memory with keys", get, self.keys, out=self.keys)
        self.refused(TypeError, "a tuple of two arrays", find, self.keys, out=out)
        self.refused(TypeError, r"out\[1\]: is uint32", find, self.keys, out=(None, out))

    def test_a_closed_table(self):
        table = Table(spec())
        table.close()
        table.close()
        for call in (lambda: table.find([1]), lambda: len(table), table.wait, lambda: table.join(self.table)):
            with self.assertRaisesRegex(tessera.Closed, "^the table is closed$"):
                call()
        with self.assertRaisesRegex(tessera.Closed, "closed"):
            self.table.join(table)
        self.assertEqual((repr(table), len(self.table)), ("<tessera.Table, closed>", 10))

    def test_every_error_is_tesseras(self):
        for name in tessera.__all__:
            kind = getattr(tessera, name)
            if isinstance(kind, type) and issubclass(kind, BaseException) and not issubclass(kind, Warning):
                self.assertTrue(issubclass(kind, tessera.Error), name)
                self.assertEqual(str(kind("a sentence")), "a sentence")


class SilenceTest(unittest.TestCase):
    """What was computed wrongly without a word: each has the right answer, or an exception with the way out."""

    def joined(self, kind, values, right_keys=(1, 1, 2, 9), **options):
        bits = 8 * values.dtype.itemsize
        with Table(spec(key_bits=64)) as left, Table(spec(kind="multimap", key_bits=64, value_bits=bits)) as right:
            left.insert([1, 2, 3], [0, 0, 0])
            right.insert(np.array(right_keys), values)
            keys, none, answers = left.join(right, kind, **options)
            self.assertIsNone(none)
            order = np.argsort(keys)
            self.assertEqual(keys[order].tolist(), [1, 2])
            return answers[order]

    def test_joins_calculate_with_floats_and_signed_values(self):
        for dtype in (np.float32, np.float64, np.int32, np.int64):
            values = np.array([-5, 2, 3, 100], dtype)
            wide = np.int64 if np.dtype(dtype).kind == "i" else np.float64
            for kind, expected in ("sum", [-3, 3]), ("min", [-5, 3]), ("max", [2, 3]):
                with self.subTest(dtype=dtype, kind=kind):
                    answers = self.joined(kind, values)
                    self.assertEqual((answers.tolist(), answers.dtype), (expected, wide))
        self.assertEqual(self.joined("sum", np.array([1.5, 2.25, 0, 0])).tolist(), [3.75, 0])
        self.assertEqual(self.joined("max", np.array([5, 2**64 - 1, 7, 0], np.uint64)).tolist(), [2**64 - 1, 7])

    def test_joins_of_random_values_against_numpy(self):
        numbers = np.random.default_rng(9)
        keys = numbers.integers(0, 300, 5000)
        values = numbers.integers(-(1 << 40), 1 << 40, 5000)
        with Table(spec(key_bits=64)) as left, Table(
            spec(kind="multimap", key_bits=64, value_bits=64, capacity=9000)
        ) as right:
            left.insert(np.arange(0, 600, 2, dtype=np.uint64), 0)
            right.insert(keys, values)
            for kind, combine in ("sum", np.sum), ("min", np.min), ("max", np.max):
                got_keys, _, got = left.join(right, kind, like=keys)
                expected = {key: int(combine(values[keys == key])) for key in np.unique(keys[keys % 2 == 0]).tolist()}
                self.assertEqual((dict(zip(got_keys.tolist(), got.tolist())), got_keys.dtype), (expected, np.int64))
            self.assertEqual([len(part) for part in right.join(left, "sum")[::2]], [150, 150])

    def test_joins_that_cannot_know_the_type(self):
        with Table(spec(key_bits=64)) as left, Table(spec(kind="multimap", key_bits=64, value_bits=64)) as right:
            left.insert([1], [0])
            self.assertEqual(left.join(right, "sum")[2].tolist(), [])
            right.insert([1], np.array([-1.5]))
            right.insert([1], np.array([2], np.uint64))
            with self.assertRaisesRegex(tessera.BadArgument, "other: .* as float64 and as uint64: pass dtype"):
                left.join(right, "sum")
            self.assertEqual(left.join(right, "count")[2].tolist(), [2])
            with self.assertRaisesRegex(tessera.WrongType, "dtype = 'float32': values are of 64 bits: pass 'uint64'"):
                left.join(right, "sum", dtype=np.float32)
            with self.assertRaisesRegex(tessera.WrongType, "dtype = 'nothing'"):
                left.join(right, "sum", dtype="nothing")
            right.clear()
            right.insert([1, 1], [5, 6])  # may be signed or unsigned
            right.erase_pairs([1], np.array([5], np.uint64))
            right.insert(np.array([1]), np.array([-7]))
            right.insert([1], 8)
            self.assertEqual(left.join(right, "sum")[2].tolist(), [7])
            right.insert([1], [1 << 63])
            with self.assertRaisesRegex(tessera.BadArgument, "as int64 and as uint64"):
                left.join(right, "sum")
            right.clear()
            right.insert([1], 8)
            self.assertEqual(left.join(right, "sum")[2].dtype, np.uint64)
            right.insert([1], np.array([0.5]))
            with self.assertRaisesRegex(tessera.BadArgument, "as float64 and as int:"):
                left.join(right, "sum")
            right.clear()
            right.insert([1, 1], np.array([-1.5, 3]))
            with self.assertRaisesRegex(tessera.BadArgument, "saturate = True: stops unsigned sums"):
                left.join(right, "sum", saturate=True)
            with tempfile.TemporaryDirectory() as folder:
                right.save(os.path.join(folder, "right"))
                with Table.load(os.path.join(folder, "right")) as loaded:
                    with self.assertRaisesRegex(tessera.BadArgument, "other: was loaded from a file"):
                        left.join(loaded, "sum")
                    self.assertEqual(left.join(loaded, "sum", dtype="float64")[2].tolist(), [1.5])
        with self.assertWarnsRegex(tessera.OverflowWarning, r"^1 sum passed 2\^63 - 1"):
            self.joined("sum", np.array([2**62, 2**62, 5, 5]))

    def test_a_counter_takes_no_negative_numbers_and_no_floats(self):
        for key_type in (np.uint64, np.int64):
            keys = np.array([1, 2], key_type)
            with Table(spec(kind="counter", key_bits=64, value_bits=64)) as table:
                table.insert(keys, np.array([5, 6]))
                for wrong in (-3, np.int64(-3), [1, -3], np.array([1, -3])):
                    with self.assertRaisesRegex(
                        tessera.BadArgument, "values: -3 is negative, and a counter only counts up"
                    ):
                        table.insert(keys, wrong)
                with self.assertRaisesRegex(tessera.WrongType, "values: is float64, and a counter calculates"):
                    table.insert(keys, np.array([1.5, 2]))
                self.assertEqual(table.get(keys).tolist(), [5, 6])

    def test_keys_of_several_columns(self):
        two = np.array([[1, 2], [3, 4], [5, 6]], np.uint32)
        with Table(spec(kind="set")) as table:
            with self.assertRaisesRegex(tessera.BadArgument, r"keys: has shape \(3, 2\), and a key is one number"):
                table.insert(two)
            self.assertEqual(len(table), 0)
            with self.assertRaisesRegex(tessera.BadArgument, "keys: has shape"):
                table.insert([(1, 2), (3, 4)])
        with Table(spec(kind="counter")) as table, self.assertRaisesRegex(tessera.BadArgument, "keys: has shape"):
            table.insert(two)
        with Table(spec()) as table:
            for values in (5, np.arange(6, dtype=np.uint32)):
                with self.assertRaisesRegex(tessera.BadArgument, "keys: has shape"):
                    table.insert(two, values)
            table.insert(two, two * 10)
            self.assertEqual(table.get(two).tolist(), (two * 10).tolist())
            try:
                import pandas
            except ImportError:
                return
            frame = pandas.DataFrame(two, columns=["a", "b"])
            for call in (table.get, table.contains, table.erase, table.insert):
                with self.assertRaisesRegex(tessera.WrongType, "keys: is a DataFrame: pass one column"):
                    call(frame)
            self.assertEqual(table.get(frame["a"]).tolist(), [10, 30, 50])

    def test_missing_is_a_number(self):
        with Table(spec()) as table, Table(wide()) as rows, Table("mixed", settings=CPU, capacity=100) as mixed:
            for made in (table, rows):
                for call in (made.get, made.find):
                    with self.assertRaisesRegex(tessera.WrongType, "missing = None: tables have no nulls"):
                        call([1], missing=None)
                    with self.assertRaisesRegex(tessera.WrongType, "missing = '': pass a number"):
                        call([1], missing="")
            out = np.empty(1, np.float32)
            for wrong in (None, "", []):
                with self.assertRaises(tessera.WrongType):
                    table.get([1], missing=wrong, out=out)
                with self.assertRaises(tessera.WrongType):
                    table.join(table, "left", missing=wrong)
                with self.assertRaises(tessera.WrongType):
                    mixed.apply([Op.FIND], [1], missing=wrong)
            self.assertEqual(table.get([1], missing=np.uint32(7)).tolist(), [7])

    def test_setting_an_item_replaces_or_is_refused(self):
        for made in (spec(), spec(duplicates="add"), spec(kind="multimap"), spec(kind="counter")):
            with Table(made) as table:
                with self.assertRaisesRegex(tessera.Unsupported, r"use table\.insert\(keys, values\)"):
                    table[1] = 5
                self.assertEqual(len(table), 0)

    def test_a_promise_of_distinct_keys_is_checked(self):
        keys = np.arange(1000, dtype=np.int64) * 7919
        with Table("best_find_64", settings=CPU, capacity=3000) as table:
            sentence = "keys: 7919 is repeated, and duplicates = promise_unique"
            for again in (np.concatenate([keys, keys[1:2]]), np.sort(np.concatenate([keys, keys[1:2]]))):
                for call in (table.insert, table.build):
                    with self.assertRaisesRegex(tessera.BadArgument, sentence):
                        call(again, again)
                    self.assertEqual(len(table), 0)
            table.insert(keys[::-1].copy(), keys)
            table.clear()
            table.insert(keys, keys)
            with self.assertRaisesRegex(tessera.BadArgument, "keys: 7919 is in the table already"):
                table.insert(keys[1:3], keys[1:3])
            self.assertEqual(len(table), 1000)
            table.insert(keys + 1, keys)
            table.insert(keys[:0], keys[:0])
            table.insert(keys[:5], keys[:5], check=False)  # the caller promises; the table keeps both
            self.assertEqual(len(table), 2005)
            with self.assertRaisesRegex(tessera.BadArgument, "in the table already"):
                table.insert(keys[:5], keys[:5], wait=False)
            table.insert(keys[:5], keys[:5], wait=False, check=False)
            table.clear()
            table.insert(keys, keys)
            self.assertEqual(len(table), 1000)
        with Table("mixed", settings={**CPU, "table.duplicates": "promise_unique"}, capacity=100) as table:
            with self.assertRaisesRegex(tessera.BadArgument, "check = True: apply does not look"):
                table.apply([Op.INSERT] * 2, [1, 1], [1, 2])
            table.apply([Op.INSERT] * 2, [1, 2], [1, 2], check=False)
            self.assertEqual(len(table), 2)

    def test_traces_of_pytorch_are_refused(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch is not installed")
        with Table("best_find_64", settings=CPU, capacity=100) as table:
            ids = torch.arange(5)
            table.insert(ids, ids * 2)

            class Rows(torch.nn.Module):
                def forward(self, keys):
                    return table.get(keys) + 1

            self.assertEqual(Rows()(ids).tolist(), [1, 3, 5, 7, 9])
            with self.assertRaisesRegex(tessera.BadArgument, "torch.jit.trace cannot record"):
                torch.jit.trace(Rows(), ids)
            self.assertEqual(table.get(ids).tolist(), [0, 2, 4, 6, 8])


class VerbsTest(unittest.TestCase):
    """What dicts and NumPy's users look for."""

    def test_keys_values_del_pop_and_update(self):
        with Table(spec(duplicates="replace")) as table:
            table.update({1: 10, 2: 20, 3: 30})
            table.update([3, 4, 3], [7, 40, 33])
            self.assertEqual(dict(zip(table.keys().tolist(), table.values().tolist())), {1: 10, 2: 20, 3: 33, 4: 40})
            self.assertEqual({int(key): value for key, value in dict(table).items()}, {1: 10, 2: 20, 3: 33, 4: 40})
            self.assertEqual(table.keys(like=np.empty(0, np.int32)).dtype, np.int32)
            del table[1]
            with self.assertRaisesRegex(KeyError, "the key 1 is not in the table"):
                del table[[2, 1]]
            self.assertEqual(sorted(table), [2, 3, 4])
            self.assertEqual((table.pop(2), table.pop([3, 9], 7).tolist(), table.pop(9, missing=5)), (20, [33, 7], 5))
            self.assertIsInstance(table.pop(99, 1), int)
            self.assertIsNone(table.pop(99, None))
            with self.assertRaisesRegex(tessera.WrongType, "one whole number"):
                table.pop([4, 9], None)
            with self.assertRaises(KeyError):
                table.pop([4, 9])
            self.assertEqual(list(table), [4])
            with Table(spec(duplicates="replace")) as other:
                other.update(table)
                self.assertEqual(other[4], 40)
            with self.assertRaisesRegex(tessera.WrongType, "keys: is list: pass a Table, a dict"):
                table.update([1])
            self.assertEqual(table.nbytes, table.info["bytes"])
            self.assertGreaterEqual(table.nbytes, 8000)
        with Table(spec()) as table, self.assertRaises(tessera.Unsupported):
            table.update({1: 2})
        with Table(spec(kind="set")) as table:
            table.insert([1, 2])
            del table[1]
            self.assertEqual(table.keys().tolist(), [2])
            with self.assertRaisesRegex(tessera.Unsupported, "a set has no values"):
                table.values()

    def test_counts_and_offsets_are_signed(self):
        """np.repeat takes them, and np.diff of them."""
        with Table(spec(kind="multimap")) as table:
            keys = np.array([1, 2, 3], np.uint32)
            table.insert([1, 3, 3], [10, 30, 31])
            offsets, values = table.find_all(keys)
            self.assertEqual((offsets.dtype, table.count(keys).dtype), (np.int64, np.int64))
            self.assertEqual(np.repeat(keys, np.diff(offsets)).tolist(), [1, 3, 3])
            self.assertEqual(np.repeat(keys, table.count(keys)).tolist(), [1, 3, 3])
            self.assertEqual(table.join(table, "count")[2].dtype, np.int64)

    def test_html(self):
        table = Table(spec(capacity=1234))
        text = table._repr_html_()
        for part in ("<table>", "1,234 keys", "packed", "the CPU", "32 bits"):
            self.assertIn(part, text)
        table.close()
        self.assertEqual(table._repr_html_(), "<code>tessera.Table, closed</code>")


def found_in_a_file(path, keys, mmap):
    """Whether the values are right, how many maps of the file there are, and mmap."""
    with tessera.Map.load(path, key="int64", value="int64", backend="cpu", mmap=mmap) as table:
        right = bool((table.get(keys) == keys * 3).all())
        with open("/proc/self/maps") as maps:
            return right, sum(path in line for line in maps), mmap


def found_by_a_process(table, keys):
    return table.get(keys).tolist()


class RowsOfIds:
    """A data set of PyTorch that holds a table."""

    def __init__(self, table, ids):
        self.table, self.ids = table, ids

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return self.table.get(int(self.ids[i]))


class ProcessesTest(unittest.TestCase):
    def test_tables_are_pickled_as_they_are_saved(self):
        keys = np.arange(500, dtype=np.uint32)
        with Table(spec(), on_busy="raise") as table:
            table.insert(keys, keys * 2)
            table.erase(keys[:10])
            for copied in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table)):
                with copied:
                    self.assertEqual(copied.get(keys, 1).tolist(), table.get(keys, 1).tolist())
                    self.assertEqual((len(copied), copied.info["capacity"]), (490, table.info["capacity"]))
                    copied.insert(keys[:10], keys[:10])
            self.assertEqual(len(table), 490)
        with self.assertRaises(tessera.Closed):
            pickle.dumps(table)
        with Table(spec(key_bits=64)) as left, Table(spec(kind="multimap", key_bits=64, value_bits=64)) as right:
            left.insert([1], [0])
            right.insert([1, 1], np.array([0.5, 1]))
            with pickle.loads(pickle.dumps(right)) as copied:
                self.assertEqual(left.join(copied, "sum")[2].tolist(), [1.5])

    def test_processes_that_map_a_file_share_its_memory(self):
        keys = np.arange(400_000)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows")
            with tessera.Map("int64", "int64", capacity=len(keys), backend="cpu") as table:
                table.insert(keys, keys * 3)
                table.save(path)
            with multiprocessing.get_context("spawn").Pool(2) as pool:
                answers = pool.starmap(found_in_a_file, [(path, part, mmap) for part in np.split(keys, 4) for mmap in (True, False)])
        for right, maps, is_mapped in answers:
            self.assertEqual((right, maps > 0), (True, is_mapped))

    def test_a_pool_of_processes(self):
        keys = np.arange(1000, dtype=np.uint32)
        with Table(spec()) as table:
            table.insert(keys, keys * 3)
            for way in ("fork", "spawn", "forkserver"):
                with multiprocessing.get_context(way).Pool(2) as pool:
                    answers = pool.starmap(found_by_a_process, [(table, part) for part in np.split(keys, 4)])
                self.assertEqual(sum(answers, []), (keys * 3).tolist(), way)

    def test_a_data_loader_with_two_workers(self):
        try:
            from torch.utils.data import DataLoader
        except ImportError:
            self.skipTest("PyTorch is not installed")
        ids = np.arange(50_000, dtype=np.int64) * 7919
        with Table("best_find_64", settings=CPU, capacity=len(ids)) as table:
            table.insert(ids, np.arange(len(ids)))  # large enough for threads
            rows = RowsOfIds(table, ids[:64])
            for way in ("fork", "spawn"):
                with self.subTest(way=way):
                    loader = DataLoader(rows, batch_size=16, num_workers=2, multiprocessing_context=way)
                    self.assertEqual([row for batch in loader for row in batch.tolist()], list(range(64)))


class ThreadsTest(unittest.TestCase):
    def test_two_threads_at_once_get_a_sentence(self):
        keys = np.arange(300_000, dtype=np.uint32)
        table = Table(spec(capacity=1_000_000), on_busy="raise")
        busy, working, stop = [], threading.Event(), threading.Event()

        def work():
            while not stop.is_set():
                try:
                    table.insert(keys, keys)
                except tessera.Busy:
                    pass
                working.set()

        thread = threading.Thread(target=work)
        thread.start()
        working.wait()
        deadline = time.monotonic() + 60
        while not busy and time.monotonic() < deadline:
            try:
                table.find(keys[:10])
            except tessera.Busy as error:
                busy.append(str(error))
        stop.set()
        thread.join()
        self.assertTrue(busy and busy[0].startswith("another thread is using this table"), busy)
        self.assertEqual(len(table), len(keys))
        table.close()

    def test_many_threads_read_and_write_one_table(self):
        keys = np.arange(200_000, dtype=np.uint32)
        with Table(spec(capacity=400_000)) as table:
            table.insert(keys, keys * 2)

            def read(part):
                return bool((table.get(part) == part * 2).all())

            def write(part):
                table.insert(part + np.uint32(200_000), part)
                return len(table) > 200_000

            with ThreadPoolExecutor(8) as pool:
                parts = np.split(keys, 40)
                answers = list(pool.map(read, parts)) + list(pool.map(write, parts[:5]))
            self.assertEqual((all(answers), len(answers), len(table)), (True, 45, 225_000))

    def test_look_ups_of_two_threads_overlap_and_a_writer_has_its_turn(self):
        keys = np.arange(1000, dtype=np.uint32)
        first, second = threading.Event(), threading.Event()

        class Keys:
            """Keys that are read while another thread reads its own."""

            def __init__(self, own, others):
                self.own, self.others = own, others

            @property
            def __array_interface__(self):
                self.own.set()
                if not self.others.wait(60):
                    raise RuntimeError("the other look-up has not begun")
                return keys.__array_interface__

        with Table(spec(capacity=4000), on_busy="raise") as table:
            table.insert(keys, keys)
            with ThreadPoolExecutor(2) as pool:
                jobs = [pool.submit(table.count, Keys(*way)) for way in ((first, second), (second, first))]
                self.assertEqual([int(job.result().sum()) for job in jobs], [1000, 1000])
        with Table(spec(capacity=200_000)) as table:
            stop = threading.Event()
            table.insert(keys, keys)

            def read():
                wrong = 0
                while not stop.is_set():
                    wrong += int((table.get(keys) != keys).sum())
                return wrong

            with ThreadPoolExecutor(4) as pool:
                jobs = [pool.submit(read) for _ in range(4)]
                for i in range(1, 20):
                    table.insert(keys + np.uint32(1000 * i), keys)
                stop.set()
                self.assertEqual([job.result(60) for job in jobs], [0] * 4)
            self.assertEqual(len(table), 20_000)

    def test_joins_of_two_tables_both_ways_do_not_wait_for_each_other(self):
        keys = np.arange(20_000, dtype=np.uint32)
        with Table(spec(capacity=30_000)) as one, Table(spec(capacity=30_000)) as other:
            one.insert(keys, keys)
            other.insert(keys, keys)
            with ThreadPoolExecutor(4) as pool:
                made = [pool.submit(a.join, b) for a, b in ((one, other), (other, one)) * 10]
                self.assertEqual({len(job.result(timeout=120)[0]) for job in made}, {20_000})

    def test_a_call_inside_a_call_of_the_same_thread_is_told(self):
        table = Table(spec())

        class Keys:
            """Asks the table from within the call that reads it."""

            __cuda_array_interface__ = property(lambda self: table.wait())

        with self.assertRaisesRegex(tessera.Error, "this thread is inside a call of this table"):
            table.contains(Keys())
        table.close()

    def test_words_of_on_busy(self):
        with self.assertRaisesRegex(tessera.BadArgument, 'on_busy = \'no\': is "wait" or "raise"'):
            Table(spec(), on_busy="no")

    def test_different_tables_work_at_once(self):
        def work(seed, answers):
            keys = np.random.default_rng(seed).permutation(50_000).astype(np.uint32)
            with Table(spec(capacity=60_000)) as table:
                table.insert(keys, keys + seed)
                answers.append(bool((table.get(keys) == keys + seed).all()))

        answers = []
        threads = [threading.Thread(target=work, args=(seed, answers)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, [True] * 4)

    def test_the_gil_is_released(self):
        keys = np.arange(2_000_000, dtype=np.uint32)
        table = Table(spec(capacity=len(keys)))
        ended, steps = threading.Event(), 0

        def work():
            table.insert(keys, keys)
            ended.set()

        thread = threading.Thread(target=work)
        thread.start()
        while not ended.is_set():
            steps += 1
            time.sleep(0.0005)
        thread.join()
        table.close()
        self.assertGreater(steps, 3)


FORKED = """
import os, sys, threading
import numpy as np
import tessera
import tessera._table

def child(work):
    sys.stdout.flush()
    number = os.fork()
    if number == 0:
        work()
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(number, 0)[1] == 0

keys = np.arange(300_000)
"""


def forked(program):
    """What a program prints that forks."""
    done = subprocess.run(
        [sys.executable, "-c", FORKED + program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


class ForkTest(unittest.TestCase):
    def test_tables_on_the_cpu_go_on(self):
        lines = forked("""
table = tessera.Map("int64", "int64", capacity=1_000_000, backend="cpu")
table.insert(keys, keys * 2)
def work():
    print(len(table), bool((table.get(keys) == keys * 2).all()))
    table.insert(keys + 1_000_000, keys)
    other = tessera.Counter("int64", backend="cpu")
    other.insert(keys % 1000)
    print(len(table), len(other), len(tessera.unique(keys % 7)))
child(work)
child(lambda: child(work))
print(len(table))
""")
        self.assertEqual(lines, ["300000 True", "600000 1000 7"] * 2 + ["300000"])

    def test_compilers_at_work_are_not_waited_for(self):
        lines = forked("""
settings = {"table.backend": "cpu", "table.key_bits": 64, "table.duplicates": "replace"}
table = tessera.Table("linear", settings=settings, capacity=1_000_000)
table.insert(keys, keys.astype(np.uint32))
child(lambda: (table.insert(keys, keys.astype(np.uint32)), print(len(table), int(table.get(keys).max()))))
""")
        self.assertEqual(lines, ["300000 299999"])

    def test_a_table_that_another_thread_works_on_is_closed(self):
        lines = forked("""
table, other = (tessera.Set("int64", capacity=1000, backend="cpu") for _ in range(2))
held, done = threading.Barrier(3), threading.Event()
class Keys:
    @property
    def __cuda_array_interface__(self):
        held.wait()
        done.wait()
        raise ValueError
def ask(call):
    try:
        call(Keys())
    except tessera.Error:
        pass
threads = [threading.Thread(target=ask, args=[call]) for call in (table.insert, other.contains)]
for thread in threads:
    thread.start()
held.wait()
def work():
    other.insert([7])
    print(len(other) - 1)    # another thread was only reading it
    try:
        len(table)
    except tessera.Closed as error:
        print(error)
child(work)
done.set()
for thread in threads:
    thread.join()
print(len(table) + len(other))
""")
        self.assertEqual((lines[0], lines[-1]), ("0", "0"))
        self.assertRegex(lines[1], "^<tessera.Set: int64, the CPU>: is closed in this process, which is a fork: another thread")

    def test_a_gpu_does_not_come_along(self):
        lines = forked("""
table = tessera.Set("int64", capacity=1000, backend="cpu")
path = os.path.join("/tmp", f"tessera-fork-{os.getpid()}")
table.save(path)
table._devices, tessera._table._used_gpu = frozenset({0}), True    # as if it were on a GPU
def work():
    for call in (lambda: len(table), lambda: tessera.Set("int64"), lambda: tessera.Set.load(path)):
        try:
            call()
        except tessera.Closed as error:
            print(error)
    print(len(tessera.Set("int64", backend="cpu")), len(tessera.Set.load(path, backend="cpu")))
child(work)
os.remove(path)
print(len(table))
""")
        self.assertRegex(lines[0], "^<tessera.Set: int64, GPU 0>: is closed .* its memory is on a GPU. Start processes by .*spawn")
        self.assertTrue(all("a fork of one that used a GPU" in line for line in lines[1:3]), lines)
        self.assertEqual(lines[3:], ["0 0", "0"])


if __name__ == "__main__":
    unittest.main()
