#include "sched/worker.h"

#include "sched/atomics.h"
#include "sched/dispatcher.h"
#include "sched/pipeline.h"
#include "sched/probes.h"
#include "sched/rt.h"

#include <assert.h>

static const uint64_t MORSEL_NS =
    1000000; /* what a morsel should take; the contract allows twice that */
static const uint64_t SPIN_NS = 20000; /* busy waiting in one search at most */
enum { UNIT_HINT = 16384, SPIN_PAUSES_MAX_STEP = 64 };

/* ---- whose thread --------------------------------------------------------------------------- */

#ifndef SCHED_RT_REPLACED
static _Thread_local void *thread_self;

void *rt_self(void)
{
    return thread_self;
}

void rt_set_self(void *self)
{
    thread_self = self;
}
#endif

struct worker *worker_self(const struct sched *sched)
{
    struct worker *self = rt_self();
    return self != NULL && self->sched == sched ? self : NULL;
}

/* ---- size of a morsel -------------------------------------------------------------------------
 */

static uint64_t morsel_units(struct sched_pipeline *pipeline)
{
    if (pipeline->unit_fixed > 0) {
        return pipeline->unit_fixed;
    }
    /* relaxed: a hint shared by the workers of the pipeline. */
    const uint32_t units = at_load_relaxed(&pipeline->units_per_ms);
    if (units > 0) {
        return units;
    }
    return pipeline->unit_hint > 0 ? pipeline->unit_hint : UNIT_HINT;
}

/* One morsel may say at most twice or half as much: one that was preempted must not shrink the next
 * ones to nothing. Down goes the whole way, up half of it, for an overlong morsel is the worse
 * error. */
static void morsel_adapt(struct sched_pipeline *pipeline, uint64_t target, uint64_t done,
                         uint64_t run_ns)
{
    if (pipeline->unit_fixed > 0 || (done < target / 4 && run_ns < MORSEL_NS)) {
        return;
    }
    const double said = (double)done * (double)MORSEL_NS / (double)(run_ns > 0 ? run_ns : 1);
    const double was = (double)target;
    const double bound = said > 2 * was ? 2 * was : said < was / 2 ? was / 2 : said;
    const double next = bound < was ? bound : (was + bound) / 2;
    at_store_relaxed(&pipeline->units_per_ms, next >= UINT32_MAX ? UINT32_MAX
                                              : next < 1         ? 1
                                                                 : (uint32_t)next);
}

/* Cuts the morsel off the front of *range and puts the rest where it can be taken meanwhile. */
static void morsel_cut(struct worker *worker, struct sched_range *range, uint64_t target,
                       enum dispatcher_source source)
{
    struct sched_pipeline *pipeline = range->pipeline;
    const uint64_t align = pipeline->unit_align > 0 ? pipeline->unit_align : 1;
    const uint64_t least = target > range->unsplit ? target : range->unsplit;
    const uint64_t crumb = pipeline->unit_fixed > 0 ? 0 : target / 2; /* not worth a morsel */
    struct sched_range rest = *range;

    /* A pipeline whose morsels block would be shredded by cutting: every piece would park alone. */
    if (range->serial != 0 || at_load_relaxed(&pipeline->congested) ||
        range->end - range->begin <= least + crumb) {
        return;
    }
    rest.begin = (range->begin + least + align - 1) / align * align;
    if (rest.begin >= range->end) {
        return;
    }
    rest.cursor = NULL;
    rest.unsplit = 0;
    range->end = rest.begin;
    /* A thief takes the oldest entry: give it half of all, and never leave it with nothing. */
    const uint64_t middle = (range->begin + (rest.end - range->begin) / 2) / align * align;
    if (source == DISPATCHER_KEEP && middle > rest.begin && deque_count(&worker->deque) == 0) {
        struct sched_range far = rest;
        far.begin = middle;
        rest.end = middle;
        dispatcher_share(worker, &far);
    }
    dispatcher_keep(worker, &rest, source);
}

/* ---- after the morsel -------------------------------------------------------------------------
 */

static void worker_drop(struct worker *worker, const struct sched_range *range)
{
    struct sched_pipeline *pipeline = range->pipeline;
    if (pipeline->ops->drop != NULL) {
        pipeline->ops->drop(pipeline, range);
    }
    pipeline_settle(worker, pipeline, range->end - range->begin);
}

/* Takes the near rest back if nobody has stolen it, so that ranges do not crumble. */
static void worker_rejoin(struct worker *worker, struct sched_range *range)
{
    struct sched_range next;
    if (range->serial != 0 || !deque_pop(&worker->deque, &next)) {
        return;
    }
    if (next.pipeline == range->pipeline && next.begin == range->end && next.cursor == NULL &&
        next.node == range->node && next.serial == 0) {
        range->end = next.end;
    } else {
        dispatcher_resume(worker, &next, DISPATCHER_KEEP);
    }
}

static void worker_park_range(struct worker *worker, struct sched_range *range)
{
    struct sched_pipeline *pipeline = range->pipeline;

    worker_rejoin(worker, range);
    WORKER_COUNT(worker, blocked, 1);
    at_store_relaxed(&pipeline->congested, true);
    /* Once kept, the range may be requeued, run and settled by others: the guard keeps the
     * pipeline. */
    at_add(&pipeline->units_left, 1);
    assert(pipeline->ops->park != NULL && pipeline->ops->unpark_all != NULL);
    if (!pipeline->ops->park(pipeline, worker->index, range)) {
        dispatcher_return(worker, range);
    } else if (at_load(&pipeline->stopped) || at_load(&pipeline->job->cancelled)) {
        /* Whoever stopped it may have called unpark_all before the range was there. */
        pipeline->ops->unpark_all(pipeline);
    }
    pipeline_settle(worker, pipeline, 1);
}

