"""Goal:   bad input gets the right status and a message that names the place, and the daemon serves the
        next job.
Method: one case after another against one daemon; after each, a good job must succeed. Frames that no
        stock client sends go through h2_raw.py."""
import os, pathlib, socket, struct, subprocess, tempfile, unittest

import h2_raw
from daemon import MORSEL, SLOW, Daemon, generated, grpc, job_pb, status_details


def filtered(function, *arguments):
    """A generated scan with a filter calling function over columns (str) and int64 literals."""
    request = generated(1000)
    exprs = request.plan.exprs
    for argument in arguments:
        if isinstance(argument, str):
            exprs.add().column.name = argument
        else:
            literal = exprs.add().literal
            literal.type.kind, literal.int_value = 5, argument
    call = exprs.add().call
    call.function = function
    call.args.extend(range(1, len(arguments) + 1))
    rel = request.plan.rels.add().filter
    rel.input, rel.predicate = 1, len(exprs)
    return request


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name) / "root"
        cls.root.mkdir()
        (pathlib.Path(cls.folder.name) / "secret.csv").write_text("a\n1\n")
        cls.daemon = Daemon(data_root=cls.root)
        cls.daemon.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.__exit__(None, None, None)
        cls.folder.cleanup()

    def fails(self, request, code, *parts):
        with self.assertRaises(grpc.RpcError) as caught:
            list(self.daemon.jobs.ExecuteJob(request, timeout=30 * SLOW))
        name, message, job_error = status_details(caught.exception)
        self.assertEqual(name, code, message)
        for part in parts:
            self.assertIn(part, message)
        self.assertIsNotNone(job_error, "no JobError in the details")
        self.daemon.run(generated(10))
        return job_error

    def csv_job(self, text, name="t.csv", **csv):
        (self.root / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        request = job_pb.ExecuteJobRequest()
        request.plan.version = 1
        files = request.plan.rels.add().scan.files
        files.paths.append(name)
        return request

    def test_plan_that_points_forward(self):
        request = generated(10)
        rel = request.plan.rels.add().filter
        rel.input, rel.predicate = 3, 1
        error = self.fails(request, "INVALID_ARGUMENT", "3")
        self.assertEqual(error.rel, 2)

    def test_unknown_column(self):
        self.fails(filtered("gt", "nonsense", 1), "NOT_FOUND", "nonsense")

    def test_type_mismatch(self):
        self.fails(filtered("gt", "s", 1), "INVALID_ARGUMENT", "utf8")
        self.fails(filtered("add", "i", 1), "INVALID_ARGUMENT", "bool")

    def test_not_implemented_is_named(self):
        self.fails(filtered("no_such_function", "i"), "UNIMPLEMENTED", "no_such_function")
        request = generated(10)
        request.options.detachable = True
        self.fails(request, "UNIMPLEMENTED", "detachable")
        request = generated(10)
        request.options.compression = 3
        self.fails(request, "UNIMPLEMENTED", "compression")
        with self.assertRaises(grpc.RpcError) as caught:
            list(self.daemon.jobs.AttachJob(job_pb.AttachJobRequest(job_id="x")))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
        self.assertIn("AttachJob", caught.exception.details())

    def test_path_outside_the_data_root(self):
        (self.root / "a").mkdir()
        for path in ("../secret.csv", "/etc/passwd", "a/../../secret.csv"):
            request = self.csv_job("a\n1\n")
            request.plan.rels[0].scan.files.paths[0] = path
            self.fails(request, "PERMISSION_DENIED", path)
        (self.root / "link.csv").symlink_to(pathlib.Path(self.folder.name) / "secret.csv")
        request = self.csv_job("a\n1\n")
        request.plan.rels[0].scan.files.paths[0] = "link.csv"
        self.fails(request, "PERMISSION_DENIED", "link.csv")
        request.plan.rels[0].scan.files.paths[0] = "missing.csv"
        self.fails(request, "NOT_FOUND", "missing.csv")
        # What is there but no file that can be read is the client's mistake, not an internal error.
        (self.root / "folder.csv").mkdir()
        os.mkfifo(self.root / "fifo.csv")
        for path in ("folder.csv", "fifo.csv", "x" * 250 + "/" + "x" * 254 + ".csv", "x" * 256 + ".csv", "t.csv/t.csv"):
            request.plan.rels[0].scan.files.paths[0] = path
            self.fails(request, "NOT_FOUND", path[:100])
        request.plan.rels[0].scan.files.paths[0] = "secret.csv"
        (self.root / "secret.csv").write_text("a\n1\n")
        (self.root / "secret.csv").chmod(0)
        if os.geteuid() != 0:  # root reads everything
            self.fails(request, "PERMISSION_DENIED", "secret.csv")

    def test_no_files_without_a_data_root(self):
        with Daemon(data_root="") as daemon:
            request = self.csv_job("a\n1\n")
            for path in (str(self.root / "t.csv"), "t.csv"):
                request.plan.rels[0].scan.files.paths[0] = path
                with self.assertRaises(grpc.RpcError) as caught:
                    daemon.run(request)
                self.assertEqual(caught.exception.code(), grpc.StatusCode.PERMISSION_DENIED)
                self.assertIn("data_root", caught.exception.details())

    def test_csv_faults_name_the_place(self):
        self.fails(self.csv_job("a,b\n1,2\n3\n"), "DATA_LOSS", "t.csv:3")
        self.fails(self.csv_job("a,b\n1,2\n3,4,5\n"), "DATA_LOSS", "t.csv:3")
        request = self.csv_job("a,amount\n1,2\n3,\"12,5\"\n")
        field = request.plan.rels[0].scan.files.schema.fields.add()
        field.name, field.type.kind = "amount", 5
        error = self.fails(request, "DATA_LOSS", "t.csv:3", "amount", "12,5", "int64")
        self.assertIn("column 2", error.message)
        # Far behind what type inference looks at.
        big = "x\n" + "1\n" * 3_000_000 + "oops\n" + "1\n" * 100
        self.fails(self.csv_job(big), "DATA_LOSS", "t.csv:3000002", "oops")
        self.fails(self.csv_job(b"a\n\xff\xfe\n"), "DATA_LOSS", "t.csv:2")

    def test_a_file_cut_while_it_is_read(self):
        request = self.csv_job("n\n" + "".join(f"{i:09d}\n" for i in range(6_000_000)), name="cut.csv")
        replies = self.daemon.jobs.ExecuteJob(request, timeout=60 * SLOW)
        for reply in replies:
            if reply.WhichOneof("payload") == "arrow":
                break
        os.truncate(self.root / "cut.csv", 4 << 20)  # nobody reads the answer: the job cannot be there already
        with self.assertRaises(grpc.RpcError) as caught:
            for reply in replies:
                pass
        name, message, _ = status_details(caught.exception)
        self.assertEqual((name, message), ("DATA_LOSS", "'cut.csv' became shorter while it was read"))

    def test_overflow_is_an_error(self):
        request = filtered("gt", "i", 0)
        del request.plan.exprs[:]
        request.plan.exprs.add().column.name = "i"
        literal = request.plan.exprs.add().literal
        literal.type.kind, literal.int_value = 5, 2**63 - 1
        request.plan.exprs.add().call.function = "add"
        request.plan.exprs[2].call.args.extend([1, 2])
        request.plan.exprs.add().call.function = "gt"
        request.plan.exprs[3].call.args.extend([3, 2])
        request.plan.rels[1].filter.predicate = 4
        self.fails(request, "OUT_OF_RANGE", "add")
        # The same below a NOT, which has nothing to look at then; sanitizers see when it does.
        request.plan.exprs.add().call.function = "not"
        request.plan.exprs[4].call.args.append(4)
        request.plan.rels[1].filter.predicate = 5
        self.fails(request, "OUT_OF_RANGE", "add")

    def test_memory_limit(self):
        request = generated(50_000_000)
        request.plan.exprs.add().column.name = "i"
        rel = request.plan.rels.add().aggregate
        rel.input = 1
        rel.keys.add(name="k", expr=1)
        rel.measures.add(function=1, name="n")
        request.options.memory_limit_bytes = 32 << 20
        self.fails(request, "RESOURCE_EXHAUSTED", "memory")

    def test_oversized_and_deep_messages(self):
        request = generated(10)
        for _ in range(5000):
            request.plan.exprs.add().column.name = "i"
        self.fails(request, "INVALID_ARGUMENT")
        request = generated(10)
        request.plan.rels[0].label = "x" * (2 << 20)
        with self.assertRaises(grpc.RpcError) as caught:
            list(self.daemon.jobs.ExecuteJob(request))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.daemon.run(generated(10))
        # Nesting that no stub makes: field 2 (plan) in field 2 ... 10,000 deep.
        deep = b""
        for _ in range(10_000):
            deep = b"\x12" + varint(len(deep)) + deep
        code, message = self.raw_call("/morsel.v1.JobService/ExecuteJob", b"\0" + struct.pack(">I", len(deep)) + deep)
        self.assertIn(code, (3, 8, 12), message)
        self.daemon.run(generated(10))

    def test_malformed_frames(self):
        path = "/morsel.v1.JobService/ExecuteJob"
        cases = {
            b"\x02\0\0\0\x01x": 13,      # flag above 1
            b"\x01\0\0\0\x01x": 12,      # compressed without an encoding we take (13 is also right)
            b"\0\0\0\0\x09abc": 13,      # ends inside a message
            b"\0\xff\xff\xff\xff": 8,    # 4 GiB
            b"\0\0\0\0\x03\xff\xff\xff": 3,  # not protobuf
            b"": 12,                     # no message at all
        }
        for body, code in cases.items():
            got, message = self.raw_call(path, body)
            self.assertIn(got, {12: (12, 13), 13: (13, 3)}.get(code, (code,)), f"{body!r}: {message}")
            self.daemon.run(generated(10))
        got, message = self.raw_call("/morsel.v1.JobService/Nothing", b"")
        self.assertEqual(got, 12, message)

    def test_deadlines_at_the_edge(self):
        body = generated(10).SerializeToString()
        message = b"\0" + struct.pack(">I", len(body)) + body
        # "0n" is what grpc-go sends when the deadline has passed: it is not "no deadline".
        for text, code in (("0n", 4), ("0H", 4), ("1n", 4), ("99999999H", 0), ("100000000H", 13), ("1", 13), ("-1S", 13)):
            got, words = h2_raw.call(self.daemon.port, "/morsel.v1.JobService/ExecuteJob", message, headers=[("grpc-timeout", text)])
            self.assertEqual(got, code, f"{text}: {words}")
        for seconds, nanos, words in ((1, 10**9, "1000000000 nanos"), (0, 0, "above 0"), (-1, 0, "above 0"), (1, -1, "above 0")):
            request = generated(10)
            request.options.timeout.seconds, request.options.timeout.nanos = seconds, nanos
            self.fails(request, "INVALID_ARGUMENT", "options.timeout", words)
        request = generated(10)
        request.options.timeout.seconds = 2**63 - 1
        self.daemon.run(request)

    def test_lists_that_cannot_be(self):
        self.daemon.run(generated(10))
        for fields in ({"page_token": "-1"}, {"page_token": " 1"}, {"page_token": "99999999999999999999"}, {"states": [99]}):
            with self.assertRaises(grpc.RpcError) as caught:
                self.daemon.jobs.ListJobs(job_pb.ListJobsRequest(**fields))
            self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT, fields)

    def test_garbage_on_the_port(self):
        for noise in (b"GET / HTTP/1.1\r\n\r\n", b"\0" * 1000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 100):
            with socket.create_connection(("127.0.0.1", self.daemon.port), timeout=10) as raw:
                raw.sendall(noise)
                raw.shutdown(socket.SHUT_WR)
                try:
                    while raw.recv(65536):
                        pass
                except ConnectionResetError:
                    pass
            self.daemon.run(generated(10))

    def raw_call(self, path, body):
        """One gRPC call with a body of our choice; returns (grpc-status, grpc-message)."""
        return h2_raw.call(self.daemon.port, path, body)

    def test_cli_exit_codes(self):
        def exit_code(*arguments):
            done = subprocess.run([MORSEL, *arguments], capture_output=True, text=True, cwd=self.root, timeout=60 * SLOW)
            return done.returncode, done.stderr
        server = ["--server", f"127.0.0.1:{self.daemon.port}"]
        (self.root / "bad.csv").write_text("a,b\n1,2\n3\n")
        (self.root / "good.csv").write_text("a,b\n1,2\n")
        for where in ([], server):
            name = "server:" if where else ""
            code, text = exit_code("group", name + "bad.csv", "--by", "a", "--agg", "n=count()", *where)
            self.assertEqual(code, 6, text)
            self.assertIn("bad.csv:3", text)
            code, text = exit_code("group", name + "good.csv", "--by", "zzz", "--agg", "n=count()", *where)
            self.assertEqual(code, 2, text)
            self.assertIn("zzz", text)
        code, text = exit_code("frobnicate")
        self.assertEqual(code, 2, text)
        code, text = exit_code("ping", "--server", "127.0.0.1:1")
        self.assertEqual(code, 3, text)


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


if __name__ == "__main__":
    unittest.main()
