#include "sql_expr.h"
#include "exec/exec.h"
#include "sql_aggregate.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 200, ARGS_MAX = 64 };

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

static const char *string_of(json_t *node)
{
    return json_string_value(json_object_get(json_object_get(node, "String"), "sval"));
}

bool sql_column_parts(json_t *column_ref, const char **qualifier_out, const char **name_out)
{
    json_t *fields = json_object_get(column_ref, "fields");
    const size_t count = json_array_size(fields);
    json_t *last = json_array_get(fields, count - 1);

    *qualifier_out = count == 2 ? string_of(json_array_get(fields, 0)) : NULL;
    *name_out = string_of(last);
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

/* Lowers the members of a list (or one node) into args; the count, or -1. */
static int lower_args(struct sql_lowering *lowering, json_t *list, uint32_t args_out[ARGS_MAX])
{
    const size_t count = json_array_size(list);

    if (count > ARGS_MAX) {
        sql_refuse(lowering, sql_node_location(json_array_get(list, ARGS_MAX)), EXEC_LIMIT,
                   "more than %d operands", ARGS_MAX);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        args_out[i] = sql_lower_expr(lowering, json_array_get(list, i));
        if (args_out[i] == 0) {
            return -1;
        }
    }
    return (int)count;
}

static uint32_t call2(struct sql_lowering *lowering, const char *function, uint32_t left,
                      uint32_t right, long location)
{
    const uint32_t args[] = {left, right};
    const struct plan_origin origin = sql_origin(lowering, location);

    return left == 0 || right == 0 ? 0 : builder_call(lowering->plan, function, args, 2, &origin);
}

static uint32_t call1(struct sql_lowering *lowering, const char *function, uint32_t arg,
                      long location)
{
    const struct plan_origin origin = sql_origin(lowering, location);

    return arg == 0 ? 0 : builder_call(lowering->plan, function, &arg, 1, &origin);
}

static uint32_t lower_operator(struct sql_lowering *lowering, json_t *body, const char *name,
                               long location)
{
    static const struct {
        const char *sql, *function;
    } operators[] = {
#define OPERATOR(sql, function) {sql, function},
#include "sql_operators.def"
    };
    json_t *left = json_object_get(body, "lexpr"), *right = json_object_get(body, "rexpr");

    if (left == NULL) {
        const uint32_t arg = sql_lower_expr(lowering, right);
        if (strcmp(name, "+") == 0) {
            return arg;
        }
        return strcmp(name, "-") == 0 ? call1(lowering, "negate", arg, location)
                                      : sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
                                                   "operator %.20s is not implemented yet", name);
    }
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        if (strcmp(operators[i].sql, name) == 0) {
            const uint32_t first = sql_lower_expr(lowering, left);
            const uint32_t second = first == 0 ? 0 : sql_lower_expr(lowering, right);
            return call2(lowering, operators[i].function, first, second, location);
        }
    }
    return sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
                      "operator %.20s is not implemented yet", name);
}

/* A bare NULL has no type; most places need one. */
static bool is_null_constant(json_t *node)
{
    return json_is_true(json_object_get(json_object_get(node, "A_Const"), "isnull"));
}

/* Gives the NULLs of an in-list the type of its first other value; false: there is none. */
static bool type_nulls(struct exec_literal *values, size_t count)
{
    const struct exec_literal *typed = NULL;

    for (size_t i = 0; i < count && typed == NULL; i++) {
        typed = values[i].is_null ? NULL : &values[i];
    }
    for (size_t i = 0; i < count && typed != NULL; i++) {
        values[i].type = values[i].is_null ? typed->type : values[i].type;
    }
    return typed != NULL;
}

