#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The verbs of the Python package on arrays that are on a GPU: answers against NumPy, then times next to those of torch.unique,
torch.isin and cupy.unique. Install the wheel (`./tessera wheel`) there:

    python_verbs.py [--backend cuda|cpu] [--sizes 24,26] [--repeat 5] [--seconds 60] [LIBRARY...]      torch cupy jax; cpu: on the host

A time is a line `time,JOB,KEYS,LIBRARY,ITEMS,MILLISECONDS,RATIO`; the ratio of Tessera is how many times as fast it is. A line
`least,JOB,LIBRARY,RATIO,OF` has the least of these ratios, and how many there are. --seconds: times come first and take half of them; what
does not begin before their end is skipped. The last line is `N passed, N failed, N skipped`. Read next: python_on_gpu.py (tables).
"""

import argparse
import importlib
import os
import sys
import time
import traceback
import warnings
from typing import Any, Callable, Dict, List, Tuple

import numpy as np

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # or JAX takes most of the GPU's memory

import tessera
from tessera import _device

N = 1_000_000
backend = "cuda"


class Library:
    def __init__(self, name: str) -> None:
        self.name = name
        self.module = importlib.import_module(name)
        on_gpu = backend == "cuda"
        if name == "torch" and on_gpu and not self.module.cuda.is_available():
            raise ImportError("torch sees no GPU")
        if name == "cupy" and not on_gpu:
            raise ImportError("cupy has no arrays on the host")
        if name == "jax":
            self.module.config.update("jax_enable_x64", True)
            if on_gpu and self.module.default_backend() != "gpu":
                raise ImportError("jax sees no GPU")

    def array(self, array: Any) -> Any:
        if self.name == "torch":
            return self.module.from_numpy(np.array(array)).to("cuda" if backend == "cuda" else "cpu")
        return self.module.asarray(array) if self.name == "cupy" else self.module.numpy.asarray(array)

    def numpy(self, array: Any) -> np.ndarray:
        if self.name == "torch":
            assert isinstance(array, self.module.Tensor) and array.is_cuda == (backend == "cuda"), array
            return array.cpu().numpy()
        if self.name == "cupy":
            assert isinstance(array, self.module.ndarray), type(array)
            return self.module.asnumpy(array)
        assert isinstance(array, self.module.Array), type(array)
        return np.asarray(array)

    def synchronize(self) -> None:
        if backend == "cuda" and self.name == "torch":
            self.module.cuda.synchronize()
        elif self.name == "cupy":
            self.module.cuda.runtime.deviceSynchronize()


# ---- Answers ---------------------------------------------------------------------------------------------------------


def columns() -> List[Tuple[str, np.ndarray]]:
    rng = np.random.default_rng(1)
    ids = rng.integers(-(2**62), 2**62, N // 10)
    many = ids[rng.integers(0, len(ids), N)]
    return [
        ("int64", many),
        ("int64, distinct", rng.permutation(N) * 3 - 7),
        ("int64, one", np.full(N, -5)),
        ("int64, skewed", np.minimum(rng.zipf(1.2, N), 1 << 40)),
        ("int64, ends", np.array([0, -1, -2, 2**63 - 1, -(2**63), -1, 0])),
        ("int32", (many >> 40).astype(np.int32)),
        ("uint32", (many >> 30).astype(np.uint32)),
        ("uint64", many.astype(np.uint64)),
        ("int16", (many >> 48).astype(np.int16)),
        ("uint8", many.astype(np.uint8)),
        ("bool", many % 2 == 0),
        ("float32", np.round(rng.standard_normal(N) * 1000).astype(np.float32)),
        ("float64", np.where(rng.random(N) < 0.1, np.nan, np.round(rng.standard_normal(N) * 1e5))),
        ("float64, zeros", np.array([0.0, -0.0, np.inf, -np.inf, 1.5, 0.0])),
        ("empty", np.empty(0, np.int64)),
        ("one row", np.array([7])),
    ]


def numbered(x: np.ndarray) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values in order of first appearance, the number of each row's, and how many each has."""
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return values[order], places[inverse.reshape(-1)], counts[order]


def same(library: Library, got: Any, want: np.ndarray) -> None:
    array = library.numpy(got)
    assert array.dtype == want.dtype, (array.dtype, want.dtype)
    np.testing.assert_array_equal(array, want)


