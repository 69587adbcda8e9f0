#include "plan/plan.h"

#include <math.h>

/* Row counts and distinct values before anything has run. Counts of tables and generators are
 * exact, files are guessed from their bytes; distinct values come from a table's statistics, or
 * from its bounds where these are narrow; everything above from the rules below. Good enough to
 * choose orders and build sides. */

static const double SELECTIVITY = PLAN_SELECTIVITY_UNKNOWN;
static const double PLAN_ROWS_MAX = 1e100; /* products of those stay finite */
static const double EQUAL_SELECTIVITY = 0.1;
static const double NULL_SELECTIVITY = 0.1;
static const double RANGE_LEAST = 1e-4; /* of a column's values, between two ends */
static const double UNKNOWN_SEMI_SHARE = 0.5;
static const double GROUP_EXPONENT = 0.75; /* groups of rows whose keys nothing is known of */

double plan_distinct(const struct plan_rel *rel, const struct expr *expr)
{
    uint32_t column;

    return rel->columns != NULL && expr_is_column(expr, &column) ? rel->columns[column].distinct
                                                                 : 0;
}

/* ---- predicates
 * ------------------------------------------------------------------------------------------ */

static double selectivity(const struct plan_rel *rel, const struct expr *predicate);

/* A comparison of a column with a number: one end of a range, and the share of values it passes. */
struct range_end {
    uint32_t column;
    bool below; /* the column is to be below the number */
    double share;
};

/* By the bounds; false: not of that form, or nothing is known. */
static bool range_end(const struct plan_rel *rel, struct expr *const *args, bool below,
                      struct range_end *out)
{
    double number;

    out->below = below;
    if (!expr_is_column(args[0], &out->column) || !expr_is_number(args[1], &number)) {
        out->below = !below;
        if (!expr_is_column(args[1], &out->column) || !expr_is_number(args[0], &number)) {
            return false;
        }
    }
    const struct column_estimate *estimate = &rel->columns[out->column];
    if (!estimate->has_bounds) {
        return false;
    }
    const double width = estimate->max - estimate->min;
    const double part = width <= 0 ? 0.5 : (number - estimate->min) / width;
    if (isnan(part)) {
        return false; /* infinite bounds say nothing */
    }
    out->share = fmin(fmax(out->below ? part : 1 - part, 0), 1);
    return true;
}

static bool range_end_of(const struct plan_rel *rel, const struct expr *predicate,
                         struct range_end *out)
{
    struct expr *const *args;
    uint32_t count;

    if (rel->columns == NULL) {
        return false;
    }
    if (expr_is_call(predicate, "lt", &args, &count) ||
        expr_is_call(predicate, "le", &args, &count)) {
        return range_end(rel, args, true, out);
    }
    return (expr_is_call(predicate, "gt", &args, &count) ||
            expr_is_call(predicate, "ge", &args, &count)) &&
           range_end(rel, args, false, out);
}

static double equal_selectivity(const struct plan_rel *rel, struct expr *const *args)
{
    const double a = plan_distinct(rel, args[0]), b = plan_distinct(rel, args[1]);
    const double distinct = a > b ? a : b;

    return distinct > 0 ? 1 / distinct : EQUAL_SELECTIVITY;
}

static double logic_selectivity(const struct plan_rel *rel, struct expr *const *args,
                                uint32_t arg_count, bool is_and)
{
    double passing = 1;

    for (uint32_t i = 0; i < arg_count; i++) {
        const double one = selectivity(rel, args[i]);
        passing *= is_and ? one : 1 - one;
    }
    return is_and ? passing : 1 - passing;
}

static double call_selectivity(const struct plan_rel *rel, const struct expr *predicate)
{
    struct expr *const *args;
    struct range_end end;
    uint32_t count;

    if (expr_is_call(predicate, "and", &args, &count)) {
        return logic_selectivity(rel, args, count, true);
    }
    if (expr_is_call(predicate, "or", &args, &count)) {
        return logic_selectivity(rel, args, count, false);
    }
    if (expr_is_call(predicate, "not", &args, &count)) {
        return 1 - selectivity(rel, args[0]);
    }
    if (expr_is_call(predicate, "eq", &args, &count) ||
        expr_is_call(predicate, "is_not_distinct_from", &args, &count)) {
        return equal_selectivity(rel, args);
    }
    if (expr_is_call(predicate, "ne", &args, &count)) {
        return 1 - equal_selectivity(rel, args);
    }
    if (expr_is_call(predicate, "is_null", &args, &count)) {
        return NULL_SELECTIVITY;
    }
    if (expr_is_call(predicate, "is_not_null", &args, &count)) {
        return 1 - NULL_SELECTIVITY;
    }
    return range_end_of(rel, predicate, &end) ? end.share : SELECTIVITY;
}

