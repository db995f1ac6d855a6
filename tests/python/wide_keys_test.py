# SPDX-License-Identifier: Apache-2.0
"""Keys of 128 bits: the forms that they may have, against a dict, and what is refused."""

import importlib
import os
import pickle
import sys
import unittest
import uuid

import numpy as np

import tessera
from tessera import _arrays

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import stand_in_cupy  # noqa: E402

SETTINGS = {"table.backend": os.environ.get("TSR_TEST_BACKEND", "cpu"), "table.capacity": 1000}
MAP = {**SETTINGS, "table.kind": "map", "table.value_bits": 64, "table.layout": "soa"}


def keys_of(numbers):
    return np.array([[n & (1 << 64) - 1, n >> 64] for n in numbers], np.uint64).reshape(-1, 2)


def numbers_of(keys):
    return [int(low) | int(high) << 64 for low, high in keys.tolist()]


def libraries():
    """(name, makes an array, makes NumPy's of one): PyTorch and JAX if they are there, and what stands in for CuPy."""
    cupy = stand_in_cupy.install()
    _arrays._adapters[cupy.ndarray] = _arrays.CuPyAdapter()
    yield "cupy", lambda array: cupy.asarray(np.array(array)), np.array
    try:
        torch = importlib.import_module("torch")
        yield "torch", lambda array: torch.from_numpy(array.view(array.dtype.str.replace("u", "i"))), lambda a: a.numpy()
    except ImportError:
        pass
    try:
        jax = importlib.import_module("jax")
        jax.config.update("jax_enable_x64", True)
        yield "jax", jax.numpy.asarray, np.asarray
    except ImportError:
        pass


