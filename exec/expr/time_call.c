#include "expr/time_call.h"
#include "vec/civil_date.h"

enum { DAY_SECONDS = 86400, MICROSECONDS = 1000000 };

int64_t time_load(const struct vec *vec, uint32_t row)
{
    return vec->kind == EXEC_TYPE_DATE32 ? ((const int32_t *)vec->data)[expr_arg_row(vec, row)]
                                         : ((const int64_t *)vec->data)[expr_arg_row(vec, row)];
}

int64_t time_day_ticks(const struct exec_type *type)
{
    return type->kind == EXEC_TYPE_DATE32 ? 1 : civil_unit_ticks(type->unit) * DAY_SECONDS;
}

bool time_store(const struct expr_call *call, uint32_t row, int64_t ticks)
{
    if (call->expr->type.kind != EXEC_TYPE_DATE32) {
        ((int64_t *)call->out)[row] = ticks;
        return true;
    }
    ((int32_t *)call->out)[row] = (int32_t)ticks;
    return ticks >= INT32_MIN && ticks <= INT32_MAX;
}

/* ---- parts */

/* The Thursday of the week of a day (day 0 was one): its year is the year that has the week. */
static int64_t thursday_of(int64_t days)
{
    return civil_floor_div(days + 3, 7) * 7;
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
        case TIME_ISO_YEAR: return civil_of_days(thursday_of(days)).year;
        case TIME_WEEK: return (part_of_days(TIME_DAY_OF_YEAR, thursday_of(days)) - 1) / 7 + 1;
        default: return days - thursday_of(days) + 4; /* of the week */
    }
}

/* Of the day: ticks since midnight, so many a second. */
static int64_t part_of_day(enum time_part part, int64_t ticks, int64_t per_second)
{
    const int64_t seconds = ticks / per_second;

    switch (part) {
        case TIME_HOUR: return seconds / 3600;
        case TIME_MINUTE: return seconds / 60 % 60;
        case TIME_SECOND: return seconds % 60;
        default: break;
    }
    const int64_t fraction = ticks % per_second;
    const int64_t micros = seconds % 60 * MICROSECONDS +
                           (per_second > MICROSECONDS ? fraction / (per_second / MICROSECONDS)
                                                      : fraction * (MICROSECONDS / per_second));
    return part == TIME_MILLISECOND ? micros / 1000 : micros;
}

static bool is_of_day(enum time_part part)
{
    return part >= TIME_HOUR && part < TIME_TRUNCATED_COUNT;
}

enum exec_code time_call_part(struct expr_call *call, struct exec_error *err)
{
    const int64_t per_day = time_day_ticks(&call->expr->args[0]->type);
    const int64_t per_second = per_day == 1 ? 1 : per_day / DAY_SECONDS;
    const enum time_part part = call->expr->variant;
    int64_t *out = call->out;

    (void)err;
    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        if (!expr_call_present(call, row)) {
            continue;
        }
        const int64_t ticks = time_load(&call->args[0], row);
        out[row] = is_of_day(part) ? part_of_day(part, civil_floor_mod(ticks, per_day), per_second)
                                   : part_of_days(part, civil_floor_div(ticks, per_day));
    }
    return EXEC_OK;
}

enum exec_code time_call_epoch(struct expr_call *call, struct exec_error *err)
{
    const int64_t per_day = time_day_ticks(&call->expr->args[0]->type);
    double *out = call->out;

    (void)err;
    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        if (!expr_call_present(call, row)) {
            continue;
        }
        const int64_t ticks = time_load(&call->args[0], row);
        out[row] = per_day == 1 ? (double)ticks * DAY_SECONDS
                                : (double)ticks / (double)(per_day / DAY_SECONDS);
    }
    return EXEC_OK;
}

/* ---- starts of parts */

int64_t time_first_day(enum time_part part, int64_t days)
{
    const struct civil_date date = civil_of_days(days);

    switch (part) {
        case TIME_YEAR: return civil_to_days(date.year, 1, 1);
        case TIME_QUARTER: return civil_to_days(date.year, (date.month - 1) / 3 * 3 + 1, 1);
        case TIME_MONTH: return civil_to_days(date.year, date.month, 1);
        case TIME_WEEK: return thursday_of(days) - 3;
        default: return days;
    }
}

