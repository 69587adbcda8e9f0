"""Goal:   what workers do can be seen: traces, profiles, `morsel top`, in process and on a server.
Method: the flights of 2013 joined and grouped with --trace, --stats and explain --analyze; the trace must load as
        JSON, its lanes not overlap, its rows be those of the input. `morsel top` once through a pipe while an
        endless job runs, and live on a pseudo terminal. Probes and gdb scripts are tested beside (probes_test.py).
Usage:  seen_test.py MORSEL MORSELD [unittest arguments]"""
import collections, json, os, pathlib, pty, re, select, signal, subprocess, sys, tempfile, time, unittest

MORSEL, MORSELD = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "data/nycflights13"
SLOW = 8 if any(name in str(MORSEL) for name in ("asan", "tsan")) else 1
FLIGHTS, AIRLINES = 60000, 16
ENDLESS = {"rels": [{"scan": {"generator": {"name": "sequence", "rows": "1000000000000", "seed": "1"}}},
                    {"aggregate": {"input": 1, "measures": [{"function": "AGGREGATE_FUNCTION_COUNT_STAR", "name": "n"}]}}]}


def lanes_of(trace):
    lanes = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            lanes[event["tid"]].append((round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000), event))
    return {worker: sorted(lane, key=lambda slice: slice[:2]) for worker, lane in lanes.items()}


