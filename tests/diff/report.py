"""A failing case on paper: a job file with its CSV files, what DuckDB answers, and the command that shows it again."""
import os, pathlib

from google.protobuf import json_format

from daemon import BUILD, job_pb
from engines import Duck, set_options, values_of
from judge import define_all
from kinds import UNITS, decimal_text
from lite_calls import civil
from plan_tree import topological, used_tables
from say_plan import say_plan
from say_sql import say_rel

FOLDER = pathlib.Path(os.environ.get("MORSEL_DIFF_FOLDER", BUILD / "diff-failures"))


def field(value, kind):
    """Quoted is never NULL."""
    if value is None:
        return ""
    if kind.family == "dec":
        return decimal_text(value, kind.scale)
    if kind.family in ("text", "blob"):
        return '"' + (value if isinstance(value, str) else value.decode("latin-1")).replace('"', '""') + '"'
    if kind.family in ("date", "ts"):
        return time_text(value, kind)
    return str(value).lower() if kind.family == "bool" else repr(value)


def time_text(value, kind):
    days, rest = (value, 0) if kind.family == "date" else divmod(value, 86400 * UNITS[kind.unit])
    year, month, day = civil(days)
    text = f"{'-' if year < 0 else ''}{abs(year):04}-{month:02}-{day:02}"
    if kind.family == "date":
        return text
    second, part = divmod(rest, UNITS[kind.unit])
    digits = len(str(UNITS[kind.unit])) - 1
    return f"{text}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}" + (f".{part:0{digits}}" if digits else "") + ("Z" if kind.zone else "")


def csv_text(columns, values):
    lines = [",".join(c.name for c in columns)]
    lines += [",".join(field(v, c.kind) for v, c in zip(row, columns)) for row in zip(*values)]
    return "\n".join(lines) + "\n"


def said_in_duck(root):
    names, parts = {}, []
    for rel in topological(root):
        names[id(rel)] = f"r{len(names) + 1}"
        parts.append(f"{names[id(rel)]} AS ({say_rel(rel, names, 'duck')})")
    return "WITH " + ",\n".join(parts) + f"\nSELECT * FROM {names[id(root)]};\n"


def job_of(case):
    """Over CSV files in the same folder, with their types."""
    tables = {t.name: t for t in case.tables}

    def files(name):
        fields = [{"name": c.name, "type": c.kind.proto()} for c in tables[name].columns]
        return {"files": {"paths": [f"{name}.csv"], "schema": {"fields": fields}}}
    request = job_pb.ExecuteJobRequest(plan=say_plan(case.root, files))
    set_options(request, case.options)
    return request


def expected(case):
    duck = Duck([t for t in case.tables if t.name in used_tables(case.root)])
    error = define_all(duck, case.root)
    if error is not None:
        return f"error: {error.text}\n"
    table = duck.table(case.root)
    columns = values_of(table, case.root.columns)
    return csv_text(case.root.columns, [["..".join(map(str, v)) if isinstance(v, list) else v for v in values] for values in columns])


def write(name, case):
    """The folder of the case."""
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    for table in case.tables:
        if table.name in used_tables(case.root):
            (folder / f"{table.name}.csv").write_text(csv_text(table.columns, [table.data[c.name] for c in table.columns]))
    (folder / "job.json").write_text(json_format.MessageToJson(job_of(case), indent=1))
    (folder / "duckdb.sql").write_text(said_in_duck(case.root))
    (folder / "expected.csv").write_text(expected(case))
    return folder


def text_of(seed, number, fault, case, whole):
    """whole: the Fault before shrinking."""
    folder = write(f"{seed}-{number}", case)
    lines = [f"seed {seed} plan {number}: {whole.kind}: {whole.text[:1000]}"]
    if fault is not None:
        lines.append(f"shrunk: {fault.text[:1000]}")
    else:
        lines.append("it did not fail again")
    if case.again:
        lines.append(f"and with {case.again}")
    for path in sorted(folder.iterdir()):
        text = path.read_text()
        lines.append(f"-- {path.name}\n" + (text if len(text) < 4000 else text[:4000] + "[...]\n"))
    lines.append(f"again: (cd {folder} && morsel run job.json -o csv --null-out NULL)   or: test_random_plans.py --seed {seed} --plan {number}")
    return "\n".join(lines)

