#include "op/group_state.h"

/* What each aggregate function takes and gives: aggregate.def with its rules. */

static const struct group_function functions[EXEC_AGG_FUNCTION_COUNT] = {
#define AGGREGATE(NAME, text, argument_count, form, takes, gives, extras) \
    [EXEC_AGG_##NAME] = {text, argument_count, GROUP_##form, TAKES_##takes, GIVES_##gives, extras},
#include "op/aggregate.def"
};

const struct group_function *group_function(enum exec_aggregate_function function)
{
    return function > EXEC_AGG_NONE && function < EXEC_AGG_FUNCTION_COUNT ? &functions[function]
                                                                          : NULL;
}

const char *group_function_name(enum exec_aggregate_function function)
{
    const struct group_function *found = group_function(function);
    return found == NULL ? "unknown" : found->text;
}

enum group_form group_measure_form(const struct group_measure *measure)
{
    if (measure->distinct) {
        return GROUP_SET;
    }
    if (measure->function == EXEC_AGG_ANY_VALUE && measure->other_count != 0) {
        return GROUP_BEST;
    }
    return functions[measure->function].form;
}

const struct agg_kernel *group_kernel(const struct group_measure *measure,
                                      const struct exec_type *input)
{
    enum vec_storage storage = vec_storage(input->kind);

    switch (functions[measure->function].form) {
        case GROUP_SET: return agg_kernel(EXEC_AGG_COUNT, storage);
        case GROUP_HASHED: storage = VEC_U64; break;
        default: break;
    }
    return agg_kernel(measure->function, storage);
}

static bool function_takes(const struct group_function *function, const struct exec_type *argument)
{
    switch ((enum group_takes)function->takes) {
        case TAKES_NUMBER:
        case TAKES_REAL: return exec_type_is_numeric(argument->kind);
        case TAKES_INTEGER: return exec_type_is_integer(argument->kind);
        case TAKES_BOOL: return argument->kind == EXEC_TYPE_BOOL;
        case TAKES_TEXT: return argument->kind == EXEC_TYPE_UTF8;
        case TAKES_PRINTED: return argument->kind != EXEC_TYPE_BINARY;
        default: return true;
    }
}

static struct exec_type sum_type(const struct exec_type *argument)
{
    const enum vec_storage storage = vec_storage(argument->kind);

    if (storage == VEC_F32 || storage == VEC_F64) {
        return (struct exec_type){.kind = EXEC_TYPE_FLOAT64};
    }
    if (storage == VEC_I64 || storage == VEC_U64 || storage == VEC_DECIMAL) {
        return (struct exec_type){.kind = EXEC_TYPE_DECIMAL128,
                                  .precision = EXEC_DECIMAL_DIGITS_MAX,
                                  .scale = argument->scale};
    }
    return (struct exec_type){.kind = EXEC_TYPE_INT64};
}

static struct exec_type result_type(const struct group_function *function,
                                    const struct exec_type *argument)
{
    switch ((enum group_gives)function->gives) {
        case GIVES_INT64: return (struct exec_type){.kind = EXEC_TYPE_INT64};
        case GIVES_FLOAT64: return (struct exec_type){.kind = EXEC_TYPE_FLOAT64};
        case GIVES_SUM: return sum_type(argument);
        case GIVES_TEXT: return (struct exec_type){.kind = EXEC_TYPE_UTF8};
        default: return *argument;
    }
}

enum exec_code group_measure_type(enum exec_aggregate_function function,
                                  const struct exec_type *argument, struct exec_type *type_out,
                                  struct exec_error *err)
{
    const struct group_function *found = group_function(function);
    char text[EXEC_TYPE_TEXT_BYTES];

    if (found == NULL || (argument == NULL && found->argument_count != 0)) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "aggregate function %s needs an argument",
                         group_function_name(function));
    }
    if (found->argument_count != 0 && !function_takes(found, argument)) {
        return EXEC_FAIL(err, EXEC_TYPE_MISMATCH, "%s of %s", found->text,
                         exec_type_text(argument, text));
    }
    *type_out = result_type(found, argument);
    return EXEC_OK;
}

