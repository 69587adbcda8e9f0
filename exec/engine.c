#include "engine.h"

#include "deadline.h"
#include "job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS_MAX_DEFAULT = 4096, WORKERS_MAX = NU_CPUS_MAX, LOG_LINE_BYTES = 500 };

/* The process's engine, so that a debugger finds it (deploy/gdb). Nothing here reads it. */
struct exec_engine *exec_engine_of_process;

void engine_log(const struct exec_engine *engine, enum exec_log_level level, const char *fmt, ...)
{
    char line[LOG_LINE_BYTES];
    va_list args;

    if (engine->config.log == NULL) {
        return;
    }
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    engine->config.log(engine->config.log_owner, level, line);
}

enum exec_code engine_fail_memory(struct exec_error *err, const struct nu_budget *refused,
                                  const char *what)
{
    return job_memory_error(err, refused, what);
}

/* ---- create
 * ------------------------------------------------------------------------------------------- */

static enum exec_code config_fill(struct exec_engine *engine,
                                  const struct exec_engine_config *config, struct exec_error *err)
{
    char why[256] = "";

    engine->config = *config;
    engine->config.topology_file = NULL; /* borrowed for the call only */
    if (config->probe_mode > EXEC_PROBE_ROUTED) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "probe_mode: no such mode (%d)",
                         (int)config->probe_mode);
    }
    if (config->policy > EXEC_POLICY_STATIC) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "policy: no such policy (%d)", (int)config->policy);
    }
    if (config->workers > WORKERS_MAX) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "workers is %" PRIu32 ", at most %d are allowed",
                         config->workers, WORKERS_MAX);
    }
    const int refused = nu_topology_read(&engine->topology, config->topology_file, why, sizeof why);
    if (refused != 0) {
        return EXEC_FAIL_ERRNO(err, EXEC_BAD_SPEC, -refused, "topology_file: %s", why);
    }
    if (config->probe_mode == EXEC_PROBE_DEFAULT) {
        engine->config.probe_mode = EXEC_PROBE_AUTO;
    }
    if (config->policy == EXEC_POLICY_DEFAULT) {
        engine->config.policy = EXEC_POLICY_NUMA;
    }
    if (config->workers == 0) {
        engine->config.workers = nu_topology_default_workers(&engine->topology);
    }
    if (config->memory_limit_bytes == 0) {
        engine->config.memory_limit_bytes = engine->topology.memory_limit_bytes / 5 * 4;
    }
    if (config->job_memory_bytes == 0) {
        engine->config.job_memory_bytes = engine->config.memory_limit_bytes / 2;
    }
    if (config->pool_reserve_bytes == 0) {
        engine->config.pool_reserve_bytes = engine->config.memory_limit_bytes / 8;
    }
    if (config->jobs_max == 0) {
        engine->config.jobs_max = JOBS_MAX_DEFAULT;
    }
    if (config->data_root != NULL) {
        engine->config.data_root = strdup(config->data_root);
        if (engine->config.data_root == NULL) {
            return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for the data root");
        }
    }
    return EXEC_OK;
}

static void budgets_init(struct exec_engine *engine)
{
    nu_budget_init(&engine->process_budget, "process", engine->config.memory_limit_bytes, NULL);
    nu_budget_init(&engine->jobs_budget, "jobs", UINT64_MAX, &engine->process_budget);
    nu_budget_init(&engine->tables_budget, "tables", UINT64_MAX, &engine->process_budget);
}

static int workers_start(struct exec_engine *engine)
{
    const struct sched_config config = {
        .topology = &engine->topology,
        .workers = engine->config.workers,
        .policy = engine->config.policy,
    };
    const int refused = sched_create(&config, &engine->sched);

    if (refused != 0) {
        return refused;
    }
    engine->worker_count = sched_worker_count(engine->sched);
    engine->worker_node = calloc(engine->worker_count, sizeof *engine->worker_node);
    if (engine->worker_node == NULL) {
        sched_destroy(engine->sched);
        return -ENOMEM;
    }
    for (uint32_t c = 0; c < engine->topology.cpu_count; c++) {
        const struct nu_cpu *cpu = &engine->topology.cpus[c];
        engine->node_socket[cpu->node] = cpu->socket;
    }
    for (uint32_t w = 0; w < engine->worker_count; w++) {
        engine->worker_node[w] = (uint16_t)sched_worker_node(engine->sched, w);
    }
    return 0;
}

