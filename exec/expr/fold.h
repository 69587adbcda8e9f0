#ifndef EXEC_EXPR_FOLD_H
#define EXEC_EXPR_FOLD_H

#include "expr/expr_node.h"

/* A literal node of one value (copied, strings borrowed); value NULL: null. NULL: out of memory. */
struct expr *fold_literal(struct nu_arena *arena, const struct exec_type *type, const void *value,
                          uint32_t index);

/* Replaces *expr by its value when all its arguments are literals and evaluating it does not fail.
 * EXEC_OK or EXEC_MEMORY_BUDGET. */
enum exec_code fold_expr(struct nu_arena *arena, struct expr **expr, struct exec_error *err);

#endif
