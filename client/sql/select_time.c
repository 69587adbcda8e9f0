/* Dates and intervals that stand in the text. */
#include "select_query.h"

#include <stdio.h>
#include <stdlib.h>

struct interval {
    int64_t months, days;
};

bool select_is_interval(json_t *node)
{
    json_t *cast = tree_body(node, "TypeCast");
    json_t *names = json_object_get(json_object_get(cast, "typeName"), "names");
    const char *name = tree_string(json_array_get(names, json_array_size(names) - 1));

    return name != NULL && strcmp(name, "interval") == 0;
}

/* Field bits of PostgreSQL's interval type modifier. */
static const char *field_of_typmod(int64_t typmod)
{
    switch (typmod) {
        case 1 << 1: return "month";
        case 1 << 2: return "year";
        case 1 << 3: return "day";
        default: return "";
    }
}

static bool add_field(struct interval *interval, int64_t count, const char *unit)
{
    static const struct {
        const char *unit;
        int64_t months, days;
    } units[] = {{"day", 0, 1},   {"days", 0, 1},   {"week", 0, 7}, {"weeks", 0, 7},
                 {"month", 1, 0}, {"months", 1, 0}, {"mon", 1, 0},  {"mons", 1, 0},
                 {"year", 12, 0}, {"years", 12, 0}};

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(units[i].unit, unit) == 0) {
            interval->months += count * units[i].months;
            interval->days += count * units[i].days;
            return true;
        }
    }
    return false;
}

/* "3", "1 year 2 months" and a unit from the type. False: something finer than days. */
static bool parse_interval(json_t *node, struct interval *interval)
{
    json_t *cast = tree_body(node, "TypeCast");
    json_t *value =
        json_object_get(json_object_get(json_object_get(cast, "arg"), "A_Const"), "sval");
    json_t *typmods = json_object_get(json_object_get(cast, "typeName"), "typmods");
    json_t *modifier =
        json_object_get(json_object_get(json_array_get(typmods, 0), "A_Const"), "ival");
    const char *at = json_string_value(json_object_get(value, "sval"));
    const char *own = field_of_typmod(json_integer_value(json_object_get(modifier, "ival")));
    char unit[16];
    bool any = false;

    *interval = (struct interval){0};
    while (at != NULL && *at != '\0') {
        int used = 0;
        char *end = NULL;
        const int64_t count = strtoll(at, &end, 10);
        if (end == at || count > 1000000 || count < -1000000) {
            return false;
        }
        at = end + strspn(end, " ");
        if (sscanf(at, "%15[a-z]%n", unit, &used) != 1) {
            snprintf(unit, sizeof unit, "%s", own);
        }
        at += used;
        at += strspn(at, " ");
        if (!add_field(interval, count, unit)) {
            return false;
        }
        any = true;
    }
    return any;
}

