# SPDX-License-Identifier: Apache-2.0
"""What a type checker finds: each line that ends with "# error" is one. check_types.sh asks mypy and pyright."""

from typing import Any, Dict, Tuple

import numpy as np
import numpy.typing as npt

import tessera


class Tensor:
    """As PyTorch's is to a type checker."""

    def __dlpack__(self, stream: object = None) -> object: ...


class Series:
    """As pandas' is."""

    array: Any

    def to_numpy(self) -> Any: ...


class PolarsSeries:
    def to_numpy(self) -> Any: ...
    def gather(self, indices: Any) -> Any: ...


class DataFrame:
    columns: Any


def verbs(ids: npt.NDArray[np.int64], tensor: Tensor, series: Series, polars: PolarsSeries, frame: DataFrame) -> None:
    distinct: npt.NDArray[np.int64] = tessera.unique(ids)
    both: Tuple[Tensor, Tensor] = tessera.unique(tensor, return_inverse=True)
    three: Tuple[Tensor, Tensor, Tensor] = tessera.unique(tensor, True, True, order="any")
    counted: Tuple[Series, npt.NDArray[np.int64]] = tessera.unique(series, return_counts=True)
    coded: Tuple[PolarsSeries, PolarsSeries] = tessera.factorize(polars)
    listed: npt.NDArray[np.int64] = tessera.unique([3, 1, 3])
    edges, nodes = tessera.relabel(tensor)
    renumbered: Tuple[Tensor, Tensor] = edges, nodes
    counts: Series = tessera.value_counts(series)
    mask: Tensor = tessera.isin(tensor, [1, 2])
    rows: Tuple[Tensor, Tensor] = tessera.merge(tensor, tensor)
    absent: Tensor = tessera.merge(tensor, tensor, how="anti")
    joined: DataFrame = tessera.merge(frame, frame, on="k")
    grouped: DataFrame = tessera.group_by(frame, "k").agg(n="size")
    summed: Dict[str, Tensor] = tessera.group_by(tensor).agg(s=(tensor, "sum"))
    print(distinct, both, three, counted, coded, listed, renumbered, counts, mask, rows, absent, joined, grouped, summed)

    pair: Tuple[Tensor, Tensor] = tessera.unique(tensor)  # error
    array: npt.NDArray[np.int64] = tessera.isin(tensor, [1])  # error
    tessera.unique(ids, order="up")  # error
    tessera.merge(tensor, tensor, how="cross")  # error
    other: DataFrame = tessera.group_by(tensor).size()  # error
    flags: npt.NDArray[np.int64] = tessera.isin(ids, [1])  # error
    places: npt.NDArray[np.float64] = tessera.unique(ids, return_inverse=True)[1]  # error
    print(pair, array, other, flags, places)


def typed(table: tessera.Table, ids: npt.NDArray[np.int64], tensor: Tensor) -> None:
    mask: npt.NDArray[np.bool_] = table.contains(ids)
    rows: npt.NDArray[np.float32] = table.get([1, 2])
    found, known = table.find(tensor)
    both: tuple[Tensor, Tensor] = found, known
    table.insert(ids, 1)
    codes, _, _ = table.insert(ids, 1, wait=False)
    keys: Tensor = table.keys(like=tensor)
    table.join(table, "left")
    wide: Tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint64]] = table.find_or_insert(ids, 1, wait=False)
    pairs: Tuple[Tensor, Tensor] = table.items(like=tensor)
    cache = tessera.Cache("int64", "float32", capacity=10)
    gone: Tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]] = cache.put(ids, 1)
    print(wide, pairs, gone)
    print(mask, rows, both, codes, keys)

    own: npt.NDArray[np.uint8] = table.contains(ids, out=np.empty(3, np.uint8))
    print(own)

    text: str = table.contains(ids)  # error
    wrong: npt.NDArray[np.float32] = table.count(ids)  # error
    offsets: npt.NDArray[np.uint64] = table.find_all(ids)[0]  # error
    table.join(table, kind="left")  # error
    tensors: Tensor = table.get(ids)  # error
    table.join(table, "cross")  # error
    table.get("seven")  # error
    tessera.Table("quickstart", on_busy="never")  # error
    inserted: Tensor = table.find_or_insert(ids, 1)[1]  # error
    keys_alone: npt.NDArray[np.uint64] = table.join(table, "union")[1]  # error
    semi: npt.NDArray[np.uint64] = table.join(table, "semi")[2]  # error
    same: tessera.Set = tessera.Map.load("prices")  # error
    print(inserted, keys_alone, semi, same)
    print(text, tensors, wrong, offsets)


# What mypy and pyright print of these lines has the word in the comment.
def revealed(table: tessera.Table, ids: npt.NDArray[np.int64], tensor: Tensor) -> None:
    reveal_type(tessera.isin(ids, [1]))  # bool
    reveal_type(tessera.unique(ids, return_counts=True)[1])  # _64Bit
    reveal_type(tessera.unique(tensor))  # Tensor
    reveal_type(table.get(tensor))  # Tensor
    reveal_type(table.find(ids)[1])  # bool
    reveal_type(table.items()[1])  # ndarray
    reveal_type(table.items(like=tensor)[1])  # Tensor
    reveal_type(table.find_or_insert(ids, 1)[1])  # bool
    reveal_type(table.find_or_insert(tensor, 1)[0])  # Tensor
    reveal_type(table.insert(tensor, 1, wait=False)[0])  # Tensor
    reveal_type(table.join(table, "outer")[2])  # ndarray
    reveal_type(table.join(table, like=tensor)[0])  # Tensor
    reveal_type(table.join(table, "count")[2])  # _64Bit
    reveal_type(table.join(table, "semi")[2])  # None
    reveal_type(table.apply([0], tensor)[1])  # Tensor
    reveal_type(table.pop(ids, 0))  # ndarray
    reveal_type(table.unique(ids)[2])  # _64Bit
    reveal_type(tessera.Index.load("ids"))  # Index
    reveal_type(tessera.Table.load("ids").erase_pairs(ids))  # bool
