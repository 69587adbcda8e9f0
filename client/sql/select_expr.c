/* Expressions of a SELECT: what the lowering of sql_expr.c asks the query for. */
#include "select_query.h"
#include "sql_aggregate.h"

uint32_t select_column(struct select_query *query, uint32_t id, long location)
{
    const uint32_t position = frame_position(query->frame, id);
    const struct plan_origin origin = sql_origin(&query->lowering, location);

    return position == 0 ? 0 : builder_column(query->run->plan, position, &origin);
}

static uint32_t lower_column(struct select_query *query, json_t *column_ref)
{
    const long location = (long)json_integer_value(json_object_get(column_ref, "location"));
    const char *qualifier = NULL, *name = NULL;
    struct select_query *owner = NULL;
    const uint32_t id = select_resolve(query, column_ref, &owner);

    if (id == 0) {
        return 0;
    }
    const uint32_t column = select_column(query, id, location);
    if (column != 0) {
        return column;
    }
    sql_column_parts(column_ref, &qualifier, &name);
    if (owner->grouped) {
        return sql_refuse(&query->lowering, location, EXEC_BAD_SPEC,
                          "column '%.60s' must be in GROUP BY or inside an aggregate", name);
    }
    return sql_refuse(&query->lowering, location, EXEC_NOT_IMPLEMENTED,
                      "a subquery that names column '%.60s' of the query around it is not "
                      "implemented in this place",
                      name);
}

/* ---- behind the grouping */

static uint32_t lower_value(struct select_query *query, const struct select_value *value,
                            long location)
{
    const struct exec_literal zero = {.type = {.kind = EXEC_TYPE_INT64}};
    struct exec_expr cast = {.kind = EXEC_EXPR_CAST, .u.cast.to = {.kind = EXEC_TYPE_INT64}};
    const uint32_t column = select_column(query, value->id, location);

    if (!value->is_count || !query->misses_groups || column == 0) {
        return column;
    }
    cast.u.cast.arg = column;
    const uint32_t args[] = {builder_expr(query->run->plan, &cast, NULL),
                             builder_literal(query->run->plan, &zero, NULL)};
    return builder_call(query->run->plan, "coalesce", args, 2, NULL);
}

static bool lower_group_value(struct select_query *query, json_t *node, long location,
                              uint32_t *expr_out)
{
    for (uint32_t k = 0; k < query->key_count; k++) {
        if (query->keys[k].tree != NULL &&
            tree_equal(node, query->keys[k].tree, select_same_column, query)) {
            *expr_out = lower_value(query, &query->keys[k], location);
            return true;
        }
    }
    return false;
}

static uint32_t lower_call(struct select_query *query, json_t *node, const char *name,
                           long location)
{
    for (uint32_t c = 0; query->grouped && c < query->call_count; c++) {
        if (tree_equal(node, query->calls[c].tree, select_same_column, query)) {
            return lower_value(query, &query->calls[c], location);
        }
    }
    return sql_refuse(&query->lowering, location, EXEC_BAD_SPEC,
                      "the aggregate %.40s() is not allowed here", name);
}

/* ---- types, as far as they are known without the engine */

struct exec_type select_type(const struct select_query *query, uint32_t index)
{
    static const char *const same_type[] = {"coalesce", "least", "greatest", "negate", "abs"};
    const struct exec_type unknown = {0};

    if (index == 0) {
        return unknown;
    }
    const struct exec_expr *expr = &query->run->plan->exprs[index - 1];
    switch (expr->kind) {
        case EXEC_EXPR_COLUMN:
            return expr->u.column.name == NULL && expr->u.column.index <= query->frame->count
                       ? query->frame->columns[expr->u.column.index - 1].type
                       : unknown;
        case EXEC_EXPR_LITERAL: return expr->u.literal.type;
        case EXEC_EXPR_CAST: return expr->u.cast.to;
        case EXEC_EXPR_IN_LIST: return (struct exec_type){.kind = EXEC_TYPE_BOOL};
        case EXEC_EXPR_CASE: return select_type(query, expr->u.case_when.branches[0].then);
        case EXEC_EXPR_CALL: break;
        case EXEC_EXPR_NONE: return unknown;
    }
    for (size_t i = 0; i < sizeof same_type / sizeof same_type[0]; i++) {
        if (strcmp(expr->u.call.function, same_type[i]) == 0) {
            return select_type(query, expr->u.call.args[0]);
        }
    }
    if (strcmp(expr->u.call.function, "date_trunc") == 0) {
        return select_type(query, expr->u.call.args[1]);
    }
    if (strcmp(expr->u.call.function, "add") == 0 ||
        strcmp(expr->u.call.function, "subtract") == 0) {
        const struct exec_type left = select_type(query, expr->u.call.args[0]);
        const struct exec_type right = select_type(query, expr->u.call.args[1]);
        return left.kind == EXEC_TYPE_DATE32 && exec_type_is_integer(right.kind) ? left : unknown;
    }
    return unknown;
}

