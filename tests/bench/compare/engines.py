"""The engines, each alone in a process of its own: load tables, answer a question into a table of the engine's own,
then, outside the timed region, hand the answer over. Peers get the settings their own documentation recommends."""
import os, re, subprocess, sys, tempfile, pathlib

import pyarrow as pa

import dataset

ROOT = pathlib.Path(__file__).resolve().parents[3]


def family(engine):
    return engine.split("_")[0]


def text_columns(table):
    return [field.name for field in table.schema if pa.types.is_string(field.type)]


class Duckdb:
    """Tables in memory; strings plain, or as ENUM where a column has at most a million values (enum)."""

    def __init__(self, threads, kind):
        import duckdb
        self.kind, self.version = kind, duckdb.__version__
        self.db = duckdb.connect()
        self.db.execute(f"SET threads = {threads}")
        self.db.execute("SET preserve_insertion_order = false")

    def load(self, name, path):
        loaded = dataset.read(path)
        chosen = []
        for field in loaded.schema:
            chosen.append(f'"{field.name}"')
            if self.kind == "enum" and pa.types.is_string(field.type):
                kind = f"{name}_{field.name}"
                if self.db.execute(f'SELECT count(DISTINCT "{field.name}") FROM loaded').fetchone()[0] <= 1_000_000:
                    self.db.execute(f'CREATE TYPE {kind} AS ENUM (SELECT DISTINCT "{field.name}" FROM loaded ORDER BY 1)')
                    chosen[-1] = f'CAST("{field.name}" AS {kind}) AS "{field.name}"'
        self.db.execute(f"CREATE TABLE {name} AS SELECT {', '.join(chosen)} FROM loaded")

    def prepare(self, question):
        sql = f"CREATE OR REPLACE TEMP TABLE answer AS {question}"
        return lambda: self.db.execute(sql)

    def answer(self):
        return self.db.sql("SELECT * FROM answer").to_arrow_table()


class Clickhouse:
    """In process (chdb), tables of the Memory engine; strings plain, or LowCardinality (lc)."""

    def __init__(self, threads, kind):
        import chdb
        from chdb import session
        self.kind, self.version = kind, chdb.engine_version if hasattr(chdb, "engine_version") else chdb.__version__
        self.db = session.Session()
        self.settings = f"SETTINGS max_threads = {threads}, max_insert_threads = {threads}, joined_subquery_requires_alias = 0, join_use_nulls = 1"

    def load(self, name, path):
        loaded = dataset.read(path)
        lowered = text_columns(loaded) if self.kind == "lc" else []
        file = pathlib.Path(str(path) + ".parquet")
        if not file.exists():
            import pyarrow.parquet as pq
            pq.write_table(loaded, file, compression="none")
        self.db.query("SET allow_suspicious_low_cardinality_types = 1")
        columns = ", ".join(f"toLowCardinality({f.name}) AS {f.name}" if f.name in lowered else f.name for f in loaded.schema)
        self.db.query(f"CREATE TABLE {name} ENGINE = Memory AS SELECT {columns} FROM file('{file}', Parquet, '{self.structure(loaded)}')")

    def structure(self, table):
        kinds = {"int32": "Int32", "int64": "Int64", "double": "Float64", "string": "String", "date32[day]": "Date32"}
        return ", ".join(f"{f.name} {kinds.get(str(f.type)) or 'Decimal(%d, %d)' % (f.type.precision, f.type.scale)}" for f in table.schema)

    def prepare(self, question):
        sql = f"CREATE TABLE answer ENGINE = Memory AS {question} {self.settings}"

        def run():
            self.db.query(sql)
        run.before = lambda: self.db.query("DROP TABLE IF EXISTS answer SYNC")
        return run

    def answer(self):
        return self.db.query("SELECT * FROM answer", "ArrowTable")


