# SPDX-License-Identifier: Apache-2.0
"""Tables that know the dtypes of their keys and values: Map, Set, MultiMap, Counter, Index, Cache, Filter.

A need chooses the recipe, and the dtypes its widths. Results come in the dtype of the values. Where the library would
compare bits, signed and float values are stored in a form whose unsigned order is theirs. Read next: _table.py.
"""

import ctypes
import inspect
import os
from ctypes import byref, c_uint64, c_void_p
from typing import Any, Callable, Dict, Literal, Mapping, NamedTuple, NoReturn, Optional, Tuple, Type, TypeVar, Union, get_args, overload

import numpy as np

from tessera import _library as lib
from tessera import _wide_keys
from tessera._arrays import (
    ROW_ITEMS,
    Adapter,
    ArrayT,
    Bools,
    JaxAdapter,
    Memory,
    NumbaAdapter,
    Numbers,
    NumPyArray,
    OtherAdapter,
    adapter_of,
    name_of,
    plain_array,
    way_out,
)
from tessera._columns import plain
from tessera._key_columns import KeyColumns
from tessera._texts import TextKeys
from tessera._library import BadArgument, WrongType, library
from tessera._spec import flat
from tessera._table import Code, Table, _bits, not_one_axis
from tessera._verbs import group_by
from tessera._words import dtype_of, need_word, no_argument

_KEYS = ("int32", "int64", "uint32", "uint64")
_VALUES = (*_KEYS, "float32", "float64")
_NARROW = {"torch.int8": "i", "torch.int16": "i", "torch.uint16": "u", "torch.float16": "f", "torch.bfloat16": "f"}
_WIDTHS = {4: np.dtype(np.uint32), 8: np.dtype(np.uint64), _wide_keys.BYTES: np.dtype(f"V{_wide_keys.BYTES}")}
_WIDE = np.dtype(f"V{_wide_keys.BYTES}")  # keys of 128 bits; "uuid" is another name


class Choice(NamedTuple):
    """A recipe, and the settings that adapt it: `tessera.Table(choice.recipe, settings=choice.settings)`."""

    recipe: str
    settings: Dict[str, object]

    def __str__(self) -> str:
        return ", ".join([self.recipe, *(f"{name} = {value}" for name, value in self.settings.items())])


# By kind and need: the recipes for 32-bit and for 64-bit keys, and what each changes.
_NEEDS: Dict[str, Dict[str, Tuple[str, str, Dict[str, object]]]] = {
    "map": {
        "find": ("best_find_first", "best_find_64", {}),
        "build": ("best_build", "best_build_64", {}),
        "absent": ("best_absent", "best_absent", {}),
        "groupby": ("best_build_first", "best_build_64", {"table.duplicates": "add"}),
        "erase": ("sessions", "sessions", {}),
        "mixed": ("mixed", "mixed", {}),
        "static": ("perfect", "perfect", {"table.duplicates": "promise_unique"}),
    },
    "set": {"find": ("best_set", "best_set", {})},
    "multimap": {
        "few": ("best_multi", "best_multi", {}),
        "many": ("warpcore_buckets", "warpcore_buckets", {}),
        "join": ("join", "join", {}),
    },
    "counter": {"count": ("best_count", "best_count", {})},
    "index": {"number": ("index", "index", {})},
    "cache": {"find": ("cache", "cache", {})},
    "filter": {"contains": ("filter", "filter", {}), "erase": ("cuckoo_filter", "cuckoo_filter", {})},
}
# What makes a cache of the recipe "wide": a key has 16 candidates, as in the recipe "cache".
_CACHE_OF_ROWS = {
    "table.kind": "cache",
    "table.eviction": "lru",
    "table.duplicates": "replace",
    "table.load_factor": 1,
    "layout.bucket_slots": 8,
    "probing.hash_functions": 2,
}
_START = 1024  # capacity of a table that grows

TypedT = TypeVar("TypedT", bound="Typed")
MapT = TypeVar("MapT", bound="Map")
IndexT = TypeVar("IndexT", bound="Index")
Need = Literal["find", "build", "absent", "groupby", "erase", "mixed", "static"]
_BACKENDS = ("auto", "cuda", "cpu")
Duplicates = Literal["first", "replace", "add", "min", "max", "promise_unique"]


