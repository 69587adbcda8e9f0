#include "sched/worker.h"

#include "sched/atomics.h"
#include "sched/dispatcher.h"
#include "sched/morsel_length.h"
#include "sched/pipeline.h"
#include "sched/probes.h"
#include "sched/rt.h"

#include <assert.h>

static const uint64_t ASK_NS = 20000;  /* a morsel looks at other jobs this often */
static const uint64_t SPIN_NS = 20000; /* busy waiting in one search at most */
enum { SPIN_PAUSES_MAX_STEP = 64 };

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
    struct pipeline_account *account = &worker->account;
    if (range->node == worker->node) {
        WORKER_COUNT(worker, morsels_local, 1);
        WORKER_COUNT(worker, rows_local, done);
    } else {
        WORKER_COUNT(worker, morsels_remote, 1);
        WORKER_COUNT(worker, rows_remote, done);
        account->morsels_remote++;
    }
    WORKER_COUNT(worker, busy_ns, run_ns);
    worker->unaccounted_ns += run_ns;
    account->morsels++;
    account->busy_ns += run_ns;
    account->units += done;
}

/* A morsel as run() left it. */
struct worker_morsel {
    enum sched_outcome outcome;
    enum dispatcher_source source;
    uint64_t target, done, run_ns;
};

/* What is left of its range. */
static void worker_keep_rest(struct worker *worker, struct sched_range *range,
                             const struct worker_morsel *morsel)
{
    if (morsel->source == DISPATCHER_KEEP) {
        worker_rejoin(worker, range);
        const uint32_t pieces = morsel_pieces(range, morsel->target, morsel->done, morsel->run_ns);
        if (pieces > 1) {
            dispatcher_spread(worker, range, pieces);
        }
        /* A unit that takes longer than a morsel goes on here; others see to the urgent ones. */
        worker->rotated = worker->rotated || range->cursor != NULL;
    }
    dispatcher_resume(worker, range, morsel->source);
}

/* The units done, if any, wait in the worker's account: they are not the last while a rest is in
 * hand, and otherwise dispatcher_next settles them before it looks for other work. */
static void worker_settle(struct worker *worker, struct sched_range *range,
                          const struct worker_morsel *morsel)
{
    struct sched_pipeline *pipeline = range->pipeline;

    if (morsel->outcome == SCHED_STOP) {
        sched_pipeline_stop(pipeline);
    }
    if (morsel->outcome == SCHED_RAN && morsel->done > 0 && at_load_relaxed(&pipeline->congested)) {
        at_store_relaxed(&pipeline->congested, false);
    }
    if (range->begin == range->end) {
        return;
    }
    if (morsel->outcome == SCHED_BLOCKED) {
        /* Also when it is stopping: what the range waits for may write into its cursor, so only
         * whoever keeps it knows when it can be thrown away. */
        pipeline_account_settle(worker);
        worker_park_range(worker, range);
    } else if (morsel->outcome == SCHED_STOP || sched_stopping(pipeline)) {
        worker_drop(worker, range);
    } else {
        worker_keep_rest(worker, range, morsel);
    }
}

bool sched_morsel_is_over(const struct sched_pipeline *pipeline, uint32_t worker)
{
    struct worker *self = &pipeline->job->sched->workers[worker];
    const uint64_t now_ns = rt_now_ns();
    const uint64_t run_ns = now_ns - self->now_ns;

    if (run_ns >= SCHED_MORSEL_NS_MAX || sched_stopping(pipeline)) {
        return true;
    }
    if (now_ns - self->asked_ns < ASK_NS) {
        return false;
    }
    self->asked_ns = now_ns;
    if (!dispatcher_is_wanted(self, run_ns)) {
        return false;
    }
    self->looked_ns = 0; /* the queues are looked at next */
    return true;
}

static void worker_run_morsel(struct worker *worker, struct sched_range *range,
                              enum dispatcher_source source)
{
    struct sched_pipeline *pipeline = range->pipeline;
    struct worker_morsel morsel = {.source = source, .target = morsel_units(worker, pipeline)};

    if (worker->account.pipeline != pipeline) {
        pipeline_account_settle(worker); /* moves the clock when it runs a finish() */
        worker->account.pipeline = pipeline;
    }
    const uint64_t start_ns = worker->now_ns;
    worker->asked_ns = start_ns;
    at_store_relaxed(&worker->morsel_units, morsel.target);
    morsel_cut(worker, range, morsel.target, source);
    const uint64_t begin = range->begin;
    PROBE4(morsel__start, pipeline->job->owner, pipeline, worker->index, morsel.target);
    morsel.outcome = pipeline->ops->run(pipeline, worker->index, range, morsel.target);
    assert(range->begin >= begin && range->begin <= range->end);
    worker->now_ns = rt_now_ns();
    morsel.run_ns = worker->now_ns - start_ns;
    morsel.done = range->begin - begin;
    PROBE5(morsel__end, pipeline->job->owner, pipeline, worker->index, morsel.done, morsel.run_ns);
    if (morsel.outcome == SCHED_RAN) {
        morsel_measure(worker, pipeline, morsel.target, morsel.done, morsel.run_ns);
    }
    worker_count_morsel(worker, range, morsel.done, morsel.run_ns);
    if (worker->account.units == 0) {
        pipeline_account_settle(worker); /* the range in hand alone keeps the pipeline */
    }
    worker_settle(worker, range, &morsel);
}

static void worker_run(struct worker *worker, struct sched_range *range,
                       enum dispatcher_source source)
{
    at_store_relaxed(&worker->run_since_ns, worker->now_ns);
    if (pipeline_is_finish(range)) {
        pipeline_finish(worker, range->pipeline);
    } else if (sched_stopping(range->pipeline)) {
        worker_drop(worker, range);
        worker_busy_until_now(worker);
    } else {
        worker_run_morsel(worker, range, source);
    }
    at_store_relaxed(&worker->run_since_ns, 0);
}

/* ---- the loop ------------------------------------------------------------------------------- */

/* One round of busy waiting, twice as long as the one before. Whoever the last job's end has woken
 * may wait for this very CPU, and goes first. */
static void worker_spin(struct worker *worker)
{
    rt_give_way();
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
        const bool keeps = worker->keeps;
        worker->keeps = false;
        if (worker->searching) {
            park_search_end(worker, true);
        } else if (keeps) {
            park_pass_on(worker);
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
    worker->keeps = false; /* the sweep before the sleep sees it */
    dispatcher_leave(worker);
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
