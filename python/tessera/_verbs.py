# SPDX-License-Identifier: Apache-2.0
"""Verbs on columns and frames: unique, factorize, isin, value_counts, group_by, merge, relabel.

Each makes a table for one call. One primitive does most of the work: a map from each key to a row that has it. Numbers of
groups and all answers follow from these rows. Read next: _columns.py, _table.py.
"""

import os
import warnings
from typing import Any, Dict, Generic, List, Literal, Mapping, NamedTuple, Optional, Sequence, Tuple, TypeVar, Union, overload

import numpy as np

from tessera import _device
from tessera._arrays import NumPyArray
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
from tessera._library import BadArgument, Full, OverflowWarning, WrongType
from tessera._table import Code, Table

How = Literal["inner", "left", "right", "outer", "semi", "anti"]
Order = Literal["seen", "any"]

_SPEC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "verbs.ini")
_SAMPLE = 4096
_REPEATED = 24  # keys of a sample that are there already: with fewer it does not tell
_LEAST = 1024  # the smallest capacity


def _table(kind: str, keys: NumPyArray, capacity: int) -> Table:
    """A table for these keys, on the CPU. A map has numbers of rows."""
    width = 8 * keys.dtype.itemsize
    settings: Dict[str, object] = {"table.kind": kind, "table.key_bits": width}
    if kind == "map":
        settings["table.value_bits"] = width
    return Table(_SPEC, settings=settings, capacity=max(capacity, _LEAST))


def _likely_distinct(keys: NumPyArray) -> int:
    """About how many distinct keys there are, from a sample. Where a table of that size is too small, the caller makes one
    with room for all keys, which takes half as long as one that grows."""
    n = len(keys)
    if n <= 4 * _SAMPLE:
        return n
    size = _SAMPLE if n < 1 << 21 else 4 * _SAMPLE
    ordered = np.sort(keys[:: n // size][:size])
    seen = 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
    if size - seen < _REPEATED:
        return n
    low, high = float(seen), float(n)  # the number whose sample is expected to show as many
    while high > 1.05 * low:
        middle = (low * high) ** 0.5
        if middle * -np.expm1(-size / middle) < seen:
            low = middle
        else:
            high = middle
    return min(n, int((1.2 + 4 / (size - seen + 1) ** 0.5) * high))  # the fewer are repeated, the less it tells


class _Rows(NamedTuple):
    """A map from keys to rows that is kept, and what it said."""

    table: Table
    rows: NumPyArray  # for each key one row that has it
    inserted: NumPyArray  # bool: whether that is its own row


def _row_type(keys: NumPyArray) -> "np.dtype[Any]":
    if keys.dtype.itemsize == 4 and len(keys) >= 1 << 31:
        raise BadArgument(f"x: has {len(keys)} rows of 32 bits: convert it to 64 bits, since rows need more than 32")
    return np.dtype(f"i{keys.dtype.itemsize}")


def _find_rows(keys: NumPyArray) -> _Rows:
    own = np.arange(len(keys), dtype=_row_type(keys))
    table = _table("map", keys, _likely_distinct(keys))
    try:
        rows, inserted = table.find_or_insert(keys, own)
    except Full:
        table.close()
        table = _table("map", keys, len(keys))
        rows, inserted = table.find_or_insert(keys, own)
    rows = rows.view(own.dtype)
    if bool((rows > own).any()):  # threads raced, and a later row came first
        rows, inserted = _lowest_rows(rows, own)
    return _Rows(table, rows, inserted)


def _lowest_rows(rows: NumPyArray, own: NumPyArray) -> Tuple[NumPyArray, NumPyArray]:
    """The same with the lowest row of each key."""
    lowest = np.empty_like(own)
    lowest[rows[::-1]] = own[::-1]
    rows = lowest[rows]
    return rows, rows == own


class Groups(NamedTuple):
    """codes: for each row the number of its group, in order of first appearance; firsts: the first row of each."""

    codes: NumPyArray
    firsts: NumPyArray


def _numbered(found: _Rows) -> Groups:
    firsts = np.flatnonzero(found.inserted)
    small = np.int32 if len(firsts) < 1 << 31 else np.int64  # half as much memory is read at random
    numbers = np.empty(int(firsts[-1]) + 1 if len(firsts) else 0, small)
    numbers[firsts] = np.arange(len(firsts), dtype=small)
    return Groups(numbers.take(found.rows).astype(np.int64, copy=False), firsts)


def _groups(keys: NumPyArray) -> Groups:
    found = _find_rows(keys)
    found.table.close()
    return _numbered(found)


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
) -> Tuple[HostT, NumPyArray]: ...
@overload
def unique(
    x: HostT, return_inverse: Literal[False] = ..., *, return_counts: Literal[True], order: Order = ..., nulls: Nulls = ...
) -> Tuple[HostT, NumPyArray]: ...
@overload
def unique(
    x: HostT, return_inverse: Literal[True], return_counts: Literal[True], *, order: Order = ..., nulls: Nulls = ...
) -> Tuple[HostT, NumPyArray, NumPyArray]: ...
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
) -> Tuple[NumPyArray, NumPyArray]: ...
@overload
def unique(
    x: Listed, return_inverse: Literal[False] = ..., *, return_counts: Literal[True], order: Order = ..., nulls: Nulls = ...
) -> Tuple[NumPyArray, NumPyArray]: ...
@overload
def unique(
    x: Listed, return_inverse: Literal[True], return_counts: Literal[True], *, order: Order = ..., nulls: Nulls = ...
) -> Tuple[NumPyArray, NumPyArray, NumPyArray]: ...
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
    ops = _device.ops_of(x)
    if ops is not None:
        return _device.unique(ops, x, return_inverse, return_counts, order)
    column = Column(x, "x")
    kept = _kept(column, nulls)
    if not return_inverse and not return_counts:
        if order == "any":
            return column.pick(kept.rows(_distinct_rows(kept.keys)))
        found = _find_rows(kept.keys)
        found.table.close()
        return column.pick(kept.rows(np.flatnonzero(found.inserted)))
    groups = _groups(kept.keys)
    answer = [column.pick(kept.rows(groups.firsts))]
    if return_inverse:
        inverse = kept.whole(groups.codes, len(column), -1)
        answer.append(wrap(inverse.reshape(column.shape), column.library))
    if return_counts:
        answer.append(wrap(_counts(groups), column.library))
    return tuple(answer)


