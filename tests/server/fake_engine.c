#include "exec/exec.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* exec.h in one thread and a few hundred lines, so that the network side can be tested alone. A job
 * streams `generator_rows` numbers in chunks of FAKE_CHUNK_ROWS with two chunks of credit; a scan
 * of a table that does not exist fails; into_table and uploads make tables that know their row
 * count. */

enum { FAKE_CHUNK_ROWS = 16384, FAKE_CREDIT = 2, FAKE_TABLES_MAX = 16 };

struct fake_chunk {
    struct exec_chunk chunk;
    struct exec_column_buffers column;
    int64_t values[FAKE_CHUNK_ROWS];
};

struct exec_job {
    struct exec_job *next;
    struct exec_engine *engine;
    atomic_uint refs;
    struct exec_job_events events;
    void *owner;
    struct exec_job_options options;
    char *into_table;
    bool into_replace, schema_sent, done, scans_table;
    uint64_t rows, rows_done, chunks;
    uint32_t chunks_out;
    struct exec_error error;
};

struct fake_append {
    struct fake_append *next;
    void *token;
    uint64_t row_count;
};

struct exec_upload {
    struct exec_upload *next;
    struct exec_engine *engine;
    struct exec_upload_events events;
    void *owner;
    char name[EXEC_NAME_BYTES_MAX + 1];
    struct fake_append *appends;
    uint64_t rows;
    bool commit, abort, done, released;
    struct exec_error error;
};

struct fake_table {
    char name[EXEC_NAME_BYTES_MAX + 1];
    uint64_t rows, version;
};

struct exec_engine {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop;
    struct exec_job *jobs;
    struct exec_upload *uploads;
    struct fake_table tables[FAKE_TABLES_MAX];
    uint32_t table_count;
    uint64_t version, jobs_started, jobs_done;
};

static const struct exec_field fake_field = {
    .name = "value", .type = {.kind = EXEC_TYPE_INT64}, .not_null = true};
static const struct exec_schema fake_schema = {.fields = &fake_field, .field_count = 1};

/* ---- tables, under the lock -------------------------------------------------------------------
 */

static struct fake_table *fake_find(struct exec_engine *engine, const char *name)
{
    for (uint32_t i = 0; i < engine->table_count; i++) {
        if (strcmp(engine->tables[i].name, name) == 0) {
            return &engine->tables[i];
        }
    }
    return NULL;
}

static struct fake_table *fake_put(struct exec_engine *engine, const char *name, uint64_t rows)
{
    struct fake_table *table = fake_find(engine, name);

    if (table == NULL) {
        assert(engine->table_count < FAKE_TABLES_MAX);
        table = &engine->tables[engine->table_count++];
        strcpy(table->name, name);
    }
    table->rows = rows;
    table->version = ++engine->version;
    return table;
}

enum exec_code exec_table_list(struct exec_engine *engine, const char *name,
                               struct exec_table_list *list_out, struct exec_error *err)
{
    (void)err;
    *list_out = (struct exec_table_list){0};
    pthread_mutex_lock(&engine->lock);
    struct exec_table_info *infos =
        calloc(FAKE_TABLES_MAX, sizeof *infos + sizeof fake_schema + 256);
    char *names = (char *)(infos + FAKE_TABLES_MAX);
    for (uint32_t i = 0; i < engine->table_count; i++) {
        const struct fake_table *table = &engine->tables[i];
        if (name == NULL || strcmp(name, table->name) == 0) {
            strcpy(names, table->name);
            infos[list_out->table_count++] =
                (struct exec_table_info){.name = names,
                                         .schema = fake_schema,
                                         .row_count = table->rows,
                                         .memory_bytes = table->rows * 8,
                                         .version = table->version};
            names += 256;
        }
    }
    list_out->tables = infos;
    list_out->memory = infos;
    pthread_mutex_unlock(&engine->lock);
    return EXEC_OK;
}

