#ifndef EXEC_EXPR_COMPARE_H
#define EXEC_EXPR_COMPARE_H

#include "expr/expr_node.h"

/* Kernels of comparison; expr->variant says which. NaN equals itself and is above every number,
 * -0.0 equals 0.0. compare_same: both arguments have one storage. compare_mixed: an int64 or uint64
 * on the left, a float64 on the right, by value and exactly. compare_extreme: greatest (variant 1),
 * least. */
enum compare_op { COMPARE_EQ, COMPARE_NE, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE };

expr_kernel_fn compare_same, compare_mixed, compare_extreme;

#endif
