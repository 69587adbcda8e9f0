#include "engine.h"
#include "upload_rows.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An upload is a job of one pipeline that is fed from outside. Calls of the owner become steps in a
 * queue; at most one step is on the dispatcher at a time, as a serial range of its rows, so that
 * rows keep their order and the builder has one owner. It ends with a commit or abort step, or when
 * an append has failed and the queue is empty: the pipeline closes and finish() tells the owner. */

enum { UPLOADS_MAX = 16384 };

enum upload_step_kind { UPLOAD_APPEND, UPLOAD_COMMIT, UPLOAD_ABORT };

struct upload_step {
    struct upload_step *next;
    enum upload_step_kind kind;
    void *token;
    struct exec_column_buffers columns[]; /* of an append */
};

struct exec_upload {
    struct sched_pipeline pipeline; /* first */
    struct sched_job job;
    struct exec_engine *engine;
    struct exec_upload_events events;
    void *owner;
    char *name;
    struct exec_schema schema; /* a copy */
    bool replace;
    _Atomic uint32_t references; /* the owner's and the pipeline's */

    pthread_mutex_t lock; /* guards the block below */
    struct upload_step *first, **last_next;
    bool active;             /* the first step is on the dispatcher */
    bool closing;            /* a commit or abort was asked for */
    bool ended;              /* the pipeline is closed; nothing can be queued */
    struct exec_error error; /* code EXEC_OK: not failed */

    /* Of the worker that runs the first step. */
    struct chunk_builder *builder;
    struct table_chunk **chunks;
    uint32_t chunk_count, chunk_capacity;
    uint32_t node; /* of the next chunk: they go round */
    uint64_t row_count;
    struct table *table; /* committed; NULL: not */
};

/* ---- life ----------------------------------------------------------------------------------- */

static void upload_free_schema(struct exec_schema *schema)
{
    struct exec_field *fields = (struct exec_field *)(uintptr_t)schema->fields;

    for (uint32_t f = 0; fields != NULL && f < schema->field_count; f++) {
        free((char *)(uintptr_t)fields[f].name);
    }
    free(fields);
    *schema = (struct exec_schema){.fields = NULL};
}

static bool upload_copy_schema(struct exec_schema *to, const struct exec_schema *from)
{
    struct exec_field *fields = calloc(from->field_count, sizeof *fields);

    if (fields == NULL) {
        return false;
    }
    *to = (struct exec_schema){.fields = fields, .field_count = from->field_count};
    for (uint32_t f = 0; f < from->field_count; f++) {
        fields[f] = from->fields[f];
        fields[f].name = strdup(from->fields[f].name);
        if (fields[f].name == NULL) {
            return false;
        }
    }
    return true;
}

/* Everything an upload holds but its own few hundred bytes. */
static void upload_give_back(struct exec_upload *upload)
{
    if (upload->builder != NULL) {
        chunk_builder_destroy(upload->builder);
        upload->builder = NULL;
    }
    for (uint32_t i = 0; i < upload->chunk_count; i++) {
        table_chunk_destroy(upload->chunks[i]);
    }
    free(upload->chunks);
    upload->chunks = NULL;
    upload->chunk_count = 0;
    upload_free_schema(&upload->schema);
    free(upload->name);
    upload->name = NULL;
}

static void upload_unref(struct exec_upload *upload)
{
    /* acq_rel: what either holder did comes before the free. */
    if (atomic_fetch_sub_explicit(&upload->references, 1, memory_order_acq_rel) == 1) {
        pthread_mutex_destroy(&upload->lock);
        free(upload);
    }
}

/* ---- steps ---------------------------------------------------------------------------------- */

static void upload_dispatch(struct exec_upload *upload, const struct upload_step *step)
{
    const uint64_t rows = step->kind == UPLOAD_APPEND ? step->columns[0].row_count : 0;
    const struct sched_range range = {
        .end = rows == 0 ? 1 : rows,
        .pipeline = &upload->pipeline,
        .node = (uint16_t)upload->node,
        .serial = 1,
    };
    sched_pipeline_add(&upload->pipeline, &range);
}