void exec_table_list_free(struct exec_table_list *list)
{
    free(list->memory);
}

enum exec_code exec_table_drop(struct exec_engine *engine, const char *name, struct exec_error *err)
{
    enum exec_code code = EXEC_OK;

    pthread_mutex_lock(&engine->lock);
    struct fake_table *table = fake_find(engine, name);
    if (table == NULL) {
        code = EXEC_FAIL(err, EXEC_TABLE_NOT_FOUND, "no table '%s'", name);
    } else {
        *table = engine->tables[--engine->table_count];
    }
    pthread_mutex_unlock(&engine->lock);
    return code;
}

/* ---- jobs -------------------------------------------------------------------------------------
 */

static void fake_emit(struct exec_job *job)
{
    struct fake_chunk *chunk = calloc(1, sizeof *chunk);
    const uint64_t left = job->rows - job->rows_done;
    const uint64_t rows = left < FAKE_CHUNK_ROWS ? left : FAKE_CHUNK_ROWS;

    for (uint64_t i = 0; i < rows; i++) {
        chunk->values[i] = (int64_t)(job->rows_done + i);
    }
    chunk->column = (struct exec_column_buffers){.type = fake_field.type,
                                                 .row_count = rows,
                                                 .values = chunk->values,
                                                 .values_bytes = rows * 8};
    chunk->chunk = (struct exec_chunk){.columns = &chunk->column,
                                       .column_count = 1,
                                       .row_count = rows,
                                       .byte_count = rows * 8,
                                       .job = job};
    pthread_mutex_lock(&job->engine->lock);
    job->rows_done += rows;
    job->chunks++;
    job->chunks_out++;
    pthread_mutex_unlock(&job->engine->lock);
    job->events.chunk(job->owner, job, &chunk->chunk);
}

/* One step of one job, without the lock. True when something happened. */
static bool fake_job_step(struct exec_job *job)
{
    struct exec_engine *engine = job->engine;
    const bool streams = job->into_table == NULL && !job->options.explain && !job->options.analyze;

    pthread_mutex_lock(&engine->lock);
    bool end = job->error.code != EXEC_OK || !streams || job->rows_done == job->rows;
    const bool credit = job->chunks_out < FAKE_CREDIT;
    if (job->scans_table && job->error.code == EXEC_OK) {
        EXEC_FAIL(&job->error, EXEC_TABLE_NOT_FOUND, "no such table");
        end = true;
    }
    const bool schema = streams && !job->schema_sent && job->error.code == EXEC_OK;
    job->schema_sent |= schema;
    if (end && !schema) {
        if (job->error.code == EXEC_OK && job->into_table != NULL) {
            fake_put(engine, job->into_table, job->rows);
        }
        job->done = true;
        engine->jobs_done++;
    }
    pthread_mutex_unlock(&engine->lock);
    if (schema) {
        job->events.schema(job->owner, job, &fake_schema);
        return true;
    }
    if (end) {
        job->events.done(job->owner, job);
        return true;
    }
    if (credit) {
        fake_emit(job);
    }
    return credit;
}

enum exec_code exec_submit(struct exec_engine *engine, const struct exec_job_spec *spec,
                           const struct exec_job_events *events, void *owner,
                           struct exec_job **job_out, struct exec_error *err)
{
    struct exec_job *job = calloc(1, sizeof *job);

    if (spec->rel_count == 0) {
        free(job);
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "plan.rels is empty");
    }
    atomic_init(&job->refs, 2); /* the owner's and the thread's */
    job->engine = engine;
    job->events = *events;
    job->owner = owner;
    job->options = spec->options;
    job->rows = (uint64_t)spec->rels[0].u.scan.generator_rows;
    job->scans_table = spec->rels[0].u.scan.source == EXEC_SCAN_TABLE;
    job->into_table = spec->into_table != NULL ? strdup(spec->into_table) : NULL;
    *job_out = job;
    pthread_mutex_lock(&engine->lock);
    engine->jobs_started++;
    struct exec_job **link = &engine->jobs;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = job;
    pthread_cond_signal(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
    return EXEC_OK;
}

