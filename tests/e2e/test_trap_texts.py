"""Goal:   the trap cases that are behaviour, not rows: T50, T52 to T54 (limits, cancelling, failures after
        the first rows, clients that go away) and T81 to T86 (Arrow layouts).
Method: one test a trap against a real daemon; pyarrow makes the odd streams."""
import io, pathlib, subprocess, tempfile, time, unittest

import pyarrow as pa

import h2_raw
from daemon import BUILD, MORSEL, SLOW, Daemon, generated, grpc, job_pb, status_details
from test_tables import scan, stream_of, upload_messages

LIMIT = 256 << 20


def column(plan, name):
    plan.exprs.add().column.name = name
    return len(plan.exprs)


def literal(plan, number):
    value = plan.exprs.add().literal
    value.type.kind, value.int_value = 5, number
    return len(plan.exprs)


def call(plan, function, *arguments):
    made = plan.exprs.add().call
    made.function = function
    made.args.extend(arguments)
    return len(plan.exprs)


def grouped(request, key=None):
    """Counts rows of the plan so far, by `key`."""
    plan = request.plan
    rel = plan.rels.add().aggregate
    rel.input = len(plan.rels) - 1
    if key:
        rel.keys.add(name=key, expr=column(plan, key))
    rel.measures.add(function=1, name="n")
    return request


def rows(data):
    return pa.ipc.open_stream(data).read_all()


