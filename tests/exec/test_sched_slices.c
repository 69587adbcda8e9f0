/* Goal:   a morsel ends where it should: at its time limit when its units are suddenly heavy; for a
 *         job far behind its share after the unit in hand; not for an equal one.
 * Method: pipelines whose units take a set time and that ask after every unit, on one worker. Units
 *         are counted rather than time, so that a machine that does something else for a while
 *         decides nothing. */
#include "sched_probe.h"

enum { UNIT_NS = 50000, SHORT_JOBS = 20 };

struct slices {
    struct sched_pipeline pipeline; /* first */
    uint64_t heavy_from, heavy_ns;  /* units from here on take so long; others UNIT_NS */
    struct probe_job *job;
    uint32_t morsels, late, cut;       /* late: not over though its limit had passed */
    _Atomic uint64_t run_units, meets; /* meets: of other->run_units when the first unit ran */
    struct slices *other;
};

static enum sched_outcome slices_run(struct sched_pipeline *pipeline, uint32_t worker,
                                     struct sched_range *range, uint64_t unit_target)
{
    struct slices *slices = (struct slices *)pipeline;
    const uint64_t start_ns = probe_now_ns(), begin = range->begin;
    const uint64_t end = range->end - begin < unit_target ? range->end : range->begin + unit_target;
    bool over = false;

    if (slices->run_units == 0 && slices->other != NULL) {
        slices->meets = slices->other->run_units;
    }
    while (range->begin < end && !over) {
        probe_spin(range->begin >= slices->heavy_from ? slices->heavy_ns : UNIT_NS);
        range->begin++;
        slices->run_units++;
        const uint64_t run_ns = probe_now_ns() - start_ns;
        over = sched_morsel_is_over(pipeline, worker);
        slices->late += !over && run_ns > SCHED_MORSEL_NS_MAX;
        slices->cut += over && range->begin < end && run_ns < SCHED_MORSEL_NS * 9 / 10;
    }
    slices->morsels++;
    return SCHED_RAN;
}

static void slices_finish(struct sched_pipeline *pipeline, uint32_t worker)
{
    (void)worker;
    sem_post(&((struct slices *)pipeline)->job->done);
}

static const struct sched_pipeline_ops slices_ops = {
    .name = "slices", .run = slices_run, .finish = slices_finish};

static void slices_start(struct slices *slices, struct probe_job *job, struct sched *sched,
                         uint64_t units)
{
    probe_job_init(job, sched);
    slices->pipeline.ops = &slices_ops;
    slices->pipeline.job = &job->job;
    slices->job = job;
    const struct sched_range range = {.begin = 0, .end = units, .pipeline = &slices->pipeline};
    sched_pipeline_start(&slices->pipeline, &range, 1);
}

static void until_run(struct slices *slices, uint64_t units)
{
    while (slices->run_units < units) {
        const struct timespec nap = {.tv_nsec = 1000000};
        nanosleep(&nap, NULL);
    }
}

static struct sched *one_worker(void)
{
    static struct nu_topology topology;
    probe_topology(&topology, 1, 1);
    return probe_sched(&topology, 1, EXEC_POLICY_NUMA);
}

Test(sched_slices, suddenly_heavy_units_end_the_morsel)
{
    struct sched *sched = one_worker();
    struct probe_job job;
    struct slices slices = {.heavy_from = 1000, .heavy_ns = 700000};

    /* Sized by units alone, a morsel of the heavy ones would take 20 of them: 14 ms. */
    slices.pipeline.unit_fixed = 20;
    slices_start(&slices, &job, sched, 1100);
    probe_job_wait(&job, 1);
    cr_assert_eq(slices.run_units, 1100);
    cr_assert_eq(slices.late, 0, "%u times a morsel was to go on beyond its limit", slices.late);
    cr_assert_geq(slices.morsels, 1000 / 20 + 100 / 3, "at most three heavy ones in a morsel");
    sched_destroy(sched);
}

Test(sched_slices, a_job_far_behind_gets_the_worker_after_the_unit_in_hand)
{
    struct sched *sched = one_worker();
    struct probe_job endless_job;
    struct slices endless = {.heavy_from = UINT64_MAX};
    int64_t waited = 0;

    slices_start(&endless, &endless_job, sched, UINT32_MAX);
    until_run(&endless, 6000); /* 300 ms: it weighs a hundredth now */
    for (int i = 0; i < SHORT_JOBS; i++) {
        struct probe_job job;
        struct slices brief = {.heavy_from = UINT64_MAX, .other = &endless};
        slices_start(&brief, &job, sched, 4);
        const uint64_t queued_at = endless.run_units;
        probe_job_wait(&job, 1);
        const int64_t units = (int64_t)brief.meets - (int64_t)queued_at;
        waited += units > 0 ? units : 0;
        until_run(&endless, endless.run_units + 7); /* not always at the same place of a morsel */
    }
    /* The unit in hand and, when it was over just then, one more. To wait for the end of morsels of
     * 20 units would be 10 on average. */
    cr_assert_leq(waited, 2 * SHORT_JOBS, "%ld units for %d jobs", (long)waited, (int)SHORT_JOBS);
    sched_job_cancel(&endless_job.job);
    probe_job_wait(&endless_job, 1);
    sched_destroy(sched);
}

Test(sched_slices, equal_jobs_let_each_other_finish_their_morsels)
{
    struct sched *sched = one_worker();
    struct probe_job jobs[2];
    struct slices endless[2] = {{.heavy_from = UINT64_MAX}, {.heavy_from = UINT64_MAX}};

    for (int i = 0; i < 2; i++) {
        slices_start(&endless[i], &jobs[i], sched, UINT32_MAX);
    }
    for (int i = 0; i < 2; i++) {
        until_run(&endless[i], 4000);
        sched_job_cancel(&jobs[i].job);
        probe_job_wait(&jobs[i], 1);
    }
    for (int i = 0; i < 2; i++) {
        cr_assert_leq(endless[i].cut, endless[i].morsels / 10, "%u of %u morsels cut short",
                      endless[i].cut, endless[i].morsels);
    }
    sched_destroy(sched);
}
