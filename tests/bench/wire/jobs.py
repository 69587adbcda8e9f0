"""The tables and jobs of the wire figures, as request messages."""
from daemon import job_pb


def _plan(request):
    request.plan.version = 1
    return request.plan


def _column(plan, name):
    plan.exprs.add().column.name = name
    return len(plan.exprs)


def _int64(plan, value):
    literal = plan.exprs.add().literal
    literal.type.kind, literal.int_value = "TYPE_KIND_INT64", value
    return len(plan.exprs)


def _call(plan, function, *args):
    call = plan.exprs.add().call
    call.function = function
    call.args.extend(args)
    return len(plan.exprs)


def _generate(name, rows, columns):
    """A job that keeps generated rows as table `name`; columns: [(name, expression of the plan)]."""
    request = job_pb.ExecuteJobRequest(into_table=name, into_replace=True)
    plan = _plan(request)
    generator = plan.rels.add().scan.generator
    generator.name, generator.rows, generator.seed = "sequence", rows, 1
    project = plan.rels.add().project
    project.input = 1
    for column, expr in columns(plan):
        project.exprs.add(name=column, expr=expr)
    return request


def wide_table(rows):
    """Three columns of 8 bytes: a number, a random number, a float."""
    return _generate("wire_wide", rows, lambda plan: [
        ("i", _column(plan, "i")), ("v", _column(plan, "v")), ("f", _column(plan, "f"))])


def wide_scan():
    """All of it, streamed."""
    request = job_pb.ExecuteJobRequest()
    _plan(request).rels.add().scan.table.name = "wire_wide"
    return request


def narrow_table(rows, groups):
    """A key of `groups` values and a number."""
    return _generate("wire_narrow", rows, lambda plan: [
        ("k", _call(plan, "modulo", _column(plan, "i"), _int64(plan, groups))), ("v", _column(plan, "i"))])


def group_by():
    """select k, sum(v), count(*) from wire_narrow group by k"""
    request = job_pb.ExecuteJobRequest()
    plan = _plan(request)
    plan.rels.add().scan.table.name = "wire_narrow"
    aggregate = plan.rels.add().aggregate
    aggregate.input = 1
    aggregate.keys.add(name="k", expr=_column(plan, "k"))
    total = aggregate.measures.add(function="AGGREGATE_FUNCTION_SUM", name="total")
    total.arguments.append(_column(plan, "v"))
    aggregate.measures.add(function="AGGREGATE_FUNCTION_COUNT_STAR", name="n")
    return request
