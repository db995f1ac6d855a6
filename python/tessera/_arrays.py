# SPDX-License-Identifier: Apache-2.0
"""Arrays of NumPy, PyTorch, CuPy, JAX and Numba, as memory that the library can work on, without a copy.

Each library has an adapter, which says where an array is and makes new arrays for results. Where an array comes from
elsewhere, DLPack or __cuda_array_interface__ say where it is. Read next: _table.py.
"""

import ctypes
import math
from contextlib import nullcontext
from functools import partial
from ctypes import POINTER, Structure, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p, py_object
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Protocol, Sequence, Set, Tuple, Type, TypeVar, Union

import numpy as np

from tessera._library import BadArgument, WrongType

NumPyArray = np.ndarray[Any, np.dtype[Any]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]
Int64s = np.ndarray[Any, np.dtype[np.int64]]


class Column(Protocol):
    """A Series of pandas or polars, or an array of pyarrow: results are NumPy's."""

    def to_numpy(self) -> Any: ...


class ByDlpack(Protocol):
    @property
    def __dlpack__(self) -> Any: ...


class ByCuda(Protocol):
    @property
    def __cuda_array_interface__(self) -> Any: ...


#: What NumPy has, or makes an array of: results are NumPy's.
Numbers = Union[NumPyArray, int, "np.integer[Any]", Sequence[int], Column]
#: An array of another library, such as a torch.Tensor: results are arrays of that.
ArrayT = TypeVar("ArrayT", bound=Union[ByDlpack, ByCuda])

HOST = -1  #: the device of an array in host memory; others are numbers of GPUs


class Memory(NamedTuple):
    """Where an array is. kind: "u", "i", "f" or "b", as NumPy's; width: bytes of an item."""

    pointer: int
    size: int
    kind: str
    width: int
    device: int
    shape: Tuple[int, ...]


_memory = partial(tuple.__new__, Memory)  # Memory(...) takes three times as long


_NAMES = {
    "u": "uint",
    "i": "int",
    "f": "float",
    "c": "complex",
    "b": "bool",
    "M": "datetime64",
    "m": "timedelta64",
    "O": "object",
    "U": "str",
    "S": "bytes",
    "V": "a record",
}
_SWAPPED = "byte-swapped "


def name_of(kind: str, width: int) -> str:
    """As the array's library calls the type; PyTorch's names come with their width."""
    if kind.startswith(_SWAPPED):
        return _SWAPPED + name_of(kind[len(_SWAPPED) :], width)
    return _NAMES.get(kind, kind) + (str(8 * width) if kind in "uifc" else "")


def way_out(name: str, what: str, kind: str, width: int, wanted: int) -> str:
    """How items of a type that a table does not take become ones that it takes: whole numbers of `wanted` bytes. `what`:
    keys or values; name: of the argument."""
    bits = 8 * wanted
    either = f"pass uint{bits} or int{bits}"
    if kind in ("u", "i") and width > wanted:
        return f'{either}, or create the table with settings={{"table.{what[:-1]}_bits": {8 * width}}}'
    if kind in ("u", "i", "b") or kind.startswith("torch."):
        return f"{either}: {name}.to(torch.int{bits})" if "torch" in kind else f"{either}: {name}.astype('int{bits}')"
    if kind.startswith(_SWAPPED):
        return f"{either} of this machine's byte order: {name}.astype({name}.dtype.newbyteorder('='))"
    if kind == "f" and what == "values" and width < 8:
        return f"pass float{bits}: {name}.astype('float{bits}')"
    if kind == "f":
        return f"{either}: {name}.astype('int{bits}') converts whole numbers; nulls became NaN: fill or drop them"
    if kind in ("M", "m") and width == wanted:
        return f"{either}: {name}.view('int{bits}') has the same bits"
    if kind in ("O", "U", "S"):
        return (
            f'{either}: tessera.Map(key="str") has texts as keys, and tessera.factorize numbers other things'
            if what == "keys"
            else f"{either}: store the number of each row, and look it up in an array"
        )
    return f"{either}: of a record pass one field" if kind == "V" else either


def _items(array: Any, mask: Any) -> Any:
    """The items that a mask speaks of, one behind the other."""
    return array.reshape(-1, *array.shape[len(mask.shape) :])


def _not_contiguous(name: str) -> BadArgument:
    return BadArgument(
        f"{name}: is not contiguous: pass a copy, by numpy.ascontiguousarray or by .contiguous() of a tensor"
    )


def _read_only(name: str) -> BadArgument:
    return BadArgument(f"{name}: is read-only: pass an array that can be written")


