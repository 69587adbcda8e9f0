"""Relations in SQL: one SELECT each, over the tables that the relations before it became."""
from aggregates import say_keys, say_measure
from functions import in_common, say, say_term
from plan_tree import Expr

JOINS = {"inner": "INNER JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN", "cross": "CROSS JOIN"}
ASOF = {1: ("<=", "DESC"), 2: ("<", "DESC"), 3: (">=", "ASC"), 4: (">", "ASC")}


def output(e, lang):
    """An expression as a column of its type; -0.0 is 0.0, which DuckDB tells apart here and there."""
    sql = say_term(e, lang)
    if lang == "lite" or e.op == "column":
        return sql
    return f"UNSIGNED_ZERO(CAST({sql} AS {e.kind.duck}))" if e.kind.family == "float" else f"CAST({sql} AS {e.kind.duck})"


def pair(left, right, sign, lang):
    a = in_common(Expr("call", None, [left, right]), [say(left, lang), say(right, lang)], lang)
    return f"({a[0]} {sign} {a[1]})"


def say_order(rel, keys, lang):
    """Ties go by all columns: the order is total."""
    rest = [f"{c.name} ASC NULLS LAST" for c in rel.columns if c.exact]
    return " ORDER BY " + ", ".join(([say_keys(keys, lang)] if keys else []) + rest)


def say_rel(rel, names, lang):
    """names: id of relation -> name of its table."""
    inputs = [names[id(one)] for one in rel.inputs]
    return SAYINGS[rel.op](rel, inputs, lang)


def scan(rel, inputs, lang):
    return f"SELECT * FROM {rel.table}"


def filtered(rel, inputs, lang):
    return f"SELECT * FROM {inputs[0]} WHERE {say(rel.predicate, lang)}"


def project(rel, inputs, lang):
    return "SELECT " + ", ".join(f"{output(e, lang)} AS {name}" for name, e in rel.exprs) + f" FROM {inputs[0]}"


def join(rel, inputs, lang):
    left, right = inputs
    equal = [(pair(l, r, "IS NOT DISTINCT FROM" if nulls else "=", lang), nulls) for l, r, nulls in rel.keys]
    residual = [say(rel.predicate, lang)] if rel.predicate else []
    on = " AND ".join([text for text, _ in equal] + residual) or ("TRUE" if lang == "duck" else "1")
    if rel.join in ("semi", "anti"):
        return f"SELECT * FROM {left} WHERE {'NOT ' if rel.join == 'anti' else ''}EXISTS (SELECT 1 FROM {right} WHERE {on})"
    if rel.join in ("mark", "null_aware"):
        mark = say_mark(rel, right, equal, residual, lang)
        return f"SELECT * FROM {left} WHERE NOT {mark}" if rel.join == "null_aware" else f"SELECT *, {mark} AS {rel.columns[-1].name} FROM {left}"
    return f"SELECT * FROM {left} {JOINS[rel.join]} {right}" + ("" if rel.join == "cross" else f" ON {on}")


def say_mark(rel, right, equal, residual, lang):
    """IN: over the plain keys, the rest is the subquery's WHERE."""
    plain = [text for text, nulls in equal if not nulls]
    where = " AND ".join([text for text, nulls in equal if nulls] + residual) or ("TRUE" if lang == "duck" else "1")
    if len(plain) == 1:
        l, r = next((l, r) for l, r, nulls in rel.keys if not nulls)
        sides = in_common(Expr("call", None, [l, r]), [say(l, lang), say(r, lang)], lang)
        return f"({sides[0]} IN (SELECT {sides[1]} FROM {right} WHERE {where}))"
    if plain:
        both = " AND ".join(plain)
        return (f"(CASE WHEN EXISTS (SELECT 1 FROM {right} WHERE {where} AND {both}) THEN TRUE "
                f"WHEN EXISTS (SELECT 1 FROM {right} WHERE {where} AND ({both}) IS NULL) THEN NULL ELSE FALSE END)")
    return f"EXISTS (SELECT 1 FROM {right} WHERE {where})"


