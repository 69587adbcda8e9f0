"""A real morseld for a test: starts it on free ports, speaks to it as a stock gRPC client would, and
makes sure that it drains cleanly. MORSEL_BUILD names the build tree."""
import os, pathlib, re, signal, subprocess, sys, tempfile, time, urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MORSEL_BUILD", ROOT / "build/release"))
sys.path.insert(0, str(BUILD / "stubs"))

import grpc  # noqa: E402
from google.protobuf import json_format  # noqa: E402
from morsel.v1 import job_service_pb2 as job_pb, job_service_pb2_grpc as job_rpc, plan_pb2 as plan_pb, types_pb2 as types_pb  # noqa: E402,F401

MORSELD = BUILD / "bin/morseld"
MORSEL = BUILD / "bin/morsel"
# Sanitized builds are slow: sizes and time limits scale with this.
SLOW = 8 if any(name in BUILD.name for name in ("asan", "tsan")) else 1


class Daemon:
    """with Daemon("--workers", "2") as daemon: daemon.jobs.ExecuteJob(...)"""

    def __init__(self, *flags, data_root=ROOT, expect_exit=0):
        self.flags, self.data_root, self.expect_exit = flags, data_root, expect_exit

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.folder.name)
        self.log_path = folder / "log"
        self.log_file = open(self.log_path, "w")
        self.process = subprocess.Popen(
            [MORSELD, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--port-file", folder / "ports",
             "--data-root", str(self.data_root), *self.flags],
            stderr=self.log_file)
        deadline = time.monotonic() + 30 * SLOW
        while not (folder / "ports").exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("morseld did not start: " + self.log())
            time.sleep(0.02)
        self.port, self.admin_port = (int(line) for line in (folder / "ports").read_text().split())
        self.channels = []
        self.channel = self.connect()
        self.jobs = job_rpc.JobServiceStub(self.channel)
        self.tables = job_rpc.TableServiceStub(self.channel)
        return self

    def connect(self):
        channel = grpc.insecure_channel(f"127.0.0.1:{self.port}", options=[
            ("grpc.max_receive_message_length", 64 << 20), ("grpc.use_local_subchannel_pool", 1)])
        self.channels.append(channel)
        return channel

    def __exit__(self, kind, value, trace):
        for channel in self.channels:
            channel.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(60 * SLOW)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = "no exit after SIGTERM"
        log = self.log()
        self.log_file.close()
        self.folder.cleanup()
        if kind is None and status != self.expect_exit:
            raise AssertionError(f"morseld ended with {status}:\n{log}")
        if kind is not None:
            print(log[-4000:], file=sys.stderr)

    def log(self):
        return self.log_path.read_text(errors="replace")

    def admin(self, path, timeout=10):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin_port}{path}", timeout=timeout) as reply:
            return reply.read().decode()

    def metrics(self):
        """name{labels} -> value"""
        page = {}
        for line in self.admin("/metrics").splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                page[name] = float(value)
        return page

    def wait_metric(self, name, wanted, **labels):
        """What a job or a table held is given back just after its end is told."""
        deadline = time.monotonic() + 5 * SLOW
        while (value := self.metric_sum(name, **labels)) != wanted:
            if time.monotonic() > deadline:
                raise AssertionError(f"{name}{labels} is {value}, {wanted} was expected")
            time.sleep(0.005)

    def metric_sum(self, name, **labels):
        total = 0.0
        for key, value in self.metrics().items():
            match = re.fullmatch(r"([a-z0-9_]+)(?:\{(.*)\})?", key)
            if match.group(1) == name and all(f'{k}="{v}"' in (match.group(2) or "") for k, v in labels.items()):
                total += value
        return total

    def resident_bytes(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("no VmRSS")

    def run(self, request, timeout=60 * SLOW, stub=None):
        """Runs a job to its end. Returns (arrow bytes, finished message, all responses)."""
        responses = list((stub or self.jobs).ExecuteJob(request, timeout=timeout))
        data = b"".join(r.arrow.data for r in responses if r.WhichOneof("payload") == "arrow")
        assert responses[0].WhichOneof("payload") == "started", responses[0]
        assert responses[-1].WhichOneof("payload") == "finished", "the stream ended without Finished"
        return data, responses[-1].finished, responses


def example(name):
    """An example's job as a request message."""
    return json_format.Parse((ROOT / "examples" / f"{name}.json").read_text(), job_pb.ExecuteJobRequest())


def generated(rows, name="sequence", **options):
    """A job that streams a generated table."""
    request = job_pb.ExecuteJobRequest()
    request.plan.version = 1
    scan = request.plan.rels.add().scan
    scan.generator.name, scan.generator.rows, scan.generator.seed = name, rows, 1
    for key, value in options.items():
        setattr(request.options, key, value)
    return request


def status_details(error):
    """(code name, details, JobError or None) of a grpc.RpcError."""
    from google.rpc import status_pb2
    job_error = None
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            status = status_pb2.Status.FromString(value)
            for detail in status.details:
                if detail.Is(job_pb.JobError.DESCRIPTOR):
                    job_error = job_pb.JobError()
                    detail.Unpack(job_error)
    return error.code().name, error.details(), job_error
