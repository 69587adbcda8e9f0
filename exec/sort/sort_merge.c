#include "sort/sort_state.h"

#include <string.h>

/* The ordered source merges the sorted runs. It runs on one worker at a time; a batch that was not
 * taken is made again from its row pointers. */

static unsigned char *pop(struct sort *sort)
{
    return sort_tournament_pop(&sort->merge.tournament)->row;
}

static enum exec_code ordered_start(struct op_source *source, struct pipe *pipe,
                                    struct exec_error *err)
{
    struct sort *sort = sort_of_ordered_source(source);
    struct sort_merge *merge = &sort->merge;
    struct nu_arena *plan = &sort->job->plan;
    const uint64_t behind = sort->row_count > sort->offset ? sort->row_count - sort->offset : 0;

    source->units_total = behind < sort->limit ? behind : sort->limit;
    if (source->units_total == 0) {
        return EXEC_OK;
    }
    if (!sort_tournament_init(&merge->tournament, &sort->rows, sort->runs, sort->run_count, plan)) {
        return job_memory_error(err, plan->refused, "merging sorted runs");
    }
    sort_tournament_begin(&merge->tournament);
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
