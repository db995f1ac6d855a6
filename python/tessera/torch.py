# SPDX-License-Identifier: Apache-2.0
"""Tables and verbs as operators of PyTorch, for torch.compile: nothing in a graph breaks it, and nothing waits for the GPU.

    import tessera.torch
    mask = tessera.torch.isin(ids, known)
    values, inverse, counts, count = tessera.torch.unique(ids)       # as long as ids; `count` of them are there
    rows = tessera.torch.Operators(tessera.Map("int64", "float32", capacity=1000))
    found, mask = rows.find(ids, missing=0.0)
    embedding = tessera.torch.Embedding(1_000_000, 128)             # a module: rows of arbitrary ids

Needs PyTorch 2.4. Sizes of results do not depend on the data. Read next: _embedding.py, _device.py, docs/frameworks.md.
"""

import itertools
import weakref
from typing import Any, Optional, Tuple, Union

import torch
from torch import Tensor

from tessera import _device
from tessera._arrays import adapter_of
from tessera._embedding import Embedding as Embedding, normal as normal
from tessera._library import BadArgument, Unsupported
from tessera._table import Code, Table
from tessera._words import need_word

_tables: "weakref.WeakValueDictionary[int, Table]" = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


def _ops(x: Tensor) -> _device.Ops:
    return _device.ops_of(x, anywhere=True)  # type: ignore[return-value]


# ---- Verbs -----------------------------------------------------------------------------------------------------------


@torch.library.custom_op("tessera::isin", mutates_args=())
def _isin(x: Tensor, values: Tensor) -> Tensor:
    return _device.isin(_ops(x), x, values, False)  # type: ignore[no-any-return]


@_isin.register_fake
def _(x: Tensor, values: Tensor) -> Tensor:
    return torch.empty_like(x, dtype=torch.bool)


def isin(x: Tensor, values: Tensor) -> Tensor:
    """bool for each item of x: whether it is among the values, which are on the same device."""
    return _isin(x, values)  # type: ignore[no-any-return]


@torch.library.custom_op("tessera::unique", mutates_args=())
def _unique(x: Tensor, seen: bool) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    return _device.padded_unique(_ops(x), x, seen)


@_unique.register_fake
def _(x: Tensor, seen: bool) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    counts = x.new_empty((x.numel(),), dtype=torch.int64)
    return x.new_empty((x.numel(),)), torch.empty_like(x, dtype=torch.int64), counts, x.new_empty((), dtype=torch.int64)


def unique(x: Tensor, *, order: str = "seen") -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    """(values, inverse, counts, count): the distinct values of x, in order of first appearance or with "any" in any order. values
    and counts (n) are as long as x; the first `count` (a tensor of no axis, int64) of them count, others are 0. values[inverse]
    is x."""
    need_word("order", order, ("seen", "any"))
    return _unique(x, order == "seen")  # type: ignore[no-any-return]


# ---- Tables ----------------------------------------------------------------------------------------------------------
# `state` counts the pairs that found no room. An operator that changes the table changes it, and the others read it, so that
# a compiler keeps their order.


def _table_of(number: int) -> Table:
    table = _tables.get(int(number))
    if table is None:
        raise BadArgument("the table of these Operators is gone: keep it as long as they are called")
    return table


def _type_of_values(table: Table, keys: Tensor) -> torch.dtype:
    adapter: Any = adapter_of(keys)
    kind = table._value_kind or adapter.kinds[keys.dtype][0]
    return adapter.types[kind, table._value_width]  # type: ignore[no-any-return]


def _note_unplaced(state: Tensor, codes: Tensor) -> None:
    state.add_((codes == int(Code.NOT_PLACED)).sum().to(state.device))


@torch.library.custom_op("tessera::find", mutates_args=())
def _find(state: Tensor, table: int, keys: Tensor, missing: float) -> Tuple[Tensor, Tensor]:
    made = _table_of(table)
    whole = not _type_of_values(made, keys).is_floating_point
    return made.find(keys, missing=int(missing) if whole else missing)


@_find.register_fake
def _(state: Tensor, table: int, keys: Tensor, missing: float) -> Tuple[Tensor, Tensor]:
    dtype = _type_of_values(_table_of(table), keys)
    return torch.empty_like(keys, dtype=dtype), torch.empty_like(keys, dtype=torch.bool)


