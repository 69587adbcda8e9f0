#include "plan/plan.h"

/* One measure of an aggregate: arguments, order, filter, parameters; what its function makes of
 * them is op/group_types.c's. */

static enum exec_code bind_over(struct plan *plan, struct plan_rel *rel, uint32_t index,
                                struct expr **out, struct exec_error *err)
{
    return plan_bind_expr(plan, rel, index, &rel->inputs[0]->schema, out, err);
}

/* The second argument, then the keys of the order. */
static enum exec_code bind_others(struct plan *plan, struct plan_rel *rel,
                                  const struct exec_measure *spec, struct group_measure *measure,
                                  struct exec_error *err)
{
    const uint32_t more = spec->arg_count > 1 ? spec->arg_count - 1 : 0;
    const uint32_t count = more + spec->order_count;
    enum exec_direction *directions = plan_calloc(plan, count, sizeof *directions, err);

    measure->others = plan_calloc(plan, count, sizeof(struct expr *), err);
    if (directions == NULL || measure->others == NULL) {
        return err->code;
    }
    for (uint32_t o = 0; o < count; o++) {
        const uint32_t index = o < more ? spec->args[1 + o] : spec->order[o - more].expr;
        directions[o] = o < more ? EXEC_ASC_NULLS_LAST : spec->order[o - more].direction;
        if (bind_over(plan, rel, index, &measure->others[o], err) != EXEC_OK) {
            return err->code;
        }
    }
    measure->directions = directions;
    measure->other_count = count;
    return EXEC_OK;
}

/* Of FINAL: expressions that nobody evaluates stand for what PARTIAL had. */
static enum exec_code bind_final(struct plan *plan, struct plan_rel *rel,
                                 const struct exec_measure *spec, struct group_measure *measure,
                                 struct exec_error *err)
{
    const uint32_t count = spec->argument_type_count;
    enum exec_direction *directions = plan_calloc(plan, count, sizeof *directions, err);
    char text[EXEC_TYPE_TEXT_BYTES];

    measure->others = plan_calloc(plan, count, sizeof(struct expr *), err);
    if (directions == NULL || measure->others == NULL ||
        bind_over(plan, rel, spec->args[0], &measure->state, err) != EXEC_OK) {
        return err->code;
    }
    if (expr_type(measure->state)->kind != EXEC_TYPE_BINARY) {
        EXEC_FAIL(err, EXEC_TYPE_MISMATCH,
                  "aggregate.measures '%.60s': FINAL takes states, binary, not %s", spec->name,
                  exec_type_text(expr_type(measure->state), text));
        err->expr = spec->args[0];
        return err->code;
    }
    for (uint32_t a = 0; a < count; a++) {
        struct expr *stands_in = expr_column(&plan->job->plan, 0, &spec->argument_types[a]);
        if (stands_in == NULL) {
            return plan_no_memory(plan, err);
        }
        if (a == 0) {
            measure->argument = stands_in;
        } else {
            measure->others[a - 1] = stands_in;
        }
    }
    const uint32_t keys_at = count - spec->order_count;
    for (uint32_t o = 0; o < spec->order_count; o++) {
        directions[keys_at - 1 + o] = spec->order[o].direction;
    }
    measure->directions = directions;
    measure->other_count = count == 0 ? 0 : count - 1;
    return EXEC_OK;
}

static enum exec_code bind_arguments(struct plan *plan, struct plan_rel *rel,
                                     const struct exec_measure *spec, struct group_measure *measure,
                                     struct exec_error *err)
{
    if (rel->spec->u.aggregate.phase == EXEC_PHASE_FINAL) {
        return bind_final(plan, rel, spec, measure, err);
    }
    if (spec->arg_count != 0) {
        measure->argument_index = spec->args[0];
        if (bind_over(plan, rel, spec->args[0], &measure->argument, err) != EXEC_OK) {
            return err->code;
        }
    }
    return bind_others(plan, rel, spec, measure, err);
}

