# SPDX-License-Identifier: Apache-2.0
"""Tables: tsr_table with arrays of Python's libraries (_arrays.py). What each call means is written in tessera.h; here
stand shapes and dtypes.

Below, `uint` is the unsigned integer of the table's key_bits or value_bits. A signed one of the same width is as good:
tables keep bits. Results are signed where the keys are signed. Values may be floats where the table never calculates
with them, but results are whole numbers unless `out` says otherwise.

With value_bytes a value is a row, of items of any type that make that many bytes: values are (..., m), where keys are (...),
or of NumPy's records. Results are (..., value_bytes) of uint8, which `.view` makes another type of, unless `out` is given;
`missing` is what stands in each item of an absent key's row.
"""

import ctypes
import enum
import html
import inspect
import math
import os
import struct
import tempfile
import threading
import warnings
import weakref
from contextlib import ExitStack, contextmanager
from ctypes import byref, c_uint64, c_void_p
from typing import (
    Any,
    Dict,
    FrozenSet,
    Iterator,
    List,
    Literal,
    Mapping,
    NoReturn,
    Optional,
    Set,
    Tuple,
    Type,
    TypeVar,
    Union,
    get_args,
    overload,
)

import numpy as np

from tessera import _library as lib
from tessera import _wide_keys
from tessera._arrays import (
    HOST,
    NUMPY,
    Adapter,
    ArrayT,
    Bools,
    ByCuda,
    ByDlpack,
    Int64s,
    Memory,
    Numbers,
    NumPyArray,
    OtherAdapter,
    adapter_of,
    from_numbers,
    name_of,
    way_out,
)
from tessera._arrow_out import Arrow
from tessera._columns import plain
from tessera._group import Group
from tessera._library import BadArgument, Busy, Closed, Error, Full, OverflowWarning, WrongType, library
from tessera._spec import Spec, SpecSource, options
from tessera._words import dtype_of, need_word, no_argument

OutT = TypeVar("OutT")  # the caller's own array
TableT = TypeVar("TableT", bound="Table")
# Values, and None of tables that have none: a type checker asks nobody to look which, but knows the array.
Values = Union[NumPyArray, Any]
_CALL_SIZE = ctypes.sizeof(lib.Call)
_pack_call = struct.Struct(f"{_CALL_SIZE // 8}Q").pack_into  # members set one by one take five times as long
_SPARE_ITEMS = 1 << 16  # the largest batch whose arrays an insert keeps for the next


class Code(enum.IntEnum):
    """What an operation did with one key."""

    INSERTED = 1  #: the key is new, or every pair is kept
    PRESENT = 2  #: duplicates = first: it was there, nothing changed
    REPLACED = 3  #: duplicates = replace
    COMBINED = 4  #: duplicates = add, min, max
    NOT_PLACED = 5  #: no room; one pair was handed back at this index
    FOUND = 6
    MISSING = 7
    ERASED = 8
    EVICTED = 32  #: a cache took the pair, and handed another one back at this index


class Op(enum.IntEnum):
    """What an item of `Table.apply` asks for."""

    INSERT = 0
    REPLACE = 1
    ERASE = 2
    FIND = 3


Call = Literal[
    "insert", "find", "contains", "count", "find_all", "erase", "erase_pairs", "find_or_insert", "apply", "len", "items"
]
_CALLS: Tuple[Call, ...] = get_args(Call)  # in the order of TSR_PREPARE_

# In the order of TSR_JOIN_; the last two are made of others.
JoinKind = Literal[
    "inner", "left", "semi", "anti", "union", "intersect", "difference", "sum", "min", "max", "count", "right", "outer"
]
JoinOfPairs = Literal["inner", "left", "right", "outer"]
JoinOfSide = Literal["semi", "anti"]
JoinOfKeys = Literal["union", "intersect", "difference"]
JoinOfSums = Literal["sum", "min", "max"]
_JOINS: Tuple[JoinKind, ...] = get_args(JoinKind)
_JOINS_OF_PAIRS, _AGGREGATES = _JOINS[:4], _JOINS[7:11]

_NOT_PLACED = int(Code.NOT_PLACED)
_NO_MEMORY_TO_GROW = (
    "there is no memory to double the table. Free memory and insert them again, or create the table with a larger "
    "load_factor or more devices"
)
_UNSIGNED = np.dtype(np.uint64)
_ANY = "n"  # the kind of Python's numbers that are neither negative nor large


_ALONE, _TOGETHER = 1, 2  # how a thread holds a table


class _Thread(threading.local):
    """What a call of this thread carries from its beginning to its end."""

    def __init__(self) -> None:
        self.error, self.call = lib.TsrError(), lib.Call()
        self.error_at, self.call_at = byref(self.error), byref(self.call)
        self.stream = self.read = self.read_end = self.holds = 0
        self.scores = self.peeks = 0  # of a cache: where scores are, 1 where a find is no use
        self.uses_device = self.waits = False


class Missing(Error, KeyError):
    """`table[keys]` where a key is not in the table."""

    __str__ = Exception.__str__


