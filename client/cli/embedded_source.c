/* The engine in this process. Its callbacks run on workers and only hang chunks into a list; the
 * main thread takes them out. The engine bounds the list: a chunk is credit until it is released.
 */
#include "interrupt.h"
#include "job_source.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct chunk_node {
    struct chunk_node *next;
    struct exec_chunk *chunk;
};

struct embedded_source {
    struct job_source source;
    struct exec_engine *engine;
    struct exec_job *job;
    pthread_mutex_t lock; /* guards what follows; held for pushes and pops only */
    pthread_cond_t changed;
    struct chunk_node *first, **last;
    bool schema_came, done;
    bool schema_told;
    bool cancelled; /* main thread only */
    struct morsel_worker_figures *workers;
};

static void on_schema(void *owner, struct exec_job *job, const struct exec_schema *schema)
{
    struct embedded_source *self = owner;

    (void)job, (void)schema;
    pthread_mutex_lock(&self->lock);
    self->schema_came = true;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

static void on_chunk(void *owner, struct exec_job *job, struct exec_chunk *chunk)
{
    struct embedded_source *self = owner;
    struct chunk_node *node = malloc(sizeof *node);

    if (node == NULL) {
        exec_chunk_release(chunk);
        exec_job_cancel(job, EXEC_CANCELLED, "out of memory for a result chunk");
        return;
    }
    *node = (struct chunk_node){.chunk = chunk};
    pthread_mutex_lock(&self->lock);
    *self->last = node;
    self->last = &node->next;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

static void on_done(void *owner, struct exec_job *job)
{
    struct embedded_source *self = owner;

    (void)job;
    pthread_mutex_lock(&self->lock);
    self->done = true;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

static int embedded_start(struct job_source *source, const struct source_job *job,
                          struct cli_error *err)
{
    static const struct exec_job_events events = {
        .schema = on_schema, .chunk = on_chunk, .done = on_done};
    struct embedded_source *self = (struct embedded_source *)source;

    self->first = NULL;
    self->last = &self->first;
    self->schema_came = self->schema_told = self->done = self->cancelled = false;
    return exec_submit(self->engine, &job->spec, &events, self, &self->job, &err->exec) == EXEC_OK
               ? 0
               : -1;
}

/* Waits a tick at most. The caller holds the lock. */
static void wait_changed(struct embedded_source *self)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += SOURCE_TICK_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&self->changed, &self->lock, &until);
}

static enum source_event embedded_take(struct embedded_source *self, struct source_batch *batch)
{
    if (self->schema_came && !self->schema_told) {
        self->schema_told = true;
        return SOURCE_SCHEMA;
    }
    if (self->first != NULL) {
        struct chunk_node *node = self->first;
        self->first = node->next;
        if (self->first == NULL) {
            self->last = &self->first;
        }
        *batch = (struct source_batch){
            .columns = node->chunk->columns,
            .column_count = node->chunk->column_count,
            .row_count = node->chunk->row_count,
            .chunk = node->chunk,
        };
        free(node);
        return SOURCE_BATCH;
    }
    return self->done ? SOURCE_END : SOURCE_TICK;
}

static enum source_event embedded_next(struct job_source *source, struct source_batch *batch,
                                       struct cli_error *err)
{
    struct embedded_source *self = (struct embedded_source *)source;

    if (interrupt_came() && !self->cancelled) {
        self->cancelled = true;
        exec_job_cancel(self->job, EXEC_CANCELLED, "interrupted");
    }
    pthread_mutex_lock(&self->lock);
    enum source_event event = embedded_take(self, batch);
    if (event == SOURCE_TICK) {
        wait_changed(self);
        event = embedded_take(self, batch);
    }
    pthread_mutex_unlock(&self->lock);
    if (event == SOURCE_END && exec_job_error(self->job)->code != EXEC_OK) {
        err->exec = *exec_job_error(self->job);
        return SOURCE_FAILED;
    }
    return event;
}

static void embedded_release(struct job_source *source, struct source_batch *batch)
{
    (void)source;
    exec_chunk_release(batch->chunk);
}

static const struct exec_schema *embedded_schema(struct job_source *source)
{
    return exec_job_schema(((struct embedded_source *)source)->job);
}

static void embedded_progress(struct job_source *source, struct source_progress *out)
{
    struct exec_job_status status;

    exec_job_status(((struct embedded_source *)source)->job, &status);
    *out = (struct source_progress){.rows_done = status.rows_done,
                                    .rows_total = status.rows_total,
                                    .memory_bytes = status.memory_bytes};
}

static uint32_t embedded_workers(struct job_source *source,
                                 const struct morsel_worker_figures **out)
{
    struct embedded_source *self = (struct embedded_source *)source;
    const uint32_t count = exec_engine_worker_count(self->engine);

    free(self->workers);
    self->workers = calloc((size_t)count + 1, sizeof *self->workers);
    *out = self->workers;
    for (uint32_t i = 0; self->workers != NULL && i < count; i++) {
        struct exec_job_worker of;
        exec_job_worker(self->job, i, &of);
        self->workers[i] = (struct morsel_worker_figures){
            .worker = i,
            .node = of.node,
            .morsels_local = of.morsels_local,
            .morsels_socket = of.morsels_socket,
            .morsels_remote = of.morsels_remote,
            .rows_local = of.rows_local,
            .rows_socket = of.rows_socket,
            .rows_remote = of.rows_remote,
            .steals = of.steals_smt + of.steals_l3 + of.steals_node + of.steals_remote,
            .steals_smt = of.steals_smt,
            .steals_l3 = of.steals_l3,
            .steals_node = of.steals_node,
            .steals_remote = of.steals_remote,
            .busy_seconds = (double)of.busy_ns / 1e9,
            .search_seconds = (double)of.search_ns / 1e9,
            .parked_seconds = (double)of.parked_ns / 1e9,
            .credit_waits = of.credit_waits,
            .io_waits = of.io_waits,
            .credit_wait_seconds = (double)of.credit_wait_ns / 1e9,
            .io_wait_seconds = (double)of.io_wait_ns / 1e9,
        };
    }
    return self->workers == NULL ? 0 : count;
}

static int embedded_trace(struct job_source *source, struct trace_taker *taker)
{
    struct embedded_source *self = (struct embedded_source *)source;
    const uint32_t room = exec_job_trace_room(self->job);
    struct exec_trace_event *events = calloc((size_t)room + 1, sizeof *events);
    uint64_t submitted_ns, ended_ns;

    if (events == NULL) {
        return -1;
    }
    exec_job_times(self->job, &submitted_ns, &ended_ns);
    for (uint32_t i = 0; i < exec_job_pipe_count(self->job); i++) {
        const struct exec_job_pipe *pipe = exec_job_pipe(self->job, i);
        taker->pipeline(taker, pipe->number, pipe->steps);
    }
    for (uint32_t w = 0; w < exec_engine_worker_count(self->engine); w++) {
        struct source_trace trace = {.worker = w, .events = events};
        struct exec_job_worker worker;
        exec_job_worker(self->job, w, &worker);
        trace.node = worker.node;
        trace.event_count = exec_job_trace(self->job, w, events, room, &trace.dropped);
        for (uint32_t i = 0; i < trace.event_count; i++) {
            const uint64_t begin_ns = events[i].begin_ns;
            const uint64_t zero_ns = begin_ns < submitted_ns ? begin_ns : submitted_ns;
            events[i].begin_ns -= zero_ns;
            events[i].end_ns -= zero_ns;
        }
        taker->events(taker, &trace);
    }
    free(events);
    return 0;
}

static void embedded_finish(struct job_source *source)
{
    struct embedded_source *self = (struct embedded_source *)source;
    struct source_batch batch;

    if (self->job == NULL) {
        return;
    }
    exec_job_cancel(self->job, EXEC_CANCELLED, NULL); /* has no effect on an ended job */
    for (bool ended = false; !ended;) {
        pthread_mutex_lock(&self->lock);
        enum source_event event = embedded_take(self, &batch);
        if (event == SOURCE_TICK) {
            wait_changed(self);
        }
        pthread_mutex_unlock(&self->lock);
        if (event == SOURCE_BATCH) {
            exec_chunk_release(batch.chunk);
        }
        ended = event == SOURCE_END;
    }
    exec_job_release(self->job);
    self->job = NULL;
}

static int embedded_explain(struct job_source *source, const struct exec_job_spec *spec,
                            bool analyze, struct plan_builder *plan, struct source_explain *out,
                            struct cli_error *err)
{
    struct embedded_source *self = (struct embedded_source *)source;
    struct source_job job = {.spec = *spec};
    struct source_batch batch;
    enum source_event event = SOURCE_TICK;

    *out = (struct source_explain){0};
    job.spec.options.explain = !analyze;
    job.spec.options.analyze = analyze;
    if (embedded_start(source, &job, err) != 0) {
        return -1;
    }
    while (event != SOURCE_END && event != SOURCE_FAILED) {
        event = embedded_next(source, &batch, err);
        if (event == SOURCE_BATCH) {
            embedded_release(source, &batch);
        }
    }
    if (event == SOURCE_END) {
        const char *text = exec_job_explain_text(self->job);
        const char *json = exec_job_explain_json(self->job);
        const struct exec_schema *schema = exec_job_schema(self->job);
        out->text = text == NULL ? NULL : strdup(text);
        out->json = json == NULL ? NULL : strdup(json);
        if (schema != NULL) {
            out->schema = source_schema_copy(plan, schema);
        }
    }
    embedded_finish(source);
    return event == SOURCE_END ? 0 : -1;
}

static void embedded_destroy(struct job_source *source)
{
    struct embedded_source *self = (struct embedded_source *)source;

    embedded_finish(source);
    exec_engine_destroy(self->engine);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    free(self->workers);
    free(self);
}

/* ---- starting the engine
 * -------------------------------------------------------------------------- */

static void log_line(void *owner, enum exec_log_level level, const char *line)
{
    const bool *verbose = owner;

    if (*verbose || level == EXEC_LOG_ERROR) {
        fprintf(stderr, "morsel: %s\n", line);
    }
}

/* One setting; false: the value is not one of its. Keys of a job are none of ours. */
static bool engine_setting(struct exec_engine_config *config, const char *key, size_t size,
                           const char *value)
{
    const struct {
        const char *name;
        uint64_t *bytes;
    } sizes[] = {
        {"memory_limit", &config->memory_limit_bytes},
        {"job_memory", &config->job_memory_bytes},
        {"pool_reserve", &config->pool_reserve_bytes},
    };
    uint64_t count = 0;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (strlen(sizes[i].name) == size && memcmp(sizes[i].name, key, size) == 0) {
            return cli_size_parse(value, sizes[i].bytes);
        }
    }
    if (size == 7 && memcmp(key, "workers", size) == 0) {
        const bool taken = cli_count_parse(value, 4096, &count);
        config->workers = (uint32_t)count;
        return taken;
    }
    if (size == 8 && memcmp(key, "io_uring", size) == 0) {
        config->no_io_uring = strcmp(value, "off") == 0 || strcmp(value, "false") == 0;
        return config->no_io_uring || strcmp(value, "on") == 0 || strcmp(value, "true") == 0;
    }
    if (size == 13 && memcmp(key, "topology_file", size) == 0) {
        config->topology_file = value;
    }
    return true;
}

