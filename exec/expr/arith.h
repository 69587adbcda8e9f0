#ifndef EXEC_EXPR_ARITH_H
#define EXEC_EXPR_ARITH_H

#include "expr/expr_node.h"

/* Kernels of arithmetic. expr->variant says which; arguments and result are of one type. */
enum arith_op { ARITH_ADD, ARITH_SUBTRACT, ARITH_MULTIPLY, ARITH_DIVIDE, ARITH_MODULO, ARITH_OPS };

expr_kernel_fn arith_binary;
expr_kernel_fn arith_negate, arith_abs;

/* Decimals of any scales, ARITH_DIVIDE only: rounds half away from zero to the scale of the result,
 * which is not less than either. */
expr_kernel_fn decimal_divide;

/* Decimals of any scales, ARITH_MULTIPLY only: rounds half away from zero to the scale of the
 * result, which is less than the sum of theirs. */
expr_kernel_fn decimal_multiply;

/* What went wrong with the arguments of one row: no counterpart, division by zero, overflow. */
enum exec_code arith_raise(const struct expr_call *call, uint32_t row, struct exec_error *err);

/* |value| < 10^38, what a decimal128 may hold. */
bool arith_decimal_fits(vec_decimal value);

#endif
