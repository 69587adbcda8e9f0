#ifndef EXEC_OP_FILTER_H
#define EXEC_OP_FILTER_H

#include "expr/expr.h"
#include "op/pipe.h"

struct code_test;
struct job_context;

struct filter_predicate {
    struct expr *expr;
    struct code_test *test; /* the same by the codes of a text column; NULL: there is none */
};

/* Narrows the selection to rows where every predicate is true; they are evaluated in order, each on
 * the rows the earlier ones left. The array is borrowed. NULL: out of memory. */
struct operator* filter_create(struct job_context *job, uint32_t rel,
                               const struct filter_predicate *predicates, uint32_t predicate_count);

#endif
