#include "sort/window_places.h"

/* The sink may drop rows early: not for dense_rank, where any number of rows may share a place. */
static bool has_top(const struct window_plan *plan)
{
    return plan->limit > 0 && plan->limit <= WINDOW_TOP_ROWS_MAX &&
           (plan->limited == EXEC_WINDOW_ROW_NUMBER || plan->limited == EXEC_WINDOW_RANK);
}

static bool asks_for_ranks(const struct window_plan *plan)
{
    bool asks = plan->limit >= 0 && plan->limited != EXEC_WINDOW_ROW_NUMBER;

    for (uint32_t f = 0; f < plan->function_count; f++) {
        asks = asks || plan->functions[f] != EXEC_WINDOW_ROW_NUMBER;
    }
    return asks;
}

enum exec_code window_create(struct job_context *job, const struct window_plan *plan,
                             struct window **window_out, struct exec_error *err)
{
    struct window *window = nu_arena_calloc(&job->plan, sizeof *window, _Alignof(struct window));
    const bool is_top = has_top(plan);
    const struct sort_plan sort_plan = {
        .rel = plan->rel,
        .types = plan->types,
        .column_count = plan->column_count,
        .keys = plan->keys,
        .key_count = plan->partition_count + plan->order_count,
        .limit = plan->limit == 0 ? 0 : -1,
        .hashed_key_count = plan->partition_count,
        .hash_bits_kept = job->hash_bits_kept,
        .prefix_is_keys = is_top && plan->limited == EXEC_WINDOW_RANK,
    };

    if (window == NULL) {
        return job_memory_error(err, job->plan.refused, "a window");
    }
    window->plan = *plan;
    window->compares_order = asks_for_ranks(plan);
    if (sort_init(&window->sort, job, &sort_plan, err) != EXEC_OK) {
        return err->code;
    }
    window->source.kind = &window_source_kind;
    window->source.rel = plan->rel;
    if (window_places_create(window, err) != EXEC_OK) {
        return err->code;
    }
    if (window->places != NULL) {
        window->sort.sink.kind = &window_places_sink_kind;
        window->source.kind = &window_places_source_kind;
    } else if (is_top) {
        window->sort.sink.kind = &window_top_sink_kind;
        window->workers = nu_arena_calloc(&job->plan, job->worker_count * sizeof *window->workers,
                                          _Alignof(struct window_worker));
        if (window->workers == NULL) {
            return job_memory_error(err, job->plan.refused, "a window");
        }
    }
    *window_out = window;
    return EXEC_OK;
}

struct op_sink *window_sink(struct window *window)
{
    return &window->sort.sink;
}

struct op_source *window_run_source(struct window *window)
{
    return &window->sort.run_source;
}

struct op_source *window_source(struct window *window)
{
    return &window->source;
}
