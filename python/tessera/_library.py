# SPDX-License-Identifier: Apache-2.0
"""libtessera.so by ctypes: where it is, its structs, its functions, and its errors as exceptions.

The declarations are those of tessera.h and tessera_tools.h, which are the manual; tests/python/structs_test.py compares
every struct with the compiler's. Read next: _table.py.
"""

import ctypes
import os
import re
from ctypes import POINTER, Structure, c_char, c_char_p, c_double, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Callable, Dict, List, Match, NoReturn, Optional, Tuple, Type, Union

#: The folder of the installed package that this module came with: bin, lib, include, share.
PREFIX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dist")

# ---- Errors ----------------------------------------------------------------------------------------------------------


class Error(Exception):
    """What went wrong, in one sentence. `status` is the library's tsr_status, as a number."""

    status = 0


class BadArgument(Error, ValueError):
    """A call broke a rule of its description."""

    status = 1


class WrongType(BadArgument, TypeError):
    """An array has another dtype than the table's keys or values, or is none."""


class Closed(BadArgument):
    """The table was closed, or belongs to another process."""


class Busy(Error, RuntimeError):
    """Another thread is using the table."""

    status = 1


class BadSpec(Error, ValueError):
    """A spec is wrong; the sentence starts with file:line."""

    status = 2


class NotFound(Error, FileNotFoundError):
    """A file, a plugin or a library is not there."""

    status = 3


class BadPlugin(Error):
    """A .so breaks the contract of plugins."""

    status = 4


class Incompatible(Error):
    """The parts refuse each other, or the device."""

    status = 5


class NoMemory(Error, MemoryError):
    """Host or device memory is exhausted; nothing was changed."""

    status = 6


class NoDevice(Error):
    """There is no usable GPU, driver or toolkit."""

    status = 7


class LinkFailed(Error):
    """NVRTC or nvJitLink refused the composition."""

    status = 8


class DeviceFailed(Error):
    """The driver reported an error while working; the table is lost."""

    status = 9


class IoFailed(Error, OSError):
    """Reading or writing a file failed, or its content is malformed."""

    status = 10


class Unsupported(Error):
    """A legal request that this composition cannot promise."""

    status = 11


class Full(Error):
    """Pairs found no room. `keys` and `values` (None for a set) are the pairs that are not in the table now, as arrays
    of the library that the keys of the call came from; some may be pairs that were in the table before."""

    def __init__(self, sentence: str, keys: object = None, values: object = None) -> None:
        super().__init__(sentence)
        self.keys = keys
        self.values = values


class OverflowWarning(RuntimeWarning):
    """Sums passed the largest value of their width, so those values are wrong; or counts stopped there."""


def sums_passed(number: int, bits: int) -> str:
    """What an OverflowWarning says of sums that had no room."""
    if number == 1:
        return f"1 sum passed 2^{bits} - 1; this value is wrong"
    return f"{number} sums passed 2^{bits} - 1; these values are wrong"


_EXCEPTIONS: Dict[int, Type[Error]] = {
    kind.status: kind
    for kind in (
        BadArgument,
        BadSpec,
        NotFound,
        BadPlugin,
        Incompatible,
        NoMemory,
        NoDevice,
        LinkFailed,
        DeviceFailed,
        IoFailed,
        Unsupported,
    )
}

# ---- Structs ---------------------------------------------------------------------------------------------------------


class TsrError(Structure):
    _fields_ = [("status", c_int), ("message", c_char * 1024)]


class Options(Structure):
    _fields_ = [("size", c_size_t), ("plugins", c_char_p), ("capacity", c_uint64), ("seed", c_uint64)]


class CodeCounts(Structure):
    _fields_ = [("ahead", c_uint32), ("cached", c_uint32), ("made", c_uint32)]


class TableInfo(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("backend", c_char_p),
        ("device", c_char_p),
        ("backend_reason", c_char_p),
        ("key_bits", c_uint32),
        ("value_bits", c_uint32),
        ("capacity", c_uint64),
        ("slots", c_uint64),
        ("buckets", c_uint64),
        ("bytes", c_uint64),
        ("bucket_slots", c_uint32),
        ("bucket_bytes", c_uint32),
        ("tile_lanes", c_uint32),
        ("statistics", ctypes.c_bool),
        ("seed", c_uint64),
        ("code", c_char_p),
        ("host_bytes", c_uint64),
        ("window_bytes", c_uint64),
        ("makes_lists", ctypes.c_bool),
        ("code_counts", CodeCounts),
    ]