/* Constants become an in-list; anything else a chain of comparisons, which means the same. */
static uint32_t lower_in(struct sql_lowering *lowering, json_t *body, const char *name,
                         long location)
{
    json_t *items =
        json_object_get(json_object_get(json_object_get(body, "rexpr"), "List"), "items");
    const size_t count = json_array_size(items);
    const bool negated = strcmp(name, "<>") == 0;
    struct exec_literal *values = builder_alloc(lowering->plan, (count + 1) * sizeof *values);
    const uint32_t arg = sql_lower_expr(lowering, json_object_get(body, "lexpr"));
    size_t constants = 0;

    if (arg == 0) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        json_t *constant = json_object_get(json_array_get(items, i), "A_Const");
        constants += constant != NULL && sql_lower_literal(lowering, constant, &values[i]);
    }
    if (constants == count && type_nulls(values, count)) {
        const struct exec_expr expr = {
            .kind = EXEC_EXPR_IN_LIST,
            .u.in_list = {.arg = arg,
                          .values = values,
                          .value_count = (uint32_t)count,
                          .negated = negated},
        };
        const struct plan_origin origin = sql_origin(lowering, location);
        return builder_expr(lowering->plan, &expr, &origin);
    }
    uint32_t result = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t value = sql_lower_expr(lowering, json_array_get(items, i));
        const uint32_t same = call2(lowering, negated ? "ne" : "eq", arg, value, location);
        if (same == 0) {
            return 0;
        }
        result = i == 0 ? same : call2(lowering, negated ? "and" : "or", result, same, location);
    }
    return result;
}

static uint32_t lower_between(struct sql_lowering *lowering, json_t *body, bool negated,
                              long location)
{
    json_t *items =
        json_object_get(json_object_get(json_object_get(body, "rexpr"), "List"), "items");
    const uint32_t arg = sql_lower_expr(lowering, json_object_get(body, "lexpr"));
    const uint32_t low = arg == 0 ? 0 : sql_lower_expr(lowering, json_array_get(items, 0));
    const uint32_t high = low == 0 ? 0 : sql_lower_expr(lowering, json_array_get(items, 1));
    const uint32_t above = high == 0 ? 0 : call2(lowering, "ge", arg, low, location);
    const uint32_t below = above == 0 ? 0 : call2(lowering, "le", arg, high, location);
    const uint32_t both = call2(lowering, "and", above, below, location);

    return negated ? call1(lowering, "not", both, location) : both;
}

/* nullif(a, b) is CASE WHEN a = b THEN NULL ELSE a: written the other way round, so that NULL needs
 * no type of its own. */
static uint32_t lower_nullif(struct sql_lowering *lowering, json_t *left, json_t *right,
                             long location)
{
    struct exec_when *when = builder_alloc(lowering->plan, sizeof *when);
    const uint32_t first = sql_lower_expr(lowering, left);
    const uint32_t second = first == 0 ? 0 : sql_lower_expr(lowering, right);
    const struct exec_expr expr = {.kind = EXEC_EXPR_CASE,
                                   .u.case_when = {.branches = when, .branch_count = 1}};
    const struct plan_origin origin = sql_origin(lowering, location);

    when->then = first;
    when->when =
        second == 0
            ? 0
            : call1(lowering, "not",
                    call2(lowering, "coalesce", call2(lowering, "eq", first, second, location),
                          builder_literal(lowering->plan,
                                          &(struct exec_literal){.type = {.kind = EXEC_TYPE_BOOL}},
                                          NULL),
                          location),
                    location);
    return when->when == 0 ? 0 : builder_expr(lowering->plan, &expr, &origin);
}

static uint32_t lower_a_expr(struct sql_lowering *lowering, json_t *body, long location)
{
    const char *kind = json_string_value(json_object_get(body, "kind"));
    const char *name = string_of(json_array_get(json_object_get(body, "name"), 0));
    json_t *left = json_object_get(body, "lexpr"), *right = json_object_get(body, "rexpr");

    if (kind == NULL || name == NULL) {
        return sql_refuse(lowering, location, EXEC_INTERNAL, "the parse tree has no operator here");
    }
    if (strcmp(kind, "AEXPR_OP") == 0) {
        return lower_operator(lowering, body, name, location);
    }
    if (strcmp(kind, "AEXPR_IN") == 0) {
        return lower_in(lowering, body, name, location);
    }
    if (strcmp(kind, "AEXPR_BETWEEN") == 0 || strcmp(kind, "AEXPR_NOT_BETWEEN") == 0) {
        return lower_between(lowering, body, kind[6] == 'N', location);
    }
    if (strcmp(kind, "AEXPR_DISTINCT") == 0 || strcmp(kind, "AEXPR_NOT_DISTINCT") == 0) {
        const uint32_t one = sql_lower_expr(lowering, left);
        const uint32_t other = one == 0 ? 0 : sql_lower_expr(lowering, right);
        return call2(lowering, kind[6] == 'N' ? "is_not_distinct_from" : "is_distinct_from", one,
                     other, location);
    }
    if (strcmp(kind, "AEXPR_NULLIF") == 0) {
        return lower_nullif(lowering, left, right, location);
    }
    const bool like = strcmp(kind, "AEXPR_LIKE") == 0, ilike = strcmp(kind, "AEXPR_ILIKE") == 0;
    if (!like && !ilike) {
        return sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
                          "this operator (%.30s) is not implemented yet", kind + 6);
    }
    const uint32_t first = sql_lower_expr(lowering, left);
    const uint32_t second = first == 0 ? 0 : sql_lower_expr(lowering, right);
    const uint32_t matched = call2(lowering, like ? "like" : "ilike", first, second, location);
    return name[0] == '!' ? call1(lowering, "not", matched, location) : matched;
}