class Adapter:
    """What Tessera asks of a library of arrays. `like` is an array on whose device a new one is made.

    `empty` makes any array; `beside` and `pair` are what each call asks for, and made in the quickest way."""

    #: whether calls must have ended before results are handed out, because the library has no stream to order them by
    waits = False

    def look(self, array: Any, name: str, written: bool) -> Memory:
        raise NotImplementedError

    def stream(self, device: int) -> int:
        """The library's current stream on a GPU; 0 is the default stream."""
        return 0

    def empty(self, like: Any, shape: Tuple[int, ...], kind: str, width: int) -> Any:
        raise NotImplementedError

    def full(self, like: Any, shape: Tuple[int, ...], kind: str, width: int, value: int) -> Any:
        raise NotImplementedError

    def beside(self, like: Any, memory: Memory, kind: str, width: int) -> Tuple[Any, int]:
        """An array of the shape of `like`, which is in this memory, and where it is."""
        made = self.empty(like, memory.shape, kind, width)
        return made, self.address(made)

    def pair(self, like: Any, memory: Memory, kind: str, width: int) -> Tuple[Any, int, Any, int]:
        """The same for values, and for a mask of bools."""
        return *self.beside(like, memory, kind, width), *self.beside(like, memory, "b", 1)

    def is_code(self, codes: Any, code: int) -> Any:
        """bool array: whether each code (uint8) is this one. Takes the place of codes in memory where it can."""
        raise NotImplementedError

    def cast(self, array: Any, kind: str, width: int) -> Any:
        """The numbers of an array in another type; None where the library does not convert."""
        return array.astype(_NUMPY_TYPES[kind, width]) if hasattr(array, "astype") else None

    def select(self, array: Any, mask: Any) -> Any:
        """The items of array, one behind the other, where mask is true; each a row, where array has further axes."""
        raise NotImplementedError

    def address(self, made: Any) -> int:
        """Where an array is that was made here, so that nothing has to be asked about it."""
        return self.look(made, "the result", True).pointer

    def synchronize(self, device: int) -> None:
        """Waits for the library's current stream, whose earlier work may still use the memory of new arrays."""

    def first(self, keys: Any, mask: Any) -> Optional[int]:
        """The first key where mask is false; None if there is none."""
        if bool(mask.all()):
            return None
        return int(self.select(keys, ~mask)[0])

    def first_of(self, keys: Any, mask: Any) -> Optional[int]:
        """The first key where mask is true; None if there is none."""
        return self.first(keys, ~mask)

    def lowest(self, values: Any) -> int:
        """The lowest of signed numbers; 0 of none."""
        return int(values.min()) if math.prod(values.shape) else 0

    def repeated(self, keys: Any) -> Optional[int]:
        """A key that is there more than once; None if there is none. Keys that ascend, as `unique` returns them, are not
        sorted."""
        ordered = self.ordered(keys.reshape(-1))
        if bool((ordered[1:] > ordered[:-1]).all()):
            return None
        ordered = self.sort(ordered)
        return self.first(ordered[1:], ordered[1:] != ordered[:-1])

    def ordered(self, keys: Any) -> Any:
        """The same bits in a type that the library can compare."""
        return keys

    def sort(self, keys: Any) -> Any:
        """A sorted copy of keys of one axis."""
        raise NotImplementedError

    def viewed(self, array: Any, kind: str, width: int) -> Any:
        """The same bits in a type of the same width."""
        return array.view(_NUMPY_TYPES[kind, width])


# ---- NumPy -----------------------------------------------------------------------------------------------------------


class NumPyAdapter(Adapter):
    def look(self, array: NumPyArray, name: str, written: bool) -> Memory:
        flags = array.flags
        if not flags.c_contiguous:
            raise _not_contiguous(name)
        if written and not flags.writeable:
            raise _read_only(name)
        dtype = array.dtype
        kind: str = dtype.kind
        if not dtype.isnative:
            kind = "byte-swapped " + kind
        return _memory((array.__array_interface__["data"][0], array.size, kind, dtype.itemsize, HOST, array.shape))

    def empty(self, like: Any, shape: Tuple[int, ...], kind: str, width: int) -> NumPyArray:
        if width == 16:  # keys of 128 bits: rows of two halves
            return np.empty((*shape, 2), _NUMPY_TYPES["u", 8])
        return np.empty(shape, _NUMPY_TYPES[kind, width])

    def first(self, keys: Any, mask: Any) -> Optional[int]:
        if keys.dtype.kind != "S":
            return super().first(keys, mask)
        return None if mask.all() else int.from_bytes(bytes(keys[~mask][0]).ljust(16, b"\0"), "little")

    def full(self, like: Any, shape: Tuple[int, ...], kind: str, width: int, value: int) -> NumPyArray:
        return np.full(shape, value, _NUMPY_TYPES[kind, width])

    def address(self, made: NumPyArray) -> int:
        return int(made.__array_interface__["data"][0])

    def is_code(self, codes: NumPyArray, code: int) -> Any:
        mask = codes.view(_BOOL)
        np.equal(codes.view(_BYTE), _CODES[code], mask)
        return mask

    def select(self, array: NumPyArray, mask: NumPyArray) -> Any:
        return _items(array, mask)[mask.reshape(-1)]

    def sort(self, keys: NumPyArray) -> NumPyArray:
        return np.sort(keys)


