"""Goal:   every trap case gives its expected rows, in process and through a server.
Method: run the case's SQL with `morsel sql`, read the CSV back with NULL as the bare token, compare by
        type: decimals and integers exactly, floats within the case's tolerance, rows as a multiset
        unless the case is ordered.
Usage:  test_traps.py [CASE ...]; prints one line a failing case and a closing count."""
import decimal, json, math, os, pathlib, re, subprocess, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from daemon import MORSEL, SLOW, Daemon  # noqa: E402

CASES = pathlib.Path(__file__).resolve().parent / "traps"


def fields(text):
    """Rows of (quoted, text)."""
    rows, row, i = [], [], 0
    while i < len(text):
        if text[i] == '"':
            end, piece = i + 1, ""
            while True:
                close = text.index('"', end)
                piece += text[end:close]
                if text[close + 1:close + 2] != '"':
                    break
                piece += '"'
                end = close + 2
            row.append((True, piece))
            i = close + 1
        else:
            match = re.compile(r"[^,\r\n]*").match(text, i)
            row.append((False, match.group()))
            i = match.end()
        if text[i:i + 1] == ",":
            i += 1
            if i == len(text) or text[i] in "\r\n":
                row.append((False, ""))
            else:
                continue
        i += len(re.compile(r"\r?\n?").match(text, i).group())
        rows.append(row)
        row = []
    return rows


def value(field, kind):
    quoted, text = field
    if not quoted and text == "NULL":
        return None
    if kind.startswith("float"):
        return float(text)
    if kind.startswith(("int", "uint", "decimal")):
        return decimal.Decimal(text)
    if kind == "bool":
        return text.lower() in ("true", "t", "1")
    if kind.startswith("timestamp"):
        text = re.sub(r"(\+00(:?00)?|Z)$", "", text.replace("T", " "))
        return text.rstrip("0").rstrip(".") if "." in text else text
    return text


def order(row, kinds):
    def one(v, kind):
        if v is None:
            return (0, "")
        if isinstance(v, float):
            return (1, "nan" if math.isnan(v) else f"{v:.6g}")
        return (1, str(v.normalize()) if isinstance(v, decimal.Decimal) else str(v))
    return [one(v, k) for v, k in zip(row, kinds)]


def equal(a, b, tolerance):
    if a is None or b is None:
        return a is b
    if isinstance(a, float):
        if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
            return a == b or (math.isnan(a) and math.isnan(b))
        return abs(a - b) <= max(tolerance * max(abs(a), abs(b)), 1e-12 if 0 in (a, b) else 0)
    return a == b


def difference(case, folder, output):
    kinds = list(case["expected_types"].values())
    want = [[value(f, k) for f, k in zip(r, kinds)] for r in fields((folder / "expected.csv").read_text())[1:]]
    rows = fields(output)
    if not rows or len(rows[0]) != len(kinds):
        return f"{len(rows[0]) if rows else 0} columns, expected {len(kinds)}"
    got = [[value(f, k) for f, k in zip(r, kinds)] for r in rows[1:]]
    if not case["ordered"]:
        want.sort(key=lambda r: order(r, kinds))
        got.sort(key=lambda r: order(r, kinds))
    if len(got) != len(want):
        return f"{len(got)} rows, expected {len(want)}"
    for a, b in zip(want, got):
        if not all(equal(x, y, case.get("float_relative_tolerance", 0)) for x, y in zip(a, b)):
            return f"expected {a}, got {b}"
    return None


def arguments(case):
    out = ["sql", case["sql"], "-o", "csv", "--null-out", "NULL"]
    for name, table in case["tables"].items():
        out += ["--table", f"{name}={table['file']}"]
        if not table.get("infer_types"):
            out += ["--types", name + "=" + ";".join(f"{c}:{t}" for c, t in table["types"].items())]
        options = table.get("csv_options", {})
        if options.get("header") is False:
            out += ["--csv", f"{name}=header:false"]
        if "thousands" in options:
            out += ["--csv", f"{name}=thousands:{options['thousands']}"]
    return out


def run(case, folder, server):
    done = subprocess.run([MORSEL, *arguments(case), *server], cwd=folder, capture_output=True, text=True, timeout=120 * SLOW)
    if "expected_error" in case:
        if done.returncode == 0:
            return f"succeeded, but must fail: {done.stdout[:200]}"
        missing = [part for part in case["expected_error"]["must_name"] if part.lower() not in done.stderr.lower()]
        return f"the error does not name {missing}: {done.stderr.strip()}" if missing else None
    if done.returncode != 0:
        allowed = case.get("also", {}).get("also_accept_error") if isinstance(case.get("also"), dict) else None
        return None if allowed and allowed in done.stderr else f"exit {done.returncode}: {done.stderr.strip()}"
    return difference(case, folder, done.stdout)


def main():
    folders = [f for f in sorted(CASES.iterdir()) if f.is_dir() and (len(sys.argv) == 1 or f.name in sys.argv[1:])]
    passed = failed = 0
    with Daemon() as daemon:
        for folder in folders:
            case = json.loads((folder / "case.json").read_text())
            for where, server in (("in process", []), ("server", ["--server", f"127.0.0.1:{daemon.port}"])):
                fault = run(case, folder, server)
                passed, failed = passed + (fault is None), failed + (fault is not None)
                if fault:
                    print(f"{case['id']} {where}: {case['title']}\n    {fault[:600]}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
