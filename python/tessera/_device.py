# SPDX-License-Identifier: Apache-2.0
"""The verbs on arrays that stay on a GPU: those of PyTorch, CuPy and JAX.

An index numbers keys, a set tells which keys it has; the rest is done by the library of the arrays, on its current stream. The
host waits where the size of an answer depends on the data, and nowhere else. Read next: _verbs.py, _table.py.
"""

import math
import threading
import warnings
from contextlib import contextmanager, nullcontext
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from tessera._arrays import HOST, Adapter, CuPyAdapter, JaxAdapter, TorchAdapter, adapter_of, name_of, way_out
from tessera._library import BadArgument, OverflowWarning, WrongType, sums_passed
from tessera._table import Table

_NUMBERS = 1 << 31  # an index has as many
_WITHOUT_TABLE = 1 << 30  # TSR_GROUPS_MOST: items that tsr_unique takes on a GPU without room for them in the table


# ---- What the verbs ask of a library of arrays, besides what its adapter does ---------------------------------------


class Ops:
    """By a module with NumPy's names: CuPy's."""

    def __init__(self, adapter: Adapter, module: Any) -> None:
        self.adapter, self.xp = adapter, module
        self.row_type: Any = np.dtype(np.int64)  # of numbers of rows and groups

    def on(self, x: Any) -> Any:
        """A block in which new arrays are made on the GPU of x."""
        return self.adapter._on(x)  # type: ignore[attr-defined]

    def type_of(self, x: Any) -> Tuple[str, int]:
        return str(x.dtype.kind), int(x.dtype.itemsize)

    def flat(self, x: Any) -> Any:
        return self.xp.ascontiguousarray(x).reshape(-1)

    def like(self, numbers: Any, x: Any) -> Any:
        """An array of what is none, where x is."""
        return self.xp.asarray(np.asarray(numbers))

    def cast(self, x: Any, kind: str, width: int) -> Any:
        return x.astype(np.dtype(f"{kind}{width}"))

    def rows(self, x: Any) -> Any:
        """As numbers of rows."""
        return x.astype(self.row_type)

    def filled(self, x: Any, mask: Any, value: Any) -> Any:
        """x with a value where the mask is true."""
        return self.xp.where(mask, self.xp.asarray(value, dtype=x.dtype), x)

    def arange(self, n: int, x: Any) -> Any:
        return self.xp.arange(n, dtype=self.row_type)

    def full(self, n: int, value: Any, x: Any, dtype: Any = None) -> Any:
        return self.xp.full(n, value, dtype=self.row_type if dtype is None else dtype)

    def nonzero(self, mask: Any) -> Any:
        return self.rows(self.xp.nonzero(mask)[0])

    def sort_rows(self, x: Any) -> Any:
        """The rows in ascending order of x; equal ones stay in their own order."""
        return self.rows(self.xp.argsort(x))

    def sums(self, x: Any) -> Any:
        return self.xp.cumsum(x)

    def joined(self, parts: Sequence[Any]) -> Any:
        return self.xp.concatenate(list(parts))

    def maximum(self, x: Any, value: int) -> Any:
        return self.xp.maximum(x, value)

    def repeated(self, times: Any, total: int) -> Any:
        """Each row as often as it says, `total` in all."""
        return self.rows(self.xp.searchsorted(self.sums(times), self.arange(total, times), side="right"))

    def put(self, target: Any, at: Any, values: Any) -> Any:
        target[at] = values
        return target

    def combine(self, how: str, target: Any, at: Any, values: Any) -> Any:
        """Adds values to places of the target, or keeps the least or the largest one. CuPy's atomics know no int64: its sums
        have the same bits as unsigned ones, and their order is that of unsigned ones with the sign turned over."""
        import cupyx

        call = {"sum": cupyx.scatter_add, "min": cupyx.scatter_min, "max": cupyx.scatter_max}[how]
        if target.dtype != np.int64:
            call(target, at, values)
            return target
        turn = np.uint64(0 if how == "sum" else 1 << 63)
        bits = target.view(np.uint64) ^ turn
        call(bits, at, values.view(np.uint64) ^ turn)
        return (bits ^ turn).view(np.int64)


