#include "kernel/agg.h"

#include "kernel/agg_moments.h"
#include "kernel/agg_sketch.h"
#include "kernel/big_magnitude.h"
#include "vec/each_name.h"
#include "vec/value.h"

#include <string.h>

static void set_valid(uint64_t *valid, uint32_t row, bool present)
{
    valid[row / 64] |= (uint64_t)present << row % 64;
}

/* ---- counts -------------------------------------------------------------------------------------
 */

static bool update_count(const void *values, const uint16_t *source, uint32_t count,
                         unsigned char *const *rows, uint32_t offset, struct nu_arena *strings)
{
    (void)values;
    (void)source;
    (void)strings;
    for (uint32_t i = 0; i < count; i++) {
        ((struct agg_count *)(void *)(rows[i] + offset))->count++;
    }
    return true;
}

static bool combine_count(unsigned char *const *into, unsigned char *const *from, uint32_t count,
                          uint32_t offset, struct nu_arena *strings)
{
    (void)strings;
    for (uint32_t i = 0; i < count; i++) {
        ((struct agg_count *)(void *)(into[i] + offset))->count +=
            ((const struct agg_count *)(const void *)(from[i] + offset))->count;
    }
    return true;
}

static uint32_t finish_count(unsigned char *const *rows, uint32_t count, uint32_t offset,
                             int32_t scale, void *out, uint64_t *valid)
{
    int64_t *to = out;

    (void)scale;
    for (uint32_t i = 0; i < count; i++) {
        to[i] = ((const struct agg_count *)(const void *)(rows[i] + offset))->count;
        set_valid(valid, i, true);
    }
    return count;
}

/* ---- sums of integers and decimals --------------------------------------------------------------
 */

#define K_TEMPLATE "kernel/agg_sum.tmpl.h"
#include "vec/each_integer.h"
#undef K_TEMPLATE

static void add128(struct agg_sum128 *state, __int128 value)
{
    if (__builtin_add_overflow(state->sum, value, &state->sum)) {
        state->high += value < 0 ? -1 : 1;
    }
}

static bool update_sum_decimal(const void *values, const uint16_t *source, uint32_t count,
                               unsigned char *const *rows, uint32_t offset,
                               struct nu_arena *strings)
{
    const vec_decimal *from = values;

    (void)strings;
    for (uint32_t i = 0; i < count; i++) {
        struct agg_sum128 *state = (void *)(rows[i] + offset);
        add128(state, from[source[i]]);
        state->count++;
    }
    return true;
}

static bool combine_sum64(unsigned char *const *into, unsigned char *const *from, uint32_t count,
                          uint32_t offset, struct nu_arena *strings)
{
    (void)strings;
    for (uint32_t i = 0; i < count; i++) {
        struct agg_sum64 *state = (void *)(into[i] + offset);
        const struct agg_sum64 *other = (const void *)(from[i] + offset);
        /* States may come from a client: no overflow of theirs may be undefined. */
        state->sum = (int64_t)((uint64_t)state->sum + (uint64_t)other->sum);
        state->count += other->count;
    }
    return true;
}

static bool combine_sum128(unsigned char *const *into, unsigned char *const *from, uint32_t count,
                           uint32_t offset, struct nu_arena *strings)
{
    (void)strings;
    for (uint32_t i = 0; i < count; i++) {
        struct agg_sum128 *state = (void *)(into[i] + offset);
        const struct agg_sum128 *other = (const void *)(from[i] + offset);
        add128(state, other->sum);
        state->high += other->high;
        state->count += other->count;
    }
    return true;
}

static uint32_t finish_sum64(unsigned char *const *rows, uint32_t count, uint32_t offset,
                             int32_t scale, void *out, uint64_t *valid)
{
    int64_t *to = out;

    (void)scale;
    for (uint32_t i = 0; i < count; i++) {
        const struct agg_sum64 *state = (const void *)(rows[i] + offset);
        to[i] = state->sum;
        set_valid(valid, i, state->count > 0);
    }
    return count;
}

/* decimal128(38, s) ends at 10^38 - 1. */
static uint32_t finish_sum128(unsigned char *const *rows, uint32_t count, uint32_t offset,
                              int32_t scale, void *out, uint64_t *valid)
{
    const __int128 limit =
        (__int128)UINT64_C(10000000000000000000) * (__int128)UINT64_C(10000000000000000000);
    vec_decimal *to = out;

    (void)scale;
    for (uint32_t i = 0; i < count; i++) {
        const struct agg_sum128 *state = (const void *)(rows[i] + offset);
        if (state->high != 0 || state->sum >= limit || state->sum <= -limit) {
            return i;
        }
        to[i] = state->sum;
        set_valid(valid, i, state->count > 0);
    }
    return count;
}

