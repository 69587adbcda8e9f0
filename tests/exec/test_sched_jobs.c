/* Goal:   many jobs share the workers: slots, caps, fairness, priorities, sleep and wake.
 * Method: probes of known work; shares are compared with wide bounds, because the machine may be
 * loaded; what must be exact (caps, units, finishes) is exact. */
#include "sched_probe.h"

#include <sys/resource.h>

static struct nu_topology topology;

static uint64_t cpu_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

static void start_all(struct probe *probe, uint16_t node)
{
    const struct sched_range range = {
        .begin = 0, .end = probe->units, .pipeline = &probe->pipeline, .node = node};
    sched_pipeline_start(&probe->pipeline, &range, 1);
}

enum { JOBS = 1500 };
static struct probe_job jobs[JOBS];
static struct probe probes[JOBS];

/* Far more jobs than slots, all runnable at once. */
Test(sched_jobs, more_jobs_than_slots)
{
    probe_topology(&topology, 2, 2);
    struct sched *sched = probe_sched(&topology, 3, EXEC_POLICY_NUMA);
    for (uint32_t i = 0; i < JOBS; i++) {
        probe_job_init(&jobs[i], sched);
        jobs[i].job.policy = (enum exec_policy)(i % 5);
        probe_init(&probes[i], &jobs[i], 100);
        probes[i].pipeline.unit_fixed = 10;
        start_all(&probes[i], (uint16_t)(i % 2));
    }
    for (uint32_t i = 0; i < JOBS; i++) {
        probe_job_wait(&jobs[i], 1);
        probe_check(&probes[i]);
        probe_fini(&probes[i]);
    }
    sched_destroy(sched);
}

/* Parked jobs hold no slot and no worker: a later job runs, then all come back. */
Test(sched_jobs, parked_jobs_hold_nothing)
{
    probe_topology(&topology, 1, 2);
    struct sched *sched = probe_sched(&topology, 2, EXEC_POLICY_NUMA);
    for (uint32_t i = 0; i < JOBS; i++) {
        probe_job_init(&jobs[i], sched);
        probe_init(&probes[i], &jobs[i], 50);
        probes[i].block_per_1024 = 1024;
        probes[i].keep_parked = true;
        start_all(&probes[i], 0);
    }
    struct probe_job late_job;
    struct probe late;
    probe_job_init(&late_job, sched);
    probe_init(&late, &late_job, 10000);
    start_all(&late, 0);
    probe_job_wait(&late_job, 1);
    probe_check(&late);
    probe_fini(&late);
    /* Once all have parked or ended the workers sleep. */
    for (uint32_t i = 0; i < JOBS; i++) {
        while (probe_parked(&probes[i]) == 0 && jobs[i].finished == 0) {
            probe_spin(100000);
        }
    }
    probe_spin(20000000);
    const uint64_t before_ns = cpu_ns();
    const struct timespec nap = {.tv_nsec = 200000000};
    nanosleep(&nap, NULL);
    cr_assert_lt(cpu_ns() - before_ns, 20000000);
    uint32_t parked = 0;
    for (uint32_t i = 0; i < JOBS; i++) {
        parked += probe_parked(&probes[i]);
        probes[i].block_per_1024 = 0;
    }
    cr_assert_gt(parked, JOBS / 2);
    for (uint32_t i = 0; i < JOBS; i++) {
        probe_unpark(&probes[i], UINT32_MAX);
    }
    for (uint32_t i = 0; i < JOBS; i++) {
        probe_job_wait(&jobs[i], 1);
        probe_check(&probes[i]);
        probe_fini(&probes[i]);
    }
    sched_destroy(sched);
}

/* Runs two endless jobs for a while; the share of the first in their worker time, in per cent. */
static uint32_t share_of_first(struct sched *sched, int32_t first_priority, uint64_t time_ns)
{
    for (uint32_t i = 0; i < 2; i++) {
        probe_job_init(&jobs[i], sched);
        jobs[i].job.priority = i == 0 ? first_priority : 0;
        probe_init(&probes[i], &jobs[i], PROBE_UNITS_MAX);
        probes[i].pipeline.unit_fixed = 1;
        probes[i].work_ns = 300000;
        start_all(&probes[i], 0);
    }
    const struct timespec nap = {.tv_nsec = (long)time_ns};
    nanosleep(&nap, NULL);
    /* Worker time, not units: on a loaded machine a morsel may be off its core for a while. */
    const uint64_t first = jobs[0].job.busy_ns / 1000, second = jobs[1].job.busy_ns / 1000;
    for (uint32_t i = 0; i < 2; i++) {
        sched_job_cancel(&jobs[i].job);
        probe_job_wait(&jobs[i], 1);
        probe_check(&probes[i]);
        probe_fini(&probes[i]);
    }
    cr_assert_gt(first + second, 50);
    return (uint32_t)(100 * first / (first + second));
}

