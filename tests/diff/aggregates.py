"""Every function of exec/op/aggregate.def: its result type and how SQL says it.

An approximate one is compared with its bounds: DuckDB gives the list [low, high] in its place."""
import dataclasses, typing

import kinds as k
from functions import convert, say, say_term
from kinds import NotInLite

DIRECTIONS = {1: "ASC NULLS LAST", 2: "ASC NULLS FIRST", 3: "DESC NULLS LAST", 4: "DESC NULLS FIRST"}


@dataclasses.dataclass
class Aggregate:
    number: int                     # morsel.v1.AggregateFunction
    duck: typing.Callable           # (Measure, arguments said, DISTINCT or "", ORDER BY of its order) -> SQL without FILTER
    kind: typing.Callable           # kinds of the arguments -> Kind
    takes: str = "any"              # any number integer bool text calm: floats whose sum does not depend on order
    arguments: int = 1
    distinct: bool = True           # may be DISTINCT
    order: bool = False
    own_order: bool = False         # may be ordered by its argument
    parameter: str = ""             # fraction, separator
    exact: bool = True
    bound: float = 0                # FILTER leaves out larger numbers, for the sake of others' rounding
    lite: str = ""                  # "" as in DuckDB, "none", or the name of a Python aggregate


def plain(word):
    return lambda m, a, distinct, order: f"{word}({distinct}{', '.join(a)})"


def ordered(word):
    """Ties go by the value."""
    return lambda m, a, distinct, order: f"{word}({a[0]} ORDER BY {order}{', ' if order else ''}{a[0]} ASC NULLS LAST)"


def real(word):
    def text(m, a, distinct, order):
        return f"{word}({distinct}{', '.join(convert(sql, e.kind, k.F64, 'duck') for sql, e in zip(a, m.args))})"
    return text


def average(m, a, distinct, order):
    """Of exact sums, where there are any: doubles lose what cancels out."""
    if m.args[0].kind.family == "float":
        return f"avg({distinct}{convert(a[0], m.args[0].kind, k.F64, 'duck')})"
    return f"CAST(sum({distinct}{a[0]}) AS DOUBLE) / NULLIF(count({distinct}{a[0]}), 0)"


def string_agg(m, a, distinct, order):
    by = order if distinct else f"{order}{', ' if order else ''}{a[0]}"
    return f"string_agg({distinct}{a[0]}, {k.quoted(m.parameter)} ORDER BY {by or a[0]})"


def approx_count(m, a, distinct, order):
    n = f"CAST(count(DISTINCT {a[0]}) AS DOUBLE)"
    return f"[CASE WHEN {n} <= 512 THEN {n} ELSE {n} * 0.9 END, CASE WHEN {n} <= 512 THEN {n} ELSE {n} * 1.1 END]"


def approx_quantile(m, a, distinct, order):
    """The value of rank fraction * (n - 1), rounded down, give or take 0.4 %."""
    x = convert(a[0], m.args[0].kind, k.F64, "duck")
    value = f"(list_sort(list({distinct}{x}) FILTER (WHERE {x} IS NOT NULL)))[1 + CAST(floor(CAST({m.parameter!r} AS DOUBLE) * (count({distinct}{x}) - 1)) AS BIGINT)]"
    return f"CASE WHEN count({x}) = 0 THEN NULL ELSE [{value} - abs({value}) * 0.004, {value} + abs({value}) * 0.004] END"


def own_order(m, x):
    """From the top: an order of the values themselves."""
    return f" ORDER BY {x} {DIRECTIONS[m.order[0][1]]}" if m.order else ""


def quantile(word, real_too):
    def text(m, a, distinct, order):
        x = convert(a[0], m.args[0].kind, k.F64, "duck") if real_too else a[0]
        return f"{word}({distinct}{x}, CAST({m.parameter!r} AS DOUBLE){own_order(m, x)})"
    return text


def same(found):
    return found[0]


def of(kind):
    return lambda found: kind


def moments(word, arguments=1):
    text = real(word)
    # No correlation with a constant: NULL here, NaN in DuckDB.
    duck = (lambda m, a, distinct, order: f"NULLIF({text(m, a, distinct, order)}, CAST('nan' AS DOUBLE))") if word == "corr" else text
    return {"duck": duck, "kind": of(k.F64), "takes": "number", "arguments": arguments, "exact": False,
            "bound": 1e5 if arguments == 1 else 1e3, "lite": word}