void exec_job_cancel(struct exec_job *job, enum exec_code code, const char *reason)
{
    pthread_mutex_lock(&job->engine->lock);
    if (job->error.code == EXEC_OK && !job->done) {
        EXEC_FAIL(&job->error, code, "%s", reason);
    }
    pthread_cond_signal(&job->engine->changed);
    pthread_mutex_unlock(&job->engine->lock);
}

void exec_job_retain(struct exec_job *job)
{
    atomic_fetch_add(&job->refs, 1);
}

void exec_job_release(struct exec_job *job)
{
    if (atomic_fetch_sub(&job->refs, 1) == 1) {
        assert(job->chunks_out == 0);
        free(job->into_table);
        free(job);
    }
}

void exec_chunk_release(struct exec_chunk *chunk)
{
    struct exec_engine *engine = chunk->job->engine;

    pthread_mutex_lock(&engine->lock);
    chunk->job->chunks_out--;
    pthread_cond_signal(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
    free(chunk);
}

void exec_job_status(const struct exec_job *job, struct exec_job_status *out)
{
    pthread_mutex_lock(&job->engine->lock);
    *out = (struct exec_job_status){.rows_done = job->rows_done,
                                    .rows_total = job->rows,
                                    .result_rows = job->rows_done,
                                    .result_chunks = job->chunks};
    pthread_mutex_unlock(&job->engine->lock);
}

void exec_job_worker(const struct exec_job *job, uint32_t worker, struct exec_job_worker *out)
{
    *out = (struct exec_job_worker){.rows_local = worker == 0 ? job->rows_done : 0};
}

uint32_t exec_job_relation_count(const struct exec_job *job)
{
    (void)job;
    return 0;
}

const struct exec_job_relation *exec_job_relation(const struct exec_job *job, uint32_t index)
{
    (void)job, (void)index;
    abort(); /* there is none */
}

uint32_t exec_job_pipe_count(const struct exec_job *job)
{
    (void)job;
    return 0;
}

const struct exec_job_pipe *exec_job_pipe(const struct exec_job *job, uint32_t index)
{
    (void)job, (void)index;
    abort();
}

uint32_t exec_job_trace_room(const struct exec_job *job)
{
    return job->options.trace_events;
}

/* One morsel a worker. */
uint32_t exec_job_trace(const struct exec_job *job, uint32_t worker,
                        struct exec_trace_event *events_out, uint32_t room, uint64_t *dropped_out)
{
    assert(room > 0);
    *dropped_out = worker;
    events_out[0] = (struct exec_trace_event){.begin_ns = 1000 + worker,
                                              .end_ns = 3000,
                                              .rows = worker == 0 ? job->rows_done : 0,
                                              .kind = EXEC_TRACE_MORSEL};
    return 1;
}

void exec_job_times(const struct exec_job *job, uint64_t *submitted_ns_out, uint64_t *ended_ns_out)
{
    (void)job;
    *submitted_ns_out = 1000;
    *ended_ns_out = 3000;
}

const struct exec_error *exec_job_error(const struct exec_job *job)
{
    return &job->error;
}

const char *exec_job_explain_text(const struct exec_job *job)
{
    return job->options.explain || job->options.analyze ? "a fake plan" : NULL;
}

const char *exec_job_explain_json(const struct exec_job *job)
{
    return job->options.explain || job->options.analyze ? "{}" : NULL;
}

const struct exec_schema *exec_job_schema(const struct exec_job *job)
{
    (void)job;
    return &fake_schema;
}

/* ---- uploads ----------------------------------------------------------------------------------
 */

enum exec_code exec_upload_begin(struct exec_engine *engine, const char *table,
                                 const struct exec_schema *schema, bool replace,
                                 uint64_t expected_bytes, const struct exec_upload_events *events,
                                 void *owner, struct exec_upload **upload_out,
                                 struct exec_error *err)
{
    (void)schema;
    (void)expected_bytes;
    pthread_mutex_lock(&engine->lock);
    if (!replace && fake_find(engine, table) != NULL) {
        pthread_mutex_unlock(&engine->lock);
        return EXEC_FAIL(err, EXEC_EXISTS, "table '%s' exists", table);
    }
    struct exec_upload *upload = calloc(1, sizeof *upload);
    upload->engine = engine;
    upload->events = *events;
    upload->owner = owner;
    strcpy(upload->name, table);
    upload->next = engine->uploads;
    engine->uploads = upload;
    pthread_mutex_unlock(&engine->lock);
    *upload_out = upload;
    return EXEC_OK;
}

static void upload_set(struct exec_upload *upload, bool *flag)
{
    pthread_mutex_lock(&upload->engine->lock);
    *flag = true;
    pthread_cond_signal(&upload->engine->changed);
    pthread_mutex_unlock(&upload->engine->lock);
}

void exec_upload_append(struct exec_upload *upload, const struct exec_column_buffers *columns,
                        void *token)
{
    struct fake_append *append = calloc(1, sizeof *append);

    append->token = token;
    append->row_count = columns[0].row_count;
    pthread_mutex_lock(&upload->engine->lock);
    append->next = upload->appends;
    upload->appends = append;
    pthread_cond_signal(&upload->engine->changed);
    pthread_mutex_unlock(&upload->engine->lock);
}

void exec_upload_commit(struct exec_upload *upload)
{
    upload_set(upload, &upload->commit);
}

void exec_upload_abort(struct exec_upload *upload, enum exec_code code, const char *reason)
{
    EXEC_FAIL(&upload->error, code, "%s", reason);
    upload_set(upload, &upload->abort);
}

void exec_upload_release(struct exec_upload *upload)
{
    upload_set(upload, &upload->released);
}

static bool fake_upload_step(struct exec_upload *upload)
{
    struct exec_engine *engine = upload->engine;
    struct exec_table_info info = {.name = upload->name, .schema = fake_schema};

    pthread_mutex_lock(&engine->lock);
    struct fake_append *append = upload->appends;
    const bool end = append == NULL && (upload->commit || upload->abort) && !upload->done;
    if (append != NULL) {
        upload->appends = append->next;
        upload->rows += append->row_count;
    } else if (end) {
        upload->done = true;
        if (upload->commit) {
            const struct fake_table *table = fake_put(engine, upload->name, upload->rows);
            info.row_count = table->rows;
            info.version = table->version;
            info.memory_bytes = table->rows * 8;
        }
    }
    pthread_mutex_unlock(&engine->lock);
    if (append != NULL) {
        upload->events.appended(upload->owner, append->token);
        free(append);
    } else if (end) {
        upload->events.done(upload->owner, &upload->error, upload->commit ? &info : NULL);
    }
    return append != NULL || end;
}

/* ---- the thread -------------------------------------------------------------------------------
 */

/* Takes what ended out of the lists. Under the lock. */
static void fake_sweep(struct exec_engine *engine, struct exec_job **ended,
                       struct exec_upload **released)
{
    struct exec_job **job = &engine->jobs;
    struct exec_upload **upload = &engine->uploads;

    while (*job != NULL) {
        struct exec_job *at = *job;
        if (at->done) {
            *job = at->next;
            at->next = *ended;
            *ended = at;
        } else {
            job = &at->next;
        }
    }
    while (*upload != NULL) {
        struct exec_upload *at = *upload;
        if (at->done && at->released) {
            *upload = at->next;
            at->next = *released;
            *released = at;
        } else {
            upload = &at->next;
        }
    }
}

static bool fake_turn(struct exec_engine *engine)
{
    struct exec_job *jobs[4096];
    struct exec_upload *uploads[64];
    struct exec_job *ended = NULL;
    struct exec_upload *released = NULL;
    uint32_t job_count = 0;
    uint32_t upload_count = 0;
    bool busy = false;

    pthread_mutex_lock(&engine->lock);
    for (struct exec_job *job = engine->jobs; job != NULL && job_count < 4096; job = job->next) {
        jobs[job_count++] = job;
    }
    for (struct exec_upload *upload = engine->uploads; upload != NULL && upload_count < 64;
         upload = upload->next) {
        uploads[upload_count++] = upload;
    }
    pthread_mutex_unlock(&engine->lock);
    for (uint32_t i = 0; i < job_count; i++) {
        busy |= fake_job_step(jobs[i]);
    }
    for (uint32_t i = 0; i < upload_count; i++) {
        busy |= fake_upload_step(uploads[i]);
    }
    pthread_mutex_lock(&engine->lock);
    fake_sweep(engine, &ended, &released);
    pthread_mutex_unlock(&engine->lock);
    while (ended != NULL) {
        struct exec_job *next = ended->next;
        exec_job_release(ended);
        ended = next;
    }
    while (released != NULL) {
        struct exec_upload *next = released->next;
        free(released);
        released = next;
    }
    return busy;
}

static void *fake_thread(void *argument)
{
    struct exec_engine *engine = argument;
    bool stop = false;

    while (!stop) {
        if (fake_turn(engine)) {
            continue;
        }
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 2000000; /* a signal between the turn and the wait costs 2 ms, no more */
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&engine->lock);
        pthread_cond_timedwait(&engine->changed, &engine->lock, &until);
        stop = engine->stop && engine->jobs == NULL && engine->uploads == NULL;
        pthread_mutex_unlock(&engine->lock);
    }
    return NULL;
}

