#include "kernel/agg_moments.h"

#include <math.h>

bool update_moments(const void *values, const uint16_t *source, uint32_t count,
                    unsigned char *const *rows, uint32_t offset, struct nu_arena *strings)
{
    const double *from = values;

    (void)strings;
    for (uint32_t i = 0; i < count; i++) {
        struct agg_moments *state = (void *)(rows[i] + offset);
        const double x = from[source[i]];
        float_sum_add(&state->sum, x);
        if (isfinite(x)) {
            product_sum_add(&state->squares, x, x);
        }
    }
    return true;
}

bool combine_moments(unsigned char *const *into, unsigned char *const *from, uint32_t count,
                     uint32_t offset, struct nu_arena *strings)
{
    (void)strings;
    for (uint32_t i = 0; i < count; i++) {
        struct agg_moments *state = (void *)(into[i] + offset);
        const struct agg_moments *other = (const void *)(from[i] + offset);
        float_sum_combine(&state->sum, &other->sum);
        product_sum_combine(&state->squares, &other->squares);
    }
    return true;
}

bool update_covariance(const void *values, const uint16_t *source, uint32_t count,
                       unsigned char *const *rows, uint32_t offset, struct nu_arena *strings)
{
    const double *const *pair = values;

    (void)strings;
    for (uint32_t i = 0; i < count; i++) {
        struct agg_covariance *state = (void *)(rows[i] + offset);
        const double x = pair[0][source[i]];
        const double y = pair[1][source[i]];
        float_sum_add(&state->x, x);
        float_sum_add(&state->y, y);
        if (isfinite(x) && isfinite(y)) {
            product_sum_add(&state->xy, x, y);
        }
    }
    return true;
}

bool combine_covariance(unsigned char *const *into, unsigned char *const *from, uint32_t count,
                        uint32_t offset, struct nu_arena *strings)
{
    (void)strings;
    for (uint32_t i = 0; i < count; i++) {
        struct agg_covariance *state = (void *)(into[i] + offset);
        const struct agg_covariance *other = (const void *)(from[i] + offset);
        float_sum_combine(&state->x, &other->x);
        float_sum_combine(&state->y, &other->y);
        product_sum_combine(&state->xy, &other->xy);
    }
    return true;
}

bool update_correlation(const void *values, const uint16_t *source, uint32_t count,
                        unsigned char *const *rows, uint32_t offset, struct nu_arena *strings)
{
    const double *const *pair = values;

    (void)strings;
    for (uint32_t i = 0; i < count; i++) {
        struct agg_correlation *state = (void *)(rows[i] + offset);
        const double x = pair[0][source[i]];
        const double y = pair[1][source[i]];
        float_sum_add(&state->x, x);
        float_sum_add(&state->y, y);
        if (isfinite(x) && isfinite(y)) {
            product_sum_add(&state->xx, x, x);
            product_sum_add(&state->yy, y, y);
            product_sum_add(&state->xy, x, y);
        }
    }
    return true;
}

bool combine_correlation(unsigned char *const *into, unsigned char *const *from, uint32_t count,
                         uint32_t offset, struct nu_arena *strings)
{
    (void)strings;
    for (uint32_t i = 0; i < count; i++) {
        struct agg_correlation *state = (void *)(into[i] + offset);
        const struct agg_correlation *other = (const void *)(from[i] + offset);
        float_sum_combine(&state->x, &other->x);
        float_sum_combine(&state->y, &other->y);
        product_sum_combine(&state->xx, &other->xx);
        product_sum_combine(&state->yy, &other->yy);
        product_sum_combine(&state->xy, &other->xy);
    }
    return true;
}

/* ---- results ------------------------------------------------------------------------------------
 */

static void put(double *to, uint64_t *valid, uint32_t row, bool present, double value)
{
    to[row] = present ? value : 0;
    valid[row / 64] |= (uint64_t)present << row % 64;
}

/* A sample of one row has no variance: NULL. */
#define FINISH_VARIANCE(name, less, expression)                                         \
    uint32_t finish_##name(unsigned char *const *rows, uint32_t count, uint32_t offset, \
                           int32_t scale, void *out, uint64_t *valid)                   \
    {                                                                                   \
        (void)scale;                                                                    \
        for (uint32_t i = 0; i < count; i++) {                                          \
            const struct agg_moments *state = (const void *)(rows[i] + offset);         \
            const bool present = state->sum.count > (less);                             \
            const double variance = present ? moments_variance(state, (less)) : 0;      \
            put(out, valid, i, present, (expression));                                  \
        }                                                                               \
        return count;                                                                   \
    }
FINISH_VARIANCE(var_samp, 1, variance)
FINISH_VARIANCE(var_pop, 0, variance)
FINISH_VARIANCE(stddev_samp, 1, sqrt(variance))
FINISH_VARIANCE(stddev_pop, 0, sqrt(variance))

#define FINISH_COVARIANCE(name, less)                                                        \
    uint32_t finish_##name(unsigned char *const *rows, uint32_t count, uint32_t offset,      \
                           int32_t scale, void *out, uint64_t *valid)                        \
    {                                                                                        \
        (void)scale;                                                                         \
        for (uint32_t i = 0; i < count; i++) {                                               \
            const struct agg_covariance *state = (const void *)(rows[i] + offset);           \
            const bool present = state->x.count > (less);                                    \
            put(out, valid, i, present,                                                      \
                present ? moments_covariance(&state->x, &state->y, &state->xy, (less)) : 0); \
        }                                                                                    \
        return count;                                                                        \
    }
FINISH_COVARIANCE(covar_samp, 1)
FINISH_COVARIANCE(covar_pop, 0)

uint32_t finish_corr(unsigned char *const *rows, uint32_t count, uint32_t offset, int32_t scale,
                     void *out, uint64_t *valid)
{
    (void)scale;
    for (uint32_t i = 0; i < count; i++) {
        const struct agg_correlation *state = (const void *)(rows[i] + offset);
        double value = 0;
        const bool present = state->x.count > 0 && moments_correlation(state, &value);
        put(out, valid, i, present, value);
    }
    return count;
}
