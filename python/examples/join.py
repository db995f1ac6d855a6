# SPDX-License-Identifier: Apache-2.0
"""Which lines belong to which order, and which orders have none? Two multimaps, joined.

python join.py             answers are checked against pandas if it is there, else against dicts
"""

from collections import defaultdict

import numpy as np

import tessera


def multimap(keys: np.ndarray, values: np.ndarray) -> tessera.Table:
    table = tessera.Table(tessera.recipe("join"), capacity=len(keys))
    table.insert(keys, values)
    return table


def rows_of(*columns: np.ndarray) -> "list[tuple[int, ...]]":
    return sorted(zip(*(column.tolist() for column in columns)))


def expected(
    orders: "tuple[np.ndarray, np.ndarray]", lines: "tuple[np.ndarray, np.ndarray]"
) -> "tuple[list, list, str]":
    """The rows of the inner join; the keys of orders without a line; who says so."""
    try:
        import pandas

        left = pandas.DataFrame({"key": orders[0], "order": orders[1]})
        right = pandas.DataFrame({"key": lines[0], "line": lines[1]})
        merged = left.merge(right, on="key")
        without = left[~left["key"].isin(right["key"])]["key"]
        return rows_of(merged["key"], merged["order"], merged["line"]), sorted(without.tolist()), "pandas"
    except ImportError:
        of_key = defaultdict(list)
        for key, line in zip(lines[0].tolist(), lines[1].tolist()):
            of_key[key].append(line)
        pairs = list(zip(orders[0].tolist(), orders[1].tolist()))
        rows = sorted((key, order, line) for key, order in pairs for line in of_key.get(key, ()))
        return rows, sorted(key for key, _ in pairs if key not in of_key), "a dict"


def main() -> None:
    random = np.random.default_rng(3)
    orders = np.arange(5000), random.integers(0, 1 << 40, 5000)
    lines = random.integers(0, 8000, 10_000), random.integers(0, 1 << 40, 10_000)
    with multimap(*orders) as left, multimap(*lines) as right:
        rows = rows_of(*left.join(right, like=orders[0]))
        without = sorted(left.join(right, "anti")[0].tolist())
    want_rows, want_without, judge = expected(orders, lines)
    assert rows == want_rows and without == want_without
    print(f"{len(rows)} rows, {len(without)} orders without a line; as {judge} has them")


if __name__ == "__main__":
    main()