/* Days from 1970-01-01, proleptic Gregorian (the usual shift of the year to March). */
static int64_t days_of(int64_t year, int month, int day)
{
    year -= month <= 2;
    const int64_t era = (year >= 0 ? year : year - 399) / 400;
    const int64_t of_era = year - era * 400;
    const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void civil_of(int64_t days, int64_t *year_out, int *month_out, int *day_out)
{
    days += 719468;
    const int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    const int64_t of_era = days - era * 146097;
    const int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    const int64_t shifted = (5 * of_year + 2) / 153;

    *day_out = (int)(of_year - (153 * shifted + 2) / 5 + 1);
    *month_out = (int)(shifted < 10 ? shifted + 3 : shifted - 9);
    *year_out = year + era * 400 + (*month_out <= 2);
}

static int days_in_month(int64_t year, int month)
{
    const int64_t next = month == 12 ? days_of(year + 1, 1, 1) : days_of(year, month + 1, 1);
    return (int)(next - days_of(year, month, 1));
}

/* The last day of the month where the day does not exist, as in PostgreSQL. */
static int64_t shift_date(int64_t date, const struct interval *interval, int sign)
{
    int64_t year = 0;
    int month = 0, day = 0;

    civil_of(date, &year, &month, &day);
    const int64_t months = year * 12 + (month - 1) + sign * interval->months;
    year = months >= 0 ? months / 12 : (months - 11) / 12;
    month = (int)(months - year * 12) + 1;
    const int last = days_in_month(year, month);
    return days_of(year, month, day < last ? day : last) + sign * interval->days;
}

/* date '2020-01-31' */
static bool constant_date(json_t *node, int64_t *days_out)
{
    json_t *cast = tree_body(node, "TypeCast");
    json_t *names = json_object_get(json_object_get(cast, "typeName"), "names");
    const char *type = tree_string(json_array_get(names, json_array_size(names) - 1));
    json_t *constant = json_object_get(json_object_get(cast, "arg"), "A_Const");
    const char *text =
        json_string_value(json_object_get(json_object_get(constant, "sval"), "sval"));
    int year = 0, month = 0, day = 0, used = 0;

    if (type == NULL || text == NULL ||
        (strcmp(type, "date") != 0 && strcmp(type, "date32") != 0) ||
        sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &used) != 3 || text[used] != '\0' ||
        month < 1 || month > 12 || day < 1 || day > days_in_month(year, month)) {
        return false;
    }
    *days_out = days_of(year, month, day);
    return true;
}

static uint32_t date_literal(struct select_query *query, int64_t days, long location)
{
    const struct plan_origin origin = sql_origin(&query->lowering, location);
    const struct exec_literal literal = {.type = {.kind = EXEC_TYPE_DATE32}, .value.i64 = days};

    return builder_literal(query->run->plan, &literal, &origin);
}

bool select_interval(struct select_query *query, json_t *node, uint32_t *expr_out)
{
    json_t *left = NULL, *right = NULL;
    const char *op = tree_operator(node, &left, &right);
    const long location = sql_node_location(node);
    struct interval interval;
    int64_t date = 0;

    if (op == NULL || (op[0] != '+' && op[0] != '-') || op[1] != '\0') {
        return false;
    }
    if (op[0] == '+' && select_is_interval(left)) {
        json_t *swap = left;
        left = right;
        right = swap;
    }
    if (!select_is_interval(right)) {
        return false;
    }
    *expr_out = 0;
    if (!parse_interval(right, &interval)) {
        sql_refuse(&query->lowering, sql_node_location(right), EXEC_NOT_IMPLEMENTED,
                   "intervals finer than a day are not implemented yet");
        return true;
    }
    const int sign = op[0] == '-' ? -1 : 1;
    if (constant_date(left, &date)) {
        *expr_out = date_literal(query, shift_date(date, &interval, sign), location);
        return true;
    }
    const uint32_t from = select_expr(query, left);
    if (from == 0) {
        return true;
    }
    const struct exec_expr *lowered = &query->run->plan->exprs[from - 1];
    if (lowered->kind == EXEC_EXPR_LITERAL && lowered->u.literal.type.kind == EXEC_TYPE_DATE32) {
        *expr_out = date_literal(query, shift_date(lowered->u.literal.value.i64, &interval, sign),
                                 location);
        return true;
    }
    if (interval.months != 0) {
        sql_refuse(&query->lowering, location, EXEC_NOT_IMPLEMENTED,
                   "months and years added to anything but a date constant are not implemented "
                   "yet");
        return true;
    }
    const struct exec_literal days = {.type = {.kind = EXEC_TYPE_INT64},
                                      .value.i64 = sign * interval.days};
    const struct plan_origin origin = sql_origin(&query->lowering, location);
    const uint32_t args[] = {from, builder_literal(query->run->plan, &days, NULL)};
    *expr_out = builder_call(query->run->plan, "add", args, 2, &origin);
    return true;
}
