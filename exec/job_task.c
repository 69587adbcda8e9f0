#include "job.h"

#include "op/table_sink.h"
#include "plan/explain.h"

#include <assert.h>

/* A job's first pipeline: one unit that binds, plans and launches. It first asks for the job's
 * files to be opened (and time zones to be read) and is parked until the last one is. The pipeline
 * stays open until planning is over, whichever way, so that it ends exactly once and never before a
 * file that is still being opened. */

static struct exec_job *job_of(struct sched_pipeline *first)
{
    return (struct exec_job *)first->job->owner;
}

static void pipe_ended(struct pipe *pipe, uint32_t worker)
{
    job_pipe_ended(pipe->job->job, worker);
}

/* ---- files
 * ------------------------------------------------------------------------------------------- */

static void files_opened(struct scan_files *files, void *owner)
{
    struct exec_job *job = owner;
    struct sched_range range;

    (void)files;
    pthread_mutex_lock(&job->first_lock);
    assert(job->files_pending > 0);
    job->files_pending--;
    const bool requeues = job->files_pending == 0 && job->first_is_parked;
    const bool closes = job->files_pending == 0 && job->first_closes;
    range = job->first_range;
    job->first_is_parked = job->first_is_parked && !requeues;
    pthread_mutex_unlock(&job->first_lock);
    if (requeues) {
        sched_requeue(&range);
    } else if (closes) {
        sched_pipeline_close(&job->first);
    }
}

/* Returns true when the task must wait. */
static bool files_ask(struct exec_job *job)
{
    struct exec_error err;
    uint32_t started;

    job->has_opened = true;
    job->plan = plan_create(&job->context, job->spec,
                            job->spec->options.morsel_rows != 0 ? job->spec->options.morsel_rows
                                                                : job->engine->config.morsel_rows,
                            pipe_ended);
    if (job->plan == NULL) {
        job_memory_error(&err, job->context.plan.refused, "planning");
        job_fail(&job->context, &err);
        return false;
    }
    /* Pending before the first is asked for: completions count down from here. */
    pthread_mutex_lock(&job->first_lock);
    job->files_pending = job->plan->rel_count + 1;
    pthread_mutex_unlock(&job->first_lock);
    if (plan_open(job->plan, files_opened, job, &started) == UINT32_MAX) {
        job_memory_error(&err, NULL, "opening files");
        job_fail(&job->context, &err);
    }
    pthread_mutex_lock(&job->first_lock);
    job->files_pending -= job->plan->rel_count + 1 - started;
    const bool waits = job->files_pending != 0;
    pthread_mutex_unlock(&job->first_lock);
    return waits;
}

/* ---- planning
 * ---------------------------------------------------------------------------------------- */

static void deliver_chunk(struct exec_job *job, struct exec_chunk *chunk)
{
    job->events.chunk(job->owner, job, chunk);
}

/* Rows that come from a scan as they are: the table is being loaded. */
static bool is_load(const struct plan_rel *rel)
{
    while (rel->spec->kind == EXEC_REL_PROJECT || rel->spec->kind == EXEC_REL_FILTER ||
           rel->spec->kind == EXEC_REL_LIMIT) {
        rel = rel->inputs[0];
    }
    return rel->spec->kind == EXEC_REL_SCAN;
}

static struct op_sink *sink_create(struct exec_job *job, const struct stream *root)
{
    const struct exec_job_options *options = &job->spec->options;
    const struct exec_schema *schema = &job->plan->root->schema;
    const uint32_t rel = job->plan->root->index;
    const struct result_options result = {
        .batch_rows = options->batch_rows,
        .batch_bytes = options->batch_bytes == 0 ? JOB_BATCH_BYTES : options->batch_bytes,
        .rows_max = options->result_rows_max,
        .job = job,
        .deliver = deliver_chunk,
    };

    const struct table_options table = {
        .table = job->spec->into_table,
        .replace = job->spec->into_replace,
        .ordered = root->is_ordered,
        .encodes = is_load(job->plan->root),
        .rows_max = options->result_rows_max,
    };

    if (options->analyze) {
        return count_sink_create(&job->context, rel);
    }
    if (job->spec->into_table != NULL) {
        return table_sink_create(&job->context, rel, schema, root->map, &table);
    }
    job->streams = true;
    return result_sink_create(&job->context, rel, schema, root->map, &result);
}

static enum exec_code job_wire(struct exec_job *job, struct exec_error *err)
{
    struct stream root;

    if (plan_lower(job->plan, &root, err) != EXEC_OK) {
        return err->code;
    }
    struct op_sink *sink = sink_create(job, &root);
    if (sink == NULL) {
        return job_memory_error(err, job->context.plan.refused, "the end of the plan");
    }
    for (uint32_t p = 0; p < root.pipe_count; p++) {
        pipe_set_sink(root.pipes[p], sink);
    }
    /* release: pairs with the acquire in exec_job_status. */
    atomic_store_explicit(&job->sink, sink, memory_order_release);
    return EXEC_OK;
}

