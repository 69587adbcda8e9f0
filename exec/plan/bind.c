#include "plan/plan.h"

#include <inttypes.h>
#include <string.h>

/* Names to columns, types everywhere; one function a kind of relation. Inputs are bound before
 * their users because a plan refers backwards only. */

enum exec_code plan_bind_expr(struct plan *plan, const struct plan_rel *rel, uint32_t index,
                              const struct exec_schema *input, struct expr **out,
                              struct exec_error *err)
{
    const struct expr_scope scope = {.inputs = {input}, .input_count = 1};

    if (expr_bind(&plan->job->plan, plan->spec, index, &scope, out, err) == EXEC_OK) {
        return EXEC_OK;
    }
    return plan_fail_rel(rel, err);
}

enum exec_code plan_need_bool(const struct expr *expr, uint32_t index, const char *field,
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
    if (plan_bind_expr(plan, rel, index, input, &bound, err) != EXEC_OK ||
        plan_need_bool(bound, index, "the predicate", err) != EXEC_OK) {
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
        if (plan_bind_expr(plan, rel, named->expr, &rel->inputs[0]->schema, &rel->exprs[i], err) !=
            EXEC_OK) {
            return err->code;
        }
        fields[i] = (struct exec_field){.name = named->name, .type = *expr_type(rel->exprs[i])};
    }
    rel->schema = (struct exec_schema){.fields = fields, .field_count = count};
    return EXEC_OK;
}

/* ---- aggregates
 * -------------------------------------------------------------------------------------- */

static enum exec_code bind_aggregate(struct plan *plan, struct plan_rel *rel,
                                     struct exec_error *err)
{
    const uint32_t keys = rel->spec->u.aggregate.key_count;
    const uint32_t measures = rel->spec->u.aggregate.measure_count;
    const char *set_name = rel->spec->u.aggregate.set_name;
    const bool is_partial = rel->spec->u.aggregate.phase == EXEC_PHASE_PARTIAL;
    const struct exec_type states = {.kind = EXEC_TYPE_BINARY};
    struct exec_field *fields = plan_calloc(plan, keys + measures + 1, sizeof *fields, err);

    rel->exprs = plan_calloc(plan, keys, sizeof(struct expr *), err);
    rel->measures = plan_calloc(plan, measures, sizeof *rel->measures, err);
    if (fields == NULL || rel->exprs == NULL || rel->measures == NULL) {
        return err->code;
    }
    for (uint32_t k = 0; k < keys; k++) {
        const struct exec_named_expr *key = &rel->spec->u.aggregate.keys[k];
        if (plan_bind_expr(plan, rel, key->expr, &rel->inputs[0]->schema, &rel->exprs[k], err) !=
            EXEC_OK) {
            return err->code;
        }
        fields[k] = (struct exec_field){.name = key->name, .type = *expr_type(rel->exprs[k])};
    }
    for (uint32_t m = 0; m < measures; m++) {
        if (plan_bind_measure(plan, rel, m, err) != EXEC_OK) {
            return err->code;
        }
        fields[keys + m] = (struct exec_field){.name = rel->spec->u.aggregate.measures[m].name,
                                               .type = is_partial ? states : rel->measures[m].type};
    }
    fields[keys + measures] =
        (struct exec_field){.name = set_name, .type = {.kind = EXEC_TYPE_INT64}};
    rel->schema =
        (struct exec_schema){.fields = fields, .field_count = keys + measures + (set_name != NULL)};
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
        if (plan_bind_expr(plan, rel, rel->spec->u.sort.keys[k].expr, &rel->schema, &rel->exprs[k],
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
        case EXEC_REL_JOIN: return plan_bind_join(plan, rel, err);
        case EXEC_REL_AGGREGATE: return bind_aggregate(plan, rel, err);
        case EXEC_REL_SORT: return bind_sort(plan, rel, err);
        case EXEC_REL_LIMIT: rel->schema = rel->inputs[0]->schema; return EXEC_OK;
        case EXEC_REL_UNION_ALL: return bind_union(plan, rel, err);
        case EXEC_REL_DISTINCT: return bind_distinct(plan, rel, err);
        case EXEC_REL_WINDOW: return plan_bind_window(plan, rel, err);
        default:
            return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED, "relation kind %d is not implemented yet",
                             (int)rel->spec->kind);
    }
}

enum exec_code plan_bind(struct plan *plan, struct exec_error *err)
{
    if (plan->spec->into_table != NULL && !plan->spec->into_replace &&
        catalogue_has(plan->job->catalogue, plan->spec->into_table)) {
        return EXEC_FAIL(err, EXEC_EXISTS, "table '%s' exists already (replace is not set)",
                         plan->spec->into_table);
    }
    for (uint32_t i = 0; i < plan->rel_count; i++) {
        if (bind_rel(plan, &plan->rels[i], err) != EXEC_OK) {
            return plan_fail_rel(&plan->rels[i], err);
        }
    }
    return EXEC_OK;
}
