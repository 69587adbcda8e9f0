"""Goal:   the 22 queries of TPC-H, as the specification writes them with its validation parameters, give DuckDB's
        answers.
Method: tables made by tpchgen-cli as CSV, both systems with the specification's types; numbers within 1e-9 relative,
        everything else as it is, rows in order.
Usage:  tpch_test.py MORSEL [--scale 0.01] [--data FOLDER] [--queries 1,2]   (a folder is kept and used again)"""
import argparse, decimal, math, os, pathlib, shutil, subprocess, sys, tempfile, time
import duckdb, pyarrow.ipc

HERE = pathlib.Path(__file__).resolve().parent
MONEY, DAY, KEY = "decimal(15,2)", "date32", "int64"
TYPES = {
    "lineitem": {"l_orderkey": KEY, "l_partkey": KEY, "l_suppkey": KEY, "l_quantity": MONEY, "l_extendedprice": MONEY,
                 "l_discount": MONEY, "l_tax": MONEY, "l_shipdate": DAY, "l_commitdate": DAY, "l_receiptdate": DAY},
    "orders": {"o_orderkey": KEY, "o_custkey": KEY, "o_totalprice": MONEY, "o_orderdate": DAY},
    "customer": {"c_custkey": KEY, "c_nationkey": KEY, "c_acctbal": MONEY},
    "part": {"p_partkey": KEY, "p_retailprice": MONEY},
    "partsupp": {"ps_partkey": KEY, "ps_suppkey": KEY, "ps_supplycost": MONEY},
    "supplier": {"s_suppkey": KEY, "s_nationkey": KEY, "s_acctbal": MONEY},
    "nation": {"n_nationkey": KEY, "n_regionkey": KEY},
    "region": {"r_regionkey": KEY},
}
DUCK = {MONEY: "DECIMAL(15,2)", DAY: "DATE", KEY: "BIGINT"}


def generate(scale, folder):
    tool = pathlib.Path(sys.executable).with_name("tpchgen-cli")
    tool = tool if tool.exists() else shutil.which("tpchgen-cli")
    if not tool:
        print("tpchgen-cli is not in the test environment: run scripts/test.sh")
        sys.exit(77)
    subprocess.run([tool, "csv", "-s", str(scale), "--output-dir", folder], check=True, capture_output=True)


def same(a, b):
    if isinstance(a, decimal.Decimal):
        a = float(a)
    if isinstance(b, decimal.Decimal):
        b = float(b)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=1e-9)
    return a == b


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("morsel", type=pathlib.Path)
    parser.add_argument("--scale", type=float, default=0.01)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--queries", default=",".join(map(str, range(1, 23))))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.data or pathlib.Path(temporary)
        if not (folder / "lineitem.csv").exists():
            generate(args.scale, folder)
        duck = duckdb.connect()
        tables = []
        for table, types in TYPES.items():
            columns = ", ".join(f"'{name}': '{DUCK[kind]}'" for name, kind in types.items())
            duck.execute(f"create table {table} as from read_csv('{folder}/{table}.csv', header=true, types={{{columns}}})")
            tables += ["--table", f"{table}={folder}/{table}.csv", "--types",
                       table + "=" + ";".join(f"{name}:{kind}" for name, kind in types.items())]
        env = {k: v for k, v in os.environ.items() if not k.startswith("MORSEL")}
        failed = 0
        for number in args.queries.split(","):
            path = HERE / f"tpch/q{int(number):02d}.sql"
            started = time.monotonic()
            done = subprocess.run([args.morsel, "sql", "-f", path, *tables, "-o", "arrow"], capture_output=True, env=env)
            seconds = time.monotonic() - started
            if done.returncode != 0:
                failed += 1
                print(f"{path.name}: exit {done.returncode}: {done.stderr.decode()}")
                continue
            answer = pyarrow.ipc.open_stream(done.stdout).read_all()
            got = list(zip(*(column.to_pylist() for column in answer.columns)))
            want = duck.execute(path.read_text()).fetchall()
            rows = [(a, b) for a, b in zip(got, want) if not (len(a) == len(b) and all(map(same, a, b)))]
            if len(got) != len(want) or rows:
                failed += 1
                print(f"{path.name}: {len(got)} rows, expected {len(want)}; first difference: {rows[:1]}")
            else:
                print(f"{path.name}: {len(got)} rows, {seconds:.2f} s")
        print(f"{failed} failed")
        sys.exit(1 if failed else 0)


main()