class Call(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("stream", c_void_p),
        ("results", c_void_p),
        ("unplaced_keys", c_void_p),
        ("unplaced_values", c_void_p),
        ("missing", c_uint64),
        ("times", c_void_p),
        ("present", c_void_p),
        ("scores", c_void_p),
        ("now", c_uint64),
        ("peek", ctypes.c_bool),
    ]


class Scored(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("lowest", c_uint32),
        ("highest", c_uint32),
        ("keys", c_void_p),
        ("values", c_void_p),
        ("scores", c_void_p),
        ("room", c_uint64),
    ]


class RehashOptions(Structure):
    _fields_ = [("size", c_size_t), ("capacity", c_uint64), ("seed", c_uint64), ("spec", c_void_p)]


class LoadOptions(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("plugins", c_char_p),
        ("backend", c_char_p),
        ("device", c_char_p),
        ("mapped", c_uint32),
    ]


class Report(Structure):
    _fields_ = [("size", c_size_t)] + [
        (name, c_uint64)
        for name in (
            "insert_keys",
            "inserted",
            "not_placed",
            "insert_paged",
            "find_keys",
            "found",
            "erase_keys",
            "erased",
            "insert_probes",
            "insert_probes_max",
            "find_probes",
            "find_probes_max",
            "erase_probes",
            "erase_probes_max",
            "insert_moves",
            "insert_moves_max",
            "insert_lost_claims",
            "insert_stashed",
            "apply_probes",
            "apply_probes_max",
        )
    ]
    _fields_ += [(name, c_uint64 * 32) for name in ("insert_histogram", "find_histogram", "erase_histogram")]
    _fields_ += [
        (name, c_uint64)
        for name in ("insert_scratch_bytes", "cleanings", "erased_slots", "overflows", "zoned", "ungrown", "evicted", "insert_long")
    ]


class Usage(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("pairs", c_uint64),
        ("tombstones", c_uint64),
        ("units", c_uint64),
        ("slots", c_uint64),
        ("utilization", c_double),
        ("keys", c_uint64),
        ("density", c_double),
    ]


class ParameterInfo(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_char_p),
        ("doc", c_char_p),
        ("initial", c_uint64),
        ("minimum", c_uint64),
        ("maximum", c_uint64),
    ]


class RecipeInfo(Structure):
    _fields_ = [("name", c_char_p), ("summary", c_char_p), ("path", c_char_p)]


class PluginInfo(Structure):
    _fields_ = [
        ("role", c_char_p),
        ("name", c_char_p),
        ("summary", c_char_p),
        ("source", c_char_p),
        ("path", c_char_p),
        ("has_device_code", ctypes.c_bool),
        ("parameters", POINTER(ParameterInfo)),
        ("parameter_count", c_size_t),
    ]


class UniqueArrays(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("stream", c_void_p),
        ("keys", c_void_p),
        ("inverse", c_void_p),
        ("counts", c_void_p),
        ("room", c_uint64),
        ("keep", c_uint32),
        ("column_count", c_uint32),
        ("columns", c_void_p),
    ]


class KeyColumnArrays(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("numbers", c_void_p),
        ("short_numbers", c_void_p),
        ("firsts", c_void_p),
        ("counts", c_void_p),
        ("keys", c_void_p),
    ]


class KeyColumnPairs(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("n", c_uint64),
        ("numbers", c_void_p),
        ("keeps_all", c_uint32),
        ("room", c_uint64),
        ("left_rows", c_void_p),
        ("right_rows", c_void_p),
        ("keeps_others", c_uint32),
    ]


class NumberedValues(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("n", c_uint64),
        ("numbers", c_void_p),
        ("values", c_void_p),
        ("type", c_uint32),
        ("distinct", c_uint64),
        ("counts", c_void_p),
        ("sums", c_void_p),
        ("near", c_void_p),
        ("least", c_void_p),
        ("largest", c_void_p),
    ]


class UniqueColumn(Structure):
    _fields_ = [("values", c_void_p), ("combined", c_void_p), ("type", c_uint32), ("how", c_uint32)]


class FilterInfo(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("block_bytes", c_uint32),
        ("functions", c_uint32),
        ("blocks", c_uint64),
        ("bits_per_key", c_double),
        ("rate", c_double),
        ("rate_at_capacity", c_double),
        ("keys", c_double),
    ]


class JoinRows(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("room", c_uint64),
        ("keys", c_void_p),
        ("left_values", c_void_p),
        ("right_values", c_void_p),
        ("missing", c_uint64),
        ("aggregates", c_void_p),
        ("overflowed", c_void_p),
        ("saturates", c_uint64),
    ]


class JoinSide(Structure):
    _fields_ = [("n", c_uint64), ("keys", c_void_p), ("values", c_void_p), ("value_bits", c_uint32)]


