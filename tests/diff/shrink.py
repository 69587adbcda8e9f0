"""Makes a failing case small: fewer relations, columns, rows and expressions while it fails in the same way.

A smaller plan is made by rewriting the tree: each step proposes some, the first that still fails is taken, until
none does. Proposals that are no plan (a column that is gone) are thrown out before they run."""
import collections, dataclasses, time

from engines import Duck, DuckFailed, Lite
from judge import Fault, Oracles, define_all, judge
from plan_tree import Expr, live_columns, topological, used_names, used_tables

SECONDS = 60  # a case
TRIES = 3     # of a failure that may be a matter of timing


def fails(case, ours, kind, tries=1):
    """The Fault of this kind, or None."""
    tables = [t for t in case.tables if t.name in used_tables(case.root)]
    for _ in range(tries):
        try:
            duck = Duck(tables)
            expected = define_all(duck, case.root)
            ours.load(tables)
            fault = judge(case, Oracles(duck, Lite(tables), ours), expected, collections.Counter())
        except DuckFailed:
            return None
        except Exception as error:  # a proposal that DuckDB or SQLite does not take is none
            fault = Fault("invalid", repr(error))
        if fault is not None and fault.kind == kind:
            return fault
    return None


def is_valid(root):
    for rel in topological(root):
        names = [{c.name for c in one.columns} for one in rel.inputs]
        for expr, side in rel.own_exprs():
            there = names[side - 1] if side else set().union(*names)
            if not used_names(expr) <= there:
                return False
        if not rel.columns or (rel.op == "limit" and not rel.order and rel is not root):
            return False
        if rel.op == "union" and len({tuple(c.kind for c in one.columns) for one in rel.inputs}) > 1:
            return False
    return True


def rebuilt(root, change):
    """The tree with change(relation with its new inputs) in place of each relation; columns follow from below."""
    new = {}
    for rel in topological(root):
        copy = dataclasses.replace(rel, inputs=[new[id(one)] for one in rel.inputs])
        new[id(rel)] = change(rel, with_columns(copy))
    return new[id(root)]


def with_columns(rel):
    """A relation that passes its inputs' columns on passes what is left of them."""
    below = [c for one in rel.inputs for c in one.columns]
    if rel.op in ("filter", "sort", "limit", "distinct", "window"):
        own = [c for c in rel.columns if c.name in {name for name, _ in rel.functions}]
        return dataclasses.replace(rel, columns=rel.inputs[0].columns + own)
    if rel.op in ("join", "asof"):
        left = rel.inputs[0].columns
        if rel.join in ("semi", "anti", "null_aware"):
            return dataclasses.replace(rel, columns=left)
        if rel.join == "mark":
            return dataclasses.replace(rel, columns=left + [rel.columns[-1]])
        known = {c.name: c for c in rel.columns}
        return dataclasses.replace(rel, columns=[known.get(c.name, c) for c in below])
    return rel


# ---- proposals: trees, smaller first

def without_relation(root):
    """Some relation is one of its inputs instead, or the whole plan."""
    rels = topological(root)
    for rel in rels[:-1]:
        if rel.columns:
            yield rel
    for target in rels:
        for choice in range(len(target.inputs)):
            yield rebuilt(root, lambda old, copy: copy.inputs[choice] if old is target else copy)
        if target.op == "union" and len(target.inputs) > 2:
            yield rebuilt(root, lambda old, copy: dataclasses.replace(copy, inputs=copy.inputs[:2]) if old is target else copy)


