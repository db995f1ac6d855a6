# SPDX-License-Identifier: Apache-2.0
"""Keys of several columns: `Map(key=["int32", "int32"])`, `Map(key={"x": "int32", "y": "int32"})`.

The library packs the columns (tsr_key_pack), so that a key is their bytes one after the other. Read next: _types.py.
"""

import math
from ctypes import c_size_t, c_void_p
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from tessera import _wide_keys
from tessera._arrays import HOST, NUMPY, Adapter, Memory, NumPyArray, adapter_of, name_of
from tessera._library import BadArgument, WrongType, library
from tessera._words import dtype_of

_TYPES = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_WIDEST = 16  # bytes of a key
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")

Answer = Union[Tuple[Any, ...], Dict[str, Any]]


class _Part(NamedTuple):
    """A column of keys in memory. stride: bytes from an item to the next one."""

    array: Any  # which must live as long
    adapter: Adapter
    device: int
    pointer: int
    stride: int
    shape: Tuple[int, ...]


class KeyColumns:
    """The dtypes of the columns of a key, and their names, if they have any."""

    def __init__(self, names: Optional[Sequence[str]], types: Sequence[Any]) -> None:
        self.names = None if names is None else [str(name) for name in names]
        self.types = [_type_of(dtype, types) for dtype in types]
        whole = sum(dtype.itemsize for dtype in self.types)
        if not 1 <= len(self.types) <= 16 or whole > _WIDEST:
            raise WrongType(
                f"key = {self.label()}: {len(self.types)} columns of {8 * whole} bits together: a key has 1 to 16 columns and "
                "at most 128 bits: use narrower dtypes"
            )
        self.width = 4 if whole <= 4 else 8 if whole <= 8 else _WIDEST
        offsets = [sum(dtype.itemsize for dtype in self.types[:i]) for i in range(len(self.types))]
        fields = self.names or [f"f{i}" for i in range(len(self.types))]
        #: a record that is a key as it is
        self.record = np.dtype({"names": fields, "formats": self.types, "offsets": offsets, "itemsize": self.width})

    @classmethod
    def of(cls, key: Any) -> "Optional[KeyColumns]":
        """None: `key` is no list, dict or record of dtypes."""
        if isinstance(key, Mapping):
            return cls(list(key), list(key.values()))
        if isinstance(key, np.dtype) and key.names is not None:
            return cls(key.names, [key[name] for name in key.names])
        return cls(None, list(key)) if isinstance(key, (list, tuple)) else None

    @property
    def setting(self) -> str:
        """As [table] key_columns has it. Names that a spec cannot have are left out."""
        types = [f"{dtype.kind}{8 * dtype.itemsize}" for dtype in self.types]
        if self.names and all(0 < len(name) < 32 and set(name) <= _PLAIN for name in self.names):
            types = [f"{name}:{dtype}" for name, dtype in zip(self.names, types)]
        return ", ".join(types)

    @property
    def given(self) -> Any:
        """What makes the same columns again."""
        types = [dtype.name for dtype in self.types]
        return types if self.names is None else dict(zip(self.names, types))

    def label(self) -> str:
        return str(self.given).replace("'", "")

    def is_one(self, keys: Any) -> bool:
        """Whether these are the numbers of a single key."""
        return (
            isinstance(keys, tuple)
            and len(keys) == len(self.types)
            and all(isinstance(number, (int, np.integer)) for number in keys)
        )

    # ---- Columns to keys ---------------------------------------------------------------------------------------------

    def pack(self, table: Any, keys: Any, name: str) -> Tuple[Adapter, Any, Memory]:
        """Keys as one array."""
        if isinstance(keys, np.ndarray) and keys.dtype == self.record and keys.flags.c_contiguous:
            whole = keys.view(self._item())
            return NUMPY, whole, NUMPY.look(whole, name, False)._replace(kind="u", width=self.width)
        if isinstance(keys, np.ndarray) and keys.dtype == self._item() and (keys.ndim == 1 or keys.shape[-1:] != (len(self.types),)):
            return NUMPY, keys, NUMPY.look(keys, name, False)._replace(kind="u", width=self.width)  # packed before
        parts = self._parts(keys, name)
        shape, device = parts[0].shape, max(part.device for part in parts)
        for i, part in enumerate(parts):
            if part.shape != shape:
                raise BadArgument(f"{name}: {self._called(i)} has shape {part.shape}, and the first one {shape}: they must be the same")
        leader = next(part for part in parts if part.device == device)
        adapter, n = leader.adapter, math.prod(shape)
        if device == HOST:
            made: Any = np.empty(shape, self._item())
            adapter, memory = NUMPY, NUMPY.look(made, name, True)
        elif self.width == _WIDEST:
            adapter, made, memory = _wide_keys.from_rows(adapter.empty(leader.array, (*shape, 2), "i", 8), adapter, name)
            table._note(memory, adapter, name)
        else:
            made = adapter.empty(leader.array, shape, "i", self.width)
            memory = adapter.look(made, name, True)
            table._note(memory, adapter, name)
        if n:
            pointers = (c_void_p * len(parts))(*(part.pointer for part in parts))
            strides = (c_size_t * len(parts))(*(part.stride for part in parts))
            if library.tsr_key_pack(table._handle, n, pointers, strides, memory.pointer, table._at.stream, table._at.error_at):
                table._fail()
        return adapter, made, memory._replace(kind="u", width=self.width)

    def _item(self) -> str:
        return f"S{_WIDEST}" if self.width == _WIDEST else f"u{self.width}"

    def _called(self, i: int) -> str:
        return f"column {self.names[i]!r}" if self.names else f"column {i}"

    def _parts(self, keys: Any, name: str) -> List[_Part]:
        columns = self._columns(keys, name)
        if len(columns) != len(self.types):
            raise BadArgument(f"{name}: has {len(columns)} columns, and a key has {len(self.types)}: {self.label()}")
        return [self._part(column, i, name) for i, column in enumerate(columns)]

    def _columns(self, keys: Any, name: str) -> List[Any]:
        if isinstance(keys, np.ndarray) and keys.dtype.names is not None:
            names = self.names if self.names and set(self.names) <= set(keys.dtype.names) else keys.dtype.names
            return [keys[field] for field in names]
        held = keys if isinstance(keys, Mapping) else getattr(keys, "column_names", getattr(keys, "columns", None))
        if held is not None:
            names = self.names or list(held)
            for one in names:
                if one not in held:
                    raise BadArgument(f"{name}: has no column {one!r}: there are {', '.join(map(repr, held))}")
            return [keys[one] for one in names]
        if isinstance(keys, list) and all(isinstance(row, (tuple, list)) for row in keys):
            for row in keys:
                if len(row) != len(self.types):
                    raise BadArgument(f"{name}: {row!r:.60} has {len(row)} numbers, and a key has {len(self.types)}: {self.label()}")
            return [[row[i] for row in keys] for i in range(len(self.types))]
        if isinstance(keys, (list, tuple)):
            return list(keys)
        shape = getattr(keys, "shape", ())
        if len(shape) > 1 and shape[-1] == len(self.types):
            return [keys[..., i] for i in range(len(self.types))]
        raise WrongType(
            f"{name}: is {type(keys).__name__}, and a key has the columns {self.label()}: pass a tuple of arrays, a dict or a "
            "frame of columns, an array of records, or a list of tuples"
        )

    def _part(self, column: Any, i: int, name: str) -> _Part:
        dtype, called = self.types[i], f"{name}: {self._called(i)}"
        adapter = adapter_of(column)
        if adapter is not None and not isinstance(column, np.ndarray):
            memory = adapter.look(column, called, False)
            if (memory.kind, memory.width) != (dtype.kind, dtype.itemsize):
                raise _wrong_type(called, name_of(memory.kind, memory.width), dtype)
            return _Part(column, adapter, memory.device, memory.pointer, memory.width, tuple(memory.shape))
        array = _exact(column, dtype, called)
        if array.ndim > 1 or (array.ndim and array.strides[0] < array.itemsize):
            array = np.ascontiguousarray(array)
        stride = array.strides[0] if array.ndim == 1 and array.size > 1 else array.itemsize
        return _Part(array, NUMPY, HOST, array.ctypes.data, stride, array.shape)

    # ---- Keys to columns ---------------------------------------------------------------------------------------------

    def unpack(self, table: Any, keys: Any) -> Answer:
        """The columns of keys that the library has written."""
        adapter = adapter_of(keys)
        assert adapter is not None
        memory = adapter.look(keys, "keys", False)
        shape = tuple(memory.shape[:-1] if self.width == _WIDEST and memory.width == 8 else memory.shape)
        made = [
            adapter.empty(keys, shape, dtype.kind, dtype.itemsize) if memory.device != HOST else np.empty(shape, dtype)
            for dtype in self.types
        ]
        at = [adapter.address(column) if memory.device != HOST else column.ctypes.data for column in made]
        n = math.prod(shape)
        if n:
            pointers = (c_void_p * len(at))(*at)
            if library.tsr_key_unpack(table._handle, n, memory.pointer, pointers, None, table._at.stream, table._at.error_at):
                table._fail()
        return tuple(made) if self.names is None else dict(zip(self.names, made))


