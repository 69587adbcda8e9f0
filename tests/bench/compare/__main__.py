"""morseld beside its peers, in one run: same data already loaded, same number of threads, repetitions interleaved and
their order turned each time, results materialised in the engine's own memory, checksums compared outside the timed
region.

Usage: scripts/compare.sh [SUITE]... [--rows N] [--k K] [--scale S] [--repetitions N] [--threads N]
                          [--engines A,B] [--questions q1,q2] [--out FOLDER]
SUITE: groupby join micro tpch (all of them by default). README.md beside this file says what is fair and why."""
import argparse, json, pathlib, platform, subprocess, sys, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import report, suites  # noqa: E402
from engine_process import EngineProcess  # noqa: E402


def limits(build):
    """What this machine can do, measured first: GB/s of a stream and random lines a second, one and two threads."""
    return json.loads(subprocess.run([build / "bin/bench_limits"], capture_output=True, text=True, check=True).stdout)


def say(text):
    print(text, file=sys.stderr, flush=True)


def agree(a, b):
    if a["rows"] != b["rows"] or len(a["sums"]) != len(b["sums"]):
        return False
    # Some round an average of decimals to six places: half a unit of them a row is no other answer.
    return all(abs(x - y) <= 1e-6 * max(abs(x), abs(y), a["rows"]) for x, y in zip(a["sums"], b["sums"]))


def run_suite(name, options, args, machine):
    arguments = {"name": name, "folder": str(args.data), **options}
    say(f"{name}: making the data")
    suite = suites.make(**arguments)
    chosen = [e for e in suite.engines if not args.engines or e in args.engines]
    asked = [q for q in suite.questions if not args.questions or q.name in args.questions]
    processes, loads = {}, {}
    for engine in chosen:
        say(f"{name}: loading {engine}")
        process = processes[engine] = EngineProcess(engine, args.threads, arguments)
        loads[engine] = {"seconds": 0, "version": process.version}
        for table in suite.tables:
            loaded = process.ask("load", table=table)
            if "error" in loaded:
                sys.exit(f"{engine} did not load {table}: {loaded['error']}")
            loads[engine]["seconds"] += loaded["seconds"]
            loads[engine]["resident"] = loaded["resident"]
    results = []
    for question in asked:
        runs = {engine: [] for engine in chosen}
        errors, checks = {}, {}
        for repetition in range(args.repetitions + 1):
            turn = repetition % len(chosen)
            for engine in chosen[turn:] + chosen[:turn]:
                if engine in errors:
                    continue
                got = processes[engine].ask("run", question=question.name, check=repetition == 0)
                if "error" in got:
                    errors[engine] = got["error"]
                elif repetition == 0:
                    checks[engine] = {"rows": got["rows"], "sums": got["sums"], "cold": got["seconds"]}
                else:
                    runs[engine].append(got)
        reference = checks.get("duckdb") or next(iter(checks.values()), None)
        for engine in list(checks):
            if reference and not agree(reference, checks[engine]):
                errors[engine] = f"another answer: {checks[engine]['rows']} rows, sums {checks[engine]['sums'][:8]} where {reference['rows']}, {reference['sums'][:8]} were expected"
        result = {"question": question.name, "title": question.title, "rows": reference["rows"] if reference else 0, "errors": errors,
                  "touched_bytes": report.touched(suite, question), "input_rows": report.input_rows(suite, question),
                  "engines": {e: {"seconds": [r["seconds"] for r in runs[e]], "cold": checks[e]["cold"],
                                  "peak": max(r["peak"] for r in runs[e])} for e in chosen if runs[e] and e not in errors}}
        results.append(result)
        say("  " + report.line(result))
    for process in processes.values():
        process.close()
    return {"suite": name, "title": suite.name, "options": options, "threads": args.threads, "repetitions": args.repetitions, "machine": machine,
            "loads": loads, "results": results}


def main():
    parser = argparse.ArgumentParser(prog="scripts/compare.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", default=[], help=" ".join(suites.NAMES))
    parser.add_argument("--rows", type=lambda s: int(float(s)))
    parser.add_argument("--k", type=int)
    parser.add_argument("--scale", type=float)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--engines", type=lambda s: s.split(","))
    parser.add_argument("--questions", type=lambda s: s.split(","))
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parents[2] / "build/release")
    parser.add_argument("--data", type=pathlib.Path, default=HERE.parents[2] / "build/compare-data")
    parser.add_argument("--out", type=pathlib.Path, default=HERE.parents[2] / "build/compare")
    args = parser.parse_args()
    unknown = set(args.suites) - set(suites.NAMES)
    if unknown:
        parser.error(f"no suite is called {', '.join(sorted(unknown))}; there are {', '.join(suites.NAMES)}")
    args.data.mkdir(parents=True, exist_ok=True)
    args.out.mkdir(parents=True, exist_ok=True)
    machine = {"limits": limits(args.build), "system": platform.platform(), "python": platform.python_version(),
               "processor": report.processor(), "at": time.strftime("%Y-%m-%d %H:%M")}
    options = {key: value for key in ("rows", "k", "scale") if (value := getattr(args, key)) is not None}
    for name in args.suites or suites.NAMES:
        done = run_suite(name, options, args, machine)
        (args.out / f"{name}.json").write_text(json.dumps(done, indent=1) + "\n")
        (args.out / f"{name}.md").write_text(report.table(done))
        (args.out / f"{name}.svg").write_text(report.plot(done))
        print(report.table(done), flush=True)


if __name__ == "__main__":
    main()
