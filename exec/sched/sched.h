#ifndef EXEC_SCHED_SCHED_H
#define EXEC_SCHED_SCHED_H

#include "exec/job_spec.h" /* enum exec_policy */
#include "numa/topology.h"
#include "sched/trace_ring.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The dispatcher's door inside exec/: jobs, pipelines and ranges in; morsels run on pinned workers.
 * Knows no operator: a pipeline is a table of callbacks. Design: docs/architecture.md section 4. */

struct sched; /* workers, deques, inject queues, slots: one an engine */

/* ---- what a pipeline is ------------------------------------------------------------------------
 */

struct sched_pipeline;

/* Units [begin, end) of a pipeline's input still to do; what deques hold and thieves take. Units
 * are whatever the source counts: rows of a table, bytes of a file, partitions. Five words, copied
 * by value. `cursor` is NULL or the source's suspended state, which belongs to the unit `begin`
 * alone: a range with a cursor is split only behind its first `unsplit` units. */
struct sched_range {
    uint64_t begin, end;
    struct sched_pipeline *pipeline;
    void *cursor;
    uint32_t unsplit; /* with a cursor: units from begin that go with it; else 0 */
    uint16_t node;    /* home of the data */
    uint8_t serial;   /* 1: never split (ordered or sequential sources) */
    uint8_t urgent;   /* the dispatcher's: in a queue, units far heavier than the others' */
};

enum sched_outcome {
    SCHED_RAN, /* progress, or nothing left: begin advanced over what is finished; the rest goes on
                */
    SCHED_BLOCKED, /* the rest cannot go on now: park() will be asked to keep it */
    SCHED_STOP, /* nobody needs the rest of this pipeline (limit reached) or the job has failed */
};

struct sched_pipeline_ops {
    const char *name;

    /* Run about `unit_target` units from the front of *range on this worker, advance range->begin,
     * set or clear range->cursor. Asks sched_morsel_is_over after every batch and then returns with
     * what is done. Never blocks. */
    enum sched_outcome (*run)(struct sched_pipeline *pipeline, uint32_t worker,
                              struct sched_range *range, uint64_t unit_target);

    /* After SCHED_BLOCKED: keep *range (copied) until it can go on, then give it to sched_requeue
     * (from any thread, also before park has returned). Returns false when it can go on already:
     * the dispatcher requeues it itself. Decided under the pipeline's own lock, so no wake-up is
     * lost. */
    bool (*park)(struct sched_pipeline *pipeline, uint32_t worker, const struct sched_range *range);

    /* The job was cancelled or the pipeline stopped: requeue everything parked here, now. Ranges
     * that wait for I/O may come later, when their completion does. Any thread. */
    void (*unpark_all)(struct sched_pipeline *pipeline);

    /* A range is thrown away without being run (stopped or cancelled): free its cursor. */
    void (*drop)(struct sched_pipeline *pipeline, const struct sched_range *range);

    /* Exactly once, on the worker that finished the last unit, whether run, stopped or dropped.
     * May start other pipelines of the job. Afterwards the dispatcher does not touch `pipeline`. */
    void (*finish)(struct sched_pipeline *pipeline, uint32_t worker);
};

struct sched_job;

/* Embedded at the start of the owner's pipeline; the owner fills the first block and zeroes the
 * rest. */
struct sched_pipeline {
    const struct sched_pipeline_ops *ops;
    struct sched_job *job;
    uint32_t unit_hint;  /* units of a first morsel; 0: 16384. Later ones adapt to about 1 ms */
    uint32_t unit_align; /* morsel ends and splits fall on multiples of this; 0: 1 */
    uint32_t unit_fixed; /* > 0: no adaptation, this many units a morsel (settings: morsel_rows) */

    _Alignas(128) _Atomic uint64_t units_left; /* sched's: pending units plus 1 for each guard */
    struct sched_pipeline *next_active;
    /* Read for every morsel, seldom written. */
    _Alignas(128) _Atomic bool stopped;
    _Atomic bool congested; /* its last morsel was blocked: ranges are not split further */
    _Atomic uint32_t units_per_ms;
};

/* What one worker did for one job. That worker's alone until the job is over. */
struct sched_share {
    _Alignas(128) uint64_t steals[NU_LEVEL_COUNT];
    struct trace_ring trace;
};

/* Embedded in the owner's job. */
struct sched_job {
    void *owner;
    int32_t priority;     /* -10..10 */
    uint32_t workers_max; /* 0: all */
    enum exec_policy policy;
    struct sched_share *shares; /* one a worker, zeroed; NULL (from init): nobody asks */

