"""Random expressions over the columns of a relation. Where an argument could overflow, divide by zero or leave a
function's domain, it is reduced first, so that plans end in rows; what raises has tests of its own."""
import dataclasses, math

import kinds as k
from functions import FUNCTIONS
from plan_tree import Expr
from table_maker import random_value

EXACT_IN_DOUBLE = 2**53
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
PARTS = ["year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond"]
TIME_FUNCTIONS = ["year", "quarter", "month", "day", "week", "iso_year", "day_of_week", "day_of_year", "hour", "minute", "second", "millisecond", "microsecond", "epoch"]
TEXT_TESTS = ["starts_with", "ends_with", "contains", "like", "ilike"]
REGEXES = ["w[0-9]+", "^w", "\\d$", "(longer|more)", "^[a-z]+-", "w1?2", "^.$", "[^w]", "^$", "ü?w[1-5]", "e{1,2}"]
SIMILARS = ["w%", "w_", "(w|W)[0-9]+", "%(longer|more)%", "w[1-5]_?", "%", "_+"]
PREDICATES = COMPARISONS * 2 + ["is_distinct_from", "is_not_distinct_from", "between", "and", "or", "and", "or", "not", "is_null", "is_not_null"] + TEXT_TESTS


def size_in(e, kind):
    """e.size, counted in the last digits of another kind."""
    return e.size * 10**max(0, kind.scale - e.kind.scale)


def as_double(e):
    """Whether both sides make the same double of it."""
    return e.exact and (e.kind.family != "dec" or e.size < EXACT_IN_DOUBLE)