class WideKeysTest(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(3)
        self.numbers = [int.from_bytes(rng.bytes(16), "little") for _ in range(300)]
        self.numbers += [0, 1, 1 << 64, (1 << 128) - 1, (1 << 128) - 2, (1 << 64) - 1, 65 << 120]
        self.keys = keys_of(self.numbers)

    def forms(self):
        record = np.dtype([("x", "<i4"), ("y", "<i4"), ("z", "<i4"), ("t", "<i4")])
        yield self.keys
        yield self.keys.astype(np.int64)
        yield self.keys.view(np.uint32)
        yield self.keys.view("V16").reshape(-1)
        yield self.keys.view("S16").reshape(-1)
        yield self.keys.view(record).reshape(-1)
        yield [uuid.UUID(int=n) for n in self.numbers]
        yield self.numbers
        yield [n.to_bytes(16, "little") for n in self.numbers]
        yield np.array([uuid.UUID(int=n) for n in self.numbers], object)

    def test_every_form_is_the_same_key(self):
        with tessera.Table("wide_keys", settings=SETTINGS) as table:
            table.insert(self.keys)
            for form in self.forms():
                self.assertTrue(table.contains(form).all(), type(form))
                self.assertEqual(table.contains(form).shape, (len(self.numbers),))
            for form in self.forms():
                table.clear()
                table.insert(form)
                self.assertEqual(sorted(numbers_of(table.keys())), sorted(self.numbers))
            self.assertEqual(sorted(table), sorted(self.numbers))
            self.assertIn(uuid.UUID(int=self.numbers[0]), table)
            self.assertNotIn(uuid.UUID(int=self.numbers[0] ^ 1 << 70), table)

    def test_keys_of_96_bits(self):
        rows = np.arange(30, dtype=np.uint32).reshape(10, 3)
        spec = {"table": {"kind": "set", "key_bits": 96, "capacity": 100, "layout": "packed", "probing": "linear", "hasher": "murmur3"}}
        for source in (spec, "wide_keys"):
            with tessera.Table(source, settings=SETTINGS) as table:
                table.insert(rows[:5])
                self.assertEqual(table.contains(rows).tolist(), [True] * 5 + [False] * 5)
                self.assertTrue(table.contains(rows[:5].view("V12").reshape(-1)).all())
                self.assertTrue(table.contains(rows[:4].reshape(2, 2, 3)).all())
                whole = np.zeros((5, 4), np.uint32)
                whole[:, :3] = rows[:5]
                self.assertEqual(sorted(numbers_of(table.keys())), sorted(numbers_of(whole.view(np.uint64))))
        with tessera.Set(key=["uint32"] * 3, backend="cpu") as table:
            table.insert(rows)
            self.assertTrue(table.contains(rows).all())

    def test_a_map(self):
        values = np.arange(len(self.numbers), dtype=np.uint64)
        with tessera.Table("wide_keys", settings=MAP) as table:
            table.insert(self.keys, values)
            self.assertEqual(table[uuid.UUID(int=self.numbers[4])], 4)
            found, mask = table.find(self.keys ^ np.array([0, 1 << 63], np.uint64))
            self.assertFalse(mask[:300].any())
            np.testing.assert_array_equal(table[self.keys], values)
            keys, held = table.items()
            self.assertEqual(dict(zip(numbers_of(keys), held.tolist())), dict(zip(self.numbers, range(len(values)))))
            copy = pickle.loads(pickle.dumps(table))
            np.testing.assert_array_equal(copy[self.keys], values)
            table.erase(self.keys[:10])
            self.assertEqual(len(table), len(values) - 10)
            with self.assertRaisesRegex(tessera.Missing, str(self.numbers[3])):
                table[self.keys[3:20]]
            table.insert(self.keys[:10], 7)
            self.assertEqual(table[self.keys[:10]].tolist(), [7] * 10)

    def test_rows_of_other_libraries(self):
        values = np.arange(len(self.numbers), dtype=np.uint64)
        other = self.keys ^ np.array([0, 1 << 63], np.uint64)
        for name, ours, numpys in libraries():
            with self.subTest(name), tessera.Table("wide_keys", settings=MAP) as table:
                kind = type(ours(self.keys))
                table.insert(ours(self.keys), ours(values))
                for form in (self.keys, self.keys.view(np.uint32), self.keys.view(np.int64)):
                    found, mask = table.find(ours(form))
                    self.assertIs(type(found), kind)
                    np.testing.assert_array_equal(numpys(found).view(np.uint64), values)
                    self.assertTrue(numpys(mask).all())
                    self.assertEqual(tuple(mask.shape), values.shape)
                np.testing.assert_array_equal(numpys(table.contains(ours(other[:300]))), np.zeros(300, bool))
                keys, held = table.items(like=ours(self.keys))
                self.assertIs(type(keys), kind)
                got = dict(zip(numbers_of(numpys(keys).view(np.uint64)), numpys(held).tolist()))
                self.assertEqual(got, dict(zip(self.numbers, range(len(values)))))
                square = ours(self.keys[:6].reshape(2, 3, 2))
                self.assertEqual(tuple(table.contains(square).shape), (2, 3))
                self.assertEqual(numpys(table[square]).tolist(), [[0, 1, 2], [3, 4, 5]])
                with self.assertRaisesRegex(tessera.Missing, str(numbers_of(other[3:4])[0])):
                    table[ours(np.concatenate([self.keys[:3], other[3:9]]))]
                self.assertTrue(numpys(table.erase(ours(self.keys[:10]))).all())
                self.assertEqual(len(table), len(values) - 10)
                for wrong in (values, self.keys.astype(np.float64), np.zeros((4, 3), np.uint64)):
                    with self.assertRaisesRegex(tessera.WrongType, "rows of whole numbers"):
                        table.contains(ours(wrong))

    def test_other_libraries_get_back_what_has_no_room(self):
        settings = {**MAP, "table.capacity": 20, "probing.max_probes": 1}
        for name, ours, numpys in libraries():
            with self.subTest(name), tessera.Table("wide_keys", settings=settings) as table:
                with self.assertRaises(tessera.Full) as caught:
                    table.insert(ours(self.keys), ours(np.zeros(len(self.keys), np.uint64)))
                lost = numbers_of(numpys(caught.exception.keys).view(np.uint64))
                self.assertEqual(sorted(lost + list(table)), sorted(self.numbers))
            promised = {**SETTINGS, "table.duplicates": "promise_unique"}
            with self.subTest(name), tessera.Table("wide_keys", settings=promised) as table:
                with self.assertRaisesRegex(tessera.BadArgument, f"{self.numbers[5]} is repeated"):
                    table.insert(ours(np.concatenate([self.keys, self.keys[5:6]])))

    def test_an_index_of_other_libraries(self):
        settings = {**SETTINGS, "table.kind": "index", "table.layout": "soa", "table.numbering": "first_seen"}
        twice = np.concatenate([self.keys, self.keys])
        for name, ours, numpys in libraries():
            with self.subTest(name), tessera.Table("wide_keys", settings=settings) as index:
                self.assertEqual(numpys(index.number(ours(twice))).tolist(), 2 * list(range(len(self.numbers))))
                unique, inverse, counts = index.unique(ours(twice))
                np.testing.assert_array_equal(numpys(unique).view(np.uint64), self.keys)
                np.testing.assert_array_equal(numpys(unique)[numpys(inverse)].view(np.uint64), twice)
                self.assertEqual(set(numpys(counts).tolist()), {2})

    def test_joins(self):
        with tessera.Table("wide_keys", settings=MAP) as left, tessera.Table("wide_keys", settings=MAP) as right:
            left.insert(self.keys[:200], np.arange(200, dtype=np.uint64))
            right.insert(self.keys[100:], np.arange(100, len(self.keys), dtype=np.uint64))
            keys, lefts, rights = left.join(right)
            np.testing.assert_array_equal(lefts, rights)
            self.assertEqual(sorted(lefts.tolist()), list(range(100, 200)))
            np.testing.assert_array_equal(keys, self.keys[lefts])

    def test_full_hands_keys_back(self):
        with tessera.Table("wide_keys", settings={**MAP, "table.capacity": 20, "probing.max_probes": 1}) as table:
            with self.assertRaises(tessera.Full) as caught:
                table.insert(self.keys, np.zeros(len(self.keys), np.uint64))
            lost = numbers_of(caught.exception.keys)
            self.assertEqual(sorted(lost + list(table)), sorted(self.numbers))

    def test_an_index(self):
        settings = {**SETTINGS, "table.kind": "index", "table.layout": "soa", "table.numbering": "first_seen"}
        with tessera.Table("wide_keys", settings=settings) as index:
            twice = np.concatenate([self.keys, self.keys])
            numbers = index.number(twice)
            self.assertEqual(numbers.tolist(), 2 * list(range(len(self.numbers))))
            keys, mask = index.keys_by_number()
            self.assertTrue(mask.all())
            np.testing.assert_array_equal(keys, self.keys)
            unique, inverse, counts = index.unique(twice)
            np.testing.assert_array_equal(unique, self.keys)
            np.testing.assert_array_equal(unique[inverse], twice)
            self.assertEqual(set(counts.tolist()), {2})

    def test_promised_to_be_unique(self):
        settings = {**SETTINGS, "table.duplicates": "promise_unique"}
        with tessera.Table("wide_keys", settings=settings) as table:
            with self.assertRaisesRegex(tessera.BadArgument, f"{self.numbers[5]} is repeated"):
                table.insert(np.concatenate([self.keys, self.keys[5:6]]))
            table.insert(self.keys)
            self.assertEqual(len(table), len(self.numbers))

    def test_what_is_refused(self):
        with tessera.Table("wide_keys", settings=SETTINGS) as table:
            for wrong in (
                np.arange(4, dtype=np.uint64),
                np.zeros((4, 3), np.uint64),
                np.zeros((4, 2), np.float64),
                np.zeros((2, 4), np.uint64).T,
                ["a", "b"],
                [1 << 128],
                [-1],
                [b"short"],
                [uuid.uuid4(), None],
            ):
                with self.assertRaises((tessera.BadArgument, tessera.WrongType), msg=repr(wrong)):
                    table.insert(wrong)
            self.assertEqual(len(table), 0)


if __name__ == "__main__":
    unittest.main()
