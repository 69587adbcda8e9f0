#include "op/group_dense.h"
#include "table/column_stats.h"

#include <math.h>

/* From measures to inputs and fields. */

/* ---- inputs -------------------------------------------------------------------------------------
 */

/* A high field keeps 63 - row_bits bits and a sign, what it leaves over has 64 - row_bits below it.
 * Units and their multiples are normal numbers. */
static bool float_input(const struct group_dense *dense, const struct column_stats *stats,
                        struct dense_input *input)
{
    const int32_t row_bits = (int32_t)dense->row_bits;
    const int32_t lowest = stats->has_digits ? stats->digit_low : 0;
    const int32_t highest = stats->has_digits ? stats->digit_high : 0;

    if (stats->has_specials || highest > 900 || lowest < -900) {
        return false;
    }
    input->high_exponent = highest + 1 - 63 + row_bits;
    input->low_exponent = input->high_exponent - 64 + row_bits;
    if (lowest < input->low_exponent) {
        return false;
    }
    input->unit = ldexp(1.5, 52 + input->high_exponent);
    input->low_unit = lowest < input->high_exponent ? ldexp(1.5, 52 + input->low_exponent) : 0;
    return true;
}

/* What is cast to float64 exactly: its integers will do. */
static const struct expr *uncast(const struct group *group, const struct expr *argument)
{
    const struct expr *from = expr_cast_argument(argument);
    uint32_t c;

    if (from == NULL || expr_type(argument)->kind != EXEC_TYPE_FLOAT64 ||
        !exec_type_is_integer(expr_type(from)->kind)) {
        return argument;
    }
    const struct group_column *column = dense_column_of(group, from, &c);
    int64_t least = 0;
    int64_t most = 0;
    const bool is_exact =
        column != NULL &&
        column_stats_integers(column->stats, vec_storage(expr_type(from)->kind), &least, &most) &&
        least >= -DENSE_EXACT_MAX && most <= DENSE_EXACT_MAX;
    return is_exact ? from : argument;
}

/* The input of an argument, a column; UINT32_MAX: not to be had. */
static uint32_t plan_input(struct group *group, const struct expr *from)
{
    struct group_dense *dense = group->dense;
    struct dense_input input = {.storage = vec_storage(expr_type(from)->kind)};
    const struct group_column *column = dense_column_of(group, from, &input.column);

    if (column == NULL) {
        return UINT32_MAX;
    }
    for (uint32_t i = 0; i < dense->input_count; i++) {
        if (dense->inputs[i].column == input.column) {
            return i;
        }
    }
    input.may_be_null = dense_may_be_null(column);
    if (input.storage == VEC_F32 || input.storage == VEC_F64) {
        if (!float_input(dense, column->stats, &input)) {
            return UINT32_MAX;
        }
    } else {
        input.has_bounds =
            column_stats_integers(column->stats, input.storage, &input.least, &input.most);
    }
    dense->inputs[dense->input_count] = input;
    return dense->input_count++;
}

static bool is_integer(const struct dense_input *input)
{
    return input->has_bounds;
}

static bool is_float(const struct dense_input *input)
{
    return input->storage == VEC_F32 || input->storage == VEC_F64;
}

/* ---- fields -------------------------------------------------------------------------------------
 */

/* The field itself where it is there already; UINT32_MAX: no room. Bits are those of one value. */
uint32_t dense_add_field(struct group_dense *dense, const struct dense_field *field)
{
    for (uint32_t f = 0; f < dense->field_count; f++) {
        const struct dense_field *other = &dense->fields[f];
        if (other->what == field->what && other->input == field->input &&
            other->other == field->other) {
            return f;
        }
    }
    if (dense->field_count == DENSE_FIELDS_MAX) {
        return UINT32_MAX;
    }
    dense->fields[dense->field_count] = *field;
    return dense->field_count++;
}

