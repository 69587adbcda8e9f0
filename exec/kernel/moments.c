#include "kernel/moments.h"

#include "kernel/big_magnitude.h"

#include <math.h>
#include <string.h>

/* Numbers in two's complement, 32 bits a digit, lowest first, over the whole range of products of
 * doubles: digit BASE has weight 2^-2148. Below are the empty bins of low windows, above room for
 * counts. */
enum {
    BASE = 8,
    DIGITS = 160,
    SUM_DIGITS = 8,
    TOP_DIGITS = 12, /* of a numerator: 384 bits, of which divisions leave 224 */
};

/* Adds value * 2^(32 at) to `count` digits. */
static void add_at(uint32_t *digits, int32_t count, int32_t at, __int128 value)
{
    uint64_t carry = 0;

    for (int32_t d = at; d < count; d++) {
        const uint64_t total = (uint64_t)digits[d] + (uint32_t)value + carry;
        digits[d] = (uint32_t)total;
        carry = total >> 32;
        value >>= 32;
        if ((value == 0 && carry == 0) || (value == -1 && carry == 1)) {
            break; /* nothing changes any more */
        }
    }
}

static void negate(uint32_t *digits, int32_t count)
{
    uint64_t carry = 1;

    for (int32_t d = 0; d < count; d++) {
        const uint64_t total = (uint64_t)(uint32_t)~digits[d] + carry;
        digits[d] = (uint32_t)total;
        carry = total >> 32;
    }
}

static bool is_negative(const uint32_t *digits, int32_t count)
{
    return digits[count - 1] >> 31 != 0;
}

static __int128 bin_value(int32_t high, int64_t low)
{
    return (__int128)high * ((__int128)1 << 64) + low;
}

/* A sum as sign and magnitude. */
static bool sum_digits(const struct float_sum *sum, uint32_t *digits)
{
    memset(digits, 0, SUM_DIGITS * sizeof *digits);
    for (int32_t bin = 0; bin < FLOAT_SUM_BINS; bin++) {
        add_at(digits, SUM_DIGITS, bin, bin_value(sum->high[bin], sum->low[bin]));
    }
    if (!is_negative(digits, SUM_DIGITS)) {
        return false;
    }
    negate(digits, SUM_DIGITS);
    return true;
}

static void add_products(uint32_t *digits, const struct product_sum *sum, uint64_t count)
{
    const int32_t first = BASE + sum->bins - PRODUCT_SUM_BINS;

    for (int32_t bin = 0; sum->bins != 0 && bin < PRODUCT_SUM_BINS; bin++) {
        const __int128 value = bin_value(sum->high[bin], sum->low[bin]);
        /* 96 bits by two halves of the count: each product fits. */
        for (int32_t half = 0; half < 2; half++) {
            const __int128 factor = (uint32_t)(count >> (32 * half));
            const __int128 low = (__int128)(uint64_t)(value & INT64_MAX) * factor;
            const __int128 high = (value >> 63) * factor;
            add_at(digits, DIGITS, first + bin + half, low);
            /* 2^63: one bit below a digit's end. */
            add_at(digits, DIGITS, first + bin + half + 1, high * ((__int128)1 << 31));
        }
    }
}

/* digits -= a * b */
static void subtract_product(uint32_t *digits, const struct float_sum *a, const struct float_sum *b)
{
    uint32_t left[SUM_DIGITS];
    uint32_t right[SUM_DIGITS];
    const bool negative = sum_digits(a, left) != sum_digits(b, right);
    const int32_t first = BASE + a->bins - FLOAT_SUM_BINS + b->bins - FLOAT_SUM_BINS;

    for (int32_t i = 0; i < SUM_DIGITS; i++) {
        for (int32_t k = 0; k < SUM_DIGITS && left[i] != 0; k++) {
            const __int128 part = (__int128)((uint64_t)left[i] * right[k]);
            if (part != 0) {
                add_at(digits, DIGITS, first + i + k, negative ? part : -part);
            }
        }
    }
}

/* |n * sum(xy) - sum(x) * sum(y)|; returns whether it is negative. */
static bool numerator(const struct float_sum *x, const struct float_sum *y,
                      const struct product_sum *xy, struct big_magnitude *big)
{
    uint32_t digits[DIGITS] = {0};
    int32_t top = DIGITS - 1;

    add_products(digits, xy, x->count);
    subtract_product(digits, x, y);
    const bool negative = is_negative(digits, DIGITS);
    if (negative) {
        negate(digits, DIGITS);
    }
    while (top > TOP_DIGITS && digits[top] == 0) {
        top--;
    }
    const int32_t first = top - TOP_DIGITS + 1;
    *big = (struct big_magnitude){.exponent = (first - BASE) * FLOAT_SUM_BIN_BITS +
                                              PRODUCT_SUM_EXPONENT_MIN};
    for (int32_t d = 0; d < TOP_DIGITS; d++) {
        big->words[d / 2] |= (uint64_t)digits[first + d] << (d % 2 * 32);
    }
    for (int32_t d = 0; d < first; d++) {
        big->sticky = big->sticky || digits[d] != 0;
    }
    return negative;
}

double moments_covariance(const struct float_sum *x, const struct float_sum *y,
                          const struct product_sum *xy, uint32_t less)
{
    struct big_magnitude big;

    if ((x->flags | y->flags) != 0) {
        return (double)NAN;
    }
    const bool negative = numerator(x, y, xy, &big);
    big_magnitude_divide(&big, x->count);
    big_magnitude_divide(&big, x->count - less);
    const double value = big_magnitude_double(&big);
    return negative && value != 0 ? -value : value;
}

double moments_variance(const struct agg_moments *moments, uint32_t less)
{
    const double value = moments_covariance(&moments->sum, &moments->sum, &moments->squares, less);
    return value < 0 ? 0 : value;
}

/* A numerator as a double of about 1 and a power of two, so that products of them stay in range. */
static double scaled_numerator(const struct float_sum *x, const struct float_sum *y,
                               const struct product_sum *xy, int32_t *exponent_out)
{
    struct big_magnitude big;
    int exponent;
    const bool negative = numerator(x, y, xy, &big);
    const int32_t scale = 32 * TOP_DIGITS;

    *exponent_out = big.exponent + scale;
    big.exponent = -scale;
    const double value = frexp(big_magnitude_double(&big), &exponent);
    *exponent_out += exponent;
    return negative ? -value : value;
}

bool moments_correlation(const struct agg_correlation *state, double *out)
{
    int32_t xx_exponent;
    int32_t yy_exponent;
    int32_t xy_exponent;

    if ((state->x.flags | state->y.flags) != 0) {
        *out = (double)NAN;
        return true;
    }
    const double xx = scaled_numerator(&state->x, &state->x, &state->xx, &xx_exponent);
    const double yy = scaled_numerator(&state->y, &state->y, &state->yy, &yy_exponent);
    const double xy = scaled_numerator(&state->x, &state->y, &state->xy, &xy_exponent);
    if (xx <= 0 || yy <= 0) {
        return false;
    }
    /* An odd power of two stays under the root. */
    const int32_t both = xx_exponent + yy_exponent;
    const int32_t odd = both & 1;
    const double root = sqrt(xx * yy * (odd != 0 ? 2 : 1));
    const double value = ldexp(xy / root, xy_exponent - (both - odd) / 2);
    *out = value > 1 ? 1 : value < -1 ? -1 : value;
    return true;
}
