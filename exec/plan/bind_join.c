#include "plan/plan.h"
#include "plan/spec.h"

#include <inttypes.h>

/* Joins: key pairs of one type each, the residual, the output's columns.
 *
 * Keys that hash alike but are compared exactly: an int64 and a float64 meet as float64, which
 * rounds, so their exact comparison joins the residual.
 *
 * Null-aware questions (mark, anti as of NOT IN) of more than one plain key and nothing else: the
 * plain keys leave the hash table and become the verdict, which says true, false or unknown of each
 * pair that the rest lets through:
 *
 *   (a, b) in (select c, d from r where P)   verdict a = c and b = d, residual P
 */

static enum exec_code join_supported(const struct plan_rel *rel, struct exec_error *err)
{
    if (rel->spec->u.join.strategy == EXEC_STRATEGY_RADIX_HASH) {
        return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED,
                         "join.strategy: RADIX_HASH is not implemented yet");
    }
    if (rel->join_kind == EXEC_JOIN_ASOF && rel->spec->u.join.build_side == EXEC_BUILD_LEFT) {
        return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED,
                         "join.build_side: LEFT is not implemented yet for as-of joins");
    }
    return EXEC_OK;
}

enum exec_code plan_and(struct plan *plan, struct expr *a, struct expr *b, struct expr **out,
                        struct exec_error *err)
{
    struct expr *const both[] = {a, b};

    if (a == NULL || b == NULL) {
        *out = a == NULL ? b : a;
        return EXEC_OK;
    }
    return expr_call(&plan->job->plan, "and", both, 2, out, err);
}

/* An expression over the right input as one over left columns, then right columns. */
static struct expr *right_of_both(struct plan *plan, const struct plan_rel *rel,
                                  const struct expr *expr, struct exec_error *err)
{
    const uint32_t count = rel->inputs[1]->schema.field_count;
    uint32_t *map = plan_calloc(plan, count, sizeof *map, err);

    for (uint32_t c = 0; map != NULL && c < count; c++) {
        map[c] = rel->inputs[0]->schema.field_count + c;
    }
    return map == NULL ? NULL : plan_remap(plan, expr, map, err);
}

/* left = right, as a condition over both inputs, anded to *condition. */
static enum exec_code add_comparison(struct plan *plan, const struct plan_rel *rel,
                                     const char *function, struct expr *left,
                                     const struct expr *right, struct expr **condition,
                                     struct exec_error *err)
{
    struct expr *sides[] = {left, right_of_both(plan, rel, right, err)}, *comparison;

    if (sides[1] == NULL ||
        expr_call(&plan->job->plan, function, sides, 2, &comparison, err) != EXEC_OK) {
        return err->code;
    }
    return plan_and(plan, *condition, comparison, condition, err);
}

static bool is_wide_integer(const struct exec_type *type)
{
    return type->kind == EXEC_TYPE_INT64 || type->kind == EXEC_TYPE_UINT64;
}

static bool is_float(const struct exec_type *type)
{
    return type->kind == EXEC_TYPE_FLOAT32 || type->kind == EXEC_TYPE_FLOAT64;
}

static enum exec_code add_key(struct plan *plan, struct plan_rel *rel, struct expr *left,
                              struct expr *right, bool nulls_equal, struct exec_error *err)
{
    const struct exec_type *a = expr_type(left), *b = expr_type(right);
    const uint32_t k = rel->key_count;
    struct exec_type common;

    expr_common_type(a, b, &common);
    if ((is_wide_integer(a) && is_float(b)) || (is_wide_integer(b) && is_float(a))) {
        if (add_comparison(plan, rel, nulls_equal ? "is_not_distinct_from" : "eq", left, right,
                           &rel->residual, err) != EXEC_OK) {
            return err->code;
        }
    }
    if (expr_cast(&plan->job->plan, left, &common, &rel->exprs[k], err) != EXEC_OK ||
        expr_cast(&plan->job->plan, right, &common, &rel->right_keys[k], err) != EXEC_OK) {
        return err->code;
    }
    rel->nulls_equal[k] = nulls_equal;
    rel->key_count++;
    return EXEC_OK;
}

struct key_pair {
    struct expr *left, *right;
    bool nulls_equal;
};

