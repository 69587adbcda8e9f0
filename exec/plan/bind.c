#include "plan/plan.h"
#include "plan/spec.h"

#include <inttypes.h>
#include <string.h>

/* Names to columns, types everywhere; one function a kind of relation. Inputs are bound before
 * their users because a plan refers backwards only. */

static enum exec_code bind_expr(struct plan *plan, const struct plan_rel *rel, uint32_t index,
                                const struct exec_schema *input, struct expr **out,
                                struct exec_error *err)
{
    const struct expr_scope scope = {.inputs = {input}, .input_count = 1};

    if (expr_bind(&plan->job->plan, plan->spec, index, &scope, out, err) == EXEC_OK) {
        return EXEC_OK;
    }
    return plan_fail_rel(rel, err);
}

static enum exec_code need_bool(const struct expr *expr, uint32_t index, const char *field,
                                struct exec_error *err)
{
    char text[EXEC_TYPE_TEXT_BYTES];

    if (expr_type(expr)->kind == EXEC_TYPE_BOOL) {
        return EXEC_OK;
    }
    EXEC_FAIL(err, EXEC_TYPE_MISMATCH, "%s is %s, it must be bool", field,
              exec_type_text(expr_type(expr), text));
    err->expr = index;
    return err->code;
}

enum exec_code plan_add_predicate(struct plan *plan, struct plan_rel *rel, struct expr *predicate,
                                  struct exec_error *err)
{
    struct expr **more = plan_calloc(plan, rel->predicate_count + 1, sizeof(struct expr *), err);

    if (more == NULL) {
        return err->code;
    }
    for (uint32_t i = 0; i < rel->predicate_count; i++) {
        more[i] = rel->predicates[i];
    }
    more[rel->predicate_count++] = predicate;
    rel->predicates = more;
    return EXEC_OK;
}

/* Conjunctions are taken apart: each part is a predicate of its own, evaluated in the order
 * written, on the rows the earlier ones left. */
enum exec_code plan_bind_predicate(struct plan *plan, struct plan_rel *rel, uint32_t index,
                                   const struct exec_schema *input, struct exec_error *err)
{
    const struct exec_expr *spec = &plan->spec->exprs[index - 1];
    struct expr *bound;

    if (spec->kind == EXEC_EXPR_CALL && strcmp(spec->u.call.function, "and") == 0 &&
        spec->u.call.arg_count != 0) {
        for (uint32_t i = 0; i < spec->u.call.arg_count; i++) {
            if (plan_bind_predicate(plan, rel, spec->u.call.args[i], input, err) != EXEC_OK) {
                return err->code;
            }
        }
        return EXEC_OK;
    }
    if (bind_expr(plan, rel, index, input, &bound, err) != EXEC_OK ||
        need_bool(bound, index, "the predicate", err) != EXEC_OK) {
        return err->code;
    }
    return plan_add_predicate(plan, rel, bound, err);
}

static enum exec_code bind_project(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    const uint32_t count = rel->spec->u.project.expr_count;
    struct exec_field *fields = plan_calloc(plan, count, sizeof *fields, err);

    rel->exprs = plan_calloc(plan, count, sizeof(struct expr *), err);
    if (fields == NULL || rel->exprs == NULL) {
        return err->code;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct exec_named_expr *named = &rel->spec->u.project.exprs[i];
        if (bind_expr(plan, rel, named->expr, &rel->inputs[0]->schema, &rel->exprs[i], err) !=
            EXEC_OK) {
            return err->code;
        }
        fields[i] = (struct exec_field){.name = named->name, .type = *expr_type(rel->exprs[i])};
    }
    rel->schema = (struct exec_schema){.fields = fields, .field_count = count};
    return EXEC_OK;
}

/* ---- joins
 * ------------------------------------------------------------------------------------------ */

static enum exec_code join_supported(const struct plan_rel *rel, struct exec_error *err)
{
    const char *kind = spec_join_name(rel->spec->u.join.kind);

