# SPDX-License-Identifier: Apache-2.0
"""Columns as Arrow's C data and C device interfaces have them, by capsules, without a copy of their numbers.

An ArrowArray and what it points to is kept here until its consumer calls `release`, which may be in any thread. Read next:
_arrow.py, https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html.
"""

import ctypes
import errno
import itertools
from ctypes import POINTER, PYFUNCTYPE, c_char_p, c_void_p, pointer, py_object
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from tessera._arrays import DLPACK_CPU, DLPACK_CUDA, HOST, NUMPY, Adapter, NumPyArray, adapter_of, name_of
from tessera._arrow import ArrowArray, ArrowDeviceArray, ArrowSchema, ArrowStream
from tessera._library import BadArgument, WrongType

_FORMATS = {"i1": "c", "u1": "C", "i2": "s", "u2": "S", "i4": "i", "u4": "I", "i8": "l", "u8": "L", "f2": "e", "f4": "f", "f8": "g"}
_NULLABLE = 2  # ARROW_FLAG_NULLABLE


class _Part(NamedTuple):
    """A column: its values, which rows are no nulls (None: all), where it is, and how Arrow calls its type. inner: the items of
    rows, which have no memory of their own."""

    values: Any
    known: Optional[NumPyArray]
    pointer: int
    size: int
    device: int
    form: str
    inner: "Optional[_Part]" = None


# ---- What is lent out ------------------------------------------------------------------------------------------------

_lent: Dict[int, Any] = {}  # by the private_data of an array, a schema or a stream: all that it points to
_numbers = itertools.count(1)
_api = ctypes.pythonapi
_api.PyCapsule_New.restype = py_object
_api.PyCapsule_New.argtypes = [c_void_p, c_char_p, c_void_p]
_pointer_of = PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", _api))
_name_of = PYFUNCTYPE(c_void_p, c_void_p)(("PyCapsule_GetName", _api))


def _lend(struct: Any, *things: Any) -> None:
    number = next(_numbers)
    struct.private_data, struct.release = number, _RELEASES[type(struct)]
    _lent[number] = things


def _take_back(at: Any) -> None:
    """`release` of an array or a schema: its children that nobody has moved go with it."""
    struct = at.contents
    if struct.private_data in _lent:  # otherwise it is a copy of one that was released
        for i in range(struct.n_children):
            child = struct.children[i]
            if child.contents.release:
                child.contents.release(child)
        del _lent[struct.private_data]
    struct.release = type(struct.release)()


def _end_stream(at: Any) -> None:
    for array in _lent.pop(at.contents.private_data, ([],))[0]:
        array.release(pointer(array))
    at.contents.release = _of_stream()


def _next_array(at: Any, out: Any) -> int:
    """`get_next` of a stream of one array."""
    if at.contents.private_data not in _lent:
        return errno.EINVAL  # released before
    arrays = _lent[at.contents.private_data][0]
    ctypes.memset(out, 0, ctypes.sizeof(ArrowArray))
    if arrays:
        out[0] = arrays.pop()
    return 0


def _stream_schema(at: Any, out: Any) -> int:
    if at.contents.private_data not in _lent:
        return errno.EINVAL
    out[0] = _lent[at.contents.private_data][1]()
    return 0


_kinds: Any = ArrowArray, ArrowSchema, ArrowStream
_of_array, _of_schema, _of_stream = (dict(kind._fields_)["release"] for kind in _kinds)
_RELEASES = {ArrowArray: _of_array(_take_back), ArrowSchema: _of_schema(_take_back), ArrowStream: _of_stream(_end_stream)}
_fields = dict(_kinds[2]._fields_)
_get_schema, _get_next = _fields["get_schema"](_stream_schema), _fields["get_next"](_next_array)
_get_last_error = _fields["get_last_error"](lambda at: None)

_in_capsules: Dict[int, Any] = {}


@PYFUNCTYPE(None, c_void_p)
def _drop(capsule: int) -> None:
    """The destructor of a capsule. A consumer that took the struct has set its `release` to NULL."""
    at = _pointer_of(capsule, ctypes.string_at(_name_of(capsule)))
    struct = _in_capsules.pop(at)
    array = struct.array if isinstance(struct, ArrowDeviceArray) else struct
    if array.release:
        array.release(pointer(array))


def _capsule(struct: Any, name: bytes) -> Any:
    at = ctypes.addressof(struct)
    _in_capsules[at] = struct
    return _api.PyCapsule_New(at, name, ctypes.cast(_drop, c_void_p))


# ---- Columns ---------------------------------------------------------------------------------------------------------


def _part(column: Any, name: str) -> _Part:
    adapter: Optional[Adapter] = adapter_of(column)
    if adapter is None:
        column, adapter = np.asarray(column), NUMPY
    if len(column.shape) == 2 and column.shape[1]:
        inner = _part(column.reshape(-1), name)
        return _Part(column, None, 0, column.shape[0], inner.device, f"+w:{column.shape[1]}", inner)
    if len(column.shape) != 1:
        raise BadArgument(f"{name}: has shape {tuple(column.shape)}, and a column has one axis, or two where values are rows")
    if adapter is NUMPY:
        return _host_part(np.ascontiguousarray(column), name)
    found = adapter.look(column, name, False)
    form = _FORMATS.get(f"{found.kind}{found.width}")
    if form is None:
        raise WrongType(f"{name}: is {name_of(found.kind, found.width)}: Arrow takes whole numbers and floats from PyTorch and CuPy")
    adapter.synchronize(found.device)
    return _Part(column, None, found.pointer, found.size, found.device, form)