/* ---- functions whose rule for NULL is not the engine's */

/* greatest(a, b) of SQL passes over NULLs: coalesce(greatest(a, b), a, b). Halves of the list make
 * one each, so that operands, which a plan repeats for every user, grow with the square of their
 * number. */
static uint32_t extreme_of(struct select_query *query, const char *function, const uint32_t *args,
                           uint32_t count, long location)
{
    const uint32_t half = count / 2;

    if (count == 1) {
        return args[0];
    }
    const uint32_t first = extreme_of(query, function, args, half, location);
    const uint32_t second = extreme_of(query, function, args + half, count - half, location);
    const uint32_t three[] = {sql_call2(&query->lowering, function, first, second, location), first,
                              second};
    return sql_call_many(&query->lowering, "coalesce", three, 3, location);
}

static uint32_t lower_extreme(struct select_query *query, json_t *body, long location)
{
    const char *op = json_string_value(json_object_get(body, "op"));
    json_t *list = json_object_get(body, "args"), *arg = NULL;
    uint32_t *args = builder_alloc(query->run->plan, (json_array_size(list) + 1) * sizeof *args);
    size_t i;

    json_array_foreach(list, i, arg)
    {
        args[i] = select_expr(query, arg);
        if (args[i] == 0) {
            return 0;
        }
    }
    return extreme_of(query, op != NULL && strcmp(op, "IS_LEAST") == 0 ? "least" : "greatest", args,
                      (uint32_t)json_array_size(list), location);
}

/* concat() takes NULL for the empty text; || does not. */
static uint32_t lower_concat(struct select_query *query, json_t *args, long location)
{
    const struct plan_origin origin = sql_origin(&query->lowering, location);
    uint32_t *parts = builder_alloc(query->run->plan, (json_array_size(args) + 1) * sizeof *parts);
    json_t *arg = NULL;
    size_t i;

    json_array_foreach(args, i, arg)
    {
        struct exec_expr text = {.kind = EXEC_EXPR_CAST, .u.cast.to = {.kind = EXEC_TYPE_UTF8}};
        const uint32_t part = text.u.cast.arg = select_expr(query, arg);
        const uint32_t pair[] = {part == 0 ? 0 : builder_expr(query->run->plan, &text, &origin),
                                 builder_literal_text(query->run->plan, "", NULL)};
        parts[i] = part == 0 ? 0 : builder_call(query->run->plan, "coalesce", pair, 2, &origin);
        if (part == 0) {
            return 0;
        }
    }
    return builder_call(query->run->plan, "concat", parts, (uint32_t)json_array_size(args),
                        &origin);
}

/* ---- the hook */

static bool lower_function(struct select_query *query, json_t *node, json_t *body, long location,
                           uint32_t *expr_out)
{
    const char *name = tree_function(body);

    if (name == NULL) {
        return false; /* refused there */
    }
    if (json_object_get(body, "over") != NULL) {
        *expr_out = select_window_value(query, node, location);
        return true;
    }
    if (sql_is_aggregate(name)) {
        *expr_out = lower_call(query, node, name, location);
        return true;
    }
    if (strcmp(name, "grouping_id") == 0) {
        *expr_out = select_grouping(query, json_object_get(body, "args"), location);
        return true;
    }
    if (strcmp(name, "concat") == 0) {
        *expr_out = lower_concat(query, json_object_get(body, "args"), location);
        return true;
    }
    return false;
}

bool select_hook(struct sql_lowering *lowering, json_t *node, uint32_t *expr_out)
{
    struct select_query *query = lowering->hook_owner;
    json_t *body = NULL;
    const char *kind = sql_node_kind(node, &body);
    const long location = (long)json_integer_value(json_object_get(body, "location"));

    if (query->grouped && lower_group_value(query, node, location, expr_out)) {
        return true;
    }
    if (strcmp(kind, "ColumnRef") == 0) {
        *expr_out = lower_column(query, body);
        return true;
    }
    if (strcmp(kind, "FuncCall") == 0) {
        return lower_function(query, node, body, location, expr_out);
    }
    if (strcmp(kind, "GroupingFunc") == 0) {
        *expr_out = select_grouping(query, json_object_get(body, "args"), location);
        return true;
    }
    if (strcmp(kind, "SubLink") == 0) {
        *expr_out = select_sublink_value(query, body);
        return true;
    }
    if (strcmp(kind, "MinMaxExpr") == 0) {
        *expr_out = lower_extreme(query, body, location);
        return true;
    }
    return false;
}

uint32_t select_expr(struct select_query *query, json_t *node)
{
    return sql_lower_expr(&query->lowering, node);
}
