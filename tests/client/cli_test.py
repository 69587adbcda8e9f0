"""Goal:   the morsel tool as a user meets it, with the engine in its own process: answers, exit codes,
        what goes to stdout and stderr, signals.
Method: run the program on small files written here; long jobs are generated sequences.
Usage:  cli_test.py MORSEL [unittest arguments]"""
import csv, io, json, os, pathlib, signal, subprocess, sys, tempfile, time, unittest

MORSEL = pathlib.Path(sys.argv.pop(1)).resolve()
SLOW = 8 if any(name in str(MORSEL) for name in ("asan", "tsan")) else 1
LONG = {"rels": [{"scan": {"generator": {"name": "sequence", "rows": "1000000000000", "seed": "1"}}}]}
LONG_COUNT = {"rels": LONG["rels"] + [{"aggregate": {"input": 1, "measures": [
    {"function": "AGGREGATE_FUNCTION_COUNT_STAR", "name": "n"}]}}]}


class Cli(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.write("orders.csv", "id,city,amount\n1,Rome,1.5\n2,Oslo,2.5\n3,Rome,\n4,,7\n")
        self.write("people.csv", "id,name\n1,Ada\n2,\"Kurt, G.\"\n2,Alan\n9,Emmy\n")
        self.write("bad.csv", "id,amount\n1,1.5\n2,zz\n")
        self.write("ragged.csv", "a,b\n1,2\n3\n")
        self.write("blank.csv", "a,b\n1,\n")
        self.write("long.json", json.dumps(LONG))
        self.write("count.json", json.dumps(LONG_COUNT))
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("MORSEL")}

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        (self.root / name).write_text(text)

    def morsel(self, *arguments, code=0, stdin=None, env=None):
        done = subprocess.run([MORSEL, *arguments], cwd=self.root, capture_output=True, text=True, input=stdin,
                              env=self.env | (env or {}), timeout=60 * SLOW)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}")
        return done.stdout, done.stderr

    def rows(self, *arguments):
        return list(csv.reader(io.StringIO(self.morsel(*arguments)[0])))

    def test_group(self):
        rows = self.rows("group", "orders.csv", "--by", "city", "--agg", "n=count(), t=sum(amount)", "--order", "-n, city")
        self.assertEqual(rows, [["city", "n", "t"], ["Rome", "2", "1.5"], ["Oslo", "1", "2.5"], ["", "1", "7"]])
        out, _ = self.morsel("group", "orders.csv", "--agg", "n=count(), a=avg(amount), m=max(city)", "-o", "jsonl")
        self.assertEqual(json.loads(out), {"n": 4, "a": 11 / 3, "m": "Rome"})
        out, _ = self.morsel("group", "orders.csv", "--by", "c=city", "--agg", "n=count()", "--having", "n > 1", "-o", "tsv")
        self.assertEqual(out, "c\tn\nRome\t2\n")
        rows = self.rows("group", "orders.csv", "--by", "id % 2", "--agg", "count()", "--where", "amount is not null",
                         "--order", "column1", "--top", "1")
        self.assertEqual(rows, [["column1", "count"], ["0", "2"]])

    def test_join(self):
        rows = self.rows("join", "orders.csv", "people.csv", "--on", "id", "--order", "id, name")
        self.assertEqual(rows, [["id", "city", "amount", "name"], ["1", "Rome", "1.5", "Ada"],
                                ["2", "Oslo", "2.5", "Alan"], ["2", "Oslo", "2.5", "Kurt, G."]])
        rows = self.rows("join", "orders.csv", "people.csv", "--on", "id", "--how", "left", "--where", "r.id is null",
                         "--select", "orders.id, x = l.id * 10", "--order", "-x")
        self.assertEqual(rows, [["id", "x"], ["4", "40"], ["3", "30"]])
        rows = self.rows("join", "orders.csv", "people.csv", "--on", "orders.id = people.id", "--limit", "1")
        self.assertEqual(len(rows), 2)

    def test_names(self):
        rows = self.rows("group", "orders.csv", "--by", "x = amount is null", "--agg", "n=count()", "--order", "n")
        self.assertEqual(rows, [["x", "n"], ["true", "1"], ["false", "3"]])
        rows = self.rows("join", "orders.csv", "people.csv", "--on", "id", "--select", "id, big = l.amount > 2",
                         "--order", "id", "--limit", "2")
        self.assertEqual(rows, [["id", "big"], ["1", "false"], ["2", "true"]])
        for arguments, word in [
            (["group", "orders.csv", "--by", "id = 1", "--agg", "count()"], "'id' is a constant"),
            (["group", "orders.csv", "--agg", "n=count(), n=sum(id)"], "two columns are called 'n'"),
            (["group", "orders.csv", "--agg", "array_agg(amount)"], "array_agg() is not implemented yet; 'morsel help functions'"),
            (["group", "orders.csv", "--agg", "nofunc(id)"], "unknown function nofunc()"),
            (["group", "orders.csv", "--agg", "x=amount"], "'amount' is neither a key nor an aggregate"),
            (["join", "orders.csv", "people.csv", "--on", "id", "--select", "l.id, r.id"], "two columns are called 'id'"),
        ]:
            self.assertIn(word, self.morsel(*arguments, code=2)[1])

    def test_mark_and_not_in(self):
        rows = self.rows("join", "orders.csv", "people.csv", "--on", "id", "--how", "mark", "--select", "id, mark",
                         "--order", "id")
        self.assertEqual(rows[1:], [["1", "true"], ["2", "true"], ["3", "false"], ["4", "false"]])
        self.assertEqual(self.rows("join", "orders.csv", "people.csv", "--on", "id", "--how", "mark", "--limit", "0"),
                         [["id", "city", "amount", "mark"]])
        self.write("nulls.csv", "id,other\n1,2\n,2\n")
        for how, ids in ("anti", ["2", "3", "4"]), ("not-in", []):
            rows = self.rows("join", "orders.csv", "nulls.csv", "--on", "id", "--how", how, "--order", "id")
            self.assertEqual([row[0] for row in rows[1:]], ids, how)

    def test_options_of_inputs(self):
        self.write("semi.txt.csv", "1;NA\n2;7\n")
        rows = self.rows("group", "semi.txt.csv", "--csv", "semi=header:false|delimiter:;|null:NA", "--types",
                         "semi=k:int32;v:int32", "--agg", "count(), n=count(v), s=sum(v)")
        self.assertEqual(rows[1], ["2", "1", "7"])
        self.write("l.txt", "a\tb\n1\t2\n")
        self.assertIn("--csv format:csv", self.morsel("group", "l.txt", "--agg", "count()", code=2)[1])
        self.assertEqual(self.rows("group", "l.txt", "--csv", "l=format:tsv", "--agg", "b=sum(b)"), [["b"], ["2"]])
        self.assertEqual(self.rows("group", "l.txt", "--csv", "format:csv|delimiter:tab", "--agg", "b=sum(b)"), [["b"], ["2"]])
        self.assertIn("none of format:csv|tsv", self.morsel("group", "l.txt", "--csv", "format:xml", "--agg", "count()", code=2)[1])
        self.write("x.arrow", "")
        self.assertIn("reading Arrow files ('x.arrow')", self.morsel("group", "x.arrow", "--agg", "count()", code=2)[1])
        self.assertIn("no input is called 'other'",
                      self.morsel("group", "orders.csv", "--csv", "other=header:false", "--agg", "count()", code=2)[1])
        self.assertEqual(self.morsel("group", "-", "--agg", "n = count()", stdin="a\n1\n2\n")[0], "n\n2\n")
        self.assertIn("given twice", self.morsel("join", "-", "-", "--on", "a", code=2, stdin="a\n1\n")[1])
        self.assertIn("no input is called 'amount'; write [INPUT=]COLUMN:TYPE",
                      self.morsel("group", "orders.csv", "--types", "amount=int64", "--agg", "count()", code=2)[1])
        self.morsel("group", "orders.csv", "--types", "amount:nosuch", "--agg", "count()", code=2)

    def test_data_on_stdout_and_all_else_on_stderr(self):
        out, err = self.morsel("group", "orders.csv", "--agg", "n=count()", "-o", "table", "--stats", "-v")
        self.assertEqual(out, " n\n---\n 4\n")
        self.assertIn("1 row, ", err)
        self.assertIn("worker", err)
        out, err = self.morsel("group", "orders.csv", "--agg", "n=count()", "--progress", "auto")
        self.assertEqual((out, err), ("n\n4\n", ""))
        out, err = self.morsel("group", "orders.csv", "--agg", "n=count()", "-o", "table", "-q")
        self.assertEqual(err, "")
        rows = "".join(f"{i}\n" for i in range(1000))
        self.write("many.csv", "i\n" + rows)
        out, err = self.morsel("group", "many.csv", "--by", "i", "-o", "table")
        self.assertEqual(len(out.splitlines()), 42)
        self.assertIn("1,000 rows (showing 40)", err)

    def test_settings_do_not_change_the_answer(self):
        for setting in ["policy=static", "policy=shared", "policy=steal", "probe_mode=routed", "probe_mode=replicated", "morsel_rows=1", "io_uring=off", "workers=3",
                        "memory_limit=512M"]:
            out, _ = self.morsel("group", "orders.csv", "--agg", "n=count()", "--set", setting, "--threads", "4")
            self.assertEqual(out, "n\n4\n", setting)

    def test_exit_codes(self):
        for code, arguments, word in [
            (1, ["group", "orders.csv", "--agg", "x = sum(1 / (id - 1))"], "division by zero"),
            (2, [], "Usage"),
            (2, ["frobnicate"], "frobnicate"),
            (2, ["group", "orders.csv"], "--by"),
            (2, ["group"], "too few arguments"),
            (2, ["join", "orders.csv", "people.csv"], "--on"),
            (2, ["join", "orders.csv", "people.csv", "--on", "id", "--how", "sideways"], "sideways"),
            (2, ["join", "orders.csv", "people.csv", "--on", "nothing"], "nothing"),
            (2, ["group", "orders.csv", "--by", "nothing", "--agg", "count()"], "nothing"),
            (2, ["group", "orders.csv", "--agg", "sum(city)"], "sum"),
            (2, ["group", "orders.csv", "--agg", "sum("], "syntax error"),
            (2, ["group", "orders.csv", "--agg", "count()", "--set", "colour=red"], "colour"),
            (2, ["group", "orders.csv", "--agg", "count()", "--set", "policy=red"], "numa"),
            (2, ["group", "orders.csv", "--agg", "count()", "--set", "io_uring=maybe"], "io_uring=maybe"),
            (2, ["group", "orders.csv", "--agg", "count()", "--set", "float_sum=fast"], "exact or plain"),
            (2, ["group", "orders.csv", "--agg", "count()", "--out", "/nonexistent/x"], "/nonexistent/x"),
            (2, ["group", "orders.csv", "--agg", "count()", "--by", "id", "--order", "id using >"], "USING"),
            (2, ["group", "orders.csv", "--agg", "count()", "--where", "lower(city order by id) = 'x'"], "aggregate"),
            (2, ["group", "orders.csv", "--agg", "count()", "--where", "other.lower(city) = 'x'"], "schema"),
            (2, ["group", "orders.csv", "--agg", "x = sum(cast(amount as decimal))"], "numeric(38, 6)"),
            (2, ["group", "orders.csv", "--agg", "count()", "--where", b"city = '\xff'"], "UTF-8"),
            (4, ["group", "orders.csv", "--agg", "count()", "--where", "not " * 3000 + "true"], "nested too deeply"),
            (2, ["jobs"], "--server"),
            (3, ["ping", "--server", "127.0.0.1:1"], "127.0.0.1"),
            (3, ["group", "t", "--agg", "count()", "--server", "127.0.0.1:1"], "127.0.0.1"),
            (5, ["run", "count.json", "--timeout", "100ms"], "deadline"),
            (6, ["group", "nothing.csv", "--agg", "count()"], "nothing.csv"),
            (6, ["group", "ragged.csv", "--by", "a", "--agg", "sum(b)"], "ragged.csv:3"),
            (2, ["group", "blank.csv", "--by", "a", "--agg", "sum(b)"], "b has no value that tells its type; give it"),
            (2, ["group", "orders.csv", "--by", "id", "--where", "id > 'x'"], "the text 'x' stands beside int64"),
            (6, ["group", "bad.csv", "--types", "amount:float64", "--agg", "sum(amount)"], "'amount': \"zz\""),
            (9, ["run", "long.json", "--timeout", "2s"], "deadline"),
        ]:
            out, err = self.morsel(*arguments, code=code)
            self.assertIn(word, err)
            if code != 9:
                self.assertEqual(out, "")

    def test_errors_point_at_the_text(self):
        _, err = self.morsel("group", "orders.csv", "--agg", "n=count(), x=sum(nothing)", code=2)
        lines = err.splitlines()
        self.assertEqual(lines[1][lines[2].index("^"):].split(")")[0], "nothing")
        _, err = self.morsel("join", "orders.csv", "people.csv", "--on", "id", "--where", "'é' = city and zz > 1", code=2)
        lines = err.splitlines()
        self.assertTrue(lines[1][lines[2].index("^"):].startswith("zz"), err)
        self.write("lines.sql", "select id,\n\tnothing,\n  city\nfrom orders\n")
        _, err = self.morsel("sql", "-f", "lines.sql", "--table", "orders=orders.csv", code=2)
        self.assertEqual(err.splitlines()[1:], ["  SQL \tnothing,", "      \t^"])
        long = "'" + "é" * 300 + "' = city and zz > 1 and city <> '" + "é" * 300 + "'"
        _, err = self.morsel("group", "orders.csv", "--by", "city", "--where", long, code=2)
        lines = err.splitlines()
        self.assertTrue(lines[1][lines[2].index("^"):].startswith("zz > 1"), err)
        self.assertTrue(lines[1].startswith("  --where ...é") and lines[1].endswith("é..."), err)
        self.assertLess(len(lines[1]), 220)
        _, err = self.morsel("group", "ragged.csv", "--by", "a", "--agg", "sum(b)", "--errors", "json", code=6)
        error = json.loads(err)["error"]
        self.assertEqual((error["code"], error["exit"], error["line"]), ("BAD_DATA", 6, 3))

    def test_job_files(self):
        out, _ = self.morsel("run", "-", "--limit", "2", stdin=json.dumps(LONG))
        self.assertEqual(len(out.splitlines()), 3)
        request = {"plan": LONG_COUNT, "options": {"timeout": "0.05s"}}
        self.assertIn("deadline", self.morsel("run", "-", stdin=json.dumps(request), code=5)[1])
        self.assertIn("stdin:1:", self.morsel("run", "-", stdin='{"rels": [{"scan": {"fils": {}}}]}', code=2)[1])
        self.assertIn("relation 3", self.morsel("run", "-", stdin='{"rels": [{"filter": {"input": 3}}]}', code=2)[1])
        self.morsel("run", "missing.json", code=6)

    def test_explain(self):
        out, _ = self.morsel("explain", "join", "orders.csv", "people.csv", "--on", "id")
        self.assertIn("join", out)
        out, _ = self.morsel("explain", "group", "orders.csv", "--by", "city", "--analyze")
        self.assertIn("actual", out)
        out, _ = self.morsel("explain", "run", "count.json")
        self.assertIn("aggregate", out)
        json.loads(self.morsel("explain", "count.json", "--json")[0])

    def test_out_file_is_all_or_nothing(self):
        self.morsel("group", "orders.csv", "--agg", "n=count()", "--out", "answer.csv")
        self.assertEqual((self.root / "answer.csv").read_text(), "n\n4\n")
        self.morsel("run", "long.json", "--timeout", "300ms", "--out", "never.csv", code=5)
        self.assertEqual([p.name for p in self.root.iterdir() if "never" in p.name], [])

    def test_a_full_disk(self):
        for arguments in (["group", "orders.csv", "--agg", "n=count()"], ["explain", "count.json"], ["help"], ["version"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([MORSEL, *arguments], cwd=self.root, stdout=full, stderr=subprocess.PIPE, text=True, env=self.env)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIn("cannot write stdout", done.stderr)

    def test_closed_streams(self):
        # The number of a closed stream must not go to the next file opened: the error would be in it.
        self.write("error.sh", '"$1" group bad.csv --types amount:float64 --agg "x=sum(amount)" --out answer.csv 2>&-; echo $?; ls\n'
                               'echo 1,2 > kept.csv; "$1" group orders.csv --agg "n=count()" --out kept.csv 2>&-; cat kept.csv\n'
                               '"$1" group orders.csv --agg "n=count()" >&-; echo $?\n')
        done = subprocess.run(["sh", "error.sh", MORSEL], cwd=self.root, capture_output=True, text=True, env=self.env)
        self.assertEqual(done.stdout.split("\n")[0], "6", done.stderr)
        self.assertNotIn("answer.csv", done.stdout)
        self.assertEqual(done.stdout.split("\n")[-4:], ["n", "4", "1", ""])
        self.assertIn("cannot write stdout: Bad file descriptor", done.stderr)

    def test_help(self):
        self.assertIn("join", self.morsel("help")[0])
        self.assertIn("--on", self.morsel("join", "--help")[0])
        self.assertIn("--agg", self.morsel("help", "group")[0])
        self.assertIn("morsel ", self.morsel("version")[0])
        self.morsel("help", "nothing", code=2)
        self.assertEqual(self.morsel("--version")[0], self.morsel("version")[0])
        self.assertNotIn("--local", self.morsel("help", "tables")[0])
        self.assertIn("--local is not an option of morsel tables", self.morsel("tables", "--local", code=2)[1])
        out, _ = self.morsel("help", "functions")
        for word in ["  date_trunc ", "any_value", "timestamp[us,UTC]", "decimal(DIGITS,SCALE)", "nullif", " int64"]:
            self.assertIn(word, out)
        self.assertNotIn(".arrow", self.morsel("help", "group")[0])
        self.assertIn(".arrows", self.morsel("help", "upload")[0])
        self.assertIn("an Arrow IPC stream", self.morsel("help", "group")[0])

    def test_hints(self):
        self.write("days.csv", "day\n2024-01-31\n")
        group = ["group", "days.csv", "--agg", "n=count()", "--types", "day:date32", "--where"]
        _, err = self.morsel(*group, "concat(day::utf8, '') = day", code=2)
        self.assertIn("a date is written date '2024-01-31'", err)
        self.assertEqual(self.morsel(*group, "day = date '2024-01-31'")[0], "n\n1\n")
        self.write("na.csv", "v\n" + "17\n" * 300000 + "NA\n")
        _, err = self.morsel("group", "na.csv", "--agg", "s=sum(v)", code=6)
        self.assertIn("give its type); if it means NULL: --null 'NA'", err)
        self.assertEqual(self.morsel("group", "na.csv", "--agg", "s=sum(v)", "--null", "NA")[0], "s\n5100000\n")

    def interrupted(self, number, job="count.json", times=1):
        process = subprocess.Popen([MORSEL, "run", job], cwd=self.root, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, env=self.env)
        time.sleep(0.5 * SLOW)
        for _ in range(times):
            process.send_signal(number)
        _, err = process.communicate(timeout=30 * SLOW)
        return process.returncode, err.decode()

    def test_signals(self):
        self.assertEqual(self.interrupted(signal.SIGINT), (130, "morsel: interrupted\n"))
        self.assertEqual(self.interrupted(signal.SIGTERM), (7, "morsel: terminated\n"))

    def test_a_killed_run_leaves_no_file(self):
        try:
            os.close(os.open(self.root, os.O_TMPFILE | os.O_WRONLY))
        except OSError:
            self.skipTest("no files without a name here")
        before = sorted(os.listdir(self.root))
        process = subprocess.Popen([MORSEL, "run", "long.json", "--out", "killed.csv"], cwd=self.root,
                                   stderr=subprocess.DEVNULL, env=self.env)
        time.sleep(0.5 * SLOW)
        process.kill()
        self.assertEqual(process.wait(30 * SLOW), -signal.SIGKILL)
        self.assertEqual(sorted(os.listdir(self.root)), before)

    def test_a_reader_that_goes_away(self):
        process = subprocess.Popen([MORSEL, "run", "long.json"], cwd=self.root, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=self.env)
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
        process.stderr.close()
        self.assertEqual((process.wait(30 * SLOW), err), (141, b""))


if __name__ == "__main__":
    unittest.main()