    if (rel->spec->u.join.kind == EXEC_JOIN_CROSS || rel->spec->u.join.kind == EXEC_JOIN_ASOF) {
        return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED, "join.kind: %s is not implemented yet", kind);
    }
    if (rel->spec->u.join.key_count == 0) {
        return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED,
                         "join.keys: a %s join without keys is not implemented yet", kind);
    }
    if (rel->spec->u.join.strategy == EXEC_STRATEGY_RADIX_HASH) {
        return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED,
                         "join.strategy: RADIX_HASH is not implemented yet");
    }
    return EXEC_OK;
}

static enum exec_code join_key(struct plan *plan, struct plan_rel *rel, uint32_t k,
                               struct exec_error *err)
{
    const struct exec_join_key *key = &rel->spec->u.join.keys[k];
    char left_text[EXEC_TYPE_TEXT_BYTES], right_text[EXEC_TYPE_TEXT_BYTES];
    struct expr *left, *right;
    struct exec_type common;

    if (bind_expr(plan, rel, key->left, &rel->inputs[0]->schema, &left, err) != EXEC_OK ||
        bind_expr(plan, rel, key->right, &rel->inputs[1]->schema, &right, err) != EXEC_OK) {
        return err->code;
    }
    if (!expr_common_type(expr_type(left), expr_type(right), &common)) {
        EXEC_FAIL(err, EXEC_TYPE_MISMATCH, "join.keys %" PRIu32 ": %s and %s cannot be compared",
                  k + 1, exec_type_text(expr_type(left), left_text),
                  exec_type_text(expr_type(right), right_text));
        err->expr = key->left;
        return err->code;
    }
    if (expr_cast(&plan->job->plan, left, &common, &rel->exprs[k], err) != EXEC_OK ||
        expr_cast(&plan->job->plan, right, &common, &rel->right_keys[k], err) != EXEC_OK) {
        return err->code;
    }
    return EXEC_OK;
}

static enum exec_code join_schema(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    const struct exec_schema *left = &rel->inputs[0]->schema, *right = &rel->inputs[1]->schema;
    const enum exec_join_kind kind = rel->spec->u.join.kind;
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
        field->not_null &= kind != EXEC_JOIN_LEFT && kind != EXEC_JOIN_FULL;
    }
    rel->schema = (struct exec_schema){fields, left->field_count + right_count};
    if (rel->schema.field_count > EXEC_COLUMNS_MAX) {
        return EXEC_FAIL(err, EXEC_LIMIT,
                         "the join has %" PRIu32 " columns, at most %d are allowed",
                         rel->schema.field_count, EXEC_COLUMNS_MAX);
    }
    return EXEC_OK;
}

