#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a wheel that installs on other systems, and prints its path:

    repair_wheel.py [--libraries FOLDER:FOLDER] IN.whl FOLDER

First auditwheel copies libraries into the wheel that other systems may lack. Then the files are made to run on glibc 2.28,
although they were linked with a newer one: glibc keeps the old versions of its symbols, so that pthread_create of 2.34 is
also there as that of 2.2.5. A linker takes the newest one. This program takes the newest one up to 2.28, for each symbol that a
file uses. A symbol that 2.28 does not have is refused: the sources must do without it, as core/spec/old_stat.c,
tools/cli/old_start.c and tests/conformance/old_libstdcxx.c do. Before 2.34 threads and dlopen had libraries of their own, so a
changed file names these. Last, auditwheel must agree with the tag.

--libraries: where glibc and the libraries to copy are, for a wheel of another machine; otherwise this system's. Needs auditwheel and
patchelf. Read next: make_wheel.py, ../tessera, ../tools/cross_aarch64.sh.
"""

import os
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
from typing import Dict, List, Set, Tuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import make_wheel  # noqa: E402

NEWEST = (2, 28)
BEFORE_2_34 = ["libpthread.so.0", "libdl.so.2"]
DYNSYM, VERDEF, VERNEED, VERSYM = 11, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF
INIT_ARRAY = 14

Versions = Dict[str, Set[str]]  # of each symbol


def fail(text: str) -> None:
    sys.exit(f"repair_wheel.py: {text}")


def number(version: str) -> Tuple[int, ...]:
    """GLIBC_2.2.5 is (2, 2, 5); what is no version of glibc is ()."""
    found = re.fullmatch(r"GLIBC_([0-9.]+)", version)
    return tuple(map(int, found[1].split("."))) if found else ()


def elf_hash(name: str) -> int:
    value = 0
    for letter in name.encode():
        value = (value << 4) + letter
        value ^= (value & 0xF0000000) >> 24
        value &= 0x0FFFFFFF
    return value


def run(program: str, options: List[str], **environment: str) -> str:
    """What a program prints; it must succeed."""
    done = subprocess.run(
        [program, *options], env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    said = done.stdout.decode()
    if done.returncode:
        fail(f"{program}: {(said.strip().splitlines() or ['failed'])[-1]}")
    return said


class Need:
    """A version that the file needs of a library: an Elf64_Vernaux at `at`."""

    def __init__(self, library: str, version: str, index: int, at: int) -> None:
        self.library, self.version, self.index, self.at = library, version, index, at


class Elf:
    """The dynamic symbols of a little-endian ELF file of 64 bits, and their versions."""

    def __init__(self, data: bytes) -> None:
        self.data = bytearray(data)
        start, = struct.unpack_from("<Q", data, 0x28)
        size, count = struct.unpack_from("<HH", data, 0x3A)
        self.sections: Dict[int, Tuple[int, int, int]] = {}
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, start + i * size) for i in range(count)]
        for _, kind, _, _, offset, length, link, *_ in headers:
            self.sections[kind] = offset, length, link
        self.symbols_at, length, link = self.sections.get(DYNSYM, (0, 0, 0))
        self.count = length // 24
        self.strings_at, self.strings_length = headers[link][4:6]

    def string(self, offset: int) -> str:
        at = self.strings_at + offset
        return self.data[at : self.data.index(0, at)].decode()

    def symbols(self) -> List[Tuple[str, int, bool]]:
        """Name, version's index, and whether the file defines it, of each symbol that has a version."""
        if VERSYM not in self.sections:
            return []
        found = []
        for i in range(1, self.count):
            name, _, _, section = struct.unpack_from("<IBBH", self.data, self.symbols_at + 24 * i)
            version, = struct.unpack_from("<H", self.data, self.sections[VERSYM][0] + 2 * i)
            found.append((self.string(name), version & 0x7FFF, section != 0))
        return found

    def defined(self) -> Versions:
        """The versions of each symbol that the file defines."""
        names = {}
        at, length, _ = self.sections.get(VERDEF, (0, 0, 0))
        while length:
            _, _, index, _, _, first, after = struct.unpack_from("<HHHHIII", self.data, at)
            name, = struct.unpack_from("<I", self.data, at + first)
            names[index] = self.string(name)
            if not after:
                break
            at += after
        versions: Versions = {}
        for symbol, index, is_defined in self.symbols():
            if is_defined and index in names:
                versions.setdefault(symbol, set()).add(names[index])
        return versions

    def needs(self) -> List[Need]:
        found = []
        at, length, _ = self.sections.get(VERNEED, (0, 0, 0))
        while length:
            _, count, library, first, after = struct.unpack_from("<HHIII", self.data, at)
            need = at + first
            for _ in range(count):
                _, _, index, name, following = struct.unpack_from("<IHHII", self.data, need)
                found.append(Need(self.string(library), self.string(name), index, need))
                need += following
            if not after:
                break
            at += after
        return found

    def find_string(self, text: str) -> int:
        """Where the names of symbols have this text, or -1."""
        strings = self.data[self.strings_at : self.strings_at + self.strings_length]
        return strings.find(text.encode() + b"\0")

    def set_index(self, symbol: int, index: int) -> None:
        struct.pack_into("<H", self.data, self.sections[VERSYM][0] + 2 * symbol, index)

    def rename(self, need: Need, version: str) -> None:
        struct.pack_into("<I", self.data, need.at, elf_hash(version))
        struct.pack_into("<I", self.data, need.at + 8, self.find_string(version))
        need.version = version

    def drop(self, unwanted: Need) -> None:
        """Takes a need out of its library's list."""
        at, _, _ = self.sections[VERNEED]
        while True:
            _, count, _, first, after = struct.unpack_from("<HHIII", self.data, at)
            link, need = at + 8, at + first
            for _ in range(count):
                following, = struct.unpack_from("<I", self.data, need + 12)
                if need == unwanted.at:
                    own, = struct.unpack_from("<I", self.data, link)
                    struct.pack_into("<I", self.data, link, own + following if following else 0)
                    struct.pack_into("<H", self.data, at + 2, count - 1)
                    return
                link, need = need + 12, need + following
            at += after


