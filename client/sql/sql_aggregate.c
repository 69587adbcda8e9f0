#include "sql_aggregate.h"

#include "sql_measure.h"

#include <string.h>

static const struct aggregate_name {
    const char *name;
    enum exec_aggregate_function function;
    enum sql_measure_shape shape;
} aggregates[] = {
    {"count", EXEC_AGG_COUNT, MEASURE_PLAIN},
    {"sum", EXEC_AGG_SUM, MEASURE_PLAIN},
    {"min", EXEC_AGG_MIN, MEASURE_PLAIN},
    {"max", EXEC_AGG_MAX, MEASURE_PLAIN},
    {"avg", EXEC_AGG_AVG, MEASURE_PLAIN},
    {"mean", EXEC_AGG_AVG, MEASURE_PLAIN},
    {"variance", EXEC_AGG_VAR_SAMP, MEASURE_PLAIN},
    {"var_samp", EXEC_AGG_VAR_SAMP, MEASURE_PLAIN},
    {"stddev", EXEC_AGG_STDDEV_SAMP, MEASURE_PLAIN},
    {"stddev_samp", EXEC_AGG_STDDEV_SAMP, MEASURE_PLAIN},
    {"any_value", EXEC_AGG_ANY_VALUE, MEASURE_ORDERED},
    {"var_pop", EXEC_AGG_VAR_POP, MEASURE_PLAIN},
    {"stddev_pop", EXEC_AGG_STDDEV_POP, MEASURE_PLAIN},
    {"corr", EXEC_AGG_CORR, MEASURE_PAIR},
    {"covar_samp", EXEC_AGG_COVAR_SAMP, MEASURE_PAIR},
    {"covar_pop", EXEC_AGG_COVAR_POP, MEASURE_PAIR},
    {"bool_and", EXEC_AGG_BOOL_AND, MEASURE_PLAIN},
    {"bool_or", EXEC_AGG_BOOL_OR, MEASURE_PLAIN},
    {"every", EXEC_AGG_BOOL_AND, MEASURE_PLAIN},
    {"bit_and", EXEC_AGG_BIT_AND, MEASURE_PLAIN},
    {"bit_or", EXEC_AGG_BIT_OR, MEASURE_PLAIN},
    {"bit_xor", EXEC_AGG_BIT_XOR, MEASURE_PLAIN},
    {"first", EXEC_AGG_FIRST, MEASURE_ORDERED},
    {"last", EXEC_AGG_LAST, MEASURE_ORDERED},
    {"arg_min", EXEC_AGG_ARG_MIN, MEASURE_PAIR},
    {"arg_max", EXEC_AGG_ARG_MAX, MEASURE_PAIR},
    {"min_by", EXEC_AGG_ARG_MIN, MEASURE_PAIR},
    {"max_by", EXEC_AGG_ARG_MAX, MEASURE_PAIR},
    {"median", EXEC_AGG_QUANTILE_CONT, MEASURE_MEDIAN},
    {"quantile_cont", EXEC_AGG_QUANTILE_CONT, MEASURE_FRACTION},
    {"quantile_disc", EXEC_AGG_QUANTILE_DISC, MEASURE_FRACTION},
    {"percentile_cont", EXEC_AGG_QUANTILE_CONT, MEASURE_FRACTION},
    {"percentile_disc", EXEC_AGG_QUANTILE_DISC, MEASURE_FRACTION},
    {"mode", EXEC_AGG_MODE, MEASURE_MODE},
    {"string_agg", EXEC_AGG_STRING_AGG, MEASURE_SEPARATOR},
    {"group_concat", EXEC_AGG_STRING_AGG, MEASURE_SEPARATOR},
    {"listagg", EXEC_AGG_STRING_AGG, MEASURE_SEPARATOR},
    {"histogram", EXEC_AGG_HISTOGRAM, MEASURE_PLAIN},
    {"approx_count_distinct", EXEC_AGG_APPROX_COUNT_DISTINCT, MEASURE_PLAIN},
    {"approx_quantile", EXEC_AGG_APPROX_QUANTILE, MEASURE_FRACTION},
};

static const struct aggregate_name *find(const char *name)
{
    for (size_t i = 0; i < sizeof aggregates / sizeof aggregates[0]; i++) {
        if (strcmp(aggregates[i].name, name) == 0) {
            return &aggregates[i];
        }
    }
    return NULL;
}

/* Aggregates of SQL that there is nothing for yet: known by name, so that they are refused as what
 * they are. */
static const char *const unknown[] = {
    "array_agg",
    "regr_slope",
    "list",
};

bool sql_is_aggregate(const char *name)
{
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        if (strcmp(unknown[i], name) == 0) {
            return true;
        }
    }
    return find(name) != NULL;
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

uint32_t sql_lower_aggregate(struct sql_lowering *lowering, const char *name, json_t *body,
                             long location)
{
    const struct aggregate_name *found = find(name);
    struct sql_aggregates *into = lowering->aggregates;
    struct sql_lowering inside = *lowering;
    struct exec_measure measure = {0};

    if (into == NULL) {
        return sql_refuse(lowering, location, EXEC_BAD_SPEC,
                          "the aggregate %.40s() is not allowed here", name);
    }
    if (into->measure_count >= SQL_MEASURES_MAX) {
        return sql_refuse(lowering, location, EXEC_LIMIT, "more than %d aggregates",
                          SQL_MEASURES_MAX);
    }
    if (found == NULL) {
        return sql_refuse(
            lowering, location, EXEC_NOT_IMPLEMENTED,
            "the aggregate %.40s() is not implemented yet; 'morsel help functions' lists "
            "those there are",
            name);
    }
    measure.function = found->function;
    if (measure.function == EXEC_AGG_COUNT && json_array_size(json_object_get(body, "args")) == 0) {
        measure.function = EXEC_AGG_COUNT_STAR;
    }
    /* What is inside is over the aggregate's input; an aggregate there is an error. */
    inside.scope = into->input;
    inside.aggregates = NULL;
    if (!sql_lower_measure(&inside, name, found->shape, body, location, &measure)) {
        return 0;
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
