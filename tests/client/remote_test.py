"""Goal:   the morsel tool against a real daemon: the same answers as with the embedded engine, table
        commands, cancelling, deadlines, what is left behind after a failure.
Method: one daemon for all tests, small files below its data root, generated sequences for long jobs.
Usage:  remote_test.py MORSEL MORSELD [unittest arguments]"""
import csv, io, json, os, pathlib, signal, subprocess, sys, tempfile, time, unittest

MORSEL, MORSELD = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
SLOW = 8 if any(name in str(MORSEL) for name in ("asan", "tsan")) else 1
SEQUENCE = {"scan": {"generator": {"name": "sequence", "rows": "1000000000000", "seed": "1"}}}
COUNT = {"aggregate": {"input": 1, "measures": [{"function": "AGGREGATE_FUNCTION_COUNT_STAR", "name": "n"}]}}


class Remote(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        (cls.root / "data").mkdir()
        (cls.root / "data/orders.csv").write_text("id,city,amount\n1,Rome,1.5\n2,Oslo,2.5\n3,Rome,\n4,,7\n")
        (cls.root / "data/people.csv").write_text("id,name\n1,Ada\n2,\"Kurt, G.\"\n2,Alan\n9,Emmy\n")
        (cls.root / "data/ragged.csv").write_text("a,b\n1,2\n3\n")
        (cls.root / "long.json").write_text(json.dumps({"rels": [SEQUENCE]}))
        (cls.root / "count.json").write_text(json.dumps({"rels": [SEQUENCE, COUNT]}))
        cls.log = open(cls.root / "log", "w")
        cls.daemon = subprocess.Popen(
            [MORSELD, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--port-file", cls.root / "ports",
             "--data-root", cls.root / "data", "--result-stall-timeout", f"{2 * SLOW}s"], stderr=cls.log)
        deadline = time.monotonic() + 30 * SLOW
        while not (cls.root / "ports").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        cls.server = "127.0.0.1:" + (cls.root / "ports").read_text().split()[0]
        cls.env = {k: v for k, v in os.environ.items() if not k.startswith("MORSEL")} | {"MORSEL_SERVER": cls.server}

    @classmethod
    def tearDownClass(cls):
        cls.daemon.send_signal(signal.SIGTERM)
        status = cls.daemon.wait(60 * SLOW)
        cls.log.close()
        log = (cls.root / "log").read_text()
        cls.folder.cleanup()
        if status != 0:
            raise AssertionError(f"morseld ended with {status}:\n{log}")

    def morsel(self, *arguments, code=0, stdin=None):
        done = subprocess.run([MORSEL, *arguments], cwd=self.root, capture_output=True, text=True, input=stdin,
                              env=self.env, timeout=60 * SLOW)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}")
        return done.stdout, done.stderr

    def rows(self, *arguments):
        return list(csv.DictReader(io.StringIO(self.morsel(*arguments)[0])))

    def test_the_same_answers_as_embedded(self):
        for format in "csv", "jsonl", "tsv":
            remote, _ = self.morsel("join", "server:orders.csv", "server:people.csv", "--on", "id", "--how", "full",
                                    "--order", "id, name", "-o", format)
            local = subprocess.run([MORSEL, "join", "data/orders.csv", "data/people.csv", "--on", "id", "--how", "full",
                                    "--order", "id, name", "-o", format], cwd=self.root, capture_output=True, text=True,
                                   env={k: v for k, v in self.env.items() if k != "MORSEL_SERVER"})
            self.assertEqual(remote, local.stdout)
        _, err = self.morsel("group", "server:orders.csv", "--agg", "n=count()", "--stats")
        self.assertIn("morsels local", err)

    def test_tables(self):
        self.assertIn("4 rows", self.morsel("upload", "orders", "data/orders.csv")[1])
        self.morsel("upload", "orders", "data/orders.csv", code=2)
        self.morsel("upload", "orders", "data/orders.csv", "--replace", "--types", "orders=amount:float32")
        self.morsel("load", "people", "people.csv")
        tables = {row["table"]: row for row in self.rows("tables")}
        self.assertEqual(tables["orders"]["columns"], "id int64, city utf8, amount float32")
        self.assertEqual(tables["people"]["rows"], "4")
        self.assertEqual(len(self.rows("join", "orders", "people", "--on", "id")), 3)
        # The result of one command is the input of the next.
        self.morsel("group", "orders", "--by", "city", "--agg", "n=count()", "-o", "arrow", "--out", "cities.arrows")
        self.morsel("upload", "cities", "cities.arrows")
        self.assertEqual(sorted(r["n"] for r in self.rows("group", "cities", "--by", "n")), ["1", "2"])
        (self.root / "cut.arrows").write_bytes((self.root / "cities.arrows").read_bytes()[:-40])
        self.morsel("upload", "cut", "cut.arrows", code=6)
        self.morsel("upload", "ragged", "data/ragged.csv", code=6)
        names = {row["table"] for row in self.rows("tables")}
        self.assertTrue({"orders", "people", "cities"} <= names and not names & {"cut", "ragged"}, names)
        self.morsel("drop", "cities")
        self.assertIn("'cities'", self.morsel("drop", "cities", code=2)[1])
        self.morsel("load", "x", "../long.json", code=6)
        self.morsel("load", "x", "missing.csv", code=6)

    def test_into_table(self):
        plan = {"rels": [{"scan": {"files": {"paths": ["orders.csv"]}}}]}
        out, _ = self.morsel("run", "-", stdin=json.dumps({"plan": plan, "intoTable": "kept"}))
        self.assertEqual(out, "")
        self.assertEqual(self.rows("group", "kept", "--agg", "n=count()"), [{"n": "4"}])
        self.morsel("run", "-", stdin=json.dumps({"plan": plan, "intoTable": "kept"}), code=2)
        self.morsel("run", "-", stdin=json.dumps({"plan": plan, "intoTable": "kept", "intoReplace": True}))

    def test_exit_codes(self):
        self.assertIn("ragged.csv:3", self.morsel("group", "server:ragged.csv", "--by", "a", "--agg", "sum(b)", code=6)[1])
        self.assertIn("^", self.morsel("group", "server:orders.csv", "--agg", "sum(nothing)", code=2)[1])
        self.morsel("group", "nothing", "--agg", "count()", code=2)
        self.morsel("group", "server:../ports", "--agg", "count()", code=6)
        self.morsel("group", "server:orders.csv", "--agg", "x=sum(1/(id-1))", code=1)
        self.morsel("run", "count.json", "--timeout", "200ms", code=5)
        self.morsel("run", "long.json", "--timeout", "2s", code=9)
        self.morsel("run", "long.json", "--timeout", "200ms", "--out", "never.csv", code=5)
        self.assertEqual([p.name for p in self.root.iterdir() if "never" in p.name], [])
        self.morsel("cancel", "no-such-job", code=2)

    def start(self, job, job_id):
        request = {"plan": json.loads((self.root / job).read_text()), "jobId": job_id}
        process = subprocess.Popen([MORSEL, "run", "-"], cwd=self.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=self.env)
        process.stdin.write(json.dumps(request).encode())
        process.stdin.close()
        process.stdin = None
        self.wait_for(job_id, "running")
        return process

    def wait_for(self, job_id, state):
        deadline = time.monotonic() + 20 * SLOW
        while time.monotonic() < deadline:
            if {row["job_id"]: row["state"] for row in self.rows("jobs")}.get(job_id) == state:
                return
            time.sleep(0.05)
        self.fail(f"{job_id} is not {state}")

    def test_cancel_by_id(self):
        process = self.start("count.json", "to-be-cancelled")
        self.assertIn("to-be-cancelled", self.morsel("cancel", "to-be-cancelled")[0])
        process.communicate(timeout=30 * SLOW)
        self.assertEqual(process.returncode, 7)
        self.wait_for("to-be-cancelled", "cancelled")

    def test_interrupt_cancels_the_job(self):
        process = self.start("count.json", "to-be-interrupted")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30 * SLOW)
        self.assertEqual((process.returncode, err), (130, b"morsel: interrupted\n"))
        self.wait_for("to-be-interrupted", "cancelled")

    def test_a_reader_that_goes_away_ends_the_job(self):
        process = self.start("long.json", "unread")
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual((process.stderr.read(), process.wait(30 * SLOW)), (b"", 141))
        process.stderr.close()
        self.wait_for("unread", "cancelled")

    def test_a_reader_that_pauses_is_told_why_it_lost_its_job(self):
        process = self.start("long.json", "paused")
        process.stdout.readline()
        deadline = time.monotonic() + 30 * SLOW
        while "paused,running" in self.morsel("jobs")[0] and time.monotonic() < deadline:
            time.sleep(0.2)
        _, err = process.communicate(timeout=60 * SLOW)
        self.assertIn("result_stall_timeout", err.decode())
        self.assertEqual(process.returncode, 9)

    def test_files_of_this_machine(self):
        (self.root / "here.csv").write_text("a\n1\n")
        _, err = self.morsel("group", "here.csv", "--agg", "n=count()", code=2)
        self.assertIn("--local", err)
        self.assertIn("server:here.csv", err)
        for local in ["--local"], ["-s", ""]:
            self.assertEqual(self.morsel("group", "here.csv", "--agg", "n=count()", *local)[0], "n\n1\n")
        (self.root / "here.txt").write_text("a\n1\n")
        self.morsel("upload", "from-text", "here.txt", "--csv", "format:csv")
        _, err = self.morsel("upload", "from-text", "here.csv", code=2)
        self.assertIn("table 'from-text' exists already; --replace replaces it", err)
        _, err = self.morsel("load", "from-text", "people.csv", code=2)
        self.assertIn("--replace", err)

    def test_ping_and_version(self):
        self.assertIn(self.server, self.morsel("ping")[0])
        self.assertRegex(self.morsel("version")[0], r"^morsel \d+\.\d+\.\d+\nserver morseld/\d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
