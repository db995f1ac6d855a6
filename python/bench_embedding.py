#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times tessera.torch.Embedding next to torch.nn.Embedding with the same rows, forward and backward, as CSV.

    python -P bench_embedding.py [--ids 1000000] [--distinct 350000] [--dim 128] [--repeat 20] [--device cuda] > embedding.csv

A row per dtype and gradient (dense, sparse) and module: milliseconds of a step in the fastest and in the median run, and the
ratio of the medians to those of torch.nn.Embedding, whose ids are numbers already. A run is ten steps between two waits for the
GPU, as in training; of `new` it is one. Ours numbers 64-bit ids on the fly. Modules:

    static      torch.nn.Embedding of `distinct` rows
    known       all ids have numbers
    new         no id has a number before the call
    by_id       as known, with init=normal(), which looks for new ids
    lru         as known, with eviction, and room for all
    lru_churn   each call has as many ids as before, a tenth of them new, and room for no more
    graph       as known, in a CUDA graph, next to the static one in a graph (static_graph)
"""

import argparse
import statistics
import sys
import time
from typing import Any, Callable, List, Optional

import torch

import tessera
import tessera.torch

Step = Callable[[int], None]


def times_of(step: Step, repeat: int, before: Optional[Callable[[], None]], device: str) -> "tuple[float, float]":
    """Milliseconds of a step, of the fastest and of the median run."""
    steps = 1 if before else 10
    sync = torch.cuda.synchronize if device == "cuda" else lambda: None
    taken: List[float] = []
    for i in range(repeat + 3):
        if before:
            before()
        sync()
        start = time.perf_counter()
        for k in range(steps):
            step(i * steps + k)
        sync()
        if i >= 3:
            taken.append(1000 * (time.perf_counter() - start) / steps)
    return min(taken), statistics.median(taken)


def step_of(module: torch.nn.Module, batches: List[torch.Tensor], scale: torch.Tensor, ends: Any = None) -> Step:
    """ends: called after each step, in the place of an optimiser's."""

    def step(i: int) -> None:
        for parameter in module.parameters():
            parameter.grad = None
        module(batches[i % len(batches)]).backward(scale)
        if ends:
            ends()

    return step


def graph_of(step: Step) -> Optional[Step]:
    """The same in a CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        step(0)
        step(0)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(0)
    return lambda i: graph.replay()


def modules(arguments: Any, dtype: torch.dtype, sparse: bool) -> Any:
    """(name, step, what is done before it), each made when it is asked for."""
    n, distinct, dim, device = arguments.ids, arguments.distinct, arguments.dim, arguments.device
    options = {"sparse": sparse, "dtype": dtype, "device": device}
    torch.manual_seed(1)
    known = torch.randint(1 << 62, (2 * distinct,), device=device)
    place = torch.cat([torch.arange(distinct, device=device), torch.randint(distinct, (n - distinct,), device=device)])
    place = place[torch.randperm(n, device=device)]
    scale = torch.randn(n, dim, device=device, dtype=dtype)
    static = torch.nn.Embedding(distinct, dim, **options)
    yield "static", step_of(static, [place], scale), None
    if device == "cuda" and not sparse:
        yield "static_graph", graph_of(step_of(static, [place], scale)), None
    del static
    rows = tessera.torch.Embedding(distinct, dim, **options)
    yield "known", step_of(rows, [known[place]], scale), None
    if device == "cuda" and not sparse:
        yield "graph", graph_of(step_of(rows, [known[place]], scale)), None
    yield "new", step_of(rows, [known[place]], scale), rows.index.clear
    del rows
    rows = tessera.torch.Embedding(distinct, dim, init=tessera.torch.normal(), **options)
    yield "by_id", step_of(rows, [known[place]], scale), None
    del rows
    rows = tessera.torch.Embedding(distinct, dim, eviction="lru", **options)
    rows.attach(torch.optim.SGD(rows.parameters(), lr=0.1))
    yield "lru", step_of(rows, [known[place]], scale, rows._end_step), None
    batches = [known[place + i * (distinct // 10)] for i in range(10)]
    yield "lru_churn", step_of(rows, batches, scale, rows._end_step), None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ids", type=int, default=1_000_000)
    parser.add_argument("--distinct", type=int, default=350_000)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    name = torch.cuda.get_device_name() if arguments.device == "cuda" else "cpu"
    print(f"# {name}, torch {torch.__version__}, tessera {tessera.__version__}", file=sys.stderr)
    print("dtype,gradient,ids,distinct,dim,module,fastest_ms,median_ms,ratio")
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for sparse in (False, True):
            static = {}
            for module, step, before in modules(arguments, dtype, sparse):
                fastest, median = times_of(step, arguments.repeat, before, arguments.device)
                if module.startswith("static"):
                    static[module] = median
                ratio = median / static["static_graph" if module == "graph" else "static"]
                where = f"{str(dtype)[6:]},{'sparse' if sparse else 'dense'},{arguments.ids},{arguments.distinct},{arguments.dim}"
                print(f"{where},{module},{fastest:.3f},{median:.3f},{ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
