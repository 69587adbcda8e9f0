#ifndef EXEC_EXPR_CAST_H
#define EXEC_EXPR_CAST_H

#include "expr/expr_node.h"

/* A cast node around `arg`, folded when arg is a literal; the argument itself when the type is
 * equal already. EXEC_TYPE_MISMATCH, EXEC_BAD_ARGUMENT (no such zone), EXEC_MEMORY_BUDGET. */
enum exec_code cast_make(struct nu_arena *arena, struct expr *arg, const struct exec_type *to,
                         bool null_on_failure, uint32_t index, struct expr **expr_out,
                         struct exec_error *err);

/* Kernels. Numbers and bool among each other: float to integer rounds half to even, to a decimal
 * (and a decimal to a smaller scale) half away from zero; what does not fit fails. */
expr_kernel_fn cast_number;
expr_kernel_fn cast_time;               /* date32 and timestamps of any unit, by UTC; rounds down */
expr_kernel_fn cast_parse, cast_format; /* from and to utf8; prepared: the zone, or NULL */

/* What to do with a row that cannot be cast: null or an error. `malformed` is for texts. */
enum exec_code cast_refuse(struct expr_call *call, uint32_t row, bool malformed,
                           struct exec_error *err);

#endif
