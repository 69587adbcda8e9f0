#include "sched/idle_log.h"

#include "sched/atomics.h"
#include "sched/worker.h"

#include <errno.h>
#include <sys/mman.h>

#define IDLE_LOG_SLEPT (1ULL << 63)

typedef _Atomic uint64_t idle_entry[2];

static size_t idle_logs_bytes(uint32_t worker_count)
{
    return (size_t)worker_count * IDLE_LOG_EVENTS * sizeof(idle_entry);
}

int idle_logs_init(struct worker *workers, uint32_t worker_count)
{
    idle_entry *entries = mmap(NULL, idle_logs_bytes(worker_count), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (entries == MAP_FAILED) {
        return -errno;
    }
    for (uint32_t i = 0; i < worker_count; i++) {
        workers[i].idle_log.entries = entries + (size_t)i * IDLE_LOG_EVENTS;
    }
    return 0;
}

void idle_logs_fini(struct worker *workers, uint32_t worker_count)
{
    if (workers != NULL && worker_count > 0 && workers[0].idle_log.entries != NULL) {
        munmap((void *)workers[0].idle_log.entries, idle_logs_bytes(worker_count));
    }
}

void idle_log_write(struct idle_log *log, enum exec_trace_kind kind, uint64_t begin_ns,
                    uint64_t end_ns)
{
    const uint64_t count = at_load_relaxed(&log->count);
    _Atomic uint64_t *entry = log->entries[count % IDLE_LOG_EVENTS];

    if (begin_ns >= end_ns) {
        return;
    }
    at_store_relaxed(&entry[0], begin_ns);
    at_store_relaxed(&entry[1], end_ns | (kind == EXEC_TRACE_PARK ? IDLE_LOG_SLEPT : 0));
    /* release: pairs with the acquire in sched_idle_events. */
    atomic_store_explicit(&log->count, count + 1, memory_order_release);
}

/* ---- the door ------------------------------------------------------------------------------- */

void sched_trace_begin(struct sched *sched)
{
    at_add_relaxed(&sched->traces, 1);
}

void sched_trace_end(struct sched *sched)
{
    at_add_relaxed(&sched->traces, -1);
}

/* Cuts an interval to [from, to]; false: nothing is left. */
static bool idle_cut(struct exec_trace_event *event, uint64_t from_ns, uint64_t to_ns)
{
    event->begin_ns = event->begin_ns > from_ns ? event->begin_ns : from_ns;
    event->end_ns = event->end_ns < to_ns ? event->end_ns : to_ns;
    return event->begin_ns < event->end_ns;
}

/* The sleep under way. */
static uint32_t idle_open(const struct worker *worker, uint64_t from_ns, uint64_t to_ns,
                          struct exec_trace_event *event_out)
{
    const uint64_t since_ns = at_load_relaxed(&worker->parked_since_ns);

    *event_out =
        (struct exec_trace_event){.begin_ns = since_ns, .end_ns = to_ns, .kind = EXEC_TRACE_PARK};
    return since_ns != 0 && idle_cut(event_out, from_ns, to_ns) ? 1 : 0;
}

uint32_t sched_idle_events(const struct sched *sched, uint32_t worker, uint64_t from_ns,
                           uint64_t to_ns, struct exec_trace_event *events_out, uint32_t room)
{
    const struct worker *of = &sched->workers[worker];
    const struct idle_log *log = &of->idle_log;
    uint32_t taken = 0;

    if (room == 0) {
        return 0;
    }
    /* acquire: pairs with the release in idle_log_write. */
    const uint64_t count = atomic_load_explicit(&log->count, memory_order_acquire);
    const uint64_t first = count > IDLE_LOG_EVENTS ? count - IDLE_LOG_EVENTS : 0;
    for (uint64_t i = count; i > first && taken + 1 < room; i--) {
        const _Atomic uint64_t *entry = log->entries[(i - 1) % IDLE_LOG_EVENTS];
        /* acquire: the count below is not read before them. */
        const uint64_t begin_ns = atomic_load_explicit(&entry[0], memory_order_acquire);
        const uint64_t end = atomic_load_explicit(&entry[1], memory_order_acquire);
        if (at_load_relaxed(&log->count) - (i - 1) >= IDLE_LOG_EVENTS) {
            break; /* the worker may have come round to it */
        }
        struct exec_trace_event event = {
            .begin_ns = begin_ns,
            .end_ns = end & ~IDLE_LOG_SLEPT,
            .kind = (end & IDLE_LOG_SLEPT) != 0 ? EXEC_TRACE_PARK : EXEC_TRACE_SEARCH,
        };
        if (event.end_ns <= from_ns) {
            break; /* and so are all before it */
        }
        if (idle_cut(&event, from_ns, to_ns)) {
            events_out[taken++] = event;
        }
    }
    return taken + idle_open(of, from_ns, to_ns, &events_out[taken]);
}
