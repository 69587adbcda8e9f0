#include "sql_node.h"

#include <string.h>

/* Operators and conditions. */

static uint32_t lower_unary(struct sql_lowering *lowering, json_t *operand, const char *name,
                            long location)
{
    const uint32_t arg = sql_lower_expr(lowering, operand);

    if (strcmp(name, "+") == 0) {
        return arg;
    }
    return strcmp(name, "-") == 0 ? sql_call1(lowering, "negate", arg, location)
                                  : sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
                                               "operator %.20s is not implemented yet", name);
}

/* ~ ~* !~ !~* */
static uint32_t lower_regex(struct sql_lowering *lowering, const char *name, uint32_t text,
                            uint32_t pattern, long location)
{
    const bool negated = name[0] == '!', any_case = name[strlen(name) - 1] == '*';
    const uint32_t args[] = {text, pattern,
                             any_case ? builder_literal_text(lowering->plan, "i", NULL) : 0};
    const uint32_t matched =
        sql_call_many(lowering, "regexp_matches", args, any_case ? 3 : 2, location);

    return negated ? sql_call1(lowering, "not", matched, location) : matched;
}

static bool is_regex(const char *name)
{
    return strcmp(name, "~") == 0 || strcmp(name, "~*") == 0 || strcmp(name, "!~") == 0 ||
           strcmp(name, "!~*") == 0;
}

/* + and - with an interval on one side; false: none is. */
static bool lower_time_sum(struct sql_lowering *lowering, const char *name, json_t *left,
                           json_t *right, long location, uint32_t *expr_out)
{
    const bool plus = strcmp(name, "+") == 0;
    const bool first = sql_is_interval(left), second = sql_is_interval(right);

    if ((!plus && strcmp(name, "-") != 0) || (!first && !second)) {
        return false;
    }
    if ((first && second) || (first && !plus)) {
        *expr_out = sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
                               "an interval is only implemented behind + or - of a date or "
                               "timestamp, and compared with a difference of those");
        return true;
    }
    const uint32_t base = sql_lower_expr(lowering, first ? right : left);
    *expr_out = sql_add_interval(lowering, base, first ? left : right, !plus, location);
    return true;
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
    uint32_t expr = 0;

    if (left == NULL) {
        return lower_unary(lowering, right, name, location);
    }
    if (sql_comparison(name) != NULL) {
        return sql_compare(lowering, sql_comparison(name), left, right, location);
    }
    if (lower_time_sum(lowering, name, left, right, location, &expr)) {
        return expr;
    }
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        if (strcmp(operators[i].sql, name) == 0) {
            const uint32_t first = sql_lower_expr(lowering, left);
            const uint32_t second = first == 0 ? 0 : sql_lower_expr(lowering, right);
            return sql_call2(lowering, operators[i].function, first, second, location);
        }
    }
    if (is_regex(name)) {
        const uint32_t text = sql_lower_expr(lowering, left);
        const uint32_t pattern = text == 0 ? 0 : sql_lower_expr(lowering, right);
        return lower_regex(lowering, name, text, pattern, location);
    }
    return sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
                      "operator %.20s is not implemented yet", name);
}

/* A bare NULL is of no type; the engine gives it that of what it is compared with. */
static const struct exec_literal null_text = {.type = {.kind = EXEC_TYPE_UTF8}, .is_null = true};

/* The values of the list as constants; false: some are not. */
static bool constant_list(struct sql_lowering *lowering, json_t *items, struct exec_literal *values)
{
    json_t *item = NULL;
    size_t i;

    json_array_foreach(items, i, item)
    {
        json_t *constant = json_object_get(item, "A_Const");
        if (constant == NULL || !sql_lower_literal(lowering, constant, &values[i])) {
            return false;
        }
        values[i] = values[i].is_null ? null_text : values[i];
    }
    return true;
}