_SPARES, _SPARE_ITEMS = 16, 4096  # sets of arrays that JAX makes at a time, and the most items of one
_BOOL, _BYTE = np.dtype(np.bool_), np.dtype(np.uint8)
_CODES = [np.array(code, _BYTE) for code in range(9)]  # comparing with a number of Python's takes longer
_NUMPY_TYPES = {
    (kind, width): np.dtype(f"{kind}{width}")
    for kind, widths in {"u": (1, 4, 8), "i": (4, 8), "f": (4, 8), "b": (1,)}.items()
    for width in widths
}
#: what a value that is a row may be made of
ROW_ITEMS = frozenset(_NUMPY_TYPES) - {("b", 1)}

# ---- PyTorch ---------------------------------------------------------------------------------------------------------


class TorchAdapter(Adapter):
    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.types: Dict[Tuple[str, int], Any] = {
            ("u", 1): torch.uint8,
            ("i", 4): torch.int32,
            ("i", 8): torch.int64,
            ("f", 4): torch.float32,
            ("f", 8): torch.float64,
            ("b", 1): torch.bool,
        }
        for width in (4, 8):  # since PyTorch 2.3
            if hasattr(torch, f"uint{8 * width}"):
                self.types["u", width] = getattr(torch, f"uint{8 * width}")
        self.kinds = {dtype: kind for kind, dtype in self.types.items()}
        self.empty_like = torch.empty_like  # takes half the time of torch.empty
        # 0-dimensional, on the CPU: comparing with a number of Python's takes four times as long
        self.codes = [torch.tensor(code, dtype=torch.uint8, device="cpu") for code in range(9)]
        #: what torch.jit.trace records into; None outside of it
        self.tracing: Callable[[], Any] = getattr(getattr(torch, "_C", None), "_get_tracing_state", lambda: None)
        raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
        self.current_stream: Callable[[int], int] = raw or (
            lambda device: torch.cuda.current_stream(device).cuda_stream
        )

    def stream(self, device: int) -> int:
        return self.current_stream(device)

    def look(self, array: Any, name: str, written: bool) -> Memory:
        if self.tracing() is not None:
            raise BadArgument(
                f"{name}: torch.jit.trace cannot record what a table does: call the table outside of the traced module, "
                "and pass what it returns"
            )
        if array.is_cuda:
            device = array.get_device()
        elif array.is_cpu:
            device = HOST
        else:
            raise BadArgument(f"{name}: is on {array.device}; tables are on the CPU or on CUDA devices")
        if array.layout is not self.torch.strided:
            raise WrongType(f"{name}: is a tensor of layout {array.layout}: pass a dense one")
        if not array.is_contiguous():
            raise _not_contiguous(name)
        if written and array.requires_grad:
            raise BadArgument(f"{name}: requires a gradient, which writing to it would make wrong: pass out.detach()")
        kind, width = self.kinds.get(array.dtype) or (str(array.dtype), array.element_size())
        size = array.numel()
        pointer: int = array.data_ptr()
        if size and not pointer:
            raise BadArgument(f"{name}: has no memory: it was freed, or holds no data")
        return _memory((pointer, size, kind, width, device, array.shape))

    def empty(self, like: Any, shape: Tuple[int, ...], kind: str, width: int) -> Any:
        return self.torch.empty(shape, dtype=self._type(kind, width), device=like.device)

    def full(self, like: Any, shape: Tuple[int, ...], kind: str, width: int, value: int) -> Any:
        dtype = self._type(kind, width)
        if kind == "u":  # few operations of PyTorch take unsigned numbers
            value -= (value >> 8 * width - 1) << 8 * width
        return self.torch.full(shape, value, dtype=self.types["i", width], device=like.device).view(dtype)

    def address(self, made: Any) -> int:
        return int(made.data_ptr())

    def beside(self, like: Any, memory: Memory, kind: str, width: int) -> Tuple[Any, int]:
        if kind == memory.kind and width == memory.width:
            made = self.empty_like(like)
        else:
            made = self.empty_like(like, dtype=self._type(kind, width))
        return made, made.data_ptr()

    def _type(self, kind: str, width: int) -> Any:
        if (kind, width) not in self.types:
            raise WrongType(f"this PyTorch has no {name_of(kind, width)}: use keys of int{8 * width}")
        return self.types[kind, width]

    def cast(self, array: Any, kind: str, width: int) -> Any:
        return array.to(self._type(kind, width))

    def is_code(self, codes: Any, code: int) -> Any:
        if codes.dtype is self.torch.bool:
            codes = codes.view(self.torch.uint8)
        return codes.eq_(self.codes[code]).view(self.torch.bool)

    def select(self, array: Any, mask: Any) -> Any:
        return self._signed(_items(array, mask))[mask.reshape(-1)].view(array.dtype)

    def ordered(self, keys: Any) -> Any:
        return self._signed(keys)

    def sort(self, keys: Any) -> Any:
        return keys.sort().values

    def viewed(self, array: Any, kind: str, width: int) -> Any:
        return array.view(self._type(kind, width))

    def synchronize(self, device: int) -> None:
        if device != HOST:
            self.torch.cuda.current_stream(device).synchronize()

    def _signed(self, array: Any) -> Any:
        """The same bits in a type that every operation of PyTorch takes; unsigned ones are few."""
        kind, width = self.kinds[array.dtype]
        return array.view(self.types["i", width]) if kind == "u" and width > 1 else array