/* False: the upload has ended; the step is still the caller's. */
static bool upload_push(struct exec_upload *upload, struct upload_step *step)
{
    pthread_mutex_lock(&upload->lock);
    const bool pushed = !upload->ended && !(step->kind != UPLOAD_APPEND && upload->closing);
    bool dispatches = false;
    if (pushed) {
        step->next = NULL;
        *upload->last_next = step;
        upload->last_next = &step->next;
        upload->closing |= step->kind != UPLOAD_APPEND;
        dispatches = !upload->active;
        upload->active = true;
    }
    pthread_mutex_unlock(&upload->lock);
    if (dispatches) {
        upload_dispatch(upload, step);
    }
    return pushed;
}

static void upload_set_error(struct exec_upload *upload, const struct exec_error *error)
{
    pthread_mutex_lock(&upload->lock);
    if (upload->error.code == EXEC_OK) {
        upload->error = *error;
    }
    pthread_mutex_unlock(&upload->lock);
}

static bool upload_failed(struct exec_upload *upload)
{
    pthread_mutex_lock(&upload->lock);
    const bool failed = upload->error.code != EXEC_OK;
    pthread_mutex_unlock(&upload->lock);
    return failed;
}

/* ---- on a worker: appending ----------------------------------------------------------------- */

static bool upload_keep_chunk(struct exec_upload *upload, struct table_chunk *chunk)
{
    if (upload->chunk_count == upload->chunk_capacity) {
        const uint32_t capacity = upload->chunk_capacity == 0 ? 8 : 2 * upload->chunk_capacity;
        struct table_chunk **chunks =
            realloc(upload->chunks, capacity * sizeof(struct table_chunk *));
        if (chunks == NULL) {
            table_chunk_destroy(chunk);
            return false;
        }
        upload->chunks = chunks;
        upload->chunk_capacity = capacity;
    }
    upload->chunks[upload->chunk_count++] = chunk;
    upload->node = (upload->node + 1) % upload->engine->topology.node_count;
    chunk_builder_set_node(upload->builder, upload->node);
    return true;
}

static enum exec_code upload_take_chunks(struct exec_upload *upload, bool rest,
                                         struct exec_error *err)
{
    struct table_chunk *chunk;

    while (upload->builder != NULL && (chunk = chunk_builder_take(upload->builder, rest)) != NULL) {
        if (!upload_keep_chunk(upload, chunk)) {
            return engine_fail_memory(err, NULL, "the chunks of an upload");
        }
    }
    return EXEC_OK;
}

static enum exec_code upload_slice(struct exec_upload *upload, const struct upload_step *step,
                                   uint64_t row, uint32_t count, struct nu_arena *scratch,
                                   struct exec_error *err)
{
    const struct nu_arena_mark mark = nu_arena_mark(scratch);
    struct vec *vecs =
        nu_arena_alloc(scratch, upload->schema.field_count * sizeof *vecs, _Alignof(struct vec));
    if (vecs == NULL) {
        return engine_fail_memory(err, scratch->refused, "an upload");
    }
    enum exec_code code =
        upload_read_rows(&upload->schema, step->columns, row, count, scratch, vecs, err);
    if (code == EXEC_OK) {
        const struct batch batch = {.row_count = count,
                                    .sel_count = count,
                                    .columns = vecs,
                                    .column_count = upload->schema.field_count};
        code = chunk_builder_append(upload->builder, &batch, err);
    }
    nu_arena_rewind(scratch, mark);
    return code == EXEC_OK ? upload_take_chunks(upload, false, err) : code;
}

static enum exec_code upload_prepare(struct exec_upload *upload, const struct upload_step *step,
                                     struct exec_error *err)
{
    if (upload->builder == NULL) {
        upload->builder =
            chunk_builder_create(upload->engine->pages, catalogue_budget(upload->engine->catalogue),
                                 upload->node, &upload->schema);
        if (upload->builder != NULL && !chunk_builder_encode(upload->builder, &upload->schema)) {
            return engine_fail_memory(err, NULL, "the dictionaries of an upload");
        }
    }
    if (upload->builder == NULL) {
        return engine_fail_memory(err, NULL, "an upload");
    }
    return upload_check_columns(&upload->schema, step->columns, err);
}

