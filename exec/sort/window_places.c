#include "sort/window_places.h"

/* Whether and how: keys to places, the order key to codes. */

static bool is_integer(enum vec_storage storage)
{
    return storage >= VEC_I8 && storage <= VEC_U64;
}

static bool is_float(enum vec_storage storage)
{
    return storage == VEC_F32 || storage == VEC_F64;
}

/* What is known of the column the key is; NULL: nothing, or it is none. */
static const struct window_column *column_of(const struct window *window, uint32_t k,
                                             uint32_t *column_out)
{
    const struct window_plan *plan = &window->plan;

    if (!expr_is_column(plan->keys[k].expr, column_out) || *column_out >= plan->column_count ||
        !plan->columns[*column_out].is_bounded) {
        return NULL;
    }
    return &plan->columns[*column_out];
}

static bool plan_key(const struct window *window, struct window_places *places, uint32_t k)
{
    struct window_place_key *key = &places->keys[k];
    const struct window_column *column = column_of(window, k, &key->column);

    if (column == NULL) {
        return false;
    }
    key->storage = vec_storage(window->plan.types[key->column].kind);
    const uint64_t span = (uint64_t)column->most - (uint64_t)column->least;
    if (!is_integer(key->storage) || span >= WINDOW_PLACES_MAX) {
        return false;
    }
    key->may_be_null = column->may_be_null;
    key->least = column->least;
    key->span = (uint32_t)span + 1;
    key->stride = places->places;
    const uint64_t count = (uint64_t)places->places * (key->span + UINT32_C(1));
    if (count > WINDOW_PLACES_MAX) {
        return false;
    }
    places->places = (uint32_t)count;
    return true;
}

static bool plan_order(const struct window *window, struct window_places *places)
{
    const uint32_t k = window->plan.partition_count;
    struct window_place_order *order = &places->order;
    const struct window_column *column = column_of(window, k, &order->column);
    const enum exec_direction direction = window->plan.keys[k].direction;
    const bool descends = direction == EXEC_DESC_NULLS_FIRST || direction == EXEC_DESC_NULLS_LAST;
    const bool nulls_first =
        direction == EXEC_ASC_NULLS_FIRST || direction == EXEC_DESC_NULLS_FIRST;

    if (column == NULL) {
        return false;
    }
    order->storage = vec_storage(window->plan.types[order->column].kind);
    order->may_be_null = column->may_be_null;
    order->flip = descends ? UINT64_MAX : 0;
    order->null_code = nulls_first ? 0 : WINDOW_NO_CODE - 1;
    if (is_integer(order->storage)) {
        /* The first value's code is 1. */
        order->shift = descends ? (uint64_t)column->most + 2 : 1 - (uint64_t)column->least;
        return (uint64_t)column->most - (uint64_t)column->least <= WINDOW_NO_CODE - 3;
    }
    return is_float(order->storage);
}

/* Every column that comes out is a key or the order. */
static bool plan_columns(const struct window *window, struct window_places *places)
{
    for (uint32_t c = 0; c < window->plan.column_count; c++) {
        uint32_t k = 0;
        while (k < places->key_count && places->keys[k].column != c) {
            k++;
        }
        if (k == places->key_count && places->order.column != c) {
            return false;
        }
        places->key_of_column[c] = places->order.column == c ? UINT32_MAX : k;
    }
    return true;
}

static bool asks_for_numbers_alone(const struct window_plan *plan)
{
    bool alone = plan->limited == EXEC_WINDOW_ROW_NUMBER;

    for (uint32_t f = 0; f < plan->function_count; f++) {
        alone = alone && plan->functions[f] == EXEC_WINDOW_ROW_NUMBER;
    }
    return alone;
}

/* Every worker has all places, so there are to be rows for them and room in the budget. */
static bool is_worth(const struct window *window, const struct window_places *places)
{
    const struct job_context *job = window->sort.job;
    const uint64_t count = (uint64_t)places->places * job->worker_count;

    return (places->places <= WINDOW_PLACES_FREE || (double)count <= 2 * window->plan.rows) &&
           count * places->limit * sizeof(uint64_t) <=
               job->budget.limit_bytes / WINDOW_PLACES_BUDGET_SHARE;
}

static bool plan_all(const struct window *window, struct window_places *places)
{
    for (uint32_t k = 0; k < places->key_count; k++) {
        if (!plan_key(window, places, k)) {
            return false;
        }
    }
    return plan_order(window, places) && plan_columns(window, places) && is_worth(window, places);
}

enum exec_code window_places_create(struct window *window, struct exec_error *err)
{
    const struct window_plan *plan = &window->plan;
    struct job_context *job = window->sort.job;
    struct nu_arena *arena = &job->plan;

    if (plan->columns == NULL || plan->limit <= 0 || plan->limit > WINDOW_PLACES_LIMIT_MAX ||
        plan->order_count != 1 || !asks_for_numbers_alone(plan)) {
        return EXEC_OK;
    }
    struct window_places *places = nu_arena_calloc(arena, sizeof *places, 64);
    if (places == NULL) {
        return job_memory_error(err, arena->refused, "a window");
    }
    places->places = 1;
    places->limit = (uint32_t)plan->limit;
    places->key_count = plan->partition_count;
    places->keys = nu_arena_calloc(arena, (places->key_count + 1) * sizeof *places->keys, 8);
    places->key_of_column =
        nu_arena_calloc(arena, (plan->column_count + 1) * sizeof *places->key_of_column, 8);
    places->workers = nu_arena_calloc(arena, job->worker_count * sizeof *places->workers,
                                      _Alignof(struct window_place_worker));
    if (places->keys == NULL || places->key_of_column == NULL || places->workers == NULL) {
        return job_memory_error(err, arena->refused, "a window");
    }
    if (!plan_all(window, places)) {
        return EXEC_OK;
    }
    for (uint32_t w = 0; w < job->worker_count; w++) {
        nu_arena_init(&places->workers[w].arena, job->pages, job->worker_node[w], &job->budget);
    }
    window->places = places;
    return EXEC_OK;
}
