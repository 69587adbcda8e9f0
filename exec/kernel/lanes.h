#ifndef EXEC_KERNEL_LANES_H
#define EXEC_KERNEL_LANES_H

#include "vec/vec.h"

/* Sums of many groups side by side. A group is a row of 1, 2, 4 or 8 lanes, 64-bit integers; each
 * input row adds a number to every lane of its group. The numbers of a block of rows are made
 * column by column (lanes_add_values and friends), then one loop adds them to the groups, a row of
 * lanes at a time. Integers wrap and commute, so neither the order nor the split matters.
 *
 * All arrays are dense, without gaps; values under nulls are the caller's affair. Built for several
 * instruction sets from one body (lanes.tmpl.h); the variant without any is the oracle. */

enum { LANES_MAX = 8, LANES_BLOCK_ROWS = 512 };

/* lane[i] += (values[i] - bias) << shift */
typedef void lanes_value_fn(const void *values, uint32_t count, int64_t bias, uint32_t shift,
                            int64_t *lane);
/* out[i] = values[i] - bias */
typedef void lanes_widen_fn(const void *values, uint32_t count, int64_t bias, int64_t *out);
/* slot[i] += (values[i] - least) * stride */
typedef void lanes_slot_fn(const void *values, uint32_t count, int64_t least, uint32_t stride,
                           uint32_t *slot);
/* state[slot[i] >> slot_shift] = the smaller, or the larger, of it and values[i]; floats: without
 * NaN. */
typedef void lanes_extreme_fn(const void *values, uint32_t count, const uint32_t *slot,
                              uint32_t slot_shift, void *state);
/* A float as integer multiples of two units: value = high * 2^h + low * 2^l, added to two lanes.
 * `unit` is 1.5 * 2^(52 + h): added to a value it leaves the nearest multiple of 2^h in the last
 * bits. The rest is at most half of that; low_unit likewise; 0: there is no rest. */
typedef void lanes_float_fn(const void *values, uint32_t count, double unit, double low_unit,
                            int64_t *high, int64_t *low);
/* state[slot[i] + l] += lanes[l][i] for the first 1, 2, 4, 8 lanes. */
typedef void lanes_add_fn(int64_t *state, const uint32_t *slot, const int64_t *const *lanes,
                          uint32_t count);

struct lane_kernels {
    const char *name;
    lanes_value_fn *value[VEC_STORAGE_COUNT];                             /* integers */
    lanes_widen_fn *widen[VEC_STORAGE_COUNT];                             /* likewise */
    lanes_slot_fn *slot[VEC_STORAGE_COUNT];                               /* likewise */
    lanes_extreme_fn *least[VEC_STORAGE_COUNT], *most[VEC_STORAGE_COUNT]; /* floats too */
    lanes_float_fn *split[VEC_STORAGE_COUNT];                             /* floats */
    /* Every lane[i] = number. */
    void (*fill)(int64_t *lane, uint32_t count, int64_t number);
    /* lane[i] += x[i] * y[i] << shift */
    void (*product)(const int64_t *x, const int64_t *y, uint32_t count, uint32_t shift,
                    int64_t *lane);
    lanes_add_fn *add[LANES_MAX + 1]; /* by lanes: 1, 2, 4, 8 */
};

/* The best this machine can run; constant. */
const struct lane_kernels *lane_kernels(void);

/* All that were built and that this machine can run, the scalar ones first; NULL behind the last.
 */
const struct lane_kernels *lane_kernels_variant(uint32_t index);

#endif
