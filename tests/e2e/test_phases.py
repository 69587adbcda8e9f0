"""Goal:   a client that splits its rows over several servers gets the one-server answer, bit for bit: PARTIAL's states
        travel as Arrow columns and come back as an upload for FINAL. Damaged states are refused, and the daemon lives.
Method: pyarrow splits random rows into 1, 3 and 7 parts; each part's states, from a daemon of its own worker count,
        are put together, uploaded and finished; then states are damaged at random, from a fixed seed."""
import io, random, struct, unittest

import pyarrow as pa

from daemon import SLOW, Daemon, grpc, job_pb, plan_pb, types_pb
from test_tables import stream_of, upload_messages

F = plan_pb.AggregateFunction
# Function, arguments, distinct, order, parameter.
MEASURES = [
    ("COUNT_STAR", [], False, [], None), ("COUNT", ["x"], False, [], None), ("COUNT_DISTINCT", ["s"], True, [], None),
    ("SUM", ["x"], False, [], None), ("AVG", ["x"], False, [], None), ("SUM", ["i"], False, [], None),
    ("SUM", ["n"], False, [], None), ("AVG", ["i"], True, [], None), ("MIN", ["s"], False, [], None),
    ("MAX", ["x"], False, [], None), ("VAR_SAMP", ["x"], False, [], None), ("STDDEV_POP", ["i"], False, [], None),
    ("CORR", ["x", "i"], False, [], None), ("COVAR_POP", ["i", "x"], False, [], None),
    ("ANY_VALUE", ["s"], False, [], None), ("BIT_XOR", ["i"], False, [], None), ("BOOL_AND", ["b"], False, [], None),
    ("FIRST", ["s"], False, ["x", "i"], None), ("LAST", ["i"], False, ["s"], None), ("ARG_MAX", ["s", "x"], False, [], None),
    ("STRING_AGG", ["s"], False, ["i"], "; "), ("MODE", ["n"], False, [], None),
    ("QUANTILE_CONT", ["x"], False, [], 0.25), ("QUANTILE_DISC", ["s"], False, [], 0.5),
    ("APPROX_COUNT_DISTINCT", ["i"], False, [], None), ("APPROX_QUANTILE", ["x"], False, [], 0.9),
]
KINDS = {"x": types_pb.TYPE_KIND_FLOAT64, "i": types_pb.TYPE_KIND_INT64, "n": types_pb.TYPE_KIND_INT32,
         "s": types_pb.TYPE_KIND_UTF8, "b": types_pb.TYPE_KIND_BOOL}


def rows(count, seed):
    rand = random.Random(seed)
    some = lambda make: [make() if rand.random() > 0.1 else None for _ in range(count)]  # noqa: E731
    return pa.table({
        "k": pa.array(some(lambda: rand.randrange(7)), pa.int64()),
        "x": pa.array(some(lambda: rand.choice([1, -1]) * rand.random() * 10 ** rand.uniform(-18, 18)), pa.float64()),
        "i": pa.array(some(lambda: rand.randrange(-2**63, 2**63)), pa.int64()),
        "n": pa.array(some(lambda: rand.randrange(-40, 40)), pa.int32()),
        "s": pa.array(some(lambda: "text number %d of many" % rand.randrange(60)), pa.string()),
        "b": pa.array(some(lambda: rand.random() < 0.9), pa.bool_()),
    })


def request(table, phase, keys=True, only=None):
    message = job_pb.ExecuteJobRequest()
    plan = message.plan
    plan.version = 1

    def column(name):
        plan.exprs.add().column.name = name
        return len(plan.exprs)
    plan.rels.add().scan.table.name = table
    group = plan.rels.add().aggregate
    group.input = 1
    group.phase = phase
    if keys:
        group.keys.add(name="k", expr=column("k"))
    for number, (function, arguments, distinct, order, parameter) in enumerate(MEASURES):
        if only is not None and number != only:
            continue
        measure = group.measures.add(name=f"m{number}", function=F.Value("AGGREGATE_FUNCTION_" + function), distinct=distinct)
        final = phase == plan_pb.AGGREGATE_PHASE_FINAL
        for name in [measure.name] if final else arguments:
            measure.arguments.append(column(name))
        for name in arguments + order if final else []:
            measure.argument_types.add(kind=KINDS[name])
        for name in order:
            measure.order.add(expr=measure.arguments[0] if final else column(name),
                              direction=plan_pb.SORT_DIRECTION_DESC_NULLS_LAST)
        if isinstance(parameter, str):
            measure.parameters.add(string_value=parameter)
        elif parameter is not None:
            measure.parameters.add(double_value=parameter)
    return message


