#include "plan/plan.h"

#include <string.h>

/* Rewrites that are always right: nothing that can raise an error for some row ever moves, and
 * nothing moves past it, so that a plan raises exactly what it says.
 *
 *   predicates   towards the scans: through filters, projections of plain columns, sorts, and into
 *                the sides of joins where a dropped row cannot change what the other side yields
 *   limits       into the sort below; comparisons of a row number or rank into its window
 *   build sides  the smaller input of an inner join; of a semi, anti or mark join the left one only
 *                where it is much smaller; otherwise the side that keeps the probe streaming */

/* Columns of the predicate, in *used of column_count entries. */
static bool *columns_of(struct plan *plan, const struct expr *predicate, uint32_t column_count,
                        struct exec_error *err)
{
    bool *used = plan_calloc(plan, column_count, sizeof *used, err);
    if (used != NULL) {
        expr_mark_columns(predicate, used);
    }
    return used;
}

/* The same predicate over the input of a projection; NULL: it reads a computed column, or (err
 * filled in) memory ran out. */
static struct expr *below_project(struct plan *plan, const struct plan_rel *rel,
                                  struct expr *predicate, struct exec_error *err)
{
    const uint32_t count = rel->schema.field_count;
    const bool *used = columns_of(plan, predicate, count, err);
    uint32_t *map = plan_calloc(plan, count, sizeof *map, err);

    if (used == NULL || map == NULL) {
        return NULL;
    }
    for (uint32_t c = 0; c < count; c++) {
        if (used[c] && !expr_is_column(rel->exprs[c], &map[c])) {
            return NULL;
        }
    }
    return plan_remap(plan, predicate, map, err);
}

/* From the columns of both inputs of a join, left ones first, to those of each; NULL: out of
 * memory.
 */
static const uint32_t *side_map(struct plan *plan, uint32_t left_count, uint32_t count,
                                struct exec_error *err)
{
    uint32_t *map = plan_calloc(plan, count, sizeof *map, err);

    for (uint32_t c = 0; map != NULL && c < count; c++) {
        map[c] = c < left_count ? c : c - left_count;
    }
    return map;
}

/* Which of them the predicate reads. false: out of memory. */
static bool reads_sides(struct plan *plan, const struct expr *predicate, uint32_t left_count,
                        uint32_t count, bool *left_out, bool *right_out, struct exec_error *err)
{
    const bool *used = columns_of(plan, predicate, count, err);

    *left_out = *right_out = false;
    for (uint32_t c = 0; used != NULL && c < count; c++) {
        *left_out |= used[c] && c < left_count;
        *right_out |= used[c] && c >= left_count;
    }
    return used != NULL;
}

/* Which input of a join the predicate can go to: 0, 1, or 2 for neither; *predicate is then over
 * that input's columns. 3: the condition is over both, and the join an inner one. */
static uint32_t below_join(struct plan *plan, const struct plan_rel *rel, struct expr **predicate,
                           struct exec_error *err)
{
    const enum exec_join_kind kind = rel->join_kind;
    const uint32_t left_count = rel->inputs[0]->schema.field_count;
    const uint32_t count = rel->schema.field_count;
    const uint32_t *map = side_map(plan, left_count, count, err);
    bool left, right;

    if (map == NULL || !reads_sides(plan, *predicate, left_count, count, &left, &right, err)) {
        return 2;
    }
    const bool keeps_right = kind == EXEC_JOIN_RIGHT || kind == EXEC_JOIN_FULL;
    const bool right_allowed = kind == EXEC_JOIN_INNER || kind == EXEC_JOIN_RIGHT;
    if (left && right && kind == EXEC_JOIN_INNER) {
        return 3;
    }
    if (left == right || (left && keeps_right) || (right && !right_allowed)) {
        return 2;
    }
    *predicate = plan_remap(plan, *predicate, map, err);
    return *predicate == NULL ? 2 : right;
}

static bool push_down(struct plan *plan, struct plan_rel *rel, struct expr *predicate,
                      struct exec_error *err);

/* A predicate over one input's columns: below that input's own work, else right behind it. */
static enum exec_code push_into(struct plan *plan, struct plan_rel *input, struct expr *predicate,
                                struct exec_error *err)
{
    err->code = EXEC_OK;
    if (push_down(plan, input, predicate, err) || err->code != EXEC_OK) {
        return err->code;
    }
    input->pushed_count++;
    return plan_add_predicate(plan, input, predicate, err);
}