def replacements(name: str, elf: Elf, known: Versions) -> Dict[int, Tuple[Need, str]]:
    """For each symbol of too new a version, by its place: what it needs now, and the version that it gets."""
    needs = {need.index: need for need in elf.needs()}
    found = {}
    for i, (symbol, index, is_defined) in enumerate(elf.symbols(), 1):
        need = needs.get(index)
        if is_defined or need is None or number(need.version) <= NEWEST:
            continue
        old = [version for version in known.get(symbol, ()) if () < number(version) <= NEWEST]
        if not old:
            fail(f"{name}: {symbol}: glibc {'.'.join(map(str, NEWEST))} does not have it: do without it in the sources")
        if symbol == "__libc_start_main" and elf.sections.get(INIT_ARRAY, (0, 0, 0))[1] > 8:
            fail(f"{name}: an older glibc does not run its constructors: see tools/cli/old_start.c")
        found[i] = need, max(old, key=number)
    return found


def with_strings(data: bytes, versions: Set[str]) -> bytes:
    """The file, naming the libraries that 2.34 took into libc, and with these versions among its strings: patchelf keeps
    the name of a library that is removed again."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        with open(path, "wb") as file:
            file.write(data)
        added = BEFORE_2_34 + sorted(versions)
        run("patchelf", [*(option for library in added for option in ("--add-needed", library)), path])
        for version in sorted(versions):
            run("patchelf", ["--remove-needed", version, path])
        with open(path, "rb") as file:
            return file.read()


def older(name: str, data: bytes, known: Versions) -> bytes:
    """The file, with no need of a glibc that is newer than NEWEST."""
    elf = Elf(data)
    wanted = {version for _, version in replacements(name, elf, known).values()}
    if not wanted:
        return data
    elf = Elf(with_strings(data, {version for version in wanted if elf.find_string(version) < 0}))
    needs = elf.needs()
    changes = replacements(name, elf, known)
    unused = [need for need in needs if number(need.version) > NEWEST]
    for symbol, (need, version) in changes.items():
        kept = next((n for n in needs if n.library == need.library and n.version == version), None)
        if kept is None:
            kept = next((n for n in unused if n.library == need.library), None)
            if kept is None:
                fail(f"{name}: has no room for {version} among the versions of {need.library}")
                raise AssertionError
            unused.remove(kept)
            elf.rename(kept, version)
        elf.set_index(symbol, kept.index)
    for need in unused:
        elf.drop(need)
    left = [need.version for need in Elf(bytes(elf.data)).needs() if number(need.version) > NEWEST]
    assert not left, (name, left)
    return bytes(elf.data)


def read_versions(folders: str) -> Versions:
    known: Versions = {}
    for library in ("libc.so.6", "libm.so.6"):
        places = [os.path.join(folder, library) for folder in folders.split(":")]
        with open(next((place for place in places if os.path.exists(place)), places[0]), "rb") as file:
            for symbol, versions in Elf(file.read()).defined().items():
                known.setdefault(symbol, set()).update(versions)
    return known


def read_wheel(path: str) -> Dict[str, Tuple[bytes, int]]:
    with zipfile.ZipFile(path) as wheel:
        entries = [entry for entry in wheel.infolist() if not entry.is_dir()]
        return {entry.filename: (wheel.read(entry), entry.external_attr >> 16 & 0o777) for entry in entries}


def make_older(path: str, folder: str, known: Versions) -> str:
    """A wheel of the same files in the folder, which are older, and its path."""
    files = read_wheel(path)
    for place, (content, mode) in files.items():
        if content[:4] == b"\x7fELF":
            files[place] = older(place, content, known), mode
    distribution, python, abi, platform = os.path.basename(path)[: -len(".whl")].rsplit("-", 3)
    machine = re.sub(r"^.*?((x86_64|aarch64)).*$", r"\1", platform)
    tag = f"{python}-{abi}-manylinux_{NEWEST[0]}_{NEWEST[1]}_{machine}"
    info = f"{distribution}.dist-info"
    text = files[f"{info}/WHEEL"][0].decode()
    files[f"{info}/WHEEL"] = (re.sub(r"(?m)^Tag: .*\n", "", text).rstrip("\n") + f"\nTag: {tag}\n").encode(), 0o644
    del files[f"{info}/RECORD"]
    made = os.path.join(folder, f"{distribution}-{tag}.whl")
    make_wheel.write(made, files, info)
    return made


def system_libraries() -> str:
    asked = subprocess.run(["gcc", "-print-file-name=libc.so.6"], stdout=subprocess.PIPE, check=True).stdout
    return os.path.dirname(os.path.realpath(asked.decode().strip()))


def main() -> None:
    arguments = sys.argv[1:]
    libraries = arguments[1] if arguments[:1] == ["--libraries"] else ""
    wheel, folder = arguments[2:] if libraries else arguments
    with tempfile.TemporaryDirectory() as scratch:
        run("auditwheel", ["repair", "--wheel-dir", scratch, wheel], AUDITWHEEL_LD_LIBRARY_PATH=libraries)
        repaired, = os.listdir(scratch)
        made = make_older(os.path.join(scratch, repaired), folder, read_versions(libraries or system_libraries()))
    judged = re.search(r'platform\s+tag:\s+"manylinux_([0-9]+)_([0-9]+)_', run("auditwheel", ["show", made]))
    if not judged or tuple(map(int, judged.groups())) > NEWEST:
        fail(f"{made}: auditwheel does not take it for what it is called: see auditwheel show")
    print(made)


if __name__ == "__main__":
    main()
