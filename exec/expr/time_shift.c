#include "expr/time_call.h"
#include "vec/civil_date.h"

enum { DAY_SECONDS = 86400, MICROSECONDS = 1000000 };

/* Months that no date is away from another: civil_to_days takes any year within +-10^12. */
static const int64_t months_max = INT64_C(1000000000000);

/* The last day of the month where the day does not exist, as in PostgreSQL. */
static bool shift_days_by_months(int64_t days, int64_t months, int64_t *out)
{
    const struct civil_date date = civil_of_days(days);

    if (months < -months_max || months > months_max) {
        return false;
    }
    const int64_t month = date.year * 12 + (int64_t)date.month - 1 + months;
    const int64_t year = civil_floor_div(month, 12);
    const uint32_t of_year = (uint32_t)(month - year * 12) + 1;
    const uint32_t last = civil_month_days(year, of_year);
    *out = civil_to_days(year, of_year, date.day < last ? date.day : last);
    return true;
}

bool time_shift(enum time_shift unit, int64_t ticks, int64_t count, int64_t per_day, int64_t *out)
{
    int64_t day = 0, by = 0;

    switch (unit) {
        case SHIFT_MONTHS:
            return shift_days_by_months(civil_floor_div(ticks, per_day), count, &day) &&
                   !__builtin_mul_overflow(day, per_day, &day) &&
                   !__builtin_add_overflow(day, civil_floor_mod(ticks, per_day), out);
        case SHIFT_DAYS:
            return !__builtin_mul_overflow(count, per_day, &by) &&
                   !__builtin_add_overflow(ticks, by, out);
        default:
            return !__builtin_mul_overflow(count, per_day / DAY_SECONDS / MICROSECONDS, &by) &&
                   !__builtin_add_overflow(ticks, by, out);
    }
}

enum exec_code time_shift_overflow(const struct expr_call *call, uint32_t row, int64_t count,
                                   struct exec_error *err)
{
    char text[EXPR_VALUE_TEXT_BYTES], type[EXEC_TYPE_TEXT_BYTES];

    return EXEC_FAIL(err, EXEC_OVERFLOW, "%s: %lld from %s does not fit %s",
                     expr_function_name(call->expr->function), (long long)count,
                     expr_arg_text(call, 0, row, text), exec_type_text(&call->expr->type, type));
}

enum exec_code time_shift_call(struct expr_call *call, struct exec_error *err)
{
    const int64_t per_day = time_day_ticks(&call->expr->type);
    const enum time_shift unit = call->expr->variant;
    const struct vec *counts = &call->args[1];

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        int64_t ticks;
        if (!expr_call_present(call, row)) {
            continue;
        }
        const int64_t count = ((const int64_t *)counts->data)[expr_arg_row(counts, row)];
        if (!time_shift(unit, time_load(&call->args[0], row), count, per_day, &ticks) ||
            !time_store(call, row, ticks)) {
            return time_shift_overflow(call, row, count, err);
        }
    }
    return EXEC_OK;
}
