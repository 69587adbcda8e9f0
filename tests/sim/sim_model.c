#include "sim_job.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Asleep beside work of its own node; more where whoever queued it may be preempted before it has
 * woken anybody. */
static const uint64_t MODEL_SLEEP_MAX_NS = 1000000;
/* From a look at the cancel flag to the morsel. */
static const uint64_t MODEL_BEGIN_MAX_NS = 100000;
enum { MODEL_SLEEP_PREEMPTIONS = 3, MODEL_NOISE_PER_CENT = 20 };

static const uint64_t MODEL_MORSEL_MAX_NS = 2000000;

struct model model;

void model_fail(const char *format, ...)
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

static uint64_t model_cost(const struct model_pipeline *pipeline, uint64_t begin, uint64_t end)
{
    const uint64_t cost_ns = pipeline->cost_before_ns[end] - pipeline->cost_before_ns[begin];
    return end > begin ? cost_ns - pipeline->spent_ns[begin] : 0;
}

/* Whole units from `begin` on that fit into the time, at most `take`. */
static uint64_t model_fit(const struct model_pipeline *pipeline, uint64_t begin, uint64_t take,
                          uint64_t time_ns)
{
    uint64_t low = 0, high = take;
    while (low < high) {
        const uint64_t middle = low + (high - low + 1) / 2;
        if (model_cost(pipeline, begin, begin + middle) <= time_ns) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* For the trace: what the worker has done since its last morsel to come by this one. */
static void model_trace_source(uint32_t worker, const struct sched_range *range)
{
    struct exec_worker_counters now, *before = &model.before[worker];
    sched_worker_counters(model.sched, worker, &now);
    const uint64_t stolen = now.steals_smt + now.steals_l3 + now.steals_node + now.steals_remote;
    const uint64_t before_stolen =
        before->steals_smt + before->steals_l3 + before->steals_node + before->steals_remote;
    if (now.overflows != before->overflows) {
        sim_trace("overflow", now.overflows - before->overflows);
    }
    if (stolen != before_stolen) {
        sim_trace(now.steals_remote != before->steals_remote ? "steal far" : "steal",
                  range->end - range->begin);
    } else if (now.injects_taken != before->injects_taken) {
        sim_trace("inject", range->end - range->begin);
    }
    *before = now;
}

/* As the contract of run() says: back within about 2 ms; a unit that takes longer is suspended. */
static enum sched_outcome model_run(struct sched_pipeline *sched, uint32_t worker,
                                    struct sched_range *range, uint64_t unit_target)
{
    struct model_pipeline *pipeline = (struct model_pipeline *)sched;
    const uint64_t begin = range->begin, left = range->end - begin;
    const uint64_t per_cent =
        range->node != sched_worker_node(model.sched, worker) ? model.remote_per_cent : 100;
    const uint64_t time_ns = MODEL_MORSEL_MAX_NS * 100 / per_cent;
    const uint64_t want = left < unit_target ? left : unit_target;
    uint64_t take = model_fit(pipeline, begin, want, time_ns);
    enum sched_outcome outcome = SCHED_RAN;

    if (pipeline->job->cancel_over_ns != 0 &&
        sim_now_ns() > pipeline->job->cancel_over_ns + model.begin_max_ns) {
        model_fail("a morsel began %" PRIu64 " ns after its job's cancel",
                   sim_now_ns() - pipeline->job->cancel_over_ns);
    }
    if (++pipeline->job->inside > pipeline->job->inside_max) {
        pipeline->job->inside_max = pipeline->job->inside;
    }
    if (range->cursor != NULL && (uintptr_t)range->cursor != begin + 1) {
        model_fail("a cursor left its unit");
    }
    range->cursor = NULL;
    range->unsplit = 0;
    if (pipeline->block_per_1024 > 0 && sim_random() % 1024 < pipeline->block_per_1024) {
        take = sim_random() % (take + 1);
        if (take < left) {
            outcome = SCHED_BLOCKED;
        }
    }
    if (pipeline->serial && pipeline->serial_next != begin) {
        model_fail("a serial range ran out of order");
    }
    pipeline->serial_next = begin + take;
    for (uint64_t unit = begin; unit < begin + take; unit++) {
        pipeline->seen[unit]++;
    }
    sim_work(sim_measured_costs.dispatch_ns);
    model_trace_source(worker, range);
    sim_trace("run", begin);
    uint64_t cost_ns = model_cost(pipeline, begin, begin + take);
    if (outcome == SCHED_BLOCKED) {
        range->cursor = (void *)(uintptr_t)(begin + take + 1);
        range->unsplit = 1;
    } else if (take < want) {
        /* The next one is begun, for what time there is left. */
        pipeline->spent_ns[begin + take] += time_ns - cost_ns;
        cost_ns = time_ns;
        range->cursor = (void *)(uintptr_t)(begin + take + 1);
        range->unsplit = 1;
    }
    sim_work(cost_ns * per_cent / 100);
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
        model_fail("ranges crumble: more than %d are parked", MODEL_PARKED_MAX);
        return false;
    }
    sim_trace("park", range->begin);
    pipeline->parked[pipeline->parked_count++] = *range;
    sim_work(sim_random() % 3000); /* after it: the range may be run before we return */
    return true;
}

void model_requeue_one(struct model_pipeline *pipeline)
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

/* Partitions go to nodes in one piece each; chunks of a table go round the nodes, a run of chunks
 * on one node is one range, as scan_table.c makes them. */
void model_start(struct model_pipeline *pipeline)
{
    const uint32_t nodes = model.skewed ? 1 : model.topology.node_count;
    const uint64_t piece = pipeline->serial || nodes == 1 ? pipeline->units
                           : pipeline->partitions         ? (pipeline->units + nodes - 1) / nodes
                                                          : MODEL_CHUNK_UNITS;
    const uint64_t count = pipeline->units > 0 ? (pipeline->units + piece - 1) / piece : 0;
    struct sched_range *ranges = calloc(count + 1, sizeof *ranges);

    assert(ranges != NULL);
    for (uint64_t i = 0; i < count; i++) {
        ranges[i] = (struct sched_range){.begin = i * piece,
                                         .end = (i + 1) * piece < pipeline->units ? (i + 1) * piece
                                                                                  : pipeline->units,
                                         .pipeline = &pipeline->sched,
                                         .node = (uint16_t)(i % nodes),
                                         .serial = pipeline->serial};
    }
    sim_trace("spawn", pipeline->units);
    pipeline->start_ns = sim_now_ns();
    sched_pipeline_start(&pipeline->sched, ranges, (uint32_t)count);
    free(ranges);
}

static void model_finish(struct sched_pipeline *sched, uint32_t worker)
{
    struct model_pipeline *pipeline = (struct model_pipeline *)sched;
    struct model_job *job = pipeline->job;
    (void)worker;
    sim_trace("done", pipeline->done);
    if (++pipeline->finishes != 1) {
        model_fail("finish ran twice");
    }
    if (pipeline->done + pipeline->dropped != pipeline->units) {
        model_fail("finish ran with %" PRIu64 " of %" PRIu64 " units done",
                   pipeline->done + pipeline->dropped, pipeline->units);
    }
    pipeline->finish_ns = sim_now_ns();
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

struct model_pipeline *model_add_pipeline(struct model_job *job, const char *name,
                                          enum sim_input input, uint64_t units, uint64_t work_ns)
{
    struct model_pipeline *pipeline = &job->pipelines[job->pipeline_count++];
    pipeline->sched.ops = &model_ops;
    pipeline->sched.job = &job->sched;
    pipeline->sched.unit_hint = (uint32_t)(units / 100 + 1);
    pipeline->name = name;
    pipeline->job = job;
    pipeline->units = units;
    pipeline->cost_before_ns =
        sim_input_costs(input, units, work_ns, model.noise_per_cent, model.seed + units);
    pipeline->spent_ns = calloc(units + 1, sizeof *pipeline->spent_ns);
    pipeline->seen = calloc(units + 1, 1);
    pipeline->parked = calloc(MODEL_PARKED_MAX, sizeof *pipeline->parked);
    assert(pipeline->spent_ns != NULL && pipeline->seen != NULL && pipeline->parked != NULL);
    return pipeline;
}

void model_machine(uint32_t cores, uint32_t nodes)
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

void model_begin(struct sim_result *result, uint64_t seed, const struct sim_costs *costs)
{
    memset(&model, 0, sizeof model);
    memset(result, 0, sizeof *result);
    model.result = result;
    model.seed = seed;
    model.remote_per_cent = costs->remote_row_per_cent;
    model.noise_per_cent = MODEL_NOISE_PER_CENT;
    model.sleep_max_ns = MODEL_SLEEP_MAX_NS;
    model.begin_max_ns = MODEL_BEGIN_MAX_NS;
    if (costs->preempt_per_million > 0) {
        model.sleep_max_ns += MODEL_SLEEP_PREEMPTIONS * (uint64_t)costs->preempt_ns;
        model.begin_max_ns += MODEL_SLEEP_PREEMPTIONS * (uint64_t)costs->preempt_ns;
    }
    sim_begin(seed, costs);
}

void model_create_sched(uint32_t workers, enum exec_policy policy)
{
    const struct sched_config config = {
        .topology = &model.topology, .workers = workers, .policy = policy, .seed = model.seed + 1};
    const int failed = sched_create(&config, &model.sched);
    assert(failed == 0);
    for (uint32_t i = 0; i < model.job_count; i++) {
        sched_job_init(model.sched, &model.jobs[i].sched);
    }
}

/* ---- the end -------------------------------------------------------------------------------- */

static void model_check(void)
{
    for (uint32_t i = 0; i < model.job_count; i++) {
        const struct model_job *job = &model.jobs[i];
        const uint32_t cap = job->sched.workers_max;
        if (job->finished != job->pipeline_count) {
            model_fail("job %" PRIu32 " did not end", i);
        }
        if (cap > 0 && job->inside_max > cap) {
            model_fail("job %" PRIu32 " had %" PRIu32 " workers, cap %" PRIu32, i, job->inside_max,
                       cap);
        }
        for (uint32_t p = 0; p < job->pipeline_count; p++) {
            const struct model_pipeline *pipeline = &job->pipelines[p];
            for (uint64_t unit = 0; unit < pipeline->units; unit++) {
                if (pipeline->seen[unit] != 1) {
                    model_fail("unit %" PRIu64 " was seen %d times", unit, pipeline->seen[unit]);
                }
            }
        }
    }
}

void model_run_jobs(void)
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
}

void model_end(void)
{
    if (model.result->failure[0] == '\0') {
        sched_destroy(model.sched); /* a failed run is left as it is */
    }
    for (uint32_t i = 0; i < model.job_count; i++) {
        for (uint32_t p = 0; p < model.jobs[i].pipeline_count; p++) {
            free(model.jobs[i].pipelines[p].cost_before_ns);
            free(model.jobs[i].pipelines[p].spent_ns);
            free(model.jobs[i].pipelines[p].seen);
            free(model.jobs[i].pipelines[p].parked);
        }
    }
}
