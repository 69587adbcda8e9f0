#ifndef TESTS_SIM_SIM_JOB_H
#define TESTS_SIM_SIM_JOB_H

#include "sched/worker.h"
#include "sim_core.h"
#include "sim_input.h"
#include "sim_model.h"

/* The virtual world under sim_model.h: jobs, their pipelines as the dispatcher sees them, clients
 * that submit, cancel, give back and watch. sim_race.c and sim_chaos.c fill it and run it. */
enum {
    MODEL_JOBS_MAX = 24,
    MODEL_PIPELINES_MAX = 4,
    MODEL_PARKED_MAX = 4096,
    MODEL_CHUNK_UNITS = 64, /* batches of a table chunk; chunks go round the nodes */
};

struct model_job;
struct model_pipeline {
    struct sched_pipeline sched; /* first */
    const char *name;
    struct model_job *job;
    uint64_t units;
    uint64_t *cost_before_ns; /* of the units before unit i; [units] is all */
    uint64_t *spent_ns;       /* of unit i, while it is suspended half way */
    uint8_t *seen;
    uint32_t block_per_1024;
    uint64_t stop_after;
    uint64_t done, dropped, serial_next;
    uint32_t finishes;
    bool serial;
    bool partitions; /* units are partitions, dealt to nodes in one piece each; else chunks */
    struct sched_range *parked;
    uint32_t parked_count;
    uint64_t start_ns, finish_ns;
    struct model_pipeline *next; /* started when this one finishes */
};

struct model_job {
    struct sched_job sched;
    struct model_pipeline pipelines[MODEL_PIPELINES_MAX];
    uint32_t pipeline_count, finished;
    uint32_t inside, inside_max;
    uint64_t start_ns, end_ns, work_ns;
    uint64_t cancel_ns, cancel_over_ns; /* when cancelled (0: not), when that call returned */
    bool started;
};

struct model {
    struct nu_topology topology;
    struct sched *sched;
    struct model_job jobs[MODEL_JOBS_MAX];
    uint32_t job_count, jobs_left;
    uint32_t remote_per_cent; /* cost of a unit of another node's rows */
    uint32_t noise_per_cent;
    bool skewed; /* all rows on node 0 */
    struct sim_result *result;
    uint64_t seed;
    uint64_t sleep_max_ns;
    uint64_t begin_max_ns; /* a morsel begins this long after its job's cancel at most */
    uint64_t asleep_beside_work_ns[SIM_CORES_MAX];     /* since when; 0: not */
    struct exec_worker_counters before[SIM_CORES_MAX]; /* for the trace: figures at the last run */
};
extern struct model model;

/* A fresh world. `result` is filled in until model_end. */
void model_begin(struct sim_result *result, uint64_t seed, const struct sim_costs *costs);
void model_machine(uint32_t cores, uint32_t nodes);
struct model_pipeline *model_add_pipeline(struct model_job *job, const char *name,
                                          enum sim_input input, uint64_t units, uint64_t work_ns);
/* After the jobs are described. */
void model_create_sched(uint32_t workers, enum exec_policy policy);
/* Runs to the end and checks what must hold. */
void model_run_jobs(void);
void model_end(void); /* frees */
/* The first thing that did not hold is kept in the result. */
void model_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

void model_start(struct model_pipeline *pipeline);
void model_requeue_one(struct model_pipeline *pipeline);

/* Virtual cores that are no workers; argument: the job, or nothing. */
void client_submit(void *argument);
void client_cancel(void *argument);
void client_requeue(void *argument); /* gives parked ranges back, and watches the sleepers */

#endif
