#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Round after round of tables that are made, filled, changed and given up by arrays and streams of PyTorch, CuPy, JAX and Numba,
some of them without the memory that they ask for. Each answer is compared with NumPy's. At the end no round may have left
memory behind, of the GPU or resident:

    python_soak.py [--rounds 1000] [--seconds S] [--backend cuda|cpu] [LIBRARY...]     cpu: NumPy's arrays on the host

Nothing else may use the GPU meanwhile, since its free memory is measured. The last line is `N rounds, N failures`. Read next:
python_on_gpu.py, which is beside it, and soak_test.cc, which does the same in C.
"""

import argparse
import contextlib
import gc
import os
import sys
import tempfile
import time
import traceback
from typing import Any, Dict, Iterator, List, Tuple

import numpy as np
import python_on_gpu as on_gpu
import tessera
from tessera import Code

MIB = 1 << 20
# Few sizes, all of which come soon: libraries keep code for each size of an array.
SIZES = (1_000, 7_001, 19_999)
# recipe, entries of [table], whether it grows
KINDS: List[Tuple[str, Dict[str, object], bool]] = [
    ("best_build", {"duplicates": "replace"}, False),
    ("best_find", {}, False),
    ("best_find_64", {}, False),
    ("best_build_64", {"growth": "double", "growth_limit": 1 << 22}, True),
]


def free_bytes() -> int:
    """Of the GPU that tables are on."""
    for name in ("torch", "cupy"):
        if name in sys.modules:
            module = sys.modules[name]
            return int((module.cuda.mem_get_info() if name == "torch" else module.cuda.runtime.memGetInfo())[0])
    return 0


def give_back() -> None:
    """The libraries' pools give back what no array uses. CuPy has a pool for each stream."""
    if "torch" in sys.modules and on_gpu.backend == "cuda":
        sys.modules["torch"].cuda.empty_cache()
    if "cupy" in sys.modules:
        sys.modules["cupy"].get_default_memory_pool().free_all_blocks()


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@contextlib.contextmanager
def stream_of(library: on_gpu.Library) -> Iterator[None]:
    """A new stream of the library's is the current one; the block waits for what was enqueued before and ends when it is done."""
    module = library.module
    if library.name not in ("torch", "cupy") or on_gpu.backend != "cuda":
        yield
        return
    library.synchronize()
    stream = module.cuda.Stream(non_blocking=True) if library.name == "cupy" else module.cuda.Stream()
    with stream if library.name == "cupy" else module.cuda.stream(stream):
        yield
    stream.synchronize()