class JaxOps(Ops):
    def __init__(self, adapter: Adapter, module: Any) -> None:
        super().__init__(adapter, module.numpy)
        self.jax = module

    def on(self, x: Any) -> Any:
        self.row_type = np.dtype(np.int64 if self.jax.config.jax_enable_x64 else np.int32)
        return self.jax.default_device(next(iter(x.devices())))

    def flat(self, x: Any) -> Any:
        return x.reshape(-1)

    def cast(self, x: Any, kind: str, width: int) -> Any:
        self.adapter._allow(kind, width)  # type: ignore[attr-defined]
        return super().cast(x, kind, width)

    def repeated(self, times: Any, total: int) -> Any:
        return self.xp.repeat(self.arange(len(times), times), times, total_repeat_length=total)

    def put(self, target: Any, at: Any, values: Any) -> Any:
        return target.at[at].set(values)

    def combine(self, how: str, target: Any, at: Any, values: Any) -> Any:
        return getattr(target.at[at], {"sum": "add"}.get(how, how))(values)


class TorchOps(Ops):
    def __init__(self, adapter: Adapter, module: Any) -> None:
        super().__init__(adapter, module)
        self.row_type = module.int64

    def on(self, x: Any) -> Any:
        return self.xp.cuda.device_of(x) if x.is_cuda else nullcontext()

    def type_of(self, x: Any) -> Tuple[str, int]:
        kind = "f" if x.dtype.is_floating_point else "c" if x.dtype.is_complex else "i" if x.dtype.is_signed else "u"
        return "b" if x.dtype == self.xp.bool else kind, x.element_size()

    def flat(self, x: Any) -> Any:
        return x.detach().contiguous().view(-1)

    def like(self, numbers: Any, x: Any) -> Any:
        array = numbers if isinstance(numbers, self.xp.Tensor) else self.xp.as_tensor(np.asarray(numbers))
        return array.to(x.device)

    def cast(self, x: Any, kind: str, width: int) -> Any:
        return x.to(getattr(self.xp, f"{ {'u': 'uint', 'i': 'int', 'f': 'float'}[kind]}{8 * width}"))

    def rows(self, x: Any) -> Any:
        return x.to(self.row_type)

    def filled(self, x: Any, mask: Any, value: Any) -> Any:
        return x.masked_fill(mask, value)

    def arange(self, n: int, x: Any) -> Any:
        return self.xp.arange(n, device=x.device)

    def full(self, n: int, value: Any, x: Any, dtype: Any = None) -> Any:
        return self.xp.full((n,), value, dtype=self.row_type if dtype is None else dtype, device=x.device)

    def nonzero(self, mask: Any) -> Any:
        return mask.nonzero().view(-1)

    def sort_rows(self, x: Any) -> Any:
        return x.argsort(stable=True)

    def sums(self, x: Any) -> Any:
        return x.cumsum(0)

    def joined(self, parts: Sequence[Any]) -> Any:
        return self.xp.cat(list(parts))

    def maximum(self, x: Any, value: int) -> Any:
        return x.clamp(min=value)

    def repeated(self, times: Any, total: int) -> Any:
        return self.xp.repeat_interleave(times, output_size=total)

    def combine(self, how: str, target: Any, at: Any, values: Any) -> Any:
        if how == "sum":
            return target.index_add_(0, at, values)
        return target.scatter_reduce_(0, at, values, "a" + how, include_self=True)


_ops: Dict[Adapter, Ops] = {}


def ops_of(x: Any, anywhere: bool = False) -> Optional[Ops]:
    """What works on this array where it is; None where the host does, as on tensors of the host, unless `anywhere`."""
    adapter = None if isinstance(x, np.ma.MaskedArray) else adapter_of(x)
    if not isinstance(adapter, (TorchAdapter, CuPyAdapter, JaxAdapter)):
        return None
    if isinstance(adapter, TorchAdapter) and not (anywhere or _stays(x)):
        return None
    made = _ops.get(adapter)
    if made is None:
        if isinstance(adapter, TorchAdapter):
            made = TorchOps(adapter, adapter.torch)
        elif isinstance(adapter, JaxAdapter):
            made = JaxOps(adapter, adapter.jax)
        else:
            made = Ops(adapter, adapter.cupy)
        _ops[adapter] = made
    return made


