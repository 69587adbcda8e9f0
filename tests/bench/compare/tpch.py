"""The 22 queries of TPC-H, unmodified, data loaded, keys int64 and money decimal(15,2). Polars is not asked: its SQL
does not take the queries as they are written, and rewritten ones would be another question."""
import pathlib, subprocess, sys

import pyarrow as pa
import pyarrow.parquet as pq

from dataset import cached
from question import Question, Suite

ENGINES = ["morseld", "duckdb", "clickhouse", "datafusion"]
QUERIES = pathlib.Path(__file__).resolve().parents[2] / "client/tpch"
TABLES = ["lineitem", "orders", "customer", "part", "partsupp", "supplier", "nation", "region"]


def plain(table):
    """utf8 and not its variants: each engine stores what it likes."""
    wanted = [pa.field(f.name, pa.string() if pa.types.is_string_view(f.type) or pa.types.is_large_string(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(wanted))


def suite(folder, scale=1.0, **_):
    made = folder / f"tpch_{scale}"
    tool = pathlib.Path(sys.executable).with_name("tpchgen-cli")

    def table(name):
        if not (made / f"{name}.parquet").exists():
            subprocess.run([tool, "parquet", "-s", str(scale), "--output-dir", made], check=True, capture_output=True)
        return plain(pq.read_table(made / f"{name}.parquet"))

    tables = {name: cached(folder, f"tpch_{scale}_{name}", lambda name=name: table(name)) for name in TABLES}
    questions = [Question(f"q{q}", f"TPC-H {q}", next(iter(QUERIES.glob(f"*{q:02d}.sql")), QUERIES / f"q{q}.sql").read_text().strip().rstrip(";")) for q in range(1, 23)]
    return Suite(f"TPC-H, scale factor {scale}", tables, questions, ENGINES)