/* Conjuncts of a residual that read one side only, where a row that fails them cannot come out or
 * be a match: they go towards the scans of that side. */
static bool residual_may_leave(enum exec_join_kind kind, bool to_right)
{
    switch (kind) {
        case EXEC_JOIN_INNER:
        case EXEC_JOIN_LEFT_SEMI: return true;
        case EXEC_JOIN_RIGHT: return !to_right;
        case EXEC_JOIN_FULL: return false;
        default: return to_right;
    }
}

/* What a condition over both sides of a join implies of each goes towards the scans. */
static enum exec_code push_implied(struct plan *plan, struct plan_rel *rel, struct expr *condition,
                                   struct exec_error *err)
{
    const uint32_t left_count = rel->inputs[0]->schema.field_count, count = rel->both.field_count;
    const uint32_t *map = side_map(plan, left_count, count, err);

    if (map == NULL) {
        return err->code;
    }
    for (uint32_t side = 0; side < 2; side++) {
        const uint32_t first = side == 0 ? 0 : left_count, end = side == 0 ? left_count : count;
        struct expr **implied;
        uint32_t implied_count;
        if (!residual_may_leave(rel->join_kind, side)) {
            continue;
        }
        if (plan_implied(plan, condition, count, first, end, &implied, &implied_count, err) !=
            EXEC_OK) {
            return err->code;
        }
        for (uint32_t i = 0; i < implied_count; i++) {
            struct expr *moved = plan_remap(plan, implied[i], map, err);
            if (moved == NULL || push_into(plan, rel->inputs[side], moved, err) != EXEC_OK) {
                return err->code;
            }
        }
    }
    return EXEC_OK;
}

/* Tries to evaluate the predicate (over rel's output) below rel's own work; true: it has found a
 * place. err->code tells memory from "no better place". */
static bool push_down(struct plan *plan, struct plan_rel *rel, struct expr *predicate,
                      struct exec_error *err)
{
    struct plan_rel *input = rel->input_count == 0 ? NULL : rel->inputs[0];

    switch (rel->spec->kind) {
        case EXEC_REL_SCAN: break;
        case EXEC_REL_FILTER:
            if (!expr_any_raises(rel->predicates, rel->predicate_count) &&
                push_down(plan, input, predicate, err)) {
                return true;
            }
            break;
        case EXEC_REL_PROJECT:
            if (expr_any_raises(rel->exprs, rel->schema.field_count)) {
                return false;
            }
            predicate = below_project(plan, rel, predicate, err);
            return predicate != NULL && push_down(plan, input, predicate, err);
        case EXEC_REL_SORT:
            return rel->sort_limit < 0 && !rel->is_folded &&
                   !expr_any_raises(rel->exprs, rel->spec->u.sort.key_count) &&
                   push_down(plan, input, predicate, err);
        case EXEC_REL_WINDOW:
            if (plan_window_limits(rel, predicate)) {
                return true;
            }
            if (expr_any_raises(rel->exprs, rel->spec->u.window.partition_count +
                                                rel->spec->u.window.order_count) ||
                !plan_window_passes(plan, rel, predicate, err)) {
                return false;
            }
            if (push_down(plan, input, predicate, err)) {
                return true;
            }
            rel = input;
            break;
        case EXEC_REL_JOIN: {
            if (expr_any_raises(rel->exprs, plan_key_exprs(rel)) ||
                expr_any_raises(rel->right_keys, plan_key_exprs(rel)) ||
                (rel->residual != NULL && expr_can_raise(rel->residual)) ||
                (rel->verdict != NULL && expr_can_raise(rel->verdict))) {
                return false;
            }
            const uint32_t side = below_join(plan, rel, &predicate, err);
            if (side == 3) {
                return plan_join_condition(plan, rel, predicate, err) == EXEC_OK;
            }
            if (side == 2) {
                return false;
            }
            input = rel->inputs[side];
            if (push_down(plan, input, predicate, err)) {
                return true;
            }
            rel = input;
            break;
        }
        default: return false;
    }
    if (plan_add_predicate(plan, rel, predicate, err) != EXEC_OK) {
        return false;
    }
    rel->pushed_count++;
    return true;
}

