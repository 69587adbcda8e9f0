"""What the wire costs: the daemon beside what the machine itself can do, in one run.

    MORSEL_BUILD=$PWD/build/release build/venv/bin/python tests/bench/wire [stream] [latency] [load]

stream   a result of 10 million rows x 3 columns to a stock grpcio client, beside constant_server.c: the same
         messages out of one buffer
latency  a group-by over a resident table of 10 thousand rows, through libmorsel and through grpcio, beside
         bench_pingpong.c: the same bytes there and back between two processes
load     the rate of such jobs from 16 connections (bench_load.c) and the CPU time of a job by thread

`smoke` instead of these runs all of it at sizes that say nothing about speed: a life sign for ctest."""
import json, os, pathlib, statistics, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "e2e")]

import jobs  # noqa: E402
from daemon import BUILD, Daemon, grpc, job_rpc  # noqa: E402

SIZES = {
    "full": dict(stream_rows=10_000_000, repetitions=15, rounds=12, seconds=0.5, grpcio_jobs=500, connections=16, load_seconds=5, loads=3),
    "smoke": dict(stream_rows=200_000, repetitions=2, rounds=2, seconds=0.05, grpcio_jobs=20, connections=4, load_seconds=0.2, loads=1),
}


def program(name, *arguments):
    done = subprocess.run([BUILD / "bin" / name, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(f"{name} ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def cpu_seconds(pid):
    """User and system time of a process, by its threads' schedstat."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


# ---- stream

class ConstantServer:
    """with ConstantServer(message, count) as stub: the message, `count` times."""

    def __init__(self, message, count):
        self.message, self.count = message, count

    def __enter__(self):
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.write(self.message)
        self.path = file.name
        self.process = subprocess.Popen([BUILD / "bin/constant_server", self.path, str(self.count)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        port = int(self.process.stdout.readline())
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.use_local_subchannel_pool", 1)])
        self.stub = job_rpc.JobServiceStub(self.channel)
        return self

    def __exit__(self, *_):
        self.channel.close()
        self.process.stdin.close()
        self.process.wait(30)
        os.unlink(self.path)


def stream_once(stub, pid):
    """(bytes of Arrow data a second, the server's CPU seconds)"""
    cpu, start, size = cpu_seconds(pid), time.perf_counter(), 0
    for response in stub.ExecuteJob(jobs.wide_scan()):
        size += len(response.arrow.data)
    return size / (time.perf_counter() - start), cpu_seconds(pid) - cpu


def stream(size):
    rows = size["stream_rows"]
    with Daemon("--workers", "2") as daemon:
        daemon.run(jobs.wide_table(rows))
        arrows = [r for r in daemon.run(jobs.wide_scan())[2] if r.WhichOneof("payload") == "arrow"]
        assert sum(r.arrow.row_count for r in arrows) == rows
        total = sum(len(r.arrow.data) for r in arrows)
        usual = max(arrows, key=lambda r: len(r.arrow.data))
        count = max(1, round(total / len(usual.arrow.data)))
        jobs_stub = job_rpc.JobServiceStub(grpc.insecure_channel(
            f"127.0.0.1:{daemon.port}", options=[("grpc.use_local_subchannel_pool", 1)]))
        ours, constant, ratios, ours_cpu, constant_cpu = [], [], [], [], []
        with ConstantServer(usual.SerializeToString(), count) as server:
            for repetition in range(-1, size["repetitions"]):
                a, a_cpu = stream_once(jobs_stub, daemon.process.pid)
                b, b_cpu = stream_once(server.stub, server.process.pid)
                if repetition >= 0:
                    ours.append(a), constant.append(b), ratios.append(a / b), ours_cpu.append(a_cpu), constant_cpu.append(b_cpu)
    print(f"stream: {rows} rows x 3 columns, {total / 1e6:.0f} MB in {len(arrows)} messages of up to {len(usual.arrow.data) >> 10} KiB, "
          f"{size['repetitions']} repetitions, interleaved")
    print("| server | median GB/s | best GB/s | server CPU, s |\n|---|---:|---:|---:|")
    for name, rates, cpu in (("morseld", ours, ours_cpu), ("constant", constant, constant_cpu)):
        print(f"| {name} | {statistics.median(rates) / 1e9:.2f} | {max(rates) / 1e9:.2f} | {statistics.median(cpu):.3f} |")
    print(f"ratio of medians {statistics.median(ours) / statistics.median(constant):.3f}, of the best {max(ours) / max(constant):.3f}, "
          f"median of pairs {statistics.median(ratios):.3f}; goal 0.90")


# ---- latency and load

class NarrowDaemon(Daemon):
    """A daemon that holds the table of the group-by; `job` is the file with the packed request."""

    def __enter__(self):
        super().__enter__()
        self.run(jobs.narrow_table(10_000, 100))
        self.job = pathlib.Path(self.folder.name) / "job"
        self.job.write_bytes(jobs.group_by().SerializeToString())
        return self

    def load(self, connections, seconds):
        return program("bench_load", f"127.0.0.1:{self.port}", self.job, connections, seconds, self.process.pid)


def grpcio_latencies(daemon, count):
    request, latencies = jobs.group_by(), []
    for _ in range(count):
        start = time.perf_counter()
        responses = list(daemon.jobs.ExecuteJob(request))
        latencies.append((time.perf_counter() - start) * 1e6)
        assert responses[-1].finished.row_count == 100
    return latencies


def latency(size):
    ours, pings, stock = [], [], []
    with NarrowDaemon("--workers", "2") as daemon:
        grpcio_latencies(daemon, size["grpcio_jobs"])
        for _ in range(size["rounds"]):
            ours.append(daemon.load(1, size["seconds"]))
            pings.append(program("bench_pingpong", int(ours[-1]["request_bytes"]), int(ours[-1]["answer_bytes"]), size["seconds"]))
            values = grpcio_latencies(daemon, size["grpcio_jobs"])
            stock.append({"p50_us": percentile(values, 0.5), "p99_us": percentile(values, 0.99)})
    print(f"latency: group-by of 10,000 rows into 100 groups, {ours[-1]['request_bytes']:.0f} bytes there, {ours[-1]['answer_bytes']:.0f} back; "
          f"medians of {size['rounds']} interleaved rounds, in us")
    print("| | p50 | p99 | best p50 | best p99 |\n|---|---:|---:|---:|---:|")
    for name, rounds in (("ping-pong", pings), ("libmorsel", ours), ("grpcio", stock)):
        print(f"| {name} | " + " | ".join(f"{pick(r[key] for r in rounds):.0f}" for pick in (statistics.median, min)
                                           for key in ("p50_us", "p99_us")) + " |")
    over = {key: statistics.median(a[key] - b[key] for a, b in zip(ours, pings)) for key in ("p50_us", "p99_us")}
    print(f"libmorsel above ping-pong, median of pairs: p50 {over['p50_us']:.0f} us (goal 100), p99 {over['p99_us']:.0f} us (goal 500)")


def load(size):
    with NarrowDaemon("--workers", "2", "--log-level", "warning") as daemon:
        runs = [daemon.load(size["connections"], size["load_seconds"]) for _ in range(size["loads"])]
    run = sorted(runs, key=lambda r: r["jobs_a_second"])[len(runs) // 2]
    print(f"load: {run['connections']} connections, {run['jobs']} jobs, median of {len(runs)} runs by rate")
    print(f"{run['jobs_a_second']:.0f} jobs/s, p50 {run['p50_us']:.0f} us, p99 {run['p99_us']:.0f} us")
    print("| thread | CPU us a job | times on CPU a job |\n|---|---:|---:|")
    print(f"| client | {run['client_us']:.1f} | |")
    for thread in run["daemon"]:
        print(f"| {thread['thread']} | {thread['cpu_us']:.1f} | {thread['runs']:.2f} |")


def main():
    wanted = sys.argv[1:] or ["stream", "latency", "load"]
    size = SIZES["full"]
    if wanted == ["smoke"]:
        wanted, size = ["stream", "latency", "load"], SIZES["smoke"]
    for name in wanted:
        {"stream": stream, "latency": latency, "load": load}[name](size)
        print(flush=True)


main()
