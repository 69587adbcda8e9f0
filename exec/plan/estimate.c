#include "plan/plan.h"

#include <math.h>

/* Row counts before anything has run. Counts of tables and generators are exact, files are guessed
 * from their bytes, everything above from the rules below; good enough to choose build sides. */

static const double SELECTIVITY = 1.0 / 3; /* of one predicate */

static double join_rows(const struct plan_rel *rel, double left, double right)
{
    switch (rel->spec->u.join.kind) {
        case EXEC_JOIN_LEFT:
        case EXEC_JOIN_LEFT_MARK: return left;
        case EXEC_JOIN_RIGHT: return right;
        case EXEC_JOIN_LEFT_SEMI:
        case EXEC_JOIN_LEFT_ANTI:
        case EXEC_JOIN_LEFT_ANTI_NULL_AWARE: return left / 2;
        case EXEC_JOIN_CROSS: return left * right;
        default: return left > right ? left : right; /* a key of one side refers to the other */
    }
}

void plan_estimate(struct plan_rel *rel)
{
    const double input = rel->input_count == 0 ? PLAN_ROWS_UNKNOWN : rel->inputs[0]->rows;
    const struct exec_rel *spec = rel->spec;

    if (spec->kind == EXEC_REL_AGGREGATE && spec->u.aggregate.key_count == 0) {
        rel->rows = 1;
        rel->rows_exact = true;
    }
    for (uint32_t i = 0; i < rel->input_count; i++) {
        if (rel->inputs[i]->rows < 0) {
            return;
        }
    }
    switch (spec->kind) {
        case EXEC_REL_FILTER: rel->rows = input; break;
        case EXEC_REL_PROJECT:
        case EXEC_REL_SORT:
            rel->rows = input;
            rel->rows_exact = rel->inputs[0]->rows_exact;
            break;
        case EXEC_REL_JOIN: rel->rows = join_rows(rel, input, rel->inputs[1]->rows); break;
        case EXEC_REL_AGGREGATE:
            rel->rows = spec->u.aggregate.key_count == 0 ? 1 : ceil(pow(input, 0.75));
            break;
        case EXEC_REL_DISTINCT: rel->rows = ceil(pow(input, 0.75)); break;
        case EXEC_REL_LIMIT: rel->rows = input; break;
        case EXEC_REL_UNION_ALL:
            rel->rows = 0;
            for (uint32_t i = 0; i < rel->input_count; i++) {
                rel->rows += rel->inputs[i]->rows;
            }
            break;
        default: break;
    }
    for (uint32_t i = 0; i < rel->predicate_count; i++) {
        rel->rows = ceil(rel->rows * SELECTIVITY);
        rel->rows_exact = false;
    }
    if (spec->kind == EXEC_REL_SORT && rel->sort_limit >= 0 &&
        (double)rel->sort_limit < rel->rows) {
        rel->rows = (double)rel->sort_limit;
    }
    if (spec->kind == EXEC_REL_LIMIT && spec->u.limit.count >= 0 &&
        (double)spec->u.limit.count < rel->rows) {
        rel->rows = (double)spec->u.limit.count;
    }
}
