#include "plan/plan.h"

/* What a disjunction over both sides of a join says of one side alone: (a1 and b1) or (a2 and b2),
 * where the a read the left side only, implies a1 or a2. The disjunction itself stays where it is;
 * rows for which the implied one is not true could not have passed it. */

/* Whether it reads columns, and all of them in [first, end). */
static bool reads_only(struct plan *plan, const struct expr *expr, uint32_t column_count,
                       uint32_t first, uint32_t end, bool *reads_out, struct exec_error *err)
{
    bool *used = plan_calloc(plan, column_count, sizeof *used, err);
    uint32_t inside = 0, outside = 0;

    if (used == NULL) {
        return false;
    }
    expr_mark_columns(expr, used);
    for (uint32_t c = 0; c < column_count; c++) {
        inside += used[c] && c >= first && c < end;
        outside += used[c] && (c < first || c >= end);
    }
    *reads_out = inside != 0 && outside == 0;
    return true;
}

/* The conjunction of those parts of `expr` that read the columns [first, end) alone; *out NULL:
 * there is none. */
static enum exec_code conjuncts_of(struct plan *plan, struct expr *expr, uint32_t column_count,
                                   uint32_t first, uint32_t end, struct expr **out,
                                   struct exec_error *err)
{
    struct expr *const *args;
    uint32_t arg_count;
    bool reads = false;

    if (expr_is_call(expr, "and", &args, &arg_count)) {
        for (uint32_t i = 0; i < arg_count; i++) {
            if (conjuncts_of(plan, args[i], column_count, first, end, out, err) != EXEC_OK) {
                return err->code;
            }
        }
        return EXEC_OK;
    }
    if (!reads_only(plan, expr, column_count, first, end, &reads, err)) {
        return err->code;
    }
    return reads ? plan_and(plan, *out, expr, out, err) : EXEC_OK;
}

enum exec_code plan_implied(struct plan *plan, struct expr *predicate, uint32_t column_count,
                            uint32_t first, uint32_t end, struct expr **out, struct exec_error *err)
{
    struct expr *const *args;
    uint32_t arg_count;
    struct expr **parts;

    *out = NULL;
    if (!expr_is_call(predicate, "or", &args, &arg_count)) {
        return EXEC_OK;
    }
    parts = plan_calloc(plan, arg_count, sizeof *parts, err);
    if (parts == NULL) {
        return err->code;
    }
    for (uint32_t i = 0; i < arg_count; i++) {
        if (conjuncts_of(plan, args[i], column_count, first, end, &parts[i], err) != EXEC_OK) {
            return err->code;
        }
        if (parts[i] == NULL) {
            return EXEC_OK;
        }
    }
    return expr_call(&plan->job->plan, "or", parts, arg_count, out, err);
}
