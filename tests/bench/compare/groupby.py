"""Group-by of the public db-benchmark: the shape of its generator (groupby-datagen.R), its ten questions.
id1, id2: K strings; id3: N/K strings; id4, id5: K integers; id6: N/K integers; v1 1..5, v2 1..15, v3 0..100."""
import numpy as np
import pyarrow as pa

from dataset import cached
from question import Question, Suite

ENGINES = ["morseld", "duckdb", "duckdb_enum", "clickhouse", "clickhouse_lc", "polars", "polars_cat", "datafusion"]


def texts(form, codes, count):
    """count different texts, taken by code: made once and gathered."""
    return pa.array([form % (i + 1) for i in range(count)]).take(pa.array(codes))


def make(rows, k):
    random = np.random.default_rng(108)
    few, many = k, max(rows // k, 1)
    draw = lambda count: random.integers(0, count, rows, dtype=np.int32)
    return pa.table({
        "id1": texts("id%03d", draw(few), few),
        "id2": texts("id%03d", draw(few), few),
        "id3": texts("id%010d", draw(many), many),
        "id4": draw(few) + np.int32(1),
        "id5": draw(few) + np.int32(1),
        "id6": draw(many) + np.int32(1),
        "v1": draw(5) + np.int32(1),
        "v2": draw(15) + np.int32(1),
        "v3": np.round(random.uniform(0, 100, rows), 6),
    })


def col(name):
    import polars as pl
    return pl.col(name)


def top_two(x):
    return x.drop_nulls("v3").group_by("id6").agg(col("v3").top_k(2).alias("largest2_v3")).explode("largest2_v3")


def corr(x):
    import polars as pl
    return x.group_by("id2", "id4").agg((pl.corr("v1", "v2") ** 2).alias("r2"))


QUESTIONS = [
    Question("q1", "sum v1 by id1", "SELECT id1, sum(v1) AS v1 FROM x GROUP BY id1",
             {"polars": lambda t: t["x"].group_by("id1").agg(col("v1").sum())}, {"x": ["id1", "v1"]}),
    Question("q2", "sum v1 by id1:id2", "SELECT id1, id2, sum(v1) AS v1 FROM x GROUP BY id1, id2",
             {"polars": lambda t: t["x"].group_by("id1", "id2").agg(col("v1").sum())}, {"x": ["id1", "id2", "v1"]}),
    Question("q3", "sum v1, mean v3 by id3", "SELECT id3, sum(v1) AS v1, avg(v3) AS v3 FROM x GROUP BY id3",
             {"polars": lambda t: t["x"].group_by("id3").agg(col("v1").sum(), col("v3").mean())}, {"x": ["id3", "v1", "v3"]}),
    Question("q4", "mean v1:v3 by id4", "SELECT id4, avg(v1) AS v1, avg(v2) AS v2, avg(v3) AS v3 FROM x GROUP BY id4",
             {"polars": lambda t: t["x"].group_by("id4").agg(col("v1").mean(), col("v2").mean(), col("v3").mean())}, {"x": ["id4", "v1", "v2", "v3"]}),
    Question("q5", "sum v1:v3 by id6", "SELECT id6, sum(v1) AS v1, sum(v2) AS v2, sum(v3) AS v3 FROM x GROUP BY id6",
             {"polars": lambda t: t["x"].group_by("id6").agg(col("v1").sum(), col("v2").sum(), col("v3").sum())}, {"x": ["id6", "v1", "v2", "v3"]}),
    Question("q6", "median v3, sd v3 by id4:id5", "SELECT id4, id5, median(v3) AS median_v3, stddev(v3) AS sd_v3 FROM x GROUP BY id4, id5",
             {"polars": lambda t: t["x"].group_by("id4", "id5").agg(col("v3").median().alias("median_v3"), col("v3").std().alias("sd_v3")),
              "clickhouse": "SELECT id4, id5, quantileExactInclusive(0.5)(v3) AS median_v3, stddevSampStable(v3) AS sd_v3 FROM x GROUP BY id4, id5"},
             {"x": ["id4", "id5", "v3"]}),
    Question("q7", "max v1 - min v2 by id3", "SELECT id3, max(v1) - min(v2) AS range_v1_v2 FROM x GROUP BY id3",
             {"polars": lambda t: t["x"].group_by("id3").agg((col("v1").max() - col("v2").min()).alias("range_v1_v2"))}, {"x": ["id3", "v1", "v2"]}),
    Question("q8", "largest two v3 by id6",
             "SELECT id6, v3 AS largest2_v3 FROM (SELECT id6, v3, row_number() OVER (PARTITION BY id6 ORDER BY v3 DESC) AS r FROM x WHERE v3 IS NOT NULL) AS t WHERE r <= 2",
             {"polars": lambda t: top_two(t["x"]),
              "duckdb": "SELECT id6, unnest(max(v3, 2)) AS largest2_v3 FROM x WHERE v3 IS NOT NULL GROUP BY id6",
              "clickhouse": "SELECT id6, arrayJoin(arraySlice(arrayReverseSort(groupArray(v3)), 1, 2)) AS largest2_v3 FROM x WHERE v3 IS NOT NULL GROUP BY id6"},
             {"x": ["id6", "v3"]}),
    Question("q9", "corr(v1, v2)^2 by id2:id4", "SELECT id2, id4, power(corr(v1, v2), 2) AS r2 FROM x GROUP BY id2, id4",
             {"polars": lambda t: corr(t["x"])}, {"x": ["id2", "id4", "v1", "v2"]}),
    Question("q10", "sum v3, count by id1:id6", "SELECT id1, id2, id3, id4, id5, id6, sum(v3) AS v3, count(*) AS count FROM x GROUP BY id1, id2, id3, id4, id5, id6",
             {"polars": lambda t: t["x"].group_by("id1", "id2", "id3", "id4", "id5", "id6").agg(col("v3").sum(), col("v1").len().alias("count"))},
             {"x": ["id1", "id2", "id3", "id4", "id5", "id6", "v3"]}),
]


def suite(folder, rows=10_000_000, k=100, **_):
    return Suite(f"group-by, {rows:,} rows, K = {k}", {"x": cached(folder, f"groupby_{rows}_{k}", lambda: make(rows, k))}, QUESTIONS, ENGINES)
