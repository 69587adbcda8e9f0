/* Goal:   every unit of every pipeline is run or dropped exactly once and finish() runs exactly
 * once and last, whatever the number of workers, the policy, and whoever blocks, stops or cancels.
 * Method: probes (sched_probe.h) count units; sizes and moments are random; real threads, so the
 *         sanitizer presets run the same. */
#include "sched_probe.h"

static struct nu_topology topology;

static const enum exec_policy policies[] = {EXEC_POLICY_NUMA, EXEC_POLICY_STEAL, EXEC_POLICY_SHARED,
                                            EXEC_POLICY_STATIC};
static const uint32_t worker_counts[] = {1, 2, 3, 8};

#define EACH_POLICY_AND_COUNT(policy, workers)                                           \
    for (uint32_t p_ = 0; p_ < 4; p_++)                                                  \
        for (uint32_t w_ = 0; w_ < 4; w_++)                                              \
            for (uint32_t once_ = 1, workers = worker_counts[w_]; once_ == 1; once_ = 0) \
                for (enum exec_policy policy = policies[p_]; once_ == 1; once_ = 0)

/* Cuts [0, units) into ranges on random nodes. */
static uint32_t cut(struct probe *probe, struct sched_range *ranges, uint32_t max, uint32_t nodes)
{
    uint64_t begin = 0;
    uint32_t count = 0;
    while (begin < probe->units) {
        const uint64_t left = probe->units - begin;
        const uint64_t size = count + 1 == max ? left : 1 + probe_random() % left;
        ranges[count++] = (struct sched_range){.begin = begin,
                                               .end = begin + size,
                                               .pipeline = &probe->pipeline,
                                               .node = (uint16_t)(probe_random() % nodes)};
        begin += size;
    }
    return count;
}

Test(sched, every_unit_once)
{
    probe_topology(&topology, 2, 4);
    EACH_POLICY_AND_COUNT(policy, workers)
    {
        struct sched *sched = probe_sched(&topology, workers, policy);
        for (uint32_t round = 0; round < 12; round++) {
            struct probe_job job;
            struct probe probe;
            struct sched_range ranges[8];
            probe_job_init(&job, sched);
            probe_init(&probe, &job, 1 + probe_random() % 60000);
            probe.pipeline.unit_hint = 100;
            probe.pipeline.unit_fixed = round % 3 == 0 ? 1 + probe_random() % 500 : 0;
            probe.work_ns = round % 2 * 5000;
            sched_pipeline_start(&probe.pipeline, ranges, cut(&probe, ranges, 8, 2));
            probe_job_wait(&job, 1);
            probe_check(&probe);
            cr_assert_eq(probe.dropped_units, 0);
            probe_fini(&probe);
        }
        const struct exec_worker_counters sum = probe_counters(sched);
        cr_assert_gt(sum.rows_local + sum.rows_remote, 0);
        sched_destroy(sched);
    }
}

Test(sched, zero_ranges_finish_on_a_worker)
{
    probe_topology(&topology, 1, 2);
    EACH_POLICY_AND_COUNT(policy, workers)
    {
        struct sched *sched = probe_sched(&topology, workers, policy);
        struct probe_job job;
        struct probe first, second;
        probe_job_init(&job, sched);
        probe_init(&first, &job, 0);
        probe_init(&second, &job, 100);
        first.then = &second;
        first.then_range =
            (struct sched_range){.begin = 0, .end = 100, .pipeline = &second.pipeline};
        sched_pipeline_start(&first.pipeline, NULL, 0);
        probe_job_wait(&job, 2);
        probe_check(&first);
        probe_check(&second);
        probe_fini(&first);
        probe_fini(&second);
        sched_destroy(sched);
    }
}

struct requeuer {
    struct probe *probes;
    uint32_t count;
    _Atomic bool stop;
};

static void *requeue(void *argument)
{
    struct requeuer *requeuer = argument;
    while (!atomic_load(&requeuer->stop)) {
        uint32_t given = 0;
        for (uint32_t i = 0; i < requeuer->count; i++) {
            given += probe_unpark(&requeuer->probes[i], 1 + probe_random() % 3);
        }
        if (given == 0) {
            const struct timespec pause = {.tv_nsec = 20000};
            nanosleep(&pause, NULL);
        }
    }
    return NULL;
}

Test(sched, blocked_ranges_come_back_from_another_thread)
{
    probe_topology(&topology, 2, 2);
    EACH_POLICY_AND_COUNT(policy, workers)
    {
        struct sched *sched = probe_sched(&topology, workers, policy);
        struct probe_job job;
        struct probe probes[3];
        struct sched_range ranges[8];
        struct requeuer requeuer = {.probes = probes, .count = 3};
        pthread_t thread;
        probe_job_init(&job, sched);
        for (uint32_t i = 0; i < 3; i++) {
            probe_init(&probes[i], &job, 20000);
            probes[i].block_per_1024 = 300 + 300 * i;
            probes[i].pipeline.unit_fixed = 200;
            sched_pipeline_start(&probes[i].pipeline, ranges, cut(&probes[i], ranges, 8, 2));
        }
        pthread_create(&thread, NULL, requeue, &requeuer);
        probe_job_wait(&job, 3);
        atomic_store(&requeuer.stop, true);
        pthread_join(thread, NULL);
        uint32_t parks = 0;
        for (uint32_t i = 0; i < 3; i++) {
            probe_check(&probes[i]);
            cr_assert_eq(probes[i].dropped_units, 0);
            parks += probes[i].parks;
            probe_fini(&probes[i]);
        }
        cr_assert_gt(parks, 0);
        sched_destroy(sched);
    }
}