/* Copies rows from *row on until they are all there or the morsel is over. */
static enum exec_code upload_append_rows(struct exec_upload *upload, uint32_t worker,
                                         const struct upload_step *step, uint64_t *row,
                                         struct exec_error *err)
{
    const uint64_t rows = step->columns[0].row_count;
    struct nu_arena scratch;
    enum exec_code code = *row == 0 ? upload_prepare(upload, step, err) : EXEC_OK;

    nu_arena_init(&scratch, upload->engine->pages, upload->engine->worker_node[worker],
                  catalogue_budget(upload->engine->catalogue));
    while (code == EXEC_OK && *row < rows) {
        const uint32_t count = rows - *row < BATCH_ROWS ? (uint32_t)(rows - *row) : BATCH_ROWS;
        code = upload_slice(upload, step, *row, count, &scratch, err);
        *row += count;
        if (sched_morsel_is_over(&upload->pipeline, worker)) {
            break;
        }
    }
    nu_arena_destroy(&scratch);
    return code;
}

/* ---- on a worker: the end of a step --------------------------------------------------------- */

static void upload_commit_rows(struct exec_upload *upload)
{
    struct exec_error err;

    if (upload_failed(upload)) {
        return;
    }
    if (upload_take_chunks(upload, true, &err) != EXEC_OK) {
        upload_set_error(upload, &err);
        return;
    }
    const uint32_t chunk_count = upload->chunk_count;
    upload->chunk_count = 0; /* the catalogue's, whatever it says */
    if (catalogue_put(upload->engine->catalogue, upload->name, &upload->schema, upload->chunks,
                      chunk_count, upload->replace, &upload->table, &err) != EXEC_OK) {
        upload_set_error(upload, &err);
    }
}

/* Everything that is queued, when the upload has ended. */
static void upload_flush(struct exec_upload *upload, struct upload_step *step)
{
    while (step != NULL) {
        struct upload_step *next = step->next;
        if (step->kind == UPLOAD_APPEND) {
            upload->events.appended(upload->owner, step->token);
        }
        free(step);
        step = next;
    }
}

/* The first step is over: takes it off, ends the upload or sends the next one. The upload must not
 * be touched afterwards. */
static void upload_step_over(struct exec_upload *upload, struct upload_step *step)
{
    const bool is_last = step->kind != UPLOAD_APPEND;

    if (step->kind == UPLOAD_APPEND) {
        upload->events.appended(upload->owner, step->token);
    }
    pthread_mutex_lock(&upload->lock);
    struct upload_step *next = step->next;
    const bool ends = is_last || (next == NULL && upload->error.code != EXEC_OK);
    upload->first = ends ? NULL : next;
    if (upload->first == NULL) {
        upload->last_next = &upload->first;
        upload->active = false;
    }
    upload->ended = ends;
    pthread_mutex_unlock(&upload->lock);
    free(step);
    if (ends) {
        upload_flush(upload, next);
        sched_pipeline_close(&upload->pipeline);
    } else if (next != NULL) {
        upload_dispatch(upload, next);
    }
}

static enum sched_outcome upload_run(struct sched_pipeline *pipeline, uint32_t worker,
                                     struct sched_range *range, uint64_t unit_target)
{
    struct exec_upload *upload = (struct exec_upload *)pipeline;
    struct exec_error err;

    (void)unit_target;
    pthread_mutex_lock(&upload->lock);
    struct upload_step *step = upload->first;
    const bool failed = upload->error.code != EXEC_OK;
    pthread_mutex_unlock(&upload->lock);
    if (step->kind == UPLOAD_APPEND && !failed) {
        uint64_t row = range->begin;
        if (upload_append_rows(upload, worker, step, &row, &err) != EXEC_OK) {
            upload_set_error(upload, &err);
        } else if (row < step->columns[0].row_count) {
            range->begin = row;
            return SCHED_RAN;
        }
    } else if (step->kind == UPLOAD_COMMIT) {
        upload_commit_rows(upload);
    }
    range->begin = range->end;
    upload_step_over(upload, step);
    return SCHED_RAN;
}

