#include "sim_model.h"

#include "sched/steal.h"
#include "sched/worker.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MODEL_JOBS_MAX = 24,
    MODEL_PIPELINES_MAX = 3,
    MODEL_UNITS_MAX = 1 << 18,
    MODEL_PARKED_MAX = 4096,
};
static const uint64_t MODEL_TIME_MAX_NS = 60ULL * 1000000000; /* a run that takes longer is stuck */
/* Asleep beside work of its own node; more where whoever queued it may be preempted before it has
 * woken anybody. */
static const uint64_t MODEL_SLEEP_MAX_NS = 1000000;
enum { MODEL_SLEEP_PREEMPTIONS = 3 };

static const uint64_t MODEL_MORSEL_MAX_NS = 2000000;

static const struct sim_costs usual_costs = {.line_own_ns = 2,
                                             .line_near_ns = 60,
                                             .line_far_ns = 130,
                                             .clock_ns = 25,
                                             .pause_ns = 20,
                                             .give_way_ns = 500,
                                             .wake_call_ns = 1200,
                                             .wake_min_ns = 4000,
                                             .wake_max_ns = 9000};

struct model_job;
struct model_pipeline {
    struct sched_pipeline sched; /* first */
    struct model_job *job;
    uint64_t units;
    uint64_t *cost_before_ns; /* of the units before unit i; [units] is all */
    uint8_t *seen;
    uint32_t block_per_1024;
    uint64_t stop_after;
    uint64_t done, dropped, serial_next;
    uint32_t finishes;
    bool serial;
    struct sched_range *parked;
    uint32_t parked_count;
    struct model_pipeline *next; /* started when this one finishes */
};

struct model_job {
    struct sched_job sched;
    struct model_pipeline pipelines[MODEL_PIPELINES_MAX];
    uint32_t pipeline_count, finished;
    uint32_t inside, inside_max;
    uint64_t start_ns, end_ns;
    bool started, cancelled;
};