# ---- CuPy ------------------------------------------------------------------------------------------------------------


_HERE = nullcontext()


class CuPyAdapter(Adapter):
    def __init__(self) -> None:
        import cupy

        self.cupy = cupy
        self.ndarray = cupy.ndarray
        self.current_device: Callable[[], int] = cupy.cuda.runtime.getDevice
        self.current_stream: Callable[[int], Any] = cupy.cuda.get_current_stream

    def look(self, array: Any, name: str, written: bool) -> Memory:
        if not array.flags.c_contiguous:
            raise _not_contiguous(name)
        dtype, size, data = array.dtype, array.size, array.data
        if size and not data.ptr:
            raise BadArgument(f"{name}: has no memory: it was freed")
        return _memory((data.ptr, size, dtype.kind, dtype.itemsize, data.device_id, array.shape))

    def stream(self, device: int) -> int:
        return int(self.current_stream(device).ptr)

    def address(self, made: Any) -> int:
        return int(made.data.ptr)

    def synchronize(self, device: int) -> None:
        self.cupy.cuda.get_current_stream(device).synchronize()

    def empty(self, like: Any, shape: Tuple[int, ...], kind: str, width: int) -> Any:
        with self._on(like):
            return self.ndarray(shape, _NUMPY_TYPES[kind, width])

    def beside(self, like: Any, memory: Memory, kind: str, width: int) -> Tuple[Any, int]:
        if memory.device != self.current_device():
            return Adapter.beside(self, like, memory, kind, width)
        made = self.ndarray(memory.shape, _NUMPY_TYPES[kind, width])
        return made, made.data.ptr

    def pair(self, like: Any, memory: Memory, kind: str, width: int) -> Tuple[Any, int, Any, int]:
        if memory.device != self.current_device():
            return Adapter.pair(self, like, memory, kind, width)
        values, mask = self.ndarray(memory.shape, _NUMPY_TYPES[kind, width]), self.ndarray(memory.shape, _BOOL)
        return values, values.data.ptr, mask, mask.data.ptr

    def sort(self, keys: Any) -> Any:
        return self.cupy.sort(keys)

    def repeated(self, keys: Any) -> Optional[int]:
        with self._on(keys):
            return Adapter.repeated(self, keys)

    def lowest(self, values: Any) -> int:
        with self._on(values):
            return Adapter.lowest(self, values)

    def _on(self, array: Any) -> Any:
        """A block in which the array's GPU is the current one."""
        return _HERE if array.data.device_id == self.current_device() else array.device

    def full(self, like: Any, shape: Tuple[int, ...], kind: str, width: int, value: int) -> Any:
        with self._on(like):
            return self.cupy.full(shape, value, _NUMPY_TYPES[kind, width])

    def is_code(self, codes: Any, code: int) -> Any:
        mask = codes.view(_BOOL)
        with self._on(codes):
            self.cupy.equal(codes.view(_BYTE), np.uint8(code), out=mask)
        return mask

    def select(self, array: Any, mask: Any) -> Any:
        with self._on(array):
            return _items(array, mask)[mask.reshape(-1)]


