#ifndef TESTS_EXEC_SCHED_PROBE_H
#define TESTS_EXEC_SCHED_PROBE_H

/* A pipeline that counts how often each of its units is run or dropped, blocks at random, keeps its
 * parked ranges and gives them back from a thread of its own. */

#include "exec/exec.h"
#include "sched/sched.h"
#include "sched_probe_topology.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PROBE_UNITS_MAX = 1 << 17, PROBE_PARKED_MAX = 1 << 14 };

struct probe_job {
    struct sched_job job;
    _Atomic uint32_t finished; /* pipelines */
    sem_t done;                /* posted by every finish */
};

struct probe {
    struct sched_pipeline pipeline;  /* first */
    uint64_t units, work_ns;         /* work_ns: busy waiting per morsel */
    _Atomic uint32_t block_per_1024; /* chance that a morsel ends blocked */
    uint64_t stop_after;             /* units run until SCHED_STOP; 0: never */
    bool keep_parked;                /* give ranges back only through unpark_all */
    struct probe *then;              /* started by finish, with `then_ranges` */
    struct sched_range then_range;
    _Atomic uint8_t *seen;
    void *seen_memory;
    _Atomic uint64_t run_units, dropped_units;
    _Atomic uint32_t finish_count, inside, inside_max, parks;
    _Atomic uint64_t last_serial;
    _Atomic uint32_t order_errors;
    bool serial;
    pthread_mutex_t lock;
    struct sched_range *parked;
    uint32_t parked_count;
    bool opened; /* parked ranges go on at once: set by unpark_all */
};

static inline uint64_t probe_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline void probe_spin(uint64_t ns)
{
    for (const uint64_t end = probe_now_ns() + ns; ns > 0 && probe_now_ns() < end;) {
    }
}

static inline uint32_t probe_random(void)
{
    static _Thread_local uint64_t state;
    if (state == 0) {
        state = ((uintptr_t)&state * 0x9e3779b97f4a7c15ULL) | 1;
    }
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 20);
}

static enum sched_outcome probe_run(struct sched_pipeline *pipeline, uint32_t worker,
                                    struct sched_range *range, uint64_t unit_target)
{
    struct probe *probe = (struct probe *)pipeline;
    struct probe_job *job = (struct probe_job *)pipeline->job;
    const uint64_t begin = range->begin;
    uint64_t take = range->end - begin < unit_target ? range->end - begin : unit_target;
    enum sched_outcome outcome = SCHED_RAN;

    cr_assert_lt(range->begin, range->end);
    cr_assert_eq(worker, sched_current_worker(job->job.sched));
    const uint32_t inside = atomic_fetch_add(&probe->inside, 1) + 1;
    uint32_t most = atomic_load(&probe->inside_max);
    while (most < inside && !atomic_compare_exchange_weak(&probe->inside_max, &most, inside)) {
    }
    if (range->cursor != NULL) {
        cr_assert_eq(range->cursor, (void *)(uintptr_t)(begin + 1), "a cursor stays with its unit");
        range->cursor = NULL;
        range->unsplit = 0;
    }
    if (probe->block_per_1024 > 0 && probe_random() % 1024 < probe->block_per_1024) {
        take = probe_random() % (take + 1);
        if (take < range->end - begin) {
            outcome = SCHED_BLOCKED;
            range->cursor = (void *)(uintptr_t)(begin + take + 1);
            range->unsplit = 1;
        }
    }
    for (uint64_t unit = begin; unit < begin + take; unit++) {
        atomic_fetch_add_explicit(&probe->seen[unit], 1, memory_order_relaxed);
    }
    if (probe->serial && atomic_exchange(&probe->last_serial, begin + take) != begin) {
        atomic_fetch_add(&probe->order_errors, 1);
    }
    probe_spin(probe->work_ns);
    range->begin += take;
    const uint64_t run = atomic_fetch_add(&probe->run_units, take) + take;
    atomic_fetch_sub(&probe->inside, 1);
    if (probe->stop_after > 0 && run >= probe->stop_after) {
        outcome = SCHED_STOP;
    }
    return outcome;
}

static bool probe_park(struct sched_pipeline *pipeline, uint32_t worker,
                       const struct sched_range *range)
{
    struct probe *probe = (struct probe *)pipeline;
    (void)worker;
    atomic_fetch_add(&probe->parks, 1);
    pthread_mutex_lock(&probe->lock);
    const bool keep = !probe->opened && (probe->keep_parked || probe_random() % 4 != 0);
    if (keep) {
        cr_assert_lt(probe->parked_count, PROBE_PARKED_MAX);
        probe->parked[probe->parked_count++] = *range;
    }
    pthread_mutex_unlock(&probe->lock);
    return keep;
}

