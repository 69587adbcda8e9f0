"""Types: what the engine, Arrow, DuckDB and SQLite call them, and how each writes a value.

Inside the tests a value is: bool, int (integers; decimals unscaled; dates in days; timestamps in their unit),
float, str or bytes; None is NULL. SQLite gets decimals and times as these integers. DuckDB has no zones:
a timestamp with a zone is an instant, so there it is the plain timestamp of UTC."""
import dataclasses, functools, math, struct

import pyarrow as pa

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
DUCK_TIMESTAMP = {"s": "TIMESTAMP_S", "ms": "TIMESTAMP_MS", "us": "TIMESTAMP", "ns": "TIMESTAMP_NS"}
DUCK_INT = {("int", 1): "TINYINT", ("int", 2): "SMALLINT", ("int", 4): "INTEGER", ("int", 8): "BIGINT"}
DIGITS = {1: 3, 2: 5, 4: 10, 8: 19}


class NotInLite(Exception):
    """SQLite cannot say this."""


@dataclasses.dataclass(frozen=True)
class Kind:
    family: str  # bool int float dec text blob date ts
    number: int  # morsel.v1.TypeKind
    width: int = 0
    signed: bool = True
    precision: int = 0
    scale: int = 0
    unit: str = ""
    zone: str = ""

    @property
    def name(self):
        """As reported."""
        if self.family == "int":
            return f"{'' if self.signed else 'u'}int{8 * self.width}"
        if self.family == "dec":
            return "decimal128"
        if self.family == "ts":
            return f"timestamp[{self.unit}{',' + self.zone if self.zone else ''}]"
        return {"bool": "bool", "float": f"float{8 * self.width}", "text": "utf8", "blob": "binary", "date": "date32"}[self.family]

    @property
    def arrow(self):
        if self.family == "int":
            return getattr(pa, self.name)()
        if self.family == "dec":
            return pa.decimal128(self.precision, self.scale)
        if self.family == "ts":
            return pa.timestamp(self.unit, self.zone or None)
        return {"bool": pa.bool_(), "text": pa.string(), "blob": pa.binary(), "date": pa.date32()}.get(self.family) or (pa.float32() if self.width == 4 else pa.float64())

    @property
    def duck(self):
        if self.family == "int":
            return ("" if self.signed else "U") + DUCK_INT["int", self.width]
        if self.family == "dec":
            return f"DECIMAL({self.precision},{self.scale})"
        if self.family == "ts":
            return DUCK_TIMESTAMP[self.unit]
        return {"bool": "BOOLEAN", "text": "VARCHAR", "blob": "BLOB", "date": "DATE"}.get(self.family) or ("FLOAT" if self.width == 4 else "DOUBLE")

    @property
    def lite(self):
        return {"float": "REAL", "text": "TEXT", "blob": "BLOB"}.get(self.family, "INTEGER")

    @property
    def numeric(self):
        return self.family in ("int", "float", "dec")

    @property
    def largest(self):
        """The largest size of a value, unscaled, that has room on both sides of zero."""
        if self.family == "dec":
            return 10**self.precision - 1
        return 2**(8 * self.width - (1 if self.signed else 0)) - 1

    def proto(self):
        typed = {"kind": self.number}
        if self.family == "dec":
            typed |= {"precision": self.precision, "scale": self.scale}
        if self.family == "ts":
            typed |= {"unit": list(UNITS).index(self.unit) + 1, "time_zone": self.zone}
        return typed

    def literal(self, value):
        """As fields of morsel.v1.Literal."""
        if value is None:
            return {"type": self.proto(), "null_value": True}
        if self.family == "dec":
            return {"type": self.proto(), "decimal_value": value.to_bytes(16, "little", signed=True)}
        field = {"bool": "bool_value", "float": "double_value", "text": "string_value", "blob": "bytes_value"}.get(
            self.family, "uint_value" if not self.signed else "int_value")
        return {"type": self.proto(), field: value}

    def in_duck(self, value):
        if value is None:
            return f"CAST(NULL AS {self.duck})"
        if self.family == "dec":
            return f"CAST('{decimal_text(value, self.scale)}' AS {self.duck})"
        if self.family == "float":
            return f"CAST('{value!r}' AS {self.duck})"
        if self.family == "text":
            return quoted(value)
        if self.family == "blob":
            return f"from_hex('{value.hex()}')"
        if self.family == "date":
            return f"(DATE '1970-01-01' + ({value}))"
        if self.family == "ts" and self.unit == "ns":
            return f"make_timestamp_ns({value})"
        if self.family == "ts":
            return f"CAST(make_timestamp({value * (10**6 // UNITS[self.unit])}) AS {self.duck})"
        return f"CAST({str(value).upper()} AS {self.duck})"

    def in_lite(self, value):
        if value is None:
            return "NULL"
        if self.family == "float":
            if math.isnan(value):
                raise NotInLite
            return repr(value) if math.isfinite(value) else ("9e999" if value > 0 else "-9e999")
        if self.family == "text":
            return quoted(value)
        if self.family == "blob":
            return f"x'{value.hex()}'"
        if abs(value) >= 2**63:
            raise NotInLite
        return str(int(value))


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def decimal_text(value, scale):
    digits = str(abs(value)).rjust(scale + 1, "0")
    whole, part = (digits[:-scale], digits[-scale:]) if scale else (digits, "")
    return ("-" if value < 0 else "") + whole + ("." + part if part else "")