static struct model {
    struct nu_topology topology;
    struct sched *sched;
    struct model_job jobs[MODEL_JOBS_MAX];
    uint32_t job_count, jobs_left;
    uint32_t remote_per_cent; /* cost of a remote unit */
    bool skewed;
    struct sim_result *result;
    uint64_t sleep_max_ns;
    uint64_t asleep_beside_work_ns[SIM_CORES_MAX]; /* since when; 0: not */
} model;

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void fail(const char *format, ...)
{
    if (model.result->failure[0] != '\0') {
        return; /* the first tells most */
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(model.result->failure, sizeof model.result->failure, format, arguments);
    va_end(arguments);
}

/* ---- pipelines ------------------------------------------------------------------------------ */

/* As the contract of run() says: back within about 2 ms, but never without a unit done. */
static uint64_t model_cut_time(const struct model_pipeline *pipeline, uint64_t begin, uint64_t take)
{
    uint64_t low = 1, high = take;
    while (low < high) {
        const uint64_t middle = low + (high - low + 1) / 2;
        const uint64_t cost_ns =
            pipeline->cost_before_ns[begin + middle] - pipeline->cost_before_ns[begin];
        if (cost_ns <= MODEL_MORSEL_MAX_NS) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low < take ? low : take;
}

static enum sched_outcome model_run(struct sched_pipeline *sched, uint32_t worker,
                                    struct sched_range *range, uint64_t unit_target)
{
    struct model_pipeline *pipeline = (struct model_pipeline *)sched;
    const uint64_t begin = range->begin, left = range->end - begin;
    uint64_t take = model_cut_time(pipeline, begin, left < unit_target ? left : unit_target);
    enum sched_outcome outcome = SCHED_RAN;

    if (++pipeline->job->inside > pipeline->job->inside_max) {
        pipeline->job->inside_max = pipeline->job->inside;
    }
    if (range->cursor != NULL && (uintptr_t)range->cursor != begin + 1) {
        fail("a cursor left its unit");
    }
    range->cursor = NULL;
    range->unsplit = 0;
    if (pipeline->block_per_1024 > 0 && sim_random() % 1024 < pipeline->block_per_1024) {
        take = sim_random() % (take + 1);
        if (take < left) {
            outcome = SCHED_BLOCKED;
            range->cursor = (void *)(uintptr_t)(begin + take + 1);
            range->unsplit = 1;
        }
    }
    if (pipeline->serial && pipeline->serial_next != begin) {
        fail("a serial range ran out of order");
    }
    pipeline->serial_next = begin + take;
    for (uint64_t unit = begin; unit < begin + take; unit++) {
        pipeline->seen[unit]++;
    }
    sim_trace("run", begin);
    uint64_t cost_ns = pipeline->cost_before_ns[begin + take] - pipeline->cost_before_ns[begin];
    if (range->node != sched_worker_node(model.sched, worker)) {
        cost_ns = cost_ns * model.remote_per_cent / 100;
    }
    sim_work(cost_ns);
    range->begin += take;
    pipeline->done += take;
    pipeline->job->inside--;
    return pipeline->stop_after > 0 && pipeline->done >= pipeline->stop_after ? SCHED_STOP
                                                                              : outcome;
}

static bool model_park(struct sched_pipeline *sched, uint32_t worker,
                       const struct sched_range *range)
{
    struct model_pipeline *pipeline = (struct model_pipeline *)sched;
    (void)worker;
    sim_work(sim_random() % 3000); /* before the lock: a cancel may come in between */
    if (sim_random() % 4 == 0) {
        return false;
    }
    if (pipeline->parked_count == MODEL_PARKED_MAX) {
        fail("ranges crumble: more than %d are parked", MODEL_PARKED_MAX);
        return false;
    }
    sim_trace("park", range->begin);
    pipeline->parked[pipeline->parked_count++] = *range;
    sim_work(sim_random() % 3000); /* after it: the range may be run before we return */
    return true;
}

static void model_requeue_one(struct model_pipeline *pipeline)
{
    const uint32_t place = (uint32_t)(sim_random() % pipeline->parked_count);
    const struct sched_range range = pipeline->parked[place];
    pipeline->parked[place] = pipeline->parked[--pipeline->parked_count];
    sim_trace("requeue", range.begin);
    sched_requeue(&range);
}

static void model_unpark_all(struct sched_pipeline *sched)
{
    struct model_pipeline *pipeline = (struct model_pipeline *)sched;
    while (pipeline->parked_count > 0) {
        model_requeue_one(pipeline);
    }
}

static void model_drop(struct sched_pipeline *sched, const struct sched_range *range)
{
    struct model_pipeline *pipeline = (struct model_pipeline *)sched;
    sim_trace("drop", range->begin);
    for (uint64_t unit = range->begin; unit < range->end; unit++) {
        pipeline->seen[unit]++;
    }
    pipeline->dropped += range->end - range->begin;
}

/* Spreads the units over nodes, a few ranges each; chance draws the cuts. */
static void model_start(struct model_pipeline *pipeline)
{
    const uint32_t nodes = model.topology.node_count;
    const uint32_t count = pipeline->serial ? 1 : nodes * 2;
    struct sched_range ranges[2 * NU_NODES_MAX];
    uint32_t filled = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint64_t begin = pipeline->units * i / count;
        const uint64_t end = pipeline->units * (i + 1) / count;
        if (begin < end) {
            ranges[filled++] =
                (struct sched_range){.begin = begin,
                                     .end = end,
                                     .pipeline = &pipeline->sched,
                                     .node = (uint16_t)(model.skewed ? 0 : i % nodes),
                                     .serial = pipeline->serial};
        }
    }
    sim_trace("start", pipeline->units);
    sched_pipeline_start(&pipeline->sched, ranges, filled);
}

static void model_finish(struct sched_pipeline *sched, uint32_t worker)
{
    struct model_pipeline *pipeline = (struct model_pipeline *)sched;
    struct model_job *job = pipeline->job;
    (void)worker;
    sim_trace("finish", pipeline->done);
    if (++pipeline->finishes != 1) {
        fail("finish ran twice");
    }
    if (pipeline->done + pipeline->dropped != pipeline->units) {
        fail("finish ran with %" PRIu64 " of %" PRIu64 " units done",
             pipeline->done + pipeline->dropped, pipeline->units);
    }
    if (pipeline->next != NULL) {
        model_start(pipeline->next);
    }
    if (++job->finished == job->pipeline_count) {
        job->end_ns = sim_now_ns();
        model.jobs_left--;
    }
}

static const struct sched_pipeline_ops model_ops = {.name = "model",
                                                    .run = model_run,
                                                    .park = model_park,
                                                    .unpark_all = model_unpark_all,
                                                    .drop = model_drop,
                                                    .finish = model_finish};

/* ---- making jobs ------------------------------------------------------------------------------
 */

const char *sim_input_name(enum sim_input input)
{
    static const char *const names[SIM_INPUT_COUNT] = {"uniform", "zipf", "giant"};
    return names[input];
}

/* Costs of `units` units that add up to about work_ns. */
static uint64_t *model_costs(enum sim_input input, uint64_t units, uint64_t work_ns)
{
    uint64_t *before = calloc(units + 1, sizeof *before);
    double sum = 0;
    assert(before != NULL);
    for (uint64_t i = 0; i < units; i++) {
        sum += input == SIM_ZIPF ? 1.0 / (1.0 + (double)i / 64) : 1.0;
    }
    for (uint64_t i = 0; i < units; i++) {
        const double part = input == SIM_ZIPF ? 1.0 / (1.0 + (double)i / 64) : 1.0;
        before[i + 1] = before[i] + (uint64_t)(part / sum * (double)work_ns);
        if (input == SIM_GIANT && i == units / 3) {
            before[i + 1] += 10000000;
        }
    }
    return before;
}

static struct model_pipeline *model_add_pipeline(struct model_job *job, enum sim_input input,
                                                 uint64_t units, uint64_t work_ns)
{
    struct model_pipeline *pipeline = &job->pipelines[job->pipeline_count++];
    pipeline->sched.ops = &model_ops;
    pipeline->sched.job = &job->sched;
    pipeline->sched.unit_hint = (uint32_t)(units / 100 + 1);
    pipeline->job = job;
    pipeline->units = units;
    pipeline->cost_before_ns = model_costs(input, units, work_ns);
    pipeline->seen = calloc(units + 1, 1);
    pipeline->parked = calloc(MODEL_PARKED_MAX, sizeof *pipeline->parked);
    assert(pipeline->seen != NULL && pipeline->parked != NULL);
    return pipeline;
}

static void model_machine(uint32_t cores, uint32_t nodes)
{
    struct nu_topology *topology = &model.topology;
    topology->fake = true;
    topology->node_count = nodes;
    for (uint32_t a = 0; a < nodes; a++) {
        for (uint32_t b = 0; b < nodes; b++) {
            topology->distance[a][b] = (uint8_t)(a == b ? 10 : a / 2 == b / 2 ? 16 : 22);
        }
    }
    for (uint32_t cpu = 0; cpu < cores; cpu++) {
        topology->cpus[topology->cpu_count++] =
            (struct nu_cpu){.os_cpu = (uint16_t)cpu,
                            .node = (uint16_t)(cpu * nodes / cores),
                            .core = (uint16_t)cpu,
                            .l3 = (uint16_t)(cpu / 8),
                            .socket = (uint16_t)(cpu * nodes / cores)};
    }
}

static void model_begin(struct sim_result *result, uint64_t seed, const struct sim_costs *costs)
{
    memset(&model, 0, sizeof model);
    memset(result, 0, sizeof *result);
    model.result = result;
    model.remote_per_cent = 130;
    model.sleep_max_ns = MODEL_SLEEP_MAX_NS;
    if (costs->preempt_per_million > 0) {
        model.sleep_max_ns += MODEL_SLEEP_PREEMPTIONS * (uint64_t)costs->preempt_ns;
    }
    sim_begin(seed, costs);
}

static void model_create_sched(uint32_t workers, enum exec_policy policy, uint64_t seed)
{
    const struct sched_config config = {
        .topology = &model.topology, .workers = workers, .policy = policy, .seed = seed + 1};
    const int failed = sched_create(&config, &model.sched);
    assert(failed == 0);
    for (uint32_t i = 0; i < model.job_count; i++) {
        sched_job_init(model.sched, &model.jobs[i].sched);
    }
}

/* ---- clients -------------------------------------------------------------------------------- */

static void client_submit(void *argument)
{
    struct model_job *job = argument;
    job->start_ns = sim_now_ns();
    job->started = true;
    model_start(&job->pipelines[0]);
}

static void client_cancel(void *argument)
{
    struct model_job *job = argument;
    while (!job->started) {
        sim_work(1000);
    }
    if (job->finished < job->pipeline_count) {
        job->cancelled = true;
        sim_trace("cancel", (uint64_t)(job - model.jobs));
        sched_job_cancel(&job->sched);
    }
}

/* Somebody is awake without work: it takes what there is, or sweeps before it sleeps. */
static bool client_somebody_looks(void)
{
    for (uint32_t i = 0; i < model.sched->worker_count; i++) {
        const struct worker *worker = &model.sched->workers[i];
        if (atomic_load(&worker->park.state) != PARK_PARKED && atomic_load(&worker->slot) < 0) {
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
            fail("worker %" PRIu32 " sleeps beside work since %" PRIu64 " ns: a lost wake-up", i,
                 model.asleep_beside_work_ns[i]);
        }
    }
}

/* Gives parked ranges back, and watches. */
static void client_requeue(void *argument)
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
            fail("not done after a minute: %" PRIu32 " jobs left", model.jobs_left);
        }
        if (model.result->failure[0] != '\0') {
            return;
        }
    }
}

