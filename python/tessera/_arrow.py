# SPDX-License-Identifier: Apache-2.0
"""Columns of Arrow's C data interface, by its capsules: `__arrow_c_array__` and `__arrow_c_stream__`.

Fixed-width columns of one chunk are read where they are. https://arrow.apache.org/docs/format/CDataInterface.html. Read
next: _columns.py.
"""

import ctypes
import importlib
import sys
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_void_p, py_object
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from tessera._arrays import DLPACK_CPU, DLPACK_CUDA, DLPACK_CUDA_MANAGED, NumPyArray
from tessera._library import BadArgument, WrongType


class ArrowSchema(Structure):
    pass


class ArrowArray(Structure):
    pass


class ArrowStream(Structure):
    pass


class ArrowDeviceArray(Structure):
    pass


ArrowSchema._fields_ = [
    ("format", c_char_p),
    ("name", c_char_p),
    ("metadata", c_void_p),
    ("flags", c_int64),
    ("n_children", c_int64),
    ("children", POINTER(POINTER(ArrowSchema))),
    ("dictionary", POINTER(ArrowSchema)),
    ("release", CFUNCTYPE(None, POINTER(ArrowSchema))),
    ("private_data", c_void_p),
]
ArrowArray._fields_ = [
    ("length", c_int64),
    ("null_count", c_int64),
    ("offset", c_int64),
    ("n_buffers", c_int64),
    ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)),
    ("children", POINTER(POINTER(ArrowArray))),
    ("dictionary", POINTER(ArrowArray)),
    ("release", CFUNCTYPE(None, POINTER(ArrowArray))),
    ("private_data", c_void_p),
]
ArrowStream._fields_ = [
    ("get_schema", CFUNCTYPE(c_int, POINTER(ArrowStream), POINTER(ArrowSchema))),
    ("get_next", CFUNCTYPE(c_int, POINTER(ArrowStream), POINTER(ArrowArray))),
    ("get_last_error", CFUNCTYPE(c_char_p, POINTER(ArrowStream))),
    ("release", CFUNCTYPE(None, POINTER(ArrowStream))),
    ("private_data", c_void_p),
]

ArrowDeviceArray._fields_ = [
    ("array", ArrowArray),
    ("device_id", c_int64),
    ("device_type", c_int32),
    ("sync_event", c_void_p),
    ("reserved", c_int64 * 3),
]

_FORMATS: Dict[str, str] = {
    "c": "i1",
    "C": "u1",
    "s": "i2",
    "S": "u2",
    "i": "i4",
    "I": "u4",
    "l": "i8",
    "L": "u8",
    "e": "f2",
    "f": "f4",
    "g": "f8",
    "tdD": "datetime64[D]",
    "tdm": "datetime64[ms]",
    "tts": "i4",
    "ttm": "i4",
    "ttu": "i8",
    "ttn": "i8",
    **{f"ts{unit[0]}": f"datetime64[{unit}]" for unit in ("s", "ms", "us", "ns")},
    **{f"tD{unit[0]}": f"timedelta64[{unit}]" for unit in ("s", "ms", "us", "ns")},
}

_api = ctypes.pythonapi
_api.PyCapsule_GetPointer.restype = c_void_p
_api.PyCapsule_GetPointer.argtypes = [py_object, c_char_p]
_api.PyCapsule_IsValid.argtypes = [py_object, c_char_p]


_LONGEST = 1 << 47  # bytes: the memory of a process

_AGAIN = "make a new array for each call"


class _Owner:
    """A struct that was taken from its producer, and is released when the last array of its memory is gone."""

    def __init__(self, struct: Any) -> None:
        self.struct = struct

    def __del__(self) -> None:
        if self.struct.release:
            self.struct.release(ctypes.byref(self.struct))

    def view(self, pointer: int, count: int, dtype: "np.dtype[Any]") -> NumPyArray:
        if not count:
            return np.empty(0, dtype)
        memory = (ctypes.c_uint8 * (count * dtype.itemsize)).from_address(pointer)
        memory._tessera_owner = self  # type: ignore[attr-defined]
        array: NumPyArray = np.frombuffer(memoryview(memory).cast("B"), dtype)
        if pointer % dtype.itemsize:
            array = array.copy()  # whoever reads it by its address needs it aligned
        array.flags.writeable = False
        return array


def is_arrow(thing: Any) -> bool:
    return hasattr(thing, "__arrow_c_array__") or hasattr(thing, "__arrow_c_stream__")


