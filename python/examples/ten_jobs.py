# SPDX-License-Identifier: Apache-2.0
"""Ten jobs of a data scientist, each a line or two, checked against pandas.

    python ten_jobs.py [ROWS]
"""

import os
import sys
import tempfile

import numpy as np
import pandas as pd

import tessera

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
rng = np.random.default_rng(1)
ids = rng.integers(-(2**62), 2**62, ROWS // 10)
sales = pd.DataFrame({"id": ids[rng.integers(0, len(ids), ROWS)], "price": rng.standard_normal(ROWS)})
people = pd.DataFrame({"id": rng.permutation(ids), "town": rng.integers(0, 100, len(ids))})
asked = rng.integers(-(2**62), 2**62, ROWS // 20)
asked[::2] = ids[: len(asked[::2])]


def same(job: str, mine: object, theirs: object) -> None:
    np.testing.assert_array_equal(np.asarray(mine), np.asarray(theirs), err_msg=job)
    print(f"{job}: as pandas has it")


# 1. Distinct values, in the order in which they appear
same("unique", tessera.unique(sales["id"]), pd.unique(sales["id"]))

# 2. How often each occurs
counts = tessera.value_counts(sales["id"])
same("value_counts", counts.sort_index(), sales["id"].value_counts().sort_index())

# 3. Which rows are among some values
same("isin", tessera.isin(sales["id"], asked), sales["id"].isin(asked))

# 4. Several aggregates by key
totals = tessera.group_by(sales, "id").agg(total=("price", "sum"), least=("price", "min"), n=("price", "count"))
theirs = sales.groupby("id", sort=False).agg(total=("price", "sum"), least=("price", "min"), n=("price", "count"))
np.testing.assert_allclose(totals["total"], theirs["total"])
same("group_by", totals[["id", "least", "n"]], theirs.reset_index()[["id", "least", "n"]])

# 5. A column of another table, by key (many rows to one)
same("merge, many to one", tessera.merge(sales, people, on="id")["town"], sales["id"].map(people.set_index("id")["town"]))

# 6. All pairs of rows with equal keys (many to many)
pairs = tessera.merge(sales, sales.iloc[: ROWS // 2], on="id")
same("merge, many to many", len(pairs), len(sales.merge(sales.iloc[: ROWS // 2], on="id")))

# 7. Ids of a graph's edges as numbers from 0 on
edges, nodes = tessera.relabel(sales["id"].to_numpy().reshape(2, -1))
codes, uniques = pd.factorize(sales["id"])
same("relabel", np.append(edges.reshape(-1), nodes), np.append(codes, uniques))

# 8. Rows of an embedding by id
vectors = rng.standard_normal((len(ids), 64)).astype(np.float32)
embedding = tessera.Map("int64", ("float32", 64), capacity=len(ids))
embedding.insert(ids, vectors)
same("embedding", embedding.get(ids[:1000]), pd.DataFrame(vectors, index=ids).loc[ids[:1000]])

# 9. Updates and erases, as of a dict of arrays
stock = tessera.Map("int64", "float64", for_="erase")
stock[ids] = 1.0
stock[ids[::2].copy()] = 2.0
stock.erase(ids[::3].copy())
amounts = pd.Series(1.0, index=ids)
amounts[ids[::2]] = 2.0
same("updates and erases", stock.get(ids), amounts.drop(ids[::3]).reindex(ids, fill_value=0))

# 10. To a file and back
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "stock.tsr")
    stock.save(path)
    with tessera.Map.load(path, key="int64", value="float64") as loaded:
        same("save and load", loaded.get(ids), stock.get(ids))

print("all ten jobs: as pandas has them")