/* A predicate that stays and can raise holds back those behind it. */
static enum exec_code push_filter(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    const uint32_t own_count = rel->predicate_count - rel->pushed_count;
    uint32_t kept = 0, pushed_kept = 0;
    bool is_blocked = false;

    for (uint32_t i = 0; i < rel->predicate_count; i++) {
        struct expr *predicate = rel->predicates[i];

        err->code = EXEC_OK;
        is_blocked = is_blocked || expr_can_raise(predicate);
        if (!is_blocked && push_down(plan, rel->inputs[0], predicate, err)) {
            continue;
        }
        if (err->code != EXEC_OK) {
            return err->code;
        }
        rel->predicates[kept++] = predicate;
        pushed_kept += i >= own_count;
    }
    rel->predicate_count = kept;
    rel->pushed_count = pushed_kept;
    return EXEC_OK;
}

static enum exec_code push_conjunct(struct plan *plan, struct plan_rel *rel, struct expr *conjunct,
                                    struct exec_error *err)
{
    const uint32_t left_count = rel->inputs[0]->schema.field_count;
    const uint32_t count = rel->both.field_count;
    struct expr *const *args;
    uint32_t arg_count;

    if (expr_is_call(conjunct, "and", &args, &arg_count)) {
        for (uint32_t i = 0; i < arg_count; i++) {
            if (push_conjunct(plan, rel, args[i], err) != EXEC_OK) {
                return err->code;
            }
        }
        return EXEC_OK;
    }
    const uint32_t *map = side_map(plan, left_count, count, err);
    bool left, right;
    if (map == NULL || !reads_sides(plan, conjunct, left_count, count, &left, &right, err)) {
        return err->code;
    }
    if (left && right && push_implied(plan, rel, conjunct, err) != EXEC_OK) {
        return err->code;
    }
    if (left == right || !residual_may_leave(rel->join_kind, right)) {
        return plan_and(plan, rel->residual, conjunct, &rel->residual, err);
    }
    struct expr *moved = plan_remap(plan, conjunct, map, err);
    return moved == NULL ? err->code : push_into(plan, rel->inputs[right], moved, err);
}

/* All or nothing: beside something that can raise nothing moves. */
static enum exec_code push_residual(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    struct expr *residual = rel->residual;

    if (residual == NULL || expr_can_raise(residual) ||
        expr_any_raises(rel->exprs, rel->key_count) ||
        expr_any_raises(rel->right_keys, rel->key_count) ||
        (rel->verdict != NULL && expr_can_raise(rel->verdict))) {
        return EXEC_OK;
    }
    rel->residual = NULL;
    return push_conjunct(plan, rel, residual, err);
}

static void fold_limit(struct plan_rel *limit)
{
    struct plan_rel *below = limit->inputs[0];
    const int64_t count = limit->spec->u.limit.count, offset = limit->spec->u.limit.offset;

    while (below->spec->kind == EXEC_REL_PROJECT && below->predicate_count == 0 &&
           !expr_any_raises(below->exprs, below->schema.field_count)) {
        below = below->inputs[0];
    }
    if (below->spec->kind != EXEC_REL_SORT || below->predicate_count != 0 || count < 0 ||
        count > INT64_MAX - offset) {
        return;
    }
    if (below->sort_limit >= 0) {
        return; /* a limit on a limit stays as it is written */
    }
    below->sort_limit = count;
    below->sort_offset = offset;
    limit->is_folded = true;
}

/* Building costs more than probing, and rows kept on the build side wait for a pipe of their own.
 */
static const double LEFT_SEMI_FACTOR = 4;
/* Two inner sides of equal counts: how many times fewer bytes the left one must have to be built.
 */
static const double INNER_MARGIN = 2;

double plan_row_bytes(const struct plan_rel *rel)
{
    double bytes = sizeof(uint64_t); /* the hash, or what a batch costs */

    for (uint32_t c = 0; c < rel->schema.field_count; c++) {
        bytes += rel->needed[c] ? (double)exec_type_width(rel->schema.fields[c].type.kind) : 0;
    }
    return bytes;
}

static bool wants_left(const struct plan_rel *rel)
{
    const struct plan_rel *left_input = rel->inputs[0], *right_input = rel->inputs[1];
    const bool known = left_input->rows >= 0 && right_input->rows >= 0;
    const double left = left_input->rows * plan_row_bytes(left_input);
    const double right = right_input->rows * plan_row_bytes(right_input);

    switch (rel->join_kind) {
        case EXEC_JOIN_RIGHT: return true;
        case EXEC_JOIN_INNER:
            /* Fewer rows first; between equal counts bytes must differ clearly, for the writer of a
             * join puts the side with distinct keys on the right. */
            return known && (left_input->rows < right_input->rows ? left < right
                                                                  : left * INNER_MARGIN < right);
        case EXEC_JOIN_LEFT_SEMI:
        case EXEC_JOIN_LEFT_ANTI:
        case EXEC_JOIN_LEFT_MARK:
        case EXEC_JOIN_LEFT_ANTI_NULL_AWARE:
            return known && rel->key_count != 0 && left * LEFT_SEMI_FACTOR < right;
        default: return false;
    }
}