class Table:
    """A hash table that a spec describes.

    spec: the path of an INI file, a text of several lines, or a dict of sections. `settings` changes entries of it,
    {"table.backend": "cpu"}; `capacity` (pairs) and `seed` override its own where they are not 0; `plugins` are folders
    to search first. `group`: the table is shared by the processes of a `Group`, which all make the same calls; `len`,
    `items` and joins are about the pairs of all. Keys are not checked then unless `check` says so.

    Any number of threads may use a table. On the CPU any number look up at once; a call that changes the table works
    alone. The others wait, or get `Busy` where on_busy is "raise". Calls release the GIL. Calls with arrays on the GPU
    only enqueue work on the current stream of the library that the keys come from, unless their description says that
    they wait; the arrays must live until the work is done. A table is freed by `close`, at the end of a `with` block,
    or with its last reference.
    """

    # What a subclass with dtypes knows (_types.py): kinds of its keys and values, and the items of a value that is a row.
    _key_kind: Optional[str] = None
    _value_kind: Optional[str] = None
    _row_item: Tuple[str, int] = ("u", 1)

    def __init__(
        self,
        spec: SpecSource = "",
        *,
        settings: Optional[Mapping[str, object]] = None,
        capacity: int = 0,
        seed: int = 0,
        plugins: Any = None,
        on_busy: Literal["wait", "raise"] = "wait",
        group: Optional[Group] = None,
        **unknown: NoReturn,
    ) -> None:
        if unknown:
            self._refuse_names(list(unknown))
        if isinstance(spec, str) and not spec:
            raise WrongType('spec: is missing: pass the name of a recipe, as tessera.Table("quickstart"), a path or a dict')
        self._prepare(plugins, on_busy)
        made = Spec(spec, settings)
        if _lost_gpu and made.backend != "cpu":
            raise Closed(_GPU_AFTER_FORK)
        chosen = options(plugins, capacity, seed)
        handle = c_void_p()
        if group is None:
            status = library.tsr_table_create(made.handle, byref(chosen), byref(handle), self._at.error_at)
        else:
            status = library.tsr_group_table_create(
                group._use(), made.handle, byref(chosen), byref(handle), self._at.error_at
            )
        if status:
            lib.fail(self._at.error)
        self._own(handle)
        if group is not None:
            self._group, self._reads_together = group, False
            group._tables.add(self)

    @classmethod
    def load(
        cls: "Type[TableT]",
        path: "Union[str, os.PathLike[str]]",
        *,
        backend: Optional[str] = None,
        device: Union[int, str, None] = None,
        plugins: Any = None,
        on_busy: Literal["wait", "raise"] = "wait",
        mmap: bool = False,
    ) -> TableT:
        """The table that `save` wrote, as it was, or on another backend ("auto", "cuda", "cpu") or GPU (of a table of
        several, "0,1"). Load only files that you trust.

        mmap: on the CPU, whether memory of 2 MiB or more is the file's pages, which all processes share that map it. What a
        process changes stays its own. Do not change the file meanwhile."""
        if _lost_gpu and backend != "cpu":
            raise Closed(_GPU_AFTER_FORK)
        table = cls.__new__(cls)
        table._prepare(plugins, on_busy)
        chosen = lib.LoadOptions(
            ctypes.sizeof(lib.LoadOptions),
            lib.search_path(plugins),
            backend.encode() if backend is not None else None,
            str(device).encode() if device is not None else None,
            int(mmap),
        )
        handle = c_void_p()
        if library.tsr_table_load(lib.path_bytes(path), byref(chosen), byref(handle), table._at.error_at):
            lib.fail(table._at.error)
        table._own(handle)
        table._value_kinds, table._is_fresh = None, False
        return table

    # ---- Its life ----------------------------------------------------------------------------------------------------

    def _refuse_names(self, names: List[str]) -> NoReturn:
        """What arguments that a table does not have are told."""
        self._handle = None
        kind, known = type(self), {**inspect.signature(Table.__init__).parameters}
        if kind is not Table:  # its `options` are those of Table
            known = {**inspect.signature(kind.__init__).parameters, **known}
            known.pop("spec")
        raise no_argument(kind.__name__, names[0], [name for name in known if name not in ("unknown", "options")])

    def _prepare(self, plugins: Any, on_busy: Literal["wait", "raise"]) -> None:
        need_word("on_busy", on_busy, ("wait", "raise"))
        self._plugins, self._on_busy = plugins, on_busy
        self._group: Optional[Group] = None
        self._handle: Optional[c_void_p] = None
        self._why_closed = "the table is closed"
        self._at = _Thread()
        self._open_locks()
        self._report = lib.Report()
        self._not_placed = self._overflows = self._ungrown = 0
        self._is_signed = False  # values to be added had a sign: then sums that pass 2^value_bits may be right
        self._sum_at_most = 0.0  # no sum of signed values is larger
        self._value_kinds: Optional[Set[str]] = set()  # what was inserted: "u", "i", "f", _ANY; None: unknown
        self._is_fresh = True  # nothing was inserted yet, so no key is repeated
        self._now = 0  # of a cache: the clock of the calls that follow
        self._spare: Any = None  # of an insert: for which adapter and memory, arrays for what has no room, addresses

    def _own(self, handle: c_void_p) -> None:
        self._handle = handle
        _tables.add(self)
        self._describe()

    def _describe(self) -> None:
        info = self._info()
        self._key_width = info.key_bits // 8
        self._value_width = info.value_bits // 8
        self._row = self._value_width if self._value_width > 8 else 0  # bytes of a value that is a row
        self._kind = self._setting("kind", "")
        self._number_row = int(self._setting("value_bytes", "0")) if self._kind == "index" else 0  # bytes of a number's row
        self._devices: Optional[FrozenSet[int]] = frozenset()  # the GPUs whose memory it sees; None: all
        if info.backend == b"cuda":
            global _used_gpu
            _used_gpu = True
            numbers = self._setting("devices", self._setting("device", "0"))
            self._devices = None if numbers == "all" else frozenset(map(_number, numbers.split(",")))
        self._duplicates = self._setting("duplicates", "first")
        self._reads_together = self._devices == frozenset()
        self._count_bits = int(self._setting("value_bits", "32")) if self._kind == "counter" else 64  # of a count
        self._promises = self._duplicates == "promise_unique"
        self._saturates = self._setting("overflow", "report") == "saturate"
        self._adds = self._kind == "map" and self._duplicates == "add" and not self._saturates
        self._grows = self._setting("growth", "none") != "none"

    @property
    def _out_kinds(self) -> str:
        """Kinds of the caller's arrays for values. A table without types does not know what its values are."""
        return self._value_kind or ("ui" if self._kind in ("counter", "index") else "uif")

    def _setting(self, key: str, default: str) -> str:
        text = library.tsr_spec_get(library.tsr_table_spec(self._handle), b"table", key.encode())
        return text.decode() if text is not None else default

    def _info(self) -> lib.TableInfo:
        info = lib.TableInfo(size=ctypes.sizeof(lib.TableInfo))
        library.tsr_table_describe(self._handle, byref(info))
        return info

    def _open_locks(self) -> None:
        self._lock = threading.Lock()  # of the call that has the table alone, or of all that read it
        self._gate = threading.Lock()  # of _readers
        self._turn = threading.Lock()  # held by a call that waits to be alone: calls that read let it go first
        self._readers = 0

    def _begin(self, reads: bool = False) -> c_void_p:
        """The handle, held until `_end`: alone, or where this is a look-up together with other look-ups."""
        at = self._at
        if at.holds:
            raise Busy("this thread is inside a call of this table already: let it end first")
        if not reads or not self._reads_together:
            if not self._lock.acquire(False):
                self._expect_to_wait()
                with self._turn:
                    self._lock.acquire()
            at.holds = _ALONE
        else:
            if self._turn.locked():
                self._expect_to_wait()
                with self._turn:
                    pass
            with self._gate:
                if not self._readers and not self._lock.acquire(False):
                    self._expect_to_wait()
                    self._lock.acquire()
                self._readers += 1
            at.holds = _TOGETHER
        handle = self._handle
        if handle is None:
            self._end()
            raise Closed(self._why_closed)
        at.stream = 0
        at.uses_device = at.waits = False
        return handle

    def _expect_to_wait(self) -> None:
        if self._handle is None:
            raise Closed(self._why_closed)
        if self._on_busy == "raise":
            raise Busy("another thread is using this table: use it by one thread at a time, or give each its own")

    def _end(self) -> None:
        at = self._at
        held, at.holds = at.holds, 0
        if held == _ALONE:
            self._lock.release()
            return
        with self._gate:
            self._readers -= 1
            if not self._readers:
                self._lock.release()

    def close(self) -> None:
        """Waits for the table's work and frees it. Closing twice is fine."""
        if self._handle is None:
            return
        handle = self._begin()
        self._handle = None
        try:
            library.tsr_table_destroy(handle)
        finally:
            self._end()

    def __enter__(self) -> "Table":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle is not None:
            library.tsr_table_destroy(handle)

    def __reduce__(self) -> Tuple[Any, ...]:
        """Pickled, and copied, as what `save` writes. It is loaded on the same backend and GPU. Waits."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "table")
            self.save(path)
            with open(path, "rb") as file:
                saved = file.read()
        return _unpickled, (type(self), self._types(), saved, self._plugins, self._on_busy, self._value_kinds)

    def _types(self) -> Dict[str, Any]:
        """What `load` of this class needs to know about keys and values."""
        return {}

    def __repr__(self) -> str:
        if self._handle is None:
            return "<tessera.Table, closed>"
        widths = f"{8 * self._key_width}-bit keys"
        if self._row:
            widths += f", values of {self._row} bytes"
        elif self._value_width:
            widths += f", {8 * self._value_width}-bit values"
        return f"<tessera.Table: {self._kind}, {widths}, {self._place()}>"

    def _type_names(self) -> Tuple[str, str]:
        """What keys and values are, in words; no values: nothing."""
        values = f"{self._row} bytes" if self._row else f"{8 * self._value_width} bits" if self._value_width else ""
        return f"{8 * self._key_width} bits", values

    def _place(self) -> str:
        if self._devices is None:
            return "all GPUs"
        return "GPU " + ", ".join(map(str, sorted(self._devices))) if self._devices else "the CPU"

    # ---- Arrays ------------------------------------------------------------------------------------------------------

    def _fail(self) -> NoReturn:
        lib.fail(self._at.error)

    def _note(self, memory: Memory, adapter: Adapter, name: str) -> None:
        """Refuses memory that the table cannot see, and takes the stream of the first array on the GPU."""
        device = memory.device
        if adapter.waits:
            self._at.waits = True
        if device == HOST:
            return
        if self._devices is not None and device not in self._devices:
            lives = self._place()
            raise BadArgument(
                f"{name}: is on GPU {device}, and this table is on {lives}: copy the array, or create the table "
                f'with settings={{"table.backend": "cuda", "table.device": {device}}}'
            )
        if not self._at.uses_device:
            self._at.uses_device = True
            self._at.stream = adapter.stream(device)

    def _keys_array(self, keys: Any, name: str) -> Tuple[Adapter, Any, Memory]:
        """Keys as an array of a library that can also make arrays for results."""
        if self._key_width == _wide_keys.BYTES and name != "numbers":
            found = adapter_of(keys)
            if found is not None and found is not NUMPY:
                return _wide_keys.from_rows(keys, found, name)
            keys = _wide_keys.from_keys(keys, name)
            return NUMPY, keys, NUMPY.look(keys, name, False)._replace(kind="u")
        keys = plain(keys, name)
        adapter = adapter_of(keys)
        if adapter is None:
            keys = from_numbers(keys, name, self._key_width)
            adapter = NUMPY
        memory = adapter.look(keys, name, False)
        if type(adapter) is OtherAdapter and memory.device == HOST:
            return NUMPY, np.from_dlpack(keys), memory
        return adapter, keys, memory

    def _answered(self, keys: Any) -> Any:
        """Keys that the library has written, as the caller has them."""
        return keys

    def _keep_keys(self) -> None:
        """After keys were inserted, for tables that keep what keys are made of."""

    def _is_one_key(self, key: Any) -> bool:
        """Whether it is a single key that is made of other things than one number."""
        return False

    def _keys(self, keys: Any, name: str = "keys") -> Tuple[Adapter, Any, Memory]:
        adapter, keys, memory = self._keys_array(keys, name)
        kinds = self._key_kind if self._key_width != _wide_keys.BYTES else None
        if memory.width != self._key_width or memory.kind not in (kinds or "ui"):
            keys, memory = self._widened(adapter, keys, memory, name, "keys")
        self._note(memory, adapter, name)
        at = self._at
        at.read = memory.pointer
        at.read_end = memory.pointer + memory.size * memory.width
        return adapter, keys, memory

    def _widened(self, adapter: Adapter, array: Any, memory: Memory, name: str, what: str) -> Tuple[Any, Memory]:
        """Keys or values of a narrow type in that of the table, where a table has types."""
        self._wrong_type(memory, name, what, self._key_width if what == "keys" else self._value_width)

    def _wrong_type(self, memory: Memory, name: str, what: str, width: int) -> NoReturn:
        got = name_of(memory.kind, memory.width)
        if not width:
            raise BadArgument(f"{name}: a {self._kind} has no values")
        fix = way_out(name, what, memory.kind, memory.width, width)
        raise WrongType(f"{name}: is {got}, and this table has {8 * width}-bit {what}: {fix}")

    def _values(
        self, values: Any, name: str, adapter: Adapter, keys: Any, memory: Memory, stored: bool = True
    ) -> Tuple[Any, int]:
        """What is offered for keys: the array, to keep it alive, and its address; None and 0 for a set, and where a
        counter counts each key once. stored: whether the table will keep them."""
        if values is None:
            if self._value_width and self._kind not in ("counter", "index"):
                raise BadArgument(f"{name}: a {self._kind} needs a value for each key: pass an array like keys")
            if len(memory.shape) > 1:
                raise not_one_axis(memory.shape)
            return None, 0
        if not self._value_width:
            raise BadArgument(f"{name}: a {self._kind} has no values: leave them out")
        if self._number_row:
            return self._rows(plain(values, name), name, memory, self._number_row)
        if self._kind == "index":
            raise BadArgument(f"{name}: an index gives its keys their numbers: leave them out")
        values = plain(values, name)
        if self._row:
            return self._rows(values, name, memory, self._row)
        fits_all = False  # whether the bits are the same as a signed and as an unsigned number
        if isinstance(values, (int, np.integer)) and not isinstance(values, bool):
            values, kind = int(values), memory.kind
            if len(memory.shape) > 1 and stored:
                raise not_one_axis(memory.shape)
            fits_all = 0 <= values < 1 << 8 * self._value_width - 1
            if values < 0 and self._kind == "counter":
                raise _negative(name, values)
            if kind == "u" and values < 0:
                raise BadArgument(f"{name}: {values}: keys are unsigned here, and so are values: pass an array of int")
            _bits(values, kind, self._value_width, name)
            values = adapter.full(keys, memory.shape, kind, self._value_width, values)
        theirs = adapter_of(values)
        if theirs is None:
            is_array = hasattr(values, "__array__")
            values = from_numbers(values, name, self._value_width)
            theirs = NUMPY
            fits_all = not is_array and not (values.size and int(values.max()) >> 8 * self._value_width - 1)
            fits_all = fits_all and values.dtype.kind == "u"
        found = theirs.look(values, name, False)
        if len(memory.shape) > 1 and tuple(found.shape) != tuple(memory.shape):
            raise not_one_axis(memory.shape)
        if found.size != memory.size:
            raise BadArgument(f"{name}: has {found.size} items, and keys {memory.size}: pass one for each key")
        if found.width != self._value_width or found.kind not in "uif":
            self._wrong_type(found, name, "values", self._value_width)
        if found.kind == "f" and (self._kind == "counter" or self._duplicates in ("add", "min", "max")):
            who = "a counter" if self._kind == "counter" else f"duplicates = {self._duplicates}"
            raise WrongType(
                f"{name}: is {name_of(found.kind, found.width)}, and {who} calculates with whole numbers: pass whole "
                "numbers"
            )
        if found.kind == "i" and self._kind == "counter":
            lowest = theirs.lowest(values)
            if lowest < 0:
                raise _negative(name, lowest)
        if found.kind == "i" and self._duplicates in ("min", "max"):
            raise WrongType(
                f"{name}: is {name_of(found.kind, found.width)}, and duplicates = {self._duplicates} compares unsigned "
                f"numbers: pass values.view('uint{8 * found.width}') where none is negative, or use "
                f"tessera.Map(value='int{8 * found.width}', duplicates={self._duplicates!r})"
            )
        if found.kind == "i" and self._saturates:
            raise WrongType(
                f"{name}: is {name_of(found.kind, found.width)}, and overflow = saturate adds unsigned numbers: pass "
                f"values.view('uint{8 * found.width}') where none is negative, or create it with "
                'settings={"table.overflow": "wrap"}'
            )
        self._is_signed |= found.kind == "i" and self._duplicates == "add"
        self._note(found, theirs, name)
        if stored and self._value_kinds is not None:
            self._value_kinds.add(_ANY if fits_all else found.kind)
        return values, found.pointer

    def _rows(self, values: Any, name: str, memory: Memory, row: int) -> Tuple[Any, int]:
        """The same where values are rows, of items of any type."""
        theirs = adapter_of(values)
        if theirs is None:
            values = np.ascontiguousarray(values)
            theirs = NUMPY
        found = theirs.look(values, name, False)
        self._check_rows(found, name, memory.shape, row)
        self._note(found, theirs, name)
        return values, found.pointer

    def _check_rows(self, found: Memory, name: str, shape: Tuple[int, ...], row: int) -> None:
        """Refuses what has not the bytes of a row for each place of this shape."""
        items = math.prod(shape)
        fits = found.size * found.width == items * row and tuple(found.shape[: len(shape)]) == shape
        if found.kind == "O" or not fits:
            raise WrongType(
                f"{name}: is {name_of(found.kind, found.width)} of shape {tuple(found.shape)}, and a {'row' if self._number_row else 'value'} is "
                f"{row} bytes: pass an array of shape {(*shape, row)} of uint8, or one of another type with as many bytes for "
                f"each {'number' if self._number_row else 'key'}"
            )

    def _value_results(
        self, out: Any, name: str, adapter: Adapter, like: Any, shape: Tuple[int, ...], kind: str
    ) -> Tuple[Any, int, str, int]:
        """An array for values, as `_result`; its address, and the kind and width of its items. Rows are of uint8, where the
        caller's array is of no other type."""
        if not self._row:
            return *self._result(out, name, adapter, like, shape, self._out_kinds, kind, self._value_width), self._value_width
        return self._row_results(out, name, adapter, like, shape, self._row)

    def _row_results(
        self, out: Any, name: str, adapter: Adapter, like: Any, shape: Tuple[int, ...], row: int
    ) -> Tuple[Any, int, str, int]:
        if out is None:
            kind, width = self._row_item
            made = adapter.empty(like, (*shape, row // width), kind, width)
            return made, adapter.address(made), kind, width
        theirs, memory = self._look_at_out(out, name)
        self._check_rows(memory, name, shape, row)
        self._note(memory, theirs, name)
        return out, memory.pointer, memory.kind, memory.width

    def _missing(self, missing: Union[int, float], kind: str, width: int) -> int:
        """The bits of what stands for an absent value in an array of this kind; of a row in each of its items."""
        if missing is None:
            raise WrongType(
                "missing = None: tables have no nulls: pass a number, or use find, whose mask says which keys are there"
            )
        if not isinstance(missing, (int, float, np.number)):
            raise WrongType(f"missing = {missing!r}: pass a number")
        if missing == 0:
            return 0
        return _bits_of_row(missing, kind, width) if self._row else _bits(missing, kind, width, "missing")

    def _kind_of_values(self, keys: Memory) -> str:
        """The kind of values that are returned: the table's own, otherwise that of keys."""
        return self._value_kind or keys.kind

    def _decoded(self, values: Any, out: Any = None) -> Any:
        """What the library wrote, as values. out: the caller's array, which then has them as well."""
        return values

    def _result(
        self,
        out: Any,
        name: str,
        adapter: Adapter,
        like: Any,
        shape: Tuple[int, ...],
        kinds: str,
        kind: str,
        width: int,
    ) -> Tuple[Any, int, str]:
        """An array for a result: the caller's if `out` is one, of a kind that is allowed, else a new one; its address
        and kind."""
        if out is None:
            made = adapter.empty(like, shape, kind, width)
            return made, adapter.address(made), kind
        return self._given(out, name, shape, kinds, width)

    def _beside(
        self, out: Any, name: str, adapter: Adapter, keys: Any, memory: Memory, kinds: str, kind: str, width: int
    ) -> Tuple[Any, int, str]:
        """The same for a result of the shape of keys."""
        if out is None:
            return *adapter.beside(keys, memory, kind, width), kind
        return self._given(out, name, memory.shape, kinds, width)

    def _given(self, out: Any, name: str, shape: Tuple[int, ...], kinds: str, width: int) -> Tuple[Any, int, str]:
        """The caller's array for a result."""
        theirs, memory = self._look_at_out(out, name)
        size = 1
        for extent in shape:
            size *= extent
        if memory.size != size:
            raise BadArgument(f"{name}: has {memory.size} items: pass an array of {size}")
        if memory.width != width or memory.kind not in kinds:
            allowed = " or ".join(name_of(k, width) for k in kinds)
            raise WrongType(f"{name}: is {name_of(memory.kind, memory.width)}: pass an array of {allowed}")
        self._note(memory, theirs, name)
        return out, memory.pointer, memory.kind

    def _look_at_out(self, out: Any, name: str) -> Tuple[Adapter, Memory]:
        theirs = adapter_of(out)
        if theirs is None:
            raise WrongType(f"{name}: is {type(out).__name__}: pass an array")
        memory = theirs.look(out, name, True)
        if memory.size and memory.pointer < self._at.read_end and self._at.read < memory.pointer + memory.size * memory.width:
            raise BadArgument(
                f"{name}: shares memory with keys, which would change while they are read: pass another array"
            )
        return theirs, memory

    def _set_call(self, results: int = 0, keys: int = 0, values: int = 0, missing: int = 0, present: int = 0) -> None:
        at = self._at
        _pack_call(at.call, 0, _CALL_SIZE, at.stream, results, keys, values, missing, 0, present, at.scores, self._now, at.peeks)

    def _finish(self) -> None:
        """Waits where the library of the arrays has no stream to order what follows."""
        if self._at.waits and library.tsr_table_wait(self._handle, self._at.error_at):
            self._fail()

    def _need_values(self, operation: str) -> None:
        if not self._value_width:
            raise lib.Unsupported(f"{operation}: a {self._kind} has no values: use contains or count")

    # ---- Inserting ---------------------------------------------------------------------------------------------------

    @overload
    def insert(
        self,
        keys: Union[Numbers, ByDlpack, ByCuda],
        values: Any = None,
        *,
        wait: Literal[True] = True,
        check: Optional[bool] = None,
        out: None = None,
    ) -> None: ...
    @overload
    def insert(
        self,
        keys: Union[Numbers, ByDlpack, ByCuda],
        values: Any = None,
        *,
        wait: bool,
        check: Optional[bool] = None,
        out: Tuple[Any, Any, Any],
    ) -> Any: ...
    @overload
    def insert(
        self, keys: Numbers, values: Any = None, *, wait: Literal[False], check: Optional[bool] = None, out: None = None
    ) -> Tuple[NumPyArray, NumPyArray, Values]: ...
    @overload
    def insert(
        self, keys: ArrayT, values: Any = None, *, wait: Literal[False], check: Optional[bool] = None, out: None = None
    ) -> Tuple[ArrayT, ArrayT, Union[ArrayT, Any]]: ...
    @overload
    def insert(
        self, keys: Any, values: Any = None, *, wait: bool, check: Optional[bool] = None, out: None = None
    ) -> Optional[Tuple[Any, Any, Any]]: ...
    def insert(
        self,
        keys: Any,
        values: Any = None,
        *,
        wait: bool = True,
        check: Optional[bool] = None,
        out: Optional[Tuple[Any, Any, Any]] = None,
    ) -> Any:
        """Inserts a pair for each key; a key that is present is treated by the spec's `duplicates`. A counter adds to its
        count, a filter notes the key.

        keys: (...) uint. values: (...) uint, as many, or one number for all; None for a set, and
        where a counter counts each key once.

        wait = True: returns None when the work is done, and raises `Full` where pairs found no room; the exception has
        those that are not in the table. wait = False: does not wait for a GPU, and returns (codes, keys, values): codes
        (...) uint8, a `Code` for each key; where it is NOT_PLACED, the other two hold at its index the pair that has no
        room, perhaps one that was in the table before. Their other items are not written. out: three such arrays, any
        of them None (then that part is not kept), with wait = False.

        check: with duplicates = promise_unique, whether a key that is repeated, or is in the table already, raises
        `BadArgument` before anything is inserted. It is False where it is not given, keys are on a GPU and wait = False. It sorts a copy of keys unless they
        ascend, and looks them up unless the table is new. If keys are known to be distinct, pass check = False. Times
        of 10^6 int64 keys, best_find_64, one Xeon thread, NumPy 1.24: the insert 22 ms, sorting 60 ms,
        comparing ascending ones 0.4 ms, looking up 12 ms.

        Where a table that grows cannot grow further, the exception has `unplaced`, (codes, keys, values) of
        the same meaning; items with code 0 were not worked on.
        """
        if out is not None and wait:
            raise BadArgument("out: needs wait = False: an insert that waits has no arrays to return")
        return self._insert(keys, values, wait, check, out)

    def _insert(
        self, keys: Any, values: Any, wait: bool, check: Optional[bool], out: Any, keeps_last: bool = False
    ) -> Any:
        """keeps_last: of a key that is repeated, only the last pair is inserted."""
        handle = self._begin()
        try:
            adapter, keys, memory = self._keys(keys)
            values, values_at = self._values(values, "values", adapter, keys, memory)
            if keeps_last and memory.size > 1 and values_at:
                keys, memory, values, values_at = self._last(adapter, keys, memory, values, values_at)
            if check is None:
                check = (wait or memory.device == HOST) and self._group is None
            if self._promises and check:
                self._check_unique(handle, adapter, keys, memory)
            self._is_fresh = False
            self._keep_keys()
            if self._adds and values_at and memory.size:
                added = self._added(handle, adapter, keys, memory, values, wait)
                if added is not None:
                    keys, memory, values, values_at = added
            spare = None
            if wait:
                spare, self._spare = self._spare, None  # so that it is gone where this call raises
                wanted = adapter, memory.device, memory.kind, memory.shape
                if spare is None or spare[0] != wanted:
                    spare = wanted, *self._handed_back(None, adapter, keys, memory)
                _, made, places = spare
            else:
                made, places = self._handed_back(out, adapter, keys, memory)
            self._set_call(*places)
            if library.tsr_insert(
                handle, memory.size, memory.pointer, values_at or None, self._at.call_at, self._at.error_at
            ):
                self._fail_insert(handle, adapter, made, wait)
            if not wait:
                self._finish()
                return made[0], self._answered(made[1]), self._decoded(made[2], out and out[2])
            self._raise_full(handle, adapter, *made)
            if memory.size <= _SPARE_ITEMS:
                self._spare = spare
            return None
        finally:
            self._end()

    def _last(
        self, adapter: Adapter, keys: Any, memory: Memory, values: Any, values_at: int
    ) -> Tuple[Any, Memory, Any, int]:
        """The last pair of each key."""
        from tessera._verbs import last_rows  # which imports this module

        theirs = adapter_of(values)
        rows = None if theirs is None else last_rows(keys, memory.size, memory.width)
        if rows is None or theirs is None:
            return keys, memory, values, values_at
        keys = keys.reshape(memory.size, -1)[rows]
        values = values.reshape(memory.size, -1)[rows]
        pointer, size = adapter.look(keys, "keys", False).pointer, len(rows)
        values_at = theirs.look(values, "values", False).pointer
        return keys, memory._replace(pointer=pointer, size=size, shape=(size,)), values, values_at

    def _handed_back(self, out: Any, adapter: Adapter, keys: Any, memory: Memory) -> Tuple[Any, List[int]]:
        """Arrays for codes and for pairs that are handed back, and their addresses. out: the caller's own; where one of
        several is None that part is not kept."""
        if out is not None and (not isinstance(out, tuple) or len(out) != 3):
            raise WrongType("out: is a tuple of three arrays, of which any may be None")
        made: List[Any] = []
        places: List[int] = []
        of_values = self._kind_of_values(memory)
        for i, (kinds, kind, width) in enumerate(
            (("u", "u", 1), ("ui", memory.kind, self._key_width), (self._out_kinds, of_values, self._value_width))
        ):
            mine = out[i] if out is not None else None
            is_number = self._kind == "index" and i == 2  # which nobody else has a use for
            if not width or is_number or (out is not None and mine is None):
                made.append(None)
                places.append(0)
                continue
            if self._row and i == 2:
                array, at, *_ = self._value_results(mine, "out[2]", adapter, keys, memory.shape, kind)
            else:
                array, at, _ = self._beside(mine, f"out[{i}]", adapter, keys, memory, kinds, kind, width)
            made.append(array)
            places.append(at)
        return tuple(made), places

    def _check_unique(self, handle: c_void_p, adapter: Adapter, keys: Any, memory: Memory) -> None:
        """Refuses keys that promise_unique forbids, which the table would keep twice."""
        again = adapter.repeated(keys)
        where = "is repeated"
        if again is None and not self._is_fresh and memory.size:
            mask, at, _ = self._beside(None, "mask", adapter, keys, memory, "bu", "b", 1)
            self._set_call()
            if library.tsr_contains(handle, memory.size, memory.pointer, at, self._at.call_at, self._at.error_at):
                self._fail()
            self._finish()
            again = adapter.first_of(keys, mask)
            where = "is in the table already"
        if again is not None:
            raise BadArgument(
                f"keys: {again} {where}, and duplicates = promise_unique promises that no key is inserted twice: create "
                'the table with settings={"table.duplicates": "first"} or "replace", or insert each key once'
            )

    def _added(
        self, handle: c_void_p, adapter: Adapter, keys: Any, memory: Memory, values: Any, wait: bool
    ) -> Optional[Tuple[Any, Memory, Any, int]]:
        """Other keys, their memory, values and their address, where an insert that adds gives such to the library. Warns of signed
        sums that it makes too large, since the library adds bits. While all values together have room nothing is looked up."""
        if wait and self._key_width <= 8 and adapter_of(values) is adapter and hasattr(values, "min"):
            if adapter.look(values, "values", False).kind == "i":
                self._watch_sums(handle, adapter, keys, memory, values)
        return None

    def _watch_sums(self, handle: c_void_p, adapter: Adapter, keys: Any, memory: Memory, values: Any) -> None:
        bits = 8 * self._value_width - 1
        self._sum_at_most += float(memory.size) * max(abs(int(values.min())), abs(int(values.max())))
        if self._sum_at_most < 2.0**bits:
            return
        from tessera._verbs import group_by  # which imports this module

        groups = group_by(keys.reshape(-1)).agg(total=(values.reshape(-1), "sum"))
        keys, totals = groups["key"], groups["total"]
        sums = self._found(handle, adapter, keys, adapter.look(keys, "keys", False), "i")
        after = sums + totals  # of 64 bits
        passed = (after >= 1 << bits) | (after < -(1 << bits)) if bits < 63 else ((sums ^ after) & (totals ^ after)) < 0
        if bool(passed.any()):
            warnings.warn(lib.sums_passed(int(passed.sum()), bits), OverflowWarning, stacklevel=6 + (type(self) is not Table))

    def _found(self, handle: c_void_p, adapter: Adapter, keys: Any, memory: Memory, kind: str) -> Any:
        """The values of keys, as `get`, within another call; 0 for absent ones."""
        made, at, *_ = self._value_results(None, "values", adapter, keys, memory.shape, kind)
        self._set_call()
        if library.tsr_find(handle, memory.size, memory.pointer, at, self._at.call_at, self._at.error_at):
            self._fail()
        self._finish()
        return made

    def build(self, keys: Any, values: Any = None, *, tries: int = 8, check: bool = True) -> None:
        """`insert` into an empty table that starts again with a new seed where a pair found no room, `tries` times in
        all. check: as of `insert`. Waits."""
        if not isinstance(tries, int) or not 1 <= tries < 1 << 32:
            raise BadArgument(f"tries = {tries!r}: is a whole number from 1 on")
        handle = self._begin()
        try:
            adapter, keys, memory = self._keys(keys)
            values, values_at = self._values(values, "values", adapter, keys, memory)
            if self._promises and check and self._group is None:
                self._check_unique(handle, adapter, keys, memory)
            self._is_fresh = False
            self._keep_keys()
            if self._adds and values_at and memory.size:
                added = self._added(handle, adapter, keys, memory, values, True)
                if added is not None:
                    keys, memory, values, values_at = added
            made, places = self._handed_back(None, adapter, keys, memory)
            self._set_call(*places)
            if library.tsr_build(
                handle, memory.size, memory.pointer, values_at or None, self._at.call_at, tries, self._at.error_at
            ):
                self._fail_insert(handle, adapter, made)
            self._raise_full(handle, adapter, *made)
        finally:
            self._end()

    def _fail_insert(self, handle: c_void_p, adapter: Adapter, made: Tuple[Any, ...], wait: bool = True) -> NoReturn:
        """wait: there are arrays for all that is handed back. An insert that was done as far as memory went is `Full`."""
        try:
            self._fail()
        except Error as error:
            before = self._ungrown
            if isinstance(error, lib.NoMemory) and self._grows and self._read_report(handle).ungrown != before and wait:
                self._raise_handed_back(handle, adapter, _NO_MEMORY_TO_GROW, *made)
            if self._grows and made:
                error.unplaced = made  # type: ignore[attr-defined]
            raise

    def _raise_full(self, handle: c_void_p, adapter: Adapter, codes: Any, keys: Any, values: Any) -> None:
        before = self._not_placed
        if self._read_report(handle).not_placed != before:
            self._raise_handed_back(handle, adapter, "", codes, keys, values)

    def _raise_handed_back(
        self, handle: c_void_p, adapter: Adapter, why: str, codes: Any, keys: Any, values: Any
    ) -> None:
        mask = adapter.is_code(codes, _NOT_PLACED)
        keys = adapter.select(keys, mask)
        number = int(keys.shape[0])
        if number:
            slots = self._info().slots
            size = slots if self._group else self._size(handle)  # which all processes would have to ask for
            advice = 'create the table with a larger capacity or settings={"table.growth": "double"}, or rehash it'
            if size < slots // 4:
                advice = f"only {size} of {slots} slots hold a pair, since keys meet in few buckets; use another hasher"
                if self._duplicates == "promise_unique":
                    advice += ', or settings={"table.duplicates": "first"} if keys repeat'
            raise Full(
                f"{number} pair{'s' * (number > 1)} found no room: {why or advice}",
                keys,
                self._decoded(adapter.select(values, mask)) if values is not None else None,
            ) from None

    @overload
    def find_or_insert(
        self, keys: Numbers, values: Any = None, *, missing: Union[int, float] = 0, wait: Literal[True] = True, out: None = None
    ) -> Tuple[Values, Bools]: ...
    @overload
    def find_or_insert(
        self, keys: Numbers, values: Any = None, *, missing: Union[int, float] = 0, wait: bool = True, out: Any = None
    ) -> Tuple[Values, NumPyArray]: ...
    @overload
    def find_or_insert(
        self, keys: ArrayT, values: Any = None, *, missing: Union[int, float] = 0, wait: bool = True, out: Any = None
    ) -> Tuple[Union[ArrayT, Any], ArrayT]: ...
    def find_or_insert(
        self, keys: Any, values: Any = None, *, missing: Union[int, float] = 0, wait: bool = True, out: Any = None
    ) -> Tuple[Any, Any]:
        """Inserts the keys that are absent, with the values offered; returns (values, inserted): values (...) uint, the
        value that each key then has (None for a set), and inserted (...) bool. out: an array for the values. Waits, and
        raises `Full` as `insert` does; `missing` is what then stands in `out` for a key without room.

        wait = False: does not wait for a GPU, and returns (values, codes): a `Code` for each key, INSERTED, FOUND or
        NOT_PLACED. Where a table moves pairs, the pair without room may be another one, which is then lost."""
        handle = self._begin()
        try:
            adapter, keys, memory = self._keys(keys)
            self._keep_keys()
            values, values_at = self._values(values, "values", adapter, keys, memory)
            results, results_at, bits = None, 0, 0
            if self._value_width:
                results, results_at, kind, width = self._value_results(
                    out, "out", adapter, keys, memory.shape, self._kind_of_values(memory)
                )
                bits = self._missing(missing, kind, width)
            elif out is not None:
                raise BadArgument(f"out: a {self._kind} has no values: leave it out")
            made, places = self._handed_back(None, adapter, keys, memory)
            self._set_call(places[0], places[1], places[2], missing=bits)
            if library.tsr_find_or_insert(
                handle,
                memory.size,
                memory.pointer,
                values_at or None,
                results_at or None,
                self._at.call_at,
                self._at.error_at,
            ):
                self._fail_insert(handle, adapter, made)
            if not wait:
                self._finish()
                return self._decoded(results, out), made[0]
            self._raise_full(handle, adapter, *made)
            return self._decoded(results, out), adapter.is_code(made[0], int(Code.INSERTED))
        finally:
            self._end()

    # ---- An index ----------------------------------------------------------------------------------------------------

    def _need_index(self, operation: str) -> None:
        if self._kind != "index":
            raise lib.Unsupported(f"{operation}: a {self._kind} gives its keys no numbers: tessera.Index does")

    @overload
    def number(self, keys: Numbers, *, wait: bool = True, missing: int = -1, out: Any = None) -> NumPyArray: ...
    @overload
    def number(self, keys: ArrayT, *, wait: bool = True, missing: int = -1, out: Any = None) -> ArrayT: ...
    def number(self, keys: Any, *, wait: bool = True, missing: int = -1, out: Any = None) -> Any:
        """Of an index: the number of each key, (...) int32 or uint32, as keys are; keys that have none get one.

        wait = True: raises `Full` where keys found no room. wait = False: does not wait for a GPU, and such keys have
        the number `missing`. out: an array for the numbers."""
        handle = self._begin()
        try:
            self._need_index("number")
            adapter, keys, memory = self._keys(keys)
            self._keep_keys()
            numbers, at, _ = self._beside(out, "out", adapter, keys, memory, "ui", self._kind_of_values(memory), 4)
            made, places = self._handed_back(None, adapter, keys, memory) if wait else ((), [0, 0, 0])
            self._set_call(*places, missing=missing & 0xFFFFFFFF)
            if library.tsr_number(handle, memory.size, memory.pointer, at, self._at.call_at, self._at.error_at):
                self._fail_insert(handle, adapter, made, wait)
            if wait:
                self._raise_full(handle, adapter, *made)
            else:
                self._finish()
            return numbers
        finally:
            self._end()

    @overload
    def keys_by_number(
        self, start: int = 0, count: Optional[int] = None, *, missing: int = 0, like: Optional[NumPyArray] = None
    ) -> Tuple[NumPyArray, NumPyArray]: ...
    @overload
    def keys_by_number(
        self, start: int = 0, count: Optional[int] = None, *, missing: int = 0, like: ArrayT
    ) -> Tuple[ArrayT, ArrayT]: ...
    def keys_by_number(
        self, start: int = 0, count: Optional[int] = None, *, missing: int = 0, like: Any = None
    ) -> Tuple[Any, Any]:
        """Of an index: (keys, mask), the keys with the numbers start, start + 1, ..., as far as numbers were given, or
        `count` of them. keys (n) uint, `missing` where a number has no key; mask (n) bool, whether it has one. It reads
        all pairs, so ask for many at once. like: as of `items`. Waits."""
        handle = self._begin()
        try:
            self._need_index("keys_by_number")
            if start < 0 or start >> 32 or (count is not None and count < 0):
                raise BadArgument(f"start = {start}, count = {count}: pass numbers from 0 on")
            adapter, like = self._like(like)
            sign, device = self._sign_of(like, adapter)
            given = c_uint64()
            if library.tsr_numbers_given(handle, byref(given), self._at.error_at):
                self._fail()
            n = max(given.value - start, 0) if count is None else count
            if self._key_width == _wide_keys.BYTES and missing >> 64:
                raise BadArgument(f"missing = {missing}: is a number below 2^64")
            keys, keys_at, _ = self._result(None, "keys", adapter, like, (n,), "ui", sign, self._key_width)
            mask, mask_at, _ = self._result(None, "mask", adapter, like, (n,), "bu", "b", 1)
            adapter.synchronize(device)
            self._set_call(missing=_bits(missing, sign, self._key_width, "missing"), present=mask_at)
            if library.tsr_keys_by_number(handle, start, n, keys_at or None, self._at.call_at, self._at.error_at):
                self._fail()
            return self._answered(keys), mask
        finally:
            self._end()

    def numbers_given(self) -> int:
        """Of an index: how many numbers were given since the table was cleared; all are below it. Waits."""
        handle = self._begin()
        try:
            given = c_uint64()
            if library.tsr_numbers_given(handle, byref(given), self._at.error_at):
                self._fail()
            return given.value
        finally:
            self._end()

    @overload
    def evicted(self, *, like: Optional[NumPyArray] = None) -> Tuple[NumPyArray, NumPyArray]: ...
    @overload
    def evicted(self, *, like: ArrayT) -> Tuple[ArrayT, ArrayT]: ...
    def evicted(self, *, like: Any = None) -> Tuple[Any, Any]:
        """Of an index that evicts: (keys, numbers), the keys that the last call of `number` gave up, and the numbers that
        they had. keys (n) uint; numbers (n) int32 or uint32, in ascending order. like: as of `items`. Waits."""
        handle = self._begin()
        try:
            self._need_index("evicted")
            adapter, like = self._like(like)
            sign, device = self._sign_of(like, adapter)
            count = c_uint64()
            if library.tsr_evicted(handle, 0, None, None, byref(count), self._at.error_at):
                self._fail()
            n = count.value
            keys, keys_at, _ = self._result(None, "keys", adapter, like, (n,), "ui", sign, self._key_width)
            numbers, numbers_at, _ = self._result(None, "numbers", adapter, like, (n,), "ui", self._value_kind or sign, 4)
            adapter.synchronize(device)
            if n and library.tsr_evicted(handle, n, keys_at, numbers_at, byref(count), self._at.error_at):
                self._fail()
            return self._answered(keys), numbers
        finally:
            self._end()

    def _numbers(self, numbers: Any) -> Tuple[Adapter, Any, Memory]:
        """Numbers of keys as an array."""
        if adapter_of(numbers) is None:
            numbers = from_numbers(numbers, "numbers", 4)
        adapter, numbers, memory = self._keys_array(numbers, "numbers")
        if memory.width != 4 or memory.kind not in "ui":
            raise WrongType(f"numbers: is {name_of(memory.kind, memory.width)}: pass an array of int32 or uint32")
        self._note(memory, adapter, "numbers")
        return adapter, numbers, memory

    def _need_rows(self, operation: str) -> None:
        self._need_index(operation)
        if not self._number_row:
            raise lib.Unsupported(f'{operation}: the numbers have no rows: create it with tessera.Index(row=("float32", 16))')

    @overload
    def read_rows(self, numbers: Numbers, *, missing: Union[int, float] = 0, out: None = None) -> NumPyArray: ...
    @overload
    def read_rows(self, numbers: ArrayT, *, missing: Union[int, float] = 0, out: None = None) -> ArrayT: ...
    @overload
    def read_rows(self, numbers: Any, *, missing: Union[int, float] = 0, out: OutT) -> OutT: ...
    def read_rows(self, numbers: Any, *, missing: Union[int, float] = 0, out: Any = None) -> Any:
        """Of an index whose numbers have rows: (..., m), the row of each number. numbers (...) int32 or uint32; -1 has a row
        of `missing`. Items are uint8, or of the type that `Index` was given. The row of a number that was given again has
        what was written for the key before. out: an array for the rows, of items of any type."""
        handle = self._begin()
        try:
            self._need_rows("read_rows")
            adapter, numbers, memory = self._numbers(numbers)
            rows, at, kind, width = self._row_results(out, "out", adapter, numbers, memory.shape, self._number_row)
            self._set_call(missing=_bits_of_row(missing, kind, width) if missing else 0)
            if library.tsr_read_rows(handle, memory.size, memory.pointer, at, self._at.call_at, self._at.error_at):
                self._fail()
            self._finish()
            return rows
        finally:
            self._end()

    def write_rows(self, numbers: Any, rows: Any) -> None:
        """Of an index whose numbers have rows: writes rows (..., m), of items of any type, to the numbers (...). -1 is passed
        over. If a number is repeated, one of its rows is written, whole."""
        handle = self._begin()
        try:
            self._need_rows("write_rows")
            _, numbers, memory = self._numbers(numbers)
            rows, at = self._rows(rows, "rows", memory, self._number_row)
            self._set_call()
            if library.tsr_write_rows(handle, memory.size, memory.pointer, at, self._at.call_at, self._at.error_at):
                self._fail()
            self._finish()
        finally:
            self._end()

    def touch(self, numbers: Any) -> None:
        """Of an index that evicts: counts a use of the keys that have these numbers, as `number` does. `find` and `get`
        count none. numbers (...) int32 or uint32; those that no key has are passed over, -1 too."""
        handle = self._begin()
        try:
            self._need_index("touch")
            _, numbers, memory = self._numbers(numbers)
            if library.tsr_touch(handle, memory.size, memory.pointer, self._at.stream, self._at.error_at):
                self._fail()
            self._finish()
        finally:
            self._end()

    @overload
    def unique(
        self, keys: Numbers, *, return_inverse: bool = True, return_counts: bool = True, keep: bool = False
    ) -> Tuple[NumPyArray, Values, Union[Int64s, Any]]: ...
    @overload
    def unique(
        self, keys: ArrayT, *, return_inverse: bool = True, return_counts: bool = True, keep: bool = False
    ) -> Tuple[ArrayT, Union[ArrayT, Any], Union[ArrayT, Any]]: ...
    def unique(
        self, keys: Any, *, return_inverse: bool = True, return_counts: bool = True, keep: bool = False
    ) -> Tuple[Any, Optional[Any], Optional[Any]]:
        """Of an index, which is cleared first: (unique, inverse, counts). unique (d): the distinct keys in the order of
        their numbers, which with numbering = first_seen is that of their first items. inverse (...) int32 or uint32:
        unique[inverse] are the keys. counts (d) int64: how often each occurs. None stands for a part that is not
        returned, which takes no memory. keep: whether the table has the keys afterwards; otherwise it is empty, and on the
        CPU, and on a GPU with numbering = any, it needs no capacity for them. Waits."""
        handle = self._begin()
        try:
            self._need_index("unique")
            adapter, keys, memory = self._keys(keys)
            self._keep_keys()
            shape = (memory.size,)
            unique, unique_at, _ = self._result(None, "keys", adapter, keys, shape, "ui", memory.kind, self._key_width)
            inverse, counts, inverse_at, counts_at = None, None, 0, 0
            if return_inverse:
                of_numbers = self._kind_of_values(memory)
                inverse, inverse_at, _ = self._beside(None, "inverse", adapter, keys, memory, "ui", of_numbers, 4)
            if return_counts:
                counts, counts_at, _ = self._result(None, "counts", adapter, keys, shape, "i", "i", 8)
            arrays = lib.UniqueArrays(
                ctypes.sizeof(lib.UniqueArrays),
                self._at.stream,
                unique_at,
                inverse_at or None,
                counts_at or None,
                memory.size,
                keep,
            )
            count = c_uint64()
            if library.tsr_unique(handle, memory.size, memory.pointer, byref(arrays), byref(count), self._at.error_at):
                self._fail()
            return self._answered(unique[: count.value]), inverse, None if counts is None else counts[: count.value]
        finally:
            self._end()

    # ---- Looking up --------------------------------------------------------------------------------------------------

    @overload
    def find(
        self, keys: Numbers, *, missing: Union[int, float] = 0, out: None = None
    ) -> Tuple[NumPyArray, Bools]: ...
    @overload
    def find(
        self, keys: Numbers, *, missing: Union[int, float] = 0, out: Tuple[Any, Any]
    ) -> Tuple[NumPyArray, NumPyArray]: ...
    @overload
    def find(self, keys: ArrayT, *, missing: Union[int, float] = 0, out: Any = None) -> Tuple[ArrayT, ArrayT]: ...
    def find(self, keys: Any, *, missing: Union[int, float] = 0, out: Any = None) -> Tuple[Any, Any]:
        """(values, mask): values (...) uint, the value of each key, or `missing`; in a multimap any one of its values.
        mask (...) bool, whether the key is there. out: (values, mask), any of them None; values may be of floats."""
        handle = self._begin(reads=True)
        try:
            self._need_values("find")
            adapter, keys, memory = self._keys(keys)
            kind, width = self._kind_of_values(memory), self._value_width
            out_values, out_mask = _pair(out)
            if out is None and not self._row:
                values, values_at, mask, mask_at = adapter.pair(keys, memory, kind, width)
            else:
                values, values_at, kind, width = self._value_results(
                    out_values, "out[0]", adapter, keys, memory.shape, kind
                )
                mask, mask_at, _ = self._beside(out_mask, "out[1]", adapter, keys, memory, "bu", "b", 1)
            self._set_call(missing=self._missing(missing, kind, width), present=mask_at)
            if library.tsr_find(handle, memory.size, memory.pointer, values_at, self._at.call_at, self._at.error_at):
                self._fail()
            self._finish()
            return self._decoded(values, out_values), mask
        finally:
            self._end()

    @overload
    def get(self, keys: int, missing: Union[int, float] = 0, *, out: None = None) -> Any: ...
    @overload
    def get(self, keys: Numbers, missing: Union[int, float] = 0, *, out: Any = None) -> NumPyArray: ...
    @overload
    def get(self, keys: ArrayT, missing: Union[int, float] = 0, *, out: Any = None) -> ArrayT: ...
    def get(self, keys: Any, missing: Union[int, float] = 0, *, out: Any = None) -> Any:
        """The values of `find` alone: the fastest look-up. values (...) uint; a number for a number."""
        handle = self._begin(reads=True)
        try:
            self._need_values("get")
            one = isinstance(keys, int) or self._is_one_key(keys)
            adapter, keys, memory = self._keys(keys)
            kind, width = self._kind_of_values(memory), self._value_width
            if self._row:
                values, at, kind, width = self._value_results(out, "out", adapter, keys, memory.shape, kind)
            else:
                values, at, kind = self._beside(out, "out", adapter, keys, memory, self._out_kinds, kind, width)
            self._set_call(missing=self._missing(missing, kind, width))
            if library.tsr_find(handle, memory.size, memory.pointer, at, self._at.call_at, self._at.error_at):
                self._fail()
            self._finish()
            values = self._decoded(values, out)
            return values.item() if one and out is None and not self._row else values
        finally:
            self._end()

    @overload
    def contains(self, keys: Numbers, *, out: None = None) -> Bools: ...
    @overload
    def contains(self, keys: Numbers, *, out: OutT) -> OutT: ...
    @overload
    def contains(self, keys: ArrayT, *, out: Any = None) -> ArrayT: ...
    def contains(self, keys: Any, *, out: Any = None) -> Any:
        """mask (...) bool: whether each key is there; of a filter, whether it may be."""
        handle = self._begin(reads=True)
        try:
            adapter, keys, memory = self._keys(keys)
            mask, at, _ = self._beside(out, "out", adapter, keys, memory, "bu", "b", 1)
            self._set_call()
            if library.tsr_contains(handle, memory.size, memory.pointer, at, self._at.call_at, self._at.error_at):
                self._fail()
            self._finish()
            return mask
        finally:
            self._end()

    @overload
    def count(self, keys: Numbers, *, out: None = None) -> Int64s: ...
    @overload
    def count(self, keys: Numbers, *, out: OutT) -> OutT: ...
    @overload
    def count(self, keys: ArrayT, *, out: Any = None) -> ArrayT: ...
    def count(self, keys: Any, *, out: Any = None) -> Any:
        """counts (...) int64: the number of pairs of each key; 0 or 1 but in a multiset or multimap."""
        handle = self._begin(reads=True)
        try:
            adapter, keys, memory = self._keys(keys)
            counts, at, _ = self._beside(out, "out", adapter, keys, memory, "ui", "i", 8)
            self._set_call()
            if library.tsr_count_all(handle, memory.size, memory.pointer, at, self._at.call_at, self._at.error_at):
                self._fail()
            self._finish()
            return counts
        finally:
            self._end()

    @overload
    def find_all(self, keys: Numbers, *, out: None = None) -> Tuple[Int64s, NumPyArray]: ...
    @overload
    def find_all(self, keys: Numbers, *, out: Tuple[Any, Any]) -> Tuple[NumPyArray, NumPyArray]: ...
    @overload
    def find_all(self, keys: ArrayT, *, out: Any = None) -> Tuple[ArrayT, ArrayT]: ...
    def find_all(self, keys: Any, *, out: Any = None) -> Tuple[Any, Any]:
        """(offsets, values): all values of each key, in no order. offsets (n + 1) int64; the values of the i-th key
        are values[offsets[i]:offsets[i + 1]]. values (offsets[n]) uint.

        Waits for the number of values. With out = (offsets, values) it does not: values that have no room there are not
        written, and offsets[n] says how many there are."""
        handle = self._begin(reads=True)
        try:
            self._need_values("find_all")
            adapter, keys, memory = self._keys(keys)
            out_offsets, out_values = _pair(out)
            if len(memory.shape) > 1:
                raise BadArgument(f"keys: has shape {tuple(memory.shape)}, and offsets have one axis: pass keys.reshape(-1)")
            n, kind = memory.size, self._kind_of_values(memory)
            offsets, offsets_at, _ = self._result(out_offsets, "out[0]", adapter, keys, (n + 1,), "ui", "i", 8)
            if out_values is None:
                self._set_call()
                if library.tsr_find_all(handle, n, memory.pointer, offsets_at, 0, None, self._at.call_at, self._at.error_at):
                    self._fail()
                self._finish()
                room = int(offsets.reshape(n + 1)[n])
            else:
                theirs = adapter_of(out_values)
                if theirs is None:
                    raise WrongType(f"out[1]: is {type(out_values).__name__}: pass an array")
                found = theirs.look(out_values, "out[1]", True)
                room = found.size * found.width // self._row if self._row else found.size
            values, values_at, *_ = self._value_results(out_values, "out[1]", adapter, keys, (room,), kind)
            self._set_call()
            if room or out_values is not None:
                if library.tsr_find_all(
                    handle,
                    n,
                    memory.pointer,
                    offsets_at,
                    room,
                    values_at if room else None,
                    self._at.call_at,
                    self._at.error_at,
                ):
                    self._fail()
                self._finish()
            return offsets, self._decoded(values, out_values)
        finally:
            self._end()

    # ---- Erasing, and operations of all kinds ------------------------------------------------------------------------

    @overload
    def erase(self, keys: Numbers, *, out: None = None) -> Bools: ...
    @overload
    def erase(self, keys: Numbers, *, out: OutT) -> OutT: ...
    @overload
    def erase(self, keys: ArrayT, *, out: Any = None) -> ArrayT: ...
    def erase(self, keys: Any, *, out: Any = None) -> Any:
        """Removes keys, with all their pairs. mask (...) bool: whether there was something to remove; of equal keys in
        one call one is told so, in a multiset or multimap at least one. Of a cuckoo filter each item takes back one insert
        of its key: erase only keys that were inserted."""
        handle = self._begin()
        try:
            adapter, keys, memory = self._keys(keys)
            mask, at, _ = self._beside(out, "out", adapter, keys, memory, "bu", "b", 1)
            self._set_call(present=at)
            if library.tsr_erase(handle, memory.size, memory.pointer, self._at.call_at, self._at.error_at):
                self._fail()
            self._finish()
            return mask
        finally:
            self._end()

    @overload
    def erase_pairs(self, keys: Numbers, values: Any = None, *, out: None = None) -> Bools: ...
    @overload
    def erase_pairs(self, keys: Numbers, values: Any = None, *, out: OutT) -> OutT: ...
    @overload
    def erase_pairs(self, keys: ArrayT, values: Any = None, *, out: Any = None) -> ArrayT: ...
    def erase_pairs(self, keys: Any, values: Any = None, *, out: Any = None) -> Any:
        """Removes one pair for each item: one that has this value, or with values = None any one. mask (...) bool."""
        handle = self._begin()
        try:
            adapter, keys, memory = self._keys(keys)
            values_at = 0
            if values is not None:
                values, values_at = self._values(values, "values", adapter, keys, memory, False)
            mask, at, _ = self._beside(out, "out", adapter, keys, memory, "bu", "b", 1)
            self._set_call(present=at)
            if library.tsr_erase_pairs(
                handle, memory.size, memory.pointer, values_at or None, self._at.call_at, self._at.error_at
            ):
                self._fail()
            self._finish()
            return mask
        finally:
            self._end()

    @overload
    def apply(
        self,
        operations: Any,
        keys: Numbers,
        values: Any = None,
        *,
        missing: Union[int, float] = 0,
        check: bool = True,
        out: Any = None,
    ) -> Tuple[Values, NumPyArray]: ...
    @overload
    def apply(
        self,
        operations: Any,
        keys: ArrayT,
        values: Any = None,
        *,
        missing: Union[int, float] = 0,
        check: bool = True,
        out: Any = None,
    ) -> Tuple[Union[ArrayT, Any], ArrayT]: ...
    def apply(
        self,
        operations: Any,
        keys: Any,
        values: Any = None,
        *,
        missing: Union[int, float] = 0,
        check: bool = True,
        out: Any = None,
    ) -> Tuple[Any, Any]:
        """Does operations[i] (an `Op`) with keys[i], all at once, each as if at one moment; only with concurrency =
        mixed. operations: (...) uint8. values: (...) uint, what inserts and replaces offer.

        (values, codes): values (...) uint, what the finds found, or `missing`; other items are not written (None for a
        set). codes (...) uint8: a `Code` for each item; where it is NOT_PLACED, the item's own pair has no room, since
        mixed tables move no pairs. out: (values, codes), any of them None. check: with duplicates = promise_unique it is
        False: nobody looks whether keys are repeated."""
        handle = self._begin()
        try:
            if self._promises and check:
                raise BadArgument(
                    "check = True: apply does not look whether keys are repeated, and duplicates = promise_unique: pass "
                    "check = False where they are distinct, or create the table with "
                    'settings={"table.duplicates": "first"}'
                )
            adapter, keys, memory = self._keys(keys)
            theirs = adapter_of(operations)
            if theirs is None:
                operations = np.asarray(operations, dtype=np.uint8)
                theirs = NUMPY
            found = theirs.look(operations, "operations", False)
            if found.kind != "u" or found.width != 1 or found.size != memory.size:
                raise WrongType(
                    f"operations: is {found.size} of {name_of(found.kind, found.width)}: pass a uint8 for each key"
                )
            self._note(found, theirs, "operations")
            values_at, results, results_at, bits = 0, None, 0, 0
            out_values, out_codes = _pair(out)
            if self._value_width:
                offered, stored = (0, False) if values is None else (values, True)
                values, values_at = self._values(offered, "values", adapter, keys, memory, stored)
                kind = self._kind_of_values(memory)
                results, results_at, kind = self._beside(
                    out_values, "out[0]", adapter, keys, memory, self._out_kinds, kind, self._value_width
                )
                bits = self._missing(missing, kind, self._value_width)
            elif values is not None:
                raise BadArgument(f"values: a {self._kind} has no values: leave them out")
            codes, codes_at, _ = self._beside(out_codes, "out[1]", adapter, keys, memory, "u", "u", 1)
            self._set_call(codes_at, missing=bits)
            self._is_fresh = False
            self._keep_keys()
            if library.tsr_apply(
                handle,
                memory.size,
                found.pointer,
                memory.pointer,
                values_at or None,
                results_at or None,
                self._at.call_at,
                self._at.error_at,
            ):
                self._fail()
            self._finish()
            return self._decoded(results, out_values), codes
        finally:
            self._end()

    # ---- As a dict ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of pairs. Waits."""
        handle = self._begin()
        try:
            return self._size(handle)
        finally:
            self._end()

    def _size(self, handle: c_void_p) -> int:
        size = c_uint64()
        if library.tsr_size(handle, byref(size), self._at.error_at):
            self._fail()
        return size.value

    def __contains__(self, key: object) -> bool:
        is_wide = self._is_one_key(key) or (self._key_width == _wide_keys.BYTES and isinstance(key, _wide_keys.ONE))
        if adapter_of(key) is not None or not (is_wide or isinstance(key, (int, np.integer))):
            raise WrongType("`in` asks for one whole number: table.contains(keys) answers for an array of them")
        return bool(self.contains(key))

    @overload
    def __getitem__(self, keys: int) -> Any: ...
    @overload
    def __getitem__(self, keys: Numbers) -> NumPyArray: ...
    @overload
    def __getitem__(self, keys: ArrayT) -> ArrayT: ...
    def __getitem__(self, keys: Any) -> Any:
        """As `get`, but raises `Missing`, a KeyError, where a key is absent. Waits."""
        one = isinstance(keys, _wide_keys.ONE if self._key_width == _wide_keys.BYTES else (int, np.integer))
        one = one or self._is_one_key(keys)
        keys = self._array(keys)
        values, mask = self.find(keys)
        self._need_all(keys, mask)
        return values.item() if one and not self._row else values

    def __setitem__(self, keys: Any, values: Any) -> None:
        """Replaces the values of these keys, or inserts them; only with duplicates = replace. Of a key that is repeated
        in one call the last value stays, as in a dict. To find repeated keys takes a look at all keys: `insert` does
        without, and any one value stays. So it is here with arrays of Numba."""
        if self._duplicates != "replace":
            kept = f"duplicates = {self._duplicates}" if self._kind in ("map", "set") else f"a {self._kind}"
            raise lib.Unsupported(
                f"table[keys] = values replaces, and this table does not ({kept}): use table.insert(keys, values), or "
                'create a map with settings={"table.duplicates": "replace"}'
            )
        self._insert(keys, values, True, None, None, keeps_last=True)

    def __delitem__(self, keys: Any) -> None:
        """`erase` that raises `Missing`, a KeyError, where a key is absent; then nothing is removed. Waits."""
        keys = self._array(keys)
        self._need_all(keys, self.contains(keys))
        self.erase(keys)

    @overload
    def pop(self, keys: int, missing: Any = ...) -> Any: ...
    @overload
    def pop(self, keys: Numbers, missing: Union[int, float] = ...) -> NumPyArray: ...
    @overload
    def pop(self, keys: ArrayT, missing: Union[int, float] = ...) -> ArrayT: ...
    def pop(self, keys: Any, missing: Any = ...) -> Any:
        """The values of these keys, which are then removed: as `table[keys]`, or with `missing` as `get`; None only for one key.
        Waits."""
        if missing is None:
            if keys not in self:
                return None
            missing = ...
        keys = keys if isinstance(keys, int) else self._array(keys)
        values = self[keys] if missing is ... else self.get(keys, missing)
        self.erase(keys)
        return values

    def update(self, keys: Any, values: Any = None) -> None:
        """table[keys] = values; or, alone, that of all pairs of a Table or a dict. Of a repeated key the last value stays."""
        if values is None:
            if not isinstance(keys, (Table, Mapping)):
                raise WrongType(f"keys: is {type(keys).__name__}: pass a Table, a dict, or keys and values")
            keys, values = keys.items() if isinstance(keys, Table) else (list(keys), list(keys.values()))
        self[keys] = values

    def _array(self, keys: Any) -> Any:
        return self._keys_array(keys, "keys")[1]

    def _need_all(self, keys: Any, mask: Any) -> None:
        adapter = adapter_of(keys)
        assert adapter is not None
        absent = self._of_keys(adapter).first(keys, mask)
        if absent is not None:
            raise Missing(
                f"the key {absent} is not in the table: table.get answers absent keys with a value of your own"
            )

    @overload
    def keys(self, *, like: Optional[NumPyArray] = None) -> NumPyArray: ...
    @overload
    def keys(self, *, like: ArrayT) -> ArrayT: ...
    def keys(self, *, like: Any = None) -> Any:
        """All keys, as `items` returns them. Waits."""
        return self.items(like=like)[0]

    @overload
    def values(self, *, like: Optional[NumPyArray] = None) -> NumPyArray: ...
    @overload
    def values(self, *, like: ArrayT) -> ArrayT: ...
    def values(self, *, like: Any = None) -> Any:
        """All values, as `items` returns them: in the order of `keys` while the table stays as it is. Waits."""
        self._need_values("values")
        return self.items(like=like)[1]

    def __iter__(self) -> Iterator[int]:
        """All keys, as numbers; of a multiset or multimap once for each pair. Waits."""
        keys = self.items()[0]
        if isinstance(keys, np.ndarray) and keys.dtype.kind == "O":
            return iter(keys.tolist())
        if isinstance(keys, (tuple, dict)):
            return zip(*(column.tolist() for column in (keys.values() if isinstance(keys, dict) else keys)))
        return _wide_keys.to_numbers(keys) if self._key_width == _wide_keys.BYTES else iter(keys.tolist())

    @overload
    def items(self, *, like: Optional[NumPyArray] = None) -> Tuple[NumPyArray, Values]: ...
    @overload
    def items(self, *, like: ArrayT) -> Tuple[ArrayT, Union[ArrayT, Any]]: ...
    def items(self, *, like: Any = None) -> Tuple[Any, Any]:
        """(keys, values): all pairs, in no order, as two arrays (n) uint; values is None for a set. Arrays of NumPy, or
        of the library and device of the array `like`. Waits."""
        handle = self._begin()
        try:
            adapter, like = self._like(like)
            sign, device = self._sign_of(like, adapter)
            size = self._size(handle)
            keys, keys_at, _ = self._result(None, "keys", adapter, like, (size,), "ui", sign, self._key_width)
            values, values_at = None, 0
            if self._value_width:
                kind = self._value_kind or sign
                values, values_at, *_ = self._value_results(None, "values", adapter, like, (size,), kind)
            adapter.synchronize(device)
            count = c_uint64()
            if library.tsr_export(handle, size, keys_at or None, values_at or None, byref(count), self._at.error_at):
                self._fail()
            return self._answered(keys), self._decoded(values)
        finally:
            self._end()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """All pairs as the columns "key" and "value" of Arrow: `pyarrow.table(table)`, `polars.DataFrame(table)`. Waits."""
        keys, values = self.items()
        return Arrow({"key": keys} if values is None else {"key": keys, "value": values}).__arrow_c_stream__()

    def _like(self, like: Any) -> Tuple[Adapter, Any]:
        adapter = NUMPY if like is None else adapter_of(like)
        if adapter is None:
            raise WrongType(f"like: is {type(like).__name__}: pass an array")
        return self._of_keys(adapter), like

    def _of_keys(self, adapter: Adapter) -> Adapter:
        """The adapter for keys of this table's width."""
        return _wide_keys.RowsAdapter.of(adapter) if self._key_width == _wide_keys.BYTES else adapter

    def _sign_of(self, like: Any, adapter: Adapter) -> Tuple[str, int]:
        """The kind of keys that are returned like this array, and the device on which they are."""
        if like is None:
            return self._key_kind or "u", HOST
        memory = adapter.look(like, "like", False)
        self._note(memory, adapter, "like")
        kind = self._key_kind if self._key_width != _wide_keys.BYTES else None  # of wide keys that of their halves
        return kind or ("i" if memory.kind == "i" else "u"), memory.device

    @overload
    def join(
        self, other: "Table", how: JoinOfPairs = ..., *, missing: Union[int, float] = ..., saturate: bool = ..., dtype: Any = ..., like: Optional[NumPyArray] = ...
    ) -> Tuple[NumPyArray, Values, Values]: ...
    @overload
    def join(
        self, other: "Table", how: JoinOfPairs = ..., *, missing: Union[int, float] = ..., saturate: bool = ..., dtype: Any = ..., like: ArrayT
    ) -> Tuple[ArrayT, Union[ArrayT, Any], Union[ArrayT, Any]]: ...
    @overload
    def join(
        self, other: "Table", how: JoinOfSide, *, missing: Union[int, float] = ..., saturate: bool = ..., dtype: Any = ..., like: Optional[NumPyArray] = ...
    ) -> Tuple[NumPyArray, Values, None]: ...
    @overload
    def join(
        self, other: "Table", how: JoinOfSide, *, missing: Union[int, float] = ..., saturate: bool = ..., dtype: Any = ..., like: ArrayT
    ) -> Tuple[ArrayT, Union[ArrayT, Any], None]: ...
    @overload
    def join(
        self, other: "Table", how: JoinOfKeys, *, missing: Union[int, float] = ..., saturate: bool = ..., dtype: Any = ..., like: Optional[NumPyArray] = ...
    ) -> Tuple[NumPyArray, None, None]: ...
    @overload
    def join(
        self, other: "Table", how: JoinOfKeys, *, missing: Union[int, float] = ..., saturate: bool = ..., dtype: Any = ..., like: ArrayT
    ) -> Tuple[ArrayT, None, None]: ...
    @overload
    def join(
        self, other: "Table", how: JoinOfSums, *, missing: Union[int, float] = ..., saturate: bool = ..., dtype: Any = ..., like: Optional[NumPyArray] = ...
    ) -> Tuple[NumPyArray, None, NumPyArray]: ...
    @overload
    def join(
        self, other: "Table", how: JoinOfSums, *, missing: Union[int, float] = ..., saturate: bool = ..., dtype: Any = ..., like: ArrayT
    ) -> Tuple[ArrayT, None, ArrayT]: ...
    @overload
    def join(
        self, other: "Table", how: Literal["count"], *, missing: Union[int, float] = ..., saturate: bool = ..., dtype: Any = ..., like: Optional[NumPyArray] = ...
    ) -> Tuple[NumPyArray, None, Int64s]: ...
    @overload
    def join(
        self, other: "Table", how: Literal["count"], *, missing: Union[int, float] = ..., saturate: bool = ..., dtype: Any = ..., like: ArrayT
    ) -> Tuple[ArrayT, None, ArrayT]: ...
    @overload
    def join(
        self, other: "Table", how: JoinKind = ..., *, missing: Union[int, float] = ..., saturate: bool = ..., dtype: Any = ..., like: Optional[NumPyArray] = ...
    ) -> Tuple[NumPyArray, Values, Values]: ...
    @overload
    def join(
        self, other: "Table", how: JoinKind = ..., *, missing: Union[int, float] = ..., saturate: bool = ..., dtype: Any = ..., like: ArrayT
    ) -> Tuple[ArrayT, Union[ArrayT, Any], Union[ArrayT, Any]]: ...
    def join(
        self,
        other: "Table",
        how: JoinKind = "inner",
        *,
        missing: Union[int, float] = 0,
        saturate: bool = False,
        dtype: Any = None,
        like: Any = None,
    ) -> Tuple[Any, Any, Any]:
        """The rows of the pairs of this table and another one that have the same key, in no order: (keys, left_values,
        right_values), arrays (rows) uint; a part that there is not is None.

        how: "inner"; "left", which has also the pairs of this table whose key is absent in the other, with `missing`
        for the right value; "right", the same the other way round; "outer", with the pairs of both; "semi" and "anti", the pairs of this table whose key is present, or absent, in the other.
        Keys without values, each once: "union"; "intersect"; "difference", those of this table alone. "sum", "min", "max"
        and "count": the keys of both tables, each once, and as right_values that of all values that the other table has
        for it, of 8 bytes: counts int64; the others uint64, int64 or float64, as the values are.

        dtype: of the other table's values, for "sum", "min" and "max". It is needed where values of several types were
        inserted, and after `load`, since a file has no types. Signed and float values are sorted by key and combined by
        NumPy, on the host. A sum past 2^64 - 1, or of signed values past 63 bits, is wrong, modulo 2^64, and an
        `OverflowWarning` says how many there are; with saturate = True unsigned ones stop there. like: as of `items`.
        Waits."""
        need_word("how", how, _JOINS, "; did you mean outer?" if str(how) in ("full", "full_outer") else "")
        if saturate and how != "sum":
            raise BadArgument(f"saturate = True: only sums can overflow, and how = {how!r}: leave it out")
        if not isinstance(other, Table):
            raise WrongType(f"other: is a {type(other).__name__}: pass a Table; tessera.merge(left, right) joins columns and frames")
        with self._with(other) as (handle, theirs):
            combined = other._dtype_of_values(dtype) if how in ("sum", "min", "max") else _UNSIGNED
            if how == "right":
                keys, right, left = other._join(theirs, handle, self, "left", missing, False, like)
                return keys, left, right
            if how == "outer":
                return self._outer(handle, theirs, other, missing, like)
            if combined.kind == "u":
                return self._join(handle, theirs, other, how, missing, saturate, like)
            if saturate:
                raise BadArgument(f"saturate = True: stops unsigned sums, and the values are {combined}: leave it out")
            return self._combine(handle, theirs, other, how, combined, like)

    @contextmanager
    def _with(self, other: "Table") -> Iterator[Tuple[c_void_p, c_void_p]]:
        """The handles of this table and another one, with the locks of both, taken in the same order by all threads."""
        tables = [self] if other is self else sorted((self, other), key=id)
        with ExitStack() as held:
            handles = {}
            for table in tables:
                handles[table] = table._begin()
                held.callback(table._end)
            yield handles[self], handles[other]

    def _dtype_of_values(self, dtype: Any) -> "np.dtype[Any]":
        """What the bits of this table's values are, for a join that calculates with them."""
        width = self._value_width
        if self._row or not width or self._kind in ("counter", "index"):
            return _UNSIGNED
        names = [name_of(kind, width) for kind in "uif"]
        choice = " or ".join(map(repr, names))
        if dtype is not None:
            try:
                made = dtype_of(dtype)
            except TypeError:
                raise WrongType(f"dtype = {dtype!r}: pass {choice}") from None
            if made.name not in names:
                raise WrongType(f"dtype = {made.name!r}: values are of {8 * width} bits: pass {choice}")
            return made
        kinds = self._value_kinds
        if kinds is None:
            why = "was loaded from a file, which does not have the type of its values"
            raise BadArgument(f"other: {why}: pass dtype = {choice}")
        if _ANY in kinds and "f" not in kinds:
            kinds = kinds - {_ANY}
        if len(kinds) > 1:
            types = " and as ".join("int" if kind == _ANY else name_of(kind, width) for kind in sorted(kinds))
            raise BadArgument(f"other: has values that were inserted as {types}: pass dtype = {choice}")
        return np.dtype(f"{next(iter(kinds), 'u')}{width}")

    def _combine(
        self, left: c_void_p, right: c_void_p, other: "Table", kind: str, dtype: "np.dtype[Any]", like: Any
    ) -> Tuple[Any, Any, Any]:
        """What `join` combines where values are signed or floats: the library would take them for unsigned numbers."""
        adapter, like = self._like(like)
        sign, _ = self._sign_of(like, adapter)
        if adapter is not NUMPY:
            raise BadArgument(
                f"like: values of {dtype} are combined on the host: leave it out, and copy what is returned"
            )
        keys, bits, _ = other._join(right, left, self, "semi", 0, False, None)
        wide = np.dtype(np.int64 if dtype.kind == "i" else np.float64)
        values = bits.view(dtype).astype(wide)
        order = np.argsort(keys, kind="stable")
        keys, values = keys[order], values[order]
        starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if keys.size else np.empty(0, np.intp)
        combine: np.ufunc = {"sum": np.add, "min": np.minimum, "max": np.maximum}[kind]
        combined = combine.reduceat(values, starts) if keys.size else values
        if kind == "sum" and wide.kind == "i" and keys.size:
            passed = int((np.abs(np.add.reduceat(values.astype(np.float64), starts)) >= 2.0**63).sum())
            if passed:
                warnings.warn(lib.sums_passed(passed, 63), OverflowWarning, stacklevel=4)
        return keys[starts].view(f"{sign}{self._key_width}"), None, combined

    def _join(
        self,
        left: c_void_p,
        right: c_void_p,
        other: "Table",
        kind: JoinKind,
        missing: Union[int, float],
        saturate: bool,
        like: Any,
    ) -> Tuple[Any, Any, Any]:
        adapter, like = self._like(like)
        sign, device = self._sign_of(like, adapter)
        number = _JOINS.index(kind)
        count = c_uint64()
        if library.tsr_join(left, right, number, None, byref(count), self._at.error_at):
            self._fail()
        rows = lib.JoinRows(size=ctypes.sizeof(lib.JoinRows), room=count.value)
        keys, at, _ = self._result(None, "keys", adapter, like, (count.value,), "ui", sign, self._key_width)
        rows.keys = at
        left_values = right_values = None
        if self._value_width and kind in _JOINS_OF_PAIRS:
            of_left = self._value_kind or sign
            left_values, at, *_ = self._value_results(None, "left_values", adapter, like, (count.value,), of_left)
            rows.left_values = at
        if other._value_width and kind in ("inner", "left"):
            right_values, at, kind_of_values, width = other._value_results(
                None, "right_values", adapter, like, (count.value,), other._value_kind or sign
            )
            rows.right_values = at
            rows.missing = other._missing(missing, kind_of_values, width)
        if kind in _AGGREGATES:
            kind_of_values = "i" if kind == "count" else other._value_kind or sign
            right_values, at, _ = self._result(
                None, "aggregates", adapter, like, (count.value,), "ui", kind_of_values, 8
            )
            rows.aggregates = at
        overflowed = c_uint64()
        if kind == "sum":
            rows.overflowed = ctypes.addressof(overflowed)
            rows.saturates = saturate
            if saturate and kind_of_values == "i":
                raise WrongType("like: is signed, and saturate = True adds unsigned numbers: pass an array of uint")
        adapter.synchronize(device)
        if count.value and library.tsr_join(left, right, number, byref(rows), byref(count), self._at.error_at):
            self._fail()
        if overflowed.value and not saturate and kind_of_values == "u":
            warnings.warn(
                lib.sums_passed(overflowed.value, 64) + ". Pass saturate=True, which stops sums there",
                OverflowWarning,
                stacklevel=4,
            )
        if kind not in _AGGREGATES:
            right_values = other._decoded(right_values)
        answered = self._answered_of(keys, other) if kind == "union" else self._answered(keys)
        return answered, self._decoded(left_values), right_values

    def _answered_of(self, keys: Any, other: "Table") -> Any:
        """`_answered` for keys that this table or another one has."""
        return self._answered(keys)

    def _outer(
        self, left: c_void_p, right: c_void_p, other: "Table", missing: Union[int, float], like: Any
    ) -> Tuple[Any, Any, Any]:
        """The rows of a left join, and behind them those of the other table whose key is absent in this one."""
        adapter, like = self._like(like)
        sign, device = self._sign_of(like, adapter)
        pairs, alone = c_uint64(), c_uint64()
        of_pairs, of_alone = _JOINS.index("left"), _JOINS.index("anti")
        if library.tsr_join(left, right, of_pairs, None, byref(pairs), self._at.error_at) or library.tsr_join(
            right, left, of_alone, None, byref(alone), self._at.error_at
        ):
            self._fail()
        n = pairs.value + alone.value
        keys, keys_at, _ = self._result(None, "keys", adapter, like, (n,), "ui", sign, self._key_width)
        lefts, left_at, _, _ = self._absent_values(adapter, like, n, sign, missing)
        rights, right_at, bits, width = other._absent_values(adapter, like, n, sign, missing)
        adapter.synchronize(device)
        for one, two, how, count, first in ((left, right, of_pairs, pairs, 0), (right, left, of_alone, alone, pairs.value)):
            rows = lib.JoinRows(size=ctypes.sizeof(lib.JoinRows), room=count.value, missing=bits)
            rows.keys = keys_at + first * self._key_width
            if how == of_pairs:
                rows.left_values, rows.right_values = left_at or None, right_at or None
            elif right_at:
                rows.left_values = right_at + first * width
            if count.value and library.tsr_join(one, two, how, byref(rows), byref(count), self._at.error_at):
                self._fail()
        return self._answered_of(keys, other), self._decoded(lefts), other._decoded(rights)

    def _absent_values(
        self, adapter: Adapter, like: Any, n: int, sign: str, missing: Union[int, float]
    ) -> Tuple[Any, int, int, int]:
        """Values of n absent keys, where they are, the bits of one, and the bytes of a value. Without values: None, 0, 0, 0."""
        if not self._value_width:
            return None, 0, 0, 0
        kind, width = self._row_item if self._row else (self._value_kind or sign, self._value_width)
        bits = self._missing(missing, kind, width)
        item = bits & ((1 << 8 * width) - 1)  # of a row's bits, which are repeated
        shape = (n, self._row // width) if self._row else (n,)
        if kind == "u" or width not in (4, 8):
            values = adapter.full(like, shape, kind, width, item)
        else:
            signed = item - (1 << 8 * width) if item >> 8 * width - 1 else item
            values = adapter.viewed(adapter.full(like, shape, "i", width, signed), kind, width)
        return values, adapter.address(values), bits, self._value_width

    def _match_rows(self, left: Any, right: Any, kind: JoinKind) -> Tuple[Any, Optional[Any]]:
        """The numbers of the rows of two arrays that have one key, int32, in no order: of a left join -1 where there is no right
        row; of semi and anti the left ones alone. The table is not used, apart from its device. Waits."""
        handle = self._begin()
        try:
            adapter, left, lefts = self._keys(left)
            _, right, rights = self._keys(right)
            sides = lib.JoinSides(size=ctypes.sizeof(lib.JoinSides), stream=self._at.stream)
            sides.left = lib.JoinSide(lefts.size, lefts.pointer, None, 32)
            sides.right = lib.JoinSide(rights.size, rights.pointer, None, 32)
            room, count, is_pair = max(lefts.size, 1), c_uint64(), kind in ("inner", "left")
            while True:  # where there are more rows than left keys, once again
                own, own_at, _ = self._result(None, "rows", adapter, left, (room,), "i", "i", 4)
                others, others_at = None, None
                if is_pair:
                    others, others_at, _ = self._result(None, "rows", adapter, left, (room,), "i", "i", 4)
                rows = lib.JoinRows(size=ctypes.sizeof(lib.JoinRows), room=room, missing=0xFFFFFFFF)
                rows.left_values, rows.right_values = own_at, others_at
                if not library.tsr_join_arrays(
                    handle, byref(sides), _JOINS.index(kind), byref(rows), byref(count), self._at.error_at
                ):
                    return own[: count.value], None if others is None else others[: count.value]
                if count.value <= room:
                    self._fail()
                room = count.value
        finally:
            self._end()

    # ---- Filters -----------------------------------------------------------------------------------------------------

    def merge(self, other: "Table") -> None:
        """Of a filter: it then knows the keys of both, as if they had been inserted here. other: a filter of the same
        capacity, [filter], hasher, seed and key_bits, on any device. Waits."""
        if not isinstance(other, Table) or other is self:
            raise WrongType(f"other: is {'this table' if other is self else type(other).__name__}: pass another Table")
        with self._with(other) as (handle, theirs):
            if library.tsr_filter_merge(handle, theirs, self._at.error_at):
                self._fail()

    def filter_info(self) -> Dict[str, Any]:
        """Of a filter: block_bytes, functions (0: it is a cuckoo filter), blocks, bits_per_key; rate, the part of absent keys
        that seem present now, for a cuckoo filter at most; rate_at_capacity; keys, about that many distinct ones were
        inserted, for a cuckoo filter the number of fingerprints (tsr_filter_info). Waits."""
        handle = self._begin()
        try:
            info = lib.FilterInfo(size=ctypes.sizeof(lib.FilterInfo))
            if library.tsr_filter_describe(handle, byref(info), self._at.error_at):
                self._fail()
            return _dict(info)
        finally:
            self._end()

    # ---- The whole table ---------------------------------------------------------------------------------------------

    def clear(self, *, wait: bool = True, like: Any = None) -> None:
        """Removes everything. wait = False: does not wait for a GPU. like: an array on whose library's stream to work."""
        handle = self._begin()
        try:
            adapter, like = self._like(like)
            if like is not None:
                self._note(adapter.look(like, "like", False), adapter, "like")
            if library.tsr_clear(handle, self._at.stream or None, self._at.error_at):
                self._fail()
            if wait and library.tsr_table_wait(handle, self._at.error_at):
                self._fail()
            self._value_kinds, self._is_fresh = set(), True
        finally:
            self._end()

    def rehash(
        self,
        spec: Optional[SpecSource] = None,
        *,
        capacity: int = 0,
        seed: int = 0,
        settings: Optional[Mapping[str, object]] = None,
    ) -> None:
        """Moves all pairs to a new table of these sizes and parts, in this one's place; with no arguments it gets rid
        of erased slots. spec: of the same kind and widths; `settings` changes entries of it. On failure the table is as
        it was. Waits."""
        if settings and spec is None:
            raise BadArgument("settings: change entries of the spec that is passed: pass one")
        chosen = options(None, capacity, seed)
        made = Spec(spec, settings) if spec is not None else None
        handle = self._begin()
        try:
            change = lib.RehashOptions(
                ctypes.sizeof(lib.RehashOptions), chosen.capacity, chosen.seed, made.handle if made else None
            )
            if library.tsr_rehash(handle, byref(change), self._at.error_at):
                self._fail()
            self._describe()
        finally:
            self._end()

    def flush(self) -> int:
        """Packs lists of buckets, and returns the number of units that went back to the allocator. Waits."""
        handle = self._begin()
        try:
            units = c_uint64()
            if library.tsr_flush(handle, byref(units), self._at.error_at):
                self._fail()
            return units.value
        finally:
            self._end()

    def save(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Writes the table to a file, which appears whole or not at all. Waits."""
        handle = self._begin()
        try:
            if library.tsr_table_save(handle, lib.path_bytes(path), self._at.error_at):
                self._fail()
        finally:
            self._end()

    def prepare(self, *calls: Call) -> None:
        """Links or compiles the code of these calls now, so that the first of them does not wait for it. A call that is captured
        into a CUDA graph needs that; `get` is "find", and `number` is "find_or_insert"."""
        bits = 0
        for call in calls:
            if call not in _CALLS:
                raise BadArgument(f"calls: {call!r}: there are {', '.join(_CALLS)}")
            bits |= 1 << _CALLS.index(call)
        handle = self._begin()
        try:
            if library.tsr_table_prepare(handle, bits, self._at.error_at):
                self._fail()
        finally:
            self._end()

    def wait(self) -> None:
        """Waits for all work on the table, on all streams, and raises what went wrong in it."""
        handle = self._begin()
        try:
            if library.tsr_table_wait(handle, self._at.error_at):
                self._fail()
        finally:
            self._end()

    # ---- What it is and what happened --------------------------------------------------------------------------------

    @property
    def info(self) -> Dict[str, Any]:
        """What the table is: backend, device, key_bits, value_bits, capacity, slots, bytes, ... (tsr_table_info)."""
        self._begin()
        try:
            return _dict(self._info())
        finally:
            self._end()

    @property
    def nbytes(self) -> int:
        """The memory of the table, in bytes, on the device and the host."""
        return int(self.info["bytes"])

    def _repr_html_(self) -> str:
        """The table's facts, for notebooks. Does not wait."""
        if self._handle is None:
            return f"<code>tessera.{type(self).__name__}, closed</code>"
        info = self.info
        keys, values = self._type_names()
        rows = {
            "kind": self._kind,
            "keys": keys,
            "values": values or "none",
            "capacity": f"{info['capacity']:,} keys",
            "memory": f"{info['bytes']:,} bytes",
            "on": self._place(),
            **{part: self._setting(part, "") for part in ("layout", "probing", "hasher", "duplicates")},
        }
        lines = "".join(f"<tr><th>{html.escape(k)}</th><td>{html.escape(v)}</td></tr>" for k, v in rows.items() if v)
        return f"<table><caption>tessera.{type(self).__name__}</caption>{lines}</table>"

    def usage(self) -> Dict[str, Any]:
        """How the memory is used: pairs, tombstones, units, slots, utilization. Waits."""
        handle = self._begin()
        try:
            usage = lib.Usage(size=ctypes.sizeof(lib.Usage))
            if library.tsr_table_usage(handle, byref(usage), self._at.error_at):
                self._fail()
            return _dict(usage)
        finally:
            self._end()

    def report(self, *, reset: bool = False) -> Dict[str, Any]:
        """Counters since the table was created or they were reset: insert_keys, inserted, not_placed, insert_paged, find_keys,
        found, ... as of tsr_report; histograms are lists. reset = True: they start from 0 afterwards. Waits."""
        handle = self._begin()
        try:
            report = _dict(self._read_report(handle, 4))
            if reset:
                if library.tsr_table_report_reset(handle, self._at.error_at):
                    self._fail()
                self._not_placed = self._overflows = self._ungrown = 0
            return report
        finally:
            self._end()

    def _read_report(self, handle: c_void_p, level: int = 6) -> lib.Report:
        """Warns of sums that overflowed since it was read last; level: of frames up to the caller's."""
        report = self._report
        report.size = ctypes.sizeof(lib.Report)
        if library.tsr_table_report(handle, byref(report), self._at.error_at):
            self._fail()
        self._not_placed, self._ungrown = report.not_placed, report.ungrown
        before, self._overflows = self._overflows, report.overflows
        if self._overflows > before:
            text = self._overflow_text(self._overflows - before)
            if text:
                warnings.warn(text, OverflowWarning, stacklevel=level)
        return report

    def _overflow_text(self, number: int) -> str:
        """Empty where it was asked for: overflow = saturate, and signed values, which are right modulo 2^bits."""
        if self._kind == "counter":
            bits = self._count_bits
            return f"counts passed the largest that fits, 2^{bits} - 1, and stopped there" + (
                '. Create it with settings={"table.value_bits": 64}' if bits < 64 else ""
            )
        if self._saturates or self._is_signed:
            return ""
        return (
            lib.sums_passed(number, 8 * self._value_width) + '. Create it with settings={"table.overflow": "saturate"}, which '
            "stops sums there"
        )


def _unpickled(
    kind: Any, types: Dict[str, Any], saved: bytes, plugins: Any, on_busy: Any, value_kinds: Optional[Set[str]]
) -> Table:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table")
        with open(path, "wb") as file:
            file.write(saved)
        table: Table = kind.load(path, plugins=plugins, on_busy=on_busy, **types)
    table._value_kinds = value_kinds
    return table


def not_one_axis(shape: Tuple[int, ...]) -> BadArgument:
    return BadArgument(
        f"keys: has shape {tuple(shape)}, and a key is one number: pass keys of one axis (keys.reshape(-1), where each "
        'number is a key), or values of the same shape. Tables such as tessera.Map(key=["int64", "int64"]) have keys of several '
        "columns"
    )


def _negative(name: str, value: int) -> BadArgument:
    return BadArgument(
        f"{name}: {value} is negative, and a counter only counts up: use a map with "
        'settings={"table.duplicates": "add"}, which adds signed numbers'
    )


def _pair(out: Any) -> Tuple[Any, Any]:
    if out is None:
        return None, None
    if not isinstance(out, tuple) or len(out) != 2:
        raise WrongType("out: is a tuple of two arrays, of which any may be None")
    return out


def _bits_of_row(missing: Union[int, float], kind: str, width: int) -> int:
    """8 bytes that the library repeats, for each item of a row."""
    if kind not in ("u", "i", "f") or width not in (1, 2, 4, 8):
        raise WrongType(f"missing = {missing!r}: items of {name_of(kind, width)} are no numbers: leave it out")
    if kind == "f":
        return int.from_bytes(np.array(missing, f"<f{width}").tobytes() * (8 // width), "little")
    return int.from_bytes(_bits(missing, kind, width, "missing").to_bytes(width, "little") * (8 // width), "little")


def _bits(value: Union[int, float], kind: str, width: int, name: str) -> int:
    """The bits of a value of this kind."""
    if kind == "f":
        return int.from_bytes(struct.pack("<f" if width == 4 else "<d", value), "little")
    if not isinstance(value, (int, np.integer)):
        raise WrongType(f"{name} = {value!r}: values are whole numbers here")
    low, high = (-(1 << 8 * width - 1), 1 << 8 * width - 1) if kind == "i" else (0, 1 << 8 * width)
    if not low <= value < high:
        raise BadArgument(f"{name} = {value}: is no {name_of(kind, width)}")
    return int(value) & ((1 << 8 * width) - 1)


def _number(text: str) -> int:
    """A small number as specs write it."""
    base, power, exponent = text.partition("^")
    return int(base, 0) ** int(exponent) if power else int(text, 0)


def _dict(made: ctypes.Structure) -> Dict[str, Any]:
    fields: Dict[str, Any] = {}
    for name, *_ in made._fields_:
        value = getattr(made, name)
        if name != "size":
            fields[name] = (
                value.decode(errors="replace")
                if isinstance(value, bytes)
                else (
                    list(value)
                    if isinstance(value, ctypes.Array)
                    else _dict(value) if isinstance(value, ctypes.Structure) else value
                )
            )
    return fields


# ---- Forks -----------------------------------------------------------------------------------------------------------

# A child of fork() has the memory of its parent, and none of its threads and no use of its GPU. So tables on the CPU go on there,
# by one thread. Tables on a GPU are closed, and so is one that another thread was changing.
_GPU_AFTER_FORK = (
    "this process is a fork of one that used a GPU, which it cannot use: start processes by "
    'multiprocessing.set_start_method("spawn"), or use tables on the CPU (backend="cpu")'
)
_CLOSED_BY_FORK = (
    "{}: is closed in this process, which is a fork: {}. Start processes by "
    'multiprocessing.set_start_method("spawn"), which pickles tables'
)
_lost_gpu = False  # this process is a fork of one that used a GPU
_used_gpu = False
_tables: "weakref.WeakSet[Table]" = weakref.WeakSet()


def _after_fork() -> None:
    global _lost_gpu
    _lost_gpu = _used_gpu
    for table in list(_tables):
        if table._handle is None:
            continue
        why = "its memory is on a GPU" if table._devices != frozenset() else ""
        if table._group is not None:
            why = "the processes of its group do not know of this one"
        elif not why and table._lock.locked() and not table._readers:
            why = "another thread was working on the table at the fork"
        if why:
            table._why_closed = _CLOSED_BY_FORK.format(repr(table), why)
            table._handle = None
        table._at = _Thread()
        table._open_locks()


os.register_at_fork(after_in_child=_after_fork)