static enum exec_code job_plan(struct exec_job *job, struct exec_error *err)
{
    if (plan_bind(job->plan, err) != EXEC_OK || plan_rewrite(job->plan, err) != EXEC_OK) {
        return err->code;
    }
    job->schema = &job->plan->root->schema;
    /* release: pairs with the acquire in exec_job_schema. */
    atomic_store_explicit(&job->has_schema, true, memory_order_release);
    if (job_wire(job, err) != EXEC_OK) {
        return err->code;
    }
    if (job->spec->options.explain) {
        return plan_explain(job->plan, NULL, 0, &job->explain_text, &job->explain_json, err);
    }
    if (job->streams) {
        job->events.schema(job->owner, job, job->schema);
    }
    return EXEC_OK;
}

/* Pipes are launched also when planning has failed half-way: they end at once and close what they
 * hold. An explained plan ends in the same way, without having run. */
static void job_launch(struct exec_job *job, uint32_t worker)
{
    struct plan *plan = job->plan;

    /* relaxed: the planning pipeline is counted, so nobody ends the job before this. */
    atomic_fetch_add_explicit(&job->pipes_left, plan->pipe_count, memory_order_relaxed);
    /* release: pairs with the acquire in exec_job_status. */
    atomic_store_explicit(&job->running, plan, memory_order_release);
    for (uint32_t p = 0; p < plan->pipe_count; p++) {
        pipe_launch(plan->pipes[p], worker);
    }
}

static void job_first(struct exec_job *job, uint32_t worker)
{
    struct exec_error err;

    if (job->plan == NULL) {
        return;
    }
    if (!job_is_stopping(&job->context)) {
        err.rel = err.expr = 0;
        if (job_plan(job, &err) != EXEC_OK) {
            job_fail(&job->context, &err);
        }
        if (job->spec->options.explain) {
            job->context.only_explains = true;
        }
        job_launch(job, worker);
    }
    plan_abandon(job->plan);
}

/* ---- the dispatcher's callbacks
 * -------------------------------------------------------------------------- */

static enum sched_outcome first_run(struct sched_pipeline *first, uint32_t worker,
                                    struct sched_range *range, uint64_t unit_target)
{
    struct exec_job *job = job_of(first);
    const uint64_t begin_ns = job_clock_ns();
    struct exec_error err;

    (void)range;
    (void)unit_target;
    if (!job->has_opened && job_trace_begin(job, &err) != EXEC_OK) {
        job_fail(&job->context, &err);
    }
    if (!job->has_opened && files_ask(job)) {
        job_trace_add(job, worker, begin_ns);
        return SCHED_BLOCKED;
    }
    job_first(job, worker);
    job_trace_add(job, worker, begin_ns);
    return SCHED_STOP; /* not a row of anything: dropped, so that no figure counts it */
}

static bool first_park(struct sched_pipeline *first, uint32_t worker,
                       const struct sched_range *range)
{
    struct exec_job *job = job_of(first);

    (void)worker;
    pthread_mutex_lock(&job->first_lock);
    const bool parks = job->files_pending != 0;
    job->first_is_parked = parks;
    job->first_range = *range;
    pthread_mutex_unlock(&job->first_lock);
    return parks;
}

static void first_unpark_all(struct sched_pipeline *first)
{
    (void)first; /* the open files come by themselves */
}

/* Planning is over, or the job was cancelled before it. */
static void first_drop(struct sched_pipeline *first, const struct sched_range *range)
{
    struct exec_job *job = job_of(first);

    (void)range;
    pthread_mutex_lock(&job->first_lock);
    const bool closes = job->files_pending == 0;
    job->first_closes = !closes;
    pthread_mutex_unlock(&job->first_lock);
    if (closes) {
        sched_pipeline_close(first);
    }
}

static void first_finish(struct sched_pipeline *first, uint32_t worker)
{
    struct exec_job *job = job_of(first);

    if (job->plan != NULL) {
        plan_abandon(job->plan); /* of a task that was dropped */
    }
    job_pipe_ended(job, worker);
}

static const struct sched_pipeline_ops first_ops = {
    .name = "plan",
    .run = first_run,
    .park = first_park,
    .unpark_all = first_unpark_all,
    .drop = first_drop,
    .finish = first_finish,
};

void job_task_start(struct exec_job *job)
{
    const struct sched_range range = {.begin = 0, .end = 1, .pipeline = &job->first, .serial = 1};

    job->first.ops = &first_ops;
    job->first.job = &job->sched;
    job->first.unit_hint = 1;
    sched_pipeline_open(&job->first);
    sched_pipeline_add(&job->first, &range);
}
