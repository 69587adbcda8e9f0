"""Goal:   random plans on random data give DuckDB's rows and SQLite's, and the same ones with other workers and morsels.
Method: seeded tables are uploaded to a morseld; each plan of plan_maker.py runs there, in DuckDB and, where it can
        be said, in SQLite. Answers are compared as multisets, or in order below a sort; floats that are not exact with
        a relative tolerance of 1e-9. A run of 500 plans fails when an item of coverage.py was in fewer than 20.
Usage:  test_random_plans.py [PLANS [FIRST_SEED]] [--processes N] [--seed S --plan P]. A failing plan is shrunk
        and printed as a job file with CSV data."""
import argparse, collections, multiprocessing, os, pathlib, queue, random, sys, time, traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import duckdb

from daemon import SLOW

import kinds as k
from coverage import LEAST, LEAST_OF_RUN, Wishes, items, seen_in, unknown_items
from engines import Duck, DuckFailed, Lite, Ours
from judge import Case, Fault, Oracles, as_error, judge
from plan_maker import PlanMaker, TooLarge
from report import text_of
from shrink import shrink
from table_maker import WIDE, random_table

PLANS_PER_TABLES = 15
POLICIES = ["numa", "steal", "shared", "static"]


def make_tables(seed):
    """Three tables that have some kinds in common, so that there is something to join by."""
    rng, wishes = random.Random(f"tables {seed}"), Wishes(seed)
    shared = [k.I64, k.TEXT] + [wishes.draw("type", k.ALL, 3) for _ in range(3)]
    tables, extremes = [], rng.random() < 0.5
    for number, name in enumerate(("ta", "tb", "tc")):
        own = [rng.choice(k.ALL) for _ in range(WIDE if rng.random() < 0.07 else rng.randint(0, 3))]
        tables.append(random_table(rng, name, shared + own, extremes))
    return tables


def options_of(rng):
    options = {"policy": rng.choice(POLICIES), "parallelism": rng.choice([1, 2, 3]), "morsel_rows": rng.choice([0, 1024, 2048])}
    return options | ({"hash_bits": rng.choice([1, 8, 8])} if rng.random() < 0.2 else {})


def seen_in_options(options):
    yield ("run", f"policy {options['policy']}")
    yield ("run", "1 worker" if options["parallelism"] == 1 else f"{options['parallelism']} workers")
    if options["morsel_rows"] == 1024:
        yield ("run", "morsels of 1024")
    if "hash_bits" in options:
        yield ("run", "hash cut")


def make_case(seed, number, tables, duck):
    """(Case, DuckDB's Error or None)"""
    rng = random.Random(f"{seed}/{number}")
    options = options_of(rng)
    again = options_of(rng) if rng.random() < 0.25 else None
    made = []

    def define(rel, most):
        made.append(rel)
        return duck.define(rel, most)

    duck.forget()
    maker = PlanMaker(rng, tables, Wishes(seed * PLANS_PER_TABLES + number), define)
    try:
        return Case(tables, maker.make(), options, again), None
    except duckdb.Error as error:
        return Case(tables, made[-1], options, again), as_error(error)


def run_seed(seed, ours, wanted=None):
    """(counts, [(plan's number, Fault, Case)]) of the plans over one set of tables."""
    counts, faults = collections.Counter(), []
    tables = make_tables(seed)
    duck, lite = Duck(tables), Lite(tables)
    ours.load(tables)
    for number in range(PLANS_PER_TABLES):
        if wanted is not None and number != wanted:
            continue
        try:
            case, expected = make_case(seed, number, tables, duck)
        except TooLarge:
            counts["left out", "too many rows"] += 1
            continue
        except DuckFailed:
            counts["left out", "DuckDB gave up"] += 1
            duck = Duck(tables)
            continue
        counts["outcome", "plans"] += 1
        fault = judge(case, Oracles(duck, lite, ours), expected, counts)
        if fault is not None:
            faults.append((number, fault, case))
            if ours.daemon is None:
                ours.load(tables)
            continue
        counts.update(seen_in(case.root))
        counts.update(set(seen_in_options(case.options)) | ({("run", "run again otherwise")} if case.again else set()))
    return counts, faults


