#include "sort/window_state.h"
#include "vec/vec.h"

/* The merge of one unit: all rows whose hash begins with the unit's number, in the order of hash,
 * prefix and keys. Partitions of one hash may come mixed with each other, each in its own order;
 * so every partition of the hash under way has counters of its own. */

/* ---- start
 * -------------------------------------------------------------------------------------------------
 */

static uint32_t bits_for(const struct window *window)
{
    uint32_t bits = 0;

    while (window->plan.partition_count != 0 && bits < WINDOW_UNIT_BITS &&
           window->sort.row_count >> (bits + 1) >= WINDOW_UNIT_ROWS) {
        bits++;
    }
    return bits;
}

static enum exec_code source_start(struct op_source *source, struct pipe *pipe,
                                   struct exec_error *err)
{
    struct window *window = window_of_source(source);
    const struct job_context *job = window->sort.job;
    struct nu_arena *arena = &window->sort.job->plan;

    if (window->sort.row_count == 0) {
        return EXEC_OK;
    }
    window->part_bits = bits_for(window);
    const uint64_t units = UINT64_C(1) << window->part_bits;
    window->parts =
        nu_arena_calloc(arena, units * sizeof *window->parts, _Alignof(struct window_part));
    if (window->parts == NULL) {
        return job_memory_error(err, arena->refused, "a window");
    }
    source->units_total = units;
    for (uint32_t n = 0; n < job->node_count; n++) {
        const uint64_t begin = units * n / job->node_count;
        const uint64_t end = units * (n + 1) / job->node_count;
        if (begin < end) {
            pipe_add_range(pipe, begin, end, n, false);
        }
    }
    return EXEC_OK;
}

