# SPDX-License-Identifier: Apache-2.0
"""What a table is made of: specs from a file, a text or a dict; the plugins that they can name; the recipes."""

import ctypes
import os
from ctypes import byref, c_void_p
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Union

from tessera import _library as lib
from tessera._library import BadArgument, BadSpec, library

#: The name of a recipe, a path of an INI file, the text of one (it holds a newline), or a dict of its sections:
#: {"table": {"kind": "map", ...}, "layout": {"bucket_slots": 4}}. Entries are texts, numbers, bools, or lists of them.
SpecSource = Union[str, "os.PathLike[str]", Mapping[str, Mapping[str, Any]]]


def _entry(section: str, key: str, value: object) -> str:
    if isinstance(value, bool):
        value = "yes" if value else "no"
    elif isinstance(value, (list, tuple)):
        value = ",".join(map(str, value))
    text = str(value)
    for part in (section, key, text):
        if any(letter in part for letter in "\n\r;#\0"):
            raise BadSpec(f"[{section}] {key} = {text!r}: an entry of a spec has no line break, ; or #")
    return f"{key} = {text}\n"


def _text_of_sections(sections: Mapping[str, Mapping[str, object]]) -> str:
    text = ""
    for section, entries in sections.items():
        if not isinstance(section, str) or not isinstance(entries, Mapping):
            raise BadSpec(
                f"{section!r}: a spec is a dict of sections, each a dict of its entries, as in "
                '{"table": {"kind": "map"}}'
            )
        text += f"[{section}]\n" + "".join(_entry(section, str(key), value) for key, value in entries.items())
    return text


def flat(settings: Optional[Mapping[str, object]]) -> Dict[str, object]:
    """Settings as "section.key": value, also where sections are dicts of their own."""
    entries: Dict[str, object] = {}
    if not isinstance(settings, (Mapping, type(None))):
        raise lib.WrongType(f'settings: is a {type(settings).__name__}: pass a dict, as {{"table.capacity": 1000}}')
    for name, value in (settings or {}).items():
        if isinstance(value, Mapping):
            entries.update({f"{name}.{key}": entry for key, entry in value.items()})
        else:
            entries[str(name)] = value
    return entries


class Spec:
    """A tsr_spec, freed with this object. `settings` are entries to change: {"table.capacity": 1000}, or
    {"table": {"capacity": 1000}}."""

    def __init__(self, source: SpecSource, settings: Optional[Mapping[str, object]] = None) -> None:
        self.handle = c_void_p()
        error = lib.TsrError()
        if isinstance(source, Mapping):
            status = library.tsr_spec_parse(
                _text_of_sections(source).encode(), b"dict", byref(self.handle), byref(error)
            )
        elif isinstance(source, str) and "\n" in source:
            if "\0" in source:
                raise BadSpec("the text of a spec has no NUL character")
            status = library.tsr_spec_parse(source.encode(), b"text", byref(self.handle), byref(error))
        elif isinstance(source, (str, os.PathLike)):
            status = library.tsr_spec_read(lib.path_bytes(source), byref(self.handle), byref(error))
        else:
            raise lib.WrongType(
                "a spec is the name of a recipe, a path, a text of several lines or a dict of sections, and no "
                f"{type(source).__name__}"
            )
        if status:
            lib.fail(error)
        for name, value in flat(settings).items():
            section, dot, key = name.partition(".")
            if not dot:
                raise BadSpec(f'settings: {name!r}: a name is "section.key", as in "table.capacity"')
            assignment = f"{section}.{_entry(section, key, value).strip()}".replace(" = ", "=", 1)
            if library.tsr_spec_set(self.handle, assignment.encode(), byref(error)):
                lib.fail(error)

    @property
    def backend(self) -> str:
        text: "Optional[bytes]" = library.tsr_spec_get(self.handle, b"table", b"backend")
        return "auto" if text is None else text.decode()

    def __del__(self) -> None:
        library.tsr_spec_free(self.handle)


def options(plugins: Any, capacity: int = 0, seed: int = 0) -> lib.Options:
    for name, value in (("capacity", capacity), ("seed", seed)):
        if not isinstance(value, int) or not 0 <= value < 1 << 64:
            raise BadArgument(
                f"{name} = {value!r}: is a whole number from 0 to 2^64 - 1; 0 stands for what the spec says"
            )
    return lib.Options(ctypes.sizeof(lib.Options), lib.search_path(plugins), capacity, seed)


def check(
    spec: SpecSource,
    *,
    settings: Optional[Mapping[str, object]] = None,
    capacity: int = 0,
    plugins: Any = None,
) -> str:
    """All that a spec resolves to, as `tessera check` prints it: parts, parameters, buckets, bytes, what may overlap.
    Allocates no table."""
    made = Spec(spec, settings)
    chosen = options(plugins, capacity)
    text = c_void_p()
    error = lib.TsrError()
    if library.tsr_spec_check(made.handle, byref(chosen), byref(text), byref(error)):
        lib.fail(error)
    return lib.text_of(text)


class Recipe(NamedTuple):
    """A spec that comes with Tessera. Whatever takes a spec takes its name."""

    name: str
    summary: str
    path: str


def recipes() -> List[Recipe]:
    """All recipes, as `tessera list recipes` prints them. They are in $TESSERA_SPECS, otherwise in the package."""
    found = ctypes.POINTER(lib.RecipeInfo)()
    count = ctypes.c_size_t()
    error = lib.TsrError()
    if library.tsr_recipes_list(byref(found), byref(count), byref(error)):
        lib.fail(error)
    try:
        rows = [found[i] for i in range(count.value)]
        return [
            Recipe(row.name.decode(), row.summary.decode(errors="replace"), row.path.decode(errors="surrogateescape"))
            for row in rows
            if b"/" not in row.name
        ]
    finally:
        library.tsr_recipes_free(found, count)


def recipe(name: str) -> str:
    """The path of a recipe, to be read or copied. A table is made of its name alone: `tessera.Table("quickstart")`."""
    path = c_void_p()
    error = lib.TsrError()
    bare = name[: -len(".ini")] if name.endswith(".ini") else name
    if library.tsr_recipe_path(lib.path_bytes(bare), byref(path), byref(error)):
        lib.fail(error)
    return lib.text_of(path)


class Parameter(NamedTuple):
    """A parameter of a plugin: a key of its section in a spec."""

    name: str
    default: int
    minimum: int
    maximum: int
    doc: str


class Plugin(NamedTuple):
    """A plugin that a spec can name."""

    role: str
    name: str
    summary: str
    path: str
    has_device_code: bool
    parameters: List[Parameter]


def plugins(folders: Any = None) -> List[Plugin]:
    """All plugins that are found: in `folders` (a path or a list of paths), then in $TESSERA_PLUGINS, then in the
    package. By role and name."""
    found = ctypes.POINTER(lib.PluginInfo)()
    count = ctypes.c_size_t()
    error = lib.TsrError()
    if library.tsr_plugins_list(lib.search_path(folders), byref(found), byref(count), byref(error)):
        lib.fail(error)
    try:
        return [_plugin(found[i]) for i in range(count.value)]
    finally:
        library.tsr_plugins_free(found, count)


def _plugin(info: lib.PluginInfo) -> Plugin:
    rows = [info.parameters[i] for i in range(info.parameter_count)]
    return Plugin(
        info.role.decode(),
        info.name.decode(),
        info.summary.decode(),
        info.path.decode(errors="surrogateescape"),
        bool(info.has_device_code),
        [Parameter(row.name.decode(), row.initial, row.minimum, row.maximum, row.doc.decode()) for row in rows],
    )
