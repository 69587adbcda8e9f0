#ifndef EXEC_OP_PIPE_H
#define EXEC_OP_PIPE_H

#include "exec/error.h"
#include "numa/arena.h"
#include "sched/sched.h"
#include "vec/batch.h"

/* A pipe is one pipeline as the operators see it: a source, operators in a row, a sink. The source
 * cuts batches and pushes them in; each operator pushes on to the next; nothing is materialised in
 * between.
 *
 * Suspension (no output credit, a spent time slice) keeps no stack: every operator that turns one
 * batch into several keeps where it stands in its cursor, the push unwinds, and later the source
 * pushes the same batch again and the operators go on from their cursors. So a source must be able
 * to make the same batch again, and operators must be deterministic for one input batch. */

struct job_context; /* op/job_context.h */
struct pipe;
struct pipe_run;
struct pipe_times;

enum push_result {
    PUSH_MORE,    /* taken whole */
    PUSH_SUSPEND, /* not taken whole: unwind, keep cursors, push the same batch again later */
    PUSH_STOP,    /* taken, and nothing further is needed (limit) */
    PUSH_FAILED,  /* job_fail() has been called */
};

/* Where an expanding operator stands in its current input batch: the state before the output batch
 * that was not taken. All zero at the start of every batch. The meaning is the operator's. */
struct op_cursor {
    uint32_t position; /* e.g. index into the selection */
    uint32_t detail;
    uint64_t offset; /* e.g. matches already emitted for it */
};

enum { PIPE_OPS_MAX = 64 };

/* ---- operators
 * ----------------------------------------------------------------------------------- */

/* op/<name>.c defines one operator_kind and a create function. Instances live in the job's plan
 * arena and are shared by all workers; per-worker state sits in arrays of worker_count, made at
 * create. */
struct operator;
struct operator_kind {
    const char *name; /* "filter", "join probe" */
    /* `index` is this operator's place: it pushes on with pipe_push(run, index + 1, batch) and owns
     * run->cursors[index]. Scratch it allocates before pushing is marked and rewound by itself. */
    enum push_result (*push)(struct operator* op, struct pipe_run *run, uint32_t index,
                             const struct batch *in);
};
struct operator
{
    const struct operator_kind *kind;
    uint32_t rel; /* 1-based relation, for explain and errors */
    _Atomic uint64_t rows_out;
    _Atomic uint64_t busy_ns; /* of all workers, its own work only; of profiled jobs */
};

/* ---- sinks: pipeline breakers
 * ---------------------------------------------------------------------- */

struct op_sink;
struct sink_kind {
    const char *name;
    enum push_result (*push)(struct op_sink *sink, struct pipe_run *run, uint32_t index,
                             const struct batch *in);
    /* Waiting for credit, after push returned PUSH_SUSPEND: contract of sched_pipeline_ops.park and
     * unpark_all. NULL for sinks that never run out. */
    bool (*park)(struct op_sink *sink, uint32_t worker, const struct sched_range *range);
    void (*unpark_all)(struct op_sink *sink);
    /* End of a morsel on this worker: hand on what should not wait. May be NULL. */
    void (*morsel_end)(struct op_sink *sink, struct pipe_run *run);
    /* Once, after the last unit of the last pipe that ends in this sink, on a worker; combines the
     * per-worker states (long work belongs into a pipe of its own). Not called when the job failed.
     * Returns EXEC_OK or fills err; abort is not called after it. NULL: nothing to do. */
    enum exec_code (*finish)(struct op_sink *sink, struct job_context *job, uint32_t worker,
                             struct exec_error *err);
    /* Instead of finish when the job failed: gives back what arenas do not own. May be NULL. */
    void (*abort)(struct op_sink *sink, struct job_context *job);
};
struct op_sink {
    const struct sink_kind *kind;
    uint32_t rel;
    _Atomic uint32_t
        pipes_left; /* pipes that still feed it; counted up by pipe_set_sink, down by pipe.c */
    _Atomic uint64_t rows_in;
    _Atomic uint64_t busy_ns; /* as an operator's, its finish included */
};

/* ---- sources
 * --------------------------------------------------------------------------------------- */

struct op_source;
struct source_kind {
    const char *name;
    /* Once, on a worker, when the pipes it depends on have finished: adds the initial ranges with
     * pipe_add_range and sets units_total. */
    enum exec_code (*start)(struct op_source *source, struct pipe *pipe, struct exec_error *err);
    /* Push about unit_target units from the front of *range; advance range->begin over batches
     * taken whole, nothing else. run->state (NULL at first) is the source's own state of a
     * suspended unit; it survives suspension with the range, and range->unsplit says how many units
     * it covers. Returns PUSH_MORE (slice done or range empty), or what a push returned.
     * PUSH_SUSPEND with run->waits_for_source set: the source itself waits (I/O). */
    enum push_result (*scan)(struct op_source *source, struct pipe_run *run,
                             struct sched_range *range, uint64_t unit_target);
    /* For sources that wait: park(state) as in sched_pipeline_ops. NULL otherwise. */
    bool (*park)(struct op_source *source, uint32_t worker, void *state,
                 const struct sched_range *range);
    void (*unpark_all)(struct op_source *source);
    /* A suspended unit is thrown away: free its state. May be NULL when state is never used. */
    void (*drop)(struct op_source *source, void *state);
    /* After the last unit, also when the job failed: close files, unref tables. May be NULL. */
    void (*close)(struct op_source *source, struct job_context *job);
    uint32_t unit_hint, unit_align; /* see struct sched_pipeline */
};
struct op_source {
    const struct source_kind *kind;
    uint32_t rel;
    uint64_t units_total; /* set by start; 0: unknown */
    _Atomic uint64_t rows_out;
    _Atomic uint64_t busy_ns; /* as an operator's */
};

/* ---- one morsel
 * -------------------------------------------------------------------------------------- */

struct pipe_run {
    struct pipe *pipe;
    struct job_context *job;
    uint32_t worker;
    uint32_t node;
    struct nu_arena *scratch; /* this worker's; mark and rewind */
    struct op_cursor
        *cursors; /* operators, then the sink; zeroed by the source before a new batch */
    void *state;  /* the source's, see source_kind.scan */
    bool waits_for_source;
    bool out_of_time;         /* a PUSH_SUSPEND was for time, not for credit: requeued at once */
    bool batch_pending;       /* pipe.c's: the source's last batch was not taken whole */
    struct pipe_times *times; /* pipe.c's: NULL unless the job is profiled */
    uint64_t rows[PIPE_OPS_MAX + 1]; /* pipe.c's: rows handed to each place in this morsel */
};

/* Hand a batch to operator `index`, or to the sink behind the last operator; batches without
 * selected rows are dropped here. Checks the job's stop flag. */
enum push_result pipe_push(struct pipe_run *run, uint32_t index, const struct batch *batch);

/* A source hands over its next batch: zeroes the cursors unless this batch is being pushed again.
 */
enum push_result pipe_push_source(struct pipe_run *run, const struct batch *batch);

/* For sources after every batch, for expanding operators every few thousand rows: true when the
 * morsel is over (sched_morsel_is_over) or the job stops. A source then returns PUSH_MORE; an
 * operator keeps its cursor, sets run->out_of_time and returns PUSH_SUSPEND. */
bool pipe_time_is_up(struct pipe_run *run);

/* All its rows come from one range that is never split, so one worker at a time makes them. Between
 * the source's start and the pipe's end. */
bool pipe_is_serial(const struct pipe *pipe);

void pipe_add_range(struct pipe *pipe, uint64_t begin, uint64_t end, unsigned node, bool serial);

#endif
