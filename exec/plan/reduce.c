#include "plan/plan.h"

/* Semi joins where they save most.
 *
 *   groups       A join with an aggregate by its keys asks for few groups when its other side keeps
 *                few keys. Then the aggregate's input is first semi-joined with the table scan that
 *                says which (the magic sets of Mumick and Pirahesh, SIGMOD 1994; here only ever one
 *                scan with its predicates, which is cheap to run twice).
 *   semi joins   go below the inner join whose one side has their keys, where they keep a smaller
 *                share of that side than the inner join does. */

static const double SHARE_MOST = 0.5;         /* of its keys a scan keeps, to reduce by it */
static const double GROUPED_ROWS_LEAST = 1e4; /* fewer: not worth another pipe */

struct reducer {
    const struct plan_rel *scan;
    uint32_t column;
    double share; /* of its rows that pass its predicates */
};

static void consider(const struct plan_rel *scan, uint32_t column, struct reducer *best)
{
    if (scan->table == NULL || scan->predicate_count == 0 || scan->rows_base <= 0 ||
        expr_any_raises(scan->predicates, scan->predicate_count)) {
        return;
    }
    const double share = scan->rows / scan->rows_base;
    if (best->scan == NULL || share < best->share) {
        *best = (struct reducer){.scan = scan, .column = column, .share = share};
    }
}

static void look_for(const struct plan_rel *rel, uint32_t column, struct reducer *best);

/* Values that come out of a side of a join are values of that side, or null; where the row must
 * have a match they are values of the other side's key too. */
static void look_in_join(const struct plan_rel *rel, uint32_t column, struct reducer *best)
{
    const uint32_t left_count = rel->inputs[0]->schema.field_count;
    const bool in_right = column >= left_count;
    const enum exec_join_kind kind = rel->join_kind;
    const bool is_matched = kind == EXEC_JOIN_INNER || kind == EXEC_JOIN_LEFT_SEMI ||
                            (kind == EXEC_JOIN_LEFT && in_right) ||
                            (kind == EXEC_JOIN_RIGHT && !in_right);

    if (in_right && rel->schema.field_count == left_count + 1 && kind == EXEC_JOIN_LEFT_MARK) {
        return;
    }
    column -= in_right ? left_count : 0;
    look_for(rel->inputs[in_right], column, best);
    for (uint32_t k = 0; k < rel->key_count && is_matched; k++) {
        const struct expr *mine = in_right ? rel->right_keys[k] : rel->exprs[k];
        const struct expr *other = in_right ? rel->exprs[k] : rel->right_keys[k];
        uint32_t my_column, other_column;
        if (expr_is_column(mine, &my_column) && my_column == column && !rel->nulls_equal[k] &&
            expr_is_column(other, &other_column)) {
            look_for(rel->inputs[!in_right], other_column, best);
        }
    }
}

/* A scan one of whose columns has all values but null that `column` of rel's output has. */
static void look_for(const struct plan_rel *rel, uint32_t column, struct reducer *best)
{
    switch (rel->spec->kind) {
        case EXEC_REL_SCAN: consider(rel, column, best); return;
        case EXEC_REL_FILTER:
        case EXEC_REL_SORT:
        case EXEC_REL_LIMIT: look_for(rel->inputs[0], column, best); return;
        case EXEC_REL_PROJECT:
            if (expr_is_column(rel->exprs[column], &column)) {
                look_for(rel->inputs[0], column, best);
            }
            return;
        case EXEC_REL_JOIN: look_in_join(rel, column, best); return;
        default: return;
    }
}

/* The aggregate one of whose keys is `column` of rel's output, and which key that is; NULL: none,
 * or one that must see all its rows. */
static struct plan_rel *group_below(struct plan_rel *rel, uint32_t column, uint32_t *key_out)
{
    while (rel->spec->kind == EXEC_REL_FILTER || rel->spec->kind == EXEC_REL_PROJECT) {
        if ((rel->spec->kind == EXEC_REL_PROJECT &&
             (expr_any_raises(rel->exprs, rel->schema.field_count) ||
              !expr_is_column(rel->exprs[column], &column))) ||
            expr_any_raises(rel->predicates, rel->predicate_count)) {
            return NULL;
        }
        rel = rel->inputs[0];
    }
    if (rel->spec->kind != EXEC_REL_AGGREGATE || rel->spec->u.aggregate.set_count != 0 ||
        column >= rel->spec->u.aggregate.key_count ||
        expr_any_raises(rel->exprs, rel->spec->u.aggregate.key_count) ||
        expr_any_raises(rel->predicates, rel->predicate_count)) {
        return NULL;
    }
    for (uint32_t m = 0; m < rel->spec->u.aggregate.measure_count; m++) {
        const struct group_measure *measure = &rel->measures[m];
        if (measure->state != NULL ||
            (measure->argument != NULL && expr_can_raise(measure->argument)) ||
            (measure->filter != NULL && expr_can_raise(measure->filter)) ||
            expr_any_raises(measure->others, measure->other_count)) {
            return NULL;
        }
    }
    *key_out = column;
    return rel;
}

