#ifndef EXEC_EXPR_REAL_MATH_H
#define EXEC_EXPR_REAL_MATH_H

#include "expr/expr_node.h"

/* real_math_round: floats and decimals to whole numbers of their type; real_math_call: functions of
 * one or two float64. expr->variant says which. */
enum math_op { MATH_FLOOR, MATH_CEIL, MATH_ROUND, MATH_SQRT, MATH_LN, MATH_EXP, MATH_POWER };

expr_kernel_fn real_math_round, real_math_call;

#endif