static enum exec_code bind_pair(struct plan *plan, struct plan_rel *rel, uint32_t k,
                                struct key_pair *pair, struct exec_error *err)
{
    const struct exec_join_key *key = &rel->spec->u.join.keys[k];
    char left_text[EXEC_TYPE_TEXT_BYTES], right_text[EXEC_TYPE_TEXT_BYTES];
    struct exec_type common;

    if (plan_bind_expr(plan, rel, key->left, &rel->inputs[0]->schema, &pair->left, err) !=
            EXEC_OK ||
        plan_bind_expr(plan, rel, key->right, &rel->inputs[1]->schema, &pair->right, err) !=
            EXEC_OK) {
        return err->code;
    }
    if (!expr_common_type(expr_type(pair->left), expr_type(pair->right), &common)) {
        EXEC_FAIL(err, EXEC_TYPE_MISMATCH, "join.keys %" PRIu32 ": %s and %s cannot be compared",
                  k + 1, exec_type_text(expr_type(pair->left), left_text),
                  exec_type_text(expr_type(pair->right), right_text));
        err->expr = key->left;
        return err->code;
    }
    pair->nulls_equal = key->nulls_equal;
    return EXEC_OK;
}

static bool is_null_aware(enum exec_join_kind kind)
{
    return kind == EXEC_JOIN_LEFT_MARK || kind == EXEC_JOIN_LEFT_ANTI_NULL_AWARE;
}

/* One plain key alone is answered by the hash table and a flag. */
static bool needs_verdict(const struct plan_rel *rel, const struct key_pair *pairs, uint32_t count)
{
    uint32_t plain = 0;

    for (uint32_t k = 0; k < count; k++) {
        plain += !pairs[k].nulls_equal;
    }
    if (!is_null_aware(rel->join_kind) || plain == 0) {
        return false;
    }
    if (count > 1 || rel->residual != NULL) {
        return true;
    }
    const struct exec_type *a = expr_type(pairs[0].left), *b = expr_type(pairs[0].right);
    return (is_wide_integer(a) && is_float(b)) || (is_wide_integer(b) && is_float(a));
}

static enum exec_code bind_keys(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    const uint32_t count = rel->spec->u.join.key_count;
    struct key_pair *pairs = plan_calloc(plan, count, sizeof *pairs, err);

    rel->exprs = plan_calloc(plan, EXEC_KEYS_MAX, sizeof(struct expr *), err);
    rel->right_keys = plan_calloc(plan, EXEC_KEYS_MAX, sizeof(struct expr *), err);
    rel->nulls_equal = plan_calloc(plan, EXEC_KEYS_MAX, sizeof *rel->nulls_equal, err);
    if (pairs == NULL || rel->exprs == NULL || rel->right_keys == NULL ||
        rel->nulls_equal == NULL) {
        return err->code;
    }
    for (uint32_t k = 0; k < count; k++) {
        if (bind_pair(plan, rel, k, &pairs[k], err) != EXEC_OK) {
            return err->code;
        }
    }
    const bool verdict = needs_verdict(rel, pairs, count);
    for (uint32_t k = 0; k < count; k++) {
        const enum exec_code code =
            verdict && !pairs[k].nulls_equal
                ? add_comparison(plan, rel, "eq", pairs[k].left, pairs[k].right, &rel->verdict, err)
                : add_key(plan, rel, pairs[k].left, pairs[k].right, pairs[k].nulls_equal, err);
        if (code != EXEC_OK) {
            return code;
        }
    }
    rel->is_exists = rel->verdict == NULL && (rel->key_count == 0 || rel->nulls_equal[0]);
    return EXEC_OK;
}

