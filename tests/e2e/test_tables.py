"""Goal:   tables can be uploaded, loaded, made by a job, listed and dropped, from grpcio and from the CLI;
        uploads are atomic; a running job keeps the version it bound.
Method: a real daemon; pyarrow makes and reads the Arrow streams."""
import io, pathlib, random, subprocess, tempfile, unittest

import pyarrow as pa

from daemon import MORSEL, ROOT, SLOW, Daemon, generated, grpc, job_pb, status_details


def stream_of(table, **options):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options) if options else None) as writer:
        writer.write_table(table, max_chunksize=10_000)
    return sink.getvalue()


def upload_messages(name, data, replace=False, commit=True, piece=100_000, rows=0):
    yield job_pb.UploadTableRequest(begin=job_pb.UploadBegin(table=name, replace=replace))
    for start in range(0, len(data), piece):
        yield job_pb.UploadTableRequest(arrow=job_pb.ArrowChunk(data=data[start:start + piece]))
    if commit:
        yield job_pb.UploadTableRequest(commit=job_pb.UploadCommit(row_count=rows))


def scan(name):
    request = job_pb.ExecuteJobRequest()
    request.plan.version = 1
    request.plan.rels.add().scan.table.name = name
    return request


SAMPLE = pa.table({
    "i": pa.array([1, None, 3] * 9000, pa.int64()),
    "small": pa.array([1, 2, None] * 9000, pa.int32()),
    "f": pa.array([0.5, float("nan"), None] * 9000, pa.float64()),
    "b": pa.array([True, None, False] * 9000, pa.bool_()),
    "s": pa.array(["a", None, "a string longer than twelve bytes ü"] * 9000, pa.string()),
    "d": pa.array([0, 19000, None] * 9000, pa.date32()),
    "t": pa.array([0, None, 1_700_000_000_000_000] * 9000, pa.timestamp("us", "UTC")),
})