def bits(table):
    """Rows with floats as their bits, sorted."""
    exact = lambda v: struct.pack("<d", v).hex() if isinstance(v, float) else str(v)  # noqa: E731
    return sorted(tuple(map(exact, row.values())) for row in table.to_pylist())


class Phases(unittest.TestCase):
    def put(self, daemon, name, table):
        daemon.tables.UploadTable(upload_messages(name, stream_of(table), replace=True))

    def run_job(self, daemon, message):
        return pa.ipc.open_stream(daemon.run(message)[0]).read_all()

    def test_states_travel(self):
        table = rows(4000 // SLOW, 1)
        with Daemon("--workers", "1") as one, Daemon("--workers", "3") as three:
            self.put(one, "t", table)
            for keys in (True, False):
                wanted = bits(self.run_job(one, request("t", plan_pb.AGGREGATE_PHASE_UNSPECIFIED, keys)))
                self.assertEqual(len(wanted), 8 if keys else 1)
                for parts in (1, 3, 7):
                    states = []
                    for part in range(parts):
                        server = (one, three)[part % 2]
                        self.put(server, "part", table.take(pa.array(range(part, table.num_rows, parts))))
                        states.append(self.run_job(server, request("part", plan_pb.AGGREGATE_PHASE_PARTIAL, keys)))
                    self.assertEqual(states[0].schema.field("m0").type, pa.binary())
                    self.put(three, "states", pa.concat_tables(states))
                    got = bits(self.run_job(three, request("states", plan_pb.AGGREGATE_PHASE_FINAL, keys)))
                    self.assertEqual(got, wanted, f"{parts} parts")

    def test_damaged_states_are_refused(self):
        rand = random.Random(5)
        refused = survived = 0
        with Daemon("--workers", "2") as daemon:
            self.put(daemon, "t", rows(400, 2))
            states = self.run_job(daemon, request("t", plan_pb.AGGREGATE_PHASE_PARTIAL, False)).to_pylist()[0]
            for number in range(len(MEASURES)):
                good = states[f"m{number}"]
                for _ in range(8):
                    bad = bytearray(good)
                    for _ in range(rand.randrange(1, 4)):
                        where = rand.randrange(len(bad))
                        choice = rand.randrange(4)
                        if choice == 0:
                            bad[where] = rand.randrange(256)
                        elif choice == 1:
                            del bad[where:]
                        elif choice == 2:
                            bad[where:where] = rand.randbytes(rand.randrange(1, 9))
                        else:
                            bad[where:where + 8] = b"\xff" * 8
                        if not bad:
                            break
                    self.put(daemon, "bad", pa.table({f"m{number}": pa.array([good, bytes(bad), None], pa.binary())}))
                    try:
                        self.run_job(daemon, request("bad", plan_pb.AGGREGATE_PHASE_FINAL, False, number))
                        survived += 1
                    except grpc.RpcError as error:
                        self.assertIn(error.code(), (grpc.StatusCode.DATA_LOSS, grpc.StatusCode.OUT_OF_RANGE))
                        refused += error.code() == grpc.StatusCode.DATA_LOSS
                        if error.code() == grpc.StatusCode.DATA_LOSS:
                            self.assertIn("measure 1, ", error.details())
            self.assertGreater(refused, 60, f"{survived} survived")
            self.assertEqual(self.run_job(daemon, request("t", plan_pb.AGGREGATE_PHASE_UNSPECIFIED, False)).num_rows, 1)

    def test_what_is_missing_is_named(self):
        with Daemon() as daemon:
            self.put(daemon, "t", rows(10, 3))
            message = request("t", plan_pb.AGGREGATE_PHASE_FINAL, True)
            with self.assertRaises(grpc.RpcError) as caught:
                daemon.run(message)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)
            self.assertIn("m0", caught.exception.details())
            del message.plan.rels[1].aggregate.measures[1].argument_types[:]
            with self.assertRaises(grpc.RpcError) as caught:
                daemon.run(message)
            self.assertIn("argument_types", caught.exception.details())
            message = request("t", plan_pb.AGGREGATE_PHASE_FINAL, True, 3)
            message.plan.exprs[message.plan.rels[1].aggregate.measures[0].arguments[0] - 1].column.name = "x"
            with self.assertRaises(grpc.RpcError) as caught:
                daemon.run(message)
            self.assertIn("FINAL takes states, binary, not float64", caught.exception.details())


if __name__ == "__main__":
    unittest.main(verbosity=2)
