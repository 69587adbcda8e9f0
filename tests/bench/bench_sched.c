/* What the dispatcher costs: nanoseconds per range or per morsel, best of ROUNDS.
 * Usage: bench_sched [smoke]; `smoke` runs a hundredth, for life signs only. */
#include "exec/sched_probe_topology.h"
#include "sched/deque.h"
#include "sched/sched.h"

#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 5 };
static uint64_t scale = 100;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void report(const char *what, double best_ns)
{
    printf("%-52s %8.1f ns\n", what, best_ns);
}

/* ---- the deque alone ------------------------------------------------------------------------ */

static struct deque deque;

static void bench_deque(void)
{
    const uint64_t count = scale * 20000;
    double pop_best = 1e18, steal_best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        struct sched_range range = {.begin = 1, .end = 2};
        uint64_t start = now_ns();
        for (uint64_t i = 0; i < count; i++) {
            deque_push(&deque, &range);
            deque_pop(&deque, &range);
        }
        const double pop = (double)(now_ns() - start) / (double)count;
        start = now_ns();
        for (uint64_t i = 0; i < count; i++) {
            deque_push(&deque, &range);
            deque_steal(&deque, &range);
        }
        const double steal = (double)(now_ns() - start) / (double)count;
        pop_best = pop < pop_best ? pop : pop_best;
        steal_best = steal < steal_best ? steal : steal_best;
    }
    report("deque: push and pop, nobody else", pop_best);
    report("deque: push and steal, one thread", steal_best);
}

static _Atomic bool thief_over;

static void *thief_main(void *argument)
{
    uint64_t *stolen = argument;
    struct sched_range range;
    while (!thief_over) {
        *stolen += deque_steal(&deque, &range) == DEQUE_STOLEN;
    }
    return NULL;
}

static void bench_contended(void)
{
    const uint64_t count = scale * 5000;
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thief;
        uint64_t stolen = 0;
        struct sched_range range = {.begin = 1, .end = 2};
        thief_over = false;
        pthread_create(&thief, NULL, thief_main, &stolen);
        const uint64_t start = now_ns();
        for (uint64_t i = 0; i < count; i++) {
            deque_push(&deque, &range);
            deque_pop(&deque, &range);
        }
        const double each = (double)(now_ns() - start) / (double)count;
        thief_over = true;
        pthread_join(thief, NULL);
        while (deque_pop(&deque, &range)) {
        }
        best = each < best ? each : best;
    }
    report("deque: push and pop beside one thief", best);
}

/* ---- the whole dispatcher ------------------------------------------------------------------- */

static sem_t finished;

static enum sched_outcome empty_run(struct sched_pipeline *pipeline, uint32_t worker,
                                    struct sched_range *range, uint64_t unit_target)
{
    (void)pipeline, (void)worker;
    range->begin +=
        range->end - range->begin < unit_target ? range->end - range->begin : unit_target;
    return SCHED_RAN;
}

static void post_finished(struct sched_pipeline *pipeline, uint32_t worker)
{
    (void)pipeline, (void)worker;
    sem_post(&finished);
}

static const struct sched_pipeline_ops empty_ops = {
    .name = "empty", .run = empty_run, .finish = post_finished};

/* ranges of range_units each; morsels of one unit. Time per morsel and worker. */
static void bench_dispatch(const char *what, uint32_t workers, enum exec_policy policy,
                           uint64_t range_units)
{
    static struct nu_topology topology;
    struct sched *sched;
    double best = 1e18;
    uint64_t steals = 0;

    probe_topology(&topology, 1, 2);
    const struct sched_config config = {
        .topology = &topology, .workers = workers, .policy = policy, .seed = 1};
    if (sched_create(&config, &sched) != 0) {
        printf("cannot start %u workers\n", workers);
        return;
    }
    for (int round = 0; round < ROUNDS; round++) {
        struct sched_job job = {.owner = NULL};
        struct sched_pipeline pipeline = {.ops = &empty_ops, .job = &job, .unit_fixed = 1};
        const uint64_t units = scale * 10000;
        sched_job_init(sched, &job);
        const uint64_t start = now_ns();
        sched_pipeline_open(&pipeline);
        for (uint64_t begin = 0; begin < units; begin += range_units) {
            const struct sched_range range = {
                .begin = begin,
                .end = begin + range_units < units ? begin + range_units : units,
                .pipeline = &pipeline};
            sched_pipeline_add(&pipeline, &range);
        }
        sched_pipeline_close(&pipeline);
        sem_wait(&finished);
        const double each = (double)(now_ns() - start) * workers / (double)units;
        best = each < best ? each : best;
        steals += job.steals;
    }
    sched_destroy(sched);
    report(what, best);
    if (steals > 0) {
        printf("    (%" PRIu64 " steals)\n", steals);
    }
}

/* From a start to its finish() with every worker asleep. */
static void bench_wake(void)
{
    static struct nu_topology topology;
    struct sched *sched;
    uint64_t best = UINT64_MAX;
    probe_topology(&topology, 1, 2);
    const struct sched_config config = {
        .topology = &topology, .workers = 2, .policy = EXEC_POLICY_NUMA, .seed = 1};
    if (sched_create(&config, &sched) != 0) {
        return;
    }
    for (uint64_t i = 0; i < scale; i++) {
        struct sched_job job = {.owner = NULL};
        struct sched_pipeline pipeline = {.ops = &empty_ops, .job = &job};
        const struct timespec nap = {.tv_nsec = 300000};
        nanosleep(&nap, NULL);
        sched_job_init(sched, &job);
        const uint64_t start = now_ns();
        sched_pipeline_start(&pipeline, NULL, 0);
        sem_wait(&finished);
        const uint64_t took = now_ns() - start;
        best = took < best ? took : best;
    }
    sched_destroy(sched);
    report("start to finish of nothing, workers asleep", (double)best);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "smoke") == 0) {
        scale = 1;
    }
    sem_init(&finished, 0, 0);
    bench_deque();
    bench_contended();
    bench_dispatch("morsel from the own deque, 1 worker", 1, EXEC_POLICY_NUMA, UINT32_MAX);
    bench_dispatch("morsel, 2 workers, one range", 2, EXEC_POLICY_NUMA, UINT32_MAX);
    bench_dispatch("morsel from one shared queue, 1 worker", 1, EXEC_POLICY_SHARED, UINT32_MAX);
    bench_dispatch("morsel from one shared queue, 2 workers", 2, EXEC_POLICY_SHARED, UINT32_MAX);
    bench_dispatch("range of one morsel, queued and taken, 1 worker", 1, EXEC_POLICY_NUMA, 1);
    bench_wake();
    return 0;
}