Test(sched_jobs, two_long_jobs_share)
{
    probe_topology(&topology, 1, 2);
    for (uint32_t workers = 1; workers <= 4; workers *= 2) {
        struct sched *sched = probe_sched(&topology, workers, EXEC_POLICY_NUMA);
        const uint32_t share = share_of_first(sched, 0, 300000000);
        cr_assert(share >= 30 && share <= 70, "%u workers: %u %%", workers, share);
        sched_destroy(sched);
    }
}

Test(sched_jobs, priority_weighs)
{
    probe_topology(&topology, 1, 2);
    struct sched *sched = probe_sched(&topology, 2, EXEC_POLICY_NUMA);
    /* 1.25 ^ 5 is 3.05: three quarters. */
    const uint32_t share = share_of_first(sched, 5, 400000000);
    cr_assert(share >= 65 && share <= 85, "%u %%", share);
    sched_destroy(sched);
}

/* A short job beside a long one is not held up for the long one's rest. */
Test(sched_jobs, short_job_beside_a_long_one)
{
    probe_topology(&topology, 1, 2);
    struct sched *sched = probe_sched(&topology, 2, EXEC_POLICY_NUMA);
    struct probe_job short_job;
    struct probe brief;
    probe_job_init(&jobs[0], sched);
    probe_init(&probes[0], &jobs[0], PROBE_UNITS_MAX);
    probes[0].pipeline.unit_fixed = 1;
    probes[0].work_ns = 500000;
    start_all(&probes[0], 0);
    probe_spin(50000000);
    uint64_t best_ns = UINT64_MAX;
    for (uint32_t i = 0; i < 10; i++) {
        probe_job_init(&short_job, sched);
        probe_init(&brief, &short_job, 20);
        brief.pipeline.unit_fixed = 1;
        brief.work_ns = 200000; /* 2 ms on two workers */
        const uint64_t start_ns = probe_now_ns();
        start_all(&brief, 0);
        probe_job_wait(&short_job, 1);
        const uint64_t took_ns = probe_now_ns() - start_ns;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
        probe_check(&brief);
        probe_fini(&brief);
    }
    cr_assert_lt(best_ns, 40000000);
    sched_job_cancel(&jobs[0].job);
    probe_job_wait(&jobs[0], 1);
    probe_check(&probes[0]);
    probe_fini(&probes[0]);
    sched_destroy(sched);
}

Test(sched_jobs, worker_cap_is_held)
{
    probe_topology(&topology, 2, 4);
    for (uint32_t policy = EXEC_POLICY_NUMA; policy <= EXEC_POLICY_STATIC; policy++) {
        for (uint32_t cap = 1; cap <= 3; cap++) {
            struct sched *sched = probe_sched(&topology, 8, (enum exec_policy)policy);
            probe_job_init(&jobs[0], sched);
            probe_job_init(&jobs[1], sched);
            jobs[0].job.workers_max = cap;
            for (uint32_t i = 0; i < 2; i++) {
                probe_init(&probes[i], &jobs[i], 3000);
                probes[i].pipeline.unit_fixed = 20;
                probes[i].work_ns = 20000;
                start_all(&probes[i], 1);
            }
            for (uint32_t i = 0; i < 2; i++) {
                probe_job_wait(&jobs[i], 1);
                probe_check(&probes[i]);
                probe_fini(&probes[i]);
            }
            cr_assert_leq(probes[0].inside_max, cap);
            sched_destroy(sched);
        }
    }
}

/* All rows on node 0 of two: the worker of node 1 steals, and figures add up to the input. */
Test(sched_jobs, skewed_start_is_stolen)
{
    probe_topology(&topology, 2, 1);
    struct sched *sched = probe_sched(&topology, 2, EXEC_POLICY_NUMA);
    cr_assert_neq(sched_worker_node(sched, 0), sched_worker_node(sched, 1));
    probe_job_init(&jobs[0], sched);
    probe_init(&probes[0], &jobs[0], 40000);
    probes[0].pipeline.unit_fixed = 100;
    probes[0].work_ns = 200000;
    start_all(&probes[0], 0);
    probe_job_wait(&jobs[0], 1);
    probe_check(&probes[0]);
    struct exec_worker_counters one;
    sched_worker_counters(sched, 1, &one);
    const struct exec_worker_counters sum = probe_counters(sched);
    cr_assert_eq(sum.rows_local + sum.rows_remote, 40000);
    cr_assert_gt(sum.steals_remote, 0);
    cr_assert_gt(sum.rows_remote, 0);
    cr_assert_eq(one.rows_local, 0);
    cr_assert_eq(one.rows_remote, sum.rows_remote);
    cr_assert_eq(jobs[0].job.morsels, sum.morsels_local + sum.morsels_remote);
    cr_assert_eq(jobs[0].job.morsels_remote, sum.morsels_remote);
    cr_assert_eq(jobs[0].job.steals, sum.steals_remote);
    probe_fini(&probes[0]);
    sched_destroy(sched);
}

