#ifndef EXEC_OP_SCAN_GENERATOR_H
#define EXEC_OP_SCAN_GENERATOR_H

#include "exec/types.h"
#include "op/pipe.h"

/* Rows made from their number; the source of streaming tests and benchmarks. Row r of "sequence": i
 * int64 = r, v int64 = r % 1000, f float64 = r * 0.5, s utf8 = "s" followed by r % 100. "skewed"
 * adds k int64 in 1..1,000,000 whose frequency falls like 1/k (Zipf with exponent 1), from the
 * seed. */

struct job_context;

/* NULL: no such generator. */
const struct exec_schema *scan_generator_schema(const char *name);

/* columns: 0-based, in output order; borrowed. NULL: out of memory. */
struct op_source *scan_generator_create(struct job_context *job, uint32_t rel, uint64_t rows,
                                        uint64_t seed, const uint32_t *columns,
                                        uint32_t column_count);

#endif
