"""The three that answer: morseld, DuckDB and SQLite. An answer is (rows of values, or an Error)."""
import dataclasses, io, sqlite3

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from daemon import SLOW, Daemon, grpc, job_pb
from kinds import NotInLite
from lite_calls import register
from plan_tree import topological, used_tables
from say_plan import say_plan
from say_sql import say_order, say_rel

MACROS = """CREATE MACRO DATE_TEXT(d) AS CASE WHEN year(d) > 0 THEN CAST(d AS VARCHAR) ELSE CASE WHEN year(d) < 0 THEN '-' ELSE '' END || printf('%04d-%02d-%02d', abs(year(d)), month(d), day(d)) END;
CREATE MACRO FLOOR_MICROS(x) AS make_timestamp((epoch_ns(x) - (epoch_ns(x) % 1000 + 1000) % 1000) // 1000);
CREATE MACRO UNSIGNED_ZERO(x) AS CASE WHEN x = 0 THEN 0 ELSE x END;
CREATE MACRO DIVIDE_ROUNDED(n, d) AS CASE WHEN (n < 0) = (d < 0) THEN 1 ELSE -1 END * ((2 * abs(n) + abs(d)) // (2 * abs(d)));"""


@dataclasses.dataclass
class Error:
    code: str
    text: str


class DuckFailed(Exception):
    """DuckDB ran into an assertion of its own."""


def root_order(root):
    """The keys the answer's rows are sorted by, if they are."""
    return root.keys if root.op == "sort" else root.order if root.op == "limit" else None


def ordered_columns(root):
    """The places of the columns whose order is known: of all columns, or, where some are not exact and may break ties otherwise, of the keys."""
    keys = root_order(root)
    if keys is None:
        return []
    if all(c.exact for c in root.columns):
        return list(range(len(root.columns)))
    names, places = [c.name for c in root.columns], []
    for e, _ in keys:
        if e.op != "column":
            break
        places.append(names.index(e.name))
    return places


class Duck:
    """Each relation of a plan becomes a table r1, r2, ..., unless it only renames."""

    def __init__(self, tables):
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.execute("SET enable_progress_bar = false; SET order_by_non_integer_literal = true; PRAGMA disable_optimizer")
        self.connection.execute(MACROS)
        self.names, self.rows, self.sizes = {}, {}, {t.name: t.rows for t in tables}
        for table in tables:
            self.connection.register("incoming", table.arrow(zones=False))
            self.connection.execute(f"CREATE TABLE {table.name} AS SELECT * FROM incoming")
            self.connection.unregister("incoming")

    def forget(self):
        self.names = {}

    def define(self, rel, most=None):
        """The number of rows; None: more than the most. Errors of SQL's own pass through."""
        simple = self.without_table(rel)
        if simple is not None:
            self.names[id(rel)], self.rows[id(rel)] = simple, self.rows[id(rel.inputs[0])] if rel.inputs else self.sizes[rel.table]
            return self.rows[id(rel)]
        name = f"r{len(self.names) + 1}"
        limit = "" if most is None else f" LIMIT {most + 1}"
        sql = say_rel(rel, self.names, "duck")
        if limit:
            sql = f"SELECT * FROM ({sql}) q{limit}"
        try:
            count = self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}").fetchone()[0]
        except (duckdb.InternalException, duckdb.FatalException) as error:
            raise DuckFailed(str(error)) from error
        self.names[id(rel)], self.rows[id(rel)] = name, count
        return None if most is not None and count > most else count

    def without_table(self, rel):
        """What stands for a relation that only names what is there already."""
        if rel.op == "scan":
            return rel.table
        if rel.op == "sort" and rel.count is None:
            return self.names[id(rel.inputs[0])]
        if rel.op == "project" and all(e.op == "column" for _, e in rel.exprs):
            return f"({say_rel(rel, self.names, 'duck')}) q{len(self.names) + 1}"
        return None

    def table(self, root):
        order = root_order(root)
        sql = f"SELECT * FROM {self.names[id(root)]}" + (say_order(root, order, "duck") if order else "")
        return self.connection.sql(sql).to_arrow_table()