class Polars:
    """Frames in memory, lazy with the streaming engine; strings plain, or categorical (cat)."""

    def __init__(self, threads, kind):
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        import polars as pl
        self.kind, self.version, self.pl, self.frames, self.result = kind, pl.__version__, pl, {}, None

    def load(self, name, path):
        loaded = dataset.read(path)
        frame = self.pl.from_arrow(loaded)
        if self.kind == "cat":
            frame = frame.with_columns(self.pl.col(text_columns(loaded)).cast(self.pl.Categorical))
        self.frames[name] = frame.rechunk().lazy()

    def prepare(self, question):
        plan = question(self.frames)

        def run():
            self.result = plan.collect(engine="streaming")
        run.before = lambda: setattr(self, "result", None)
        return run

    def answer(self):
        return self.result.to_arrow()


class Datafusion:
    """Tables as record batches in memory, one partition a thread."""

    def __init__(self, threads, kind):
        import datafusion
        self.version = datafusion.__version__
        config = datafusion.SessionConfig().with_target_partitions(threads)
        self.threads, self.db, self.result = threads, datafusion.SessionContext(config), None

    def load(self, name, path):
        batches = dataset.read(path).combine_chunks().to_batches(max_chunksize=8192 * 16)
        self.db.register_record_batches(name, [batches[i::self.threads] or [] for i in range(self.threads)])

    def prepare(self, question):
        def run():
            self.result = self.db.sql(question).collect_partitioned()
        run.before = lambda: setattr(self, "result", None)
        return run

    def answer(self):
        batches = [batch for part in self.result for batch in part]
        return pa.Table.from_batches(batches)


class Morseld:
    """The daemon over gRPC on loopback; the plan is made once by `morsel sql --emit-plan`, so that no time of the SQL
    helper is in the figures, and the answer is kept as a server table (into_table)."""

    def __init__(self, threads, kind):
        sys.path[:0] = [str(ROOT / "tests/e2e")]
        import daemon
        from test_tables import stream_of, upload_messages
        self.module, self.stream_of, self.upload_messages = daemon, stream_of, upload_messages
        flags = ["--workers", str(threads)] + os.environ.get("MORSELD_FLAGS", "").split()
        self.daemon = daemon.Daemon(*flags).__enter__()
        self.version = subprocess.run([daemon.MORSELD, "--version"], capture_output=True, text=True).stdout.strip().removeprefix("morseld ")
        self.pid = self.daemon.process.pid

    def load(self, name, path):
        data = self.stream_of(dataset.read(path))
        self.daemon.tables.UploadTable(self.upload_messages(name, data, piece=1 << 20))

    def prepare(self, question):
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
            file.write(question)
            file.flush()
            made = subprocess.run([self.module.MORSEL, "sql", "-f", file.name, "--server", f"127.0.0.1:{self.daemon.port}", "--emit-plan"],
                                  capture_output=True, text=True)
        if made.returncode:
            raise RuntimeError(made.stderr.strip())
        request = self.module.json_format.Parse(made.stdout, self.module.job_pb.ExecuteJobRequest())
        request.into_table, request.into_replace = "answer", True

        def run():
            for message in self.daemon.jobs.ExecuteJob(request):
                if message.HasField("profile"):
                    self.profile = message.profile
        return run

    def answer(self):
        request = self.module.job_pb.ExecuteJobRequest()
        request.plan.version = 1
        request.plan.rels.add().scan.table.name = "answer"
        stream = b"".join(m.arrow.data for m in self.daemon.jobs.ExecuteJob(request) if m.HasField("arrow"))
        return pa.ipc.open_stream(stream).read_all()

    def close(self):
        self.daemon.__exit__(None, None, None)


KINDS = {"duckdb": Duckdb, "clickhouse": Clickhouse, "polars": Polars, "datafusion": Datafusion, "morseld": Morseld}


def make(name, threads):
    return KINDS[family(name)](threads, name.partition("_")[2])
