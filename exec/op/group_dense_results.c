#include "kernel/fixed_sum.h"
#include "op/group_dense_output.h"
#include "vec/value.h"

/* Columns of measures: from sums and extremes by place, and from kept values. */

/* ---- kept values --------------------------------------------------------------------------------
 */

bool dense_output_gather(struct dense_output *output)
{
    const struct group_dense *dense = output->group->dense;
    struct nu_arena *scratch = output->run->scratch;

    output->kept = nu_arena_alloc(scratch, (dense->kept_count + 1) * sizeof *output->kept, 64);
    for (uint32_t k = 0; output->kept != NULL && k < dense->kept_count; k++) {
        if (!dense_gather_kept(output->group, k, output->first >> dense->unit_shift, scratch,
                               &output->kept[k])) {
            return false;
        }
    }
    return output->kept != NULL;
}

/* Those of the i-th group. */
static double *kept_values(const struct dense_output *output, const struct dense_measure *measure,
                           uint32_t i, uint64_t *count_out)
{
    const struct dense_gathered *kept = &output->kept[measure->kept];
    const uint32_t place = output->present[i];

    *count_out = kept->begin[place + 1] - kept->begin[place];
    return kept->values + kept->begin[place];
}

static void quantile_values(const struct dense_output *output, uint32_t m, double *to,
                            uint64_t *valid)
{
    const struct dense_measure *measure = &output->group->dense->measures[m];
    const double fraction = output->group->aggregates[m].measure.fraction;

    for (uint32_t i = 0; i < output->count; i++) {
        uint64_t count;
        double *values = kept_values(output, measure, i, &count);
        to[i] = count == 0 ? 0 : dense_quantile(values, count, fraction);
        valid[i / 64] |= (uint64_t)(count != 0) << i % 64;
    }
}

/* ---- measures -----------------------------------------------------------------------------------
 */

/* The sum of a field in the i-th group. */
static __int128 sum_at(const struct dense_output *output, uint32_t field, uint32_t i)
{
    return output->sums[(size_t)field * BATCH_ROWS + output->present[i]];
}

static void fill_float_sum(const struct dense_output *output, const struct dense_measure *measure,
                           uint32_t sum, uint32_t i, struct float_sum *out)
{
    const struct dense_field *field = &output->group->dense->fields[sum];
    const struct dense_input *input = &output->group->dense->inputs[field->input];

    out->count = (uint64_t)sum_at(output, measure->count, i);
    if (field->what != DENSE_HIGH) {
        float_sum_open(out, 0);
        float_sum_place(out, sum_at(output, sum, i), 0);
        return;
    }
    float_sum_open(out, input->low_exponent);
    float_sum_place(out, sum_at(output, sum, i), input->high_exponent);
    if (measure->low != UINT32_MAX) {
        float_sum_place(out, sum_at(output, measure->low, i), input->low_exponent);
    }
}

static void place_products(struct product_sum *out, __int128 sum)
{
    product_sum_open(out, 0);
    product_sum_place(out, sum, 0);
}

