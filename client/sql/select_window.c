/* row_number(), rank() and dense_rank() OVER (...); DISTINCT ON; row numbers for INTERSECT ALL and
 * EXCEPT ALL. */
#include "select_query.h"
#include "sql_aggregate.h"

enum { FRAME_GIVEN = 1 /* of frameOptions: a frame was written */, NAMED_DEPTH_MAX = 16 };

/* A window as it was written, names resolved. */
struct window_shape {
    json_t *partition, *order; /* arrays; NULL: none */
    bool has_frame;
};

static long location_of(json_t *body)
{
    return (long)json_integer_value(json_object_get(body, "location"));
}

/* ---- relations */

uint32_t select_window_rel(struct select_query *query, uint32_t input,
                           const struct select_window *window)
{
    const struct exec_rel rel = {
        .kind = EXEC_REL_WINDOW,
        .u.window = {.input = input,
                     .partition = window->partition,
                     .partition_count = window->partition_count,
                     .order = window->order,
                     .order_count = window->order_count,
                     .functions = window->functions,
                     .function_count = window->function_count,
                     .limit = window->limit},
    };
    return builder_rel(query->run->plan, &rel);
}

static const struct exec_named_window *row_number(struct select_query *query)
{
    struct exec_named_window *function = builder_alloc(query->run->plan, sizeof *function);

    *function = (struct exec_named_window){.function = EXEC_WINDOW_ROW_NUMBER, .name = "number"};
    return function;
}

/* The first row of those with equal `keys` stays. */
enum exec_code select_first_rows(struct select_query *query, const uint32_t *keys,
                                 uint32_t key_count, const struct exec_sort_key *order,
                                 uint32_t order_count, long location)
{
    const struct exec_type number = {.kind = EXEC_TYPE_INT64};
    const struct select_window window = {.partition = keys,
                                         .partition_count = key_count,
                                         .order = order,
                                         .order_count = order_count,
                                         .functions = row_number(query),
                                         .function_count = 1,
                                         .limit = 1};

    if (key_count + order_count > EXEC_KEYS_MAX) {
        sql_refuse(&query->lowering, location, EXEC_LIMIT,
                   "DISTINCT ON and ORDER BY with more than %d keys", EXEC_KEYS_MAX);
        return EXEC_LIMIT;
    }
    query->frame->rel = select_window_rel(query, query->frame->rel, &window);
    frame_add(query->run->plan, query->frame, select_new_id(query->run), &number);
    return EXEC_OK;
}

/* A column more: which of the rows equal to it a row is. */
void select_number_equal_rows(struct select_query *query, struct select_frame *frame)
{
    const struct exec_type number = {.kind = EXEC_TYPE_INT64};
    uint32_t *columns = builder_alloc(query->run->plan, (frame->count + 1) * sizeof *columns);

    for (uint32_t c = 0; c < frame->count; c++) {
        columns[c] = builder_column(query->run->plan, c + 1, NULL);
    }
    const struct select_window window = {.partition = columns,
                                         .partition_count = frame->count,
                                         .functions = row_number(query),
                                         .function_count = 1,
                                         .limit = -1};
    frame->rel = select_window_rel(query, frame->rel, &window);
    frame_add(query->run->plan, frame, select_new_id(query->run), &number);
}

/* ---- windows as they are written */

static json_t *named_window(json_t *clause, const char *name)
{
    json_t *node = NULL;
    size_t i;

    json_array_foreach(clause, i, node)
    {
        json_t *body = tree_body(node, "WindowDef");
        const char *own = json_string_value(json_object_get(body, "name"));
        if (own != NULL && strcmp(own, name) == 0) {
            return body;
        }
    }
    return NULL;
}

/* `OVER w`, `OVER (w ORDER BY x)` and `OVER (...)`. */
static enum exec_code read_shape(struct select_query *query, json_t *clause, json_t *over,
                                 uint32_t depth, struct window_shape *out)
{
    const char *name = json_string_value(json_object_get(over, "refname"));
    const int64_t options = json_integer_value(json_object_get(over, "frameOptions"));

    if (name == NULL && depth == 0) {
        name = json_string_value(json_object_get(over, "name"));
    }
    *out = (struct window_shape){.partition = NULL};
    if (name != NULL) {
        json_t *named = depth == NAMED_DEPTH_MAX ? NULL : named_window(clause, name);
        if (named == NULL) {
            sql_refuse(&query->lowering, location_of(over), EXEC_BAD_SPEC,
                       "there is no window called '%.60s'", name);
            return EXEC_BAD_SPEC;
        }
        if (read_shape(query, clause, named, depth + 1, out) != EXEC_OK) {
            return query->run->err->code;
        }
    }
    json_t *partition = json_object_get(over, "partitionClause");
    json_t *order = json_object_get(over, "orderClause");
    if ((partition != NULL && name != NULL) || (order != NULL && out->order != NULL)) {
        sql_refuse(&query->lowering, location_of(over), EXEC_BAD_SPEC,
                   "a window cannot override the PARTITION BY or ORDER BY of window '%.60s'",
                   name == NULL ? "" : name);
        return EXEC_BAD_SPEC;
    }
    out->partition = partition != NULL ? partition : out->partition;
    out->order = order != NULL ? order : out->order;
    out->has_frame = out->has_frame || (options & FRAME_GIVEN) != 0;
    return EXEC_OK;
}