def unique(library: Library) -> None:
    for name, x in columns():
        try:
            mine = library.array(x)
            values, codes, counts = numbered(x)
            got = tessera.unique(mine, True, True)
            for array, want in zip(got, (values, codes, counts)):
                same(library, array, want)
            same(library, tessera.unique(mine), values)
            for array, want in zip(tessera.factorize(mine), (codes, values)):
                same(library, array, want)
            some, inverse = tessera.unique(mine, return_inverse=True, order="any")
            np.testing.assert_array_equal(library.numpy(some)[library.numpy(inverse)], x)
            np.testing.assert_array_equal(np.sort(library.numpy(tessera.unique(mine, order="any"))), np.sort(values))
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


def value_counts(library: Library) -> None:
    for name, x in columns():
        values, _, counts = numbered(x)
        falling = np.argsort(-counts, kind="stable")
        for sort, order in ((False, slice(None)), (True, falling)):
            for got, want in zip(tessera.value_counts(library.array(x), sort=sort), (values[order], counts[order])):
                same(library, got, want)


def relabel(library: Library) -> None:
    edges = np.random.default_rng(2).integers(0, 1 << 40, (2, N // 2)) % (N // 8)
    numbers, nodes = tessera.relabel(library.array(edges))
    values, codes, _ = numbered(edges.reshape(-1))
    same(library, nodes, values)
    same(library, numbers, codes.reshape(2, -1))
    numbers, nodes = tessera.relabel(library.array(edges)[:, ::3])
    np.testing.assert_array_equal(library.numpy(nodes)[library.numpy(numbers)], edges[:, ::3])


def isin(library: Library) -> None:
    rng = np.random.default_rng(3)
    for name, x in columns():
        if x.dtype.kind == "f" and np.isnan(x).any():
            continue  # NumPy finds no NaN among values
        values = np.concatenate([x[rng.random(len(x)) < 0.05], x[:1]])
        want = np.isin(x, values)
        same(library, tessera.isin(library.array(x), library.array(values)), want)
        same(library, tessera.isin(library.array(x), values, invert=True), ~want)
    x = library.array(np.array([1, -2, 3], np.int32))
    same(library, tessera.isin(x, [1, 3]), np.array([True, False, True]))
    same(library, tessera.isin(x, {2**40 + 1, -2}), np.array([False, True, False]))
    same(library, tessera.isin(x, []), np.array([False, False, False]))


def isin_does_not_wait(library: Library) -> None:
    if library.name != "torch" or backend != "cuda":
        return
    torch = library.module
    x, values = library.array(np.arange(N)), library.array(np.arange(0, N, 2))
    tessera.isin(x, values)  # there is a table then
    torch.cuda.synchronize()
    begun = time.perf_counter()
    torch.cuda._sleep(2_000_000_000)  # a second of work that comes first
    mask = tessera.isin(x, values)
    back = time.perf_counter() - begun
    torch.cuda.synchronize()
    whole = time.perf_counter() - begun
    assert back < whole / 4, f"back after {back:.3f} s of {whole:.3f} s"
    same(library, mask, np.arange(N) % 2 == 0)


def streams_are_followed(library: Library) -> None:
    if library.name != "torch" or backend != "cuda":
        return
    torch = library.module
    base = np.random.default_rng(4).integers(0, N // 10, N)
    values, codes, _ = numbered(base)
    x = library.array(base)
    for _ in range(5):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            busy = x
            for _ in range(50):
                busy = busy + 1  # not there yet when the verb is called
            busy = busy - 50
            mask = tessera.isin(busy, busy[:1000]) & True
            got = tessera.unique(busy, return_inverse=True)
        stream.synchronize()
        same(library, got[0], values)
        same(library, got[1], codes)
        same(library, mask, np.isin(base, base[:1000]))


def group_by(library: Library) -> None:
    rng = np.random.default_rng(5)
    for name, keys in columns():
        values, codes, counts = numbered(keys)
        n = len(values)
        mine = library.array(keys)
        for dtype in ("int64", "int32", "uint8", "uint64", "float32", "float64"):
            v = (rng.integers(0, 200, len(keys)) - (0 if dtype[0] == "u" else 100)).astype(dtype)
            got = tessera.group_by(mine).agg(
                s=(library.array(v), "sum"),
                a=(library.array(v), "min"),
                b=(library.array(v), "max"),
                m=(library.array(v), "mean"),
                n="size",
            )
            same(library, got["key"], values)
            same(library, got["n"], counts)
            sums = np.bincount(codes, v, minlength=n)
            wide = {"f": v.dtype, "u": np.dtype("u8") if v.itemsize == 8 else np.dtype("i8")}.get(v.dtype.kind, np.dtype("i8"))
            np.testing.assert_array_equal(library.numpy(got["s"]).astype(np.float64), sums.astype(wide).astype(np.float64))
            np.testing.assert_allclose(library.numpy(got["m"]), sums / counts if n else sums, rtol=1e-6)
            for how, start, ufunc in (("a", 200, np.minimum), ("b", -200, np.maximum)):
                best = np.full(n, start, np.int64)
                ufunc.at(best, codes, v.astype(np.int64))
                same(library, got[how], best.astype(dtype))


def merge(library: Library) -> None:
    rng = np.random.default_rng(6)
    for size, span in ((N // 4, N // 8), (N // 4, 1 << 40), (1000, 3), (0, 5), (1, 1)):
        left, right = rng.integers(0, span, size), rng.integers(0, span, size // 2)
        if span > 10:
            right[: size // 8] = left[: size // 8]
        order = np.argsort(right, kind="stable")
        begins, ends = np.searchsorted(right[order], left), np.searchsorted(right[order], left, side="right")
        for how in ("inner", "left", "outer"):
            times = ends - begins if how == "inner" else np.maximum(ends - begins, 1)
            own = np.repeat(np.arange(len(left)), times)
            at = begins[own] + np.arange(len(own)) - np.repeat(np.cumsum(times) - times, times)
            others = np.where((ends > begins)[own], np.append(order, -1)[np.minimum(at, len(order))], -1)
            if how == "outer":
                alone = np.flatnonzero(~np.isin(right, left))
                own, others = np.append(own, np.full(len(alone), -1)), np.append(others, alone)
            got = tessera.merge(library.array(left), library.array(right), how=how)
            same(library, got[0], own)
            same(library, got[1], others)
            own, others = map(library.numpy, tessera.merge(library.array(left), library.array(right), how=how, order="any"))
            by_rows = np.lexsort((others, own))
            want = np.lexsort((library.numpy(got[1]), library.numpy(got[0])))
            np.testing.assert_array_equal(own[by_rows], library.numpy(got[0])[want])
            np.testing.assert_array_equal(others[by_rows], library.numpy(got[1])[want])
        same(library, tessera.merge(library.array(left), library.array(right), how="semi"), np.flatnonzero(ends > begins))
        same(library, tessera.merge(library.array(left), library.array(right), how="anti"), np.flatnonzero(ends == begins))


def operators(library: Library) -> None:
    """tessera.torch, eager and in graphs."""
    if library.name != "torch":
        return
    torch = library.module
    if not hasattr(torch.library, "custom_op"):
        return
    import tessera.torch as ops

    x = columns()[0][1]
    values, codes, counts = numbered(x)
    mine, device = library.array(x), "cuda" if backend == "cuda" else "cpu"
    for function in (ops.unique, torch.compile(lambda x: ops.unique(x), fullgraph=True, backend="aot_eager")):
        got, inverse, number, count = function(mine)
        assert int(count) == len(values) and got.shape == number.shape == mine.shape
        same(library, got[: len(values)], values)
        same(library, inverse, codes)
        same(library, number[: len(values)], counts)
    rows = ops.Operators(tessera.Map("int64", "int64", capacity=len(x), backend=backend))
    index = ops.Operators(tessera.Index("int64", capacity=len(x), numbering="first_seen", backend=backend))

    def work(keys: Any) -> Any:
        before = rows.contains(keys)
        found, inserted = rows.find_or_insert(keys, keys * 3)
        return before, found, inserted.sum(), rows.find(keys + 1, missing=-7)[0], index.number(keys), ops.isin(keys, keys[:100])

    before, found, inserted, absent, numbers, mask = torch.compile(work, fullgraph=True, backend="aot_eager")(mine)
    assert not bool(before.any()) and int(inserted) == len(values) and int(rows.unplaced) == int(index.unplaced) == 0
    same(library, found, x * 3)
    same(library, absent, np.where(np.isin(x + 1, x), (x + 1) * 3, -7))
    same(library, numbers, codes)
    same(library, mask, np.isin(x, x[:100]))
    assert rows.unplaced.device.type == device


def operators_do_not_wait(library: Library) -> None:
    if library.name != "torch" or backend != "cuda" or not hasattr(library.module.library, "custom_op"):
        return
    import tessera.torch as ops

    torch, x = library.module, library.array(np.arange(N) % 1000)
    rows = ops.Operators(tessera.Map("int64", "int64", capacity=N, backend=backend))

    def work() -> Any:
        values, inverse, _, _ = ops.unique(x)
        return rows.find_or_insert(values, values)[0][inverse], rows.find(x)[0]

    work()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    torch.cuda._sleep(2_000_000_000)
    got = work()
    back = time.perf_counter() - begun
    torch.cuda.synchronize()
    whole = time.perf_counter() - begun
    assert back < whole / 4, f"back after {back:.3f} s of {whole:.3f} s"
    for array in got:
        same(library, array, np.arange(N) % 1000)


def graph_of_tables(library: Library) -> None:
    """Calls of a table in a CUDA graph."""
    if library.name != "torch" or backend != "cuda":
        return
    torch = library.module
    table = tessera.Map("int64", "float32", capacity=N, backend=backend)
    table.insert(library.array(np.arange(N // 2)), library.array(np.arange(N // 2, dtype=np.float32)))
    table.prepare("find", "contains")
    keys = library.array(np.arange(1000))
    table.find(keys), table.contains(keys)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        values, mask = table.find(keys, missing=-1.0)
        present = table.contains(keys)
    for start in (0, N // 2 - 500, 5 * N):
        keys.copy_(library.array(np.arange(start, start + 1000)))
        graph.replay()
        torch.cuda.synchronize()
        want = np.arange(start, start + 1000)
        same(library, values, np.where(want < N // 2, want, -1).astype(np.float32))
        same(library, mask, want < N // 2)
        same(library, present, want < N // 2)


def graph_of_operators(library: Library) -> None:
    """Operators that change a table, in a CUDA graph."""
    if library.name != "torch" or backend != "cuda" or not hasattr(library.module.library, "custom_op"):
        return
    import tessera.torch as ops

    torch = library.module
    rows = ops.Operators(tessera.Map("int64", "int64", capacity=2 * N, backend=backend))
    rows.table.prepare("find_or_insert", "find")
    keys = library.array(np.arange(1000))
    for _ in range(2):
        rows.find_or_insert(keys, keys * 2), rows.find(keys)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        doubled, new = rows.find_or_insert(keys, keys * 2)
        found = rows.find(keys)[0]
    for start in (0, N // 2 - 500, 5 * N):
        keys.copy_(library.array(np.arange(start, start + 1000)))
        graph.replay()
        torch.cuda.synchronize()
        want = np.arange(start, start + 1000)
        same(library, doubled, want * 2)
        same(library, found, want * 2)
        assert int(new.sum()) == (0 if start == 0 else 1000), (start, int(new.sum()))
    assert int(rows.unplaced) == 0


def arrow(library: Library) -> None:
    """Out by the C device interface and in again, where the numbers stay."""
    if library.name == "jax":
        return
    x = library.array(np.arange(1000) % 7)
    column = tessera.Arrow(x)
    if backend == "cuda":
        try:
            column.__arrow_c_array__()
            raise AssertionError("it is handed out for the host")
        except tessera.BadArgument:
            pass
        from tessera._arrow import from_gpu

        back = from_gpu(column, "x")
        at = back.data_ptr() if hasattr(back, "data_ptr") else back.data.ptr
        assert at == (x.data_ptr() if library.name == "torch" else x.data.ptr)
    values = tessera.unique(column)
    values = values.cpu().numpy() if hasattr(values, "cpu") else values.get() if hasattr(values, "get") else values
    assert values.tolist() == list(range(7))
    mask = tessera.isin(column, [1, 2])
    assert int(mask.sum()) == int(((x == 1) | (x == 2)).sum())
    groups = tessera.group_by(x).agg(n="size")
    tessera.Arrow(groups).__arrow_c_device_array__()
    with tessera.Set("int64", backend=backend) as table:
        table.insert(column)
        assert len(table) == 7


def last_values_stay(library: Library) -> None:
    """Of a key that is repeated in `table[keys] = values`; and narrow types are widened."""
    rng = np.random.default_rng(11)
    ids, rows = rng.integers(-3000, 3000, 100_000), np.arange(100_000)
    last = np.full(6000, -1)
    last[ids + 3000] = rows  # NumPy assigns in order
    for key in ("int32", "int64"):
        with tessera.Map(key, "int64", backend=backend) as table:
            keys = library.array(ids.astype(key))
            table[keys] = library.array(rows)
            same(library, table.get(keys), last[ids + 3000])
            table.update(keys, library.array(rows + 5))
            same(library, table.get(keys), last[ids + 3000] + 5)
    with tessera.Map("uuid", "int64", backend=backend) as table:
        halves = np.stack([(ids + 3000) % 7, (ids + 3000) // 7], 1).astype(np.int64)
        keys = library.array(halves.view(np.uint64) if library.name != "torch" else halves)
        table[keys] = library.array(rows)
        np.testing.assert_array_equal(library.numpy(table.get(keys)).reshape(-1), last[ids + 3000])
    with tessera.Map("int64", "float32", backend=backend) as table:
        narrow = np.arange(-100, 100).astype(np.int16)
        table.insert(library.array(narrow), library.array(narrow.astype(np.float16)))
        same(library, table.get(library.array(narrow)), narrow.astype(np.float32))


def tables_add(library: Library) -> None:
    """Sums of floats, and signed sums that have no room."""
    if library.name == "jax":
        return
    rng = np.random.default_rng(9)
    keys, values = rng.integers(0, 500, 4000), np.round(rng.standard_normal(4000) * 8) / 4
    for dtype in ("float32", "float64"):
        with tessera.Map("int64", dtype, for_="groupby", backend=backend) as table:
            for part in range(0, 4000, 1000):
                some = slice(part, part + 1000)
                table.insert(library.array(keys[some]), library.array(values[some].astype(dtype)))
            want = np.bincount(keys, values, minlength=500).astype(dtype)
            same(library, table.get(library.array(np.arange(500))), want)
    with tessera.Map("int64", "int32", for_="groupby", backend=backend) as table:
        most = 2**31 - 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table.insert(library.array(np.array([1, 1, 2])), library.array(np.array([most - 1, 1, -most], np.int32)))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            table.insert(library.array(np.array([1, 2])), library.array(np.array([1, 5], np.int32)))
        assert [str(one.message)[:24] for one in told] == ["1 sum passed 2^31 - 1; t"], [str(one.message) for one in told]


CASES: List[Callable[[Library], None]] = [
    unique,
    value_counts,
    relabel,
    isin,
    isin_does_not_wait,
    streams_are_followed,
    group_by,
    merge,
    operators,
    operators_do_not_wait,
    graph_of_tables,
    graph_of_operators,
    arrow,
    tables_add,
    last_values_stay,
]

# ---- Times -----------------------------------------------------------------------------------------------------------


def jobs(library: Library, x: Any, among: Any) -> Dict[str, Dict[str, Callable[[], object]]]:
    module = library.module
    made: Dict[str, Dict[str, Callable[[], object]]] = {
        "unique": {"tessera": lambda: tessera.unique(x, order="any")},
        "unique + inverse": {"tessera": lambda: tessera.unique(x, return_inverse=True, order="any")},
        "unique + inverse as seen": {"tessera": lambda: tessera.unique(x, return_inverse=True)},
        "unique + counts": {"tessera": lambda: tessera.unique(x, return_counts=True, order="any")},
        "isin": {"tessera": lambda: tessera.isin(x, among)},
    }
    if library.name == "torch":
        made["unique"]["torch"] = lambda: module.unique(x)
        made["unique + inverse"]["torch"] = lambda: module.unique(x, return_inverse=True)
        made["unique + counts"]["torch"] = lambda: module.unique(x, return_counts=True)
        made["isin"]["torch"] = lambda: module.isin(x, among)
    elif library.name == "cupy":
        made["unique"]["cupy"] = lambda: module.unique(x)
        made["unique + inverse"]["cupy"] = lambda: module.unique(x, return_inverse=True)
        made["unique + counts"]["cupy"] = lambda: module.unique(x, return_counts=True)
        made["isin"]["cupy"] = lambda: module.isin(x, among)
    else:
        made["unique"]["jax"] = lambda: module.block_until_ready(module.numpy.unique(x))
        made["isin"]["jax"] = lambda: module.block_until_ready(module.numpy.isin(x, among))
    return made


def measure(library: Library, sizes: List[int], repeat: int, end: float) -> Dict[str, List[float]]:
    """The ratios by job. Arrays are made where they are: id i is i times an odd number, modulo 2^64."""
    odd, ratios = -7046029254386353131, {}  # type: int, Dict[str, List[float]]
    drawn = library.module.randint if library.name == "torch" else library.module.random.randint
    where = {"device": "cuda" if backend == "cuda" else "cpu"} if library.name == "torch" else {"dtype": np.int64}
    ascending = {"device": where["device"]} if library.name == "torch" else {}
    for bits in sizes:
        n = 1 << bits
        for keys, distinct in (("a tenth distinct", n // 10), ("all distinct", n), ("1000 distinct", 1000)):
            x = (library.module.arange(n, **ascending) if distinct == n else drawn(0, distinct, (n,), **where)) * odd
            half = library.module.arange(distinct // 2, **ascending)
            among = (library.module.concatenate([half, half + (1 << 40)])) * odd
            for job, runs in jobs(library, x, among).items():
                best: Dict[str, float] = {}
                if time.perf_counter() > end:
                    return ratios
                for name, run in runs.items():
                    try:
                        for _ in range(2):  # links, and fills the pools of memory
                            run()
                        for _ in range(repeat):
                            library.synchronize()
                            begin = time.perf_counter()
                            run()
                            library.synchronize()
                            best[name] = min(best.get(name, 1e9), time.perf_counter() - begin)
                    except Exception as error:
                        print(f"time,{job},{keys},{name},{n},-,{type(error).__name__}: {str(error)[:80]}", flush=True)
                others = [seconds for name, seconds in best.items() if name != "tessera"]
                for name, seconds in best.items():
                    ratio = f"{min(others) / seconds:.2f}" if name == "tessera" and others else ""
                    print(f"time,{job},{keys},{name},{n},{1000 * seconds:.3f},{ratio}", flush=True)
                if others and "tessera" in best:
                    ratios.setdefault(job, []).append(min(others) / best["tessera"])
            del x, among
        tessera.free_kept_tables()
    return ratios


def main() -> int:
    global backend, N
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--sizes", default="24,26", help="powers of two of the items that are timed; empty: none")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("libraries", nargs="*", default=["torch", "cupy", "jax"])
    arguments = parser.parse_args()
    backend = arguments.backend
    if backend == "cpu":
        N //= 50
        _device._stays = lambda tensor: True
    passed = failed = skipped = 0
    begun_at, libraries = time.perf_counter(), []
    for name in arguments.libraries:
        try:
            libraries.append(Library(name))
        except Exception as error:
            print(f"{name}: skipped: {error}")
            skipped += len(CASES)
    timed = [library for library in libraries if library.name != "jax"]
    for i, library in enumerate(timed):
        end = begun_at + arguments.seconds * (i + 1) / 2 / len(timed)
        sizes = [int(bits) for bits in arguments.sizes.split(",") if bits]
        for job, ratios in measure(library, sizes, arguments.repeat, end).items():
            print(f"least,{job},{library.name},{min(ratios):.2f},{len(ratios)}", flush=True)
    for library in libraries:
        print(f"{library.name} {getattr(library.module, '__version__', '')}")
        for case in CASES:
            if time.perf_counter() - begun_at > arguments.seconds:
                skipped += 1
                continue
            begun = time.perf_counter()
            try:
                case(library)
                passed += 1
                print(f"  {case.__name__}: {time.perf_counter() - begun:.1f} s", flush=True)
            except Exception:
                failed += 1
                print(f"FAILED: {library.name}: {case.__name__}\n{traceback.format_exc()}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed > 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main())