def explain(seed, number, fault, case, ours):
    smaller, found = shrink(case, fault, ours)
    return text_of(seed, number, found, smaller, fault)


def work(tasks, results):
    """A process: seeds in, counts and reports out."""
    ours = Ours("--workers", "3")
    try:
        while (seed := tasks.get()) is not None:
            try:
                counts, faults = run_seed(seed, ours)
                results.put((seed, counts, [explain(seed, *found, ours) for found in faults[:2]] + [f"seed {seed} plan {n}: {f.kind}: {f.text}" for n, f, _ in faults[2:]]))
            except Exception:
                results.put((seed, collections.Counter(), [f"seed {seed}: {traceback.format_exc()}"]))
        ours.close()
        results.put(None)
    except BaseException:
        traceback.print_exc()
        results.put(None)


def run(plans, first, processes, progress, faults_max):
    context = multiprocessing.get_context("spawn")
    tasks, results = context.Queue(), context.Queue()
    workers = [context.Process(target=work, args=(tasks, results), daemon=True) for _ in range(processes)]
    for worker in workers:
        worker.start()
    counts, reports, seed, open_seeds, done_at = collections.Counter(), [], first, 0, time.monotonic()
    for _ in range(2 * processes):
        tasks.put(seed)
        seed, open_seeds = seed + 1, open_seeds + 1
    while open_seeds:
        answer = results.get(timeout=900)
        if answer is None:
            reports.append("a process of the test ended")
            break
        open_seeds -= 1
        counts.update(answer[1])
        reports += answer[2]
        for text in answer[2]:
            print(text, flush=True)
        if counts["outcome", "plans"] + open_seeds * PLANS_PER_TABLES < plans and len(reports) < faults_max:
            tasks.put(seed)
            seed, open_seeds = seed + 1, open_seeds + 1
        if progress and time.monotonic() - done_at > progress:
            done_at = time.monotonic()
            print(f"{counts['outcome', 'plans']} plans, {len(reports)} differences", flush=True)
    for _ in workers:
        tasks.put(None)
    for worker in workers:
        worker.join(60 * SLOW)
    return counts, reports


def print_counts(counts):
    """Returns what was seen too seldom."""
    seldom = []
    for category, names in items().items():
        print(f"{category}: " + ", ".join(f"{name} {counts[category, name]}" for name in names))
        seldom += [f"{category} {name}: {counts[category, name]}" for name in names if counts[category, name] < LEAST]
    others = sorted(key for key in counts if key[0] not in items())
    print(", ".join(f"{counts[key]} {key[1]}" for key in others))
    return seldom


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plans", nargs="?", type=int, default=500 if SLOW == 1 else 60)
    parser.add_argument("first", nargs="?", type=int, default=int(os.environ.get("MORSEL_SEED", "1")))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--plan", type=int)
    parser.add_argument("--faults", type=int, default=5, help="end after so many")
    parser.add_argument("--progress", type=float, default=0, help="seconds between lines")
    options = parser.parse_args()
    if options.seed is not None:
        ours = Ours("--workers", "3")
        try:
            counts, faults = run_seed(options.seed, ours, options.plan)
            for found in faults:
                print(explain(options.seed, *found, ours))
        finally:
            ours.close()
        return 1 if faults else 0
    started = time.monotonic()
    counts, reports = run(options.plans, options.first, options.processes, options.progress, options.faults)
    seldom = print_counts(counts)
    for name in unknown_items():
        seldom.append(f"{name}: of the engine, but in no plan")
    done, seconds = counts["outcome", "plans"], time.monotonic() - started
    print(f"{done} plans, {counts['outcome', 'against SQLite too']} of them against SQLite too, {len(reports)} differences, {seconds:.0f} s, {done / seconds:.0f} plans/s")
    if done >= LEAST_OF_RUN:
        for text in seldom:
            print("below the least: " + text)
    return 1 if reports or (done >= LEAST_OF_RUN and seldom) else 0


if __name__ == "__main__":
    sys.exit(main())