static bool same_clause(struct select_query *query, json_t *a, json_t *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    return tree_equal(a, b, select_same_column, query);
}

static enum exec_window_function function_of(const char *name)
{
    static const char *const names[] = {[EXEC_WINDOW_ROW_NUMBER] = "row_number",
                                        [EXEC_WINDOW_RANK] = "rank",
                                        [EXEC_WINDOW_DENSE_RANK] = "dense_rank"};

    for (int f = EXEC_WINDOW_ROW_NUMBER; f <= EXEC_WINDOW_DENSE_RANK; f++) {
        if (name != NULL && strcmp(names[f], name) == 0) {
            return (enum exec_window_function)f;
        }
    }
    return EXEC_WINDOW_NONE;
}

static enum exec_code check_call(struct select_query *query, json_t *body,
                                 const struct window_shape *shape)
{
    const char *name = tree_function(body);

    if (function_of(name) == EXEC_WINDOW_NONE) {
        sql_refuse(&query->lowering, location_of(body), EXEC_NOT_IMPLEMENTED,
                   "the window function %.40s() is not implemented yet; row_number(), rank() and "
                   "dense_rank() are",
                   name == NULL ? "?" : name);
        return EXEC_NOT_IMPLEMENTED;
    }
    if (shape->has_frame) {
        sql_refuse(&query->lowering, location_of(body), EXEC_NOT_IMPLEMENTED,
                   "%s() OVER a frame (ROWS, RANGE or GROUPS) is not implemented yet", name);
        return EXEC_NOT_IMPLEMENTED;
    }
    if (json_array_size(json_object_get(body, "args")) != 0 ||
        json_object_get(body, "agg_filter") != NULL || json_object_get(body, "agg_order") != NULL ||
        json_is_true(json_object_get(body, "agg_star")) ||
        json_is_true(json_object_get(body, "agg_distinct"))) {
        sql_refuse(&query->lowering, location_of(body), EXEC_BAD_SPEC,
                   "%s() takes no arguments, and neither DISTINCT, ORDER BY nor FILTER", name);
        return EXEC_BAD_SPEC;
    }
    return EXEC_OK;
}

/* ---- calls */

struct calls {
    struct select_query *query;
    struct select_value *items;
    uint32_t count, room;
};

static void add_call(struct calls *calls, json_t *node)
{
    struct plan_builder *plan = calls->query->run->plan;

    for (uint32_t c = 0; c < calls->count; c++) {
        if (tree_equal(node, calls->items[c].tree, select_same_column, calls->query)) {
            return;
        }
    }
    if (calls->count == calls->room) {
        calls->room = calls->room == 0 ? 8 : 2 * calls->room;
        struct select_value *moved = builder_alloc(plan, calls->room * sizeof *moved);
        if (calls->count > 0) {
            memcpy(moved, calls->items, calls->count * sizeof *moved);
        }
        calls->items = moved;
    }
    calls->items[calls->count++] = (struct select_value){.tree = node};
}

/* Node objects, not bodies, are compared; so this walks by itself. Not into subqueries, nor into
 * the windows of windows, which are refused where they stand. */
static void find_calls(struct calls *calls, json_t *tree)
{
    const char *key = NULL;
    json_t *value = NULL;
    size_t i;

    if (json_is_array(tree)) {
        json_array_foreach(tree, i, value)
        {
            find_calls(calls, value);
        }
        return;
    }
    if (json_object_get(tree_body(tree, "FuncCall"), "over") != NULL) {
        add_call(calls, tree);
        return;
    }
    json_object_foreach(tree, key, value)
    {
        if (strcmp(key, "SubLink") != 0) {
            find_calls(calls, value);
        }
    }
}

