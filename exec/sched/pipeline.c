#include "sched/pipeline.h"

#include "sched/atomics.h"
#include "sched/dispatcher.h"
#include "sched/morsel_length.h"
#include "sched/spin.h"

#include <assert.h>

/* ---- the list of a job's active pipelines -----------------------------------------------------
 */

static void active_add(struct sched_pipeline *pipeline)
{
    struct sched_job *job = pipeline->job;
    spin_lock(&job->active_lock);
    pipeline->next_active = job->active;
    job->active = pipeline;
    spin_unlock(&job->active_lock);
}

static void active_remove(struct sched_pipeline *pipeline)
{
    struct sched_job *job = pipeline->job;
    spin_lock(&job->active_lock);
    struct sched_pipeline **link = &job->active;
    while (*link != pipeline) {
        assert(*link != NULL);
        link = &(*link)->next_active;
    }
    *link = pipeline->next_active;
    spin_unlock(&job->active_lock);
}

/* ---- the account ---------------------------------------------------------------------------- */

void pipeline_finish(struct worker *worker, struct sched_pipeline *pipeline)
{
    const uint64_t run_since_ns = at_load_relaxed(&worker->run_since_ns);

    active_remove(pipeline);
    at_store_relaxed(&worker->run_since_ns, worker->now_ns);
    pipeline->ops->finish(pipeline, worker->index);
    at_store_relaxed(&worker->run_since_ns, run_since_ns);
    worker_busy_until_now(worker); /* it may have been long */
}

void pipeline_settle(struct worker *worker, struct sched_pipeline *pipeline, uint64_t units)
{
    /* Every worker's part happens before finish(): the account is one chain of exchanges. */
    if (at_sub(&pipeline->units_left, units) == units) {
        pipeline_finish(worker, pipeline);
    }
}

void pipeline_account_settle(struct worker *worker)
{
    const struct pipeline_account account = worker->account;
    struct sched_job *job;

    if (account.pipeline == NULL) {
        return;
    }
    worker->account = (struct pipeline_account){0};
    job = account.pipeline->job;
    /* relaxed: the settling publishes them to finish(). */
    at_add_relaxed(&job->morsels, account.morsels);
    at_add_relaxed(&job->busy_ns, account.busy_ns);
    if (account.morsels_remote > 0) {
        at_add_relaxed(&job->morsels_remote, account.morsels_remote);
    }
    if (account.units > 0) {
        pipeline_settle(worker, account.pipeline, account.units);
    }
}

/* False when the pipeline has run out of units: its finish() is under way or over. */
static bool pipeline_guard(struct sched_pipeline *pipeline)
{
    uint64_t units = at_load(&pipeline->units_left);
    while (units != 0) {
        if (at_cas(&pipeline->units_left, &units, units + 1)) {
            return true;
        }
    }
    return false;
}

/* From any thread: a finish() that falls due is left to a worker. */
static void pipeline_unguard(struct sched_pipeline *pipeline)
{
    if (at_sub(&pipeline->units_left, 1) != 1) {
        return;
    }
    struct sched *sched = pipeline->job->sched;
    struct worker *self = worker_self(sched);
    const struct sched_range finish = {.pipeline = pipeline,
                                       .node = (uint16_t)(self != NULL ? self->node : 0)};
    pipeline_queue(
        sched, dispatcher_home_lane(sched, slots_policy_of(&sched->slots, pipeline->job), &finish),
        &finish);
}

/* ---- queueing ------------------------------------------------------------------------------- */

/* A worker queues a morsel's worth where it looks next itself: waking another for it would cost
 * both more than the morsel may. One range at a time, and before it takes something else it looks
 * whether this one waits (park_pass_on). */
static bool pipeline_keeps(struct worker *self, enum exec_policy policy, uint32_t lane,
                           const struct sched_range *range)
{
    if (self == NULL || self->keeps || policy == EXEC_POLICY_STATIC ||
        lane != dispatcher_lane(self, policy)) {
        return false;
    }
    self->keeps = range->end - range->begin <= morsel_units(self, range->pipeline);
    return self->keeps;
}

