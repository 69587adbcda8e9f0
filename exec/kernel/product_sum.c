#include "kernel/product_sum.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

typedef unsigned __int128 two_words;

enum { BIN_BITS = 32, PRODUCT_BITS = 106, PIECES = 5 };

static void raise_window(struct product_sum *sum, int32_t bins)
{
    const int32_t up = sum->bins == 0 ? PRODUCT_SUM_BINS : bins - sum->bins;

    for (int32_t bin = 0; bin < PRODUCT_SUM_BINS; bin++) {
        const bool kept = bin + up < PRODUCT_SUM_BINS;
        sum->low[bin] = kept ? sum->low[bin + up] : 0;
        sum->high[bin] = kept ? sum->high[bin + up] : 0;
    }
    sum->bins = bins;
}

static void add_bin(struct product_sum *sum, int32_t bin, int64_t piece)
{
    int64_t total;

    if (__builtin_add_overflow(sum->low[bin], piece, &total)) {
        sum->high[bin] += piece < 0 ? -1 : 1;
    }
    sum->low[bin] = total;
}

/* value = +-digits * 2^(place - 1074) */
static uint64_t digits_of(double value, int32_t *place_out, bool *negative)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t exponent = (uint32_t)(bits >> 52) & 0x7ff;

    *negative = bits >> 63 != 0;
    *place_out = (int32_t)exponent - (exponent != 0);
    return (bits & ((UINT64_C(1) << 52) - 1)) | (uint64_t)(exponent != 0) << 52;
}

void product_sum_add(struct product_sum *sum, double x, double y)
{
    bool x_negative;
    bool y_negative;
    int32_t x_place;
    int32_t y_place;
    const two_words digits =
        (two_words)digits_of(x, &x_place, &x_negative) * digits_of(y, &y_place, &y_negative);

    if (digits == 0) {
        return;
    }
    /* The window goes by the places alone: a property of the product, not of what came before. */
    const int32_t place = x_place + y_place;
    const int32_t bins = (place + PRODUCT_BITS - 1) / BIN_BITS + 1;
    if (bins > sum->bins) {
        raise_window(sum, bins);
    }
    const uint32_t shift = (uint32_t)place % BIN_BITS;
    const two_words wide = digits << shift;
    const uint64_t above = shift == 0 ? 0 : (uint64_t)(digits >> (128 - shift));
    const int32_t bin = place / BIN_BITS - (sum->bins - PRODUCT_SUM_BINS);
    for (int32_t k = 0; k < PIECES; k++) {
        const uint64_t part = k == PIECES - 1 ? above : (uint64_t)(wide >> (BIN_BITS * k));
        const int64_t piece = (int64_t)(part & UINT32_MAX);
        if (bin + k >= 0 && piece != 0) {
            add_bin(sum, bin + k, x_negative != y_negative ? -piece : piece);
        }
    }
}

void product_sum_open(struct product_sum *sum, int32_t exponent)
{
    sum->bins = (exponent - PRODUCT_SUM_EXPONENT_MIN) / BIN_BITS + PRODUCT_SUM_BINS;
}

void product_sum_place(struct product_sum *sum, __int128 value, int32_t exponent)
{
    const int32_t place = exponent - PRODUCT_SUM_EXPONENT_MIN;
    const uint32_t shift = (uint32_t)place % BIN_BITS;
    int32_t bin = place / BIN_BITS - (sum->bins - PRODUCT_SUM_BINS);

    assert(bin >= 0 && bin < PRODUCT_SUM_BINS - 1);
    /* The first piece fills a bin up, the rest is the whole bins' above it. */
    add_bin(sum, bin++, (int64_t)((uint64_t)value << shift & UINT32_MAX));
    value >>= BIN_BITS - shift;
    for (; bin < PRODUCT_SUM_BINS - 1; bin++) {
        add_bin(sum, bin, (int64_t)((uint64_t)value & UINT32_MAX));
        value >>= BIN_BITS;
    }
    const int64_t low = (int64_t)value;
    sum->high[bin] += (int32_t)((value - low) >> 64);
    add_bin(sum, bin, low);
}

void product_sum_combine(struct product_sum *into, const struct product_sum *from)
{
    if (from->bins == 0) {
        return;
    }
    if (from->bins > into->bins) {
        raise_window(into, from->bins);
    }
    const int32_t down = into->bins - from->bins;
    for (int32_t bin = down; bin < PRODUCT_SUM_BINS; bin++) {
        add_bin(into, bin - down, from->low[bin]);
        into->high[bin - down] += from->high[bin];
    }
}