/* ---- the end -------------------------------------------------------------------------------- */

static void model_check(void)
{
    for (uint32_t i = 0; i < model.job_count; i++) {
        const struct model_job *job = &model.jobs[i];
        const uint32_t cap = job->sched.workers_max;
        if (job->finished != job->pipeline_count) {
            fail("job %" PRIu32 " did not end", i);
        }
        if (cap > 0 && job->inside_max > cap) {
            fail("job %" PRIu32 " had %" PRIu32 " workers, cap %" PRIu32, i, job->inside_max, cap);
        }
        for (uint32_t p = 0; p < job->pipeline_count; p++) {
            const struct model_pipeline *pipeline = &job->pipelines[p];
            for (uint64_t unit = 0; unit < pipeline->units; unit++) {
                if (pipeline->seen[unit] != 1) {
                    fail("unit %" PRIu64 " was seen %d times", unit, pipeline->seen[unit]);
                }
            }
        }
    }
}

static void model_end(void)
{
    struct sim_result *result = model.result;
    uint64_t first_ns = UINT64_MAX, last_ns = 0;

    sim_run();
    model_check();
    result->trace_hash = sim_trace_hash();
    for (uint32_t i = 0; i < model.job_count; i++) {
        const struct model_job *job = &model.jobs[i];
        first_ns = job->start_ns < first_ns ? job->start_ns : first_ns;
        last_ns = job->end_ns > last_ns ? job->end_ns : last_ns;
        result->morsels += job->sched.morsels;
        result->steals += job->sched.steals;
    }
    result->makespan_ns = last_ns - first_ns;
    for (uint32_t i = 0; i < sched_worker_count(model.sched); i++) {
        struct exec_worker_counters counters;
        sched_worker_counters(model.sched, i, &counters);
        result->units_local += counters.rows_local;
        result->units_remote += counters.rows_remote;
        result->parks += counters.parks;
    }
    if (result->failure[0] == '\0') {
        sched_destroy(model.sched); /* a failed run is left as it is */
    }
    for (uint32_t i = 0; i < model.job_count; i++) {
        for (uint32_t p = 0; p < model.jobs[i].pipeline_count; p++) {
            free(model.jobs[i].pipelines[p].cost_before_ns);
            free(model.jobs[i].pipelines[p].seen);
            free(model.jobs[i].pipelines[p].parked);
        }
    }
}

