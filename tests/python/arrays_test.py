# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries than NumPy, where they are on the host: PyTorch and JAX if they can be imported, and what
comes by DLPack or __cuda_array_interface__. Arrays on a GPU: tests/device/python_on_gpu.py."""

import importlib
import unittest
from unittest import mock

import numpy as np

import tessera
from tessera import _arrays

SPEC = {
    "table": dict(
        kind="map",
        key_bits=32,
        value_bits=32,
        capacity=1000,
        layout="packed",
        probing="double_hashing",
        hasher="murmur3",
        backend="cpu",
    )
}


def has(module):
    """Whether it can be imported: a broken installation is as good as none."""
    try:
        importlib.import_module(module)
    except Exception:
        return False
    return True


class ByDlpack:
    """An array of a library that nobody knows."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnGpu:
    """Something that says it is on a GPU."""

    def __init__(self, **entries):
        self.__cuda_array_interface__ = {
            "data": (4096, False),
            "typestr": "<u4",
            "shape": (4,),
            "version": 3,
            "strides": None,
            **entries,
        }

    __cuda_array_interface__ = None

    def __dlpack_device__(self):
        return 2, 0


class ArraysTest(unittest.TestCase):
    def setUp(self):
        self.table = tessera.Table(SPEC)
        self.addCleanup(self.table.close)
        self.table.insert(np.arange(10, dtype=np.uint32), np.arange(10, dtype=np.uint32) * 10)

    def test_dlpack_tells_where_an_array_lies(self):
        for array in (np.arange(6, dtype=np.uint32), np.zeros((2, 3), np.int32), np.zeros(3), np.zeros((1, 0, 2))):
            memory = _arrays.look_at_dlpack(ByDlpack(array), "keys", False, 0)
            self.assertEqual(memory, _arrays.NUMPY.look(array, "keys", False))
        with self.assertRaisesRegex(tessera.BadArgument, "is not contiguous"):
            _arrays.look_at_dlpack(ByDlpack(np.zeros((3, 3), np.uint32).T), "keys", False, 0)

    def test_an_unknown_library_can_be_read(self):
        values = np.array([7, 8], np.uint32)
        self.table.insert(np.array([100, 101], np.uint32), ByDlpack(values))
        self.assertEqual(self.table.get([100, 101]).tolist(), [7, 8])
        out = np.zeros(2, np.uint32)
        self.assertEqual(self.table.get(ByDlpack(np.array([1, 2], np.uint32)), out=out).tolist(), [10, 20])
        found = self.table.get(ByDlpack(values))
        self.assertEqual((type(found), found.tolist()), (np.ndarray, [70, 80]))
        self.assertEqual(self.table[ByDlpack(values)].tolist(), [70, 80])

        class WithNulls(ByDlpack):
            def __dlpack__(self, **options):
                raise RuntimeError("there are nulls")

        with self.assertRaisesRegex(tessera.BadArgument, "keys: there are nulls: fill or drop nulls"):
            self.table.get(WithNulls(values))
        with self.assertRaisesRegex(tessera.BadArgument, "DLPack does not say whether"):
            self.table.get(values, out=ByDlpack(values))

    def test_arrays_on_a_gpu_are_refused_by_a_table_on_the_cpu(self):
        with self.assertRaisesRegex(tessera.BadArgument, "keys: is on GPU 0, and this table is on the CPU"):
            self.table.get(OnGpu())
        keys = np.arange(4, dtype=np.uint32)
        with self.assertRaisesRegex(tessera.BadArgument, "out: is on GPU 0"):
            self.table.get(keys, out=OnGpu())
        with self.assertRaisesRegex(tessera.BadArgument, "out: is read-only"):
            self.table.get(keys, out=OnGpu(data=(4096, True)))
        with self.assertRaisesRegex(tessera.BadArgument, "is not contiguous"):
            self.table.get(OnGpu(strides=(8,)))
        with self.assertRaisesRegex(tessera.BadArgument, "has no memory"):
            self.table.get(OnGpu(data=(0, False)))
        with self.assertRaisesRegex(tessera.WrongType, "keys: is float64"):
            self.table.get(OnGpu(typestr="<f8"))

    def test_a_stream_that_an_array_names_is_waited_for(self):
        waited = []
        with mock.patch.object(_arrays, "_wait_for", lambda stream, name: waited.append(stream)):
            for stream in (None, 1, 2, 0x7F00):
                _arrays.look_at_cuda_interface(OnGpu(stream=stream), "keys", False)
            _arrays.look_at_cuda_interface(OnGpu(), "keys", False)
        self.assertEqual(waited, [1, 2, 0x7F00])
        with self.assertRaisesRegex(tessera.BadArgument, "keys: names stream 0"):
            _arrays.look_at_cuda_interface(OnGpu(stream=0), "keys", False)

    @unittest.skipUnless(has("torch"), "PyTorch cannot be imported")
    def test_pytorch(self):
        import torch

        table = self.table
        keys = torch.tensor([[1, 2], [3, 99]], dtype=torch.int32)
        values, mask = table.find(keys, missing=-1)
        self.assertEqual((values.tolist(), mask.tolist()), ([[10, 20], [30, -1]], [[True, True], [True, False]]))
        self.assertEqual((values.dtype, mask.dtype), (torch.int32, torch.bool))
        self.assertEqual(table.contains(keys).dtype, torch.bool)
        self.assertEqual(table.count(keys).tolist(), [[1, 1], [1, 0]])
        self.assertEqual(table.erase(keys).tolist(), [[True, True], [True, False]])
        table.insert(keys, keys * 100)
        out = torch.zeros(4, dtype=torch.float32), torch.zeros(4, dtype=torch.bool)
        table.insert(torch.tensor([50], dtype=torch.int32), torch.tensor([0.5]))
        values, mask = table.find(torch.tensor([50, 51, 50, 51], dtype=torch.int32), missing=2.5, out=out)
        self.assertIs(values, out[0])
        self.assertEqual((values.tolist(), out[1].tolist()), ([0.5, 2.5, 0.5, 2.5], [True, False, True, False]))
        self.assertEqual(table[torch.tensor([1], dtype=torch.int32)].tolist(), [100])
        with self.assertRaisesRegex(KeyError, "the key 77 "):
            table[torch.tensor([1, 77], dtype=torch.int32)]
        keys, values = table.items(like=keys)
        self.assertEqual((keys.dtype, len(keys), len(values)), (torch.int32, len(table), len(table)))
        for wrong, sentence in (
            (torch.arange(3), "keys: is int64"),
            (torch.zeros(3, dtype=torch.float16), "keys: is torch.float16, "),
            (torch.zeros((3, 3), dtype=torch.int32).T, "is not contiguous"),
            (torch.zeros(3, dtype=torch.int32, device="meta"), "is on meta"),
            (torch.zeros(3, dtype=torch.int32).to_sparse(), "layout"),
        ):
            with self.assertRaisesRegex(tessera.BadArgument, sentence):
                table.find(wrong)
        freed = torch.zeros(3, dtype=torch.int32)
        storage = freed.untyped_storage if hasattr(freed, "untyped_storage") else freed.storage  # before PyTorch 2.0
        storage().resize_(0)
        with self.assertRaisesRegex(tessera.BadArgument, "has no memory: it was freed"):
            table.find(freed)
        grad = torch.zeros(1, requires_grad=True)
        with self.assertRaisesRegex(tessera.BadArgument, "requires a gradient"):
            table.get(torch.tensor([1], dtype=torch.int32), out=grad)
        with self.assertRaises(tessera.Full) as caught:
            table.insert(torch.arange(100, 5000, dtype=torch.int32), 1)
        self.assertIsInstance(caught.exception.keys, torch.Tensor)

    @unittest.skipUnless(has("jax"), "JAX cannot be imported")
    def test_jax(self):
        import jax
        import jax.numpy as jnp

        table = self.table
        keys = jnp.array([1, 2, 99], jnp.uint32)
        values, mask = table.find(keys, missing=5)
        self.assertIsInstance(values, jax.Array)
        self.assertEqual((values.tolist(), mask.tolist()), ([10, 20, 5], [True, True, False]))
        self.assertEqual((mask.dtype, (values + 1).tolist()), (np.dtype(bool), [11, 21, 6]))
        self.assertEqual(table.contains(keys).tolist(), [True, True, False])
        table.insert(jnp.array([200, 201], jnp.uint32), jnp.array([7, 8], jnp.uint32))
        self.assertEqual(table[jnp.array([201, 200], jnp.uint32)].tolist(), [8, 7])
        with self.assertRaisesRegex(tessera.WrongType, "jax_enable_x64"):
            table.count(keys)
        with self.assertRaisesRegex(tessera.BadArgument, "arrays of JAX cannot be written"):
            table.get(keys, out=keys)
        with self.assertRaisesRegex(tessera.BadArgument, "outside of jax.jit"):
            jax.jit(table.get)(keys)
        keys.delete()
        with self.assertRaisesRegex(tessera.BadArgument, "was deleted"):
            table.get(keys)


if __name__ == "__main__":
    unittest.main()