def choose(
    kind: Literal["map", "set", "multimap", "counter", "index", "cache", "filter"],
    key: Any = "int64",
    value: Any = None,
    *,
    for_: Optional[str] = None,
    capacity: Optional[int] = None,
) -> Choice:
    """The recipe for a need, with the settings for these dtypes. It grows where no capacity is given.

    >>> print(tessera.choose("map", "int64", "float32", for_="build"))
    best_build_64, table.key_bits = 64, table.value_bits = 32, table.duplicates = replace, table.growth = double
    """
    need_word("kind", kind, _NEEDS)
    needs = _NEEDS[kind]
    if for_ is None:
        for_ = next(iter(needs))
    if not isinstance(for_, str) or for_ not in needs:
        shown = repr(for_) if isinstance(for_, str) else type(for_).__name__
        raise BadArgument(f"for_ = {shown}: a {kind} is for {' or '.join(map(repr, needs))}")
    form = _form_of(key)
    width = _key_type(key).itemsize if form is None else form.width
    recipe = needs[for_][0 if width == 4 else 1]
    settings: Dict[str, object] = {"table.key_bits": 8 * width} if form is None else {"table.key_columns": form.setting}
    if isinstance(form, TextKeys):
        settings = {"table.key_bits": 128}
    if width == _wide_keys.BYTES:
        if kind == "cache":
            settings["table.layout"] = "soa"
        elif kind != "filter":
            recipe = "wide_keys"
            settings["table.kind"] = kind
            if kind != "set":
                settings["table.layout"] = "soa"
            if kind == "counter":
                settings["table.value_bits"] = 64
    if kind in ("map", "multimap", "cache"):
        dtype, items = _value_type("int64" if value is None else value)
        if items > 1 or dtype.itemsize not in (4, 8):
            if kind == "multimap":
                raise WrongType(f"value = {value!r}: rows are values of maps: use tessera.Table with kind = {kind}")
            if kind == "cache" and width == _wide_keys.BYTES:
                raise WrongType(f"value = {value!r}: of 128-bit keys tessera.Cache has 4 or 8 bytes: use tessera.Table with value_bytes")
            recipe = "wide"
            settings["table.value_bytes"] = dtype.itemsize * items
            if kind == "cache":
                settings.update(_CACHE_OF_ROWS)
        else:
            settings["table.value_bits"] = 8 * dtype.itemsize
    elif value is not None and kind != "counter":
        raise BadArgument(f"value = {value!r}: a {kind} has no values: leave it out")
    if kind in ("map", "set"):
        settings["table.duplicates"] = "replace" if kind == "map" else "first"
    settings.update(needs[for_][2])
    if capacity is None:
        if kind == "cache":
            raise BadArgument("capacity: a cache does not grow: pass the number of pairs that it holds")
        if kind == "filter":
            raise BadArgument("capacity: a filter cannot grow: pass the number of keys that it is for")
        settings["table.growth"] = "double"
    return Choice(recipe, settings)


def _form_of(key: Any) -> "Union[KeyColumns, TextKeys, None]":
    return KeyColumns.of(key) or TextKeys.of(key)


def _key_type(key: Any) -> "np.dtype[Any]":
    dtype = _WIDE if isinstance(key, str) and key == "uuid" else _dtype(key, "key", (*_KEYS, "uuid"))
    if dtype.name not in _KEYS and dtype != _WIDE:
        raise WrongType(
            f"key = {key!r}: keys are {', '.join(_KEYS)}, \"str\" or \"bytes\", \"uuid\" for 16 bytes, or a list or dict of "
            f"columns{_wider(dtype, _KEYS)}"
        )
    return dtype


def _wider(dtype: "np.dtype[Any]", names: Tuple[str, ...]) -> str:
    """For a type that is too narrow, the one to take."""
    wide = f"{dtype.name.rstrip('0123456789')}32"
    if dtype.itemsize >= 4 or wide not in names:
        return ""
    return f". Take {wide!r}: arrays of {dtype.name} are widened to it"


def _name_of_key(dtype: "np.dtype[Any]") -> str:
    return "uuid" if dtype == _WIDE else dtype.name


def _value_type(value: Any) -> Tuple["np.dtype[Any]", int]:
    """The dtype of an item of a value, and how many items a value has."""
    dtype, items = value, 1
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], int):
        dtype, items = value
    made = _dtype(dtype, "value", _VALUES)
    if made.name in _VALUES and not isinstance(value, tuple):
        return made, 1
    if (made.kind, made.itemsize) not in ROW_ITEMS or not _is_row(made.itemsize * items):
        raise WrongType(
            f"value = {value!r}: values are {', '.join(_VALUES)}, or rows of numbers, as ('float32', 16), of 16 to 256 bytes, "
            f"or of a multiple of 16 bytes up to 4096{_wider(made, _VALUES) if items == 1 else ''}"
        )
    return made, items


def _row_type(row: Any) -> Tuple["np.dtype[Any]", int]:
    """The dtype of an item of a number's row, and how many items it has."""
    dtype, items = row if isinstance(row, tuple) and len(row) == 2 and isinstance(row[1], int) else (row, 1)
    made = _dtype(dtype, "row", _VALUES)
    if (made.kind, made.itemsize) not in ROW_ITEMS or not _is_row(made.itemsize * items):
        raise WrongType(
            f"row = {row!r}: rows are of numbers, as ('float32', 16), of 16 to 256 bytes, or of a multiple of 16 bytes up to 4096"
        )
    return made, items


def _is_row(size: int) -> bool:
    return 16 <= size <= (4096 if size % 16 == 0 else 256)


def _dtype(given: Any, name: str, names: Tuple[str, ...]) -> "np.dtype[Any]":
    try:
        return dtype_of(given)
    except TypeError:
        raise WrongType(f"{name} = {given!r}: is no dtype: pass one of {', '.join(names)}") from None