static enum exec_code lower_keys(struct select_query *query, const struct window_shape *shape,
                                 long location, struct select_window *out)
{
    struct plan_builder *plan = query->run->plan;
    const size_t written_count = json_array_size(shape->partition);
    const size_t order_count = json_array_size(shape->order);
    uint32_t *partition = builder_alloc(plan, (written_count + EXEC_KEYS_MAX) * sizeof *partition);
    const size_t partition_count =
        written_count + select_domain_exprs(query, partition + written_count);
    struct exec_sort_key *order = builder_alloc(plan, (order_count + 1) * sizeof *order);

    if (partition_count + order_count > EXEC_KEYS_MAX) {
        sql_refuse(&query->lowering, location, EXEC_LIMIT,
                   "a window with more than %d PARTITION BY and ORDER BY keys", EXEC_KEYS_MAX);
        return EXEC_LIMIT;
    }
    for (size_t k = 0; k < written_count; k++) {
        partition[k] = select_expr(query, json_array_get(shape->partition, k));
        if (partition[k] == 0) {
            return query->run->err->code;
        }
    }
    for (size_t k = 0; k < order_count; k++) {
        json_t *sort_by = tree_body(json_array_get(shape->order, k), "SortBy");
        order[k].direction = select_direction(sort_by);
        order[k].expr = select_expr(query, json_object_get(sort_by, "node"));
        if (order[k].expr == 0) {
            return query->run->err->code;
        }
    }
    *out = (struct select_window){.partition = partition,
                                  .partition_count = (uint32_t)partition_count,
                                  .order = order,
                                  .order_count = (uint32_t)order_count,
                                  .limit = -1};
    return EXEC_OK;
}

/* One relation for the calls from `first` on whose window is the same. */
static enum exec_code add_window(struct calls *calls, uint32_t first,
                                 const struct window_shape *shapes)
{
    struct select_query *query = calls->query;
    struct plan_builder *plan = query->run->plan;
    struct exec_named_window *functions =
        builder_alloc(plan, (calls->count - first) * sizeof *functions);
    const struct exec_type number = {.kind = EXEC_TYPE_INT64};
    struct select_window window;

    if (lower_keys(query, &shapes[first], sql_node_location(calls->items[first].tree), &window) !=
        EXEC_OK) {
        return query->run->err->code;
    }
    for (uint32_t c = first; c < calls->count && window.function_count < EXEC_KEYS_MAX; c++) {
        struct select_value *call = &calls->items[c];
        if (call->id == 0 && same_clause(query, shapes[first].partition, shapes[c].partition) &&
            same_clause(query, shapes[first].order, shapes[c].order)) {
            call->id = select_new_id(query->run);
            functions[window.function_count++] = (struct exec_named_window){
                .function = function_of(tree_function(tree_body(call->tree, "FuncCall"))),
                .name = builder_printf(plan, "w%u", call->id)};
            frame_add(plan, query->frame, call->id, &number);
        }
    }
    window.functions = functions;
    query->frame->rel = select_window_rel(query, query->frame->rel, &window);
    return EXEC_OK;
}

static enum exec_code add_windows(struct calls *calls, json_t *clause)
{
    struct select_query *query = calls->query;
    struct window_shape *shapes =
        builder_alloc(query->run->plan, (calls->count + 1) * sizeof *shapes);

    for (uint32_t c = 0; c < calls->count; c++) {
        json_t *body = tree_body(calls->items[c].tree, "FuncCall");
        if (read_shape(query, clause, json_object_get(body, "over"), 0, &shapes[c]) != EXEC_OK ||
            check_call(query, body, &shapes[c]) != EXEC_OK) {
            return query->run->err->code;
        }
    }
    for (uint32_t c = 0; c < calls->count; c++) {
        if (calls->items[c].id == 0 && add_window(calls, c, shapes) != EXEC_OK) {
            return query->run->err->code;
        }
    }
    query->windows = calls->items;
    query->window_count = calls->count;
    return EXEC_OK;
}

enum exec_code select_windows(struct select_query *query, json_t *select,
                              const struct select_targets *targets)
{
    struct calls calls = {.query = query};

    for (uint32_t t = 0; t < targets->count; t++) {
        if (targets->items[t].tree != NULL) {
            find_calls(&calls, targets->items[t].tree);
        }
    }
    find_calls(&calls, json_object_get(select, "distinctClause"));
    find_calls(&calls, json_object_get(select, "sortClause"));
    return calls.count == 0 ? EXEC_OK
                            : add_windows(&calls, json_object_get(select, "windowClause"));
}

uint32_t select_window_value(struct select_query *query, json_t *node, long location)
{
    for (uint32_t c = 0; c < query->window_count; c++) {
        if (tree_equal(node, query->windows[c].tree, select_same_column, query)) {
            return select_column(query, query->windows[c].id, location);
        }
    }
    /* Of a subquery tied to its query: not here, but within its domain, see select_try_again(). */
    return sql_refuse(&query->lowering, location,
                      json_array_size(query->correlated) != 0 ? EXEC_NOT_IMPLEMENTED
                                                              : EXEC_BAD_SPEC,
                      "window functions are allowed in the select list and in ORDER BY only");
}
