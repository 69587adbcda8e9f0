#include "sql_aggregate.h"

#include <string.h>

static const struct {
    const char *name;
    enum exec_aggregate_function function;
} aggregates[] = {
    {"count", EXEC_AGG_COUNT},
    {"sum", EXEC_AGG_SUM},
    {"min", EXEC_AGG_MIN},
    {"max", EXEC_AGG_MAX},
    {"avg", EXEC_AGG_AVG},
    {"mean", EXEC_AGG_AVG},
    {"variance", EXEC_AGG_VAR_SAMP},
    {"var_samp", EXEC_AGG_VAR_SAMP},
    {"stddev", EXEC_AGG_STDDEV_SAMP},
    {"stddev_samp", EXEC_AGG_STDDEV_SAMP},
    {"any_value", EXEC_AGG_ANY_VALUE},
    {"var_pop", EXEC_AGG_VAR_POP},
    {"stddev_pop", EXEC_AGG_STDDEV_POP},
    {"corr", EXEC_AGG_CORR},
    {"covar_samp", EXEC_AGG_COVAR_SAMP},
    {"covar_pop", EXEC_AGG_COVAR_POP},
};

static enum exec_aggregate_function function_of(const char *name)
{
    for (size_t i = 0; i < sizeof aggregates / sizeof aggregates[0]; i++) {
        if (strcmp(aggregates[i].name, name) == 0) {
            return aggregates[i].function;
        }
    }
    return EXEC_AGG_NONE;
}

static uint32_t argument_count(enum exec_aggregate_function function)
{
    switch (function) {
        case EXEC_AGG_CORR:
        case EXEC_AGG_COVAR_SAMP:
        case EXEC_AGG_COVAR_POP:
        case EXEC_AGG_ARG_MIN:
        case EXEC_AGG_ARG_MAX: return 2;
        default: return 1;
    }
}

/* Aggregates of SQL that there is nothing for yet: known by name, so that they are refused as what
 * they are. */
static const char *const unknown[] = {
    "median",
    "quantile_cont",
    "quantile_disc",
    "mode",
    "first",
    "last",
    "arg_min",
    "arg_max",
    "string_agg",
    "bool_and",
    "bool_or",
    "every",
    "bit_and",
    "bit_or",
    "bit_xor",
    "array_agg",
    "percentile_cont",
    "percentile_disc",
    "histogram",
    "regr_slope",
    "approx_count_distinct",
    "approx_quantile",
    "max_by",
    "min_by",
    "list",
};

bool sql_is_aggregate(const char *name)
{
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        if (strcmp(unknown[i], name) == 0) {
            return true;
        }
    }
    return function_of(name) != EXEC_AGG_NONE;
}

const char *sql_aggregate_name(uint32_t index)
{
    return index < sizeof aggregates / sizeof aggregates[0] ? aggregates[index].name : NULL;
}

static struct exec_measure *measure_push(struct plan_builder *plan, struct sql_aggregates *into)
{
    if (into->measure_count == into->measure_room) {
        const uint32_t room = into->measure_room == 0 ? 16 : 2 * into->measure_room;
        struct exec_measure *moved = builder_alloc(plan, room * sizeof *moved);
        if (into->measure_count > 0) {
            memcpy(moved, into->measures, into->measure_count * sizeof *moved);
        }
        into->measures = moved;
        into->measure_room = room;
    }
    return &into->measures[into->measure_count++];
}

/* Arguments and FILTER are over the aggregate's input; an aggregate in them is an error. */
static bool lower_inside(struct sql_lowering *lowering, json_t *body, struct exec_measure *measure)
{
    struct sql_lowering inside = *lowering;
    json_t *args = json_object_get(body, "args"), *filter = json_object_get(body, "agg_filter");
    const size_t count = json_array_size(args);
    uint32_t *lowered = builder_alloc(lowering->plan, (count + 1) * sizeof *lowered);

    inside.scope = lowering->aggregates->input;
    inside.aggregates = NULL;
    for (size_t i = 0; i < count; i++) {
        lowered[i] = sql_lower_expr(&inside, json_array_get(args, i));
        if (lowered[i] == 0) {
            return false;
        }
    }
    measure->args = lowered;
    measure->arg_count = (uint32_t)count;
    if (filter != NULL) {
        measure->filter = sql_lower_expr(&inside, filter);
    }
    return filter == NULL || measure->filter != 0;
}

uint32_t sql_lower_aggregate(struct sql_lowering *lowering, const char *name, json_t *body,
                             long location)
{
    struct exec_measure measure = {.function = function_of(name)};
    struct sql_aggregates *into = lowering->aggregates;

    if (into == NULL) {
        return sql_refuse(lowering, location, EXEC_BAD_SPEC,
                          "the aggregate %.40s() is not allowed here", name);
    }
    if (into->measure_count >= SQL_MEASURES_MAX) {
        return sql_refuse(lowering, location, EXEC_LIMIT, "more than %d aggregates",
                          SQL_MEASURES_MAX);
    }
    if (measure.function == EXEC_AGG_NONE) {
        return sql_refuse(
            lowering, location, EXEC_NOT_IMPLEMENTED,
            "the aggregate %.40s() is not implemented yet; 'morsel help functions' lists "
            "those there are",
            name);
    }
    if (json_object_get(body, "agg_order") != NULL) {
        return sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
                          "ORDER BY inside an aggregate is not implemented yet");
    }
    if (!lower_inside(lowering, body, &measure)) {
        return 0;
    }
    if (measure.function == EXEC_AGG_COUNT && measure.arg_count == 0) {
        measure.function = EXEC_AGG_COUNT_STAR;
    } else if (measure.arg_count != argument_count(measure.function)) {
        return sql_refuse(lowering, location, EXEC_BAD_SPEC, "%.40s() takes %s, not %u", name,
                          argument_count(measure.function) == 1 ? "one argument" : "two arguments",
                          measure.arg_count);
    }
    if (json_is_true(json_object_get(body, "agg_distinct"))) {
        measure.distinct = measure.function != EXEC_AGG_COUNT;
        if (measure.function == EXEC_AGG_COUNT) {
            measure.function = EXEC_AGG_COUNT_DISTINCT;
        }
    }
    const struct plan_origin origin = sql_origin(lowering, location);
    *measure_push(lowering->plan, into) = measure;
    return builder_column(lowering->plan, into->key_count + into->measure_count, &origin);
}
