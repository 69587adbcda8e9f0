#include "op/pipe.h"

#include "numa/thread_clock.h"
#include "op/pipe_count.h"
#include "op/pipe_life.h"
#include "sched/probes.h"

#include <assert.h>
#include <string.h>

uint64_t pipe_clock_ns(void)
{
    return nu_thread_clock_ns();
}

/* ---- pushing
 * ------------------------------------------------------------------------------------- */

enum push_result pipe_push(struct pipe_run *run, uint32_t index, const struct batch *batch)
{
    struct pipe *pipe = run->pipe;
    enum push_result result;

    if (batch->sel_count == 0) {
        return PUSH_MORE;
    }
    if (job_is_stopping(run->job)) {
        return PUSH_FAILED;
    }
    const uint32_t from = run->times != NULL ? pipe_times_move(run->times, index + 1) : 0;
    if (index < pipe->op_count) {
        result = pipe->ops[index]->kind->push(pipe->ops[index], run, index, batch);
    } else {
        assert(pipe->sink != NULL);
        result = pipe->sink->kind->push(pipe->sink, run, index, batch);
    }
    if (run->times != NULL) {
        (void)pipe_times_move(run->times, from);
    }
    if (result != PUSH_SUSPEND) {
        /* Taken whole: counted once however often it was pushed, and the next batch starts afresh.
         */
        run->rows[index] += batch->sel_count;
        run->cursors[index] = (struct op_cursor){0};
    }
    return result;
}

enum push_result pipe_push_source(struct pipe_run *run, const struct batch *batch)
{
    if (!run->batch_pending) {
        memset(run->cursors, 0, (run->pipe->op_count + 1) * sizeof run->cursors[0]);
    }
    const enum push_result result = pipe_push(run, 0, batch);
    run->batch_pending = result == PUSH_SUSPEND;
    return result;
}

bool pipe_time_is_up(struct pipe_run *run)
{
    return job_is_stopping(run->job) || sched_morsel_is_over(&run->pipe->sched, run->worker);
}

/* ---- suspended units
 * --------------------------------------------------------------------------------- */

static struct pipe_suspended *suspended_take(struct pipe *pipe, uint32_t worker)
{
    struct pipe_suspended *suspended;

    pthread_mutex_lock(&pipe->free_lock);
    suspended = pipe->free_list;
    if (suspended != NULL) {
        pipe->free_list = suspended->next;
    }
    pthread_mutex_unlock(&pipe->free_lock);
    if (suspended == NULL) {
        suspended =
            nu_arena_alloc(&pipe->job->workers[worker].arena,
                           sizeof *suspended + (pipe->op_count + 1) * sizeof suspended->cursors[0],
                           _Alignof(struct pipe_suspended));
    }
    return suspended;
}

static void suspended_give(struct pipe *pipe, struct pipe_suspended *suspended)
{
    pthread_mutex_lock(&pipe->free_lock);
    suspended->next = pipe->free_list;
    pipe->free_list = suspended;
    pthread_mutex_unlock(&pipe->free_lock);
}

static void state_drop(struct pipe *pipe, void *state)
{
    if (state != NULL) {
        assert(pipe->source->kind->drop != NULL);
        pipe->source->kind->drop(pipe->source, state);
    }
}

/* Moves the suspended state of *range into *run, so that the range is a plain one again. */
static void run_resume(struct pipe_run *run, struct sched_range *range, uint64_t now_ns)
{
    struct pipe_suspended *suspended = range->cursor;

    if (suspended == NULL) {
        return;
    }
    memcpy(run->cursors, suspended->cursors, (run->pipe->op_count + 1) * sizeof run->cursors[0]);
    run->state = suspended->state;
    run->batch_pending = suspended->batch_pending;
    if (suspended->parked_ns != 0) {
        pipe_count_wait(run, suspended, now_ns);
    }
    suspended_give(run->pipe, suspended);
    range->cursor = NULL;
}

