#ifndef EXEC_OP_JOB_CONTEXT_H
#define EXEC_OP_JOB_CONTEXT_H

#include "exec/error.h"
#include "numa/arena.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct io;
struct catalogue;

/* What operators may know of the job and the engine around them. Made before planning, constant
 * afterwards except for the failure and the counters. */
struct job_worker {
    _Alignas(128) struct nu_arena arena; /* job lifetime, on the worker's node, this worker only */
    struct nu_arena scratch;             /* stack use, this worker only */
    /* Summed into the engine's counters when the job ends. */
    uint64_t rows_scanned, rows_built, rows_probed, rows_aggregated, rows_output;
};

struct job_context {
    struct nu_page_pool *pages;
    struct nu_budget budget; /* the job's; parent: the engine's jobs budget */
    struct nu_arena plan;    /* plan-time objects; written by the planning worker only */
    struct io *io;
    struct catalogue *catalogue;
    const char *data_root; /* NULL: any path */
    uint32_t worker_count, node_count;
    const uint16_t *worker_node;
    struct job_worker *workers;
    uint32_t hash_bits_kept; /* 64; tests cut the hash down to force collisions */
    _Atomic bool failed;     /* also set by cancel */
    void *job;               /* exec/job.c's */
};

/* The first failure wins and stops every pipeline; later ones are dropped. Returns err->code. Any
 * thread, but from workers only inside run() or finish(). */
enum exec_code job_fail(struct job_context *job, const struct exec_error *err);

/* Failure of an allocation from one of the job's arenas: names the budget that refused. */
enum exec_code job_fail_memory(struct job_context *job, const struct nu_arena *arena,
                               const char *what);

static inline bool job_is_stopping(const struct job_context *job)
{
    return atomic_load_explicit(&job->failed, memory_order_relaxed);
}

#endif