def float32(value):
    """The nearest float32."""
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def integer(width, signed=True):
    return Kind("int", {1: 2, 2: 3, 4: 4, 8: 5}[width] + (0 if signed else 4), width, signed)


@functools.cache
def decimal(precision, scale):
    return Kind("dec", 12, 16, True, precision, scale)


BOOL = Kind("bool", 1)
I8, I16, I32, I64 = (integer(w) for w in (1, 2, 4, 8))
U8, U16, U32, U64 = (integer(w, False) for w in (1, 2, 4, 8))
F32, F64 = Kind("float", 10, 4), Kind("float", 11, 8)
TEXT, BLOB, DATE = Kind("text", 13), Kind("blob", 14), Kind("date", 15)
TIMES = [Kind("ts", 16, unit=unit, zone=zone) for zone in ("", "UTC") for unit in UNITS] + [Kind("ts", 16, unit="us", zone="Europe/Berlin")]
DECIMALS = [decimal(4, 1), decimal(9, 2), decimal(18, 4), decimal(38, 6)]
ALL = [BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, *DECIMALS, TEXT, BLOB, DATE, *TIMES]


def as_decimal(kind):
    if kind.family == "dec":
        return kind
    return decimal(20 if kind == U64 else DIGITS[kind.width], 0)


def common(a, b):
    """Where values of two kinds meet, as the engine's common_type.c has it; None: nowhere."""
    if a == b:
        return a
    if not a.numeric or not b.numeric:
        return common_time(a, b)
    if "float" in (a.family, b.family):
        return F64
    if "dec" in (a.family, b.family):
        x, y = as_decimal(a), as_decimal(b)
        scale = max(x.scale, y.scale)
        return decimal(min(38, scale + max(x.precision - x.scale, y.precision - y.scale)), scale)
    if a.signed == b.signed:
        return a if a.width >= b.width else b
    unsigned, signed = (b, a) if a.signed else (a, b)
    width = max(2 * unsigned.width, signed.width)
    return integer(width) if width <= 8 else common(as_decimal(a), as_decimal(b))


def common_time(a, b):
    if a.family == b.family == "ts" and (a.zone == "") == (b.zone == ""):
        unit = max(a.unit, b.unit, key=lambda unit: UNITS[unit])
        return dataclasses.replace(a, unit=unit)
    if {a.family, b.family} == {"ts", "date"}:
        timestamp = a if a.family == "ts" else b
        return timestamp if timestamp.zone in ("", "UTC") else None
    return None


def sum_kind(kind):
    if kind.family == "float":
        return F64
    return decimal(38, kind.scale) if kind.family == "dec" or kind.width == 8 else I64
