#ifndef EXEC_EXPR_REAL_MATH_H
#define EXEC_EXPR_REAL_MATH_H

#include "expr/arith.h"
#include "expr/expr_node.h"

/* expr->variant says which. */
enum math_op {
    MATH_FLOOR,
    MATH_CEIL,
    MATH_ROUND,
    MATH_TRUNC,
    MATH_SQRT,
    MATH_LN,
    MATH_LOG10,
    MATH_LOG2,
    MATH_EXP,
    MATH_POWER,
};

/* Functions of one or two float64. */
expr_kernel_fn real_math_call;

/* rounding.c: numbers to expr->digits digits behind the point, of their own type (decimals may have
 * grown by a digit); the sign of a number as int8. */
expr_kernel_fn rounding_call, rounding_sign;

#endif
