/* Goal:   float_sum gives one answer for one multiset of doubles, however they are ordered and
 * dealt out to partial sums; it is the exact sum rounded once where the values lie within 97 bits,
 *         and close to it otherwise; specials, subnormals and overflow come out as IEEE has them.
 * Method: known answers; random values of wildly different size, shuffled and split at random,
 * compared bit by bit; averages against their definition; the overflow of a bin made by hand. */
#include "kernel/float_sum.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

enum { VALUES = 2000 };

static uint64_t next(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static struct float_sum sum_of(const double *values, uint32_t count)
{
    struct float_sum sum = {.count = 0};
    for (uint32_t i = 0; i < count; i++) {
        float_sum_add(&sum, values[i]);
    }
    return sum;
}

static double total_of(const double *values, uint32_t count)
{
    const struct float_sum sum = sum_of(values, count);
    return float_sum_total(&sum);
}

static double average_of(const double *values, uint32_t count)
{
    const struct float_sum sum = sum_of(values, count);
    return float_sum_average(&sum);
}

#define TOTAL(...) \
    total_of((const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))
#define AVERAGE(...)                          \
    average_of((const double[]){__VA_ARGS__}, \
               sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

Test(float_sum, known_answers)
{
    cr_assert_eq(TOTAL(0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1), 1.0);
    cr_assert_eq(TOTAL(1e16, 1.0, -1e16), 1.0);
    cr_assert_eq(TOTAL(1.0, 0x1p-53, 0x1p-53), 1.0 + 0x1p-52);
    cr_assert_eq(TOTAL(1.0, 0x1p-53), 1.0, "a tie goes to even");
    cr_assert_eq(TOTAL(1.0 + 0x1p-52, 0x1p-53), 1.0 + 0x1p-51, "a tie goes to even");
    cr_assert_eq(TOTAL(1.0, 0x1p-53, 0x1p-90), 1.0 + 0x1p-52, "more than a tie");
    cr_assert_eq(TOTAL(-1.5, -2.25), -3.75);
    cr_assert_eq(TOTAL(DBL_MAX, DBL_MAX, -DBL_MAX), DBL_MAX);
    cr_assert_eq(TOTAL(DBL_MAX, DBL_MAX), (double)INFINITY);
    cr_assert_eq(TOTAL(-DBL_MAX, -DBL_MAX), -(double)INFINITY);
    cr_assert_eq(TOTAL(DBL_TRUE_MIN, DBL_TRUE_MIN), 2 * DBL_TRUE_MIN);
    cr_assert_eq(TOTAL(DBL_MIN, -DBL_TRUE_MIN), DBL_MIN - DBL_TRUE_MIN);
    cr_assert_eq(TOTAL(0.0, -0.0), 0.0);
    cr_assert_not(signbit(TOTAL(-0.0, -0.0)));
    cr_assert_not(signbit(TOTAL(-1.0, 1.0)));
}

Test(float_sum, specials)
{
    cr_assert_eq(TOTAL(1.0, (double)INFINITY), (double)INFINITY);
    cr_assert_eq(TOTAL(-(double)INFINITY, 3.0), -(double)INFINITY);
    cr_assert(isnan(TOTAL((double)INFINITY, -(double)INFINITY)));
    cr_assert(isnan(TOTAL((double)INFINITY, (double)NAN)));
    cr_assert(isnan(AVERAGE(1.0, (double)NAN)));
    cr_assert_eq(AVERAGE(1.0, -(double)INFINITY), -(double)INFINITY);
}

Test(float_sum, averages_round_once)
{
    cr_assert_eq(AVERAGE(DBL_MAX, DBL_MAX), DBL_MAX);
    cr_assert_eq(AVERAGE(1.0, 2.0, 2.0), 5.0 / 3.0);
    cr_assert_eq(AVERAGE(-1.0, 0.0, 0.0), -1.0 / 3.0);
    cr_assert_eq(AVERAGE(DBL_TRUE_MIN, 0.0), 0.0, "a tie goes to even");
    cr_assert_eq(AVERAGE(DBL_TRUE_MIN, 2 * DBL_TRUE_MIN), 2 * DBL_TRUE_MIN, "a tie goes to even");
    cr_assert_eq(AVERAGE(3 * DBL_TRUE_MIN, DBL_TRUE_MIN, DBL_TRUE_MIN), 2 * DBL_TRUE_MIN);
    cr_assert_not(signbit(AVERAGE(-DBL_TRUE_MIN, 0.0, 0.0)));
}

/* Against 113-bit arithmetic, which is exact for values of this spread. */
Test(float_sum, exact_where_values_are_near)
{
    uint64_t seed = 11;
    for (uint32_t round = 0; round < 300; round++) {
        double values[100];
        __float128 exact = 0;
        for (uint32_t i = 0; i < 100; i++) {
            const int exponent = (int)(next(&seed) % 30) + (int)(round % 50) * 20 - 500;
            values[i] = ldexp((double)(int64_t)next(&seed), exponent);
            exact += (__float128)values[i];
        }
        cr_assert_eq(total_of(values, 100), (double)exact, "round %u", round);
        cr_assert_eq(average_of(values, 100), (double)(exact / 100), "round %u", round);
    }
}

static double random_value(uint64_t *seed, uint32_t spread)
{
    uint64_t bits = next(seed);
    const uint64_t exponent = 1023 - spread / 2 + next(seed) % spread;
    double value;
    bits = (bits & UINT64_C(0x800fffffffffffff)) | exponent << 52;
    memcpy(&value, &bits, sizeof value);
    return value;
}

Test(float_sum, order_and_split_do_not_matter)
{
    static double values[VALUES];
    for (uint32_t spread = 1; spread <= 2000; spread = spread * 3 + 1) {
        uint64_t seed = spread;
        for (uint32_t i = 0; i < VALUES; i++) {
            values[i] = random_value(&seed, spread);
        }
        const struct float_sum once = sum_of(values, VALUES);
        const double total = float_sum_total(&once);
        const double average = float_sum_average(&once);
        for (uint32_t round = 0; round < 20; round++) {
            struct float_sum parts[9] = {{.count = 0}};
            for (uint32_t i = VALUES; i-- > 1;) {
                const uint32_t other = (uint32_t)(next(&seed) % (i + 1));
                const double kept = values[i];
                values[i] = values[other];
                values[other] = kept;
            }
            for (uint32_t i = 0; i < VALUES; i++) {
                float_sum_add(&parts[next(&seed) % 8], values[i]);
            }
            for (uint32_t p = 0; p < 8; p++) {
                float_sum_combine(&parts[8], &parts[(p + round) % 8]);
            }
            const double again = float_sum_total(&parts[8]);
            const double mean = float_sum_average(&parts[8]);
            cr_assert(memcmp(&total, &again, sizeof total) == 0, "spread %u: %a, %a", spread, total,
                      again);
            cr_assert(memcmp(&average, &mean, sizeof mean) == 0, "spread %u", spread);
        }
    }
}

/* A bin that has taken in more than 2^31 pieces. */
Test(float_sum, a_full_bin_counts_on)
{
    struct float_sum sum = {.count = 0};
    struct float_sum twice = {.count = 0};

    float_sum_add(&sum, 4294967295.0);
    for (uint32_t i = 0; i < 64; i++) { /* doubles each time: 2^64 additions and more */
        twice = sum;
        float_sum_combine(&sum, &twice);
        if (i < 62) {
            cr_assert_eq(float_sum_total(&sum), ldexp(4294967295.0, (int)i + 1), "%u", i);
        }
        if (i == 60) {
            break; /* the count itself has 64 bits */
        }
    }
    cr_assert_eq(float_sum_average(&sum), 4294967295.0);
}
