/* UNION, INTERSECT, EXCEPT, with ALL and without. */
#include "select_query.h"

/* The first `count` columns of the output, and no others. */
static void drop_columns(struct select_query *query, struct select_output *out, uint32_t count)
{
    struct plan_builder *plan = query->run->plan;
    struct exec_named_expr *columns = builder_alloc(plan, (count + 1) * sizeof *columns);

    for (uint32_t c = 0; c < count; c++) {
        columns[c].name = out->names[c];
        columns[c].expr = builder_column(plan, c + 1, NULL);
    }
    const struct exec_rel rel = {
        .kind = EXEC_REL_PROJECT,
        .u.project = {.input = out->frame.rel, .exprs = columns, .expr_count = count}};
    out->frame.rel = builder_rel(plan, &rel);
    out->frame.count = count;
}

enum exec_code select_set(struct select_query *query, json_t *select, struct select_output *out)
{
    struct select_run *run = query->run;
    const char *op = json_string_value(json_object_get(select, "op"));
    const bool all = json_is_true(json_object_get(select, "all"));
    struct select_output right = {0};

    if (select_lower(run, json_object_get(select, "larg"), query->outer, query->ctes, out) !=
            EXEC_OK ||
        select_lower(run, json_object_get(select, "rarg"), query->outer, query->ctes, &right) !=
            EXEC_OK) {
        return run->err->code;
    }
    out->one_row = false;
    if (out->frame.count != right.frame.count) {
        return EXEC_FAIL(run->err, EXEC_BAD_SPEC, "%s: the sides of %s have %u and %u columns",
                         run->text->option, op + 6, out->frame.count, right.frame.count);
    }
    if (strcmp(op, "SETOP_UNION") == 0) {
        uint32_t *inputs = builder_alloc(run->plan, 2 * sizeof *inputs);
        inputs[0] = out->frame.rel;
        inputs[1] = right.frame.rel;
        const struct exec_rel rel = {.kind = EXEC_REL_UNION_ALL,
                                     .u.union_all = {.inputs = inputs, .input_count = 2}};
        out->frame.rel = builder_rel(run->plan, &rel);
        for (uint32_t c = 0; c < out->frame.count; c++) { /* the common type is the engine's */
            if (!exec_type_equal(&out->frame.columns[c].type, &right.frame.columns[c].type)) {
                out->frame.columns[c].type = (struct exec_type){0};
            }
        }
    } else {
        struct select_join join = {
            .kind = strcmp(op, "SETOP_EXCEPT") == 0 ? EXEC_JOIN_LEFT_ANTI : EXEC_JOIN_LEFT_SEMI,
            .nulls_equal = true,
        };
        const uint32_t columns = out->frame.count;
        if (all) {
            select_number_equal_rows(query, &out->frame);
            select_number_equal_rows(query, &right.frame);
        }
        for (uint32_t c = 0; c < out->frame.count; c++) {
            if (select_join_key(query, &join, builder_column(run->plan, c + 1, NULL),
                                builder_column(run->plan, c + 1, NULL), 0) != EXEC_OK) {
                return run->err->code;
            }
        }
        select_join_frames(query, &out->frame, &right.frame, &join);
        if (all) {
            drop_columns(query, out, columns);
        }
    }
    if (!all) {
        select_distinct(query, &out->frame);
    }
    return EXEC_OK;
}