class Tables(unittest.TestCase):
    def test_upload_and_read_back(self):
        with Daemon() as daemon:
            reply = daemon.tables.UploadTable(upload_messages("sample", stream_of(SAMPLE), rows=SAMPLE.num_rows))
            self.assertEqual((reply.table, reply.row_count), ("sample", SAMPLE.num_rows))
            data, _, _ = daemon.run(scan("sample"))
            back = pa.ipc.open_stream(data).read_all()
            self.assertEqual(back.schema.types, SAMPLE.schema.types)
            key = lambda row: str(row)  # noqa: E731
            self.assertEqual(sorted(map(key, back.to_pylist())), sorted(map(key, SAMPLE.to_pylist())))

    def test_dictionaries_are_unified_by_value(self):
        first = pa.array(["x", "y", None, "x"]).dictionary_encode()
        second = pa.array(["y", "z", "y"]).dictionary_encode()
        batches = [pa.record_batch([first], ["c"]), pa.record_batch([second], ["c"])]
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, batches[0].schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        with Daemon() as daemon:
            daemon.tables.UploadTable(upload_messages("words", sink.getvalue()))
            data, _, _ = daemon.run(scan("words"))
            got = pa.ipc.open_stream(data).read_all()["c"].to_pylist()
            self.assertEqual(sorted(map(str, got)), sorted(map(str, ["x", "y", None, "x", "y", "z", "y"])))

    def test_uploads_are_atomic(self):
        with Daemon() as daemon:
            with self.assertRaises(grpc.RpcError):
                daemon.tables.UploadTable(upload_messages("half", stream_of(SAMPLE), commit=False))
            self.assertEqual([t.name for t in daemon.tables.ListTables(job_pb.ListTablesRequest()).tables], [])
            with self.assertRaises(grpc.RpcError) as caught:
                daemon.run(scan("half"))
            self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)
            self.assertIn("half", caught.exception.details())
            with self.assertRaises(grpc.RpcError) as caught:
                daemon.tables.UploadTable(upload_messages("wrong", stream_of(SAMPLE), rows=5))
            self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
            daemon.tables.UploadTable(upload_messages("twice", stream_of(SAMPLE)))
            with self.assertRaises(grpc.RpcError) as caught:
                daemon.tables.UploadTable(upload_messages("twice", stream_of(SAMPLE)))
            self.assertEqual(caught.exception.code(), grpc.StatusCode.ALREADY_EXISTS)
            reply = daemon.tables.UploadTable(upload_messages("twice", stream_of(SAMPLE.slice(0, 10)), replace=True))
            self.assertEqual((reply.version, reply.row_count), (2, 10))

    def test_a_running_job_keeps_its_version(self):
        with Daemon() as daemon:
            big = pa.table({"x": pa.array(range(3_000_000 // SLOW), pa.int64())})
            daemon.tables.UploadTable(upload_messages("big", stream_of(big)))
            stream = daemon.jobs.ExecuteJob(scan("big"))
            self.assertEqual(next(stream).WhichOneof("payload"), "started")
            daemon.tables.UploadTable(upload_messages("big", stream_of(big.slice(0, 1)), replace=True))
            daemon.tables.DropTable(job_pb.DropTableRequest(table="big"))
            rows = sum(r.arrow.row_count for r in stream if r.WhichOneof("payload") == "arrow")
            self.assertEqual(rows, big.num_rows)
            daemon.wait_metric("morsel_memory_used_bytes", 0, pool="tables")

    def test_texts_of_a_joined_table(self):
        # Kept as codes of the source's dictionary, which outlives the source.
        dice = random.Random(5)
        words = [f"word {i}" + " and more" * (i % 3) for i in range(300)]
        left = pa.table({"id": list(range(20_000)), "word": [dice.choice([None, *words]) for _ in range(20_000)]})
        right = pa.table({"text": words[100:] + ["nowhere"], "n": list(range(201))})
        with Daemon("--workers", "2") as daemon:
            for name, table in (("left", left), ("right", right)):
                daemon.tables.UploadTable(upload_messages(name, stream_of(table)))
            request = scan("left")
            request.plan.rels.add().scan.table.name = "right"
            for name in ("word", "text"):
                request.plan.exprs.add().column.name = name
            request.plan.rels.add(join={"left": 1, "right": 2, "type": 1, "keys": [{"left": 1, "right": 2}]})
            request.into_table = "joined"
            list(daemon.jobs.ExecuteJob(request))
            for name in ("left", "right"):
                daemon.tables.DropTable(job_pb.DropTableRequest(table=name))
            rows = pa.ipc.open_stream(daemon.run(scan("joined"))[0]).read_all()
            numbers = dict(zip(right["text"].to_pylist(), right["n"].to_pylist()))
            wanted = [(i, word, word, numbers[word]) for i, word in zip(left["id"].to_pylist(), left["word"].to_pylist()) if word in numbers]
            self.assertEqual(sorted(zip(*(c.to_pylist() for c in rows.columns))), wanted)

    def test_load_and_into_table(self):
        with Daemon() as daemon:
            reply = daemon.tables.LoadTable(job_pb.LoadTableRequest(
                table="airlines", files={"paths": ["data/nycflights13/airlines.csv.zst"], "csv": {"null_texts": ["NA"]}}))
            self.assertEqual(reply.table.row_count, 16)
            request = generated(100_000)
            request.into_table = "made"
            responses = list(daemon.jobs.ExecuteJob(request))
            self.assertEqual([r.WhichOneof("payload") for r in responses], ["started", "finished"])
            self.assertEqual(responses[-1].finished.table.row_count, 100_000)
            names = [(t.name, t.row_count) for t in daemon.tables.ListTables(job_pb.ListTablesRequest()).tables]
            self.assertEqual(names, [("airlines", 16), ("made", 100_000)])
            with self.assertRaises(grpc.RpcError) as caught:
                list(daemon.jobs.ExecuteJob(request))
            self.assertEqual(caught.exception.code(), grpc.StatusCode.ALREADY_EXISTS)
            # A job that fails leaves no table.
            bad = generated(100_000)
            bad.into_table = "never"
            add = bad.plan.exprs
            add.add().column.name = "i"
            literal = add.add().literal
            literal.type.kind, literal.int_value = 5, 0
            add.add().call.function = "divide"
            add[2].call.args.extend([1, 2])
            project = bad.plan.rels.add().project
            project.input = 1
            project.exprs.add(name="x", expr=3)
            with self.assertRaises(grpc.RpcError):
                list(daemon.jobs.ExecuteJob(bad))
            self.assertEqual(len(daemon.tables.ListTables(job_pb.ListTablesRequest()).tables), 2)
            with self.assertRaises(grpc.RpcError) as caught:
                daemon.tables.DropTable(job_pb.DropTableRequest(table="nothing"))
            self.assertEqual(status_details(caught.exception)[0], "NOT_FOUND")

    def test_from_the_cli(self):
        with Daemon() as daemon, tempfile.TemporaryDirectory() as folder:
            def morsel(*arguments):
                done = subprocess.run([MORSEL, *arguments, "--server", f"127.0.0.1:{daemon.port}"], cwd=ROOT,
                                      capture_output=True, text=True, timeout=60 * SLOW)
                self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
                return done.stdout
            path = pathlib.Path(folder) / "people.csv"
            path.write_text("name,age\nAda,36\nAlan,41\n\"Kurt, G.\",\n")
            morsel("upload", "people", str(path))
            morsel("load", "airlines", "data/nycflights13/airlines.csv.zst")
            listing = morsel("tables", "-o", "csv")
            self.assertIn("people", listing)
            self.assertIn("airlines", listing)
            out = morsel("group", "people", "--agg", "n=count(), a=sum(age)", "-o", "csv")
            self.assertEqual(out.split(), ["n,a", "3,77"])
            morsel("drop", "people")
            self.assertNotIn("people", morsel("tables", "-o", "csv"))
            self.assertIn("1", morsel("ping") or "1")
            morsel("jobs")
            morsel("version")


if __name__ == "__main__":
    unittest.main()