static bool literal_real(const struct exec_literal *literal, double *out)
{
    const struct exec_type *type = &literal->type;

    if (literal->is_null) {
        return false;
    }
    if (type->kind == EXEC_TYPE_FLOAT64 || type->kind == EXEC_TYPE_FLOAT32) {
        *out = literal->value.f64;
    } else if (type->kind == EXEC_TYPE_DECIMAL128) {
        double power = 1;
        for (int32_t i = 0; i < type->scale; i++) {
            power *= 10;
        }
        *out = (double)literal->value.decimal.low / power; /* 0..1: the high word is 0 */
        return literal->value.decimal.high == 0;
    } else if (exec_type_is_integer(type->kind)) {
        *out = literal->value.i64 == 0 ? 0 : literal->value.i64 == 1 ? 1 : -1;
    } else {
        return false;
    }
    return true;
}

static enum exec_code bind_parameters(const struct exec_measure *spec,
                                      struct group_measure *measure, struct exec_error *err)
{
    const struct exec_literal *literal = spec->parameters;
    const uint8_t extras = group_function(spec->function)->extras;

    if ((extras & AGG_FRACTION) != 0) {
        if (!literal_real(literal, &measure->fraction) || !(measure->fraction >= 0) ||
            !(measure->fraction <= 1)) {
            return EXEC_FAIL(err, EXEC_BAD_SPEC,
                             "aggregate.measures '%s': the fraction must be a number from 0 to 1",
                             spec->name);
        }
    }
    if ((extras & AGG_SEPARATOR) != 0 && spec->parameter_count != 0) {
        if (literal->is_null || literal->type.kind != EXEC_TYPE_UTF8 ||
            literal->value.text.size > UINT16_MAX) {
            return EXEC_FAIL(err, EXEC_BAD_SPEC,
                             "aggregate.measures '%s': the separator must be a text of at most "
                             "%d bytes",
                             spec->name, UINT16_MAX);
        }
        measure->separator = literal->value.text.bytes;
        measure->separator_bytes = (uint32_t)literal->value.text.size;
    }
    return EXEC_OK;
}

/* "sum of utf8" does not say which; and of a file's column that has no value nobody gave the type.
 */
static enum exec_code fail_argument(struct plan *plan, const struct plan_rel *rel,
                                    const struct exec_measure *spec, const struct expr *argument,
                                    struct exec_error *err)
{
    const struct exec_schema *input = &rel->inputs[0]->schema;
    const struct exec_error why = *err;
    char text[128];
    uint32_t column;
    bool blank = false;

    if (argument == NULL || why.code != EXEC_TYPE_MISMATCH ||
        rel->spec->u.aggregate.phase == EXEC_PHASE_FINAL) {
        return why.code;
    }
    expr_text(argument, input, text, sizeof text);
    if (expr_is_column(argument, &column) && column < input->field_count) {
        for (uint32_t i = 0; i < plan->rel_count && !blank; i++) {
            blank = plan->rels[i].files != NULL &&
                    scan_files_is_blank(plan->rels[i].files, input->fields[column].name);
        }
    }
    EXEC_FAIL(err, why.code, "aggregate.measures '%.60s': %.200s: %s%s", spec->name, why.detail,
              text, blank ? " has no value that tells its type; give it (--types)" : "");
    err->rel = why.rel;
    err->expr = spec->args[0];
    return err->code;
}

enum exec_code plan_bind_measure(struct plan *plan, struct plan_rel *rel, uint32_t m,
                                 struct exec_error *err)
{
    const struct exec_measure *spec = &rel->spec->u.aggregate.measures[m];
    struct group_measure *measure = &rel->measures[m];

    measure->function = spec->function;
    measure->distinct = spec->distinct;
    if (bind_arguments(plan, rel, spec, measure, err) != EXEC_OK ||
        bind_parameters(spec, measure, err) != EXEC_OK ||
        (spec->filter != 0 &&
         (bind_over(plan, rel, spec->filter, &measure->filter, err) != EXEC_OK ||
          plan_need_bool(measure->filter, spec->filter, "aggregate.measures.filter", err) !=
              EXEC_OK))) {
        return err->code;
    }
    if (group_measure_bind(&plan->job->plan, measure, err) != EXEC_OK) {
        return fail_argument(plan, rel, spec, measure->argument, err);
    }
    return EXEC_OK;
}
