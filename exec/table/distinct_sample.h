#ifndef EXEC_TABLE_DISTINCT_SAMPLE_H
#define EXEC_TABLE_DISTINCT_SAMPLE_H

#include "exec/types.h"

#include <stdbool.h>
#include <stdint.h>

/* How many different values an integer column has, within some 5 %: all hashes below 2^(64 - shift)
 * are kept, and the shift grows when there are too many of them; each stands for 2^shift values
 * (M. Wegman's adaptive sampling; P. Flajolet, "On adaptive sampling", Computing 43, 1990). Values
 * that occur more than once count once, and samples of parts make one of the whole. */
enum { DISTINCT_SLOTS = 1024, DISTINCT_KEPT_MAX = 640 };

struct distinct_sample { /* all zero: no values */
    uint32_t shift, count;
    uint64_t slots[DISTINCT_SLOTS]; /* by the hash's low bits; 0: empty */
};

/* Whether columns of the type are sampled: integers of 16 bits and more, dates, timestamps. */
bool distinct_sample_takes(enum exec_type_kind kind);

/* The values of rows [0, count), nulls left out (valid as in struct vec). */
void distinct_sample_add(struct distinct_sample *sample, enum exec_type_kind kind, const void *data,
                         const uint64_t *valid, uint32_t count);
void distinct_sample_merge(struct distinct_sample *into, const struct distinct_sample *from);
uint64_t distinct_sample_estimate(const struct distinct_sample *sample);

#endif
