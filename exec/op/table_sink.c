#include "op/table_sink.h"

#include "op/job_context.h"
#include "table/table.h"

#include <inttypes.h>

struct table_worker {
    _Alignas(64) struct chunk_builder *builder; /* NULL: this worker has had no rows yet */
    uint64_t rows;
};

struct table_sink {
    struct op_sink op; /* first */
    struct job_context *job;
    struct table_options options;
    _Atomic uint64_t rows; /* against rows_max */
    const struct exec_schema *schema;
    const uint32_t *positions;
    struct table_worker *workers;
};

static bool rows_allowed(struct table_sink *sink, uint32_t rows)
{
    struct exec_error err;

    /* relaxed: only the sum matters. */
    if (sink->options.rows_max == 0 ||
        atomic_fetch_add_explicit(&sink->rows, rows, memory_order_relaxed) + rows <=
            sink->options.rows_max) {
        return true;
    }
    EXEC_FAIL(&err, EXEC_LIMIT, "the result has more than %" PRIu64 " rows (result_row_limit)",
              sink->options.rows_max);
    err.rel = sink->op.rel;
    job_fail(sink->job, &err);
    return false;
}

/* Chunks lie with the worker that fills them; but where one worker makes all rows (a compressed
 * file, a sort) they go round the nodes, so that later scans find work on every one. */
static void choose_node(const struct table_sink *sink, const struct pipe_run *run,
                        struct table_worker *own, uint32_t rows)
{
    if (pipe_is_serial(run->pipe)) {
        const uint64_t chunk = own->rows / TABLE_CHUNK_ROWS;
        chunk_builder_set_node(own->builder, (unsigned)(chunk % sink->job->node_count));
    }
    own->rows += rows;
}

static enum push_result table_push(struct op_sink *op, struct pipe_run *run, uint32_t index,
                                   const struct batch *batch)
{
    struct table_sink *sink = (struct table_sink *)op;
    struct table_worker *own = &sink->workers[sink->options.ordered ? 0 : run->worker];
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
    struct vec *columns =
        nu_arena_alloc(run->scratch, (sink->schema->field_count + 1) * sizeof *columns, 64);
    struct batch placed = *batch;
    bool is_ready = true;
    struct exec_error err;

    (void)index;
    if (!rows_allowed(sink, batch->sel_count)) {
        return PUSH_FAILED;
    }
    if (columns == NULL) {
        job_fail_memory(run->job, run->scratch, "a batch of the table");
        return PUSH_FAILED;
    }
    if (own->builder == NULL) {
        own->builder = chunk_builder_create(
            sink->job->pages, catalogue_budget(sink->job->catalogue), run->node, sink->schema);
        is_ready = own->builder != NULL &&
                   (!sink->options.encodes || chunk_builder_encode(own->builder, sink->schema));
    }
    if (!is_ready) {
        job_memory_error(&err, NULL, "a table builder");
        job_fail(run->job, &err);
        return PUSH_FAILED;
    }
    choose_node(sink, run, own, batch->sel_count);
    for (uint32_t c = 0; c < sink->schema->field_count; c++) {
        columns[c] = batch->columns[sink->positions[c]];
    }
    placed.columns = columns;
    placed.column_count = sink->schema->field_count;
    const enum exec_code code = chunk_builder_append(own->builder, &placed, &err);
    nu_arena_rewind(run->scratch, mark);
    if (code != EXEC_OK) {
        err.rel = err.rel == 0 ? op->rel : err.rel;
        job_fail(run->job, &err);
        return PUSH_FAILED;
    }
    run->job->workers[run->worker].rows_output += batch->sel_count;
    return PUSH_MORE;
}

static void builders_destroy(struct table_sink *sink)
{
    for (uint32_t w = 0; w < sink->job->worker_count; w++) {
        if (sink->workers[w].builder != NULL) {
            chunk_builder_destroy(sink->workers[w].builder);
            sink->workers[w].builder = NULL;
        }
    }
}

/* Chunks of all builders in the order of the workers; grows in the arena of the finishing worker.
 */
static enum exec_code chunks_collect(struct table_sink *sink, struct nu_arena *arena,
                                     struct table_chunk ***chunks_out, uint32_t *count_out,
                                     struct exec_error *err)
{
    uint32_t capacity = 0, count = 0;
    struct table_chunk **chunks = NULL, *chunk;

    for (uint32_t w = 0; w < sink->job->worker_count; w++) {
        while (sink->workers[w].builder != NULL &&
               (chunk = chunk_builder_take(sink->workers[w].builder, true)) != NULL) {
            if (count == capacity) {
                const uint32_t grown = capacity == 0 ? 64 : capacity * 2;
                struct table_chunk **more =
                    nu_arena_alloc(arena, grown * sizeof(struct table_chunk *), 64);
                if (more == NULL) {
                    table_chunk_destroy(chunk);
                    for (uint32_t c = 0; c < count; c++) {
                        table_chunk_destroy(chunks[c]);
                    }
                    return job_memory_error(err, arena->refused, "the chunks of a table");
                }
                for (uint32_t c = 0; c < count; c++) {
                    more[c] = chunks[c];
                }
                chunks = more;
                capacity = grown;
            }
            chunks[count++] = chunk;
        }
    }
    *chunks_out = chunks;
    *count_out = count;
    return EXEC_OK;
}

static enum exec_code table_finish(struct op_sink *op, struct job_context *job, uint32_t worker,
                                   struct exec_error *err)
{
    struct table_sink *sink = (struct table_sink *)op;
    struct table_chunk **chunks = NULL;
    uint32_t count = 0;

    enum exec_code code = chunks_collect(sink, &job->workers[worker].arena, &chunks, &count, err);
    if (code == EXEC_OK) {
        code = catalogue_put(job->catalogue, sink->options.table, sink->schema, chunks, count,
                             sink->options.replace, NULL, err);
    }
    builders_destroy(sink);
    return code;
}

static void table_abort(struct op_sink *op, struct job_context *job)
{
    (void)job;
    builders_destroy((struct table_sink *)op);
}

static const struct sink_kind table_kind = {
    .name = "table",
    .push = table_push,
    .finish = table_finish,
    .abort = table_abort,
};

struct op_sink *table_sink_create(struct job_context *job, uint32_t rel,
                                  const struct exec_schema *schema, const uint32_t *positions,
                                  const struct table_options *options)
{
    struct table_sink *sink =
        nu_arena_calloc(&job->plan, sizeof *sink, _Alignof(struct table_sink));

    if (sink == NULL) {
        return NULL;
    }
    sink->op.kind = &table_kind;
    sink->op.rel = rel;
    sink->job = job;
    sink->options = *options;
    sink->schema = schema;
    sink->positions = positions;
    sink->workers = nu_arena_calloc(&job->plan, job->worker_count * sizeof *sink->workers, 64);
    return sink->workers == NULL ? NULL : &sink->op;
}
