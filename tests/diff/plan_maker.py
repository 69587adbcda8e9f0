"""Random tables and random plans, each said twice: as a morsel.v1.Plan and as SQL.

Every relation of a plan is a SELECT over the ones before it; column names are unique in a plan, so
that names never clash. Types: i32 i64 f64 str bool date ts."""
import datetime, math, random

import pyarrow as pa

from daemon import plan_pb

ARROW = {"i32": pa.int32(), "i64": pa.int64(), "f64": pa.float64(), "str": pa.string(), "bool": pa.bool_(), "date": pa.date32(), "ts": pa.timestamp("us")}
KIND = {"i32": 4, "i64": 5, "f64": 11, "str": 13, "bool": 1, "date": 15, "ts": 16}
DUCK = {"i32": "INTEGER", "i64": "BIGINT", "f64": "DOUBLE", "str": "VARCHAR", "bool": "BOOLEAN", "date": "DATE", "ts": "TIMESTAMP"}
NUMERIC = ("i32", "i64", "f64")
SCALAR = ("i32", "i64", "f64", "str", "date", "ts")
BITS = {"bool_and": 13, "bool_or": 14, "bit_and": 28, "bit_or": 29, "bit_xor": 30}
CHOSEN = {"first": 15, "last": 16, "arg_min": 22, "arg_max": 23}
COLLECTED = {"string_agg": 17, "quantile_cont": 18, "quantile_disc": 19, "mode": 24}
MOMENTS = {"var_samp": 8, "stddev_samp": 9, "var_pop": 11, "stddev_pop": 12, "corr": 25, "covar_samp": 26, "covar_pop": 27}
INNER, LEFT, RIGHT, FULL, SEMI, ANTI, MARK, NULL_AWARE, CROSS = 1, 2, 3, 4, 5, 6, 7, 8, 9
JOINS = {INNER: "INNER JOIN", LEFT: "LEFT JOIN", RIGHT: "RIGHT JOIN", FULL: "FULL JOIN", CROSS: "CROSS JOIN"}
COLUMNS_MAX = 24  # a sort by all columns takes at most 32
JOIN_INPUT_MAX = 3000  # rows of a join's input; more are cut to the first 100
EPOCH = datetime.date(1970, 1, 1)


def random_value(rng, kind, spread):
    if kind in ("i32", "i64"):
        if rng.random() < 0.03:
            return rng.choice([0, -1, 1, 2**31 - 1, -2**31] if kind == "i32" else [0, -1, 2**40, -2**40])
        return rng.randint(-spread, spread)
    if kind == "f64":
        if rng.random() < 0.05:
            return rng.choice([0.0, -0.0, math.inf, -math.inf, math.nan, 1e300, 5e-324])
        return rng.randint(-spread, spread) / 4
    if kind == "str":
        word = f"w{rng.randint(0, spread)}"
        return rng.choice([word, word + "-longer-than-twelve-bytes", "", "ü" + word]) if rng.random() < 0.3 else word
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "date":
        return rng.randint(0, spread) + 15000
    return rng.randint(0, spread) * 3_600_000_000


def random_table(rng, name):
    rows = rng.choice([0, 1, 7, 100, 1000, 1025, 3000])
    spread = rng.choice([50, 2000] if rows >= 1000 else [1, 5, 50, 2000])
    nulls = rng.choice([0, 0.1, 0.6])
    kinds = ["i64", "str"] + [rng.choice(list(ARROW)) for _ in range(rng.randint(1, 4))]
    columns, names = [], []
    skewed = rng.random() < 0.3
    for i, kind in enumerate(kinds):
        first = random_value(rng, kind, spread)
        values = [None if rng.random() < nulls else first if skewed and rng.random() < 0.4 else random_value(rng, kind, spread) for _ in range(rows)]
        columns.append(pa.array(values, pa.int64() if kind == "ts" else pa.int32() if kind == "date" else ARROW[kind]).cast(ARROW[kind]))
        names.append(f"{name}_{i}")
    return pa.table(dict(zip(names, columns))), list(zip(names, kinds))


def has_odd_floats(table):
    """NaN and infinities: SQLite has no NaN."""
    return any(pa.types.is_floating(c.type) and any(v is not None and not math.isfinite(v) for v in c.to_pylist()) for c in table.columns)


class Rel:
    def __init__(self, index, sql, columns):
        self.index, self.sql, self.columns = index, sql, columns


