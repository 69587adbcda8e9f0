#include "sched/dispatcher.h"

#include "sched/atomics.h"
#include "sched/pipeline.h"
#include "sched/rt.h"

#include <assert.h>

/* Queues are looked at this often even while the own deque has work. */
static const uint64_t DISPATCHER_LOOK_NS = 200000;
enum { DISPATCHER_TRIES_MAX = 4 }; /* a chosen job's queue may be emptied before we come to it */

/* ---- queues --------------------------------------------------------------------------------- */

static enum exec_policy dispatcher_policy(const struct worker *worker, int32_t slot)
{
    return at_load_relaxed(&worker->sched->slots.slots[slot].policy);
}

uint32_t dispatcher_lane(const struct worker *worker, enum exec_policy policy)
{
    switch (policy) {
        case EXEC_POLICY_SHARED: return 0;
        case EXEC_POLICY_STATIC: return worker->index;
        default: return worker->node;
    }
}

uint32_t dispatcher_home_lane(const struct sched *sched, enum exec_policy policy,
                              const struct sched_range *range)
{
    assert(range->node < sched->node_count);
    switch (policy) {
        case EXEC_POLICY_SHARED: return 0;
        case EXEC_POLICY_STATIC: {
            /* The same part of the input comes back to the same worker, within the job's cap. */
            const uint32_t cap = range->pipeline->job->workers_max;
            const uint32_t lanes = cap > 0 && cap < sched->worker_count ? cap : sched->worker_count;
            const uint64_t mixed = (range->begin + 1) * 0x9e3779b97f4a7c15ULL;
            return (uint32_t)((mixed >> 32) % lanes);
        }
        default: return range->node;
    }
}

static void dispatcher_signal_lane(struct worker *worker, enum exec_policy policy, uint32_t lane,
                                   uint32_t node)
{
    if (policy == EXEC_POLICY_STATIC) {
        park_signal_worker(worker->sched, lane);
    } else {
        park_signal(worker->sched, node, true);
    }
}

/* ---- putting back --------------------------------------------------------------------------- */

static void dispatcher_push_home(struct worker *worker, const struct sched_range *range,
                                 enum inject_end end)
{
    const uint32_t slot = (uint32_t)at_load_relaxed(&worker->slot);
    const enum exec_policy policy = dispatcher_policy(worker, (int32_t)slot);
    const uint32_t lane = policy == EXEC_POLICY_STATIC
                              ? worker->index
                              : dispatcher_home_lane(worker->sched, policy, range);
    const uint32_t node = range->node; /* the range may be run by another from here on */
    slots_push_seated(&worker->sched->slots, slot, lane, range, end);
    dispatcher_signal_lane(worker, policy, lane, node);
}

void dispatcher_return(struct worker *worker, const struct sched_range *range)
{
    dispatcher_push_home(worker, range, INJECT_BACK);
}

/* False when the range went to the own deque. */
static bool dispatcher_goes_home(struct worker *worker, const struct sched_range *range,
                                 enum dispatcher_source source)
{
    const int32_t slot = at_load_relaxed(&worker->slot);
    if (dispatcher_policy(worker, slot) == EXEC_POLICY_SHARED) {
        dispatcher_push_home(worker, range, INJECT_FRONT);
        return true;
    }
    if (source == DISPATCHER_ROTATE) {
        dispatcher_push_home(worker, range, INJECT_BACK);
        return true;
    }
    if (!deque_push(&worker->deque, range)) {
        WORKER_COUNT(worker, overflows, 1);
        dispatcher_push_home(worker, range, INJECT_BACK);
        return true;
    }
    return false;
}

