# SPDX-License-Identifier: Apache-2.0
"""Verbs on columns and frames: unique, factorize, isin, value_counts, group_by, merge, relabel.

One primitive does most of the work: the library numbers the keys of a column in order of first appearance (tsr_key_column in
tessera_tools.h). All answers follow from these numbers. Read next: _columns.py.
"""

import ctypes
import warnings
from ctypes import byref, sizeof
from typing import Any, Dict, Generic, List, Literal, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, TypeVar, Union, overload

import numpy as np

from tessera import _device, _texts
from tessera._arrays import Bools, Int64s, NumPyArray
from tessera._arrow import from_gpu
from tessera._columns import (
    Column,
    Frame,
    FrameT,
    HostT,
    Listed,
    Nulls,
    PandasColumn,
    PandasT,
    PolarsColumn,
    SameT,
    coalesced,
    is_coded,
    is_frame,
    library_of,
    make_frame,
    module,
    wrap,
)
from tessera._library import (
    BadArgument,
    KeyColumnArrays,
    KeyColumnPairs,
    NumberedValues,
    OverflowWarning,
    TsrError,
    WrongType,
    fail,
    library,
    sums_passed,
)
from tessera._words import need_word

How = Literal["inner", "left", "right", "outer", "semi", "anti"]
Order = Literal["seen", "any"]

_KEYS, _COUNTS, _NUMBERS = range(3)  # TSR_KEY_COLUMN_KEYS and so on


