/* Bodies of lanes.h, once an instruction set. LANES_ISA names it (scalar, avx2). No include guard.
 * Plain loops, which the compiler vectorises, but for rows of lanes: these are transposed in
 * registers where there is AVX2. */
#include "kernel/lanes.h"

#include <string.h>

#define LANES_PASTE_2(a, b) a##_##b
#define LANES_PASTE(a, b) LANES_PASTE_2(a, b)
#define LANES_TABLE LANES_PASTE(lane_kernels, LANES_ISA)

#define VEC_INTEGER(TAG, tag, c_type)                                                           \
    static void value_##tag(const void *values, uint32_t count, int64_t bias, uint32_t shift,   \
                            int64_t *restrict lane)                                             \
    {                                                                                           \
        const c_type *restrict from = values;                                                   \
        for (uint32_t i = 0; i < count; i++) {                                                  \
            lane[i] =                                                                           \
                (int64_t)((uint64_t)lane[i] + (((uint64_t)from[i] - (uint64_t)bias) << shift)); \
        }                                                                                       \
    }                                                                                           \
    static void widen_##tag(const void *values, uint32_t count, int64_t bias,                   \
                            int64_t *restrict out)                                              \
    {                                                                                           \
        const c_type *restrict from = values;                                                   \
        for (uint32_t i = 0; i < count; i++) {                                                  \
            out[i] = (int64_t)((uint64_t)from[i] - (uint64_t)bias);                             \
        }                                                                                       \
    }                                                                                           \
    static void slot_##tag(const void *values, uint32_t count, int64_t least, uint32_t stride,  \
                           uint32_t *restrict slot)                                             \
    {                                                                                           \
        const c_type *restrict from = values;                                                   \
        for (uint32_t i = 0; i < count; i++) {                                                  \
            slot[i] += ((uint32_t)from[i] - (uint32_t)least) * stride;                          \
        }                                                                                       \
    }
#include "vec/vec_types.def"

#define LANES_EXTREME(name, order, tag, c_type)                                        \
    static void name##_##tag(const void *values, uint32_t count, const uint32_t *slot, \
                             uint32_t slot_shift, void *state)                         \
    {                                                                                  \
        const c_type *from = values;                                                   \
        c_type *to = state;                                                            \
        for (uint32_t i = 0; i < count; i++) {                                         \
            c_type *kept = &to[slot[i] >> slot_shift];                                 \
            if (from[i] order * kept) {                                                \
                *kept = from[i];                                                       \
            }                                                                          \
        }                                                                              \
    }
#define VEC_INTEGER(TAG, tag, c_type)    \
    LANES_EXTREME(least, <, tag, c_type) \
    LANES_EXTREME(most, >, tag, c_type)
#define VEC_FLOAT(TAG, tag, c_type)      \
    LANES_EXTREME(least, <, tag, c_type) \
    LANES_EXTREME(most, >, tag, c_type)
#include "vec/vec_types.def"

/* Lanes wrap. */
static inline int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t bits_of(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

#define VEC_FLOAT(TAG, tag, c_type)                                                           \
    static void split_##tag(const void *values, uint32_t count, double unit, double low_unit, \
                            int64_t *restrict high, int64_t *restrict low)                    \
    {                                                                                         \
        const c_type *restrict from = values;                                                 \
        const int64_t high_zero = bits_of(unit);                                              \
        const int64_t low_zero = bits_of(low_unit);                                           \
        if (low_unit == 0) {                                                                  \
            for (uint32_t i = 0; i < count; i++) {                                            \
                high[i] = plus(high[i], bits_of((double)from[i] + unit) - high_zero);         \
            }                                                                                 \
            return;                                                                           \
        }                                                                                     \
        for (uint32_t i = 0; i < count; i++) {                                                \
            const double value = (double)from[i];                                             \
            const double moved = value + unit;                                                \
            const double rest = value - (moved - unit);                                       \
            high[i] = plus(high[i], bits_of(moved) - high_zero);                              \
            low[i] = plus(low[i], bits_of(rest + low_unit) - low_zero);                       \
        }                                                                                     \
    }
#include "vec/vec_types.def"

static void fill(int64_t *lane, uint32_t count, int64_t number)
{
    for (uint32_t i = 0; i < count; i++) {
        lane[i] = number;
    }
}

static void product(const int64_t *restrict x, const int64_t *restrict y, uint32_t count,
                    uint32_t shift, int64_t *restrict lane)
{
    for (uint32_t i = 0; i < count; i++) {
        lane[i] = (int64_t)((uint64_t)lane[i] + ((uint64_t)x[i] * (uint64_t)y[i] << shift));
    }
}