static void upload_finish(struct sched_pipeline *pipeline, uint32_t worker)
{
    struct exec_upload *upload = (struct exec_upload *)pipeline;
    struct exec_engine *engine = upload->engine;
    struct exec_table_info info = {.name = NULL};
    const struct table *table = upload->table;

    (void)worker;
    if (table != NULL) {
        info = (struct exec_table_info){
            .name = table->name,
            .schema = table->schema,
            .row_count = table->row_count,
            .memory_bytes = table->memory_bytes,
            .version = table->version,
        };
    }
    const struct exec_error error = upload->error; /* `ended`: nobody writes it any more */
    upload_give_back(upload);
    upload->events.done(upload->owner, &error, table != NULL ? &info : NULL);
    if (table != NULL) {
        table_unref(upload->table);
    }
    upload_unref(upload);
    engine_upload_ended(engine);
}

static void upload_drop(struct sched_pipeline *pipeline, const struct sched_range *range)
{
    (void)pipeline;
    (void)range;
    assert(!"an upload's pipeline is never stopped");
}

static const struct sched_pipeline_ops upload_ops = {
    .name = "upload",
    .run = upload_run,
    .drop = upload_drop,
    .finish = upload_finish,
};

/* ---- the door ------------------------------------------------------------------------------- */

static enum exec_code upload_check_schema(const struct exec_schema *schema, struct exec_error *err)
{
    if (schema->field_count == 0 || schema->field_count > EXEC_COLUMNS_MAX) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "a table has 1 to %d columns, not %u",
                         EXEC_COLUMNS_MAX, schema->field_count);
    }
    for (uint32_t f = 0; f < schema->field_count; f++) {
        const struct exec_field *field = &schema->fields[f];
        const size_t bytes = field->name == NULL ? 0 : strlen(field->name);
        if (bytes == 0 || bytes > EXEC_NAME_BYTES_MAX) {
            return EXEC_FAIL(err, EXEC_BAD_SPEC, "column %u: a name has 1 to %d bytes, not %zu",
                             f + 1, EXEC_NAME_BYTES_MAX, bytes);
        }
        if (field->type.kind == EXEC_TYPE_NONE || field->type.kind >= EXEC_TYPE_COUNT ||
            (field->type.kind == EXEC_TYPE_TIMESTAMP &&
             (field->type.unit == EXEC_UNIT_NONE || field->type.unit > EXEC_UNIT_NANO)) ||
            (field->type.kind == EXEC_TYPE_DECIMAL128 &&
             (field->type.precision == 0 || field->type.precision > EXEC_DECIMAL_DIGITS_MAX))) {
            return EXEC_FAIL(err, EXEC_BAD_SPEC, "column %u '%.100s' has no valid type", f + 1,
                             field->name);
        }
    }
    return EXEC_OK;
}

static enum exec_code upload_check_room(struct exec_engine *engine, uint64_t expected_bytes,
                                        struct exec_error *err)
{
    char what[64];

    for (const struct nu_budget *budget = catalogue_budget(engine->catalogue); budget != NULL;
         budget = budget->parent) {
        const uint64_t used = nu_budget_used(budget);
        if (used > budget->limit_bytes || expected_bytes > budget->limit_bytes - used) {
            snprintf(what, sizeof what, "an upload of %" PRIu64 " bytes", expected_bytes);
            return engine_fail_memory(err, budget, what);
        }
    }
    return EXEC_OK;
}

static enum exec_code upload_check_begin(struct exec_engine *engine, const char *table,
                                         const struct exec_schema *schema, bool replace,
                                         uint64_t expected_bytes, struct exec_error *err)
{
    enum exec_code code = table_name_check(table, err);

    if (code == EXEC_OK) {
        code = upload_check_schema(schema, err);
    }
    if (code == EXEC_OK && !replace && catalogue_has(engine->catalogue, table)) {
        code = EXEC_FAIL(err, EXEC_EXISTS, "table '%s' exists already (replace is not set)", table);
    }
    if (code == EXEC_OK) {
        code = upload_check_room(engine, expected_bytes, err);
    }
    return code;
}

