# SPDX-License-Identifier: Apache-2.0
"""Neighbour sampling of a graph, as PyG and DGL do it: take some neighbours of each seed, and number the nodes of that piece from 0
on, the seeds first. On PyTorch's GPU if there is one.

python neighbours.py [SEEDS]        numbers are checked against a dict, and timed next to torch.unique; needs PyTorch
"""

import sys
import time
from typing import Callable, Tuple

import torch
from torch import Tensor

import tessera


def sample(neighbours: Tensor, seeds: Tensor, rows: Tensor, fanout: int) -> Tuple[Tensor, Tensor]:
    """The edges from `fanout` neighbours of each seed to the seed, by ids. neighbours: (nodes, degree)."""
    picks = torch.randint(neighbours.shape[1], (len(seeds), fanout), device=seeds.device)
    return neighbours[rows].gather(1, picks).reshape(-1), seeds.repeat_interleave(fanout)


def renumber(seeds: Tensor, sources: Tensor, targets: Tensor) -> Tuple[Tensor, Tensor]:
    """(nodes, edges): the ids of the piece, seeds first, and its edges by their numbers."""
    nodes, numbers = tessera.unique(torch.cat([seeds, sources, targets]), return_inverse=True)
    return nodes, numbers[len(seeds) :].reshape(2, -1)


def renumber_by_sorting(seeds: Tensor, sources: Tensor, targets: Tensor) -> Tuple[Tensor, Tensor]:
    """The same with torch.unique, whose numbers are in ascending order of the ids: so seeds have to be looked for."""
    nodes, numbers = torch.unique(torch.cat([seeds, sources, targets]), return_inverse=True)
    rank = torch.full((len(nodes),), len(numbers), device=seeds.device)
    rank[numbers[: len(seeds)]] = torch.arange(len(seeds), device=seeds.device)
    order = torch.argsort(rank, stable=True)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order), device=seeds.device)
    return nodes[order], place[numbers[len(seeds) :]].reshape(2, -1)


def seconds(run: Callable[[], object], device: str) -> float:
    best = float("inf")
    for _ in range(5):
        if device == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        run()
        if device == "cuda":
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - begin)
    return best


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    ids = torch.randperm(10 * count, device=device) * 1_000_003 - (1 << 39)  # ids are no numbers of rows
    neighbours = ids[torch.randint(len(ids), (len(ids), 32), device=device)]
    rows = torch.randperm(len(ids), device=device)[:count]
    seeds = ids[rows]
    sources, targets = sample(neighbours, seeds, rows, 15)
    nodes, edges = renumber(seeds, sources, targets)

    numbers: "dict[int, int]" = {}
    for node in torch.cat([seeds, sources]).tolist():
        numbers.setdefault(node, len(numbers))
    assert nodes.tolist() == list(numbers)
    assert edges.tolist() == [[numbers[node] for node in side] for side in (sources.tolist(), targets.tolist())]
    other, same = renumber_by_sorting(seeds, sources, targets)
    assert torch.equal(other[same], nodes[edges])
    mine, theirs = (seconds(lambda: call(seeds, sources, targets), device) for call in (renumber, renumber_by_sorting))
    print(f"{len(sources)} edges on the {device}: tessera {1000 * mine:.2f} ms, torch.unique {1000 * theirs:.2f} ms")
    print(f"{len(nodes)} nodes, the {count} seeds first; numbers as a dict has them")


if __name__ == "__main__":
    main()