class Typed(Table):
    """A table that takes arrays of its own dtypes alone, and answers in them."""

    _table_kind = ""
    _form: "Union[KeyColumns, TextKeys, None]" = None  # how keys are made of what callers pass; None: they are numbers
    _sums_floats = False  # the library replaces values, and inserts add to them before

    def __init__(
        self,
        key: Any,
        value: Any,
        capacity: Optional[int],
        for_: Optional[str],
        duplicates: Optional[str],
        backend: Optional[str],
        settings: Optional[Mapping[str, object]],
        **options: Any,
    ) -> None:
        choice = choose(self._table_kind, key, value, for_=for_, capacity=capacity)  # type: ignore[arg-type]
        for name, chosen, known in (("duplicates", duplicates, get_args(Duplicates)), ("backend", backend, _BACKENDS)):
            if chosen is not None:
                need_word(name, chosen, known)
                choice.settings[f"table.{name}"] = chosen
        choice.settings.update(flat(settings))
        self._learn(key, value)
        self._adapt(choice.settings)
        if "table.capacity" not in choice.settings:
            options["capacity"] = _START if capacity is None else capacity
        super().__init__(choice.recipe, settings=choice.settings, **options)
        #: The recipe, and the settings that were changed. It prints as one line.
        self.recipe: Optional[Choice] = choice

    def _learn(self, key: Any, value: Any) -> None:
        self._form = _form_of(key)
        self._key_type = _key_type(key) if self._form is None else _WIDTHS[self._form.width]
        self._key_kind = "u" if self._key_type == _WIDE else self._key_type.kind
        self._value_type: "Optional[np.dtype[Any]]" = None
        if value is not None:
            self._value_type, self._row_items = _value_type(value)
            self._value_kind = self._value_type.kind
            self._row_item = self._value_type.kind, self._value_type.itemsize

    def _adapt(self, settings: Dict[str, object]) -> None:
        """What the library does not know of values: signed sums do not overflow there, and floats are not added."""
        if settings.get("table.duplicates") != "add" or self._value_type is None:
            return
        if self._value_kind == "i":
            settings.setdefault("table.overflow", "wrap")
        if self._value_kind == "f":
            settings["table.duplicates"] = "replace"
            self._sums_floats = True

    def _describe(self) -> None:
        super()._describe()
        if not self._sums_floats:
            return
        self._duplicates, self._adds = "add", True
        if self._setting("concurrency", "") == "mixed":
            raise WrongType(
                "duplicates = add: operations of all kinds at once add whole numbers: use tessera.group_by(keys).agg("
                "total=(values, 'sum')), which adds floats"
            )

    def _added(
        self, handle: c_void_p, adapter: Adapter, keys: Any, memory: Memory, values: Any, wait: bool
    ) -> Optional[Tuple[Any, Memory, Any, int]]:
        if not self._sums_floats:
            return super()._added(handle, adapter, keys, memory, values, wait)
        if not wait:
            raise lib.Unsupported("wait = False: floats are added by several steps, which wait: leave it out")
        floats = adapter.viewed(values, "f", self._value_width)  # one number for all keys comes as its bits
        groups = group_by(keys.reshape(-1)).agg(sum=(floats.reshape(-1), "sum"))
        keys, sums = groups["key"], groups["sum"]
        memory = adapter.look(keys, "keys", False)
        sums = sums + self._found(handle, adapter, keys, memory, "f")
        return keys, memory, sums, adapter.address(sums)

    def _types(self) -> Dict[str, Any]:
        return {"key": _name_of_key(self._key_type) if self._form is None else self._form.given}

    @classmethod
    def load(
        cls: "Type[TypedT]", path: "Union[str, os.PathLike[str]]", *, key: Any = "int64", value: Any = None, **options: Any
    ) -> TypedT:
        """The table that `save` wrote. The file has no dtypes: pass those of the table. Other arguments: as of
        `Table.load`."""
        known = inspect.signature(Table.load).parameters
        for name in options:
            if name not in known:
                raise no_argument(f"{cls.__name__}.load", name, ["key", *(["value"] if value is not None else []), *known])
        table: Any = super().load(path, **options)
        table._learn(key, value)
        table.recipe = None
        if table._kind != cls._table_kind:
            kinds = {kind._table_kind: kind.__name__ for kind in Typed.__subclasses__()}
            raise BadArgument(f"{os.fspath(path)}: has a {table._kind}: load it by tessera.{kinds.get(table._kind, 'Table')}.load")
        for name, dtype, items, width in (
            ("key", table._key_type, 1, table._key_width),
            ("value", table._value_type, getattr(table, "_row_items", 1), table._value_width),
        ):
            if dtype is not None and items * dtype.itemsize != width:
                raise WrongType(f"{name} = {_name_of_key(dtype)!r}: the table's {name}s have {8 * width} bits")
        return table

    @property
    def _orders(self) -> bool:
        """Whether values are stored in a form whose unsigned order is theirs."""
        return self._value_type is not None and self._value_kind != "u" and self._duplicates in ("min", "max")

    def __repr__(self) -> str:
        if self._handle is None:
            return f"<tessera.{type(self).__name__}, closed>"
        types = " -> ".join(name for name in self._type_names() if name)
        return f"<tessera.{type(self).__name__}: {types}, {self._place()}>"

    def _type_names(self) -> Tuple[str, str]:
        key = _name_of_key(self._key_type) if self._form is None else self._form.label()
        if self._value_type is None:
            return key, ""
        return key, f"{self._row_items} {self._value_type.name}" if self._row else self._value_type.name

    # ---- Keys and values as arrays -----------------------------------------------------------------------------------

    def _keys_array(self, keys: Any, name: str) -> Tuple[Adapter, Any, Memory]:
        if self._form is not None and name != "numbers":
            return self._form.pack(self, keys, name)
        keys = plain(keys, name) if self._key_width <= 8 else keys
        is_array = hasattr(keys, "__array__") and not isinstance(keys, np.generic)
        if adapter_of(keys) is None and not is_array and not hasattr(keys, "columns") and self._key_width <= 8:
            keys = _converted(keys, name, self._key_type)
        return super()._keys_array(keys, name)

    def _answered(self, keys: Any) -> Any:
        return keys if self._form is None or keys is None else self._form.unpack(self, keys)

    def _answered_of(self, keys: Any, other: Table) -> Any:
        made = self._answered(keys)
        if isinstance(self._form, TextKeys) and keys is not None:
            absent = np.equal(made, None)
            made[absent] = other._answered(keys)[absent]
        return made

    def _keep_keys(self) -> None:
        if isinstance(self._form, TextKeys):
            self._form.keep()

    def _is_one_key(self, key: Any) -> bool:
        return self._form is not None and self._form.is_one(key)

    def _wrong_type(self, memory: Memory, name: str, what: str, width: int) -> NoReturn:
        dtype = self._key_type if what == "keys" else self._value_type
        if dtype is None or dtype == _WIDE:
            super()._wrong_type(memory, name, what, width)
        got = name_of(memory.kind, memory.width)
        way = f"convert them, as by {name}.astype({dtype.name!r})"
        if got in (_KEYS if what == "keys" else _VALUES):
            way += f", or create it with {what[:-1]}={got!r}"
        elif memory.kind in ("O", "U", "S", "V", "M", "m") or memory.kind.startswith("byte-swapped"):
            way = way_out(name, what, memory.kind, memory.width, width)
        elif memory.kind == "f" and dtype.kind != "f":
            way += ", which cuts fractions off; nulls became NaN: fill or drop them"
        raise WrongType(f"{name}: is {got}, and this {type(self).__name__} has {what} of {dtype.name}: {way}")

    def _widened(self, adapter: Adapter, array: Any, memory: Memory, name: str, what: str) -> Tuple[Any, Memory]:
        """Numbers of 8 and 16 bits, for which there are no tables."""
        dtype = self._key_type if what == "keys" else self._value_type
        kind = _NARROW.get(memory.kind, memory.kind)
        is_narrow = memory.width < 4 and kind in ("iu" if what == "keys" else "iuf")
        if dtype is None or dtype == _WIDE or not is_narrow or not np.can_cast(f"{kind}{memory.width}", dtype):
            return super()._widened(adapter, array, memory, name, what)
        wide = adapter.cast(array, dtype.kind, dtype.itemsize)
        if wide is None:
            return super()._widened(adapter, array, memory, name, what)
        return wide, adapter.look(wide, name, False)

    def _values(
        self, values: Any, name: str, adapter: Adapter, keys: Any, memory: Memory, stored: bool = True
    ) -> Tuple[Any, int]:
        dtype = self._value_type
        if values is None or dtype is None or not self._value_width or self._row or self._kind == "counter":
            return super()._values(values, name, adapter, keys, memory, stored)
        values = plain(values, name)
        if adapter_of(values) is None and not hasattr(values, "columns"):
            if isinstance(values, (int, float, np.number)) and not isinstance(values, bool):
                return self._one_for_all(values, name, adapter, keys, memory)
            values = np.ascontiguousarray(values) if hasattr(values, "__array__") else _converted(values, name, dtype)
        theirs = adapter_of(values)
        if theirs is None:
            return super()._values(values, name, adapter, keys, memory, stored)
        found = theirs.look(values, name, False)
        if found.size != memory.size or (len(memory.shape) > 1 and tuple(found.shape) != tuple(memory.shape)):
            return super()._values(values, name, adapter, keys, memory, stored)  # says what is wrong
        if (found.kind, found.width) != (dtype.kind, dtype.itemsize):
            values, found = self._widened(theirs, values, found, name, "values")
        self._note(found, theirs, name)
        if self._orders:
            values = _ordered(values, theirs, name, found, True)
            return values, theirs.look(values, name, False).pointer
        self._is_signed |= found.kind == "i" and self._duplicates == "add"
        return values, found.pointer

    def _one_for_all(
        self, value: "Union[int, float, np.number[Any]]", name: str, adapter: Adapter, keys: Any, memory: Memory
    ) -> Tuple[Any, int]:
        if self._orders and value != value:
            raise BadArgument(f"{name}: is NaN, which has no place in an order: leave it out")
        if len(memory.shape) > 1:
            raise not_one_axis(memory.shape)
        bits = self._stored_bits(value, name)
        signed = bits - (bits >> 8 * self._value_width - 1 << 8 * self._value_width)
        made = adapter.full(keys, memory.shape, "i", self._value_width, signed)
        self._is_signed |= self._value_kind == "i" and self._duplicates == "add"
        return made, adapter.address(made)

    def _stored_bits(self, value: "Union[int, float, np.number[Any]]", name: str) -> int:
        """What the table stores for a value."""
        assert self._value_kind is not None
        bits = _bits(value, self._value_kind, self._value_width, name)  # type: ignore[arg-type]
        if not self._orders:
            return bits
        top: int = 1 << 8 * self._value_width - 1
        return bits ^ (2 * top - 1 if self._value_kind == "f" and bits & top else top)

    def _missing(self, missing: Union[int, float], kind: str, width: int) -> int:
        if self._orders and isinstance(missing, (int, float, np.number)):
            return self._stored_bits(missing, "missing")
        return super()._missing(missing, kind, width)

    def _decoded(self, values: Any, out: Any = None) -> Any:
        if values is None or not self._orders:
            return values
        adapter = adapter_of(values)
        assert adapter is not None
        made = _ordered(values, adapter, "values", adapter.look(values, "values", False), False)
        if out is None:
            return made
        out[...] = made
        return out

    def _dtype_of_values(self, dtype: Any) -> "np.dtype[Any]":
        if self._value_type is None or self._row or self._kind == "counter" or dtype is not None:
            return super()._dtype_of_values(dtype)
        return self._value_type


