#include "sort/sort_state.h"

#include <string.h>

/* The ordered source merges the sorted runs by a tournament of losers: one comparison a level and
 * row. It runs on one worker at a time; a batch that was not taken is made again from its row
 * pointers. */

static bool run_is_empty(const struct sort_merge *merge, uint32_t run)
{
    return run >= merge->run_count || merge->heads[run] == merge->runs[run].row_count;
}

/* Whether the head of run a comes before that of run b; empty runs come last. */
static bool head_before(const struct sort *sort, uint32_t a, uint32_t b)
{
    const struct sort_merge *merge = &sort->merge;

    if (run_is_empty(merge, a) || run_is_empty(merge, b)) {
        return !run_is_empty(merge, a);
    }
    return sort_entry_before(&sort->rows, &merge->runs[a].entries[merge->heads[a]],
                             &merge->runs[b].entries[merge->heads[b]]);
}

/* Nodes 1..n-1 are matches, node n + r is run r. Plays everything once, from the leaves up; winners
 * is room for n. */
static void tournament(struct sort *sort, uint32_t *winners)
{
    struct sort_merge *merge = &sort->merge;
    const uint32_t n = merge->run_count;

    for (uint32_t node = n - 1; node >= 1; node--) {
        const uint32_t left = 2 * node >= n ? 2 * node - n : winners[2 * node];
        const uint32_t right = 2 * node + 1 >= n ? 2 * node + 1 - n : winners[2 * node + 1];
        const bool right_wins = head_before(sort, right, left);
        winners[node] = right_wins ? right : left;
        merge->tree[node] = right_wins ? left : right;
    }
    merge->winner = n == 1 ? 0 : winners[1];
}

static unsigned char *pop(struct sort *sort)
{
    struct sort_merge *merge = &sort->merge;
    uint32_t winner = merge->winner;
    unsigned char *row = merge->runs[winner].entries[merge->heads[winner]].row;

    merge->heads[winner]++;
    for (uint32_t node = (winner + merge->run_count) / 2; node >= 1; node /= 2) {
        if (head_before(sort, merge->tree[node], winner)) {
            const uint32_t loser = winner;
            winner = merge->tree[node];
            merge->tree[node] = loser;
        }
    }
    merge->winner = winner;
    return row;
}

static enum exec_code ordered_start(struct op_source *source, struct pipe *pipe,
                                    struct exec_error *err)
{
    struct sort *sort = sort_of_ordered_source(source);
    struct sort_merge *merge = &sort->merge;
    struct nu_arena *plan = &sort->job->plan;
    const uint64_t behind = sort->row_count > sort->offset ? sort->row_count - sort->offset : 0;
    uint32_t *words;

    source->units_total = behind < sort->limit ? behind : sort->limit;
    if (source->units_total == 0) {
        return EXEC_OK;
    }
    words = nu_arena_calloc(plan, 3 * (size_t)sort->run_count * sizeof *words, 64);
    if (words == NULL) {
        return job_memory_error(err, plan->refused, "merging sorted runs");
    }
    merge->runs = sort->runs;
    merge->run_count = sort->run_count;
    merge->tree = words;
    merge->heads = words + sort->run_count;
    tournament(sort, words + 2 * (size_t)sort->run_count);
    pipe_add_range(pipe, 0, source->units_total, sort->runs[0].node, true);
    return EXEC_OK;
}

/* false: the time slice ended before the offset was behind us. */
static bool skip_offset(struct sort *sort, struct pipe_run *run)
{
    struct sort_merge *merge = &sort->merge;

    while (merge->skipped < sort->offset) {
        for (uint32_t i = 0; i < SORT_CHECK_ROWS && merge->skipped < sort->offset; i++) {
            (void)pop(sort);
            merge->skipped++;
        }
        if (pipe_time_is_up(run)) {
            return false;
        }
    }
    return true;
}

static enum push_result push_pending(struct sort *sort, struct pipe_run *run)
{
    struct sort_merge *merge = &sort->merge;
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
    const uint32_t column_count = sort->rows.column_count;
    struct vec *columns =
        nu_arena_alloc(run->scratch, (column_count + (size_t)1) * sizeof *columns, 8);
    enum push_result result;

    for (uint32_t c = 0; columns != NULL && c < column_count; c++) {
        if (!row_gather(&sort->rows.layout, c, merge->rows, merge->pending, run->scratch,
                        &columns[c])) {
            columns = NULL;
        }
    }
    if (columns == NULL) {
        job_fail_memory(sort->job, run->scratch, "a batch of sorted rows");
        return PUSH_FAILED;
    }
    const struct batch batch = {.row_count = merge->pending,
                                .sel_count = merge->pending,
                                .columns = columns,
                                .column_count = column_count};
    result = pipe_push_source(run, &batch);
    nu_arena_rewind(run->scratch, mark);
    return result;
}

static enum push_result ordered_scan(struct op_source *source, struct pipe_run *run,
                                     struct sched_range *range, uint64_t unit_target)
{
    struct sort *sort = sort_of_ordered_source(source);
    struct sort_merge *merge = &sort->merge;
    const uint64_t end =
        range->end - range->begin < unit_target ? range->end : range->begin + unit_target;

    if (!skip_offset(sort, run)) {
        run->out_of_time = true;
        return PUSH_SUSPEND;
    }
    while (range->begin < end) {
        const uint64_t left = range->end - range->begin;
        const uint32_t count = left < BATCH_ROWS ? (uint32_t)left : BATCH_ROWS;
        enum push_result result;
        for (; merge->pending < count; merge->pending++) {
            merge->rows[merge->pending] = pop(sort);
        }
        result = push_pending(sort, run);
        if (result == PUSH_SUSPEND || result == PUSH_FAILED) {
            return result;
        }
        range->begin += merge->pending;
        merge->pending = 0;
        if (result == PUSH_STOP) {
            return result;
        }
        if (range->begin < end && pipe_time_is_up(run)) {
            break;
        }
    }
    return PUSH_MORE;
}

/* The rows of a top-n lie in arenas of its own. */
static void ordered_close(struct op_source *source, struct job_context *job)
{
    struct sort *sort = sort_of_ordered_source(source);

    for (uint32_t w = 0; sort->is_top && w < job->worker_count; w++) {
        sort_heap_destroy(&sort->workers[w].heap);
    }
}

const struct source_kind sort_ordered_source_kind = {.name = "sorted rows",
                                                     .start = ordered_start,
                                                     .scan = ordered_scan,
                                                     .close = ordered_close,
                                                     .unit_align = BATCH_ROWS};
