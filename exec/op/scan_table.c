#include "op/scan_table.h"

#include "op/job_context.h"

#include <string.h>

struct scan_table {
    struct op_source base; /* first */
    struct table *table;
    const uint32_t *columns;
    uint32_t column_count;
};

/* One range for a run of chunks on one node. Ranges count rows exactly (the figures of local and
 * remote rows are sums of them), and row numbers jump behind a chunk that is not full: so a run
 * ends there. */
static enum exec_code scan_table_start(struct op_source *source, struct pipe *pipe,
                                       struct exec_error *err)
{
    struct scan_table *scan = (struct scan_table *)source;
    const struct table *table = scan->table;
    uint32_t first = 0;

    (void)err;
    source->units_total = table->row_count;
    while (first < table->chunk_count) {
        const uint16_t node = table->chunks[first]->node;
        uint32_t last = first;
        while (last + 1 < table->chunk_count && table->chunks[last + 1]->node == node &&
               table->chunks[last]->row_count == TABLE_CHUNK_ROWS) {
            last++;
        }
        pipe_add_range(pipe, (uint64_t)first * TABLE_CHUNK_ROWS,
                       (uint64_t)last * TABLE_CHUNK_ROWS + table->chunks[last]->row_count, node,
                       false);
        first = last + 1;
    }
    return EXEC_OK;
}

static uint32_t batch_rows(const struct table_chunk *chunk, uint32_t row, uint64_t left)
{
    uint32_t count = BATCH_ROWS - row % BATCH_ROWS;

    count = count < chunk->row_count - row ? count : chunk->row_count - row;
    return count < left ? count : (uint32_t)left;
}

static enum push_result scan_table_scan(struct op_source *source, struct pipe_run *run,
                                        struct sched_range *range, uint64_t unit_target)
{
    struct scan_table *scan = (struct scan_table *)source;
    const uint64_t end =
        range->end - range->begin < unit_target ? range->end : range->begin + unit_target;
    struct vec *vecs = nu_arena_alloc(run->scratch, (scan->column_count + (size_t)1) * sizeof *vecs,
                                      _Alignof(struct vec));
    struct batch batch;

    if (vecs == NULL) {
        job_fail_memory(run->job, run->scratch, "the columns of a table scan");
        return PUSH_FAILED;
    }
    while (range->begin < end) {
        const struct table_chunk *chunk = scan->table->chunks[range->begin / TABLE_CHUNK_ROWS];
        const uint32_t row = (uint32_t)(range->begin % TABLE_CHUNK_ROWS);
        const uint32_t count = batch_rows(chunk, row, range->end - range->begin);
        table_chunk_batch(chunk, scan->table, scan->columns, scan->column_count, row, count, vecs,
                          &batch);
        const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
        if (!table_chunk_views(&batch, run->scratch)) {
            job_fail_memory(run->job, run->scratch, "the columns of a table scan");
            return PUSH_FAILED;
        }
        const enum push_result result = pipe_push_source(run, &batch);
        nu_arena_rewind(run->scratch, mark);
        if (result == PUSH_SUSPEND || result == PUSH_FAILED) {
            return result;
        }
        range->begin += count;
        run->job->workers[run->worker].rows_scanned += count;
        if (result == PUSH_STOP) {
            return result;
        }
        if (pipe_time_is_up(run)) {
            break;
        }
    }
    return PUSH_MORE;
}

static void scan_table_close(struct op_source *source, struct job_context *job)
{
    (void)job;
    table_unref(((struct scan_table *)source)->table);
}

static const struct source_kind scan_table_kind = {
    .name = "table scan",
    .start = scan_table_start,
    .scan = scan_table_scan,
    .close = scan_table_close,
    .unit_hint = 16 * BATCH_ROWS,
    .unit_align = BATCH_ROWS,
};

struct op_source *scan_table_create(struct job_context *job, uint32_t rel, struct table *table,
                                    const uint32_t *columns, uint32_t column_count)
{
    struct scan_table *scan =
        nu_arena_calloc(&job->plan, sizeof *scan, _Alignof(struct scan_table));
    uint32_t *copy =
        nu_arena_alloc(&job->plan, (column_count + (size_t)1) * sizeof *copy, _Alignof(uint32_t));

    if (scan == NULL || copy == NULL) {
        return NULL;
    }
    if (column_count > 0) {
        memcpy(copy, columns, column_count * sizeof *copy);
    }
    scan->base.kind = &scan_table_kind;
    scan->base.rel = rel;
    scan->table = table;
    scan->columns = copy;
    scan->column_count = column_count;
    return &scan->base;
}
