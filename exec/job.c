#include "job.h"

#include "numa/thread_clock.h"
#include "plan/explain.h"
#include "plan/spec.h"
#include "sched/probes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FREE_HEADS_MAX = 256 };

uint64_t job_clock_ns(void)
{
    return nu_thread_clock_ns();
}

/* ---- heads
 * -------------------------------------------------------------------------------------------- */

static size_t head_bytes(const struct exec_engine *engine)
{
    const size_t bytes =
        sizeof(struct exec_job) +
        engine->worker_count * (sizeof(struct job_worker) + sizeof(struct sched_share));
    const size_t align = _Alignof(struct exec_job);
    return (bytes + align - 1) / align * align;
}

static enum exec_code head_take(struct exec_engine *engine, struct exec_job **job_out,
                                struct exec_error *err)
{
    struct exec_job *job;

    pthread_mutex_lock(&engine->lock);
    if (engine->stopping) {
        pthread_mutex_unlock(&engine->lock);
        return EXEC_FAIL(err, EXEC_DRAINING, "the engine is stopping");
    }
    if (engine->jobs_running >= engine->config.jobs_max) {
        pthread_mutex_unlock(&engine->lock);
        return EXEC_FAIL(err, EXEC_BUSY, "%" PRIu32 " jobs are in flight, the limit (jobs_max)",
                         engine->config.jobs_max);
    }
    engine->jobs_running++;
    job = engine->free_jobs;
    if (job != NULL) {
        engine->free_jobs = job->next;
        engine->free_job_count--;
    }
    pthread_mutex_unlock(&engine->lock);
    if (job == NULL) {
        job = aligned_alloc(_Alignof(struct exec_job), head_bytes(engine));
    }
    *job_out = job;
    return job == NULL ? EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for a job") : EXEC_OK;
}

static void head_give(struct exec_engine *engine, struct exec_job *job)
{
    pthread_mutex_lock(&engine->lock);
    const bool keeps = engine->free_job_count < FREE_HEADS_MAX;
    if (keeps) {
        job->next = engine->free_jobs;
        engine->free_jobs = job;
        engine->free_job_count++;
    }
    pthread_mutex_unlock(&engine->lock);
    if (!keeps) {
        free(job);
    }
}

void job_heads_free(struct exec_engine *engine)
{
    while (engine->free_jobs != NULL) {
        struct exec_job *job = engine->free_jobs;
        engine->free_jobs = job->next;
        free(job);
    }
}

/* The last touch of the engine by a job. */
static void running_ended(struct exec_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->jobs_running--;
    if (engine->jobs_running == 0 && engine->uploads_running == 0) {
        pthread_cond_broadcast(&engine->idle);
    }
    pthread_mutex_unlock(&engine->lock);
}

/* ---- submit
 * ------------------------------------------------------------------------------------------- */

static void job_init(struct exec_job *job, struct exec_engine *engine,
                     const struct exec_job_spec *spec)
{
    const uint64_t limit_bytes = spec->options.memory_limit_bytes != 0
                                     ? spec->options.memory_limit_bytes
                                     : engine->config.job_memory_bytes;

    memset(job, 0, sizeof *job);
    job_context_init(&job->context, engine->pages, &engine->jobs_budget, limit_bytes,
                     engine->worker_count, engine->worker_node, engine->topology.node_count,
                     job->workers);
    if (spec->options.hash_bits != 0 && spec->options.hash_bits < 64) {
        job->context.hash_bits_kept = spec->options.hash_bits;
    }
    job->context.plain_float_sums = spec->options.plain_float_sums;
    job->context.topology = &engine->topology;
    job->context.probe_mode = spec->options.probe_mode == EXEC_PROBE_DEFAULT
                                  ? engine->config.probe_mode
                                  : spec->options.probe_mode;
    job->context.io = engine->io;
    job->context.catalogue = engine->catalogue;
    job->context.data_root = engine->config.data_root;
    job->context.totals = &engine->totals;
    job->context.job = job;
    job->context.node_socket = engine->node_socket;
    job->context.is_profiled = spec->options.profile || spec->options.analyze;
    job->engine = engine;
    atomic_init(&job->references, 2); /* the owner's and the engine's, until `done` has returned */
    atomic_init(&job->pipes_left, 1);
    pthread_mutex_init(&job->first_lock, NULL);
    job->submitted_ns = job_clock_ns();
    job->deadline.job = job;
}

/* The workers' idle time counts from now on. */
static void job_idle_begin(struct exec_job *job)
{
    for (uint32_t w = 0; w < job->engine->worker_count; w++) {
        struct exec_worker_counters counters;
        sched_worker_counters(job->engine->sched, w, &counters);
        job->workers[w].search_ns = counters.search_ns;
        job->workers[w].parked_ns = counters.parked_ns;
    }
}

