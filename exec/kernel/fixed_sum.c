#include "kernel/fixed_sum.h"

#include <math.h>
#include <stdbool.h>

/* The conversion rounds to nearest, the scaling is exact. */
double fixed_sum_total(__int128 value, int32_t exponent)
{
    return ldexp((double)value, exponent);
}

static int32_t leading_zeros(unsigned __int128 value)
{
    const uint64_t high = (uint64_t)(value >> 64);

    return high != 0 ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)value);
}

/* The dividend fills 128 bits, so the quotient has 64 at least; what the division leaves over is
 * kept as its last bit, far below the 53 a double keeps, so that the conversion rounds as it would
 * the exact quotient. */
double fixed_sum_average(__int128 value, uint64_t count, int32_t exponent)
{
    const bool negative = value < 0;
    unsigned __int128 dividend = negative ? -(unsigned __int128)value : (unsigned __int128)value;

    if (dividend == 0) {
        return 0;
    }
    const int32_t shift = leading_zeros(dividend);
    dividend <<= shift;
    unsigned __int128 quotient = dividend / count;
    quotient |= dividend - quotient * count != 0;
    const double average = ldexp((double)quotient, exponent - shift);
    return negative ? -average : average;
}
