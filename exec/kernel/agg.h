#ifndef EXEC_KERNEL_AGG_H
#define EXEC_KERNEL_AGG_H

#include "exec/job_spec.h"
#include "kernel/float_sum.h"
#include "numa/arena.h"
#include "vec/vec.h"

/* Aggregate states and the loops over them. A state is plain data behind a group's row, at
 * rows[i] + offset, aligned to 16; all-zero bytes are the state of no rows. Kernels see present
 * values only and are told where each one goes; combining partial states in any order gives the
 * state of all their rows. Which kernel belongs to which function and storage is agg.def. */

struct agg_count {
    int64_t count;
};
struct agg_sum64 { /* of integers up to 32 bits: exact for 2^31 rows and more */
    int64_t sum, count;
};
struct agg_sum128 { /* of 64-bit integers and decimals: high * 2^128 + sum, exact */
    __int128 sum;
    int64_t high, count;
};
struct agg_text { /* bytes of a long view are in a buffer of `capacity` of the groups' arena */
    struct string_view view;
    uint32_t capacity;
    bool seen;
};

/* values[source[i]] goes to rows[i], i < count. A kernel of two arguments (COVAR_*, CORR) finds two
 * arrays: values is const double *const[2]. false: `strings` is out of memory. */
typedef bool agg_update_fn(const void *values, const uint16_t *source, uint32_t count,
                           unsigned char *const *rows, uint32_t offset, struct nu_arena *strings);

/* The state of from[i] joins that of into[i]; equal groups may repeat in into. */
typedef bool agg_combine_fn(unsigned char *const *into, unsigned char *const *from, uint32_t count,
                            uint32_t offset, struct nu_arena *strings);

/* Results of rows[0..count-1] into a flat column; sets the valid bits (zero before) of those that
 * are not null. `scale` is the argument's (decimals); APPROX_QUANTILE: its fraction in billionths.
 * Returns the first row whose result does not fit its type, `count` when all do. */
typedef uint32_t agg_finish_fn(unsigned char *const *rows, uint32_t count, uint32_t offset,
                               int32_t scale, void *out, uint64_t *valid);

struct agg_kernel {
    uint32_t state_bytes;
    agg_update_fn *update;
    agg_combine_fn *combine;
    agg_finish_fn *finish;
};

/* NULL: the function does not take values of this storage. COUNT_STAR and COUNT take any. */
const struct agg_kernel *agg_kernel(enum exec_aggregate_function function,
                                    enum vec_storage storage);

#endif