static struct plan_rel *copy_scan(struct plan *plan, const struct plan_rel *scan,
                                  struct exec_error *err)
{
    struct plan_rel *copy = &plan->rels[plan->rel_count++];

    *copy = *scan;
    table_ref(copy->table);
    plan->rows_total += plan->rows_total > 0 ? copy->rows_base : 0;
    copy->columns = plan_calloc(plan, copy->schema.field_count, sizeof *copy->columns, err);
    return copy->columns == NULL ? NULL : copy;
}

/* input semi join scan on key = the scan's column; NULL: out of memory. */
static struct plan_rel *semi_join(struct plan *plan, struct plan_rel *input, struct expr *key,
                                  struct plan_rel *scan, uint32_t column, uint32_t index,
                                  struct exec_error *err)
{
    struct plan_rel *semi = plan_calloc(plan, 1, sizeof *semi, err);
    struct exec_rel *spec = plan_calloc(plan, 1, sizeof *spec, err);

    if (semi == NULL || spec == NULL) {
        return NULL;
    }
    spec->kind = EXEC_REL_JOIN;
    spec->label = "only groups that are asked for";
    spec->u.join.kind = EXEC_JOIN_LEFT_SEMI;
    *semi = (struct plan_rel){.index = index,
                              .spec = spec,
                              .input_count = 2,
                              .schema = input->schema,
                              .rows = PLAN_ROWS_UNKNOWN,
                              .rows_base = PLAN_ROWS_UNKNOWN,
                              .key_count = 1,
                              .join_kind = EXEC_JOIN_LEFT_SEMI,
                              .sort_limit = -1,
                              .window_limit = -1};
    semi->inputs = plan_calloc(plan, 2, sizeof(struct plan_rel *), err);
    semi->exprs = plan_calloc(plan, 1, sizeof(struct expr *), err);
    semi->right_keys = plan_calloc(plan, 1, sizeof(struct expr *), err);
    semi->nulls_equal = plan_calloc(plan, 1, sizeof(bool), err);
    semi->columns = plan_calloc(plan, input->schema.field_count, sizeof *semi->columns, err);
    if (semi->inputs == NULL || semi->exprs == NULL || semi->right_keys == NULL ||
        semi->nulls_equal == NULL || semi->columns == NULL) {
        return NULL;
    }
    semi->inputs[0] = input;
    semi->inputs[1] = scan;
    if (plan_join_both(plan, semi, err) != EXEC_OK) {
        return NULL;
    }
    semi->exprs[0] = key;
    semi->right_keys[0] = expr_column(&plan->job->plan, column, &scan->schema.fields[column].type);
    if (semi->right_keys[0] == NULL) {
        plan_no_memory(plan, err);
        return NULL;
    }
    return semi;
}

static enum exec_code reduce_groups(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    struct reducer best = {.scan = NULL};
    struct plan_rel *group = NULL;
    uint32_t group_key = 0;

    if (rel->join_kind != EXEC_JOIN_INNER && rel->join_kind != EXEC_JOIN_LEFT &&
        rel->join_kind != EXEC_JOIN_LEFT_SEMI) {
        return EXEC_OK;
    }
    for (uint32_t k = 0; k < rel->key_count; k++) {
        struct reducer found = {.scan = NULL};
        uint32_t left, right, key;
        if (rel->nulls_equal[k] || !expr_is_column(rel->exprs[k], &left) ||
            !expr_is_column(rel->right_keys[k], &right)) {
            continue;
        }
        struct plan_rel *below = group_below(rel->inputs[1], right, &key);
        look_for(rel->inputs[0], left, &found);
        if (below != NULL && found.scan != NULL &&
            exec_type_equal(expr_type(below->exprs[key]),
                            &found.scan->schema.fields[found.column].type) &&
            (best.scan == NULL || found.share < best.share)) {
            best = found;
            group = below;
            group_key = key;
        }
    }
    if (best.scan == NULL || best.share > SHARE_MOST ||
        group->inputs[0]->rows < GROUPED_ROWS_LEAST ||
        group->inputs[0]->rows < best.scan->rows_base) {
        return EXEC_OK;
    }
    struct plan_rel *scan = copy_scan(plan, best.scan, err);
    struct plan_rel *semi = scan == NULL
                                ? NULL
                                : semi_join(plan, group->inputs[0], group->exprs[group_key], scan,
                                            best.column, rel->index, err);
    if (semi == NULL) {
        return err->code;
    }
    group->inputs[0] = semi;
    return EXEC_OK;
}

/* ---- semi joins below inner joins ------------------------------------------------------------ */

/* The side of the inner join below which all left keys of the semi join come from; 2: both, or it
 * can't go there. */
