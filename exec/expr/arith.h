#ifndef EXEC_EXPR_ARITH_H
#define EXEC_EXPR_ARITH_H

#include "expr/expr_node.h"

/* Kernels of arithmetic. expr->variant says which; arguments and result are of one type. */
enum arith_op { ARITH_ADD, ARITH_SUBTRACT, ARITH_MULTIPLY, ARITH_DIVIDE, ARITH_MODULO, ARITH_OPS };

expr_kernel_fn arith_binary;
expr_kernel_fn arith_negate, arith_abs;

bool arith_has(enum arith_op op, enum exec_type_kind kind);

/* |value| < 10^38, what a decimal128 may hold. */
bool arith_decimal_fits(vec_decimal value);

#endif
