"""Goal:   the daemon as an operator sees it: health, reflection, metrics, job control, drain, sockets.
Method: stock grpcio health and reflection clients, promtool, signals, a raw second program on the port."""
import json, os, pathlib, signal, socket, subprocess, tempfile, threading, time, unittest, urllib.error

from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from daemon import MORSEL, MORSELD, ROOT, SLOW, Daemon, example, generated, grpc, job_pb


class Operations(unittest.TestCase):
    def test_health_and_reflection(self):
        with Daemon() as daemon:
            health = health_pb2_grpc.HealthStub(daemon.channel)
            self.assertEqual(health.Check(health_pb2.HealthCheckRequest()).status, health_pb2.HealthCheckResponse.SERVING)
            with self.assertRaises(grpc.RpcError) as caught:
                health.Check(health_pb2.HealthCheckRequest(service="nothing"))
            self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)
            database = ProtoReflectionDescriptorDatabase(daemon.channel)
            self.assertIn("morsel.v1.JobService", database.get_services())
            found = database.FindFileContainingSymbol("morsel.v1.TableService")
            self.assertEqual(found.name, "morsel/v1/job_service.proto")

    def test_metrics_page(self):
        with Daemon() as daemon:
            daemon.run(example("main_job"))
            page = daemon.admin("/metrics")
            checked = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True)
            self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))
            for name in ("morsel_jobs_total", "morsel_worker_steals_total", "morsel_worker_busy_seconds_total",
                         "morsel_worker_parked_seconds_total", "morsel_worker_rows_total", "morsel_io_uring_available",
                         "morsel_memory_used_bytes", "morsel_rpc_requests_total", "process_resident_memory_bytes"):
                self.assertIn("\n" + name, page)
            self.assertIn('worker="0"', page)
            self.assertIn('node="0"', page)
            self.assertEqual(daemon.admin("/healthz").strip()[:2].lower(), "ok")
            daemon.admin("/readyz")
            with self.assertRaises(urllib.error.HTTPError) as caught:
                daemon.admin("/nothing")
            self.assertEqual(caught.exception.code, 404)
            start = time.monotonic()
            daemon.admin("/metrics")
            self.assertLess(time.monotonic() - start, 0.5 * SLOW)

    def test_job_control(self):
        with Daemon() as daemon:
            request = generated(10**12)
            request.job_id = "endless"
            call = daemon.jobs.ExecuteJob(request)
            next(call)
            with self.assertRaises(grpc.RpcError) as caught:
                list(daemon.jobs.ExecuteJob(request))
            self.assertEqual(caught.exception.code(), grpc.StatusCode.ALREADY_EXISTS)
            listed = daemon.jobs.ListJobs(job_pb.ListJobsRequest()).jobs
            self.assertEqual([(j.job_id, j.state) for j in listed], [("endless", job_pb.JOB_STATE_RUNNING)])
            self.assertEqual(daemon.jobs.GetJob(job_pb.GetJobRequest(job_id="endless")).job.state, job_pb.JOB_STATE_RUNNING)
            daemon.jobs.CancelJob(job_pb.CancelJobRequest(job_id="endless", reason="enough"))
            with self.assertRaises(grpc.RpcError) as caught:
                for _ in call:
                    pass
            self.assertEqual(caught.exception.code(), grpc.StatusCode.CANCELLED)
            self.assertIn("enough", caught.exception.details())
            self.assertEqual(daemon.jobs.GetJob(job_pb.GetJobRequest(job_id="endless")).job.state, job_pb.JOB_STATE_CANCELLED)
            with self.assertRaises(grpc.RpcError) as caught:
                daemon.jobs.CancelJob(job_pb.CancelJobRequest(job_id="never"))
            self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)

    def test_explain(self):
        with Daemon() as daemon:
            request = example("main_job")
            reply = daemon.jobs.ExplainJob(job_pb.ExplainJobRequest(plan=request.plan))
            self.assertIn("join", reply.text)
            json.loads(reply.json)
            self.assertEqual([f.name for f in reply.schema.fields], ["carrier_name", "flights", "mean_delay", "max_delay"])
            reply = daemon.jobs.ExplainJob(job_pb.ExplainJobRequest(plan=request.plan, analyze=True))
            self.assertIn("336776", reply.text.replace(",", ""))

    def test_profile_and_progress(self):
        with Daemon("--workers", "2") as daemon:
            request = generated(5_000_000 // SLOW, profile=True)
            request.options.progress_interval.FromMilliseconds(10)
            _, finished, responses = daemon.run(request)
            kinds = {r.WhichOneof("payload") for r in responses}
            self.assertEqual(kinds, {"started", "arrow", "progress", "profile", "finished"})
            profile = next(r.profile for r in responses if r.WhichOneof("payload") == "profile")
            self.assertEqual(len(profile.workers), 2)
            self.assertEqual(sum(w.rows_local + w.rows_remote for w in profile.workers), finished.row_count)
            self.assertEqual([(o.rel, o.rows_out) for o in profile.operators], [(1, finished.row_count)])
            self.assertEqual([p.rows for p in profile.pipelines], [finished.row_count])
            self.assertGreater(profile.workers[0].parked.ToNanoseconds() + profile.workers[0].busy.ToNanoseconds(), 0)
            kept = daemon.jobs.GetJob(job_pb.GetJobRequest(job_id=responses[0].job_id))
            self.assertEqual(kept.profile, profile)
            self.assertEqual(kept.job.steals, profile.stolen_morsels)

    def test_trace(self):
        with Daemon("--workers", "2") as daemon:
            request = generated(5_000_000 // SLOW)
            request.options.trace_events = 16384
            _, finished, responses = daemon.run(request)
            traces = [r.trace for r in responses if r.WhichOneof("payload") == "trace"]
            morsels = [e for t in traces for e in t.events if e.kind == job_pb.TRACE_KIND_MORSEL]
            self.assertEqual(sum(e.rows for e in morsels), finished.row_count)
            self.assertEqual({t.worker for t in traces}, {0, 1})
            self.assertTrue(all(len(t.events) <= 4096 and t.dropped == 0 for t in traces))
            self.assertIn("generator", traces[0].pipelines[0].steps)
            request.options.trace_events, request.options.settings["morsel_rows"] = 2, "16384"
            _, finished, responses = daemon.run(request)
            traces = [r.trace for r in responses if r.WhichOneof("payload") == "trace"]
            self.assertGreater(sum(t.dropped for t in traces), 0)
            self.assertLessEqual(sum(e.kind == job_pb.TRACE_KIND_MORSEL for t in traces for e in t.events), 4)
            request.options.trace_events = 65537
            with self.assertRaises(grpc.RpcError) as caught:
                daemon.run(request)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
            self.assertIn("trace_events", caught.exception.details())

    def test_drain_lets_a_running_job_finish(self):
        with Daemon() as daemon:
            stream = daemon.jobs.ExecuteJob(generated(20_000_000 // SLOW))
            next(stream)
            daemon.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            with self.assertRaises(urllib.error.HTTPError) as caught:
                daemon.admin("/readyz")
            self.assertEqual(caught.exception.code, 503)
            last = None
            for last in stream:
                pass
            self.assertEqual(last.WhichOneof("payload"), "finished")
            self.assertEqual(daemon.process.wait(20 * SLOW), 0)

    def test_drain_cancels_what_does_not_end(self):
        with Daemon("--set", "drain_timeout=1s") as daemon:
            stream = daemon.jobs.ExecuteJob(generated(10**12))
            next(stream)
            daemon.process.send_signal(signal.SIGTERM)
            with self.assertRaises(grpc.RpcError):
                for _ in stream:
                    pass
            self.assertEqual(daemon.process.wait(20 * SLOW), 0)

    def test_a_taken_port_and_an_open_bind_are_refused(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            done = subprocess.run([MORSELD, "--listen", f"127.0.0.1:{port}", "--admin-listen", "127.0.0.1:0"], capture_output=True, text=True, timeout=30 * SLOW)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(str(port), done.stderr)
        done = subprocess.run([MORSELD, "--listen", "0.0.0.0:0", "--admin-listen", "127.0.0.1:0"], capture_output=True, text=True, timeout=30 * SLOW)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("insecure", done.stderr)

    def test_configuration(self):
        good = subprocess.run([MORSELD, "--config", ROOT / "deploy/systemd/morseld.conf", "--check-config"], capture_output=True, text=True)
        self.assertEqual(good.returncode, 0, good.stderr)
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write("[morseld]\nworkers = 2\nwrokers = 3\n")
            file.flush()
            bad = subprocess.run([MORSELD, "--config", file.name, "--check-config"], capture_output=True, text=True)
            self.assertNotEqual(bad.returncode, 0)
            self.assertIn(f"{file.name}:3", bad.stderr)
            self.assertIn("wrokers", bad.stderr)

    def test_service_manager_protocol(self):
        """READY=1, STOPPING=1 and the watchdog reach NOTIFY_SOCKET; LISTEN_FDS hands over the port."""
        with tempfile.TemporaryDirectory() as folder:
            notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            notify.bind(f"{folder}/notify")
            notify.settimeout(20 * SLOW)
            listener = socket.create_server(("127.0.0.1", 0))
            port = listener.getsockname()[1]
            script = f'exec 3<&{listener.fileno()}; export LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=grpc; exec "$0" "$@"'
            process = subprocess.Popen(["bash", "-c", script, MORSELD, "--admin-listen", "127.0.0.1:0"], pass_fds=[listener.fileno()],
                                       stderr=subprocess.DEVNULL,
                                       env={**os.environ, "NOTIFY_SOCKET": f"{folder}/notify", "WATCHDOG_USEC": "400000"})
            seen = ""
            while "READY=1" not in seen or "WATCHDOG=1" not in seen:
                seen += notify.recv(4096).decode() + "\n"
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=10 * SLOW)
            process.send_signal(signal.SIGTERM)
            while "STOPPING=1" not in seen:
                seen += notify.recv(4096).decode() + "\n"
            self.assertEqual(process.wait(20 * SLOW), 0)
            listener.close()

    def test_the_pread_fallback_is_visible(self):
        with Daemon("--set", "io_uring=false") as daemon:
            daemon.run(example("main_job"))
            self.assertEqual(daemon.metric_sum("morsel_io_uring_available"), 0)
            self.assertGreater(daemon.metric_sum("morsel_io_requests_total", engine="pread"), 0)
            self.assertIn("pread", daemon.log())
        with Daemon() as daemon:
            daemon.run(example("main_job"))
            if daemon.metric_sum("morsel_io_uring_available"):
                self.assertGreater(daemon.metric_sum("morsel_io_requests_total", engine="io_uring"), 0)
            else:
                self.assertIn("pread", daemon.log())

    def test_many_clients_at_once(self):
        with Daemon("--workers", "3") as daemon:
            errors = []

            def client():
                try:
                    for _ in range(5):
                        daemon.run(example("planes_by_origin"))
                except Exception as error:  # noqa: BLE001
                    errors.append(error)
            threads = [threading.Thread(target=client) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(errors, [])

    def test_a_fake_topology_shows_steals(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "two_nodes"
            path.write_text("node 0 memory 1073741824\nnode 1 memory 1073741824\n"
                            "cpu 0 node 0 core 0 l3 0 socket 0\ncpu 1 node 1 core 0 l3 1 socket 1\n"
                            "distance 0 0 10\ndistance 0 1 21\ndistance 1 0 21\ndistance 1 1 10\n")
            with Daemon("--workers", "2", "--set", f"topology_file={path}") as daemon:
                request = generated(5_000_000)
                request.plan.rels.add().aggregate.input = 1
                request.plan.rels[1].aggregate.measures.add(function=1, name="n")
                daemon.run(request)
                self.assertEqual(daemon.metric_sum("morsel_worker_rows_total", node="0") > 0, True)
                self.assertEqual(daemon.metric_sum("morsel_worker_rows_total", node="1") > 0, True)

    def test_the_cli_lists_and_cancels(self):
        with Daemon() as daemon:
            request = generated(10**12)
            request.job_id = "listed"
            call = daemon.jobs.ExecuteJob(request)
            next(call)
            server = ["--server", f"127.0.0.1:{daemon.port}"]
            listing = subprocess.run([MORSEL, "jobs", *server], capture_output=True, text=True, check=True).stdout
            self.assertIn("listed", listing)
            subprocess.run([MORSEL, "cancel", "listed", *server], capture_output=True, text=True, check=True)
            with self.assertRaises(grpc.RpcError):
                for _ in call:
                    pass


if __name__ == "__main__":
    unittest.main()