class Round:
    def __init__(self, library: on_gpu.Library, number: int, turn: int, folder: str) -> None:
        """turn: how many rounds this library has had."""
        self.library, self.path = library, os.path.join(folder, "table")
        self.random = np.random.default_rng(number)
        self.recipe, self.entries, self.grows = KINDS[turn % len(KINDS)]
        self.kind = np.dtype("u8" if self.recipe.endswith("64") else "u4")
        self.n = SIZES[turn // len(KINDS) % len(SIZES)]

    def run(self) -> None:
        table = on_gpu.table_of(self.recipe, capacity=self.n, **self.entries)
        pool = self.random.choice(1 << 24, 8 * self.n, replace=False).astype(self.kind)
        self.keys, self.absent = pool[: self.n], pool[self.n :]
        self.values = self.random.integers(0, 1 << 30, self.n, dtype=self.kind)
        try:
            for step in [self.fill, *self.random.permutation([self.overfill, self.want_too_much, self.rehash])]:
                step(table)
            table = self.save_and_load(table)
            self.fill(table)
        finally:
            table.close()

    def same(self, got: Any, want: np.ndarray) -> None:
        on_gpu.same(self.library, got, want)

    def fill(self, table: tessera.Table) -> None:
        """Inserts on one stream; looks, erases half and looks on others."""
        table.clear()
        array, n = self.library.array, self.n
        with stream_of(self.library):
            ours, absent = array(self.keys), array(self.absent[:n])
            table.insert(ours, array(self.values))
        with stream_of(self.library):
            found, mask = table.find(ours, missing=3)
            nothing = table.get(absent, 3)
        self.same(found, self.values)
        self.same(mask, np.ones(n, bool))
        self.same(nothing, np.full(n, 3, self.kind))
        with stream_of(self.library):
            gone = table.erase(array(self.keys[: n // 2]))
            left = table.contains(ours)
        self.same(gone, np.ones(n // 2, bool))
        self.same(left, np.arange(n) >= n // 2)
        assert len(table) == n - n // 2, len(table)

    def overfill(self, table: tessera.Table) -> None:
        """Each pair is in the table or handed back."""
        table.clear()
        array = self.library.array
        with stream_of(self.library):
            codes, _, _ = table.insert(array(self.absent), array(self.absent), wait=False)
            table.wait()
        placed = int(np.count_nonzero(self.library.numpy(codes) == int(Code.INSERTED)))
        assert len(table) == placed, (len(table), placed)
        assert not self.grows or placed == len(self.absent), (placed, len(self.absent))
        if self.grows:
            table.clear()

    def want_too_much(self, table: tessera.Table) -> None:
        if on_gpu.backend != "cuda":
            return
        try:
            on_gpu.table_of(self.recipe, capacity=1 << 39, **{**self.entries, "growth": "none"}).close()
        except (tessera.NoMemory, tessera.BadSpec, tessera.Unsupported, tessera.Incompatible) as error:
            assert len(str(error)) > 20, error
        else:
            raise AssertionError("a table of 2^39 pairs was made")
        len(table)

    def rehash(self, table: tessera.Table) -> None:
        before = len(table)
        table.rehash(capacity=2 * self.n if not self.grows else 0, seed=int(self.random.integers(1, 1000)))
        assert len(table) == before, (len(table), before)

    def save_and_load(self, table: tessera.Table) -> tessera.Table:
        before = len(table)
        table.save(self.path)
        table.close()
        loaded = tessera.Table.load(self.path, backend=on_gpu.backend)
        assert len(loaded) == before, (len(loaded), before)
        return loaded


def is_flat(name: str, used: List[int], slack: int) -> bool:
    """The most of the last quarter of the rounds beside that of the second one; the first one warms up."""
    quarter = len(used) // 4
    grown = max(used[3 * quarter :]) - max(used[quarter : 2 * quarter])
    print(f"{name} grew by {grown} bytes in the second half of {len(used)} rounds")
    return grown <= slack


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--backend", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("libraries", nargs="*", default=["torch", "cupy", "jax", "numba"])
    arguments = parser.parse_args()
    on_gpu.backend = arguments.backend
    libraries = []
    for name in arguments.libraries if arguments.backend == "cuda" else ["numpy"]:
        try:
            libraries.append(on_gpu.Library(name))
        except Exception as error:
            print(f"{name}: skipped: {error}")
    device: List[int] = []
    resident: List[int] = []
    failures, end = 0, time.monotonic() + arguments.seconds
    with tempfile.TemporaryDirectory(prefix="tessera-soak.") as folder:
        while libraries and len(device) < arguments.rounds and time.monotonic() < end:
            library = libraries[len(device) % len(libraries)]
            try:
                Round(library, len(device), len(device) // len(libraries), folder).run()
            except Exception:
                failures += 1
                print(f"FAILED: round {len(device)}, {library.name}\n{traceback.format_exc()}", flush=True)
            gc.collect()
            give_back()
            device.append(-free_bytes())
            resident.append(resident_bytes())
    least = 4 * len(libraries) * len(KINDS) * len(SIZES)  # each size and recipe comes in the first quarter
    if len(device) >= least:
        failures += not is_flat("memory of the device", device, 4 * MIB)
        failures += not is_flat("resident memory", resident, resident[-1] // 20 + 8 * MIB)
    else:
        print(f"memory is not compared: that takes {least} rounds")
    print(f"{', '.join(library.name for library in libraries)}: {len(device)} rounds, {failures} failures")
    return failures > 0 or not device


if __name__ == "__main__":
    sys.exit(main())