Test(sched, cancel_at_any_moment)
{
    probe_topology(&topology, 2, 4);
    EACH_POLICY_AND_COUNT(policy, workers)
    {
        struct sched *sched = probe_sched(&topology, workers, policy);
        for (uint32_t round = 0; round < 30; round++) {
            struct probe_job job;
            struct probe probes[2];
            struct sched_range ranges[8];
            probe_job_init(&job, sched);
            for (uint32_t i = 0; i < 2; i++) {
                probe_init(&probes[i], &job, 40000);
                probes[i].pipeline.unit_fixed = 100;
                probes[i].work_ns = 2000;
                probes[i].block_per_1024 = i * 200;
                probes[i].keep_parked = true; /* only the cancel brings them back */
                sched_pipeline_start(&probes[i].pipeline, ranges, cut(&probes[i], ranges, 8, 2));
            }
            probe_spin(probe_random() % 400000);
            sched_job_cancel(&job.job);
            sched_job_cancel(&job.job);
            probe_job_wait(&job, 2);
            for (uint32_t i = 0; i < 2; i++) {
                probe_check(&probes[i]);
                probe_fini(&probes[i]);
            }
        }
        sched_destroy(sched);
    }
}

Test(sched, stop_drops_the_rest)
{
    probe_topology(&topology, 2, 4);
    EACH_POLICY_AND_COUNT(policy, workers)
    {
        struct sched *sched = probe_sched(&topology, workers, policy);
        for (uint32_t round = 0; round < 10; round++) {
            struct probe_job job;
            struct probe probe;
            struct sched_range ranges[8];
            probe_job_init(&job, sched);
            probe_init(&probe, &job, 50000);
            probe.pipeline.unit_fixed = 100;
            probe.stop_after = 1 + probe_random() % 20000;
            probe.block_per_1024 = round % 2 * 200;
            probe.keep_parked = true;
            probe.opened = round % 4 == 1;
            sched_pipeline_start(&probe.pipeline, ranges, cut(&probe, ranges, 8, 2));
            if (round % 2 == 1) {
                /* All may be parked before enough has run. */
                probe_spin(300000);
                sched_pipeline_stop(&probe.pipeline);
            }
            probe_job_wait(&job, 1);
            probe_check(&probe);
            cr_assert_gt(probe.dropped_units, 0);
            probe_fini(&probe);
        }
        sched_destroy(sched);
    }
}

Test(sched, fed_from_outside_until_closed)
{
    probe_topology(&topology, 2, 2);
    struct sched *sched = probe_sched(&topology, 3, EXEC_POLICY_NUMA);
    struct probe_job job;
    struct probe probe;
    probe_job_init(&job, sched);
    probe_init(&probe, &job, 1000);
    sched_pipeline_open(&probe.pipeline);
    for (uint64_t i = 0; i < 100; i++) {
        const struct sched_range range = {.begin = i * 10,
                                          .end = i * 10 + 10,
                                          .pipeline = &probe.pipeline,
                                          .node = (uint16_t)(i % 2)};
        sched_pipeline_add(&probe.pipeline, &range);
        if (i % 10 == 0) {
            probe_spin(100000);
        }
    }
    probe_spin(2000000);
    cr_assert_eq(probe.finish_count, 0, "open");
    sched_pipeline_close(&probe.pipeline);
    probe_job_wait(&job, 1);
    probe_check(&probe);
    probe_fini(&probe);
    sched_destroy(sched);
}

Test(sched, serial_ranges_keep_their_order)
{
    probe_topology(&topology, 2, 4);
    EACH_POLICY_AND_COUNT(policy, workers)
    {
        struct sched *sched = probe_sched(&topology, workers, policy);
        struct probe_job job;
        struct probe probe;
        struct requeuer requeuer = {.probes = &probe, .count = 1};
        pthread_t thread;
        probe_job_init(&job, sched);
        probe_init(&probe, &job, 20000);
        probe.serial = true;
        probe.pipeline.unit_fixed = 100;
        probe.block_per_1024 = 200;
        const struct sched_range range = {
            .begin = 0, .end = 20000, .pipeline = &probe.pipeline, .node = 1, .serial = 1};
        pthread_create(&thread, NULL, requeue, &requeuer);
        sched_pipeline_start(&probe.pipeline, &range, 1);
        probe_job_wait(&job, 1);
        atomic_store(&requeuer.stop, true);
        pthread_join(thread, NULL);
        probe_check(&probe);
        cr_assert_eq(probe.inside_max, 1);
        probe_fini(&probe);
        sched_destroy(sched);
    }
}