static void job_idle_end(struct exec_job *job)
{
    for (uint32_t w = 0; w < job->engine->worker_count; w++) {
        struct exec_worker_counters counters;
        sched_worker_counters(job->engine->sched, w, &counters);
        job->workers[w].search_ns = counters.search_ns - job->workers[w].search_ns;
        job->workers[w].parked_ns = counters.parked_ns - job->workers[w].parked_ns;
    }
}

static void job_free(struct exec_job *job)
{
    struct exec_engine *engine = job->engine;

    job_context_fini(&job->context);
    nu_budget_refund(&job->context.budget, job->head_bytes);
    assert(nu_budget_used(&job->context.budget) == 0);
    pthread_mutex_destroy(&job->first_lock);
    head_give(engine, job);
}

static enum exec_code job_prepare(struct exec_job *job, const struct exec_job_spec *spec,
                                  struct exec_error *err)
{
    const size_t bytes = head_bytes(job->engine);
    const struct nu_budget *refused = nu_budget_charge(&job->context.budget, bytes);

    if (refused != NULL) {
        return job_memory_error(err, refused, "a job");
    }
    job->head_bytes = bytes;
    job->spec = spec_copy(spec, &job->context.plan);
    if (job->spec == NULL) {
        return job_memory_error(err, job->context.plan.refused, "a copy of the plan");
    }
    sched_job_init(job->engine->sched, &job->sched);
    job->sched.owner = job;
    job->sched.shares = (struct sched_share *)(void *)(job->workers + job->engine->worker_count);
    memset(job->sched.shares, 0, job->engine->worker_count * sizeof(struct sched_share));
    job->sched.priority = spec->options.priority;
    job->sched.workers_max = spec->options.workers_max;
    job->sched.policy = spec->options.policy == EXEC_POLICY_DEFAULT ? job->engine->config.policy
                                                                    : spec->options.policy;
    job->context.sched_job = &job->sched;
    return EXEC_OK;
}

static void job_list(struct exec_engine *engine, struct exec_job *job)
{
    pthread_mutex_lock(&engine->lock);
    job->previous = NULL;
    job->next = engine->jobs;
    if (job->next != NULL) {
        job->next->previous = job;
    }
    engine->jobs = job;
    const bool stopping = engine->stopping;
    pthread_mutex_unlock(&engine->lock);
    if (stopping) {
        exec_job_cancel(job, EXEC_CANCELLED, "the engine is stopping");
    }
}

static void job_unlist(struct exec_engine *engine, struct exec_job *job)
{
    pthread_mutex_lock(&engine->lock);
    *(job->previous == NULL ? &engine->jobs : &job->previous->next) = job->next;
    if (job->next != NULL) {
        job->next->previous = job->previous;
    }
    pthread_mutex_unlock(&engine->lock);
}

enum exec_code exec_submit(struct exec_engine *engine, const struct exec_job_spec *spec,
                           const struct exec_job_events *events, void *owner,
                           struct exec_job **job_out, struct exec_error *err)
{
    struct exec_job *job;

    if (spec_check(spec, err) != EXEC_OK) {
        return err->code;
    }
    if (head_take(engine, &job, err) != EXEC_OK) {
        if (err->code == EXEC_MEMORY_BUDGET) {
            running_ended(engine);
        }
        return err->code;
    }
    job_init(job, engine, spec);
    if (job_prepare(job, spec, err) != EXEC_OK) {
        job_free(job);
        running_ended(engine);
        return err->code;
    }
    job->events = *events;
    job->owner = owner;
    job_idle_begin(job);
    *job_out = job;
    atomic_fetch_add_explicit(&engine->jobs_started, 1, memory_order_relaxed);
    PROBE3(job__start, job, job->sched.priority, job->sched.workers_max);
    job_list(engine, job);
    if (spec->options.timeout_ns != 0) {
        job->deadline.at_ns = spec->options.timeout_ns > UINT64_MAX - job->submitted_ns
                                  ? UINT64_MAX
                                  : job->submitted_ns + spec->options.timeout_ns;
        deadline_add(engine->deadlines, &job->deadline);
        if (job_clock_ns() >= job->deadline.at_ns) {
            /* Whether it passed must not depend on which thread is quicker. */
            exec_job_cancel(job, EXEC_DEADLINE, NULL);
        }
    }
    job_task_start(job);
    return EXEC_OK;
}

/* ---- the end
 * ------------------------------------------------------------------------------------------ */

/* What is told of a job that ran to its end. */
static enum exec_code job_report(struct exec_job *job, struct exec_error *err)
{
    const struct exec_job_options *options = &job->spec->options;
    const uint64_t elapsed_ns =
        atomic_load_explicit(&job->ended_ns, memory_order_relaxed) - job->submitted_ns;