/* Ticks of a part of the day; at least one. */
static int64_t step_of(enum time_part part, int64_t per_second)
{
    switch (part) {
        case TIME_HOUR: return 3600 * per_second;
        case TIME_MINUTE: return 60 * per_second;
        case TIME_SECOND: return per_second;
        case TIME_MILLISECOND: return per_second > 1000 ? per_second / 1000 : 1;
        default: return per_second > MICROSECONDS ? per_second / MICROSECONDS : 1;
    }
}

enum exec_code time_call_trunc(struct expr_call *call, struct exec_error *err)
{
    const struct exec_type *type = &call->expr->type;
    const enum time_part part = call->expr->variant;
    const int64_t per_day = time_day_ticks(type);
    const bool is_date = type->kind == EXEC_TYPE_DATE32;

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        int64_t ticks;
        bool fits;
        if (!expr_call_present(call, row)) {
            continue;
        }
        ticks = time_load(&call->args[1], row);
        if (is_of_day(part) && !is_date) {
            const int64_t step = step_of(part, per_day / DAY_SECONDS);
            fits = !__builtin_mul_overflow(civil_floor_div(ticks, step), step, &ticks);
        } else {
            fits = !__builtin_mul_overflow(time_first_day(part, civil_floor_div(ticks, per_day)),
                                           per_day, &ticks);
        }
        if (!time_store(call, row, ticks) || !fits) {
            char text[EXPR_VALUE_TEXT_BYTES];
            return EXEC_FAIL(err, EXEC_OVERFLOW, "date_trunc: %s begins before the first instant",
                             expr_arg_text(call, 1, row, text));
        }
    }
    return EXEC_OK;
}

/* ---- parts between two */

/* How many such parts have begun since some fixed time; false: more than int64 counts. */
static bool count_of(enum time_part part, int64_t ticks, int64_t per_day, int64_t *out)
{
    const int64_t per_second = per_day == 1 ? 1 : per_day / DAY_SECONDS;
    const int64_t days = civil_floor_div(ticks, per_day);
    const struct civil_date date = civil_of_days(days);

    switch (part) {
        case TIME_YEAR: *out = date.year; return true;
        case TIME_QUARTER: *out = date.year * 4 + (date.month - 1) / 3; return true;
        case TIME_MONTH: *out = date.year * 12 + date.month - 1; return true;
        case TIME_WEEK: *out = civil_floor_div(days + 3, 7); return true;
        case TIME_DAY: *out = days; return true;
        default: break;
    }
    const int64_t seconds = per_day == 1 ? days * DAY_SECONDS : civil_floor_div(ticks, per_second);
    switch (part) {
        case TIME_HOUR: *out = civil_floor_div(seconds, 3600); return true;
        case TIME_MINUTE: *out = civil_floor_div(seconds, 60); return true;
        case TIME_SECOND: *out = seconds; return true;
        default: break;
    }
    const int64_t wanted = part == TIME_MILLISECOND ? 1000 : MICROSECONDS;
    if (per_day == 1) {
        return !__builtin_mul_overflow(seconds, wanted, out);
    }
    *out = civil_floor_div(ticks, step_of(part, per_second));
    return per_second >= wanted || !__builtin_mul_overflow(ticks, wanted / per_second, out);
}

enum exec_code time_call_diff(struct expr_call *call, struct exec_error *err)
{
    const int64_t per_day = time_day_ticks(&call->expr->args[1]->type);
    const enum time_part part = call->expr->variant;
    int64_t *out = call->out;

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        int64_t from, to;
        if (!expr_call_present(call, row)) {
            continue;
        }
        if (!count_of(part, time_load(&call->args[1], row), per_day, &from) ||
            !count_of(part, time_load(&call->args[2], row), per_day, &to) ||
            __builtin_sub_overflow(to, from, &out[row])) {
            char from_text[EXPR_VALUE_TEXT_BYTES], to_text[EXPR_VALUE_TEXT_BYTES];
            return EXEC_FAIL(err, EXEC_OVERFLOW, "date_diff: %s to %s does not fit int64",
                             expr_arg_text(call, 1, row, from_text),
                             expr_arg_text(call, 2, row, to_text));
        }
    }
    return EXEC_OK;
}