class JoinSides(Structure):
    _fields_ = [("size", c_size_t), ("stream", c_void_p), ("left", JoinSide), ("right", JoinSide)]


# ---- Functions -------------------------------------------------------------------------------------------------------

# Pointers to structs are passed as byref(struct), which c_void_p takes, and arrays as numbers.
_P, _U64, _TEXT = c_void_p, c_uint64, c_char_p

_DECLARATIONS: Dict[str, List[Any]] = {  # those that return a tsr_status
    "tsr_spec_read": [_TEXT, _P, _P],
    "tsr_spec_parse": [_TEXT, _TEXT, _P, _P],
    "tsr_spec_set": [_P, _TEXT, _P],
    "tsr_spec_check": [_P, _P, _P, _P],
    "tsr_table_create": [_P, _P, _P, _P],
    "tsr_table_load": [_TEXT, _P, _P, _P],
    "tsr_group_create": [c_uint32, c_uint32, _TEXT, _P, _P, _P],
    "tsr_group_create_over": [_P, _P, _P, _P],
    "tsr_group_table_create": [_P, _P, _P, _P, _P],
    "tsr_table_save": [_P, _TEXT, _P],
    "tsr_table_report": [_P, _P, _P],
    "tsr_table_report_reset": [_P, _P],
    "tsr_table_usage": [_P, _P, _P],
    "tsr_table_prepare": [_P, c_uint32, _P],
    "tsr_table_wait": [_P, _P],
    "tsr_insert": [_P, _U64, _P, _P, _P, _P],
    "tsr_build": [_P, _U64, _P, _P, _P, c_uint32, _P],
    "tsr_find_or_insert": [_P, _U64, _P, _P, _P, _P, _P],
    "tsr_number": [_P, _U64, _P, _P, _P, _P],
    "tsr_keys_by_number": [_P, c_uint32, _U64, _P, _P, _P],
    "tsr_numbers_given": [_P, _P, _P],
    "tsr_erase_if": [_P, _P, _P, _P],
    "tsr_export_if": [_P, _P, _P, _P],
    "tsr_write_behind": [_P, _P, _P, _P],
    "tsr_evicted": [_P, _U64, _P, _P, _P, _P],
    "tsr_touch": [_P, _U64, _P, _P, _P],
    "tsr_read_rows": [_P, _U64, _P, _P, _P, _P],
    "tsr_write_rows": [_P, _U64, _P, _P, _P, _P],
    "tsr_unique": [_P, _U64, _P, _P, _P, _P],
    "tsr_key_pack": [_P, _U64, _P, _P, _P, _P, _P],
    "tsr_key_unpack": [_P, _U64, _P, _P, _P, _P, _P],
    "tsr_find": [_P, _U64, _P, _P, _P, _P],
    "tsr_contains": [_P, _U64, _P, _P, _P, _P],
    "tsr_count_all": [_P, _U64, _P, _P, _P, _P],
    "tsr_find_all": [_P, _U64, _P, _P, _U64, _P, _P, _P],
    "tsr_erase": [_P, _U64, _P, _P, _P],
    "tsr_erase_pairs": [_P, _U64, _P, _P, _P, _P],
    "tsr_apply": [_P, _U64, _P, _P, _P, _P, _P, _P],
    "tsr_clear": [_P, _P, _P],
    "tsr_flush": [_P, _P, _P],
    "tsr_size": [_P, _P, _P],
    "tsr_export": [_P, _U64, _P, _P, _P, _P],
    "tsr_rehash": [_P, _P, _P],
    "tsr_join": [_P, _P, c_uint32, _P, _P, _P],
    "tsr_join_arrays": [_P, _P, c_uint32, _P, _P, _P],
    "tsr_key_column_create": [c_uint32, c_uint32, _U64, _P, _P, _P, _P, _P],
    "tsr_key_column_tell": [_P, _P, _P],
    "tsr_key_column_find": [_P, _U64, _P, _P, _P, _P],
    "tsr_key_column_pair": [_P, _P, _P, _P],
    "tsr_combine_by_number": [_P, _P, _P],
    "tsr_filter_describe": [_P, _P, _P],
    "tsr_filter_merge": [_P, _P, _P],
    "tsr_plugins_list": [_TEXT, _P, _P, _P],
    "tsr_recipes_list": [_P, _P, _P],
    "tsr_recipe_path": [_TEXT, _P, _P],
}