static uint32_t lower_bool_expr(struct sql_lowering *lowering, json_t *body, long location)
{
    const char *op = json_string_value(json_object_get(body, "boolop"));
    uint32_t args[ARGS_MAX];
    const int count = lower_args(lowering, json_object_get(body, "args"), args);

    if (count <= 0) {
        return 0;
    }
    if (op != NULL && strcmp(op, "NOT_EXPR") == 0) {
        return call1(lowering, "not", args[0], location);
    }
    const char *function = op != NULL && strcmp(op, "OR_EXPR") == 0 ? "or" : "and";
    uint32_t result = args[0];
    for (int i = 1; i < count; i++) {
        result = call2(lowering, function, result, args[i], location);
    }
    return result;
}

static uint32_t lower_null_test(struct sql_lowering *lowering, json_t *body, long location)
{
    const char *type = json_string_value(json_object_get(body, "nulltesttype"));
    const uint32_t arg = sql_lower_expr(lowering, json_object_get(body, "arg"));
    const bool negated = type != NULL && strcmp(type, "IS_NOT_NULL") == 0;

    return call1(lowering, negated ? "is_not_null" : "is_null", arg, location);
}

/* x IS TRUE is coalesce(x, false), x IS FALSE is not coalesce(x, true), and so on. */
static uint32_t lower_boolean_test(struct sql_lowering *lowering, json_t *body, long location)
{
    const char *type = json_string_value(json_object_get(body, "booltesttype"));
    const uint32_t arg = sql_lower_expr(lowering, json_object_get(body, "arg"));

    if (arg == 0 || type == NULL) {
        return 0;
    }
    if (strstr(type, "UNKNOWN") != NULL) {
        return call1(lowering, strstr(type, "NOT") != NULL ? "is_not_null" : "is_null", arg,
                     location);
    }
    const bool about_false = strstr(type, "FALSE") != NULL, negated = strstr(type, "NOT") != NULL;
    const struct exec_literal fallback = {.type = {.kind = EXEC_TYPE_BOOL},
                                          .value.boolean = about_false};
    const uint32_t filled = call2(lowering, "coalesce", arg,
                                  builder_literal(lowering->plan, &fallback, NULL), location);
    return about_false != negated ? call1(lowering, "not", filled, location) : filled;
}

static uint32_t lower_cast(struct sql_lowering *lowering, json_t *body, long location)
{
    struct exec_expr expr = {.kind = EXEC_EXPR_CAST};
    const struct plan_origin origin = sql_origin(lowering, location);

    if (!sql_lower_type(lowering, json_object_get(body, "typeName"), &expr.u.cast.to)) {
        return 0;
    }
    if (is_null_constant(json_object_get(body, "arg"))) {
        const struct exec_literal null = {.type = expr.u.cast.to, .is_null = true};
        return builder_literal(lowering->plan, &null, &origin);
    }
    expr.u.cast.arg = sql_lower_expr(lowering, json_object_get(body, "arg"));
    if (expr.u.cast.arg == 0) {
        return 0;
    }
    return builder_expr(lowering->plan, &expr, &origin);
}

/* NULLs among the arguments change nothing and are left out. */
static uint32_t lower_coalesce(struct sql_lowering *lowering, json_t *list, long location)
{
    uint32_t args[ARGS_MAX], count = 0;
    const struct plan_origin origin = sql_origin(lowering, location);

    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *node = json_array_get(list, i);
        if (is_null_constant(node)) {
            continue;
        }
        if (count == ARGS_MAX) {
            return sql_refuse(lowering, sql_node_location(node), EXEC_LIMIT,
                              "more than %d operands", ARGS_MAX);
        }
        args[count] = sql_lower_expr(lowering, node);
        if (args[count++] == 0) {
            return 0;
        }
    }
    if (count == 0) {
        return sql_refuse(lowering, location, EXEC_BAD_SPEC, "coalesce() of nothing but NULL");
    }
    return builder_call(lowering->plan, "coalesce", args, count, &origin);
}

