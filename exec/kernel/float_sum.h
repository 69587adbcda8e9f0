#ifndef EXEC_KERNEL_FLOAT_SUM_H
#define EXEC_KERNEL_FLOAT_SUM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A sum of doubles that depends on the values alone, not on their order, on how they were dealt out
 * to workers, or on how partial sums were combined. In the line of Demmel and Nguyen ("Parallel
 * Reproducible Summation", 2015; ReproBLAS) and Neal ("Fast Exact Summation Using Small and Large
 * Superaccumulators", 2015).
 *
 * The number line is cut once and for all into bins of 32 bits: bin b holds the bits of weight
 * 2^(32 b - 1074) to 2^(32 b + 31 - 1074). A double's 53 bits lie in two or three neighbouring bins
 * and are split there, exactly, into integers below 2^32. The state keeps the four highest bins
 * that any value so far has reached (the window: 97 bits at least below the first bit of the
 * largest value) and one integer sum for each.
 *
 * Why the order does not matter: at the end the window is [top - 3, top], where top is the highest
 * bin of the largest value, a property of the set. While values came, the window only moved up. A
 * piece in a bin of the final window was inside every earlier window that reached up to it (a
 * window [t - 3, t] with t <= top contains every bin >= top - 3 that is <= t, and a value has no
 * piece above its own highest bin, which is <= t once the value is in). So each final bin's sum is
 * the sum of that bin's pieces over all values, in integers, which commute; pieces below top - 3
 * are never in it: dropped on arrival or when the window moved. Bins are not carried into one
 * another before the end, since a carry out of a bin that is dropped later would stay behind.
 *
 * Wide enough: a sum of 2^31 pieces fits 64 bits; beyond that the signed overflow is counted in
 * `high`, so a bin holds high * 2^64 + low exactly for 2^62 additions. NaN and the infinities are
 * flags. Zero bytes are the empty sum. One cache line. */
enum { FLOAT_SUM_BINS = 4, FLOAT_SUM_BIN_BITS = 32, FLOAT_SUM_EXPONENT_MIN = -1074 };

enum { FLOAT_SUM_NAN = 1, FLOAT_SUM_PLUS = 2, FLOAT_SUM_MINUS = 4 }; /* flags */

struct float_sum {
    int64_t low[FLOAT_SUM_BINS]; /* lowest bin first */
    int32_t high[FLOAT_SUM_BINS];
    uint64_t count;
    int16_t bins; /* top + 1; 0: no value but zeros so far */
    uint16_t flags;
    uint32_t unused;
};

static inline void float_sum_add_bin(struct float_sum *sum, int32_t bin, int64_t piece)
{
    int64_t total;

    if (__builtin_add_overflow(sum->low[bin], piece, &total)) {
        sum->high[bin] += piece < 0 ? -1 : 1;
    }
    sum->low[bin] = total;
}

/* Moves the window up to `bins`. */
void float_sum_raise(struct float_sum *sum, int32_t bins);
void float_sum_add_special(struct float_sum *sum, double value);

static inline void float_sum_add(struct float_sum *sum, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t exponent = (uint32_t)(bits >> 52) & 0x7ff;
    uint64_t digits = bits & ((UINT64_C(1) << 52) - 1);

    sum->count++;
    if (exponent == 0x7ff) {
        float_sum_add_special(sum, value);
        return;
    }
    if ((bits << 1) == 0) {
        return;
    }
    digits |= (uint64_t)(exponent != 0) << 52;
    const int32_t place = (int32_t)exponent - (exponent != 0); /* of the last digit, from 2^-1074 */
    const int32_t bins = (place + 52) / FLOAT_SUM_BIN_BITS + 1;
    if (bins > sum->bins) {
        float_sum_raise(sum, bins);
    }
    const uint32_t shift = (uint32_t)place % FLOAT_SUM_BIN_BITS;
    const uint64_t wide = digits << shift;
    const uint64_t above = shift > 11 ? digits >> (64 - shift) : 0; /* 53 bits moved past 64 */
    const int64_t sign = -(int64_t)(bits >> 63);
    const int32_t bin = place / FLOAT_SUM_BIN_BITS - (sum->bins - FLOAT_SUM_BINS);
    /* (x ^ sign) - sign is x or -x. The second piece is never above the window: 52 bits up is a bin
     * up at least. */
    if (bin >= 0) {
        float_sum_add_bin(sum, bin, ((int64_t)(wide & UINT32_MAX) ^ sign) - sign);
    }
    if (bin >= -1) {
        float_sum_add_bin(sum, bin + 1, ((int64_t)(wide >> 32) ^ sign) - sign);
    }
    if (bin >= -2 && above != 0) {
        float_sum_add_bin(sum, bin + 2, ((int64_t)above ^ sign) - sign);
    }
}

/* For sums made elsewhere in integers. An empty sum's window is laid so that its lowest bin holds
 * weight 2^exponent, whatever comes; then value * 2^exponent is added exactly, for exponents from
 * there to 64 above. Such a sum is exact: it takes no further values and is not combined. Neither
 * counts.
 */
void float_sum_open(struct float_sum *sum, int32_t exponent);
void float_sum_place(struct float_sum *sum, __int128 value, int32_t exponent);

void float_sum_combine(struct float_sum *into, const struct float_sum *from);

/* Rounded once, to nearest. The average is the sum's bins over the count, also rounded once: it
 * exists where the sum overflows. Of no rows: 0. */
double float_sum_total(const struct float_sum *sum);
double float_sum_average(const struct float_sum *sum);

#endif