def _converted(numbers: Any, name: str, dtype: "np.dtype[Any]") -> Any:
    """An array of this dtype, of a number or a list; numbers that it does not hold are refused."""
    array = plain_array(numbers, name)
    if array.size and array.dtype.kind not in ("iuf" if dtype.kind == "f" else "iu"):
        array = np.array(numbers, dtype=object)
        if not array.ndim and hasattr(numbers, "__iter__"):
            way = f"pass list({name}), or an array of {dtype.name}"
            if isinstance(numbers, (str, bytes)):
                way = f'tables with key="{type(numbers).__name__}" have such keys' if name == "keys" else f"pass {dtype.name}"
            raise WrongType(f"{name}: is a {type(numbers).__name__}: {way}")
        for number in array.flat:
            if isinstance(number, (int, np.integer)) and not isinstance(number, bool):
                continue
            way = f', or create it with value="float64"' if isinstance(number, float) and name == "values" else ""
            if name == "keys" and type(number).__name__ in ("str", "bytes", "UUID"):
                kind = type(number).__name__.lower()
                raise WrongType(f'keys: holds {number!r:.60}, and keys are {dtype.name} here: tables with key="{kind}" have such keys')
            raise WrongType(
                f"{name}: holds {number!r:.40}, and other things than {dtype.name} are refused: pass an array of {dtype.name}{way}"
            )
    if array.size and dtype.kind != "f":
        low, high, limits = int(array.min()), int(array.max()), np.iinfo(dtype)
        if low < limits.min or high > limits.max:
            raise BadArgument(f"{name}: {_range(low, high)} not fit into {dtype.name}")
    return array.astype(dtype)


