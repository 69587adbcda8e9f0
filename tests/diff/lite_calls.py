"""What SQLite has no function for, as Python functions: an independent reading of docs/semantics.md."""
import collections, fractions, math, re

import kinds as k

SECONDS = {"d": None, "s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def civil(days):
    """(year, month, day) of days since 1970-01-01, in the proleptic Gregorian calendar."""
    z = days + 719468
    era, doe = divmod(z, 146097)
    yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    month = mp + 3 if mp < 10 else mp - 9
    return yoe + era * 400 + (month <= 2), month, doy - (153 * mp + 2) // 5 + 1


def days_of(year, month, day):
    y = year - (month <= 2)
    era, yoe = divmod(y, 400)
    doy = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146097 + yoe * 365 + yoe // 4 - yoe // 100 + doy - 719468


def split(unit, value):
    """(days, seconds of the day)"""
    if unit == "d":
        return value, 0
    return divmod(value // SECONDS[unit], 86400)


def part(what, unit, value):
    if value is None:
        return None
    days, second = split(unit, value)
    year, month, day = civil(days)
    thursday = days - (days + 3) % 7 + 3  # of the same week: it is in the week's year
    micros = value % SECONDS[unit] * 10**6 // SECONDS[unit] + second % 60 * 10**6 if unit != "d" else 0
    return {"iso_year": civil(thursday)[0], "week": (thursday - days_of(civil(thursday)[0], 1, 1)) // 7 + 1, "millisecond": micros // 1000, "microsecond": micros,
            "year": year, "quarter": (month + 2) // 3, "month": month, "day": day, "day_of_week": (days + 3) % 7 + 1,
            "day_of_year": days - days_of(year, 1, 1) + 1, "hour": second // 3600, "minute": second // 60 % 60, "second": second % 60}[what]


def trunc(what, unit, value):
    if value is None:
        return None
    days, second = split(unit, value)
    year, month, _ = civil(days)
    start = {"year": lambda: days_of(year, 1, 1), "quarter": lambda: days_of(year, (month - 1) // 3 * 3 + 1, 1), "month": lambda: days_of(year, month, 1),
             "week": lambda: days - (days + 3) % 7}.get(what, lambda: days)()
    if unit == "d":
        return start
    if what in ("millisecond", "microsecond"):
        return value - value % max(1, SECONDS[unit] // (1000 if what == "millisecond" else 10**6))
    second -= second % {"hour": 3600, "minute": 60, "second": 1}.get(what, 86400)
    return (start * 86400 + second) * SECONDS[unit]


def begun(what, unit, value):
    """How many of these parts began up to then, from some point on."""
    days, second = split(unit, value)
    year, month, _ = civil(days)
    micros = (days * 86400 + second) * 10**6 + (value % SECONDS[unit] * 10**6 // SECONDS[unit] if unit != "d" else 0)
    return {"year": year, "quarter": year * 4 + (month - 1) // 3, "month": year * 12 + month, "week": (days + 3) // 7, "day": days, "hour": (days * 86400 + second) // 3600,
            "minute": (days * 86400 + second) // 60, "second": days * 86400 + second, "millisecond": micros // 1000, "microsecond": micros}[what]


def shift(what, unit, value, count):
    if what == "add_months":
        days, _ = split(unit, value)
        year, month, day = civil(days)
        year, month = divmod(year * 12 + month - 1 + count, 12)
        length = days_of(year + month // 11, (month + 1) % 12 + 1, 1) - days_of(year, month + 1, 1)
        moved = days_of(year, month + 1, min(day, length)) - days
        return value + moved * (1 if unit == "d" else 86400 * SECONDS[unit])
    if what == "add_days":
        return value + count * (1 if unit == "d" else 86400 * SECONDS[unit])
    if unit == "ns":
        return value + count * 1000
    return value * (86400 * 10**6 if unit == "d" else 10**6 // SECONDS[unit]) + count


def strict(function):
    return lambda *args: None if any(a is None for a in args) else function(*args)


def rounding(word, value, unit, digits):
    """unit 0: of floats."""
    if unit == 0:
        if abs(value) >= 2**52:
            return value
        scaled = abs(value) * 10**digits
        whole = {"floor": lambda: math.floor(value), "ceil": lambda: math.ceil(value), "trunc": lambda: math.copysign(math.floor(scaled), value),
                 "round": lambda: math.copysign(math.floor(scaled + 0.5), value)}[word]()
        return float(whole) / 10**digits
    sign = 1 if value >= 0 else -1
    whole = {"floor": value // unit, "ceil": -(-value // unit), "trunc": sign * (abs(value) // unit), "round": sign * ((2 * abs(value) + unit) // (2 * unit))}[word]
    return whole * unit


def each_letter(way):
    """Unicode's simple mappings, a character for a character."""
    def change(text):
        return "".join(changed if len(changed := getattr(c, way)()) == 1 else c for c in text)
    return change


def regex(match):
    def call(text, pattern, options):
        flags = sum({"i": re.IGNORECASE, "s": re.DOTALL, "m": re.MULTILINE}.get(o, 0) for o in options)
        return match(re.compile(pattern, flags | re.ASCII), text) is not None
    return strict(call)


def divide_rounded(a, b, shift):
    a *= 10**shift
    return (1 if (a < 0) == (b < 0) else -1) * ((2 * abs(a) + abs(b)) // (2 * abs(b)))


def like(text, pattern, escape):
    expression, at = "", 0
    while at < len(pattern):
        one = pattern[at]
        if one == escape and at + 1 < len(pattern):
            at += 1
            expression += re.escape(pattern[at])
        else:
            expression += {"%": ".*", "_": "."}.get(one, re.escape(one))
        at += 1
    return re.fullmatch(expression, text, re.DOTALL) is not None


def real(function):
    """Errors and what is no number have been kept away by the generator."""
    def call(*args):
        try:
            return function(*args)
        except OverflowError:
            return math.inf
    return strict(call)


# ---- aggregates, over all rows of a group as tuples of values

def ascending(value):
    return value.encode() if isinstance(value, str) else value


def moment(function, rows):
    xs = [[fractions.Fraction(v) for v in column] for column in zip(*[r for r in rows if None not in r])]
    n = len(xs[0]) if xs else 0
    sample = function.endswith("samp")
    if n < (2 if sample else 1):
        return None
    means = [sum(column) / n for column in xs]
    first, last = xs[0], xs[-1]
    spread = sum((a - means[0]) * (b - means[-1]) for a, b in zip(first, last))
    if function == "corr":
        squares = [sum((a - mean)**2 for a in column) for column, mean in zip(xs, means)]
        return float(spread) / math.sqrt(squares[0]) / math.sqrt(squares[1]) if all(squares) else None
    value = float(spread / (n - 1 if sample else n))
    return math.sqrt(value) if function.startswith("stddev") else value


def by_order(rows, directions):
    """Rows of (value, keys...): by the keys, ties by the value, NULL last."""
    rows = sorted(rows, key=lambda r: (r[0] is None, ascending(r[0]) if r[0] is not None else 0))
    for at in range(len(directions), 0, -1):
        descending, nulls_first = directions[at - 1] > 2, directions[at - 1] % 2 == 0
        present = sorted([r for r in rows if r[at] is not None], key=lambda r: ascending(r[at]))
        if descending:  # stable all the same
            present.reverse()
            groups = collections.defaultdict(list)
            for r in present:
                groups[r[at]].insert(0, r)
            present = [r for group in groups.values() for r in group]
        absent = [r for r in rows if r[at] is None]
        rows = absent + present if nulls_first else present + absent
    return rows


def choose(function, rows, directions, parameter):
    if function in ("var_samp", "var_pop", "stddev_samp", "stddev_pop", "covar_samp", "covar_pop", "corr"):
        return moment(function, rows)
    if function in ("arg_min", "arg_max"):
        rows = [r for r in rows if None not in r]
        best = {"arg_min": min, "arg_max": max}[function]((ascending(r[1]) for r in rows), default=None)
        return min((r[0] for r in rows if ascending(r[1]) == best), key=ascending, default=None)
    if function in ("first", "last"):
        rows = by_order(rows, directions)
        return rows[0 if function == "first" else -1][0] if rows else None
    rows = by_order([r for r in rows if r[0] is not None], directions)
    if not rows:
        return None
    values = [r[0] for r in rows]
    if function == "any_value":
        return values[0]
    if function == "string_agg":
        return parameter.join(values)
    if function == "mode":
        counts = collections.Counter(values)
        return next(v for v in values if counts[v] == max(counts.values()))
    if function == "quantile_disc":
        return values[max(0, math.ceil(parameter * len(values)) - 1)]
    if function == "quantile_cont":
        at = parameter * (len(values) - 1)
        low, high = values[math.floor(at)], values[math.ceil(at)]
        return low + (high - low) * (at - math.floor(at))
    if function.startswith("bool"):
        return int({"bool_and": all, "bool_or": any}[function](values))
    total = values[0]
    for value in values[1:]:
        total = {"bit_and": total & value, "bit_or": total | value, "bit_xor": total ^ value}[function]
    return total


class Collect:
    def __init__(self):
        self.rows = []

    def step(self, function, directions, parameter, *values):
        self.function, self.distinct, self.parameter = function.removeprefix("DISTINCT "), function.startswith("DISTINCT "), parameter
        self.directions = [int(d) for d in directions.split(",")] if directions else []
        self.rows.append(values)

    def finalize(self):
        if self.distinct:
            self.rows = list(set(self.rows))
        return choose(self.function, self.rows, self.directions, self.parameter) if self.rows else None


def register(lite):
    for name, count, function in [
            ("PART", 3, part), ("TRUNC", 3, trunc), ("FMOD", 2, strict(math.fmod)), ("FDIV", 2, strict(lambda a, b: a / b)),
            ("F32", 1, strict(k.float32)), ("ROUNDING", 4, strict(rounding)), ("DIVIDE_ROUNDED", 3, strict(divide_rounded)), ("LIKE_CASED", 3, strict(like)),
            ("starts_with", 2, strict(lambda a, b: a.startswith(b))), ("ends_with", 2, strict(lambda a, b: a.endswith(b))), ("contains", 2, strict(lambda a, b: b in a)),
            ("sqrt", 1, real(math.sqrt)), ("ln", 1, real(math.log)), ("exp", 1, real(math.exp)), ("power", 2, real(math.pow)),
            ("log10", 1, real(math.log10)), ("log2", 1, real(math.log2)), ("LOWER_ALL", 1, strict(each_letter("lower"))), ("UPPER_ALL", 1, strict(each_letter("upper"))),
            ("regexp_matches", 3, regex(re.Pattern.search)), ("regexp_full_match", 3, regex(re.Pattern.fullmatch)), ("SIGNUM", 1, strict(lambda x: (x > 0) - (x < 0))),
            ("DATE_DIFF", 5, strict(lambda what, u, x, v, y: begun(what, v, y) - begun(what, u, x))), ("SHIFT", 4, strict(shift))]:
        lite.create_function(name, count, function, deterministic=True)
    for count in range(4, 8):
        lite.create_aggregate(f"COLLECT{count}", count, Collect)
