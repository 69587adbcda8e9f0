"""Goal:   a daemon without work costs nothing: under 0.1 % of a CPU, after start and after a job.
Method: nanoseconds on a CPU of all its threads (schedstat, which counts finer than a clock tick) over some seconds.
        Another process cannot make this time grow, so the limit holds on a busy machine too."""
import os, pathlib, time, unittest

from daemon import SLOW, Daemon

SECONDS = 5


def cpu_ns(pid):
    return sum(int((task / "schedstat").read_text().split()[0])
               for task in pathlib.Path(f"/proc/{pid}/task").iterdir())


class Idle(unittest.TestCase):
    def idle_share(self, pid):
        """Least of three, for a log line or a timer of the start may still fall into the first."""
        shares = []
        for _ in range(3):
            before, since = cpu_ns(pid), time.monotonic()
            time.sleep(SECONDS)
            shares.append((cpu_ns(pid) - before) / 1e9 / (time.monotonic() - since))
            if shares[-1] < 0.001:
                break
        return min(shares)

    @unittest.skipIf(SLOW > 1, "a sanitizer's own threads are not the daemon's")
    @unittest.skipUnless(os.path.exists("/proc/self/schedstat"), "the kernel keeps no schedstat")
    def test_idle(self):
        with Daemon("--workers", "4") as daemon:
            share = self.idle_share(daemon.process.pid)
            self.assertLess(share, 0.001, "after start")
            daemon.metrics()
            after = self.idle_share(daemon.process.pid)
            self.assertLess(after, 0.001, "after a request")
            print(f"idle: {share:.6f} of a CPU after start, {after:.6f} after a request")


if __name__ == "__main__":
    unittest.main(verbosity=2)
