#ifndef EXEC_EXPR_TIME_CALL_H
#define EXEC_EXPR_TIME_CALL_H

#include "expr/expr_node.h"

/* Parts and starts of dates and timestamps, and the way from one to another. expr->variant says
 * which part; time_call_trunc and time_call_diff ignore args[0], its name. */
enum time_part {
    TIME_YEAR,
    TIME_QUARTER,
    TIME_MONTH,
    TIME_WEEK,
    TIME_DAY,
    TIME_HOUR,
    TIME_MINUTE,
    TIME_SECOND,
    TIME_MILLISECOND,
    TIME_MICROSECOND,
    TIME_TRUNCATED_COUNT, /* those above are units of date_trunc and date_diff */
    TIME_DAY_OF_WEEK = TIME_TRUNCATED_COUNT,
    TIME_DAY_OF_YEAR,
    TIME_ISO_YEAR,
};

expr_kernel_fn time_call_part, time_call_trunc, time_call_epoch;

/* Both arguments behind the name are of one type. */
expr_kernel_fn time_call_diff;

/* args[1], int64, of a unit added to args[0], of the type of the result. */
enum time_shift { SHIFT_MONTHS, SHIFT_DAYS, SHIFT_MICROSECONDS };
expr_kernel_fn time_shift_call;

/* What the kernels share: a value as ticks, ticks in a day (1 for dates), and back; time_store:
 * false: the type does not hold it. */
int64_t time_load(const struct vec *vec, uint32_t row);
int64_t time_day_ticks(const struct exec_type *type);
bool time_store(const struct expr_call *call, uint32_t row, int64_t ticks);

/* The first day of the year, quarter, month or week that has a day; the day itself for others. */
int64_t time_first_day(enum time_part part, int64_t days);
/* False: the result does not fit. */
bool time_shift(enum time_shift unit, int64_t ticks, int64_t count, int64_t per_day, int64_t *out);
/* EXEC_OVERFLOW in the words of the functions that shift. */
enum exec_code time_shift_overflow(const struct expr_call *call, uint32_t row, int64_t count,
                                   struct exec_error *err);

#endif