def _stays(tensor: Any) -> bool:
    return bool(tensor.is_cuda)


# ---- Tables that are kept --------------------------------------------------------------------------------------------

_PARTS: Dict[str, Dict[str, object]] = {
    "table": {"layout": "packed", "probing": "quadratic", "hasher": "murmur3", "load_factor": 0.7},
    "layout": {"bucket_slots": 8, "tile_lanes": 1},
}
_LEAST = 1 << 16
_kept: Dict[Tuple[Any, ...], Table] = {}
_lock = threading.Lock()


@contextmanager
def _table(kind: str, key_bits: int, rows: int, device: int, numbering: str = "") -> Iterator[Table]:
    """A table with room for these rows, whose walks visit all buckets, so that every key finds a place. The last one of each
    kind and device is kept for the next call: to make or free one waits for the GPU."""
    wanted = kind, key_bits, device, numbering
    with _lock:
        table = _kept.pop(wanted, None)
    capacity = max(_LEAST, 1 << max(rows - 1, 0).bit_length())
    if table is not None and table._handle is None:  # of the process that forked this one
        table = None
    if table is not None and not capacity <= table.info["capacity"] <= 8 * capacity:
        table.close()
        table = None
    if table is None:
        own: Dict[str, object] = {"kind": kind, "key_bits": key_bits, "capacity": capacity}
        own.update({"backend": "cpu"} if device == HOST else {"backend": "cuda", "device": device})
        if kind == "index":
            own.update(numbering=numbering, reuse="no")
        table = Table({**_PARTS, "table": {**_PARTS["table"], **own}})
    yield table
    with _lock:
        other = _kept.pop(wanted, None)  # another thread's
        _kept[wanted] = table
    if other is not None:
        other.close()


def free_kept_tables() -> None:
    """Frees the GPU memory of the tables that verbs keep for the next call, one per kind, width of keys and GPU."""
    with _lock:
        tables = list(_kept.values())
        _kept.clear()
    for table in tables:
        table.close()


# ---- Columns ---------------------------------------------------------------------------------------------------------


class Column:
    """An array as keys of a table: equal where its items are."""

    def __init__(self, ops: Ops, x: Any, name: str) -> None:
        self.ops, self.name, self.shape = ops, name, tuple(x.shape)
        self.values = ops.flat(x)
        self.kind, self.width = ops.type_of(x)
        self.size = math.prod(self.shape)
        if self.kind not in "iufb" or self.width > 8:
            raise WrongType(f"{name}: is {name_of(self.kind, self.width)}: {way_out(name, 'keys', self.kind, self.width, 8)}")
        if self.size >= _NUMBERS:
            raise BadArgument(f"{name}: has {self.size} items, and an index has 2^31 numbers: pass parts of it")
        self.device = ops.adapter.look(self.keys(), name, False).device

    def keys(self) -> Any:
        return self._keys_of(self.values)

    def _keys_of(self, values: Any) -> Any:
        ops = self.ops
        if self.kind in "iu" and self.width in (4, 8):
            return values
        if self.kind in "iub":
            return ops.cast(values, "i", 4)
        width = max(self.width, 4)
        wide = (values if self.width == width else ops.cast(values, "f", width)) + 0.0  # -0.0 is 0.0
        return ops.adapter.viewed(ops.filled(wide, wide != wide, float("nan")), "i", width)

    def items(self, keys: Any) -> Any:
        """The items that have these keys."""
        if self.kind in "iu" and self.width in (4, 8):
            return keys
        if self.kind == "f":
            keys = self.ops.adapter.viewed(keys, "f", max(self.width, 4))
        return keys.to(self.values.dtype) if isinstance(self.ops, TorchOps) else keys.astype(self.values.dtype)

    def widened(self, kind: str, width: int) -> "Column":
        """The column with items of another type."""
        if (self.kind, self.width) == (kind, width):
            return self
        return Column(self.ops, self.ops.cast(self.values, kind, width), self.name)