# ---- JAX -------------------------------------------------------------------------------------------------------------


class JaxAdapter(Adapter):
    """JAX's arrays cannot be written and it has no stream that others could use: results are made, filled before anyone
    else has seen them, and every call waits. A call of JAX takes longer than the table's own, so it makes small arrays for
    the next calls of the same shape as well."""

    waits = True

    def __init__(self) -> None:
        import jax

        self.jax = jax
        self.tracer = getattr(jax.core, "Tracer", ())
        self.devices: Dict[Any, int] = {}  # of shardings
        self.makers: Dict[Any, Any] = {}  # compiled, since what JAX does step by step takes ten times as long
        self.spares: Dict[Any, Any] = {}  # made by them, and not handed out yet
        self.equal = jax.jit(lambda codes, code: codes == code, static_argnums=1)

    def look(self, array: Any, name: str, written: bool) -> Memory:
        if written:
            raise BadArgument(f"{name}: arrays of JAX cannot be written: leave it out, and take what is returned")
        if isinstance(array, self.tracer):
            raise BadArgument(f"{name}: is not computed yet: call the table outside of jax.jit")
        if array.is_deleted():
            raise BadArgument(f"{name}: was deleted")
        sharding = array.sharding
        device = self.devices.get(sharding)
        if device is None:
            if not array.is_fully_addressable or len(array.devices()) != 1:
                raise BadArgument(f"{name}: is spread over several devices: pass the shard of the table's device")
            where, ordinal = array.__dlpack_device__()
            device = self.devices[sharding] = HOST if int(where) == DLPACK_CPU else int(ordinal)
        array.block_until_ready()
        dtype = array.dtype
        return _memory(
            (array.unsafe_buffer_pointer(), array.size, dtype.kind, dtype.itemsize, device, tuple(array.shape))
        )

    def address(self, made: Any) -> int:
        return int(made.block_until_ready().unsafe_buffer_pointer())

    def empty(self, like: Any, shape: Tuple[int, ...], kind: str, width: int) -> Any:
        return self._make(1, like.sharding, tuple(shape), (kind, width))[0][0]

    def beside(self, like: Any, memory: Memory, kind: str, width: int) -> Any:
        return self._take(like.sharding, memory.shape, (kind, width))

    def pair(self, like: Any, memory: Memory, kind: str, width: int) -> Any:
        return self._take(like.sharding, memory.shape, (kind, width), ("b", 1))

    def _take(self, *wanted: Any) -> Any:
        """Arrays that are ready to be written, each with its address behind it."""
        try:
            return self.spares[wanted].pop()
        except (KeyError, IndexError):
            pass
        first, *others = self._make(_SPARES if math.prod(wanted[1]) <= _SPARE_ITEMS else 1, *wanted)
        for oldest in list(self.spares)[:-7]:  # other threads may change it meanwhile
            self.spares.pop(oldest, None)
        self.spares[wanted] = others
        return first

    def _make(self, sets: int, *wanted: Any) -> Any:
        """As many sets of arrays; fewer if JAX lets two share memory, which it may, since nobody writes its arrays."""
        make = self.makers.get((sets, wanted))
        if make is None:
            for oldest in list(self.makers)[:-255]:
                self.makers.pop(oldest, None)
            sharding, shape, *types = wanted
            for kind, width in types:
                self._allow(kind, width)
            zeros = self.jax.numpy.zeros
            make = self.makers[sets, wanted] = self.jax.jit(
                lambda: [[zeros(shape, _NUMPY_TYPES[kind, width]) for kind, width in types] for _ in range(sets)],
                out_shardings=sharding,
            )
        made: List[Any] = []
        taken: Set[int] = set()
        for arrays in make():
            places = [array.block_until_ready().unsafe_buffer_pointer() for array in arrays]
            if not taken.intersection(places) or not arrays[0].size:
                made.append(tuple(part for both in zip(arrays, places) for part in both))
            taken.update(places)
        return made

    def full(self, like: Any, shape: Tuple[int, ...], kind: str, width: int, value: int) -> Any:
        self._allow(kind, width)
        filled = self.jax.numpy.full(shape, _NUMPY_TYPES[kind, width].type(value))
        return self.jax.device_put(filled, like.sharding)

    def _allow(self, kind: str, width: int) -> None:
        if width == 8 and not self.jax.config.jax_enable_x64:
            raise WrongType(
                f"JAX makes no arrays of {name_of(kind, width)} unless it is told to: "
                "jax.config.update('jax_enable_x64', True)"
            )

    def is_code(self, codes: Any, code: int) -> Any:
        return self.equal(codes, code)

    def sort(self, keys: Any) -> Any:
        return self.jax.numpy.sort(keys)

    def select(self, array: Any, mask: Any) -> Any:
        return _items(array, mask)[mask.reshape(-1)]


