#include "op/join_state.h"
#include "vec/vec.h"

#include <string.h>

/* RIGHT and FULL: build rows nobody matched, after every probe pipe has ended. Units are the
 * partitions, then each worker's rows with a NULL key. Where a unit stands is kept in
 * unmatched_units, so a suspended range needs no state of its own. */

static struct join *join_of_unmatched(struct op_source *source)
{
    return (struct join *)(void *)((unsigned char *)source - offsetof(struct join, unmatched));
}

static enum exec_code unmatched_start(struct op_source *source, struct pipe *pipe,
                                      struct exec_error *err)
{
    struct join *join = join_of_unmatched(source);
    const uint32_t units = join->partition_count + join->job->worker_count;

    (void)err;
    source->units_total = units;
    for (uint32_t n = 0; n < join->job->node_count; n++) {
        const uint64_t begin = (uint64_t)units * n / join->job->node_count;
        const uint64_t end = (uint64_t)units * (n + 1) / join->job->node_count;
        if (begin < end) {
            pipe_add_range(pipe, begin, end, n, false);
        }
    }
    return EXEC_OK;
}

/* Up to a batch of rows from where *at stands; 0: the unit is done. */
static uint32_t collect_partition(const struct hash_dir *dir, struct join_unmatched_unit *at,
                                  unsigned char **rows)
{
    uint32_t count = 0;

    for (; at->row < dir->row_count && count < BATCH_ROWS; at->row++) {
        unsigned char *row = dir->rows + at->row * dir->row_bytes;
        rows[count] = row;
        count += __atomic_load_n(row + JOIN_MATCHED_BYTE, __ATOMIC_RELAXED) == 0;
    }
    return count;
}

static uint32_t collect_null_rows(const struct row_list *list, uint32_t row_bytes,
                                  struct join_unmatched_unit *at, unsigned char **rows)
{
    uint32_t count = 0;

    if (at->chunk == NULL && at->row == 0) {
        at->chunk = list->first;
    }
    while (at->chunk != NULL && count < BATCH_ROWS) {
        if (at->row == at->chunk->row_count) {
            at->chunk = at->chunk->next;
            at->row = at->chunk == NULL; /* not 0 at the end: that is the beginning */
            continue;
        }
        rows[count++] = (unsigned char *)(uintptr_t)at->chunk->rows + at->row++ * row_bytes;
    }
    return count;
}

static uint32_t collect(struct join *join, uint32_t unit, struct join_unmatched_unit *at,
                        unsigned char **rows)
{
    if (unit < join->partition_count) {
        return collect_partition(&join->dirs.parts[unit], at, rows);
    }
    const struct join_worker *worker = &join->workers[unit - join->partition_count];
    return collect_null_rows(&worker->null_rows, join->layout.row_bytes, at, rows);
}

static enum push_result push_rows(struct join *join, struct pipe_run *run,
                                  unsigned char *const *rows, uint32_t count)
{
    const struct join_plan *plan = &join->plan;
    struct vec *columns =
        nu_arena_alloc(run->scratch, (plan->output_count + 1) * sizeof *columns, 8);
    bool ok = columns != NULL;

    for (uint32_t o = 0; ok && o < plan->output_count; o++) {
        const uint32_t column = plan->outputs[o].column;
        if (!plan->outputs[o].from_build) {
            columns[o] = vec_null(plan->probe_types[column].kind);
            continue;
        }
        ok = row_gather(&join->layout, join->build_column[column], rows, count, run->scratch,
                        &columns[o]);
    }
    if (!ok) {
        return join_fail_memory(join, run->scratch, "a batch of a join's result");
    }
    const struct batch out = {.row_count = count,
                              .sel_count = count,
                              .columns = columns,
                              .column_count = plan->output_count};
    return pipe_push_source(run, &out);
}

/* One batch of a unit. *done: the unit has no more. */
static enum push_result push_some(struct join *join, struct pipe_run *run, uint32_t unit,
                                  bool *done)
{
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
    unsigned char **rows = nu_arena_alloc(run->scratch, BATCH_ROWS * sizeof *rows, 8);
    struct join_unmatched_unit at = join->unmatched_units[unit];
    enum push_result result = PUSH_MORE;

    if (rows == NULL) {
        return join_fail_memory(join, run->scratch, "a batch of a join's result");
    }
    const uint32_t count = collect(join, unit, &at, rows);
    *done = count == 0;
    if (count > 0) {
        result = push_rows(join, run, rows, count);
    }
    if (result == PUSH_MORE) {
        join->unmatched_units[unit] = at;
    }
    nu_arena_rewind(run->scratch, mark);
    return result;
}

static enum push_result unmatched_scan(struct op_source *source, struct pipe_run *run,
                                       struct sched_range *range, uint64_t unit_target)
{
    struct join *join = join_of_unmatched(source);

    for (uint64_t u = 0; u < unit_target && range->begin < range->end; u++) {
        bool done = false;
        while (!done) {
            const enum push_result result = push_some(join, run, (uint32_t)range->begin, &done);
            if (result != PUSH_MORE) {
                return result;
            }
            if (!done && pipe_time_is_up(run)) {
                return PUSH_MORE;
            }
        }
        range->begin++;
    }
    return PUSH_MORE;
}

const struct source_kind join_unmatched_source_kind = {
    .name = "join unmatched",
    .start = unmatched_start,
    .scan = unmatched_scan,
    .unit_hint = 1,
};
