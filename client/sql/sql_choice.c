#include "sql_node.h"

#include <string.h>

/* CASE and NULLIF. */

/* nullif(a, b) is CASE WHEN a = b THEN NULL ELSE a: written the other way round, so that NULL needs
 * no type of its own. */
uint32_t sql_lower_nullif(struct sql_lowering *lowering, json_t *left, json_t *right, long location)
{
    struct exec_when *when = builder_alloc(lowering->plan, sizeof *when);
    const uint32_t first = sql_lower_expr(lowering, left);
    const uint32_t second = first == 0 ? 0 : sql_lower_expr(lowering, right);
    const struct exec_expr expr = {.kind = EXEC_EXPR_CASE,
                                   .u.case_when = {.branches = when, .branch_count = 1}};
    const struct plan_origin origin = sql_origin(lowering, location);
    const uint32_t same = sql_call2(lowering, "eq", first, second, location);

    when->then = first;
    when->when = sql_call1(
        lowering, "not", sql_call2(lowering, "coalesce", same, sql_bool(lowering, false), location),
        location);
    return when->when == 0 ? 0 : builder_expr(lowering->plan, &expr, &origin);
}

static bool lower_branch(struct sql_lowering *lowering, json_t *branch, uint32_t once,
                         json_t *subject, long location, struct exec_when *when)
{
    json_t *condition = json_object_get(branch, "expr");

    when->when = subject == NULL
                     ? sql_lower_expr(lowering, condition)
                     : sql_compare_again(lowering, "eq", once, subject, condition, location);
    when->then = when->when == 0 ? 0 : sql_lower_expr(lowering, json_object_get(branch, "result"));
    return when->then != 0;
}

uint32_t sql_lower_case(struct sql_lowering *lowering, json_t *body, long location)
{
    json_t *branches = json_object_get(body, "args"), *branch = NULL;
    json_t *subject = json_object_get(body, "arg"), *fallback = json_object_get(body, "defresult");
    struct exec_when *whens =
        builder_alloc(lowering->plan, (json_array_size(branches) + 1) * sizeof *whens);
    const uint32_t once = subject == NULL ? 0 : sql_compared_once(lowering, subject);
    uint32_t otherwise = 0;
    size_t i;

    json_array_foreach(branches, i, branch)
    {
        if (!lower_branch(lowering, json_object_get(branch, "CaseWhen"), once, subject, location,
                          &whens[i])) {
            return 0;
        }
    }
    if (fallback != NULL && !sql_is_null(fallback)) { /* ELSE NULL is what no ELSE means */
        otherwise = sql_lower_expr(lowering, fallback);
        if (otherwise == 0) {
            return 0;
        }
    }
    const struct exec_expr expr = {
        .kind = EXEC_EXPR_CASE,
        .u.case_when = {.branches = whens,
                        .branch_count = (uint32_t)json_array_size(branches),
                        .otherwise = otherwise},
    };
    const struct plan_origin origin = sql_origin(lowering, location);
    return builder_expr(lowering->plan, &expr, &origin);
}
