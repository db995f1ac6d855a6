# SPDX-License-Identifier: Apache-2.0
"""Where does each k-mer of a genome occur first, and which k-mers of reads are in it? A map that keeps the lowest
position.

python kmers.py            answers are checked against pandas if it is there, else against NumPy
"""

import numpy as np

import tessera

K = 16


def kmers_of(letters: np.ndarray) -> np.ndarray:
    """letters: (n) uint8, 0 to 3. (n - K + 1) uint32, the first letter most significant."""
    windows = np.lib.stride_tricks.sliding_window_view(letters, K).astype(np.uint32)
    return windows @ (4 ** np.arange(K - 1, -1, -1, dtype=np.uint64)).astype(np.uint32)


def first_positions(kmers: np.ndarray, queries: np.ndarray) -> "tuple[np.ndarray, np.ndarray]":
    with tessera.Table(tessera.recipe("demo"), capacity=len(kmers)) as table:
        table.insert(kmers, np.arange(len(kmers), dtype=np.uint32))
        return table.find(queries)


def expected(kmers: np.ndarray, queries: np.ndarray) -> "tuple[np.ndarray, np.ndarray, str]":
    try:
        import pandas

        first = pandas.Series(np.arange(len(kmers)), index=kmers).groupby(level=0).min()
        found = first.reindex(queries)
        return found.fillna(0).to_numpy().astype(np.uint32), found.notna().to_numpy(), "pandas"
    except ImportError:
        distinct, first_of = np.unique(kmers, return_index=True)
        at = np.minimum(np.searchsorted(distinct, queries), len(distinct) - 1)
        mask = distinct[at] == queries
        return np.where(mask, first_of[at], 0).astype(np.uint32), mask, "NumPy"


def main() -> None:
    random = np.random.default_rng(1)
    genome = random.integers(0, 4, 200_000, dtype=np.uint8)
    genome[150_000:160_000] = genome[20_000:30_000]  # a repeat: its k-mers occur twice
    reads = np.concatenate([genome[25_000:26_000], random.integers(0, 4, 1000, dtype=np.uint8)])
    kmers, queries = kmers_of(genome), kmers_of(reads)
    positions, mask = first_positions(kmers, queries)
    want_positions, want_mask, judge = expected(kmers, queries)
    assert (mask == want_mask).all() and (positions[mask] == want_positions[mask]).all()
    assert mask.sum() >= 1000 - K + 1 and positions[0] == 25_000
    print(f"{mask.sum()} of {len(queries)} k-mers found; positions as {judge} has them")


if __name__ == "__main__":
    main()
