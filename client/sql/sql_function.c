#include "exec/exec.h"
#include "sql_aggregate.h"
#include "sql_node.h"

#include <string.h>

/* Function calls: names of PostgreSQL and DuckDB to those of the engine. */

static const char *engine_name(const char *name)
{
    static const struct {
        const char *sql, *function;
    } names[] = {
        {"btrim", "trim"},
        {"ceiling", "ceil"},
        {"pow", "power"},
        {"log", "log10"},
        {"char_length", "length"},
        {"character_length", "length"},
        {"substr", "substring"},
        {"mod", "modulo"},
        {"strpos", "position"},
        {"instr", "position"},
        {"prefix", "starts_with"},
        {"suffix", "ends_with"},
        {"regexp_like", "regexp_matches"},
        {"datediff", "date_diff"},
        {"datetrunc", "date_trunc"},
        {"weekofyear", "week"},
        {"isoyear", "iso_year"},
        {"dayofmonth", "day"},
        {"dayofyear", "day_of_year"},
        {"isodow", "day_of_week"},
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i].sql, name) == 0) {
            return names[i].function;
        }
    }
    return name;
}

/* ---- extract */

static uint32_t weekday_from_sunday(struct sql_lowering *lowering, uint32_t time, long location)
{
    return sql_call2(lowering, "modulo", sql_call1(lowering, "day_of_week", time, location),
                     sql_int(lowering, 7), location);
}

/* extract(epoch from a - b) is the difference of their epochs; false: not of that form. */
static bool epoch_of_difference(struct sql_lowering *lowering, json_t *node, long location,
                                uint32_t *expr_out)
{
    json_t *body = json_object_get(node, "A_Expr");
    const char *op = sql_string(json_array_get(json_object_get(body, "name"), 0));
    json_t *left = json_object_get(body, "lexpr"), *right = json_object_get(body, "rexpr");

    if (op == NULL || strcmp(op, "-") != 0 || left == NULL || sql_is_interval(right)) {
        return false;
    }
    const uint32_t first = sql_call1(lowering, "epoch", sql_lower_expr(lowering, left), location);
    const uint32_t second =
        first == 0 ? 0 : sql_call1(lowering, "epoch", sql_lower_expr(lowering, right), location);
    *expr_out = sql_call2(lowering, "subtract", first, second, location);
    return true;
}

/* extract(year from t) is year(t). */
static uint32_t lower_extract(struct sql_lowering *lowering, json_t *args, long location)
{
    static const struct {
        const char *field, *function;
    } fields[] = {
        {"year", "year"},
        {"quarter", "quarter"},
        {"month", "month"},
        {"week", "week"},
        {"isoyear", "iso_year"},
        {"day", "day"},
        {"isodow", "day_of_week"},
        {"doy", "day_of_year"},
        {"dayofyear", "day_of_year"},
        {"hour", "hour"},
        {"minute", "minute"},
        {"second", "second"},
        {"milliseconds", "millisecond"},
        {"millisecond", "millisecond"},
        {"microseconds", "microsecond"},
        {"microsecond", "microsecond"},
        {"epoch", "epoch"},
    };
    json_t *constant = json_object_get(json_array_get(args, 0), "A_Const");
    const char *field =
        json_string_value(json_object_get(json_object_get(constant, "sval"), "sval"));
    json_t *from = json_array_get(args, 1);
    uint32_t expr = 0;

    if (field != NULL && (strcmp(field, "dow") == 0 || strcmp(field, "dayofweek") == 0)) {
        return weekday_from_sunday(lowering, sql_lower_expr(lowering, from), location);
    }
    if (field != NULL && strcmp(field, "epoch") == 0 &&
        epoch_of_difference(lowering, from, location, &expr)) {
        return expr;
    }
    for (size_t i = 0; field != NULL && i < sizeof fields / sizeof fields[0]; i++) {
        if (strcmp(fields[i].field, field) == 0) {
            return sql_call1(lowering, fields[i].function, sql_lower_expr(lowering, from),
                             location);
        }
    }
    return sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
                      "extract(%.40s) is not implemented yet", field == NULL ? "?" : field);
}

/* ---- calls */

static bool is_function(const char *name)
{
    struct exec_function_info info;

    for (uint32_t i = 0; exec_function_info(i, &info); i++) {
        if (strcmp(info.name, name) == 0) {
            return true;
        }
    }
    return false;
}

static uint32_t lower_call(struct sql_lowering *lowering, const char *name, json_t *args,
                           long location)
{
    const char *function = engine_name(name);

    if (strcmp(name, "extract") == 0 || strcmp(name, "date_part") == 0) {
        return lower_extract(lowering, args, location);
    }
    if (strcmp(name, "dayofweek") == 0 && json_array_size(args) == 1) {
        return weekday_from_sunday(lowering, sql_lower_expr(lowering, json_array_get(args, 0)),
                                   location);
    }
    if (!is_function(function)) {
        return sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
                          "unknown function %.60s(); 'morsel help functions' lists them", name);
    }
    return sql_call_list(lowering, function, args, location);
}

uint32_t sql_lower_function(struct sql_lowering *lowering, json_t *body, long location)
{
    json_t *names = json_object_get(body, "funcname");
    const char *name = sql_string(json_array_get(names, json_array_size(names) - 1));

    if (name == NULL) {
        return sql_refuse(lowering, location, EXEC_INTERNAL, "the parse tree has no name here");
    }
    if (json_object_get(body, "over") != NULL) {
        return sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
                          "window functions are for 'morsel sql' only");
    }
    if (sql_is_aggregate(name)) {
        return sql_lower_aggregate(lowering, name, body, location);
    }
    if (json_array_size(names) > 1 &&
        strcmp(sql_string(json_array_get(names, 0)), "pg_catalog") != 0) {
        return sql_refuse(lowering, location, EXEC_BAD_SPEC, "functions have no schema here");
    }
    if (json_object_get(body, "agg_filter") != NULL || json_object_get(body, "agg_order") != NULL ||
        json_is_true(json_object_get(body, "func_variadic")) ||
        json_is_true(json_object_get(body, "agg_star")) ||
        json_is_true(json_object_get(body, "agg_distinct"))) {
        return sql_refuse(lowering, location, EXEC_BAD_SPEC, "'%.60s' is not an aggregate", name);
    }
    return lower_call(lowering, name, json_object_get(body, "args"), location);
}
