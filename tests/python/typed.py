# SPDX-License-Identifier: Apache-2.0
"""What a type checker finds: each line that ends with "# error" is one. wheel_test.sh asks mypy, where it is installed."""

import numpy as np
import numpy.typing as npt

import tessera


class Tensor:
    """As PyTorch's is to a type checker."""

    def __dlpack__(self, stream: object = None) -> object: ...


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