def _room(n: int) -> NumPyArray:
    """An array of int64 for answers. A large one begins at a large page of memory: small pages that are new take ten times as
    long."""
    page = 1 << 21
    size = -(-8 * n // page) * page
    if size < 2 * page:
        return np.empty(n, np.int64)
    memory = np.empty(size + page, np.uint8)
    first = -memory.ctypes.data % page
    return memory[first : first + 8 * n].view(np.int64)


def _call(name: str, *arguments: Any) -> None:
    error = TsrError()
    if getattr(library, name)(*arguments, byref(error)):
        fail(error)


class _Numbered:
    """The keys of a column, numbered in order of first appearance, by the library (tsr_key_column_create). It reads the keys until
    it is closed. detail: what can be asked of it. codes: the numbers of the rows, with _NUMBERS."""

    def __init__(self, keys: NumPyArray, detail: int) -> None:
        self.keys, self._handle, distinct = keys, ctypes.c_void_p(), ctypes.c_uint64()
        self.codes = _room(len(keys) if detail == _NUMBERS else 0)
        numbers = self.codes.ctypes.data if detail == _NUMBERS else None
        given = 8 * keys.dtype.itemsize, detail, len(keys), keys.ctypes.data, numbers
        _call("tsr_key_column_create", *given, byref(self._handle), byref(distinct))
        self.number = distinct.value

    def __enter__(self) -> "_Numbered":
        return self

    def __exit__(self, *_: object) -> None:
        library.tsr_key_column_free(self._handle)
        self._handle = ctypes.c_void_p()

    def __del__(self) -> None:
        self.__exit__()

    def tell(self, **wanted: NumPyArray) -> None:
        arrays = KeyColumnArrays(size=sizeof(KeyColumnArrays), **{name: array.ctypes.data for name, array in wanted.items()})
        _call("tsr_key_column_tell", self._handle, byref(arrays))

    def firsts(self) -> NumPyArray:
        """The first row of each distinct key."""
        firsts = np.empty(self.number, np.int64)
        self.tell(firsts=firsts)
        return firsts

    def counts(self) -> NumPyArray:
        counts = np.empty(self.number, np.int64)
        self.tell(counts=counts)
        return counts

    def groups(self) -> "Groups":
        return Groups(self.codes, self.firsts())

    def find(self, keys: NumPyArray) -> NumPyArray:
        """The number of each of these keys, or -1."""
        numbers = _room(len(keys))
        _call("tsr_key_column_find", self._handle, len(keys), keys.ctypes.data, numbers.ctypes.data, None)
        return numbers

    def contains(self, keys: NumPyArray) -> NumPyArray:
        present = np.empty(len(keys), bool)
        _call("tsr_key_column_find", self._handle, len(keys), keys.ctypes.data, None, present.ctypes.data)
        return present

    def pairs(self, numbers: NumPyArray, keeps_all: bool, keeps_others: bool) -> Tuple[NumPyArray, NumPyArray]:
        """A row for each number of the left and each row here that has it; and rows of either side that match none, with -1."""
        count = ctypes.c_uint64()
        asked = KeyColumnPairs(size=sizeof(KeyColumnPairs), n=len(numbers), numbers=numbers.ctypes.data)
        asked.keeps_all, asked.keeps_others = int(keeps_all), int(keeps_others)
        _call("tsr_key_column_pair", self._handle, byref(asked), byref(count))
        own, others = _room(count.value), _room(count.value)
        asked.room, asked.left_rows, asked.right_rows = len(own), own.ctypes.data, others.ctypes.data
        _call("tsr_key_column_pair", self._handle, byref(asked), byref(count))
        return own, others


class Groups(NamedTuple):
    """codes: for each row the number of its group, in order of first appearance; firsts: the first row of each."""

    codes: NumPyArray
    firsts: NumPyArray


def _groups(keys: NumPyArray) -> Groups:
    with _Numbered(keys, _NUMBERS) as numbered:
        return numbered.groups()


def last_rows(keys: Any, n: int, width: int) -> Any:
    """The last row of each of n keys of `width` bytes, as an array of the library of keys; None: each key is there once, or the
    library cannot say."""
    halves = [keys.reshape(-1)]
    if width > 8:
        if isinstance(keys, np.ndarray):
            keys = np.ascontiguousarray(keys).view(np.uint64)
        both = keys.reshape(n, -1)
        halves = [both[:, 0], both[:, 1]]
    if not isinstance(keys, np.ndarray):
        ops = _device.ops_of(keys, anywhere=True)
        return None if ops is None else _device.last_rows(ops, halves, n)
    backward = np.ascontiguousarray(halves[0][::-1])
    if width > 8:
        low, high = _groups(backward), _groups(np.ascontiguousarray(halves[1][::-1]))
        backward = _combined(low, high.codes, len(high.firsts))
    with _Numbered(backward, _KEYS) as numbered:
        return None if numbered.number == n else n - 1 - numbered.firsts()


class _Kept(NamedTuple):
    """The rows of a column that are no nulls. at: their numbers; None: all."""

    keys: NumPyArray
    at: Optional[NumPyArray]

    def whole(self, part: NumPyArray, size: int, null: Any) -> NumPyArray:
        """What was found for them, for all rows."""
        if self.at is None:
            return part
        whole = np.full(size, null, part.dtype)
        whole[self.at] = part
        return whole

    def rows(self, rows: NumPyArray) -> NumPyArray:
        return rows if self.at is None else self.at[rows]


def _kept(column: Column, nulls: Nulls) -> _Kept:
    column.checked(nulls)
    keys = column.keys()
    if column.known is None:
        return _Kept(keys, None)
    at = np.flatnonzero(column.known)
    return _Kept(keys[at], at)


# ---- One column ------------------------------------------------------------------------------------------------------


@overload
def unique(
    x: HostT,
    return_inverse: Literal[False] = ...,
    return_counts: Literal[False] = ...,
    *,
    order: Order = ...,
    nulls: Nulls = ...,
) -> HostT: ...
@overload
def unique(
    x: HostT, return_inverse: Literal[True], return_counts: Literal[False] = ..., *, order: Order = ..., nulls: Nulls = ...
) -> Tuple[HostT, Int64s]: ...
@overload
def unique(
    x: HostT, return_inverse: Literal[False] = ..., *, return_counts: Literal[True], order: Order = ..., nulls: Nulls = ...
) -> Tuple[HostT, Int64s]: ...
@overload
def unique(
    x: HostT, return_inverse: Literal[True], return_counts: Literal[True], *, order: Order = ..., nulls: Nulls = ...
) -> Tuple[HostT, Int64s, Int64s]: ...
@overload
def unique(
    x: SameT,
    return_inverse: Literal[False] = ...,
    return_counts: Literal[False] = ...,
    *,
    order: Order = ...,
    nulls: Nulls = ...,
) -> SameT: ...
@overload
def unique(
    x: SameT, return_inverse: Literal[True], return_counts: Literal[False] = ..., *, order: Order = ..., nulls: Nulls = ...
) -> Tuple[SameT, SameT]: ...
@overload
def unique(
    x: SameT, return_inverse: Literal[False] = ..., *, return_counts: Literal[True], order: Order = ..., nulls: Nulls = ...
) -> Tuple[SameT, SameT]: ...
@overload
def unique(
    x: SameT, return_inverse: Literal[True], return_counts: Literal[True], *, order: Order = ..., nulls: Nulls = ...
) -> Tuple[SameT, SameT, SameT]: ...
@overload
def unique(
    x: Listed,
    return_inverse: Literal[False] = ...,
    return_counts: Literal[False] = ...,
    *,
    order: Order = ...,
    nulls: Nulls = ...,
) -> NumPyArray: ...
@overload
def unique(
    x: Listed, return_inverse: Literal[True], return_counts: Literal[False] = ..., *, order: Order = ..., nulls: Nulls = ...
) -> Tuple[NumPyArray, Int64s]: ...
@overload
def unique(
    x: Listed, return_inverse: Literal[False] = ..., *, return_counts: Literal[True], order: Order = ..., nulls: Nulls = ...
) -> Tuple[NumPyArray, Int64s]: ...
@overload
def unique(
    x: Listed, return_inverse: Literal[True], return_counts: Literal[True], *, order: Order = ..., nulls: Nulls = ...
) -> Tuple[NumPyArray, Int64s, Int64s]: ...
@overload
def unique(
    x: Any, return_inverse: bool = ..., return_counts: bool = ..., *, order: Order = ..., nulls: Nulls = ...
) -> Any: ...
def unique(
    x: Any, return_inverse: bool = False, return_counts: bool = False, *, order: Order = "seen", nulls: Nulls = "refuse"
) -> Any:
    """The distinct values of a column: unique[, inverse][, counts].

    order: "seen", as they first appear, or "any", which is faster on a GPU. inverse: x is
    unique[inverse]. nulls: "refuse", or "drop", where the inverse of a null is -1. All NaN of an array are one value; in
    pandas they are nulls.

    >>> tessera.unique(np.array([30, 10, 30, 20]))
    array([30, 10, 20])
    >>> values, inverse, counts = tessera.unique(np.array([30, 10, 30, 20]), True, True)
    >>> inverse, counts
    (array([0, 1, 0, 2]), array([2, 1, 1]))
    """
    _need_order(order)
    x = from_gpu(x, "x")
    ops = _device.ops_of(x)
    if ops is not None:
        return _device.unique(ops, x, return_inverse, return_counts, order)
    column = Column(x, "x")
    kept = _kept(column, nulls)
    with _Numbered(kept.keys, _NUMBERS if return_inverse else _COUNTS if return_counts else _KEYS) as numbered:
        answer = []
        if return_inverse:
            groups = numbered.groups()
            answer.append(column.pick(kept.rows(groups.firsts)))
            inverse = kept.whole(groups.codes, len(column), -1)
            answer.append(wrap(inverse.reshape(column.shape), column.library))
        else:
            answer.append(column.pick(kept.rows(numbered.firsts())))
        if return_counts:
            answer.append(wrap(numbered.counts(), column.library))
    return tuple(answer) if len(answer) > 1 else answer[0]


@overload
def factorize(x: HostT, *, nulls: Nulls = ...) -> Tuple[Int64s, HostT]: ...
@overload
def factorize(x: SameT, *, nulls: Nulls = ...) -> Tuple[SameT, SameT]: ...
@overload
def factorize(x: Listed, *, nulls: Nulls = ...) -> Tuple[Int64s, NumPyArray]: ...
def factorize(x: Any, *, nulls: Nulls = "drop") -> Tuple[Any, Any]:
    """(codes, uniques): each distinct value gets a number, in order of first appearance; nulls get -1, or are refused.

    >>> tessera.factorize(np.array([30, 10, 30, 20]))
    (array([0, 1, 0, 2]), array([30, 10, 20]))
    """
    x = from_gpu(x, "x")
    ops = _device.ops_of(x)
    if ops is not None:
        values, codes = _device.unique(ops, x, True, False, "seen")
        return codes, values
    column = Column(x, "x")
    kept = _kept(column, nulls)
    groups = _groups(kept.keys)
    codes = kept.whole(groups.codes, len(column), -1)
    return wrap(codes.reshape(column.shape), column.library), column.pick(kept.rows(groups.firsts))


@overload
def relabel(edge_index: NumPyArray) -> Tuple[Int64s, NumPyArray]: ...
@overload
def relabel(edge_index: SameT) -> Tuple[SameT, SameT]: ...
@overload
def relabel(edge_index: Listed) -> Tuple[Int64s, NumPyArray]: ...
def relabel(edge_index: Any) -> Tuple[Any, Any]:
    """(edges, nodes): the ids of an array of edges, of shape (2, n), become numbers from 0 on, in order of first
    appearance; nodes[edges] are the ids.

    >>> edges, nodes = tessera.relabel(np.array([[900, 7, 900], [7, 42, 42]]))
    >>> edges
    array([[0, 1, 0],
           [1, 2, 2]])
    >>> nodes
    array([900,   7,  42])
    """
    return factorize(edge_index, nulls="refuse")


@overload
def value_counts(
    x: NumPyArray, *, sort: bool = ..., order: Order = ..., nulls: Nulls = ...
) -> Tuple[NumPyArray, Int64s]: ...
@overload
def value_counts(x: PandasT, *, sort: bool = ..., order: Order = ..., nulls: Nulls = ...) -> PandasT: ...
@overload
def value_counts(x: PolarsColumn, *, sort: bool = ..., order: Order = ..., nulls: Nulls = ...) -> Any: ...
@overload
def value_counts(x: SameT, *, sort: bool = ..., order: Order = ..., nulls: Nulls = ...) -> Tuple[SameT, SameT]: ...
@overload
def value_counts(
    x: Listed, *, sort: bool = ..., order: Order = ..., nulls: Nulls = ...
) -> Tuple[NumPyArray, Int64s]: ...
def value_counts(x: Any, *, sort: bool = False, order: Order = "seen", nulls: Nulls = "drop") -> Any:
    """How often each value occurs.

    order: "seen", as values first appear, or "any", which is faster on a GPU. sort: by falling count; values with equal
    counts are in `order`.

    (values, counts); a Series for one of pandas, and a DataFrame for a Series of polars, as theirs.

    >>> tessera.value_counts(np.array([30, 10, 30, 20]))
    (array([30, 10, 20]), array([2, 1, 1]))
    """
    _need_order(order)
    x = from_gpu(x, "x")
    ops = _device.ops_of(x)
    if ops is not None:
        return _device.value_counts(ops, x, sort, order)
    column = Column(x, "x")
    kept = _kept(column, nulls)
    with _Numbered(kept.keys, _COUNTS) as numbered:
        firsts, counts = numbered.firsts(), numbered.counts()
    if sort:
        falling = np.argsort(-counts, kind="stable")
        firsts, counts = firsts[falling], counts[falling]
    values = column.pick(kept.rows(firsts))
    if column.library == "pandas":
        return module("pandas").Series(counts, index=module("pandas").Index(values, name=x.name), name="count")
    if column.library == "polars":
        return module("polars").DataFrame({x.name: values, "count": counts})
    return values, wrap(counts, column.library)


@overload
def isin(x: NumPyArray, values: Any, *, invert: bool = ...) -> Bools: ...
@overload
def isin(x: SameT, values: Any, *, invert: bool = ...) -> SameT: ...
@overload
def isin(x: Listed, values: Any, *, invert: bool = ...) -> Bools: ...
def isin(x: Any, values: Any, *, invert: bool = False) -> Any:
    """bool for each row of x: whether it is among the values. Nulls are in no set.

    >>> tessera.isin(np.array([1, 2, 3]), [3, 1])
    array([ True, False,  True])
    """
    x = from_gpu(x, "x")
    ops = _device.ops_of(x)
    if ops is not None:
        return _device.isin(ops, x, from_gpu(values, "values"), invert)
    values = list(values) if isinstance(values, (set, frozenset)) else values
    column, among = Column(x, "x"), Column(values, "values")
    if isinstance(values, (list, tuple)) and among.values.dtype.kind in "iu" and column.values.dtype.kind == "f":
        among = _again(among, among.values.astype(np.float64))  # as NumPy takes them
        column = _again(column, column.values.astype(np.float64))
    mask = _among(column, among)
    if invert:
        mask = ~mask
    if column.library == "pandas" and hasattr(x, "iloc"):
        return module("pandas").Series(mask, index=x.index, name=x.name)
    return wrap(mask.reshape(column.shape), column.library)


def _among(column: Column, values: Column) -> NumPyArray:
    """bool for each row of a column. Nulls are in no set."""
    keys, others = _common(column, values)
    with _Numbered(others, _KEYS) as numbered:
        mask = numbered.contains(keys)
    if column.known is not None:
        mask &= column.known
    return mask


def _common(left: Column, right: Column) -> Tuple[NumPyArray, NumPyArray]:
    """Keys of two columns that are equal where their values are; of the right one only those that may be on the left."""
    a, b = left.values, right.values
    known = right.known
    for column in (left, right):
        if is_coded(column.source):
            raise WrongType(
                f"{column.name}: holds categories, whose numbers differ between columns: number both columns as one first"
            )
    if _texts.kind_of(a, left.known) is not None and (len(b) == 0 or _texts.kind_of(b, known) is not None):
        keys, others = _texts.numbers((a, left.known, left.name), (b, known, right.name))
        return keys, others if known is None else others[known]
    if a.dtype != b.dtype:
        if a.dtype.kind in "iub" and b.dtype.kind in "iub":
            b, known = _narrowed(b, a.dtype, known)
        elif a.dtype.kind == b.dtype.kind and a.dtype.kind in "fmM":
            wider = np.result_type(a.dtype, b.dtype)
            a, b = a.astype(wider), b.astype(wider)
        elif len(b) == 0:
            b = b.astype(a.dtype)
        else:
            raise WrongType(
                f"{left.name}: is {a.dtype}, and {right.name} is {b.dtype}: convert one, as by astype({a.dtype.name!r})"
            )
    keys, others = _again(left, a).keys(), _again(right, b).keys()
    return keys, others if known is None else others[known]


def _narrowed(
    numbers: NumPyArray, dtype: "np.dtype[Any]", known: Optional[NumPyArray]
) -> Tuple[NumPyArray, Optional[NumPyArray]]:
    """Whole numbers in another type, and which of them it has."""
    if dtype.kind == "b":
        low, high = 0, 1
    else:
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    mine = np.iinfo(numbers.dtype) if numbers.dtype.kind != "b" else None
    fits = np.ones(len(numbers), bool) if known is None else known.copy()
    if mine is not None and mine.min < low:
        fits &= numbers >= low
    if mine is not None and mine.max > high:
        fits &= numbers <= high
    return numbers.astype(dtype), None if bool(fits.all()) else fits


def _again(column: Column, values: NumPyArray) -> Column:
    """The column with other values."""
    made = Column.__new__(Column)
    made.source, made.name, made.library = column.source, column.name, column.library
    made.values, made.known, made.shape = values, column.known, values.shape
    return made


# ---- Groups ----------------------------------------------------------------------------------------------------------

AnswerT = TypeVar("AnswerT")  # a frame, or a dict of arrays
Aggregate = Literal["sum", "min", "max", "mean", "count", "size"]
_AGGREGATES: Tuple[str, ...] = ("sum", "min", "max", "mean", "count", "size")


def _combined(first: Groups, second: NumPyArray, among: int) -> NumPyArray:
    """One key for each pair of numbers; `among`: how many the second may be."""
    return first.codes * np.int64(max(among, 1)) + second


def _groups_of(columns: Sequence[Column], nulls: Nulls) -> Tuple[Groups, Optional[NumPyArray]]:
    """Groups of rows that are equal in all columns; at: the rows that have no null, to which codes belong."""
    at = None
    for column in columns:
        column.checked(nulls)
        if len(column) != len(columns[0]):
            raise BadArgument(f"{column.name}: has {len(column)} rows, and {columns[0].name} {len(columns[0])}")
        if column.known is not None:
            at = column.known if at is None else at & column.known
    rows = None if at is None else np.flatnonzero(at)

    def keys_of(column: Column) -> NumPyArray:
        return column.keys() if rows is None else column.keys()[rows]

    groups = _groups(keys_of(columns[0]))
    for column in columns[1:]:
        more = _groups(keys_of(column))
        groups = _groups(_combined(groups, more.codes, len(more.firsts)))
    return groups, rows


class GroupBy(Generic[AnswerT]):
    """Rows grouped by keys, which `group_by` makes. `agg` aggregates several columns in one pass over the groups."""

    def __init__(self, frame: Optional[Frame], columns: "Union[Dict[Any, Column], _device.Groups]", nulls: Nulls) -> None:
        self._frame, self._on_device = frame, None
        if isinstance(columns, _device.Groups):
            self._on_device = columns
            return
        self._columns = columns
        self._library = next(iter(columns.values())).library if frame is None else frame.library
        self._groups, self._rows = _groups_of(list(columns.values()), nulls)

    def __len__(self) -> int:
        """The number of groups."""
        return len(self._groups.firsts if self._on_device is None else self._on_device)

    def agg(self, aggregates: Optional[Mapping[Any, Any]] = None, **named: Any) -> AnswerT:
        """The keys of the groups, in the `order` of `group_by`, and an aggregate of columns for each.

        named: name=(column, how); how is sum, min, max, mean or count (of no nulls), and "size" alone counts rows. A column is
        the name of one of the frame, or an array. aggregates: as of pandas, {"column": how}, or a list of how.

        Sums of whole numbers have 64 bits; an `OverflowWarning` says where they do not suffice. Sums of float32 are
        added up as float64. Nulls are left out, and an aggregate of nothing else is a null.

        A frame of the library of the frame; otherwise a dict of arrays, whose keys are called "key", or "key_0" and so on.
        """
        wanted = _wanted(aggregates, named)
        answer = self._keys()
        for name in wanted:
            if name in answer:
                raise BadArgument(f"{name}: is a key already: call the aggregate another name")
        if self._on_device is not None:
            for name, (source, how) in wanted.items():
                self._need_source(name, source, how)
                answer[name] = self._on_device.aggregate(name, from_gpu(source, str(name)), how)
        else:
            columns: Dict[Any, _Values] = {}  # each is gone through once, for all that is asked of it
            asked = {name: self._values(name, source, how, columns) for name, (source, how) in wanted.items()}
            for name, (_, how) in wanted.items():
                answer[name] = _with_nulls(*asked[name].aggregate(how), self._library)
        made: Any = answer if self._frame is None else make_frame(self._library, answer)
        return made  # type: ignore[no-any-return]

    def _keys(self) -> Dict[Any, Any]:
        if self._on_device is not None:
            return dict(self._on_device.keys)
        firsts = self._groups.firsts if self._rows is None else self._rows[self._groups.firsts]
        return {name: column.pick(firsts) for name, column in self._columns.items()}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        how = name if name in _AGGREGATES else "sum"
        raise AttributeError(f"{name}: groups have agg and size alone: agg(total=(values, {how!r})) names what is computed")

    def size(self) -> AnswerT:
        """How many rows each group has, as agg(size="size")."""
        return self.agg(size="size")

    def _need_source(self, name: Any, source: Any, how: str) -> None:
        if source is None and how not in ("size", "count"):
            raise BadArgument(f"{name}: {how!r} of what: pass {name}=(column, {how!r})")
        if isinstance(source, str) and self._frame is None:
            raise BadArgument(f"{name}: {source!r}: the keys are arrays: pass an array of values")

    def _values(self, name: Any, source: Any, how: str, columns: "Dict[Any, _Values]") -> "_Values":
        """The values of `source`, which are to tell `how`; None: rows alone."""
        self._need_source(name, source, how)
        key = source if isinstance(source, (str, int, type(None))) else id(source)
        if key not in columns:
            by_name = self._frame is not None and not hasattr(source, "__len__") or isinstance(source, str)
            column = None
            if source is not None:
                column = self._frame.column(source) if self._frame is not None and by_name else Column(source, str(name))
            columns[key] = _Values(self._groups, self._rows, column, len(next(iter(self._columns.values()))))
        columns[key].asked.add(how)
        return columns[key]


def _wanted(aggregates: Any, named: Mapping[str, Any]) -> "Dict[Any, Tuple[Any, str]]":
    """What `agg` is asked for: a column, or None for rows alone, and how, by the name of the answer."""
    way = f"pass name=(column, how), how one of {', '.join(_AGGREGATES)}"
    if not isinstance(aggregates, (Mapping, type(None))):
        raise WrongType(f"agg: {type(aggregates).__name__}: is no dict of columns' names: {way}")
    wanted: Dict[Any, Tuple[Any, str]] = {}
    for column, hows in (aggregates or {}).items():
        if not isinstance(hows, (str, list, tuple)):
            raise WrongType(f"agg: {column}: {type(hows).__name__}: is no name of an aggregate: {way}")
        for how in [hows] if isinstance(hows, str) else hows:
            wanted[column if isinstance(hows, str) else f"{column}_{how}"] = column, how
    for name, given in named.items():
        if not isinstance(given, str) and not (isinstance(given, tuple) and len(given) == 2):
            raise WrongType(f"agg: {name}: is {type(given).__name__}, and not (column, how): {way}")
        wanted[name] = (None, given) if isinstance(given, str) else given
    if not wanted:
        raise BadArgument(f"agg: says nothing to aggregate: {way}")
    for name, (_, how) in wanted.items():
        if not isinstance(how, str) or how not in _AGGREGATES:
            shown = repr(how) if isinstance(how, str) else type(how).__name__
            raise BadArgument(f"{name}: {shown}: there are {', '.join(_AGGREGATES)}")
    return wanted


def _need_order(order: Any) -> None:
    need_word("order", order, ("seen", "any"))


@overload
def group_by(keys: FrameT, by: Any, *, order: Order = ..., nulls: Nulls = ...) -> GroupBy[FrameT]: ...
@overload
def group_by(
    keys: Union[NumPyArray, PandasColumn], *, order: Order = ..., nulls: Nulls = ...
) -> GroupBy[Dict[str, NumPyArray]]: ...
@overload
def group_by(keys: SameT, *, order: Order = ..., nulls: Nulls = ...) -> GroupBy[Dict[str, SameT]]: ...
@overload
def group_by(keys: Any, by: Any = ..., *, order: Order = ..., nulls: Nulls = ...) -> GroupBy[Any]: ...
def group_by(keys: Any, by: Any = None, *, order: Order = "seen", nulls: Nulls = "drop") -> Any:
    """Groups the rows of a frame by columns, or of arrays.

    keys: a frame of pandas, polars or pyarrow, with `by`, the name of a column or a list of them; or a column; or a tuple
    or a dict of columns. order: groups are in the order of their first rows ("seen"), or in any order, which is faster on a
    GPU. nulls: rows with a null among their keys are left out, or refused. See `GroupBy.agg`.

    >>> towns, heights = np.array([7, 42, 7]), np.array([1.5, 2.0, 0.5])
    >>> tessera.group_by(towns).agg(total=(heights, "sum"), least=(heights, "min"), n="size")
    {'key': array([ 7, 42]), 'total': array([2., 2.]), 'least': array([0.5, 2. ]), 'n': array([2, 1])}
    """
    _need_order(order)
    if is_frame(keys):
        if by is None:
            raise BadArgument("by: pass the name of a column of the frame, or a list of them")
        frame = Frame(keys, "keys")
        names = list(by) if isinstance(by, (list, tuple)) else [by]
        return GroupBy(frame, {name: frame.column(name) for name in names}, nulls)
    if by is not None:
        raise BadArgument(f"by = {by!r}: names columns of a frame, and keys is {type(keys).__name__}: leave it out")
    if isinstance(keys, dict):
        given = {name: (column, str(name)) for name, column in keys.items()}
    elif isinstance(keys, tuple):
        given = {f"key_{i}": (column, f"keys[{i}]") for i, column in enumerate(keys)}
    else:
        given = {"key": (keys, "keys")}
    if not given:
        raise BadArgument("keys: is empty: pass a column")
    given = {name: (from_gpu(column, called), called) for name, (column, called) in given.items()}
    ops = _device.ops_of(next(iter(given.values()))[0])
    if ops is not None:
        return GroupBy(None, _device.Groups(ops, {name: column for name, (column, _) in given.items()}, order), nulls)
    return GroupBy(None, {name: Column(column, called) for name, (column, called) in given.items()}, nulls)


_TYPES = {"u4": 0, "i4": 1, "f4": 2, "u8": 3, "i8": 4, "f8": 5}  # TSR_VALUES_U32 and so on
_WIDER = {"b": "u4", "u": "u4", "i": "i4", "f": "f4"}  # of values of one and two bytes


class _Values:
    """A column of values, aggregated by group in one pass for all that is asked for; without a column, rows are counted."""

    def __init__(self, groups: Groups, rows: Optional[NumPyArray], column: Optional[Column], size: int) -> None:
        self.asked: Set[str] = set()
        self._number, self._codes, self._has_nulls = len(groups.firsts), groups.codes, False
        self._values: NumPyArray = np.zeros(0, np.uint64)
        self._made: Dict[str, NumPyArray] = {}
        self._passed = 0  # sums that had no room
        if column is None:
            return
        self._name = column.name
        if len(column) != size:
            raise BadArgument(f"{column.name}: has {len(column)} rows, and keys {size}: pass one value for each")
        values, known = column.values, column.known
        if values.dtype.kind not in "iufbmM" or values.dtype.itemsize > 8:
            raise WrongType(f"{column.name}: is {values.dtype}: numbers, dates and times can be aggregated")
        if rows is not None:
            values, known = values[rows], None if known is None else known[rows]
        if known is not None:
            values, self._codes = values[known], groups.codes[known]
        self._values, self._has_nulls = values, known is not None

    def aggregate(self, how: str) -> Tuple[NumPyArray, Optional[NumPyArray]]:
        """An aggregate for each group, and which groups have one; None: all."""
        dtype = self._values.dtype
        if dtype.kind in "mM" and how in ("sum", "mean"):
            raise WrongType(f"{self._name}: is {dtype}, which has no {how}: take min or max")
        if not self._made:
            self._combine()
        if how in ("count", "size"):
            return self._made["counts"], None
        known = self._made["counts"] > 0 if self._has_nulls else None
        if how in ("min", "max"):
            extremes = self._made["least" if how == "min" else "largest"]
            return extremes.view(dtype) if dtype.kind in "mM" else extremes.astype(dtype, copy=False), known
        if how == "sum":
            if self._passed:
                limit = 64 if dtype.kind == "u" else 63
                warnings.warn(f"{self._name}: {sums_passed(self._passed, limit)}", OverflowWarning, stacklevel=4)
            kind = dtype.kind
            return self._made["sums"].astype(dtype if kind == "f" else np.uint64 if kind == "u" else np.int64, copy=False), None
        with np.errstate(invalid="ignore", divide="ignore"):
            means = self._made["near"] / self._made["counts"]
        return means.astype(np.float32) if dtype == np.float32 else means, known

    def _combine(self) -> None:
        values = self._values.view(np.int64) if self._values.dtype.kind in "mM" else self._values
        kind = values.dtype.kind
        own = values.dtype.newbyteorder("=") if values.dtype.itemsize > 2 else np.dtype(_WIDER[kind])
        values = np.ascontiguousarray(values, own)
        kind = values.dtype.kind
        made = self._made = {"counts": np.empty(self._number, np.uint64)}
        if "sum" in self.asked:
            made["sums"] = np.empty(self._number, np.float64 if kind == "f" else np.uint64 if kind == "u" else np.int64)
        if "mean" in self.asked:
            made["near"] = np.empty(self._number)
        for how, name in (("min", "least"), ("max", "largest")):
            if how in self.asked:
                made[name] = np.empty(self._number, values.dtype)
        codes, passed = np.ascontiguousarray(self._codes), ctypes.c_uint64()
        asked = NumberedValues(
            size=sizeof(NumberedValues),
            n=len(codes),
            numbers=codes.ctypes.data,
            values=values.ctypes.data,
            type=_TYPES[f"{kind}{values.dtype.itemsize}"],
            distinct=self._number,
            **{name: array.ctypes.data for name, array in made.items()},
        )
        _call("tsr_combine_by_number", byref(asked), byref(passed))
        self._passed = passed.value
        made["counts"] = made["counts"].view(np.int64)


def _with_nulls(values: NumPyArray, known: Optional[NumPyArray], library: str) -> Any:
    """An aggregate as a column, with nulls where a group has none."""
    if known is None or bool(known.all()):
        return wrap(values, library)
    if library == "polars":
        polars = module("polars")
        made = polars.Series(values)
        return polars.select(polars.when(polars.Series(known)).then(made)).to_series()
    if library == "pyarrow":
        return module("pyarrow").array(values, mask=~known)
    if values.dtype.kind in "mM":
        return np.where(known, values, np.array("NaT", values.dtype))
    return np.where(known, values, np.nan)


# ---- Joins -----------------------------------------------------------------------------------------------------------


@overload
def merge(
    left: FrameT,
    right: FrameT,
    on: Any = ...,
    how: How = ...,
    *,
    left_on: Any = ...,
    right_on: Any = ...,
    suffixes: Optional[Tuple[str, str]] = ...,
    order: Order = ...,
) -> FrameT: ...
@overload
def merge(
    left: Union[NumPyArray, PandasColumn],
    right: Any,
    *,
    how: Literal["inner", "left", "right", "outer"] = ...,
    order: Order = ...,
) -> Tuple[Int64s, Int64s]: ...
@overload
def merge(
    left: Union[NumPyArray, PandasColumn], right: Any, *, how: Literal["semi", "anti"], order: Order = ...
) -> Int64s: ...
@overload
def merge(
    left: SameT, right: Any, *, how: Literal["inner", "left", "right", "outer"] = ..., order: Order = ...
) -> Tuple[SameT, SameT]: ...
@overload
def merge(left: SameT, right: Any, *, how: Literal["semi", "anti"], order: Order = ...) -> SameT: ...
@overload
def merge(left: Listed, right: Any, *, how: How = ..., order: Order = ...) -> Any: ...
def merge(
    left: Any,
    right: Any,
    on: Any = None,
    how: How = "inner",
    *,
    left_on: Any = None,
    right_on: Any = None,
    suffixes: Optional[Tuple[str, str]] = None,
    order: Order = "seen",
) -> Any:
    """Joins two frames by columns of equal names (`on`), or of others (`left_on`, `right_on`); or two columns of keys.

    how: "inner"; "left", "right" and "outer", which keep rows without a match as well; "semi" and "anti", the rows of the
    left side that have a match, or have none. Rows are in the order of the left side (with "right" of the right side), and
    matches of one row in the order of the other side. Nulls match nothing. order: "any" lets rows come in any order, which is
    several times as fast for one column on a GPU, and changes nothing elsewhere.

    Of frames, a frame: the keys, then the other columns of both; where names are equal they get `suffixes`. Of columns,
    (left_rows, right_rows), int64; -1 where there is no row; of "semi" and "anti" the left rows alone.

    >>> tessera.merge(np.array([7, 5, 42]), np.array([42, 7, 7]))
    (array([0, 0, 2]), array([1, 2, 0]))
    >>> tessera.merge(np.array([7, 5, 42]), np.array([42, 7, 7]), how="anti")
    array([1])
    """
    need_word("how", how, ("inner", "left", "right", "outer", "semi", "anti"))
    _need_order(order)
    if is_frame(left) or is_frame(right):
        return _merge_frames(left, right, on, how, left_on, right_on, suffixes)
    left, right = _from_gpu(left, "left"), _from_gpu(right, "right")
    ops = _device.ops_of(left[0] if isinstance(left, tuple) and left else left)
    if on is not None or left_on is not None or right_on is not None:
        raise BadArgument("on: names columns of frames, and these are columns: leave it out")
    if ops is not None:
        return _device.merge(ops, left, right, how, order)
    lefts, rights = (list(side) if isinstance(side, tuple) else [side] for side in (left, right))
    columns = [Column(x, "left") for x in lefts], [Column(x, "right") for x in rights]
    made = _match(*columns, how)
    library = columns[0][0].library
    return wrap(made[0], library) if how in ("semi", "anti") else tuple(wrap(rows, library) for rows in made)


def _from_gpu(side: Any, name: str) -> Any:
    return tuple(from_gpu(column, name) for column in side) if isinstance(side, tuple) else from_gpu(side, name)


class _Sides(NamedTuple):
    """left: for its rows the numbers of keys of the right side, -1 where there is none. column: the right side, without the rows
    that match nothing; at: its rows; None: all, which are `rows`."""

    left: NumPyArray
    column: _Numbered
    at: Optional[NumPyArray]
    rows: int

    def right(self) -> NumPyArray:
        """The same numbers for the rows of the right side."""
        return _Kept(self.column.keys, self.at).whole(self.column.groups().codes, self.rows, -1)


def _sides_of(left: Column, right: Column) -> _Sides:
    keys, others = _common(left, right)
    numbered = _Numbered(others, _NUMBERS)
    codes = numbered.find(keys)
    if left.known is not None:
        codes[~left.known] = -1
    return _Sides(codes, numbered, _narrowed_rows(left, right), len(right))


def _narrowed_rows(left: Column, right: Column) -> Optional[NumPyArray]:
    """The rows of the right side that `_common` keeps; None: all."""
    known = right.known
    if left.values.dtype != right.values.dtype and left.values.dtype.kind in "iub" and right.values.dtype.kind in "iub":
        known = _narrowed(right.values, left.values.dtype, known)[1]
    return None if known is None else np.flatnonzero(known)


def _match(lefts: List[Column], rights: List[Column], how: str) -> Tuple[NumPyArray, NumPyArray]:
    """The rows of both sides that a join has, by the numbers of rows; -1: none."""
    if len(lefts) != len(rights) or not lefts:
        raise BadArgument(f"left has {len(lefts)} columns of keys, and right {len(rights)}: pass as many")
    if how == "right":
        b, a = _match(rights, lefts, "left")
        return a, b
    if how in ("semi", "anti") and len(lefts) == 1:
        among = _among(lefts[0], rights[0])
        rows = np.flatnonzero(among if how == "semi" else ~among)
        return rows, rows
    sides = _sides_of(lefts[0], rights[0])
    for left, right in zip(lefts[1:], rights[1:]):
        sides = _both(sides, _sides_of(left, right))
    codes = sides.left
    if how == "semi":
        return np.flatnonzero(codes >= 0), codes
    if how == "anti":
        return np.flatnonzero(codes < 0), codes
    if sides.column.number == sides.rows:  # every row of the right has a key of its own: the number is the row
        if how == "left" or how == "inner" and len(codes) > 0 and int(codes.min()) >= 0:
            return np.arange(len(codes)), codes
    own, others = sides.column.pairs(codes, how != "inner", how == "outer")
    if sides.at is not None:
        others = np.append(sides.at, np.int64(-1))[others]
        if how == "outer":  # the rows that match nothing are among those that no row matches
            own, others = _with_alone(own, others, np.setdiff1d(np.arange(sides.rows), sides.at, assume_unique=True))
    return own, others


def _with_alone(own: NumPyArray, others: NumPyArray, alone: NumPyArray) -> Tuple[NumPyArray, NumPyArray]:
    """More rows of the right side that match none. These are ascending, after all others."""
    kept = len(own) - int((own < 0).sum())
    more = np.sort(np.concatenate([others[kept:], alone]))
    return np.concatenate([own[:kept], np.full(len(more), -1, np.int64)]), np.concatenate([others[:kept], more])


def _both(first: _Sides, second: _Sides) -> _Sides:
    """Groups of rows that are equal in both."""

    def key(a: NumPyArray, b: NumPyArray) -> NumPyArray:
        return np.where((a < 0) | (b < 0), np.int64(-1), a * np.int64(second.column.number) + b)

    def column(keys: NumPyArray) -> Column:
        made = Column(keys, "keys")
        made.known = None if bool((keys >= 0).all()) else keys >= 0
        return made

    return _sides_of(column(key(first.left, second.left)), column(key(first.right(), second.right())))


def _merge_frames(
    left: Any, right: Any, on: Any, how: str, left_on: Any, right_on: Any, suffixes: Optional[Tuple[str, str]]
) -> Any:
    if not (is_frame(left) and is_frame(right)) or library_of(left) != library_of(right):
        raise WrongType(f"right: is {type(right).__name__}, and left {type(left).__name__}: pass frames of one library")
    a, b = Frame(left, "left"), Frame(right, "right")
    if on is None and left_on is None and right_on is None:
        on = [name for name in a.names if name in b.names]
    if (on is None) != (left_on is not None and right_on is not None) or on == []:
        raise BadArgument("on: pass the name of a column of both frames, or a list of them; or left_on and right_on")
    mine, theirs = _listed(left_on if on is None else on), _listed(right_on if on is None else on)
    own, others = _match([a.column(name) for name in mine], [b.column(name) for name in theirs], how)
    if how in ("semi", "anti"):
        return make_frame(a.library, a.take(own, a.names))
    keys = {name: other for name, other in zip(mine, theirs) if name == other}  # they become one column
    rest = [name for name in b.names if name not in keys]
    lefts, rights = a.take(own, a.names), b.take(others, rest if how not in ("right", "outer") else b.names)
    first, second = suffixes or (("_x", "_y") if a.library == "pandas" else ("", "_right"))
    answer: Dict[Any, Any] = {}
    for name in a.names:
        if name in keys:
            answer[name] = coalesced(a.library, lefts[name], rights[name]) if how in ("right", "outer") else lefts[name]
        else:
            answer[f"{name}{first}" if name in rest else name] = lefts[name]
    for name in rest:
        called = f"{name}{second}" if name in a.names else name
        if called in answer:
            raise BadArgument(f"suffixes = {suffixes!r}: make two columns {called!r}: pass others")
        answer[called] = rights[name]
    return make_frame(a.library, answer)


def _listed(names: Any) -> List[Any]:
    return list(names) if isinstance(names, (list, tuple)) else [names]