class Limits(unittest.TestCase):
    def test_t50_two_jobs_one_limit(self):
        with Daemon("--workers", "2", "--memory-limit", str(LIMIT)) as daemon:
            calls = [daemon.jobs.ExecuteJob(grouped(generated(10_000_000 // SLOW if SLOW == 1 else 4_000_000), "i")) for _ in range(2)]
            failed = 0
            for running in calls:
                try:
                    for _ in running:
                        pass
                except grpc.RpcError as error:
                    code, message, _ = status_details(error)
                    self.assertEqual(code, "RESOURCE_EXHAUSTED", message)
                    self.assertIn("memory", message)
                    failed += 1
            self.assertGreater(failed, 0, "two jobs of several hundred MiB each fit 256 MiB?")
            peak = int(next(line.split()[1] for line in pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines()
                            if line.startswith("VmHWM"))) * 1024
            if SLOW == 1:
                self.assertLess(peak, LIMIT + (96 << 20), "resident memory went past the limit")
            data, _, _ = daemon.run(grouped(generated(1000)))
            self.assertEqual(rows(data)["n"].to_pylist(), [1000])

    def test_t52_cancel_is_seen_in_every_phase(self):
        with Daemon("--workers", "2") as daemon:
            same = pa.table({"k": pa.array([7] * 100_000, pa.int64()), "v": pa.array(range(100_000), pa.int64())})
            for name in ("l", "r"):
                daemon.tables.UploadTable(upload_messages(name, stream_of(same)))

            def never_true():
                request = scan("l")
                plan = request.plan
                plan.rels.add().scan.table.name = "r"
                sides = []
                for side in (1, 2):
                    expr = plan.exprs.add().column
                    expr.name, expr.side = "v", side
                    sides.append(len(plan.exprs))
                residual = call(plan, "lt", call(plan, "add", *sides), literal(plan, 0))
                plan.rels.add(join={"left": 1, "right": 2, "type": 1, "residual": residual,
                                    "keys": [{"left": column(plan, "k"), "right": column(plan, "k")}]})
                return request

            def sorting():
                request = generated(30_000_000)
                plan = request.plan
                plan.rels.add(sort={"input": 1, "keys": [{"expr": column(plan, "v"), "direction": 1}]})
                return request
            baseline = daemon.metric_sum("morsel_memory_used_bytes", pool="jobs")
            for name, request in (("probe without output", never_true()), ("group", grouped(generated(10**9), "i")), ("sort", sorting()),
                                  ("output wait", generated(10**9))):
                started = daemon.jobs.ExecuteJob(request)
                time.sleep(0.2 * SLOW)
                begin = time.monotonic()
                started.cancel()
                while daemon.metric_sum("morsel_jobs_running"):
                    self.assertLess(time.monotonic() - begin, 1.0 * SLOW, name)
                    time.sleep(0.005)
                print(f"{name}: cancelled after {time.monotonic() - begin:.3f} s")
                daemon.wait_metric("morsel_memory_used_bytes", baseline, pool="jobs")
            data, _, _ = daemon.run(grouped(generated(1000)))
            self.assertEqual(rows(data)["n"].to_pylist(), [1000])

    def failing_late(self, good_rows):
        """Overflows after good_rows rows, which a sort has put in order."""
        request = generated(good_rows + 10)
        plan = request.plan
        plan.rels.add(sort={"input": 1, "keys": [{"expr": column(plan, "i"), "direction": 1}]})
        total = call(plan, "add", column(plan, "i"), literal(plan, 2**63 - good_rows))
        project = plan.rels.add().project
        project.input = 2
        project.exprs.add(name="x", expr=total)
        return request

    def test_t53_a_failure_after_the_first_rows(self):
        with Daemon("--workers", "1") as daemon, tempfile.TemporaryDirectory() as folder:
            request = self.failing_late(1_000_000)
            request.options.batch_bytes = 65536
            kinds, error = [], None
            try:
                for response in daemon.jobs.ExecuteJob(request):
                    kinds.append(response.WhichOneof("payload"))
            except grpc.RpcError as caught:
                error = status_details(caught)
            self.assertEqual(error[0], "OUT_OF_RANGE", error)
            self.assertIn("arrow", kinds, "no rows were sent before the failure")
            self.assertNotIn("finished", kinds)
            from google.protobuf import json_format
            job = pathlib.Path(folder) / "job.json"
            job.write_text(json_format.MessageToJson(request))
            for where in ([], ["--server", f"127.0.0.1:{daemon.port}"]):
                out = pathlib.Path(folder) / "out.csv"
                done = subprocess.run([MORSEL, "run", job, "-o", "csv", "--out", out, *where], capture_output=True, text=True)
                self.assertNotEqual(done.returncode, 0)
                self.assertFalse(out.exists(), "a partial result was renamed into place")
                done = subprocess.run([MORSEL, "run", job, "-o", "csv", *where], capture_output=True, text=True)
                self.assertEqual(done.returncode, 9, done.stderr)

    def test_t54_the_client_goes_away(self):
        with Daemon("--workers", "2") as daemon:
            body = generated(10**12).SerializeToString()
            body = b"\0" + len(body).to_bytes(4, "big") + body
            raw = h2_raw.stall(daemon.port, "/morsel.v1.JobService/ExecuteJob", [body])
            self.assertEqual(daemon.metric_sum("morsel_jobs_running"), 1)
            raw.close()
            begin = time.monotonic()
            while daemon.metric_sum("morsel_jobs_running"):
                self.assertLess(time.monotonic() - begin, 1.0 * SLOW)
                time.sleep(0.005)
            daemon.wait_metric("morsel_memory_used_bytes", 0, pool="jobs")


class ArrowLayouts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.daemon.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.__exit__(None, None, None)

    def upload(self, name, *batches, schema=None, data=None):
        if data is None:
            sink = io.BytesIO()
            with pa.ipc.new_stream(sink, schema or batches[0].schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
            data = sink.getvalue()
        self.daemon.tables.UploadTable(upload_messages(name, data, replace=True))

    def counts(self, name, key):
        table = rows(self.daemon.run(grouped(scan(name), key))[0])
        return dict(zip(table[key].to_pylist(), table["n"].to_pylist()))

    def test_t81_a_dictionary_is_replaced(self):
        def batch(words, indices):
            return pa.record_batch([pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), pa.array(words))], ["w"])
        self.upload("words", batch(["a", "b"], [0, 1]), batch(["b", "a"], [0, 0]))
        self.assertEqual(self.counts("words", "w"), {"a": 1, "b": 3})

    def test_t82_slices(self):
        batch = pa.record_batch([pa.array([1, None, 3, None, 5], pa.int64()), pa.array(["a", None, "c", None, "e"])], ["x", "s"]).slice(1, 3)
        self.upload("slice", batch)
        data, _, _ = self.daemon.run(scan("slice"))
        self.assertEqual(rows(data).to_pydict(), {"x": [None, 3, None], "s": [None, "c", None]})

    def test_t83_odd_alignment(self):
        """The chunks of an upload land at any address: cut them so that bodies start at odd offsets."""
        table = pa.table({"x": pa.array(range(1000), pa.int64()), "s": pa.array([f"value {i}" for i in range(1000)])})
        data = stream_of(table)
        for piece in (1, 3, 7, 1001):
            self.daemon.tables.UploadTable(upload_messages("odd", data[:] if piece > 3 else data, replace=True, piece=piece if piece > 1 else 13))
            self.assertEqual(sum(rows(self.daemon.run(scan("odd"))[0])["x"].to_pylist()), 499_500)

    def test_t84_unknown_types_are_refused(self):
        """Big-endian streams: tests/proto/test_arrow_reader.c."""
        table = pa.table({"x": pa.array([[1]], pa.list_(pa.int64()))})
        with self.assertRaises(grpc.RpcError) as caught:
            self.upload("lists", data=stream_of(table))
        code, message, _ = status_details(caught.exception)
        self.assertEqual(code, "UNIMPLEMENTED")
        self.assertIn("x", message)

    def test_t85_batches_without_rows(self):
        schema = pa.schema([("k", pa.int64())])
        empty = pa.record_batch([pa.array([], pa.int64())], schema=schema)
        two = pa.record_batch([pa.array([5, None], pa.int64())], schema=schema)
        self.upload("gaps", empty, two, empty)
        self.assertEqual(rows(self.daemon.run(grouped(scan("gaps")))[0])["n"].to_pylist(), [2])
        self.upload("nothing", schema=schema)
        self.assertEqual(rows(self.daemon.run(grouped(scan("nothing")))[0])["n"].to_pylist(), [0])
        answer = rows(self.daemon.run(scan("nothing"))[0])
        self.assertEqual((answer.num_rows, answer.schema.names), (0, ["k"]))

    def test_t86_text_layouts_are_one_type(self):
        self.upload("small", pa.record_batch([pa.array(["a", "bb"], pa.string())], ["k"]))
        self.upload("large", pa.record_batch([pa.array(["bb"], pa.large_string())], ["k"]))
        request = scan("small")
        plan = request.plan
        plan.rels.add().scan.table.name = "large"
        plan.rels.add(join={"left": 1, "right": 2, "type": 1, "keys": [{"left": column(plan, "k"), "right": column(plan, "k")}]})
        self.assertEqual(rows(self.daemon.run(request)[0]).column(0).to_pylist(), ["bb"])


if __name__ == "__main__":
    unittest.main()