def _distinct_rows(keys: NumPyArray) -> NumPyArray:
    """One row of each key."""
    table, codes = _set_of(keys)
    table.close()
    return np.flatnonzero(codes == Code.INSERTED)


def _set_of(keys: NumPyArray) -> Tuple[Table, NumPyArray]:
    """A set of these keys, and what became of each."""
    codes = np.empty(len(keys), np.uint8)
    table = _table("set", keys, _likely_distinct(keys))
    table.insert(keys, wait=False, out=(codes, None, None))
    if table.report()["not_placed"]:
        table.close()
        table = _table("set", keys, len(keys))
        table.insert(keys, wait=False, out=(codes, None, None))
    return table, codes


def _counts(groups: Groups) -> NumPyArray:
    return np.bincount(groups.codes, minlength=len(groups.firsts))


@overload
def factorize(x: HostT, *, nulls: Nulls = ...) -> Tuple[NumPyArray, HostT]: ...
@overload
def factorize(x: SameT, *, nulls: Nulls = ...) -> Tuple[SameT, SameT]: ...
@overload
def factorize(x: Listed, *, nulls: Nulls = ...) -> Tuple[NumPyArray, NumPyArray]: ...
def factorize(x: Any, *, nulls: Nulls = "drop") -> Tuple[Any, Any]:
    """(codes, uniques): each distinct value gets a number, in order of first appearance; nulls get -1, or are refused.

    >>> tessera.factorize(np.array([30, 10, 30, 20]))
    (array([0, 1, 0, 2]), array([30, 10, 20]))
    """
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
def relabel(edge_index: NumPyArray) -> Tuple[NumPyArray, NumPyArray]: ...
@overload
def relabel(edge_index: SameT) -> Tuple[SameT, SameT]: ...
@overload
def relabel(edge_index: Listed) -> Tuple[NumPyArray, NumPyArray]: ...
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
) -> Tuple[NumPyArray, NumPyArray]: ...
@overload
def value_counts(x: PandasT, *, sort: bool = ..., order: Order = ..., nulls: Nulls = ...) -> PandasT: ...
@overload
def value_counts(x: PolarsColumn, *, sort: bool = ..., order: Order = ..., nulls: Nulls = ...) -> Any: ...
@overload
def value_counts(x: SameT, *, sort: bool = ..., order: Order = ..., nulls: Nulls = ...) -> Tuple[SameT, SameT]: ...
@overload
def value_counts(
    x: Listed, *, sort: bool = ..., order: Order = ..., nulls: Nulls = ...
) -> Tuple[NumPyArray, NumPyArray]: ...
def value_counts(x: Any, *, sort: bool = False, order: Order = "seen", nulls: Nulls = "drop") -> Any:
    """How often each value occurs.

    order: "seen", as values first appear, or "any", which is faster on a GPU. sort: by falling count; values with equal
    counts are in `order`.

    (values, counts); a Series for one of pandas, and a DataFrame for a Series of polars, as theirs.

    >>> tessera.value_counts(np.array([30, 10, 30, 20]))
    (array([30, 10, 20]), array([2, 1, 1]))
    """
    _need_order(order)
    ops = _device.ops_of(x)
    if ops is not None:
        return _device.value_counts(ops, x, sort, order)
    column = Column(x, "x")
    kept = _kept(column, nulls)
    found = _find_rows(kept.keys)
    found.table.close()
    firsts = np.flatnonzero(found.inserted)
    counts = np.bincount(found.rows, minlength=1)[firsts] if len(firsts) else np.empty(0, np.int64)
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
def isin(x: NumPyArray, values: Any, *, invert: bool = ...) -> NumPyArray: ...
@overload
def isin(x: SameT, values: Any, *, invert: bool = ...) -> SameT: ...
@overload
def isin(x: Listed, values: Any, *, invert: bool = ...) -> NumPyArray: ...
def isin(x: Any, values: Any, *, invert: bool = False) -> Any:
    """bool for each row of x: whether it is among the values. Nulls are in no set.

    >>> tessera.isin(np.array([1, 2, 3]), [3, 1])
    array([ True, False,  True])
    """
    ops = _device.ops_of(x)
    if ops is not None:
        return _device.isin(ops, x, values, invert)
    column, among = Column(x, "x"), Column(values if not isinstance(values, (set, frozenset)) else list(values), "values")
    keys, others = _common(column, among)
    with _set_of(others)[0] as table:
        mask: NumPyArray = table.contains(keys)
    if column.known is not None:
        mask &= column.known
    if invert:
        mask = ~mask
    if column.library == "pandas" and hasattr(x, "iloc"):
        return module("pandas").Series(mask, index=x.index, name=x.name)
    return wrap(mask.reshape(column.shape), column.library)


