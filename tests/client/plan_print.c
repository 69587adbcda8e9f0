#include "client/plan_print.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct printer {
    const struct plan_builder *plan;
    char *at;
    size_t room;
};

static void put(struct printer *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct printer *to, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const int size = vsnprintf(to->at, to->room, fmt, args);
    va_end(args);
    const size_t moved = (size_t)size < to->room ? (size_t)size : to->room - 1;
    to->at += moved;
    to->room -= moved;
}

static void put_literal(struct printer *to, const struct exec_literal *literal)
{
    if (literal->is_null) {
        put(to, "null");
        return;
    }
    switch (literal->type.kind) {
        case EXEC_TYPE_BOOL: put(to, literal->value.boolean ? "true" : "false"); break;
        case EXEC_TYPE_INT64: put(to, "%" PRId64, literal->value.i64); break;
        case EXEC_TYPE_FLOAT64: put(to, "%gf", literal->value.f64); break;
        case EXEC_TYPE_DATE32: put(to, "date %" PRId64, literal->value.i64); break;
        default: put(to, "'%.*s'", (int)literal->value.text.size, literal->value.text.bytes); break;
    }
}

static void put_expr(struct printer *to, uint32_t index)
{
    const struct exec_expr *expr = &to->plan->exprs[index - 1];
    char type[EXEC_TYPE_TEXT_BYTES];

    switch (expr->kind) {
        case EXEC_EXPR_COLUMN:
            if (expr->u.column.name != NULL) {
                put(to, "%s", expr->u.column.name);
            } else {
                put(to, "#%u", expr->u.column.index);
            }
            break;
        case EXEC_EXPR_LITERAL: put_literal(to, &expr->u.literal); break;
        case EXEC_EXPR_CALL:
            put(to, "(%s", expr->u.call.function);
            for (uint32_t i = 0; i < expr->u.call.arg_count; i++) {
                put(to, " ");
                put_expr(to, expr->u.call.args[i]);
            }
            put(to, ")");
            break;
        case EXEC_EXPR_CAST:
            put(to, expr->u.cast.null_on_failure ? "(trycast " : "(cast ");
            put_expr(to, expr->u.cast.arg);
            put(to, " %s)", exec_type_text(&expr->u.cast.to, type));
            break;
        case EXEC_EXPR_IN_LIST:
            put(to, expr->u.in_list.negated ? "(not_in " : "(in ");
            put_expr(to, expr->u.in_list.arg);
            for (uint32_t i = 0; i < expr->u.in_list.value_count; i++) {
                put(to, " ");
                put_literal(to, &expr->u.in_list.values[i]);
            }
            put(to, ")");
            break;
        case EXEC_EXPR_CASE:
            put(to, "(case");
            for (uint32_t i = 0; i < expr->u.case_when.branch_count; i++) {
                put(to, " ");
                put_expr(to, expr->u.case_when.branches[i].when);
                put(to, " ");
                put_expr(to, expr->u.case_when.branches[i].then);
            }
            if (expr->u.case_when.otherwise != 0) {
                put(to, " else ");
                put_expr(to, expr->u.case_when.otherwise);
            }
            put(to, ")");
            break;
        case EXEC_EXPR_NONE: put(to, "?"); break;
    }
}

static void put_named(struct printer *to, const struct exec_named_expr *named, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        put(to, " %s=", named[i].name);
        put_expr(to, named[i].expr);
    }
}

static void put_sort(struct printer *to, const struct exec_rel *rel)
{
    static const char *const directions[] = {"?", "asc", "asc-nulls-first", "desc",
                                             "desc-nulls-first"};

    put(to, "sort %u", rel->u.sort.input);
    for (uint32_t i = 0; i < rel->u.sort.key_count; i++) {
        put(to, " ");
        put_expr(to, rel->u.sort.keys[i].expr);
        put(to, ":%s", directions[rel->u.sort.keys[i].direction]);
    }
    if (rel->u.sort.limit >= 0) {
        put(to, " limit %" PRId64, rel->u.sort.limit);
    }
}

static void put_aggregate(struct printer *to, const struct exec_rel *rel)
{
    static const char *const functions[] = {"?",
                                            "count*",
                                            "count",
                                            "sum",
                                            "min",
                                            "max",
                                            "avg",
                                            "count_distinct",
                                            "var",
                                            "stddev",
                                            "any",
                                            "var_pop",
                                            "stddev_pop",
                                            "bool_and",
                                            "bool_or",
                                            "first",
                                            "last",
                                            "string_agg",
                                            "quantile_cont",
                                            "quantile_disc",
                                            "approx_count_distinct",
                                            "approx_quantile",
                                            "arg_min",
                                            "arg_max",
                                            "mode",
                                            "corr",
                                            "covar_samp",
                                            "covar_pop",
                                            "bit_and",
                                            "bit_or",
                                            "bit_xor"};

    put(to, "aggregate %u", rel->u.aggregate.input);
    put_named(to, rel->u.aggregate.keys, rel->u.aggregate.key_count);
    for (uint32_t i = 0; i < rel->u.aggregate.measure_count; i++) {
        const struct exec_measure *measure = &rel->u.aggregate.measures[i];
        put(to, " %s:%s(", measure->name, functions[measure->function]);
        for (uint32_t a = 0; a < measure->arg_count; a++) {
            put_expr(to, measure->args[a]);
        }
        put(to, ")%s", measure->distinct ? " distinct" : "");
        if (measure->filter != 0) {
            put(to, " filter ");
            put_expr(to, measure->filter);
        }
    }
}

static void put_rel(struct printer *to, const struct exec_rel *rel)
{
    switch (rel->kind) {
        case EXEC_REL_SCAN: put(to, "scan"); break;
        case EXEC_REL_FILTER:
            put(to, "filter %u ", rel->u.filter.input);
            put_expr(to, rel->u.filter.predicate);
            break;
        case EXEC_REL_PROJECT:
            put(to, "project %u", rel->u.project.input);
            put_named(to, rel->u.project.exprs, rel->u.project.expr_count);
            break;
        case EXEC_REL_JOIN:
            put(to, "join%d %u %u", (int)rel->u.join.kind, rel->u.join.left, rel->u.join.right);
            for (uint32_t i = 0; i < rel->u.join.key_count; i++) {
                put(to, " ");
                put_expr(to, rel->u.join.keys[i].left);
                put(to, "=");
                put_expr(to, rel->u.join.keys[i].right);
            }
            break;
        case EXEC_REL_AGGREGATE: put_aggregate(to, rel); break;
        case EXEC_REL_SORT: put_sort(to, rel); break;
        case EXEC_REL_LIMIT:
            put(to, "limit %u %" PRId64, rel->u.limit.input, rel->u.limit.count);
            break;
        default: put(to, "?"); break;
    }
    put(to, "\n");
}

void plan_print_expr(const struct plan_builder *plan, uint32_t expr, char *text_out, size_t room)
{
    struct printer to = {plan, text_out, room};

    text_out[0] = '\0';
    put_expr(&to, expr);
}

void plan_print(const struct plan_builder *plan, char *text_out, size_t room)
{
    struct printer to = {plan, text_out, room};

    text_out[0] = '\0';
    for (uint32_t i = 0; i < plan->rel_count; i++) {
        put_rel(&to, &plan->rels[i]);
    }
}