def _range(low: int, high: int) -> str:
    return f"{low} does" if low == high else f"{low} .. {high} do"


def _ordered(values: Any, adapter: Adapter, name: str, memory: Memory, stores: bool) -> Any:
    """Values in the form that is stored, whose unsigned order is theirs, or back. Floats have a sign and a magnitude, so
    that the bits of negative ones are turned over."""
    if isinstance(adapter, (JaxAdapter, NumbaAdapter, OtherAdapter)):
        raise WrongType(f"{name}: min and max of signed values and floats take arrays of NumPy, PyTorch and CuPy")
    kind, width = memory.kind, memory.width
    if stores and kind == "f" and memory.size and bool((values != values).any()):
        raise BadArgument(f"{name}: holds NaN, which has no place in an order: leave these pairs out")
    lowest = -(1 << 8 * width - 1)
    bits = adapter.viewed(values.reshape(-1), "i", width)  # NumPy's items of no axis would become int64
    turned = lowest
    if kind == "f":
        sign = bits >> (8 * width - 1)
        turned = (sign if stores else ~sign) | lowest
    return adapter.viewed(bits ^ turned, kind, width).reshape(values.shape)


# ---- The kinds -------------------------------------------------------------------------------------------------------


class Map(Typed):
    """One value per key, of these dtypes.

    key: int32, int64, uint32 or uint64. value: one of these, float32 or float64; or a row of 16 to 4096 bytes, as
    ("float32", 16). capacity: pairs; without it the map grows. for_: what it is mostly for, which chooses the recipe;
    "static" is for distinct keys that are inserted at once and then only found. duplicates: what inserting a present key does;
    "add", "min" and "max" combine by the dtype. Other arguments: as of `Table`.

    >>> prices = tessera.Map(key="int64", value="float32", backend="cpu")
    >>> prices[[7, -42]] = [1.5, 2.5]
    >>> prices.get([-42, 7, 5], missing=float("nan"))
    array([2.5, 1.5, nan], dtype=float32)
    >>> lowest = tessera.Map(value="int32", duplicates="min", backend="cpu")
    >>> lowest.insert([1, 1, 2], [3, -5, 4])
    >>> lowest.get([1, 2])
    array([-5,  4], dtype=int32)
    """

    _table_kind = "map"

    def __init__(
        self,
        key: Any = "int64",
        value: Any = "int64",
        *,
        capacity: Optional[int] = None,
        for_: Need = "find",
        duplicates: Optional[Duplicates] = None,
        backend: Optional[Literal["auto", "cuda", "cpu"]] = None,
        settings: Optional[Mapping[str, object]] = None,
        **options: Any,
    ) -> None:
        super().__init__(key, value, capacity, for_, duplicates, backend, settings, **options)

    def _types(self) -> Dict[str, Any]:
        assert self._value_type is not None
        value = (self._value_type.name, self._row_items) if self._row else self._value_type.name
        return {**super()._types(), "value": value, **({"duplicates": "add"} if self._sums_floats else {})}

    @classmethod
    def load(
        cls: "Type[MapT]",
        path: "Union[str, os.PathLike[str]]",
        *,
        key: Any = "int64",
        value: Any = "int64",
        duplicates: Optional[Literal["add"]] = None,
        **options: Any,
    ) -> MapT:
        """The map that `save` wrote. The file has no dtypes: pass those of the map, and of one that adds floats
        duplicates="add". Other arguments: as of `Table.load`."""
        table = super().load(path, key=key, value=value, **options)
        if duplicates is not None:
            if duplicates != "add" or table._value_kind != "f" or table._duplicates != "replace":
                raise BadArgument(f"duplicates = {duplicates!r}: only maps of floats that add are told so: leave it out")
            table._sums_floats = True
            table._describe()
        return table


