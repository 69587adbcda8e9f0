#ifndef EXEC_KERNEL_AGG_SKETCH_H
#define EXEC_KERNEL_AGG_SKETCH_H

#include "kernel/agg.h"

/* Approximate aggregates whose states depend on the set (hll) or the multiset (quantiles) of values
 * alone: any order and any way of combining gives the same bytes of result. */

/* approx_count_distinct: HyperLogLog (Flajolet et al. 2007) of 4,096 registers, read with Ertl's
 * improved raw estimator ("New cardinality estimation algorithms for HyperLogLog sketches", 2017),
 * which needs no tables. Standard error 1.6 % (1.04 / sqrt(4096)). Up to 512 distinct hashes are
 * kept as they are, so such counts are exact but for collisions of 64 bits. 4 to 12 KiB a group
 * that has more. */
enum { HLL_INDEX_BITS = 12, HLL_REGISTERS = 1 << HLL_INDEX_BITS, HLL_SPARSE_MAX = 512 };

struct agg_hll {
    uint64_t *hashes;   /* open addressing, 0: empty; until there are too many */
    uint8_t *registers; /* then */
    uint32_t count, slot_bits;
};

/* approx_quantile: counts per bucket of the number line, as in DDSketch (Masson et al. 2019), with
 * buckets that end where a double's sign, exponent and first 7 bits change, so that no logarithm
 * decides. The answer is the middle of the bucket that holds the value of rank
 * fraction * (n - 1), rounded down: within 2^-8 (0.4 %) of it, relatively; infinities and NaN,
 * above all numbers, are buckets of their own. 16 bytes a bucket, 128 buckets a power of two at
 * most. */
struct sketch_bucket {
    uint64_t key, count;
};
struct agg_sketch {
    struct sketch_bucket *buckets; /* ascending */
    uint64_t total;
    uint32_t count, capacity;
};

agg_update_fn update_hll, update_sketch;
agg_combine_fn combine_hll, combine_sketch;
agg_finish_fn finish_hll, finish_sketch;

#endif