/* Of predicate i, on the rows that the earlier ones leave. Two ends of one range do not act each
 * for itself: the share between a lower end that passes a and an upper end that passes b of the
 * values is a + b - 1. */
static double next_selectivity(const struct plan_rel *rel, uint32_t i)
{
    struct range_end end, other;

    if (!range_end_of(rel, rel->predicates[i], &end)) {
        return selectivity(rel, rel->predicates[i]);
    }
    for (uint32_t k = 0; k < i; k++) {
        if (range_end_of(rel, rel->predicates[k], &other) && other.column == end.column &&
            other.below != end.below && other.share > 0) {
            return fmax(end.share + other.share - 1, RANGE_LEAST) / other.share;
        }
    }
    return end.share;
}

static double selectivity(const struct plan_rel *rel, const struct expr *predicate)
{
    return rel->columns == NULL ? SELECTIVITY : call_selectivity(rel, predicate);
}

/* ---- joins
 * -----------------------------------------------------------------------------------------------
 */

/* Values of the side with fewer are taken to occur on the other. A side cannot have more
 * combinations of values than rows; where that is all one knows, the other side's answer counts. */
double plan_keys_selectivity(const struct key_side *left, const struct key_side *right,
                             uint32_t key_count)
{
    double a = 1, b = 1;

    for (uint32_t k = 0; k < key_count; k++) {
        const double x = left->distinct[k], y = right->distinct[k];
        a *= x > 0 ? x : y > 0 ? y : 1;
        b *= y > 0 ? y : x > 0 ? x : 1;
    }
    const bool unknown = a == 1 && b == 1; /* then a key of one side refers to the other */
    const bool a_bound = unknown || a > left->rows, b_bound = unknown || b > right->rows;
    double distinct = a_bound ? b : b_bound ? a : fmax(a, b);
    if (a_bound && b_bound) {
        distinct = fmin(left->rows, right->rows);
    }
    return distinct > 1 ? 1 / distinct : 1;
}

static double inner_rows(const struct plan_rel *rel)
{
    const struct plan_rel *left = rel->inputs[0], *right = rel->inputs[1];
    double a[EXEC_KEYS_MAX], b[EXEC_KEYS_MAX];
    double rows = left->rows * right->rows;

    for (uint32_t k = 0; k < rel->key_count; k++) {
        a[k] = plan_distinct(left, rel->exprs[k]);
        b[k] = plan_distinct(right, rel->right_keys[k]);
    }
    if (rel->key_count != 0) {
        const struct key_side left_side = {a, left->rows_base}, right_side = {b, right->rows_base};
        rows *= plan_keys_selectivity(&left_side, &right_side, rel->key_count);
    }
    return rel->residual == NULL ? rows : rows * SELECTIVITY;
}

/* Of the left rows: the share of its own rows that the right side has kept, for the left side
 * refers to them; half where nothing was asked of it. */
static double semi_share(const struct plan_rel *rel)
{
    const struct plan_rel *right = rel->inputs[1];

    return rel->key_count == 0 || right->rows_base <= 0
               ? UNKNOWN_SEMI_SHARE
               : fmin(right->rows / right->rows_base, UNKNOWN_SEMI_SHARE);
}

static double join_rows(const struct plan_rel *rel)
{
    const double left = rel->inputs[0]->rows, right = rel->inputs[1]->rows;
    const double inner = inner_rows(rel);

    switch (rel->join_kind) {
        case EXEC_JOIN_LEFT: return fmax(left, inner);
        case EXEC_JOIN_RIGHT: return fmax(right, inner);
        case EXEC_JOIN_FULL: return fmax(fmax(left, right), inner);
        case EXEC_JOIN_ASOF:
        case EXEC_JOIN_LEFT_MARK: return left;
        case EXEC_JOIN_LEFT_SEMI: return left * semi_share(rel);
        case EXEC_JOIN_LEFT_ANTI:
        case EXEC_JOIN_LEFT_ANTI_NULL_AWARE: return left * (1 - semi_share(rel));
        default: return inner;
    }
}

/* ---- groups
 * ---------------------------------------------------------------------------------------------- */

