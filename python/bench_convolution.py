#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the kernel map of a sparse 3-D convolution, of voxels and 27 offsets, with an index and by sorting in PyTorch, as CSV.

    python -P bench_convolution.py [--voxels 100000,1000000,10000000] [--repeat 7] [--device cuda] > convolution.csv

A row per number of voxels and way: milliseconds (median) to prepare, which is to number or to sort the coordinates, and to look
up all neighbours; and the whole as a multiple of the index's. Every way's map is compared with the first one's. Voxels are the
cells of a noisy sphere, in random order, so about a third of the neighbours are there. Ways:

    index     tessera.Index: number the keys, then get them for each offset
    sort      torch.sort, then searchsorted for each offset
"""

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import torch

import tessera

_here = Path(__file__).parent
sys.path += [str(_here), str(_here / "examples")]
from sparse_convolution import keys_of, offsets_of  # noqa: E402

Map = List[torch.Tensor]


def by_index(
    index: tessera.Index, keys: torch.Tensor, steps: torch.Tensor
) -> "Tuple[Callable[[], Any], Callable[[Any], Map]]":
    def prepare() -> Any:
        index.clear(wait=False, like=keys)
        return index.number(keys, wait=False)

    return prepare, lambda _: [index.get(keys + step, missing=-1) for step in steps]


def by_sort(keys: torch.Tensor, steps: torch.Tensor) -> "Tuple[Callable[[], Any], Callable[[Any], Map]]":
    def look(made: "Tuple[torch.Tensor, torch.Tensor]") -> Map:
        ordered, place = made
        found = []
        for step in steps:
            asked = keys + step
            at = torch.searchsorted(ordered, asked).clamp_(max=len(ordered) - 1)
            found.append(torch.where(ordered[at] == asked, place[at], -1))
        return found

    return lambda: torch.sort(keys), look


def voxels(n: int, device: str) -> torch.Tensor:
    """The keys of n distinct cells."""
    torch.manual_seed(n)
    radius = (n / 14) ** 0.5  # about 4 pi r^2 cells, in a shell of some thickness
    keys = torch.empty(0, dtype=torch.int64, device=device)
    while len(keys) < n:
        points = torch.randn(2 * n, 3, device=device)
        points = points / points.norm(dim=1, keepdim=True) * (radius + 1.5 * torch.rand(2 * n, 1, device=device))
        keys = torch.unique(torch.cat([keys, keys_of(points.floor())]))
    return keys[torch.randperm(len(keys), device=device)[:n]].contiguous()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voxels", default="100000,1000000,10000000")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    device = arguments.device
    sync = torch.cuda.synchronize if device == "cuda" else lambda: None
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    print(f"# {name}, torch {torch.__version__}, tessera {tessera.__version__}", file=sys.stderr)
    print("voxels,pairs,way,prepare_ms,look_up_ms,ratio")
    for n in map(int, arguments.voxels.split(",")):
        keys = voxels(n, device)
        steps = keys_of(offsets_of(3, keys.device))
        index = tessera.Index("int64", capacity=n, numbering="first_seen", backend=device)
        first: "Tuple[Map, float]" = ([], 0.0)
        for way, (prepare, look) in {"index": by_index(index, keys, steps), "sort": by_sort(keys, steps)}.items():
            times: Dict[str, List[float]] = {"prepare": [], "look_up": []}
            for i in range(arguments.repeat + 2):
                sync()
                start = time.perf_counter()
                made = prepare()
                sync()
                middle = time.perf_counter()
                found = look(made)
                sync()
                if i >= 2:
                    times["prepare"].append(1000 * (middle - start))
                    times["look_up"].append(1000 * (time.perf_counter() - middle))
            prepared, looked = statistics.median(times["prepare"]), statistics.median(times["look_up"])
            if not first[0]:
                first = found, prepared + looked
            for mine, other in zip(first[0], found):
                assert torch.equal(mine.long(), other.long()), "the maps differ"
            pairs = sum(int((line >= 0).sum()) for line in found)
            print(f"{n},{pairs},{way},{prepared:.3f},{looked:.3f},{(prepared + looked) / first[1]:.2f}", flush=True)
        index.close()


if __name__ == "__main__":
    main()