static uint32_t side_of_keys(struct plan *plan, const struct plan_rel *semi,
                             const struct plan_rel *inner, struct exec_error *err)
{
    const uint32_t count = inner->schema.field_count;
    bool *used = plan_calloc(plan, count, sizeof *used, err);
    bool sides[2] = {false, false};

    if (used == NULL || semi->residual != NULL || semi->verdict != NULL || semi->key_count == 0 ||
        inner->spec->kind != EXEC_REL_JOIN || inner->join_kind != EXEC_JOIN_INNER ||
        (inner->residual != NULL && expr_can_raise(inner->residual)) ||
        expr_any_raises(inner->exprs, inner->key_count) ||
        expr_any_raises(inner->right_keys, inner->key_count) ||
        expr_any_raises(inner->predicates, inner->predicate_count) ||
        expr_any_raises(semi->exprs, semi->key_count) ||
        expr_any_raises(semi->right_keys, semi->key_count)) {
        return 2;
    }
    for (uint32_t k = 0; k < semi->key_count; k++) {
        expr_mark_columns(semi->exprs[k], used);
    }
    const uint32_t left_count = inner->inputs[0]->schema.field_count;
    for (uint32_t c = 0; c < count; c++) {
        sides[c >= left_count] |= used[c];
    }
    return sides[0] == sides[1] ? 2 : sides[1];
}

/* The semi join, over one side of the inner join below it. */
static struct plan_rel *moved_to(struct plan *plan, const struct plan_rel *semi,
                                 struct plan_rel *inner, uint32_t side, struct exec_error *err)
{
    struct plan_rel *input = inner->inputs[side];
    const uint32_t offset = side == 0 ? 0 : inner->inputs[0]->schema.field_count;
    struct plan_rel *moved = plan_calloc(plan, 1, sizeof *moved, err);
    uint32_t *map = plan_calloc(plan, inner->schema.field_count, sizeof *map, err);

    if (moved == NULL || map == NULL) {
        return NULL;
    }
    for (uint32_t c = 0; c < inner->schema.field_count; c++) {
        map[c] = c < offset ? 0 : c - offset;
    }
    *moved = *semi;
    moved->schema = input->schema;
    moved->predicates = NULL;
    moved->predicate_count = moved->pushed_count = 0;
    moved->rows = PLAN_ROWS_UNKNOWN;
    moved->inputs = plan_calloc(plan, 2, sizeof(struct plan_rel *), err);
    moved->columns = plan_calloc(plan, input->schema.field_count, sizeof *moved->columns, err);
    moved->exprs = plan_remap_all(plan, semi->exprs, semi->key_count, map, err);
    if (moved->inputs == NULL || moved->columns == NULL || moved->exprs == NULL) {
        return NULL;
    }
    moved->inputs[0] = input;
    moved->inputs[1] = semi->inputs[1];
    return plan_join_both(plan, moved, err) == EXEC_OK ? moved : NULL;
}

/* The inner join takes the place of `rel`, the semi join goes to its side. */
static enum exec_code change_places(struct plan *plan, struct plan_rel *rel, uint32_t side,
                                    struct plan_rel **moved_out, struct exec_error *err)
{
    struct plan_rel *inner = rel->inputs[0];
    struct plan_rel *moved = moved_to(plan, rel, inner, side, err);
    struct plan_rel **inputs = plan_calloc(plan, 2, sizeof(struct plan_rel *), err);
    struct expr *const *predicates = rel->predicates;
    const uint32_t predicate_count = rel->predicate_count;

    if (moved == NULL || inputs == NULL) {
        return err->code;
    }
    inputs[side] = moved;
    inputs[!side] = inner->inputs[!side];
    *rel = *inner;
    rel->inputs = inputs;
    for (uint32_t i = 0; i < predicate_count; i++) {
        if (plan_add_predicate(plan, rel, predicates[i], err) != EXEC_OK) {
            return err->code;
        }
        rel->pushed_count++;
    }
    *moved_out = moved;
    return EXEC_OK;
}

static enum exec_code lower_semi(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    const double share = rel->rows / rel->inputs[0]->rows;

    while (rel->inputs[0]->rows > 0) {
        const struct plan_rel *inner = rel->inputs[0];
        const uint32_t side = side_of_keys(plan, rel, inner, err);
        if (side == 2 || share * inner->inputs[side]->rows > inner->rows) {
            return EXEC_OK;
        }
        if (change_places(plan, rel, side, &rel, err) != EXEC_OK) {
            return err->code;
        }
    }
    return EXEC_OK;
}

enum exec_code plan_reduce(struct plan *plan, struct exec_error *err)
{
    for (uint32_t i = plan->ordered_count; i-- > 0;) {
        struct plan_rel *rel = plan->ordered[i];
        if (rel->spec->kind == EXEC_REL_JOIN && reduce_groups(plan, rel, err) != EXEC_OK) {
            return plan_fail_rel(rel, err);
        }
    }
    if (plan_look_again(plan, err) != EXEC_OK) {
        return err->code;
    }
    for (uint32_t i = plan->ordered_count; i-- > 0;) {
        struct plan_rel *rel = plan->ordered[i];
        const bool is_semi =
            rel->spec->kind == EXEC_REL_JOIN &&
            (rel->join_kind == EXEC_JOIN_LEFT_SEMI || rel->join_kind == EXEC_JOIN_LEFT_ANTI);
        if (is_semi && lower_semi(plan, rel, err) != EXEC_OK) {
            return plan_fail_rel(rel, err);
        }
    }
    return plan_look_again(plan, err);
}
