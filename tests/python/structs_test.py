# SPDX-License-Identifier: Apache-2.0
"""The structs and declarations of tessera/_library.py are the C compiler's: sizes, places and names of every member,
and the numbers of arguments of every function."""

import ctypes
import os
import re
import subprocess
import tempfile
import unittest

from tessera import _group
from tessera import _library as lib
from tessera._table import _CALLS, _JOINS, Code, Op

STRUCTS = {
    "tsr_error": lib.TsrError,
    "tsr_options": lib.Options,
    "tsr_table_info": lib.TableInfo,
    "tsr_call": lib.Call,
    "tsr_rehash_options": lib.RehashOptions,
    "tsr_load_options": lib.LoadOptions,
    "tsr_report": lib.Report,
    "tsr_usage": lib.Usage,
    "tsr_parameter_info": lib.ParameterInfo,
    "tsr_plugin_info": lib.PluginInfo,
    "tsr_filter_info": lib.FilterInfo,
    "tsr_join_rows": lib.JoinRows,
    "tsr_scored": lib.Scored,
    "tsr_unique_arrays": lib.UniqueArrays,
    "tsr_unique_column": lib.UniqueColumn,
    "tsr_communicator": _group._Communicator,
    "tsr_group_options": _group._Options,
}
INCLUDE = os.path.join(lib.PREFIX, "include")


def ask_compiler(expressions):
    """The values of constant expressions, by a program."""
    lines = "".join(f'  printf("%llu\\n", (unsigned long long)({e}));\n' for e in expressions)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ask")
        with open(path + ".c", "w") as file:
            file.write(f"#include <stdio.h>\n#include <tessera_devices.h>\nint main(void) {{\n{lines}  return 0;\n}}\n")
        subprocess.run(["gcc", "-I", INCLUDE, "-o", path, path + ".c"], check=True)
        return [int(line) for line in subprocess.check_output([path], text=True).split()]


def declarations():
    """Every function of the headers: its name and its number of arguments."""
    text = ""
    for name in ("tessera.h", "tessera_tools.h", "tessera_devices.h"):
        with open(os.path.join(INCLUDE, name)) as file:
            text += re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    found = {}
    for name, arguments in re.findall(r"^TSR_API(?:_VOID)? [\w \*]+?(tsr_\w+)\(([^)]*)\)", text, flags=re.MULTILINE):
        found[name] = 0 if arguments == "void" else arguments.count(",") + 1
    return found


class StructsTest(unittest.TestCase):
    def test_members_lie_where_the_compiler_puts_them(self):
        expressions, names = [], []
        for name, struct in STRUCTS.items():
            expressions.append(f"sizeof({name})")
            names.append((name, ctypes.sizeof(struct)))
            for member, *_ in struct._fields_:
                field = getattr(struct, member)
                expressions += [f"offsetof({name}, {member})", f"sizeof((({name} *)0)->{member})"]
                names += [(f"{name}.{member}", field.offset), (f"{name}.{member}'s size", field.size)]
        for (name, ours), theirs in zip(names, ask_compiler(expressions)):
            self.assertEqual(ours, theirs, name)

    def test_codes_are_the_headers(self):
        names = [f"TSR_{code.name}" for code in Code] + [f"TSR_OP_{op.name}" for op in Op]
        self.assertEqual([int(code) for code in Code] + [int(op) for op in Op], ask_compiler(names))
        kinds = [f"TSR_JOIN_{kind.upper()}" for kind in _JOINS[:-2]] + ["TSR_JOIN_KINDS"]  # the last two are made of others
        self.assertEqual(list(range(len(kinds))), ask_compiler(kinds))
        called = {"count": "count_all", "len": "size", "items": "export"}
        calls = [f"TSR_PREPARE_{called.get(call, call).upper()}" for call in _CALLS]
        self.assertEqual([1 << i for i in range(len(calls))], ask_compiler(calls))

    def test_functions_have_the_headers_number_of_arguments(self):
        found = declarations()
        self.assertGreater(len(found), 40)
        for name, arguments in {**lib._DECLARATIONS, **lib._WITHOUT_STATUS}.items():
            self.assertEqual(len(arguments), found[name], name)

    def test_statuses_have_exceptions(self):
        with open(os.path.join(INCLUDE, "plugins", "error.h")) as file:
            numbers = {int(number) for number in re.findall(r"^  TSR_\w+ = (\d+)", file.read(), flags=re.MULTILINE)}
        self.assertEqual(numbers - {0}, set(lib._EXCEPTIONS))


if __name__ == "__main__":
    unittest.main()