static void choose_side(struct plan_rel *rel)
{
    const enum exec_build_side wish = rel->spec->u.join.build_side;

    rel->builds_left = wish == EXEC_BUILD_AUTO ? wants_left(rel) : wish == EXEC_BUILD_LEFT;
    rel->probe_kind = rel->join_kind;
    if (rel->join_kind == EXEC_JOIN_ASOF) {
        rel->probe_kind = rel->spec->u.join.asof.keep_unmatched ? EXEC_JOIN_LEFT : EXEC_JOIN_INNER;
        rel->builds_left = false;
    }
    if (!rel->builds_left) {
        return;
    }
    switch (rel->join_kind) {
        case EXEC_JOIN_INNER:
        case EXEC_JOIN_FULL: return;
        case EXEC_JOIN_LEFT: rel->probe_kind = EXEC_JOIN_RIGHT; return;
        case EXEC_JOIN_RIGHT: rel->probe_kind = EXEC_JOIN_LEFT; return;
        default: rel->emits_build = true; return;
    }
}

static void put_in_order(struct plan *plan, struct plan_rel *rel)
{
    for (uint32_t i = 0; i < rel->input_count; i++) {
        put_in_order(plan, rel->inputs[i]);
    }
    plan->ordered[plan->ordered_count++] = rel;
}

/* Who needs what and how many rows there are, after the tree has changed. */
enum exec_code plan_look_again(struct plan *plan, struct exec_error *err)
{
    plan->ordered_count = 0;
    put_in_order(plan, plan->root);
    for (uint32_t i = 0; i < plan->ordered_count; i++) {
        plan_estimate(plan->ordered[i]);
    }
    return plan_prune(plan, err);
}

static enum exec_code push_all(struct plan *plan, struct exec_error *err)
{
    for (uint32_t i = plan->rel_count; i-- > 0;) {
        struct plan_rel *rel = &plan->rels[i];
        enum exec_code code = EXEC_OK;

        err->code = EXEC_OK;
        switch (rel->spec->kind) {
            case EXEC_REL_LIMIT: fold_limit(rel); break;
            case EXEC_REL_FILTER: code = push_filter(plan, rel, err); break;
            case EXEC_REL_JOIN: code = push_residual(plan, rel, err); break;
            default: break;
        }
        if (code != EXEC_OK) {
            return plan_fail_rel(rel, err);
        }
    }
    return EXEC_OK;
}

/* Room for estimates, and the exact counts that there are already. */
static enum exec_code prepare(struct plan *plan, struct exec_error *err)
{
    bool knows_all = true;

    /* Ordering joins adds none but a projection a cluster, for whose joins others go; reducing adds
     * a scan and a semi join for a join and an aggregate. */
    plan->ordered = plan_calloc(plan, 3 * (size_t)plan->rel_count, sizeof(struct plan_rel *), err);
    if (plan->ordered == NULL) {
        return err->code;
    }
    for (uint32_t i = 0; i < plan->rel_count; i++) {
        struct plan_rel *rel = &plan->rels[i];
        rel->rows_base = rel->rows;
        rel->columns = plan_calloc(plan, rel->schema.field_count, sizeof *rel->columns, err);
        if (rel->columns == NULL) {
            return err->code;
        }
        if (rel->spec->kind == EXEC_REL_SCAN) {
            knows_all = knows_all && rel->rows >= 0;
            plan->rows_total += rel->rows;
        }
    }
    plan->rows_total = knows_all ? plan->rows_total : 0;
    return EXEC_OK;
}

enum exec_code plan_rewrite(struct plan *plan, struct exec_error *err)
{
    if (prepare(plan, err) != EXEC_OK || push_all(plan, err) != EXEC_OK ||
        plan_look_again(plan, err) != EXEC_OK || plan_reduce(plan, err) != EXEC_OK ||
        plan_order_joins(plan, err) != EXEC_OK || plan_look_again(plan, err) != EXEC_OK) {
        return err->code;
    }
    for (uint32_t i = 0; i < plan->ordered_count; i++) {
        if (plan->ordered[i]->spec->kind == EXEC_REL_JOIN) {
            choose_side(plan->ordered[i]);
        }
    }
    return EXEC_OK;
}