    if (options->explain) {
        return EXEC_OK;
    }
    if ((options->analyze || options->profile || job->is_traced) &&
        plan_profile(job->plan, &job->profile, err) != EXEC_OK) {
        return err->code;
    }
    return options->analyze ? plan_explain(job->plan, &job->sched, elapsed_ns, &job->explain_text,
                                           &job->explain_json, err)
                            : EXEC_OK;
}

static void job_end(struct exec_job *job, uint32_t worker)
{
    struct exec_engine *engine = job->engine;
    struct exec_error err;

    (void)worker;
    atomic_store_explicit(&job->ended_ns, job_clock_ns(), memory_order_relaxed);
    job_idle_end(job);
    if (!job_is_stopping(&job->context) && job_report(job, &err) != EXEC_OK) {
        job_fail(&job->context, &err);
    }
    job_trace_end(job);
    pthread_mutex_lock(&job->context.error_lock);
    job->context.is_over = true;
    const bool failed = job->context.error.code != EXEC_OK;
    if (job->plan != NULL && (job->context.error.code == EXEC_OVERFLOW ||
                              job->context.error.code == EXEC_BAD_ARGUMENT)) {
        plan_name_columns(job->plan, &job->context.error);
    }
    /* relaxed: who must see the error is told by `done`. Set under the lock, so that a cancel that
     * comes later finds the job ended. */
    atomic_store_explicit(&job->state, failed ? EXEC_JOB_FAILED : EXEC_JOB_SUCCEEDED,
                          memory_order_relaxed);
    pthread_mutex_unlock(&job->context.error_lock);
    atomic_fetch_add_explicit(&engine->jobs_done, 1, memory_order_relaxed);
    for (uint32_t w = 0; w < engine->worker_count; w++) {
        job_count(&job->context, w); /* what a sink's finish has counted */
        nu_arena_destroy(&job->workers[w].scratch);
    }
    if (job->deadline.at_ns != 0) {
        deadline_remove(engine->deadlines, &job->deadline);
    }
    PROBE4(job__end, job, job->context.error.code,
           atomic_load_explicit(&job->ended_ns, memory_order_relaxed) - job->submitted_ns,
           atomic_load_explicit(&job->sched.morsels, memory_order_relaxed));
    job->events.done(job->owner, job);
    job_unlist(engine, job);
    exec_job_release(job);
    running_ended(engine);
}

void job_pipe_ended(struct exec_job *job, uint32_t worker)
{
    /* acq_rel: whoever ends the job sees what every pipe has written. */
    if (atomic_fetch_sub_explicit(&job->pipes_left, 1, memory_order_acq_rel) == 1) {
        job_end(job, worker);
    }
}

void exec_job_cancel(struct exec_job *job, enum exec_code code, const char *reason)
{
    struct exec_error err;

    /* relaxed: job_fail decides under the error lock. */
    if (atomic_load_explicit(&job->state, memory_order_relaxed) != EXEC_JOB_RUNNING) {
        return;
    }
    if (reason != NULL) {
        EXEC_FAIL(&err, code, "%s", reason);
    } else if (code == EXEC_DEADLINE) {
        /* Rounded up: of a client's 30 ms a little less is left when the job arrives. */
        const uint64_t ms = (job->spec->options.timeout_ns + 999999) / 1000000;
        const bool whole = ms % 1000 == 0;
        EXEC_FAIL(&err, code, "the deadline of %" PRIu64 " %s has passed", whole ? ms / 1000 : ms,
                  whole ? "s" : "ms");
    } else {
        EXEC_FAIL(&err, code, "%s", exec_code_text(code));
    }
    job_fail(&job->context, &err);
}

void exec_job_retain(struct exec_job *job)
{
    atomic_fetch_add_explicit(&job->references, 1, memory_order_relaxed); /* the caller has one */
}

void exec_job_release(struct exec_job *job)
{
    /* acq_rel: the last one frees what the others have used. */
    if (atomic_fetch_sub_explicit(&job->references, 1, memory_order_acq_rel) == 1) {
        job_free(job);
    }
}

void exec_chunk_release(struct exec_chunk *chunk)
{
    result_sink_release(chunk);
}

/* ---- questions
 * ---------------------------------------------------------------------------------------- */

static void status_pipes(const struct plan *plan, struct exec_job_status *out)
{
    for (uint32_t r = 0; r < plan->rel_count; r++) {
        const struct plan_rel *rel = &plan->rels[r];
        if (rel->spec->kind == EXEC_REL_SCAN && rel->rows_out[0] != NULL) {
            out->rows_done += atomic_load_explicit(rel->rows_out[0], memory_order_relaxed);
        }
    }
    out->rows_total = (uint64_t)plan->rows_total;
    out->pipelines_total = plan->pipe_count;
    for (uint32_t p = 0; p < plan->pipe_count; p++) {
        out->pipelines_done += atomic_load_explicit(&plan->pipes[p]->is_done, memory_order_relaxed);
    }
}