/* What is not there yet. */
static enum exec_code implemented(const struct group_measure *measure, struct exec_error *err)
{
    const enum group_form form = group_measure_form(measure);
    const struct exec_type real = {.kind = EXEC_TYPE_FLOAT64};
    const struct exec_type *type = measure->argument == NULL ? &real : expr_type(measure->argument);

    /* Rows that are kept need no kernel, but for a set whose values go through one at the end. */
    const enum group_form plain = functions[measure->function].form;
    const bool kept = form == GROUP_BEST || plain == GROUP_BAG || plain == GROUP_TALLY;
    if (!kept && group_kernel(measure, type) == NULL) {
        return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED, "aggregate function %s%s",
                         group_function_name(measure->function),
                         measure->distinct ? " distinct" : "");
    }
    return EXEC_OK;
}

/* float64 where the function computes with reals. */
static enum exec_code cast_arguments(struct nu_arena *arena, const struct group_function *function,
                                     struct group_measure *measure, struct exec_error *err)
{
    const struct exec_type real = {.kind = EXEC_TYPE_FLOAT64};
    struct exec_type type;

    if (function->takes != TAKES_REAL) {
        return EXEC_OK;
    }
    if (expr_cast(arena, measure->argument, &real, &measure->argument, err) != EXEC_OK) {
        return err->code;
    }
    if (function->argument_count < 2) {
        return EXEC_OK;
    }
    return group_measure_type(measure->function, expr_type(measure->others[0]), &type, err) !=
                   EXEC_OK
               ? err->code
               : expr_cast(arena, measure->others[0], &real, &measure->others[0], err);
}

/* The argument's own order: quantiles, mode. */
static void settle_own_order(struct group_measure *measure)
{
    const struct group_function *function = group_function(measure->function);

    if ((function->extras & AGG_OWN_ORDER) != 0 && measure->other_count != 0) {
        measure->own_direction = measure->directions[0];
        measure->other_count = 0;
    }
}

/* A distinct order can only be that of the value itself, which ties are broken by anyway. */
static enum exec_code settle_distinct(struct group_measure *measure, struct exec_error *err)
{
    const struct group_function *function = group_function(measure->function);
    uint32_t argument;
    uint32_t key;

    if (measure->function == EXEC_AGG_COUNT && measure->distinct) {
        measure->function = EXEC_AGG_COUNT_DISTINCT;
    }
    measure->distinct = (measure->distinct && (function->extras & AGG_ONCE) == 0) ||
                        measure->function == EXEC_AGG_COUNT_DISTINCT;
    if (!measure->distinct) {
        return EXEC_OK;
    }
    if (function->argument_count == 0) {
        return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED, "aggregate function %s distinct",
                         function->text);
    }
    if (measure->other_count == 0 || function->form == GROUP_PAIR) {
        return EXEC_OK;
    }
    if (measure->other_count > 1 ||
        (measure->other_count == 1 &&
         !(expr_is_column(measure->argument, &argument) &&
           expr_is_column(measure->others[0], &key) && argument == key))) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC,
                         "%s distinct can be ordered by its argument only, a column",
                         function->text);
    }
    measure->own_direction = measure->directions[0];
    measure->other_count = 0;
    return EXEC_OK;
}

enum exec_code group_measure_bind(struct nu_arena *arena, struct group_measure *measure,
                                  struct exec_error *err)
{
    const struct exec_type *argument =
        measure->argument == NULL ? NULL : expr_type(measure->argument);

    settle_own_order(measure);
    if (group_measure_type(measure->function, argument, &measure->type, err) != EXEC_OK ||
        cast_arguments(arena, group_function(measure->function), measure, err) != EXEC_OK ||
        settle_distinct(measure, err) != EXEC_OK) {
        return err->code;
    }
    return implemented(measure, err);
}
