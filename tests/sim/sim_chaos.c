#include "sim_job.h"

static void chaos_job(struct model_job *job, uint32_t workers)
{
    const uint32_t pipelines = 1 + (uint32_t)(sim_random() % MODEL_PIPELINES_MAX);
    job->sched.policy = (enum exec_policy)(sim_random() % 5);
    job->sched.priority = (int32_t)(sim_random() % 21) - 10;
    job->sched.workers_max = sim_random() % 3 == 0 ? 1 + (uint32_t)(sim_random() % workers) : 0;
    for (uint32_t p = 0; p < pipelines; p++) {
        const uint64_t units = sim_random() % 8 == 0 ? 0 : 1 + sim_random() % 3000;
        struct model_pipeline *pipeline = model_add_pipeline(
            job, "chaos", (enum sim_input)(sim_random() % SIM_INPUT_COUNT), units, units * 20000);
        pipeline->sched.unit_fixed = sim_random() % 3 == 0 ? 1 + (uint32_t)(sim_random() % 100) : 0;
        pipeline->sched.unit_align = sim_random() % 3 == 0 ? 1 + (uint32_t)(sim_random() % 16) : 0;
        pipeline->partitions = sim_random() % 2 == 0;
        pipeline->serial = sim_random() % 4 == 0;
        pipeline->block_per_1024 = sim_random() % 2 == 0 ? (uint32_t)(sim_random() % 700) : 0;
        pipeline->stop_after = sim_random() % 6 == 0 ? 1 + sim_random() % (units + 1) : 0;
        if (p > 0) {
            job->pipelines[p - 1].next = pipeline;
        }
    }
}

void sim_chaos(uint64_t seed, struct sim_result *result)
{
    struct sim_costs costs = sim_measured_costs;
    model_begin(result, seed, &costs);
    costs.preempt_per_million = sim_random() % 2 == 0 ? (uint32_t)(sim_random() % 2000) : 0;
    costs.preempt_ns = 1 + (uint32_t)(sim_random() % 2000000);
    costs.wake_max_ns = costs.wake_min_ns + (uint32_t)(sim_random() % 100000);
    costs.exchange_ns = 1 + (uint32_t)(sim_random() % 10);
    model_begin(result, seed ^ 0x5eed, &costs);

    const uint32_t cores = 1 + (uint32_t)(sim_random() % (sim_random() % 4 == 0 ? 64 : 8));
    const uint32_t nodes_max = cores < 8 ? cores : 8;
    model_machine(cores, 1 + (uint32_t)(sim_random() % nodes_max));
    model.skewed = sim_random() % 3 == 0;
    const uint32_t workers = sim_random() % 5 == 0 ? 2 * cores : cores;
    model.job_count = model.jobs_left = 1 + (uint32_t)(sim_random() % MODEL_JOBS_MAX);
    for (uint32_t i = 0; i < model.job_count; i++) {
        chaos_job(&model.jobs[i], workers);
    }
    model_create_sched(workers, EXEC_POLICY_NUMA + (uint32_t)(sim_random() % 4));
    for (uint32_t i = 0; i < workers; i++) {
        if (sim_random() % 8 == 0) {
            sim_set_speed(i, 30);
        }
    }
    for (uint32_t i = 0; i < model.job_count; i++) {
        const uint64_t at_ns = sim_random() % 20000000;
        sim_spawn(client_submit, &model.jobs[i], at_ns);
        if (sim_random() % 4 == 0) {
            sim_spawn(client_cancel, &model.jobs[i], at_ns + sim_random() % 10000000);
        }
    }
    sim_spawn(client_requeue, NULL, 0);
    model_run_jobs();
    model_end();
}