/* ---- the two kinds of runs ----------------------------------------------------------------------
 */

void sim_race(const struct sim_race *race, struct sim_result *result)
{
    model_begin(result, race->seed, &usual_costs);
    model_machine(race->cores, race->nodes);
    model.skewed = race->skewed;
    model.job_count = model.jobs_left = 1;
    const uint64_t units = (uint64_t)race->cores * 100 * 16;
    struct model_pipeline *pipeline = model_add_pipeline(
        &model.jobs[0], race->input, units < MODEL_UNITS_MAX ? units : MODEL_UNITS_MAX,
        (uint64_t)race->cores * 100 * 1000000);
    pipeline->sched.unit_hint = (uint32_t)(pipeline->units / (race->cores * 100));
    model_create_sched(race->cores, race->policy, race->seed);
    uint64_t longest_ns = 0;
    for (uint64_t i = 0; i < pipeline->units; i++) {
        const uint64_t cost = pipeline->cost_before_ns[i + 1] - pipeline->cost_before_ns[i];
        longest_ns = cost > longest_ns ? cost : longest_ns;
    }
    result->work_ns = pipeline->cost_before_ns[pipeline->units];
    result->bound_ns = result->work_ns / race->cores;
    result->bound_ns = longest_ns > result->bound_ns ? longest_ns : result->bound_ns;
    sim_spawn(client_submit, &model.jobs[0], 100000);
    model_end();
}