def _common(left: Column, right: Column) -> Tuple[NumPyArray, NumPyArray]:
    """Keys of two columns that are equal where their values are; of the right one only those that may be on the left."""
    a, b = left.values, right.values
    known = right.known
    for column in (left, right):
        if is_coded(column.source):
            raise WrongType(
                f"{column.name}: holds categories, whose numbers differ between columns: number both columns as one first"
            )
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
        wanted: Dict[Any, Tuple[Any, str]] = {}
        for column, hows in (aggregates or {}).items():
            for how in [hows] if isinstance(hows, str) else hows:
                wanted[column if isinstance(hows, str) else f"{column}_{how}"] = column, how
        for name, given in named.items():
            wanted[name] = (None, given) if isinstance(given, str) else tuple(given)
        if not wanted:
            raise BadArgument(f"agg: says nothing to aggregate: pass name=(column, how), how one of {', '.join(_AGGREGATES)}")
        answer = self._keys()
        keys = set(answer)
        read: Dict[Any, _Values] = {}
        for name, (source, how) in wanted.items():
            if name in keys:
                raise BadArgument(f"{name}: is a key already: call the aggregate another name")
            answer[name] = self._aggregate(name, source, how, read)
        made: Any = answer if self._frame is None else make_frame(self._library, answer)
        return made  # type: ignore[no-any-return]

    def _keys(self) -> Dict[Any, Any]:
        if self._on_device is not None:
            return dict(self._on_device.keys)
        firsts = self._groups.firsts if self._rows is None else self._rows[self._groups.firsts]
        return {name: column.pick(firsts) for name, column in self._columns.items()}

    def size(self) -> AnswerT:
        """How many rows each group has, as agg(size="size")."""
        return self.agg(size="size")

    def _aggregate(self, name: Any, source: Any, how: str, read: "Dict[Any, _Values]") -> Any:
        if how not in _AGGREGATES:
            raise BadArgument(f"{name}: {how!r}: there are {', '.join(_AGGREGATES)}")
        if source is None:
            if how not in ("size", "count"):
                raise BadArgument(f"{name}: {how!r} of what: pass {name}=(column, {how!r})")
        if isinstance(source, str) and self._frame is None:
            raise BadArgument(f"{name}: {source!r}: the keys are arrays: pass an array of values")
        if self._on_device is not None:
            return self._on_device.aggregate(name, source, how)
        if source is None:
            return wrap(_counts(self._groups), self._library)
        key = source if isinstance(source, (str, int)) else id(source)
        if key not in read:
            by_name = self._frame is not None and not hasattr(source, "__len__") or isinstance(source, str)
            column = self._frame.column(source) if self._frame is not None and by_name else Column(source, str(name))
            read[key] = _Values(self._groups, self._rows, column, len(next(iter(self._columns.values()))))
        values, known = read[key].aggregate(how)
        return _with_nulls(values, known, self._library)


