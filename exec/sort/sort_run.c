#include "sort/sort_state.h"

#include <string.h>

/* The sort sink keeps the rows of every worker as they come; the run pipe cuts them into runs,
 * sorts each as one unit that gives its worker back whenever the time slice ends. */

enum { PIECE_ROWS = 16 };

/* ---- the sink
 * ---------------------------------------------------------------------------------------------- */

static enum push_result sink_fail(struct sort *sort, struct exec_error *err)
{
    err->rel = err->rel == 0 ? sort->rel : err->rel;
    job_fail(sort->job, err);
    return PUSH_FAILED;
}

static enum push_result sort_push(struct op_sink *sink, struct pipe_run *run, uint32_t index,
                                  const struct batch *in)
{
    struct sort *sort = (struct sort *)sink;
    struct sort_worker *own = &sort->workers[run->worker];
    struct nu_arena *arena = &sort->job->workers[run->worker].arena;
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
    const uint32_t row_bytes = sort->rows.layout.row_bytes;
    struct sort_block *block = nu_arena_alloc(arena, sizeof *block, 8);
    unsigned char *rows[BATCH_ROWS];
    struct sort_entry *entries;
    struct vec *extras;
    struct exec_error err;

    (void)index;
    if (sort->limit == 0) {
        return PUSH_STOP;
    }
    if (sort_rows_keys(&sort->rows, in, run->scratch, &extras, &entries, &err) != EXEC_OK) {
        return sink_fail(sort, &err);
    }
    if (block != NULL) {
        *block = (struct sort_block){.row_count = in->sel_count};
        block->rows = nu_arena_alloc(arena, (size_t)row_bytes * in->sel_count, 16);
    }
    if (block == NULL || block->rows == NULL) {
        job_fail_memory(sort->job, arena, "the rows of a sort");
        return PUSH_FAILED;
    }
    for (uint32_t p = 0; p < in->sel_count; p++) {
        rows[p] = block->rows + (size_t)p * row_bytes;
    }
    if (!sort_rows_write(&sort->rows, in, extras, entries, NULL, in->sel_count, rows, arena)) {
        job_fail_memory(sort->job, arena, "the strings of a sort");
        return PUSH_FAILED;
    }
    if (own->last == NULL) {
        own->first = block;
    } else {
        own->last->next = block;
    }
    own->last = block;
    own->row_count += in->sel_count;
    nu_arena_rewind(run->scratch, mark);
    return PUSH_MORE;
}

const struct sink_kind sort_run_sink_kind = {.name = "sort", .push = sort_push};

/* ---- sorting one run
 * ------------------------------------------------------------------------------------------ */

static void load_entries(struct sort_run *run, const struct sort_rows *rows)
{
    const struct sort_block *block = run->first_block;
    uint32_t at = run->first_row;

    for (uint32_t i = 0; i < run->row_count; i++) {
        while (at == block->row_count) {
            block = block->next;
            at = 0;
        }
        struct sort_entry *entry = &run->entries[i];
        entry->row = block->rows + (size_t)at * rows->layout.row_bytes;
        memcpy(&entry->high, entry->row, sizeof entry->high);
        memcpy(&entry->low, entry->row + 8, sizeof entry->low);
        at++;
    }
}

static void sort_piece(const struct sort_rows *rows, struct sort_entry *entries, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const struct sort_entry entry = entries[i];
        uint32_t at = i;
        while (at > 0 && sort_entry_before(rows, &entry, &entries[at - 1])) {
            entries[at] = entries[at - 1];
            at--;
        }
        entries[at] = entry;
    }
}

static void merge_begin(struct sort_run *run, uint32_t begin)
{
    const uint32_t middle =
        run->row_count - begin < run->width ? run->row_count : begin + run->width;
    run->begin = begin;
    run->out = begin;
    run->left = begin;
    run->right = middle;
}

/* Up to `budget` rows of the merge of two neighbouring pieces; returns the rows moved. */
static uint32_t merge_some(struct sort_run *run, const struct sort_rows *rows, uint32_t budget)
{
    const struct sort_entry *from = run->entries;
    const uint32_t left_end =
        run->row_count - run->begin < run->width ? run->row_count : run->begin + run->width;
    const uint32_t right_end =
        run->row_count - left_end < run->width ? run->row_count : left_end + run->width;
    uint32_t moved = 0;

    while (run->out < right_end && moved < budget) {
        const bool take_right =
            run->right < right_end &&
            (run->left == left_end || sort_entry_before(rows, &from[run->right], &from[run->left]));
        run->spare[run->out++] = from[take_right ? run->right++ : run->left++];
        moved++;
    }
    if (run->out == right_end && right_end < run->row_count) {
        merge_begin(run, right_end);
    }
    return moved;
}