def _columns(ops: Ops, given: Any, name: str, like: Any = None) -> List[Column]:
    """One column, or those of a tuple. like: what else has to be where this is."""
    parts = list(given) if isinstance(given, tuple) else [given]
    names = [f"{name}[{i}]" for i in range(len(parts))] if isinstance(given, tuple) else [name]
    if like is not None:
        parts = [_brought(ops, part, called, like) for part, called in zip(parts, names)]
    return [Column(ops, part, called) for part, called in zip(parts, names)]


def _brought(ops: Ops, given: Any, name: str, like: Any) -> Any:
    """An array of the host, or a list, where `like` is."""
    if ops_of(given) is ops:
        return given
    if adapter_of(given) is None:
        given = np.asarray(given)
        if given.dtype.kind not in "iufb":
            raise WrongType(f"{name}: is {name_of(given.dtype.kind, given.itemsize)}, and the rest is numbers on a GPU")
    return ops.like(given, like)


def _alike(left: Column, right: Column) -> Tuple[Column, Column]:
    """Both with one type of items, in which equal numbers are equal."""
    if (left.kind, left.width) == (right.kind, right.width):
        return left, right
    if left.device != right.device:
        raise BadArgument(f"{right.name}: is on another device than {left.name}: copy one")
    kinds = {left.kind, right.kind}
    if kinds == {"f"}:
        width = max(left.width, right.width)
        return left.widened("f", width), right.widened("f", width)
    unsigned = [side for side in (left, right) if (side.kind, side.width) == ("u", 8)]
    if "f" in kinds or unsigned:
        names = name_of(left.kind, left.width), name_of(right.kind, right.width)
        raise WrongType(f"{left.name}: is {names[0]}, and {right.name} is {names[1]}: convert one")
    return left.widened("i", 8), right.widened("i", 8)


class _Distinct(NamedTuple):
    """keys: the distinct ones. codes: for each row the number of its key; counts: how often each occurs."""

    keys: Any
    codes: Any
    counts: Any

    @property
    def number(self) -> int:
        return int(self.keys.shape[0])


@contextmanager
def _index(
    column: Column, order: str, codes: bool, counts: bool, keep: bool = False
) -> Iterator[Tuple[Table, _Distinct]]:
    """An index of the keys of a column, and what it says of them. keep: whether it has the keys afterwards."""
    ops, numbering = column.ops, "first_seen" if order == "seen" else "any"
    keys = column.keys()
    bits = 8 * ops.type_of(keys)[1]
    without = order == "any" and not keep and column.device != HOST and column.size <= _WITHOUT_TABLE
    capacity = 1 if without else column.size
    with _table("index", bits, capacity, column.device, numbering) as table:
        distinct, inverse, each = table.unique(keys, return_inverse=codes, return_counts=counts, keep=keep)
        if len(distinct) < column.size:  # lets go of the room for all rows
            distinct = ops.adapter.viewed(ops.joined([_signed(ops, distinct)]), *ops.type_of(keys))
            each = None if each is None else ops.joined([each])
        yield table, _Distinct(distinct, None if inverse is None else ops.rows(_signed(ops, inverse)), each)


def _distinct(column: Column, order: str) -> _Distinct:
    with _index(column, order, True, True) as (_, found):
        return found


def _signed(ops: Ops, x: Any) -> Any:
    """The same bits as signed numbers, which every operation of PyTorch takes."""
    kind, width = ops.type_of(x)
    return ops.adapter.viewed(x, "i", width) if kind == "u" and width >= 4 else x


def _taken(ops: Ops, x: Any, rows: Any) -> Any:
    """These rows."""
    kind, width = ops.type_of(x)
    if kind != "u" or width == 1:
        return x[rows]
    if width == 2:
        return ops.cast(ops.cast(x, "i", 4)[rows], "u", 2)
    return ops.adapter.viewed(_signed(ops, x)[rows], kind, width)


