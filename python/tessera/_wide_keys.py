# SPDX-License-Identifier: Apache-2.0
"""Keys of 128 bits, as NumPy arrays: items of 16 bytes, the lower half first.

A call takes rows of numbers that are 16 bytes together, such as (n, 2) uint64 or (n, 4) uint32, structured arrays and
arrays of bytes whose items have 16 bytes, and lists of uuid.UUID, bytes and whole numbers. Results are (n, 2) uint64. Read
next: _table.py.
"""

import uuid
from typing import Any, Iterator, List

import numpy as np

from tessera._arrays import NumPyArray
from tessera._library import BadArgument, WrongType

BYTES = 16
ONE = (int, np.integer, uuid.UUID, bytes)  #: what a single key may be
_ITEM = np.dtype(f"S{BYTES}")  # which NumPy can compare and sort
_ALLOWED = (
    "pass an array (n, 2) of uint64, the lower half first, an array whose items have 16 bytes, or a list of uuid.UUID, "
    "bytes or whole numbers"
)


def _bytes_of(key: Any, name: str) -> bytes:
    if isinstance(key, uuid.UUID):
        key = key.int
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        if not 0 <= int(key) < 1 << 8 * BYTES:
            raise BadArgument(f"{name}: {key} does not fit into 128 bits")
        return int(key).to_bytes(BYTES, "little")
    if isinstance(key, (bytes, bytearray)) and len(key) == BYTES:
        return bytes(key)
    raise WrongType(f"{name}: holds {type(key).__name__} {key!r:.40}, which is no key of 128 bits: {_ALLOWED}")


def _of_list(keys: List[Any], name: str) -> NumPyArray:
    return np.frombuffer(b"".join(_bytes_of(key, name) for key in keys), _ITEM).reshape(len(keys))


def from_keys(keys: Any, name: str) -> NumPyArray:
    """An array of items of 16 bytes, without a copy where `keys` is an array of such, or of rows, in C order."""
    if isinstance(keys, ONE):
        return _of_list([keys], name).reshape(())
    if not isinstance(keys, np.ndarray):
        if hasattr(keys, "__cuda_array_interface__") or (hasattr(keys, "__dlpack__") and not hasattr(keys, "to_numpy")):
            raise WrongType(f"{name}: is a {type(keys).__name__}: keys of 128 bits are arrays of NumPy: {_ALLOWED}")
        if not hasattr(keys, "__array__"):
            return _of_list(list(keys), name)
        keys = np.asarray(keys)
    if keys.dtype.kind == "O":
        return _of_list(list(keys.reshape(-1)), name).reshape(keys.shape)
    if not keys.flags.c_contiguous:
        raise BadArgument(f"{name}: is not contiguous: pass a copy, by numpy.ascontiguousarray")
    if keys.dtype.itemsize == BYTES and keys.dtype.kind in "VS":
        return keys.view(_ITEM)
    if keys.dtype.kind in "ui" and keys.dtype.isnative and keys.ndim and keys.shape[-1] * keys.dtype.itemsize == BYTES:
        return keys.reshape(-1).view(_ITEM).reshape(keys.shape[:-1])
    raise WrongType(f"{name}: is an array {keys.shape} of {keys.dtype}, and this table has 128-bit keys: {_ALLOWED}")


def to_numbers(keys: NumPyArray) -> Iterator[int]:
    """Rows of halves, as numbers."""
    return (int(low) | int(high) << 64 for low, high in keys.tolist())
