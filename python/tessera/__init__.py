# SPDX-License-Identifier: Apache-2.0
"""GPU hash tables composed at run time from plugins that a spec names, for arrays of NumPy, PyTorch, CuPy, JAX and
Numba.

    import tessera
    table = tessera.Table("quickstart")
    table.insert(keys, values)
    values, mask = table.find(keys)

Read next: the tutorial (python/README.md), `help(tessera.Table)`.
"""

from tessera._arrow_out import Arrow
from tessera._device import free_kept_tables
from tessera._group import Group
from tessera._library import (
    PREFIX as prefix,
    BadArgument,
    BadPlugin,
    BadSpec,
    Busy,
    Closed,
    DeviceFailed,
    Error,
    Full,
    Incompatible,
    IoFailed,
    LinkFailed,
    NoDevice,
    NoMemory,
    NotFound,
    OverflowWarning,
    Unsupported,
    WrongType,
    version as _version,
)
from tessera._program import bench
from tessera._spec import Parameter, Plugin, Recipe, check, plugins, recipe, recipes
from tessera._table import Code, Missing, Op, Table
from tessera._types import Cache, Choice, Counter, Filter, Index, Map, MultiMap, Set, choose
from tessera._verbs import GroupBy, factorize, group_by, isin, merge, relabel, unique, value_counts
from tessera._words import explain, explain_class

__version__ = _version()

__all__ = [
    "Arrow",
    "BadArgument",
    "BadPlugin",
    "BadSpec",
    "Busy",
    "Cache",
    "Choice",
    "Closed",
    "Code",
    "Counter",
    "DeviceFailed",
    "Error",
    "Filter",
    "Full",
    "Group",
    "GroupBy",
    "Incompatible",
    "Index",
    "IoFailed",
    "LinkFailed",
    "Map",
    "Missing",
    "MultiMap",
    "NoDevice",
    "NoMemory",
    "NotFound",
    "Op",
    "OverflowWarning",
    "Parameter",
    "Plugin",
    "Recipe",
    "Set",
    "Table",
    "Unsupported",
    "WrongType",
    "bench",
    "check",
    "choose",
    "factorize",
    "free_kept_tables",
    "group_by",
    "isin",
    "merge",
    "plugins",
    "prefix",
    "recipe",
    "recipes",
    "relabel",
    "unique",
    "value_counts",
]

for _name in __all__:  # they are called by this module's name, in tracebacks too
    _made = globals()[_name]
    if isinstance(_made, type):
        _made.__module__ = "tessera"
        if not issubclass(_made, (Exception, tuple)):
            explain_class(_made)
    elif callable(_made):
        globals()[_name] = explain(_made, _name)
