"""Goal:   every probe of exec/sched/probes.h is in the programs, with its arguments, and what is under deploy/ for
        bpftrace and gdb fits the programs as they are.
Method: ELF notes read back with readelf; the bpftrace scripts parsed for probes and arguments that are there, and by
        bpftrace itself where it can run; the gdb commands on a live process, stopped in the middle of a job.
Usage:  probes_test.py MORSEL MORSELD [unittest arguments]"""
import json, os, pathlib, re, shutil, subprocess, sys, tempfile, unittest

MORSEL, MORSELD = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
ROOT = pathlib.Path(__file__).resolve().parents[2]
SLOW = 8 if any(name in str(MORSEL) for name in ("asan", "tsan")) else 1
JOB = {"rels": [{"scan": {"generator": {"name": "sequence", "rows": "1000000000000", "seed": "1"}}},
                {"aggregate": {"input": 1, "measures": [{"function": "AGGREGATE_FUNCTION_COUNT_STAR", "name": "n"}]}}]}


def documented():
    """Probe -> number of arguments, from the header's comment."""
    text = (ROOT / "exec/sched/probes.h").read_text()
    rows = re.findall(r"^ \*     (\w+) +(\S.*)$", text, re.M)
    return {name: len(re.sub(r"\([^)]*\)", "", arguments).split(",")) for name, arguments in rows}


def notes(program):
    """Probe -> argument counts of its places."""
    text = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
    found = {}
    for provider, name, arguments in re.findall(r"Provider: (\w+)\s+Name: (\w+)\s+Location:.*\s+Arguments:(.*)", text):
        if provider == "morseld":
            found.setdefault(name, set()).add(len(re.findall(r"-?\d+@", arguments)))
    return found


@unittest.skipUnless("PROBES" in os.environ.get("MORSEL_HAS", "PROBES"), "built without sys/sdt.h")
class Probes(unittest.TestCase):
    def test_every_probe_is_in_both_programs(self):
        wanted = documented()
        self.assertEqual(len(wanted), 9, wanted)
        for program in MORSEL, MORSELD:
            self.assertEqual(notes(program), {name: {count} for name, count in wanted.items()}, program)

    def test_bpftrace_scripts_name_what_is_there(self):
        wanted, scripts = documented(), sorted((ROOT / "deploy/bpftrace").glob("*.bt"))
        self.assertGreaterEqual(len(scripts), 3)
        for script in scripts:
            text = re.sub(r"/\*.*?\*/", "", script.read_text(), flags=re.S)
            blocks = re.findall(r"usdt:/usr/bin/morseld:morseld:(\w+)\s*\{(.*?)\n\}", text, re.S)
            self.assertEqual(text.count("usdt:"), len(blocks), script)
            self.assertTrue(blocks, script)
            for probe, body in blocks:
                self.assertIn(probe, wanted, script)
                for argument in re.findall(r"\barg(\d)\b", body):
                    self.assertLess(int(argument), wanted[probe], f"{script}: {probe}")

    def test_bpftrace_takes_them(self):
        # 0.17 resolves probes and types while it parses (-d): it needs root and a kernel that lets it look.
        bpftrace = shutil.which("bpftrace")
        if bpftrace is None or subprocess.run([bpftrace, "-d", "-e", "BEGIN { exit(); }"], capture_output=True).returncode:
            self.skipTest("no bpftrace that can run here")
        with tempfile.TemporaryDirectory() as folder:
            for script in sorted((ROOT / "deploy/bpftrace").glob("*.bt")):
                copy = pathlib.Path(folder) / script.name
                copy.write_text(script.read_text().replace("/usr/bin/morseld", str(MORSELD)))
                done = subprocess.run([bpftrace, "-d", copy], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, f"{script}: {done.stderr}")


class Gdb(unittest.TestCase):
    def test_commands_in_the_middle_of_a_job(self):
        gdb = shutil.which("gdb")
        if gdb is None:
            self.skipTest("no gdb")
        if SLOW > 1:
            self.skipTest("sanitized programs do not run under a debugger")
        with tempfile.TemporaryDirectory() as folder:
            job = pathlib.Path(folder) / "job.json"
            job.write_text(json.dumps(JOB))
            commands = ["set pagination off", "set debuginfod enabled off", f"source {ROOT / 'deploy/gdb/morseld.py'}",
                        "set breakpoint pending on", "handle SIGPIPE nostop noprint pass",
                        "break exec_job_status", # asked for progress ten times a second
                        "run", "ignore 1 3", "continue",
                        "morsel jobs", "morsel workers", "morsel deques", "kill"]
            environment = {k: v for k, v in os.environ.items() if not k.startswith("MORSEL")}
            done = subprocess.run([gdb, "-nx", "-batch", *(part for command in commands for part in ("-ex", command)), "--args",
                                   MORSEL, "run", job, "--threads", "2", "--progress", "always"],
                                  capture_output=True, text=True, timeout=300, env=environment)
        if "ptrace" in done.stderr and "not permitted" in done.stderr:
            self.skipTest("no ptrace here")
        out = done.stdout
        self.assertNotIn("Traceback", done.stderr)
        self.assertRegex(out, r"1 jobs running\njob 0x\w+  slot \d+  priority 0  pipes left [1-9]\d*  morsels [1-9]", done.stderr)
        self.assertRegex(out, r"  pipeline 0x\w+  1 generator  units left [1-9]\d{6,}  units a ms [1-9]")
        workers = re.findall(r"^ +([01]) +0 +-?\d+ +(-?\d+) +(\d+)  (runs|sleeps|searches) +(\d+) ", out, re.M)
        self.assertEqual([worker[0] for worker in workers], ["0", "1"], out)
        self.assertGreater(sum(int(worker[4]) for worker in workers), 0)
        found = re.findall(r"^  \[(\d+), (\d+)\)  (\d+) units  node 0  pipeline 0x\w+  1 generator$", out, re.M)
        self.assertTrue(found, out)  # of a trillion rows some wait in a deque
        for begin, end, units in found:
            self.assertEqual(int(end) - int(begin), int(units))
        self.assertRegex(out, r"slot \d+  seats [12]  queued ranges \d+  priority 0  had [\d.]+ ms")


if __name__ == "__main__":
    unittest.main(verbosity=2)