static uint32_t count_field(struct group_dense *dense, uint32_t input)
{
    const bool counts_all = input == UINT32_MAX || !dense->inputs[input].may_be_null;

    return counts_all ? 0
                      : dense_add_field(
                            dense, &(struct dense_field){.what = DENSE_PRESENT, .input = input});
}

/* An integer's values take the bits of their range. UINT32_MAX: too many, or no room. */
static uint32_t range_field(struct group_dense *dense, enum dense_what what, uint32_t input,
                            uint32_t other, int64_t least, int64_t most)
{
    const uint32_t bits = dense_bit_length((uint64_t)most - (uint64_t)least);

    if (bits >= DENSE_WHOLE_LANE) {
        return UINT32_MAX; /* no room for a second row */
    }
    return dense_add_field(
        dense,
        &(struct dense_field){
            .what = what, .input = input, .other = other, .bias = least, .bits = (uint8_t)bits});
}

static uint32_t value_field(struct group_dense *dense, uint32_t i)
{
    const struct dense_input *input = &dense->inputs[i];

    if (is_float(input)) {
        return dense_add_field(
            dense, &(struct dense_field){.what = DENSE_HIGH, .input = i, .bits = DENSE_WHOLE_LANE});
    }
    return range_field(dense, DENSE_VALUE, i, 0, input->least, input->most);
}

/* Products of values of up to 31 bits: the bounds cannot overflow. */
static uint32_t product_field(struct group_dense *dense, uint32_t x, uint32_t y)
{
    const struct dense_input *a = &dense->inputs[x];
    const struct dense_input *b = &dense->inputs[y];
    const int64_t corners[] = {a->least * b->least, a->least * b->most, a->most * b->least,
                               a->most * b->most};
    int64_t least = corners[0];
    int64_t most = corners[0];

    for (uint32_t c = 1; c < 4; c++) {
        least = corners[c] < least ? corners[c] : least;
        most = corners[c] > most ? corners[c] : most;
    }
    return range_field(dense, DENSE_PRODUCT, x, y, least, most);
}

static bool has_products(const struct dense_input *input)
{
    return is_integer(input) && !input->may_be_null && input->least > -INT32_MAX &&
           input->most < INT32_MAX;
}

/* ---- measures -----------------------------------------------------------------------------------
 */

static uint32_t extreme_of(struct group_dense *dense, uint32_t input, bool is_most)
{
    for (uint32_t e = 0; e < dense->extreme_count; e++) {
        if (dense->extremes[e].input == input && dense->extremes[e].is_most == is_most) {
            return e;
        }
    }
    dense->extremes[dense->extreme_count] = (struct dense_extreme){
        .input = input, .storage = dense->inputs[input].storage, .is_most = is_most};
    return dense->extreme_count++;
}

static bool plan_sum(struct group *group, struct dense_measure *out)
{
    struct group_dense *dense = group->dense;
    const struct dense_input *input = &dense->inputs[out->input];

    if (!is_integer(input) && !is_float(input)) {
        return false;
    }
    out->sum = value_field(dense, out->input);
    out->low = UINT32_MAX;
    if (is_float(input) && input->low_unit != 0) {
        out->low = dense_add_field(dense, &(struct dense_field){.what = DENSE_LOW,
                                                                .input = out->input,
                                                                .bits = DENSE_WHOLE_LANE});
    }
    return out->sum != UINT32_MAX;
}

/* Variances take one input, correlations two. */
static bool plan_products(struct group *group, const struct group_measure *measure,
                          struct dense_measure *out)
{
    struct group_dense *dense = group->dense;
    const uint32_t other = measure->other_count == 0
                               ? out->input
                               : plan_input(group, uncast(group, measure->others[0]));

