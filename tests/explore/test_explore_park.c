/* Goal:   no wake-up is lost: in every interleaving of workers that run out of work and somebody
 * who queues some, nobody is left asleep beside it; and the search would notice a protocol that
 * looks too early, or not once more. Method: worker_step and park.c themselves under the explorer
 * (explore.h); in place of queues and deques one count of ranges a node, taken by compare-and-swap.
 */
#include "explore.h"
#include "sched/atomics.h"
#include "sched/dispatcher.h"
#include "sched/morsel_length.h"
#include "sched/pipeline.h"
#include "sched/worker.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { WORKERS_MAX = 3, NODES_MAX = 2 };

static struct sched sched;
static struct worker workers[WORKERS_MAX];
static struct park_node nodes[NODES_MAX];
static uint32_t node_workers[NODES_MAX][WORKERS_MAX];
static _Atomic uint32_t queued[NODES_MAX];
static uint32_t worker_count, node_count, pushes;
static bool sweeps; /* false: going to sleep looks for no work */

/* ---- what worker.c and park.c ask of the rest of exec/sched ------------------------------------
 */

static bool take(uint32_t node)
{
    uint32_t count = at_load(&queued[node]);
    while (count > 0) {
        if (at_cas(&queued[node], &count, count - 1)) {
            return true;
        }
    }
    return false;
}

/* As the real one: own work, else begin to search, and then anywhere. */
enum dispatcher_source dispatcher_next(struct worker *worker, struct sched_range *range_out)
{
    static struct sched_pipeline pipeline;
    *range_out = (struct sched_range){.pipeline = &pipeline}; /* nothing but a finish() */
    if (take(worker->node)) {
        return DISPATCHER_KEEP;
    }
    if (worker->idle_since_ns == 0) {
        worker->idle_since_ns = worker->now_ns;
    }
    if (!worker->searching) {
        park_search_begin(worker, false);
    }
    for (uint32_t node = 0; worker->searching && node < node_count; node++) {
        if (take(node)) {
            return DISPATCHER_KEEP;
        }
    }
    return DISPATCHER_NOTHING;
}

uint64_t steal_cheapest(struct worker *worker)
{
    (void)worker;
    for (uint32_t node = 0; sweeps && node < node_count; node++) {
        if (at_load(&queued[node]) > 0) {
            return 0;
        }
    }
    return UINT64_MAX;
}

void pipeline_finish(struct worker *worker, struct sched_pipeline *pipeline)
{
    (void)worker, (void)pipeline;
}

void dispatcher_leave(struct worker *worker)
{
    (void)worker;
}

/* Never reached: no range has units. */
#define UNREACHED explore_fail("%s was called", __func__)
void pipeline_settle(struct worker *worker, struct sched_pipeline *pipeline, uint64_t units)
{
    (void)worker, (void)pipeline, (void)units;
    UNREACHED;
}

void pipeline_account_settle(struct worker *worker)
{
    (void)worker;
    UNREACHED;
}

void sched_pipeline_stop(struct sched_pipeline *pipeline)
{
    (void)pipeline;
    UNREACHED;
}

bool dispatcher_is_wanted(struct worker *worker, uint64_t run_ns)
{
    (void)worker, (void)run_ns;
    UNREACHED;
    return false;
}

void dispatcher_return(struct worker *worker, const struct sched_range *range)
{
    (void)worker, (void)range;
    UNREACHED;
}

void dispatcher_resume(struct worker *worker, const struct sched_range *range,
                       enum dispatcher_source source)
{
    (void)worker, (void)range, (void)source;
    UNREACHED;
}

void dispatcher_spread(struct worker *worker, struct sched_range *range, uint32_t pieces)
{
    (void)worker, (void)range, (void)pieces;
    UNREACHED;
}

bool deque_pop(struct deque *deque, struct sched_range *range_out)
{
    (void)deque, (void)range_out;
    UNREACHED;
    return false;
}

uint64_t morsel_units(struct worker *worker, struct sched_pipeline *pipeline)
{
    (void)worker, (void)pipeline;
    UNREACHED;
    return 1;
}

void morsel_measure(struct worker *worker, struct sched_pipeline *pipeline, uint64_t target,
                    uint64_t done, uint64_t run_ns)
{
    (void)worker, (void)pipeline, (void)target, (void)done, (void)run_ns;
    UNREACHED;
}

void morsel_cut(struct worker *worker, struct sched_range *range, uint64_t target,
                enum dispatcher_source source)
{
    (void)worker, (void)range, (void)target, (void)source;
    UNREACHED;
}

uint32_t morsel_pieces(const struct sched_range *rest, uint64_t target, uint64_t done,
                       uint64_t run_ns)
{
    (void)rest, (void)target, (void)done, (void)run_ns;
    UNREACHED;
    return 1;
}