static void chaos_job(struct model_job *job, uint32_t workers)
{
    const uint32_t pipelines = 1 + (uint32_t)(sim_random() % MODEL_PIPELINES_MAX);
    job->sched.policy = (enum exec_policy)(sim_random() % 5);
    job->sched.priority = (int32_t)(sim_random() % 21) - 10;
    job->sched.workers_max = sim_random() % 3 == 0 ? 1 + (uint32_t)(sim_random() % workers) : 0;
    for (uint32_t p = 0; p < pipelines; p++) {
        const uint64_t units = sim_random() % 8 == 0 ? 0 : 1 + sim_random() % 3000;
        struct model_pipeline *pipeline = model_add_pipeline(
            job, (enum sim_input)(sim_random() % SIM_INPUT_COUNT), units, units * 20000);
        pipeline->sched.unit_fixed = sim_random() % 3 == 0 ? 1 + (uint32_t)(sim_random() % 100) : 0;
        pipeline->sched.unit_align = sim_random() % 3 == 0 ? 1 + (uint32_t)(sim_random() % 16) : 0;
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
    struct sim_costs costs = usual_costs;
    model_begin(result, seed, &costs);
    costs.preempt_per_million = sim_random() % 2 == 0 ? (uint32_t)(sim_random() % 2000) : 0;
    costs.preempt_ns = 1 + (uint32_t)(sim_random() % 2000000);
    costs.wake_max_ns = costs.wake_min_ns + (uint32_t)(sim_random() % 100000);
    costs.line_own_ns = 1 + (uint32_t)(sim_random() % 10);
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
    model_create_sched(workers, EXEC_POLICY_NUMA + (uint32_t)(sim_random() % 4), seed);
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
    model_end();
}