static void add_1(int64_t *state, const uint32_t *slot, const int64_t *const *lanes, uint32_t count)
{
    const int64_t *lane = lanes[0];

    for (uint32_t i = 0; i < count; i++) {
        state[slot[i]] = plus(state[slot[i]], lane[i]);
    }
}

static void add_2(int64_t *state, const uint32_t *slot, const int64_t *const *lanes, uint32_t count)
{
    const int64_t *first = lanes[0];
    const int64_t *second = lanes[1];

    for (uint32_t i = 0; i < count; i++) {
        int64_t *row = state + slot[i];
        row[0] = plus(row[0], first[i]);
        row[1] = plus(row[1], second[i]);
    }
}

#ifdef __AVX2__
#include <immintrin.h>

static inline void add_row_4(int64_t *row, __m256i numbers)
{
    const __m256i sum = _mm256_add_epi64(_mm256_loadu_si256((const __m256i *)row), numbers);
    _mm256_storeu_si256((__m256i *)row, sum);
}

static inline void add_rows_4(int64_t *state, const uint32_t *slot, const int64_t *const *lanes,
                              uint32_t i)
{
    const __m256i a = _mm256_loadu_si256((const __m256i *)(lanes[0] + i));
    const __m256i b = _mm256_loadu_si256((const __m256i *)(lanes[1] + i));
    const __m256i c = _mm256_loadu_si256((const __m256i *)(lanes[2] + i));
    const __m256i d = _mm256_loadu_si256((const __m256i *)(lanes[3] + i));
    const __m256i ab_even = _mm256_unpacklo_epi64(a, b);
    const __m256i ab_odd = _mm256_unpackhi_epi64(a, b);
    const __m256i cd_even = _mm256_unpacklo_epi64(c, d);
    const __m256i cd_odd = _mm256_unpackhi_epi64(c, d);

    add_row_4(state + slot[i], _mm256_permute2x128_si256(ab_even, cd_even, 0x20));
    add_row_4(state + slot[i + 1], _mm256_permute2x128_si256(ab_odd, cd_odd, 0x20));
    add_row_4(state + slot[i + 2], _mm256_permute2x128_si256(ab_even, cd_even, 0x31));
    add_row_4(state + slot[i + 3], _mm256_permute2x128_si256(ab_odd, cd_odd, 0x31));
}
#endif

/* `width` lanes, four at a time. */
static inline void add_fours(int64_t *state, const uint32_t *slot, const int64_t *const *lanes,
                             uint32_t count, uint32_t width)
{
    uint32_t i = 0;

#ifdef __AVX2__
    for (; i + 4 <= count; i += 4) {
        for (uint32_t l = 0; l < width; l += 4) {
            add_rows_4(state + l, slot, lanes + l, i);
        }
    }
#endif
    for (; i < count; i++) {
        int64_t *row = state + slot[i];
        for (uint32_t l = 0; l < width; l++) {
            row[l] = plus(row[l], lanes[l][i]);
        }
    }
}

static void add_4(int64_t *state, const uint32_t *slot, const int64_t *const *lanes, uint32_t count)
{
    add_fours(state, slot, lanes, count, 4);
}

static void add_8(int64_t *state, const uint32_t *slot, const int64_t *const *lanes, uint32_t count)
{
    add_fours(state, slot, lanes, count, 8);
}

extern const struct lane_kernels LANES_TABLE;
const struct lane_kernels LANES_TABLE = {
    .fill = fill,
    .product = product,
    .add = {[1] = add_1, [2] = add_2, [4] = add_4, [8] = add_8},
#define LANES_NAME_2(isa) #isa
#define LANES_NAME(isa) LANES_NAME_2(isa)
    .name = LANES_NAME(LANES_ISA),
#define VEC_INTEGER(TAG, tag, c_type) \
    .value[VEC_##TAG] = value_##tag, .widen[VEC_##TAG] = widen_##tag, .slot[VEC_##TAG] = slot_##tag,
#include "vec/vec_types.def"
#define VEC_INTEGER(TAG, tag, c_type) \
    .least[VEC_##TAG] = least_##tag, .most[VEC_##TAG] = most_##tag,
#define VEC_FLOAT(TAG, tag, c_type) \
    .least[VEC_##TAG] = least_##tag, .most[VEC_##TAG] = most_##tag, .split[VEC_##TAG] = split_##tag,
#include "vec/vec_types.def"
};
