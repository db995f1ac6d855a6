# SPDX-License-Identifier: Apache-2.0
"""The program `tessera` of the package, and what is asked of it: benchmarks."""

import csv
import os
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, Mapping, NoReturn, Optional, Sequence

from tessera import _library as lib
from tessera._spec import SpecSource, _text_of_sections, _entry


def program() -> str:
    """The path of the program: the package's, or $TESSERA_PROGRAM."""
    path = os.environ.get("TESSERA_PROGRAM") or os.path.join(lib.PREFIX, "bin", "tessera")
    if not os.access(path, os.X_OK):
        raise lib.NotFound(f"{path}: is not a program: set TESSERA_PROGRAM to the path of tessera")
    return path


def main() -> NoReturn:
    """`tessera`, `python -m tessera`: becomes the program, with the same arguments."""
    os.environ.setdefault("TESSERA_COMMAND", os.path.basename(sys.argv[0]) if sys.argv[0] else "tessera")
    path = program()
    os.environ.pop("TESSERA_PROGRAM", None)  # which may name this command: it would become itself without end
    os.execv(path, [path, *sys.argv[1:]])


def bench(
    *specs: SpecSource,
    n: Optional[int] = None,
    loads: Optional[Sequence[float]] = None,
    ops: Optional[Sequence[str]] = None,
    settings: Optional[Mapping[str, object]] = None,
    arguments: Sequence[str] = (),
) -> List[Dict[str, Any]]:
    """Measures operations, as `tessera bench` does, and verifies every answer; several specs alternate. A dict for each
    row, by the columns of its CSV; numbers are numbers. n: distinct keys; `arguments`: further options of the command.
    """
    command = [program(), "bench"]
    with tempfile.TemporaryDirectory() as folder:
        for i, spec in enumerate(specs):
            if isinstance(spec, (str, os.PathLike)) and "\n" not in str(spec):
                command.append(os.fspath(spec))
                continue
            path = os.path.join(folder, f"spec{i + 1}.ini")
            with open(path, "w") as file:
                file.write(_text_of_sections(spec) if isinstance(spec, Mapping) else str(spec))
            command.append(path)
        command += ["--n", str(n)] if n is not None else []
        command += ["--loads", ",".join(map(str, loads))] if loads is not None else []
        command += ["--ops", ",".join(ops)] if ops is not None else []
        for name, value in (settings or {}).items():
            section, _, key = name.partition(".")
            command += ["--set", f"{section}.{_entry(section, key, value).strip()}".replace(" = ", "=", 1)]
        done = subprocess.run([*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sentence = done.stderr.strip().splitlines()[-1:] or [f"ended with status {done.returncode}"]
        raise lib.Error(f"bench: {lib.in_python(sentence[0])}")
    lines = [line for line in done.stdout.splitlines() if line and not line.startswith("#")]
    return [{name: _number(value) for name, value in row.items()} for row in csv.DictReader(lines)]


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