/* The reverse. False: out of memory; the job has failed. */
static bool run_suspend(struct pipe_run *run, struct sched_range *range)
{
    struct pipe *pipe = run->pipe;
    struct pipe_suspended *suspended = suspended_take(pipe, run->worker);

    if (suspended == NULL) {
        job_fail_memory(run->job, &run->job->workers[run->worker].arena, "suspending a morsel");
        return false;
    }
    memcpy(suspended->cursors, run->cursors, (pipe->op_count + 1) * sizeof run->cursors[0]);
    suspended->state = run->state;
    suspended->batch_pending = run->batch_pending;
    suspended->waits_for_source = run->waits_for_source;
    suspended->parked_ns = 0;
    range->cursor = suspended;
    if (run->batch_pending && range->unsplit == 0) {
        /* The batch that will be pushed again covers at most one alignment unit of the source. */
        const uint64_t left = range->end - range->begin;
        const uint32_t align = pipe->sched.unit_align == 0 ? 1 : pipe->sched.unit_align;
        range->unsplit = left < align ? (uint32_t)left : align;
    }
    return true;
}

/* ---- the dispatcher's callbacks
 * ------------------------------------------------------------------------ */

static enum sched_outcome run_outcome(struct pipe_run *run, struct sched_range *range,
                                      enum push_result result)
{
    const bool suspends = run->batch_pending || run->state != NULL || result == PUSH_SUSPEND;

    assert(result != PUSH_SUSPEND || range->begin < range->end);
    if (result == PUSH_STOP || result == PUSH_FAILED ||
        (suspends && range->begin < range->end && !run_suspend(run, range))) {
        state_drop(run->pipe, run->state);
        return SCHED_STOP;
    }
    if (range->cursor == NULL) {
        range->unsplit = 0;
        state_drop(run->pipe, run->state); /* nothing is left for it to describe */
        return SCHED_RAN;
    }
    return result == PUSH_SUSPEND && !run->out_of_time ? SCHED_BLOCKED : SCHED_RAN;
}

static enum sched_outcome pipe_run_morsel(struct sched_pipeline *sched, uint32_t worker,
                                          struct sched_range *range, uint64_t unit_target)
{
    struct pipe *pipe = (struct pipe *)sched;
    struct op_cursor cursors[PIPE_OPS_MAX + 1];
    struct job_worker *own = &pipe->job->workers[worker];
    const uint64_t started_ns = pipe_clock_ns(), begin_units = range->begin;
    struct pipe_times times;
    struct pipe_run run = {
        .pipe = pipe,
        .job = pipe->job,
        .worker = worker,
        .node = pipe->job->worker_node[worker],
        .scratch = &own->scratch,
        .cursors = cursors,
        .times = pipe->job->is_profiled ? &times : NULL,
    };
    const struct nu_arena_mark mark = nu_arena_mark(&own->scratch);

    memset(cursors, 0, (pipe->op_count + 1) * sizeof cursors[0]);
    if (run.times != NULL) {
        times = (struct pipe_times){.stamp_ns = started_ns};
    }
    run_resume(&run, range, started_ns);
    const enum push_result result =
        pipe->source->kind->scan(pipe->source, &run, range, unit_target);
    const enum sched_outcome outcome = run_outcome(&run, range, result);
    const uint64_t ended_ns = pipe_clock_ns();
    pipe_count_morsel(&run, range, begin_units, started_ns, ended_ns);
    if (outcome == SCHED_BLOCKED) {
        ((struct pipe_suspended *)range->cursor)->parked_ns = ended_ns;
    }
    if (pipe->sink != NULL && pipe->sink->kind->morsel_end != NULL) {
        pipe->sink->kind->morsel_end(pipe->sink, &run);
    }
    job_count(pipe->job, worker);
    nu_arena_rewind(&own->scratch, mark);
    if (outcome == SCHED_BLOCKED && !run.waits_for_source) {
        nu_arena_destroy(&own->scratch); /* a job that waits holds no scratch pages */
    }
    return outcome;
}

