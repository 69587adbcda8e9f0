#!/usr/bin/env python3
"""Tables and plots of docs/scheduler.md from the simulator: `scripts/scheduler_page.py build/release/bin`.

Runs every cell by `morsel-sim --race`, two at a time (minutes), or reads the lines of cells from a file given as
second argument; `--cells FILE` keeps them there. Writes docs/scheduler-*.svg and what stands between the markers of
docs/scheduler.md. Standard library only."""

import concurrent.futures
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
POLICIES = {"numa": "#1b6ca8", "steal": "#d1495b", "shared": "#66a182", "static": "#8d6a9f"}
INPUTS = ["uniform", "zipf", "sorted", "giant"]
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 420, 260, 48, 28, 12, 40
Y_MAX = 2.0
SHARED_CORES_MAX = 256  # one queue for 512 cores is under so many accesses at once that simulating it takes hours


def cells():
    """By cores, 16 of them a node up to 8 nodes; then by nodes, with 64 cores."""
    places = [(c, 1 if c <= 16 else min(8, c // 16)) for c in (1 << i for i in range(10))]
    places += [(64, 1), (64, 2), (64, 8)]
    return [(i, p, c, n) for i in INPUTS for c, n in places for p in POLICIES
            if p != "shared" or c <= SHARED_CORES_MAX]


def run_cells(binary):
    def run(cell):
        made = subprocess.run([binary, "--race", *map(str, cell)], check=True, capture_output=True, text=True)
        return made.stdout.splitlines()[-1]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return "\n".join(pool.map(run, cells())) + "\n"


def read_rows(text):
    rows = []
    for line in text.splitlines():
        if line.split()[0] not in INPUTS:
            continue
        name, policy, cores, nodes, ms, over, steals, per, remote, parks = line.split()[:10]
        rows.append(dict(input=name, policy=policy, cores=int(cores), nodes=int(nodes), ms=float(ms),
                         over=float(over), steals=int(steals), per=float(per), remote=remote))
    return rows


def table(rows, across):
    lines = ["| input | " + across + " | " + " | ".join(f"{p}: over bound" for p in POLICIES) +
             " | " + " | ".join(f"{p}: remote" for p in POLICIES) + " | numa: steals | /(P T_inf), per ms |",
             "|---|---:|" + "---:|" * (2 * len(POLICIES) + 2)]
    keys = []
    for row in rows:
        key = (row["input"], row["cores"], row["nodes"])
        if key not in keys:
            keys.append(key)
    for key in keys:
        of = {r["policy"]: r for r in rows if (r["input"], r["cores"], r["nodes"]) == key}
        place = f"{key[1]} on {key[2]}"
        lines.append(f"| {key[0]} | {place} | " + " | ".join(f"{of[p]['over']:.3f}" if p in of else "–" for p in POLICIES) + " | " +
                     " | ".join(of[p]["remote"] if p in of else "–" for p in POLICIES) +
                     f" | {of['numa']['steals']} | {of['numa']['per']:.2f} |")
    return "\n".join(lines)


def plot(rows, name):
    """Time over the bound by cores, one line a policy; cores in powers of two."""
    rows = [r for r in rows if r["input"] == name]
    cores = sorted({r["cores"] for r in rows})

    def x(c):
        return LEFT + (WIDTH - LEFT - RIGHT) * cores.index(c) / max(1, len(cores) - 1)

    def y(over):
        return TOP + (HEIGHT - TOP - BOTTOM) * (Y_MAX - min(over, Y_MAX)) / (Y_MAX - 1)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
           'font-size="11">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           f'<text x="{LEFT}" y="16" font-weight="bold">{name}: time over the bound, by cores</text>']
    for tick in (1.0, 1.05, 1.25, 1.5, 1.75, 2.0):
        dash = ' stroke-dasharray="4 3"' if tick == 1.05 else ""
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" '
                   f'stroke="#ccc"{dash}/>')
        if tick != 1.05:
            label = f"{tick:.2f}" if tick < Y_MAX else f"&#8805;{tick:.1f}"
            out.append(f'<text x="{LEFT - 4}" y="{y(tick) + 4:.1f}" text-anchor="end">{label}</text>')
    for c in cores:
        out.append(f'<text x="{x(c):.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">{c}</text>')
    for i, (policy, colour) in enumerate(POLICIES.items()):
        points = [(x(r["cores"]), y(r["over"])) for r in rows if r["policy"] == policy]
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="' +
                   " ".join(f"{a:.1f},{b:.1f}" for a, b in points) + '"/>')
        at = LEFT + 90 * i
        out.append(f'<rect x="{at}" y="{HEIGHT - 14}" width="10" height="4" fill="{colour}"/>'
                   f'<text x="{at + 14}" y="{HEIGHT - 8}">{policy}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    binaries = pathlib.Path(sys.argv[1])
    if len(sys.argv) == 4 and sys.argv[2] == "--cells":
        text = run_cells(binaries / "morsel-sim")
        pathlib.Path(sys.argv[3]).write_text(text)
    elif len(sys.argv) > 2:
        text = pathlib.Path(sys.argv[2]).read_text()
    else:
        text = run_cells(binaries / "morsel-sim")
    rows = read_rows(text)
    rows.sort(key=lambda r: (INPUTS.index(r["input"]), r["cores"], r["nodes"]))
    by_cores = [r for r in rows if r["nodes"] == (1 if r["cores"] <= 16 else min(8, r["cores"] // 16))]
    by_nodes = [r for r in rows if r["cores"] == 64]
    for name in INPUTS:
        if name not in {r["input"] for r in rows}:
            continue
        (ROOT / "docs" / f"scheduler-{name}.svg").write_text(plot(by_cores, name))
    page = ROOT / "docs" / "scheduler.md"
    body = page.read_text()
    for marker, made in (("cores", table(by_cores, "cores on nodes")),
                         ("nodes", table(sorted(by_nodes, key=lambda r: (INPUTS.index(r["input"]), r["nodes"])),
                                         "cores on nodes"))):
        begin, end = f"<!-- {marker}: made -->\n", f"<!-- {marker}: end -->"
        head, rest = body.split(begin)
        body = head + begin + made + "\n" + end + rest.split(end)[1]
    page.write_text(body)


if __name__ == "__main__":
    main()
