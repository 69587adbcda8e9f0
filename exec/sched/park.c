#include "sched/park.h"

#include "sched/atomics.h"
#include "sched/probes.h"
#include "sched/rt.h"
#include "sched/worker.h"

static bool park_wake(struct sched *sched, uint32_t index)
{
    struct worker *sleeper = &sched->workers[index];
    struct park_node *node = &sched->nodes[sleeper->node];
    uint32_t state = PARK_PARKED;

    if (at_load(&sleeper->park.state) != PARK_PARKED ||
        !at_cas(&sleeper->park.state, &state, PARK_WOKEN)) {
        return false;
    }
    at_sub(&node->parked, 1);
    at_add(&node->searching, 1); /* on its behalf: it will search and sweep */
    struct worker *self = worker_self(sched);
    if (self != NULL) {
        WORKER_COUNT(self, wakes_sent, 1);
    }
    rt_wake(&sleeper->park.parker);
    return true;
}

/* Workers on cores of their own come first in the list, SMT siblings last. */
static bool park_wake_one(struct sched *sched, const struct park_node *node)
{
    for (uint32_t i = 0; i < node->worker_count && at_load(&node->parked) > 0; i++) {
        if (park_wake(sched, node->workers[i])) {
            return true;
        }
    }
    return false;
}

void park_signal(struct sched *sched, uint32_t node, bool everywhere)
{
    const uint32_t node_count = everywhere ? sched->node_count : 1;
    for (uint32_t i = 0; i < node_count; i++) {
        const struct park_node *at = &sched->nodes[(node + i) % sched->node_count];
        if (at_load(&at->searching) > 0 || park_wake_one(sched, at)) {
            return;
        }
    }
}

void park_signal_worker(struct sched *sched, uint32_t worker)
{
    (void)park_wake(sched, worker);
}

void park_signal_all(struct sched *sched)
{
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        (void)park_wake(sched, i);
    }
}

void park_wake_all(struct sched *sched)
{
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        rt_wake(&sched->workers[i].park.parker);
    }
}

void park_search_begin(struct worker *worker, bool forced)
{
    struct park_node *node = &worker->sched->nodes[worker->node];
    int32_t searching = at_load(&node->searching);
    do {
        if (!forced && searching >= node->searching_max) {
            return;
        }
    } while (!at_cas(&node->searching, &searching, searching + 1));
    worker->searching = true;
    worker->search_since_ns = worker->now_ns;
    worker->search_pauses = 1;
}

void park_search_end(struct worker *worker, bool found)
{
    struct park_node *node = &worker->sched->nodes[worker->node];
    worker->searching = false;
    const int32_t before = at_sub(&node->searching, 1);
    if (found && before <= 1) {
        park_pass_on(worker);
    }
}

void park_pass_on(struct worker *worker)
{
    if (steal_cheapest(worker) != UINT64_MAX) {
        park_signal(worker->sched, worker->node, true);
    }
}

/* Sleeps, and counts it so that it is seen while it lasts. */
static void park_doze(struct worker *worker, uint32_t word, uint64_t timeout_ns)
{
    const uint64_t since_ns = worker->now_ns;
    const uint64_t before_ns = at_load_relaxed(&worker->figures.parked_ns);

    worker_was_idle(worker, EXEC_TRACE_SEARCH);
    at_store_relaxed(&worker->parked_since_ns, since_ns);
    at_store_relaxed(&worker->figures.parked_ns, WORKER_ASLEEP | (since_ns - before_ns));
    PROBE2(park, worker->index, timeout_ns);
    rt_park(&worker->park.parker, word, timeout_ns);
    worker->now_ns = rt_now_ns();
    PROBE2(unpark, worker->index, worker->now_ns - since_ns);
    at_store_relaxed(&worker->figures.parked_ns, before_ns + worker->now_ns - since_ns);
    at_store_relaxed(&worker->parked_since_ns, 0);
    worker_was_idle(worker, EXEC_TRACE_PARK);
}

void park_sleep(struct worker *worker)
{
    struct sched *sched = worker->sched;
    struct park_node *node = &sched->nodes[worker->node];
    const uint32_t word = at_load(&worker->park.parker.word);

    at_store(&worker->park.state, PARK_PARKED);
    at_add(&node->parked, 1);
    /* The sweep; its loads come after the announcement. */
    const uint64_t idle_ns = worker_idle_ns(worker);
    const uint64_t price_ns = at_load(&sched->stopping) ? 0 : steal_cheapest(worker);
    const bool affordable = price_ns <= idle_ns;
    if (!affordable) {
        WORKER_COUNT(worker, parks, 1);
        park_doze(worker, word, price_ns == UINT64_MAX ? 0 : price_ns - idle_ns);
    }
    uint32_t state = PARK_PARKED;
    if (at_cas(&worker->park.state, &state, PARK_AWAKE)) {
        at_sub(&node->parked, 1);
        if (affordable) {
            park_search_begin(worker, true);
        }
        return;
    }
    at_store(&worker->park.state, PARK_AWAKE);
    worker->searching = true; /* the waker counted us */
    worker->search_since_ns = worker->now_ns;
    worker->search_pauses = 1;
}