void dispatcher_keep(struct worker *worker, const struct sched_range *range,
                     enum dispatcher_source source)
{
    const bool was_empty = deque_count(&worker->deque) == 0;
    const int32_t slot = at_load_relaxed(&worker->slot);
    /* Other nodes are told only of what they may take. */
    const bool everywhere =
        dispatcher_policy(worker, slot) == EXEC_POLICY_STEAL ||
        range->end - range->begin >= steal_remote_units(at_load_relaxed(&worker->morsel_units));
    /* Behind another entry it is not the next to be stolen; whoever takes that one wakes more. */
    if (!dispatcher_goes_home(worker, range, source) && was_empty) {
        park_signal(worker->sched, worker->node, everywhere);
    }
}

void dispatcher_spread(struct worker *worker, struct sched_range *range, uint32_t pieces)
{
    const uint64_t align = range->pipeline->unit_align > 0 ? range->pipeline->unit_align : 1;
    const uint64_t units = range->end - range->begin;
    const uint64_t kept = range->unsplit > units / pieces ? range->unsplit : units / pieces;

    struct sched_range older;
    while (deque_pop(&worker->deque, &older)) {
        if (older.pipeline != range->pipeline || older.cursor != NULL) {
            dispatcher_resume(worker, &older, DISPATCHER_KEEP);
            break;
        }
        older.urgent = 1;
        dispatcher_push_home(worker, &older, INJECT_FRONT);
    }
    for (uint32_t i = pieces; i > 1; i--) {
        struct sched_range piece = *range;
        piece.begin = (range->begin + kept + (units - kept) / (pieces - 1) * (i - 2) + align - 1) /
                      align * align;
        if (piece.begin <= range->begin || piece.begin >= range->end) {
            continue;
        }
        range->end = piece.begin;
        piece.cursor = NULL;
        piece.unsplit = 0;
        piece.urgent = 1;
        dispatcher_push_home(worker, &piece, INJECT_FRONT);
    }
}

void dispatcher_resume(struct worker *worker, const struct sched_range *range,
                       enum dispatcher_source source)
{
    /* Should another job's turn come first, dispatcher_leave offers the range to all. */
    (void)dispatcher_goes_home(worker, range, source);
}

void dispatcher_share(struct worker *worker, const struct sched_range *range)
{
    struct slots *slots = &worker->sched->slots;
    const int32_t slot = at_load_relaxed(&worker->slot);
    const enum exec_policy policy = dispatcher_policy(worker, slot);
    const bool stealable = policy == EXEC_POLICY_NUMA || policy == EXEC_POLICY_STEAL;

    /* With several jobs in the running the others' workers choose by pass, and see queues, not
     * deques: offer the half there. */
    if (stealable && slots_contended(slots) &&
        inject_count(slots->inject, (uint32_t)slot, range->node) == 0) {
        dispatcher_push_home(worker, range, INJECT_BACK);
        return;
    }
    if (!deque_push(&worker->deque, range)) {
        WORKER_COUNT(worker, overflows, 1);
        dispatcher_push_home(worker, range, INJECT_BACK);
        return;
    }
    if (stealable) {
        park_signal(worker->sched, worker->node, true);
    }
}

/* A capped job has room again. Whoever sleeps beside its work was right to, for want of a seat:
 * wake sleepers where the work is. */
static void dispatcher_signal_room(struct worker *worker, uint32_t slot)
{
    struct sched *sched = worker->sched;
    for (uint32_t lane = 0; lane < sched->node_count; lane++) {
        if (inject_count(&sched->inject, slot, lane) > 0) {
            park_signal(sched, lane, true);
        }
    }
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        struct worker *other = &sched->workers[i];
        if (at_load(&other->slot) == (int32_t)slot && deque_count(&other->deque) > 0) {
            park_signal(sched, other->node, true);
        }
    }
}

static void dispatcher_vacate(struct worker *worker, uint32_t slot)
{
    switch (slots_leave(&worker->sched->slots, slot)) {
        case SLOTS_LEFT: return;
        case SLOTS_LEFT_ROOM: dispatcher_signal_room(worker, slot); return;
        case SLOTS_NEXT_JOB: park_signal_all(worker->sched); return; /* its ranges lie anywhere */
    }
}