def read_column(thing: Any, name: str) -> Tuple[NumPyArray, Optional[NumPyArray]]:
    """The values of a column, and which rows are no nulls (None: all are). Without a copy where it has one chunk and its
    values are whole bytes. A dictionary column of pyarrow or polars has its indices.

    The structs come from another library of this process. What they say of themselves is checked; that their pointers lead to
    as much memory as they say cannot be."""
    if hasattr(thing, "__arrow_c_array__"):
        capsules = thing.__arrow_c_array__()
        if not isinstance(capsules, tuple) or len(capsules) != 2:
            raise WrongType(f"{name}: its __arrow_c_array__ returned no pair of capsules")
        sources = [_source(capsules[0], b"arrow_schema", ArrowSchema, name), _source(capsules[1], b"arrow_array", ArrowArray, name)]
        schema, *chunks = (_taken(source) for source in sources)
    else:
        schema, chunks = _read_stream(thing.__arrow_c_stream__(), name)
    dtype = _dtype_of(schema.struct, name)
    if schema.struct.dictionary and type(thing).__module__.partition(".")[0] not in ("pyarrow", "polars"):
        raise WrongType(f"{name}: is encoded by a dictionary: pass its values, or its indices as a column of their own")
    return _joined([_values(chunk, dtype, name) for chunk in chunks], dtype)


def _joined(
    parts: List[Tuple[NumPyArray, Optional[NumPyArray]]], dtype: "Optional[np.dtype[Any]]"
) -> Tuple[NumPyArray, Optional[NumPyArray]]:
    if not parts:
        return np.empty(0, dtype or np.bool_), None
    if len(parts) == 1:
        return parts[0]
    known = None
    if any(mask is not None for _, mask in parts):
        known = np.concatenate([np.ones(len(v), bool) if mask is None else mask for v, mask in parts])
    return np.concatenate([values for values, _ in parts]), known


class _OnGpu:
    """Numbers of an ArrowDeviceArray, for PyTorch and CuPy."""

    def __init__(self, owner: _Owner, dtype: "np.dtype[Any]") -> None:
        self.owner, array = owner, owner.struct
        at = (array.buffers[1] or 0) + array.offset * dtype.itemsize
        self.__cuda_array_interface__ = {
            "data": (at, False),  # PyTorch refuses what it may not write
            "shape": (int(array.length),),
            "typestr": dtype.str,
            "version": 3,
        }


def from_gpu(thing: Any, name: str) -> Any:
    """A column that its library hands out on a GPU, as an array of PyTorch or CuPy without a copy; other things as they are."""
    if not hasattr(thing, "__arrow_c_device_array__") or hasattr(thing, "__cuda_array_interface__"):
        return thing
    if type(thing).__module__.startswith("pyarrow"):  # on the host; it would export each column twice
        return thing
    schema_capsule, array_capsule = thing.__arrow_c_device_array__()
    if _api.PyCapsule_IsValid(array_capsule, b"arrow_device_array") == 0:
        return thing
    made = ArrowDeviceArray.from_address(_api.PyCapsule_GetPointer(array_capsule, b"arrow_device_array"))
    if made.device_type == DLPACK_CPU:
        return thing
    schema = _source(schema_capsule, b"arrow_schema", ArrowSchema, name)
    dtype = _dtype_of(schema, name)
    if made.device_type not in (DLPACK_CUDA, DLPACK_CUDA_MANAGED) or dtype is None or dtype.kind not in "iuf":
        raise WrongType(f"{name}: is of Arrow's device type {made.device_type}: pass numbers on a CUDA device or on the host")
    if schema.dictionary:
        raise WrongType(f"{name}: is encoded by a dictionary: pass its values, or its indices as a column of their own")
    _check(made.array, dtype, name)
    if made.array.null_count and made.array.buffers[0]:
        raise BadArgument(f"{name}: has nulls, or does not say that it has none: fill or drop them")
    if made.sync_event:
        event = ctypes.cast(made.sync_event, POINTER(c_void_p))[0]
        ctypes.CDLL("libcuda.so.1").cuEventSynchronize(c_void_p(event))
    return _as_array(_OnGpu(_taken(made.array), dtype), int(made.device_id), name)


def _as_array(numbers: _OnGpu, device: int, name: str) -> Any:
    """The library of the answers is PyTorch where it is loaded, otherwise CuPy."""
    if "torch" in sys.modules:
        return sys.modules["torch"].as_tensor(numbers, device=f"cuda:{device}")
    try:
        cupy = importlib.import_module("cupy")
    except ImportError:
        raise BadArgument(f"{name}: is on a GPU: install PyTorch or CuPy, which make the answers there") from None
    with cupy.cuda.Device(device):
        return cupy.asarray(numbers)