def _need_order(order: Any) -> None:
    if order not in ("seen", "any"):
        raise BadArgument(f'order = {order!r}: is "seen" or "any"')


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
    ops = _device.ops_of(next(iter(given.values()))[0])
    if ops is not None:
        return GroupBy(None, _device.Groups(ops, {name: column for name, (column, _) in given.items()}, order), nulls)
    return GroupBy(None, {name: Column(column, called) for name, (column, called) in given.items()}, nulls)


class _Values:
    """A column of values, to be aggregated by group. Sums and counts are made once, as a mean needs both."""

    def __init__(self, groups: Groups, rows: Optional[NumPyArray], column: Column, size: int) -> None:
        if len(column) != size:
            raise BadArgument(f"{column.name}: has {len(column)} rows, and keys {size}: pass one value for each")
        values, codes = column.values, groups.codes
        self.number, self.name = len(groups.firsts), column.name
        if values.dtype.kind not in "iufbmM" or values.dtype.itemsize > 8:
            raise WrongType(f"{column.name}: is {values.dtype}: numbers, dates and times can be aggregated")
        known = column.known
        if rows is not None:
            values, known = values[rows], None if known is None else known[rows]
        if known is not None:
            values, codes = values[known], codes[known]
        self.values, self.codes, self.has_nulls = values, codes, known is not None
        self._counts: Optional[NumPyArray] = None
        self._sums: Optional[NumPyArray] = None

    def aggregate(self, how: str) -> Tuple[NumPyArray, Optional[NumPyArray]]:
        """An aggregate for each group, and which groups have one; None: all."""
        if how in ("count", "size"):
            return self.counts(), None
        known = self.counts() > 0 if self.has_nulls else None
        if how in ("min", "max"):
            return self._extremes(how), known
        if self.values.dtype.kind in "mM":
            raise WrongType(f"{self.name}: is {self.values.dtype}, which has no {how}: take min or max")
        if how == "sum":
            return self.sums().astype(self._sum_type()), None
        with np.errstate(invalid="ignore", divide="ignore"):
            means = self.sums() / self.counts()
        return means.astype(np.float32) if self.values.dtype == np.float32 else means, known

    def counts(self) -> NumPyArray:
        if self._counts is None:
            self._counts = np.bincount(self.codes, minlength=self.number)
        return self._counts

    def _sum_type(self) -> "np.dtype[Any]":
        kind = self.values.dtype.kind
        return self.values.dtype if kind == "f" else np.dtype(np.uint64 if kind == "u" else np.int64)

    def sums(self) -> NumPyArray:
        if self._sums is None:
            self._sums = self._add()
        return self._sums

    def _add(self) -> NumPyArray:
        values = self.values
        if values.dtype.kind == "f" or not len(values):
            return np.bincount(self.codes, weights=values, minlength=self.number)
        largest = max(abs(int(values.min())), abs(int(values.max())))
        if largest * len(values) < 1 << 53:  # every partial sum is exact
            return np.bincount(self.codes, weights=values, minlength=self.number)
        wide = values.astype(self._sum_type())
        sums: NumPyArray = np.zeros(self.number, wide.dtype)
        np.add.at(sums, self.codes, wide)
        limit = 64 if wide.dtype.kind == "u" else 63
        if largest * len(values) >= 1 << limit:
            near = np.bincount(self.codes, weights=values, minlength=self.number)
            passed = int((np.abs(near - sums.astype(np.float64)) > 2.0 ** (limit - 2)).sum())
            if passed:
                warnings.warn(
                    f"{self.name}: {passed} sums passed 2^{limit} - 1; these values are wrong", OverflowWarning, stacklevel=6
                )
        return sums

    def _extremes(self, how: str) -> NumPyArray:
        values = self.values.view(np.int64) if self.values.dtype.kind in "mM" else self.values
        kind = values.dtype.kind
        if kind == "b":
            values = values.view(np.uint8)
        if kind == "f":
            start: Any = np.inf if how == "min" else -np.inf
        else:
            start = np.iinfo(values.dtype).max if how == "min" else np.iinfo(values.dtype).min
        best = np.full(self.number, start, values.dtype)
        (np.minimum if how == "min" else np.maximum).at(best, self.codes, values)
        return best.view(self.values.dtype)


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
) -> FrameT: ...
@overload
def merge(
    left: Union[NumPyArray, PandasColumn], right: Any, *, how: Literal["inner", "left", "right", "outer"] = ...
) -> Tuple[NumPyArray, NumPyArray]: ...
@overload
def merge(left: Union[NumPyArray, PandasColumn], right: Any, *, how: Literal["semi", "anti"]) -> NumPyArray: ...
@overload
def merge(left: SameT, right: Any, *, how: Literal["inner", "left", "right", "outer"] = ...) -> Tuple[SameT, SameT]: ...
@overload
def merge(left: SameT, right: Any, *, how: Literal["semi", "anti"]) -> SameT: ...
@overload
def merge(left: Listed, right: Any, *, how: How = ...) -> Any: ...
def merge(
    left: Any,
    right: Any,
    on: Any = None,
    how: How = "inner",
    *,
    left_on: Any = None,
    right_on: Any = None,
    suffixes: Optional[Tuple[str, str]] = None,
) -> Any:
    """Joins two frames by columns of equal names (`on`), or of others (`left_on`, `right_on`); or two columns of keys.

    how: "inner"; "left", "right" and "outer", which keep rows without a match as well; "semi" and "anti", the rows of the
    left side that have a match, or have none. Rows are in the order of the left side (with "right" of the right side), and
    matches of one row in the order of the other side. Nulls match nothing.

    Of frames, a frame: the keys, then the other columns of both; where names are equal they get `suffixes`. Of columns,
    (left_rows, right_rows), int64; -1 where there is no row; of "semi" and "anti" the left rows alone.

    >>> tessera.merge(np.array([7, 5, 42]), np.array([42, 7, 7]))
    (array([0, 0, 2]), array([1, 2, 0]))
    >>> tessera.merge(np.array([7, 5, 42]), np.array([42, 7, 7]), how="anti")
    array([1])
    """
    if how not in ("inner", "left", "right", "outer", "semi", "anti"):
        raise BadArgument(f"how = {how!r}: there are inner, left, right, outer, semi and anti")
    if is_frame(left) or is_frame(right):
        return _merge_frames(left, right, on, how, left_on, right_on, suffixes)
    ops = _device.ops_of(left[0] if isinstance(left, tuple) and left else left)
    if on is not None or left_on is not None or right_on is not None:
        raise BadArgument("on: names columns of frames, and these are columns: leave it out")
    if ops is not None:
        return _device.merge(ops, left, right, how)
    lefts, rights = (list(side) if isinstance(side, tuple) else [side] for side in (left, right))
    columns = [Column(x, "left") for x in lefts], [Column(x, "right") for x in rights]
    made = _match(*columns, how)
    library = columns[0][0].library
    return wrap(made[0], library) if how in ("semi", "anti") else tuple(wrap(rows, library) for rows in made)


