"""What a run has to have seen, and how often it did.

A wish is drawn from a bag that holds every item once and is filled again when it is empty. Which wish a plan
draws follows from its seed and number alone, so that a plan can be made again without those before it."""
import collections, pathlib, random, re

import kinds as k
from aggregates import AGGREGATES
from functions import FUNCTIONS
from plan_tree import live_columns, live_exprs, topological

LEAST = 20          # plans of each item ...
LEAST_OF_RUN = 500  # ... in a run of so many
EXEC = pathlib.Path(__file__).resolve().parents[2] / "exec"

JOIN_KINDS = ["inner", "left", "right", "full", "left semi", "right semi", "left anti", "right anti", "left anti null-aware", "right anti null-aware",
              "mark", "cross", "non-equi", "as-of"]
NULL_RULES = ["key: NULL matches nothing", "key: NULL equals NULL", "NOT EXISTS", "NOT IN", "IN as a value", "outer join's NULLs", "group of NULLs", "distinct takes NULLs for equal",
              "aggregate passes over NULL", "asc nulls last", "asc nulls first", "desc nulls last", "desc nulls first", "NULL literal", "NULL in a list",
              "NOT IN a list", "case without else", "cast fails to NULL", "IS DISTINCT FROM", "three-valued and, or", "is null", "coalesce"]


def named_in(path, macro, part):
    """The names that a .def file of the engine lists."""
    return re.findall(rf"^{macro}\({part}", (EXEC / path).read_text(), re.MULTILINE)


def unknown_items():
    """Functions and aggregates of the engine that no plan here uses."""
    functions = set(named_in("expr/signatures.def", "FUNCTION", r"(\w+)")) - set(FUNCTIONS)
    aggregates = set(named_in("op/aggregate.def", "AGGREGATE", r'\w+,\s*"(\w+)"')) - set(AGGREGATES)
    return sorted(functions) + sorted(aggregates)


def items():
    """category -> everything a run counts there."""
    return {"join": JOIN_KINDS, "function": sorted(FUNCTIONS), "aggregate": sorted(AGGREGATES),
            "distinct aggregate": sorted(a for a in AGGREGATES if AGGREGATES[a].distinct),
            "type": list(dict.fromkeys(kind.name for kind in k.ALL)), "NULL rule": NULL_RULES,
            "plan": ["filter", "residual", "having", "sort", "top-n", "limit", "limit without order", "distinct", "union all", "aggregate filter", "cast", "case", "in list",
                     "grouped by an expression", "build side left", "build side right",
                     "grouping sets", "partial and final", "partial of two parts", "top-n per group"],
            "window": ["row_number", "rank", "dense_rank"],
            "run": ["hash cut", "policy numa", "policy steal", "policy shared", "policy static", "1 worker", "2 workers", "3 workers", "morsels of 1024", "run again otherwise"]}


class Wishes:
    """The draws of one plan: `ordinal` counts plans through all seeds."""

    def __init__(self, ordinal):
        self.ordinal, self.drawn = ordinal, collections.Counter()

    def draw(self, category, bag, each):
        """The next of `each` wishes a plan has at most in this category."""
        at = self.ordinal * each + self.drawn[category] % each
        self.drawn[category] += 1
        cycle, place = divmod(at, len(bag))
        order = list(bag)
        random.Random(f"{category} {cycle}").shuffle(order)
        return order[place]


def seen_in(root):
    """{(category, item)} of what the plan's answer depends on."""
    seen, needed = set(), live_columns(root)
    for rel in topological(root):
        want = needed[id(rel)]
        for expr in live_exprs(rel, want):
            for e in expr.walk():
                seen |= of_expr(e)
        seen |= of_rel(rel, want)
        seen |= {("type", c.kind.name) for c in rel.columns if c.name in want and rel.op != "scan"}
    return seen


