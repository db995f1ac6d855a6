# SPDX-License-Identifier: Apache-2.0
"""How much did each customer spend? A map in which the values of equal keys are added up: SELECT sum(amount) GROUP BY
customer.

    python group_by.py         answers are checked against pandas if it is there, else against NumPy
"""

import numpy as np

import tessera


def sums(customers: np.ndarray, amounts: np.ndarray) -> "tuple[np.ndarray, np.ndarray]":
    """(customers, sums), by customer. customers, amounts: (n) int64."""
    # a counter's sums have no sign, and stop at their end; those of negative numbers pass 2^64 and are right
    settings = {"table.kind": "map", "table.duplicates": "add", "table.overflow": "wrap"}
    with tessera.Table(tessera.recipe("count"), settings=settings, capacity=1000) as table:  # it grows
        table.insert(customers, amounts)
        keys, values = table.items(like=customers)
    order = np.argsort(keys)
    return keys[order], values[order]


def expected(customers: np.ndarray, amounts: np.ndarray) -> "tuple[np.ndarray, np.ndarray, str]":
    try:
        import pandas

        grouped = pandas.Series(amounts).groupby(customers).sum()
        return grouped.index.to_numpy(), grouped.to_numpy(), "pandas"
    except ImportError:
        distinct, which = np.unique(customers, return_inverse=True)
        totals = np.zeros(len(distinct), np.int64)
        np.add.at(totals, which, amounts)
        return distinct, totals, "NumPy"


def main() -> None:
    random = np.random.default_rng(2)
    customers = random.zipf(1.5, 100_000).astype(np.int64) % 20_000
    amounts = random.integers(-500, 1000, len(customers))  # refunds are negative: the bits of sums are the same
    keys, totals = sums(customers, amounts)
    want_keys, want_totals, judge = expected(customers, amounts)
    assert np.array_equal(keys, want_keys) and np.array_equal(totals, want_totals)
    print(f"{len(keys)} customers; sums as {judge} has them")


if __name__ == "__main__":
    main()