# ---- Numba -----------------------------------------------------------------------------------------------------------


class NumbaAdapter(Adapter):
    """Numba's device arrays. It has no current stream: work goes to the default stream."""

    def __init__(self) -> None:
        from numba import cuda

        self.cuda = cuda

    def look(self, array: Any, name: str, written: bool) -> Memory:
        return look_at_cuda_interface(array, name, written)

    def empty(self, like: Any, shape: Tuple[int, ...], kind: str, width: int) -> Any:
        return self.cuda.device_array(shape, _NUMPY_TYPES[kind, width])

    def full(self, like: Any, shape: Tuple[int, ...], kind: str, width: int, value: int) -> Any:
        return self.cuda.to_device(np.full(shape, value, _NUMPY_TYPES[kind, width]))

    def is_code(self, codes: Any, code: int) -> Any:
        # On the host: a kernel of Numba's would have to be compiled, which takes longer, and needs a version of NumPy.
        return self.cuda.to_device(codes.copy_to_host() == code)

    def synchronize(self, device: int) -> None:
        self.cuda.synchronize()

    def first(self, keys: Any, mask: Any) -> Optional[int]:
        return NUMPY.first(keys.copy_to_host(), mask.copy_to_host())

    def first_of(self, keys: Any, mask: Any) -> Optional[int]:
        return NUMPY.first_of(keys.copy_to_host(), mask.copy_to_host())

    def lowest(self, values: Any) -> int:
        return NUMPY.lowest(values.copy_to_host())

    def repeated(self, keys: Any) -> Optional[int]:
        return NUMPY.repeated(keys.copy_to_host())

    def select(self, array: Any, mask: Any) -> Any:
        chosen = NUMPY.select(array.copy_to_host(), mask.copy_to_host())
        return self.cuda.to_device(chosen)


# ---- Any other -------------------------------------------------------------------------------------------------------

DLPACK_CPU, DLPACK_CUDA, DLPACK_CUDA_HOST, DLPACK_CUDA_MANAGED = 1, 2, 3, 13


class _DLTensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.argtypes = [py_object, ctypes.c_char_p]
_get_pointer.restype = c_void_p

_DLPACK_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}