def without_columns(root):
    """Only what is needed, then fewer outputs of each relation that makes some."""
    needed = live_columns(root)

    def pruned(old, copy):
        if old is root or old.op not in ("project", "aggregate"):
            return copy
        return narrowed(copy, needed[id(old)])
    yield rebuilt(root, pruned)
    for target in topological(root):
        if target.op in ("project", "aggregate"):
            names = [c.name for c in target.columns]
            for size in (len(names) // 2, 1):
                for at in range(0, len(names), max(1, size)) if size and len(names) > 1 else ():
                    keep = set(names) - set(names[at:at + size])
                    yield rebuilt(root, lambda old, copy: narrowed(copy, keep) if old is target else copy)


def narrowed(rel, keep):
    if rel.op not in ("project", "aggregate") or not any(c.name in keep for c in rel.columns):
        return rel
    places = [i for i, (name, _) in enumerate(rel.exprs) if name in keep]
    sets = None if rel.sets is None else [[places.index(i) for i in one if i in places] for one in rel.sets]
    return dataclasses.replace(rel, columns=[c for c in rel.columns if c.name in keep], exprs=[rel.exprs[i] for i in places],
                               measures=[m for m in rel.measures if m.name in keep], sets=sets, set_name=rel.set_name if rel.set_name in keep else "")


def simpler_relations(root):
    """Less of what a relation says besides its expressions."""
    for target in topological(root):
        for less in lesser(target):
            yield rebuilt(root, lambda old, copy: with_columns(dataclasses.replace(copy, **less)) if old is target else copy)


def lesser(rel):
    if rel.op == "join" and rel.predicate:
        yield {"predicate": None}
    for at in range(len(rel.keys)):
        if rel.op in ("join", "asof") or len(rel.keys) > 1:
            yield {"keys": rel.keys[:at] + rel.keys[at + 1:]}
    if rel.op == "join" and rel.build:
        yield {"build": 0}
    for at, m in enumerate(rel.measures):
        for less in ({"filter": None}, {"distinct": False}, {"order": m.order[:-1]}):
            if (("filter" in less and m.filter) or ("distinct" in less and m.distinct) or ("order" in less and m.order)):
                yield {"measures": rel.measures[:at] + [dataclasses.replace(m, **less)] + rel.measures[at + 1:]}
    if rel.sets is not None:
        yield from ({"sets": rel.sets[:at] + rel.sets[at + 1:]} for at in range(len(rel.sets)) if len(rel.sets) > 1)
    if rel.phases:
        yield {"phases": 0}
    for name in ("count", "offset"):
        value = getattr(rel, name)
        if value and rel.op in ("sort", "limit"):
            yield {name: value // 2}


def simpler_exprs(root):
    """An expression becomes one of its arguments or a literal."""
    for target in topological(root):
        for path, e in exprs_of(target):
            for less in smaller(e):
                yield rebuilt(root, lambda old, copy: put(copy, path, less) if old is target else copy)


def smaller(e):
    for sub in list(e.walk())[1:]:
        if sub.kind == e.kind:
            yield sub
    if e.op not in ("literal", "column"):
        yield Expr("literal", e.kind, value=None)
        for at, arg in enumerate(e.args):
            if e.op == "call" and e.name in ("and", "or", "concat", "coalesce", "least", "greatest") and len(e.args) > 2:
                yield dataclasses.replace(e, args=e.args[:at] + e.args[at + 1:])
            if arg is not None and arg.op not in ("literal", "column"):
                for less in smaller(arg):
                    yield dataclasses.replace(e, args=e.args[:at] + [less] + e.args[at + 1:])
    if e.op == "in" and len(e.value) > 1:
        yield dataclasses.replace(e, value=e.value[:1])


def exprs_of(rel):
    """(path, expression) of those that may be replaced by one of the same kind."""
    if rel.predicate:
        yield ("predicate",), rel.predicate
    for at, (_, e) in enumerate(rel.exprs):
        yield ("exprs", at), e
    for at, m in enumerate(rel.measures):
        for place, e in enumerate(m.args):
            yield ("args", at, place), e
        if m.filter:
            yield ("filter", at), m.filter


def put(rel, path, e):
    if path[0] == "predicate":
        return dataclasses.replace(rel, predicate=e)
    if path[0] == "exprs":
        exprs = list(rel.exprs)
        exprs[path[1]] = (exprs[path[1]][0], e)
        return dataclasses.replace(rel, exprs=exprs)
    measures = list(rel.measures)
    m = measures[path[1]]
    if path[0] == "filter":
        measures[path[1]] = dataclasses.replace(m, filter=e)
    else:
        measures[path[1]] = dataclasses.replace(m, args=m.args[:path[2]] + [e] + m.args[path[2] + 1:])
    return dataclasses.replace(rel, measures=measures)


def without_rows(case):
    """Cases with half of a table, a quarter, ... one row less."""
    for place, table in enumerate(case.tables):
        size = table.rows // 2
        while size:
            for at in range(0, table.rows, size):
                kept = {name: values[:at] + values[at + size:] for name, values in table.data.items()}
                yield dataclasses.replace(case, tables=case.tables[:place] + [dataclasses.replace(table, data=kept)] + case.tables[place + 1:])
            size = size // 2 if table.rows > 2 else 0


def without_table_columns(case):
    """Columns of tables that no relation mentions."""
    used = {name for rel in topological(case.root) for e, _ in rel.own_exprs() for name in used_names(e)}
    tables, scans = [], {}
    for table in case.tables:
        columns = [c for c in table.columns if c.name in used] or table.columns[:1]
        scans[table.name] = columns
        tables.append(dataclasses.replace(table, columns=columns, data={c.name: table.data[c.name] for c in columns}))
    root = rebuilt(case.root, lambda old, copy: dataclasses.replace(copy, columns=scans[copy.table]) if old.op == "scan" else copy)
    yield dataclasses.replace(case, tables=[t for t in tables if t.name in used_tables(root)], root=root)


def simpler_options(case):
    for name in list(case.options):
        yield dataclasses.replace(case, options={k: v for k, v in case.options.items() if k != name})
    if case.again is not None:
        yield dataclasses.replace(case, again=None)


def proposals(case):
    for trees in (without_relation, without_columns, simpler_relations, simpler_exprs):
        for root in trees(case.root):
            if is_valid(root):
                yield dataclasses.replace(case, root=root)
    for cases in (without_table_columns, without_rows, simpler_options):
        yield from cases(case)


def weight(case):
    exprs = sum(1 for rel in topological(case.root) for e, _ in rel.own_exprs() for _ in e.walk())
    rels = topological(case.root)
    return (10 * len(rels) + exprs + sum(len(r.columns) for r in rels) + sum(2 + (r.count or 0).bit_length() + r.offset.bit_length() + len(r.sets or ()) + r.phases + 3 * len(r.measures)
            + sum(bool(m.filter) + m.distinct for m in r.measures) + bool(r.build) for r in rels)
            + sum(t.rows + len(t.columns) for t in case.tables) + len(case.options) + (case.again is not None))


def shrink(case, fault, ours, seconds=SECONDS):
    """(smaller case, its Fault): the same ones where nothing smaller fails, None where it did not fail again."""
    until = time.monotonic() + seconds
    first = fails(case, ours, fault.kind, TRIES)
    if first is None:
        return case, None
    fault = first
    tries = 1 if fails(case, ours, fault.kind) else TRIES
    progress = True
    while progress and time.monotonic() < until:
        progress = False
        for proposal in proposals(case):
            if time.monotonic() > until:
                break
            if weight(proposal) >= weight(case):
                continue
            found = fails(proposal, ours, fault.kind, tries)
            if found is not None:
                case, fault, progress = proposal, found, True
                break
    return case, fault

