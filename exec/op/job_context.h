#ifndef EXEC_OP_JOB_CONTEXT_H
#define EXEC_OP_JOB_CONTEXT_H

#include "exec/error.h"
#include "exec/job_spec.h"
#include "numa/arena.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct io;
struct catalogue;
struct dictionary; /* table/dictionary.h */
struct job_dictionary;
struct sched_job;

/* What operators may know of the job and the engine around them. Made before planning, constant
 * afterwards except for the failure and the counters. */
struct job_worker {
    _Alignas(128) struct nu_arena arena; /* job lifetime, on the worker's node, this worker only */
    struct nu_arena scratch;             /* stack use, this worker only */
    /* Of the morsel under way; pipe.c moves them into the totals at its end. */
    uint64_t rows_scanned, rows_built, rows_probed, rows_aggregated, rows_output;
    /* For explain --analyze; pipe.c's. Rows are those the source handed over. */
    uint64_t morsels_local, morsels_remote, rows_local, rows_remote, busy_ns;
    uint64_t morsels_socket, rows_socket; /* of the remote ones, those of the worker's socket */
    uint64_t credit_waits, credit_wait_ns, io_waits, io_wait_ns; /* of ranges it went on with */
    /* What the worker searched and slept while the job was there; until its end, less that. */
    uint64_t search_ns, parked_ns;
};

/* Figures of all jobs together, the engine's. relaxed: only sums matter. */
struct job_totals {
    _Atomic uint64_t rows_scanned, rows_built, rows_probed, rows_aggregated, rows_output;
};

struct job_context {
    struct nu_page_pool *pages;
    struct nu_budget budget;      /* the job's; parent: the engine's jobs budget */
    struct nu_arena plan;         /* used by the planning worker, then inside sources' start() */
    struct nu_arena *node_arenas; /* job_node_arena's; NULL: nobody has asked yet */
    struct io *io;
    struct catalogue *catalogue;
    const char *data_root; /* NULL: any path */
    uint32_t worker_count, node_count;
    const uint16_t *worker_node;
    const uint16_t *node_socket; /* NULL: each node is one */
    struct job_worker *workers;
    const struct nu_topology *topology;  /* NULL: tests without an engine */
    enum exec_probe_mode probe_mode;     /* DEFAULT counts as AUTO */
    bool plain_float_sums;               /* sums of floats may depend on the order of rows */
    uint32_t hash_bits_kept;             /* 64; tests cut the hash down to force collisions */
    struct job_totals *totals;           /* NULL: tests without an engine */
    struct job_dictionary *dictionaries; /* job_hold_dictionary's */
    struct sched_job *sched_job; /* stopped by the first failure; NULL: tests without a scheduler */
    void *job;                   /* exec/job.c's */
    bool is_profiled;            /* operators are timed; set before pipes are launched */
    bool only_explains;          /* pipes end without running; set before they are launched */
    _Atomic bool failed;         /* also set by cancel */
    pthread_mutex_t start_lock;  /* held over every source's start, which may use the plan arena */
    pthread_mutex_t error_lock;  /* guards the two below until the job has ended */
    struct exec_error error;     /* the first failure */
    bool is_over;                /* failures come too late */
};

/* The workers' arenas on their nodes, the plan arena on node 0, all charged to job->budget, a child
 * of `parent`. `workers` (worker_count of them) and worker_node are the caller's and outlive the
 * job; what is not a parameter is zeroed and the caller's to set. */
void job_context_init(struct job_context *job, struct nu_page_pool *pages, struct nu_budget *parent,
                      uint64_t limit_bytes, uint32_t worker_count, const uint16_t *worker_node,
                      uint32_t node_count, struct job_worker *workers);
void job_context_fini(struct job_context *job); /* gives back every page */

/* Memory on a node that lives as long as the job. Used like the plan arena: inside sources' start()
 * only. NULL: out of memory. */
struct nu_arena *job_node_arena(struct job_context *job, unsigned node);

/* A reference of the job's own to a dictionary, given back when the job ends. While planning, under
 * the lock of a source's start, or on the one thread of a test. false: out of memory. */
bool job_hold_dictionary(struct job_context *job, struct dictionary *dictionary);

/* Moves the worker's figures into the totals. On that worker, or after the job's last morsel. */
void job_count(struct job_context *job, uint32_t worker);

/* The first failure wins and stops every pipeline; later ones are dropped. Returns err->code. Any
 * thread, but from workers only inside run() or finish(). */
enum exec_code job_fail(struct job_context *job, const struct exec_error *err);

/* Failure of an allocation from one of the job's arenas: names the budget that refused. */
enum exec_code job_fail_memory(struct job_context *job, const struct nu_arena *arena,
                               const char *what);

/* Fills err with EXEC_MEMORY_BUDGET: what was wanted, the budget that refused, its use and its
 * limit. `refused` NULL: the kernel refused. */
enum exec_code job_memory_error(struct exec_error *err, const struct nu_budget *refused,
                                const char *what);

static inline bool job_is_stopping(const struct job_context *job)
{
    return atomic_load_explicit(&job->failed, memory_order_relaxed);
}

#endif