AGGREGATES = {
    "count_star": Aggregate(1, lambda m, a, distinct, order: "count(*)", of(k.I64), arguments=0, distinct=False),
    "count": Aggregate(2, plain("count"), of(k.I64)),
    "sum": Aggregate(3, plain("sum"), lambda found: k.sum_kind(found[0]), takes="calm"),
    "min": Aggregate(4, plain("min"), same),
    "max": Aggregate(5, plain("max"), same),
    "avg": Aggregate(6, average, of(k.F64), takes="calm", exact=False),
    "count_distinct": Aggregate(7, lambda m, a, distinct, order: f"count(DISTINCT {a[0]})", of(k.I64), distinct=False),
    "var_samp": Aggregate(8, **moments("var_samp")),
    "stddev_samp": Aggregate(9, **moments("stddev_samp")),
    "any_value": Aggregate(10, lambda m, a, distinct, order: ordered("first")(m, a, distinct, order), same, order=True, distinct=False, lite="any_value"),
    "var_pop": Aggregate(11, **moments("var_pop")),
    "stddev_pop": Aggregate(12, **moments("stddev_pop")),
    "bool_and": Aggregate(13, plain("bool_and"), same, takes="bool", lite="bool_and"),
    "bool_or": Aggregate(14, plain("bool_or"), same, takes="bool", lite="bool_or"),
    "first": Aggregate(15, ordered("first"), same, order=True, distinct=False, lite="first"),
    "last": Aggregate(16, ordered("last"), same, order=True, distinct=False, lite="last"),
    "string_agg": Aggregate(17, string_agg, of(k.TEXT), takes="text", order=True, parameter="separator", lite="string_agg"),
    "quantile_cont": Aggregate(18, quantile("quantile_cont", True), of(k.F64), takes="number", parameter="fraction", own_order=True, exact=False, bound=1e9, lite="quantile_cont"),
    "quantile_disc": Aggregate(19, quantile("quantile_disc", False), same, parameter="fraction", own_order=True, lite="quantile_disc"),
    "approx_count_distinct": Aggregate(20, approx_count, of(k.I64), exact=False, lite="none"),
    "approx_quantile": Aggregate(21, approx_quantile, of(k.F64), takes="number", parameter="fraction", exact=False, lite="none"),
    "arg_min": Aggregate(22, lambda m, a, distinct, order: f"arg_min({a[0]}, {a[1]} ORDER BY {a[0]})", same, arguments=2, distinct=False, lite="arg_min"),
    "arg_max": Aggregate(23, lambda m, a, distinct, order: f"arg_max({a[0]}, {a[1]} ORDER BY {a[0]})", same, arguments=2, distinct=False, lite="arg_max"),
    "mode": Aggregate(24, lambda m, a, distinct, order: f"mode({distinct}{a[0]}{own_order(m, a[0]) or f' ORDER BY {a[0]}'})", same, own_order=True, lite="mode"),
    "histogram": Aggregate(31, lambda m, a, distinct, order: f"CAST(histogram({distinct}{a[0]}) AS VARCHAR)", of(k.TEXT), takes="counted", lite="none"),
    "corr": Aggregate(25, **moments("corr", 2)),
    "covar_samp": Aggregate(26, **moments("covar_samp", 2)),
    "covar_pop": Aggregate(27, **moments("covar_pop", 2)),
    "bit_and": Aggregate(28, plain("bit_and"), same, takes="integer", lite="bit_and"),
    "bit_or": Aggregate(29, plain("bit_or"), same, takes="integer", lite="bit_or"),
    "bit_xor": Aggregate(30, plain("bit_xor"), same, takes="integer", lite="bit_xor"),
}


def takes(function, kind):
    what = AGGREGATES[function].takes
    return {"any": True, "number": kind.numeric, "calm": kind.numeric, "integer": kind.family == "int", "counted": kind.family in ("int", "bool", "text", "dec"), "bool": kind == k.BOOL, "text": kind == k.TEXT}[what]


def say_keys(keys, lang):
    return ", ".join(f"{say_term(e, lang)} {DIRECTIONS[direction]}" for e, direction in keys)


def say_filter(m, lang, more=""):
    parts = ([say(m.filter, lang)] if m.filter else []) + ([more] if more else [])
    return f" FILTER (WHERE {' AND '.join(parts)})" if parts else ""


def say_measure(m, lang):
    """An aggregate in SQL."""
    aggregate = AGGREGATES[m.function]
    distinct = "DISTINCT " if m.distinct else ""
    a = [say(e, lang) for e in m.args]
    if lang == "lite":
        return say_measure_lite(m, aggregate, a, distinct)
    if m.function.startswith("approx") or m.function in ("avg", "histogram"):  # a call inside others, and NULL is passed over
        return aggregate.duck(m, [f"(CASE WHEN {say(m.filter, lang)} THEN {a[0]} END)"] if m.filter else a, distinct, "")
    text = aggregate.duck(m, a, distinct, say_keys(m.order, lang))
    filtered = say_filter(m, lang, f"{a[0]} IS NOT NULL" if m.function == "any_value" else "")
    if m.function == "corr":  # NULLIF is around the call
        return text.replace("), CAST('nan'", f"){filtered}, CAST('nan'")
    return text + filtered


def say_measure_lite(m, aggregate, a, distinct):
    if aggregate.lite == "none":
        raise NotInLite
    filtered = say_filter(m, "lite")
    if not aggregate.lite:
        if m.function == "avg" and m.args[0].kind.family == "dec":
            return f"(avg({distinct}{a[0]}){filtered} / 1e{m.args[0].kind.scale})"
        text = f"avg({distinct}{a[0]})" if m.function == "avg" else aggregate.duck(m, a, distinct, "")
        return text + filtered
    if aggregate.takes == "number":
        a = [convert(sql, e.kind, k.F64, "lite") for sql, e in zip(a, m.args)]
    directions = ",".join(str(d) for _, d in m.order)
    extra = [say(e, "lite") for e, _ in m.order]
    parameter = k.quoted(m.parameter) if isinstance(m.parameter, str) else repr(m.parameter) if m.parameter is not None else "NULL"
    return f"COLLECT{len(a) + len(extra) + 3}('{distinct}{m.function}', '{directions}', {parameter}, {', '.join(a + extra)}){filtered}"
