"""Random plans over random tables: 0 to 5 joins, functions, aggregates, sorts, and what else a relation can be.

Each relation is run in DuckDB as soon as it is made, so that what grows too large is cut down at once."""
import dataclasses

import kinds as k
from aggregates import AGGREGATES, takes
from coverage import JOIN_KINDS
from expr_maker import ExprMaker
from functions import FUNCTIONS
from plan_tree import Column, Expr, Measure, Rel

COLUMNS_MAX = 20
ROWS_MAX = 5_000
LOW_CARD = ("bool", "text", "int", "date")
JOIN_WORDS = {"left semi": ("semi", 0), "right semi": ("semi", 1), "left anti": ("anti", 0), "right anti": ("anti", 1),
              "left anti null-aware": ("null_aware", 0), "right anti null-aware": ("null_aware", 1)}
OPEN_KINDS = ["inner", "left", "right", "full", "semi", "anti", "mark", "null_aware"]
MEASURES = [(name, distinct) for name in sorted(AGGREGATES) for distinct in (False, True) if AGGREGATES[name].distinct or not distinct]


class TooLarge(Exception):
    """More rows than are compared."""


class PlanMaker:
    def __init__(self, rng, tables, wishes, define):
        """define(rel, rows at most) runs a relation; gives its number of rows, or None beyond the most."""
        self.rng, self.tables, self.wishes, self.define = rng, tables, wishes, define
        self.exprs = ExprMaker(rng, wishes)
        self.rows, self.serial = {}, 0

    def name(self):
        self.serial += 1
        return f"c{self.serial}"

    def add(self, rel):
        count = self.define(rel, ROWS_MAX)
        if count is None:
            raise TooLarge
        self.rows[id(rel)] = count
        return rel

    # ---- relations of one input

    def scan(self):
        table = self.rng.choice(self.tables)
        return self.renamed(self.add(Rel("scan", [], table.columns, table=table.name)))

    def renamed(self, rel, count=COLUMNS_MAX, keep=()):
        """The same rows under new names: for using a relation once more, or less of it."""
        columns = rel.columns
        if len(columns) > count:
            columns = [c for c in columns if c in keep] + self.rng.sample([c for c in columns if c not in keep], max(0, count - len(keep)))
        return self.project(rel, [(c, self.exprs.column(c)) for c in columns])

    def project(self, rel, picked):
        """picked: (Column or None, Expr)"""
        columns, exprs = [], []
        for c, e in picked:
            name = self.name()
            exprs.append((name, e))
            columns.append(Column(name, e.kind, e.nullable, e.exact, e.size, e.calm, c.samples if c else ()))
        return self.add(Rel("project", [rel], columns, exprs=exprs))

    def filter(self, rel, predicate=None):
        columns = [c for c in rel.columns if c.exact]
        return self.add(Rel("filter", [rel], rel.columns, predicate=predicate or self.exprs.predicate(columns))) if columns else rel

    def first(self, rel, count):
        """The first rows by all columns."""
        rel = self.only_exact(rel)
        return self.add(Rel("sort", [rel], rel.columns, keys=[(self.exprs.column(c), 1) for c in rel.columns], count=count))

    def only_exact(self, rel):
        exact = [c for c in rel.columns if c.exact]
        return rel if len(exact) == len(rel.columns) else self.project(rel, [(c, self.exprs.column(c)) for c in exact] or [(None, self.exprs.constant(k.I64, 1))])

    def functions(self, rel, count):
        """Calls of the wished functions, beside some of the columns."""
        picked, columns = [], [c for c in rel.columns if c.exact]
        if not columns:
            return rel
        for _ in range(count):
            e = self.exprs.call(self.wishes.draw("function", sorted(FUNCTIONS), 12), columns, 2)
            picked += [(None, e)] if e is not None else []
        if self.rng.random() < 0.4:
            picked += [(None, e) for e in [self.exprs.cast_value(columns, 1), self.exprs.in_list(columns)] if e is not None]
        kept = self.rng.sample(rel.columns, min(len(rel.columns), 12 if rel.op == "aggregate" else self.rng.randint(1, 5)))
        return self.project(rel, picked + [(c, self.exprs.column(c)) for c in kept])

    # ---- joins

    def join_keys(self, left, right, most):
        """Pairs of columns, and whether a NULL equals a NULL in them."""
        rng = self.rng
        pairs = [(l, r) for l in left.columns for r in right.columns if l.exact and r.exact]
        same = [(l, r) for l, r in pairs if l.kind == r.kind and l.kind != k.BOOL]
        mixed = [(l, r) for l, r in pairs if l.kind != r.kind and self.comparable(l, r)]
        rng.shuffle(same)
        rng.shuffle(mixed)
        kinds = list({l.kind for l, _ in same})
        if kinds and rng.random() < 0.5:  # each type alike, however many columns it has
            kinds.sort(key=lambda kind: kind.name)
            wanted = rng.choice(kinds)
            same.sort(key=lambda pair: pair[0].kind != wanted)
        picked = (mixed[:1] + same if rng.random() < 0.2 else same)[:most]
        bools = [(l, r) for l, r in pairs if l.kind == r.kind == k.BOOL]
        if picked and bools and rng.random() < 0.1:
            picked.append(bools[0])
        return [(self.exprs.column(l), self.exprs.column(r), rng.random() < 0.2) for l, r in picked]

    def comparable(self, l, r):
        a, b = self.exprs.column(l), self.exprs.column(r)
        if not self.exprs.fits_together(a, b) or {l.kind.family, r.kind.family} == {"float", "dec"}:
            return False
        return "float" not in (l.kind.family, r.kind.family) or max(a.size, b.size) < 2**53

    def join(self, left, right, wish):
        rng = self.rng
        word, build = JOIN_WORDS.get(wish, (wish, 0))
        if word == "as-of":
            return self.asof(left, right) or self.join(left, right, "left")
        without_keys = word == "non-equi" or (word != "cross" and rng.random() < 0.04)
        if word == "non-equi":
            word = rng.choice(OPEN_KINDS)
        keys = [] if without_keys or word == "cross" else self.join_keys(left, right, rng.choice([1, 1, 1, 2, 3]))
        plain = sum(not nulls for _, _, nulls in keys)
        residual = word != "cross" and (not keys or rng.random() < 0.3)
        if not keys or (word in ("mark", "null_aware") and plain and (residual or len(keys) > 1)):
            right = self.first(right, rng.choice([3, 12]))  # nested loops, in every engine
            left = self.first(left, 200) if self.rows[id(left)] > 400 else left
            keys = [(l, r, nulls) for l, r, nulls in keys if r.name in {c.name for c in right.columns} and l.name in {c.name for c in left.columns}]
        predicate = None
        if residual:
            columns = [c for c in left.columns + right.columns if c.exact]
            predicate = self.exprs.predicate(columns, 1) if columns else None
        if not keys and predicate is None and word not in ("cross", "semi", "anti", "inner", "left", "right", "full"):
            word = "semi"
        rel = Rel("join", [left, right], self.joined(word, left, right), join=word, keys=keys, predicate=predicate,
                  build=build or (0 if self.chain else rng.choice([0, 0, 1, 2])) if build != 1 else 1)
        return self.added_join(rel)

    def joined(self, word, left, right):
        if word in ("semi", "anti", "null_aware"):
            return left.columns
        if word == "mark":
            return left.columns + [Column(self.name(), k.BOOL)]
        nulls = {"left": (0, 1), "right": (1, 0), "full": (1, 1)}.get(word, (0, 0))
        return [dataclasses.replace(c, nullable=c.nullable or bool(outer)) for side, outer in ((left, nulls[0]), (right, nulls[1])) for c in side.columns]

    def added_join(self, rel):
        """The join, or one of fewer rows when it has too many."""
        for most in (100, 12):
            try:
                return self.add(rel)
            except TooLarge:
                if any(not c.exact for one in rel.inputs for c in one.columns):
                    raise
                rel = dataclasses.replace(rel, inputs=[self.first(one, most) for one in rel.inputs])
        return self.add(rel)

    def asof(self, left, right):
        """The right rows that tie are alike, or made one: which of them it is, is not said."""
        rng = self.rng
        pairs = [(l, r) for l in left.columns for r in right.columns if l.exact and r.exact and l.kind == r.kind and l.kind.family in ("int", "dec", "float", "date", "ts", "text")]
        pairs = [p for p in pairs if p[0].kind.family in ("date", "ts", "int") or rng.random() < 0.4]
        if not pairs:
            return None
        value = rng.choice(pairs)
        keys = [p for p in self.join_keys(left, right, rng.choice([0, 1, 1, 2])) if p[0].kind == p[1].kind and p[1].name != value[1].name and p[0].name != value[0].name]
        ordered = [self.column_of(right, r) for _, r, _ in keys] + [value[1]]
        ordered = list(dict.fromkeys(ordered))
        if rng.random() < 0.5:
            thin = self.project(right, [(c, self.exprs.column(c)) for c in ordered])
        else:
            thin = self.group(right, ordered, [("min", c) for c in right.columns if c.exact and c not in ordered][:3])
        new = dict(zip((c.name for c in ordered), thin.columns))
        keys = [(l, self.exprs.column(new[r.name]), nulls) for l, r, nulls in keys]
        keep = rng.random() < 0.5
        columns = left.columns + [dataclasses.replace(c, nullable=c.nullable or keep) for c in thin.columns]
        return self.added_join(Rel("asof", [left, thin], columns, keys=keys, pair=(self.exprs.column(value[0]), self.exprs.column(new[value[1].name])),
                                   direction=rng.randint(1, 4), keep=keep, build=rng.choice([0, 0, 2])))

    def column_of(self, rel, e):
        return next(c for c in rel.columns if c.name == e.name)

    # ---- aggregates

    def group(self, rel, keys, functions):
        """Grouped by columns; (function, column) of plain measures."""
        exprs = [(self.name(), self.exprs.column(c)) for c in keys]
        measures = [Measure(self.name(), function, [self.exprs.column(c)]) for function, c in functions]
        columns = [dataclasses.replace(c, name=name) for c, (name, _) in zip(keys, exprs)]
        columns += [dataclasses.replace(c, name=m.name, nullable=True) for (_, c), m in zip(functions, measures)]
        return self.add(Rel("aggregate", [rel], columns, exprs=exprs, measures=measures))

    def aggregate(self, rel, fresh=()):
        """fresh: columns to use before others."""
        rng = self.rng
        exact = [c for c in rel.columns if c.exact]
        if not exact:
            return rel
        fresh = [c for c in fresh if c.exact]
        keys = rng.sample(exact, min(len(exact), rng.choice([0, 1, 1, 2, 3])))
        exprs = [(self.name(), self.exprs.column(c)) for c in keys]
        if rng.random() < 0.15:
            e = self.exprs.value(exact, 1)
            exprs += [(self.name(), e)] if e is not None and e.exact and e.op not in ("literal",) else []
        columns = [Column(name, e.kind, e.nullable, True, e.size, e.calm) for name, e in exprs]
        measures = []
        for _ in range(rng.randint(5, 8)):
            m, column = self.measure(exact, *self.wishes.draw("aggregate", MEASURES, 8), fresh)
            if m is not None:
                measures.append(m)
                columns.append(column)
        for c in fresh:  # what was made for this is looked at
            measures.append(Measure(self.name(), "max" if c.kind.numeric else "count_distinct", [self.exprs.column(c)]))
            columns.append(Column(measures[-1].name, c.kind if c.kind.numeric else k.I64, True, True, c.size, c.calm))
        if not measures and not exprs:
            return rel
        return self.add(self.in_parts(Rel("aggregate", [rel], columns, exprs=exprs, measures=measures)))

    def in_parts(self, rel):
        """Now and then by grouping sets, or in two phases."""
        roll, places = self.rng.random(), range(len(rel.exprs))
        if roll < 0.14 and rel.exprs:
            rel.sets = [sorted(self.rng.sample(places, self.rng.randint(0, len(places)))) for _ in range(self.rng.randint(1, 4))]
            rel.columns = [dataclasses.replace(c, nullable=True) for c in rel.columns]
            if self.rng.random() < 0.7:
                rel.set_name = self.name()
                rel.columns.append(Column(rel.set_name, k.I64, False, size=5))
        elif roll < 0.34 and rel.measures:
            rel.phases = self.rng.choice([1, 2])
        return rel

    def argument(self, function, columns, fresh):
        rng = self.rng
        calm = AGGREGATES[function].takes == "calm"
        def fits(c):
            return takes(function, c.kind) and (not calm or c.kind.family != "float" or (c.calm and c.size < 2**30)) and (not calm or c.kind.family != "dec" or c.size < 10**30)
        good = [c for c in fresh if fits(c)] or [c for c in columns if fits(c)]
        if good:
            c = rng.choice(good)
            if c in fresh:
                fresh.remove(c)
            return self.exprs.column(c)
        return self.exprs.made(columns, lambda kind: takes(function, kind))

    def measure(self, columns, function, distinct, fresh):
        rng = self.rng
        aggregate = AGGREGATES[function]
        args = [self.argument(function, columns, fresh) for _ in range(aggregate.arguments)]
        if function in ("arg_min", "arg_max"):
            args[1] = self.exprs.column(rng.choice(columns))
        m = Measure(self.name(), function, args, distinct=distinct)
        if aggregate.parameter == "fraction":
            m.parameter = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0])
        elif aggregate.parameter:
            m.parameter = rng.choice([",", "; ", "", "'"])
        if aggregate.order and not m.distinct and rng.random() < 0.8:
            m.order = self.sort_keys(columns, rng.choice([1, 1, 2]))
        if rng.random() < 0.25:
            m.filter = self.exprs.predicate(columns, 1)
        if aggregate.own_order and not m.distinct and args[0].op == "column" and rng.random() < 0.4:
            m.order = [(args[0], rng.randint(1, 4))]
        if aggregate.bound:
            tame = self.tame(args, aggregate.bound)
            m.filter = tame if m.filter is None else self.exprs.build("and", [tame, m.filter])
        kind = aggregate.kind([e.kind for e in args])
        size = {"sum": args[0].size * 5000, "count": 5000, "count_star": 5000, "count_distinct": 5000}.get(function, args[0].size) if args else 5000
        nullable = not function.startswith("count") and function != "approx_count_distinct"
        calm = aggregate.exact and bool(args) and args[0].calm and size < 2**40
        return m, Column(m.name, kind, nullable, aggregate.exact, size, calm)

    def tame(self, args, bound):
        """A FILTER that leaves out what others' sums cannot take."""
        parts = []
        for e in args:
            x = self.exprs.cast(e, k.F64)
            parts.append(self.exprs.build("between", [x, self.exprs.constant(k.F64, -bound), self.exprs.constant(k.F64, bound)]))
        return parts[0] if len(parts) == 1 else self.exprs.build("and", parts)

    # ---- order and sets

    def sort_keys(self, columns, count):
        rng = self.rng
        return [(self.exprs.column(c), rng.randint(1, 4)) for c in rng.sample(columns, min(len(columns), count))]

    def sorted(self, rel):
        exact = [c for c in rel.columns if c.exact]
        if not exact or len(exact) > 30:
            return rel
        whole = len(exact) == len(rel.columns)
        keys = self.sort_keys(exact, self.rng.choice([1, 2, 3, 30]))
        if self.rng.random() < 0.15:
            e = self.exprs.value(exact, 1)
            keys = ([(e, self.rng.randint(1, 4))] if e is not None and e.exact and e.op != "literal" else []) + keys
        count = self.rng.choice([None, 0, 1, 10, 100, 4000]) if whole else None
        rel = self.add(Rel("sort", [rel], rel.columns, keys=keys, count=count))
        if whole and self.rng.random() < 0.6:
            rel = self.add(Rel("limit", [rel], rel.columns, count=self.rng.choice([None, 0, 1, 10, 1000]), offset=self.rng.choice([0, 0, 3, 50]), order=keys))
        return rel

    def window(self, rel):
        """Numbers within partitions, or the first rows of each. All columns are read, so ties go by all of them."""
        rng = self.rng
        rel = self.only_exact(rel)
        partition = [self.exprs.column(c) for c in rng.sample(rel.columns, min(len(rel.columns), rng.choice([0, 1, 1, 2])))]
        keys = self.sort_keys(rel.columns, rng.choice([0, 1, 1, 2]))
        functions = [(self.name(), function) for function in rng.sample(["row_number", "rank", "dense_rank"], rng.choice([1, 2, 3]))]
        count = rng.choice([None, 1, 3, 20, 0]) if rng.random() < 0.6 else None
        return self.add(Rel("window", [rel], rel.columns + [Column(name, k.I64, False, size=5000) for name, _ in functions],
                            partition=partition, keys=keys, functions=functions, count=count))

    def union(self, rel):
        """The rows once more, or some of them, behind themselves; two or three inputs."""
        inputs = [rel]
        for _ in range(self.rng.choice([1, 1, 2])):
            other = self.renamed(rel)
            inputs.append(self.filter(other) if self.rng.random() < 0.7 else other)
        columns = [dataclasses.replace(c, nullable=any(one.columns[i].nullable for one in inputs)) for i, c in enumerate(rel.columns)]
        return self.add(Rel("union", inputs, columns))

    def distinct(self, rel):
        rel = self.only_exact(rel)
        if self.rng.random() < 0.6:
            rel = self.renamed(rel, self.rng.choice([1, 2, 3]))
        return self.add(Rel("distinct", [rel], rel.columns))

    # ---- whole plans

    def input(self, earlier):
        rng = self.rng
        right = self.renamed(rng.choice(earlier)) if earlier and rng.random() < 0.12 else self.scan()
        roll = rng.random()
        if roll < 0.25:
            return self.filter(right)
        if roll < 0.31:
            return self.aggregate(right)
        return self.distinct(right) if roll < 0.36 else right

    def joins(self):
        rng = self.rng
        rel, earlier = self.scan(), []
        for number in range(rng.choice([0, 1, 1, 1, 1, 2, 2, 3, 4, 5])):
            if rng.random() < 0.3:
                rel = self.filter(rel)
            wish = self.wishes.draw("join", JOIN_KINDS, 1) if number == 0 or rng.random() < 0.2 else rng.choice(JOIN_KINDS)
            if self.chain and number:
                wish = "inner"
            right = self.input(earlier)
            rel = self.only_exact(rel) if not rng.random() < 0.3 else rel
            rel = self.join(rel, self.only_exact(right), wish)
            if len(rel.columns) > COLUMNS_MAX:
                rel = self.renamed(rel, 14, tuple(c for c in rel.columns if c.kind == k.BOOL)[:3])
            earlier.append(rel)
        return rel

    def make(self):
        rng = self.rng
        self.chain = rng.random() < 0.25  # mostly inner joins, whose order is open
        rel = self.joins()
        if rng.random() < 0.3:
            rel = self.filter(rel)
        shape = rng.random()
        if shape < 0.35:
            rel = self.functions(rel, 12)
        elif shape < 0.55:
            rel = self.functions(self.having(self.aggregate(rel)), 12)
        elif shape < 0.75:
            before = rel
            rel = self.functions(rel, 9)
            rel = self.having(self.aggregate(rel, list(rel.columns[:9]) if rel is not before else ()))
        else:
            rel = self.having(self.aggregate(rel))
        if rng.random() < 0.12 and len(rel.columns) <= COLUMNS_MAX:
            rel = self.union(rel)
        if rng.random() < 0.12 and len(rel.columns) <= COLUMNS_MAX:
            rel = self.distinct(rel)
        if rng.random() < 0.16 and len(rel.columns) < 20:
            rel = self.window(rel)
            if rng.random() < 0.4:
                return self.filter(rel)
        roll = rng.random()
        if roll < 0.45:
            rel = self.sorted(rel)
        elif roll < 0.52:
            rel = self.add(Rel("limit", [rel], rel.columns, count=rng.choice([0, 1, 20]), offset=rng.choice([0, 0, 5])))
        return rel

    def having(self, rel):
        return self.filter(rel) if self.rng.random() < 0.35 else rel
