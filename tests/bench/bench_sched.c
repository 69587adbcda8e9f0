/* What the dispatcher costs: nanoseconds per range or per morsel, the least and the median of many
 * rounds short enough to fall between two turns of other processes.
 * Usage: bench_sched [smoke]; `smoke` runs a few rounds, for life signs only. */
#include "bench_sample.h"
#include "bench_sched_steal.h"
#include "exec/sched_probe_topology.h"
#include "sched/deque.h"
#include "sched/sched.h"

#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUND_RANGES = 20000, THIEF_RANGES = 200 };
static int rounds = SAMPLE_ROUNDS_MAX;

/* ---- the deque alone ------------------------------------------------------------------------ */

static struct deque deque;

static void bench_deque(void)
{
    struct sample pop = {.count = 0}, steal = {.count = 0};
    struct sched_range range = {.begin = 1, .end = 2};
    for (int round = 0; round < rounds; round++) {
        uint64_t start_ns = sample_now_ns();
        for (int i = 0; i < ROUND_RANGES; i++) {
            deque_push(&deque, &range);
            deque_pop(&deque, &range);
        }
        sample_add(&pop, start_ns, 1.0 / ROUND_RANGES);
        start_ns = sample_now_ns();
        for (int i = 0; i < ROUND_RANGES; i++) {
            deque_push(&deque, &range);
            deque_steal(&deque, &range);
        }
        sample_add(&steal, start_ns, 1.0 / ROUND_RANGES);
    }
    sample_report("deque: push and pop, nobody else", &pop);
    sample_report("deque: push and steal, one thread", &steal);
}

/* ---- the deque beside others ---------------------------------------------------------------- */

enum thief_mode { THIEF_TRIES, THIEF_TAKES, THIEF_GOES };
static _Atomic int thief_mode;
static struct sample thief_took; /* the thief's own until it is joined */
static _Atomic bool thief_took_all;

/* Tries all the time; in mode THIEF_TAKES it times rounds of ranges that it got. */
static void *thief_main(void *argument)
{
    uint64_t *stolen = argument, round_stolen = 0, start_ns = sample_now_ns();
    struct sched_range range;
    while (thief_mode != THIEF_GOES) {
        if (deque_steal(&deque, &range) != DEQUE_STOLEN) {
            continue;
        }
        ++*stolen;
        if (thief_mode == THIEF_TAKES && ++round_stolen == THIEF_RANGES) {
            if (thief_took.count < rounds) {
                sample_add(&thief_took, start_ns, 1.0 / THIEF_RANGES);
            }
            thief_took_all = thief_took.count == rounds;
            round_stolen = 0;
            start_ns = sample_now_ns();
        }
    }
    return NULL;
}

static void bench_contended(void)
{
    struct sample own = {.count = 0};
    struct sched_range range = {.begin = 1, .end = 2};
    uint64_t stolen = 0;
    pthread_t thief;

    thief_mode = THIEF_TRIES;
    pthread_create(&thief, NULL, thief_main, &stolen);
    for (int round = 0; round < rounds; round++) {
        const uint64_t start_ns = sample_now_ns();
        for (int i = 0; i < ROUND_RANGES; i++) {
            deque_push(&deque, &range);
            deque_pop(&deque, &range);
        }
        sample_add(&own, start_ns, 1.0 / ROUND_RANGES);
    }
    sample_report("deque: push and pop beside a thief on another core", &own);
    /* Now the owner keeps it full, and every range goes to the other core. */
    thief_mode = THIEF_TAKES;
    const uint64_t end_ns = sample_now_ns() + (uint64_t)rounds * 4000000;
    while (!thief_took_all && sample_now_ns() < end_ns) {
        for (int i = 0; i < 100; i++) {
            deque_push(&deque, &range);
        }
    }
    thief_mode = THIEF_GOES;
    pthread_join(thief, NULL);
    while (deque_pop(&deque, &range)) {
    }
    if (thief_took.count > 0) {
        sample_report("deque: stolen by another core, its owner pushing", &thief_took);
    }
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
    struct sample sample = {.count = 0};
    uint64_t steals = 0;

    probe_topology(&topology, 1, 2);
    const struct sched_config config = {
        .topology = &topology, .workers = workers, .policy = policy, .seed = 1};
    if (sched_create(&config, &sched) != 0) {
        printf("cannot start %u workers\n", workers);
        return;
    }
    for (int round = 0; round < rounds; round++) {
        struct sched_job job = {.owner = NULL};
        struct sched_pipeline pipeline = {.ops = &empty_ops, .job = &job, .unit_fixed = 1};
        const uint64_t units = ROUND_RANGES;
        sched_job_init(sched, &job);
        const uint64_t start = sample_now_ns();
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
        sample_add(&sample, start, (double)workers / (double)units);
        steals += job.steals;
    }
    sched_destroy(sched);
    sample_report(what, &sample);
    if (steals > 0) {
        printf("    (%" PRIu64 " steals)\n", steals);
    }
}

/* From a start to its finish() with every worker asleep. */
static void bench_wake(void)
{
    static struct nu_topology topology;
    struct sched *sched;
    struct sample sample = {.count = 0};
    probe_topology(&topology, 1, 2);
    const struct sched_config config = {
        .topology = &topology, .workers = 2, .policy = EXEC_POLICY_NUMA, .seed = 1};
    if (sched_create(&config, &sched) != 0) {
        return;
    }
    for (int i = 0; i < rounds; i++) {
        struct sched_job job = {.owner = NULL};
        struct sched_pipeline pipeline = {.ops = &empty_ops, .job = &job};
        const struct timespec nap = {.tv_nsec = 300000};
        nanosleep(&nap, NULL);
        sched_job_init(sched, &job);
        const uint64_t start = sample_now_ns();
        sched_pipeline_start(&pipeline, NULL, 0);
        sem_wait(&finished);
        sample_add(&sample, start, 1);
    }
    sched_destroy(sched);
    sample_report("start to finish of nothing, workers asleep", &sample);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "smoke") == 0) {
        rounds = 3;
    }
    sem_init(&finished, 0, 0);
    bench_deque();
    bench_contended();
    bench_stolen_morsel(rounds);
    bench_dispatch("morsel from the own deque, 1 worker", 1, EXEC_POLICY_NUMA, UINT32_MAX);
    bench_dispatch("morsel, 2 workers, one range", 2, EXEC_POLICY_NUMA, UINT32_MAX);
    bench_dispatch("morsel from one shared queue, 1 worker", 1, EXEC_POLICY_SHARED, UINT32_MAX);
    bench_dispatch("morsel from one shared queue, 2 workers", 2, EXEC_POLICY_SHARED, UINT32_MAX);
    bench_dispatch("range of one morsel, queued and taken, 1 worker", 1, EXEC_POLICY_NUMA, 1);
    bench_wake();
    return 0;
}
