# SPDX-License-Identifier: Apache-2.0
"""The verbs' way for arrays on a GPU (tessera/_device.py), with arrays of the host and tables on the CPU: tensors of PyTorch
and arrays of JAX where these can be imported, and a stand-in for CuPy. The oracle is NumPy. On a GPU:
tests/device/python_verbs.py."""

import importlib
import os
import sys
import threading
import unittest
from unittest import mock

import numpy as np

import tessera
from tessera import _arrays, _device

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import stand_in_cupy  # noqa: E402
from verbs_test import INTEGERS, SHAPES, groups, joined, make  # noqa: E402

DTYPES = (*INTEGERS, "bool", "float16", "float32", "float64")


class Torch:
    def __init__(self):
        self.module = importlib.import_module("torch")
        if not hasattr(self.module, "uint64"):
            raise ImportError("PyTorch is older than 2.3")

    def array(self, array):
        return self.module.from_numpy(np.array(array))

    def numpy(self, array):
        assert isinstance(array, self.module.Tensor), type(array)
        return array.numpy()


class Jax:
    def __init__(self):
        self.module = importlib.import_module("jax")
        self.module.config.update("jax_enable_x64", True)

    def array(self, array):
        return self.module.numpy.asarray(array)

    def numpy(self, array):
        assert isinstance(array, self.module.Array), type(array)
        return np.asarray(array)


class Cupy:
    def __init__(self):
        self.module = stand_in_cupy.install()
        _arrays._adapters[self.module.ndarray] = _arrays.CuPyAdapter()  # otherwise it would be NumPy's

    def array(self, array):
        return self.module.asarray(np.array(array))

    def numpy(self, array):
        assert isinstance(array, self.module.ndarray), type(array)
        return np.array(array)


def libraries():
    for kind in (Torch, Jax, Cupy):
        try:
            yield kind()
        except Exception:  # a broken installation is as good as none
            continue


LIBRARIES = list(libraries())