/* The state a kernel of op/aggregate.def would have after the same rows. */
static void fill_state(const struct dense_output *output, const struct group_measure *from,
                       const struct dense_measure *measure, uint32_t i, void *state)
{
    const int64_t count = (int64_t)sum_at(output, measure->count, i);

    switch (from->function) {
        case EXEC_AGG_COUNT_STAR:
        case EXEC_AGG_COUNT: *(struct agg_count *)state = (struct agg_count){count}; return;
        case EXEC_AGG_SUM:
        case EXEC_AGG_AVG: break;
        case EXEC_AGG_COVAR_SAMP:
        case EXEC_AGG_COVAR_POP: {
            struct agg_covariance *out = state;
            fill_float_sum(output, measure, measure->sum, i, &out->x);
            fill_float_sum(output, measure, measure->other_sum, i, &out->y);
            place_products(&out->xy, sum_at(output, measure->products[2], i));
            return;
        }
        case EXEC_AGG_CORR: {
            struct agg_correlation *out = state;
            fill_float_sum(output, measure, measure->sum, i, &out->x);
            fill_float_sum(output, measure, measure->other_sum, i, &out->y);
            place_products(&out->xx, sum_at(output, measure->products[0], i));
            place_products(&out->yy, sum_at(output, measure->products[1], i));
            place_products(&out->xy, sum_at(output, measure->products[2], i));
            return;
        }
        default: {
            struct agg_moments *out = state;
            if (measure->kept != UINT32_MAX) {
                uint64_t kept_count;
                const double *values = kept_values(output, measure, i, &kept_count);
                dense_moments(&output->group->dense->inputs[measure->input], values, kept_count,
                              out);
                return;
            }
            fill_float_sum(output, measure, measure->sum, i, &out->sum);
            place_products(&out->squares, sum_at(output, measure->products[0], i));
            return;
        }
    }
    switch (vec_storage(expr_type(from->argument)->kind)) {
        case VEC_F32:
        case VEC_F64: fill_float_sum(output, measure, measure->sum, i, state); return;
        case VEC_I64:
        case VEC_U64:
            *(struct agg_sum128 *)state =
                (struct agg_sum128){.sum = sum_at(output, measure->sum, i), .count = count};
            return;
        default:
            *(struct agg_sum64 *)state =
                (struct agg_sum64){.sum = (int64_t)sum_at(output, measure->sum, i), .count = count};
            return;
    }
}

#define EXTREME_VALUES(c_type, canonical)                                                    \
    do {                                                                                     \
        c_type *values = data;                                                               \
        for (uint32_t i = 0; i < output->count; i++) {                                       \
            const uint32_t place = output->first + output->present[i];                       \
            c_type best = 0;                                                                 \
            bool seen = false;                                                               \
            for (uint32_t w = 0; w < worker_count; w++) {                                    \
                if (dense->workers[w].lanes == NULL) {                                       \
                    continue;                                                                \
                }                                                                            \
                const c_type value = ((const c_type *)dense->workers[w].extremes[e])[place]; \
                if (!seen || (extreme->is_most ? value > best : value < best)) {             \
                    best = value;                                                            \
                }                                                                            \
                seen = true;                                                                 \
            }                                                                                \
            values[i] = canonical(best);                                                     \
        }                                                                                    \
    } while (0)

static void extreme_values(const struct dense_output *output, uint32_t e, void *data)
{
    const struct group_dense *dense = output->group->dense;
    const struct dense_extreme *extreme = &dense->extremes[e];
    const uint32_t worker_count = output->group->job->worker_count;

    switch (extreme->storage) {
        case VEC_I8: EXTREME_VALUES(int8_t, ); break;
        case VEC_I16: EXTREME_VALUES(int16_t, ); break;
        case VEC_I32: EXTREME_VALUES(int32_t, ); break;
        case VEC_I64: EXTREME_VALUES(int64_t, ); break;
        case VEC_U8: EXTREME_VALUES(uint8_t, ); break;
        case VEC_U16: EXTREME_VALUES(uint16_t, ); break;
        case VEC_U32: EXTREME_VALUES(uint32_t, ); break;
        case VEC_U64: EXTREME_VALUES(uint64_t, ); break;
        case VEC_F32: EXTREME_VALUES(float, value_float32_canonical); break;
        default: EXTREME_VALUES(double, value_float64_canonical); break;
    }
}

/* The sum of a float in units of its low field; false: it does not fit. */
static bool fixed_at(const struct dense_output *output, const struct dense_measure *measure,
                     const struct dense_input *input, uint32_t i, __int128 *sum_out)
{
    const __int128 high = sum_at(output, measure->sum, i);
    const __int128 low = measure->low == UINT32_MAX ? 0 : sum_at(output, measure->low, i);
    const __int128 unit = (__int128)1 << (input->high_exponent - input->low_exponent);

    return !__builtin_mul_overflow(high, unit, sum_out) &&
           !__builtin_add_overflow(*sum_out, low, sum_out);
}

