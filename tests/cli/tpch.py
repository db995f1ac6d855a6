#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Data of the shape of TPC-H's customers, orders and line items, and what SQLite says of joins of them.

tpch.py ORDERS FOLDER    writes customer.tsv, orders.tsv, customers_orders.tsv, lineitem.tsv there, the same every time, and
                         for each query of QUERIES the rows that SQLite finds, QUERY.expected, in no order

As in TPC-H, a tenth as many customers as orders, of whom a third has none; of 32 order keys 8 are used; an order has one to
seven lines. Here a tenth of the orders has none, and there are lines of orders that do not exist."""

import os
import random
import sqlite3
import sys

QUERIES = {
    "inner": "SELECT o.k, o.v, l.v FROM orders o JOIN lineitem l ON o.k = l.k",
    "left": "SELECT c.k, c.v, coalesce(o.v, '-') FROM customer c LEFT JOIN customers_orders o ON c.k = o.k",
    "semi": "SELECT k, v FROM customer WHERE k IN (SELECT k FROM customers_orders)",
    "anti": "SELECT k, v FROM orders WHERE k NOT IN (SELECT k FROM lineitem)",
    "union": "SELECT k FROM orders UNION SELECT k FROM lineitem",
    "intersect": "SELECT k FROM lineitem INTERSECT SELECT k FROM orders",
    "difference": "SELECT k FROM lineitem EXCEPT SELECT k FROM orders",
    "sum": "SELECT k, sum(v) FROM lineitem WHERE k IN (SELECT k FROM orders) GROUP BY k",
    "min": "SELECT k, min(v) FROM lineitem WHERE k IN (SELECT k FROM orders) GROUP BY k",
    "max": "SELECT k, max(v) FROM lineitem WHERE k IN (SELECT k FROM orders) GROUP BY k",
    "count": "SELECT k, count(*) FROM customers_orders WHERE k IN (SELECT k FROM customer) GROUP BY k",
}


def tables(orders):
    """Of each table its pairs of a key and a value."""
    draw = random.Random(19941).random  # any seed
    customers = max(1, orders // 10)
    keys = [32 * (i // 8) + i % 8 + 1 for i in range(orders)]
    buyers = [int(draw() * customers) for _ in keys]
    lines = [(key, 90000 + int(draw() * 10**7)) for key in keys if draw() > 0.1 for _ in range(1 + int(draw() * 7))]
    lines += [(32 * i + 20, 1) for i in range(orders // 100)]
    random.Random(4).shuffle(lines)
    return {
        "customer": [(i, int(draw() * 10**6)) for i in range(customers)],
        "orders": [(key, int(draw() * 5 * 10**7)) for key in keys],
        "customers_orders": [(buyer + (buyer % 3 == 0), key) for buyer, key in zip(buyers, keys)],
        "lineitem": lines,
    }


def main():
    orders, folder = int(sys.argv[1]), sys.argv[2]
    base = sqlite3.connect(":memory:")
    for name, pairs in tables(orders).items():
        base.execute(f"CREATE TABLE {name} (k INTEGER, v INTEGER)")
        base.executemany(f"INSERT INTO {name} VALUES (?, ?)", pairs)
        base.execute(f"CREATE INDEX {name}_k ON {name} (k)")
        with open(os.path.join(folder, name + ".tsv"), "w", encoding="ascii") as out:
            out.writelines(f"{key}\t{value}\n" for key, value in pairs)
    for name, query in QUERIES.items():
        with open(os.path.join(folder, name + ".expected"), "w", encoding="ascii") as out:
            out.writelines("\t".join(map(str, row)) + "\n" for row in base.execute(query))


main()