class _Sides(NamedTuple):
    """Numbers of groups for the rows of two sides: -1 on the left where no row of the right is equal. A row of the right that
    has a null has -1 as well."""

    left: NumPyArray
    right: NumPyArray
    number: int


def _sides_of(left: Column, right: Column) -> _Sides:
    keys, others = _common(left, right)
    at = _narrowed_rows(left, right)
    found = _find_rows(others)
    groups = _numbered(found)
    with found.table as table:
        rows = table.get(keys, missing=-1) if keys.dtype.kind == "i" else table.get(keys.view(f"i{keys.dtype.itemsize}"), -1)
    if len(groups.firsts) == len(others):
        codes = rows.astype(np.int64)
    else:
        numbers = np.append(groups.codes, np.int64(-1))  # the last one is that of row -1
        codes = numbers[rows]
    if left.known is not None:
        codes[~left.known] = -1
    theirs = groups.codes
    if at is not None:
        theirs = np.full(len(right), -1, np.int64)
        theirs[at] = groups.codes
    return _Sides(codes, theirs, len(groups.firsts))


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
    sides = _sides_of(lefts[0], rights[0])
    for left, right in zip(lefts[1:], rights[1:]):
        sides = _both(sides, _sides_of(left, right))
    codes = sides.left
    if how == "semi":
        return np.flatnonzero(codes >= 0), codes
    if how == "anti":
        return np.flatnonzero(codes < 0), codes
    if sides.number == len(sides.right):  # every row of the right has a key of its own: the number is the row
        if how == "inner":
            own = np.flatnonzero(codes >= 0)
            return own, codes[own]
        own, others = np.arange(len(codes)), codes
    else:
        own, others = _expanded(sides, how)
    if how == "outer":
        hit = np.zeros(sides.number + 1, bool)
        hit[codes] = True
        hit[-1] = False
        alone = np.flatnonzero(~hit[sides.right])
        own = np.concatenate([own, np.full(len(alone), -1, np.int64)])
        others = np.concatenate([others, alone])
    return own, others