/* The values of an as-of join, behind the keys. */
static enum exec_code bind_asof(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    const struct exec_asof *asof = &rel->spec->u.join.asof;
    char left_text[EXEC_TYPE_TEXT_BYTES], right_text[EXEC_TYPE_TEXT_BYTES];
    struct expr *left, *right;
    struct exec_type common;

    if (rel->residual != NULL) {
        return EXEC_FAIL(err, EXEC_TYPE_MISMATCH,
                         "join.keys: an as-of join compares keys of one type only; cast int64 or "
                         "float64");
    }
    if (plan_bind_expr(plan, rel, asof->left, &rel->inputs[0]->schema, &left, err) != EXEC_OK ||
        plan_bind_expr(plan, rel, asof->right, &rel->inputs[1]->schema, &right, err) != EXEC_OK) {
        return err->code;
    }
    const struct exec_type *a = expr_type(left), *b = expr_type(right);
    if (!expr_common_type(a, b, &common) || (is_wide_integer(a) && is_float(b)) ||
        (is_wide_integer(b) && is_float(a))) {
        EXEC_FAIL(err, EXEC_TYPE_MISMATCH, "join.asof: %s and %s have no common order; cast one",
                  exec_type_text(a, left_text), exec_type_text(b, right_text));
        err->expr = asof->left;
        return err->code;
    }
    return expr_cast(&plan->job->plan, left, &common, &rel->exprs[rel->key_count], err) != EXEC_OK
               ? err->code
               : expr_cast(&plan->job->plan, right, &common, &rel->right_keys[rel->key_count], err);
}

/* ---- equations in the residual
 * ---------------------------------------------------------------------------------- */

/* Which inputs an expression over both reads: bit 0 the left, bit 1 the right. */
static uint32_t sides_of(struct plan *plan, const struct plan_rel *rel, const struct expr *expr,
                         struct exec_error *err)
{
    const uint32_t left_count = rel->inputs[0]->schema.field_count;
    bool *used = plan_calloc(plan, rel->both.field_count, sizeof *used, err);
    uint32_t sides = 0;

    if (used == NULL) {
        return 0;
    }
    expr_mark_columns(expr, used);
    for (uint32_t c = 0; c < rel->both.field_count; c++) {
        sides |= used[c] ? (c < left_count ? 1u : 2u) : 0u;
    }
    return sides;
}

/* Makes a key of the conjunct if it is left = right of one type. */
static enum exec_code take_equation(struct plan *plan, struct plan_rel *rel, struct expr *conjunct,
                                    bool *taken, struct exec_error *err)
{
    const uint32_t left_count = rel->inputs[0]->schema.field_count;
    struct expr *const *args;
    uint32_t arg_count;

    *taken = false;
    if (rel->key_count == EXEC_KEYS_MAX || !expr_is_call(conjunct, "eq", &args, &arg_count) ||
        !exec_type_equal(expr_type(args[0]), expr_type(args[1]))) {
        return EXEC_OK;
    }
    const uint32_t first = sides_of(plan, rel, args[0], err);
    const uint32_t second = sides_of(plan, rel, args[1], err);
    if (first == 0 || second == 0 || first == 3 || second == 3 || first == second) {
        return EXEC_OK;
    }
    uint32_t *map = plan_calloc(plan, rel->both.field_count, sizeof *map, err);
    if (map == NULL) {
        return err->code;
    }
    for (uint32_t c = 0; c < rel->both.field_count; c++) {
        map[c] = c < left_count ? c : c - left_count;
    }
    struct expr *left = plan_remap(plan, args[first == 1 ? 0 : 1], map, err);
    struct expr *right = plan_remap(plan, args[first == 1 ? 1 : 0], map, err);
    if (left == NULL || right == NULL) {
        return err->code;
    }
    *taken = true;
    return add_key(plan, rel, left, right, false, err);
}

/* *blocked: something that can raise stays before what follows, which must stay behind it. */
static enum exec_code take_conjunct(struct plan *plan, struct plan_rel *rel, struct expr *conjunct,
                                    bool *blocked, struct exec_error *err)
{
    struct expr *const *args;
    uint32_t arg_count;
    bool taken = false;

    if (expr_is_call(conjunct, "and", &args, &arg_count)) {
        for (uint32_t i = 0; i < arg_count; i++) {
            if (take_conjunct(plan, rel, args[i], blocked, err) != EXEC_OK) {
                return err->code;
            }
        }
        return EXEC_OK;
    }
    *blocked = *blocked || expr_can_raise(conjunct);
    if (!*blocked && take_equation(plan, rel, conjunct, &taken, err) != EXEC_OK) {
        return err->code;
    }
    return taken ? EXEC_OK : plan_and(plan, rel->residual, conjunct, &rel->residual, err);
}

