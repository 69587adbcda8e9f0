"""Whether two answers are one: by their bytes where that is enough, else value by value. A text says what differs."""
import collections, math

import pyarrow as pa

from engines import canonical, values_of

RELATIVE, ABSOLUTE = 1e-9, 1e-9  # of floats that are not exact: sums in another order
TINY = 2.0**-1022                # where relative errors end


def order(value):
    if value is None:
        return (0, 0)
    if isinstance(value, list):
        return (4, 0)
    if isinstance(value, (str, bytes)):
        return (3, value if isinstance(value, bytes) else value.encode())
    if isinstance(value, float) and math.isnan(value):
        return (2, 0)
    return (1, float(f"{value:.7g}") if isinstance(value, float) and math.isfinite(value) else value)


def equal(a, b, exact):
    """b may be [low, high]."""
    if a is None or b is None:
        return a is None and b is None
    if isinstance(b, list):
        low, high = b
        return (math.isnan(a) and math.isnan(low) and math.isnan(high)) or a in (low, high) or low - abs(low) * 1e-9 - TINY <= a <= high + abs(high) * 1e-9 + TINY
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b or (not exact and math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE))
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def row_equal(a, b, columns):
    return all(equal(x, y, c.exact) for x, y, c in zip(a, b, columns))


def rows_sorted(columns_of_values, columns):
    """Bounds and what is not exact last: near-equal values may sort differently."""
    rank = sorted(range(len(columns)), key=lambda i: not columns[i].exact)
    return sorted(zip(*columns_of_values), key=lambda row: [order(row[i]) for i in rank])


def difference(ours, theirs, columns, ordered):
    """Columns of values on both sides; ordered: places of the columns whose order counts."""
    if len(ours[0]) != len(theirs[0]):
        return f"{len(ours[0])} rows against {len(theirs[0])}"
    if ordered:
        chosen = [columns[i] for i in ordered]
        for number, (a, b) in enumerate(zip(zip(*[ours[i] for i in ordered]), zip(*[theirs[i] for i in ordered]))):
            if not row_equal(a, b, chosen):
                return f"row {number + 1} of the order is {a}, theirs {b}"
    a_rows, b_rows = rows_sorted(ours, columns), rows_sorted(theirs, columns)
    left = [(a, b) for a, b in zip(a_rows, b_rows) if not row_equal(a, b, columns)]
    return unmatched([a for a, _ in left], [b for _, b in left], columns)


def unmatched(ours, theirs, columns):
    """Rows that only floats kept from sorting alike are partners all the same."""
    for row in ours[:500]:
        partner = next((i for i, other in enumerate(theirs) if row_equal(row, other, columns)), None)
        if partner is None:
            return f"row {row} has no partner; theirs have {theirs[:3]}"
        del theirs[partner]
    return None


def same_bytes(a, b, columns, ordered):
    """Whether two Arrow tables hold the same rows, -0.0 and 0.0 taken for one."""
    a, b = canonical(a, columns), canonical(b, columns)
    if a is None or b is None or a.num_rows != b.num_rows:
        return False
    b = b.cast(a.schema)
    if ordered and len(ordered) == len(columns):
        return a.equals(b)
    if ordered and not a.select(ordered).equals(b.select(ordered)):
        return False
    keys = [(name, "ascending") for name in a.column_names]
    return a.equals(b) or a.sort_by(keys).equals(b.sort_by(keys))


def check_schema(table, columns):
    wrong = [f"{c.name} is {field.type}, not {c.kind.arrow}" for field, c in zip(table.schema, columns) if field.type != c.kind.arrow]
    names = [c.name for c in columns]
    return "; ".join(wrong) or (f"columns {table.column_names}, not {names}" if table.column_names != names else None)


def check_choice(ours, whole, root):
    """A limit without an order: any rows will do, as many as there must be."""
    expected = max(0, whole.num_rows - root.offset)
    expected = expected if root.count is None else min(expected, root.count)
    if ours.num_rows != expected:
        return f"{ours.num_rows} rows, not {expected}"
    a, b = values_of(ours, root.columns), values_of(whole, root.columns)
    if all(c.exact for c in root.columns):
        key = lambda row: tuple("nan" if isinstance(v, float) and math.isnan(v) else v for v in row)  # noqa: E731
        extra = collections.Counter(map(key, zip(*a))) - collections.Counter(map(key, zip(*b)))
        return f"rows {list(extra)[:2]} are not there" if extra else None
    return unmatched(list(zip(*a)), list(zip(*b)), root.columns)


def check_answer(ours, theirs, root, ordered):
    """ours and theirs: Arrow tables."""
    if same_bytes(ours, theirs, root.columns, ordered):
        return None
    return difference(values_of(ours, root.columns), values_of(theirs, root.columns), root.columns, ordered)


__all__ = ["check_answer", "check_choice", "check_schema", "difference", "same_bytes", "pa"]