/* Constants become an in-list; anything else comparisons, which mean the same. */
static uint32_t lower_in(struct sql_lowering *lowering, json_t *left, json_t *items, bool negated,
                         long location)
{
    const uint32_t count = (uint32_t)json_array_size(items);
    struct exec_literal *values = builder_alloc(lowering->plan, (count + 1) * sizeof *values);
    uint32_t *parts = builder_alloc(lowering->plan, (count + 1) * sizeof *parts);
    const bool is_row = json_object_get(left, "RowExpr") != NULL;

    if (!is_row && constant_list(lowering, items, values)) {
        const struct exec_expr expr = {
            .kind = EXEC_EXPR_IN_LIST,
            .u.in_list = {.arg = sql_lower_expr(lowering, left),
                          .values = values,
                          .value_count = count,
                          .negated = negated},
        };
        const struct plan_origin origin = sql_origin(lowering, location);
        return expr.u.in_list.arg == 0 ? 0 : builder_expr(lowering->plan, &expr, &origin);
    }
    if (lowering->err->code != EXEC_OK) {
        return 0;
    }
    const uint32_t once = sql_compared_once(lowering, left);
    for (uint32_t i = 0; i < count; i++) {
        parts[i] = sql_compare_again(lowering, negated ? "ne" : "eq", once, left,
                                     json_array_get(items, i), location);
        if (parts[i] == 0) {
            return 0;
        }
    }
    return sql_call_many(lowering, negated ? "and" : "or", parts, count, location);
}

static uint32_t lower_range(struct sql_lowering *lowering, uint32_t once, json_t *value,
                            json_t *low, json_t *high, long location)
{
    const uint32_t above = sql_compare_again(lowering, "ge", once, value, low, location);
    const uint32_t below =
        above == 0 ? 0 : sql_compare_again(lowering, "le", once, value, high, location);

    return sql_call2(lowering, "and", above, below, location);
}

/* kind: [NOT_]BETWEEN[_SYM] */
static uint32_t lower_between(struct sql_lowering *lowering, json_t *body, const char *kind,
                              long location)
{
    json_t *items =
        json_object_get(json_object_get(json_object_get(body, "rexpr"), "List"), "items");
    json_t *value = json_object_get(body, "lexpr");
    json_t *low = json_array_get(items, 0), *high = json_array_get(items, 1);
    const uint32_t once = sql_compared_once(lowering, value);
    uint32_t inside = lower_range(lowering, once, value, low, high, location);

    if (inside != 0 && strstr(kind, "SYM") != NULL) {
        inside = sql_call2(lowering, "or", inside,
                           lower_range(lowering, once, value, high, low, location), location);
    }
    return strncmp(kind, "NOT", 3) == 0 ? sql_call1(lowering, "not", inside, location) : inside;
}

/* LIKE, ILIKE and SIMILAR TO; ESCAPE is a function around the pattern in the tree. */
static uint32_t lower_like(struct sql_lowering *lowering, json_t *body, const char *function,
                           bool negated, long location)
{
    json_t *pattern = json_object_get(body, "rexpr");
    json_t *call = json_object_get(pattern, "FuncCall");
    json_t *names = json_object_get(call, "funcname");
    const char *name = sql_string(json_array_get(names, json_array_size(names) - 1));
    const bool wrapped = name != NULL && (strcmp(name, "like_escape") == 0 ||
                                          strcmp(name, "similar_to_escape") == 0);
    json_t *parts = json_object_get(call, "args");
    uint32_t args[3] = {sql_lower_expr(lowering, json_object_get(body, "lexpr"))};
    uint32_t count = 1;

    for (size_t i = 0; args[count - 1] != 0 && i < (wrapped ? json_array_size(parts) : 1); i++) {
        args[count++] = sql_lower_expr(lowering, wrapped ? json_array_get(parts, i) : pattern);
    }
    const uint32_t matched =
        args[count - 1] == 0 ? 0 : sql_call_many(lowering, function, args, count, location);
    return negated ? sql_call1(lowering, "not", matched, location) : matched;
}

