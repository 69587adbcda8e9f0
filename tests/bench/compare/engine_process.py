"""An engine in a process of its own, told what to do in lines of JSON. Run as a program it is the child:
    engine_process.py NAME THREADS SUITE-JSON
Times are taken inside the child around the engine's call alone; memory is the process's own high-water mark, set
back before each run."""
import json, math, os, pathlib, subprocess, sys, time

HERE = pathlib.Path(__file__).resolve().parent


class EngineProcess:
    def __init__(self, name, threads, suite_arguments):
        self.name = name
        self.child = subprocess.Popen([sys.executable, HERE / "engine_process.py", name, str(threads), json.dumps(suite_arguments)],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.version = self.ask("hello")["version"]

    def ask(self, what, **more):
        self.child.stdin.write(json.dumps({"do": what, **more}) + "\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            return {"error": f"the process ended with {self.child.wait()}"}
        return json.loads(line)

    def close(self):
        self.child.stdin.close()
        try:
            self.child.wait(60)
        except subprocess.TimeoutExpired:
            self.child.kill()


def peak_reset(pid):
    try:
        pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")
    except OSError:
        pass


def status_bytes(pid, key):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    return 0


def checksum(table):
    """Rows, and of every column its sum (numbers), or its number of values and of bytes (texts)."""
    import pyarrow as pa
    import pyarrow.compute as pc
    sums = []
    for column in table.columns:
        kind = column.type
        if pa.types.is_dictionary(kind):
            column, kind = column.cast(kind.value_type), kind.value_type
        if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind):
            column = column.cast(pa.float64())
            column = pc.if_else(pc.is_finite(column), column, None)  # of one value: null, NaN or infinity
            sums.append(math.fsum(x for chunk in column.chunks for x in chunk.drop_null().to_numpy(zero_copy_only=False)))
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_binary(kind):
            sums.append(float(pc.sum(pc.binary_length(column.cast(pa.large_string()))).as_py() or 0))
        else:
            sums.append(float(len(column) - column.null_count))
    return {"rows": table.num_rows, "sums": sums}


def serve(name, threads, arguments):
    reply = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    sys.path.insert(0, str(HERE))
    import engines, suites
    suite = suites.make(**arguments)
    questions = {q.name: q for q in suite.questions}
    engine = engines.make(name, threads)
    pid = getattr(engine, "pid", os.getpid())
    prepared = {}

    def run(question, check):
        if question not in prepared:
            asked = questions[question]
            prepared[question] = engine.prepare(asked.dialects.get(engines.family(name), asked.sql))
        call = prepared[question]
        getattr(call, "before", lambda: None)()
        peak_reset(pid)
        before = status_bytes(pid, "VmRSS")
        start = time.perf_counter()
        call()
        seconds = time.perf_counter() - start
        answer = {"seconds": seconds, "peak": max(status_bytes(pid, "VmHWM") - before, 0), "resident": status_bytes(pid, "VmHWM")}
        return answer | (checksum(engine.answer()) if check else {})

    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "hello":
                answer = {"version": engine.version}
            elif request["do"] == "load":
                start = time.perf_counter()
                engine.load(request["table"], suite.tables[request["table"]])
                answer = {"seconds": time.perf_counter() - start, "resident": status_bytes(pid, "VmRSS")}
            else:
                answer = run(request["question"], request["check"])
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:400]}
        print(json.dumps(answer), file=reply)
    getattr(engine, "close", lambda: None)()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]))
