#include "plan/plan.h"

/* From the root down: which output columns of each relation anybody reads. Scans parse only those;
 * joins and sorts keep only those. */

static void mark_exprs(struct expr *const *exprs, uint32_t count, bool *needed)
{
    for (uint32_t i = 0; i < count; i++) {
        expr_mark_columns(exprs[i], needed);
    }
}

static void mark_same(const struct plan_rel *rel, struct plan_rel *input)
{
    for (uint32_t c = 0; c < rel->schema.field_count; c++) {
        input->needed[c] |= rel->needed[c];
    }
}

static enum exec_code mark_join(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    struct plan_rel *left = rel->inputs[0], *right = rel->inputs[1];
    const uint32_t left_count = left->schema.field_count;
    const uint32_t right_count = right->schema.field_count;
    const uint32_t keys = plan_key_exprs(rel);

    for (uint32_t c = 0; c < rel->schema.field_count; c++) {
        if (c < left_count) {
            left->needed[c] |= rel->needed[c];
        } else if (rel->schema.field_count == left_count + right_count) {
            /* Not so for a mark, whose column comes from neither side. */
            right->needed[c - left_count] |= rel->needed[c];
        }
    }
    mark_exprs(rel->exprs, keys, left->needed);
    mark_exprs(rel->right_keys, keys, right->needed);
    if (rel->residual != NULL || rel->verdict != NULL) {
        bool *both = plan_calloc(plan, left_count + right_count, sizeof *both, err);
        if (both == NULL) {
            return err->code;
        }
        if (rel->residual != NULL) {
            expr_mark_columns(rel->residual, both);
        }
        if (rel->verdict != NULL) {
            expr_mark_columns(rel->verdict, both);
        }
        for (uint32_t c = 0; c < left_count + right_count; c++) {
            bool *needed = c < left_count ? &left->needed[c] : &right->needed[c - left_count];
            *needed |= both[c];
        }
    }
    return EXEC_OK;
}

static void mark_aggregate(struct plan_rel *rel)
{
    bool *needed = rel->inputs[0]->needed;

    mark_exprs(rel->exprs, rel->spec->u.aggregate.key_count, needed);
    for (uint32_t m = 0; m < rel->spec->u.aggregate.measure_count; m++) {
        if (rel->measures[m].state != NULL) {
            expr_mark_columns(rel->measures[m].state, needed);
            continue;
        }
        if (rel->measures[m].argument != NULL) {
            expr_mark_columns(rel->measures[m].argument, needed);
        }
        mark_exprs(rel->measures[m].others, rel->measures[m].other_count, needed);
        if (rel->measures[m].filter != NULL) {
            expr_mark_columns(rel->measures[m].filter, needed);
        }
    }
}

/* A column that can raise is computed even when nobody reads it. */
static void mark_project(struct plan_rel *rel)
{
    for (uint32_t c = 0; c < rel->schema.field_count; c++) {
        rel->needed[c] |= expr_can_raise(rel->exprs[c]);
        if (rel->needed[c]) {
            expr_mark_columns(rel->exprs[c], rel->inputs[0]->needed);
        }
    }
}

static void mark_window(struct plan_rel *rel)
{
    struct plan_rel *input = rel->inputs[0];

    for (uint32_t c = 0; c < input->schema.field_count; c++) {
        input->needed[c] |= rel->needed[c];
    }
    mark_exprs(rel->exprs, rel->spec->u.window.partition_count + rel->spec->u.window.order_count,
               input->needed);
}

static void mark_union(struct plan_rel *rel)
{
    for (uint32_t i = 0; i < rel->input_count; i++) {
        for (uint32_t c = 0; c < rel->schema.field_count; c++) {
            rel->needed[c] |= expr_can_raise(rel->union_exprs[i][c]);
        }
    }
    for (uint32_t i = 0; i < rel->input_count; i++) {
        mark_same(rel, rel->inputs[i]);
    }
}

static enum exec_code mark_inputs(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    mark_exprs(rel->predicates, rel->predicate_count, rel->needed);
    switch (rel->spec->kind) {
        case EXEC_REL_FILTER:
        case EXEC_REL_LIMIT: mark_same(rel, rel->inputs[0]); break;
        case EXEC_REL_PROJECT: mark_project(rel); break;
        case EXEC_REL_JOIN: return mark_join(plan, rel, err);
        case EXEC_REL_AGGREGATE: mark_aggregate(rel); break;
        case EXEC_REL_SORT:
            mark_same(rel, rel->inputs[0]);
            mark_exprs(rel->exprs, rel->spec->u.sort.key_count, rel->inputs[0]->needed);
            break;
        case EXEC_REL_WINDOW: mark_window(rel); break;
        case EXEC_REL_UNION_ALL: mark_union(rel); break;
        case EXEC_REL_DISTINCT:
            mark_exprs(rel->exprs, rel->schema.field_count, rel->inputs[0]->needed);
            break;
        default: break;
    }
    return EXEC_OK;
}

enum exec_code plan_prune(struct plan *plan, struct exec_error *err)
{
    for (uint32_t i = 0; i < plan->ordered_count; i++) {
        struct plan_rel *rel = plan->ordered[i];
        rel->needed = plan_calloc(plan, rel->schema.field_count, sizeof *rel->needed, err);
        if (rel->needed == NULL) {
            return err->code;
        }
    }
    for (uint32_t c = 0; c < plan->root->schema.field_count; c++) {
        plan->root->needed[c] = true;
    }
    /* Users come after what they use, so every relation is complete when its turn comes. */
    for (uint32_t i = plan->ordered_count; i-- > 0;) {
        if (mark_inputs(plan, plan->ordered[i], err) != EXEC_OK) {
            return err->code;
        }
    }
    return EXEC_OK;
}