class ExprMaker:
    def __init__(self, rng, wishes):
        self.rng, self.wishes = rng, wishes

    # ---- leaves

    def column(self, c):
        return Expr("column", c.kind, name=c.name, nullable=c.nullable, exact=c.exact, size=c.size, calm=c.calm)

    def constant(self, kind, value):
        size = max(1, math.ceil(abs(value))) if kind.numeric and value is not None and math.isfinite(value) else 1
        return Expr("literal", kind, value=value, nullable=value is None, size=size, calm=True)

    def literal(self, kind, columns=()):
        """Often a value that is there."""
        rng = self.rng
        if rng.random() < 0.04:
            return self.constant(kind, None)
        samples = [v for c in columns if c.kind == kind for v in c.samples]
        value = rng.choice(samples) if samples and rng.random() < 0.7 else random_value(rng, kind, 50)
        while isinstance(value, float) and not abs(value) < 1e300:
            value = random_value(rng, kind, 50)
        return self.constant(kind, k.float32(value) if kind == k.F32 else value)

    def operand(self, columns, test, depth=0):
        """An expression of a kind that passes the test: mostly a column."""
        rng = self.rng
        fitting = [c for c in columns if c.exact and test(c.kind)]
        if depth and rng.random() < 0.2:
            e = self.value(columns, depth - 1)
            if e is not None and e.exact and test(e.kind):
                return e
        if fitting and rng.random() < 0.85:
            return self.column(rng.choice(fitting))
        return self.made(columns, test)

    def made(self, columns, test):
        """Where there is no column: a choice between two literals, or a text of some value."""
        rng = self.rng
        texts = [c for c in columns if c.exact and c.kind.family in ("int", "bool", "date")]
        if test(k.TEXT) and texts and rng.random() < 0.7:
            return self.cast(self.column(rng.choice(texts)), k.TEXT)
        kind = rng.choice([kind for kind in k.ALL if test(kind)] or [c.kind for c in columns if test(c.kind)])
        a, b = self.literal(kind, columns), self.literal(kind, columns)
        if not columns or rng.random() < 0.2:
            return a
        c = rng.choice(columns)
        when = self.build("is_null", [self.column(c)])
        return Expr("case", kind, [when, a, b], nullable=a.nullable or b.nullable, size=max(a.size, b.size), calm=True)

    # ---- nodes

    def build(self, name, args, **flags):
        """A call; what is known of the arguments is known of the result unless a flag says otherwise."""
        kind = flags.pop("kind", None) or FUNCTIONS[name].kind(name, [a.kind for a in args])
        flags = {"nullable": any(a.nullable for a in args), "exact": all(a.exact for a in args), "size": max((a.size for a in args), default=1)} | flags
        return Expr("call", kind, args, name=name, **flags)

    def cast(self, e, to, null=False, **flags):
        flags = {"nullable": e.nullable or null, "exact": e.exact and (to.family != "float" or as_double(e)), "calm": e.kind.family == "int" and e.size < 2**40,
                 "size": e.size * 10**max(0, to.scale - e.kind.scale) // 10**max(0, e.kind.scale - to.scale) + 1} | flags
        return Expr("cast", to, [e], value=null, **flags) if e.kind != to else e

    def fit(self, e, limit):
        """Something of the same kind, no larger than the limit."""
        limit = max(1, min(limit, 10**17, e.kind.largest))
        if e.size <= limit or e.kind.family == "float":
            return e
        return self.build("modulo", [e, self.constant(e.kind, limit)], size=limit)

    def nonzero(self, e, columns):
        """e, or 1 where e is 0."""
        unit = self.constant(e.kind, 1.0 if e.kind.family == "float" else 10**e.kind.scale)
        if e.op == "literal" and e.value:
            return e
        zero = self.build("eq", [e, self.constant(e.kind, 0.0 if e.kind.family == "float" else 0)])
        return Expr("case", e.kind, [zero, unit, e], nullable=e.nullable, exact=e.exact, size=max(e.size, unit.size))

    # ---- arithmetic

    def arithmetic(self, name, columns, depth):
        rng = self.rng
        if name in ("add", "subtract") and rng.random() < 0.2 and any(c.kind == k.DATE for c in columns):
            return self.days(name, columns)
        if name == "subtract" and rng.random() < 0.15 and any(c.kind.family == "ts" and c.exact for c in columns):
            x = self.operand(columns, lambda kind: kind.family == "ts")
            y = self.operand(columns, lambda kind: kind == x.kind)
            return self.build("subtract", [x, y], size=2**62)
        x = self.operand(columns, lambda kind: kind.numeric and kind.scale <= 6, depth)
        y = self.operand(columns, lambda kind: kind.numeric and kind.scale <= 6, depth) if rng.random() < 0.5 else self.literal(x.kind, columns)
        if name == "subtract" and not (x.kind.signed and y.kind.signed):
            x, y = (self.cast(self.fit(e, 2**61), k.I64) if e.kind.family == "int" else e for e in (x, y))
        to = k.common(x.kind, y.kind)
        if to.family == "float":
            return self.float_arithmetic(name, x, y, columns)
        if name in ("divide", "modulo"):
            y = self.nonzero(y, columns)
        limit = {"add": to.largest // 2, "subtract": to.largest // 2, "multiply": math.isqrt(to.largest)}.get(name, to.largest)
        if to.family == "dec":
            limit = 10**15
        if name != "modulo" or to.family == "dec":
            x, y = self.fit(x, limit), self.fit(y, limit)
        result = FUNCTIONS[name].kind(name, [x.kind, y.kind])
        a, b = size_in(x, result), size_in(y, result)
        size = {"add": a + b, "subtract": a + b, "multiply": x.size * y.size, "divide": a}.get(name, a)
        if result.family == "dec" and size > result.largest:
            return None
        return self.build(name, [x, y], size=size)

    def float_arithmetic(self, name, x, y, columns):
        if name in ("divide", "modulo"):
            y = self.constant(y.kind, 0.0) if self.rng.random() < 0.05 and y.kind.family == "float" else self.nonzero(y, columns)
        exact = as_double(x) and as_double(y)
        calm = name in ("add", "subtract") and x.calm and y.calm and "dec" not in (x.kind.family, y.kind.family) and x.size + y.size < 2**40
        return self.build(name, [x, y], exact=exact, calm=calm, size=x.size * y.size if name in ("multiply", "divide") else x.size + y.size)

    def days(self, name, columns):
        date = self.operand(columns, lambda kind: kind == k.DATE)
        if name == "subtract" and self.rng.random() < 0.5:
            return self.build("subtract", [date, self.operand(columns, lambda kind: kind == k.DATE)], size=2**22)
        days = self.fit(self.operand(columns, lambda kind: kind.family == "int"), 10_000)
        return self.build(name, [date, days] if name == "subtract" or self.rng.random() < 0.7 else [days, date])

    def sign(self, name, columns, depth):
        x = self.operand(columns, lambda kind: kind.numeric, depth)
        return self.build(name, [x], calm=x.calm)

    def rounding(self, name, columns, depth):
        x, digits = self.operand(columns, lambda kind: kind.numeric, depth), 0
        args = [x]
        if name in ("round", "trunc") and self.rng.random() < 0.5:
            digits = self.rng.choice([-2, -1, 0, 1, 2, 3])
            if x.kind.family == "float":
                digits = 1 if name == "round" and x.calm and x.size < 2**20 and x.kind == k.F64 else 0
            args.append(self.constant(k.I64, digits))
        kind = FUNCTIONS[name].kind(name, [x.kind], digits)
        room = 10**max(0, x.kind.scale - digits)
        if x.kind.family != "float" and x.size + room > kind.largest:
            args[0] = x = self.fit(x, kind.largest // 100)
            if x.size + room > kind.largest:
                return None
        return self.build(name, args, kind=kind, size=x.size + room, calm=x.calm and digits <= 0)

    def signum(self, name, columns, depth):
        return self.build(name, [self.operand(columns, lambda kind: kind.numeric, depth)], size=1, calm=True)

    def single(self, name, columns, depth):
        x = self.operand(columns, lambda kind: True, depth)
        return self.build(name, [x, self.constant(k.I64, self.rng.choice([0, 1]))], nullable=x.nullable, calm=x.calm, size=x.size)

    def hashes(self, name, columns, depth):
        """Whether two hashes are equal: what a hash is, is not said."""
        xs, ys = [], []
        for _ in range(self.rng.choice([1, 1, 2])):
            x = self.operand(columns, lambda kind: True, depth)
            same = [c for c in columns if c.exact and (c.kind == x.kind or c.kind.family == x.kind.family == "int")]
            xs.append(x)
            ys.append(self.column(self.rng.choice(same)) if same and self.rng.random() < 0.7 else self.literal(x.kind, columns))
        return self.build("eq", [self.build("hash", xs, nullable=False), self.build("hash", ys, nullable=False)])

    def math(self, name, columns, depth):
        x = self.operand(columns, lambda kind: kind.numeric, depth)
        if name == "exp":
            return self.build(name, [x], exact=False)
        x = self.build("abs", [x])
        if name == "sqrt":
            return self.build(name, [x], exact=as_double(x))
        x = self.build("add", [x, self.constant(k.F64, 1.0)], exact=as_double(x))
        if name != "power":
            return self.build(name, [x], exact=False)
        return self.build(name, [x, self.constant(k.F64, self.rng.randint(-12, 12) / 4)], exact=False)

    # ---- comparison and choice

    def partner(self, x, columns, depth):
        """Something that x is compared with exactly everywhere."""
        def meets(kind):
            mixed = {kind.family, x.kind.family} == {"int", "float"} or ("float" in (kind.family, x.kind.family) and "dec" in (kind.family, x.kind.family))
            return k.common(kind, x.kind) is not None and not mixed
        rng = self.rng
        if rng.random() < 0.5:
            return self.literal(x.kind, columns)
        if x.kind.numeric and rng.random() < 0.3:
            y = self.operand(columns, lambda kind: kind.numeric, depth)
            if not {"float"} & {x.kind.family, y.kind.family} or all(e.size < EXACT_IN_DOUBLE for e in (x, y)):
                return y if self.fits_together(x, y) else self.literal(x.kind, columns)
        test = meets if rng.random() < 0.4 else lambda kind: kind == x.kind
        y = self.operand(columns, test, depth) if any(c.exact and test(c.kind) for c in columns) else self.literal(x.kind, columns)
        return y if self.fits_together(x, y) else self.literal(x.kind, columns)

    def fits_together(self, *args):
        """A common decimal may have no room for large ones; days have none in timestamps of nanoseconds."""
        to = None
        for e in args:
            to = e.kind if to is None else k.common(to, e.kind)
            if to is None:
                return False
        if to.unit == "ns" and any(e.kind != to for e in args):
            return False
        return to.family != "dec" or all(size_in(e, to) <= to.largest for e in args)

    def comparison(self, name, columns, depth):
        x = self.operand(columns, lambda kind: True, depth)
        never_null = {"nullable": False} if "distinct" in name else {}
        return self.build(name, [x, self.partner(x, columns, depth)], **never_null)

    def between(self, name, columns, depth):
        x = self.operand(columns, lambda kind: kind != k.BOOL, depth)
        return self.build(name, [x, self.partner(x, columns, 0), self.partner(x, columns, 0)])

    def several(self, name, columns, depth):
        """least, greatest, coalesce: of one kind or of kinds that meet."""
        args = [self.operand(columns, lambda kind: True, depth)]
        for _ in range(self.rng.choice([1, 1, 2])):
            y = self.partner(args[0], columns, depth)
            args += [y] if self.fits_together(*args, y) else [self.literal(args[0].kind, columns)]
        to = FUNCTIONS[name].kind(name, [a.kind for a in args])
        nullable = all(a.nullable for a in args) if name == "coalesce" else any(a.nullable for a in args)
        return self.build(name, args, nullable=nullable, size=max(size_in(a, to) for a in args), exact=all(map(as_double, args)) or to.family != "float", calm=all(a.calm for a in args))

    def chosen(self, name, columns, depth):
        when = self.predicate(columns, 1)
        x = self.operand(columns, lambda kind: True, depth)
        y = self.partner(x, columns, depth)
        to = k.common(x.kind, y.kind)
        flags = {"nullable": x.nullable or y.nullable, "size": max(size_in(x, to), size_in(y, to)), "exact": (as_double(x) and as_double(y)) or to.family != "float", "calm": x.calm and y.calm}
        if name == "if":
            return self.build("if", [when, x, y], **flags)
        args, roll = [when, x], self.rng.random()
        if roll < 0.3:
            args += [self.predicate(columns, 0), self.literal(x.kind, columns)]
        args.append(None if roll > 0.6 else y)
        if roll > 0.6:
            flags |= {"nullable": True, "size": x.size, "calm": x.calm}
            to = x.kind
        if roll < 0.3:
            flags |= {"nullable": True, "size": max(flags["size"], size_in(args[3], to))}
        return Expr("case", to, args, **flags)

    def in_list(self, columns):
        x = self.operand(columns, lambda kind: True)
        values = [self.literal(x.kind, columns).value for _ in range(self.rng.randint(1, 5))]
        if self.rng.random() < 0.25:
            values.append(None)
        else:
            values = [v for v in values if v is not None] or [random_value(self.rng, k.I8, 5) if x.kind.family == "int" else self.constant(x.kind, None).value]
        if x.kind.family == "int" and not x.kind.signed:
            values = [v if v is None else abs(v) for v in values]
        return Expr("in", k.BOOL, [x], value=values, negated=self.rng.random() < 0.4, nullable=x.nullable or None in values)

    def logic(self, name, columns, depth):
        return self.build(name, [self.predicate(columns, depth and depth - 1) for _ in range(1 if name == "not" else self.rng.choice([2, 2, 3]))])

    def presence(self, name, columns, depth):
        nullable = [c for c in columns if c.nullable and c.exact]
        x = self.column(self.rng.choice(nullable)) if nullable and self.rng.random() < 0.8 else self.operand(columns, lambda kind: True, depth)
        return self.build(name, [x], nullable=False)

    # ---- text and time

    def text(self, columns, depth=0):
        return self.operand(columns, lambda kind: kind == k.TEXT, depth)

    def text_change(self, name, columns, depth):
        if name == "length" and self.rng.random() < 0.3:
            return self.build(name, [self.operand(columns, lambda kind: kind == k.BLOB)], size=10_000)
        return self.build(name, [self.text(columns, depth)], size=10_000)

    def concat(self, name, columns, depth):
        others = [c for c in columns if c.kind.family in ("int", "bool", "date") and c.exact]
        more = [self.column(self.rng.choice(others))] if others and self.rng.random() < 0.3 else [self.text(columns)] if self.rng.random() < 0.4 else []
        return self.build(name, [self.text(columns, depth), self.literal(k.TEXT, columns)] + more)

    def trim(self, name, columns, depth):
        return self.build(name, [self.text(columns, depth)] + ([self.constant(k.TEXT, self.rng.choice(["w", " w", "w1", "-", ""]))] if self.rng.random() < 0.5 else []))

    def piece(self, columns):
        sample = self.literal(k.TEXT, columns).value or "w1"
        low = self.rng.randint(0, max(0, len(sample) - 1))
        return sample[low:low + self.rng.randint(0, 3)]

    def replace(self, name, columns, depth):
        return self.build(name, [self.text(columns, depth), self.constant(k.TEXT, self.piece(columns)), self.constant(k.TEXT, self.rng.choice(["", "X", "ww", "é"]))])

    def position(self, name, columns, depth):
        return self.build(name, [self.text(columns, depth), self.constant(k.TEXT, self.piece(columns))], size=10_000, calm=True)

    def regex(self, name, columns, depth):
        x, args = self.text(columns, depth), []
        if name == "similar_to":
            return self.build(name, [x, self.constant(k.TEXT, self.rng.choice(SIMILARS))])
        args = [self.constant(k.TEXT, self.rng.choice(["i", "s", "is", "c"]))] if self.rng.random() < 0.4 else []
        return self.build(name, [x, self.constant(k.TEXT, self.rng.choice(REGEXES))] + args)

    def shift(self, name, columns, depth):
        """Not too far: timestamps of nanoseconds end in 2262."""
        x = self.operand(columns, self.calendar, depth)
        limit = {"add_months": 100, "add_days": 1000, "add_microseconds": 10**9}[name]
        count = self.constant(k.I64, self.rng.randint(-limit, limit)) if self.rng.random() < 0.6 else self.fit(self.operand(columns, lambda kind: kind.family == "int"), limit)
        return self.build(name, [x, count])

    def date_diff(self, name, columns, depth):
        x = self.operand(columns, self.calendar, depth)
        y = self.operand(columns, lambda kind: kind == x.kind)
        return self.build(name, [self.constant(k.TEXT, self.rng.choice(PARTS)), x, y], size=2**61)

    @staticmethod
    def calendar(kind):
        return kind.family in ("date", "ts") and kind.zone in ("", "UTC")

    def substring(self, name, columns, depth):
        rng = self.rng
        start = self.constant(k.I64, rng.randint(-2, 6)) if rng.random() < 0.7 else self.fit(self.operand(columns, lambda kind: kind.family == "int"), 8)
        return self.build(name, [self.text(columns, depth), start] + ([self.constant(k.I64, rng.randint(0, 6))] if rng.random() < 0.6 else []))

    def text_test(self, name, columns, depth):
        rng = self.rng
        x = self.text(columns, depth)
        sample = self.literal(k.TEXT, columns).value or "w1"
        low = rng.randint(0, max(0, len(sample) - 1))
        piece = sample[low:low + rng.randint(1, 4)]
        if name in ("like", "ilike"):
            piece = piece.replace("\\", "\\\\").replace("%", rng.choice(["%", "\\%"])).replace("_", rng.choice(["_", "\\_"]))
            piece = piece.swapcase() if name == "ilike" and rng.random() < 0.5 else piece
            piece = rng.choice(["%{}%", "{}%", "%{}", "_{}%", "{}", "w%{}", "%{}_"]).format(piece)
            if rng.random() < 0.2:
                return self.build(name, [x, self.constant(k.TEXT, piece.replace("\\", "#")), self.constant(k.TEXT, "#")])
        elif name == "starts_with":
            piece = sample[:rng.randint(0, 3)]
        elif name == "ends_with":
            piece = sample[len(sample) - rng.randint(0, min(3, len(sample))):]
        return self.build(name, [x, self.constant(k.TEXT, piece)])

    def time(self, name, columns, depth):
        x = self.operand(columns, self.calendar, depth)
        if name == "epoch":
            return self.build(name, [x], exact=False)
        if name == "date_trunc":
            part = self.constant(k.TEXT, self.rng.choice(PARTS))
            return self.build(name, [part, x])
        return self.build(name, [x], size=10_000)

    # ---- casts

    def cast_value(self, columns, depth):
        """A cast that holds, or one that gives NULL where it does not."""
        x = self.operand(columns, lambda kind: kind.zone in ("", "UTC"), depth)
        to = self.rng.choice(CASTS[x.kind.family] + ([k.TEXT] if x.kind.unit == "s" else []))
        null = self.rng.random() < 0.35
        if x.kind.family == "text" and to != k.BLOB:
            return self.cast(x, to, True, size=to.largest if to.numeric else 1)
        if x.kind.numeric and to.family in ("int", "dec"):
            return self.cast_number(x, to, null)
        if to == k.F32 and x.size >= 2**100:
            return None
        if x.kind.family == "ts" and to.family == "ts":
            to = dataclasses.replace(to, zone=x.kind.zone)
        if to.unit == "ns" and x.kind != to:
            return None
        return self.cast(x, to, null)

    def cast_number(self, x, to, null):
        """Floats and numbers too large go to NULL, or by an arm of a CASE."""
        if x.kind.family == "float":
            bound = self.constant(x.kind, float(min(100 if to.family == "int" and to.width == 1 else 900, to.largest // 10**(to.scale + 1))))
            low = self.constant(x.kind, 0.0) if not to.signed else dataclasses.replace(bound, value=-bound.value)
            inside = self.build("between", [x, low, bound])
            return self.cast(Expr("case", x.kind, [inside, x, self.constant(x.kind, 1.0)], nullable=x.nullable, exact=x.exact, size=bound.size), to, null, size=bound.size * 10**to.scale)
        room = to.largest * 10**x.kind.scale // 10**to.scale
        if (x.size > room or not to.signed) and not null:
            x = self.build("abs", [self.fit(x, room)]) if not to.signed else self.fit(x, room)
            if x.size > room:
                return None
        return self.cast(x, to, null, size=min(to.largest, size_in(x, to) + 1))

    # ---- what to make

    def predicate(self, columns, depth=2):
        roll = self.rng.random()
        bools = [c for c in columns if c.kind == k.BOOL and c.exact]
        if roll < 0.05 and bools:
            return self.column(self.rng.choice(bools))
        if roll < 0.13:
            return self.in_list(columns)
        name = self.rng.choice(PREDICATES)
        if name in ("and", "or", "not") and not depth:
            name = "is_not_null"
        return self.call(name, columns, depth) or self.presence("is_not_null", columns, 0)

    def call(self, name, columns, depth=1):
        """A call of the function; None: there is none that is safe."""
        return MAKERS[name](self, name, columns, depth)

    def value(self, columns, depth=1):
        roll = self.rng.random()
        if roll < 0.15:
            return self.cast_value(columns, depth)
        if roll < 0.25:
            return self.chosen("case", columns, depth)
        if roll < 0.3:
            return self.in_list(columns)
        return self.call(self.rng.choice(sorted(MAKERS)), columns, depth)


MAKERS = {name: ExprMaker.arithmetic for name in ("add", "subtract", "multiply", "divide", "modulo")}
MAKERS |= {name: ExprMaker.sign for name in ("negate", "abs")} | {name: ExprMaker.comparison for name in COMPARISONS + ["is_distinct_from", "is_not_distinct_from"]}
MAKERS |= {name: ExprMaker.several for name in ("least", "greatest", "coalesce")} | {name: ExprMaker.logic for name in ("and", "or", "not")}
MAKERS |= {name: ExprMaker.presence for name in ("is_null", "is_not_null")} | {name: ExprMaker.rounding for name in ("floor", "ceil", "round", "trunc")}
MAKERS |= {name: ExprMaker.math for name in ("sqrt", "ln", "log10", "log2", "exp", "power")} | {name: ExprMaker.text_change for name in ("length", "lower", "upper")}
MAKERS |= {name: ExprMaker.text_test for name in TEXT_TESTS} | {name: ExprMaker.time for name in TIME_FUNCTIONS + ["date_trunc"]}
MAKERS |= {"between": ExprMaker.between, "if": ExprMaker.chosen, "concat": ExprMaker.concat, "substring": ExprMaker.substring}
MAKERS |= {name: ExprMaker.trim for name in ("trim", "ltrim", "rtrim")} | {name: ExprMaker.shift for name in ("add_months", "add_days", "add_microseconds")}
MAKERS |= {name: ExprMaker.regex for name in ("regexp_matches", "regexp_full_match", "similar_to")}
MAKERS |= {"replace": ExprMaker.replace, "position": ExprMaker.position, "sign": ExprMaker.signum, "single_value": ExprMaker.single, "hash": ExprMaker.hashes, "date_diff": ExprMaker.date_diff}
INTEGERS = [k.I8, k.I16, k.I32, k.I64, k.U8, k.U16, k.U32, k.U64]
CASTS = {"int": INTEGERS + [k.F32, k.F64, *k.DECIMALS, k.TEXT, k.BOOL], "dec": [k.I32, k.I64, k.F64, *k.DECIMALS, k.TEXT], "float": [k.I8, k.I32, k.I64, k.U16, k.F32, k.F64, *k.DECIMALS],
         "bool": [k.I32, k.I64, k.F64, k.TEXT], "text": [k.I32, k.I64, k.F64, k.DATE, k.BOOL, k.BLOB], "blob": [k.BLOB],
         "date": [k.TEXT, *(kind for kind in k.TIMES if kind.zone == "" and kind.unit != "ns")], "ts": [k.DATE, *(kind for kind in k.TIMES if kind.zone == "")]}
