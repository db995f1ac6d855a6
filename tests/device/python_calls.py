#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a call of the Python package costs beside the same call from C, on the same arrays: medians, in microseconds, as
CSV. Answers are checked first. Install the wheel (`./tessera wheel`) there; a C compiler is needed:

    python_calls.py [--backend cuda|cpu] [LIBRARY...]      numpy torch cupy jax

From C a call does no more than what the Python call promises: where that waits, so does C's, and an insert that raises
what found no room is an insert and a look at the report. Rows named `own` are of the library of arrays alone: it adds 1
to the keys. Read next: python_on_gpu.py.
"""

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Dict, List, Tuple

import numpy as np

import python_on_gpu
import tessera
from python_on_gpu import Library, same, table_of
from tessera import _library as lib

TIMER = """
#include <tessera.h>
#include <time.h>

enum { FIND, INSERT, CONTAINS, COUNT, ERASE };

static tsr_status operate(int operation, tsr_table *table, uint64_t n, const void *keys, void *out, const tsr_call *call,
                          tsr_error *error) {
  switch (operation) {
  case FIND: return tsr_find(table, n, keys, out, call, error);
  case INSERT: return tsr_insert(table, n, keys, keys, call, error);
  case CONTAINS: return tsr_contains(table, n, keys, out, call, error);
  case COUNT: return tsr_count_all(table, n, keys, out, call, error);
  default: return tsr_erase(table, n, keys, call, error);
  }
}

/* Of one of `rounds` calls; each looks at the report, or waits, if that is asked for. -1: it failed. */
double microseconds(int operation, tsr_table *table, uint64_t n, const void *keys, void *out, const tsr_call *call,
                    int reports, int waits, int rounds, tsr_error *error) {
  static tsr_report report;
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (int i = 0; i < rounds; i++)
    if (operate(operation, table, n, keys, out, call, error) || (reports && tsr_table_report(table, &report, error)) ||
        (waits && tsr_table_wait(table, error)))
      return -1;
  clock_gettime(CLOCK_MONOTONIC, &to);
  return ((double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) * 1e-3) / rounds;
}
"""
FIND, INSERT, CONTAINS, COUNT, ERASE = range(5)
KEYS, ROUNDS, REPEATS = 64, 50, 60


class FromC:
    """The same calls in a loop of C, on arrays of the library's own."""

    def __init__(self, folder: str) -> None:
        source, path = os.path.join(folder, "timer.c"), os.path.join(folder, "timer.so")
        with open(source, "w") as file:
            file.write(TIMER)
        library = lib.library._name
        include = os.path.join(os.path.dirname(os.path.dirname(library)), "include")
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-I", include, "-o", path, source, library], check=True)
        self.timer = ctypes.CDLL(path).microseconds
        self.timer.restype = ctypes.c_double
        self.error = lib.TsrError()

    def measure(self, table: Any, operation: int, keys: Any, out: Any, call: Any, reports: bool, waits: bool) -> float:
        adapter, _, memory = table._keys(keys)
        took = self.timer(
            operation,
            table._handle,
            ctypes.c_uint64(memory.size),
            ctypes.c_void_p(memory.pointer),
            ctypes.c_void_p(adapter.look(out, "out", False).pointer),
            ctypes.byref(call),
            reports,
            waits,
            ROUNDS,
            ctypes.byref(self.error),
        )
        assert took >= 0, self.error.message
        table.wait()
        return float(took)


def answers_are_right(library: Library, table: Any, keys: Any) -> None:
    numbers = np.arange(KEYS, dtype=np.uint32)
    yes = np.ones(KEYS, bool)
    assert len(table) == KEYS
    for _ in range(3):  # more than once, since arrays are kept for the next call
        values, mask = table.find(keys)
        same(library, values, numbers)
        same(library, mask, yes)
        same(library, table.get(keys), numbers)
        same(library, table.contains(keys), yes)
        same(library, table.count(keys), yes.astype(np.uint64))
        absent = library.array(numbers + 1000)
        values, mask = table.find(absent, missing=3)
        same(library, values, np.full(KEYS, 3))
        same(library, mask, ~yes)
        table.insert(absent, absent)
        same(library, table.get(absent), numbers + 1000)
        same(library, table.erase(absent), yes)
        same(library, table.erase(absent), ~yes)


