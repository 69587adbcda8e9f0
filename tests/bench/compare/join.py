"""Join of the public db-benchmark: the shape of its generator (join-datagen.R), its five questions, each once as an
aggregate over the join and once as full materialisation. Nine tenths of each side's keys are in the other."""
import numpy as np
import pyarrow as pa

from dataset import cached
from groupby import texts
from question import Question, Suite

ENGINES = ["morseld", "duckdb", "duckdb_enum", "clickhouse", "polars", "polars_cat", "datafusion"]


def split(random, count):
    """Keys of the left side and of the right: 0.9 of them shared, 0.1 of their own each."""
    keys = random.permutation(int(count * 1.1) or 2).astype(np.int32) + np.int32(1)
    shared, own = max(int(count * 0.9), 1), max(count // 10, 1)
    return np.concatenate([keys[:shared], keys[shared:shared + own]])[:count], np.concatenate([keys[:shared], keys[-own:]])[:count]


def spread(random, keys, rows):
    """rows values, every key at least once."""
    drawn = keys if len(keys) >= rows else np.concatenate([keys, random.choice(keys, rows - len(keys))])
    return random.permutation(drawn[:rows])


def named(codes):
    top = int(codes.max()) + 1
    return texts("id%d", codes - 1, top)


def make(rows):
    random = np.random.default_rng(109)
    sizes = {"small": max(rows // 1_000_000, 1), "medium": max(rows // 1000, 1), "big": rows}
    left, right = {}, {}
    for name, size in sizes.items():
        left[name], right[name] = split(random, size)
    value = lambda count: np.round(random.uniform(0, 100, count), 6)

    def columns(levels, source, count, first_id):
        ids = [spread(random, source[level], count) for level in levels]
        table = {f"id{i + 1}": ids[i] for i in range(len(ids))}
        table |= {f"id{i + first_id}": named(ids[i]) for i in range(len(ids))}
        return table

    small = columns(["small"], right, sizes["small"], 4) | {"v2": value(sizes["small"])}
    medium = columns(["small", "medium"], right, sizes["medium"], 4) | {"v2": value(sizes["medium"])}
    big = columns(["small", "medium", "big"], right, sizes["big"], 4) | {"v2": value(sizes["big"])}
    x = columns(["small", "medium", "big"], left, rows, 4) | {"v1": value(rows)}
    return {"x": pa.table(x), "small": pa.table(small), "medium": pa.table(medium), "big": pa.table(big)}


ASKED = [
    ("q1", "small inner on int", "small", "id1", "JOIN", "inner", ["id4"]),
    ("q2", "medium inner on int", "medium", "id2", "JOIN", "inner", ["id1", "id4", "id5"]),
    ("q3", "medium left on int", "medium", "id2", "LEFT JOIN", "left", ["id1", "id4", "id5"]),
    ("q4", "medium inner on factor", "medium", "id5", "JOIN", "inner", ["id1", "id2", "id4"]),
    ("q5", "big inner on int", "big", "id3", "JOIN", "inner", ["id1", "id2", "id4", "id5", "id6"]),
]


def questions():
    for name, title, table, key, join, how, extra in ASKED:
        def joined(t, table=table, key=key, how=how, extra=extra):
            return t["x"].join(t[table].select([key, *extra, "v2"]), on=key, how=how, suffix=f"_{table}")

        def summed(t, table=table, key=key, how=how):
            import polars as pl
            both = t["x"].select([key, "v1"]).join(t[table].select([key, "v2"]), on=key, how=how)
            return both.select(pl.len().alias("n"), pl.col("v1").sum(), pl.col("v2").sum())

        more = ", ".join(f"{table}.{column} AS {table}_{column}" for column in extra)
        on = f"FROM x {join} {table} ON x.{key} = {table}.{key}"
        left = "x.id1, x.id2, x.id3, x.id4, x.id5, x.id6, x.v1"
        yield Question(name + "a", title + ", aggregated", f"SELECT count(*) AS n, sum(v1) AS v1, sum(v2) AS v2 {on}", {"polars": summed},
                       {"x": [key, "v1"], table: [key, "v2"]})
        yield Question(name + "m", title + ", materialised", f"SELECT {left}, {more}, {table}.v2 {on}", {"polars": joined},
                       {"x": ["id1", "id2", "id3", "id4", "id5", "id6", "v1"], table: [key, *extra, "v2"]})


def suite(folder, rows=10_000_000, **_):
    tables = {}
    made = []
    for name in ("x", "small", "medium", "big"):
        def one(name=name):
            if not made:
                made.append(make(rows))
            return made[0][name]
        tables[name] = cached(folder, f"join_{rows}_{name}", one)
    return Suite(f"join, {rows:,} rows", tables, list(questions()), ENGINES)