# ---- One column ------------------------------------------------------------------------------------------------------


def unique(ops: Ops, x: Any, return_inverse: bool, return_counts: bool, order: str) -> Any:
    with ops.on(x):
        column = Column(ops, x, "x")
        with _index(column, order, return_inverse, return_counts) as (_, found):
            values = column.items(found.keys)
            if not return_inverse and not return_counts:
                return values
            answer = [values]
            if return_inverse:
                answer.append(found.codes.reshape(column.shape))
            if return_counts:
                answer.append(found.counts)
            return tuple(answer)


def padded_unique(ops: Ops, x: Any, seen: bool) -> Tuple[Any, Any, Any, Any]:
    """(values, inverse, counts, count), the first and third as long as x, whose first `count` items count. Nothing waits."""
    column = Column(ops, x, "x")
    keys = column.keys()
    with _table("index", 8 * ops.type_of(keys)[1], column.size, column.device, "first_seen" if seen else "any") as table:
        table.clear(wait=False, like=keys)
        codes = ops.rows(_signed(ops, table.number(keys, wait=False)))
    bits = _signed(ops, keys)
    values = ops.put(ops.full(column.size, 0, bits, bits.dtype), codes, bits)
    counts = ops.combine("sum", ops.full(column.size, 0, codes), codes, ops.full(column.size, 1, codes))
    items = column.items(ops.adapter.viewed(values, *ops.type_of(keys)))
    return items, codes.reshape(column.shape), counts, (counts > 0).sum()


def value_counts(ops: Ops, x: Any, sort: bool, order: str) -> Tuple[Any, Any]:
    values, counts = unique(ops, x, False, True, order)
    if sort:
        with ops.on(x):
            falling = ops.sort_rows(-counts)
            return _taken(ops, values, falling), counts[falling]
    return values, counts


def isin(ops: Ops, x: Any, values: Any, invert: bool) -> Any:
    """Nothing waits for the GPU once there is a table: all keys find a place, so that nobody has to look."""
    with ops.on(x):
        among = list(values) if isinstance(values, (set, frozenset)) else values
        if len(among) == 0:
            among = x.reshape(-1)[:0]
        column, others = _alike(Column(ops, x, "x"), _columns(ops, among, "values", x)[0])
        keys, theirs = column.keys(), others.keys()
        with _table("set", 8 * ops.type_of(keys)[1], others.size, column.device) as table:
            table.clear(wait=False, like=keys)
            table.insert(theirs, wait=False, out=(None, None, None))
            mask = table.contains(keys).reshape(column.shape)
        return ~mask if invert else mask


# ---- Groups ----------------------------------------------------------------------------------------------------------