void pipeline_queue(struct sched *sched, uint32_t lane, const struct sched_range *range)
{
    struct sched_job *job = range->pipeline->job;
    const enum exec_policy policy = slots_policy_of(&sched->slots, job);
    const uint32_t node = range->node;

    if (policy == EXEC_POLICY_STEAL) {
        at_store_relaxed(&sched->blind, true);
    }
    const bool keeps = pipeline_keeps(worker_self(sched), policy, lane, range);
    if (!slots_push(&sched->slots, job, lane, range)) {
        return; /* waits for a slot; whoever frees one wakes somebody */
    }
    if (keeps) {
        return;
    }
    if (policy == EXEC_POLICY_STATIC) {
        park_signal_worker(sched, lane);
    } else {
        park_signal(sched, node, true);
    }
}

/* Policy static: as many equal parts as the job may have workers, one for each. */
static void pipeline_queue_split(struct sched *sched, const struct sched_range *range)
{
    const struct sched_pipeline *pipeline = range->pipeline;
    const uint64_t align = pipeline->unit_align > 0 ? pipeline->unit_align : 1;
    const uint32_t cap = pipeline->job->workers_max;
    const uint32_t parts = cap > 0 && cap < sched->worker_count ? cap : sched->worker_count;
    const uint64_t units = range->end - range->begin;
    struct sched_range part = *range;

    for (uint32_t lane = 0; lane < parts && part.begin < range->end; lane++) {
        const uint64_t share = units / parts * (lane + 1) + units % parts * (lane + 1) / parts;
        const uint64_t end = (range->begin + share + align - 1) / align * align;
        part.end = lane + 1 == parts || end > range->end ? range->end : end;
        if (part.end > part.begin) {
            pipeline_queue(sched, lane, &part);
        }
        part.begin = part.end;
    }
}

/* ---- the door ------------------------------------------------------------------------------- */

void sched_job_init(struct sched *sched, struct sched_job *job)
{
    job->sched = sched;
    job->shares = NULL;
    atomic_init(&job->cancelled, false);
    atomic_init(&job->morsels, 0);
    atomic_init(&job->morsels_remote, 0);
    atomic_init(&job->steals, 0);
    atomic_init(&job->busy_ns, 0);
    atomic_init(&job->ticket, 0);
    atomic_init(&job->active_lock, 0);
    job->active = NULL;
    job->next_waiting = NULL;
    job->pending_head = job->pending_tail = job->pending_count = 0;
}

void sched_pipeline_open(struct sched_pipeline *pipeline)
{
    assert(pipeline->ops != NULL && pipeline->job != NULL && pipeline->job->sched != NULL);
    at_store(&pipeline->units_left, 1); /* the guard of being open */
    active_add(pipeline);
}

void sched_pipeline_add(struct sched_pipeline *pipeline, const struct sched_range *range)
{
    struct sched *sched = pipeline->job->sched;
    const enum exec_policy policy = slots_policy_of(&sched->slots, pipeline->job);

    assert(range->begin < range->end && range->pipeline == pipeline);
    at_add(&pipeline->units_left, range->end - range->begin);
    if (policy == EXEC_POLICY_STATIC && range->serial == 0 && range->cursor == NULL) {
        pipeline_queue_split(sched, range);
        return;
    }
    pipeline_queue(sched, dispatcher_home_lane(sched, policy, range), range);
}

void sched_pipeline_close(struct sched_pipeline *pipeline)
{
    pipeline_unguard(pipeline);
}

/* Policy static: the ranges one after another, cut into as many equal shares as the job may have
 * workers, one for each. */
static void pipeline_queue_shares(struct sched_pipeline *pipeline, const struct sched_range *ranges,
                                  uint32_t range_count, uint64_t units)
{
    struct sched *sched = pipeline->job->sched;
    const uint64_t align = pipeline->unit_align > 0 ? pipeline->unit_align : 1;
    const uint32_t cap = pipeline->job->workers_max;
    const uint32_t shares = cap > 0 && cap < sched->worker_count ? cap : sched->worker_count;
    uint64_t before = 0;
    uint32_t lane = 0;

    for (uint32_t i = 0; i < range_count; i++) {
        struct sched_range part = ranges[i];
        while (part.begin < ranges[i].end) {
            uint64_t share_end = (uint64_t)((double)units * (lane + 1) / shares);
            while (before >= share_end && lane + 1 < shares) {
                lane++;
                share_end = (uint64_t)((double)units * (lane + 1) / shares);
            }
            const uint64_t room = share_end > before ? share_end - before : 1;
            const uint64_t end = (part.begin + room + align - 1) / align * align;
            const bool whole = part.serial != 0 || lane + 1 == shares || end > ranges[i].end;
            part.end = whole ? ranges[i].end : end;
            before += part.end - part.begin;
            pipeline_queue(sched, lane, &part);
            part.begin = part.end;
        }
    }
}