/* (high * 2^128 + sum) / (count * 10^scale), rounded once. */
static double quotient(int64_t high, __int128 sum, int64_t count, int32_t scale)
{
    struct big_magnitude big = {.exponent = 0};
    const bool negative = high < 0 || (high == 0 && sum < 0);
    unsigned __int128 low = (unsigned __int128)sum;
    /* As three words of two's complement; `sum` alone is signed, so its sign extends. */
    uint64_t top = (uint64_t)high - (sum < 0);

    if (count == 0) {
        return 0;
    }
    if (negative) {
        low = -low;
        top = ~top + (low == 0);
    }
    big.words[0] = (uint64_t)low;
    big.words[1] = (uint64_t)(low >> 64);
    big.words[2] = top;
    big_magnitude_scale(&big, 4);
    big_magnitude_divide(&big, (uint64_t)count);
    big_magnitude_divide_power10(&big, (uint32_t)scale);
    const double value = big_magnitude_double(&big);
    return negative && value != 0 ? -value : value;
}

static uint32_t finish_avg64(unsigned char *const *rows, uint32_t count, uint32_t offset,
                             int32_t scale, void *out, uint64_t *valid)
{
    const int64_t exact = INT64_C(1) << 53;
    double *to = out;

    (void)scale;
    for (uint32_t i = 0; i < count; i++) {
        const struct agg_sum64 *state = (const void *)(rows[i] + offset);
        /* Two exact doubles divide with one rounding. */
        if (state->count > 0 && state->count <= exact && state->sum <= exact &&
            state->sum >= -exact) {
            to[i] = (double)state->sum / (double)state->count;
        } else {
            to[i] = quotient(0, state->sum, state->count, 0);
        }
        set_valid(valid, i, state->count > 0);
    }
    return count;
}

static uint32_t finish_avg128(unsigned char *const *rows, uint32_t count, uint32_t offset,
                              int32_t scale, void *out, uint64_t *valid)
{
    double *to = out;

    for (uint32_t i = 0; i < count; i++) {
        const struct agg_sum128 *state = (const void *)(rows[i] + offset);
        to[i] = quotient(state->high, state->sum, state->count, scale);
        set_valid(valid, i, state->count > 0);
    }
    return count;
}

/* ---- sums of floats -----------------------------------------------------------------------------
 */

static bool update_sum_f64(const void *values, const uint16_t *source, uint32_t count,
                           unsigned char *const *rows, uint32_t offset, struct nu_arena *strings)
{
    const double *from = values;

    (void)strings;
    for (uint32_t i = 0; i < count; i++) {
        float_sum_add((void *)(rows[i] + offset), from[source[i]]);
    }
    return true;
}

static bool update_sum_f32(const void *values, const uint16_t *source, uint32_t count,
                           unsigned char *const *rows, uint32_t offset, struct nu_arena *strings)
{
    const float *from = values;

    (void)strings;
    for (uint32_t i = 0; i < count; i++) {
        float_sum_add((void *)(rows[i] + offset), (double)from[source[i]]);
    }
    return true;
}

static bool combine_float_sum(unsigned char *const *into, unsigned char *const *from,
                              uint32_t count, uint32_t offset, struct nu_arena *strings)
{
    (void)strings;
    for (uint32_t i = 0; i < count; i++) {
        float_sum_combine((void *)(into[i] + offset), (const void *)(from[i] + offset));
    }
    return true;
}

static uint32_t finish_float_total(unsigned char *const *rows, uint32_t count, uint32_t offset,
                                   int32_t scale, void *out, uint64_t *valid)
{
    double *to = out;

    (void)scale;
    for (uint32_t i = 0; i < count; i++) {
        const struct float_sum *state = (const void *)(rows[i] + offset);
        to[i] = float_sum_total(state);
        set_valid(valid, i, state->count > 0);
    }
    return count;
}

static uint32_t finish_float_average(unsigned char *const *rows, uint32_t count, uint32_t offset,
                                     int32_t scale, void *out, uint64_t *valid)
{
    double *to = out;

    (void)scale;
    for (uint32_t i = 0; i < count; i++) {
        const struct float_sum *state = (const void *)(rows[i] + offset);
        to[i] = float_sum_average(state);
        set_valid(valid, i, state->count > 0);
    }
    return count;
}

/* ---- min and max --------------------------------------------------------------------------------
 */

#define VEC_INTEGER(TAG, tag, c_type)                  \
    static inline c_type canonical_##tag(c_type value) \
    {                                                  \
        return value;                                  \
    }
#include "vec/vec_types.def"

static inline float canonical_f32(float value)
{
    return value_float32_canonical(value);
}

