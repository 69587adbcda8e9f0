"""Random tables: empty, tiny or a few batches, NULL-heavy, skewed, duplicated, wide, with extreme values."""
import dataclasses, math

import pyarrow as pa
import pyarrow.compute as pc

import kinds as k
from plan_tree import Column

ROWS = [0, 1, 7, 60, 200, 400, 1025, 2500]
WIDE = 14
SAMPLES = 12
DAY_EXTREMES = [-719528, -1, 0, 59, 11016, 1_000_000, -1_000_000]  # years -768 to 4707


@dataclasses.dataclass
class Table:
    name: str
    columns: list  # of Column
    data: dict     # column name -> values

    @property
    def rows(self):
        return len(self.data[self.columns[0].name])

    def arrow(self, zones=True):
        """zones: as uploaded; without: as DuckDB gets it, where 0.0 has no sign."""
        arrays = []
        for column in self.columns:
            values, kind = self.data[column.name], column.kind
            if not zones and kind.family == "float":
                values = [v + 0.0 if v is not None else None for v in values]
            if not zones and kind.zone:
                kind = dataclasses.replace(kind, zone="")
            arrays.append(to_arrow(values, kind))
        return pa.table(arrays, [c.name for c in self.columns])

    def fits_lite(self):
        """SQLite has no NaN, makes one of inf - inf, and integers end at 63 bits."""
        return all(v is None or isinstance(v, (str, bytes)) or (abs(v) < 1e300 if isinstance(v, float) else abs(v) < 2**62)
                   for values in self.data.values() for v in values)


def to_arrow(values, kind):
    if kind.family == "dec":
        whole = pa.array(values, pa.decimal128(38, 0)) if not values else pa.array([pa_decimal(v) for v in values], pa.decimal128(38, 0))
        return rescaled(whole, kind)
    if kind.family == "ts":
        return pa.array(values, pa.int64()).cast(pa.timestamp(kind.unit)).cast(kind.arrow) if not kind.zone else pa.array(values, pa.int64()).cast(kind.arrow)
    if kind.family == "date":
        return pa.array(values, pa.int32()).cast(kind.arrow)
    return pa.array(values, kind.arrow)


def pa_decimal(value):
    import decimal
    return None if value is None else decimal.Decimal(value)


def rescaled(whole, kind):
    """The same 16 bytes read with another scale."""
    return pa.Array.from_buffers(kind.arrow, len(whole), whole.buffers(), offset=whole.offset)


def random_value(rng, kind, spread, extremes=True):
    """Mostly within the spread, so that values meet; now and then an extreme of the type."""
    odd = rng.random() < 0.03 and (extremes or kind.family in ("date", "ts"))
    if kind.family == "int":
        if odd:
            return rng.choice([0, 1, kind.largest, -kind.largest if kind.signed else kind.largest - 1])
        low = -spread if kind.signed else 0
        return max(-kind.largest, min(kind.largest, rng.randint(low, spread)))
    if kind.family == "dec":
        if odd:
            return rng.choice([0, 1, -1, kind.largest, -kind.largest])
        return max(-kind.largest, min(kind.largest, rng.randint(-spread, spread) * rng.choice([1, 10**kind.scale])))
    if kind.family == "float":
        if odd:
            return rng.choice([0.0, -0.0, math.inf, -math.inf, math.nan] + ([1e300, 5e-324] if kind.width == 8 else []))
        return rng.randint(-spread, spread) / 4
    if kind.family == "text":
        return random_text(rng, spread)
    if kind.family == "blob":
        return rng.choice([b"", b"\x00", b"\xff\x00", b"a"]) if rng.random() < 0.1 else f"b{rng.randint(0, spread)}".encode() + (b"\x00\xfe longer than twelve" if rng.random() < 0.1 else b"")
    if kind.family == "bool":
        return rng.random() < 0.5
    if kind.family == "date":
        return rng.choice(DAY_EXTREMES) if odd else 15000 + rng.randint(0, spread)
    return random_time(rng, kind, spread, odd)


def random_text(rng, spread):
    roll = rng.random()
    number = rng.randint(0, spread)
    if roll < 0.75:
        return f"w{number}"
    if roll < 0.85:
        return rng.choice(["", " ", "ü" + str(number), f"W{number}", f" w{number} ", "Ä%b_c\\d", "true", "FALSE", "naïve", "\u4e2d\u6587"])
    if roll < 0.92:
        return rng.choice([str(number), str(-number), f"20{number % 100:02}-02-1{number % 10}"])
    return f"w{number}-longer-than-twelve-bytes" + ("-and-more" * 20 if roll > 0.99 else "")


def random_time(rng, kind, spread, odd):
    unit = k.UNITS[kind.unit]
    if odd:  # ns reach from 1677 to 2262
        seconds = rng.choice([-1, 0, 951_782_400, 4_102_444_800, -2_208_988_801] + ([-50_000_000_000, 60_000_000_000] if kind.unit != "ns" else []))
        return seconds * unit + rng.choice([0, unit - 1])
    return (1_500_000_000 + rng.randint(0, spread) * 3600) * unit + (rng.choice([0, 1, unit // 2]) if rng.random() < 0.2 else 0)


def random_table(rng, name, kinds, extremes):
    """Columns of these kinds, in this order; without extremes SQLite can take them."""
    rows = rng.choice(ROWS)
    spread = rng.choice([60, 1000] if rows >= 1000 else [1, 8, 60, 1000])
    nulls = rng.choice([0, 0.1, 0.1, 0.6])
    columns, data = [], {}
    for number, kind in enumerate(kinds):
        skewed, first = rng.random() < 0.25, random_value(rng, kind, spread, extremes)
        own_nulls = nulls if rng.random() < 0.8 else rng.choice([0, 0.9, 1.0])
        values = [None if rng.random() < own_nulls else first if skewed and rng.random() < 0.4 else random_value(rng, kind, spread, extremes) for _ in range(rows)]
        if rows and rng.random() < 0.15:  # duplicated
            values = (values[:rows // 2 + 1] * 2)[:rows]
        data[f"{name}_{number}"] = values
        columns.append(describe(f"{name}_{number}", kind, values))
    return Table(name, columns, data)


def describe(name, kind, values):
    present = [v for v in values if v is not None]
    small = [abs(v) for v in present if kind.numeric and (kind.family != "float" or (math.isfinite(v) and abs(v) < 1e300))]
    step = max(1, len(present) // SAMPLES)
    return Column(name, kind, len(present) < len(values), True, math.ceil(max(small, default=1)) or 1, True, tuple(present[::step][:SAMPLES]))
