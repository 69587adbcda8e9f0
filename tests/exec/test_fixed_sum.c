/* Goal:   totals and averages of fixed-point sums are the doubles that float_sum makes of the same
 *         sums, bit by bit.
 * Method: random sums of all sizes and signs, ties among them, next to float_sum. */
#include "kernel/fixed_sum.h"
#include "kernel/float_sum.h"

#include <criterion/criterion.h>
#include <string.h>

static uint64_t next(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void check(__int128 value, uint64_t count, int32_t exponent)
{
    struct float_sum sum = {.count = count};

    float_sum_open(&sum, exponent);
    float_sum_place(&sum, value, exponent);
    cr_assert_eq(bits_of(fixed_sum_total(value, exponent)), bits_of(float_sum_total(&sum)));
    cr_assert_eq(bits_of(fixed_sum_average(value, count, exponent)),
                 bits_of(float_sum_average(&sum)));
}

Test(fixed_sum, as_float_sum)
{
    uint64_t seed = 8;

    check(0, 1, 0);
    for (uint32_t i = 0; i < 200000; i++) {
        const unsigned __int128 raw = (unsigned __int128)next(&seed) << 64 | next(&seed);
        const __int128 value = (__int128)(raw >> (next(&seed) % 127 + 1));
        const uint64_t count = (next(&seed) >> (next(&seed) % 63 + 1)) + 1;
        const int32_t exponent = (int32_t)(next(&seed) % 1700) - 900;
        check(next(&seed) % 2 == 0 ? value : -value, count, exponent);
    }
}

/* Halfway between two doubles, and a last bit beside it. */
Test(fixed_sum, ties)
{
    for (int32_t beside = -1; beside <= 1; beside++) {
        for (uint32_t odd = 0; odd < 2; odd++) {
            const __int128 value = (((__int128)1 << 53 | odd << 1 | 1) << 40) + beside;
            check(value, 1, -20);
            check(value * 3, 3, -20);
            check(-value * 1001, 1001, -20);
        }
    }
}