class Groups:
    """Rows grouped by keys: the half of `tessera.group_by` for arrays on a GPU. keys: of each group, by column."""

    def __init__(self, ops: Ops, columns: Dict[Any, Any], order: str) -> None:
        self.ops, self.first = ops, next(iter(columns.values()))
        self.keys: Dict[Any, Any] = {}
        with ops.on(self.first):
            made = {name: Column(ops, x, str(name)) for name, x in columns.items()}
            sizes = {column.size for column in made.values()}
            if len(sizes) > 1:
                raise BadArgument(f"keys: have {' and '.join(map(str, sorted(sizes)))} rows: pass columns of one length")
            self.size = sizes.pop()
            found: Optional[_Distinct] = None
            last = len(made) - 1  # combined numbers are numbered again, so the order matters for the last ones only
            for place, (name, column) in enumerate(made.items()):
                mine = _distinct(column, "any" if last else order)
                if found is None:
                    found = mine
                    self.keys[name] = column.items(mine.keys)
                    continue
                both = Column(ops, found.codes * mine.number + mine.codes, "keys")
                found = _distinct(both, order if place == last else "any")
                before = found.keys // max(mine.number, 1)
                self.keys = {known: _taken(ops, array, before) for known, array in self.keys.items()}
                self.keys[name] = _taken(ops, column.items(mine.keys), found.keys - before * mine.number)
            assert found is not None
            self.codes, self.counts, self.number = found.codes, found.counts, found.number

    def __len__(self) -> int:
        return self.number

    def aggregate(self, name: Any, source: Any, how: str) -> Any:
        ops = self.ops
        if how in ("size", "count") and source is None:
            return self.counts
        with ops.on(self.first):
            values = Column(ops, _brought(ops, source, str(name), self.first), str(name))
            if values.size != self.size:
                raise BadArgument(f"{name}: has {values.size} rows, and keys {self.size}: pass one value for each")
            if how in ("size", "count"):
                return self.counts
            if how in ("min", "max"):
                return self._extremes(values, how)
            if how == "mean":
                sums = self._sums(ops.cast(values.values, "f", 8))
                means = sums / self.counts
                return ops.cast(means, "f", 4) if (values.kind, values.width) == ("f", 4) else means
            if values.kind == "f":
                sums = self._sums(ops.cast(values.values, "f", 8))
                return ops.cast(sums, "f", max(values.width, 4))
            return self._whole_sums(values)

    def _sums(self, values: Any) -> Any:
        return self.ops.combine("sum", self.ops.full(self.number, 0, values, values.dtype), self.codes, values)

    def _whole_sums(self, values: Column) -> Any:
        ops, unsigned = self.ops, values.kind == "u"
        wide = values.values if values.width == 8 else ops.cast(values.values, "i", 8)
        bits = _signed(ops, wide)
        sums = self._sums(bits)
        if values.width == 8 and values.size:  # smaller ones cannot pass 2^63: there are fewer than 2^31
            near = self._sums(ops.cast(wide, "f", 8))
            exact = ops.cast(ops.adapter.viewed(sums, "u", 8) if unsigned else sums, "f", 8)
            limit = 64 if unsigned else 63
            passed = int((abs(near - exact) > 2.0 ** (limit - 2)).sum())
            if passed:
                warnings.warn(f"{values.name}: {sums_passed(passed, limit)}", OverflowWarning, stacklevel=7)
        return ops.adapter.viewed(sums, "u", 8) if unsigned else sums

    def _extremes(self, values: Column, how: str) -> Any:
        """Unsigned numbers of 64 bits have the order of signed ones with the highest bit turned over; smaller ones become
        signed numbers of 64 bits."""
        ops, kind, width = self.ops, values.kind, values.width
        if kind == "f":
            wide = values.values if width >= 4 else ops.cast(values.values, "f", 4)
            worst = float("inf") if how == "min" else -float("inf")
            best = ops.combine(how, ops.full(self.number, worst, wide, wide.dtype), self.codes, wide)
            return ops.cast(best, "f", width) if width < 4 else best
        turn = -(1 << 63) if (kind, width) == ("u", 8) else 0
        wide = ops.adapter.viewed(values.values, "i", 8) ^ turn if turn else ops.cast(values.values, "i", 8)
        limits = np.iinfo(np.int64)
        worst = limits.max if how == "min" else limits.min
        best = ops.combine(how, ops.full(self.number, worst, wide), self.codes, wide)
        if turn:
            return ops.adapter.viewed(best ^ turn, "u", 8)
        return best.to(values.values.dtype) if isinstance(ops, TorchOps) else best.astype(values.values.dtype)


# ---- Joins -----------------------------------------------------------------------------------------------------------


class _Sides(NamedTuple):
    """Numbers of keys for the rows of two sides, on the left -1 where the right has no such key; counts: how many rows of
    the right have each."""

    left: Any
    right: Any
    counts: Any
    number: int


def _sides_of(left: Column, right: Column) -> _Sides:
    left, right = _alike(left, right)
    ops = left.ops
    with _index(right, "seen", True, True, keep=True) as (table, found):
        codes = ops.rows(_signed(ops, table.get(left.keys(), missing=-1 if _is_signed(ops, left) else 0xFFFFFFFF)))
        return _Sides(codes, found.codes, found.counts, found.number)