static enum exec_code join_both(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
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

static enum exec_code bind_join(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    const uint32_t key_count = rel->spec->u.join.key_count;
    const struct expr_scope both = {
        .inputs = {&rel->inputs[0]->schema, &rel->inputs[1]->schema},
        .input_count = 2,
    };

    rel->exprs = plan_calloc(plan, key_count, sizeof(struct expr *), err);
    rel->right_keys = plan_calloc(plan, key_count, sizeof(struct expr *), err);
    if (rel->exprs == NULL || rel->right_keys == NULL || join_supported(rel, err) != EXEC_OK) {
        return err->code;
    }
    for (uint32_t k = 0; k < key_count; k++) {
        if (join_key(plan, rel, k, err) != EXEC_OK) {
            return err->code;
        }
    }
    if (rel->spec->u.join.residual != 0) {
        const uint32_t residual = rel->spec->u.join.residual;
        if (expr_bind(&plan->job->plan, plan->spec, residual, &both, &rel->residual, err) !=
                EXEC_OK ||
            need_bool(rel->residual, residual, "join.residual", err) != EXEC_OK ||
            join_both(plan, rel, err) != EXEC_OK) {
            return err->code;
        }
    }
    return join_schema(plan, rel, err);
}

/* ---- aggregates
 * -------------------------------------------------------------------------------------- */

static enum exec_code bind_measure(struct plan *plan, struct plan_rel *rel, uint32_t m,
                                   struct exec_error *err)
{
    const struct exec_measure *spec = &rel->spec->u.aggregate.measures[m];
    const struct exec_schema *input = &rel->inputs[0]->schema;
    struct group_measure *measure = &rel->measures[m];
    const struct exec_type *argument = NULL;

    measure->function = spec->function;
    if (spec->arg_count != 0) {
        if (bind_expr(plan, rel, spec->args[0], input, &measure->argument, err) != EXEC_OK) {
            return err->code;
        }
        argument = expr_type(measure->argument);
    }
    if (spec->filter != 0) {
        if (bind_expr(plan, rel, spec->filter, input, &measure->filter, err) != EXEC_OK ||
            need_bool(measure->filter, spec->filter, "aggregate.measures.filter", err) != EXEC_OK) {
            return err->code;
        }
    }
    return group_measure_type(spec->function, argument, &measure->type, err);
}

static enum exec_code bind_aggregate(struct plan *plan, struct plan_rel *rel,
                                     struct exec_error *err)
{
    const uint32_t keys = rel->spec->u.aggregate.key_count;
    const uint32_t measures = rel->spec->u.aggregate.measure_count;
    struct exec_field *fields = plan_calloc(plan, keys + measures, sizeof *fields, err);

    rel->exprs = plan_calloc(plan, keys, sizeof(struct expr *), err);
    rel->measures = plan_calloc(plan, measures, sizeof *rel->measures, err);
    if (fields == NULL || rel->exprs == NULL || rel->measures == NULL) {
        return err->code;
    }
    for (uint32_t k = 0; k < keys; k++) {
        const struct exec_named_expr *key = &rel->spec->u.aggregate.keys[k];
        if (bind_expr(plan, rel, key->expr, &rel->inputs[0]->schema, &rel->exprs[k], err) !=
            EXEC_OK) {
            return err->code;
        }
        fields[k] = (struct exec_field){.name = key->name, .type = *expr_type(rel->exprs[k])};
    }
    for (uint32_t m = 0; m < measures; m++) {
        if (bind_measure(plan, rel, m, err) != EXEC_OK) {
            return err->code;
        }
        fields[keys + m] = (struct exec_field){.name = rel->spec->u.aggregate.measures[m].name,
                                               .type = rel->measures[m].type};
    }
    rel->schema = (struct exec_schema){.fields = fields, .field_count = keys + measures};
    return EXEC_OK;
}

/* ---- the rest
 * ------------------------------------------------------------------------------------------ */

static enum exec_code bind_sort(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    rel->schema = rel->inputs[0]->schema;
    rel->sort_limit = rel->spec->u.sort.limit;
    rel->exprs = plan_calloc(plan, rel->spec->u.sort.key_count, sizeof(struct expr *), err);
    if (rel->exprs == NULL) {
        return err->code;
    }
    for (uint32_t k = 0; k < rel->spec->u.sort.key_count; k++) {
        if (bind_expr(plan, rel, rel->spec->u.sort.keys[k].expr, &rel->schema, &rel->exprs[k],
                      err) != EXEC_OK) {
            return err->code;
        }
    }
    return EXEC_OK;
}

static enum exec_code bind_distinct(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    rel->schema = rel->inputs[0]->schema;
    rel->exprs = plan_calloc(plan, rel->schema.field_count, sizeof(struct expr *), err);
    for (uint32_t c = 0; rel->exprs != NULL && c < rel->schema.field_count; c++) {
        rel->exprs[c] = expr_column(&plan->job->plan, c, &rel->schema.fields[c].type);
        if (rel->exprs[c] == NULL) {
            return plan_no_memory(plan, err);
        }
    }
    return rel->exprs == NULL ? err->code : EXEC_OK;
}

/* The common type of one column of all inputs. */
static enum exec_code union_type(const struct plan_rel *rel, uint32_t column,
                                 struct exec_type *type_out, struct exec_error *err)
{
    *type_out = rel->inputs[0]->schema.fields[column].type;
    for (uint32_t i = 1; i < rel->input_count; i++) {
        const struct exec_type *type = &rel->inputs[i]->schema.fields[column].type;
        char a[EXEC_TYPE_TEXT_BYTES], b[EXEC_TYPE_TEXT_BYTES];
        struct exec_type common;

        if (!expr_common_type(type_out, type, &common)) {
            return EXEC_FAIL(err, EXEC_TYPE_MISMATCH,
                             "union_all: column %" PRIu32 " is %s in one input and %s in another",
                             column + 1, exec_type_text(type_out, a), exec_type_text(type, b));
        }
        *type_out = common;
    }
    return EXEC_OK;
}

static enum exec_code bind_union(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    const struct exec_schema *first = &rel->inputs[0]->schema;
    struct exec_field *fields = plan_calloc(plan, first->field_count, sizeof *fields, err);

    rel->union_exprs = plan_calloc(plan, rel->input_count, sizeof(struct expr **), err);
    if (fields == NULL || rel->union_exprs == NULL) {
        return err->code;
    }
    for (uint32_t i = 0; i < rel->input_count; i++) {
        if (rel->inputs[i]->schema.field_count != first->field_count) {
            return EXEC_FAIL(err, EXEC_TYPE_MISMATCH,
                             "union_all: input %" PRIu32 " has %" PRIu32
                             " columns, the first has %" PRIu32,
                             i + 1, rel->inputs[i]->schema.field_count, first->field_count);
        }
        rel->union_exprs[i] = plan_calloc(plan, first->field_count, sizeof(struct expr *), err);
        if (rel->union_exprs[i] == NULL) {
            return err->code;
        }
    }
    for (uint32_t c = 0; c < first->field_count; c++) {
        fields[c] = (struct exec_field){.name = first->fields[c].name};
        if (union_type(rel, c, &fields[c].type, err) != EXEC_OK) {
            return err->code;
        }
        for (uint32_t i = 0; i < rel->input_count; i++) {
            struct expr *column =
                expr_column(&plan->job->plan, c, &rel->inputs[i]->schema.fields[c].type);
            if (column == NULL) {
                return plan_no_memory(plan, err);
            }
            if (expr_cast(&plan->job->plan, column, &fields[c].type, &rel->union_exprs[i][c],
                          err) != EXEC_OK) {
                return err->code;
            }
        }
    }
    rel->schema = (struct exec_schema){.fields = fields, .field_count = first->field_count};
    return EXEC_OK;
}

static enum exec_code bind_rel(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    switch (rel->spec->kind) {
        case EXEC_REL_SCAN: return plan_bind_scan(plan, rel, err);
        case EXEC_REL_FILTER:
            rel->schema = rel->inputs[0]->schema;
            return plan_bind_predicate(plan, rel, rel->spec->u.filter.predicate, &rel->schema, err);
        case EXEC_REL_PROJECT: return bind_project(plan, rel, err);
        case EXEC_REL_JOIN: return bind_join(plan, rel, err);
        case EXEC_REL_AGGREGATE: return bind_aggregate(plan, rel, err);
        case EXEC_REL_SORT: return bind_sort(plan, rel, err);
        case EXEC_REL_LIMIT: rel->schema = rel->inputs[0]->schema; return EXEC_OK;
        case EXEC_REL_UNION_ALL: return bind_union(plan, rel, err);
        case EXEC_REL_DISTINCT: return bind_distinct(plan, rel, err);
        default:
            return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED, "relation kind %d is not implemented yet",
                             (int)rel->spec->kind);
    }
}

enum exec_code plan_bind(struct plan *plan, struct exec_error *err)
{
    if (plan->spec->into_table != NULL && !plan->spec->into_replace &&
        catalogue_has(plan->job->catalogue, plan->spec->into_table)) {
        return EXEC_FAIL(err, EXEC_EXISTS, "into_table: table '%s' exists already",
                         plan->spec->into_table);
    }
    for (uint32_t i = 0; i < plan->spec->rel_count; i++) {
        if (bind_rel(plan, &plan->rels[i], err) != EXEC_OK) {
            return plan_fail_rel(&plan->rels[i], err);
        }
    }
    return EXEC_OK;
}