/* Gives back up to `count` parked ranges; returns how many. */
static inline uint32_t probe_unpark(struct probe *probe, uint32_t count)
{
    uint32_t given = 0;
    while (given < count) {
        pthread_mutex_lock(&probe->lock);
        struct sched_range range;
        const bool some = probe->parked_count > 0;
        if (some) {
            range = probe->parked[--probe->parked_count];
        }
        pthread_mutex_unlock(&probe->lock);
        if (!some) {
            return given;
        }
        sched_requeue(&range);
        given++;
    }
    return given;
}

static inline uint32_t probe_parked(struct probe *probe)
{
    pthread_mutex_lock(&probe->lock);
    const uint32_t count = probe->parked_count;
    pthread_mutex_unlock(&probe->lock);
    return count;
}

static void probe_unpark_all(struct sched_pipeline *pipeline)
{
    (void)probe_unpark((struct probe *)pipeline, UINT32_MAX);
}

static void probe_drop(struct sched_pipeline *pipeline, const struct sched_range *range)
{
    struct probe *probe = (struct probe *)pipeline;
    for (uint64_t unit = range->begin; unit < range->end; unit++) {
        atomic_fetch_add_explicit(&probe->seen[unit], 1, memory_order_relaxed);
    }
    atomic_fetch_add(&probe->dropped_units, range->end - range->begin);
}

static void probe_finish(struct sched_pipeline *pipeline, uint32_t worker)
{
    struct probe *probe = (struct probe *)pipeline;
    struct probe_job *job = (struct probe_job *)pipeline->job;
    cr_assert_eq(worker, sched_current_worker(job->job.sched));
    cr_assert_eq(atomic_fetch_add(&probe->finish_count, 1), 0, "finish runs once");
    cr_assert_eq(probe->run_units + probe->dropped_units, probe->units, "finish runs last");
    if (probe->then != NULL) {
        sched_pipeline_start(&probe->then->pipeline, &probe->then_range,
                             probe->then_range.pipeline != NULL);
    }
    atomic_fetch_add(&job->finished, 1);
    sem_post(&job->done);
}

static const struct sched_pipeline_ops probe_ops = {.name = "probe",
                                                    .run = probe_run,
                                                    .park = probe_park,
                                                    .unpark_all = probe_unpark_all,
                                                    .drop = probe_drop,
                                                    .finish = probe_finish};

static inline void probe_init(struct probe *probe, struct probe_job *job, uint64_t units)
{
    memset(probe, 0, sizeof *probe);
    probe->pipeline.ops = &probe_ops;
    probe->pipeline.job = &job->job;
    probe->units = units;
    probe->seen_memory = calloc(units + 1, 1);
    probe->seen = probe->seen_memory;
    probe->parked = calloc(PROBE_PARKED_MAX, sizeof *probe->parked);
    pthread_mutex_init(&probe->lock, NULL);
}

static inline void probe_fini(struct probe *probe)
{
    free(probe->seen_memory);
    free(probe->parked);
    pthread_mutex_destroy(&probe->lock);
}

/* Every unit once, run or dropped. */
static inline void probe_check(const struct probe *probe)
{
    cr_assert_eq(probe->finish_count, 1);
    cr_assert_eq(probe->run_units + probe->dropped_units, probe->units);
    for (uint64_t unit = 0; unit < probe->units; unit++) {
        cr_assert_eq(probe->seen[unit], 1, "unit %lu was seen %d times", (unsigned long)unit,
                     (int)probe->seen[unit]);
    }
    cr_assert_eq(probe->order_errors, 0);
}

static inline void probe_job_init(struct probe_job *job, struct sched *sched)
{
    memset(job, 0, sizeof *job);
    sem_init(&job->done, 0, 0);
    sched_job_init(sched, &job->job);
}

/* Waits for `count` finishes; a minute is a lost wake-up. */
static inline void probe_job_wait(struct probe_job *job, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 60;
        int failed;
        do {
            failed = sem_timedwait(&job->done, &until);
        } while (failed != 0 && errno == EINTR);
        cr_assert_eq(failed, 0, "a pipeline does not finish");
    }
}

static inline struct sched *probe_sched(const struct nu_topology *topology, uint32_t workers,
                                        enum exec_policy policy)
{
    struct sched *sched;
    const struct sched_config config = {
        .topology = topology, .workers = workers, .policy = policy, .seed = 42};
    cr_assert_eq(sched_create(&config, &sched), 0);
    return sched;
}

static inline struct exec_worker_counters probe_counters(const struct sched *sched)
{
    struct exec_worker_counters sum = {0}, one;
    for (uint32_t i = 0; i < sched_worker_count(sched); i++) {
        sched_worker_counters(sched, i, &one);
#define WORKER_COUNTER(name, help) sum.name += one.name;
#include "exec/worker_counters.def"
    }
    return sum;
}

#endif