Test(sched_jobs, static_never_steals)
{
    probe_topology(&topology, 2, 1);
    struct sched *sched = probe_sched(&topology, 2, EXEC_POLICY_STATIC);
    probe_job_init(&jobs[0], sched);
    probe_init(&probes[0], &jobs[0], 4000);
    probes[0].pipeline.unit_fixed = 100;
    probes[0].work_ns = 50000;
    start_all(&probes[0], 0);
    probe_job_wait(&jobs[0], 1);
    probe_check(&probes[0]);
    for (uint32_t i = 0; i < 2; i++) {
        struct exec_worker_counters one;
        sched_worker_counters(sched, i, &one);
        cr_assert_eq(one.rows_local + one.rows_remote, 2000);
        cr_assert_eq(one.steals_smt + one.steals_l3 + one.steals_node + one.steals_remote, 0);
    }
    probe_fini(&probes[0]);
    sched_destroy(sched);
}

/* Workers sleep between tiny jobs: each start must wake one. */
Test(sched_jobs, no_wake_up_is_lost)
{
    probe_topology(&topology, 2, 2);
    for (uint32_t policy = EXEC_POLICY_NUMA; policy <= EXEC_POLICY_STATIC; policy++) {
        struct sched *sched = probe_sched(&topology, 4, (enum exec_policy)policy);
        for (uint32_t round = 0; round < 600; round++) {
            probe_job_init(&jobs[0], sched);
            probe_init(&probes[0], &jobs[0], 3);
            probes[0].pipeline.unit_fixed = 1;
            start_all(&probes[0], (uint16_t)(round % 2));
            probe_job_wait(&jobs[0], 1);
            probe_fini(&probes[0]);
            probe_spin(probe_random() % 60000);
        }
        sched_destroy(sched);
    }
}

Test(sched_jobs, idle_workers_sleep)
{
    probe_topology(&topology, 2, 4);
    struct sched *sched = probe_sched(&topology, 8, EXEC_POLICY_NUMA);
    probe_job_init(&jobs[0], sched);
    probe_init(&probes[0], &jobs[0], 1000);
    start_all(&probes[0], 0);
    probe_job_wait(&jobs[0], 1);
    probe_fini(&probes[0]);
    const struct timespec settle = {.tv_nsec = 30000000}, nap = {.tv_nsec = 400000000};
    nanosleep(&settle, NULL);
    const uint64_t before_ns = cpu_ns();
    nanosleep(&nap, NULL);
    cr_assert_lt(cpu_ns() - before_ns, 8000000);
    cr_assert(sched_alive(sched, 1000000));
    sched_destroy(sched);
}

Test(sched_jobs, a_stuck_morsel_is_seen)
{
    probe_topology(&topology, 1, 2);
    struct sched *sched = probe_sched(&topology, 2, EXEC_POLICY_NUMA);
    probe_job_init(&jobs[0], sched);
    probe_init(&probes[0], &jobs[0], 1);
    probes[0].work_ns = 500000000;
    start_all(&probes[0], 0);
    while (sched_alive(sched, 10000000)) { /* the unit is run once: if it is not seen, no end */
        const struct timespec nap = {.tv_nsec = 1000000};
        nanosleep(&nap, NULL);
    }
    cr_assert(sched_alive(sched, 10000000000));
    probe_job_wait(&jobs[0], 1);
    probe_fini(&probes[0]);
    sched_destroy(sched);
}

Test(sched_jobs, creation_refuses_nonsense)
{
    struct sched *sched;
    probe_topology(&topology, 1, 1);
    struct sched_config config = {.topology = &topology, .workers = 0, .policy = EXEC_POLICY_NUMA};
    cr_assert_eq(sched_create(&config, &sched), -EINVAL);
    config.workers = 1;
    config.policy = EXEC_POLICY_DEFAULT;
    cr_assert_eq(sched_create(&config, &sched), -EINVAL);
}
