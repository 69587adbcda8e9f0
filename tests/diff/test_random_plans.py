"""Goal:   random plans on random data give DuckDB's rows and SQLite's.
Method: seeded tables (NULL-heavy, skewed, empty, extreme values) are uploaded; each plan of plan_maker.py
        runs in morseld, DuckDB and, without NaN or infinity, SQLite; results are compared as
        multisets, floats with a relative tolerance of 1e-9 (the others' sums depend on order).
Usage:  test_random_plans.py [PLANS [FIRST_SEED]]. A failing seed prints plan and SQL."""
import collections, datetime, decimal, math, os, pathlib, random, re, sqlite3, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import duckdb
import pyarrow as pa
from google.protobuf import json_format

from daemon import SLOW, Daemon, grpc, job_pb
from plan_maker import ANTI, CROSS, FULL, INNER, LEFT, MARK, NULL_AWARE, RIGHT, SEMI, PlanMaker, has_odd_floats, random_table
from test_tables import stream_of, upload_messages

PLANS_PER_TABLES = 25
ROWS_MAX = 20_000


def size_of(duck, sql):
    try:
        return duck.execute(f"SELECT count(*) FROM (SELECT 1 FROM ({sql}) q LIMIT {ROWS_MAX + 1}) q").fetchone()[0]
    except duckdb.OutOfRangeException:
        return 0
    except duckdb.ConversionException:  # DuckDB narrows a sum too far by its statistics
        return ROWS_MAX + 1