enum exec_code exec_engine_create(const struct exec_engine_config *config,
                                  struct exec_engine **engine_out, struct exec_error *err)
{
    struct exec_engine *engine = calloc(1, sizeof *engine);

    (void)config;
    pthread_mutex_init(&engine->lock, NULL);
    pthread_cond_init(&engine->changed, NULL);
    if (pthread_create(&engine->thread, NULL, fake_thread, engine) != 0) {
        free(engine);
        return EXEC_FAIL(err, EXEC_INTERNAL, "no thread");
    }
    *engine_out = engine;
    return EXEC_OK;
}

void exec_engine_destroy(struct exec_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->stop = true;
    pthread_cond_signal(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
    pthread_join(engine->thread, NULL);
    pthread_cond_destroy(&engine->changed);
    pthread_mutex_destroy(&engine->lock);
    free(engine);
}

uint32_t exec_engine_worker_count(const struct exec_engine *engine)
{
    (void)engine;
    return 2;
}

void exec_engine_worker_info(const struct exec_engine *engine, uint32_t worker,
                             struct exec_worker_info *out)
{
    (void)engine;
    *out = (struct exec_worker_info){.worker = worker, .os_cpu = -1};
}

uint32_t exec_engine_node_count(const struct exec_engine *engine)
{
    (void)engine;
    return 1;
}

void exec_engine_node_info(const struct exec_engine *engine, uint32_t node,
                           struct exec_node_info *out)
{
    (void)engine;
    *out = (struct exec_node_info){.node = node};
}

void exec_engine_counters(const struct exec_engine *engine, struct exec_engine_counters *out)
{
    (void)engine;
    *out = (struct exec_engine_counters){.io_uring_available = 1};
}

const char *exec_engine_topology_text(const struct exec_engine *engine)
{
    (void)engine;
    return "fake";
}

bool exec_engine_alive(const struct exec_engine *engine, uint64_t stuck_ns)
{
    (void)engine;
    (void)stuck_ns;
    return true;
}