/* A null-aware join of one plain key has no residual, so that no question changes its meaning. */
enum exec_code plan_join_keys(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    struct expr *residual = rel->residual;
    bool blocked = false;

    rel->residual = NULL;
    return residual == NULL ? EXEC_OK : take_conjunct(plan, rel, residual, &blocked, err);
}

enum exec_code plan_join_condition(struct plan *plan, struct plan_rel *rel, struct expr *condition,
                                   struct exec_error *err)
{
    bool blocked = rel->residual != NULL && expr_can_raise(rel->residual);

    return take_conjunct(plan, rel, condition, &blocked, err);
}

/* ---- the whole
 * --------------------------------------------------------------------------------------------- */

static enum exec_code join_schema(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    const struct exec_schema *left = &rel->inputs[0]->schema, *right = &rel->inputs[1]->schema;
    const enum exec_join_kind kind = rel->join_kind;
    const bool left_only = kind >= EXEC_JOIN_LEFT_SEMI && kind <= EXEC_JOIN_LEFT_ANTI_NULL_AWARE;
    const uint32_t right_count = !left_only ? right->field_count : kind == EXEC_JOIN_LEFT_MARK;
    struct exec_field *fields =
        plan_calloc(plan, left->field_count + right_count, sizeof *fields, err);

    if (fields == NULL) {
        return err->code;
    }
    for (uint32_t f = 0; f < left->field_count; f++) {
        fields[f] = left->fields[f];
        fields[f].not_null &= kind != EXEC_JOIN_RIGHT && kind != EXEC_JOIN_FULL;
    }
    for (uint32_t f = 0; f < right_count; f++) {
        struct exec_field *field = &fields[left->field_count + f];
        if (left_only) {
            *field = (struct exec_field){.name = "mark", .type = {.kind = EXEC_TYPE_BOOL}};
            continue;
        }
        *field = right->fields[f];
        field->not_null &= kind != EXEC_JOIN_LEFT && kind != EXEC_JOIN_FULL &&
                           !rel->spec->u.join.asof.keep_unmatched;
    }
    rel->schema = (struct exec_schema){fields, left->field_count + right_count};
    if (rel->schema.field_count > EXEC_COLUMNS_MAX) {
        return EXEC_FAIL(err, EXEC_LIMIT,
                         "the join has %" PRIu32 " columns, at most %d are allowed",
                         rel->schema.field_count, EXEC_COLUMNS_MAX);
    }
    return EXEC_OK;
}

enum exec_code plan_join_both(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    const struct exec_schema *left = &rel->inputs[0]->schema, *right = &rel->inputs[1]->schema;
    const uint32_t count = left->field_count + right->field_count;
    struct exec_field *fields = plan_calloc(plan, count, sizeof *fields, err);

    if (fields == NULL) {
        return err->code;
    }
    for (uint32_t f = 0; f < count; f++) {
        fields[f] = f < left->field_count ? left->fields[f] : right->fields[f - left->field_count];
    }
    rel->both = (struct exec_schema){.fields = fields, .field_count = count};
    return EXEC_OK;
}

enum exec_code plan_bind_join(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    const uint32_t residual = rel->spec->u.join.residual;
    const struct expr_scope both = {
        .inputs = {&rel->inputs[0]->schema, &rel->inputs[1]->schema},
        .input_count = 2,
    };

    rel->join_kind =
        rel->spec->u.join.kind == EXEC_JOIN_CROSS ? EXEC_JOIN_INNER : rel->spec->u.join.kind;
    if (join_supported(rel, err) != EXEC_OK || plan_join_both(plan, rel, err) != EXEC_OK) {
        return err->code;
    }
    if (residual != 0 &&
        (expr_bind(&plan->job->plan, plan->spec, residual, &both, &rel->residual, err) != EXEC_OK ||
         plan_need_bool(rel->residual, residual, "join.residual", err) != EXEC_OK)) {
        return err->code;
    }
    if (bind_keys(plan, rel, err) != EXEC_OK ||
        (rel->join_kind == EXEC_JOIN_ASOF ? bind_asof(plan, rel, err)
                                          : plan_join_keys(plan, rel, err)) != EXEC_OK) {
        return err->code;
    }
    return join_schema(plan, rel, err);
}
