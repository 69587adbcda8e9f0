#ifndef EXEC_KERNEL_PRODUCT_SUM_H
#define EXEC_KERNEL_PRODUCT_SUM_H

#include <stdint.h>

/* A sum of products of two doubles that does not depend on their order: float_sum.h's bins, over
 * exact products. A product's 106 bits are made in integers, so it neither rounds, nor overflows,
 * nor underflows: bin b holds the bits of weight 2^(32 b - 2148) to 2^(32 b + 31 - 2148).
 *
 * Six bins are kept: 160 bits at least below the first bit of the largest product. Where the
 * factors' exponents lie within 27 of each other every bit of every product is in the window, and
 * the sum is exact. Zero bytes are the empty sum. */
enum { PRODUCT_SUM_BINS = 6, PRODUCT_SUM_EXPONENT_MIN = -2148 };

struct product_sum {
    int64_t low[PRODUCT_SUM_BINS]; /* lowest bin first; a bin is high * 2^64 + low */
    int32_t high[PRODUCT_SUM_BINS];
    int32_t bins; /* top + 1; 0: no product but zeros so far */
    uint32_t unused;
};

/* x and y are finite. */
void product_sum_add(struct product_sum *sum, double x, double y);
/* As float_sum_open and float_sum_place; exponents up to 128 above the window's lowest. */
void product_sum_open(struct product_sum *sum, int32_t exponent);
void product_sum_place(struct product_sum *sum, __int128 value, int32_t exponent);
void product_sum_combine(struct product_sum *into, const struct product_sum *from);

#endif
