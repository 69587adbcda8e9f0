#ifndef EXEC_JOB_H
#define EXEC_JOB_H

#include "deadline.h"
#include "engine.h"
#include "op/job_context.h"
#include "op/result_sink.h"
#include "plan/plan.h"
#include "plan/profile.h"

/* One submitted job. Its first pipeline has one unit, planning, which may wait for files to open;
 * the plan's pipes follow. pipes_left counts them all; whoever ends the last one ends the job. */

enum { JOB_BATCH_BYTES = 256 << 10 };

struct exec_job {
    struct job_context context;
    struct sched_job sched;
    struct exec_engine *engine;
    atomic_uint_fast32_t references;
    struct exec_job_events events;
    void *owner;
    const struct exec_job_spec *spec; /* the job's copy */

    struct sched_pipeline first; /* planning; open until planning is over */
    pthread_mutex_t first_lock;  /* guards the four below */
    uint32_t files_pending;
    bool first_is_parked, first_closes; /* closes: as soon as nothing is pending */
    struct sched_range first_range;
    bool has_opened; /* the first unit has asked for its files; one worker at a time */

    struct plan *plan;              /* owned by planning */
    _Atomic(struct plan *) running; /* the same, once lowered: for status. NULL before */
    _Atomic(struct op_sink *) sink; /* likewise */
    bool streams;                   /* the sink is a result sink */
    _Atomic uint32_t pipes_left;
    const struct exec_schema *schema; /* written before has_schema */
    _Atomic bool has_schema;

    uint64_t submitted_ns;
    _Atomic uint64_t ended_ns; /* 0: runs */
    _Atomic int state;         /* enum exec_job_state */
    char *explain_text, *explain_json;
    struct plan_profile profile; /* of jobs that ask; empty before their end */
    bool is_traced;              /* idle time of workers is kept on its behalf */

    struct deadline deadline;
    size_t head_bytes;                /* of this struct, charged to the job */
    struct exec_job *previous, *next; /* engine->jobs or engine->free_jobs */
    bool is_told_to_stop;             /* by exec_engine_destroy; under engine->lock */
    struct job_worker workers[];      /* behind them a sched_share each */
};

/* job_task.c: the first pipeline. */
void job_task_start(struct exec_job *job);

/* One pipe fewer; the last one ends the job. The job may be gone afterwards. */
void job_pipe_ended(struct exec_job *job, uint32_t worker);

/* Frees the heads kept for later jobs. */
void job_heads_free(struct exec_engine *engine);

uint64_t job_clock_ns(void);

/* job_trace.c. Begin: rings for every worker, before any other work of the job. */
enum exec_code job_trace_begin(struct exec_job *job, struct exec_error *err);
void job_trace_end(struct exec_job *job);
/* A piece of work of the job's own on `worker`: planning. */
void job_trace_add(struct exec_job *job, uint32_t worker, uint64_t begin_ns);

#endif