/* Sums and averages of a float column. false: one does not fit, float_sum.h takes them all. */
static bool float_values(const struct dense_output *output, uint32_t m, double *to, uint64_t *valid)
{
    const struct dense_measure *measure = &output->group->dense->measures[m];
    const struct dense_input *input = &output->group->dense->inputs[measure->input];
    const bool is_average = output->group->aggregates[m].measure.function == EXEC_AGG_AVG;

    for (uint32_t i = 0; i < output->count; i++) {
        const uint64_t count = (uint64_t)sum_at(output, measure->count, i);
        __int128 sum;
        if (!fixed_at(output, measure, input, i, &sum)) {
            return false;
        }
        to[i] = count == 0   ? 0
                : is_average ? fixed_sum_average(sum, count, input->low_exponent)
                             : fixed_sum_total(sum, input->low_exponent);
        valid[i / 64] |= (uint64_t)(count != 0) << i % 64;
    }
    return true;
}

static bool is_float_sum(const struct group_dense *dense, const struct dense_measure *measure,
                         enum exec_aggregate_function function)
{
    return (function == EXEC_AGG_SUM || function == EXEC_AGG_AVG) &&
           dense->fields[measure->sum].what == DENSE_HIGH;
}

static bool is_extreme(enum exec_aggregate_function function)
{
    return function == EXEC_AGG_MIN || function == EXEC_AGG_MAX || function == EXEC_AGG_ANY_VALUE;
}

static bool state_rows(const struct dense_output *output, uint32_t m, unsigned char **rows)
{
    const struct group_aggregate *aggregate = &output->group->aggregates[m];
    const uint32_t bytes = (aggregate->kernel->state_bytes + 15) / 16 * 16;
    unsigned char *states =
        nu_arena_calloc(output->run->scratch, ((size_t)output->count + 1) * bytes, 64);

    for (uint32_t i = 0; states != NULL && i < output->count; i++) {
        rows[i] = states + (size_t)i * bytes;
        fill_state(output, &aggregate->measure, &output->group->dense->measures[m], i, rows[i]);
    }
    return states != NULL;
}

enum push_result dense_output_measure(const struct dense_output *output, uint32_t m,
                                      struct vec *out)
{
    const struct group *group = output->group;
    const struct group_aggregate *aggregate = &group->aggregates[m];
    const struct dense_measure *measure = &group->dense->measures[m];
    struct nu_arena *scratch = output->run->scratch;
    uint64_t *valid = nu_arena_calloc(scratch, BATCH_WORDS * sizeof *valid, 8);
    unsigned char *rows[BATCH_ROWS];
    void *data;

    if (valid == NULL ||
        !vec_alloc(aggregate->measure.type.kind, output->count, scratch, out, &data)) {
        return group_fail_memory(group, scratch);
    }
    out->valid = valid;
    if (is_extreme(aggregate->measure.function)) {
        extreme_values(output, measure->extreme, data);
        for (uint32_t i = 0; i < output->count; i++) {
            valid[i / 64] |= (uint64_t)(sum_at(output, measure->count, i) != 0) << i % 64;
        }
        return PUSH_MORE;
    }
    if (aggregate->measure.function == EXEC_AGG_QUANTILE_CONT) {
        quantile_values(output, m, data, valid);
        return PUSH_MORE;
    }
    if (is_float_sum(group->dense, measure, aggregate->measure.function) &&
        float_values(output, m, data, valid)) {
        return PUSH_MORE;
    }
    if (!state_rows(output, m, rows)) {
        return group_fail_memory(group, scratch);
    }
    if (aggregate->kernel->finish(rows, output->count, 0, aggregate->scale, data, valid) <
        output->count) {
        return group_fail_overflow(group, m);
    }
    return PUSH_MORE;
}
