# SPDX-License-Identifier: Apache-2.0
"""tessera.torch: its operators against NumPy, eager and in graphs of torch.compile, on the CPU. PyTorch from 2.4 on."""

import unittest

import numpy as np

import tessera

try:
    import torch

    torch.library.custom_op
    import tessera.torch as ops
except (ImportError, AttributeError):
    torch = None


def numbered(x):
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    places = np.argsort(order)
    return values[order], places[inverse.reshape(-1)].reshape(x.shape), counts[order]


@unittest.skipIf(torch is None, "PyTorch 2.4 cannot be imported")
class TorchTest(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        self.addCleanup(tessera.free_kept_tables)

    def compiled(self, function):
        """The function, and its compiled form, in which nothing may break the graph."""
        return function, torch.compile(function, fullgraph=True, backend="aot_eager")

    def test_unique_is_padded(self):
        rng = np.random.default_rng(1)
        for x in (
            rng.integers(-9, 9, 500),
            rng.integers(-9, 9, (2, 50)).astype(np.int32),
            np.round(rng.standard_normal(300)).astype(np.float32),
            np.array([7]),
            np.empty(0, np.int64),
            np.array([-1, -2, 0, 2**63 - 1, -(2**63), -1]),
        ):
            want, inverse, counts = numbered(x)
            for call in self.compiled(lambda x: ops.unique(x)):
                values, got, number, count = call(torch.from_numpy(x))
                self.assertEqual((values.shape, number.shape), ((x.size,), (x.size,)))
                self.assertEqual(int(count), len(want))
                np.testing.assert_array_equal(values[: len(want)], want)
                np.testing.assert_array_equal(got, inverse)
                np.testing.assert_array_equal(number[: len(want)], counts)
                self.assertEqual(int(number[len(want) :].sum()), 0)
            values, got, _, count = ops.unique(torch.from_numpy(x), order="any")
            np.testing.assert_array_equal(values[got], x)
            self.assertEqual(int(count), len(want))
        with self.assertRaisesRegex(tessera.BadArgument, 'is "seen" or "any"'):
            ops.unique(torch.arange(3), order="up")

    def test_isin_inside_of_other_work(self):
        rng = np.random.default_rng(2)
        x, values = rng.integers(0, 100, 1000), rng.integers(0, 100, 30)
        for call in self.compiled(lambda x, values: ops.isin(x * 2 // 2, values + 0).sum() + 1):
            self.assertEqual(int(call(torch.from_numpy(x), torch.from_numpy(values))), np.isin(x, values).sum() + 1)

    def test_find_in_a_graph(self):
        table = tessera.Map("int64", "float32", capacity=1000, backend="cpu")
        rows = ops.Operators(table)
        table.insert(np.arange(100), np.arange(100, dtype=np.float32) / 4)
        keys = torch.arange(-5, 120)
        for call in self.compiled(lambda keys: rows.find(keys, missing=-1.0)):
            values, mask = call(keys)
            want = np.where((keys.numpy() >= 0) & (keys.numpy() < 100), keys.numpy() / 4, -1)
            np.testing.assert_array_equal(values, want.astype(np.float32))
            np.testing.assert_array_equal(mask, want != -1)
            self.assertEqual(values.dtype, torch.float32)

    def test_changes_keep_their_order(self):
        for which in (0, 1):
            index = ops.Operators(tessera.Index("int64", capacity=1000, numbering="first_seen", backend="cpu"))
            table = ops.Operators(tessera.Map("int64", "int64", capacity=1000, backend="cpu"))

            def work(keys):
                before = table.contains(keys)
                values, inserted = table.find_or_insert(keys, keys * 3)
                after = table.contains(keys)
                table.insert(keys + 1000, keys)  # nobody uses what it gives
                return before, values, inserted, after, index.number(keys)

            keys = torch.tensor([5, 7, 5, 9])
            before, values, inserted, after, numbers = self.compiled(work)[which](keys)
            self.assertEqual((before.any(), after.all()), (False, True))
            self.assertEqual(values.tolist(), [15, 21, 15, 27])
            self.assertEqual(int(inserted.sum()), 3)
            self.assertEqual(numbers.tolist(), [0, 1, 0, 2])
            self.assertEqual(len(table.table), 6)

    def test_pairs_without_room_are_counted(self):
        settings = {"table.backend": "cpu", "table.key_bits": 64, "table.value_bits": 64, "table.load_factor": 0.9}
        for which in (0, 1):
            table = tessera.Table("linear", settings=settings, capacity=100)
            rows = ops.Operators(table)
            call = self.compiled(lambda keys: rows.find_or_insert(keys, keys))[which]
            call(torch.arange(5000))
            self.assertEqual(int(rows.unplaced), 5000 - len(table))
            self.assertGreater(int(rows.unplaced), 0)

    def test_the_operators_are_as_pytorch_wants_them(self):
        table = ops.Operators(tessera.Map("int64", "int64", capacity=1000, backend="cpu"))
        index = ops.Operators(tessera.Index("int64", capacity=1000, backend="cpu"))
        x, library = torch.tensor([3, 1, 3]), torch.ops.tessera
        for op, arguments in (
            (library.isin, (x, x[:1].clone())),
            (library.unique, (x, True)),
            (library.find, (table.unplaced, table._number, x, 0.0)),
            (library.contains, (table.unplaced, table._number, x)),
            (library.insert, (table.unplaced, table._number, x, x)),
            (library.find_or_insert, (table.unplaced, table._number, x, x)),
            (library.number, (index.unplaced, index._number, x)),
        ):
            with self.subTest(op=str(op)):
                torch.library.opcheck(op.default, arguments)

    def test_refusals(self):
        table = tessera.Map("int64", "int64", capacity=10, backend="cpu")
        rows = ops.Operators(table)

        class Module(torch.nn.Module):
            def forward(self, keys):
                return rows.find(keys)[0]

        with self.assertRaisesRegex(Exception, "torch.export cannot keep a table"):
            torch.export.export(Module(), (torch.arange(3),))
        with self.assertRaisesRegex(tessera.Unsupported, "values that are rows"):
            ops.Operators(tessera.Map("int64", ("float32", 16), capacity=10, backend="cpu"))
        with self.assertRaisesRegex(tessera.BadArgument, "is gone"):
            torch.ops.tessera.contains(rows.unplaced, 1 << 40, torch.arange(3))


if __name__ == "__main__":
    unittest.main()