static void log_start(const struct exec_engine *engine)
{
    engine_log(
        engine, EXEC_LOG_INFO, "topology: %s; %" PRIu32 " workers, memory limit %" PRIu64 " MiB",
        engine->topology.summary, engine->worker_count, engine->config.memory_limit_bytes >> 20);
    if (engine->topology.node_count > 1 && !engine->topology.can_bind && !engine->topology.fake) {
        engine_log(engine, EXEC_LOG_WARNING,
                   "memory is not bound to nodes: the kernel refuses mbind");
    }
}

/* Everything with a thread or memory of its own; undone in reverse order. */
static enum exec_code parts_create(struct exec_engine *engine, struct exec_error *err)
{
    const struct io_config io = {
        .node_count = engine->topology.node_count,
        .no_io_uring = engine->config.no_io_uring,
        .log = engine->config.log,
        .log_owner = engine->config.log_owner,
    };
    int refused;

    refused =
        nu_page_pool_create(&engine->topology, engine->config.pool_reserve_bytes, &engine->pages);
    if (refused != 0) {
        return EXEC_FAIL_ERRNO(err, EXEC_INTERNAL, -refused, "no page pool");
    }
    engine->catalogue = catalogue_create(engine->pages, &engine->tables_budget);
    if (engine->catalogue == NULL) {
        EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for the catalogue");
        goto fail_catalogue;
    }
    refused = io_create(&io, &engine->io);
    if (refused != 0) {
        EXEC_FAIL_ERRNO(err, EXEC_INTERNAL, -refused, "no file input");
        goto fail_io;
    }
    engine->deadlines = deadlines_create();
    if (engine->deadlines == NULL) {
        EXEC_FAIL(err, EXEC_INTERNAL, "no thread for deadlines");
        goto fail_deadlines;
    }
    refused = workers_start(engine);
    if (refused != 0) {
        EXEC_FAIL_ERRNO(err, EXEC_INTERNAL, -refused, "no workers");
        goto fail_workers;
    }
    return EXEC_OK;

fail_workers:
    deadlines_destroy(engine->deadlines);
fail_deadlines:
    io_destroy(engine->io);
fail_io:
    catalogue_destroy(engine->catalogue);
fail_catalogue:
    nu_page_pool_destroy(engine->pages);
    return err->code;
}

static void engine_free(struct exec_engine *engine)
{
    pthread_cond_destroy(&engine->idle);
    pthread_mutex_destroy(&engine->lock);
    free((void *)(uintptr_t)engine->config.data_root); /* our own copy */
    free(engine->worker_node);
    free(engine);
}

enum exec_code exec_engine_create(const struct exec_engine_config *config,
                                  struct exec_engine **engine_out, struct exec_error *err)
{
    const size_t align = _Alignof(struct exec_engine);
    const size_t bytes = (sizeof(struct exec_engine) + align - 1) / align * align;
    struct exec_engine *engine = aligned_alloc(align, bytes);

    if (engine == NULL) {
        return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for an engine");
    }
    memset(engine, 0, sizeof *engine);
    pthread_mutex_init(&engine->lock, NULL);
    pthread_cond_init(&engine->idle, NULL);
    if (config_fill(engine, config, err) != EXEC_OK) {
        engine->config.data_root = NULL;
        engine_free(engine);
        return err->code;
    }
    budgets_init(engine);
    if (parts_create(engine, err) != EXEC_OK) {
        engine_free(engine);
        return err->code;
    }
    log_start(engine);
    exec_engine_of_process = engine;
    *engine_out = engine;
    return EXEC_OK;
}

/* ---- destroy
 * ------------------------------------------------------------------------------------------- */

/* A job that still has to be told to stop, with a reference; NULL: none. Under the lock. */
static struct exec_job *job_to_stop(struct exec_engine *engine)
{
    for (struct exec_job *job = engine->jobs; job != NULL; job = job->next) {
        if (!job->is_told_to_stop) {
            job->is_told_to_stop = true;
            exec_job_retain(job);
            return job;
        }
    }
    return NULL;
}