static inline double canonical_f64(double value)
{
    return value_float64_canonical(value);
}

#define K_TEMPLATE "kernel/agg_extreme.tmpl.h"
#include "vec/each_float.h"
#include "vec/each_integer.h"
#define K_TAG decimal
#define K_TYPE vec_decimal
#include K_TEMPLATE
#undef K_TEMPLATE

#define K_TEMPLATE "kernel/agg_bits.tmpl.h"
#include "vec/each_integer.h"
#undef K_TEMPLATE

/* A kept text has a buffer of its own, which grows by doubling and is used again, so that a minimum
 * that falls a million times costs a few buffers. */
static bool take_text(struct agg_text *state, const struct string_view *view,
                      struct nu_arena *strings)
{
    const uint32_t size = view->size;
    char *buffer = NULL;

    state->seen = true;
    if (size <= STRING_INLINE_BYTES) {
        /* The buffer is forgotten: a view has no room for both. */
        state->view = *view;
        state->capacity = 0;
        return true;
    }
    if (size <= state->capacity) {
        memcpy(&buffer, state->view.inside + STRING_PREFIX_BYTES, sizeof buffer);
    } else {
        const uint32_t capacity = size > UINT32_MAX / 2 ? size : size + size / 2;
        buffer = nu_arena_alloc(strings, capacity, 1);
        if (buffer == NULL) {
            return false;
        }
        state->capacity = capacity;
    }
    memcpy(buffer, string_view_bytes(view), size);
    state->view = string_view_make(buffer, size);
    return true;
}

/* direction: below 0 for min, above 0 for max. */
static bool offer_text(struct agg_text *state, const struct string_view *view, int direction,
                       struct nu_arena *strings)
{
    if (state->seen) {
        const int order = string_view_compare(view, &state->view);
        if (direction < 0 ? order >= 0 : order <= 0) {
            return true;
        }
    }
    return take_text(state, view, strings);
}

#define TEXT_EXTREME(name, direction)                                                            \
    static bool update_##name##_text(const void *values, const uint16_t *source, uint32_t count, \
                                     unsigned char *const *rows, uint32_t offset,                \
                                     struct nu_arena *strings)                                   \
    {                                                                                            \
        const struct string_view *from = values;                                                 \
        for (uint32_t i = 0; i < count; i++) {                                                   \
            if (!offer_text((void *)(rows[i] + offset), &from[source[i]], direction, strings)) { \
                return false;                                                                    \
            }                                                                                    \
        }                                                                                        \
        return true;                                                                             \
    }                                                                                            \
    static bool combine_##name##_text(unsigned char *const *into, unsigned char *const *from,    \
                                      uint32_t count, uint32_t offset, struct nu_arena *strings) \
    {                                                                                            \
        for (uint32_t i = 0; i < count; i++) {                                                   \
            const struct agg_text *other = (const void *)(from[i] + offset);                     \
            if (other->seen &&                                                                   \
                !offer_text((void *)(into[i] + offset), &other->view, direction, strings)) {     \
                return false;                                                                    \
            }                                                                                    \
        }                                                                                        \
        return true;                                                                             \
    }

TEXT_EXTREME(min, -1)
TEXT_EXTREME(max, 1)

static uint32_t finish_extreme_text(unsigned char *const *rows, uint32_t count, uint32_t offset,
                                    int32_t scale, void *out, uint64_t *valid)
{
    struct string_view *to = out;

    (void)scale;
    for (uint32_t i = 0; i < count; i++) {
        const struct agg_text *state = (const void *)(rows[i] + offset);
        to[i] = state->view;
        set_valid(valid, i, state->seen);
    }
    return count;
}

/* ---- choice
 * --------------------------------------------------------------------------------------- */

static const struct agg_kernel count_kernel = {sizeof(struct agg_count), update_count,
                                               combine_count, finish_count};

static const struct agg_kernel kernels[EXEC_AGG_FUNCTION_COUNT][VEC_STORAGE_COUNT] = {
#define AGG(FUNCTION, STORAGE, state, update, combine, finish)                     \
    [EXEC_AGG_##FUNCTION][VEC_##STORAGE] = {sizeof(struct state), update_##update, \
                                            combine_##combine, finish_##finish},
#include "kernel/agg.def"
};

const struct agg_kernel *agg_kernel(enum exec_aggregate_function function, enum vec_storage storage)
{
    if (function == EXEC_AGG_COUNT_STAR || function == EXEC_AGG_COUNT) {
        return &count_kernel;
    }
    if ((uint32_t)function >= EXEC_AGG_FUNCTION_COUNT ||
        kernels[function][storage].update == NULL) {
        return NULL;
    }
    return &kernels[function][storage];
}