def _source(capsule: Any, kind_name: bytes, kind: Any, name: str) -> Any:
    """The struct of a capsule, which is still its producer's."""
    if _api.PyCapsule_IsValid(capsule, kind_name) == 0:
        raise WrongType(f"{name}: handed out {type(capsule).__name__} in place of a capsule called {kind_name.decode()}")
    source = kind.from_address(_api.PyCapsule_GetPointer(capsule, kind_name))
    if not source.release:
        raise BadArgument(f"{name}: its {kind_name.decode()} was taken or released before: {_AGAIN}")
    return source


def _taken(source: Any) -> _Owner:
    """The struct as our own: its producer's is marked as taken."""
    made = type(source)()
    ctypes.memmove(ctypes.byref(made), ctypes.byref(source), ctypes.sizeof(made))
    source.release = type(source.release)()
    return _Owner(made)


def _read_stream(capsule: Any, name: str) -> Tuple[_Owner, List[_Owner]]:
    owner = _taken(_source(capsule, b"arrow_array_stream", ArrowStream, name))
    stream = owner.struct
    if not stream.get_schema or not stream.get_next:
        raise BadArgument(f"{name}: its Arrow stream lacks get_schema or get_next: {_AGAIN}")
    schema = _Owner(ArrowSchema())
    chunks: List[_Owner] = []
    status = stream.get_schema(ctypes.byref(stream), ctypes.byref(schema.struct))
    if not status and not schema.struct.release:
        raise BadArgument(f"{name}: its Arrow stream gave no schema: {_AGAIN}")
    while not status:
        chunk = _Owner(ArrowArray())
        status = stream.get_next(ctypes.byref(stream), ctypes.byref(chunk.struct))
        if status or not chunk.struct.release:
            break
        chunks.append(chunk)
    if status:
        why = stream.get_last_error(ctypes.byref(stream)) if stream.get_last_error else None
        raise BadArgument(f"{name}: its Arrow stream failed: {(why or b'error %d' % status).decode(errors='replace')}")
    return schema, chunks


def _dtype_of(schema: ArrowSchema, name: str) -> "Optional[np.dtype[Any]]":
    """The dtype of values; None for bools, which are bits."""
    form = (schema.format or b"").decode(errors="replace")
    if form == "b":
        return None
    known = _FORMATS.get(form) or _FORMATS.get(form.partition(":")[0] if form.startswith("ts") else form)
    if known is None:
        what = {"u": "text", "U": "text", "vu": "text", "z": "bytes", "Z": "bytes", "vz": "bytes"}.get(form)
        if what is None:
            what = "a table" if form == "+s" else f"Arrow's format {form!r}"
            raise WrongType(f"{name}: holds {what}: pass a column of numbers, dates or times")
        raise WrongType(
            f"{name}: holds {what}, and verbs work on numbers, dates and times: pass {name}.dictionary_encode(); for isin and merge "
            "number the values of both columns together"
        )
    return np.dtype(known)


def _check(array: ArrowArray, dtype: "Optional[np.dtype[Any]]", name: str) -> None:
    """Refuses what no column of this type says of itself, before its memory is read."""
    count, offset, nulls = int(array.length), int(array.offset), int(array.null_count)
    bits = 1 if dtype is None else 8 * dtype.itemsize
    wrong = None
    if count < 0 or offset < 0 or (offset + count) * bits > 8 * _LONGEST:
        wrong = f"a length of {count} from offset {offset}"
    elif not -1 <= nulls <= count:
        wrong = f"{nulls} nulls in {count} rows"
    elif array.n_buffers != 2 or not array.buffers:
        wrong = f"{array.n_buffers if array.buffers else 0} buffers in place of 2"
    elif count and not array.buffers[1]:
        wrong = f"no memory for {count} rows"
    elif nulls > 0 and not array.buffers[0]:
        wrong = f"{nulls} nulls, and no bits that say which"
    if wrong:
        raise BadArgument(f"{name}: its Arrow array has {wrong}: its producer is at fault, copy the column into NumPy")


def _values(owner: _Owner, dtype: "Optional[np.dtype[Any]]", name: str) -> Tuple[NumPyArray, Optional[NumPyArray]]:
    array = owner.struct
    _check(array, dtype, name)
    count, offset = int(array.length), int(array.offset)
    bits, data = array.buffers[0], array.buffers[1]
    known = None
    if array.null_count and bits:
        known = _bits(owner, bits, offset, count)
    if dtype is None:
        return _bits(owner, data, offset, count), known
    return owner.view((data or 0) + offset * dtype.itemsize, count, dtype), known


def _bits(owner: _Owner, pointer: Any, offset: int, count: int) -> NumPyArray:
    first = offset // 8
    whole = owner.view((pointer or 0) + first, (offset + count + 7) // 8 - first if count else 0, np.dtype(np.uint8))
    skipped = offset - 8 * first
    return np.unpackbits(whole, bitorder="little")[skipped : skipped + count].astype(bool)
