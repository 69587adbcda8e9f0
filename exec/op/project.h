#ifndef EXEC_OP_PROJECT_H
#define EXEC_OP_PROJECT_H

#include "expr/expr.h"
#include "op/pipe.h"

struct job_context;

/* Output column i is exprs[i] over the input; rows and selection stay. The array is borrowed.
 * NULL: out of memory. */
struct operator* project_create(struct job_context *job, uint32_t rel, struct expr *const *exprs,
                                uint32_t expr_count);

#endif