def _host_part(column: NumPyArray, name: str) -> _Part:
    dtype, known = column.dtype, None
    if not dtype.isnative:
        column = column.astype(dtype.newbyteorder("="))
    form = _FORMATS.get(f"{dtype.kind}{dtype.itemsize}")
    size = len(column)
    if dtype.kind in "mM":
        unit, step = np.datetime_data(dtype)
        form = {"D": "tdD"}.get(unit) if dtype.kind == "M" else None
        if unit in ("s", "ms", "us", "ns"):
            form = f"ts{unit[0]}:" if dtype.kind == "M" else f"tD{unit[0]}"
        if form == "tdD":
            missing, column = np.isnat(column), column.view(np.int64).astype(np.int32)
        else:
            missing = np.isnat(column)
        known = ~missing if missing.any() else None
        form = form if step == 1 else None
    elif dtype.kind == "b":
        column, form = np.packbits(column, bitorder="little"), "b"
    if form is None:
        raise WrongType(f"{name}: is {dtype}: Arrow takes numbers, bools, dates and times from here")
    if known is not None:
        known = np.packbits(known, bitorder="little")
    return _Part(column, known, column.ctypes.data, size, HOST, form)


def _array_of(part: _Part) -> ArrowArray:
    if part.inner is not None:
        return _parent_of([_array_of(part.inner)], part.size)
    known_at = None if part.known is None else part.known.ctypes.data
    buffers = (c_void_p * 2)(known_at, part.pointer)
    made = ArrowArray(length=part.size, null_count=0 if part.known is None else -1, n_buffers=2, buffers=buffers)
    _lend(made, buffers, part)
    return made


def _schema_of(form: str, name: str, children: Sequence[ArrowSchema] = ()) -> ArrowSchema:
    kept = form.encode(), name.encode()
    made = ArrowSchema(format=kept[0], name=kept[1], flags=0 if children else _NULLABLE, n_children=len(children))
    _lend(made, kept, _set_children(made, ArrowSchema, children))
    return made


def _set_children(made: Any, kind: Any, children: Sequence[Any]) -> Any:
    if not children:
        return None
    at = (POINTER(kind) * len(children))(*map(pointer, children))
    made.children = at
    return at, list(children)


def _parent_of(children: List[ArrowArray], size: int) -> ArrowArray:
    buffers = (c_void_p * 1)(None)
    made = ArrowArray(length=size, n_buffers=1, buffers=buffers, n_children=len(children))
    _lend(made, buffers, _set_children(made, ArrowArray, children))
    return made


class Arrow:
    """Columns for libraries that read Arrow: `pyarrow.table(x)`, `polars.DataFrame(x)`, `duckdb`. Their memory is not copied, and
    lives as long as the reader needs it; only bools are packed.

    columns: an array of NumPy, PyTorch or CuPy, or a dict of arrays as `agg` returns it. Arrays on a GPU are handed out by
    `__arrow_c_device_array__`, after a wait for their library's stream.

    >>> column = tessera.Arrow(np.array([7, 42, 7]))
    >>> tessera.unique(column)     # as any reader of Arrow's capsules
    array([ 7, 42])
    """

    def __init__(self, columns: Any) -> None:
        self._single = not isinstance(columns, Mapping)
        named = {"": columns} if self._single else dict(columns)
        self._parts = {str(name): _part(column, str(name) or "columns") for name, column in named.items()}
        if not self._parts:
            raise BadArgument("columns: is empty: pass an array, or a dict of arrays")
        if len({(part.size, part.device) for part in self._parts.values()}) > 1:
            raise BadArgument("columns: are of several lengths or devices: pass columns of one table")

    @property
    def _device(self) -> int:
        return next(iter(self._parts.values())).device

    def _schema(self) -> ArrowSchema:
        schemas = [
            _schema_of(part.form, name, [_schema_of(part.inner.form, "item")] if part.inner is not None else ())
            for name, part in self._parts.items()
        ]
        return schemas[0] if self._single else _schema_of("+s", "", schemas)

    def _array(self) -> ArrowArray:
        arrays = [_array_of(part) for part in self._parts.values()]
        return arrays[0] if self._single else _parent_of(arrays, next(iter(self._parts.values())).size)

    def _need_host(self) -> None:
        if self._device != HOST:
            raise BadArgument("columns: are on a GPU: read them by __arrow_c_device_array__, or copy them to the host")

    def __arrow_c_schema__(self) -> Any:
        return _capsule(self._schema(), b"arrow_schema")

    def __arrow_c_array__(self, requested_schema: Any = None) -> Tuple[Any, Any]:
        self._need_host()
        return self.__arrow_c_schema__(), _capsule(self._array(), b"arrow_array")

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        self._need_host()
        stream = ArrowStream(get_schema=_get_schema, get_next=_get_next, get_last_error=_get_last_error)
        _lend(stream, [self._array()], self._schema)
        return _capsule(stream, b"arrow_array_stream")

    def __arrow_c_device_array__(self, requested_schema: Any = None, **_: Any) -> Tuple[Any, Any]:
        on_gpu = self._device != HOST
        made = ArrowDeviceArray(
            device_id=self._device if on_gpu else -1, device_type=DLPACK_CUDA if on_gpu else DLPACK_CPU
        )
        made.array = self._array()
        return self.__arrow_c_schema__(), _capsule(made, b"arrow_device_array")