class MultiMap(Map):
    """Every pair that is inserted, of these dtypes; `find_all` returns all values of keys. for_: "few" or "many" values
    per key, or "join", for one large insert.

    >>> towns = tessera.MultiMap(key="int32", value="float64", backend="cpu")
    >>> towns.insert([1, 2, 1], [0.5, 1.5, -2.5])
    >>> offsets, values = towns.find_all([1])
    >>> sorted(values.tolist())
    [-2.5, 0.5]
    """

    _table_kind = "multimap"

    def __init__(
        self,
        key: Any = "int64",
        value: Any = "int64",
        *,
        capacity: Optional[int] = None,
        for_: Literal["few", "many", "join"] = "few",
        backend: Optional[Literal["auto", "cuda", "cpu"]] = None,
        settings: Optional[Mapping[str, object]] = None,
        **options: Any,
    ) -> None:
        Typed.__init__(self, key, value, capacity, for_, None, backend, settings, **options)


class Set(Typed):
    """Distinct keys of a dtype.

    >>> seen = tessera.Set("int32", backend="cpu")
    >>> seen.insert([3, -3, 3])
    >>> len(seen), seen.contains([-3, 4])
    (2, array([ True, False]))
    """

    _table_kind = "set"

    def __init__(
        self,
        key: Any = "int64",
        *,
        capacity: Optional[int] = None,
        backend: Optional[Literal["auto", "cuda", "cpu"]] = None,
        settings: Optional[Mapping[str, object]] = None,
        **options: Any,
    ) -> None:
        super().__init__(key, None, capacity, None, None, backend, settings, **options)


class Counter(Typed):
    """How often each key was inserted, as int64. Values that are passed are added up.

    >>> counts = tessera.Counter("int64", backend="cpu")
    >>> counts.insert([7, -42, 7])
    >>> counts.get([7, -42, 5])
    array([2, 1, 0])
    """

    _table_kind = "counter"

    def __init__(
        self,
        key: Any = "int64",
        *,
        capacity: Optional[int] = None,
        backend: Optional[Literal["auto", "cuda", "cpu"]] = None,
        settings: Optional[Mapping[str, object]] = None,
        **options: Any,
    ) -> None:
        super().__init__(key, None, capacity, None, None, backend, settings, **options)

    def _learn(self, key: Any, value: Any) -> None:
        super()._learn(key, None)
        self._value_kind = "i"


