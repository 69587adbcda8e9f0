#include "plan/plan.h"

#include <string.h>

/* What a disjunction over both sides of a join says of one side alone: (a1 and b1) or (a2 and b2),
 * where the a read the left side only, implies a1 or a2. The disjunction itself stays where it is;
 * rows for which the implied one is not true could not have passed it. What all parts have in
 * common is a predicate of its own: (c and a1) or (c and a2) is c and (a1 or a2). */

struct conjuncts {
    struct expr **list;
    uint32_t count;
};

struct span { /* columns [first, end) of column_count */
    uint32_t column_count, first, end;
};

static enum exec_code reads_only(struct plan *plan, const struct expr *expr,
                                 const struct span *span, bool *reads_out, struct exec_error *err)
{
    bool *used = plan_calloc(plan, span->column_count, sizeof *used, err);
    uint32_t inside = 0, outside = 0;

    if (used == NULL) {
        return err->code;
    }
    expr_mark_columns(expr, used);
    for (uint32_t c = 0; c < span->column_count; c++) {
        inside += used[c] && c >= span->first && c < span->end;
        outside += used[c] && (c < span->first || c >= span->end);
    }
    *reads_out = inside != 0 && outside == 0;
    return EXEC_OK;
}

static uint32_t conjunct_count(const struct expr *expr)
{
    struct expr *const *args;
    uint32_t arg_count, count = 0;

    if (!expr_is_call(expr, "and", &args, &arg_count)) {
        return 1;
    }
    for (uint32_t i = 0; i < arg_count; i++) {
        count += conjunct_count(args[i]);
    }
    return count;
}

/* Appends those conjuncts of `expr` that read the span alone. */
static enum exec_code collect(struct plan *plan, struct expr *expr, const struct span *span,
                              struct conjuncts *out, struct exec_error *err)
{
    struct expr *const *args;
    uint32_t arg_count;
    bool reads = false;

    if (expr_is_call(expr, "and", &args, &arg_count)) {
        for (uint32_t i = 0; i < arg_count; i++) {
            if (collect(plan, args[i], span, out, err) != EXEC_OK) {
                return err->code;
            }
        }
        return EXEC_OK;
    }
    if (reads_only(plan, expr, span, &reads, err) != EXEC_OK) {
        return err->code;
    }
    if (reads) {
        out->list[out->count++] = expr;
    }
    return EXEC_OK;
}

static uint32_t find(const struct conjuncts *conjuncts, const struct expr *expr)
{
    uint32_t i = 0;

    while (i < conjuncts->count && !expr_equal(conjuncts->list[i], expr)) {
        i++;
    }
    return i;
}

static void drop(struct conjuncts *conjuncts, uint32_t at)
{
    memmove(&conjuncts->list[at], &conjuncts->list[at + 1],
            (--conjuncts->count - at) * sizeof conjuncts->list[0]);
}

/* Moves to `common` what is in every part. */
static void factor(struct conjuncts *parts, uint32_t part_count, struct conjuncts *common)
{
    for (uint32_t i = 0; i < parts[0].count;) {
        struct expr *candidate = parts[0].list[i];
        uint32_t having = 0;
        while (having < part_count && find(&parts[having], candidate) < parts[having].count) {
            having++;
        }
        if (having < part_count) {
            i++;
            continue;
        }
        for (uint32_t p = 0; p < part_count; p++) {
            drop(&parts[p], find(&parts[p], candidate));
        }
        common->list[common->count++] = candidate;
    }
}

/* The disjunction of the parts; NULL where one of them has nothing left to ask. */
static enum exec_code join_parts(struct plan *plan, const struct conjuncts *parts,
                                 uint32_t part_count, struct expr **out, struct exec_error *err)
{
    struct expr **ands = plan_calloc(plan, part_count, sizeof *ands, err);

    *out = NULL;
    if (ands == NULL) {
        return err->code;
    }
    for (uint32_t p = 0; p < part_count; p++) {
        if (parts[p].count == 0) {
            return EXEC_OK;
        }
        for (uint32_t i = 0; i < parts[p].count; i++) {
            if (plan_and(plan, ands[p], parts[p].list[i], &ands[p], err) != EXEC_OK) {
                return err->code;
            }
        }
    }
    return expr_call(&plan->job->plan, "or", ands, part_count, out, err);
}

enum exec_code plan_implied(struct plan *plan, struct expr *predicate, uint32_t column_count,
                            uint32_t first, uint32_t end, struct expr ***list_out,
                            uint32_t *count_out, struct exec_error *err)
{
    const struct span span = {column_count, first, end};
    struct conjuncts implied = {.count = 0};
    struct expr *const *args;
    struct expr *rest = NULL;
    uint32_t arg_count;

    *count_out = 0;
    if (!expr_is_call(predicate, "or", &args, &arg_count)) {
        return EXEC_OK;
    }
    struct conjuncts *parts = plan_calloc(plan, arg_count, sizeof *parts, err);
    if (parts == NULL) {
        return err->code;
    }
    for (uint32_t i = 0; i < arg_count; i++) {
        parts[i].list = plan_calloc(plan, conjunct_count(args[i]), sizeof(struct expr *), err);
        if (parts[i].list == NULL || collect(plan, args[i], &span, &parts[i], err) != EXEC_OK) {
            return err->code;
        }
        if (parts[i].count == 0) {
            return EXEC_OK;
        }
    }
    implied.list = plan_calloc(plan, parts[0].count + 1, sizeof(struct expr *), err);
    if (implied.list == NULL) {
        return err->code;
    }
    factor(parts, arg_count, &implied);
    if (join_parts(plan, parts, arg_count, &rest, err) != EXEC_OK) {
        return err->code;
    }
    if (rest != NULL) {
        implied.list[implied.count++] = rest;
    }
    *list_out = implied.list;
    *count_out = implied.count;
    return EXEC_OK;
}