@torch.library.custom_op("tessera::contains", mutates_args=())
def _contains(state: Tensor, table: int, keys: Tensor) -> Tensor:
    return _table_of(table).contains(keys)


@_contains.register_fake
def _(state: Tensor, table: int, keys: Tensor) -> Tensor:
    return torch.empty_like(keys, dtype=torch.bool)


@torch.library.custom_op("tessera::insert", mutates_args={"state"})
def _insert(state: Tensor, table: int, keys: Tensor, values: Optional[Tensor]) -> None:
    _note_unplaced(state, _table_of(table).insert(keys, values, wait=False)[0])


@_insert.register_fake
def _(state: Tensor, table: int, keys: Tensor, values: Optional[Tensor]) -> None:
    return None


@torch.library.custom_op("tessera::find_or_insert", mutates_args={"state"})
def _find_or_insert(state: Tensor, table: int, keys: Tensor, values: Tensor) -> Tuple[Tensor, Tensor]:
    found, codes = _table_of(table).find_or_insert(keys, values, wait=False)
    _note_unplaced(state, codes)
    return found, codes == int(Code.INSERTED)


@_find_or_insert.register_fake
def _(state: Tensor, table: int, keys: Tensor, values: Tensor) -> Tuple[Tensor, Tensor]:
    dtype = _type_of_values(_table_of(table), keys)
    return torch.empty_like(keys, dtype=dtype), torch.empty_like(keys, dtype=torch.bool)


@torch.library.custom_op("tessera::number", mutates_args={"state"})
def _number(state: Tensor, table: int, keys: Tensor) -> Tensor:
    numbers = _table_of(table).number(keys, wait=False, missing=-1).view(torch.int32).to(torch.int64)
    state.add_((numbers < 0).sum().to(state.device))
    return numbers


@_number.register_fake
def _(state: Tensor, table: int, keys: Tensor) -> Tensor:
    return torch.empty_like(keys, dtype=torch.int64)


class Operators:
    """The operations of a table as operators, which torch.compile takes as they are. They do not wait for the GPU, and raise no
    `Full`: `unplaced`, a tensor of one int64, counts the pairs that found no room since it was set to 0, and can be read at any
    time. Growing tables find room, but wait."""

    def __init__(self, table: Table) -> None:
        if table._row:
            raise Unsupported("values that are rows have no operators: keep the number of each row in the table")
        self.table = table
        self._number = next(_numbers)
        _tables[self._number] = table
        devices = table._devices
        device = f"cuda:{min(devices)}" if devices else "cpu" if devices is not None else "cuda"
        self.unplaced = torch.zeros(1, dtype=torch.int64, device=device)

    def _begin(self) -> int:
        # Not is_exporting(), which Dynamo takes for true while it compiles as well (PyTorch 2.11).
        if getattr(torch.compiler, "_is_exporting_flag", False):
            raise Unsupported(
                "torch.export cannot keep a table, which is memory of this process: export what comes before and after, or an "
                "array of values that keys_by_number and items give"
            )
        return self._number

    def find(self, keys: Tensor, missing: Union[int, float] = 0) -> Tuple[Tensor, Tensor]:
        """(values, mask), as `Table.find`."""
        return _find(self.unplaced, self._begin(), keys, float(missing))  # type: ignore[no-any-return]

    def contains(self, keys: Tensor) -> Tensor:
        return _contains(self.unplaced, self._begin(), keys)  # type: ignore[no-any-return]

    def insert(self, keys: Tensor, values: Optional[Tensor] = None) -> None:
        _insert(self.unplaced, self._begin(), keys, values)

    def find_or_insert(self, keys: Tensor, values: Tensor) -> Tuple[Tensor, Tensor]:
        """(values, inserted), as `Table.find_or_insert`. A key without room has the value 0."""
        return _find_or_insert(self.unplaced, self._begin(), keys, values)  # type: ignore[no-any-return]

    def number(self, keys: Tensor) -> Tensor:
        """Of an index: the number of each key, int64; -1 for a key without room."""
        return _number(self.unplaced, self._begin(), keys)  # type: ignore[no-any-return]