class Index(Typed):
    """A number for each distinct key of a dtype, from 0 on, as int32. numbering: "any" or "first_seen", the order of the new
    keys of a call. reuse: whether numbers of erased keys are given again. eviction: "lru" or "lfu" bounds it to `capacity`
    keys; what `number` gives up then is in `evicted`. row: a dtype and how many, as ("float32", 16): each number has a row of
    them, which `write_rows` and `read_rows` work on.

    >>> rows = tessera.Index("int64", numbering="first_seen", backend="cpu")
    >>> rows.number([70, -30, 70])
    array([0, 1, 0], dtype=int32)
    >>> rows.get([-30, 5], missing=-1)
    array([ 1, -1], dtype=int32)
    >>> rows.keys_by_number()[0]
    array([ 70, -30])
    >>> vectors = tessera.Index("int64", row=("float32", 4), backend="cpu")
    >>> vectors.write_rows(vectors.number([70, 90]), np.eye(2, 4, dtype=np.float32))
    >>> vectors.read_rows(vectors.get([90, 5], missing=-1), missing=7)
    array([[0., 1., 0., 0.],
           [7., 7., 7., 7.]], dtype=float32)
    """

    _table_kind = "index"

    def __init__(
        self,
        key: Any = "int64",
        *,
        capacity: Optional[int] = None,
        numbering: Literal["any", "first_seen"] = "any",
        reuse: bool = True,
        eviction: str = "none",
        row: Any = None,
        backend: Optional[Literal["auto", "cuda", "cpu"]] = None,
        settings: Optional[Mapping[str, object]] = None,
        **options: Any,
    ) -> None:
        own = {"table.numbering": numbering, "table.reuse": "yes" if reuse else "no", **flat(settings)}
        if row is not None:
            dtype, items = _row_type(row)
            self._row_item = dtype.kind, dtype.itemsize
            own["table.value_bytes"] = dtype.itemsize * items
        if eviction != "none":
            own = {"table.growth": "none", "table.eviction": eviction, **own}
        super().__init__(key, None, capacity, None, None, backend, own, **options)

    def _learn(self, key: Any, value: Any) -> None:
        super()._learn(key, None)
        self._value_kind = "i"

    @classmethod
    def load(
        cls: "Type[IndexT]", path: "Union[str, os.PathLike[str]]", *, key: Any = "int64", row: Any = None, **options: Any
    ) -> IndexT:
        """The index that `save` wrote. The file has no dtypes: pass those of the table. Other arguments: as of `Table.load`."""
        table = super().load(path, key=key, **options)
        if row is None:
            return table
        dtype, items = _row_type(row)
        if dtype.itemsize * items != table._number_row:
            raise WrongType(f"row = {row!r}: the table's rows have {table._number_row} bytes")
        table._row_item = dtype.kind, dtype.itemsize
        return table


_WRITE = ctypes.CFUNCTYPE(ctypes.c_int, c_void_p, c_uint64, c_void_p, c_void_p)


def _copied(at: int, count: int, dtype: "Optional[np.dtype[Any]]", items: int) -> "Optional[np.ndarray[Any, Any]]":
    if dtype is None:
        return None
    bytes_of = ctypes.string_at(at, count * items * dtype.itemsize)
    made = np.frombuffer(bytearray(bytes_of), dtype)
    return made if items == 1 else made.reshape(count, items)