static enum exec_code engine_settings(const struct cli_options *options,
                                      struct exec_engine_config *config, struct exec_error *err)
{
    for (uint32_t i = 0; i < options->settings.count; i++) {
        const char *text = options->settings.texts[i], *value = strchr(text, '=') + 1;
        if (!engine_setting(config, text, (size_t)(value - 1 - text), value)) {
            return EXEC_FAIL(err, EXEC_BAD_SPEC, "--set %.100s: the value does not fit the key",
                             text);
        }
    }
    return EXEC_OK;
}

static const struct job_source_ops embedded_ops = {
    .start = embedded_start,
    .next = embedded_next,
    .release = embedded_release,
    .schema = embedded_schema,
    .progress = embedded_progress,
    .workers = embedded_workers,
    .trace = embedded_trace,
    .finish = embedded_finish,
    .explain = embedded_explain,
    .destroy = embedded_destroy,
};

struct job_source *embedded_source_create(const struct cli_options *options, struct cli_error *err)
{
    static bool verbose;
    struct exec_job_options job = {0};
    struct exec_engine_config config = {
        .workers = options->threads, .log = log_line, .log_owner = &verbose};
    pthread_condattr_t monotonic;

    verbose = options->verbose;
    if (source_apply_options(options, &job, &err->exec) != EXEC_OK ||
        engine_settings(options, &config, &err->exec) != EXEC_OK) {
        return NULL;
    }
    config.policy = job.policy;
    config.probe_mode = job.probe_mode;
    config.morsel_rows = job.morsel_rows;
    struct embedded_source *self = calloc(1, sizeof *self);
    if (self == NULL) {
        EXEC_FAIL(&err->exec, EXEC_MEMORY_BUDGET, "out of memory");
        return NULL;
    }
    self->source.ops = &embedded_ops;
    self->last = &self->first;
    if (exec_engine_create(&config, &self->engine, &err->exec) != EXEC_OK) {
        free(self);
        return NULL;
    }
    pthread_mutex_init(&self->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&self->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return &self->source;
}