class PlanMaker:
    def __init__(self, rng, tables, counts, joins, size=lambda sql: 0):
        self.rng, self.tables, self.counts, self.joins, self.size = rng, tables, counts, joins, size
        self.sides = {}  # of the columns a residual refers to
        self.plan = plan_pb.Plan(version=1)
        self.serial = 0
        self.duck_only = False  # says something SQLite cannot

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def name(self):
        self.serial += 1
        return f"c{self.serial}"

    # ---- expressions: (index, sql) ---------------------------------------------------------------

    def expr(self, **kind):
        self.plan.exprs.add(**kind)
        return len(self.plan.exprs)

    def column(self, name):
        return self.expr(column={"name": name, "side": self.sides.get(name, 0)}), name

    def literal(self, kind):
        value = random_value(self.rng, kind, 50)
        while isinstance(value, float) and not math.isfinite(value):
            value = random_value(self.rng, kind, 50)
        typed = {"kind": KIND[kind]}
        if kind == "ts":
            typed["unit"] = 3
        field = {"bool": "bool_value", "f64": "double_value", "str": "string_value"}.get(kind, "int_value")
        sql = {"bool": str(value).upper(), "f64": f"CAST({value!r} AS DOUBLE)", "str": f"'{value}'", "i32": f"CAST({value} AS INTEGER)",
               "i64": f"CAST({value} AS BIGINT)", "date": f"DATE_OF({value})", "ts": f"TS_OF({value})"}[kind]
        return self.expr(literal={"type": typed, field: value}), sql

    def call(self, function, *arguments):
        self.count("function " + function)
        return self.expr(call={"function": function, "args": list(arguments)})

    def pick(self, columns, kinds):
        found = [c for c in columns if c[1] in kinds]
        return self.rng.choice(found) if found else None

    def predicate(self, columns, depth=2):
        rng = self.rng
        roll = rng.random()
        if depth and roll < 0.35:
            a, a_sql = self.predicate(columns, depth - 1)
            if roll < 0.08:
                return self.call("not", a), f"(NOT {a_sql})"
            b, b_sql = self.predicate(columns, depth - 1)
            word = rng.choice(["and", "or"])
            return self.call(word, a, b), f"({a_sql} {word.upper()} {b_sql})"
        name, kind = rng.choice(columns)
        left, left_sql = self.column(name)
        if roll < 0.5:
            word = rng.choice(["is_null", "is_not_null"])
            return self.call(word, left), f"({left_sql} {word.replace('_', ' ').upper()})"
        if kind == "bool" and rng.random() < 0.5:
            return left, left_sql
        if roll < 0.6 and kind in ("i32", "i64", "str"):
            self.count("in_list")
            values = [random_value(rng, kind, 50) for _ in range(rng.randint(1, 4))]
            field = "string_value" if kind == "str" else "int_value"
            negated = rng.random() < 0.3
            index = self.expr(in_list={"arg": left, "values": [{"type": {"kind": KIND[kind]}, field: v} for v in values], "negated": negated})
            sql = ", ".join(f"'{v}'" if kind == "str" else str(v) for v in values)
            return index, f"({left_sql} {'NOT ' if negated else ''}IN ({sql}))"
        other = self.pick([c for c in columns if c[0] != name], [kind])
        right, right_sql = self.column(other[0]) if other and rng.random() < 0.3 else self.literal(kind)
        word, sign = rng.choice([("eq", "="), ("ne", "<>"), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")])
        return self.call(word, left, right), f"({left_sql} {sign} {right_sql})"

    def value(self, columns):
        """(index, sql, kind) of a computed column."""
        rng = self.rng
        name, kind = rng.choice(columns)
        left, left_sql = self.column(name)
        roll = rng.random()
        if kind in NUMERIC and roll < 0.5:
            right, right_sql = self.literal(kind)
            word, sign = rng.choice([("add", "+"), ("subtract", "-")]) if kind == "i32" else rng.choice([("add", "+"), ("subtract", "-"), ("multiply", "*")])
            if kind == "i32":  # stay clear of the edge: overflow is an error in every engine
                left, left_sql, kind = self.expr(cast={"arg": left, "to": {"kind": KIND["i64"]}}), f"CAST({left_sql} AS BIGINT)", "i64"
                right, right_sql = self.literal("i64")
                self.count("cast")
            return self.call(word, left, right), f"({left_sql} {sign} {right_sql})", kind
        if roll < 0.7:
            right, right_sql = self.literal(kind)
            return self.call("coalesce", left, right), f"COALESCE({left_sql}, {right_sql})", kind
        if roll < 0.85:
            self.count("case")
            when, when_sql = self.predicate(columns, 1)
            then, then_sql = self.literal(kind)
            return (self.expr(case_when={"branches": [{"when": when, "then": then}], "otherwise": left}),
                    f"CASE WHEN {when_sql} THEN {then_sql} ELSE {left_sql} END", kind)
        return left, left_sql, kind

    # ---- relations -------------------------------------------------------------------------------

    def add(self, sql, columns, **kind):
        self.plan.rels.add(**kind)
        return Rel(len(self.plan.rels), sql, columns)

    def scan(self):
        table = self.rng.choice(sorted(self.tables))
        columns = self.tables[table]
        scan = self.add(f"SELECT * FROM {table}", columns, scan={"table": {"name": table}})
        renamed = [(self.name(), kind) for _, kind in columns]
        exprs = [{"name": new, "expr": self.column(old)[0]} for (old, _), (new, _) in zip(columns, renamed)]
        sql = "SELECT " + ", ".join(f"{old} AS {new}" for (old, _), (new, _) in zip(columns, renamed)) + f" FROM {table}"
        return self.add(sql, renamed, project={"input": scan.index, "exprs": exprs})

    def filter(self, rel):
        index, sql = self.predicate(rel.columns)
        self.count("filter")
        return self.add(f"SELECT * FROM ({rel.sql}) q WHERE {sql}", rel.columns, filter={"input": rel.index, "predicate": index})

    def project(self, rel):
        out, exprs, sqls = [], [], []
        for _ in range(self.rng.randint(1, 4)):
            index, sql, kind = self.value(rel.columns)
            new = self.name()
            out.append((new, kind))
            exprs.append({"name": new, "expr": index})
            sqls.append(f"{sql} AS {new}")
        self.count("project")
        return self.add(f"SELECT {', '.join(sqls)} FROM ({rel.sql}) q", out, project={"input": rel.index, "exprs": exprs})

    def renamed(self, rel, count=COLUMNS_MAX):
        """The same rows under new names: for using a relation once more, or less of it."""
        kept = rel.columns if len(rel.columns) <= count else self.rng.sample(rel.columns, count)
        columns = [(self.name(), kind) for _, kind in kept]
        exprs = [{"name": new, "expr": self.column(old)[0]} for (old, _), (new, _) in zip(kept, columns)]
        sql = "SELECT " + ", ".join(f"{old} AS {new}" for (old, _), (new, _) in zip(kept, columns)) + f" FROM ({rel.sql}) q"
        return self.add(sql, columns, project={"input": rel.index, "exprs": exprs})

    def first(self, rel, count):
        """The first rows by all columns."""
        keys = [{"expr": self.column(name)[0], "direction": 1} for name, _ in rel.columns]
        sort = self.add("", rel.columns, sort={"input": rel.index, "keys": keys, "limit": {"value": count}})
        sql = f"SELECT * FROM ({rel.sql}) q ORDER BY {', '.join(name + ' ASC NULLS LAST' for name, _ in rel.columns)} LIMIT {count}"
        return Rel(sort.index, sql, rel.columns)

    def join_keys(self, left, right):
        """Pairs of columns, and whether a NULL equals a NULL in them."""
        rng = self.rng
        same = [(l, r) for l in left.columns for r in right.columns if l[1] == r[1] != "dec"]
        mixed = [(l, r) for l in left.columns for r in right.columns if l[1] != r[1] and l[1] in NUMERIC and r[1] in NUMERIC]
        rng.shuffle(same)
        rng.shuffle(mixed)
        pairs = (mixed + same if rng.random() < 0.15 else same)[:rng.choice([1, 1, 1, 2, 3])]
        if all(kind == "bool" for (_, kind), _ in pairs):
            pairs = [p for p in same if p[0][1] == "i64"][:1]
        return [(l, r, rng.random() < 0.15) for l, r in pairs]

    def residual(self, left, right):
        self.sides = {name: 1 for name, _ in left.columns} | {name: 2 for name, _ in right.columns}
        index, sql = self.predicate(left.columns + right.columns)
        self.sides = {}
        return index, sql

    def join(self, left, right):
        rng = self.rng
        kind = INNER if self.chain and rng.random() < 0.9 else rng.choice(self.joins)
        pairs = [] if kind == CROSS or rng.random() < 0.1 else self.join_keys(left, right)
        residual, residual_sql = (0, "TRUE") if kind == CROSS or rng.random() < 0.65 else self.residual(left, right)
        plain = sum(not nulls for _, _, nulls in pairs)
        if not pairs or (kind in (MARK, NULL_AWARE) and plain and (residual or len(pairs) > 1)):
            small = self.first(right, rng.choice([3, 12]))  # nested loops, in every engine
            right = small
        keys = [{"left": self.column(l[0])[0], "right": self.column(r[0])[0], "nulls_equal": nulls} for l, r, nulls in pairs]
        equal = [f"{l[0]} IS NOT DISTINCT FROM {r[0]}" if nulls else f"{l[0]} = {r[0]}" for l, r, nulls in pairs]
        on = " AND ".join(equal + [residual_sql])
        side = 0 if self.chain else rng.choice([0, 0, 1, 2])
        self.count(f"join {kind}" + (" without keys" if not pairs and kind != CROSS else ""))
        self.count("build side " + ["chosen", "left", "right"][side])
        if residual:
            self.count("join residual")
        for l, r, nulls in pairs:
            self.count("join key " + (l[1] if l[1] == r[1] else "of two types") + (" null-safe" if nulls else ""))
        relation = {"left": left.index, "right": right.index, "type": kind, "keys": keys, "residual": residual, "build_side": side}
        if kind in (SEMI, ANTI):
            word = "EXISTS" if kind == SEMI else "NOT EXISTS"
            return self.add(f"SELECT * FROM ({left.sql}) l WHERE {word} (SELECT 1 FROM ({right.sql}) r WHERE {on})", left.columns, join=relation)
        if kind in (MARK, NULL_AWARE):
            return self.null_aware(left, right, relation, equal, residual_sql, pairs)
        condition = "" if kind == CROSS else " ON " + on
        return self.add(f"SELECT * FROM ({left.sql}) l {JOINS[kind]} ({right.sql}) r{condition}", left.columns + right.columns, join=relation)

    def null_aware(self, left, right, relation, equal, residual_sql, pairs):
        """IN as a column, NOT IN as a filter: over the plain keys, the rest is the subquery's WHERE."""
        plain = [text for text, (_, _, nulls) in zip(equal, pairs) if not nulls]
        where = " AND ".join([text for text, (_, _, nulls) in zip(equal, pairs) if nulls] + [residual_sql])
        if len(plain) == 1:
            l, r = next((l, r) for l, r, nulls in pairs if not nulls)
            mark = f"({l[0]} IN (SELECT {r[0]} FROM ({right.sql}) r WHERE {where}))"
        elif plain:
            mark = (f"(CASE WHEN EXISTS (SELECT 1 FROM ({right.sql}) r WHERE {where} AND {' AND '.join(plain)}) THEN TRUE "
                    f"WHEN EXISTS (SELECT 1 FROM ({right.sql}) r WHERE {where} AND ({' AND '.join(plain)}) IS NULL) THEN NULL ELSE FALSE END)")
        else:
            mark = f"EXISTS (SELECT 1 FROM ({right.sql}) r WHERE {where})"
        if relation["type"] == NULL_AWARE:
            return self.add(f"SELECT * FROM ({left.sql}) l WHERE NOT {mark}", left.columns, join=relation)
        joined = self.add("", left.columns, join=relation)
        columns = left.columns + [(self.name(), "bool")]
        exprs = [{"name": name, "expr": self.expr(column={"index": i + 1})} for i, (name, _) in enumerate(columns)]
        return self.add(f"SELECT *, {mark} AS {columns[-1][0]} FROM ({left.sql}) l", columns, project={"input": joined.index, "exprs": exprs})

    def aggregate(self, rel):
        rng = self.rng
        keys = rng.sample(rel.columns, min(len(rel.columns), rng.choice([0, 1, 1, 2, 3])))
        out, key_list, measures, sqls, group = [], [], [], [], []
        for name, kind in keys:
            new = self.name()
            key_list.append({"name": new, "expr": self.column(name)[0]})
            out.append((new, kind))
            sqls.append(f"{name} AS {new}")
            group.append(name)
            self.count("group key " + kind)
        for _ in range(rng.randint(1, 4)):
            if rng.random() < 0.5:
                measure, sql, kind = self.wide_measure(rel)
                if measure is not None:
                    measure["name"] = new = self.name()
                    measures.append(measure)
                    sqls.append(f"{sql} AS {new}")
                    out.append((new, kind))
                    continue
            function = rng.choice(["count_star", "count", "sum", "min", "max", "avg"])
            source = rng.choice(rel.columns)
            if function in ("sum", "avg"):
                source = self.pick(rel.columns, NUMERIC)
            if source is None or (function in ("min", "max") and source[1] == "bool"):
                function, source = "count_star", rel.columns[0]
            new = self.name()
            number = {"count_star": 1, "count": 2, "sum": 3, "min": 4, "max": 5, "avg": 6}[function]
            measure = {"function": number, "name": new}
            if function != "count_star":
                measure["arguments"] = [self.column(source[0])[0]]
            measures.append(measure)
            sqls.append(("count(*)" if function == "count_star" else f"{function}({source[0]})") + f" AS {new}")
            kind = {"count_star": "i64", "count": "i64", "avg": "f64", "sum": {"i32": "i64", "i64": "dec", "f64": "f64"}.get(source[1])}.get(function, source[1])
            out.append((new, kind))
            self.count("aggregate " + function)
        by = f" GROUP BY {', '.join(group)}" if group else ""
        return self.add(f"SELECT {', '.join(sqls)} FROM ({rel.sql}) q{by}", out,
                        aggregate={"input": rel.index, "keys": key_list, "measures": measures})

    def tame(self, *columns):
        """A FILTER that leaves out what DuckDB's sums of squares cannot take: (index, sql) over doubles."""
        index, sqls = None, []
        for name in columns:
            for word, sign, bound in (("gt", ">", -1e7), ("lt", "<", 1e7)):
                left = self.expr(cast={"arg": self.column(name)[0], "to": {"kind": KIND["f64"]}})
                one = self.call(word, left, self.expr(literal={"type": {"kind": KIND["f64"]}, "double_value": bound}))
                index = one if index is None else self.call("and", index, one)
                sqls.append(f"CAST({name} AS DOUBLE) {sign} {bound!r}")
        return index, f" FILTER (WHERE {' AND '.join(sqls)})"

    def moments(self, rel):
        function = self.rng.choice(list(MOMENTS))
        a, b = self.pick(rel.columns, NUMERIC), self.pick(rel.columns, NUMERIC)
        if a is None:
            return None, None, None
        names = [a[0], b[0]] if function in ("corr", "covar_samp", "covar_pop") else [a[0]]
        index, filter_sql = self.tame(*names)
        self.count("aggregate " + function)
        self.duck_only = True
        measure = {"function": MOMENTS[function], "arguments": [self.column(n)[0] for n in names], "filter": index}
        sql = f"{function}({', '.join(names)}){filter_sql}"
        # No correlation with a constant: NULL here, NaN in DuckDB. Where rounding decides what is constant, nothing is compared.
        if function == "corr":
            sql = f"NULLIF({sql}, CAST('nan' AS DOUBLE))"
        return measure, sql, "real"

    def distinct(self, rel):
        function, number = self.rng.choice([("count", 7), ("count", 2), ("sum", 3), ("avg", 6), ("min", 4), ("string_agg", 17)])
        column = self.pick(rel.columns, {"sum": NUMERIC, "avg": NUMERIC, "string_agg": ("str",)}.get(function, SCALAR))
        if column is None:
            return None, None, None
        self.count("aggregate distinct " + function)
        measure = {"function": number, "arguments": [self.column(column[0])[0]], "distinct": number != 7}
        if function == "string_agg":
            self.duck_only = True
            measure["parameters"] = [{"type": {"kind": KIND["str"]}, "string_value": "; "}]
            return measure, f"string_agg(DISTINCT {column[0]}, '; ' ORDER BY {column[0]})", "str"
        kind = {"count": "i64", "avg": "real", "sum": {"i32": "i64", "i64": "dec", "f64": "real"}.get(column[1])}.get(function, column[1])
        return measure, f"{function}(DISTINCT {column[0]})", kind

    def bits(self, rel):
        function = self.rng.choice(list(BITS))
        self.duck_only = True
        if function.startswith("bool"):
            self.count("aggregate " + function)
            index, sql = self.predicate(rel.columns, 1)
            return {"function": BITS[function], "arguments": [index]}, f"{function}({sql})", "bool"
        column = self.pick(rel.columns, ("i32", "i64"))
        if column is None:
            return None, None, None
        self.count("aggregate " + function)
        return {"function": BITS[function], "arguments": [self.column(column[0])[0]]}, f"{function}({column[0]})", column[1]

    def chosen(self, rel):
        """first, last by an order, arg_min, arg_max: ties go by the value, which the SQL has to say."""
        rng = self.rng
        function = rng.choice(list(CHOSEN))
        column, other = self.pick(rel.columns, SCALAR), self.pick(rel.columns, SCALAR)
        if column is None:
            return None, None, None
        self.count("aggregate " + function)
        self.duck_only = True
        measure = {"function": CHOSEN[function], "arguments": [self.column(column[0])[0]]}
        if function.startswith("arg"):
            measure["arguments"].append(self.column(other[0])[0])
            return measure, f"{function}({column[0]}, {other[0]} ORDER BY {column[0]})", column[1]
        key, key_sql = self.sort_key(other[0])
        measure["order"] = [key]
        return measure, f"{function}({column[0]} ORDER BY {key_sql}, {column[0]} ASC NULLS LAST)", column[1]

    def sort_key(self, name):
        direction = self.rng.randint(1, 4)
        return ({"expr": self.column(name)[0], "direction": direction},
                f"{name} {'ASC' if direction < 3 else 'DESC'} NULLS {'LAST' if direction % 2 else 'FIRST'}")

    def collected(self, rel):
        rng = self.rng
        function = rng.choice(list(COLLECTED))
        column = self.pick(rel.columns, {"quantile_cont": NUMERIC, "string_agg": ("str",)}.get(function, SCALAR))
        if column is None:
            return None, None, None
        self.count("aggregate " + function)
        self.duck_only = True
        measure = {"function": COLLECTED[function], "arguments": [self.column(column[0])[0]]}
        if function == "mode":
            return measure, f"mode({column[0]} ORDER BY {column[0]})", column[1]
        if function == "string_agg":
            other = self.pick(rel.columns, SCALAR)
            key, key_sql = self.sort_key(other[0])
            measure["order"] = [key]
            measure["parameters"] = [{"type": {"kind": KIND["str"]}, "string_value": ","}]
            return measure, f"string_agg({column[0]}, ',' ORDER BY {key_sql}, {column[0]})", "str"
        fraction = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0])
        measure["parameters"] = [{"type": {"kind": KIND["f64"]}, "double_value": fraction}]
        return measure, f"{function}({column[0]}, {fraction})", "real" if function == "quantile_cont" else column[1]

    def wide_measure(self, rel):
        """(measure, sql, kind) of a function beyond the usual six; None: no fitting column."""
        return self.rng.choice([self.moments, self.moments, self.distinct, self.distinct, self.bits, self.bits, self.chosen, self.collected])(rel)

    def top(self, rel):
        """Sorted by every column, so that the first rows are the same rows everywhere."""
        keys, sqls = [], []
        columns = rel.columns[:]
        self.rng.shuffle(columns)
        for name, _ in columns:
            direction = self.rng.randint(1, 4)
            keys.append({"expr": self.column(name)[0], "direction": direction})
            sqls.append(f"{name} {'ASC' if direction < 3 else 'DESC'} NULLS {'LAST' if direction % 2 else 'FIRST'}")
        sort = self.add("", rel.columns, sort={"input": rel.index, "keys": keys})
        limit, offset = self.rng.choice([(0, 0), (1, 0), (10, 0), (10, 3), (100_000, 0)])
        self.count("top")
        return self.add(f"SELECT * FROM ({rel.sql}) q ORDER BY {', '.join(sqls)} LIMIT {limit} OFFSET {offset}", rel.columns,
                        limit={"input": sort.index, "offset": offset, "count": {"value": limit}})

    def make(self):
        rng = self.rng
        rel = self.scan()
        earlier = [rel]
        self.chain = rng.random() < 0.3  # mostly inner joins, whose order is open
        for _ in range(rng.choice([0, 1, 1, 2, 3, 4, 5])):
            if rng.random() < 0.4:
                rel = self.filter(rel)
            if rng.random() < 0.15:
                right = self.renamed(rng.choice(earlier))
                self.count("relation used twice")
            else:
                right = self.scan()
            if rng.random() < 0.3:
                right = self.filter(right)
            if self.size(rel.sql) > JOIN_INPUT_MAX:
                rel = self.first(rel, 100)
            rel = self.join(rel, right)
            if len(rel.columns) > COLUMNS_MAX:
                rel = self.renamed(rel, 12)
            earlier.append(rel)
        if rng.random() < 0.5:
            rel = self.filter(rel)
        if rng.random() < 0.3:
            rel = self.project(rel)
        if rng.random() < 0.6:
            rel = self.aggregate(rel)
        if rng.random() < 0.4 and len(rel.columns) <= 32 and all(kind != "real" for _, kind in rel.columns):  # near-equal reals sort differently
            rel = self.top(rel)
        return rel