def _both(first: _Sides, second: _Sides) -> _Sides:
    """Groups of rows that are equal in both."""

    def key(a: NumPyArray, b: NumPyArray) -> NumPyArray:
        return np.where((a < 0) | (b < 0), np.int64(-1), a * np.int64(second.number) + b)

    def column(keys: NumPyArray) -> Column:
        made = Column(keys, "keys")
        made.known = None if bool((keys >= 0).all()) else keys >= 0
        return made

    return _sides_of(column(key(first.left, second.left)), column(key(first.right, second.right)))


def _expanded(sides: _Sides, how: str) -> Tuple[NumPyArray, NumPyArray]:
    """A row for each pair of rows of one group."""
    order = _by_code(sides.right)
    counts = np.bincount(sides.right[sides.right >= 0], minlength=sides.number)
    begins = np.cumsum(counts) - counts + (len(sides.right) - int(counts.sum()))  # rows of no group come first
    counts, begins = np.append(counts, 0), np.append(begins, 0)
    matches = counts[sides.left]
    if how != "inner":
        order = np.append(order, np.int64(-1))
        begins[-1] = len(order) - 1
        matches = np.maximum(matches, 1)
    own = np.repeat(np.arange(len(sides.left)), matches)
    ends = np.cumsum(matches)
    shift = begins[sides.left] - (ends - matches)
    return own, order[np.arange(len(own)) + np.repeat(shift, matches)]


def _by_code(codes: NumPyArray) -> NumPyArray:
    """Rows by their code, from -1 on, in their own order where codes are equal. NumPy sorts 16 bits by counting."""
    shifted = codes + 1
    order = np.argsort(shifted.astype(np.uint16), kind="stable")
    largest = int(shifted.max()) if len(codes) else 0
    for bits in range(16, max(largest.bit_length(), 1), 16):
        digits = (shifted >> bits).astype(np.uint16)
        order = order[np.argsort(digits[order], kind="stable")]
    return order


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
