# SPDX-License-Identifier: Apache-2.0
"""Keys of several columns: the forms that they may have, against a dict, and what is refused."""

import ctypes
import os
import pickle
import tempfile
import unittest

import numpy as np

import tessera
from tessera import _library as lib

BACKEND = os.environ.get("TSR_TEST_BACKEND", "cpu")
LISTS = (
    ["int32", "int32"],
    ["uint8", "int8"],
    ["int16"],
    ["uint64", "int64"],
    ["int32", "uint32", "int32", "uint32"],
    ["uint8", "int64", "uint16", "int8"],
    ["int64"],
)


def columns_of(types, n, seed):
    """Columns with few values and with the largest and least ones."""
    rng = np.random.default_rng(seed)
    made = []
    for dtype in map(np.dtype, types):
        limits = np.iinfo(dtype)
        made.append(rng.choice(np.array([limits.min, limits.min + 1, 0, 1, 5, limits.max], dtype), n))
    return tuple(made)


def rows_of(columns):
    return list(zip(*(column.tolist() for column in columns)))


class KeyColumnsTest(unittest.TestCase):
    def test_maps_agree_with_a_dict(self):
        for types in LISTS:
            with self.subTest(types):
                columns, values = columns_of(types, 3000, 1), np.arange(3000)
                oracle = dict(zip(rows_of(columns), values.tolist()))
                with tessera.Map(key=types, value="int64", duplicates="max", backend=BACKEND) as table:
                    table.insert(columns, values)
                    keys, held = table.items()
                    self.assertEqual([column.dtype.name for column in keys], types)
                    self.assertEqual(dict(zip(rows_of(keys), held.tolist())), oracle)
                    self.assertEqual(sorted(table), sorted(oracle))
                    asked = columns_of(types, 500, 2)
                    self.assertEqual(
                        table.get(asked, missing=-1).tolist(), [oracle.get(row, -1) for row in rows_of(asked)]
                    )
                    self.assertEqual(table.contains(asked).tolist(), [row in oracle for row in rows_of(asked)])
                    table.erase(columns)
                    self.assertEqual(len(table), 0)

    def forms(self, columns):
        record = np.dtype([("x", "<i4"), ("between", "<f8"), ("y", "<i4"), ("t", "u1")])
        apart, exact = np.zeros(len(columns[0]), record), np.zeros(len(columns[0]), [("x", "<i4"), ("y", "<i4"), ("t", "u1")])
        for name, column in zip("xyt", columns):
            apart[name] = exact[name] = column
        yield columns
        yield list(columns)
        yield dict(zip("xyt", columns))
        yield apart
        yield exact
        yield rows_of(columns)
        yield tuple(column.tolist() for column in columns)
        yield tuple(np.repeat(column, 2)[::2] for column in columns)
        yield tuple(column[::-1][::-1] for column in columns)
        try:
            import pandas
        except ImportError:
            return
        yield pandas.DataFrame({"t": columns[2], "y": columns[1], "more": columns[0] * 1.5, "x": columns[0]})

    def test_every_form_is_the_same_key(self):
        types = {"x": "int32", "y": "int32", "t": "uint8"}
        columns = columns_of(types.values(), 200, 3)
        for dtype in types, np.dtype(list(types.items())):
            with tessera.Set(dtype, backend=BACKEND) as table:
                for form in self.forms(columns):
                    table.clear()
                    table.insert(form)
                    self.assertEqual(set(table), set(rows_of(columns)), type(form))
                    for asked in self.forms(columns):
                        self.assertTrue(table.contains(asked).all(), type(asked))
                keys = table.keys()
                self.assertEqual(list(keys), ["x", "y", "t"])
                self.assertEqual([column.dtype.name for column in keys.values()], list(types.values()))
                self.assertIn(tuple(column[0].item() for column in columns), table)
                self.assertNotIn((7, 7, 7), table)

    def test_records_that_are_keys_are_not_copied(self):
        voxels = np.zeros(3, [("x", "u4"), ("y", "u4"), ("z", "u4"), ("t", "u4")])
        voxels["z"] = [1, 2, 1]
        with tessera.Counter(voxels.dtype, backend=BACKEND) as counts:
            self.assertTrue(np.shares_memory(counts._keys_array(voxels, "keys")[1], voxels))
            counts.insert(voxels)
            self.assertEqual(counts.get(voxels).tolist(), [2, 1, 2])
            self.assertEqual(counts[0, 0, 2, 0], 1)
            self.assertEqual(counts.get((0, 0, 9, 0)), 0)
            with self.assertRaises(tessera.Missing):
                counts[0, 0, 9, 0]

    def test_one_key_and_updates(self):
        with tessera.Map(key=["int32", "int32"], value="float32", backend=BACKEND) as table:
            table[-1, 5] = np.float32(2.5)
            table.update({(3, 4): 0.5, (-1, 5): 1.5})
            self.assertEqual(table[-1, 5], 1.5)
            self.assertEqual(table.get((3, 4)), 0.5)
            self.assertEqual(table[[3, -1], [4, 5]].tolist(), [0.5, 1.5])
            with tessera.Map(key=["int32", "int32"], value="float32", backend=BACKEND) as other:
                other.update(table)
                self.assertEqual(sorted(other), [(-1, 5), (3, 4)])
            del table[3, 4]
            self.assertEqual(list(table), [(-1, 5)])

    def test_indexes_and_unique(self):
        types = {"day": "int16", "shop": "int64"}
        columns = columns_of(types.values(), 400, 4)
        rows = rows_of(columns)
        seen = list(dict.fromkeys(rows))
        with tessera.Index(types, numbering="first_seen", backend=BACKEND) as index:
            self.assertEqual(index.number(columns).tolist(), [seen.index(row) for row in rows])
            self.assertEqual(rows_of(index.keys_by_number()[0].values()), seen)
            distinct, inverse, counts = index.unique(columns)
            self.assertEqual(rows_of(distinct.values()), seen)
            self.assertEqual([seen[i] for i in inverse], rows)
            self.assertEqual(counts.tolist(), [rows.count(row) for row in seen])

    def test_copies_and_files_know_the_columns(self):
        with tessera.Map(key={"a": "int8", "b": "int64"}, value="int32", backend=BACKEND) as table:
            table.insert({"a": [1, -1], "b": [-5, 1 << 40]}, [7, 8])
            copy = pickle.loads(pickle.dumps(table))
            self.assertEqual(copy[-1, 1 << 40], 8)
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "table.tsr")
                table.save(path)
                again = tessera.Map.load(path, key={"a": "int8", "b": "int64"}, value="int32")
                self.assertEqual(sorted(again), [(-1, 1 << 40), (1, -5)])
                with self.assertRaisesRegex(tessera.WrongType, "keys have 128 bits"):
                    tessera.Map.load(path, key=["int8", "int8"], value="int32")

    def test_what_comes_back(self):
        with tessera.Set(["int32", "int64"], capacity=20, backend=BACKEND, settings={"probing.max_probes": 1}) as table:
            columns = np.arange(100, dtype=np.int32), np.arange(100) - 50
            codes, keys, _ = table.insert(columns, wait=False)
            self.assertTrue((codes == tessera.Code.NOT_PLACED).any())
            self.assertEqual(len(keys), 2)
            back = codes == tessera.Code.NOT_PLACED
            self.assertTrue(set(zip(keys[0][back].tolist(), keys[1][back].tolist())) <= set(rows_of(columns)))

    def test_memory_of_the_device(self):
        """tsr_key_pack on arrays in device memory, apart and as records, and on some in host memory."""
        for types in LISTS:
            with self.subTest(types), tessera.Set(types, backend=BACKEND) as table:
                columns = columns_of(types, 1000, 5)
                expected = table._form.pack(table, columns, "keys")[1]
                records = np.zeros(1000, [("gap", "u1"), *((f"f{i}", dtype) for i, dtype in enumerate(types))])
                for i, column in enumerate(columns):
                    records[f"f{i}"] = column
                n, held = len(types), []

                def copy(to, source, size):
                    at = ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_uint64(size)
                    self.call("tsr_memory_copy", table._handle, *at)

                def on_device(array):
                    memory = ctypes.c_void_p()
                    self.call("tsr_memory_allocate", table._handle, ctypes.c_uint64(array.nbytes), ctypes.byref(memory))
                    copy(memory.value, array.ctypes.data, array.nbytes)
                    held.append(memory)
                    return memory.value

                def packed(at, strides):
                    keys, made = on_device(np.zeros_like(expected)), np.empty_like(expected)
                    self.call("tsr_key_pack", table._handle, 1000, (ctypes.c_void_p * n)(*at), strides, keys, None)
                    copy(made.ctypes.data, keys, made.nbytes)
                    return keys, made

                apart = [on_device(column) for column in columns]
                keys, made = packed(apart, None)
                self.assertEqual(made.tobytes(), expected.tobytes())
                base, size = on_device(records), records.dtype.itemsize
                strides = (ctypes.c_size_t * n)(*[size] * n)
                offsets = [records.dtype.fields[f"f{i}"][1] for i in range(n)]
                self.assertEqual(packed([base + at for at in offsets], strides)[1].tobytes(), expected.tobytes())
                mixed = [columns[0].ctypes.data, *apart[1:]]
                self.assertEqual(packed(mixed, None)[1].tobytes(), expected.tobytes())
                back = [on_device(np.zeros_like(column)) for column in columns]
                self.call("tsr_key_unpack", table._handle, 1000, keys, (ctypes.c_void_p * n)(*back), None, None)
                for column, at in zip(columns, back):
                    made = np.empty_like(column)
                    copy(made.ctypes.data, at, made.nbytes)
                    np.testing.assert_array_equal(made, column)
                self.call("tsr_insert", table._handle, 1000, keys, None, None)
                self.assertEqual(set(table), set(rows_of(columns)))
                for memory in held:
                    lib.library.tsr_memory_free(table._handle, memory)

    def call(self, name, *arguments):
        error = lib.TsrError()
        self.assertEqual(getattr(lib.library, name)(*arguments, ctypes.byref(error)), 0, error.message)

    def test_what_is_refused(self):
        for key, sentence in (
            (["float32", "int32"], "floats are compared by their bits"),
            (["int64", "int64", "int8"], "136 bits together: a key has 1 to 16 columns"),
            ([], "a key has 1 to 16 columns"),
            (["text"], "columns are of int8"),
        ):
            with self.assertRaisesRegex(tessera.WrongType, sentence):
                tessera.Set(key, backend=BACKEND)
        with tessera.Set({"a": "int32", "b": "uint8"}, backend=BACKEND) as table:
            for keys, kind, sentence in (
                (np.arange(3), tessera.WrongType, "pass a tuple of arrays, a dict or a frame"),
                ((np.arange(3),) * 2, tessera.WrongType, r"column 'a' is int64, and keys have int32 there"),
                (([1], [300]), tessera.BadArgument, "column 'b': 300 .. 300 do not fit into uint8"),
                (([1, 2], [3]), tessera.BadArgument, r"column 'b' has shape \(1,\), and the first one \(2,\)"),
                (([1], [2], [3]), tessera.BadArgument, "has 3 columns, and a key has 2"),
                ({"a": [1]}, tessera.BadArgument, "has no column 'b': there are 'a'"),
                ([(1, 2), (3,)], tessera.BadArgument, r"\(3,\) has 1 numbers, and a key has 2"),
                (([1.5], [2]), tessera.WrongType, "column 'a' is float64"),
            ):
                with self.assertRaisesRegex(kind, sentence):
                    table.insert(keys)
            self.assertEqual(len(table), 0)
        with self.assertRaisesRegex(tessera.WrongType, "of 128-bit keys tessera.Cache has 4 or 8 bytes"):
            tessera.Cache(["int64", "int64"], ("float32", 8), capacity=10, backend=BACKEND)


if __name__ == "__main__":
    unittest.main()
