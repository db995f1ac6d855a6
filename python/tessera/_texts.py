# SPDX-License-Identifier: Apache-2.0
"""Texts and bytes as keys: the library hashes them to 128 bits (tsr_text_keys), by XXH3 with a seed.

Two of n different texts have one hash, and are taken for one key, with a probability of about n^2 / 2^129: for 10^9 texts about
1 in 7 * 10^20. Read next: _types.py (tables), _columns.py (verbs).
"""

from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from tessera._arrays import HOST, NUMPY, Adapter, Memory, NumPyArray
from tessera._library import BadArgument, WrongType, library

_ITEM = np.dtype("S16")
# How the dtypes of pandas, polars and pyarrow are shown.
_OF_OTHERS = {"str": "str", "string": "str", "large_string": "str", "string_view": "str", "binary": "bytes", "large_binary": "bytes"}
_SEED = 1  # of verbs; tables have [table] seed
_TYPES = {"str": str, "bytes": bytes}


def kind_of(values: NumPyArray, known: Optional[NumPyArray] = None) -> Optional[str]:
    """ "str" or "bytes", which a column holds; None: something else."""
    if values.dtype.kind in "UT":
        return "str"
    if values.dtype.kind == "S":
        return "bytes"
    if values.dtype.kind != "O":
        return None
    first = 0 if known is None else int(np.argmax(known))
    one = values.reshape(-1)[first] if values.size else None
    return next((name for name, held in _TYPES.items() if isinstance(one, held)), None)


def hashes(texts: Sequence[Any], kind: str, name: str, seed: int = _SEED) -> NumPyArray:
    """Keys of 16 bytes. None counts as an empty text."""
    try:
        pieces = [text or b"" for text in texts] if kind == "bytes" else [(text or "").encode() for text in texts]
        whole = b"".join(pieces)
    except (AttributeError, TypeError):
        wrong = next(text for text in texts if text and not isinstance(text, _TYPES[kind]))
        raise WrongType(f"{name}: holds {type(wrong).__name__} {wrong!r:.40}, and is of {kind}") from None
    offsets = np.zeros(len(pieces) + 1, np.uint64)
    np.cumsum(np.fromiter(map(len, pieces), np.uint64, len(pieces)), out=offsets[1:])
    made = np.empty(len(pieces), _ITEM)
    library.tsr_text_keys(seed, len(pieces), whole, offsets.ctypes.data, made.ctypes.data)
    return made


def listed(values: NumPyArray, known: Optional[NumPyArray]) -> List[Any]:
    """A column's texts, with None for nulls."""
    if known is None:
        return values.tolist()  # type: ignore[no-any-return]
    return [text if there else None for text, there in zip(values.tolist(), known.tolist())]


def numbers(*columns: Tuple[NumPyArray, Optional[NumPyArray], str]) -> List[NumPyArray]:
    """A number for each row of columns of texts, the same where texts are equal."""
    from tessera._table import Table

    kinds = [kind_of(values, known) for values, known, _ in columns]
    if len(set(kinds)) > 1 and all(len(values) for values, _, _ in columns):
        raise WrongType(f"{columns[0][2]}: is of {kinds[0]}, and {columns[1][2]} of {kinds[1]}: encode or decode one")
    keys = [hashes(listed(values, known), kind or "str", name) for (values, known, name), kind in zip(columns, kinds)]
    capacity = max(1, sum(map(len, keys)))
    with Table("wide_keys_index", settings={"table.backend": "cpu"}, capacity=capacity) as index:
        return [index.number(one).astype(np.int64) for one in keys]


class TextKeys:
    """The keys of a table of texts. It keeps the texts that were inserted, each once, for answers."""

    width = 16
    setting = None

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._index: Any = None
        self._texts: List[Any] = []
        self._last: Tuple[Any, List[Any]] = (None, [])

    @classmethod
    def of(cls, key: Any) -> "Optional[TextKeys]":
        """None: `key` is no str or bytes, and no dtype of such columns."""
        library = (key if isinstance(key, type) else type(key)).__module__.partition(".")[0]
        if isinstance(key, str) or key is str or key is bytes:
            name = key if isinstance(key, str) else key.__name__
        elif isinstance(key, np.dtype):
            name = {"U": "str", "S": "bytes"}.get(key.kind)
        else:
            name = _OF_OTHERS.get(str(key).lower()) if library in ("pandas", "polars", "pyarrow") else None
        return cls(name) if name in _TYPES else None

    @property
    def given(self) -> str:
        return self.kind

    def label(self) -> str:
        return self.kind

    def is_one(self, keys: Any) -> bool:
        return isinstance(keys, _TYPES[self.kind])

    def pack(self, table: Any, keys: Any, name: str) -> Tuple[Adapter, Any, Memory]:
        if isinstance(keys, np.ndarray) and keys is self._last[0]:
            return NUMPY, keys, self._memory(keys, name)
        shape: Tuple[int, ...] = ()
        if self.is_one(keys):
            texts = [keys]
        elif isinstance(keys, (list, tuple)):  # NumPy would make texts of numbers among them
            texts, shape = list(keys), (len(keys),)
        else:
            from tessera._columns import Column

            column = Column(keys, name).checked("refuse")
            texts, shape = column.values.tolist(), column.shape
            if kind_of(column.values) not in (self.kind, None) or (texts and kind_of(column.values) is None):
                raise WrongType(f"{name}: holds {type(texts[0]).__name__} {texts[0]!r:.40}, and keys are {self.kind}")
        made = hashes(texts, self.kind, name, self._seed(table)).reshape(shape)
        self._last = made, texts
        return NUMPY, made, self._memory(made, name)

    def _memory(self, keys: NumPyArray, name: str) -> Memory:
        return NUMPY.look(keys, name, False)._replace(kind="u", width=self.width, device=HOST)

    @staticmethod
    def _seed(table: Any) -> int:
        return int(table._setting("seed", str(_SEED)))

    def keep(self) -> None:
        """The keys of the last call were inserted."""
        from tessera._table import Table

        keys, texts = self._last
        if self._index is None:
            settings = {"table.backend": "cpu", "table.numbering": "first_seen"}
            self._index = Table("wide_keys_index", settings=settings, capacity=1024)
        given = self._index.number(keys.reshape(-1)).astype(np.int64)
        before = np.maximum.accumulate(np.concatenate([[len(self._texts) - 1], given]))[:-1]
        self._texts.extend(texts[i] for i in np.flatnonzero(given > before))

    def unpack(self, table: Any, keys: NumPyArray) -> NumPyArray:
        """The texts of keys that the library has written."""
        flat = keys.reshape(-1, 2) if keys.dtype != _ITEM else keys.reshape(-1)
        made = np.empty(len(flat), object)
        if not len(flat):
            return made
        if self._index is None:
            raise BadArgument("the texts of these keys are not known: a file of a table has their hashes alone")
        at, known = self._index.find(flat)
        held = np.empty(len(self._texts), object)
        held[:] = self._texts
        made[known] = held[at[known]]  # others are None: what was never inserted, such as items that nothing was handed back for
        return made