bool sort_run_step(struct sort_run *run, const struct sort_rows *rows, sort_go_on_fn *may_go_on,
                   void *context)
{
    while (run->width == 0) {
        const uint32_t left = run->row_count - run->loaded;
        const uint32_t count = left < SORT_CHECK_ROWS ? left : SORT_CHECK_ROWS;
        for (uint32_t at = 0; at < count; at += PIECE_ROWS) {
            sort_piece(rows, run->entries + run->loaded + at,
                       count - at < PIECE_ROWS ? count - at : PIECE_ROWS);
        }
        run->loaded += count;
        if (run->loaded == run->row_count) {
            run->width = PIECE_ROWS;
            merge_begin(run, 0);
        }
        if (!may_go_on(context)) {
            return false;
        }
    }
    while (run->width < run->row_count) {
        uint32_t budget = SORT_CHECK_ROWS;
        while (budget > 0 && run->out < run->row_count) {
            budget -= merge_some(run, rows, budget);
        }
        if (run->out == run->row_count) {
            struct sort_entry *sorted = run->spare;
            run->spare = run->entries;
            run->entries = sorted;
            run->width *= 2;
            merge_begin(run, 0);
        }
        if (run->width < run->row_count && !may_go_on(context)) {
            return false;
        }
    }
    return true;
}

/* ---- the run pipe
 * ------------------------------------------------------------------------------------------------
 */

static uint32_t runs_of(const struct sort_worker *worker)
{
    return (uint32_t)((worker->row_count + SORT_RUN_ROWS - 1) / SORT_RUN_ROWS);
}

/* Cuts one worker's rows into runs of even size. */
static void cut_runs(const struct sort_worker *worker, uint32_t node, struct sort_run *runs)
{
    const uint32_t count = runs_of(worker);
    struct sort_block *block = worker->first;
    uint32_t at = 0;

    for (uint32_t r = 0; r < count; r++) {
        const uint64_t begin = worker->row_count * r / count;
        const uint64_t end = worker->row_count * (r + 1) / count;
        runs[r] = (struct sort_run){.first_block = block,
                                    .first_row = at,
                                    .row_count = (uint32_t)(end - begin),
                                    .node = node};
        uint64_t skip = at + (end - begin);
        while (block != NULL && skip >= block->row_count) {
            skip -= block->row_count;
            block = block->next;
        }
        at = (uint32_t)skip;
    }
}

static enum exec_code run_start(struct op_source *source, struct pipe *pipe, struct exec_error *err)
{
    struct sort *sort = sort_of_run_source(source);
    struct job_context *job = sort->job;

    for (uint32_t w = 0; w < job->worker_count; w++) {
        sort->run_count += runs_of(&sort->workers[w]);
        sort->row_count += sort->workers[w].row_count;
    }
    sort->runs = nu_arena_alloc(&job->plan, ((size_t)sort->run_count + 1) * sizeof *sort->runs, 16);
    if (sort->runs == NULL) {
        return job_memory_error(err, job->plan.refused, "the runs of a sort");
    }
    uint32_t first = 0;
    for (uint32_t w = 0; w < job->worker_count; w++) {
        const uint32_t count = runs_of(&sort->workers[w]);
        cut_runs(&sort->workers[w], job->worker_node[w], sort->runs + first);
        pipe_add_range(pipe, first, first + count, job->worker_node[w], false);
        first += count;
    }
    source->units_total = sort->run_count;
    return EXEC_OK;
}

static bool time_is_left(void *context)
{
    return !pipe_time_is_up(context);
}

/* A run that is not done stays where it stands in sort->runs; its unit is suspended for time. */
static enum push_result run_scan(struct op_source *source, struct pipe_run *run,
                                 struct sched_range *range, uint64_t unit_target)
{
    struct sort *sort = sort_of_run_source(source);
    struct nu_arena *arena = &sort->job->workers[run->worker].arena;

    for (uint64_t unit = 0; unit < unit_target && range->begin < range->end; unit++) {
        struct sort_run *own = &sort->runs[range->begin];
        if (own->entries == NULL) {
            struct sort_entry *both =
                nu_arena_alloc(arena, 2 * (size_t)own->row_count * sizeof *both, 64);
            if (both == NULL) {
                job_fail_memory(sort->job, arena, "sorting");
                return PUSH_FAILED;
            }
            own->entries = both;
            own->spare = both + own->row_count;
            load_entries(own, &sort->rows);
        }
        if (!sort_run_step(own, &sort->rows, time_is_left, run)) {
            if (job_is_stopping(sort->job)) {
                return PUSH_FAILED;
            }
            run->out_of_time = true;
            range->unsplit = 1;
            return PUSH_SUSPEND;
        }
        range->begin++;
    }
    return PUSH_MORE;
}

const struct source_kind sort_run_source_kind = {
    .name = "sort runs", .start = run_start, .scan = run_scan, .unit_hint = 1};