class DeviceVerbsTest(unittest.TestCase):
    def setUp(self):
        for name, value in (("_stays", lambda tensor: True), ("_LEAST", 256)):
            patch = mock.patch.object(_device, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        self.addCleanup(tessera.free_kept_tables)

    def cases(self, dtypes=DTYPES, shapes=SHAPES):
        rng = np.random.default_rng(5)
        for library in LIBRARIES:
            for dtype in dtypes if type(library) is not Jax else ("int64", "uint32", "bool", "float32"):
                for shape in shapes if type(library) is not Jax else ("ends", "empty"):  # each shape is compiled
                    x = make(dtype, shape, rng, 500)
                    yield library, x, library.array(x), dict(library=type(library).__name__, dtype=dtype, shape=shape)

    def same(self, library, got, want):
        got = library.numpy(got)
        self.assertEqual(got.shape, np.shape(want))
        np.testing.assert_array_equal(got, want)

    def test_unique_factorize_value_counts(self):
        for library, x, mine, case in self.cases():
            with self.subTest(**case):
                codes, firsts, counts = groups(x)
                self.same(library, tessera.unique(mine), x[firsts])
                self.assertEqual(library.numpy(tessera.unique(mine)).dtype, x.dtype)
                np.testing.assert_array_equal(np.sort(library.numpy(tessera.unique(mine, order="any"))), np.sort(x[firsts]))
                for got, want in zip(tessera.unique(mine, True, True), (x[firsts], codes, counts)):
                    self.same(library, got, want)
                for got, want in zip(tessera.factorize(mine), (codes, x[firsts])):
                    self.same(library, got, want)
                values, inverse = tessera.unique(mine, return_inverse=True, order="any")
                np.testing.assert_array_equal(library.numpy(values)[library.numpy(inverse)], x)
                for got, want in zip(tessera.value_counts(mine), (x[firsts], counts)):
                    self.same(library, got, want)
                falling = np.argsort(-counts, kind="stable")
                for got, want in zip(tessera.value_counts(mine, sort=True), (x[firsts][falling], counts[falling])):
                    self.same(library, got, want)

    def test_any_order(self):
        """The same answers in another order. On a GPU the order differs from call to call."""
        rng = np.random.default_rng(17)
        for library, x, mine, case in self.cases(shapes=("random", "ends", "one", "empty")):
            with self.subTest(**case):
                _, firsts, counts = groups(x)
                want = sorted(zip(x[firsts].tolist(), counts.tolist()), key=repr)
                for sort in (False, True):
                    values, got = map(library.numpy, tessera.value_counts(mine, sort=sort, order="any"))
                    self.assertEqual(sorted(zip(values.tolist(), got.tolist()), key=repr), want)
                    self.assertTrue(not sort or (got[1:] <= got[:-1]).all())
        keys = rng.integers(0, 40, (3, 900))
        values = rng.integers(-100, 100, 900)
        for columns in (keys[:1], keys[:2], keys % 4):
            want = {}
            for row, value in zip(zip(*columns.tolist()), values.tolist()):
                want[row] = want.get(row, 0) + value
            for library in LIBRARIES:
                got = tessera.group_by(tuple(map(library.array, columns)), order="any").agg(s=(library.array(values), "sum"))
                names = [f"key_{i}" for i in range(len(columns))]
                rows = zip(*(library.numpy(got[name]).tolist() for name in names))
                sums = library.numpy(got["s"]).tolist()
                self.assertEqual(len(sums), len(want))
                self.assertEqual(dict(zip(rows, sums)), want)
        for call in (tessera.value_counts, tessera.group_by, tessera.unique):
            with self.assertRaisesRegex(tessera.BadArgument, "order = 'sorted': is \"seen\" or \"any\""):
                call(LIBRARIES[0].array(keys[0]), order="sorted")

    def test_which_way_a_table_is_asked(self):
        """`order` reaches the index: only numbering = any is answered without a table on a GPU."""
        x = LIBRARIES[-1].array(np.array([3, 1, 3, 2]))
        made = []
        table = _device._table

        def spy(kind, key_bits, rows, device, numbering=""):
            made.append(numbering)
            return table(kind, key_bits, rows, device, numbering)

        with mock.patch.object(_device, "_table", spy):
            for call, want in (
                (lambda: tessera.value_counts(x), ["first_seen"]),
                (lambda: tessera.value_counts(x, sort=True, order="any"), ["any"]),
                (lambda: tessera.group_by(x), ["first_seen"]),
                (lambda: tessera.group_by(x, order="any"), ["any"]),
                (lambda: tessera.group_by((x, x)), ["any", "any", "first_seen"]),
                (lambda: tessera.group_by((x, x, x)), ["any"] * 4 + ["first_seen"]),
                (lambda: tessera.group_by((x, x), order="any"), ["any"] * 3),
            ):
                made.clear()
                call()
                self.assertEqual(made, want)

    def test_shapes_and_strides(self):
        edges = np.random.default_rng(1).integers(0, 60, (2, 500))
        for library in LIBRARIES:
            with self.subTest(library=type(library).__name__):
                for array in (edges, edges[:, ::3]):
                    mine = library.array(edges)[:, ::3] if array.shape != edges.shape else library.array(edges)
                    numbers, nodes = tessera.relabel(mine)
                    np.testing.assert_array_equal(library.numpy(nodes)[library.numpy(numbers)], array)
                    self.same(library, tessera.isin(mine, library.array(np.array([3, 5]))), np.isin(array, [3, 5]))

    def test_isin(self):
        rng = np.random.default_rng(8)
        for library, x, mine, case in self.cases():
            with self.subTest(**case):
                for other in ("random", "empty", "one", "ends"):
                    values = make(x.dtype, other, rng, 50)
                    among = set(values.tolist())
                    want = np.array([value in among for value in x.tolist()], bool)
                    self.same(library, tessera.isin(mine, library.array(values)), want)
                    self.same(library, tessera.isin(mine, values, invert=True), ~want)
        for library in LIBRARIES:
            x = library.array(np.array([1, -2, 3], np.int32))
            self.same(library, tessera.isin(x, [1, 3]), [True, False, True])
            self.same(library, tessera.isin(x, {2**40 + 1, -2}), [False, True, False])
            self.same(library, tessera.isin(x, library.array(np.array([254, 1], np.uint8))), [True, False, False])
            self.same(library, tessera.isin(x, []), [False, False, False])
            nan = library.array(np.array([np.nan, 0.0, 1.0], np.float32))
            self.same(library, tessera.isin(nan, np.array([np.nan, -0.0])), [True, True, False])

    def test_group_by(self):
        rng = np.random.default_rng(11)
        for library, values, mine, case in self.cases(shapes=("random", "ends", "one", "empty")):
            with self.subTest(**case):
                with np.errstate(all="ignore"):
                    keys = rng.integers(0, 40, len(values)).astype(np.int64)
                    codes, firsts, counts = groups(keys)
                    got = tessera.group_by(library.array(keys)).agg(
                        s=(mine, "sum"), a=(mine, "min"), b=(mine, "max"), m=(mine, "mean"), n=(mine, "count"), r="size"
                    )
                    self.same(library, got["key"], keys[firsts])
                    self.same(library, got["n"], counts)
                    self.same(library, got["r"], counts)
                    finite = values.dtype.kind != "f" or np.isfinite(values.astype(np.float32)).all()
                    parts = [values[codes == i] for i in range(len(firsts))]
                    self.same(library, got["a"], np.array([p.min() for p in parts], values.dtype))
                    self.same(library, got["b"], np.array([p.max() for p in parts], values.dtype))
                    if finite and values.dtype.kind != "f":
                        self.same(
                            library,
                            got["s"],
                            np.array([p.sum(dtype="u8" if p.dtype.kind == "u" and p.itemsize == 8 else "i8") for p in parts]),
                        )
                    if (
                        finite
                        and np.abs(values.astype(np.float64), where=values.dtype.kind == "f", out=np.zeros(len(values))).max(
                            initial=0
                        )
                        < 1e30
                    ):
                        large = np.abs(values.astype("f8")).max(
                            initial=0
                        )  # a mean of large numbers of both signs loses digits
                        np.testing.assert_allclose(
                            library.numpy(got["m"]), [p.mean(dtype="f8") for p in parts], rtol=1e-5, atol=1e-12 * large
                        )

    def test_large_sums_are_told(self):
        keys = np.array([1, 2, 1, 2])
        for library in LIBRARIES:
            big = library.array(np.array([2**62, 5, 2**62 - 1, 2**61]))
            mine = library.array(keys)
            self.same(library, tessera.group_by(mine).agg(s=(big, "sum"))["s"], [2**63 - 1, 2**61 + 5])
            with self.assertWarnsRegex(tessera.OverflowWarning, "1 sum passed 2\\^63"):
                tessera.group_by(mine).agg(s=(library.array(np.full(4, 2**62) * (keys == 1)), "sum"))
            with self.assertWarnsRegex(tessera.OverflowWarning, "2 sums passed 2\\^64"):
                tessera.group_by(mine).agg(s=(library.array(np.full(4, 2**63, np.uint64)), "sum"))

    def test_several_keys(self):
        rng = np.random.default_rng(12)
        a, b, c = rng.integers(-4, 5, 900), make("float32", "few", rng, 900), make("bool", "few", rng, 900)
        want = {}
        for row in zip(a.tolist(), b.tolist(), c.tolist()):
            want[row] = want.get(row, 0) + 1
        for library in LIBRARIES:
            got = tessera.group_by({"a": library.array(a), "b": library.array(b), "c": library.array(c)}).size()
            self.assertEqual(list(zip(*(library.numpy(got[name]).tolist() for name in "abc"))), list(want))
            self.same(library, got["size"], list(want.values()))

    def test_merge(self):
        rng = np.random.default_rng(13)
        for library in LIBRARIES:
            quick = type(library) is Jax
            for dtype in ("int64", "uint32", "uint8", "float64")[: 1 if quick else 4]:
                for a in ("random", "empty", "one", "distinct")[: 2 if quick else 4]:
                    for b in ("random", "few", "empty", "distinct", "constant")[: 2 if quick else 5]:
                        left, right = make(dtype, a, rng, 60), make(dtype, b, rng, 40)
                        pairs = left.tolist(), right.tolist()
                        mine, theirs = library.array(left), library.array(right)
                        for how in ("inner", "left", "right", "outer"):
                            with self.subTest(library=type(library).__name__, dtype=dtype, left=a, right=b, how=how):
                                got = tessera.merge(mine, theirs, how=how)
                                self.assertEqual(list(zip(*(library.numpy(x).tolist() for x in got))), joined(*pairs, how))
                                got = tessera.merge(mine, theirs, how=how, order="any")
                                rows = list(zip(*(library.numpy(x).tolist() for x in got)))
                                self.assertEqual(sorted(rows), sorted(joined(*pairs, how)))
                        for how in ("semi", "anti"):
                            want = [i for i, x in enumerate(left.tolist()) if (x in right.tolist()) == (how == "semi")]
                            self.same(library, tessera.merge(mine, theirs, how=how), np.array(want, np.int64))
                            rows = library.numpy(tessera.merge(mine, theirs, how=how, order="any"))
                            self.assertEqual((rows.dtype, sorted(rows.tolist())), (np.int64, want))
            sides = rng.integers(0, 6, (4, 50))
            a, b, c, d = map(library.array, sides)
            want = joined(list(zip(*sides[:2].tolist())), list(zip(*sides[2:].tolist())), "outer")
            got = tessera.merge((a, b), (c, d), how="outer")
            self.assertEqual(list(zip(*(library.numpy(x).tolist() for x in got))), want)

    def test_larger_columns(self):
        rng = np.random.default_rng(14)
        x, values, right = (
            rng.integers(0, 1 << 40, 70_000) % 30_011,
            rng.standard_normal(70_000),
            rng.integers(0, 30_011, 50_000),
        )
        want, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
        order = np.argsort(first)
        for library in LIBRARIES:
            mine = library.array(x)
            uniques, codes, number = map(library.numpy, tessera.unique(mine, True, True))
            np.testing.assert_array_equal(uniques, want[order])
            np.testing.assert_array_equal(uniques[codes], x)
            np.testing.assert_array_equal(number, counts[order])
            self.same(library, tessera.isin(mine, library.array(right)), np.isin(x, right))
            got = tessera.group_by(mine).agg(s=(library.array(values), "sum"))
            np.testing.assert_allclose(library.numpy(got["s"]), np.bincount(inverse, values)[order])
            rows = [library.numpy(rows) for rows in tessera.merge(mine, library.array(right))]
            self.assertEqual(len(rows[0]), int((np.bincount(right, minlength=30_011)[x]).sum()))
            np.testing.assert_array_equal(x[rows[0]], right[rows[1]])
            self.assertEqual(len(set(zip(*map(np.ndarray.tolist, rows)))), len(rows[0]))

    def test_tables_are_kept_and_freed(self):
        library = LIBRARIES[-1]
        x = library.array(np.arange(100))
        tessera.unique(x)
        (kept,) = _device._kept.values()
        tessera.unique(x)
        self.assertEqual([*_device._kept.values()], [kept])
        tessera.unique(library.array(np.arange(1 << 17)))
        self.assertNotEqual([*_device._kept.values()], [kept])
        failures = []

        def work(seed):
            keys = np.random.default_rng(seed).integers(0, 500, 2000)
            for _ in range(5):
                values, inverse = tessera.unique(library.array(keys), True)
                if not np.array_equal(np.array(values)[np.array(inverse)], keys):
                    failures.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        self.assertEqual(failures, [])
        self.assertLessEqual(len(_device._kept), 2)
        tessera.free_kept_tables()
        self.assertEqual(_device._kept, {})

    def test_the_last_value_of_a_repeated_key_stays(self):
        rng = np.random.default_rng(11)
        ids, rows = rng.integers(-300, 300, 5000), np.arange(5000)
        last = np.full(600, -1)
        last[ids + 300] = rows  # NumPy assigns in order
        narrow = np.arange(-100, 100).astype(np.int16)
        for library in LIBRARIES:
            name = type(library).__name__
            for key in ("int32", "int64"):
                with self.subTest(library=name, key=key), tessera.Map(key, "int64", backend="cpu") as table:
                    keys = library.array(ids.astype(key))
                    table[keys] = library.array(rows)
                    np.testing.assert_array_equal(library.numpy(table.get(keys)), last[ids + 300])
                    table[keys[:1]] = library.array(rows[:1] - 7)
                    self.assertEqual(library.numpy(table.get(keys))[0], -7)
            with self.subTest(library=name, key="uuid"), tessera.Map("uuid", "int64", backend="cpu") as table:
                keys = library.array(np.stack([(ids + 300) % 7, (ids + 300) // 7], 1))
                table[keys] = library.array(rows)
                np.testing.assert_array_equal(library.numpy(table.get(keys)).reshape(-1), last[ids + 300])
            with self.subTest(library=name, key="int16"), tessera.Map("int64", "float32", backend="cpu") as table:
                table.insert(library.array(narrow), library.array(narrow.astype(np.float16)))
                np.testing.assert_array_equal(library.numpy(table.get(library.array(narrow))), narrow.astype(np.float32))

    def test_refusals(self):
        for library in LIBRARIES:
            x = library.array(np.arange(4))
            for call, kind, sentence in (
                (lambda: tessera.isin(x, [1.5]), tessera.WrongType, "x: is int64, and values is float64: convert one"),
                (lambda: tessera.isin(x, np.array([1], np.uint64)), tessera.WrongType, "values is uint64: convert one"),
                (lambda: tessera.isin(x, ["a"]), tessera.WrongType, "values: is str, and the rest is numbers"),
                (lambda: tessera.merge(x, x, how="cross"), tessera.BadArgument, 'is "inner", "left"'),
                (lambda: tessera.merge((x, x), x), tessera.BadArgument, "left has 2 columns of keys, and right 1"),
                (lambda: tessera.group_by(x).agg(a=([1], "sum")), tessera.BadArgument, "has 1 rows, and keys 4"),
                (lambda: tessera.group_by((x, x[:2])), tessera.BadArgument, "have 2 and 4 rows"),
                (lambda: tessera.group_by(x).agg(key="size"), tessera.BadArgument, "is a key already"),
                (lambda: tessera.unique(library.array(np.ones(3, np.complex64))), tessera.WrongType, "x: is complex64"),
            ):
                with self.subTest(library=type(library).__name__, sentence=sentence), self.assertRaisesRegex(kind, sentence):
                    call()


if __name__ == "__main__":
    unittest.main()