/* NULL of the type of an expression: CASE WHEN false THEN it END. */
static uint32_t null_like(struct sql_lowering *lowering, uint32_t typed)
{
    struct exec_when *when = builder_alloc(lowering->plan, sizeof *when);
    const struct exec_literal no = {.type = {.kind = EXEC_TYPE_BOOL}};
    const struct exec_expr expr = {.kind = EXEC_EXPR_CASE,
                                   .u.case_when = {.branches = when, .branch_count = 1}};

    when->when = builder_literal(lowering->plan, &no, NULL);
    when->then = typed;
    return builder_expr(lowering->plan, &expr, NULL);
}

static uint32_t lower_case(struct sql_lowering *lowering, json_t *body, long location)
{
    json_t *branches = json_object_get(body, "args");
    const size_t count = json_array_size(branches);
    struct exec_when *whens = builder_alloc(lowering->plan, (count + 1) * sizeof *whens);
    uint32_t subject = 0, otherwise = 0, typed = 0;

    if (json_object_get(body, "arg") != NULL) {
        subject = sql_lower_expr(lowering, json_object_get(body, "arg"));
        if (subject == 0) {
            return 0;
        }
    }
    for (size_t i = 0; i < count; i++) {
        json_t *branch = json_object_get(json_array_get(branches, i), "CaseWhen");
        whens[i].when = sql_lower_expr(lowering, json_object_get(branch, "expr"));
        if (whens[i].when != 0 && subject != 0) {
            whens[i].when = call2(lowering, "eq", subject, whens[i].when, location);
        }
        if (whens[i].when == 0) {
            return 0;
        }
        if (is_null_constant(json_object_get(branch, "result"))) {
            continue; /* below */
        }
        whens[i].then = sql_lower_expr(lowering, json_object_get(branch, "result"));
        if (whens[i].then == 0) {
            return 0;
        }
        typed = typed == 0 ? whens[i].then : typed;
    }
    json_t *fallback = json_object_get(body, "defresult");
    if (fallback != NULL && !is_null_constant(fallback)) { /* ELSE NULL is what no ELSE means */
        otherwise = sql_lower_expr(lowering, fallback);
        if (otherwise == 0) {
            return 0;
        }
    }
    typed = typed == 0 ? otherwise : typed;
    if (typed == 0) {
        return sql_refuse(lowering, location, EXEC_BAD_SPEC, "CASE of nothing but NULL");
    }
    for (size_t i = 0; i < count; i++) {
        whens[i].then = whens[i].then == 0 ? null_like(lowering, typed) : whens[i].then;
    }
    const struct exec_expr expr = {
        .kind = EXEC_EXPR_CASE,
        .u.case_when = {.branches = whens, .branch_count = (uint32_t)count, .otherwise = otherwise},
    };
    const struct plan_origin origin = sql_origin(lowering, location);
    return builder_expr(lowering->plan, &expr, &origin);
}

static uint32_t lower_many(struct sql_lowering *lowering, const char *function, json_t *list,
                           long location)
{
    uint32_t args[ARGS_MAX];
    const int count = lower_args(lowering, list, args);
    const struct plan_origin origin = sql_origin(lowering, location);

    return count < 0 ? 0 : builder_call(lowering->plan, function, args, (uint32_t)count, &origin);
}

/* Names PostgreSQL has for functions the engine calls otherwise. */
static const char *engine_name(const char *name)
{
    static const struct {
        const char *sql, *function;
    } names[] = {
        {"btrim", "trim"},         {"ceiling", "ceil"},     {"pow", "power"},
        {"char_length", "length"}, {"substr", "substring"}, {"character_length", "length"},
        {"mod", "modulo"},
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i].sql, name) == 0) {
            return names[i].function;
        }
    }
    return name;
}