static struct exec_upload *upload_create(struct exec_engine *engine, const char *table,
                                         const struct exec_schema *schema, bool replace)
{
    /* Aligned: sched_pipeline keeps its account on cache lines of its own. */
    struct exec_upload *upload = NULL;
    if (posix_memalign((void **)&upload, _Alignof(struct exec_upload), sizeof *upload) != 0) {
        return NULL;
    }
    memset(upload, 0, sizeof *upload);
    pthread_mutex_init(&upload->lock, NULL);
    upload->engine = engine;
    upload->replace = replace;
    upload->last_next = &upload->first;
    atomic_init(&upload->references, 2);
    upload->name = strdup(table);
    if (upload->name == NULL || !upload_copy_schema(&upload->schema, schema)) {
        upload_give_back(upload);
        pthread_mutex_destroy(&upload->lock);
        free(upload);
        return NULL;
    }
    return upload;
}

enum exec_code exec_upload_begin(struct exec_engine *engine, const char *table,
                                 const struct exec_schema *schema, bool replace,
                                 uint64_t expected_bytes, const struct exec_upload_events *events,
                                 void *owner, struct exec_upload **upload_out,
                                 struct exec_error *err)
{
    const enum exec_code code =
        upload_check_begin(engine, table, schema, replace, expected_bytes, err);

    if (code != EXEC_OK) {
        return code;
    }
    pthread_mutex_lock(&engine->lock);
    const uint32_t open = engine->uploads_running;
    pthread_mutex_unlock(&engine->lock);
    if (open >= UPLOADS_MAX) {
        return EXEC_FAIL(err, EXEC_BUSY, "%d uploads are open already", UPLOADS_MAX);
    }
    struct exec_upload *upload = upload_create(engine, table, schema, replace);
    if (upload == NULL) {
        return engine_fail_memory(err, NULL, "an upload");
    }
    if (!engine_upload_began(engine)) {
        upload_give_back(upload);
        upload_unref(upload);
        upload_unref(upload);
        return EXEC_FAIL(err, EXEC_DRAINING, "the engine is stopping");
    }
    upload->events = *events;
    upload->owner = owner;
    sched_job_init(engine->sched, &upload->job);
    upload->pipeline.ops = &upload_ops;
    upload->pipeline.job = &upload->job;
    sched_pipeline_open(&upload->pipeline);
    *upload_out = upload;
    return EXEC_OK;
}

void exec_upload_append(struct exec_upload *upload, const struct exec_column_buffers *columns,
                        void *token)
{
    pthread_mutex_lock(&upload->lock);
    const uint32_t count = upload->ended ? 0 : upload->schema.field_count;
    pthread_mutex_unlock(&upload->lock);
    struct upload_step *step =
        count == 0 ? NULL : malloc(sizeof *step + count * sizeof step->columns[0]);

    if (step != NULL) {
        *step = (struct upload_step){.kind = UPLOAD_APPEND, .token = token};
        memcpy(step->columns, columns, count * sizeof step->columns[0]);
        if (upload_push(upload, step)) {
            return;
        }
        free(step);
    } else if (count != 0) {
        struct exec_error err;
        engine_fail_memory(&err, NULL, "an append");
        upload_set_error(upload, &err);
    }
    upload->events.appended(upload->owner, token);
}

static void upload_close(struct exec_upload *upload, enum upload_step_kind kind)
{
    struct upload_step *step = malloc(sizeof *step);

    assert(step != NULL); /* a few bytes: without them not even the error could be told */
    *step = (struct upload_step){.kind = kind};
    if (!upload_push(upload, step)) {
        free(step);
    }
}

void exec_upload_commit(struct exec_upload *upload)
{
    upload_close(upload, UPLOAD_COMMIT);
}

void exec_upload_abort(struct exec_upload *upload, enum exec_code code, const char *reason)
{
    struct exec_error error;

    EXEC_FAIL(&error, code, "%s", reason != NULL ? reason : exec_code_text(code));
    pthread_mutex_lock(&upload->lock);
    const bool aborts = !upload->closing && !upload->ended;
    if (aborts && upload->error.code == EXEC_OK) {
        upload->error = error; /* queued appends are dropped from here on */
    }
    pthread_mutex_unlock(&upload->lock);
    if (aborts) {
        upload_close(upload, UPLOAD_ABORT);
    }
}

void exec_upload_release(struct exec_upload *upload)
{
    exec_upload_abort(upload, EXEC_CANCELLED, "the upload was abandoned");
    upload_unref(upload);
}