_WITHOUT_STATUS: Dict[str, List[Any]] = {
    "tsr_group_destroy": [_P],
    "tsr_key_column_free": [_P],
    "tsr_spec_free": [_P],
    "tsr_table_destroy": [_P],
    "tsr_text_keys": [_U64, _U64, _TEXT, _P, _P],
    "tsr_table_describe": [_P, _P],
    "tsr_plugins_free": [_P, c_size_t],
    "tsr_recipes_free": [_P, c_size_t],
}


def _open() -> ctypes.CDLL:
    path = os.environ.get("TESSERA_LIBRARY") or os.path.join(PREFIX, "lib", "libtessera.so")
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"{path} cannot be loaded ({error}): where it is not there, install the wheel of `./tessera wheel`, or set "
            "TESSERA_LIBRARY to a libtessera.so; it needs libgomp.so.1 (Debian: apt-get install libgomp1)"
        ) from None
    for name, arguments in _DECLARATIONS.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = c_int
    for name, arguments in _WITHOUT_STATUS.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = None
    library.tsr_version.restype = c_char_p
    library.tsr_table_spec.argtypes = [_P]
    library.tsr_table_spec.restype = c_void_p
    library.tsr_spec_get.argtypes = [_P, _TEXT, _TEXT]
    library.tsr_spec_get.restype = c_char_p
    return library


library = _open()

_libc = ctypes.CDLL(None)
_libc.free.argtypes = [c_void_p]
_libc.free.restype = None


_CALLS = {  # those that Python calls by another name than tsr_NAME
    "count_all": "count",
    "export": "items",
    "filter_describe": "filter_info",
    "filter_merge": "merge",
    "size": "len",
    "group_table_create": "Table",
    "table_create": "Table",
    "table_load": "Table.load",
}
_Word = Union[str, Callable[[Match[str]], str]]
_WORDS: Tuple[Tuple[str, _Word], ...] = (  # what the library writes for C and the command line, and what Python has
    (r"^dict:\d+: ", ""),
    (r"--set ([\w.]+)=(\S+)( \([^)]*\))? does not go with ", r'settings={"\1": "\2"}\3 does not go with '),
    (r"--set ([\w.]+)=(.*?): ", r'settings={"\1": "\2"}: '),
    (r"values = NULL", "values = None"),
    (
        r"--plugins \(tsr_options\.plugins\) names folders, with ':' between them",
        "plugins is a path or a list of paths",
    ),
    (r"`tessera list recipes` lists", "tessera.recipes() returns"),
    (r"`tessera list (\w+)`( shows them)?", "tessera.plugins()"),
    (r"`tessera describe (\w+)`", r"`python -m tessera describe \1`"),
    (r"\btsr_(?:table_)?(\w+)", lambda found: _CALLS.get(found[0][4:], found[1])),
    (r"save or `tessera run --save` writes one", "Table.save writes one"),
    (r"add a layout and a scheme of fingerprints \(`tessera list`\)", "tessera.Filter(for_=\"erase\") has an erase"),
    (r"make one of kind = filter", "tessera.Filter makes one"),
    (r"use concurrency = mixed", 'use settings={"table.concurrency": "mixed"}'),
    (r"^(no CUDA driver: .*)", r'\1. Without a GPU use backend="cpu", or settings={"table.backend": "cpu"} of a Table'),
    (r"--([a-z]\w*)", r"`\1`"),
)


def in_python(sentence: str) -> str:
    """A sentence of the library, with the names that Python has for its calls, options and settings."""
    for pattern, word in _WORDS:
        sentence = re.sub(pattern, word, sentence)
    return sentence


def fail(error: TsrError) -> NoReturn:
    """Raises what a call that failed wrote to its error."""
    sentence = in_python(error.message.decode("utf-8", "replace"))
    raise _EXCEPTIONS.get(error.status, Error)(sentence)


def text_of(pointer: c_void_p) -> str:
    """The text that the library allocated at `pointer`, which is freed."""
    try:
        return ctypes.string_at(pointer).decode("utf-8", "replace")
    finally:
        _libc.free(pointer)


def path_bytes(path: "Union[str, bytes, os.PathLike[str], os.PathLike[bytes]]") -> bytes:
    """A path as C has it. A path with a NUL byte would be cut there, and is refused."""
    name = os.fsencode(path)
    if b"\0" in name:
        raise BadArgument(f"{path!r}: a path has no NUL character")
    return name


def search_path(plugins: Any) -> Optional[bytes]:
    """Folders of plugins as tsr_options has them: None, a path, or a list of paths."""
    if plugins is None:
        return None
    folders = [plugins] if isinstance(plugins, (str, bytes, os.PathLike)) else list(plugins)
    return b":".join(path_bytes(folder) for folder in folders)


def version() -> str:
    name: bytes = library.tsr_version()
    return name.decode()
