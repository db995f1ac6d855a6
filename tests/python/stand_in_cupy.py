# SPDX-License-Identifier: Apache-2.0
"""A module that answers as CuPy does, on the host: what the package asks of CuPy, and nothing more, so that its paths for CuPy
run on machines without a GPU. `install()` makes `import cupy` find it."""

import sys
import types
from contextlib import nullcontext

import numpy as np

HOST = -1  # as tessera._arrays has it: the device of the memory


class ndarray(np.ndarray):
    """NumPy's memory, with CuPy's way to say where it is."""

    device = nullcontext()

    @property
    def data(self):
        return types.SimpleNamespace(ptr=self.__array_interface__["data"][0], device_id=HOST)


ndarray.__module__ = "cupy"
SAME = "arange ascontiguousarray concatenate cumsum equal full maximum nonzero searchsorted sort where".split()
ATOMIC = [np.dtype(name) for name in ("float32", "float64", "int32", "uint32", "uint64")]


def _ours(function):
    def call(*arguments, **options):
        made = function(*arguments, **options)
        if isinstance(made, tuple):
            return tuple(np.asarray(part).view(ndarray) for part in made)
        return np.asarray(made).view(ndarray)

    return call


def _scatter(ufunc):
    def call(target, at, values):
        if target.dtype not in ATOMIC or values.dtype != target.dtype:
            raise TypeError(f"{target.dtype}, {values.dtype}: there is no such atomic operation")
        ufunc.at(target, at, values)

    return call


def install():
    cupy, cupyx = types.ModuleType("cupy"), types.ModuleType("cupyx")
    cupy.ndarray, cupy.__version__ = ndarray, "stand-in"
    for name in SAME:
        setattr(cupy, name, _ours(getattr(np, name)))
    cupy.asarray = lambda array, dtype=None: np.asarray(array, dtype).view(ndarray)
    cupy.asnumpy = np.asarray
    cupy.argsort = lambda keys: np.argsort(keys, kind="stable").view(ndarray)
    stream = types.SimpleNamespace(ptr=0, synchronize=lambda: None)
    cupy.cuda = types.SimpleNamespace(
        runtime=types.SimpleNamespace(getDevice=lambda: HOST), get_current_stream=lambda device=None: stream
    )
    for name, ufunc in (("add", np.add), ("min", np.minimum), ("max", np.maximum)):
        setattr(cupyx, f"scatter_{name}", _scatter(ufunc))
    sys.modules["cupy"], sys.modules["cupyx"] = cupy, cupyx
    return cupy