def of_expr(e):
    seen = set()
    nullable = any(arg is not None and arg.nullable for arg in e.args)
    if e.op == "call":
        seen.add(("function", e.name))
        if nullable:
            rule = {"and": "three-valued and, or", "or": "three-valued and, or", "is_null": "is null", "is_not_null": "is null", "coalesce": "coalesce",
                    "is_distinct_from": "IS DISTINCT FROM", "is_not_distinct_from": "IS DISTINCT FROM"}.get(e.name)
            seen |= {("NULL rule", rule)} if rule else set()
    if e.op == "literal" and e.value is None:
        seen.add(("NULL rule", "NULL literal"))
    if e.op == "cast":
        seen |= {("plan", "cast")} | ({("NULL rule", "cast fails to NULL")} if e.value else set())
    if e.op == "case":
        seen |= {("plan", "case")} | ({("NULL rule", "case without else")} if e.args[-1] is None else set())
    if e.op == "in":
        seen |= {("plan", "in list")}
        seen |= {("NULL rule", "NULL in a list")} if None in e.value else set()
        seen |= {("NULL rule", "NOT IN a list")} if e.negated and (e.args[0].nullable or None in e.value) else set()
    return seen


def join_kind(rel):
    if rel.op == "asof":
        return "as-of"
    if not rel.keys and rel.join in ("inner", "left", "right", "full"):
        return "non-equi"
    name = {"semi": "semi", "anti": "anti", "null_aware": "anti null-aware"}.get(rel.join)
    return f"{'right' if rel.build == 1 else 'left'} {name}" if name else rel.join


def of_rel(rel, want):
    seen = set()
    if rel.op in ("join", "asof"):
        seen |= {("join", join_kind(rel))} | ({("plan", "residual")} if rel.predicate else set())
        if not rel.keys and rel.op == "join" and rel.join != "cross":
            seen.add(("join", "non-equi"))
        for left, right, nulls in rel.keys:
            if left.nullable or right.nullable:
                seen.add(("NULL rule", "key: NULL equals NULL" if nulls else "key: NULL matches nothing"))
        nullable = any(left.nullable or right.nullable for left, right, _ in rel.keys)
        rule = {"anti": "NOT EXISTS", "null_aware": "NOT IN", "mark": "IN as a value"}.get(rel.join) if nullable else None
        rule = "outer join's NULLs" if rel.join in ("left", "right", "full") or rel.keep else rule
        seen |= {("NULL rule", rule)} if rule else set()
        seen |= {("plan", f"build side {['', 'left', 'right'][rel.build]}")} if rel.build else set()
    if rel.op == "aggregate":
        seen |= of_aggregate(rel, want)
    if rel.op in ("sort", "limit"):
        keys = rel.keys if rel.op == "sort" else rel.order or []
        seen |= {("NULL rule", ["asc nulls last", "asc nulls first", "desc nulls last", "desc nulls first"][d - 1]) for e, d in keys if e.nullable}
        seen.add(("plan", ("sort" if rel.count is None else "top-n") if rel.op == "sort" else "limit" if rel.order else "limit without order"))
    if rel.op == "window":
        seen |= {("window", function) for name, function in rel.functions if name in want}
        seen |= {("NULL rule", ["asc nulls last", "asc nulls first", "desc nulls last", "desc nulls first"][d - 1]) for e, d in rel.keys if e.nullable}
        seen |= {("plan", "top-n per group")} if rel.count is not None else set()
    if rel.op == "distinct":
        seen |= {("plan", "distinct")} | ({("NULL rule", "distinct takes NULLs for equal")} if any(c.nullable for c in rel.columns) else set())
    if rel.op == "union":
        seen.add(("plan", "union all"))
    if rel.op == "filter":
        seen |= {("plan", "filter")} | ({("plan", "having")} if rel.inputs[0].op == "aggregate" else set())
    return seen


def of_aggregate(rel, want):
    seen = {("plan", "grouped by an expression") for _, e in rel.exprs if e.op != "column"}
    if any(e.nullable for _, e in rel.exprs):
        seen.add(("NULL rule", "group of NULLs"))
    seen |= {("plan", "grouping sets")} if rel.sets is not None else set()
    seen |= {("plan", ["", "partial and final", "partial of two parts"][rel.phases])} if rel.phases else set()
    for m in rel.measures:
        if m.name not in want:
            continue
        seen.add(("aggregate", m.function))
        seen |= {("distinct aggregate", m.function)} if m.distinct else set()
        seen |= {("plan", "aggregate filter")} if m.filter else set()
        seen |= {("NULL rule", "aggregate passes over NULL")} if any(e.nullable for e in m.args) else set()
        seen |= {("NULL rule", ["asc nulls last", "asc nulls first", "desc nulls last", "desc nulls first"][d - 1]) for e, d in m.order if e.nullable}
    return seen
