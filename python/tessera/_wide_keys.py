# SPDX-License-Identifier: Apache-2.0
"""Keys of 128 bits as arrays: items of 16 bytes, the lower half first.

A call takes rows of whole numbers that are 16 bytes together, such as (n, 2) uint64 or (n, 4) uint32, of NumPy, PyTorch, CuPy,
JAX or Numba. NumPy's may have 12 bytes, such as (n, 3) uint32: keys of 96 bits, which are copied and get upper bits of 0. Of
NumPy it also takes structured arrays and arrays of bytes whose items have 16 bytes, and it takes lists of uuid.UUID, bytes and
whole numbers. Results are (n, 2) uint64, or int64 where rows of signed numbers were given. Read next:
_table.py.
"""

import uuid
from typing import Any, Dict, Iterator, List, Optional, Tuple

import numpy as np

from tessera._arrays import HOST, NUMPY, Adapter, Memory, NumPyArray, OtherAdapter, name_of
from tessera._library import BadArgument, WrongType

BYTES = 16
_SHORT = 12  # of a key of 96 bits
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


def _row_bytes(keys: NumPyArray) -> int:
    """Bytes of an item, or of a row of numbers."""
    if keys.dtype.kind in "VS":
        return keys.dtype.itemsize
    return keys.shape[-1] * keys.dtype.itemsize if keys.dtype.kind in "ui" and keys.dtype.isnative and keys.ndim else 0


def from_keys(keys: Any, name: str) -> NumPyArray:
    """An array of items of 16 bytes, without a copy where `keys` is an array of such, or of rows, in C order."""
    if isinstance(keys, ONE):
        return _of_list([keys], name).reshape(())
    if not isinstance(keys, np.ndarray):
        if not hasattr(keys, "__array__"):
            return _of_list(list(keys), name)
        keys = np.asarray(keys)
    if keys.dtype.kind == "O":
        return _of_list(list(keys.reshape(-1)), name).reshape(keys.shape)
    if not keys.flags.c_contiguous:
        raise BadArgument(f"{name}: is not contiguous: pass a copy, by numpy.ascontiguousarray")
    if _row_bytes(keys) == _SHORT:
        whole = np.zeros((keys.nbytes // _SHORT, BYTES), np.uint8)
        whole[:, :_SHORT] = keys.reshape(-1).view(np.uint8).reshape(-1, _SHORT)
        return whole.reshape(-1).view(_ITEM).reshape(keys.shape if keys.dtype.kind in "VS" else keys.shape[:-1])
    if keys.dtype.itemsize == BYTES and keys.dtype.kind in "VS":
        return keys.view(_ITEM)
    if keys.dtype.kind in "ui" and _row_bytes(keys) == BYTES:
        return keys.reshape(-1).view(_ITEM).reshape(keys.shape[:-1])
    raise WrongType(f"{name}: is an array {keys.shape} of {keys.dtype}, and this table has 128-bit keys: {_ALLOWED}")


def to_numbers(keys: NumPyArray) -> Iterator[int]:
    """Rows of halves, as numbers."""
    return (int(low) | int(high) << 64 for low, high in keys.tolist())


# ---- Arrays of other libraries ---------------------------------------------------------------------------------------


class RowsAdapter(Adapter):
    """An adapter of another library, for arrays whose keys are rows of numbers."""

    _made: Dict[Adapter, "RowsAdapter"] = {}

    def __init__(self, of: Adapter) -> None:
        self._of = of
        self.waits = of.waits

    @staticmethod
    def of(adapter: Adapter) -> Adapter:
        if adapter is NUMPY or isinstance(adapter, RowsAdapter):
            return adapter  # NumPy's makes rows itself
        return RowsAdapter._made.setdefault(adapter, RowsAdapter(adapter))

    def look(self, array: Any, name: str, written: bool) -> Memory:
        return self._of.look(array, name, written)

    def stream(self, device: int) -> int:
        return self._of.stream(device)

    def synchronize(self, device: int) -> None:
        self._of.synchronize(device)

    def address(self, made: Any) -> int:
        return self._of.address(made)

    def empty(self, like: Any, shape: Tuple[int, ...], kind: str, width: int) -> Any:
        return self._of.empty(like, (*shape, 2), kind, 8) if width == BYTES else self._of.empty(like, shape, kind, width)

    def full(self, like: Any, shape: Tuple[int, ...], kind: str, width: int, value: int) -> Any:
        return self._of.full(like, shape, kind, width, value)

    def is_code(self, codes: Any, code: int) -> Any:
        return self._of.is_code(codes, code)

    def select(self, array: Any, mask: Any) -> Any:
        return self._of.select(array, mask)

    def lowest(self, values: Any) -> int:
        return self._of.lowest(values)

    def first(self, keys: Any, mask: Any) -> Optional[int]:
        return NUMPY.first(from_keys(_on_host(keys), "keys"), _on_host(mask))

    def first_of(self, keys: Any, mask: Any) -> Optional[int]:
        return NUMPY.first_of(from_keys(_on_host(keys), "keys"), _on_host(mask))

    def repeated(self, keys: Any) -> Optional[int]:
        return NUMPY.repeated(from_keys(_on_host(keys), "keys"))


def _on_host(array: Any) -> NumPyArray:
    """A copy as an array of NumPy: what PyTorch, CuPy and Numba call it, otherwise what NumPy does."""
    for name in ("cpu", "get", "copy_to_host"):
        if hasattr(array, name):
            array = getattr(array, name)()
            break
    return np.asarray(array)


def from_rows(keys: Any, adapter: Adapter, name: str) -> Tuple[Adapter, Any, Memory]:
    """Rows of another library's array, where they are."""
    memory = adapter.look(keys, name, False)
    if memory.device == HOST and isinstance(adapter, OtherAdapter):
        rows = from_keys(np.from_dlpack(keys), name)
        return NUMPY, rows, NUMPY.look(rows, name, False)._replace(kind="u")
    shape = tuple(memory.shape)
    if memory.kind not in ("u", "i") or not shape or shape[-1] * memory.width != BYTES:
        raise WrongType(
            f"{name}: is a {type(keys).__name__} {shape} of {name_of(memory.kind, memory.width)}, and this table has 128-bit "
            "keys: pass rows of whole numbers that are 16 bytes together, as (n, 2) of int64"
        )
    whole = memory._replace(size=memory.size * memory.width // BYTES, width=BYTES, shape=shape[:-1])
    return RowsAdapter.of(adapter), keys, whole
