"""A plan tree as a morsel.v1.Plan."""
from daemon import plan_pb

from aggregates import AGGREGATES
from plan_tree import topological

JOINS = {"inner": 1, "left": 2, "right": 3, "full": 4, "semi": 5, "anti": 6, "mark": 7, "null_aware": 8, "cross": 9}
WINDOWS = {"row_number": 1, "rank": 2, "dense_rank": 3}


class Speaker:
    def __init__(self, source):
        self.plan, self.source = plan_pb.Plan(version=1), source

    def expr(self, **kind):
        self.plan.exprs.add(**kind)
        return len(self.plan.exprs)

    def say(self, e, sides={}):
        if e is None:
            return 0
        if e.op == "column":
            return self.expr(column={"name": e.name, "side": sides.get(e.name, 0)})
        if e.op == "literal":
            return self.expr(literal=e.kind.literal(e.value))
        args = [self.say(arg, sides) for arg in e.args]
        if e.op == "call":
            return self.expr(call={"function": e.name, "args": args})
        if e.op == "cast":
            return self.expr(cast={"arg": args[0], "to": e.kind.proto(), "on_failure": 2 if e.value else 0})
        if e.op == "in":
            return self.expr(in_list={"arg": args[0], "values": [e.args[0].kind.literal(v) for v in e.value], "negated": e.negated})
        return self.expr(case_when={"branches": [{"when": w, "then": t} for w, t in zip(args[:-1:2], args[1::2])], "otherwise": args[-1]})

    def rel(self, **kind):
        self.plan.rels.add(**kind)
        return len(self.plan.rels)

    def named(self, exprs):
        return [{"name": name, "expr": self.say(e)} for name, e in exprs]

    def keys(self, keys):
        return [{"expr": self.say(e), "direction": direction} for e, direction in keys]

    def add(self, rel, inputs):
        if rel.op == "scan":
            return self.rel(scan=self.source(rel.table))
        if rel.op == "filter":
            return self.rel(filter={"input": inputs[0], "predicate": self.say(rel.predicate)})
        if rel.op == "project":
            return self.rel(project={"input": inputs[0], "exprs": self.named(rel.exprs)})
        if rel.op in ("join", "asof"):
            return self.join(rel, inputs)
        if rel.op == "aggregate":
            return self.aggregate(rel, inputs[0]) if not rel.phases else self.in_phases(rel, inputs[0])
        if rel.op == "window":
            count = {} if rel.count is None else {"limit": {"value": rel.count}}
            return self.rel(window={"input": inputs[0], "partition_by": [self.say(e) for e in rel.partition], "order_by": self.keys(rel.keys),
                                    "functions": [{"function": WINDOWS[function], "name": name} for name, function in rel.functions], **count})
        if rel.op == "sort":
            count = {} if rel.count is None else {"limit": {"value": rel.count}}
            return self.rel(sort={"input": inputs[0], "keys": self.keys(rel.keys), **count})
        if rel.op == "limit":
            count = {} if rel.count is None else {"count": {"value": rel.count}}
            return self.rel(limit={"input": inputs[0], "offset": rel.offset, **count})
        if rel.op == "union":
            return self.rel(union_all={"inputs": inputs})
        return self.rel(distinct={"input": inputs[0]})

    def join(self, rel, inputs):
        keys = [{"left": self.say(l), "right": self.say(r), "nulls_equal": nulls} for l, r, nulls in rel.keys]
        sides = {c.name: side + 1 for side, one in enumerate(rel.inputs) for c in one.columns}
        join = {"left": inputs[0], "right": inputs[1], "type": JOINS.get(rel.join, 10), "keys": keys,
                "residual": self.say(rel.predicate, sides), "build_side": rel.build}
        if rel.op == "asof":
            join["asof"] = {"left": self.say(rel.pair[0]), "right": self.say(rel.pair[1]), "direction": rel.direction, "keep_unmatched": rel.keep}
        index = self.rel(join=join)
        if rel.join != "mark":
            return index
        return self.rel(project={"input": index, "exprs": [{"name": c.name, "expr": self.expr(column={"index": i + 1})} for i, c in enumerate(rel.columns)]})

    def aggregate(self, rel, source, **more):
        sets = {"grouping_sets": [{"keys": [i + 1 for i in one]} for one in rel.sets], "grouping_set_name": rel.set_name} if rel.sets is not None else {}
        return self.rel(aggregate={"input": source, "keys": self.named(rel.exprs), "measures": [self.measure(m) for m in rel.measures], **sets, **more})

    def in_phases(self, rel, source):
        """PARTIAL of all rows, or of those where some column is NULL and of the others; FINAL over all states."""
        parts = [source]
        if rel.phases == 2:
            name = rel.inputs[0].columns[0].name
            parts = [self.rel(filter={"input": source, "predicate": self.expr(call={"function": function, "args": [self.expr(column={"name": name})]})})
                     for function in ("is_null", "is_not_null")]
        parts = [self.aggregate(rel, part, phase=1) for part in parts]
        states = parts[0] if len(parts) == 1 else self.rel(union_all={"inputs": parts})
        measures = []
        for m in rel.measures:
            said = self.measure(m)
            state = self.expr(column={"name": m.name})
            said |= {"arguments": [state], "filter": 0, "order": [{"expr": state, "direction": direction} for _, direction in m.order],
                     "argument_types": [e.kind.proto() for e in m.args + [e for e, _ in m.order]]}
            measures.append(said)
        keys = [{"name": name, "expr": self.expr(column={"name": name})} for name, _ in rel.exprs]
        return self.rel(aggregate={"input": states, "keys": keys, "measures": measures, "phase": 2})

    def measure(self, m):
        said = {"function": AGGREGATES[m.function].number, "name": m.name, "arguments": [self.say(e) for e in m.args],
                "filter": self.say(m.filter), "distinct": m.distinct, "order": self.keys(m.order)}
        if AGGREGATES[m.function].own_order:
            said["order"] = [{"expr": said["arguments"][0], "direction": direction} for _, direction in m.order]
        if m.parameter is not None:
            said["parameters"] = [{"type": {"kind": 13}, "string_value": m.parameter} if isinstance(m.parameter, str)
                                  else {"type": {"kind": 11}, "double_value": m.parameter}]
        return said


def say_plan(root, source=lambda table: {"table": {"name": table}}):
    """source: what a scan of a table says."""
    speaker, numbers = Speaker(source), {}
    for rel in topological(root):
        numbers[id(rel)] = speaker.add(rel, [numbers[id(one)] for one in rel.inputs])
    return speaker.plan