uint32_t sql_lower_a_expr(struct sql_lowering *lowering, json_t *body, long location)
{
    static const struct {
        const char *kind, *function;
    } likes[] = {{"LIKE", "like"}, {"ILIKE", "ilike"}, {"SIMILAR", "similar_to"}};
    const char *kind = json_string_value(json_object_get(body, "kind"));
    const char *name = sql_string(json_array_get(json_object_get(body, "name"), 0));
    json_t *left = json_object_get(body, "lexpr"), *right = json_object_get(body, "rexpr");

    if (kind == NULL || name == NULL || strncmp(kind, "AEXPR_", 6) != 0) {
        return sql_refuse(lowering, location, EXEC_INTERNAL, "the parse tree has no operator here");
    }
    kind += strlen("AEXPR_");
    if (strcmp(kind, "OP") == 0) {
        return lower_operator(lowering, body, name, location);
    }
    if (strcmp(kind, "IN") == 0) {
        return lower_in(lowering, left, json_object_get(json_object_get(right, "List"), "items"),
                        strcmp(name, "<>") == 0, location);
    }
    if (strstr(kind, "BETWEEN") != NULL) {
        return lower_between(lowering, body, kind, location);
    }
    if (strcmp(kind, "DISTINCT") == 0 || strcmp(kind, "NOT_DISTINCT") == 0) {
        return sql_compare(lowering, kind[0] == 'N' ? "is_not_distinct_from" : "is_distinct_from",
                           left, right, location);
    }
    if (strcmp(kind, "NULLIF") == 0) {
        return sql_lower_nullif(lowering, left, right, location);
    }
    for (size_t i = 0; i < sizeof likes / sizeof likes[0]; i++) {
        if (strcmp(likes[i].kind, kind) == 0) {
            return lower_like(lowering, body, likes[i].function, name[0] == '!', location);
        }
    }
    return sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
                      "this operator (%.30s) is not implemented yet", kind);
}

uint32_t sql_lower_bool_expr(struct sql_lowering *lowering, json_t *body, long location)
{
    const char *op = json_string_value(json_object_get(body, "boolop"));
    const char *function = op != NULL && strcmp(op, "NOT_EXPR") == 0  ? "not"
                           : op != NULL && strcmp(op, "OR_EXPR") == 0 ? "or"
                                                                      : "and";

    return sql_call_list(lowering, function, json_object_get(body, "args"), location);
}

uint32_t sql_lower_null_test(struct sql_lowering *lowering, json_t *body, long location)
{
    const char *type = json_string_value(json_object_get(body, "nulltesttype"));
    const uint32_t arg = sql_lower_expr(lowering, json_object_get(body, "arg"));
    const bool negated = type != NULL && strcmp(type, "IS_NOT_NULL") == 0;

    return sql_call1(lowering, negated ? "is_not_null" : "is_null", arg, location);
}

/* x IS TRUE is coalesce(x, false), x IS FALSE is not coalesce(x, true), and so on. */
uint32_t sql_lower_boolean_test(struct sql_lowering *lowering, json_t *body, long location)
{
    const char *type = json_string_value(json_object_get(body, "booltesttype"));
    const uint32_t arg = sql_lower_expr(lowering, json_object_get(body, "arg"));

    if (arg == 0 || type == NULL) {
        return 0;
    }
    if (strstr(type, "UNKNOWN") != NULL) {
        return sql_call1(lowering, strstr(type, "NOT") != NULL ? "is_not_null" : "is_null", arg,
                         location);
    }
    const bool about_false = strstr(type, "FALSE") != NULL, negated = strstr(type, "NOT") != NULL;
    const struct exec_literal fallback = {.type = {.kind = EXEC_TYPE_BOOL},
                                          .value.boolean = about_false};
    const uint32_t filled = sql_call2(lowering, "coalesce", arg,
                                      builder_literal(lowering->plan, &fallback, NULL), location);
    return about_false != negated ? sql_call1(lowering, "not", filled, location) : filled;
}