def asof(rel, inputs, lang):
    sign, way = ASOF[rel.direction]
    left, right = rel.pair
    on = [pair(l, r, "IS NOT DISTINCT FROM" if nulls else "=", lang) for l, r, nulls in rel.keys] + [pair(right, left, sign, lang)]
    columns = ", ".join(c.name for c in rel.columns)
    return (f"SELECT {columns} FROM (SELECT *, row_number() OVER (PARTITION BY left_row ORDER BY {say(right, lang)} {way}) AS place "
            f"FROM (SELECT *, row_number() OVER () AS left_row FROM {inputs[0]}) l {'LEFT' if rel.keep else 'INNER'} JOIN {inputs[1]} ON {' AND '.join(on)}) q WHERE place = 1")


def aggregate(rel, inputs, lang):
    """Grouping sets one by one: other systems cannot tell equal ones apart."""
    if rel.sets is None:
        return grouped(rel, inputs, lang, range(len(rel.exprs)), "")
    return " UNION ALL ".join(grouped(rel, inputs, lang, kept, f", {number + 1} AS {rel.set_name}" if rel.set_name else "") for number, kept in enumerate(rel.sets))


def grouped(rel, inputs, lang, kept, number):
    kinds = {c.name: c for c in rel.columns}
    columns = [f"{output(e, lang) if i in kept else e.kind.in_duck(None) if lang == 'duck' else 'NULL'} AS {name}" for i, (name, e) in enumerate(rel.exprs)]
    for m in rel.measures:
        sql, kind = say_measure(m, lang), kinds[m.name].kind
        if lang == "duck" and not m.function.startswith("approx"):
            sql = f"UNSIGNED_ZERO(CAST({sql} AS {kind.duck}))" if kind.family == "float" else f"CAST({sql} AS {kind.duck})"
        columns.append(f"{sql} AS {m.name}")
    by = f" GROUP BY {', '.join(output(rel.exprs[i][1], lang) for i in kept)}" if kept else " HAVING TRUE" if not rel.measures and lang == "duck" else ""
    if number and lang == "duck":
        number = number.replace(",", ", CAST(", 1).replace(" AS", " AS BIGINT) AS", 1)
    return f"SELECT {', '.join(columns)}{number} FROM {inputs[0]}{by}"


def window(rel, inputs, lang):
    """Rows that tie are numbered by their columns from left to right; a rank knows no such order."""
    parts = f"PARTITION BY {', '.join(output(e, lang) for e in rel.partition)}" if rel.partition else ""
    ranked = f"{parts} ORDER BY {say_keys(rel.keys, lang)}" if rel.keys else parts
    places = {"row_number": parts + say_order(rel.inputs[0], rel.keys, lang), "rank": ranked, "dense_rank": ranked}
    columns = ", ".join(f"{function}() OVER ({places[function]}) AS {name}" for name, function in rel.functions)
    limit = "" if rel.count is None else f" WHERE {rel.functions[0][0]} <= {rel.count}"
    return f"SELECT * FROM (SELECT *, {columns} FROM {inputs[0]}) q{limit}"


def sort(rel, inputs, lang):
    return f"SELECT * FROM {inputs[0]}" + ("" if rel.count is None else say_order(rel, rel.keys, lang) + f" LIMIT {rel.count}")


def limit(rel, inputs, lang):
    count = f"LIMIT {rel.count}" if rel.count is not None else "" if lang == "duck" else "LIMIT -1"
    return f"SELECT * FROM {inputs[0]}{say_order(rel, rel.order, lang) if rel.order else ''} {count} OFFSET {rel.offset}"


def union(rel, inputs, lang):
    return " UNION ALL ".join(f"SELECT * FROM {one}" for one in inputs)


def distinct(rel, inputs, lang):
    return f"SELECT DISTINCT * FROM {inputs[0]}"


SAYINGS = {"scan": scan, "filter": filtered, "project": project, "join": join, "asof": asof, "aggregate": aggregate, "sort": sort,
           "limit": limit, "window": window, "union": union, "distinct": distinct}
