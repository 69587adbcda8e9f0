"""One case: tables, a plan and options. The verdict is a Fault or None."""
import dataclasses

import duckdb

from compare import check_answer, check_choice, check_schema, difference, same_bytes
from engines import Duck, Error, Lite, Ours, lite_columns, ordered_columns, values_of
from plan_tree import Rel, topological

RAISES = {"OUT_OF_RANGE", "INVALID_ARGUMENT", "DATA_LOSS"}


@dataclasses.dataclass
class Case:
    tables: list
    root: Rel
    options: dict
    again: dict = None  # run once more with these: the answer must be the same in every bit


@dataclasses.dataclass
class Fault:
    kind: str  # what a shrunk case must share: rows, type, again, SQLite, the code of an error
    text: str


@dataclasses.dataclass
class Oracles:
    duck: Duck
    lite: Lite
    ours: Ours


def define_all(duck, root):
    """The Error that DuckDB ends in, if it does."""
    duck.forget()
    try:
        for rel in topological(root):
            duck.define(rel)
    except duckdb.Error as error:
        return as_error(error)
    return None


def as_error(error):
    """None of those that only say that the plan is no plan."""
    if isinstance(error, (duckdb.OutOfRangeException, duckdb.ConversionException)):
        return Error("OUT_OF_RANGE", str(error))
    raise error


def judge(case, oracles, expected, counts):
    """expected: an Error of DuckDB's, or None when its tables are there."""
    root, lite, ours = case.root, oracles.lite, oracles.ours
    table = ours.table(root, case.options)
    if isinstance(expected, Error):
        counts["outcome", "errors alike"] += 1
        alike = isinstance(table, Error) and table.code in RAISES
        return None if alike else Fault("no error", f"DuckDB: {expected.text}; ours: {table if isinstance(table, Error) else 'rows'}")
    if isinstance(table, Error):
        return Fault(table.code, table.text)
    wrong = check_schema(table, root.columns)
    if wrong:
        return Fault("type", wrong)
    if root.op == "limit" and not root.order:
        wrong = check_choice(table, oracles.duck.table(root.inputs[0]), root)
        return Fault("choice", wrong) if wrong else None
    ordered = ordered_columns(root)
    wrong = check_answer(table, oracles.duck.table(root), root, ordered)
    if wrong:
        return Fault("rows", "DuckDB: " + wrong)
    if case.again is not None:
        second = ours.table(root, case.again)
        if isinstance(second, Error):
            return Fault(second.code, f"with {case.again}: {second.text}")
        if not same_bytes(table, second, root.columns, ordered):
            return Fault("again", f"another answer with {case.again} than with {case.options}: {difference(values_of(table, root.columns), values_of(second, root.columns), root.columns, ordered)}")
    rows = lite.rows(root)
    if rows is None:
        return None
    counts["outcome", "against SQLite too"] += 1
    wrong = difference(values_of(table, root.columns), lite_columns(rows, root.columns), root.columns, ordered)
    return Fault("SQLite", "SQLite: " + wrong) if wrong else None
