#include "kernel/float_sum.h"

#include "kernel/big_magnitude.h"

#include <assert.h>
#include <math.h>

void float_sum_raise(struct float_sum *sum, int32_t bins)
{
    const int32_t up = sum->bins == 0 ? FLOAT_SUM_BINS : bins - sum->bins;

    for (int32_t bin = 0; bin < FLOAT_SUM_BINS; bin++) {
        const bool kept = bin + up < FLOAT_SUM_BINS;
        sum->low[bin] = kept ? sum->low[bin + up] : 0;
        sum->high[bin] = kept ? sum->high[bin + up] : 0;
    }
    sum->bins = (int16_t)bins;
}

void float_sum_add_special(struct float_sum *sum, double value)
{
    sum->flags |= isnan(value) ? FLOAT_SUM_NAN : value > 0 ? FLOAT_SUM_PLUS : FLOAT_SUM_MINUS;
}

void float_sum_open(struct float_sum *sum, int32_t exponent)
{
    const int32_t lowest = (exponent - FLOAT_SUM_EXPONENT_MIN) / FLOAT_SUM_BIN_BITS;
    sum->bins = (int16_t)(lowest + FLOAT_SUM_BINS);
}

void float_sum_place(struct float_sum *sum, __int128 value, int32_t exponent)
{
    const int32_t place = exponent - FLOAT_SUM_EXPONENT_MIN;
    const uint32_t shift = (uint32_t)place % FLOAT_SUM_BIN_BITS;
    int32_t bin = place / FLOAT_SUM_BIN_BITS - (sum->bins - FLOAT_SUM_BINS);

    assert(bin >= 0 && bin < FLOAT_SUM_BINS - 1);
    /* The first piece fills a bin up, the rest is the whole bins' above it. */
    float_sum_add_bin(sum, bin++, (int64_t)((uint64_t)value << shift & UINT32_MAX));
    value >>= FLOAT_SUM_BIN_BITS - shift;
    for (; bin < FLOAT_SUM_BINS - 1; bin++) {
        float_sum_add_bin(sum, bin, (int64_t)((uint64_t)value & UINT32_MAX));
        value >>= FLOAT_SUM_BIN_BITS;
    }
    const int64_t low = (int64_t)value;
    sum->high[bin] += (int32_t)((value - low) >> 64);
    float_sum_add_bin(sum, bin, low);
}

void float_sum_combine(struct float_sum *into, const struct float_sum *from)
{
    into->count += from->count;
    into->flags |= from->flags;
    if (from->bins == 0) {
        return;
    }
    if (from->bins > into->bins) {
        float_sum_raise(into, from->bins);
    }
    const int32_t down = into->bins - from->bins;
    for (int32_t bin = down; bin < FLOAT_SUM_BINS; bin++) {
        float_sum_add_bin(into, bin - down, from->low[bin]);
        into->high[bin - down] += from->high[bin];
    }
}

/* Adds value * 2^(32 bin) to a two's complement number. */
static void add_at(uint64_t *words, int32_t bin, __int128 value)
{
    const uint64_t fill = value < 0 ? UINT64_MAX : 0;
    const unsigned __int128 shifted = (unsigned __int128)value << (bin % 2 * 32);
    unsigned carry = 0;

    for (int32_t w = bin / 2; w < BIG_WORDS; w++) {
        const int32_t at = w - bin / 2;
        const uint64_t word = at < 2 ? (uint64_t)(shifted >> (64 * at)) : fill;
        const unsigned __int128 total = (unsigned __int128)words[w] + word + carry;
        words[w] = (uint64_t)total;
        carry = (unsigned)(total >> 64);
    }
}

/* Returns whether the sum is negative. */
static bool magnitude(const struct float_sum *sum, struct big_magnitude *big)
{
    *big = (struct big_magnitude){.exponent = (sum->bins - FLOAT_SUM_BINS) * FLOAT_SUM_BIN_BITS +
                                              FLOAT_SUM_EXPONENT_MIN};
    for (int32_t bin = 0; bin < FLOAT_SUM_BINS; bin++) {
        add_at(big->words, bin, ((__int128)sum->high[bin] * ((__int128)1 << 64)) + sum->low[bin]);
    }
    if (big->words[BIG_WORDS - 1] >> 63 == 0) {
        return false;
    }
    unsigned carry = 1;
    for (uint32_t w = 0; w < BIG_WORDS; w++) {
        const unsigned __int128 total = (unsigned __int128)~big->words[w] + carry;
        big->words[w] = (uint64_t)total;
        carry = (unsigned)(total >> 64);
    }
    return true;
}

static bool special(const struct float_sum *sum, double *value)
{
    const uint16_t infinities = sum->flags & (FLOAT_SUM_PLUS | FLOAT_SUM_MINUS);

    if ((sum->flags & FLOAT_SUM_NAN) != 0 || infinities == (FLOAT_SUM_PLUS | FLOAT_SUM_MINUS)) {
        *value = (double)NAN;
        return true;
    }
    *value = (infinities & FLOAT_SUM_MINUS) != 0 ? -HUGE_VAL : HUGE_VAL;
    return infinities != 0;
}

double float_sum_total(const struct float_sum *sum)
{
    struct big_magnitude big;
    double value;

    if (special(sum, &value)) {
        return value;
    }
    const bool negative = magnitude(sum, &big);
    value = big_magnitude_double(&big);
    return negative && value != 0 ? -value : value;
}

double float_sum_average(const struct float_sum *sum)
{
    struct big_magnitude big;
    double value;

    if (special(sum, &value) || sum->count == 0) {
        return sum->flags != 0 ? value : 0;
    }
    const bool negative = magnitude(sum, &big);
    big_magnitude_scale(&big, 2);
    big_magnitude_divide(&big, sum->count);
    value = big_magnitude_double(&big);
    return negative && value != 0 ? -value : value;
}
