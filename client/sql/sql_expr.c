#include "sql_expr.h"
#include "exec/exec.h"
#include "sql_node.h"
#include "sql_token.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 200 };

const char *sql_node_kind(json_t *node, json_t **body_out)
{
    void *first = json_object_iter(node);

    *body_out = first == NULL ? NULL : json_object_iter_value(first);
    return first == NULL ? "nothing" : json_object_iter_key(first);
}

long sql_node_location(json_t *node)
{
    json_t *body = NULL;

    sql_node_kind(node, &body);
    json_t *inner = json_object_get(body, "lexpr");
    inner = inner != NULL ? inner : json_object_get(body, "arg");
    inner = inner != NULL ? inner : json_array_get(json_object_get(body, "args"), 0);
    json_t *location = json_object_get(body, "location");
    const long own = (long)json_integer_value(location);
    if (inner != NULL) {
        const long first = sql_node_location(inner);
        return location != NULL && own >= 0 && own < first ? own : first;
    }
    return own < 0 ? 0 : own;
}

uint32_t sql_refuse(struct sql_lowering *lowering, long location, enum exec_code code,
                    const char *fmt, ...)
{
    char message[400];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    sql_fail_at(lowering->text, location, code, lowering->err, "%s", message);
    return 0;
}

struct plan_origin sql_origin(const struct sql_lowering *lowering, long location)
{
    struct plan_builder *plan = lowering->plan;

    return (struct plan_origin){
        .option = lowering->text->option,
        .text = builder_text(plan, lowering->text->text, strlen(lowering->text->text)),
        .offset = sql_offset(lowering->text, location),
    };
}

const char *sql_string(json_t *node)
{
    return json_string_value(json_object_get(json_object_get(node, "String"), "sval"));
}

bool sql_column_parts(json_t *column_ref, const char **qualifier_out, const char **name_out)
{
    json_t *fields = json_object_get(column_ref, "fields");
    const size_t count = json_array_size(fields);
    json_t *last = json_array_get(fields, count - 1);

    *qualifier_out = count == 2 ? sql_string(json_array_get(fields, 0)) : NULL;
    *name_out = sql_string(last);
    return count >= 1 && count <= 2 &&
           (*name_out != NULL || json_object_get(last, "A_Star") != NULL) &&
           (count == 1 || *qualifier_out != NULL);
}

static uint32_t lower_column(struct sql_lowering *lowering, json_t *body, long location)
{
    const char *qualifier = NULL, *name = NULL;
    const struct sql_name *found = NULL;
    char message[256];

    if (!sql_column_parts(body, &qualifier, &name) || name == NULL) {
        return sql_refuse(lowering, location, EXEC_BAD_SPEC, "a column name is expected here");
    }
    const enum exec_code code = sql_scope_find(lowering->scope, qualifier, name, &found, message);
    if (code != EXEC_OK) {
        return sql_refuse(lowering, location, code, "%s", message);
    }
    const struct plan_origin origin = sql_origin(lowering, location);
    if (found == NULL) {
        return builder_column_named(lowering->plan, name, &origin);
    }
    return found->column != 0 ? builder_column(lowering->plan, found->column, &origin)
                              : found->expr;
}

/* ---- calls */

uint32_t sql_call_many(struct sql_lowering *lowering, const char *function, const uint32_t *args,
                       uint32_t count, long location)
{
    const struct plan_origin origin = sql_origin(lowering, location);

    for (uint32_t i = 0; i < count; i++) {
        if (args[i] == 0) {
            return 0;
        }
    }
    return builder_call(lowering->plan, function, args, count, &origin);
}

uint32_t sql_call1(struct sql_lowering *lowering, const char *function, uint32_t arg, long location)
{
    return sql_call_many(lowering, function, &arg, 1, location);
}

uint32_t sql_call2(struct sql_lowering *lowering, const char *function, uint32_t left,
                   uint32_t right, long location)
{
    const uint32_t args[] = {left, right};

    return sql_call_many(lowering, function, args, 2, location);
}

uint32_t sql_call_list(struct sql_lowering *lowering, const char *function, json_t *list,
                       long location)
{
    const size_t count = json_array_size(list);
    uint32_t *args = builder_alloc(lowering->plan, (count + 1) * sizeof *args);
    json_t *item = NULL;
    size_t i;

    json_array_foreach(list, i, item)
    {
        args[i] = sql_lower_expr(lowering, item);
        if (args[i] == 0) {
            return 0;
        }
    }
    return sql_call_many(lowering, function, args, (uint32_t)count, location);
}

uint32_t sql_bool(struct sql_lowering *lowering, bool value)
{
    const struct exec_literal literal = {.type = {.kind = EXEC_TYPE_BOOL}, .value.boolean = value};

    return builder_literal(lowering->plan, &literal, NULL);
}

uint32_t sql_int(struct sql_lowering *lowering, int64_t value)
{
    const struct exec_literal literal = {.type = {.kind = EXEC_TYPE_INT64}, .value.i64 = value};

    return builder_literal(lowering->plan, &literal, NULL);
}

/* ---- constants and casts */

bool sql_is_null(json_t *node)
{
    return json_is_true(json_object_get(json_object_get(node, "A_Const"), "isnull"));
}

