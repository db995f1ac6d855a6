#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the verbs on the CPU, next to NumPy, pandas, polars and DuckDB where these can be imported.

    python bench_verbs.py [--rows 1000000,10000000] [--threads 1,2] [--keys random,zipf,few] [--types int64,int32]
                          [--repeat 3] [--jobs unique,isin] > verbs.csv

Prints a row per job, library, kind and type of keys, number of rows and threads: the seconds of the fastest of `repeat` runs, and
how many times as long Tessera takes compared with the fastest other library. Seconds are those that the busiest thread was on a
processor, so that a busy machine disturbs less. Libraries take turns.

Keys: random, a tenth of the rows are distinct; zipf, the same values by Zipf's law (1.2); few, 100 values.
"""

import argparse
import csv
import importlib
import itertools
import os
import subprocess
import sys
import time
from typing import Any, Callable, Dict

Runs = Dict[str, Callable[[], object]]
FIELDS = ("job", "keys", "type", "rows", "threads", "library", "version", "seconds", "ratio")


def imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def jobs(rows: int, threads: int, kind: str, dtype: str) -> Dict[str, Runs]:
    import numpy as np

    import tessera

    pd, pl, duckdb = imported("pandas"), imported("polars"), imported("duckdb")
    rng = np.random.default_rng(1)
    low, high = (-(2**62), 2**62) if dtype == "int64" else (-(2**31), 2**31)
    drawn = rng.integers(low, high, 100 if kind == "few" else rows // 10).astype(dtype)
    ids = rng.permutation(pd.unique(drawn) if pd else np.unique(drawn))

    def rows_of(count: int) -> Any:
        at = rng.zipf(1.2, count) % len(ids) if kind == "zipf" else rng.integers(0, len(ids), count)
        return ids[at]

    x, v = rows_of(rows), rng.integers(0, 1000, rows)
    w = rng.standard_normal(rows)
    asked = np.concatenate([ids[: len(ids) // 2], rng.integers(low, high, len(ids) // 2).astype(dtype)])
    towns = rng.integers(0, 100, len(ids))
    other = ids[rng.integers(0, len(ids), len(ids))]
    made: Dict[str, Runs] = {
        "unique": {"tessera": lambda: tessera.unique(x, order="any"), "numpy": lambda: np.unique(x)},
        "unique as seen": {"tessera": lambda: tessera.unique(x)},
        "unique inverse": {
            "tessera": lambda: tessera.unique(x, return_inverse=True),
            "numpy": lambda: np.unique(x, return_inverse=True),
        },
        "unique counts": {
            "tessera": lambda: tessera.unique(x, return_counts=True),
            "numpy": lambda: np.unique(x, return_counts=True),
        },
        "value_counts": {
            "tessera": lambda: tessera.value_counts(x),
            "numpy": lambda: np.unique(x, return_counts=True),
        },
        "isin": {"tessera": lambda: tessera.isin(x, asked), "numpy": lambda: np.isin(x, asked)},
        "group_by sum of int64": {"tessera": lambda: tessera.group_by(x).agg(s=(v, "sum"))},
        "group_by five of float64": {
            "tessera": lambda: tessera.group_by(x).agg(
                s=(w, "sum"), a=(w, "min"), b=(w, "max"), m=(w, "mean"), n=(w, "count")
            )
        },
        "merge many to one": {"tessera": lambda: towns[tessera.merge(x, ids)[1]]},
        "merge many to many": {"tessera": lambda: tessera.merge(x, other)},
        "merge left": {"tessera": lambda: tessera.merge(x, other, how="left")},
        "merge outer": {"tessera": lambda: tessera.merge(x, other, how="outer")},
        "merge semi": {"tessera": lambda: tessera.merge(x, asked, how="semi")},
        "merge anti": {"tessera": lambda: tessera.merge(x, asked, how="anti")},
        "relabel": {"tessera": lambda: tessera.relabel(x.reshape(2, -1))},
    }
    five = ("sum", "min", "max", "mean", "count")
    if pd:
        frame, side, many = pd.DataFrame({"k": x, "v": v, "w": w}), pd.DataFrame({"k": ids, "t": towns}), pd.DataFrame({"k": other})
        many["row"] = np.arange(len(many))
        made["unique"]["pandas"] = made["unique as seen"]["pandas"] = lambda: pd.unique(x)
        made["unique inverse"]["pandas"] = made["relabel"]["pandas"] = lambda: pd.factorize(x)
        made["unique counts"]["pandas"] = made["value_counts"]["pandas"] = lambda: frame["k"].value_counts(sort=False)
        made["isin"]["pandas"] = lambda: frame["k"].isin(asked)
        made["group_by sum of int64"]["pandas"] = lambda: frame.groupby("k", sort=False)["v"].sum()
        made["group_by five of float64"]["pandas"] = lambda: frame.groupby("k", sort=False)["w"].agg(list(five))
        made["merge many to one"]["pandas"] = lambda: frame[["k"]].merge(side, on="k")["t"]
        made["merge many to many"]["pandas"] = lambda: frame[["k"]].merge(many, on="k")
        made["merge left"]["pandas"] = lambda: frame[["k"]].merge(many, on="k", how="left")
        made["merge outer"]["pandas"] = lambda: frame[["k"]].merge(many, on="k", how="outer")
        made["merge semi"]["pandas"] = lambda: np.flatnonzero(frame["k"].isin(asked))
        made["merge anti"]["pandas"] = lambda: np.flatnonzero(~frame["k"].isin(asked))
    if pl:
        table, right = pl.DataFrame({"k": x, "v": v, "w": w}), pl.DataFrame({"k": ids, "t": towns})
        several = pl.DataFrame({"k": other}).with_row_index("row")
        made["unique"]["polars"] = lambda: table["k"].unique()
        made["unique as seen"]["polars"] = lambda: table["k"].unique(maintain_order=True)
        made["unique inverse"]["polars"] = made["relabel"]["polars"] = lambda: table["k"].rank("dense")
        made["unique counts"]["polars"] = made["value_counts"]["polars"] = lambda: table["k"].value_counts()
        made["isin"]["polars"] = lambda: table["k"].is_in(pl.Series(asked).implode())
        made["group_by sum of int64"]["polars"] = lambda: table.group_by("k").agg(pl.col("v").sum())
        made["group_by five of float64"]["polars"] = lambda: table.group_by("k").agg(
            **{how: getattr(pl.col("w"), how)() for how in five}
        )
        made["merge many to one"]["polars"] = lambda: table.select("k").join(right, on="k")["t"]
        made["merge many to many"]["polars"] = lambda: table.select("k").join(several, on="k")
        some = pl.DataFrame({"k": asked})
        made["merge left"]["polars"] = lambda: table.select("k").join(several, on="k", how="left")
        made["merge outer"]["polars"] = lambda: table.select("k").join(several, on="k", how="full", coalesce=True)
        made["merge semi"]["polars"] = lambda: table.select("k").join(some, on="k", how="semi")
        made["merge anti"]["polars"] = lambda: table.select("k").join(some, on="k", how="anti")
    if duckdb and pl:
        base = duckdb.connect()
        base.execute(f"set threads = {threads}")
        for name, data in (("t", table), ("r", right), ("m", several), ("a", pl.DataFrame({"k": asked}))):
            base.register("arrow_" + name, data.to_arrow() if imported("pyarrow") else data)
            base.execute(f"create table {name} as select * from arrow_{name}")

        def ask(query: str) -> Callable[[], object]:
            return lambda: base.execute(query).fetchnumpy()

        made["unique"]["duckdb"] = ask("select distinct k from t")
        made["unique counts"]["duckdb"] = made["value_counts"]["duckdb"] = ask("select k, count(*) from t group by k")
        made["isin"]["duckdb"] = ask("select k in (select k from a) from t")
        made["group_by sum of int64"]["duckdb"] = ask("select k, sum(v)::bigint from t group by k")
        made["group_by five of float64"]["duckdb"] = ask("select k, sum(w), min(w), max(w), avg(w), count(w) from t group by k")
        made["merge many to one"]["duckdb"] = ask("select r.t from t join r using (k)")
        made["merge many to many"]["duckdb"] = ask("select t.k, m.row from t join m using (k)")
        made["merge left"]["duckdb"] = ask("select t.k, m.row from t left join m using (k)")
        made["merge outer"]["duckdb"] = ask("select k, m.row from t full join m using (k)")
        made["merge semi"]["duckdb"] = ask("select k from t semi join a using (k)")
        made["merge anti"]["duckdb"] = ask("select k from t anti join a using (k)")
    return made


def seconds_by_thread() -> Dict[int, float]:
    """How long each thread of this process has been on a processor: by its clock, as pthread_getcpuclockid makes it of a number."""
    seconds: Dict[int, float] = {}
    for thread in map(int, os.listdir("/proc/self/task")):
        try:
            seconds[thread] = time.clock_gettime((~thread << 3) | 6)
        except OSError:  # it has just ended
            continue
    return seconds


def busiest(run: Callable[[], object]) -> float:
    """The seconds of the thread that was on a processor longest."""
    before = seconds_by_thread()
    run()
    return max(seconds - before.get(thread, 0.0) for thread, seconds in seconds_by_thread().items())


def measure(rows: int, threads: int, kind: str, dtype: str, repeat: int, wanted: str) -> None:
    out = csv.writer(sys.stdout)
    for job, runs in jobs(rows, threads, kind, dtype).items():
        if wanted and not any(job.startswith(word) for word in wanted.split(",")):
            continue
        best: Dict[str, float] = {}
        runs["tessera"]()  # compiles, where nothing was compiled ahead
        for _ in range(repeat):
            for name, run in runs.items():
                best[name] = min(best.get(name, 1e9), busiest(run))
        others = [seconds for name, seconds in best.items() if name != "tessera"]
        for name, seconds in best.items():
            ratio = f"{seconds / min(others):.2f}" if name == "tessera" and others else ""
            version = importlib.import_module(name).__version__
            out.writerow((job, kind, dtype, rows, threads, name, version, f"{seconds:.4f}", ratio))
            sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", default="1000000,10000000")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--keys", default="random,zipf,few")
    parser.add_argument("--types", default="int64,int32")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--jobs", default="", help="jobs that begin so, with commas between")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        measure(int(given.rows), int(given.threads), given.keys, given.types, given.repeat, given.jobs)
        return
    csv.writer(sys.stdout).writerow(FIELDS)
    sys.stdout.flush()
    lists = (given.threads.split(","), given.rows.split(","), given.keys.split(","), given.types.split(","))
    for threads, rows, keys, types in itertools.product(*lists):
        names = ("OMP_NUM_THREADS", "POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
        environment = {**os.environ, "OMP_WAIT_POLICY": "passive", **{name: threads for name in names}}
        command = [sys.executable, os.path.abspath(__file__), "--here", "--rows", str(int(float(rows)))]
        command += ["--threads", threads, "--keys", keys, "--types", types, "--repeat", str(given.repeat), "--jobs", given.jobs]
        subprocess.run(command, env=environment, check=True)


if __name__ == "__main__":
    main()
