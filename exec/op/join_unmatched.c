#include "op/join_state.h"
#include "vec/vec.h"

#include <string.h>

/* After every probe pipe has ended: for RIGHT and FULL the build rows nobody matched, for semi,
 * anti and mark joins that ask about build rows those the answer keeps. Units are the partitions,
 * then each worker's rows with a NULL key. Where a unit stands is kept in unmatched_units, so a
 * suspended range needs no state of its own. */

static struct join *join_of_unmatched(struct op_source *source)
{
    return (struct join *)(void *)((unsigned char *)source - offsetof(struct join, unmatched));
}

/* Where the rows of a unit lie. */
static uint32_t unit_node(const struct join *join, uint32_t unit)
{
    return unit < join->partition_count ? join->partition_node[unit]
                                        : join->job->worker_node[unit - join->partition_count];
}

static enum exec_code unmatched_start(struct op_source *source, struct pipe *pipe,
                                      struct exec_error *err)
{
    struct join *join = join_of_unmatched(source);
    const uint32_t units = join->partition_count + join->job->worker_count;

    (void)err;
    source->units_total = units;
    for (uint32_t begin = 0, end; begin < units; begin = end) {
        for (end = begin + 1; end < units && unit_node(join, end) == unit_node(join, begin);) {
            end++;
        }
        pipe_add_range(pipe, begin, end, unit_node(join, begin), false);
    }
    return EXEC_OK;
}

/* What the probe has left in a row; has_keys: none of its keys is a NULL that matches nothing. */
static enum join_answer answer_of(const struct join *join, const unsigned char *row, bool has_keys)
{
    const uint8_t matched = __atomic_load_n(row + JOIN_MATCHED_BYTE, __ATOMIC_RELAXED);

    if (matched == JOIN_MATCHED_YES || matched == JOIN_MATCHED_RUN_YES) {
        return JOIN_YES;
    }
    if (join->plan.is_exists) {
        return JOIN_NO;
    }
    if (join->plan.verdict != NULL) {
        return matched == JOIN_MATCHED_UNKNOWN ? JOIN_UNKNOWN : JOIN_NO;
    }
    if (!atomic_load_explicit(&join->probe_has_rows, memory_order_relaxed)) {
        return JOIN_NO;
    }
    return has_keys && !atomic_load_explicit(&join->probe_has_null, memory_order_relaxed)
               ? JOIN_NO
               : JOIN_UNKNOWN;
}

static bool is_kept(const struct join *join, const unsigned char *row, bool has_keys)
{
    const enum join_answer answer = answer_of(join, row, has_keys);

    return join->plan.emits_build ? join_answer_is_kept(join->plan.kind, answer == JOIN_YES, answer)
                                  : answer != JOIN_YES;
}

/* Up to a batch of rows from where *at stands; 0: the unit is done. */
static uint32_t collect_partition(const struct join *join, uint32_t partition,
                                  struct join_unmatched_unit *at, unsigned char **rows)
{
    const struct hash_dir *dir = &join->dirs.parts[partition];
    uint32_t count = 0;

    for (; at->row < dir->row_count && count < BATCH_ROWS; at->row++) {
        unsigned char *row = dir->rows + at->row * dir->row_bytes;
        join_replicas_merge_matched(join, partition, at->row);
        rows[count] = row;
        count += is_kept(join, row, true);
    }
    return count;
}

static uint32_t collect_null_rows(const struct join *join, const struct row_list *list,
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
        rows[count] =
            (unsigned char *)(uintptr_t)at->chunk->rows + at->row++ * join->layout.row_bytes;
        count += is_kept(join, rows[count], false);
    }
    return count;
}

static uint32_t collect(struct join *join, uint32_t unit, struct join_unmatched_unit *at,
                        unsigned char **rows)
{
    if (unit < join->partition_count) {
        return collect_partition(join, unit, at, rows);
    }
    const struct join_worker *worker = &join->workers[unit - join->partition_count];
    return collect_null_rows(join, &worker->null_rows, at, rows);
}

struct marks {
    uint8_t mark[BATCH_ROWS];
    uint64_t valid[BATCH_WORDS];
};

static bool add_marks(struct join *join, struct pipe_run *run, unsigned char *const *rows,
                      uint32_t count, bool has_keys, struct vec *out)
{
    struct marks *marks = nu_arena_calloc(run->scratch, sizeof *marks, 64);

    for (uint32_t i = 0; marks != NULL && i < count; i++) {
        const enum join_answer answer = answer_of(join, rows[i], has_keys);
        marks->mark[i] = answer == JOIN_YES;
        marks->valid[i / 64] |= (uint64_t)(answer != JOIN_UNKNOWN) << i % 64;
    }
    if (marks != NULL) {
        *out = (struct vec){.data = marks->mark, .valid = marks->valid, .kind = EXEC_TYPE_BOOL};
    }
    return marks != NULL;
}

static enum push_result push_rows(struct join *join, struct pipe_run *run,
                                  unsigned char *const *rows, uint32_t count, bool has_keys)
{
    const struct join_plan *plan = &join->plan;
    const bool marks = plan->kind == EXEC_JOIN_LEFT_MARK;
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
    ok =
        ok && (!marks || add_marks(join, run, rows, count, has_keys, &columns[plan->output_count]));
    if (!ok) {
        return join_fail_memory(join, run->scratch, "a batch of a join's result");
    }
    const struct batch out = {.row_count = count,
                              .sel_count = count,
                              .columns = columns,
                              .column_count = plan->output_count + marks};
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
        result = push_rows(join, run, rows, count, unit < join->partition_count);
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
        if (pipe_time_is_up(run)) {
            break;
        }
    }
    return PUSH_MORE;
}

const struct source_kind join_unmatched_source_kind = {
    .name = "join unmatched",
    .start = unmatched_start,
    .scan = unmatched_scan,
    .unit_hint = 1,
};
