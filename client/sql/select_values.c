/* Rows that stand in the text: VALUES, and the one row of a SELECT without FROM. A scan of numbers
 * gives the rows, a CASE of the number each column. */
#include "select_query.h"

uint32_t select_rows(struct select_run *run, struct select_frame *frame, int64_t count)
{
    static const char *const columns[] = {"i"};
    const struct exec_rel rel = {
        .kind = EXEC_REL_SCAN,
        .u.scan = {.source = EXEC_SCAN_GENERATOR,
                   .generator = "sequence",
                   .generator_rows = count,
                   .columns = columns,
                   .column_count = 1},
    };
    const struct exec_type type = {.kind = EXEC_TYPE_INT64};

    frame_add(run->plan, frame, select_new_id(run), &type);
    return builder_rel(run->plan, &rel);
}

bool select_is_null(json_t *node)
{
    return json_is_true(json_object_get(tree_body(node, "A_Const"), "isnull"));
}

/* Column c of VALUES: CASE of the row's number. */
static uint32_t values_column(struct select_query *query, json_t *lists, size_t c)
{
    struct plan_builder *plan = query->run->plan;
    const size_t rows = json_array_size(lists);
    struct exec_when *whens = builder_alloc(plan, (rows + 1) * sizeof *whens);
    uint32_t count = 0;

    for (size_t r = 0; r < rows; r++) {
        json_t *items = json_object_get(tree_body(json_array_get(lists, r), "List"), "items");
        json_t *item = json_array_get(items, c);
        if (select_is_null(item)) {
            continue; /* what no branch means */
        }
        const struct exec_literal number = {.type = {.kind = EXEC_TYPE_INT64},
                                            .value.i64 = (int64_t)r};
        const uint32_t pair[] = {builder_column(plan, 1, NULL),
                                 builder_literal(plan, &number, NULL)};
        whens[count].when = builder_call(plan, "eq", pair, 2, NULL);
        whens[count].then = select_expr(query, item);
        if (whens[count++].then == 0) {
            return 0;
        }
    }
    if (count == 0) {
        const struct exec_literal null = {.type = {.kind = EXEC_TYPE_UTF8}, .is_null = true};
        return builder_literal(plan, &null, NULL);
    }
    const struct exec_expr expr = {.kind = EXEC_EXPR_CASE,
                                   .u.case_when = {.branches = whens, .branch_count = count}};
    return builder_expr(plan, &expr, NULL);
}

void select_project(struct select_query *query, const uint32_t *exprs, const char **names,
                    uint32_t count, struct select_output *out)
{
    struct plan_builder *plan = query->run->plan;
    struct exec_named_expr *named = builder_alloc(plan, (count + 1) * sizeof *named);

    out->names = names;
    out->frame = (struct select_frame){0};
    for (uint32_t i = 0; i < count; i++) {
        const struct exec_type type = select_type(query, exprs[i]);
        named[i] = (struct exec_named_expr){.name = names[i], .expr = exprs[i]};
        frame_add(plan, &out->frame, select_new_id(query->run), &type);
    }
    const struct exec_rel rel = {
        .kind = EXEC_REL_PROJECT,
        .u.project = {.input = query->frame->rel, .exprs = named, .expr_count = count},
    };
    out->frame.rel = builder_rel(plan, &rel);
}

enum exec_code select_values(struct select_query *query, json_t *lists, struct select_output *out)
{
    struct plan_builder *plan = query->run->plan;
    const size_t rows = json_array_size(lists);
    json_t *first = json_object_get(tree_body(json_array_get(lists, 0), "List"), "items");
    const uint32_t count = (uint32_t)json_array_size(first);
    uint32_t *exprs = builder_alloc(plan, (count + 1) * sizeof *exprs);
    const char **names = builder_alloc(plan, (count + 1) * sizeof *names);

    for (size_t r = 0; r < rows; r++) {
        json_t *items = json_object_get(tree_body(json_array_get(lists, r), "List"), "items");
        if (json_array_size(items) != count || rows > SELECT_VALUES_MAX) {
            sql_refuse(&query->lowering, sql_node_location(json_array_get(items, 0)),
                       rows > SELECT_VALUES_MAX ? EXEC_LIMIT : EXEC_BAD_SPEC,
                       rows > SELECT_VALUES_MAX ? "VALUES of more than 1000 rows"
                                                : "VALUES: rows of different length");
            return query->run->err->code;
        }
    }
    query->frame->rel = select_rows(query->run, query->frame, (int64_t)rows);
    query->frame_fixed = true;
    for (uint32_t c = 0; c < count; c++) {
        exprs[c] = values_column(query, lists, c);
        names[c] = builder_printf(plan, "column%u", c + 1);
        if (exprs[c] == 0) {
            return query->run->err->code;
        }
    }
    select_project(query, exprs, names, count, out);
    out->one_row = rows == 1;
    return EXEC_OK;
}
