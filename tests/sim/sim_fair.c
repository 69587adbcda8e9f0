#include "sim_job.h"

/* Jobs beside one another on one machine: what each waits for the others. */
enum { FAIR_CORES = 8, FAIR_UNITS_PER_MS = 16 };

static void fair_begin(uint64_t seed, struct sim_result *result)
{
    model_begin(result, seed, &sim_measured_costs);
    model_machine(FAIR_CORES, 2);
}

static struct model_job *fair_job(uint64_t work_ms)
{
    struct model_job *job = &model.jobs[model.job_count++];
    model.jobs_left++;
    struct model_pipeline *pipeline = model_add_pipeline(
        job, "fair", SIM_UNIFORM, work_ms * FAIR_UNITS_PER_MS, work_ms * 1000000);
    pipeline->sched.unit_hint = FAIR_UNITS_PER_MS;
    return job;
}

static double job_ms(const struct model_job *job)
{
    return (double)(job->end_ns - job->start_ns) / 1e6;
}

void sim_fair_equal(uint64_t seed, uint32_t jobs, double *slowest_ms, double *fair_ms,
                    struct sim_result *result)
{
    static const uint64_t WORK_MS = 80;
    fair_begin(seed, result);
    for (uint32_t i = 0; i < jobs; i++) {
        fair_job(WORK_MS);
    }
    model_create_sched(FAIR_CORES, EXEC_POLICY_NUMA);
    for (uint32_t i = 0; i < jobs; i++) {
        sim_spawn(client_submit, &model.jobs[i], 100000);
    }
    model_run_jobs();
    *slowest_ms = 0;
    *fair_ms = (double)(jobs * WORK_MS) / FAIR_CORES;
    for (uint32_t i = 0; i < jobs; i++) {
        const double ms = job_ms(&model.jobs[i]);
        *slowest_ms = ms > *slowest_ms ? ms : *slowest_ms;
    }
    model_end();
}

void sim_fair_short(uint64_t seed, double *beside_ms, double *alone_ms, struct sim_result *result)
{
    static const uint64_t LONG_MS = 4000, SHORT_MS = 24;
    for (int alone = 0; alone < 2; alone++) {
        fair_begin(seed, result);
        struct model_job *brief = fair_job(SHORT_MS);
        struct model_job *other = alone == 1 ? NULL : fair_job(LONG_MS);
        model_create_sched(FAIR_CORES, EXEC_POLICY_NUMA);
        if (other != NULL) {
            sim_spawn(client_submit, other, 100000);
        }
        sim_spawn(client_submit, brief, 200000000); /* the long one has had its share */
        model_run_jobs();
        *(alone == 1 ? alone_ms : beside_ms) = job_ms(brief);
        model_end();
    }
}

void sim_cancel(uint64_t seed, double *latency_ms, struct sim_result *result)
{
    static const uint64_t LONG_MS = 4000;
    fair_begin(seed, result);
    struct model_job *cancelled = fair_job(LONG_MS);
    struct model_job *other = fair_job(LONG_MS / 8);
    model_create_sched(FAIR_CORES, EXEC_POLICY_NUMA);
    sim_spawn(client_submit, cancelled, 100000);
    sim_spawn(client_submit, other, 100000);
    sim_spawn(client_cancel, cancelled, 30000000 + seed * 137000);
    model_run_jobs();
    *latency_ms = (double)(cancelled->end_ns - cancelled->cancel_ns) / 1e6;
    model_end();
}