def median(measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(REPEATS))


def rows_of(library: Library, c: FromC) -> List[Tuple[str, float, float]]:
    keys = library.array(np.arange(KEYS, dtype=np.uint32))
    module, waits = library.module, library.name == "jax"
    with table_of("best_build", capacity=10_000) as table:
        table.insert(keys, keys)
        answers_are_right(library, table, keys)
        adapter, _, memory = table._keys(keys)
        values, codes = adapter.empty(keys, memory.shape, "u", 4), adapter.empty(keys, memory.shape, "u", 1)
        back, counts = adapter.empty(keys, memory.shape, "u", 4), adapter.empty(keys, memory.shape, memory.kind, 8)
        library.synchronize()

        def call(**arrays: Any) -> Any:
            places = {name: adapter.look(array, name, False).pointer for name, array in arrays.items()}
            stream = adapter.stream(memory.device) if memory.device >= 0 else 0
            return lib.Call(size=ctypes.sizeof(lib.Call), stream=stream or None, **places)

        def python(function: Callable[[], object]) -> float:
            begun = time.perf_counter()
            for _ in range(ROUNDS):
                function()
            took = (time.perf_counter() - begun) / ROUNDS * 1e6
            table.wait()
            library.synchronize()
            return took

        kept = dict(results=codes, unplaced_keys=back, unplaced_values=values)
        calls: Dict[str, Tuple[int, Any, Any, bool, Callable[[], object]]] = {
            "find": (FIND, values, call(present=codes), False, lambda: table.find(keys)),
            "get": (FIND, values, call(), False, lambda: table.get(keys)),
            "contains": (CONTAINS, codes, call(), False, lambda: table.contains(keys)),
            "count": (COUNT, counts, call(), False, lambda: table.count(keys)),
            "insert": (INSERT, values, call(**kept), True, lambda: table.insert(keys, keys)),
            "insert_wait_False": (INSERT, values, call(**kept), False, lambda: table.insert(keys, keys, wait=False)),
            "erase": (ERASE, values, call(present=codes), False, lambda: table.erase(keys)),
        }
        rows = []
        for name, (operation, out, options, reports, function) in calls.items():
            python(function)
            from_c = median(lambda: c.measure(table, operation, keys, out, options, reports, waits and not reports))
            rows.append((name, median(lambda: python(function)), from_c))
        own = (lambda: (keys + 1).block_until_ready()) if waits else (lambda: keys + 1)
        python(own)
        rows.append(("own", median(lambda: python(own)), 0.0))
    return rows


def device_of(module: Any, backend: str) -> str:
    with tessera.Table(tessera.recipe("quickstart"), settings={"table.backend": backend}, capacity=10) as table:
        return str(table.info["device"])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("libraries", nargs="*", default=["numpy", "torch", "cupy", "jax"])
    arguments = parser.parse_args()
    python_on_gpu.backend = arguments.backend
    device = device_of(tessera, arguments.backend).replace(",", " ")
    print("library,device,call,python_us,c_us")
    measured = 0
    with tempfile.TemporaryDirectory() as folder:
        c = FromC(folder)
        for name in arguments.libraries:
            try:
                library = Library(name)
            except ImportError as error:
                print(f"{name}: skipped: {error}", file=sys.stderr)
                continue
            for call, python, from_c in rows_of(library, c):
                print(f"{name},{device},{call},{python:.2f},{from_c:.2f}", flush=True)
                measured += 1
    return measured == 0


if __name__ == "__main__":
    sys.exit(main())
