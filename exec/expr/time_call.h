#ifndef EXEC_EXPR_TIME_CALL_H
#define EXEC_EXPR_TIME_CALL_H

#include "expr/expr_node.h"

/* Parts and starts of dates and timestamps; expr->variant says which. time_call_trunc ignores
 * args[0], the name of the part. */
enum time_part {
    TIME_YEAR,
    TIME_QUARTER,
    TIME_MONTH,
    TIME_WEEK,
    TIME_DAY,
    TIME_HOUR,
    TIME_MINUTE,
    TIME_SECOND,
    TIME_DAY_OF_WEEK,
    TIME_DAY_OF_YEAR,
};

expr_kernel_fn time_call_part, time_call_trunc;

#endif