static double groups_of(const struct plan_rel *input, struct expr *const *keys,
                        const uint32_t *numbers, uint32_t key_count)
{
    double groups = 1;

    for (uint32_t k = 0; k < key_count; k++) {
        const double distinct = plan_distinct(input, keys[numbers == NULL ? k : numbers[k] - 1]);
        if (distinct <= 0) {
            return ceil(pow(input->rows, GROUP_EXPONENT));
        }
        groups *= distinct;
    }
    return fmin(groups, input->rows);
}

static double group_rows(const struct plan_rel *rel, uint32_t key_count)
{
    return groups_of(rel->inputs[0], rel->exprs, NULL, key_count);
}

double plan_set_rows(const struct plan_rel *rel, const struct exec_grouping_set *set)
{
    return set->key_count == 0 ? 1
                               : groups_of(rel->inputs[0], rel->exprs, set->keys, set->key_count);
}

/* Of all grouping sets. */
static double aggregate_rows(const struct plan_rel *rel)
{
    const struct exec_rel *spec = rel->spec;
    double rows = 0;

    if (spec->u.aggregate.set_count == 0) {
        return group_rows(rel, spec->u.aggregate.key_count);
    }
    for (uint32_t s = 0; s < spec->u.aggregate.set_count; s++) {
        rows += plan_set_rows(rel, &spec->u.aggregate.sets[s]);
    }
    return rows;
}

/* ---- columns
 * --------------------------------------------------------------------------------------------- */

static void scan_columns(struct plan_rel *rel)
{
    for (uint32_t c = 0; rel->table != NULL && c < rel->schema.field_count; c++) {
        const struct column_stats *stats = &rel->table->stats[rel->source_columns[c]];
        struct column_estimate *out = &rel->columns[c];
        const enum exec_type_kind kind = rel->schema.fields[c].type.kind;
        const bool is_float = kind == EXEC_TYPE_FLOAT32 || kind == EXEC_TYPE_FLOAT64;
        const bool is_unsigned =
            kind == EXEC_TYPE_BOOL || (kind >= EXEC_TYPE_UINT8 && kind <= EXEC_TYPE_UINT64);

        out->stats = stats;
        out->has_bounds = stats->has_bounds;
        out->min = is_float      ? stats->min.f64
                   : is_unsigned ? (double)stats->min.u64
                                 : (double)stats->min.i64;
        out->max = is_float      ? stats->max.f64
                   : is_unsigned ? (double)stats->max.u64
                                 : (double)stats->max.i64;
        out->distinct = (double)stats->distinct_estimate;
        if (out->has_bounds && !is_float) {
            const double most = fmin(out->max - out->min + 1, rel->rows_base);
            out->distinct = out->distinct == 0 ? most : fmin(out->distinct, most);
        }
    }
}

static void copy_columns(struct plan_rel *rel, const struct plan_rel *input, uint32_t at)
{
    for (uint32_t c = 0; c < input->schema.field_count && at + c < rel->schema.field_count; c++) {
        rel->columns[at + c] = input->columns[c];
    }
}

/* Sides that an outer join pads with nulls. */
static void mark_null_sides(struct plan_rel *rel)
{
    const uint32_t left_count = rel->inputs[0]->schema.field_count;

    for (uint32_t c = 0; c < rel->schema.field_count; c++) {
        switch (rel->join_kind) {
            case EXEC_JOIN_LEFT:
            case EXEC_JOIN_ASOF: rel->columns[c].gains_nulls |= c >= left_count; break;
            case EXEC_JOIN_RIGHT: rel->columns[c].gains_nulls |= c < left_count; break;
            case EXEC_JOIN_FULL: rel->columns[c].gains_nulls = true; break;
            case EXEC_JOIN_INNER:
            case EXEC_JOIN_CROSS: break;
            default: /* a mark is no column of the right side */
                rel->columns[c].stats = c < left_count ? rel->columns[c].stats : NULL;
                break;
        }
    }
}

static void expr_columns(struct plan_rel *rel, struct expr *const *exprs, uint32_t count)
{
    for (uint32_t c = 0; c < count; c++) {
        uint32_t column;
        if (expr_is_column(exprs[c], &column)) {
            rel->columns[c] = rel->inputs[0]->columns[column];
        }
    }
}