static void worker_count_morsel(struct worker *worker, const struct sched_range *range,
                                uint64_t done, uint64_t run_ns)
{
    struct sched_job *job = range->pipeline->job;
    if (range->node == worker->node) {
        WORKER_COUNT(worker, morsels_local, 1);
        WORKER_COUNT(worker, rows_local, done);
    } else {
        WORKER_COUNT(worker, morsels_remote, 1);
        WORKER_COUNT(worker, rows_remote, done);
        at_add_relaxed(&job->morsels_remote, 1);
    }
    at_add_relaxed(&job->morsels, 1);
    at_add_relaxed(&job->busy_ns, run_ns);
}

static void worker_count_busy(struct worker *worker, uint64_t since_ns)
{
    worker->unaccounted_ns += worker->now_ns - since_ns;
    WORKER_COUNT(worker, busy_ns, worker->now_ns - since_ns);
}

/* What run() left over. The units done are settled first: they are not the last while a rest is in
 * hand, and with no rest the pipeline may be gone afterwards. */
static void worker_settle(struct worker *worker, struct sched_range *range, uint64_t done,
                          enum sched_outcome outcome, enum dispatcher_source source)
{
    struct sched_pipeline *pipeline = range->pipeline;
    const bool has_rest = range->begin < range->end;

    if (outcome == SCHED_STOP) {
        sched_pipeline_stop(pipeline);
    }
    if (outcome == SCHED_RAN && done > 0 && at_load_relaxed(&pipeline->congested)) {
        at_store_relaxed(&pipeline->congested, false);
    }
    if (done > 0) {
        pipeline_settle(worker, pipeline, done);
    }
    if (!has_rest) {
        return;
    }
    if (outcome == SCHED_BLOCKED) {
        /* Also when it is stopping: what the range waits for may write into its cursor, so only
         * whoever keeps it knows when it can be thrown away. */
        worker_park_range(worker, range);
    } else if (outcome == SCHED_STOP || sched_stopping(pipeline)) {
        worker_drop(worker, range);
    } else {
        if (source == DISPATCHER_KEEP) {
            worker_rejoin(worker, range);
        }
        dispatcher_resume(worker, range, source);
    }
}

static void worker_run(struct worker *worker, struct sched_range *range,
                       enum dispatcher_source source)
{
    struct sched_pipeline *pipeline = range->pipeline;
    const uint64_t start_ns = worker->now_ns;

    at_store_relaxed(&worker->run_since_ns, start_ns);
    if (pipeline_is_finish(range)) {
        pipeline_finish(worker, pipeline);
    } else if (sched_stopping(pipeline)) {
        worker_drop(worker, range);
    } else {
        const uint64_t target = morsel_units(pipeline);
        at_store_relaxed(&worker->morsel_units, target);
        morsel_cut(worker, range, target, source);
        const uint64_t begin = range->begin;
        PROBE4(morsel__start, pipeline->job->owner, pipeline, worker->index, target);
        const enum sched_outcome outcome =
            pipeline->ops->run(pipeline, worker->index, range, target);
        assert(range->begin >= begin && range->begin <= range->end);
        worker->now_ns = rt_now_ns();
        const uint64_t run_ns = worker->now_ns - start_ns;
        const uint64_t done = range->begin - begin;
        PROBE5(morsel__end, pipeline->job->owner, pipeline, worker->index, done, run_ns);
        if (outcome == SCHED_RAN) {
            morsel_adapt(pipeline, target, done, run_ns);
        }
        worker_count_morsel(worker, range, done, run_ns);
        worker_count_busy(worker, start_ns);
        const uint64_t ran_ns = worker->now_ns;
        worker_settle(worker, range, done, outcome, source); /* moves the clock when it finishes */
        worker_count_busy(worker, ran_ns);
        at_store_relaxed(&worker->run_since_ns, 0);
        return;
    }
    worker->now_ns = rt_now_ns();
    worker_count_busy(worker, start_ns);
    at_store_relaxed(&worker->run_since_ns, 0);
}

/* ---- the loop ------------------------------------------------------------------------------- */

/* One round of busy waiting, twice as long as the one before. */
static void worker_spin(struct worker *worker)
{
    for (uint32_t i = 0; i < worker->search_pauses; i++) {
        rt_pause();
    }
    if (worker->search_pauses < SPIN_PAUSES_MAX_STEP) {
        worker->search_pauses *= 2;
    }
    const uint64_t now_ns = rt_now_ns();
    WORKER_COUNT(worker, search_ns, now_ns - worker->now_ns);
    worker->now_ns = now_ns;
}

enum worker_did worker_step(struct worker *worker)
{
    struct sched_range range;
    const enum dispatcher_source source = dispatcher_next(worker, &range);

    if (source != DISPATCHER_NOTHING) {
        if (worker->searching) {
            park_search_end(worker, true);
        }
        if (worker->idle_since_ns != 0) {
            worker_was_idle(worker, EXEC_TRACE_SEARCH);
            worker->idle_since_ns = 0;
        }
        worker_run(worker, &range, source);
        return WORKER_RAN;
    }
    if (worker->searching && worker->now_ns - worker->search_since_ns < SPIN_NS) {
        worker_spin(worker);
        return WORKER_SEARCHED;
    }
    if (worker->searching) {
        park_search_end(worker, false);
    }
    park_sleep(worker);
    return WORKER_SLEPT;
}

void *worker_main(void *argument)
{
    struct worker *worker = argument;
    rt_set_self(worker);
    worker->now_ns = rt_now_ns();
    while (!at_load(&worker->sched->stopping)) {
        worker_step(worker);
    }
    dispatcher_leave(worker);
    return NULL;
}
