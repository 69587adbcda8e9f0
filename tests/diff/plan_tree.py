"""A plan as a tree that can be said in three languages (say_plan.py, say_sql.py) and cut down (shrink.py).

Column names are unique in a plan, so that a column is meant by its name alone."""
import dataclasses

from kinds import Kind


@dataclasses.dataclass(frozen=True)
class Column:
    name: str
    kind: Kind
    nullable: bool = True
    exact: bool = True        # False: other engines may differ in the last digits
    size: int = 0             # of numbers: no value, unscaled, is larger; what is NaN, infinite or 1e300 aside
    calm: bool = True         # of floats: a sum in any order is the same
    samples: tuple = ()       # some of its values


@dataclasses.dataclass(eq=False)
class Expr:
    op: str                   # column literal call cast in case
    kind: Kind
    args: list = dataclasses.field(default_factory=list)  # case: when, then, ..., else or None
    name: str = ""            # of the column or function
    value: object = None      # of a literal; values of IN; cast: null on failure
    negated: bool = False     # of IN
    nullable: bool = True
    exact: bool = True
    size: int = 0
    calm: bool = False

    def walk(self):
        yield self
        for arg in self.args:
            if arg is not None:
                yield from arg.walk()


@dataclasses.dataclass(eq=False)
class Measure:
    name: str
    function: str
    args: list
    distinct: bool = False
    filter: Expr = None
    order: list = dataclasses.field(default_factory=list)  # (Expr, direction)
    parameter: object = None  # a fraction or a separator

    def exprs(self):
        return self.args + ([self.filter] if self.filter else []) + [e for e, _ in self.order]


@dataclasses.dataclass(eq=False)
class Rel:
    op: str                   # scan filter project join asof aggregate sort limit union distinct window
    inputs: list
    columns: list             # of Column
    table: str = ""
    predicate: Expr = None    # filter; join: the residual
    exprs: list = dataclasses.field(default_factory=list)      # project, aggregate keys: (name, Expr)
    join: str = ""            # inner left right full semi anti mark null_aware cross
    keys: list = dataclasses.field(default_factory=list)       # join: (left Expr, right Expr, nulls equal); sort: (Expr, direction)
    build: int = 0            # join: 0 the planner's choice, 1 left, 2 right
    direction: int = 0        # asof: 1 backward, 2 strictly, 3 forward, 4 strictly
    pair: tuple = None        # asof: the two values
    keep: bool = False        # asof: unmatched rows stay
    measures: list = dataclasses.field(default_factory=list)
    sets: list = None         # aggregate: grouping sets, each a list of places in exprs
    set_name: str = ""        # the column that tells a row's set
    phases: int = 0           # aggregate: 0 in one go, 1 PARTIAL and FINAL, 2 two PARTIALs of parts of the rows and FINAL
    partition: list = dataclasses.field(default_factory=list)  # window: of Expr; its order is keys
    functions: list = dataclasses.field(default_factory=list)  # window: (name, row_number rank dense_rank)
    count: int = None         # sort, limit; window: of the first function
    offset: int = 0
    order: list = None        # limit: the order its input is in, which makes its choice the only one

    def own_exprs(self):
        """(Expr, input) of every expression: 0 means both inputs of a join."""
        found = [(self.predicate, 0)] if self.predicate else []
        found += [(e, 1) for _, e in self.exprs]
        if self.op in ("join", "asof"):
            found += [(e, side) for left, right, _ in self.keys for e, side in ((left, 1), (right, 2))]
            found += [(e, i + 1) for i, e in enumerate(self.pair or ())]
        else:
            found += [(e, 1) for e, _ in self.keys]
        found += [(e, 1) for m in self.measures for e in m.exprs()] + [(e, 1) for e in self.partition]
        return found


def topological(root):
    """Every relation once, inputs first."""
    order, seen = [], set()

    def visit(rel):
        if id(rel) not in seen:
            seen.add(id(rel))
            for one in rel.inputs:
                visit(one)
            order.append(rel)
    visit(root)
    return order


def used_names(expr):
    return {e.name for e in expr.walk() if e.op == "column"}


def live_columns(root):
    """id of relation -> names somebody above needs."""
    needed = {id(root): {c.name for c in root.columns}}
    for rel in reversed(topological(root)):
        want = needed.setdefault(id(rel), set())
        below = set() if rel.op in ("project", "aggregate") else set(want)
        if rel.op in ("distinct", "union", "window") or (rel.op == "sort" and rel.count is not None):
            below = {c.name for one in rel.inputs for c in one.columns}
        for expr in live_exprs(rel, want):
            below |= used_names(expr)
        for one in rel.inputs:
            needed.setdefault(id(one), set()).update(below & {c.name for c in one.columns})
    return needed


def live_exprs(rel, want):
    """The expressions that matter for the wanted columns."""
    if rel.op == "project":
        return [e for name, e in rel.exprs if name in want]
    if rel.op == "aggregate":
        return [e for _, e in rel.exprs] + [e for m in rel.measures if m.name in want for e in m.exprs()]
    return [e for e, _ in rel.own_exprs()]


def used_tables(root):
    return {rel.table for rel in topological(root) if rel.op == "scan"}