def look_at_dlpack(array: Any, name: str, written: bool, stream: int) -> Memory:
    """Where an array is, by DLPack. Capsules without a version do not tell whether it may be written."""
    if written:
        raise BadArgument(
            f"{name}: DLPack does not say whether a {type(array).__name__} may be written: pass an array of NumPy, "
            "PyTorch, CuPy or Numba"
        )
    where, device = array.__dlpack_device__()
    if int(where) in (DLPACK_CPU, DLPACK_CUDA_HOST):
        try:
            capsule = array.__dlpack__()
        except Exception as error:  # of pyarrow, where there are nulls
            raise BadArgument(
                f"{name}: {str(error).rstrip('.')}: fill or drop nulls, or pass an array of NumPy"
            ) from None
        device = HOST
    elif int(where) in (DLPACK_CUDA, DLPACK_CUDA_MANAGED):
        capsule = array.__dlpack__(stream=stream or 1)  # 1: the default stream, to which 0 is not allowed to stand
    else:
        raise BadArgument(
            f"{name}: is on a device of DLPack's type {int(where)}; tables are on the CPU or on CUDA devices"
        )
    tensor = _DLTensor.from_address(_get_pointer(capsule, b"dltensor"))
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    size = 1
    for i in reversed(range(tensor.ndim)):
        if tensor.strides and shape[i] != 1 and tensor.strides[i] != size and 0 not in shape:
            raise _not_contiguous(name)
        size *= shape[i]
    kind = _DLPACK_KINDS.get(tensor.code, f"DLPack type {tensor.code} of ") if tensor.lanes == 1 else "vectors of "
    pointer = (tensor.data or 0) + tensor.byte_offset
    if size and not pointer:
        raise BadArgument(f"{name}: has no memory: it was freed")
    return _memory((pointer, size, kind, tensor.bits // 8, int(device), shape))


def look_at_cuda_interface(array: Any, name: str, written: bool) -> Memory:
    """Where an array is, by __cuda_array_interface__. That does not tell on which GPU: DLPack does, or the driver. If it
    names a stream, work on that one may not have ended: the table's own stream knows nothing of it."""
    try:
        interface = array.__cuda_array_interface__
    except Exception as error:
        raise BadArgument(f"{name}: its __cuda_array_interface__ cannot be read: {error}") from None
    pointer, read_only = interface["data"]
    if written and read_only:
        raise _read_only(name)
    dtype = np.dtype(interface["typestr"])
    shape = tuple(interface["shape"])
    size = 1
    strides = interface.get("strides")
    for i in reversed(range(len(shape))):
        if strides and shape[i] != 1 and strides[i] != size * dtype.itemsize and 0 not in shape:
            raise _not_contiguous(name)
        size *= shape[i]
    if interface.get("mask") is not None:
        raise BadArgument(f"{name}: has a mask, which tables do not know: pass an array without one")
    if size and not pointer:
        raise BadArgument(f"{name}: has no memory: it was freed")
    stream = interface.get("stream")
    if stream is not None:
        _wait_for(int(stream), name)
    device = int(array.__dlpack_device__()[1]) if hasattr(array, "__dlpack_device__") else _device_of(pointer)
    kind = dtype.kind if dtype.isnative else "byte-swapped " + dtype.kind
    return _memory((pointer, size, kind, dtype.itemsize, device, shape))


def _wait_for(stream: int, name: str) -> None:
    """Waits for the work of a CUDA stream. The driver has names for two: 1 is the legacy default stream, 2 the thread's."""
    if stream == 0:
        raise BadArgument(f"{name}: names stream 0, which __cuda_array_interface__ does not allow: use None, 1 or 2")
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    status = driver.cuStreamSynchronize(c_void_p(stream))
    if status:
        raise BadArgument(f"{name}: its stream {stream} cannot be waited for: CUDA error {status}")


def _device_of(pointer: int) -> int:
    """The GPU on which memory is, by the driver; 0 where there is none to ask."""
    ordinal = ctypes.c_int(0)
    device_ordinal = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    driver.cuPointerGetAttribute(ctypes.byref(ordinal), device_ordinal, c_uint64(pointer))
    return ordinal.value


class OtherAdapter(Adapter):
    """Arrays of libraries that Tessera does not know: they can be read, but results cannot be made like them."""

    def look(self, array: Any, name: str, written: bool) -> Memory:
        if hasattr(array, "__cuda_array_interface__"):
            return look_at_cuda_interface(array, name, written)
        return look_at_dlpack(array, name, written, 0)

    def empty(self, like: Any, shape: Tuple[int, ...], kind: str, width: int) -> Any:
        raise BadArgument(
            f"results cannot be made as arrays of {type(like).__module__}.{type(like).__name__}: pass keys as arrays "
            "of CuPy or PyTorch, as cupy.asarray(keys) or torch.as_tensor(keys) make them without a copy"
        )

    full = empty  # type: ignore[assignment]

    def repeated(self, keys: Any) -> Optional[int]:
        raise WrongType(
            f"keys: whether one is repeated cannot be seen in arrays of {type(keys).__module__}.{type(keys).__name__}: pass "
            "arrays of CuPy or PyTorch, or check = False where keys are distinct"
        )

    def lowest(self, values: Any) -> int:
        raise WrongType(
            f"values: whether one is negative cannot be seen in arrays of {type(values).__module__}."
            f"{type(values).__name__}: pass unsigned ones, or arrays of CuPy or PyTorch"
        )


# ---- Which is whose --------------------------------------------------------------------------------------------------

NUMPY = NumPyAdapter()
_KINDS: Dict[Tuple[str, str], Type[Adapter]] = {
    ("torch", "Tensor"): TorchAdapter,
    ("cupy", "ndarray"): CuPyAdapter,
    ("jaxlib", "ArrayImpl"): JaxAdapter,
    ("jax", "ArrayImpl"): JaxAdapter,
    ("jax", "Tracer"): JaxAdapter,
    ("numba", "DeviceNDArrayBase"): NumbaAdapter,
}
_adapters: Dict[type, Adapter] = {np.ndarray: NUMPY}
_of_kind: Dict[Type[Adapter], Adapter] = {}


def adapter_of(array: Any) -> Optional[Adapter]:
    """The adapter of an array; None for what is no array: numbers, lists, and what NumPy makes arrays of."""
    kind = type(array)
    known = _adapters.get(kind)
    if known is not None:
        return known
    if isinstance(array, np.ma.MaskedArray):
        raise WrongType("a masked array of NumPy has keys that count and others that do not: pass array.compressed()")
    if isinstance(array, np.ndarray):
        known = NUMPY
    else:
        for base in kind.__mro__:
            found = _KINDS.get((base.__module__.partition(".")[0], base.__name__))
            if found is not None:
                if found not in _of_kind:
                    _of_kind[found] = found()
                known = _of_kind[found]
                break
        else:
            if hasattr(kind, "__cuda_array_interface__"):
                known = _of_kind.setdefault(OtherAdapter, OtherAdapter())
            elif hasattr(kind, "__dlpack__") and not isinstance(array, np.generic):
                known = _of_kind.setdefault(OtherAdapter, OtherAdapter())
            else:
                return None
    _adapters[kind] = known
    return known


def no_column(frame: Any, name: str) -> WrongType:
    """What a frame is told where an array is expected."""
    columns = [str(column) for column in getattr(frame, "column_names", frame.columns)]
    one = f"pass one column, as {name}[{columns[0]!r}]" if columns else "pass one column"
    several = ', or create the table with a type for each, as tessera.Map(key=["int64", "int64"])'
    return WrongType(
        f"{name}: is a {type(frame).__name__}: {one}{several if len(columns) > 1 and name == 'keys' else ''}"
    )


def plain_array(numbers: Any, name: str) -> NumPyArray:
    """What NumPy makes of anything. It makes nothing of lists of different lengths."""
    try:
        return np.asarray(numbers)
    except ValueError as error:
        raise BadArgument(f"{name}: its rows have different lengths: pass an array of one axis") from error


def from_numbers(numbers: Any, name: str, width: int) -> NumPyArray:
    """A NumPy array of whole numbers, from a number, a list or what else NumPy makes an array of (a Series of pandas,
    without a copy where its type is right). Whole numbers in lists may be negative or not, and must fit into the width.
    """
    if hasattr(numbers, "columns"):
        raise no_column(numbers, name)
    array = plain_array(numbers, name)
    if isinstance(numbers, np.ndarray) or hasattr(numbers, "__array__"):
        return np.ascontiguousarray(array) if not isinstance(numbers, np.generic) else _fitting(array, name, width)
    if hasattr(numbers, "__array_interface__") or isinstance(numbers, (memoryview, bytearray)):
        return array
    if array.size and array.dtype.kind not in "iu":
        array = np.array(numbers, dtype=object)  # not numbers of C, whose type NumPy may have rounded
    return _fitting(array, name, width)


def _fitting(array: NumPyArray, name: str, width: int) -> NumPyArray:
    bits = 8 * width
    if array.size == 0:
        return np.empty(array.shape, f"u{width}")
    if array.dtype.kind not in "iu":
        for number in array.flat:
            if not isinstance(number, (int, np.integer)) or isinstance(number, bool):
                raise _no_whole_number(number, not array.ndim, name, bits)
    low, high = int(array.min()), int(array.max())
    if low < -(1 << bits - 1) or high >= 1 << bits or (low < 0 and high >= 1 << bits - 1):
        wider = f': create the table with settings={{"table.{name[:-1]}_bits": 64}}' if bits == 32 else ""
        raise BadArgument(f"{name}: {low} .. {high} do not fit into {bits} bits{wider}")
    return array.astype(f"{'i' if low < 0 else 'u'}{width}")


def _no_whole_number(thing: Any, alone: bool, name: str, bits: int) -> WrongType:
    """What an item that is no whole number is told; alone: it is the whole argument."""
    has = f"{name}: {'is' if alone else 'holds'}"
    if isinstance(thing, (float, np.floating)):
        way = f"pass numpy.array({name}, 'float{bits}')"
        if name == "values" and alone:
            way = f"a number for all keys is a whole number here: pass an array of float{bits} as long as keys"
        if name == "keys":
            way = f"keys are whole numbers: numpy.array(keys).astype('int{bits}') cuts the others off"
        return WrongType(f"{has} {float(thing)!r}: {way}")
    if isinstance(thing, (bool, np.bool_)):
        return WrongType(f"{has} bools: numpy.array({name}).astype('int{bits}') makes 0 and 1 of them")
    if isinstance(thing, (str, bytes)):
        way = 'tessera.Map(key="str") has texts as keys' if name == "keys" else "store the number of each row"
        return WrongType(f"{has} {thing!r:.40}: {way}")
    if alone and hasattr(thing, "__iter__"):
        return WrongType(f"{has} a {type(thing).__name__}: pass list({name}), or an array")
    kind = "None" if thing is None else f"a {type(thing).__name__}"
    return WrongType(f"{has} {kind}: pass whole numbers")
