#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package on a GPU, with every library of arrays that can be imported there: answers against NumPy, and the
example for PyTorch, which is beside this file where stage.sh has put it. Install the wheel (`./tessera wheel`) there:

    python_on_gpu.py [--backend cuda|cpu] [LIBRARY...]     numpy torch cupy jax numba; cpu: arrays on the host

The last line is `N passed, N failed, N skipped`. Read next: python_calls.py (what a call costs), python/README.md.
"""

import argparse
import importlib
import os
import sys
import time
import traceback
from typing import Any, Callable, List

import numpy as np

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # or JAX takes most of the GPU's memory

import tessera
from tessera import Code, Op, Table

N = 200_000  # pairs of a table; a tenth on the CPU
backend = "cuda"


class Library:
    """What this script asks of a library of arrays."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module = importlib.import_module("numba.cuda" if name == "numba" else name)
        on_gpu = backend == "cuda"
        if name == "torch" and on_gpu and not self.module.cuda.is_available():
            raise ImportError("torch sees no GPU")
        if name in ("cupy", "numba") and not on_gpu:
            raise ImportError(f"{name} has no arrays on the host")
        if name == "jax":
            self.module.config.update("jax_enable_x64", True)
            if on_gpu and self.module.default_backend() != "gpu":
                raise ImportError("jax sees no GPU")

    def array(self, array: np.ndarray) -> Any:
        module = self.module
        if self.name == "torch":
            return module.from_numpy(array.view(array.dtype.str.replace("u", "i"))).to(
                "cuda" if backend == "cuda" else "cpu"
            )
        if self.name == "cupy":
            return module.asarray(array)
        if self.name == "jax":
            return module.numpy.asarray(array)
        return module.to_device(array) if self.name == "numba" else array

    def numpy(self, array: Any) -> np.ndarray:
        if self.name == "torch":
            return array.cpu().numpy()
        if self.name == "cupy":
            return self.module.asnumpy(array)
        return array.copy_to_host() if self.name == "numba" else np.asarray(array)

    def is_mine(self, array: Any) -> bool:
        kinds = {
            "torch": lambda: isinstance(array, self.module.Tensor) and array.is_cuda == (backend == "cuda"),
            "cupy": lambda: isinstance(array, self.module.ndarray),
            "jax": lambda: isinstance(array, self.module.Array),
            "numba": lambda: hasattr(array, "copy_to_host"),
            "numpy": lambda: isinstance(array, np.ndarray),
        }
        return bool(kinds[self.name]())

    def synchronize(self) -> None:
        if backend == "cuda" and self.name == "torch":
            self.module.cuda.synchronize()
        elif self.name == "cupy":
            self.module.cuda.runtime.deviceSynchronize()
        elif self.name == "numba":
            self.module.synchronize()


def table_of(recipe: str, **entries: object) -> Table:
    capacity = int(str(entries.pop("capacity", N)))
    settings = {"table.backend": backend, **{f"table.{key}": value for key, value in entries.items()}}
    return Table(tessera.recipe(recipe), settings=settings, capacity=capacity)


def same(library: Library, got: Any, want: np.ndarray) -> None:
    assert library.is_mine(got), f"{type(got)} is no array of {library.name}, or is elsewhere"
    array = library.numpy(got)
    assert array.shape == want.shape, (array.shape, want.shape)
    if array.dtype.kind in "iu":
        array, want = array.view(f"u{array.itemsize}"), want.astype(f"u{array.itemsize}")
    assert np.array_equal(array, want), (array[:10], want[:10])


# ---- Answers ---------------------------------------------------------------------------------------------------------