/* A bare NULL is a text: the engine gives it the type of what it stands beside. */
static uint32_t lower_constant(struct sql_lowering *lowering, json_t *body, long location)
{
    const struct plan_origin origin = sql_origin(lowering, location);
    struct exec_literal literal;

    if (!sql_lower_literal(lowering, body, &literal)) {
        return 0;
    }
    if (literal.is_null) {
        literal.type = (struct exec_type){.kind = EXEC_TYPE_UTF8};
    }
    return builder_literal(lowering->plan, &literal, &origin);
}

/* A constant in quotes of a type that is no text: date '2020-01-31'. The engine reads those in a
 * zone: it has the rules of zones. */
static bool lower_typed_constant(struct sql_lowering *lowering, json_t *arg,
                                 const struct exec_type *type, long location, uint32_t *expr_out)
{
    const struct plan_origin origin = sql_origin(lowering, location);
    json_t *text = json_object_get(json_object_get(arg, "A_Const"), "sval");
    const char *bytes = json_string_value(json_object_get(text, "sval"));
    struct exec_literal literal;
    struct exec_error err;

    const bool in_zone = type->zone[0] != '\0' && strcmp(type->zone, "UTC") != 0;

    if (text == NULL || in_zone || type->kind == EXEC_TYPE_UTF8 || type->kind == EXEC_TYPE_BINARY) {
        return false;
    }
    bytes = bytes == NULL ? "" : bytes;
    const enum exec_code code = exec_literal_parse(type, bytes, strlen(bytes), &literal, &err);
    *expr_out = code == EXEC_OK
                    ? builder_literal(lowering->plan, &literal, &origin)
                    : sql_refuse(lowering, sql_node_location(arg), code, "%s", err.detail);
    return true;
}

static uint32_t lower_cast(struct sql_lowering *lowering, json_t *node, json_t *body, long location)
{
    struct exec_expr expr = {.kind = EXEC_EXPR_CAST};
    const struct plan_origin origin = sql_origin(lowering, location);
    json_t *arg = json_object_get(body, "arg");
    uint32_t constant = 0;

    if (sql_is_interval(node)) {
        return sql_refuse(lowering, sql_node_location(node), EXEC_NOT_IMPLEMENTED,
                          "an interval is only implemented behind + or - of a date or timestamp, "
                          "and compared with a difference of those");
    }
    if (!sql_lower_type(lowering, json_object_get(body, "typeName"), &expr.u.cast.to)) {
        return 0;
    }
    if (sql_is_null(arg)) {
        const struct exec_literal null = {.type = expr.u.cast.to, .is_null = true};
        return builder_literal(lowering->plan, &null, &origin);
    }
    expr.u.cast.null_on_failure =
        sql_token_was_try(lowering->text->text, sql_offset(lowering->text, location));
    if (!expr.u.cast.null_on_failure &&
        lower_typed_constant(lowering, arg, &expr.u.cast.to, location, &constant)) {
        return constant;
    }
    expr.u.cast.arg = sql_lower_expr(lowering, arg);
    return expr.u.cast.arg == 0 ? 0 : builder_expr(lowering->plan, &expr, &origin);
}

static uint32_t lower_node(struct sql_lowering *lowering, json_t *node)
{
    json_t *body = NULL;
    const char *kind = sql_node_kind(node, &body);
    const long location = (long)json_integer_value(json_object_get(body, "location"));

    if (strcmp(kind, "ColumnRef") == 0) {
        return lower_column(lowering, body, location);
    }
    if (strcmp(kind, "A_Const") == 0) {
        return lower_constant(lowering, body, location);
    }
    if (strcmp(kind, "A_Expr") == 0) {
        return sql_lower_a_expr(lowering, body, location);
    }
    if (strcmp(kind, "BoolExpr") == 0) {
        return sql_lower_bool_expr(lowering, body, location);
    }
    if (strcmp(kind, "NullTest") == 0) {
        return sql_lower_null_test(lowering, body, location);
    }
    if (strcmp(kind, "BooleanTest") == 0) {
        return sql_lower_boolean_test(lowering, body, location);
    }
    if (strcmp(kind, "TypeCast") == 0) {
        return lower_cast(lowering, node, body, location);
    }
    if (strcmp(kind, "CaseExpr") == 0) {
        return sql_lower_case(lowering, body, location);
    }
    if (strcmp(kind, "CoalesceExpr") == 0) {
        return sql_call_list(lowering, "coalesce", json_object_get(body, "args"), location);
    }
    if (strcmp(kind, "MinMaxExpr") == 0) {
        const char *op = json_string_value(json_object_get(body, "op"));
        return sql_call_list(lowering,
                             op != NULL && strcmp(op, "IS_LEAST") == 0 ? "least" : "greatest",
                             json_object_get(body, "args"), location);
    }
    if (strcmp(kind, "FuncCall") == 0) {
        return sql_lower_function(lowering, body, location);
    }
    return sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED, "%.40s is not implemented yet",
                      kind);
}

uint32_t sql_lower_expr(struct sql_lowering *lowering, json_t *node)
{
    if (lowering->depth >= DEPTH_MAX) {
        return sql_refuse(lowering, sql_node_location(node), EXEC_LIMIT,
                          "the expression is nested deeper than %d levels", DEPTH_MAX);
    }
    uint32_t expr = 0;
    lowering->depth++;
    if (lowering->hook == NULL || !lowering->hook(lowering, node, &expr)) {
        expr = lower_node(lowering, node);
    }
    lowering->depth--;
    return expr;
}