static void estimate_columns(struct plan_rel *rel)
{
    switch (rel->spec->kind) {
        case EXEC_REL_SCAN: scan_columns(rel); break;
        case EXEC_REL_PROJECT: expr_columns(rel, rel->exprs, rel->schema.field_count); break;
        case EXEC_REL_AGGREGATE:
            expr_columns(rel, rel->exprs, rel->spec->u.aggregate.key_count);
            for (uint32_t k = 0; k < rel->spec->u.aggregate.key_count; k++) {
                rel->columns[k].gains_nulls = true; /* keys of grouping sets may be left out */
            }
            break;
        case EXEC_REL_JOIN:
            copy_columns(rel, rel->inputs[0], 0);
            if (rel->schema.field_count ==
                rel->inputs[0]->schema.field_count + rel->inputs[1]->schema.field_count) {
                copy_columns(rel, rel->inputs[1], rel->inputs[0]->schema.field_count);
            }
            mark_null_sides(rel);
            break;
        case EXEC_REL_UNION_ALL: break;
        default: copy_columns(rel, rel->inputs[0], 0); break;
    }
}

/* ---- one relation
 * ---------------------------------------------------------------------------------------- */

static void estimate_rows(struct plan_rel *rel)
{
    const double input = rel->input_count == 0 ? PLAN_ROWS_UNKNOWN : rel->inputs[0]->rows;
    const struct exec_rel *spec = rel->spec;

    switch (spec->kind) {
        case EXEC_REL_PROJECT:
        case EXEC_REL_SORT:
            rel->rows = input;
            rel->rows_exact = rel->inputs[0]->rows_exact;
            break;
        case EXEC_REL_JOIN:
            /* The order was found from better figures: those of all inputs at once. */
            rel->rows = ceil(rel->is_reordered ? rel->rows : join_rows(rel));
            rel->rows_exact = spec->u.join.kind == EXEC_JOIN_CROSS && rel->key_count == 0 &&
                              rel->residual == NULL && rel->inputs[0]->rows_exact &&
                              rel->inputs[1]->rows_exact;
            break;
        case EXEC_REL_AGGREGATE: rel->rows = aggregate_rows(rel); break;
        case EXEC_REL_DISTINCT: rel->rows = group_rows(rel, rel->schema.field_count); break;
        case EXEC_REL_WINDOW:
            rel->rows = input;
            rel->rows_exact = rel->inputs[0]->rows_exact && rel->window_limit < 0;
            break;
        case EXEC_REL_FILTER:
        case EXEC_REL_LIMIT: rel->rows = input; break;
        case EXEC_REL_UNION_ALL:
            rel->rows = 0;
            for (uint32_t i = 0; i < rel->input_count; i++) {
                rel->rows += rel->inputs[i]->rows;
            }
            break;
        default: rel->rows = rel->rows_base; break;
    }
}

static void apply_limits(struct plan_rel *rel)
{
    const struct exec_rel *spec = rel->spec;

    if (spec->kind == EXEC_REL_SORT && rel->sort_limit >= 0 &&
        (double)rel->sort_limit < rel->rows) {
        rel->rows = (double)rel->sort_limit;
    }
    if (spec->kind == EXEC_REL_WINDOW && rel->window_limit >= 0) {
        rel->rows = fmin(rel->rows, (double)rel->window_limit *
                                        group_rows(rel, spec->u.window.partition_count));
    }
    if (spec->kind == EXEC_REL_LIMIT && spec->u.limit.count >= 0 &&
        (double)spec->u.limit.count < rel->rows) {
        rel->rows = (double)spec->u.limit.count;
    }
}

void plan_estimate(struct plan_rel *rel)
{
    if (rel->spec->kind == EXEC_REL_AGGREGATE && rel->spec->u.aggregate.key_count == 0) {
        const uint32_t sets = rel->spec->u.aggregate.set_count;
        rel->rows = rel->rows_base = sets == 0 ? 1 : sets;
        rel->rows_exact = true;
        return;
    }
    for (uint32_t i = 0; i < rel->input_count; i++) {
        if (rel->inputs[i]->rows < 0) {
            return;
        }
    }
    if (rel->spec->kind == EXEC_REL_SCAN && rel->rows_base < 0) {
        return;
    }
    estimate_rows(rel);
    estimate_columns(rel);
    for (uint32_t i = 0; i < rel->predicate_count; i++) {
        rel->rows = ceil(rel->rows * next_selectivity(rel, i));
        rel->rows_exact = false;
    }
    rel->rows = fmin(rel->rows, PLAN_ROWS_MAX);
    apply_limits(rel);
    if (rel->spec->kind == EXEC_REL_FILTER || rel->spec->kind == EXEC_REL_PROJECT) {
        rel->rows_base = rel->inputs[0]->rows_base;
    } else if (rel->spec->kind != EXEC_REL_SCAN) {
        rel->rows_base = rel->rows;
    }
    for (uint32_t c = 0; c < rel->schema.field_count; c++) {
        rel->columns[c].distinct = fmin(rel->columns[c].distinct, fmax(rel->rows, 1));
    }
}