static void stop_all(struct exec_engine *engine)
{
    struct exec_job *job;

    pthread_mutex_lock(&engine->lock);
    engine->stopping = true;
    while ((job = job_to_stop(engine)) != NULL) {
        pthread_mutex_unlock(&engine->lock);
        exec_job_cancel(job, EXEC_CANCELLED, "the engine is stopping");
        exec_job_release(job);
        pthread_mutex_lock(&engine->lock);
    }
    while (engine->jobs_running != 0 || engine->uploads_running != 0) {
        pthread_cond_wait(&engine->idle, &engine->lock);
    }
    pthread_mutex_unlock(&engine->lock);
}

void exec_engine_destroy(struct exec_engine *engine)
{
    exec_engine_of_process = NULL;
    stop_all(engine);
    /* Threads that requeue ranges go first: one may still be on its way out of sched_requeue when
     * the job it has set going is over. */
    deadlines_destroy(engine->deadlines);
    io_destroy(engine->io);
    sched_destroy(engine->sched);
    catalogue_destroy(engine->catalogue);
    job_heads_free(engine);
    nu_page_pool_destroy(engine->pages);
    engine_free(engine);
}

bool engine_upload_began(struct exec_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    const bool began = !engine->stopping;
    engine->uploads_running += began;
    pthread_mutex_unlock(&engine->lock);
    return began;
}

void engine_upload_ended(struct exec_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->uploads_running--;
    if (engine->jobs_running == 0 && engine->uploads_running == 0) {
        pthread_cond_broadcast(&engine->idle);
    }
    pthread_mutex_unlock(&engine->lock);
}

/* ---- figures
 * ------------------------------------------------------------------------------------------- */

uint32_t exec_engine_worker_count(const struct exec_engine *engine)
{
    return engine->worker_count;
}

void exec_engine_worker_info(const struct exec_engine *engine, uint32_t worker,
                             struct exec_worker_info *info_out)
{
    info_out->worker = worker;
    info_out->node = engine->worker_node[worker];
    info_out->os_cpu = sched_worker_os_cpu(engine->sched, worker);
    sched_worker_counters(engine->sched, worker, &info_out->counters);
}

uint32_t exec_engine_node_count(const struct exec_engine *engine)
{
    return engine->topology.node_count;
}

void exec_engine_node_info(const struct exec_engine *engine, uint32_t node,
                           struct exec_node_info *info_out)
{
    struct nu_page_usage usage;

    nu_page_pool_usage(engine->pages, node, &usage);
    *info_out = (struct exec_node_info){
        .node = node,
        .os_node = engine->topology.nodes[node].os_node,
        .pool_bytes = usage.mapped_bytes,
        .held_bytes = usage.taken_bytes,
    };
}

static uint64_t figure(const _Atomic uint64_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

void exec_engine_counters(const struct exec_engine *engine, struct exec_engine_counters *out)
{
    struct io_counters io;

    io_counters(engine->io, &io);
    const uint64_t done = figure(&engine->jobs_done);
    const uint64_t started = figure(&engine->jobs_started);
    *out = (struct exec_engine_counters){
        .jobs_started = started,
        .jobs_done = done,
        .jobs_running = started > done ? started - done : 0,
        .rows_scanned = figure(&engine->totals.rows_scanned),
        .rows_built = figure(&engine->totals.rows_built),
        .rows_probed = figure(&engine->totals.rows_probed),
        .rows_aggregated = figure(&engine->totals.rows_aggregated),
        .rows_output = figure(&engine->totals.rows_output),
        .file_read_bytes = io.read_bytes,
        .file_reads_uring = io.reads_uring,
        .file_reads_pread = io.reads_pread,
        .io_uring_available = io_uses_uring(engine->io),
        .memory_jobs_bytes = nu_budget_used(&engine->jobs_budget),
        .memory_tables_bytes = nu_budget_used(&engine->tables_budget),
        .memory_used_bytes = nu_budget_used(&engine->process_budget),
        .memory_limit_bytes = engine->process_budget.limit_bytes,
        .tables = catalogue_count(engine->catalogue),
    };
    for (uint32_t node = 0; node < engine->topology.node_count; node++) {
        struct nu_page_usage usage;
        nu_page_pool_usage(engine->pages, node, &usage);
        out->memory_pool_bytes += usage.mapped_bytes;
    }
}

const char *exec_engine_topology_text(const struct exec_engine *engine)
{
    return engine->topology.summary;
}

bool exec_engine_alive(const struct exec_engine *engine, uint64_t stuck_ns)
{
    return sched_alive(engine->sched, stuck_ns);
}