def maps_answer(library: Library) -> None:
    for width in (32, 64):
        numbers = np.random.default_rng(width)
        kind = np.dtype(f"u{width // 8}")
        keys = numbers.permutation(4 * N)[: 2 * N].astype(kind) * kind.type(1 if width == 32 else 1 << 33)
        inside, values = keys[:N], numbers.integers(0, 1 << 30, N, dtype=kind)
        want, want_mask = np.concatenate([values, np.full(N, 7, kind)]), np.arange(2 * N) < N
        with table_of("best_build", key_bits=width, value_bits=width, duplicates="replace") as table:
            ours = library.array(keys)
            table.insert(library.array(inside), library.array(values))
            assert len(table) == N
            found, mask = table.find(ours, missing=7)
            same(library, found, want)
            same(library, mask, want_mask)
            same(library, table.get(ours, 7), want)
            same(library, table.contains(ours), want_mask)
            same(library, table.count(ours), want_mask.astype(np.uint64))
            same(library, table[library.array(inside)], values)
            try:
                table[ours]
                raise AssertionError("a key that is absent is found")
            except KeyError:
                pass
            table.insert(library.array(inside[:10]), 5)
            same(library, table.get(library.array(inside[:12])), np.concatenate([np.full(10, 5), values[10:12]]))
            got, inserted = table.find_or_insert(library.array(keys[N - 5 : N + 5]), 9)
            same(library, got, np.concatenate([values[N - 5 :], np.full(5, 9)]))
            same(library, inserted, np.arange(10) >= 5)
            same(library, table.erase(library.array(keys[N : 2 * N])), np.arange(N) < 5)
            pairs = table.items(like=ours)
            order = np.argsort(library.numpy(pairs[0]).view(kind))
            assert library.is_mine(pairs[0])
            assert np.array_equal(library.numpy(pairs[0]).view(kind)[order], np.sort(inside))
            # host arrays with the same table
            assert np.array_equal(table.get(inside[10:]), values[10:])


