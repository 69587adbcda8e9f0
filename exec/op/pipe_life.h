#ifndef EXEC_OP_PIPE_LIFE_H
#define EXEC_OP_PIPE_LIFE_H

#include "op/job_context.h"
#include "op/pipe.h"

#include <pthread.h>

/* The life of a pipe, for those who make and start pipes (plan, job): create, wire, launch; it ends
 * by itself. Operators, sinks and sources need op/pipe.h only. Wiring happens on one thread before
 * any pipe of the job is launched. */

uint64_t pipe_clock_ns(void); /* CLOCK_MONOTONIC, as the dispatcher tells it */

typedef void pipe_ended_fn(struct pipe *pipe, uint32_t worker);

struct pipe_follower {
    struct pipe *pipe;
    struct pipe_follower *next;
};

/* A suspended unit of work: what sched_range.cursor points to. Recycled through the pipe's free
 * list; whoever keeps a parked range may use `range` and `next` meanwhile. */
struct pipe_suspended {
    struct pipe_suspended *next;
    struct sched_range range;
    void *state;        /* the source's */
    uint64_t parked_ns; /* when it began to wait; 0: it does not */
    bool batch_pending, waits_for_source;
    struct op_cursor cursors[];
};

struct pipe {
    struct sched_pipeline sched; /* first: the dispatcher's view of it */
    struct job_context *job;
    struct op_source *source;
    struct op_sink *sink; /* NULL: the source does all the work itself */
    struct operator* ops[PIPE_OPS_MAX];
    uint32_t op_count;
    uint32_t number; /* 1-based, for explain */
    pipe_ended_fn *ended;
    struct pipe_follower *followers; /* pipes that wait for this one */
    _Atomic uint32_t waits_for;      /* pipes that must end first, plus 1 until launched */
    _Atomic bool is_done;
    _Atomic uint64_t busy_ns, morsels; /* figures */

    struct sched_range *ranges; /* between source start and sched_pipeline_start */
    uint32_t range_count, range_capacity;
    bool ranges_refused;

    pthread_mutex_t free_lock;
    struct pipe_suspended *free_list;
};

/* In the plan arena. unit_fixed: rows of a morsel, 0: adaptive. `ended` runs once, on a worker,
 * after the pipe's source is closed, its sink told and its followers launched. NULL: out of memory.
 */
struct pipe *pipe_create(struct job_context *job, struct op_source *source, uint32_t unit_fixed,
                         pipe_ended_fn *ended);
bool pipe_append(struct pipe *pipe, struct operator* op); /* false: PIPE_OPS_MAX reached */
void pipe_set_sink(struct pipe *pipe, struct op_sink *sink);
bool pipe_run_after(struct pipe *pipe, struct pipe *earlier); /* false: out of memory */

/* Once for every pipe, on a worker: it starts now or when the last pipe it waits for has ended;
 * when the job has failed by then it ends without having started. */
void pipe_launch(struct pipe *pipe, uint32_t worker);

#endif
