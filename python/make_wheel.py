#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the wheel: the package `tessera` around what a user installs, //:dist. On PyPI `tessera` is another project, so the
distribution is called tessera-tables. No build backend, nothing downloaded;
the same inputs make the same bytes. //:wheel calls this:

    make_wheel.py OUT.whl DIST.tar.gz FILE...

FILE: the sources of the package, LICENSE and the tutorial. The name of OUT must be the wheel's own, with the machine that it is
for. Read next: backend.py, tessera/__init__.py, tests/python.
"""

import base64
import hashlib
import os
import platform
import re
import sys
import tarfile
import zipfile
from typing import Dict, List, Tuple

METADATA = """\
Metadata-Version: 2.1
Name: tessera-tables
Version: {version}
Summary: GPU hash tables, composed at run time from plugins that an INI file names
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy>=1.22
Keywords: hash table,GPU,CUDA,group by,join,unique,NumPy,PyTorch,CuPy,JAX
Classifier: Development Status :: 4 - Beta
Classifier: Environment :: GPU :: NVIDIA CUDA
Classifier: Intended Audience :: Developers
Classifier: Intended Audience :: Science/Research
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Database
Classifier: Topic :: Scientific/Engineering
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{tutorial}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: python/make_wheel.py
Root-Is-Purelib: false
Tag: {tag}
"""

ENTRY_POINTS = """\
[console_scripts]
tessera = tessera._program:main
"""


def read_dist(path: str) -> Tuple[str, Dict[str, Tuple[bytes, int]]]:
    """The version of a package, and its files by their places in the wheel, with their modes."""
    files = {}
    version = ""
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            top, _, place = member.name.partition("/")
            version = top.partition("-")[2]
            if member.isfile():
                content = archive.extractfile(member)
                assert content is not None
                files["tessera/dist/" + place] = content.read(), 0o755 if member.mode & 0o100 else 0o644
            elif not member.isdir():
                sys.exit(f"make_wheel.py: {member.name}: is neither a file nor a folder")
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)+", version):
        sys.exit(f"make_wheel.py: {path}: its folder tells no version")
    return version, files


def record(files: Dict[str, Tuple[bytes, int]], own: str) -> bytes:
    lines = []
    for place, (content, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{place},sha256={digest},{len(content)}\n")
    return "".join(lines + [f"{own},,\n"]).encode()


def write(out: str, files: Dict[str, Tuple[bytes, int]], info: str) -> None:
    """The files and their RECORD, as a wheel; info: the folder of what pip reads, which is last in it."""
    files[f"{info}/RECORD"] = record(files, f"{info}/RECORD"), 0o644
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for place, (content, mode) in sorted(files.items(), key=lambda file: (file[0].startswith(info), file[0])):
            entry = zipfile.ZipInfo(place, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, whose modes follow
            entry.external_attr = (0o100000 | mode) << 16
            wheel.writestr(entry, content)


def metadata(version: str, tutorial: str) -> str:
    """What the distribution says of itself; tutorial: the path of its description."""
    with open(tutorial, encoding="utf-8") as file:
        return METADATA.format(version=version, tutorial=file.read())


def make(out: str, dist: str, sources: List[str]) -> None:
    version, files = read_dist(dist)
    info = f"tessera_tables-{version}.dist-info"
    name = re.fullmatch(rf"tessera_tables-{re.escape(version)}-(py3-none-linux_[a-z0-9_]+)\.whl", os.path.basename(out))
    if name is None:
        wanted = f"tessera_tables-{version}-py3-none-linux_{platform.machine()}.whl"
        sys.exit(f"make_wheel.py: {out}: pip reads the name of a wheel: call it {wanted}, in //:wheel")
    tutorial = next((source for source in sources if os.path.basename(source) == "README.md"), os.devnull)
    for source in sources:
        with open(source, "rb") as file:
            content = file.read()
        base = os.path.basename(source)
        files[f"{info}/LICENSE" if base == "LICENSE" else f"tessera/{base}"] = content, 0o644
    for place, text in (
        ("METADATA", metadata(version, tutorial)),
        ("WHEEL", WHEEL.format(tag=name[1])),
        ("entry_points.txt", ENTRY_POINTS),
    ):
        files[f"{info}/{place}"] = text.encode(), 0o644
    write(out, files, info)


def main() -> None:
    out, dist, *sources = sys.argv[1:]
    make(out, dist, sources)


if __name__ == "__main__":
    main()