    /* sched's */
    struct sched *sched;
    _Atomic bool cancelled;
    _Atomic uint64_t morsels, morsels_remote, steals, busy_ns;
    _Atomic uint64_t ticket;        /* of the slot it holds or held last; 0: none yet */
    _Atomic uint32_t active_lock;   /* over `active` and the next_active of its pipelines */
    struct sched_pipeline *active;  /* started and not finished */
    struct sched_job *next_waiting; /* for a slot; under the slots' lock, as is all below */
    uint32_t pending_head, pending_tail, pending_count; /* ranges of a waiting job */
};

/* ---- life
 * ---------------------------------------------------------------------------------------- */

struct sched_config {
    const struct nu_topology *topology; /* borrowed, outlives sched */
    uint32_t workers;        /* > 0; worker w runs on CPU w % cpu_count, nodes filled evenly */
    enum exec_policy policy; /* never DEFAULT */
    uint64_t seed;           /* of victim choice; 0: from the clock */
};

/* Starts and pins the workers. Returns 0 or a negative errno. */
int sched_create(const struct sched_config *config, struct sched **sched_out);
/* Every job must have ended. Joins the workers. */
void sched_destroy(struct sched *sched);

uint32_t sched_worker_count(const struct sched *sched);
uint32_t sched_worker_node(const struct sched *sched, uint32_t worker);
int sched_worker_os_cpu(const struct sched *sched, uint32_t worker);
/* UINT32_MAX on any other thread. */
uint32_t sched_current_worker(const struct sched *sched);

/* ---- jobs and pipelines
 * -------------------------------------------------------------------------- */

/* Any number of jobs; one that has runnable ranges takes one of 128 slots (first come, first served
 * when all are taken), one whose ranges are all parked gives its slot back. */
void sched_job_init(struct sched *sched, struct sched_job *job);

/* Start a pipeline: `ranges` (copied; pipeline, node, serial, begin < end filled in) go to the
 * inject queues of their nodes. range_count may be 0: finish() then runs on a worker all the same.
 * Any thread. The job must not have finished all its pipelines unless the caller keeps one open. */
void sched_pipeline_start(struct sched_pipeline *pipeline, const struct sched_range *ranges,
                          uint32_t range_count);

/* For pipelines fed from outside: like start, but stays open: more ranges may be added until close.
 */
void sched_pipeline_open(struct sched_pipeline *pipeline);
void sched_pipeline_add(struct sched_pipeline *pipeline, const struct sched_range *range);
void sched_pipeline_close(struct sched_pipeline *pipeline);

/* Give back a range that park() kept. Any thread. */
void sched_requeue(const struct sched_range *range);

/* Drop what is left of a pipeline; its finish() follows. Idempotent, any thread. */
void sched_pipeline_stop(struct sched_pipeline *pipeline);

/* Drop what is left of every active pipeline of the job. Idempotent, any thread; run() may poll
 * sched_stopping inside long loops (every 4,096 expanded rows, every 16 k merged). */
void sched_job_cancel(struct sched_job *job);

static inline bool sched_stopping(const struct sched_pipeline *pipeline)
{
    return atomic_load_explicit(&pipeline->stopped, memory_order_relaxed) ||
           atomic_load_explicit(&pipeline->job->cancelled, memory_order_relaxed);
}

/* What a morsel is sized to take, and when it ends at the next batch whatever its size is. */
enum { SCHED_MORSEL_NS = 1000000, SCHED_MORSEL_NS_MAX = 1500000 };

/* For run() of `pipeline` on `worker`, between two batches: true when the morsel is to end here and
 * the rest to go on later. Its time is up, or its pipeline stops, or a job that is by far behind
 * its share waits on this node, where every worker is busy. False at first, so that every morsel
 * comes on. The price is a reading of the clock, and every 20 us a look at the jobs there are. */
bool sched_morsel_is_over(const struct sched_pipeline *pipeline, uint32_t worker);

/* ---- figures
 * --------------------------------------------------------------------------------------- */

struct exec_worker_counters;
void sched_worker_counters(const struct sched *sched, uint32_t worker,
                           struct exec_worker_counters *out);
/* Between begin and end (they nest) searches and sleeps of every worker are kept. */
void sched_trace_begin(struct sched *sched);
void sched_trace_end(struct sched *sched);
/* Those of one worker within [from, to], the newest `room` of them, latest first; the sleep under
 * way is one too. Returns how many. Any thread. */
uint32_t sched_idle_events(const struct sched *sched, uint32_t worker, uint64_t from_ns,
                           uint64_t to_ns, struct exec_trace_event *events_out, uint32_t room);

/* False when some worker has been inside one run() for longer than stuck_ns. */
bool sched_alive(const struct sched *sched, uint64_t stuck_ns);

#endif
