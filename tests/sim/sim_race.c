#include "sim_job.h"

#include <inttypes.h>
#include <stdio.h>

/* Per core: the probe is 100 morsels of a millisecond in 1,600 batches; the other phases are
 * shorter. */
static const uint64_t MORSEL_NS = 1000000;
enum {
    UNITS_PER_MORSEL = 16,
    BUILD_MORSELS = 20,
    DIRECTORY_MORSELS = 5,
    PROBE_MORSELS = 100,
    MERGE_MORSELS = 10,
    PARTITIONS_MIN = 64, /* as op/join and op/group make them */
    PARTITIONS_PER_CORE = 16,
};

/* No schedule of the phases one after another is faster, whatever it knows beforehand. */
static void race_bound(const struct model_job *job, uint32_t cores, struct sim_result *result)
{
    for (uint32_t p = 0; p < job->pipeline_count; p++) {
        const struct model_pipeline *pipeline = &job->pipelines[p];
        const uint64_t work_ns = pipeline->cost_before_ns[pipeline->units];
        const uint64_t longest_ns = sim_input_longest(pipeline->cost_before_ns, pipeline->units);
        result->work_ns += work_ns;
        result->longest_ns += longest_ns;
        result->bound_ns += work_ns / cores > longest_ns ? work_ns / cores : longest_ns;
    }
}

static void race_print(const struct model_job *job, uint32_t cores)
{
    for (uint32_t p = 0; p < job->pipeline_count; p++) {
        const struct model_pipeline *pipeline = &job->pipelines[p];
        const uint64_t work_ns = pipeline->cost_before_ns[pipeline->units];
        printf("    %-10s %8.3f ms, T1/P %8.3f ms, longest unit %7.3f ms\n", pipeline->name,
               (double)(pipeline->finish_ns - pipeline->start_ns) / 1e6,
               (double)work_ns / cores / 1e6,
               (double)sim_input_longest(pipeline->cost_before_ns, pipeline->units) / 1e6);
    }
}

void sim_race(const struct sim_race *race, struct sim_result *result)
{
    const uint64_t scale = race->work_scale > 0 ? race->work_scale : 100;
    const uint64_t core_morsels = race->cores * scale;
    const uint64_t partitions_wanted = (uint64_t)race->cores * PARTITIONS_PER_CORE;
    uint64_t partitions = PARTITIONS_MIN;
    struct model_job *job = &model.jobs[0];

    while (partitions < partitions_wanted) {
        partitions *= 2;
    }
    struct sim_costs costs = sim_measured_costs;
    if (race->remote_row_per_cent > 0) {
        costs.remote_row_per_cent = race->remote_row_per_cent;
    }
    model_begin(result, race->seed, &costs);
    model_machine(race->cores, race->nodes);
    model.skewed = race->skewed;
    model.job_count = model.jobs_left = 1;
    /* Partitions are even: a heavy one would only raise the bound and make it easier to meet. */
    struct model_pipeline *phases[] = {
        model_add_pipeline(job, "build", SIM_UNIFORM,
                           core_morsels * BUILD_MORSELS * UNITS_PER_MORSEL / 100,
                           core_morsels * BUILD_MORSELS * MORSEL_NS / 100),
        model_add_pipeline(job, "directory", SIM_UNIFORM, partitions,
                           core_morsels * DIRECTORY_MORSELS * MORSEL_NS / 100),
        model_add_pipeline(job, "probe", race->input,
                           core_morsels * PROBE_MORSELS * UNITS_PER_MORSEL / 100,
                           core_morsels * PROBE_MORSELS * MORSEL_NS / 100),
        model_add_pipeline(job, "merge", SIM_UNIFORM, partitions,
                           core_morsels * MERGE_MORSELS * MORSEL_NS / 100),
    };
    for (uint32_t p = 0; p < job->pipeline_count; p++) {
        phases[p]->partitions = p % 2 == 1;
        phases[p]->sched.unit_hint = phases[p]->partitions ? 1 : UNITS_PER_MORSEL;
        phases[p]->next = p + 1 < job->pipeline_count ? phases[p + 1] : NULL;
    }
    model_create_sched(race->cores, race->policy);
    race_bound(job, race->cores, result);
    sim_spawn(client_submit, job, 100000);
    model_run_jobs();
    if (race->phases_print) {
        race_print(job, race->cores);
    }
    model_end();
}
