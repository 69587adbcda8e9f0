#ifndef EXEC_OP_FILTER_H
#define EXEC_OP_FILTER_H

#include "expr/expr.h"
#include "op/pipe.h"

struct job_context;

/* Narrows the selection to rows where every predicate is true; they are evaluated in order, each on
 * the rows the earlier ones left. The array is borrowed. NULL: out of memory. */
struct operator* filter_create(struct job_context *job, uint32_t rel,
                               struct expr *const *predicates, uint32_t predicate_count);

#endif
