/* Goal:   statistics of a column say exactly what a look at every value says: nulls, bounds, the
 *         lowest and the highest binary digit of floats, whether some are NaN or infinite.
 * Method: seeded values of every kind (decimal fractions, integers, subnormals, zeros of both
 * signs, specials, few that are news late), added in pieces that begin anywhere, with and without
 *         nulls, compared with a loop over the values that takes floats apart with frexp. */
#include "table/column_stats.h"
#include "vec/bitmap.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { ROWS = 5000, PIECES = 7 };

static uint64_t next(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double any_double(uint64_t *seed)
{
    const uint64_t bits = next(seed);
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

enum { SHAPE_COUNT = 8 };

static double shaped(unsigned shape, uint32_t row, uint64_t *seed)
{
    switch (shape) {
        case 0: return round((double)(next(seed) % 100000000)) / 1e6;
        case 1: return (double)(int64_t)(next(seed) % 2000) - 1000;
        case 2: return any_double(seed);
        case 3: return row % 3 == 0 ? -0.0 : 0.0;
        case 4: return row == 4321 ? (double)INFINITY : row == 17 ? (double)NAN : 2.5;
        case 5: return 5e-324 * (double)(1 + next(seed) % 1000);
        case 6: return ldexp((double)(1 + next(seed) % 16), row == 4900 ? -60 : 960);
        default: return row == 4000 ? -0.1 : row == 4500 ? 1e300 : 1024;
    }
}

/* The oracle's digits: value = fraction * 2^exponent with an odd fraction. */
static void look(struct column_stats *stats, double value)
{
    int exponent;

    if (isnan(value) || isinf(value)) {
        stats->has_specials = true;
    }
    if (!isnan(value)) {
        stats->min.f64 = !stats->has_bounds ? value : fmin(stats->min.f64, value);
        stats->max.f64 = !stats->has_bounds ? value : fmax(stats->max.f64, value);
        stats->has_bounds = true;
    }
    if (isnan(value) || isinf(value) || fpclassify(value) == FP_ZERO) {
        return;
    }
    double fraction = frexp(value, &exponent);
    const int16_t high = (int16_t)(exponent - 1);
    while (rint(fraction) != fraction) {
        fraction *= 2;
        exponent--;
    }
    const int16_t low = (int16_t)exponent;
    stats->digit_low = !stats->has_digits || low < stats->digit_low ? low : stats->digit_low;
    stats->digit_high = !stats->has_digits || high > stats->digit_high ? high : stats->digit_high;
    stats->has_digits = true;
}

static void check_floats(unsigned shape, bool narrow, uint32_t nulls_in, uint64_t seed)
{
    static double doubles[ROWS];
    static float floats[ROWS];
    uint64_t valid[ROWS / 64 + 1] = {0};
    struct column_stats expected = {.null_count = 0}, stats = {.null_count = 0};
    const enum exec_type_kind kind = narrow ? EXEC_TYPE_FLOAT32 : EXEC_TYPE_FLOAT64;

    for (uint32_t row = 0; row < ROWS; row++) {
        doubles[row] = shaped(shape, row, &seed);
        floats[row] = (float)doubles[row];
        const bool present = nulls_in == 0 || next(&seed) % nulls_in != 0;
        bitmap_put(valid, row, present);
        expected.null_count += !present;
        if (present) {
            look(&expected, narrow ? (double)floats[row] : doubles[row]);
        }
    }
    uint32_t begin = 0;
    for (uint32_t piece = 0; piece < PIECES; piece++) {
        const uint32_t end =
            piece == PIECES - 1 ? ROWS : begin + (uint32_t)next(&seed) % (ROWS - begin);
        column_stats_add(&stats, kind, narrow ? (const void *)floats : doubles, valid, begin, end);
        begin = end;
    }
    cr_expect_eq(stats.null_count, expected.null_count);
    cr_expect_eq(stats.has_bounds, expected.has_bounds);
    cr_expect(stats.min.f64 <= expected.min.f64 && stats.min.f64 >= expected.min.f64);
    cr_expect(stats.max.f64 <= expected.max.f64 && stats.max.f64 >= expected.max.f64);
    cr_expect_eq(stats.has_specials, expected.has_specials, "shape %u narrow %d", shape, narrow);
    cr_expect_eq(stats.has_digits, expected.has_digits);
    cr_expect_eq(stats.digit_low, expected.digit_low, "shape %u narrow %d nulls %u: %d, not %d",
                 shape, narrow, nulls_in, stats.digit_low, expected.digit_low);
    cr_expect_eq(stats.digit_high, expected.digit_high, "shape %u narrow %d nulls %u: %d, not %d",
                 shape, narrow, nulls_in, stats.digit_high, expected.digit_high);
}

Test(column_stats, floats)
{
    for (unsigned shape = 0; shape < SHAPE_COUNT; shape++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            check_floats(shape, false, 0, seed);
            check_floats(shape, false, 10, seed);
            check_floats(shape, false, 2, seed);
            check_floats(shape, true, 0, seed);
            check_floats(shape, true, 10, seed);
        }
    }
}

#define CHECK_INTEGERS(c_type, kind, member)                                                     \
    do {                                                                                         \
        static c_type values[ROWS];                                                              \
        uint64_t valid[ROWS / 64 + 1] = {0};                                                     \
        struct column_stats stats = {.null_count = 0};                                           \
        uint64_t seed = sizeof(c_type) + nulls_in, nulls = 0;                                    \
        bool any = false;                                                                        \
        c_type least = 0, most = 0;                                                              \
        for (uint32_t row = 0; row < ROWS; row++) {                                              \
            values[row] = (c_type)(next(&seed) >> (row % 8));                                    \
            const bool present = nulls_in == 0 || next(&seed) % nulls_in != 0;                   \
            bitmap_put(valid, row, present);                                                     \
            nulls += !present;                                                                   \
            least = present && (!any || values[row] < least) ? values[row] : least;              \
            most = present && (!any || values[row] > most) ? values[row] : most;                 \
            any |= present;                                                                      \
        }                                                                                        \
        for (uint32_t begin = 0; begin < ROWS; begin += 333) {                                   \
            column_stats_add(&stats, kind, values, valid, begin,                                 \
                             begin + 333 < ROWS ? begin + 333 : ROWS);                           \
        }                                                                                        \
        cr_expect_eq(stats.null_count, nulls);                                                   \
        cr_expect_eq(stats.has_bounds, any);                                                     \
        cr_expect(!any || (stats.min.member == least && stats.max.member == most), "%s", #kind); \
    } while (0)

static void check_integers(uint32_t nulls_in)
{
    CHECK_INTEGERS(int8_t, EXEC_TYPE_INT8, i64);
    CHECK_INTEGERS(int16_t, EXEC_TYPE_INT16, i64);
    CHECK_INTEGERS(int32_t, EXEC_TYPE_DATE32, i64);
    CHECK_INTEGERS(int64_t, EXEC_TYPE_TIMESTAMP, i64);
    CHECK_INTEGERS(uint8_t, EXEC_TYPE_UINT8, u64);
    CHECK_INTEGERS(uint16_t, EXEC_TYPE_UINT16, u64);
    CHECK_INTEGERS(uint32_t, EXEC_TYPE_UINT32, u64);
    CHECK_INTEGERS(uint64_t, EXEC_TYPE_UINT64, u64);
}

Test(column_stats, integers)
{
    check_integers(0);
    check_integers(5);
    check_integers(1); /* nothing but nulls */
}