class Lite:
    def __init__(self, tables):
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        register(self.connection)
        self.able = {t.name for t in tables if t.fits_lite()}
        for table in tables:
            if table.name not in self.able:
                continue
            self.connection.execute(f"CREATE TABLE {table.name} ({', '.join(f'{c.name} {c.kind.lite}' for c in table.columns)})")
            self.connection.executemany(f"INSERT INTO {table.name} VALUES ({', '.join('?' * len(table.columns))})", zip(*(table.data[c.name] for c in table.columns)))

    def rows(self, root):
        """None where SQLite cannot say it."""
        if not used_tables(root) <= self.able:
            return None
        names = {}
        try:
            said = []
            for rel in topological(root):
                names[id(rel)] = f"r{len(names) + 1}"
                said.append((names[id(rel)], say_rel(rel, names, "lite")))
            order = root_order(root)
            last = f"SELECT * FROM {names[id(root)]}" + (say_order(root, order, "lite") if order else "")
            for name, sql in said:
                self.connection.execute(f"DROP TABLE IF EXISTS {name}")
                self.connection.execute(f"CREATE TEMP TABLE {name} AS {sql}")
            return self.connection.execute(last).fetchall()
        except NotInLite:
            return None
        except (sqlite3.OperationalError, sqlite3.DataError, OverflowError) as error:
            if any(word in str(error) for word in ("integer overflow", "too large", "too big", "user-defined")):
                return None
            raise RuntimeError(f"{error}: {said}") from error


def stream_of(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=10_000)
    return sink.getvalue()


class Ours:
    """A daemon of our own, started again when it ended."""

    def __init__(self, *flags):
        self.flags, self.daemon = flags, None

    def start(self):
        self.daemon = Daemon(*self.flags)
        self.daemon.__enter__()

    def close(self):
        if self.daemon is not None:
            daemon, self.daemon = self.daemon, None
            daemon.__exit__(None, None, None)

    def load(self, tables):
        if self.daemon is None:
            self.start()
        for table in tables:
            messages = [job_pb.UploadTableRequest(begin=job_pb.UploadBegin(table=table.name, replace=True)),
                        job_pb.UploadTableRequest(arrow=job_pb.ArrowChunk(data=stream_of(table.arrow()))), job_pb.UploadTableRequest(commit=job_pb.UploadCommit())]
            self.daemon.tables.UploadTable(iter(messages), timeout=60 * SLOW)

    def request(self, root, options):
        request = job_pb.ExecuteJobRequest(plan=say_plan(root))
        set_options(request, options)
        return request

    def table(self, root, options):
        """The answer as an Arrow table, or an Error."""
        try:
            arrow, _, _ = self.daemon.run(self.request(root, options))
            return pa.ipc.open_stream(arrow).read_all()
        except grpc.RpcError as error:
            if self.daemon.process.poll() is not None:
                code, log = self.daemon.process.returncode, self.daemon.log()[-2000:]
                self.daemon.expect_exit = code
                self.close()
                return Error("CRASH", f"morseld ended with {code}: {log}")
            return Error(error.code().name, error.details())


def set_options(request, options):
    for name, value in options.items():
        if name == "parallelism":
            request.options.parallelism = value
        else:
            request.options.settings[name] = str(value)


def values_of(table, columns):
    """Arrow columns as columns of the tests' values."""
    return [column_values(table.column(i), c.kind) for i, c in enumerate(columns)]


def column_values(array, kind):
    if pa.types.is_list(array.type):
        return array.to_pylist()
    if kind.family == "ts":
        return array.cast(pa.int64()).to_pylist()
    if kind.family == "date":
        return array.cast(pa.int32()).to_pylist()
    if kind.family == "dec":
        return [None if v is None else int(v.scaleb(kind.scale)) for v in array.to_pylist()]
    return array.to_pylist()


def canonical(table, columns):
    """The same values in columns that sort and compare by their bytes; None where bounds are compared."""
    arrays = []
    for i, c in enumerate(columns):
        array = table.column(i).combine_chunks()
        if isinstance(array, pa.ChunkedArray):
            array = array.chunk(0) if array.num_chunks else pa.array([], array.type)
        if pa.types.is_list(array.type):
            return None
        if c.kind.family == "float":
            array = array.cast(pa.float64())
            array = pc.if_else(pc.is_nan(array), pa.scalar(float("nan")), pc.add(array, 0.0)).view(pa.int64())
        elif c.kind.family == "ts":
            array = array.cast(pa.int64())
        elif c.kind.family == "bool":
            array = array.cast(pa.uint8())
        arrays.append(array)
    return pa.table(arrays, [str(i) for i in range(len(arrays))])


def lite_columns(rows, columns):
    """SQLite's rows as columns of the tests' values."""
    found = list(zip(*rows)) if rows else [()] * len(columns)
    return [[None if v is None else bool(v) if c.kind.family == "bool" else float(v) if c.kind.family == "float" else v for v in values] for c, values in zip(columns, found)]