    if (other == UINT32_MAX || !has_products(&dense->inputs[out->input]) ||
        !has_products(&dense->inputs[other])) {
        return false;
    }
    out->sum = value_field(dense, out->input);
    out->other_sum = value_field(dense, other);
    out->products[0] = product_field(dense, out->input, out->input);
    out->products[1] = product_field(dense, other, other);
    out->products[2] = product_field(dense, out->input, other);
    return out->sum != UINT32_MAX && out->other_sum != UINT32_MAX &&
           out->products[0] != UINT32_MAX && out->products[1] != UINT32_MAX &&
           out->products[2] != UINT32_MAX;
}

/* Float64 holds every value of the input. */
static bool plan_kept(struct group_dense *dense, struct dense_measure *out)
{
    const struct dense_input *input = &dense->inputs[out->input];
    const bool is_exact =
        is_float(input) ||
        (is_integer(input) && input->least >= -DENSE_EXACT_MAX && input->most <= DENSE_EXACT_MAX);

    for (out->kept = 0; out->kept < dense->kept_count; out->kept++) {
        if (dense->kept[out->kept] == out->input) {
            return true;
        }
    }
    if (is_exact) {
        dense->kept[dense->kept_count++] = out->input;
    }
    return is_exact;
}

static bool is_quantile(const struct group_measure *measure)
{
    return measure->function == EXEC_AGG_QUANTILE_CONT && measure->other_count == 0 &&
           measure->own_direction != EXEC_DESC_NULLS_FIRST &&
           measure->own_direction != EXEC_DESC_NULLS_LAST;
}

bool dense_plan_measure(struct group *group, uint32_t m)
{
    const struct group_measure *measure = &group->plan.measures[m];
    const struct group_aggregate *aggregate = &group->aggregates[m];
    struct group_dense *dense = group->dense;
    struct dense_measure *out = &dense->measures[m];
    const bool is_pair = aggregate->form == GROUP_PAIR;

    if ((aggregate->form != GROUP_KERNEL && !is_pair && !is_quantile(measure)) ||
        measure->filter != NULL || measure->state != NULL || measure->distinct ||
        measure->other_count != (is_pair ? 1 : 0)) {
        return false;
    }
    out->input = UINT32_MAX;
    out->kept = UINT32_MAX;
    if (measure->function != EXEC_AGG_COUNT_STAR) {
        const bool keeps_type = measure->function == EXEC_AGG_MIN ||
                                measure->function == EXEC_AGG_MAX ||
                                measure->function == EXEC_AGG_ANY_VALUE;
        out->input =
            plan_input(group, keeps_type ? measure->argument : uncast(group, measure->argument));
        if (out->input == UINT32_MAX) {
            return false;
        }
    }
    out->count = count_field(dense, out->input);
    if (out->count == UINT32_MAX) {
        return false;
    }
    switch (measure->function) {
        case EXEC_AGG_COUNT_STAR:
        case EXEC_AGG_COUNT: return true;
        case EXEC_AGG_SUM:
        case EXEC_AGG_AVG: return plan_sum(group, out);
        case EXEC_AGG_ANY_VALUE:
        case EXEC_AGG_MIN:
        case EXEC_AGG_MAX:
            if (!is_integer(&dense->inputs[out->input]) && !is_float(&dense->inputs[out->input])) {
                return false;
            }
            out->extreme = extreme_of(dense, out->input, measure->function == EXEC_AGG_MAX);
            return true;
        case EXEC_AGG_VAR_SAMP:
        case EXEC_AGG_VAR_POP:
        case EXEC_AGG_STDDEV_SAMP:
        case EXEC_AGG_STDDEV_POP:
            return is_float(&dense->inputs[out->input]) ? plan_kept(dense, out)
                                                        : plan_products(group, measure, out);
        case EXEC_AGG_QUANTILE_CONT: return plan_kept(dense, out);
        case EXEC_AGG_COVAR_SAMP:
        case EXEC_AGG_COVAR_POP:
        case EXEC_AGG_CORR: return plan_products(group, measure, out);
        default: return false;
    }
}