static void status_sink(const struct exec_job *job, struct op_sink *sink,
                        struct exec_job_status *out)
{
    struct result_figures figures;

    if (!job->streams) {
        out->result_rows = atomic_load_explicit(&sink->rows_in, memory_order_relaxed);
        return;
    }
    result_sink_figures(sink, &figures);
    out->result_rows = figures.rows;
    out->result_bytes = figures.bytes;
    out->result_chunks = figures.chunks;
    out->waiting_for_credit = figures.is_waiting;
}

void exec_job_status(const struct exec_job *job, struct exec_job_status *out)
{
    /* acquire: pairs with the release in job_task.c that publishes a wired plan. */
    const struct plan *plan = atomic_load_explicit(&job->running, memory_order_acquire);
    struct op_sink *sink = atomic_load_explicit(&job->sink, memory_order_acquire);
    const uint64_t ended_ns = atomic_load_explicit(&job->ended_ns, memory_order_relaxed);

    *out = (struct exec_job_status){
        .state = (enum exec_job_state)atomic_load_explicit(&job->state, memory_order_relaxed),
        .memory_bytes = nu_budget_used(&job->context.budget),
        .memory_peak_bytes =
            atomic_load_explicit(&job->context.budget.peak_bytes, memory_order_relaxed),
        .elapsed_ns = (ended_ns == 0 ? job_clock_ns() : ended_ns) - job->submitted_ns,
        .busy_ns = atomic_load_explicit(&job->sched.busy_ns, memory_order_relaxed),
        .morsels = atomic_load_explicit(&job->sched.morsels, memory_order_relaxed),
        .morsels_remote = atomic_load_explicit(&job->sched.morsels_remote, memory_order_relaxed),
        .steals = atomic_load_explicit(&job->sched.steals, memory_order_relaxed),
    };
    if (plan != NULL) {
        status_pipes(plan, out);
    }
    if (sink != NULL) {
        status_sink(job, sink, out);
    }
}

void exec_job_worker(const struct exec_job *job, uint32_t worker,
                     struct exec_job_worker *worker_out)
{
    assert(worker < job->context.worker_count);
    const struct job_worker *own = &job->workers[worker];
    const uint64_t *steals = job->sched.shares[worker].steals;

    *worker_out = (struct exec_job_worker){
        .node = job->context.worker_node[worker],
        .morsels_local = own->morsels_local,
        .morsels_socket = own->morsels_socket,
        .morsels_remote = own->morsels_remote - own->morsels_socket,
        .rows_local = own->rows_local,
        .rows_socket = own->rows_socket,
        .rows_remote = own->rows_remote - own->rows_socket,
        .steals_smt = steals[NU_LEVEL_SMT],
        .steals_l3 = steals[NU_LEVEL_L3],
        .steals_node = steals[NU_LEVEL_NODE],
        .steals_remote = steals[NU_LEVEL_REMOTE],
        .busy_ns = own->busy_ns,
        .search_ns = own->search_ns,
        .parked_ns = own->parked_ns,
        .credit_waits = own->credit_waits,
        .credit_wait_ns = own->credit_wait_ns,
        .io_waits = own->io_waits,
        .io_wait_ns = own->io_wait_ns,
    };
}

uint32_t exec_job_relation_count(const struct exec_job *job)
{
    return job->profile.relation_count;
}

const struct exec_job_relation *exec_job_relation(const struct exec_job *job, uint32_t index)
{
    assert(index < job->profile.relation_count);
    return &job->profile.relations[index];
}

uint32_t exec_job_pipe_count(const struct exec_job *job)
{
    return job->profile.pipe_count;
}

const struct exec_job_pipe *exec_job_pipe(const struct exec_job *job, uint32_t index)
{
    assert(index < job->profile.pipe_count);
    return &job->profile.pipes[index];
}

void exec_job_times(const struct exec_job *job, uint64_t *submitted_ns_out, uint64_t *ended_ns_out)
{
    *submitted_ns_out = job->submitted_ns;
    *ended_ns_out = atomic_load_explicit(&job->ended_ns, memory_order_relaxed);
}

const struct exec_error *exec_job_error(const struct exec_job *job)
{
    return &job->context.error;
}

const char *exec_job_explain_text(const struct exec_job *job)
{
    return job->explain_text;
}

const char *exec_job_explain_json(const struct exec_job *job)
{
    return job->explain_json;
}

const struct exec_schema *exec_job_schema(const struct exec_job *job)
{
    /* acquire: pairs with the release in job_task.c. */
    return atomic_load_explicit(&job->has_schema, memory_order_acquire) ? job->schema : NULL;
}
