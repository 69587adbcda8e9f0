#include "sql_node.h"

#include <string.h>

/* Comparisons of values, rows and times. */

static const struct {
    const char *sql, *function;
    const char *strict; /* of the columns before the last, when rows are compared by order */
} comparisons[] = {{"=", "eq", NULL},  {"<>", "ne", NULL}, {"<", "lt", "lt"},
                   {"<=", "le", "lt"}, {">", "gt", "gt"},  {">=", "ge", "gt"}};

const char *sql_comparison(const char *op)
{
    for (size_t i = 0; op != NULL && i < sizeof comparisons / sizeof comparisons[0]; i++) {
        if (strcmp(comparisons[i].sql, op) == 0) {
            return comparisons[i].function;
        }
    }
    return NULL;
}

static json_t *row_of(json_t *node)
{
    return json_object_get(json_object_get(node, "RowExpr"), "args");
}

static const char *strict_of(const char *function)
{
    for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++) {
        if (strcmp(comparisons[i].function, function) == 0) {
            return comparisons[i].strict;
        }
    }
    return NULL;
}

static uint32_t compare_at(struct sql_lowering *lowering, const char *function, json_t *left,
                           json_t *right, size_t i, long location)
{
    return sql_compare(lowering, function, json_array_get(left, i), json_array_get(right, i),
                       location);
}

/* (a, b) < (c, d) is a < c OR (a = c AND b < d). */
static uint32_t rows_by_order(struct sql_lowering *lowering, const char *function, json_t *left,
                              json_t *right, long location)
{
    size_t i = json_array_size(left) - 1;
    uint32_t rest = compare_at(lowering, function, left, right, i, location);

    while (rest != 0 && i-- > 0) {
        const uint32_t decided =
            compare_at(lowering, strict_of(function), left, right, i, location);
        const uint32_t equal = compare_at(lowering, "eq", left, right, i, location);
        rest = sql_call2(lowering, "or", decided, sql_call2(lowering, "and", equal, rest, location),
                         location);
    }
    return rest;
}

static uint32_t compare_rows(struct sql_lowering *lowering, const char *function, json_t *left,
                             json_t *right, long location)
{
    const size_t count = json_array_size(left);
    const bool all = strcmp(function, "ne") != 0 && strcmp(function, "is_distinct_from") != 0;
    uint32_t result = 0;

    if (left == NULL || right == NULL || count != json_array_size(right) || count == 0) {
        return sql_refuse(lowering, location, EXEC_BAD_SPEC,
                          "a row is compared with a row of as many values: %zu and %zu here", count,
                          json_array_size(right));
    }
    if (strict_of(function) != NULL) {
        return rows_by_order(lowering, function, left, right, location);
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t part = compare_at(lowering, function, left, right, i, location);
        result = i == 0 ? part : sql_call2(lowering, all ? "and" : "or", result, part, location);
        if (result == 0) {
            return 0;
        }
    }
    return result;
}

/* x of x - y, where both are times. */
static json_t *difference_of(json_t *node, json_t **subtrahend_out)
{
    json_t *body = json_object_get(node, "A_Expr");
    const char *op = sql_string(json_array_get(json_object_get(body, "name"), 0));

    *subtrahend_out = json_object_get(body, "rexpr");
    return op != NULL && strcmp(op, "-") == 0 && !sql_is_interval(*subtrahend_out)
               ? json_object_get(body, "lexpr")
               : NULL;
}

/* x - y op interval is x op y + interval. */
static uint32_t compare_difference(struct sql_lowering *lowering, const char *function,
                                   json_t *difference, json_t *interval, long location)
{
    json_t *subtrahend = NULL, *minuend = difference_of(difference, &subtrahend);

    if (minuend == NULL) {
        return sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
                          "an interval is only compared with a difference of two times");
    }
    const uint32_t left = sql_lower_expr(lowering, minuend);
    const uint32_t right = left == 0
                               ? 0
                               : sql_add_interval(lowering, sql_lower_expr(lowering, subtrahend),
                                                  interval, false, location);
    return sql_call2(lowering, function, left, right, location);
}

static const char *mirrored(const char *function)
{
    static const char *const pairs[][2] = {{"lt", "gt"}, {"le", "ge"}};

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        for (int side = 0; side < 2; side++) {
            if (strcmp(pairs[i][side], function) == 0) {
                return pairs[i][1 - side];
            }
        }
    }
    return function;
}

uint32_t sql_compared_once(struct sql_lowering *lowering, json_t *left)
{
    return row_of(left) != NULL ? 0 : sql_lower_expr(lowering, left);
}

uint32_t sql_compare_again(struct sql_lowering *lowering, const char *function, uint32_t once,
                           json_t *left, json_t *right, long location)
{
    if (lowering->err->code != EXEC_OK) {
        return 0;
    }
    if (row_of(left) != NULL || row_of(right) != NULL) {
        return compare_rows(lowering, function, row_of(left), row_of(right), location);
    }
    if (sql_is_interval(right)) {
        return compare_difference(lowering, function, left, right, location);
    }
    if (sql_is_interval(left)) {
        return compare_difference(lowering, mirrored(function), right, left, location);
    }
    const uint32_t first = once != 0 ? once : sql_lower_expr(lowering, left);
    const uint32_t second = first == 0 ? 0 : sql_lower_expr(lowering, right);
    return sql_call2(lowering, function, first, second, location);
}

uint32_t sql_compare(struct sql_lowering *lowering, const char *function, json_t *left,
                     json_t *right, long location)
{
    return sql_compare_again(lowering, function, 0, left, right, location);
}