/* The job of the worker's slot has had its time. Kept by worker between looks, so that a morsel
 * does not touch a line that all workers write. */
static void dispatcher_account(struct worker *worker)
{
    struct slots *slots = &worker->sched->slots;
    const int32_t slot = at_load_relaxed(&worker->slot);
    if (slot >= 0 && worker->unaccounted_ns > 0) {
        at_add_relaxed(&slots->slots[slot].consumed_ns, worker->unaccounted_ns);
        worker->pass[slot] += (double)worker->unaccounted_ns / slots_weight(slots, (uint32_t)slot);
    }
    worker->unaccounted_ns = 0;
}

void dispatcher_leave(struct worker *worker)
{
    const int32_t slot = at_load_relaxed(&worker->slot);
    struct sched_range range;
    if (slot < 0) {
        return;
    }
    dispatcher_account(worker);
    while (deque_pop(&worker->deque, &range)) {
        dispatcher_push_home(worker, &range, INJECT_BACK);
    }
    at_store(&worker->slot, -1);
    dispatcher_vacate(worker, (uint32_t)slot);
}

bool dispatcher_sit(struct worker *worker, uint32_t slot)
{
    if (at_load_relaxed(&worker->slot) == (int32_t)slot) {
        return true;
    }
    dispatcher_leave(worker);
    switch (slots_sit(&worker->sched->slots, slot)) {
        case SLOTS_SAT: at_store(&worker->slot, (int32_t)slot); return true;
        case SLOTS_NO_SEAT: return false;
        case SLOTS_MISTAKEN: dispatcher_vacate(worker, slot); return false;
    }
    return false;
}

/* ---- which job ------------------------------------------------------------------------------ */

/* A job that is new here, or had no work here for a while, starts where the others are now. */
static double dispatcher_pass(struct worker *worker, uint32_t slot)
{
    const uint64_t ticket = at_load_relaxed(&worker->sched->slots.slots[slot].ticket);
    if (worker->pass_ticket[slot] != ticket || worker->pass[slot] < worker->pass_now) {
        worker->pass_ticket[slot] = ticket;
        worker->pass[slot] = worker->pass_now;
    }
    return worker->pass[slot];
}

/* The occupied slot with the smallest pass that has work for this worker without stealing; -1:
 * none. */
static int32_t dispatcher_choose(struct worker *worker)
{
    struct slots *slots = &worker->sched->slots;
    const int32_t own = at_load_relaxed(&worker->slot);
    const bool own_work = own >= 0 && deque_count(&worker->deque) > 0;
    int32_t best = -1;
    double best_pass = 0;

    SLOTS_EACH_OCCUPIED(slots, slot)
    {
        const bool is_own = (int32_t)slot == own;
        if (!(is_own && own_work)) {
            const uint32_t lane = dispatcher_lane(worker, dispatcher_policy(worker, (int32_t)slot));
            if (inject_count(slots->inject, slot, lane) == 0 ||
                (!is_own && !slots_has_seat(slots, slot))) {
                continue;
            }
        }
        const double pass = dispatcher_pass(worker, slot);
        if (best < 0 || pass < best_pass || (is_own && pass <= best_pass)) {
            best = (int32_t)slot;
            best_pass = pass;
        }
    }
    if (best >= 0) {
        worker->pass_now = best_pass;
    }
    return best;
}