def _type_of(dtype: Any, types: Sequence[Any]) -> "np.dtype[Any]":
    try:
        made = dtype_of(dtype)
    except TypeError:
        made = np.dtype(object)
    if made.name not in _TYPES:
        of_floats = ": floats are compared by their bits, in which 0.0 and -0.0 differ: pass column.view('uint64') or 'uint32'"
        raise WrongType(
            f"key = {list(map(str, types))}: columns are of {', '.join(_TYPES)}{of_floats if made.kind == 'f' else ''}"
        )
    return made


def _wrong_type(called: str, got: str, dtype: "np.dtype[Any]") -> WrongType:
    return WrongType(f"{called} is {got}, and keys have {dtype.name} there: convert it, as by .astype({dtype.name!r})")


def _exact(column: Any, dtype: "np.dtype[Any]", called: str) -> NumPyArray:
    """An array of this dtype. Lists and numbers are converted where they fit."""
    array: NumPyArray = np.asarray(column)
    if array.dtype == dtype:
        return array
    if hasattr(column, "__array__") or (array.size and array.dtype.kind not in "iu"):
        raise _wrong_type(called, array.dtype.name, dtype)
    limits = np.iinfo(dtype)
    if array.size and not limits.min <= int(array.min()) <= int(array.max()) <= limits.max:
        raise BadArgument(f"{called}: {array.min()} .. {array.max()} do not fit into {dtype.name}")
    return array.astype(dtype)
