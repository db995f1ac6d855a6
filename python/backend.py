# SPDX-License-Identifier: Apache-2.0
"""What pip calls to build this package from a checkout or an sdist (PEP 517, pyproject.toml): a C compiler alone makes the wheel, by
tools/build_with_cc.sh, which says what it needs. TSR_NVCC, the path of nvcc, adds the code of GPUs.

./tessera wheel makes the same wheel by Bazel, with recipes compiled ahead. Read next: make_wheel.py.
"""

import gzip
import io
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, HERE)

import make_wheel  # noqa: E402


def version() -> str:
    with open(os.path.join(ROOT, "core", "tessera.h"), encoding="utf-8") as file:
        found = re.search(r'^#define TSR_VERSION "(.*)"$', file.read(), re.MULTILINE)
    assert found is not None
    return found[1]


def sources() -> "list[str]":
    """The files of the checkout that Git has, or all of an sdist."""
    if os.path.exists(os.path.join(ROOT, ".git")):
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], stdout=subprocess.PIPE, check=True).stdout
        return sorted(name for name in os.fsdecode(listed).split("\0") if os.path.isfile(os.path.join(ROOT, name)))
    return sorted(
        os.path.relpath(os.path.join(folder, name), ROOT) for folder, _, names in os.walk(ROOT) for name in names
    )


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    """The same checkout makes the same bytes."""
    name = f"tessera_tables-{version()}"
    contents = {"PKG-INFO": make_wheel.metadata(version(), os.path.join(HERE, "README.md")).encode()}
    with open(os.path.join(sdist_directory, f"{name}.tar.gz"), "wb") as out, gzip.GzipFile("", "wb", 9, out, 0) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for place in ["PKG-INFO", *(place for place in sources() if place != "PKG-INFO")]:
                member = tarfile.TarInfo(f"{name}/{place}")
                path = os.path.join(ROOT, place)
                member.mode = 0o644
                if place not in contents:
                    with open(path, "rb") as file:
                        contents[place] = file.read()
                    member.mode = 0o755 if os.access(path, os.X_OK) else 0o644
                member.size = len(contents[place])
                archive.addfile(member, io.BytesIO(contents[place]))
    return f"{name}.tar.gz"


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: object = None) -> str:
    """Lets pip see what the wheel depends on before it is compiled."""
    info = f"tessera_tables-{version()}.dist-info"
    os.mkdir(os.path.join(metadata_directory, info))
    with open(os.path.join(metadata_directory, info, "METADATA"), "w", encoding="utf-8") as file:
        file.write(make_wheel.metadata(version(), os.path.join(HERE, "README.md")))
    return info


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    name = f"tessera-{version()}"
    made = f"tessera_tables-{version()}-py3-none-linux_{platform.machine()}.whl"
    with tempfile.TemporaryDirectory() as scratch:
        built = os.path.join(scratch, name)
        subprocess.run(["bash", os.path.join(ROOT, "tools", "build_with_cc.sh"), built], check=True)
        packed = os.path.join(scratch, "tessera.tar.gz")
        with tarfile.open(packed, "w:gz") as archive:
            archive.add(built, name)
        package = os.path.join(HERE, "tessera")
        files = [os.path.join(package, file) for file in sorted(os.listdir(package)) if file.endswith((".py", ".typed"))]
        files += [os.path.join(ROOT, "LICENSE"), os.path.join(HERE, "README.md")]
        make_wheel.make(os.path.join(wheel_directory, made), packed, files)
    return made


def get_requires_for_build_wheel(config_settings: object = None) -> "list[str]":
    return []


get_requires_for_build_sdist = get_requires_for_build_wheel
