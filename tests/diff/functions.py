"""Every function of exec/expr/signatures.def: its result type and how SQL says it.

Where systems differ, the saying is the rule of docs/semantics.md, spelled out in the other system's words."""
import dataclasses, functools, typing

import kinds as k
from kinds import NotInLite


def kinds_of(e):
    return [a.kind for a in e.args]


def meet(found):
    return functools.reduce(lambda a, b: a and k.common(a, b), found)


def convert(sql, kind, to, lang):
    """A cast that holds for every value."""
    if kind == to or (lang == "duck" and kind.duck == to.duck):
        return sql
    if lang == "duck":
        return f"CAST({sql} AS {to.duck})"
    if to.family == "float":
        if kind.family == "dec":
            return f"(CAST({sql} AS REAL) / 1e{kind.scale})"
        return f"CAST({sql} AS REAL)"
    if to.family == "dec":
        return scaled(sql, 10**(to.scale - (kind.scale if kind.family == "dec" else 0)))
    if to.family == "ts":
        return scaled(sql, 86400 * k.UNITS[to.unit] if kind.family == "date" else k.UNITS[to.unit] // k.UNITS[kind.unit])
    return sql


def scaled(sql, factor):
    return sql if factor == 1 else f"({sql} * {factor})"


def in_common(e, a, lang):
    """The arguments in the type where they meet; an integer and a float by value."""
    to = meet(kinds_of(e))
    if lang == "lite" and to == k.F64 and not any(kind.family == "dec" for kind in kinds_of(e)):
        return a
    return [convert(sql, arg.kind, to, lang) for sql, arg in zip(a, e.args)]


# ---- result types

def arithmetic_kind(name, found):
    x, y = found
    if x.family == y.family == "ts":
        return k.I64
    if "date" in (x.family, y.family):
        return k.I32 if x.family == y.family else k.DATE
    to = meet(found)
    if to.family != "dec":
        return to
    if name == "multiply":
        scale = sum(kind.scale for kind in found if kind.family == "dec")
        whole = sum(kind.precision if kind.family == "dec" else 20 if kind.width == 8 else 10 for kind in found)
        return k.decimal(min(38, whole), scale)
    if name == "divide":
        return k.decimal(38, max(12, to.scale))
    return k.decimal(min(38, to.precision + (name in ("add", "subtract"))), to.scale)


def negate_kind(name, found):
    return found[0] if found[0].signed else k.common(found[0], k.I8)


# ---- sayings

def say_arithmetic(sign):
    def say(e, a, lang):
        to, found = e.kind, kinds_of(e)
        if found[0].family == "ts":
            return say_time_difference(e, a, lang)
        if k.DATE in found:
            a = [convert(sql, kind, k.I32, lang) if kind.family == "int" else sql for sql, kind in zip(a, found)]
            return f"CAST({a[0]} {sign} {a[1]} AS {to.duck if lang == 'duck' else 'INTEGER'})"
        if to.family == "dec":
            if e.name == "divide":
                return say_decimal_divide(e, a, lang)
            if e.name == "multiply":
                wide = [k.decimal(38, kind.scale) for kind in found]
                a = [convert(sql, kind, w, lang) for sql, kind, w in zip(a, found, wide)]
            else:
                a = [convert(sql, kind, to, lang) for sql, kind in zip(a, found)]
            return f"CAST({a[0]} {sign} {a[1]} AS {to.duck})" if lang == "duck" else f"({a[0]} {sign} {a[1]})"
        a = in_common(e, a, lang) if lang == "duck" or to.family != "float" else [convert(s, kind, to, lang) for s, kind in zip(a, found)]
        if to.family == "float" and lang == "lite":
            text = f"FMOD({a[0]}, {a[1]})" if sign == "%" else f"FDIV({a[0]}, {a[1]})" if sign == "/" else f"({a[0]} {sign} {a[1]})"
            return f"F32({text})" if to == k.F32 else text
        if lang == "lite":
            return f"({a[0]} {sign} {a[1]})"
        return f"CAST({a[0]} {'//' if sign == '/' and to.family == 'int' else sign} {a[1]} AS {to.duck})"
    return say


def say_time_difference(e, a, lang):
    to = meet(kinds_of(e))
    if lang == "lite":
        return f"({' - '.join(convert(sql, arg.kind, to, lang) for sql, arg in zip(a, e.args))})"
    if to.unit == "ns":
        return "(" + " - ".join(f"epoch_ns({convert(sql, arg.kind, to, lang)})" for sql, arg in zip(a, e.args)) + ")"
    return "((" + " - ".join(f"epoch_us(CAST({sql} AS TIMESTAMP))" for sql in a) + f") // {10**6 // k.UNITS[to.unit]})"


def say_decimal_divide(e, a, lang):
    """Whole numbers, rounded half away from zero: DuckDB would give a double."""
    scales = [kind.scale for kind in kinds_of(e)]
    shift = e.kind.scale + scales[1] - scales[0]
    if lang == "lite":
        return f"DIVIDE_ROUNDED({a[0]}, {a[1]}, {shift})"
    whole = [f"CAST(CAST({sql} AS DECIMAL(38,{s})) * CAST({10**s} AS DECIMAL({s + 1},0)) AS HUGEINT)" for sql, s in zip(a, scales)]
    return f"CAST(CAST(DIVIDE_ROUNDED({whole[0]} * CAST('{10**shift}' AS HUGEINT), {whole[1]}) AS DECIMAL(38,0)) * CAST('{k.decimal_text(1, e.kind.scale)}' AS DECIMAL({e.kind.scale},{e.kind.scale})) AS {e.kind.duck})"


def say_comparison(sign):
    def say(e, a, lang):
        if e.args[0].name == "hash" and e.args[1].name == "hash":  # equal where all they are made of is
            pairs = [in_common(dataclasses.replace(e, args=[x, y]), [globals()["say"](x, lang), globals()["say"](y, lang)], lang) for x, y in zip(e.args[0].args, e.args[1].args)]
            return "(" + " AND ".join(f"({x} IS NOT DISTINCT FROM {y})" for x, y in pairs) + ")"
        a = in_common(e, a, lang)
        return f"({a[0]} {sign} {a[1]})"
    return say


def say_between(e, a, lang):
    low = in_common(dataclasses.replace(e, args=e.args[:2]), a[:2], lang)
    high = in_common(dataclasses.replace(e, args=[e.args[0], e.args[2]]), [a[0], a[2]], lang)
    return f"({low[0]} >= {low[1]} AND {high[0]} <= {high[1]})"


def say_extreme(word, lite):
    def say(e, a, lang):
        a = [convert(sql, kind, e.kind, lang) for sql, kind in zip(a, kinds_of(e))]
        if lang == "lite":
            return f"{lite}({', '.join(a)})"
        return f"CASE WHEN {' OR '.join(s + ' IS NULL' for s in a)} THEN NULL ELSE {word}({', '.join(a)}) END"
    return say


def say_coalesce(e, a, lang):
    a = [convert(sql, kind, e.kind, lang) for sql, kind in zip(a, kinds_of(e))]
    return f"COALESCE({', '.join(a)})" if len(a) > 1 else a[0]


def say_if(e, a, lang):
    a = a[:1] + [convert(sql, kind, e.kind, lang) for sql, kind in zip(a[1:], kinds_of(e)[1:])]
    return f"CASE WHEN {a[0]} THEN {a[1]} ELSE {a[2]} END"


def rounding_digits(e):
    return e.args[1].value if len(e.args) == 2 else 0


def rounding_kind(name, found, digits=0):
    """Decimals that lose digits may grow by one before the point."""
    kind = found[0]
    return k.decimal(min(38, kind.precision + 1), kind.scale) if kind.family == "dec" and digits < kind.scale else kind


def say_rounding(word):
    def say(e, a, lang):
        kind, digits = e.args[0].kind, rounding_digits(e)
        if kind.family != "float" and digits >= kind.scale:
            return a[0]
        if lang == "lite":
            return f"ROUNDING('{word}', {a[0]}, {10**(kind.scale - digits) if kind.family != 'float' else 0}, {digits})"
        if word == "trunc" and kind.family != "float":
            unit = f"CAST({10**-digits} AS {e.kind.duck})" if digits <= 0 else f"CAST('{k.decimal_text(1, digits)}' AS {e.kind.duck})"
            wide = convert(a[0], kind, e.kind, lang)
            return f"CAST({wide} - {wide} % {unit} AS {e.kind.duck})"
        return f"CAST({word}({convert(a[0], kind, e.kind, lang)}{f', {digits}' if digits else ''}) AS {e.kind.duck})"
    return say


def in_floats(e, a, lang):
    return [convert(sql, kind, k.F64, lang) for sql, kind in zip(a, kinds_of(e))]


def say_call(text, lite=None):
    """{0}, {1}: the arguments; {all}: all of them."""
    def say(e, a, lang):
        form = text if lang == "duck" or lite is None else lite
        return form.format(*a, all=", ".join(a), joined=" || ".join(a))
    return say


def say_math(text):
    return lambda e, a, lang: text.format(*in_floats(e, a, lang))


def say_substring(e, a, lang):
    """Places before the first character count, so a negative start is not from the end."""
    start = f"CAST({a[1]} AS {'BIGINT' if lang == 'duck' else 'INTEGER'})"
    word, most = ("substring", "greatest") if lang == "duck" else ("substr", "max")
    if len(a) == 2:
        return f"{word}({a[0]}, CASE WHEN {start} < 1 THEN 1 ELSE {start} END)"
    count = f"{start} + {a[2]} - (CASE WHEN {start} < 1 THEN 1 ELSE {start} END)"
    return f"{word}({a[0]}, CASE WHEN {start} < 1 THEN 1 ELSE {start} END, CASE WHEN {count} < 0 THEN 0 ELSE {count} END)"


def say_concat(e, a, lang):
    texts = [sql if kind == k.TEXT else f"DATE_TEXT({sql})" if kind == k.DATE else f"CAST({sql} AS {k.TEXT.duck if lang == 'duck' else 'TEXT'})" for sql, kind in zip(a, kinds_of(e))]
    if lang == "lite" and any(kind.family not in ("text", "int") for kind in kinds_of(e)):
        raise NotInLite
    return f"({' || '.join(texts)})"


def say_like(e, a, lang):
    lower = "lower({})" if lang == "duck" else "LOWER_ALL({})"
    texts = [lower.format(sql) for sql in a[:2]] if e.name == "ilike" else a[:2]
    escape = e.args[2].value if len(a) == 3 else "\\"
    return f"({texts[0]} LIKE {texts[1]} ESCAPE {k.quoted(escape)})" if lang == "duck" else f"LIKE_CASED({texts[0]}, {texts[1]}, {k.quoted(escape)})"


def say_regex(word):
    def say(e, a, lang):
        options = e.args[2].value if len(a) == 3 else ""
        return f"{word}({a[0]}, {a[1]}{', ' + k.quoted(options) if lang == 'lite' or options else ''})"
    return say


def say_similar(e, a, lang):
    """SQL's % and _ in the words of regular expressions; those of the pattern mean the same in both."""
    escape = e.args[2].value if len(a) == 3 else "\\"
    text, at = "", 0
    pattern = e.args[1].value
    while at < len(pattern):
        if pattern[at] == escape:
            at += 1
            text += "\\" + pattern[at]
        else:
            text += {"%": ".*", "_": "."}.get(pattern[at], pattern[at])
        at += 1
    return f"regexp_full_match({a[0]}, {k.quoted(text)}, 's')"


def say_trim(word):
    return lambda e, a, lang: f"{word}({a[0]}, {a[1] if len(a) == 2 else quoted_space})"


quoted_space = "' '"


def in_micros(sql, kind):
    """DuckDB would compute seconds and milliseconds in nanoseconds, where far ones do not fit, and nanoseconds before 1970 rounded up."""
    return f"FLOOR_MICROS({sql})" if kind.unit == "ns" else f"CAST({sql} AS TIMESTAMP)" if kind.unit in ("s", "ms") else sql


def say_part(word):
    def say(e, a, lang):
        kind = e.args[0].kind
        if lang == "lite":
            return f"PART('{e.name}', '{kind.unit or 'd'}', {a[0]})"
        return f"CAST({word}({in_micros(a[0], kind)}) AS BIGINT)"
    return say


def say_trunc(e, a, lang):
    kind = e.args[1].kind
    return f"CAST(date_trunc({a[0]}, {in_micros(a[1], kind)}) AS {kind.duck})" if lang == "duck" else f"TRUNC({a[0]}, '{kind.unit or 'd'}', {a[1]})"


def say_date_diff(e, a, lang):
    """How often the part begins: DuckDB's weeks begin on the weekday of 1970-01-01."""
    if lang == "lite":
        return f"DATE_DIFF({a[0]}, '{e.args[1].kind.unit or 'd'}', {a[1]}, '{e.args[2].kind.unit or 'd'}', {a[2]})"
    x, y = (f"CAST({in_micros(sql, arg.kind)} AS TIMESTAMP)" for sql, arg in zip(a[1:], e.args[1:]))
    if e.args[0].value == "week":
        return f"(date_diff('day', date_trunc('week', {x}), date_trunc('week', {y})) // 7)"
    return f"date_diff({a[0]}, {x}, {y})"


def say_epoch(e, a, lang):
    kind = e.args[0].kind
    if lang == "lite":
        return f"(CAST({a[0]} AS REAL) / {k.UNITS[kind.unit]}.0)" if kind.unit else f"({a[0]} * 86400.0)"
    return f"(CAST(epoch_ns({a[0]}) AS DOUBLE) / 1e9)" if kind.unit == "ns" else f"CAST(epoch({in_micros(a[0], kind)}) AS DOUBLE)"


SHIFT_NANOS = {"add_days": 86_400_000_000_000, "add_microseconds": 1000}
SHIFTS = {"add_months": "to_months", "add_days": "to_days", "add_microseconds": "to_microseconds"}


def shift_kind(name, found):
    kind = found[0]
    if name == "add_microseconds" and kind.unit != "ns":
        return dataclasses.replace(k.TIMES[2], zone=kind.zone)
    return kind


def say_shift(e, a, lang):
    kind = e.args[0].kind
    if lang == "lite":
        return f"SHIFT('{e.name}', '{kind.unit or 'd'}', {a[0]}, {a[1]})"
    if kind.unit == "ns" and e.name != "add_months":
        return f"make_timestamp_ns(epoch_ns({a[0]}) + CAST({a[1]} AS BIGINT) * {SHIFT_NANOS[e.name]})"
    count = f"CAST({a[1]} AS {'BIGINT' if e.name == 'add_microseconds' else 'INTEGER'})"
    moved = f"({in_micros(a[0], kind)} + {SHIFTS[e.name]}({count}))"
    if kind.unit == "ns":
        return f"make_timestamp_ns(epoch_us({moved}) * 1000 + (epoch_ns({a[0]}) % 1000 + 1000) % 1000)"
    return f"CAST({moved} AS {e.kind.duck})"


@dataclasses.dataclass
class Function:
    kind: typing.Callable  # (name, kinds of the arguments) -> Kind
    say: typing.Callable   # (Expr, arguments said, language) -> SQL


def always(kind):
    return lambda name, found: kind


def first(name, found):
    return found[0]


def met(name, found):
    return meet(found)


BOOLEAN = always(k.BOOL)
FUNCTIONS = {
    "add": Function(arithmetic_kind, say_arithmetic("+")),
    "subtract": Function(arithmetic_kind, say_arithmetic("-")),
    "multiply": Function(arithmetic_kind, say_arithmetic("*")),
    "divide": Function(arithmetic_kind, say_arithmetic("/")),
    "modulo": Function(arithmetic_kind, say_arithmetic("%")),
    "negate": Function(negate_kind, lambda e, a, lang: f"(- {convert(a[0], e.args[0].kind, e.kind, lang)})"),
    "abs": Function(first, say_call("abs({0})")),
    "is_distinct_from": Function(BOOLEAN, say_comparison("IS DISTINCT FROM")),
    "is_not_distinct_from": Function(BOOLEAN, say_comparison("IS NOT DISTINCT FROM")),
    "between": Function(BOOLEAN, say_between),
    "least": Function(met, say_extreme("least", "min")),
    "greatest": Function(met, say_extreme("greatest", "max")),
    "and": Function(BOOLEAN, lambda e, a, lang: "(" + " AND ".join(a) + ")"),
    "or": Function(BOOLEAN, lambda e, a, lang: "(" + " OR ".join(a) + ")"),
    "not": Function(BOOLEAN, say_call("(NOT {0})")),
    "is_null": Function(BOOLEAN, say_call("({0} IS NULL)")),
    "is_not_null": Function(BOOLEAN, say_call("({0} IS NOT NULL)")),
    "coalesce": Function(met, say_coalesce),
    "if": Function(lambda name, found: k.common(*found[1:]), say_if),
    "floor": Function(rounding_kind, say_rounding("floor")),
    "ceil": Function(rounding_kind, say_rounding("ceil")),
    "round": Function(rounding_kind, say_rounding("round")),
    "sqrt": Function(always(k.F64), say_math("sqrt({0})")),
    "ln": Function(always(k.F64), say_math("ln({0})")),
    "exp": Function(always(k.F64), say_math("exp({0})")),
    "power": Function(always(k.F64), say_math("power({0}, {1})")),
    "length": Function(always(k.I64), lambda e, a, lang: f"octet_length({a[0]})" if e.args[0].kind == k.BLOB and lang == "duck" else f"length({a[0]})"),
    "lower": Function(always(k.TEXT), say_call("lower({0})", "LOWER_ALL({0})")),
    "upper": Function(always(k.TEXT), say_call("upper({0})", "UPPER_ALL({0})")),
    "trim": Function(always(k.TEXT), say_trim("trim")),
    "ltrim": Function(always(k.TEXT), say_trim("ltrim")),
    "rtrim": Function(always(k.TEXT), say_trim("rtrim")),
    "replace": Function(always(k.TEXT), say_call("replace({0}, {1}, {2})")),
    "position": Function(always(k.I64), say_call("instr({0}, {1})")),
    "concat": Function(always(k.TEXT), say_concat),
    "substring": Function(always(k.TEXT), say_substring),
    "starts_with": Function(BOOLEAN, say_call("starts_with({0}, {1})")),
    "ends_with": Function(BOOLEAN, say_call("ends_with({0}, {1})")),
    "contains": Function(BOOLEAN, say_call("contains({0}, {1})")),
    "like": Function(BOOLEAN, say_like),
    "ilike": Function(BOOLEAN, say_like),
    "regexp_matches": Function(BOOLEAN, say_regex("regexp_matches")),
    "regexp_full_match": Function(BOOLEAN, say_regex("regexp_full_match")),
    "similar_to": Function(BOOLEAN, say_similar),
    "trunc": Function(rounding_kind, say_rounding("trunc")),
    "sign": Function(always(k.I8), say_call("CAST(sign({0}) AS TINYINT)", "SIGNUM({0})")),
    "log10": Function(always(k.F64), say_math("log10({0})")),
    "log2": Function(always(k.F64), say_math("log2({0})")),
    "single_value": Function(first, say_call("{0}")),
    "hash": Function(always(k.U64), None),
    "epoch": Function(always(k.F64), say_epoch),
    "date_diff": Function(always(k.I64), say_date_diff),
    "add_months": Function(shift_kind, say_shift),
    "add_days": Function(shift_kind, say_shift),
    "add_microseconds": Function(shift_kind, say_shift),
    "date_trunc": Function(lambda name, found: found[1], say_trunc),
}
for name, sign in {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    FUNCTIONS[name] = Function(BOOLEAN, say_comparison(sign))
for name, word in {"day_of_week": "isodow", "day_of_year": "dayofyear", "iso_year": "isoyear"}.items():
    FUNCTIONS[name] = Function(always(k.I64), say_part(word))
for name in ("year", "quarter", "month", "day", "week", "hour", "minute", "second", "millisecond", "microsecond"):
    FUNCTIONS[name] = Function(always(k.I64), say_part(name))


def say_cast(e, a, lang):
    frm, to = e.args[0].kind, e.kind
    if lang == "lite":
        return say_cast_lite(e, a[0], frm, to)
    if frm == k.TEXT and to == k.BLOB:
        return f"encode({a[0]})"
    if frm == k.DATE and to == k.TEXT:
        return f"DATE_TEXT({a[0]})"
    if frm.zone and to == k.TEXT:
        return f"(CAST({a[0]} AS VARCHAR) || 'Z')"
    if frm.family == "ts" and (to == k.DATE or (to.family == "ts" and k.UNITS[to.unit] < k.UNITS[frm.unit])):  # rounds down
        unit = "day" if to == k.DATE else {"s": "second", "ms": "millisecond", "us": "microsecond"}[to.unit]
        return f"CAST(date_trunc('{unit}', {in_micros(a[0], frm)}) AS {to.duck})"
    word = "TRY_CAST" if e.value else "CAST"
    if frm == k.TEXT and to.family == "int":  # an integer is written as one; DuckDB rounds '-11.0'
        otherwise = "" if e.value else f" ELSE CAST(error('not an integer') AS {to.duck})"
        return f"CASE WHEN {a[0]} IS NULL THEN NULL WHEN regexp_full_match({a[0]}, '\\s*[+-]?[0-9]+\\s*') THEN {word}({a[0]} AS {to.duck}){otherwise} END"
    return f"{word}({a[0]} AS {to.duck})"


def say_cast_lite(e, a, frm, to):
    order = ["int", "dec", "float"]
    if frm == k.BOOL and to.family in order:
        return convert(a, k.I8, to, "lite")
    if frm.numeric and to == k.BOOL:
        return f"({a} <> 0)"
    if to == k.F32:
        return f"F32({convert(a, frm, k.F64, 'lite')})"
    if frm.numeric and to.numeric and order.index(frm.family) <= order.index(to.family) and not e.value and to.scale >= frm.scale:
        return convert(a, frm, to, "lite")
    if frm.family == "date" and to.family == "ts":
        return convert(a, frm, to, "lite")
    if frm.family == "int" and to == k.TEXT:
        return f"CAST({a} AS TEXT)"
    if frm == k.TEXT and to == k.BLOB:
        return f"CAST({a} AS BLOB)"
    raise NotInLite


def say_term(e, lang):
    """As a key of an order or a group, where a bare number would mean a column."""
    sql = say(e, lang)
    return f"CASE WHEN 1 THEN {sql} END" if lang == "lite" and sql.strip("()-+ ").isdigit() else sql


def say(e, lang):
    """An expression in SQL: lang is duck or lite."""
    if e.op == "column":
        return e.name
    if e.op == "literal":
        return e.kind.in_duck(e.value) if lang == "duck" else e.kind.in_lite(e.value)
    a = [say(arg, lang) if arg is not None and arg.name != "hash" else None for arg in e.args]
    if e.op == "call":
        return FUNCTIONS[e.name].say(e, a, lang)
    if e.op == "cast":
        return say_cast(e, a, lang)
    if e.op == "in":
        kind = e.args[0].kind
        values = ", ".join(kind.in_duck(v) if lang == "duck" else kind.in_lite(v) for v in e.value)
        return f"({a[0]} {'NOT ' if e.negated else ''}IN ({values}))"
    pairs, last = list(zip(a[:-1:2], a[1::2])), a[-1]
    kinds = [arg.kind if arg is not None else None for arg in e.args]
    whens = " ".join(f"WHEN {when} THEN {convert(then, kinds[2 * i + 1], e.kind, lang)}" for i, (when, then) in enumerate(pairs))
    return f"CASE {whens}{'' if last is None else ' ELSE ' + convert(last, kinds[-1], e.kind, lang)} END"