bool dispatcher_is_wanted(struct worker *worker, uint64_t run_ns)
{
    struct slots *slots = &worker->sched->slots;
    struct park_node *node = &worker->sched->nodes[worker->node];
    const uint32_t own = (uint32_t)at_load_relaxed(&worker->slot);

    if (!slots_contended(slots) || at_load_relaxed(&node->searching) > 0 ||
        at_load_relaxed(&node->parked) > 0) {
        return false;
    }
    const double own_pass =
        worker->pass[own] + (double)(worker->unaccounted_ns + run_ns) / slots_weight(slots, own);
    SLOTS_EACH_OCCUPIED(slots, slot)
    {
        const uint32_t lane = dispatcher_lane(worker, dispatcher_policy(worker, (int32_t)slot));
        if (slot != own && inject_count(slots->inject, slot, lane) > 0 &&
            slots_has_seat(slots, slot) &&
            dispatcher_pass(worker, slot) + SCHED_MORSEL_NS / slots_weight(slots, slot) <
                own_pass) {
            return true;
        }
    }
    return false;
}

/* ---- which range ---------------------------------------------------------------------------- */

static bool dispatcher_pop_queue(struct worker *worker, uint32_t slot, uint32_t lane,
                                 struct sched_range *range_out)
{
    if (!slots_pop_seated(&worker->sched->slots, slot, lane, range_out)) {
        return false;
    }
    range_out->urgent = 0;
    WORKER_COUNT(worker, injects_taken, 1);
    return true;
}

/* A range of the job in whose slot the worker sits: from its deque, every other time from the queue
 * when another pipeline or an urgent range waits there. */
static enum dispatcher_source dispatcher_take(struct worker *worker, struct sched_range *range_out)
{
    struct inject *inject = &worker->sched->inject;
    const uint32_t slot = (uint32_t)at_load_relaxed(&worker->slot);
    const uint32_t lane = dispatcher_lane(worker, dispatcher_policy(worker, (int32_t)slot));

    if (!deque_pop(&worker->deque, range_out)) {
        worker->rotated = false;
        return dispatcher_pop_queue(worker, slot, lane, range_out) ? DISPATCHER_KEEP
                                                                   : DISPATCHER_NOTHING;
    }
    if (worker->rotated || !inject_offers(inject, slot, lane, range_out->pipeline)) {
        worker->rotated = false;
        return DISPATCHER_KEEP;
    }
    struct sched_range other;
    if (!dispatcher_pop_queue(worker, slot, lane, &other)) {
        return DISPATCHER_KEEP;
    }
    /* The rest of an urgent one stays here, above what it was taken before. */
    const bool stays = other.pipeline == range_out->pipeline;
    dispatcher_resume(worker, range_out, DISPATCHER_KEEP);
    *range_out = other;
    worker->rotated = true;
    return stays ? DISPATCHER_KEEP : DISPATCHER_ROTATE;
}

enum dispatcher_source dispatcher_next(struct worker *worker, struct sched_range *range_out)
{
    if (at_load_relaxed(&worker->slot) >= 0 &&
        worker->now_ns - worker->looked_ns < DISPATCHER_LOOK_NS &&
        deque_pop(&worker->deque, range_out)) {
        return DISPATCHER_KEEP;
    }
    pipeline_account_settle(worker); /* may run a finish() */
    worker->looked_ns = worker->now_ns;
    dispatcher_account(worker);
    for (uint32_t i = 0; i < DISPATCHER_TRIES_MAX; i++) {
        const int32_t slot = dispatcher_choose(worker);
        if (slot < 0) {
            break;
        }
        if (!dispatcher_sit(worker, (uint32_t)slot)) {
            continue;
        }
        const enum dispatcher_source source = dispatcher_take(worker, range_out);
        if (source != DISPATCHER_NOTHING) {
            worker->paid_ns = range_out->node == worker->node ? 0 : worker->paid_ns;
            return source;
        }
    }
    if (worker->idle_since_ns == 0) {
        worker->idle_since_ns = worker->idle_log.from_ns = worker->now_ns;
    }
    if (!worker->searching) {
        park_search_begin(worker, false);
    }
    if (worker->searching && steal_range(worker, worker_idle_ns(worker), range_out)) {
        return DISPATCHER_KEEP;
    }
    return DISPATCHER_NOTHING;
}
