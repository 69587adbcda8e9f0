#ifndef EXEC_SCHED_WORKER_H
#define EXEC_SCHED_WORKER_H

#include "exec/exec.h"
#include "sched/atomics.h"
#include "sched/deque.h"
#include "sched/idle_log.h"
#include "sched/inject.h"
#include "sched/park.h"
#include "sched/rt.h"
#include "sched/slots.h"
#include "sched/steal.h"

/* What a worker has done for one pipeline and not yet told it: told at least whenever the worker
 * looks round, so that short morsels touch no line that others write. */
struct pipeline_account {
    struct sched_pipeline *pipeline; /* alive for its pending units; NULL: no morsels to tell of */
    uint64_t units, morsels, morsels_remote, busy_ns;
};

/* One pinned thread and all it owns. Others touch only the deque, `slot`, `morsel_units`, its park
 * seat and, for figures, the counters and `run_since_ns`. */
struct worker {
    struct sched *sched;
    uint32_t index, node, cpu;
    struct nu_thread thread;
    struct steal_list prices;
    struct deque deque; /* ranges of one slot only: that of `slot` */
    struct park_seat park;
    _Alignas(128) _Atomic int32_t slot; /* in which it has a seat; -1: none */
    _Atomic uint64_t morsel_units;    /* of its last morsel: a victim's ranges are measured by it */
    _Atomic uint64_t run_since_ns;    /* start of the run() under way; 0: none */
    _Atomic uint64_t parked_since_ns; /* start of the sleep under way; 0: none */
    struct idle_log idle_log;
    struct worker_figures {
#define WORKER_COUNTER(name, help) _Atomic uint64_t name;
#include "exec/worker_counters.def"
    } figures;

    /* Its own alone. */
    _Alignas(128) uint64_t now_ns; /* the clock when last read */
    uint64_t looked_ns;            /* when the queues were last looked at between morsels */
    uint64_t asked_ns;             /* and when inside the morsel under way; at first its start */
    uint64_t unaccounted_ns;       /* in morsels of the slot's job since then */
    uint64_t idle_since_ns;        /* 0: not idle */
    uint64_t
        paid_ns; /* price of its last work when that was another node's; until its own has some */
    uint64_t search_since_ns;
    uint32_t search_pauses;
    bool searching;
    bool rotated; /* the last range was another pipeline's turn */
    bool keeps;   /* it queued something and woke nobody: it looks round next */
    struct pipeline_account account;
    struct sched_pipeline *paced; /* whose morsels pace_units is measured of; it may have ended */
    uint64_t pace_units;
    uint64_t random;
    double pass[SLOTS_MAX]; /* stride scheduling: weighted time given to the slot's job */
    uint64_t pass_ticket[SLOTS_MAX];
    double pass_now; /* of the job chosen last: where new ones start */
};

/* figures.parked_ns while the worker sleeps: this bit, and the time at which it fell asleep less
 * what it had slept before. One word, so that whoever reads it sees sleep go on, never back. */
#define WORKER_ASLEEP (1ULL << 63)

/* Owner only. */
#define WORKER_COUNT(worker, name, amount)    \
    at_store_relaxed(&(worker)->figures.name, \
                     at_load_relaxed(&(worker)->figures.name) + (uint64_t)(amount))

struct sched {
    const struct nu_topology *topology;
    uint32_t worker_count, node_count;
    enum exec_policy policy;
    _Atomic bool stopping;
    _Atomic uint32_t traces; /* idle time is written down while above 0 */
    _Atomic bool blind; /* some job runs under the policy steal: price order does not bind it */
    struct inject inject;
    struct slots slots;
    struct park_node *nodes;
    struct worker *workers;
};

enum worker_did { WORKER_RAN, WORKER_SEARCHED, WORKER_SLEPT };
/* One decision: run a morsel, look round once, or sleep. */
enum worker_did worker_step(struct worker *worker);

/* The worker searched or slept from the end of its last interval until now. */
static inline void worker_was_idle(struct worker *worker, enum exec_trace_kind kind)
{
    if (__builtin_expect(at_load_relaxed(&worker->sched->traces) != 0, 0)) {
        idle_log_write(&worker->idle_log, kind, worker->idle_log.from_ns, worker->now_ns);
    }
    worker->idle_log.from_ns = worker->now_ns;
}

/* What the worker can afford: the time it has been without work, on top of what it paid last. Its
 * node was dry then and is still, so it does not wait for the same again. */
static inline uint64_t worker_idle_ns(const struct worker *worker)
{
    return worker->now_ns - worker->idle_since_ns + worker->paid_ns;
}

/* The worker was busy from its last reading of the clock until now. */
static inline void worker_busy_until_now(struct worker *worker)
{
    const uint64_t since_ns = worker->now_ns;
    worker->now_ns = rt_now_ns();
    worker->unaccounted_ns += worker->now_ns - since_ns;
    WORKER_COUNT(worker, busy_ns, worker->now_ns - since_ns);
}

/* The worker the calling thread is, or NULL. */
struct worker *worker_self(const struct sched *sched);

/* The thread: steps until the engine stops. */
void *worker_main(void *worker);

#endif
