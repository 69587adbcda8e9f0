#!/usr/bin/env python3
"""Group-by and join side by side with DuckDB, in one run: same data, already loaded, same number of
threads, results kept in a table of the engine, interleaved repetitions, medians and ratios.

Usage: build/venv/bin/python tests/bench/compare.py [ROWS] [REPETITIONS] [PART OF A QUESTION'S NAME]     (10,000,000, 7, all)
Prints a Markdown table; a ratio above 1 means that morseld is slower. Times are wall time of the call:
for morseld they include gRPC over loopback, for DuckDB the SQL text's parsing in process."""
import os, pathlib, statistics, sys, time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

import duckdb

from daemon import Daemon, job_pb
from test_tables import upload_messages, stream_of

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
TIMES = int(sys.argv[2]) if len(sys.argv) > 2 else 7
COUNT, SUM, MIN, MAX, AVG, STDDEV, QUANTILE, CORR = 1, 3, 4, 5, 6, 9, 18, 25
ONLY = sys.argv[3] if len(sys.argv) > 3 else ""


class Job:
    def __init__(self, table):
        self.request = job_pb.ExecuteJobRequest(into_table="answer", into_replace=True)
        self.plan = self.request.plan
        self.plan.version = 1
        self.scan(table)

    def scan(self, table):
        self.plan.rels.add().scan.table.name = table
        return len(self.plan.rels)

    def column(self, name):
        self.plan.exprs.add().column.name = name
        return len(self.plan.exprs)

    def join(self, table, left, right):
        right_rel = self.scan(table)
        keys = [{"left": self.column(left), "right": self.column(right)}]
        self.plan.rels.add(join={"left": right_rel - 1, "right": right_rel, "type": 1, "keys": keys})
        return self

    def group(self, keys, measures):
        listed = []
        for i, (function, *columns) in enumerate(measures):
            measure = {"function": function, "name": f"m{i}", "arguments": [self.column(c) for c in columns if isinstance(c, str)]}
            measure["parameters"] = [{"double_value": c} for c in columns if isinstance(c, float)]
            listed.append(measure)
        named = [{"name": k, "expr": self.column(k)} for k in keys]
        self.plan.rels.add(aggregate={"input": len(self.plan.rels), "keys": named, "measures": listed})
        return self


# The questions of the db-benchmark's group-by task (q8, the largest two, needs a top-n per group and is not here), joins after its task.
GROUPS = [
    ("q1 sum v1 by id1", ["id1"], [(SUM, "v1")], "sum(v1)"),
    ("q2 sum v1 by id1, id2", ["id1", "id2"], [(SUM, "v1")], "sum(v1)"),
    ("q3 sum v1, mean v3 by id3", ["id3"], [(SUM, "v1"), (AVG, "v3")], "sum(v1), avg(v3)"),
    ("q4 means v1 to v3 by id4", ["id4"], [(AVG, "v1"), (AVG, "v2"), (AVG, "v3")], "avg(v1), avg(v2), avg(v3)"),
    ("q5 sums v1 to v3 by id6", ["id6"], [(SUM, "v1"), (SUM, "v2"), (SUM, "v3")], "sum(v1), sum(v2), sum(v3)"),
    ("q6 median, sd v3 by id4, id5", ["id4", "id5"], [(QUANTILE, "v3", 0.5), (STDDEV, "v3")], "quantile_cont(v3, 0.5), stddev_samp(v3)"),
    ("q7 max v1, min v2 by id3", ["id3"], [(MAX, "v1"), (MIN, "v2")], "max(v1), min(v2)"),
    ("q9 corr(v1, v2) by id2, id4", ["id2", "id4"], [(CORR, "v1", "v2")], "corr(v1, v2)"),
    ("q10 sum v3, count by id1 to id6", ["id1", "id2", "id3", "id4", "id5", "id6"], [(SUM, "v3"), (COUNT,)], "sum(v3), count(*)"),
]
QUESTIONS = [(name, Job("x").group(keys, measures), f"SELECT {', '.join(keys)}, {sql} FROM x GROUP BY {', '.join(keys)}") for name, keys, measures, sql in GROUPS] + [
    ("join with 100,000 rows, count and sums", Job("x").join("medium", "id6", "k").group([], [(COUNT,), (SUM, "v1"), (SUM, "w")]),
     "SELECT count(*), sum(v1), sum(w) FROM x JOIN medium ON id6 = k"),
    (f"join with {ROWS:,} rows, count and sums", Job("x").join("big", "big_id", "k").group([], [(COUNT,), (SUM, "v1"), (SUM, "w")]),
     "SELECT count(*), sum(v1), sum(w) FROM x JOIN big ON big_id = k"),
]


def timed(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main():
    duck = duckdb.connect()
    duck.execute("SET threads = 2")
    duck.execute(f"""CREATE TABLE x AS SELECT printf('id%03d', (hash(i) % 100) + 1) AS id1, printf('id%03d', (hash(i + 8) % 100) + 1) AS id2,
        printf('id%010d', (hash(i + 1) % {ROWS // 100}) + 1) AS id3, CAST(hash(i + 2) % 100 + 1 AS INTEGER) AS id4, CAST(hash(i + 9) % 100 + 1 AS INTEGER) AS id5,
        CAST(hash(i + 3) % {ROWS // 100} + 1 AS INTEGER) AS id6, CAST(hash(i + 4) % 9223372036854775807 AS BIGINT) % {ROWS} AS big_id,
        CAST(hash(i + 5) % 5 + 1 AS INTEGER) AS v1, CAST(hash(i + 6) % 15 + 1 AS INTEGER) AS v2, round((hash(i + 7) % 100000000) / 1e6, 6) AS v3 FROM range({ROWS}) t(i)""")
    duck.execute("CREATE TABLE medium AS SELECT CAST(i + 1 AS INTEGER) AS k, i * 7 AS w FROM range(100000) t(i)")
    duck.execute(f"CREATE TABLE big AS SELECT i AS k, i * 7 AS w FROM range({ROWS}) t(i)")
    print(f"{ROWS:,} rows, 2 threads each, median of {TIMES} interleaved runs; DuckDB {duckdb.__version__}; {os.cpu_count()} CPUs")
    print()
    print("| question | morseld s | DuckDB s | ratio | spread of ours |")
    print("|---|---:|---:|---:|---|")
    with Daemon("--workers", "2") as daemon:
        for name in ("x", "medium", "big"):
            daemon.tables.UploadTable(upload_messages(name, stream_of(duck.execute(f"SELECT * FROM {name}").to_arrow_table()), piece=1 << 20))
        for question, job, sql in QUESTIONS:
            if ONLY not in question:
                continue
            ours, theirs = [], []
            for repetition in range(TIMES + 1):
                a = timed(lambda: list(daemon.jobs.ExecuteJob(job.request)))
                b = timed(lambda: duck.execute(f"CREATE OR REPLACE TEMP TABLE answer AS {sql}"))
                if repetition:  # the first is the warm-up
                    ours.append(a)
                    theirs.append(b)
            ratio = statistics.median(ours) / statistics.median(theirs)
            print(f"| {question} | {statistics.median(ours):.3f} | {statistics.median(theirs):.3f} | {ratio:.2f} | {min(ours):.3f} to {max(ours):.3f} |", flush=True)


if __name__ == "__main__":
    main()
