# SPDX-License-Identifier: Apache-2.0
"""What a type checker finds: each line that ends with "# error" is one. wheel_test.sh asks mypy and pyright, where they are
installed."""

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
    print(pair, array, other)


def typed(table: tessera.Table, ids: npt.NDArray[np.int64], tensor: Tensor) -> None:
    mask: npt.NDArray[np.bool_] = table.contains(ids)
    rows: npt.NDArray[np.float32] = table.get([1, 2])
    found, known = table.find(tensor)
    both: tuple[Tensor, Tensor] = found, known
    table.insert(ids, 1)
    codes, _, _ = table.insert(ids, 1, wait=False)
    keys: Tensor = table.keys(like=tensor)
    table.join(table, "left")
    print(mask, rows, both, codes, keys)

    text: str = table.contains(ids)  # error
    tensors: Tensor = table.get(ids)  # error
    table.join(table, "outer")  # error
    table.get("seven")  # error
    tessera.Table("quickstart", on_busy="never")  # error
    print(text, tensors)