void idle_log_write(struct idle_log *log, enum exec_trace_kind kind, uint64_t begin_ns,
                    uint64_t end_ns)
{
    (void)log, (void)kind, (void)begin_ns, (void)end_ns;
}

/* ---- the scenario -----------------------------------------------------------------------------
 */

static void reset(void)
{
    memset(workers, 0, sizeof workers);
    memset(nodes, 0, sizeof nodes);
    atomic_init(&queued[0], 0);
    atomic_init(&queued[1], 0);
    sched = (struct sched){
        .worker_count = worker_count, .node_count = node_count, .nodes = nodes, .workers = workers};
    for (uint32_t i = 0; i < worker_count; i++) {
        struct park_node *node = &nodes[i % node_count];
        workers[i].sched = &sched;
        workers[i].index = i;
        workers[i].node = i % node_count;
        node->workers = node_workers[i % node_count];
        node->workers[node->worker_count++] = i;
        node->searching_max = (int32_t)(node->worker_count + 1) / 2;
    }
}

/* Steps for ever; every run ends with it asleep. */
static void worker_thread(void)
{
    struct worker *worker = &workers[explore_self()];
    rt_set_self(worker);
    worker->now_ns = rt_now_ns();
    for (;;) {
        worker_step(worker);
        /* A search ends at the reading of the clock after its first. */
        const bool first = worker->now_ns == worker->search_since_ns;
        explore_forget(!worker->searching ? 0 : first ? 1 : 2);
    }
}

static void pusher(void)
{
    for (uint32_t i = 0; i < pushes; i++) {
        const uint32_t node = i % node_count;
        at_add(&queued[node], 1); /* as inject_push */
        park_signal(&sched, node, true);
    }
}

static void check_nothing_left(void)
{
    for (uint32_t node = 0; node < node_count; node++) {
        if (atomic_load(&queued[node]) != 0) {
            explore_fail("everybody sleeps beside %u ranges", atomic_load(&queued[node]));
        }
        if (nodes[node].searching != 0) {
            explore_fail("everybody sleeps and %d are said to search", nodes[node].searching);
        }
    }
}

static struct explore_result run(uint32_t of_workers, uint32_t of_nodes, uint32_t of_pushes,
                                 uint32_t preemptions_max, unsigned mutations)
{
    struct explore_scenario scenario = {.reset = reset,
                                        .thread_count = of_workers + 1,
                                        .check_end = check_nothing_left,
                                        .mutations = mutations,
                                        .preemptions_max = preemptions_max,
                                        .relaxed_is_plain = true};
    static struct explore_result result;
    worker_count = of_workers;
    node_count = of_nodes;
    pushes = of_pushes;
    for (uint32_t i = 0; i < of_workers; i++) {
        scenario.threads[i] = worker_thread;
    }
    scenario.threads[of_workers] = pusher;
    explore(&scenario, &result);
    printf("%u workers on %u nodes, %u pushes, %u preemptions (0: any), mutations %u: %lu states, "
           "%lu ends%s%s\n",
           of_workers, of_nodes, of_pushes, preemptions_max, mutations,
           (unsigned long)result.states, (unsigned long)result.ends,
           result.failure[0] != '\0' ? ", " : "", result.failure);
    return result;
}

static void holds(uint32_t of_workers, uint32_t of_nodes, uint32_t of_pushes,
                  uint32_t preemptions_max)
{
    sweeps = true;
    const struct explore_result result =
        run(of_workers, of_nodes, of_pushes, preemptions_max, EXPLORE_SOUND);
    cr_assert_str_empty(result.failure, "%s\n%s", result.failure, result.trace);
    cr_assert_gt(result.ends, 1);
}

Test(explore_park, one_worker)
{
    holds(1, 1, 1, 0);
    holds(1, 1, 2, 0);
}

Test(explore_park, two_workers)
{
    holds(2, 1, 1, 4);
    holds(2, 1, 2, 3);
}

Test(explore_park, two_nodes)
{
    holds(2, 2, 1, 4);
    holds(2, 2, 2, 3);
}

/* Work that is not visible before its pusher looks for sleepers. */
Test(explore_park, finds_a_missing_fence)
{
    sweeps = true;
    cr_assert_str_not_empty(run(1, 1, 1, 0, EXPLORE_ADDS_WEAK).failure);
}

Test(explore_park, finds_a_sleep_that_does_not_look_once_more)
{
    sweeps = true;
    cr_assert_str_not_empty(run(1, 1, 1, 0, EXPLORE_PARK_BLIND).failure);
}

Test(explore_park, finds_a_missing_sweep)
{
    sweeps = false;
    cr_assert_str_not_empty(run(1, 1, 1, 0, EXPLORE_SOUND).failure);
}