/* extract(year from t) is year(t). */
static uint32_t lower_extract(struct sql_lowering *lowering, json_t *args, long location)
{
    static const struct {
        const char *field, *function;
    } fields[] = {
        {"year", "year"}, {"quarter", "quarter"},    {"month", "month"},
        {"day", "day"},   {"isodow", "day_of_week"}, {"doy", "day_of_year"},
        {"hour", "hour"}, {"minute", "minute"},      {"second", "second"},
    };
    const char *field = json_string_value(json_object_get(
        json_object_get(json_object_get(json_array_get(args, 0), "A_Const"), "sval"), "sval"));

    if (field != NULL && strcmp(field, "dow") == 0) { /* Sunday is 0 */
        const struct exec_literal seven = {.type = {.kind = EXEC_TYPE_INT64}, .value.i64 = 7};
        return call2(lowering, "modulo",
                     call1(lowering, "day_of_week",
                           sql_lower_expr(lowering, json_array_get(args, 1)), location),
                     builder_literal(lowering->plan, &seven, NULL), location);
    }
    for (size_t i = 0; field != NULL && i < sizeof fields / sizeof fields[0]; i++) {
        if (strcmp(fields[i].field, field) == 0) {
            return call1(lowering, fields[i].function,
                         sql_lower_expr(lowering, json_array_get(args, 1)), location);
        }
    }
    return sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
                      "extract(%.40s) is not implemented yet", field == NULL ? "?" : field);
}

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

    if (!is_function(function)) {
        return sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
                          "unknown function %.60s(); 'morsel help functions' lists them", name);
    }
    return lower_many(lowering, function, args, location);
}

static uint32_t lower_function(struct sql_lowering *lowering, json_t *body, long location)
{
    json_t *names = json_object_get(body, "funcname");
    const char *name = string_of(json_array_get(names, json_array_size(names) - 1));

    if (name == NULL) {
        return sql_refuse(lowering, location, EXEC_INTERNAL, "the parse tree has no name here");
    }
    if (json_object_get(body, "over") != NULL) {
        return sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
                          "window functions are not implemented yet");
    }
    if (sql_is_aggregate(name)) {
        return sql_lower_aggregate(lowering, name, body, location);
    }
    if (strcmp(name, "extract") == 0 || strcmp(name, "date_part") == 0) {
        return lower_extract(lowering, json_object_get(body, "args"), location);
    }
    if (json_array_size(names) > 1 &&
        strcmp(string_of(json_array_get(names, 0)), "pg_catalog") != 0) {
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

static uint32_t lower_node(struct sql_lowering *lowering, json_t *node)
{
    json_t *body = NULL;
    const char *kind = sql_node_kind(node, &body);
    const long location = (long)json_integer_value(json_object_get(body, "location"));

    if (strcmp(kind, "ColumnRef") == 0) {
        return lower_column(lowering, body, location);
    }
    if (strcmp(kind, "A_Const") == 0) {
        struct exec_literal literal;
        if (is_null_constant(node)) {
            return sql_refuse(lowering, location, EXEC_BAD_SPEC,
                              "NULL has no type here: write cast(NULL as TYPE), or IS NULL");
        }
        const struct plan_origin origin = sql_origin(lowering, location);
        return sql_lower_literal(lowering, body, &literal)
                   ? builder_literal(lowering->plan, &literal, &origin)
                   : 0;
    }
    if (strcmp(kind, "A_Expr") == 0) {
        return lower_a_expr(lowering, body, location);
    }
    if (strcmp(kind, "BoolExpr") == 0) {
        return lower_bool_expr(lowering, body, location);
    }
    if (strcmp(kind, "NullTest") == 0) {
        return lower_null_test(lowering, body, location);
    }
    if (strcmp(kind, "BooleanTest") == 0) {
        return lower_boolean_test(lowering, body, location);
    }
    if (strcmp(kind, "TypeCast") == 0) {
        return lower_cast(lowering, body, location);
    }
    if (strcmp(kind, "CaseExpr") == 0) {
        return lower_case(lowering, body, location);
    }
    if (strcmp(kind, "CoalesceExpr") == 0) {
        return lower_coalesce(lowering, json_object_get(body, "args"), location);
    }
    if (strcmp(kind, "MinMaxExpr") == 0) {
        const char *op = json_string_value(json_object_get(body, "op"));
        return lower_many(lowering,
                          op != NULL && strcmp(op, "IS_LEAST") == 0 ? "least" : "greatest",
                          json_object_get(body, "args"), location);
    }
    if (strcmp(kind, "FuncCall") == 0) {
        return lower_function(lowering, body, location);
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
