"""gdb commands for a live morseld (or morsel) or a core of one, built with debug information:

    gdb -p $(pidof morseld) -x deploy/gdb/morseld.py        gdb /usr/bin/morseld core -x ...

    morsel jobs       jobs that run: age, work so far, memory, pipelines with units left
    morsel workers    every worker: job slot, deque, what it does now, what it did
    morsel deques     the ranges in every deque, oldest first, and in the shared queues

Everything is read, nothing is called, so that it works on cores and never disturbs a lock."""
import gdb

ASLEEP = 1 << 63


def number(value):
    """An integer, atomic or not."""
    try:
        return int(value)
    except gdb.error:  # some gdb versions do not convert _Atomic
        return int(value.cast(value.type.unqualified()))


def engine():
    found = gdb.parse_and_eval("exec_engine_of_process")
    if number(found) == 0:
        raise gdb.GdbError("no engine: the process has not made one yet, or it is over")
    return found.dereference()


def workers(sched):
    for index in range(number(sched["worker_count"])):
        yield (sched["workers"] + index).dereference()


def slots(sched):
    """(number, slot) of those a job holds."""
    for index in range(sched["slots"]["slots"].type.range()[1] + 1):
        slot = sched["slots"]["slots"][index]
        if number(slot["word"]) % (1 << 48) != 0:
            yield index, slot


def name_of(pipeline):
    """Of a struct sched_pipeline *: "3 table scan" for a pipe, "plan" for a job's planning."""
    ops = pipeline["ops"]["name"].string()
    if ops != "pipe":
        return ops
    pipe = pipeline.cast(gdb.lookup_type("struct pipe").pointer())
    return f"{number(pipe['number'])} {pipe['source']['kind']['name'].string()}"


def ranges(deque):
    words = deque["entries"]
    size = words.type.range()[1] + 1
    pipelines = gdb.lookup_type("struct sched_pipeline").pointer()
    for at in range(number(deque["top"]), number(deque["bottom"])):
        entry = words[at % size]
        begin, end, pipeline, cursor, rest = (number(entry[word]) for word in range(5))
        yield begin, end, gdb.Value(pipeline).cast(pipelines), cursor, (rest >> 16) & 0xffff


class Morsel(gdb.Command):
    """morsel jobs|workers|deques: what a morseld is doing."""

    def __init__(self):
        super().__init__("morsel", gdb.COMMAND_STATUS, prefix=True)


class MorselJobs(gdb.Command):
    """Jobs that were accepted and have not ended."""

    def __init__(self):
        super().__init__("morsel jobs", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        of = engine()
        print(f"{number(of['jobs_running'])} jobs running")
        job = of["jobs"]
        while number(job) != 0:
            self.show(job.dereference())
            job = job["next"]

    def show(self, job):
        sched = job["sched"]
        ticket = number(sched["ticket"])
        print(f"job {job.address}  slot {ticket % 128 if ticket else '-'}  priority {number(sched['priority'])}  "
              f"pipes left {number(job['pipes_left'])}  morsels {number(sched['morsels'])}  "
              f"remote {number(sched['morsels_remote'])}  steals {number(sched['steals'])}  "
              f"busy {number(sched['busy_ns']) / 1e6:.3f} ms  cancelled {bool(number(sched['cancelled']))}")
        pipeline = sched["active"]
        while number(pipeline) != 0:
            print(f"  pipeline {pipeline}  {name_of(pipeline)}  units left {number(pipeline['units_left'])}  "
                  f"units a ms {number(pipeline['units_per_ms'])}"
                  f"{'  stopped' if number(pipeline['stopped']) else ''}"
                  f"{'  congested' if number(pipeline['congested']) else ''}")
            pipeline = pipeline["next_active"]


class MorselWorkers(gdb.Command):
    """Every worker: where it is, what it does, what it did."""

    def __init__(self):
        super().__init__("morsel workers", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        print("worker node  cpu slot deque  state    morsels local  remote  steals    parks")
        for worker in workers(engine()["sched"].dereference()):
            figures = worker["figures"]
            if number(worker["run_since_ns"]) != 0:
                state = "runs"
            elif number(figures["parked_ns"]) & ASLEEP:
                state = "sleeps"
            else:
                state = "searches"
            steals = sum(number(figures[f"steals_{level}"]) for level in ("smt", "l3", "node", "remote"))
            deque = max(number(worker["deque"]["bottom"]) - number(worker["deque"]["top"]), 0)
            print(f"{number(worker['index']):6} {number(worker['node']):4} {number(worker['thread']['os_cpu']):4} "
                  f"{number(worker['slot']):4} {deque:5}  {state:8} {number(figures['morsels_local']):13} "
                  f"{number(figures['morsels_remote']):7} {steals:7} {number(figures['parks']):8}")


class MorselDeques(gdb.Command):
    """Ranges that wait: in the workers' deques, and how many in the queues of each job slot."""

    def __init__(self):
        super().__init__("morsel deques", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        sched = engine()["sched"].dereference()
        for worker in workers(sched):
            print(f"worker {number(worker['index'])}  slot {number(worker['slot'])}")
            for begin, end, pipeline, cursor, node in ranges(worker["deque"]):
                print(f"  [{begin}, {end})  {end - begin} units  node {node}  pipeline {pipeline}  "
                      f"{name_of(pipeline)}{'  suspended' if cursor else ''}")
        for index, slot in slots(sched):
            word = number(slot["word"])
            print(f"slot {index}  seats {(word >> 32) & 0xffff}  queued ranges {word & 0xffffffff}  "
                  f"priority {number(slot['priority'])}  had {number(slot['consumed_ns']) / 1e6:.3f} ms")


Morsel()
MorselJobs()
MorselWorkers()
MorselDeques()
