#include "sched/steal.h"
#include "sim_job.h"

#include <inttypes.h>

static const uint64_t MODEL_TIME_MAX_NS = 60ULL * 1000000000; /* a run that takes longer is stuck */

void client_submit(void *argument)
{
    struct model_job *job = argument;
    job->start_ns = sim_now_ns();
    job->started = true;
    model_start(&job->pipelines[0]);
}

void client_cancel(void *argument)
{
    struct model_job *job = argument;
    while (!job->started) {
        sim_work(1000);
    }
    if (job->finished < job->pipeline_count) {
        job->cancel_ns = sim_now_ns();
        sim_trace("cancel", (uint64_t)(job - model.jobs));
        sched_job_cancel(&job->sched);
        job->cancel_over_ns = sim_now_ns();
    }
}

/* Somebody is awake without work: it takes what there is, or sweeps before it sleeps. */
static bool client_somebody_looks(void)
{
    for (uint32_t i = 0; i < model.sched->worker_count; i++) {
        const struct worker *worker = &model.sched->workers[i];
        if (atomic_load(&worker->park.state) != PARK_PARKED &&
            (atomic_load(&worker->slot) < 0 || worker->searching)) {
            return true;
        }
    }
    return false;
}

/* Nobody sleeps for long beside work that its own node offers and nobody looks for. */
static void client_check_sleepers(void)
{
    const bool sought = client_somebody_looks();
    for (uint32_t i = 0; i < model.sched->worker_count; i++) {
        struct worker *worker = &model.sched->workers[i];
        const bool asleep = atomic_load(&worker->park.state) == PARK_PARKED;
        if (!asleep || sought || steal_cheapest(worker) > 50000) {
            model.asleep_beside_work_ns[i] = 0;
            continue;
        }
        if (model.asleep_beside_work_ns[i] == 0) {
            model.asleep_beside_work_ns[i] = sim_now_ns();
        }
        if (sim_now_ns() - model.asleep_beside_work_ns[i] > model.sleep_max_ns) {
            model_fail("worker %" PRIu32 " sleeps beside work since %" PRIu64 " ns: a lost wake-up",
                       i, model.asleep_beside_work_ns[i]);
        }
    }
}

/* Gives parked ranges back, and watches. */
void client_requeue(void *argument)
{
    (void)argument;
    while (model.jobs_left > 0) {
        sim_work(20000 + sim_random() % 100000);
        for (uint32_t i = 0; i < model.job_count; i++) {
            for (uint32_t p = 0; p < model.jobs[i].pipeline_count; p++) {
                struct model_pipeline *pipeline = &model.jobs[i].pipelines[p];
                if (pipeline->parked_count > 0 && sim_random() % 3 == 0) {
                    model_requeue_one(pipeline);
                }
            }
        }
        sim_freeze(true);
        client_check_sleepers();
        sim_freeze(false);
        if (sim_now_ns() > MODEL_TIME_MAX_NS) {
            model_fail("not done after a minute: %" PRIu32 " jobs left", model.jobs_left);
        }
        if (model.result->failure[0] != '\0') {
            return;
        }
    }
}
