# SPDX-License-Identifier: Apache-2.0
"""The verbs against plain Python, and against pandas, polars and pyarrow where these can be imported, on random, skewed, empty
and one-element columns of all dtypes. Where hypothesis can be imported it chooses more of them."""

import ctypes
import gc
import importlib
import os
import tempfile
import unittest
import warnings

import numpy as np

import tessera


def imported(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


pd, pl, pa, torch, hypothesis = map(imported, ("pandas", "polars", "pyarrow", "torch", "hypothesis"))
if pl:
    importlib.import_module("polars.testing")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = (*INTEGERS, "bool", "float32", "float64", "datetime64[ns]", "timedelta64[us]")
SHAPES = ("random", "few", "skewed", "distinct", "constant", "empty", "one", "ends")


def make(dtype, shape, rng, n=3000):
    """A column."""
    dtype = np.dtype(dtype)
    if shape in ("empty", "one"):
        n = int(shape == "one")
    if shape == "skewed":
        picks = np.minimum(rng.zipf(1.3, n), 1 << 40)
    elif shape == "few":
        picks = rng.integers(0, 7, n)
    elif shape == "distinct":
        picks = rng.permutation(n)
    elif shape == "constant":
        picks = np.full(n, 5)
    else:
        picks = rng.integers(0, max(n // 2, 1), n)
    if dtype.kind == "b":
        return picks % 2 == 0
    if dtype.kind == "f":
        column = (picks - 3).astype(dtype) / 4
        if shape == "ends":
            column[:6] = 0.0, -0.0, np.inf, -np.inf, np.finfo(dtype).max, np.finfo(dtype).tiny
        return column
    if dtype.kind in "mM":
        return (picks - 3).astype(np.int64).view(dtype)
    limits = np.iinfo(dtype)
    column = (picks - (3 if limits.min < 0 else 0)).astype(np.int64).astype(dtype)
    if shape == "ends":
        column[:4] = limits.min, limits.max, 0, limits.max - 1
    return column


def every_column(dtypes=DTYPES, shapes=SHAPES):
    rng = np.random.default_rng(7)
    for dtype in dtypes:
        for shape in shapes:
            yield dtype, shape, make(dtype, shape, rng)


def groups(column):
    """The first row of each value, the number of each row's value, and how many each has: by a dict."""
    numbers, codes, firsts, counts = {}, [], [], []
    for row, value in enumerate(column.tolist()):
        code = numbers.setdefault(value, len(numbers))
        if code == len(firsts):
            firsts.append(row)
            counts.append(0)
        codes.append(code)
        counts[code] += 1
    return np.array(codes, np.int64), np.array(firsts, np.int64), np.array(counts, np.int64)


class OneColumnTest(unittest.TestCase):
    def test_unique_factorize_value_counts(self):
        for dtype, shape, x in every_column():
            with self.subTest(dtype=dtype, shape=shape):
                codes, firsts, counts = groups(x)
                same = np.testing.assert_array_equal
                same(tessera.unique(x), x[firsts])
                self.assertEqual(tessera.unique(x).dtype, x.dtype)
                same(np.sort(tessera.unique(x, order="any")), np.sort(x[firsts]))
                values, inverse, number = tessera.unique(x, return_inverse=True, return_counts=True)
                same(values, x[firsts])
                same(inverse, codes)
                same(number, counts)
                same(tessera.unique(x, return_counts=True)[1], counts)
                got = tessera.factorize(x)
                same(got[0], codes)
                same(got[1], x[firsts])
                values, number = tessera.value_counts(x)
                same(values, x[firsts])
                same(number, counts)
                values, number = tessera.value_counts(x, sort=True)
                self.assertTrue((np.diff(number) <= 0).all())
                order = np.argsort(values)
                same(number[order], counts[np.argsort(x[firsts])])

    def test_columns_large_enough_for_threads(self):
        rng = np.random.default_rng(3)
        for x in (
            rng.integers(-(2**62), 2**62, 100_000)[rng.integers(0, 100_000, 1_000_000)],
            rng.integers(0, 5, 1_000_000).astype(np.int32),
            np.minimum(rng.zipf(1.2, 600_000), 1 << 40),
            rng.permutation(700_000).astype(np.uint32),
            np.where(np.arange(500_000) % 8, 7, np.arange(500_000)),  # a sample tells too few distinct keys
        ):
            want, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
            order = np.argsort(first)
            values, codes, number = tessera.unique(x, True, True)
            np.testing.assert_array_equal(values, x[np.sort(first)])
            np.testing.assert_array_equal(values[codes], x)
            np.testing.assert_array_equal(number, counts[order])
            np.testing.assert_array_equal(np.sort(tessera.unique(x, order="any")), want)
            self.assertTrue(tessera.isin(x, want).all())
            np.testing.assert_array_equal(tessera.value_counts(x)[1], counts[order])
            got = tessera.group_by(x).agg(total=(np.arange(len(x)), "sum"), last=(np.arange(len(x)), "max"))
            np.testing.assert_array_equal(got["total"], np.bincount(inverse, np.arange(len(x)))[order].astype(np.int64))
            rows = tessera.merge(x[:1000], values)
            np.testing.assert_array_equal(values[rows[1]], x[rows[0]])

    def test_nan_is_one_value(self):
        x = np.array([np.nan, 1.0, -np.nan, 0.0, -0.0], np.float32)
        values, inverse = tessera.unique(x, return_inverse=True)
        self.assertEqual((len(values), inverse.tolist()), (3, [0, 1, 0, 2, 2]))
        self.assertEqual(tessera.isin(x, np.array([np.nan], np.float32)).tolist(), [True, False, True, False, False])

    def test_isin(self):
        rng = np.random.default_rng(8)
        for dtype, shape, x in every_column():
            for other in ("random", "empty", "one", "ends"):
                values = make(dtype, other, rng, 50)
                with self.subTest(dtype=dtype, shape=shape, values=other):
                    among = set(values.tolist())
                    want = np.array([value in among for value in x.tolist()], bool)
                    np.testing.assert_array_equal(tessera.isin(x, values), want)
                    np.testing.assert_array_equal(tessera.isin(x, values, invert=True), ~want)
        for a in INTEGERS:
            for b in INTEGERS:
                x, values = make(a, "ends", rng, 40), make(b, "ends", rng, 40)
                among = set(values.tolist())
                self.assertEqual(tessera.isin(x, values).tolist(), [value in among for value in x.tolist()], (a, b))
        self.assertEqual(tessera.isin([1, 2, 3], {3, 1}).tolist(), [True, False, True])
        self.assertEqual(tessera.isin([[1, 2], [3, 4]], [4]).tolist(), [[False, False], [False, True]])
        for dtype in "float16", "float32", "float64":
            x = np.array([1, 2.5, np.inf, 3], dtype)
            self.assertEqual(tessera.isin(x, [3, 1]).tolist(), np.isin(x, [3, 1]).tolist())
            self.assertEqual(tessera.isin(x, {2}).tolist(), [False] * 4)

    def test_relabel(self):
        rng = np.random.default_rng(9)
        edges = rng.integers(0, 1 << 40, (2, 500)) % 60
        numbers, nodes = tessera.relabel(edges)
        self.assertEqual((numbers.shape, numbers.dtype), (edges.shape, np.int64))
        np.testing.assert_array_equal(nodes[numbers], edges)
        np.testing.assert_array_equal(nodes, tessera.unique(edges.reshape(-1)))

    def test_nulls(self):
        x = np.ma.masked_array([1, 2, 1, 3], [False, True, False, False])
        with self.assertRaisesRegex(tessera.BadArgument, '1 of 4 rows are null: pass nulls="drop"'):
            tessera.unique(x)
        values, inverse, counts = tessera.unique(x, True, True, nulls="drop")
        self.assertEqual((values.tolist(), inverse.tolist(), counts.tolist()), ([1, 3], [0, -1, 0, 1], [2, 1]))
        self.assertEqual(tessera.factorize(x)[0].tolist(), [0, -1, 0, 1])
        self.assertEqual(tessera.isin(x, [2, 3]).tolist(), [False, False, False, True])
        self.assertEqual(tessera.group_by(x).agg(n="size")["n"].tolist(), [2, 1])
        nat = np.array(["2020-01-01", "NaT", "2020-01-01"], "datetime64[D]")
        self.assertEqual(tessera.factorize(nat)[0].tolist(), [0, -1, 0])
        self.assertEqual([rows.tolist() for rows in tessera.merge(nat, nat)], [[0, 0, 2, 2], [0, 2, 0, 2]])

    def test_refusals(self):
        for call, kind, sentence in (
            (lambda: tessera.unique(np.array([[1], "a"], object)), tessera.WrongType, "x: holds objects of type list: pass"),
            (lambda: tessera.unique([1], order="up"), tessera.BadArgument, 'is "seen" or "any"'),
            (lambda: tessera.unique([1], nulls="keep"), tessera.BadArgument, 'is "refuse" or "drop"'),
            (lambda: tessera.isin([1], [1.5]), tessera.WrongType, "x: is int64, and values is float64"),
            (lambda: tessera.merge([1], [1], how="cross"), tessera.BadArgument, 'is "inner", "left"'),
            (lambda: tessera.merge([1], [1], on="k"), tessera.BadArgument, "names columns of frames"),
            (lambda: tessera.merge(([1], [2]), [1]), tessera.BadArgument, "left has 2 columns of keys, and right 1"),
            (lambda: tessera.group_by([1]).agg(), tessera.BadArgument, "says nothing to aggregate"),
            (lambda: tessera.group_by([1]).agg(np.array([1, 2])), tessera.WrongType, "no dict of columns' names"),
            (lambda: tessera.group_by([1]).agg("sum"), tessera.WrongType, "no dict of columns' names"),
            (lambda: tessera.group_by([1]).agg({"v": np.array([1])}), tessera.WrongType, "v: ndarray: is no name of an aggregate"),
            (lambda: tessera.group_by([1]).agg(a=np.array([1])), tessera.WrongType, "a: is ndarray, and not .column, how."),
            (lambda: tessera.group_by([1]).agg(a=([1],)), tessera.WrongType, "a: is tuple, and not .column, how."),
            (lambda: tessera.group_by([1]).agg(a=([1], np.array([1]))), tessera.BadArgument, "a: ndarray: there are sum"),
            (lambda: tessera.group_by([1]).agg(a=([1], "median")), tessera.BadArgument, "there are sum, min"),
            (lambda: tessera.group_by([1]).agg(a=([1, 2], "sum")), tessera.BadArgument, "has 2 rows, and keys 1"),
            (lambda: tessera.group_by([1]).agg(a="sum"), tessera.BadArgument, "'sum' of what"),
            (lambda: tessera.group_by([1]).agg(a=("v", "sum")), tessera.BadArgument, "the keys are arrays"),
            (lambda: tessera.group_by([1]).agg(key="size"), tessera.BadArgument, "is a key already"),
            (lambda: tessera.group_by(([1], [1, 2])), tessera.BadArgument, "has 2 rows, and keys\\[0\\] 1"),
            (lambda: tessera.group_by([1], by="k"), tessera.BadArgument, "names columns of a frame"),
        ):
            with self.subTest(sentence=sentence), self.assertRaisesRegex(kind, sentence):
                call()


class GroupsTest(unittest.TestCase):
    def test_every_aggregate_of_every_dtype(self):
        rng = np.random.default_rng(11)
        for shape in SHAPES:
            keys = make("int64", shape, rng)
            codes, firsts, counts = groups(keys)
            for dtype in (*INTEGERS, "bool", "float32", "float64"):
                with self.subTest(shape=shape, dtype=dtype):
                    values = make(dtype, "random", rng, len(keys))
                    got = tessera.group_by(keys).agg(
                        s=(values, "sum"), a=(values, "min"), b=(values, "max"), m=(values, "mean"), n=(values, "count")
                    )
                    np.testing.assert_array_equal(got["key"], keys[firsts])
                    np.testing.assert_array_equal(got["n"], counts)
                    parts = [values[codes == i] for i in range(len(firsts))]
                    kind = values.dtype.kind
                    wide = {"f": values.dtype, "u": np.dtype("u8")}.get(kind, np.dtype("i8"))
                    self.assertEqual((got["s"].dtype, got["a"].dtype), (wide, values.dtype))
                    np.testing.assert_allclose(got["s"], np.array([p.sum(dtype="f8") for p in parts]), rtol=1e-6)
                    np.testing.assert_array_equal(got["a"], np.array([p.min() for p in parts], values.dtype))
                    np.testing.assert_array_equal(got["b"], np.array([p.max() for p in parts], values.dtype))
                    np.testing.assert_allclose(got["m"], np.array([p.mean(dtype="f8") for p in parts]), rtol=1e-6)

    def test_large_sums_are_exact_or_told(self):
        keys = np.array([1, 2, 1, 2])
        big = np.array([2**62, 5, 2**62 - 1, 2**61], np.int64)
        self.assertEqual(tessera.group_by(keys).agg(s=(big, "sum"))["s"].tolist(), [2**63 - 1, 2**61 + 5])
        self.assertEqual(tessera.group_by(keys).agg(s=(-big, "sum"))["s"].tolist(), [-(2**63) + 1, -(2**61) - 5])
        with self.assertWarnsRegex(tessera.OverflowWarning, "1 sum passed 2\\^63"):
            tessera.group_by(keys).agg(s=(np.full(4, 2**62) * (keys == 1), "sum"))
        with warnings.catch_warnings():  # a mean has room
            warnings.simplefilter("error")
            self.assertEqual(tessera.group_by(keys).agg(m=(np.full(4, 2**62), "mean"))["m"].tolist(), [2.0**62] * 2)
        unsigned = np.full(4, 2**63, np.uint64)
        with self.assertWarnsRegex(tessera.OverflowWarning, "2 sums passed 2\\^64"):
            tessera.group_by(keys).agg(s=(unsigned, "sum"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(tessera.group_by([1, 1]).agg(s=(np.array([2**63, 5], np.uint64), "sum"))["s"][0], 2**63 + 5)

    def test_several_keys_and_names(self):
        rng = np.random.default_rng(12)
        a, b, c = rng.integers(0, 9, 4000), make("float32", "few", rng, 4000), make("bool", "few", rng, 4000)
        got = tessera.group_by((a, b, c)).agg(n="size", first=(np.arange(4000), "min"))
        want = {}
        for row in zip(a.tolist(), b.tolist(), c.tolist()):
            want[row] = want.get(row, 0) + 1
        self.assertEqual(list(zip(*(got[f"key_{i}"].tolist() for i in range(3)))), list(want))
        self.assertEqual(got["n"].tolist(), list(want.values()))
        self.assertTrue((np.diff(got["first"]) > 0).all())
        self.assertEqual(list(tessera.group_by({"town": a, "fee": b}).size()), ["town", "fee", "size"])

    def test_nulls_among_the_values(self):
        values = np.ma.masked_array([1, 2, 3, 4], [True, False, True, False])
        got = tessera.group_by([7, 7, 8, 9]).agg(
            s=(values, "sum"), a=(values, "min"), n=(values, "count"), m=(values, "mean"), r="size"
        )
        self.assertEqual((got["s"].tolist(), got["n"].tolist(), got["r"].tolist()), ([2, 0, 4], [1, 0, 1], [2, 1, 1]))
        np.testing.assert_array_equal(got["a"], [2, np.nan, 4])
        np.testing.assert_array_equal(got["m"], [2, np.nan, 4])


def joined(left, right, how):
    """By two loops: in the order of the left side, or with `right` of the right one."""
    if how == "right":
        return [(a, b) for b, a in joined(right, left, "left")]
    rows, hit = [], set()
    for i, x in enumerate(left):
        matches = [j for j, y in enumerate(right) if x == y]
        hit.update(matches)
        rows += [(i, j) for j in matches] or ([(i, -1)] if how in ("left", "outer") else [])
    return rows + ([(-1, j) for j in range(len(right)) if j not in hit] if how == "outer" else [])


class MergeTest(unittest.TestCase):
    def test_every_kind(self):
        rng = np.random.default_rng(13)
        for dtype in ("int64", "int32", "uint8", "float64", "bool", "datetime64[ns]"):
            for a in ("random", "few", "empty", "one", "distinct"):
                for b in ("random", "few", "empty", "one", "distinct", "constant"):
                    left, right = make(dtype, a, rng, 60), make(dtype, b, rng, 40)
                    pairs = left.tolist(), right.tolist()
                    for how in ("inner", "left", "right", "outer"):
                        with self.subTest(dtype=dtype, left=a, right=b, how=how):
                            got = tessera.merge(left, right, how=how)
                            self.assertEqual(list(zip(*(rows.tolist() for rows in got))), joined(*pairs, how))
                    inside = np.isin(left, right)
                    np.testing.assert_array_equal(tessera.merge(left, right, how="semi"), np.flatnonzero(inside))
                    np.testing.assert_array_equal(tessera.merge(left, right, how="anti"), np.flatnonzero(~inside))

    def test_several_keys_and_types(self):
        rng = np.random.default_rng(14)
        for n, m in ((50, 60), (0, 5), (5, 0), (1, 1)):
            left = rng.integers(-3, 4, n), rng.integers(0, 3, n).astype(np.uint8), rng.integers(0, 2, n)
            right = rng.integers(-3, 4, m).astype(np.int16), rng.integers(0, 3, m), rng.integers(0, 2, m).astype(bool)
            pairs = [list(zip(*(np.asarray(x, np.int64).tolist() for x in side))) for side in (left, right)]
            for how in ("inner", "left", "right", "outer"):
                got = tessera.merge(left, right, how=how)
                self.assertEqual(list(zip(*(rows.tolist() for rows in got))), joined(*pairs, how))

    def test_more_groups_than_16_bits_have(self):
        rng = np.random.default_rng(15)
        left, right = rng.integers(0, 100_000, 150_000), rng.integers(0, 100_000, 200_000)
        own, others = tessera.merge(left, right)
        np.testing.assert_array_equal(left[own], right[others])
        counts = np.bincount(right, minlength=100_000)
        np.testing.assert_array_equal(np.bincount(own, minlength=len(left)), counts[left])
        self.assertTrue((np.diff(others)[np.diff(own) == 0] > 0).all())


@unittest.skipIf(pd is None, "pandas cannot be imported")
class PandasTest(unittest.TestCase):
    def test_one_column(self):
        for dtype, shape, x in every_column():
            if np.dtype(dtype).kind in "m":
                continue
            with self.subTest(dtype=dtype, shape=shape):
                series = pd.Series(x, name="x")
                np.testing.assert_array_equal(tessera.unique(series), pd.unique(series))
                codes, uniques = tessera.factorize(series)
                want = pd.factorize(series)
                np.testing.assert_array_equal(codes, want[0])
                np.testing.assert_array_equal(uniques, want[1])
                got = tessera.value_counts(series)
                pd.testing.assert_series_equal(
                    got.sort_index(), series.value_counts().rename("count").rename_axis("x").sort_index(), check_dtype=False
                )

    def test_nulls_and_extension_types(self):
        for series in (
            pd.Series([1.5, np.nan, 1.5, 2.0]),
            pd.Series([1, None, 1, 2], dtype="Int64"),
            pd.Series([True, None, True, False], dtype="boolean"),
            pd.Series(["a", None, "a", "b"], dtype="category"),
            pd.Series(pd.to_datetime(["2020-01-01", None, "2020-01-01", "2021-01-01"])),
        ):
            with self.subTest(dtype=str(series.dtype)):
                codes, uniques = tessera.factorize(series)
                want = pd.factorize(series)
                self.assertEqual(codes.tolist(), want[0].tolist())
                self.assertEqual(list(uniques), list(want[1]))
                with self.assertRaisesRegex(tessera.BadArgument, "1 of 4 rows are null"):
                    tessera.unique(series)
        with self.assertRaisesRegex(tessera.WrongType, "holds categories"):
            tessera.merge(pd.Series(["a"], dtype="category"), pd.Series(["a"], dtype="category"))
        mask = tessera.isin(pd.Series([1, 2, 3], index=[5, 6, 7], name="x"), pd.Series([3]))
        pd.testing.assert_series_equal(mask, pd.Series([1, 2, 3], index=[5, 6, 7], name="x").isin([3]))

    def test_group_by(self):
        rng = np.random.default_rng(16)
        for shape in SHAPES:
            n = len(make("int64", shape, rng))
            frame = pd.DataFrame({"k": make("int64", shape, rng), "j": make("int8", "few", rng, n), "v": rng.standard_normal(n)})
            frame["w"] = rng.integers(-99, 99, n)
            frame.loc[frame.index % 5 == 3, "v"] = np.nan
            for by in ("k", ["k", "j"]):
                with self.subTest(shape=shape, by=by):
                    got = tessera.group_by(frame, by).agg(
                        s=("v", "sum"), a=("v", "min"), b=("v", "max"), m=("v", "mean"), n=("v", "count"), t=("w", "sum")
                    )
                    want = frame.groupby(by, sort=False).agg(
                        s=("v", "sum"), a=("v", "min"), b=("v", "max"), m=("v", "mean"), n=("v", "count"), t=("w", "sum")
                    )
                    pd.testing.assert_frame_equal(got, want.reset_index(), check_dtype=False)
        frame = pd.DataFrame({"k": [1, 2, 1], "v": [1, 2, 3]})
        self.assertEqual(tessera.group_by(frame, "k").agg({"v": ["sum", "max"]}).values.tolist(), [[1, 4, 3], [2, 2, 2]])
        self.assertEqual(tessera.group_by(frame, "k").agg({"v": "sum"}).columns.tolist(), ["k", "v"])

    def same_rows(self, got, want):
        """MergeTest has the order, in which versions of pandas differ."""
        self.assertEqual(sorted(got.columns), sorted(want.columns))
        names = sorted(want.columns)
        got, want = (frame[names].sort_values(names).reset_index(drop=True) for frame in (got, want))
        pd.testing.assert_frame_equal(got, want, check_dtype=False, check_index_type=False)

    def test_merge(self):
        rng = np.random.default_rng(17)
        for a in ("random", "few", "empty", "one", "distinct"):
            for b in ("random", "few", "empty", "one", "distinct"):
                left = pd.DataFrame({"k": make("int64", a, rng, 50), "j": 1})
                right = pd.DataFrame({"k": make("int64", b, rng, 30), "j": 1})
                left["v"], right["v"] = np.arange(len(left)), np.arange(len(right)) / 2
                right["w"] = 7
                for on in ("k", ["k", "j"]):
                    for how in ("inner", "left", "right", "outer"):
                        with self.subTest(left=a, right=b, how=how, on=on):
                            got, want = tessera.merge(left, right, on, how), left.merge(right, on=on, how=how)
                            self.same_rows(got, want)
        orders, people = pd.DataFrame({"who": [7, 5, 7]}), pd.DataFrame({"id": [5, 7], "name": ["b", "a"]})
        got = tessera.merge(orders, people, left_on="who", right_on="id")
        self.same_rows(got, orders.merge(people, left_on="who", right_on="id"))
        self.assertEqual(got["name"].tolist(), ["a", "b", "a"])
        self.assertEqual(tessera.merge(orders, people.rename(columns={"id": "who"}), how="anti").shape, (0, 1))


@unittest.skipIf(pl is None, "polars cannot be imported")
class PolarsTest(unittest.TestCase):
    def test_one_column(self):
        for dtype, shape, x in every_column():
            with self.subTest(dtype=dtype, shape=shape):
                series = pl.Series("x", x)
                self.assertTrue(tessera.unique(series).equals(series.unique(maintain_order=True)))
                got, want = tessera.value_counts(series), series.value_counts()
                self.assertEqual(got.columns, want.columns)
                self.assertTrue(got.sort("x").equals(want.sort("x").with_columns(pl.col("count").cast(pl.Int64))))
                codes, uniques = tessera.factorize(series)
                self.assertTrue(uniques.gather(codes).equals(series))
                if len(x):
                    self.assertTrue(tessera.isin(series, series[:1]).equals(series.is_in(series[:1].implode())))

    def test_nulls(self):
        for dtype in (pl.Int64, pl.UInt8, pl.Float32, pl.Boolean, pl.Datetime("us"), pl.Date):
            series = pl.Series("x", [1, None, 1, 0]).cast(pl.Int32 if dtype == pl.Date else pl.Int64).cast(dtype)
            with self.subTest(dtype=str(dtype)):
                self.assertEqual(tessera.factorize(series)[0].to_list(), [0, -1, 0, 1])
                self.assertTrue(tessera.unique(series, nulls="drop").equals(series.drop_nulls().unique(maintain_order=True)))
        times = pl.Series([1000, 2000]).cast(pl.Datetime("us"))
        self.assertEqual(tessera.isin(times, times[:1].cast(pl.Datetime("ns"))).to_list(), [True, False])
        names = pl.Series("x", ["b", None, "a", "b"], dtype=pl.Categorical)
        with self.assertRaisesRegex(tessera.WrongType, "holds categories"):
            tessera.isin(names, names)
        self.assertEqual(tessera.factorize(names)[1].to_list(), ["b", "a"])
        self.assertEqual(tessera.unique(pl.Series(["b", "a", "b"])).to_list(), ["b", "a"])

    def test_group_by(self):
        rng = np.random.default_rng(18)
        hows = "sum min max mean count".split()
        for shape in SHAPES:
            x = make("int64", shape, rng)
            frame = pl.DataFrame({"k": x, "j": make("int8", "few", rng, len(x)), "v": rng.standard_normal(len(x))})
            frame = frame.with_columns(pl.when(pl.int_range(pl.len()) % 5 != 3).then("v").alias("v"))
            for by in ("k", ["k", "j"]):
                with self.subTest(shape=shape, by=by):
                    got = tessera.group_by(frame, by).agg(**{how: ("v", how) for how in hows})
                    want = frame.group_by(by, maintain_order=True).agg(**{how: getattr(pl.col("v"), how)() for how in hows})
                    pl.testing.assert_frame_equal(got, want, check_dtypes=False)

    def test_merge(self):
        rng = np.random.default_rng(19)
        for a in ("random", "few", "empty", "one"):
            for b in ("random", "few", "empty", "distinct"):
                left = pl.DataFrame({"k": make("int64", a, rng, 50)}).with_row_index("v")
                right = pl.DataFrame({"k": make("int64", b, rng, 30)}).with_row_index("v")
                for how in ("inner", "left", "outer", "semi", "anti"):
                    with self.subTest(left=a, right=b, how=how):
                        theirs = {"outer": "full"}.get(how, how)
                        want = left.join(right, on="k", how=theirs, **({"coalesce": True} if how == "outer" else {}))
                        got = tessera.merge(left, right, "k", how)
                        self.assertEqual(sorted(got.columns), sorted(want.columns))
                        order = [name for name in ("k", "v", "v_right") if name in want.columns]
                        pl.testing.assert_frame_equal(
                            got.select(order).sort(order), want.select(order).sort(order), check_dtypes=False
                        )


@unittest.skipIf(pa is None, "pyarrow cannot be imported")
class PyarrowTest(unittest.TestCase):
    def test_one_column(self):
        for dtype, shape, x in every_column():
            with self.subTest(dtype=dtype, shape=shape):
                codes, firsts, counts = groups(x)
                for column in (pa.array(x), pa.chunked_array([pa.array(x[: len(x) // 2]), pa.array(x[len(x) // 2 :])])):
                    self.assertEqual(tessera.unique(column).to_pylist(), pa.array(x[firsts]).to_pylist())
                    self.assertEqual(tessera.factorize(column)[0].to_pylist(), codes.tolist())
                    self.assertEqual(tessera.value_counts(column)[1].to_pylist(), counts.tolist())
        column = pa.array([9, None, 7, 9])[1:]
        self.assertEqual(tessera.factorize(column)[0].to_pylist(), [-1, 0, 1])
        self.assertEqual(tessera.factorize(pa.array(["b", "a", "b"]).dictionary_encode())[1].to_pylist(), ["b", "a"])
        self.assertEqual(tessera.isin(pa.array([True, None, False]), [True]).to_pylist(), [True, False, False])
        with self.assertRaisesRegex(tessera.WrongType, "holds text, .* x.dictionary_encode"):
            tessera.unique(pa.array(["a"]))

    def test_tables_and_parquet(self):
        import io

        import pyarrow.parquet

        table = pa.table({"k": [3, 1, 3, None], "v": [1.0, None, 2.0, 5.0]})
        file = io.BytesIO()
        pyarrow.parquet.write_table(table, file)
        table = pyarrow.parquet.read_table(file)
        got = tessera.group_by(table, "k").agg(s=("v", "sum"), a=("v", "min"), n="size")
        self.assertEqual(got.to_pydict(), {"k": [3, 1], "s": [3.0, 0.0], "a": [1.0, None], "n": [2, 1]})
        right = pa.table({"k": [1, 4], "v": [10, 40]})
        got = tessera.merge(table, right, "k", "outer")
        self.assertEqual(got.column_names, ["k", "v", "v_right"])
        self.assertEqual(got["k"].to_pylist(), [3, 1, 3, None, 4])
        self.assertEqual(got["v_right"].to_pylist(), [None, 10, None, None, 40])

    def test_a_chunk_is_not_copied(self):
        from tessera._arrow import read_column

        array = pa.array(np.arange(1000))
        values, known = read_column(array, "x")
        self.assertEqual(values.__array_interface__["data"][0], array.buffers()[1].address)
        self.assertIsNone(known)
        del array
        self.assertEqual(int(values.sum()), 499500)


class ArrowTest(unittest.TestCase):
    """The capsules by a producer of our own, so that they are tested without pyarrow."""

    def test_an_array_with_nulls_and_an_offset(self):
        for values, form, offset, known in (
            (np.array([9, 5, 7, 5], np.int64), b"l", 0, None),
            (np.array([9, 5, 7, 5], np.int16), b"s", 1, None),
            (np.array([9, 5, 7, 5], np.float32), b"f", 1, [True, True, False, True]),
            (np.array([9, 5, 7, 5], "datetime64[ms]"), b"tsm:UTC", 0, [True, False, True, True]),
        ):
            producer = Producer(values, form, offset, known)
            self.assertEqual(
                tessera.factorize(producer)[0].tolist(),
                [
                    -1 if known and not known[i] else list(dict.fromkeys(self.kept(values, offset, known))).index(values[i])
                    for i in range(offset, 4)
                ],
            )
            self.assertEqual(producer.released, 1)
        with self.assertRaisesRegex(tessera.WrongType, "holds text"):
            tessera.unique(Producer(np.array([1]), b"u", 0, None))

    @staticmethod
    def kept(values, offset, known):
        return [values[i] for i in range(offset, 4) if not known or known[i]]


@unittest.skipUnless(pa, "no pyarrow")
class ParquetTest(unittest.TestCase):
    """What docs/columns_and_frames.md shows: pyarrow reads and writes Parquet, verbs and tables take what it reads."""

    def test_frames_and_batches(self):
        parquet = importlib.import_module("pyarrow.parquet")
        rng = np.random.default_rng(7)
        shops, prices = rng.integers(-5, 5, 1000), rng.integers(0, 100, 1000)
        with tempfile.TemporaryDirectory() as folder:
            sales, counted = os.path.join(folder, "sales.parquet"), os.path.join(folder, "counts.parquet")
            parquet.write_table(pa.table({"shop": shops, "price": prices}), sales, row_group_size=300)
            frame = parquet.read_table(sales)
            totals = tessera.group_by(frame, "shop").agg(total=("price", "sum"))
            self.assertEqual(dict(zip(*totals.to_pydict().values())), {s: int(prices[shops == s].sum()) for s in range(-5, 5)})
            joined = tessera.merge(frame, totals, on="shop")
            self.assertEqual(joined.column_names, ["shop", "price", "total"])
            self.assertEqual(joined["total"].to_pylist(), [int(prices[shops == s].sum()) for s in shops])
            counts = tessera.Counter("int64", backend="cpu")
            for batch in parquet.ParquetFile(sales).iter_batches(columns=["shop"]):
                counts.insert(batch["shop"])
            parquet.write_table(pa.table(counts), counted)
            counted_again = dict(zip(*parquet.read_table(counted).to_pydict().values()))
            self.assertEqual(counted_again, {s: int((shops == s).sum()) for s in range(-5, 5)})


class ArrowOutTest(unittest.TestCase):
    """tessera.Arrow, read by the package's own reader and by the libraries that can be imported."""

    def setUp(self):
        from tessera import _arrow_out

        gc.collect()
        self.lent = lambda: (gc.collect(), len(_arrow_out._lent), len(_arrow_out._in_capsules))[1:]
        self.before = self.lent()

    def tearDown(self):
        self.assertEqual(self.lent(), self.before)  # nothing stays behind

    def test_there_and_back(self):
        from tessera._arrow import read_column

        for dtype, shape, x in every_column():
            values, known = read_column(tessera.Arrow(x), "x")
            np.testing.assert_array_equal(values, x)
            self.assertEqual((values.dtype, known), (x.dtype, None))
            if x.size and x.dtype != bool:
                self.assertEqual(values.ctypes.data, x.ctypes.data)
        times = np.array(["2020-01-01", "NaT"], "M8[ms]")
        self.assertEqual(read_column(tessera.Arrow(times), "x")[1].tolist(), [True, False])
        self.assertEqual(tessera.unique(tessera.Arrow(np.array([3, 1, 3]))).tolist(), [3, 1])
        with tessera.Set("int64", backend="cpu") as table:
            table.insert(tessera.Arrow(np.array([3, 1, 3])))
            self.assertEqual(sorted(table.keys().tolist()), [1, 3])

    def test_nobody_reads_it(self):
        out = tessera.Arrow({"k": np.arange(3), "rows": np.ones((3, 2), np.float32)})
        for export in (out.__arrow_c_schema__, out.__arrow_c_array__, out.__arrow_c_stream__, out.__arrow_c_device_array__):
            export()
        del out, export

    def test_refusals(self):
        for columns, sentence in (
            ({}, "is empty"),
            ({"a": np.arange(3), "b": np.arange(2)}, "several lengths"),
            (np.array(["a"]), "columns: is <U1"),
            (np.zeros((2, 2, 2)), "or two where values are rows"),
        ):
            with self.assertRaisesRegex(tessera.Error, sentence):
                tessera.Arrow(columns)

    @unittest.skipIf(pa is None or not hasattr(pa.RecordBatch, "_import_from_c_device_capsule"), "pyarrow is absent or old")
    def test_pyarrow(self):
        x = np.arange(1000)
        array = pa.array(tessera.Arrow(x))
        self.assertEqual(array.buffers()[1].address, x.ctypes.data)
        columns = {"k": x, "b": x > 7, "d": x.astype("M8[D]"), "t": x.astype("m8[us]"), "rows": x.reshape(-1, 1)}
        out = tessera.Arrow(columns)
        table = pa.table(out)
        self.assertEqual([str(kind) for kind in table.schema.types[:4]], ["int64", "bool", "date32[day]", "duration[us]"])
        batch = pa.RecordBatch._import_from_c_device_capsule(*out.__arrow_c_device_array__())
        self.assertEqual(table.to_batches()[0], batch)
        column = table.column("k")
        del table, batch, out  # a part outlives the whole
        self.assertEqual(column.to_pylist(), x.tolist())
        del array, column
        with tessera.Map("int64", ("float32", 4), backend="cpu") as rows, tessera.Counter("int32", backend="cpu") as counts:
            rows.insert([7, 9], np.arange(8, dtype=np.float32).reshape(2, 4))
            counts.insert([7, 7, 9])
            self.assertEqual(dict(zip(*pa.table(rows).to_pydict().values())), {7: [0, 1, 2, 3], 9: [4, 5, 6, 7]})
            self.assertEqual(dict(zip(*pa.table(counts).to_pydict().values())), {7: 2, 9: 1})

    @unittest.skipIf(pl is None or not hasattr(pl.Series, "__arrow_c_stream__"), "polars is absent or old")
    def test_polars(self):
        groups = tessera.group_by(np.array([7, 42, 7])).agg(s=(np.array([1.5, 2.0, 0.5]), "sum"), n="size")
        self.assertEqual(pl.DataFrame(tessera.Arrow(groups)).to_dict(as_series=False), {"key": [7, 42], "s": [2.0, 2.0], "n": [2, 1]})
        with tessera.Map("int64", "float64", backend="cpu") as table:
            table.insert([1], [0.5])
            self.assertEqual(pl.DataFrame(table).rows(), [(1, 0.5)])


class Producer:
    """An array of Arrow's C data interface."""

    def __init__(self, values, form, offset, known):
        self.values, self.form, self.offset, self.released = values, form, offset, 0
        self.known = None if known is None else np.packbits(known, bitorder="little")
        self.nulls = 0 if known is None else known.count(False)

    def __arrow_c_array__(self, requested_schema=None):
        from tessera import _arrow

        self.buffers = (ctypes.c_void_p * 2)(
            None if self.known is None else self.known.ctypes.data, self.values.ctypes.data
        )
        schema, array = _arrow.ArrowSchema(), _arrow.ArrowArray()
        schema.format = self.form
        schema.release = type(schema.release)(lambda pointer: None)
        array.length, array.offset, array.null_count = len(self.values) - self.offset, self.offset, self.nulls
        array.n_buffers, array.buffers = 2, self.buffers

        def release(pointer):
            self.released += 1

        array.release = type(array.release)(release)
        self.structs = schema, array
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return (
            new(ctypes.addressof(schema), b"arrow_schema", None),
            new(ctypes.addressof(array), b"arrow_array", None),
        )


@unittest.skipIf(torch is None, "PyTorch cannot be imported")
class TorchTest(unittest.TestCase):
    def test_tensors_of_the_host(self):
        x = torch.tensor([30, 10, 30, 20])
        values, inverse, counts = tessera.unique(x, True, True)
        self.assertTrue(torch.equal(values[inverse], x))
        self.assertEqual(counts.tolist(), [2, 1, 1])
        edges, nodes = tessera.relabel(torch.stack([x, x.flip(0)]))
        self.assertEqual(tuple(edges.shape), (2, 4))
        self.assertTrue(torch.equal(nodes[edges][0], x))


@unittest.skipIf(hypothesis is None, "hypothesis cannot be imported")
class PropertiesTest(unittest.TestCase):
    def test_columns_that_hypothesis_chooses(self):
        from hypothesis import strategies as st

        numbers = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)
        columns = st.lists(numbers, max_size=60).map(lambda column: np.array(column, np.int64))

        @hypothesis.settings(deadline=None, max_examples=150)
        @hypothesis.given(columns, columns)
        def holds(left, right):
            codes, firsts, counts = groups(left)
            values, inverse, number = tessera.unique(left, True, True)
            np.testing.assert_array_equal(values, left[firsts])
            np.testing.assert_array_equal(inverse, codes)
            np.testing.assert_array_equal(number, counts)
            np.testing.assert_array_equal(tessera.isin(left, right), np.isin(left, right))
            for how in ("inner", "left", "right", "outer"):
                got = tessera.merge(left, right, how=how)
                self.assertEqual(list(zip(*(rows.tolist() for rows in got))), joined(left.tolist(), right.tolist(), how))

        holds()

    def test_groups_that_hypothesis_chooses(self):
        from hypothesis import strategies as st

        dtypes = st.sampled_from(DTYPES[:-2])
        rows = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(-100, 100)), max_size=60)

        @hypothesis.settings(deadline=None, max_examples=150)
        @hypothesis.given(rows, dtypes, dtypes, st.sampled_from(("float64", "int64", "int8", "float32")))
        def holds(rows, first, second, dtype):
            a, b, v = (np.array([row[i] for row in rows]).astype(kind) for i, kind in enumerate((first, second, dtype)))
            got = tessera.group_by((a, b)).agg(s=(v, "sum"), low=(v, "min"), high=(v, "max"), m=(v, "mean"), n="size")
            want = {}
            for key, value in zip(zip(a.tolist(), b.tolist()), v.tolist()):
                want.setdefault(key, []).append(value)
            self.assertEqual(list(zip(got["key_0"].tolist(), got["key_1"].tolist())), list(want))
            for name, call in (("s", sum), ("low", min), ("high", max), ("n", len)):
                self.assertEqual(got[name].tolist(), [call(part) for part in want.values()], name)
            np.testing.assert_allclose(got["m"], [sum(part) / len(part) for part in want.values()], rtol=1e-6)

        holds()

    @unittest.skipIf(pd is None or pl is None, "pandas and polars cannot be imported")
    def test_frames_that_hypothesis_chooses(self):
        """The same answers as pandas and polars, with nulls."""
        from hypothesis import strategies as st

        keys = st.lists(st.none() | st.integers(-4, 4), max_size=40)

        @hypothesis.settings(deadline=None, max_examples=100)
        @hypothesis.given(keys, keys, st.sampled_from(("inner", "left", "semi", "anti")))
        def holds(left, right, how):
            a = pl.DataFrame({"k": left, "row": range(len(left))}, schema={"k": pl.Int64, "row": pl.Int64})
            b = pl.DataFrame({"k": right, "other": range(len(right))}, schema={"k": pl.Int64, "other": pl.Int64})
            columns = ["row"] if how in ("semi", "anti") else ["row", "other"]
            got = tessera.merge(a, b, "k", how).select(columns).rows()
            self.assertEqual(sorted(got, key=str), sorted(a.join(b, on="k", how=how).select(columns).rows(), key=str))
            series = pd.Series(left, dtype="Int64")
            codes, uniques = tessera.factorize(series)
            want_codes, want = pd.factorize(series)
            self.assertEqual(np.asarray(codes).tolist(), want_codes.tolist())
            self.assertEqual(list(uniques), list(want))
            self.assertEqual(tessera.value_counts(series).to_dict(), series.value_counts().to_dict())

        holds()


if __name__ == "__main__":
    unittest.main()
