# SPDX-License-Identifier: Apache-2.0
"""What a call says that has an argument of another library, or a misspelt one: the name that it has here, or the way without it.

`explain` wraps the public functions (see __init__.py), so that none of them looks at arguments that it does not have.
"""

import difflib
import inspect
import re
from functools import wraps
from typing import Any, Callable, Iterable, Mapping, TypeVar

import numpy as np

from tessera._library import BadArgument, WrongType

CallT = TypeVar("CallT", bound=Callable[..., Any])

# What others call an argument: its names here, of which the first one that a function has is meant.
_NAMES = {
    "ascending": "sort",
    "by": "keys on",
    "column": "keys x",
    "default": "missing",
    "dropna": "nulls",
    "drop_nulls": "nulls",
    "dtype": "value key",
    "element": "x",
    "elements": "x",
    "fill_value": "missing",
    "how": "kind",
    "ids": "keys",
    "inplace": "out",
    "key": "keys",
    "key_dtype": "key",
    "key_type": "key",
    "keys": "key x",
    "kind": "how",
    "maintain_order": "order",
    "max_size": "capacity",
    "maxsize": "capacity",
    "n": "capacity",
    "other": "values right",
    "path": "spec",
    "purpose": "for_",
    "recipe": "spec",
    "result": "out",
    "right": "other",
    "size": "capacity",
    "suffix": "suffixes",
    "test_elements": "values",
    "use_na_sentinel": "nulls",
    "val": "values value",
    "value": "values",
    "value_dtype": "value",
    "value_type": "value",
    "values": "value x",
}
# What to do without an argument, by function and argument, or in any function.
_WAYS = {
    "Table.join on": "tables are joined by their keys: leave it out",
    "Table.join sort": "sort the rows that are returned, as by numpy.argsort",
    "factorize sort": "numbers follow first appearance: numpy.unique(x, return_inverse=True) sorts",
    "group_by as_index": "keys are columns of the result: leave it out, and set_index them",
    "group_by sort": "sort the result, as by sort_values",
    "isin assume_unique": "repeated values cost nothing here: leave it out",
    "merge indicator": 'merge with how="semi" and "anti" tells the rows with a match from those without',
    "merge sort": "sort the result, as by sort_values",
    "merge validate": "len(tessera.unique(column)) == len(column) tells whether keys are distinct",
    "unique axis": "all values of an array are taken: for distinct rows use tessera.group_by((first, second)).size()",
    "unique return_index": "numpy.unique(inverse, return_index=True)[1] are the first rows, by what return_inverse=True gives",
    "unique sorted": "sort what is returned",
    "value_counts normalize": "divide the counts by their sum",
    "device": 'backend="cuda" or "cpu" chooses where the table is, and settings={"table.device": 1} the GPU',
    "key_bits": 'a table with dtypes has key="int64"; for tessera.Table it is in the spec, as {"table": {"key_bits": 64}}',
    "value_bits": 'a table with dtypes has value="float32"; for tessera.Table it is in the spec, as {"table": {"value_bits": 64}}',
    "kind": 'the classes tessera.Map, Set, MultiMap, Counter, Index, Cache and Filter are kinds; for tessera.Table it is in the '
    'spec, as in tessera.Table({"table": {"kind": "map", "key_bits": 64}})',
}
_SETTINGS = frozenset(
    "backend clean concurrency device_bytes devices duplicates eviction filter_bits growth hasher layout load_factor numbering "
    "overflow probing reuse seed stash statistics value_bytes".split()
)


def way(function: str, name: str, has: Iterable[str]) -> str:
    """What to do where `function`, which has the arguments `has`, gets another one."""
    names = [other for other in has if other not in ("self", "cls") and not other.startswith("_")]
    called = [other for other in _NAMES.get(name, "").split() if other in names]
    said = _WAYS.get(f"{function} {name}") or (None if called else _WAYS.get(name))
    if said is None and called:
        said = f"it is called {called[0]} here"
    if said is None and "settings" in names and name in _SETTINGS:
        said = f'pass settings={{"table.{name}": ...}}'
    near = difflib.get_close_matches(name, names, 1)
    if said is None and near:
        said = f"did you mean {near[0]}?"
    return said or f"there are {', '.join(names)}"


def no_argument(function: str, name: str, has: Iterable[str]) -> WrongType:
    return WrongType(f"{name}=: is no argument of {function}: {way(function, name, has)}")


def need_word(name: str, given: Any, words: Iterable[str], way: str = "") -> None:
    """Refuses an argument that is none of these words, of which there are two or more."""
    if not isinstance(given, str) or given not in words:
        shown = repr(given) if isinstance(given, (str, int, float, type(None))) else type(given).__name__
        *most, last = map('"{}"'.format, words)
        raise BadArgument(f"{name} = {shown}: is {', '.join(most)} or {last}{way}")


def dtype_of(given: Any) -> "np.dtype[Any]":
    """NumPy's dtype for one of any library's, in this machine's byte order. Raises TypeError if there is none."""
    if type(given).__module__.startswith("pyarrow"):
        given = given.to_pandas_dtype()
    if isinstance(given, type) and given.__module__.startswith("polars"):
        given = str(given)
    text = str(given)
    for form in (text[len("torch.") :] if text.startswith("torch.") else given, text.lower()):  # polars and pandas have Int64
        try:
            return np.dtype(form).newbyteorder("=")
        except (TypeError, ValueError):
            pass
    raise TypeError(f"{text} is no dtype")


def _need_flags(flags: Iterable[str], named: Mapping[str, Any]) -> None:
    for name in flags:
        if name in named and not isinstance(named[name], int) and type(named[name]).__name__ not in ("bool", "bool_"):
            raise WrongType(f"{name}: is True or False, and not {type(named[name]).__name__}")


_UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'")


def explain(function: CallT, called: str) -> CallT:
    """The function with sentences for arguments that it does not have."""

    parameters = inspect.signature(function).parameters
    flags = [name for name, one in parameters.items() if isinstance(one.default, bool)]

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if named and flags:
            _need_flags(flags, named)
        try:
            return function(*args, **named)
        except TypeError as error:
            unknown = _UNEXPECTED.search(str(error))
            if unknown is None or error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
            name = unknown.group(1)
        raise no_argument(called, name, parameters)

    return call  # type: ignore[return-value]


def explain_class(kind: type) -> None:
    for name, member in list(vars(kind).items()):
        if name.startswith("_"):
            continue
        if inspect.isfunction(member):
            setattr(kind, name, explain(member, f"{kind.__name__}.{name}"))
        elif isinstance(member, classmethod):
            setattr(kind, name, classmethod(explain(member.__func__, f"{kind.__name__}.{name}")))