def multimaps_answer(library: Library) -> None:
    numbers = np.random.default_rng(3)
    keys = numbers.integers(0, N // 4, N).astype(np.uint64)
    values = np.arange(N, dtype=np.uint64)
    asked = np.arange(N // 2, dtype=np.uint64)
    with table_of("join") as table, table_of("join") as other:
        table.insert(library.array(keys), library.array(values))
        other.insert(library.array(asked), library.array(asked + 1))
        counts = np.bincount(keys.astype(np.int64), minlength=N // 2)
        same(library, table.count(library.array(asked)), counts)
        offsets, found = table.find_all(library.array(asked))
        same(library, offsets, np.concatenate([[0], np.cumsum(counts)]))
        which = np.repeat(asked, counts)
        got = library.numpy(found).astype(np.uint64)
        order = np.lexsort((got, which))
        assert np.array_equal(got[order], values[np.lexsort((values, keys))])
        rows = table.join(other, like=library.array(asked))
        assert all(library.is_mine(column) for column in rows)
        row_keys, left, right = (library.numpy(column).astype(np.uint64) for column in rows)
        assert len(row_keys) == N and np.array_equal(right, row_keys + 1) and np.array_equal(np.sort(left), values)
        assert np.array_equal(keys[left.astype(np.int64)], row_keys)


def rows_answer(library: Library) -> None:
    """Values of 64 bytes: rows of float32, and results of uint8."""
    numbers = np.random.default_rng(8)
    keys = numbers.permutation(4 * N)[: 2 * N].astype(np.uint32)
    rows = numbers.integers(0, 1000, (N, 16)).astype(np.float32)
    want = np.concatenate([rows.view(np.uint8), np.full((N, 64), 7, np.uint8)])
    with table_of("wide", value_bytes=64) as table:
        ours, inside = library.array(keys), library.array(keys[:N])
        table.insert(inside, library.array(rows))
        found, mask = table.find(ours, missing=7)
        same(library, found, want)
        same(library, mask, np.arange(2 * N) < N)
        out = library.array(np.zeros((N, 16), np.float32))
        if library.name != "jax":
            table.get(inside, out=out)
            same(library, out, rows)
        lasting, found = table.items(like=ours)
        order, mine = np.argsort(library.numpy(lasting).view(np.uint32)), np.argsort(keys[:N])
        assert np.array_equal(library.numpy(found)[order], rows.view(np.uint8)[mine])
        # host arrays with the same table
        assert np.array_equal(table.get(keys[:10]).view(np.float32), rows[:10])


def wide_keys_answer(library: Library) -> None:
    """Keys of 128 bits: rows of two halves, and the columns of which keys are made."""
    numbers = np.random.default_rng(6)
    keys = numbers.integers(0, 1 << 63, (2 * N, 2)).astype(np.uint64)
    keys[::2, 0] = 5  # half of the keys differ in the upper half alone
    inside, values = keys[:N], numbers.integers(0, 1 << 30, N, dtype=np.uint64)
    want = np.concatenate([values, np.full(N, 7, np.uint64)])
    with table_of("wide_keys", kind="map", value_bits=64, layout="soa", duplicates="replace") as table:
        ours = library.array(keys)
        table.insert(library.array(inside), library.array(values))
        found, mask = table.find(ours, missing=7)
        same(library, found, want)
        same(library, mask, np.arange(2 * N) < N)
        same(library, table[library.array(np.ascontiguousarray(inside[3:9]).view(np.uint32))], values[3:9])
        try:
            table[ours]
            raise AssertionError("a key that is absent is found")
        except KeyError as error:
            absent = int(keys[N][0]) | int(keys[N][1]) << 64
            assert str(absent) in str(error), error
        if library.name != "numba":
            held = library.numpy(table.keys(like=ours)).view(np.uint64)
            assert np.array_equal(held[np.lexsort(held.T)], inside[np.lexsort(inside.T)])
        same(library, table.erase(library.array(keys[N - 5 : N + 5])), np.arange(10) < 5)
        assert np.array_equal(table.get(inside[: N - 5]), values[: N - 5])  # host arrays with the same table
    columns = [library.array(np.ascontiguousarray(keys[:, half])) for half in (0, 1)]
    inside = [library.array(np.ascontiguousarray(keys[:N, half])) for half in (0, 1)]
    kind = "int64" if library.name == "torch" else "uint64"
    with tessera.Map([kind, kind], "int64", capacity=N, backend=backend) as table:
        table.insert(inside, library.array(values.astype(np.int64)))
        there = table.contains(columns)  # of columns on the host an array of NumPy
        assert library.is_mine(there) or backend == "cpu", type(there)
        there = there if isinstance(there, np.ndarray) else library.numpy(there)
        assert np.array_equal(there, np.arange(2 * N) < N)


def apply_answers(library: Library) -> None:
    with table_of("mixed") as table:
        table.insert(library.array(np.arange(100, dtype=np.uint32)), 5)
        operations = np.array([Op.FIND, Op.ERASE, Op.INSERT], np.uint8)
        keys = np.array([1, 2, 1000], np.uint32)
        # torch has no from_numpy of other unsigned numbers than bytes
        ours = (
            library.module.asarray(operations, device=library.array(keys).device) if library.name == "torch" else None
        )
        values, codes = table.apply(
            library.array(operations) if ours is None else ours, library.array(keys), library.array(keys * 3)
        )
        assert library.numpy(values)[0] == 5
        same(library, codes, np.array([Code.FOUND, Code.ERASED, Code.INSERTED]))


def full_tables_hand_back(library: Library) -> None:
    keys = np.arange(1, N, dtype=np.uint32)
    with table_of("quickstart", capacity=N // 4) as table:
        try:
            table.insert(library.array(keys), library.array(keys * 2))
            raise AssertionError("nothing was without room")
        except tessera.Full as full:
            assert library.is_mine(full.keys) and library.is_mine(full.values)
            back, values = library.numpy(full.keys).view(np.uint32), library.numpy(full.values).view(np.uint32)
        inside, _ = table.items()
        assert np.array_equal(np.sort(np.concatenate([inside, back])), keys) and np.array_equal(values, back * 2)
        codes, _, _ = table.insert(library.array(keys), library.array(keys), wait=False)
        table.wait()
        assert (library.numpy(codes) == Code.NOT_PLACED).sum() > 0


def wrong_arrays_get_sentences(library: Library) -> None:
    keys = library.array(np.arange(10, dtype=np.uint32))
    with table_of("quickstart") as table:
        wrong = [(library.array(np.arange(10, dtype=np.uint64)), "-bit keys")]
        if library.name not in ("jax", "numba"):
            wrong.append((keys[::2], "is not contiguous"))
        for array, sentence in wrong:
            try:
                table.get(array)
                raise AssertionError(f"no sentence with {sentence}")
            except tessera.Error as error:
                assert sentence in str(error), error
        table.insert(keys, keys)
    if backend == "cuda" and library.name != "numpy":
        with Table(tessera.recipe("quickstart"), settings={"table.backend": "cpu"}, capacity=100) as table:
            try:
                table.get(keys)
                raise AssertionError("a table on the CPU takes an array on the GPU")
            except tessera.BadArgument as error:
                assert "this table is on the CPU" in str(error), error


def streams_are_followed(library: Library) -> None:
    """Results are used, and arguments made, on a stream of the caller's, with nobody waiting between."""
    module, want = library.module, np.arange(N, dtype=np.uint32)
    if library.name not in ("torch", "cupy") or backend != "cuda":
        return
    with table_of("best_build") as table:
        table.insert(library.array(want), library.array(want * 2))
        stream = module.cuda.Stream(non_blocking=True) if library.name == "cupy" else module.cuda.Stream()
        base = library.array(want)
        library.synchronize()
        with stream if library.name == "cupy" else module.cuda.stream(stream):
            for _ in range(50):
                busy = base
                for _ in range(20):
                    busy = busy + 1  # the keys are not there yet when find is called
                busy = busy - 20
                found, mask = table.find(busy)
                after = found + 1
                flags = mask & mask
        stream.synchronize()
        same(library, after, want * 2 + 1)
        same(library, flags, np.ones(N, bool))


class OnlyTheInterface:
    """An array of a library that has nothing but __cuda_array_interface__, as those of Numba have it."""

    def __init__(self, array: Any) -> None:
        self.array = array  # which has the memory

    @property
    def __cuda_array_interface__(self) -> Any:
        return self.array.__cuda_array_interface__


def others_are_read(library: Library) -> None:
    """Arrays that say where they are by __cuda_array_interface__ alone: keys, values and results."""
    if library.name not in ("torch", "cupy") or backend != "cuda":
        return
    numbers = np.arange(N, dtype=np.uint32)
    keys, values, out = library.array(numbers), library.array(numbers * 3), library.array(numbers)
    with table_of("best_build") as table:
        table.insert(keys, OnlyTheInterface(values))
        same(library, table.get(keys), numbers * 3)
        library.synchronize()  # the default stream has to wait for what the library does on its own
        table.get(OnlyTheInterface(keys), out=out)
        table.wait()
        same(library, out, numbers * 3)
        table.get(keys, out=OnlyTheInterface(values))
        same(library, values, numbers * 3)
        try:
            table.get(OnlyTheInterface(keys))
            raise AssertionError("made an array of a library that it does not know")
        except tessera.BadArgument as error:
            assert "results cannot be made as arrays of" in str(error), error


def torch_look_up(library: Library) -> None:
    if library.name != "torch":
        return
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path += [here, os.path.join(here, "..", "..", "core", "python", "examples")]
    importlib.import_module("embedding").main()


# ---- All of it -------------------------------------------------------------------------------------------------------

CASES: List[Callable[[Library], None]] = [
    maps_answer,
    multimaps_answer,
    rows_answer,
    wide_keys_answer,
    apply_answers,
    full_tables_hand_back,
    wrong_arrays_get_sentences,
    streams_are_followed,
    others_are_read,
    torch_look_up,
]


def main() -> int:
    global backend, N
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("libraries", nargs="*", default=["numpy", "torch", "cupy", "jax", "numba"])
    arguments = parser.parse_args()
    backend = arguments.backend
    if backend == "cpu":
        N //= 10
    passed = failed = skipped = 0
    for name in arguments.libraries:
        try:
            library = Library(name)
        except Exception as error:
            print(f"{name}: skipped: {error}")
            skipped += len(CASES)
            continue
        print(f"{name} {getattr(library.module, '__version__', '')}")
        for case in CASES:
            begun = time.perf_counter()
            try:
                case(library)
                passed += 1
                print(f"  {case.__name__}: {time.perf_counter() - begun:.1f} s", flush=True)
            except ImportError as error:
                if (error.name or "").startswith("tessera"):
                    raise
                skipped += 1  # the library itself lacks something here, such as a version of NumPy that Numba knows
                print(f"  {case.__name__}: skipped: {error}", flush=True)
            except Exception:
                failed += 1
                print(f"FAILED: {name}: {case.__name__}\n{traceback.format_exc()}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed > 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main())