/* The first entry of the run whose hash is not below `hash`. */
static uint32_t lower_bound(const struct sort_run *run, uint64_t hash)
{
    uint32_t begin = 0, end = run->row_count;

    while (begin < end) {
        const uint32_t middle = begin + (end - begin) / 2;
        if (run->entries[middle].high < hash) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}

static bool part_open(struct window *window, struct window_part *part, uint64_t number,
                      struct nu_arena *arena)
{
    const struct sort *sort = &window->sort;
    struct sort_tournament *tournament = &part->tournament;
    const uint32_t shift = 64 - window->part_bits;

    part->rows = nu_arena_alloc(arena, BATCH_ROWS * sizeof *part->rows, 64);
    part->numbers = nu_arena_alloc(
        arena, ((size_t)window->plan.function_count * BATCH_ROWS + 1) * sizeof *part->numbers, 64);
    if (part->rows == NULL || part->numbers == NULL ||
        !sort_tournament_init(tournament, &sort->rows, sort->runs, sort->run_count, arena)) {
        return false;
    }
    for (uint32_t r = 0; window->part_bits != 0 && r < sort->run_count; r++) {
        const bool is_last = number + 1 == UINT64_C(1) << window->part_bits;
        tournament->heads[r] = lower_bound(&sort->runs[r], number << shift);
        tournament->ends[r] =
            is_last ? sort->runs[r].row_count : lower_bound(&sort->runs[r], (number + 1) << shift);
    }
    sort_tournament_begin(tournament);
    part->is_open = true;
    return true;
}

/* ---- counting
 * ----------------------------------------------------------------------------------------------
 */

/* NULL: out of memory. */
static struct window_counter *add_counter(struct window_part *part, struct nu_arena *arena)
{
    if (part->counter_count == part->counter_room) {
        const uint32_t room = part->counter_room == 0 ? 4 : 2 * part->counter_room;
        struct window_counter *more = nu_arena_calloc(arena, room * sizeof *more, 8);
        if (more == NULL) {
            return NULL;
        }
        for (uint32_t i = 0; i < part->counter_count; i++) {
            more[i] = part->counters[i];
        }
        part->counters = more;
        part->counter_room = room;
    }
    part->counters[part->counter_count] = (struct window_counter){.row = NULL};
    return &part->counters[part->counter_count++];
}

static struct window_counter *counter_of(const struct window *window, struct window_part *part,
                                         const struct sort_entry *entry, struct nu_arena *arena)
{
    const struct sort_rows *rows = &window->sort.rows;
    const uint32_t keys = rows->hashed_count;

    if (keys != 0 && entry->high != part->hash) {
        part->hash = entry->high;
        part->counter_count = 0;
    }
    for (uint32_t i = part->counter_count; i-- > 0;) {
        if (sort_rows_compare_keys(rows, 0, keys, entry->row, part->counters[i].row) == 0) {
            return &part->counters[i];
        }
    }
    return add_counter(part, arena);
}

static void count_row(const struct window *window, struct window_counter *counter,
                      const unsigned char *row)
{
    const struct sort_rows *rows = &window->sort.rows;

    counter->row_number++;
    if (window->compares_order &&
        (counter->row == NULL || sort_rows_compare_keys(rows, rows->hashed_count, rows->key_count,
                                                        counter->row, row) != 0)) {
        counter->rank = counter->row_number;
        counter->dense_rank++;
    }
    counter->row = row;
}

static int64_t value_of(const struct window_counter *counter, enum exec_window_function function)
{
    switch (function) {
        case EXEC_WINDOW_RANK: return counter->rank;
        case EXEC_WINDOW_DENSE_RANK: return counter->dense_rank;
        default: return counter->row_number;
    }
}

/* Fills the batch. PUSH_SUSPEND: the time slice ended first. */
static enum push_result fill(struct window *window, struct window_part *part, struct pipe_run *run)
{
    const struct window_plan *plan = &window->plan;
    struct nu_arena *arena = &run->job->workers[run->worker].arena;

    for (uint32_t looked = 1; part->pending < BATCH_ROWS; looked++) {
        const struct sort_entry *entry = sort_tournament_pop(&part->tournament);
        if (entry == NULL) {
            break;
        }
        struct window_counter *counter = counter_of(window, part, entry, arena);
        if (counter == NULL) {
            job_fail_memory(run->job, arena, "the partitions of a window");
            return PUSH_FAILED;
        }
        count_row(window, counter, entry->row);
        if (plan->limit < 0 || value_of(counter, plan->limited) <= plan->limit) {
            for (uint32_t f = 0; f < plan->function_count; f++) {
                part->numbers[(size_t)f * BATCH_ROWS + part->pending] =
                    value_of(counter, plan->functions[f]);
            }
            part->rows[part->pending++] = entry->row;
        }
        if (looked % SORT_CHECK_ROWS == 0 && pipe_time_is_up(run)) {
            run->out_of_time = true;
            return PUSH_SUSPEND;
        }
    }
    part->is_full = true;
    return PUSH_MORE;
}

/* ---- output
 * ------------------------------------------------------------------------------------------------
 */

static enum push_result push_pending(struct window *window, struct window_part *part,
                                     struct pipe_run *run)
{
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
    const uint32_t own = window->plan.column_count;
    const uint32_t column_count = own + window->plan.function_count;
    struct vec *columns =
        nu_arena_alloc(run->scratch, (column_count + (size_t)1) * sizeof *columns, 8);

    for (uint32_t c = 0; columns != NULL && c < own; c++) {
        if (!row_gather(&window->sort.rows.layout, c, part->rows, part->pending, run->scratch,
                        &columns[c])) {
            columns = NULL;
        }
    }
    if (columns == NULL) {
        job_fail_memory(run->job, run->scratch, "a batch of a window");
        return PUSH_FAILED;
    }
    for (uint32_t f = 0; f < window->plan.function_count; f++) {
        columns[own + f] =
            (struct vec){.data = part->numbers + (size_t)f * BATCH_ROWS, .kind = EXEC_TYPE_INT64};
    }
    const struct batch batch = {.row_count = part->pending,
                                .sel_count = part->pending,
                                .columns = columns,
                                .column_count = column_count};
    const enum push_result result = pipe_push_source(run, &batch);
    nu_arena_rewind(run->scratch, mark);
    return result;
}

/* false: the unit is at its end, or *result_out says why not. */
static bool part_step(struct window *window, struct window_part *part, struct pipe_run *run,
                      enum push_result *result_out)
{
    *result_out = part->is_full ? PUSH_MORE : fill(window, part, run);
    if (*result_out != PUSH_MORE || part->pending == 0) {
        return false;
    }
    const bool is_last = part->pending < BATCH_ROWS;
    *result_out = push_pending(window, part, run);
    if (*result_out != PUSH_MORE) {
        return false;
    }
    part->is_full = false;
    part->pending = 0;
    return !is_last;
}

static enum push_result source_scan(struct op_source *source, struct pipe_run *run,
                                    struct sched_range *range, uint64_t unit_target)
{
    struct window *window = window_of_source(source);
    struct nu_arena *arena = &run->job->workers[run->worker].arena;

    for (uint64_t unit = 0; unit < unit_target && range->begin < range->end; unit++) {
        struct window_part *part = &window->parts[range->begin];
        enum push_result result;

        if (!part->is_open && !part_open(window, part, range->begin, arena)) {
            job_fail_memory(run->job, arena, "merging the runs of a window");
            return PUSH_FAILED;
        }
        while (part_step(window, part, run, &result)) {
            if (pipe_time_is_up(run)) {
                run->out_of_time = true;
                range->unsplit = 1;
                return PUSH_SUSPEND;
            }
        }
        if (result == PUSH_SUSPEND) {
            range->unsplit = 1;
        }
        if (result != PUSH_MORE) {
            return job_is_stopping(run->job) ? PUSH_FAILED : result;
        }
        range->begin++;
        if (pipe_time_is_up(run)) {
            break;
        }
    }
    return PUSH_MORE;
}

static void source_close(struct op_source *source, struct job_context *job)
{
    (void)job;
    window_top_destroy(window_of_source(source));
}

const struct source_kind window_source_kind = {.name = "windows",
                                               .start = source_start,
                                               .scan = source_scan,
                                               .close = source_close,
                                               .unit_hint = 1};
