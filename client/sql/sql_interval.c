#include "sql_node.h"

#include <stdlib.h>
#include <string.h>

/* Intervals have no type in the engine: they stand beside a date or a timestamp and become calls of
 * add_months, add_days and add_microseconds, in this order, as PostgreSQL adds them. */

struct interval {
    int64_t parts[3]; /* months, days, microseconds */
};

enum { MONTHS, DAYS, MICROS, PARTS };

static const int64_t second = 1000000;

static const struct interval_unit {
    const char *name;
    int part;
    int64_t count;
} units[] = {
    {"microsecond", MICROS, 1},
    {"us", MICROS, 1},
    {"millisecond", MICROS, 1000},
    {"ms", MICROS, 1000},
    {"second", MICROS, 1000000},
    {"sec", MICROS, 1000000},
    {"minute", MICROS, 60 * INT64_C(1000000)},
    {"min", MICROS, 60 * INT64_C(1000000)},
    {"hour", MICROS, 3600 * INT64_C(1000000)},
    {"day", DAYS, 1},
    {"week", DAYS, 7},
    {"month", MONTHS, 1},
    {"mon", MONTHS, 1},
    {"quarter", MONTHS, 3},
    {"year", MONTHS, 12},
    {"decade", MONTHS, 120},
    {"century", MONTHS, 1200},
};

