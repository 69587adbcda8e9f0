#include "expr/time_call.h"
#include "vec/civil_date.h"

enum { DAY_SECONDS = 86400 };

static int64_t load_ticks(const struct vec *vec, uint32_t row)
{
    return vec->kind == EXEC_TYPE_DATE32 ? ((const int32_t *)vec->data)[expr_arg_row(vec, row)]
                                         : ((const int64_t *)vec->data)[expr_arg_row(vec, row)];
}

static int64_t day_ticks(const struct exec_type *type)
{
    return type->kind == EXEC_TYPE_DATE32 ? 1 : civil_unit_ticks(type->unit) * DAY_SECONDS;
}

static int64_t part_of_days(enum time_part part, int64_t days)
{
    const struct civil_date date = civil_of_days(days);

    switch (part) {
        case TIME_YEAR: return date.year;
        case TIME_QUARTER: return (date.month + 2) / 3;
        case TIME_MONTH: return date.month;
        case TIME_DAY: return date.day;
        case TIME_DAY_OF_YEAR: return days - civil_to_days(date.year, 1, 1) + 1;
        default: return days - civil_floor_div(days + 3, 7) * 7 + 4; /* day 0 was a Thursday */
    }
}

enum exec_code time_call_part(struct expr_call *call, struct exec_error *err)
{
    const struct exec_type *type = &call->expr->args[0]->type;
    const enum time_part part = call->expr->variant;
    const int64_t per_day = day_ticks(type);
    int64_t *out = call->out;

    (void)err;
    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        int64_t ticks;
        if (!expr_call_present(call, row)) {
            continue;
        }
        ticks = load_ticks(&call->args[0], row);
        const int64_t days = civil_floor_div(ticks, per_day);
        const int64_t seconds =
            civil_floor_mod(ticks, per_day) / (per_day == 1 ? 1 : per_day / DAY_SECONDS);
        switch (part) {
            case TIME_HOUR: out[row] = seconds / 3600; break;
            case TIME_MINUTE: out[row] = seconds / 60 % 60; break;
            case TIME_SECOND: out[row] = seconds % 60; break;
            default: out[row] = part_of_days(part, days); break;
        }
    }
    return EXEC_OK;
}

static int64_t first_day(enum time_part part, int64_t days)
{
    const struct civil_date date = civil_of_days(days);

    switch (part) {
        case TIME_YEAR: return civil_to_days(date.year, 1, 1);
        case TIME_QUARTER: return civil_to_days(date.year, (date.month - 1) / 3 * 3 + 1, 1);
        case TIME_MONTH: return civil_to_days(date.year, date.month, 1);
        case TIME_WEEK: return civil_floor_div(days + 3, 7) * 7 - 3;
        default: return days;
    }
}

static int64_t seconds_of(enum time_part part)
{
    return part == TIME_HOUR ? 3600 : part == TIME_MINUTE ? 60 : 1;
}

enum exec_code time_call_trunc(struct expr_call *call, struct exec_error *err)
{
    const struct exec_type *type = &call->expr->type;
    const enum time_part part = call->expr->variant;
    const int64_t per_day = day_ticks(type);
    const bool is_date = type->kind == EXEC_TYPE_DATE32;

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        int64_t ticks;
        bool fits = true;
        if (!expr_call_present(call, row)) {
            continue;
        }
        ticks = load_ticks(&call->args[1], row);
        if (part >= TIME_HOUR && !is_date) {
            const int64_t step = per_day / DAY_SECONDS * seconds_of(part);
            fits = !__builtin_mul_overflow(civil_floor_div(ticks, step), step, &ticks);
        } else {
            fits = !__builtin_mul_overflow(first_day(part, civil_floor_div(ticks, per_day)),
                                           per_day, &ticks);
        }
        if (!fits || (is_date && ticks < INT32_MIN)) {
            char text[EXPR_VALUE_TEXT_BYTES];
            return EXEC_FAIL(err, EXEC_OVERFLOW, "date_trunc: %s begins before the first instant",
                             expr_arg_text(call, 1, row, text));
        }
        if (is_date) {
            ((int32_t *)call->out)[row] = (int32_t)ticks;
        } else {
            ((int64_t *)call->out)[row] = ticks;
        }
    }
    return EXEC_OK;
}