class Cache(Typed):
    """A map of at most about `capacity` pairs. When it is full, a new pair takes the place of another one, which `put` hands back.

    key, value: as of `Map`. eviction: an eviction part: "lru", "lfu", "custom", "ttl", or one of your own. now: the clock of the
    calls that follow; 0: each call is one more than the one before. Other arguments: as of `Table`.

    >>> prices = tessera.Cache("int64", "float32", capacity=8, backend="cpu", settings={"table.probing": "linear",
    ...     "probing.max_probes": 1})
    >>> keys, values = prices.put(list(range(8)), [0.5] * 8)    # nothing is given up
    >>> prices.get([0, 1])                                       # a use of both
    array([0.5, 0.5], dtype=float32)
    >>> prices.put([99], [1.5])[0]
    array([2])
    """

    _table_kind = "cache"
    _call: Any = None  # of write_behind; kept here, since the library has its address
    _failure: Optional[BaseException] = None  # of its function

    def __init__(
        self,
        key: Any = "int64",
        value: Any = "int64",
        *,
        capacity: int,
        eviction: str = "lru",
        backend: Optional[Literal["auto", "cuda", "cpu"]] = None,
        settings: Optional[Mapping[str, object]] = None,
        **options: Any,
    ) -> None:
        super().__init__(
            key, value, capacity, None, None, backend, {"table.eviction": eviction, **flat(settings)}, **options
        )

    @property
    def now(self) -> int:
        """The clock of the calls that follow, such as seconds with "ttl". 0: each call is one more than the one before."""
        return self._now

    @now.setter
    def now(self, clock: int) -> None:
        if not isinstance(clock, int) or clock < 0 or clock >> 32:
            raise BadArgument(f"now = {clock!r}: is a whole number from 0 to 2^32 - 1")
        self._now = clock

    @overload
    def put(self, keys: Numbers, values: Any, *, scores: Any = None) -> Tuple[NumPyArray, NumPyArray]: ...
    @overload
    def put(self, keys: ArrayT, values: Any, *, scores: Any = None) -> Tuple[ArrayT, ArrayT]: ...
    def put(self, keys: Any, values: Any, *, scores: Any = None) -> Tuple[Any, Any]:
        """Inserts pairs; a present key gets the new value. Returns (keys, values), the pairs that were given up for them,
        and items that the part did not take. scores: (...) uint32, for the parts that take them. Waits."""
        at, taken = self._at, None
        if scores is not None:
            taken = np.ascontiguousarray(_converted(scores, "scores", np.dtype(np.uint32)))
            n = self._keys_array(keys, "keys")[2].size
            if taken.size != n:
                raise BadArgument(f"scores: has {taken.size} items, and keys {n}: pass one for each key")
            at.scores = taken.ctypes.data
        try:
            codes, gone, lost = self.insert(keys, values, wait=False)
            self.wait()
        finally:
            at.scores = 0
        mask = (codes == Code.EVICTED) | (codes == Code.NOT_PLACED)
        adapter = adapter_of(gone)
        assert adapter is not None
        return adapter.select(gone, mask), adapter.select(lost, mask)

    @overload
    def peek(self, keys: Numbers, *, missing: Union[int, float] = 0, out: Any = None) -> Tuple[NumPyArray, Bools]: ...
    @overload
    def peek(self, keys: ArrayT, *, missing: Union[int, float] = 0, out: Any = None) -> Tuple[ArrayT, ArrayT]: ...
    def peek(self, keys: Any, *, missing: Union[int, float] = 0, out: Any = None) -> Tuple[Any, Any]:
        """`find` that counts no use."""
        at = self._at
        at.peeks = 1
        try:
            return self.find(keys, missing=missing, out=out)
        finally:
            at.peeks = 0

    def erase_if(self, lowest: int = 0, highest: int = 0xFFFFFFFF) -> int:
        """Erases the pairs whose scores are in this range, and returns how many there were. With "ttl" a score is the clock
        at which the pair expires. Waits."""
        handle = self._begin()
        try:
            erased = c_uint64()
            if library.tsr_erase_if(handle, byref(self._scored(lowest, highest)), byref(erased), self._at.error_at):
                self._fail()
            return erased.value
        finally:
            self._end()

    def scores(self, lowest: int = 0, highest: int = 0xFFFFFFFF) -> "Tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]":
        """(keys, scores) of the pairs whose scores are in this range, in no order, as NumPy arrays. Waits."""
        handle = self._begin()
        try:
            count, asked = c_uint64(), self._scored(lowest, highest)
            if library.tsr_export_if(handle, byref(asked), byref(count), self._at.error_at):
                self._fail()
            keys, scores = np.empty(count.value, self._key_type), np.empty(count.value, np.uint32)
            asked.keys, asked.scores, asked.room = keys.ctypes.data, scores.ctypes.data, count.value
            if count.value and library.tsr_export_if(handle, byref(asked), byref(count), self._at.error_at):
                self._fail()
            return keys, scores
        finally:
            self._end()

    def write_behind(self, write: "Optional[Callable[[np.ndarray[Any, Any], np.ndarray[Any, Any]], object]]") -> None:
        """From now on each call that inserts calls write(keys, values), at its end, with the pairs that it handed back, as NumPy
        arrays: those that were given up, and items that the part did not take. It is not called where there are none. So they
        can be written to where all pairs are kept. An exception in it is raised by the call, whose own pairs are inserted. It
        must not use the cache. None: no longer.

        >>> kept = {}
        >>> prices = tessera.Cache("int64", "float32", capacity=8, backend="cpu", settings={"table.probing": "linear",
        ...     "probing.max_probes": 1})
        >>> prices.write_behind(lambda keys, values: kept.update(zip(keys.tolist(), values.tolist())))
        >>> keys, values = prices.put(list(range(9)), [0.5] * 9)
        >>> kept
        {0: 0.5}
        """
        if write is not None and self._form is not None:
            raise BadArgument("write_behind: needs keys that are numbers or UUIDs; `put` returns all other keys itself")
        handle = self._begin()
        try:
            call = _WRITE(0) if write is None else self._writer(write)
            if library.tsr_write_behind(handle, ctypes.cast(call, c_void_p), None, self._at.error_at):
                self._fail()
            self._call = call  # the library calls it as long as the table lives
        finally:
            self._end()

    def _writer(self, write: "Callable[[np.ndarray[Any, Any], np.ndarray[Any, Any]], object]") -> Any:
        items = getattr(self, "_row_items", 1)
        types = (self._key_type, 1), (self._value_type, items)

        def call(_: Any, count: int, keys: int, values: int) -> int:
            try:
                write(*(_copied(at, count, dtype, each) for at, (dtype, each) in zip((keys, values), types)))
                return 0
            except BaseException as error:  # noqa: B036: it is raised in _fail
                self._failure = error
                return 1

        return _WRITE(call)

    def _fail(self) -> NoReturn:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        super()._fail()

    @staticmethod
    def _scored(lowest: int, highest: int) -> lib.Scored:
        for name, score in (("lowest", lowest), ("highest", highest)):
            if not isinstance(score, int) or score < 0 or score >> 32:
                raise BadArgument(f"{name} = {score!r}: is a whole number from 0 to 2^32 - 1")
        return lib.Scored(lowest=lowest, highest=highest)


class Filter(Typed):
    """A filter of keys of a dtype: `contains` finds every key that was inserted, and few others.

    It is a Bloom filter. With `for_="erase"` it is a cuckoo filter, from which keys can be erased again.

    >>> known = tessera.Filter("int64", capacity=1000, for_="erase", backend="cpu")
    >>> known.insert([7, -42])
    >>> known.erase([7])
    array([ True])
    >>> known.contains([7, -42])
    array([False,  True])
    """

    _table_kind = "filter"

    def __init__(
        self,
        key: Any = "int64",
        *,
        capacity: int,
        for_: Optional[Literal["contains", "erase"]] = None,
        backend: Optional[Literal["auto", "cuda", "cpu"]] = None,
        settings: Optional[Mapping[str, object]] = None,
        **options: Any,
    ) -> None:
        super().__init__(key, None, capacity, for_, None, backend, settings, **options)
