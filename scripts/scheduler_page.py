#!/usr/bin/env python3
"""Tables and plots of docs/scheduler.md from the simulator: `scripts/scheduler_page.py build/release/bin`.

Runs `morsel-sim --table` (minutes), or reads its output from a file given as second argument, writes
docs/scheduler-*.svg and what stands between the markers of docs/scheduler.md. Standard library only."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
POLICIES = {"numa": "#1b6ca8", "steal": "#d1495b", "shared": "#66a182", "static": "#8d6a9f"}
INPUTS = ["uniform", "zipf", "sorted", "giant"]
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 420, 260, 48, 28, 12, 40
Y_MAX = 2.0


def read_rows(text):
    rows = []
    for line in text.splitlines()[1:]:
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
        if len([r for r in rows if (r["input"], r["cores"], r["nodes"]) == key]) < len(POLICIES):
            continue  # a table cut short
        of = {r["policy"]: r for r in rows if (r["input"], r["cores"], r["nodes"]) == key}
        place = f"{key[1]} on {key[2]}"
        lines.append(f"| {key[0]} | {place} | " + " | ".join(f"{of[p]['over']:.3f}" for p in POLICIES) + " | " +
                     " | ".join(of[p]["remote"] for p in POLICIES) +
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
    if len(sys.argv) > 2:
        text = pathlib.Path(sys.argv[2]).read_text()
    else:
        text = subprocess.run([binaries / "morsel-sim", "--table"], check=True, capture_output=True,
                              text=True).stdout
    rows = read_rows(text)
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
