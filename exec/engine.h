#ifndef EXEC_ENGINE_H
#define EXEC_ENGINE_H

#include "exec/exec.h"
#include "io/io.h"
#include "numa/budget.h"
#include "numa/page_pool.h"
#include "numa/topology.h"
#include "op/job_context.h"
#include "sched/sched.h"
#include "table/table.h"

#include <pthread.h>
#include <stdatomic.h>

/* The engine as the files at the root of exec/ see it (engine.c, job.c, deadline.c, tables.c,
 * upload.c). Everything but the guarded and atomic members is constant after exec_engine_create. */
struct exec_engine {
    struct exec_engine_config config; /* defaults filled in; data_root is a copy */
    struct nu_topology topology;
    struct nu_page_pool *pages;
    struct nu_budget process_budget; /* parent of the two below */
    struct nu_budget jobs_budget;
    struct nu_budget tables_budget;
    struct io *io;
    struct sched *sched;
    struct catalogue *catalogue;
    uint32_t worker_count;
    uint16_t *worker_node; /* node of each worker */
    uint16_t node_socket[NU_NODES_MAX];

    pthread_mutex_t lock;       /* guards the block below; held for list operations only */
    pthread_cond_t idle;        /* jobs_running and uploads_running both reached 0 */
    struct exec_job *jobs;      /* accepted and not ended */
    struct exec_job *free_jobs; /* heads kept for the next jobs: none is allocated after warm-up */
    uint32_t free_job_count;
    uint32_t jobs_running;
    uint32_t uploads_running;
    bool stopping;

    struct deadlines *deadlines; /* deadline.c */
    _Atomic uint64_t jobs_started, jobs_done;
    struct job_totals totals;
};

extern struct exec_engine *exec_engine_of_process;

/* printf to the configured log; cut at 500 bytes. Any thread. */
void engine_log(const struct exec_engine *engine, enum exec_log_level level, const char *fmt, ...)
    EXEC_PRINTF(3, 4);

/* An upload counts from begin to its `done`; exec_engine_destroy waits for it. began() returns
 * false when the engine is stopping. Any thread; ended() must be the last touch of the engine. */
bool engine_upload_began(struct exec_engine *engine);
void engine_upload_ended(struct exec_engine *engine);

/* Fails with EXEC_MEMORY_BUDGET: names what was wanted and the budget that refused with its limit
 * and use. `refused` NULL: the kernel refused. */
enum exec_code engine_fail_memory(struct exec_error *err, const struct nu_budget *refused,
                                  const char *what);

#endif
