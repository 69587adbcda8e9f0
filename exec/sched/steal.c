#include "sched/steal.h"

#include "sched/atomics.h"
#include "sched/dispatcher.h"
#include "sched/pipeline.h"
#include "sched/probes.h"
#include "sched/rt.h"
#include "sched/worker.h"

#include <errno.h>
#include <stdlib.h>

/* Idle time before a level is tried: about what moving a morsel's cache lines over that distance
 * costs, and for other nodes half a morsel, for its own workers come back within one. */
static const uint64_t STEAL_PRICE_NS[NU_LEVEL_COUNT] = {
    [NU_LEVEL_SMT] = 1000,
    [NU_LEVEL_L3] = 5000,
    [NU_LEVEL_NODE] = 50000,
    [NU_LEVEL_REMOTE] = 500000, /* at distance 20; in proportion to the distance beyond 10 */
};

/* ---- the price list ------------------------------------------------------------------------- */

static uint64_t steal_remote_price(const struct nu_topology *topology, uint32_t from, uint32_t to)
{
    const uint32_t beyond = (uint32_t)topology->distance[from][to] - NU_DISTANCE_LOCAL;
    return STEAL_PRICE_NS[NU_LEVEL_REMOTE] * beyond / NU_DISTANCE_LOCAL;
}

static int steal_compare_places(const void *left, const void *right)
{
    const struct steal_place *a = left, *b = right;
    if (a->level != b->level) {
        return a->level < b->level ? -1 : 1; /* remote ones last, whatever the distances say */
    }
    if (a->price_ns != b->price_ns) {
        return a->price_ns < b->price_ns ? -1 : 1;
    }
    return a->victim < b->victim ? -1 : 1;
}

int steal_list_make(struct steal_list *list, const struct nu_topology *topology,
                    const uint32_t *cpu, uint32_t worker_count, uint32_t worker)
{
    const uint32_t node = topology->cpus[cpu[worker]].node;

    list->places = calloc(worker_count, sizeof *list->places);
    list->node_price_ns = calloc(topology->node_count, sizeof *list->node_price_ns);
    list->place_count = 0;
    if (list->places == NULL || list->node_price_ns == NULL) {
        steal_list_free(list);
        return -ENOMEM;
    }
    for (uint32_t victim = 0; victim < worker_count; victim++) {
        const uint32_t victim_node = topology->cpus[cpu[victim]].node;
        if (victim == worker) {
            continue;
        }
        const enum nu_level level = nu_topology_level(topology, cpu[worker], cpu[victim]);
        const uint64_t price_ns = level == NU_LEVEL_REMOTE
                                      ? steal_remote_price(topology, node, victim_node)
                                      : STEAL_PRICE_NS[level];
        list->places[list->place_count++] =
            (struct steal_place){.price_ns = price_ns, .victim = victim, .level = (uint8_t)level};
        /* A node without workers keeps price 0: nobody nearer will come for its rows. */
        list->node_price_ns[victim_node] = victim_node == node ? 0 : price_ns;
    }
    qsort(list->places, list->place_count, sizeof *list->places, steal_compare_places);
    return 0;
}

void steal_list_free(struct steal_list *list)
{
    free(list->places);
    free(list->node_price_ns);
    *list = (struct steal_list){0};
}

/* ---- what may be taken ------------------------------------------------------------------------
 */

/* Price of stealing from `place` now, UINT64_MAX when there is nothing; the victim's slot in
 * slot_out. */
static uint64_t steal_price_of(struct worker *worker, const struct steal_place *place,
                               uint32_t *slot_out)
{
    struct sched *sched = worker->sched;
    struct worker *victim = &sched->workers[place->victim];
    const int32_t slot = at_load(&victim->slot);

    if (slot < 0 || deque_count(&victim->deque) == 0 ||
        !slots_has_seat(&sched->slots, (uint32_t)slot)) {
        return UINT64_MAX;
    }
    *slot_out = (uint32_t)slot;
    const uint32_t policy = at_load_relaxed(&sched->slots.slots[slot].policy);
    if (policy == EXEC_POLICY_STEAL) {
        return 0;
    }
    if (policy != EXEC_POLICY_NUMA) {
        return UINT64_MAX;
    }
    if (place->level == NU_LEVEL_REMOTE &&
        deque_oldest_units(&victim->deque) <
            steal_remote_units(at_load_relaxed(&victim->morsel_units))) {
        return UINT64_MAX;
    }
    return place->price_ns;
}

/* Price of taking from another node's queue of a slot; UINT64_MAX when there is nothing. */
static uint64_t steal_price_of_queue(struct worker *worker, uint32_t slot, uint32_t node)
{
    struct slots *slots = &worker->sched->slots;
    if (inject_count(slots->inject, slot, node) == 0 || !slots_has_seat(slots, slot)) {
        return UINT64_MAX;
    }
    switch (at_load_relaxed(&slots->slots[slot].policy)) {
        case EXEC_POLICY_STEAL: return 0;
        case EXEC_POLICY_NUMA: return worker->prices.node_price_ns[node];
        default: return UINT64_MAX; /* lane 0 is everybody's, or a worker's own */
    }
}

/* ---- taking --------------------------------------------------------------------------------- */

static void steal_count_level(struct worker *worker, enum nu_level level)
{
    switch (level) {
        case NU_LEVEL_SMT: WORKER_COUNT(worker, steals_smt, 1); break;
        case NU_LEVEL_L3: WORKER_COUNT(worker, steals_l3, 1); break;
        case NU_LEVEL_NODE: WORKER_COUNT(worker, steals_node, 1); break;
        default: WORKER_COUNT(worker, steals_remote, 1); break;
    }
}