/* The unit a word names, in singular or plural. */
static const struct interval_unit *unit_of(const char *word, size_t size)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        const size_t own = strlen(units[i].name);
        const bool plural = size == own + 1 && word[own] == 's';
        if ((size == own || plural) && strncmp(units[i].name, word, own) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

/* The unit of INTERVAL '2' HOUR: bits of PostgreSQL's interval type modifier. */
static const char *unit_of_typmod(int64_t typmod)
{
    switch (typmod) {
        case 1 << 1: return "month";
        case 1 << 2: return "year";
        case 1 << 3: return "day";
        case 1 << 10: return "hour";
        case 1 << 11: return "minute";
        case 1 << 12: return "second";
        default: return "";
    }
}

/* The json of an INTERVAL constant; NULL: no such node. */
static json_t *interval_cast(json_t *node)
{
    json_t *cast = json_object_get(node, "TypeCast");
    json_t *names = json_object_get(json_object_get(cast, "typeName"), "names");
    const char *name = sql_string(json_array_get(names, json_array_size(names) - 1));

    return name != NULL && strcmp(name, "interval") == 0 ? cast : NULL;
}

static const char *arithmetic_of(json_t *node, json_t **left_out, json_t **right_out)
{
    json_t *body = json_object_get(node, "A_Expr");
    const char *kind = json_string_value(json_object_get(body, "kind"));

    *left_out = json_object_get(body, "lexpr");
    *right_out = json_object_get(body, "rexpr");
    return kind == NULL || strcmp(kind, "AEXPR_OP") != 0
               ? NULL
               : sql_string(json_array_get(json_object_get(body, "name"), 0));
}

bool sql_is_interval(json_t *node)
{
    json_t *left = NULL, *right = NULL;
    const char *op = arithmetic_of(node, &left, &right);

    if (op == NULL) {
        return interval_cast(node) != NULL;
    }
    if (strcmp(op, "*") == 0) {
        return sql_is_interval(left) || sql_is_interval(right);
    }
    return (strcmp(op, "+") == 0 || strcmp(op, "-") == 0) &&
           (left == NULL || sql_is_interval(left)) && sql_is_interval(right);
}

/* ---- constants */

/* "04:05", "04:05:06.7": hours, minutes, seconds. Its end, or NULL. */
static const char *clock_time(const char *at, int64_t *micros_out)
{
    char *end = NULL;
    const bool negative = *at == '-';
    const long hours = strtol(at + negative, &end, 10);

    if (*end != ':' || hours > 1000000) {
        return NULL;
    }
    const long minutes = strtol(end + 1, &end, 10);
    const double seconds = *end == ':' ? strtod(end + 1, &end) : 0;
    const int64_t micros =
        (hours * 3600 + minutes * 60) * second + (int64_t)(seconds * (double)second + 0.5);
    *micros_out = negative ? -micros : micros;
    return minutes < 0 || minutes > 59 || !(seconds >= 0 && seconds < 60) ? NULL : end;
}

/* A count of units; a fraction only of those that microseconds divide. */
static bool add_count(struct interval *interval, const char *number,
                      const struct interval_unit *unit)
{
    char *end = NULL;
    const int64_t whole = strtoll(number, &end, 10);

    if (*end != '.') {
        int64_t scaled = 0;
        return !__builtin_mul_overflow(whole, unit->count, &scaled) &&
               !__builtin_add_overflow(interval->parts[unit->part], scaled,
                                       &interval->parts[unit->part]);
    }
    const double scaled = strtod(number, NULL) * (double)unit->count;
    interval->parts[MICROS] += (int64_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
    return unit->part == MICROS && scaled > -1e15 && scaled < 1e15;
}

/* Behind "3 days" or "04:05:06"; NULL: no such text. */
static const char *add_field(struct interval *interval, const char *at, const char *own_unit)
{
    int64_t micros = 0;
    const char *end = clock_time(at, &micros);

    if (end != NULL) {
        interval->parts[MICROS] += micros;
        return end;
    }
    const char *number = at;
    at += *at == '-' || *at == '+';
    const size_t digits = strspn(at, "0123456789.");
    if (digits == 0) {
        return NULL;
    }
    at += digits;
    at += strspn(at, " ");
    const size_t size = strspn(at, "abcdefghijklmnopqrstuvwxyz");
    const struct interval_unit *unit =
        size == 0 ? unit_of(own_unit, strlen(own_unit)) : unit_of(at, size);
    return unit != NULL && add_count(interval, number, unit) ? at + size : NULL;
}

static bool read_constant(json_t *cast, struct interval *interval)
{
    json_t *value =
        json_object_get(json_object_get(json_object_get(cast, "arg"), "A_Const"), "sval");
    json_t *typmods = json_object_get(json_object_get(cast, "typeName"), "typmods");
    json_t *modifier =
        json_object_get(json_object_get(json_array_get(typmods, 0), "A_Const"), "ival");
    const char *own = unit_of_typmod(json_integer_value(json_object_get(modifier, "ival")));
    const char *at = json_string_value(json_object_get(value, "sval"));
    bool any = false;

    *interval = (struct interval){0};
    while (at != NULL && *(at += strspn(at, " ")) != '\0') {
        at = add_field(interval, at, own);
        any = at != NULL;
    }
    return any;
}

/* ---- beside a date or timestamp */

/* base + constant * times (0: once). */
static uint32_t add_constant(struct sql_lowering *lowering, uint32_t base, json_t *node,
                             uint32_t times, bool negated, long location)
{
    static const char *const functions[PARTS] = {"add_months", "add_days", "add_microseconds"};
    struct interval interval;

    if (!read_constant(interval_cast(node), &interval)) {
        return sql_refuse(lowering, sql_node_location(node), EXEC_BAD_SPEC,
                          "not an interval: write '1 year 2 months 3 days 04:05:06', '90 minutes'");
    }
    bool any = false;
    for (int part = 0; part < PARTS; part++) {
        const int64_t count = negated ? -interval.parts[part] : interval.parts[part];
        if (count == 0 && (any || part != DAYS || interval.parts[MICROS] != 0)) {
            continue;
        }
        const uint32_t one = sql_int(lowering, count);
        const uint32_t all =
            times == 0 ? one : sql_call2(lowering, "multiply", times, one, location);
        base = sql_call2(lowering, functions[part], base, all, location);
        any = true;
    }
    return base;
}

/* base + product, of which one side is an interval. */
static uint32_t add_product(struct sql_lowering *lowering, uint32_t base, json_t *left,
                            json_t *right, bool negated, long location)
{
    json_t *interval = sql_is_interval(left) ? left : right;
    json_t *factor = interval == left ? right : left;

    if (interval_cast(interval) == NULL || sql_is_interval(factor)) {
        return sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
                          "a product of an interval other than INTERVAL '...' is not implemented "
                          "yet");
    }
    const uint32_t times = sql_lower_expr(lowering, factor);
    return times == 0 ? 0 : add_constant(lowering, base, interval, times, negated, location);
}

uint32_t sql_add_interval(struct sql_lowering *lowering, uint32_t base, json_t *interval,
                          bool negated, long location)
{
    json_t *left = NULL, *right = NULL;
    const char *op = arithmetic_of(interval, &left, &right);

    if (base == 0) {
        return 0;
    }
    if (op == NULL) {
        return add_constant(lowering, base, interval, 0, negated, location);
    }
    if (strcmp(op, "*") == 0) {
        return add_product(lowering, base, left, right, negated, location);
    }
    if (left != NULL) {
        base = sql_add_interval(lowering, base, left, negated, location);
    }
    return sql_add_interval(lowering, base, right, (op[0] == '-') != negated, location);
}