def _is_signed(ops: Ops, column: Column) -> bool:
    return ops.type_of(column.keys())[0] == "i"


def merge(ops: Ops, left: Any, right: Any, how: str, order: str) -> Any:
    with ops.on(left[0] if isinstance(left, tuple) else left):
        like = left[0] if isinstance(left, tuple) else left
        lefts, rights = _columns(ops, left, "left", like), _columns(ops, right, "right", like)
        if len(lefts) != len(rights) or not lefts:
            raise BadArgument(f"left has {len(lefts)} columns of keys, and right {len(rights)}: pass as many")
        match = _match_in_no_order if order == "any" and len(lefts) == 1 and how != "outer" else _match
        if how == "right":
            others, own = match(rights, lefts, "left")
            return own, others
        return match(lefts, rights, how)


def _match_in_no_order(lefts: List[Column], rights: List[Column], how: Any) -> Any:
    """Both sides are put in order by their keys, without a table."""
    left, right = _alike(lefts[0], rights[0])
    ops = left.ops
    keys = left.keys()
    with _table("set", 8 * ops.type_of(keys)[1], 1, left.device) as table:
        own, others = table._match_rows(keys, right.keys(), how)
    return ops.rows(own) if others is None else (ops.rows(own), ops.rows(others))


def _match(lefts: List[Column], rights: List[Column], how: str) -> Any:
    ops = lefts[0].ops
    sides = _sides_of(lefts[0], rights[0])
    for a, b in zip(lefts[1:], rights[1:]):
        more = _sides_of(a, b)
        key = ops.filled(sides.left * more.number + more.left, (sides.left < 0) | (more.left < 0), -1)
        sides = _sides_of(Column(ops, key, "left"), Column(ops, sides.right * more.number + more.right, "right"))
    codes = sides.left
    if how in ("semi", "anti"):
        return ops.nonzero(codes >= 0 if how == "semi" else codes < 0)
    if sides.number == rights[0].size:  # every row of the right has a key of its own: the number is the row
        own = ops.nonzero(codes >= 0) if how == "inner" else ops.arange(codes.shape[0], codes)
        others = codes[own] if how == "inner" else codes
    else:
        own, others = _expanded(ops, sides, how)
    if how == "outer":
        hit = ops.put(ops.full(sides.number + 1, 0, codes), codes, 1)
        alone = ops.nonzero(hit[sides.right] == 0)
        own = ops.joined([own, ops.full(alone.shape[0], -1, codes)])
        others = ops.joined([others, alone])
    return own, others


def _expanded(ops: Ops, sides: _Sides, how: str) -> Tuple[Any, Any]:
    """A row for each pair of rows of one key. The last place of each array is that of no key."""
    codes = sides.left
    order = ops.joined([ops.sort_rows(sides.right), ops.full(1, -1, codes)])
    counts = ops.rows(sides.counts)
    begins = ops.joined([ops.sums(counts) - counts, ops.full(1, order.shape[0] - 1, codes)])
    matches = ops.joined([counts, ops.full(1, 0 if how == "inner" else 1, codes)])[codes]
    ends = ops.rows(ops.sums(matches))
    total = int(ends[-1]) if ends.shape[0] else 0
    own = ops.repeated(matches, total)
    shift = begins[codes] - (ends - matches)
    return own, order[shift[own] + ops.arange(total, codes)]


def last_rows(ops: Ops, halves: Sequence[Any], n: int) -> Optional[Any]:
    """The last row of each key; None: each key is there once. halves: the keys, or the two halves of each. Waits."""
    codes: Any = None
    for half in halves:
        whole = ops.adapter.viewed(ops.flat(half), "i", ops.type_of(half)[1])
        with ops.on(whole):
            distinct, more = unique(ops, whole, True, False, "any")
            if codes is not None:
                distinct, more = unique(ops, codes * len(distinct) + ops.rows(more), True, False, "any")
            codes, number = ops.rows(more), len(distinct)
    if number == n:
        return None
    with ops.on(codes):
        return ops.combine("max", ops.full(number, 0, codes), codes, ops.arange(n, codes))