class Seen(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        (cls.root / "endless.json").write_text(json.dumps(ENDLESS))
        cls.env = {k: v for k, v in os.environ.items() if not k.startswith("MORSEL")}
        subprocess.run([MORSEL, "sql", f"SELECT * FROM f LIMIT {FLIGHTS}", "--table", f"f={DATA / 'flights.csv.zst'}",
                        "--null", "NA", "--out", cls.root / "flights.csv"], env=cls.env, check=True)
        (cls.root / "airlines.csv.zst").write_bytes((DATA / "airlines.csv.zst").read_bytes())
        cls.log = open(cls.root / "log", "w")
        cls.daemon = subprocess.Popen(
            [MORSELD, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--port-file", cls.root / "ports",
             "--workers", "2", "--data-root", cls.root], stderr=cls.log)
        deadline = time.monotonic() + 30 * SLOW
        while not (cls.root / "ports").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        cls.server = "127.0.0.1:" + (cls.root / "ports").read_text().split()[0]

    @classmethod
    def tearDownClass(cls):
        cls.daemon.send_signal(signal.SIGTERM)
        status = cls.daemon.wait(60 * SLOW)
        cls.log.close()
        log = (cls.root / "log").read_text()
        cls.folder.cleanup()
        if status != 0:
            raise AssertionError(f"morseld ended with {status}:\n{log}")

    def morsel(self, *arguments, code=0):
        done = subprocess.run([MORSEL, *arguments], cwd=self.root, capture_output=True, text=True, env=self.env,
                              timeout=120 * SLOW)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}")
        return done.stdout, done.stderr

    def join(self, server):
        names = ("server:flights.csv", "server:airlines.csv.zst") if server else ("flights.csv", DATA / "airlines.csv.zst")
        return ["join", *names, "--on", "carrier", "--select", "l.flight, r.name",
                *(["--server", self.server] if server else ["--threads", "2"])]

    def check_trace(self, trace):
        self.assertEqual(trace["otherData"]["dropped"], 0)
        lanes = lanes_of(trace)
        names = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
        self.assertEqual(names, {0: "worker 0 (node 0)", 1: "worker 1 (node 0)"})
        for worker, lane in lanes.items():
            for before, after in zip(lane, lane[1:]):
                self.assertLessEqual(before[1], after[0], f"worker {worker} does two things at once: {before} {after}")
        rows, ends = collections.Counter(), collections.Counter()
        for lane in lanes.values():
            for begin, end, event in lane:
                self.assertIn(event["cat"], ("morsel", "finish", "plan", "idle"))
                if event["cat"] == "morsel":
                    rows[re.search(r"file scan \(\d\)|$", event["name"])[0]] += event["args"]["rows"]
                ends[event["name"]] += event["cat"] == "finish"
        self.assertEqual((rows["file scan (1)"], rows["file scan (2)"]), (FLIGHTS, AIRLINES), rows)
        self.assertEqual({count for name, count in ends.items() if name.startswith("end of ")}, {1}, ends)
        # Every wait that begins ends, and file input has waited for its file.
        begun = {e["id"]: e["ts"] for e in trace["traceEvents"] if e["ph"] == "b"}
        ended = {e["id"]: e["ts"] for e in trace["traceEvents"] if e["ph"] == "e"}
        self.assertEqual(begun.keys(), ended.keys())
        self.assertTrue(all(begun[id] <= ended[id] for id in begun))

    def test_a_trace_of_the_embedded_engine_and_of_a_server(self):
        for server in False, True:
            path = self.root / f"trace-{server}.json"
            self.morsel(*self.join(server), "--trace", path, "--out", "rows.csv")
            self.check_trace(json.loads(path.read_text()))
            self.assertEqual((self.root / "rows.csv").read_text().count("\n"), FLIGHTS + 1)

    def test_traces_of_every_command_that_runs(self):
        files = ["--table", "f=flights.csv"]
        job = self.morsel("sql", "SELECT count(*) AS n FROM f", *files, "--emit-plan")[0]
        (self.root / "job.json").write_text(job)
        for arguments in (["sql", "SELECT count(*) AS n FROM f", *files],
                          ["group", "flights.csv", "--agg", "n=count()"], ["run", "job.json"]):
            out, _ = self.morsel(*arguments, "--trace", "trace.json")
            self.assertEqual(out, f"n\n{FLIGHTS}\n")
            events = json.loads((self.root / "trace.json").read_text())["traceEvents"]
            self.assertEqual(sum(e["args"]["rows"] for e in events if e.get("cat") == "morsel" and "file scan" in e["name"]),
                             FLIGHTS)

    def test_a_trace_that_cannot_be_written(self):
        for server in False, True:
            _, err = self.morsel(*self.join(server), "--trace", "/no/such/folder/trace.json", code=2)
            self.assertIn("--trace /no/such/folder/trace.json: No such file or directory", err)
        self.morsel(*self.join(False), "--trace", "failed.json", "--memory", "64K", "--out", "rows.csv", code=4)
        self.assertEqual([p.name for p in self.root.iterdir() if "failed" in p.name], [])

    def test_stats_and_analyze(self):
        for server in False, True:
            _, err = self.morsel(*self.join(server), "--stats", "--out", "rows.csv")
            head, *rows = err.strip().splitlines()[-4:]
            for word in "worker", "morsels local", "socket", "remote", "steals smt", "search s", "park s", "credit waits", "io waits":
                self.assertIn(word, head)
            self.assertEqual([row.split()[0] for row in rows], ["0", "1", "all"])
            self.assertEqual(int(rows[2].split()[4]), FLIGHTS + AIRLINES)  # no node column
            text, _ = self.morsel("explain", *self.join(server), "--analyze", "--json")
            plan = json.loads(text)
            join = plan["plan"]
            while join["kind"] != "join":
                join = join["inputs"][0]
            self.assertEqual([(i["rows"], i["busy_ns"] > 0) for i in join["inputs"]], [(FLIGHTS, True), (AIRLINES, True)])
            self.assertGreater(join["rows_estimate"], 0)
            self.assertEqual(sum(w["rows_local"] for w in plan["workers"]), FLIGHTS + AIRLINES)
            for figure in "steals_l3", "morsels_socket", "search_ns", "parked_ns", "credit_waits", "io_wait_ns":
                self.assertIn(figure, plan["workers"][0])
        text, _ = self.morsel("sql", "SELECT count(*) AS n FROM f", "--table", "f=flights.csv", "--explain", "--analyze")
        self.assertRegex(text, rf"actual {FLIGHTS}  time \d")
        self.assertRegex(text, r"waits credit \d+ \([\d.]+ ms\) io \d+")
        self.morsel("sql", "SELECT 1 AS n", "--analyze", code=2)

    def endless(self):
        job = subprocess.Popen([MORSEL, "run", "endless.json", "--server", self.server], cwd=self.root, env=self.env,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(job.wait)
        self.addCleanup(job.terminate)
        deadline = time.monotonic() + 30 * SLOW
        while "running" not in self.morsel("jobs", "--server", self.server)[0] and time.monotonic() < deadline:
            time.sleep(0.05)

    def test_top_once(self):
        self.endless()
        picture, _ = self.morsel("top", "--server", self.server, "--interval", "500ms")
        lines = picture.splitlines()
        self.assertRegex(lines[0], r"^morseld \S+  up \d+ s  jobs: 1 running, 0 queued, \d+ ended$")
        self.assertRegex(lines[1], r"^memory: .* of .*iB  jobs .*  tables ")
        self.assertEqual(lines[2].split(), "worker busy search park morsels/s rows/s local steals:smt l3 node remote".split())
        workers = [line for line in lines if re.match(r"\d+ node", line)]
        self.assertEqual(len(workers), 2)
        shares = [[float(share) for share in re.findall(r"([\d.]+)%", line)[:3]] for line in workers]
        self.assertGreater(max(share[0] for share in shares), 10, picture)  # somebody works
        for share in shares:  # and all of the time is one of the three, but for a morsel at either end
            self.assertTrue(20 < sum(share) < 180, picture)
        self.assertRegex(lines[-1], r"running +[\d.]+ +[\d.]+ +\d+ ")

    def test_top_without_a_server(self):
        self.assertIn("--server", self.morsel("top", code=2)[1])
        self.morsel("top", "--server", "127.0.0.1:1", code=3)

    def test_top_on_a_terminal(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ.pop("MORSEL_SERVER", None)
            os.execv(MORSEL, ["morsel", "top", "--server", self.server, "--interval", "100ms"])
        seen, deadline = b"", time.monotonic() + 60 * SLOW
        while seen.count(b"\033[H") < 3 and time.monotonic() < deadline:
            if select.select([terminal], [], [], 1)[0]:
                seen += os.read(terminal, 65536)
        os.kill(pid, signal.SIGINT)
        while True:  # what is left, so that it can end
            try:
                if not os.read(terminal, 65536):
                    break
            except OSError:
                break
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertGreaterEqual(seen.count(b"\033[H"), 3)
        self.assertIn(b"morsels/s", seen)


if __name__ == "__main__":
    unittest.main(verbosity=2)