static void steal_count(struct worker *worker, const struct steal_place *place,
                        const struct sched_range *range)
{
    struct sched_job *job = range->pipeline->job;

    steal_count_level(worker, place->level);
    at_add_relaxed(&job->steals, 1);
    PROBE5(steal, job->owner, worker->index, place->victim, place->level,
           range->end - range->begin);
    if (job->shares != NULL) {
        struct sched_share *share = &job->shares[worker->index];
        share->steals[place->level]++;
        trace_ring_add(&share->trace, &(struct exec_trace_event){
                                          .begin_ns = worker->now_ns,
                                          .end_ns = worker->now_ns,
                                          .units = range->end - range->begin,
                                          .peer = (uint16_t)place->victim,
                                          .kind = EXEC_TRACE_STEAL,
                                          .level = place->level,
                                      });
    }
}

static bool steal_from(struct worker *worker, const struct steal_place *place, uint32_t slot,
                       struct sched_range *range_out)
{
    struct sched *sched = worker->sched;
    /* The seat first: the victim's may be the only other one, and it may get up meanwhile. It is
     * kept for the next try. */
    if (!dispatcher_sit(worker, slot) ||
        deque_steal(&sched->workers[place->victim].deque, range_out) != DEQUE_STOLEN) {
        return false;
    }
    struct sched_job *job = range_out->pipeline->job;
    if (!slots_is_of(&sched->slots, slot, job)) {
        /* The victim has changed jobs in between: this range is of a job we have no seat in. */
        pipeline_queue(sched,
                       dispatcher_home_lane(sched, slots_policy_of(&sched->slots, job), range_out),
                       range_out);
        return false;
    }
    worker->paid_ns = range_out->node == worker->node ? 0 : place->price_ns;
    steal_count(worker, place, range_out);
    return true;
}

/* Tries places [from, to) once, from a random one on. */
static bool steal_from_group(struct worker *worker, uint32_t from, uint32_t to, uint64_t idle_ns,
                             struct sched_range *range_out)
{
    const uint32_t count = to - from;
    const uint32_t start = (uint32_t)(rt_random(&worker->random) % count);

    WORKER_COUNT(worker, steals_tried, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct steal_place *place = &worker->prices.places[from + (start + i) % count];
        uint32_t slot;
        if (steal_price_of(worker, place, &slot) <= idle_ns &&
            steal_from(worker, place, slot, range_out)) {
            return true;
        }
    }
    return false;
}

static bool steal_from_queues(struct worker *worker, uint64_t idle_ns,
                              struct sched_range *range_out)
{
    struct sched *sched = worker->sched;
    const uint32_t start = (uint32_t)(rt_random(&worker->random) % sched->node_count);
    for (uint32_t i = 0; i < sched->node_count; i++) {
        const uint32_t node = (start + i) % sched->node_count;
        SLOTS_EACH_OCCUPIED(&sched->slots, slot)
        {
            if (node == worker->node || steal_price_of_queue(worker, slot, node) > idle_ns ||
                !dispatcher_sit(worker, slot)) {
                continue;
            }
            if (slots_pop_seated(&sched->slots, slot, node, range_out)) {
                range_out->urgent = 0;
                worker->paid_ns = worker->prices.node_price_ns[node];
                WORKER_COUNT(worker, injects_taken, 1);
                return true;
            }
        }
    }
    return false;
}

bool steal_range(struct worker *worker, uint64_t idle_ns, struct sched_range *range_out)
{
    const struct steal_list *prices = &worker->prices;
    const bool blind = at_load_relaxed(&worker->sched->blind);
    bool queues_tried = worker->sched->node_count == 1;

    for (uint32_t from = 0, to; from < prices->place_count; from = to) {
        const struct steal_place *first = &prices->places[from];
        if (!blind && first->price_ns > idle_ns) {
            break;
        }
        if (first->level == NU_LEVEL_REMOTE && !queues_tried) {
            queues_tried = true;
            if (steal_from_queues(worker, idle_ns, range_out)) {
                return true;
            }
        }
        to = from + 1;
        while (to < prices->place_count &&
               (blind || prices->places[to].price_ns == first->price_ns)) {
            to++;
        }
        if (steal_from_group(worker, from, to, idle_ns, range_out)) {
            return true;
        }
    }
    return !queues_tried && steal_from_queues(worker, idle_ns, range_out);
}

uint64_t steal_cheapest(struct worker *worker)
{
    struct sched *sched = worker->sched;
    uint64_t cheapest = UINT64_MAX;

    SLOTS_EACH_OCCUPIED(&sched->slots, slot)
    {
        const enum exec_policy policy = at_load_relaxed(&sched->slots.slots[slot].policy);
        if (inject_count(&sched->inject, slot, dispatcher_lane(worker, policy)) != 0 &&
            slots_has_seat(&sched->slots, slot)) {
            return 0;
        }
        for (uint32_t node = 0; node < sched->node_count; node++) {
            const uint64_t price_ns =
                node == worker->node ? UINT64_MAX : steal_price_of_queue(worker, slot, node);
            cheapest = price_ns < cheapest ? price_ns : cheapest;
        }
    }
    for (uint32_t i = 0; i < worker->prices.place_count; i++) {
        uint32_t slot;
        const uint64_t price_ns = steal_price_of(worker, &worker->prices.places[i], &slot);
        cheapest = price_ns < cheapest ? price_ns : cheapest;
    }
    return cheapest;
}