def plain(value):
    """One value in a form that all three engines share."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime.datetime):
        return round((value.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)).total_seconds() * 1e6)
    if isinstance(value, datetime.date):
        return (value - datetime.date(1970, 1, 1)).days
    if isinstance(value, float) and value == 0:
        return 0.0
    return value


def order(value):
    if value is None:
        return (0, 0)
    if isinstance(value, str):
        return (3, value)
    if isinstance(value, float) and math.isnan(value):
        return (2, 0)
    return (1, float(f"{value:.9g}") if isinstance(value, float) else value)


def equal(a, b):
    if isinstance(a, float) or isinstance(b, float):
        if a is None or b is None or isinstance(a, str) or isinstance(b, str):
            return False
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    return a == b


def rows_of(rows):
    return sorted((tuple(plain(v) for v in row) for row in rows), key=lambda row: [order(v) for v in row])


def difference(ours, theirs):
    if len(ours) != len(theirs):
        return f"{len(ours)} rows against {len(theirs)}"
    for a, b in zip(ours, theirs):
        if not all(equal(x, y) for x, y in zip(a, b)):
            # Near-equal floats may sort differently: look for a partner before crying out.
            left = collections.Counter(map(repr, ours)) - collections.Counter(map(repr, theirs))
            right = collections.Counter(map(repr, theirs)) - collections.Counter(map(repr, ours))
            unmatched = [eval(r, {"nan": math.nan, "inf": math.inf}) for r in right.elements()]
            for row in [eval(r, {"nan": math.nan, "inf": math.inf}) for r in left.elements()]:
                partner = next((i for i, other in enumerate(unmatched) if all(equal(x, y) for x, y in zip(row, other))), None)
                if partner is None:
                    return f"row {row} has no partner; theirs have {unmatched[:3]}"
                del unmatched[partner]
            return None
    return None


def main():
    plans = int(sys.argv[1]) if len(sys.argv) > 1 else 500 // SLOW
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("MORSEL_SEED", "1"))
    joins = [INNER, INNER, LEFT, RIGHT, FULL, SEMI, ANTI, MARK, NULL_AWARE, CROSS]
    counts, done, against_sqlite, failures = {}, 0, 0, 0
    with Daemon("--workers", "3") as daemon:
        while done < plans:
            rng = random.Random(seed)
            tables, data = {}, {}
            duck, lite = duckdb.connect(), sqlite3.connect(":memory:")
            duck.execute("CREATE MACRO DATE_OF(d) AS DATE '1970-01-01' + CAST(d AS INTEGER); CREATE MACRO TS_OF(t) AS make_timestamp(CAST(t AS BIGINT))")
            lite.create_function("DATE_OF", 1, int)
            lite.create_function("TS_OF", 1, int)
            for name in ("ta", "tb", "tc"):
                table, tables[name] = random_table(rng, name)
                data[name] = table
                daemon.tables.UploadTable(upload_messages(name, stream_of(table), replace=True))
                duck.register("incoming", table)
                duck.execute(f"CREATE TABLE {name} AS SELECT * FROM incoming")
                duck.unregister("incoming")
                kinds = {"i32": "INTEGER", "i64": "INTEGER", "f64": "REAL", "str": "TEXT", "bool": "INTEGER", "date": "INTEGER", "ts": "INTEGER"}
                lite.execute(f"CREATE TABLE {name} ({', '.join(f'{n} {kinds[k]}' for n, k in tables[name])})")
                lite.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * table.num_columns)})",
                                 ([plain(v) for v in row] for row in zip(*(c.to_pylist() for c in table.columns))))
            finite = not any(has_odd_floats(t) for t in data.values())
            try:
                for number in range(PLANS_PER_TABLES):
                    maker = PlanMaker(random.Random(f"{seed}/{number}"), tables, counts, joins, lambda sql: size_of(duck, sql))
                    rel = maker.make()
                    request = job_pb.ExecuteJobRequest(plan=maker.plan)
                    request.options.settings["morsel_rows"] = str(rng.choice([0, 1024, 2048]))
                    if rng.random() < 0.2:  # collisions
                        request.options.settings["hash_bits"] = str(rng.choice([1, 8]))
                        counts["hash cut short"] = counts.get("hash cut short", 0) + 1
                    # A result too large for Python is not compared; blow-ups have tests of their own.
                    if size_of(duck, rel.sql) > ROWS_MAX:
                        counts["left out: too many rows, or DuckDB fails"] = counts.get("left out: too many rows, or DuckDB fails", 0) + 1
                        continue
                    done += 1
                    try:
                        want = rows_of(duck.execute(rel.sql).fetchall())
                    except duckdb.OutOfRangeException as error:  # an overflow there must be one here
                        want = error
                    try:
                        explained = daemon.jobs.ExplainJob(job_pb.ExplainJobRequest(plan=maker.plan), timeout=60).text
                        for word in ("(reordered)", "filter pushed here", "compared:"):
                            counts[f"explained {word}"] = counts.get(f"explained {word}", 0) + (word in explained)
                        arrow, _, _ = daemon.run(request)
                        table = pa.ipc.open_stream(arrow).read_all()
                        ours = rows_of(zip(*(c.to_pylist() for c in table.columns)))
                        fault = "DuckDB: " + str(want) if isinstance(want, Exception) else difference(ours, want)
                    except grpc.RpcError as error:
                        overflow = isinstance(want, Exception) and error.code() == grpc.StatusCode.OUT_OF_RANGE
                        fault = None if overflow else f"{error.code().name}: {error.details()}"
                        ours = None
                    if fault is None and ours is not None and finite and not maker.duck_only:
                        try:
                            fault = difference(ours, rows_of(lite.execute(re.sub(r"CAST\(([^()]*) AS BIGINT\)", r"CAST(\1 AS INTEGER)", rel.sql).replace("AS DOUBLE", "AS REAL")).fetchall()))
                            fault = fault and "SQLite: " + fault
                            against_sqlite += 1
                        except sqlite3.OperationalError as error:
                            if not any(word in str(error) for word in ("integer overflow", "parser stack overflow")):
                                raise
                    if fault:
                        failures += 1
                        print(f"seed {seed} plan {number}: {fault}\n{rel.sql}\n{json_format.MessageToJson(maker.plan, indent=None)}\n")
                        if failures >= 5:
                            return 1
            except (duckdb.InternalException, duckdb.FatalException):  # an assertion of its own; it is of no use afterwards
                counts["left out: DuckDB gave up"] = counts.get("left out: DuckDB gave up", 0) + 1
            seed += 1
            if os.environ.get('MORSEL_VERBOSE'):
                print(f'seed {seed}: {done} plans')
    for what in sorted(counts):
        print(f"{counts[what]:6} {what}")
    print(f"{done} plans, {against_sqlite} of them against SQLite too, {failures} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
