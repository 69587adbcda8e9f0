"""Goal:   the examples give SQLite's answers, through a stock grpcio client and pyarrow, through the
        remote CLI and through the embedded CLI; the concatenated chunks are one Arrow stream.
Method: SQLite runs examples/*.sql over the same compressed files; compare row by row, in order."""
import csv, io, math, sqlite3, subprocess, unittest

import pyarrow as pa

from daemon import MORSEL, ROOT, SLOW, Daemon, example

EXAMPLES = ("main_job", "left_join_unmatched", "planes_by_origin")
NUMBER = "year month day dep_time sched_dep_time dep_delay arr_time sched_arr_time arr_delay flight air_time distance hour minute seats engines speed lat lon alt tz".split()


def sqlite_with_data():
    db = sqlite3.connect(":memory:")
    for table in ("flights", "airlines", "airports", "planes"):
        text = subprocess.run(["zstd", "-dcq", ROOT / f"data/nycflights13/{table}.csv.zst"], capture_output=True, check=True).stdout.decode()
        rows = csv.reader(io.StringIO(text))
        header = next(rows)
        columns = ", ".join(f"{name} {'NUMERIC' if name in NUMBER else 'TEXT'}" for name in header)
        db.execute(f"CREATE TABLE {table} ({columns})")
        marks = ", ".join("?" * len(header))
        db.executemany(f"INSERT INTO {table} VALUES ({marks})", ([None if v == "NA" else v for v in row] for row in rows))
    return db


def same(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(float(a), float(b), rel_tol=1e-12)
    return a == b if not isinstance(a, int) else a == int(b)


class MainJob(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        db = sqlite_with_data()
        cls.answers = {name: db.execute((ROOT / f"examples/{name}.sql").read_text()).fetchall() for name in EXAMPLES}

    def check(self, name, rows):
        expected = self.answers[name]
        self.assertEqual(len(rows), len(expected))
        for got, want in zip(rows, expected):
            self.assertTrue(all(same(g, w) for g, w in zip(got, want)), f"{name}: got {got}, SQLite says {want}")

    def test_grpcio_and_pyarrow(self):
        with Daemon() as daemon:
            for name in EXAMPLES:
                data, finished, responses = daemon.run(example(name))
                table = pa.ipc.open_stream(data).read_all()
                table.validate(full=True)
                self.assertEqual(finished.row_count, table.num_rows)
                self.assertEqual([r.sequence for r in responses], list(range(1, len(responses) + 1)))
                self.check(name, [tuple(v.as_py() for v in row) for row in zip(*table.columns)])

    def test_cli(self):
        with Daemon() as daemon:
            for remote in (["--server", f"127.0.0.1:{daemon.port}"], []):
                for name in EXAMPLES:
                    done = subprocess.run([MORSEL, "run", f"examples/{name}.json", "-o", "csv", *remote], cwd=ROOT,
                                          capture_output=True, text=True, timeout=60 * SLOW)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    rows = list(csv.reader(io.StringIO(done.stdout)))[1:]
                    want = self.answers[name]
                    typed = [tuple(None if text == "" else type(w)(text) if w is not None else text for text, w in zip(row, wanted))
                             for row, wanted in zip(rows, want)]
                    self.check(name, typed)

    def test_worker_counters_add_up(self):
        with Daemon("--workers", "2") as daemon:
            daemon.run(example("main_job"))
            morsels = daemon.metric_sum("morsel_worker_morsels_total")
            self.assertGreater(morsels, 0)
            self.assertEqual(morsels, daemon.metric_sum("morsel_worker_morsels_total", locality="local")
                             + daemon.metric_sum("morsel_worker_morsels_total", locality="remote"))


if __name__ == "__main__":
    unittest.main()