static bool pipe_park(struct sched_pipeline *sched, uint32_t worker,
                      const struct sched_range *range)
{
    struct pipe *pipe = (struct pipe *)sched;
    const struct pipe_suspended *suspended = range->cursor;

    if (suspended->waits_for_source) {
        return pipe->source->kind->park(pipe->source, worker, suspended->state, range);
    }
    assert(pipe->sink->kind->park != NULL);
    return pipe->sink->kind->park(pipe->sink, worker, range);
}

static void pipe_unpark_all(struct sched_pipeline *sched)
{
    struct pipe *pipe = (struct pipe *)sched;

    if (pipe->source->kind->unpark_all != NULL) {
        pipe->source->kind->unpark_all(pipe->source);
    }
    if (pipe->sink != NULL && pipe->sink->kind->unpark_all != NULL) {
        pipe->sink->kind->unpark_all(pipe->sink);
    }
}

static void pipe_drop(struct sched_pipeline *sched, const struct sched_range *range)
{
    struct pipe *pipe = (struct pipe *)sched;
    struct pipe_suspended *suspended = range->cursor;

    if (suspended != NULL) {
        state_drop(pipe, suspended->state);
        suspended_give(pipe, suspended);
    }
}

static void sink_end(struct op_sink *sink, struct job_context *job, uint32_t worker)
{
    struct exec_error err;

    /* acq_rel: the last pipe sees what the others' morsels wrote into the sink. */
    if (atomic_fetch_sub_explicit(&sink->pipes_left, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (job_is_stopping(job) || job->only_explains) {
        if (sink->kind->abort != NULL) {
            sink->kind->abort(sink, job);
        }
        return;
    }
    if (sink->kind->finish != NULL && sink->kind->finish(sink, job, worker, &err) != EXEC_OK) {
        if (err.rel == 0) {
            err.rel = sink->rel;
        }
        job_fail(job, &err);
    }
}

static void pipe_end(struct pipe *pipe, uint32_t worker)
{
    const uint64_t started_ns = pipe_clock_ns();

    if (pipe->source->kind->close != NULL) {
        pipe->source->kind->close(pipe->source, pipe->job);
    }
    if (pipe->sink != NULL) {
        sink_end(pipe->sink, pipe->job, worker);
    }
    pipe_count_finish(pipe, worker, started_ns);
    PROBE4(pipeline__end, pipe->job->job, pipe, pipe->number, pipe->source->kind->name);
    /* relaxed: a figure. */
    atomic_store_explicit(&pipe->is_done, true, memory_order_relaxed);
    for (struct pipe_follower *follower = pipe->followers; follower != NULL;
         follower = follower->next) {
        pipe_launch(follower->pipe, worker);
    }
    pipe->ended(pipe, worker);
}

static void pipe_finish(struct sched_pipeline *sched, uint32_t worker)
{
    pipe_end((struct pipe *)sched, worker);
}

static const struct sched_pipeline_ops pipe_ops = {
    .name = "pipe",
    .run = pipe_run_morsel,
    .park = pipe_park,
    .unpark_all = pipe_unpark_all,
    .drop = pipe_drop,
    .finish = pipe_finish,
};

/* ---- life
 * ------------------------------------------------------------------------------------------------
 */

struct pipe *pipe_create(struct job_context *job, struct op_source *source, uint32_t unit_fixed,
                         pipe_ended_fn *ended)
{
    struct pipe *pipe = nu_arena_calloc(&job->plan, sizeof *pipe, _Alignof(struct pipe));

    if (pipe == NULL) {
        return NULL;
    }
    pipe->sched.ops = &pipe_ops;
    pipe->sched.job = job->sched_job;
    pipe->sched.unit_hint = source->kind->unit_hint;
    pipe->sched.unit_align = source->kind->unit_align;
    /* Only sources that count rows: for bytes or partitions a number of rows means nothing. */
    pipe->sched.unit_fixed = source->kind->unit_align == BATCH_ROWS ? unit_fixed : 0;
    pipe->job = job;
    pipe->source = source;
    pipe->ended = ended;
    atomic_init(&pipe->waits_for, 1);
    pthread_mutex_init(&pipe->free_lock, NULL);
    return pipe;
}

bool pipe_append(struct pipe *pipe, struct operator* op)
{
    if (pipe->op_count == PIPE_OPS_MAX) {
        return false;
    }
    pipe->ops[pipe->op_count++] = op;
    return true;
}

void pipe_set_sink(struct pipe *pipe, struct op_sink *sink)
{
    pipe->sink = sink;
    atomic_fetch_add_explicit(&sink->pipes_left, 1, memory_order_relaxed); /* one thread wires */
}

bool pipe_run_after(struct pipe *pipe, struct pipe *earlier)
{
    struct pipe_follower *follower =
        nu_arena_alloc(&pipe->job->plan, sizeof *follower, _Alignof(struct pipe_follower));

    if (follower == NULL) {
        return false;
    }
    *follower = (struct pipe_follower){.pipe = pipe, .next = earlier->followers};
    earlier->followers = follower;
    atomic_fetch_add_explicit(&pipe->waits_for, 1, memory_order_relaxed); /* one thread wires */
    return true;
}

bool pipe_is_serial(const struct pipe *pipe)
{
    return pipe->range_count == 1 && pipe->ranges[0].serial;
}

void pipe_add_range(struct pipe *pipe, uint64_t begin, uint64_t end, unsigned node, bool serial)
{
    if (begin >= end) {
        return;
    }
    if (pipe->range_count == pipe->range_capacity) {
        const uint32_t capacity = pipe->range_capacity == 0 ? 16 : pipe->range_capacity * 2;
        struct sched_range *ranges = nu_arena_alloc(&pipe->job->plan, capacity * sizeof *ranges,
                                                    _Alignof(struct sched_range));
        if (ranges == NULL) {
            pipe->ranges_refused = true;
            return;
        }
        if (pipe->range_count != 0) {
            memcpy(ranges, pipe->ranges, pipe->range_count * sizeof *ranges);
        }
        pipe->ranges = ranges;
        pipe->range_capacity = capacity;
    }
    pipe->ranges[pipe->range_count++] = (struct sched_range){
        .begin = begin,
        .end = end,
        .pipeline = &pipe->sched,
        .node = (uint16_t)node,
        .serial = serial,
    };
}

static void pipe_start(struct pipe *pipe, uint32_t worker)
{
    struct exec_error err;

    if (job_is_stopping(pipe->job) || pipe->job->only_explains) {
        pipe_end(pipe, worker);
        return;
    }
    PROBE4(pipeline__start, pipe->job->job, pipe, pipe->number, pipe->source->kind->name);
    pthread_mutex_lock(&pipe->job->start_lock);
    const enum exec_code started = pipe->source->kind->start(pipe->source, pipe, &err);
    pthread_mutex_unlock(&pipe->job->start_lock);
    if (started != EXEC_OK) {
        if (err.rel == 0) {
            err.rel = pipe->source->rel;
        }
        job_fail(pipe->job, &err);
    } else if (pipe->ranges_refused) {
        job_fail_memory(pipe->job, &pipe->job->plan, "the ranges of a pipeline");
    } else {
        sched_pipeline_start(&pipe->sched, pipe->ranges, pipe->range_count);
        return;
    }
    pipe_end(pipe, worker);
}

void pipe_launch(struct pipe *pipe, uint32_t worker)
{
    /* acq_rel: the pipe starts after everything the pipes it waited for have written. */
    if (atomic_fetch_sub_explicit(&pipe->waits_for, 1, memory_order_acq_rel) == 1) {
        pipe_start(pipe, worker);
    }
}
