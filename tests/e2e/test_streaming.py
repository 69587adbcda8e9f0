"""Goal:   streaming is real: the first chunk leaves before 10 % of the input is scanned, a stalled client
        parks its pipeline and costs neither a worker nor memory, and disturbs nobody.
Method: stream 2 GiB of generated rows to a client that stops reading; look at rows scanned, resident
        memory, worker counters and at a second job; then read on to the end and check every row.
        1,000 stalled streams on 16 connections beside a job that must finish."""
import struct, time, unittest

import pyarrow as pa

import h2_raw
from daemon import SLOW, Daemon, example, generated, grpc

ROW_BYTES = 8 + 8 + 8 + 4 + 3  # i, v, f, and a short string with its offset


class Streaming(unittest.TestCase):
    def test_two_gib_to_a_client_that_stalls(self):
        rows = (2 << 30) // ROW_BYTES // (1 if SLOW == 1 else 4)
        with Daemon("--workers", "2", "--set", "result_stall_timeout=600s") as daemon:
            daemon.run(generated(100_000))  # warm
            before = daemon.resident_bytes()
            scanned_before = daemon.metric_sum("morsel_rows_processed_total", op="scan")
            stream = daemon.jobs.ExecuteJob(generated(rows))
            self.assertEqual(next(stream).WhichOneof("payload"), "started")
            first = next(stream)
            self.assertEqual(first.WhichOneof("payload"), "arrow")
            chunks = [first]
            while not chunks[-1].arrow.row_count:
                chunks.append(next(stream))

            time.sleep(2)  # the client does not read: everything must come to rest
            info = daemon.jobs.ListJobs(daemon_list_running()).jobs
            self.assertEqual(len(info), 1)
            done = info[0].progress.rows_done
            self.assertLess(done, rows * 0.10, "the input was scanned past 10 % for a client that does not read")
            busy = daemon.metric_sum("morsel_worker_busy_seconds_total")
            time.sleep(1)
            self.assertLess(daemon.metric_sum("morsel_worker_busy_seconds_total") - busy, 0.05, "workers work for a stalled client")
            self.assertLess(daemon.resident_bytes() - before, (64 << 20) * (1 if SLOW == 1 else 4))

            start = time.monotonic()
            daemon.run(example("main_job"))
            self.assertLess(time.monotonic() - start, 10 * SLOW, "a second job is hindered")

            total, peak = sum(c.arrow.row_count for c in chunks), 0
            finished = None
            for number, response in enumerate(stream):
                if response.WhichOneof("payload") == "arrow":
                    total += response.arrow.row_count
                else:
                    finished = response.finished
                if number % 200 == 0:
                    peak = max(peak, daemon.resident_bytes())
            self.assertIsNotNone(finished)
            self.assertEqual(total, rows)
            self.assertEqual(finished.row_count, rows)
            self.assertLess(peak - before, (64 << 20) * (1 if SLOW == 1 else 4), "memory grows while streaming")
            self.assertGreater(scanned_before, 0)

    def test_a_thousand_stalled_streams_hold_no_worker(self):
        streams_wanted = 1000 if SLOW == 1 else 200
        with Daemon("--workers", "2", "--set", "result_stall_timeout=600s") as daemon:
            body = generated(50_000_000).SerializeToString()
            body = b"\0" + struct.pack(">I", len(body)) + body
            sockets, left = [], streams_wanted
            while left:
                sockets.append(h2_raw.stall(daemon.port, "/morsel.v1.JobService/ExecuteJob", [body] * min(64, left)))
                left -= min(64, left)
            deadline = time.monotonic() + 60 * SLOW
            while True:
                busy = daemon.metric_sum("morsel_worker_busy_seconds_total")
                time.sleep(1)
                if daemon.metric_sum("morsel_worker_busy_seconds_total") - busy < 0.05:
                    break
                self.assertLess(time.monotonic(), deadline, "workers never come to rest")
            self.assertEqual(daemon.metric_sum("morsel_jobs_running"), streams_wanted)
            start = time.monotonic()
            data, finished, _ = daemon.run(generated(1_000_000))
            self.assertEqual(pa.ipc.open_stream(data).read_all().num_rows, 1_000_000)
            self.assertLess(time.monotonic() - start, 5 * SLOW)
            print(f"{streams_wanted} stalled streams, resident {daemon.resident_bytes() >> 20} MiB")
            for raw in sockets:
                raw.close()
            deadline = time.monotonic() + 30 * SLOW
            while daemon.metric_sum("morsel_jobs_running"):
                self.assertLess(time.monotonic(), deadline, "cancelled jobs stay")
                time.sleep(0.1)

    def test_cancel_by_reset(self):
        with Daemon("--workers", "2") as daemon:
            call = daemon.jobs.ExecuteJob(generated(10**12))
            next(call)
            call.cancel()
            deadline = time.monotonic() + 5 * SLOW
            while daemon.metric_sum("morsel_jobs_running"):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)
            self.assertEqual(daemon.metric_sum("morsel_jobs_total", result="cancelled"), 1)

    def test_deadlines(self):
        with Daemon("--workers", "2") as daemon:
            for request, timeout in ((generated(10**12), 0.5), (generated(10**12), None)):
                if timeout is None:
                    request.options.timeout.FromMilliseconds(500)
                start = time.monotonic()
                with self.assertRaises(grpc.RpcError) as caught:
                    for _ in daemon.jobs.ExecuteJob(request, timeout=timeout):
                        pass
                self.assertEqual(caught.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
                self.assertLess(time.monotonic() - start, 3 * SLOW)
            # A job that waits for a stalled client ends at its deadline too.
            request = generated(10**12)
            request.options.timeout.FromMilliseconds(700)
            call = daemon.jobs.ExecuteJob(request)
            next(call)
            deadline = time.monotonic() + 5 * SLOW
            while daemon.metric_sum("morsel_jobs_running"):
                self.assertLess(time.monotonic(), deadline, "a parked job outlives its deadline")
                time.sleep(0.05)
            call.cancel()

    def test_two_jobs_at_once_both_progress(self):
        with Daemon("--workers", "2") as daemon:
            def slow():
                request = generated(10**12)
                root = request.plan.rels.add().aggregate
                root.input = 1
                root.measures.add(function=1, name="n")
                return request
            first, second = slow(), slow()
            first.job_id, second.job_id = "first", "second"
            calls = [daemon.jobs.ExecuteJob(first), daemon.jobs.ExecuteJob(second)]
            time.sleep(1)
            from daemon import job_pb
            def done():
                return [daemon.jobs.GetJob(job_pb.GetJobRequest(job_id=j)).job.progress.rows_done for j in ("first", "second")]
            one = done()
            time.sleep(1)
            two = done()
            self.assertTrue(two[0] > one[0] and two[1] > one[1], f"{one} then {two}")
            gained = sorted(b - a for a, b in zip(one, two))
            self.assertLess(gained[1], 4 * gained[0], f"unfair: {gained}")
            for call in calls:
                call.cancel()


def daemon_list_running():
    from daemon import job_pb
    return job_pb.ListJobsRequest(states=[job_pb.JOB_STATE_RUNNING])


if __name__ == "__main__":
    unittest.main()
