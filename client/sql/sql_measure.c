#include "sql_measure.h"

#include "sql_list.h"

#include <string.h>

static bool refuse(struct sql_lowering *inside, long location, const char *name, const char *what)
{
    sql_refuse(inside, location, EXEC_BAD_SPEC, "%.40s() takes %s", name, what);
    return false;
}

/* A parameter must be written as a constant. */
static bool lower_parameter(struct sql_lowering *inside, json_t *node, const char *name,
                            const char *what, struct exec_measure *measure)
{
    struct exec_literal *literal = builder_alloc(inside->plan, sizeof *literal);
    json_t *body = NULL;
    const char *kind = sql_node_kind(node, &body);

    if (kind == NULL || strcmp(kind, "A_Const") != 0) {
        return refuse(inside, sql_node_location(node), name, what);
    }
    measure->parameters = literal;
    measure->parameter_count = 1;
    return sql_lower_literal(inside, body, literal);
}

static bool default_parameter(struct sql_lowering *inside, double fraction, const char *separator,
                              struct exec_measure *measure)
{
    struct exec_literal *literal = builder_alloc(inside->plan, sizeof *literal);

    *literal = (struct exec_literal){.type = {.kind = EXEC_TYPE_FLOAT64}, .value.f64 = fraction};
    if (separator != NULL) {
        *literal =
            (struct exec_literal){.type = {.kind = EXEC_TYPE_UTF8},
                                  .value.text = {.bytes = separator, .size = strlen(separator)}};
    }
    measure->parameters = literal;
    measure->parameter_count = 1;
    return true;
}

static bool lower_arguments(struct sql_lowering *inside, json_t *const *nodes, size_t count,
                            struct exec_measure *measure)
{
    uint32_t *lowered = builder_alloc(inside->plan, (count + 1) * sizeof *lowered);

    for (size_t i = 0; i < count; i++) {
        lowered[i] = sql_lower_expr(inside, nodes[i]);
        if (lowered[i] == 0) {
            return false;
        }
    }
    measure->args = lowered;
    measure->arg_count = (uint32_t)count;
    return true;
}

static bool lower_order(struct sql_lowering *inside, json_t *clause, struct exec_measure *measure)
{
    const size_t count = json_array_size(clause);
    struct exec_sort_key *keys = builder_alloc(inside->plan, (count + 1) * sizeof *keys);

    for (size_t i = 0; i < count; i++) {
        json_t *sort_by = json_object_get(json_array_get(clause, i), "SortBy");
        keys[i].direction = sql_sort_direction(sort_by, false);
        keys[i].expr = sql_lower_expr(inside, json_object_get(sort_by, "node"));
        if (keys[i].expr == 0) {
            return false;
        }
    }
    measure->order = keys;
    measure->order_count = (uint32_t)count;
    return true;
}

static void lower_own_order(struct sql_lowering *inside, struct exec_measure *measure)
{
    struct exec_sort_key *key = builder_alloc(inside->plan, sizeof *key);

    *key = (struct exec_sort_key){.expr = measure->args[0], .direction = EXEC_DESC_NULLS_LAST};
    measure->order = key;
    measure->order_count = 1;
}

/* f(parameter) WITHIN GROUP (ORDER BY x) is f(x, parameter). */
static bool lower_within_group(struct sql_lowering *inside, const char *name,
                               enum sql_measure_shape shape, json_t *body, long location,
                               struct exec_measure *measure)
{
    json_t *args = json_object_get(body, "args"), *order = json_object_get(body, "agg_order");
    json_t *sort_by = json_object_get(json_array_get(order, 0), "SortBy");
    json_t *node = json_object_get(sort_by, "node");

    if ((shape != MEASURE_FRACTION && shape != MEASURE_MODE) || json_array_size(order) != 1 ||
        json_array_size(args) != (shape == MEASURE_FRACTION ? 1 : 0)) {
        return refuse(inside, location, name, "no such WITHIN GROUP");
    }
    if (!lower_arguments(inside, &node, 1, measure)) {
        return false;
    }
    if (sql_sort_direction(sort_by, false) >= EXEC_DESC_NULLS_LAST) {
        if (measure->function == EXEC_AGG_APPROX_QUANTILE) {
            return refuse(inside, location, name, "no descending order");
        }
        lower_own_order(inside, measure);
    }
    return (shape == MEASURE_MODE ||
            lower_parameter(inside, json_array_get(args, 0), name, "a constant fraction", measure));
}

static bool lower_parameters(struct sql_lowering *inside, const char *name,
                             enum sql_measure_shape shape, json_t *args,
                             struct exec_measure *measure)
{
    const size_t count = json_array_size(args);

    switch (shape) {
        case MEASURE_MEDIAN: return default_parameter(inside, 0.5, NULL, measure);
        case MEASURE_FRACTION:
            return lower_parameter(inside, json_array_get(args, 1), name, "a constant fraction",
                                   measure);
        case MEASURE_SEPARATOR:
            return count < 2 ? default_parameter(inside, 0, ",", measure)
                             : lower_parameter(inside, json_array_get(args, 1), name,
                                               "a constant separator", measure);
        default: return true;
    }
}

static bool lower_call(struct sql_lowering *inside, const char *name, enum sql_measure_shape shape,
                       json_t *body, long location, struct exec_measure *measure)
{
    json_t *args = json_object_get(body, "args"), *order = json_object_get(body, "agg_order");
    json_t *nodes[2] = {json_array_get(args, 0), json_array_get(args, 1)};
    const size_t count = json_array_size(args);
    const bool takes_two = shape == MEASURE_PAIR || shape == MEASURE_FRACTION;
    const bool may_take_two = takes_two || shape == MEASURE_SEPARATOR;

    if (measure->function == EXEC_AGG_COUNT_STAR) {
        return true;
    }
    if (count > (may_take_two ? 2U : 1U) || count < (takes_two ? 2U : 1U)) {
        sql_refuse(inside, location, EXEC_BAD_SPEC, "%.40s() takes %s, not %zu", name,
                   takes_two ? "two arguments" : "one argument", count);
        return false;
    }
    if (!lower_arguments(inside, nodes, shape == MEASURE_PAIR ? 2 : 1, measure) ||
        !lower_parameters(inside, name, shape, args, measure)) {
        return false;
    }
    /* Of the other functions no order changes the result. */
    return (shape != MEASURE_ORDERED && shape != MEASURE_SEPARATOR) ||
           lower_order(inside, order, measure);
}

bool sql_lower_measure(struct sql_lowering *inside, const char *name, enum sql_measure_shape shape,
                       json_t *body, long location, struct exec_measure *measure)
{
    json_t *filter = json_object_get(body, "agg_filter");
    const bool within = json_is_true(json_object_get(body, "agg_within_group"));

    if (within ? !lower_within_group(inside, name, shape, body, location, measure)
               : !lower_call(inside, name, shape, body, location, measure)) {
        return false;
    }
    if (filter != NULL) {
        measure->filter = sql_lower_expr(inside, filter);
    }
    return filter == NULL || measure->filter != 0;
}