/* All ranges of a pipeline at once: the slot is asked for once, and each node told at its first
 * range and after its last. False: the job waits for a slot, nothing is queued. */
static bool pipeline_queue_all(struct sched_pipeline *pipeline, const struct sched_range *ranges,
                               uint32_t range_count)
{
    struct sched *sched = pipeline->job->sched;
    const enum exec_policy policy = slots_policy_of(&sched->slots, pipeline->job);
    bool told[NU_NODES_MAX] = {false};
    uint64_t units = 0;

    for (uint32_t i = 0; i < range_count; i++) {
        assert(ranges[i].begin < ranges[i].end && ranges[i].pipeline == pipeline);
        units += ranges[i].end - ranges[i].begin;
    }
    if (policy == EXEC_POLICY_STATIC) {
        at_add(&pipeline->units_left, units);
        pipeline_queue_shares(pipeline, ranges, range_count, units);
        return true;
    }
    if (policy == EXEC_POLICY_STEAL) {
        at_store_relaxed(&sched->blind, true);
    }
    const uint32_t slot = slots_reserve(&sched->slots, pipeline->job, range_count);
    if (slot == SLOTS_MAX) {
        return false;
    }
    at_add(&pipeline->units_left, units);
    for (uint32_t i = 0; i < range_count; i++) {
        const uint32_t node = ranges[i].node;
        inject_push(&sched->inject, slot, dispatcher_home_lane(sched, policy, &ranges[i]),
                    &ranges[i], INJECT_BACK);
        if (!told[node]) {
            told[node] = true;
            park_signal(sched, node, true);
        }
    }
    for (uint32_t node = 0; node < sched->node_count; node++) {
        if (told[node]) {
            park_signal(sched, node, true);
        }
    }
    return true;
}

void sched_pipeline_start(struct sched_pipeline *pipeline, const struct sched_range *ranges,
                          uint32_t range_count)
{
    sched_pipeline_open(pipeline);
    if (range_count < 2 || !pipeline_queue_all(pipeline, ranges, range_count)) {
        for (uint32_t i = 0; i < range_count; i++) {
            sched_pipeline_add(pipeline, &ranges[i]);
        }
    }
    sched_pipeline_close(pipeline);
}

void sched_requeue(const struct sched_range *range)
{
    struct sched_job *job = range->pipeline->job;
    struct sched *sched = job->sched;
    assert(range->begin < range->end);
    pipeline_queue(sched, dispatcher_home_lane(sched, slots_policy_of(&sched->slots, job), range),
                   range);
}

void sched_pipeline_stop(struct sched_pipeline *pipeline)
{
    if (at_exchange(&pipeline->stopped, true) || !pipeline_guard(pipeline)) {
        return;
    }
    if (pipeline->ops->unpark_all != NULL) {
        pipeline->ops->unpark_all(pipeline);
    }
    pipeline_unguard(pipeline);
}

/* An active pipeline that nobody has stopped yet, now stopped and guarded; NULL: none. */
static struct sched_pipeline *cancel_next(struct sched_job *job)
{
    spin_lock(&job->active_lock);
    struct sched_pipeline *pipeline = job->active;
    while (pipeline != NULL &&
           (at_exchange(&pipeline->stopped, true) || !pipeline_guard(pipeline))) {
        pipeline = pipeline->next_active;
    }
    spin_unlock(&job->active_lock);
    return pipeline;
}

void sched_job_cancel(struct sched_job *job)
{
    at_store(&job->cancelled, true);
    for (struct sched_pipeline *pipeline = cancel_next(job); pipeline != NULL;
         pipeline = cancel_next(job)) {
        if (pipeline->ops->unpark_all != NULL) {
            pipeline->ops->unpark_all(pipeline);
        }
        pipeline_unguard(pipeline);
    }
}
