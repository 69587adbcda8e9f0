/* LIMIT, OFFSET, FETCH: a limit of all rows is a relation of its own. WITH TIES, and a limit for
 * each row of a domain, become row numbers and ranks. */
#include "select_plan.h"
#include "select_query.h"

struct limit {
    int64_t count, offset; /* count -1: none */
    bool ties;
};

static enum exec_code limit_number(struct select_query *query, json_t *node, int64_t fallback,
                                   int64_t *out)
{
    json_t *constant = tree_body(node, "A_Const");
    struct exec_literal literal;

    *out = fallback;
    if (node == NULL || select_is_null(node)) {
        return EXEC_OK;
    }
    if (constant == NULL || !sql_lower_literal(&query->lowering, constant, &literal) ||
        literal.type.kind != EXEC_TYPE_INT64 || literal.value.i64 < 0) {
        sql_refuse(&query->lowering, sql_node_location(node), EXEC_BAD_SPEC,
                   "LIMIT and OFFSET take a whole number that is not negative");
        return EXEC_BAD_SPEC;
    }
    *out = literal.value.i64;
    return EXEC_OK;
}

static enum exec_code read_limit(struct select_query *query, json_t *select, struct limit *limit)
{
    const char *option = json_string_value(json_object_get(select, "limitOption"));
    json_t *count = json_object_get(select, "limitCount");
    json_t *offset = json_object_get(select, "limitOffset");

    if (limit_number(query, count, -1, &limit->count) != EXEC_OK ||
        limit_number(query, offset, 0, &limit->offset) != EXEC_OK) {
        return query->run->err->code;
    }
    /* No row has ties when none is asked for. */
    limit->ties =
        option != NULL && strcmp(option, "LIMIT_OPTION_WITH_TIES") == 0 && limit->count > 0;
    return EXEC_OK;
}

/* ---- by number */

/* Only the first `column_count` columns again. */
static void drop_numbers(struct select_query *query, struct select_output *out,
                         uint32_t column_count)
{
    struct plan_builder *plan = query->run->plan;
    struct exec_named_expr *named = builder_alloc(plan, (column_count + 1) * sizeof *named);

    for (uint32_t c = 0; c < column_count; c++) {
        named[c] = (struct exec_named_expr){.name = out->names[c],
                                            .expr = builder_column(plan, c + 1, NULL)};
    }
    const struct exec_rel rel = {
        .kind = EXEC_REL_PROJECT,
        .u.project = {.input = out->frame.rel, .exprs = named, .expr_count = column_count},
    };
    out->frame.rel = builder_rel(plan, &rel);
    out->frame.count = column_count;
}

/* The sort below, if there is one, gives its keys to a window. */
static void limit_by_number(struct select_query *query, struct select_frame *frame,
                            struct select_output *out, const uint32_t *partition,
                            uint32_t partition_count, const struct limit *limit)
{
    static const struct exec_named_window functions[] = {{EXEC_WINDOW_RANK, "rank"},
                                                         {EXEC_WINDOW_ROW_NUMBER, "row"}};
    static const struct exec_type int64 = {.kind = EXEC_TYPE_INT64};
    struct plan_builder *plan = query->run->plan;
    const struct exec_rel below = plan->rels[frame->rel - 1];
    const bool sorted = below.kind == EXEC_REL_SORT && frame->rel == plan->rel_count;
    const uint32_t column_count = frame->count;
    int64_t last = -1;

    if (limit->count >= 0 && __builtin_add_overflow(limit->count, limit->offset, &last)) {
        last = -1;
    }
    if (sorted) { /* the window sorts */
        frame->rel = below.u.sort.input;
        plan->rel_count--;
    }
    const struct select_window window = {.partition = partition,
                                         .partition_count = partition_count,
                                         .order = sorted ? below.u.sort.keys : NULL,
                                         .order_count = sorted ? below.u.sort.key_count : 0,
                                         .functions = limit->ties ? functions : functions + 1,
                                         .function_count = limit->ties ? 2 : 1,
                                         .limit = last};
    frame->rel = select_window_rel(query, frame->rel, &window);
    for (uint32_t f = 0; f < window.function_count; f++) {
        frame_add(plan, frame, select_new_id(query->run), &int64);
    }
    if (limit->offset > 0) {
        const uint32_t pair[] = {builder_column(plan, frame->count, NULL),
                                 sql_int(&query->lowering, limit->offset)};
        select_filter(query, frame, builder_call(plan, "gt", pair, 2, NULL));
    }
    if (frame != query->frame) {
        drop_numbers(query, out, column_count);
    }
    if (partition_count == 0) { /* and they are to come in order */
        struct exec_rel sort = below;
        sort.u.sort.input = frame->rel;
        frame->rel = builder_rel(plan, &sort);
    }
}

static enum exec_code limit_in_domain(struct select_query *query, json_t *select,
                                      struct select_frame *frame, struct select_output *out,
                                      const struct limit *limit)
{
    struct plan_builder *plan = query->run->plan;
    const uint32_t count = query->domain->count;
    uint32_t *partition = builder_alloc(plan, count * sizeof *partition);
    json_t *node = json_object_get(select, "limitCount");

    if (frame != query->frame && json_object_get(select, "distinctClause") == NULL) {
        sql_refuse(&query->lowering,
                   sql_node_location(node != NULL ? node : json_object_get(select, "limitOffset")),
                   EXEC_NOT_IMPLEMENTED,
                   "LIMIT of a set operation that names columns of the query around it is not "
                   "implemented yet");
        return EXEC_NOT_IMPLEMENTED;
    }
    if (frame == query->frame) {
        select_domain_exprs(query, partition);
    }
    for (uint32_t i = 0; frame != query->frame && i < count; i++) { /* the last of an output */
        partition[i] = builder_column(plan, frame->count - count + i + 1, NULL);
    }
    limit_by_number(query, frame, out, partition, count, limit);
    return EXEC_OK;
}

enum exec_code select_limit(struct select_query *query, json_t *select, struct select_frame *frame,
                            struct select_output *out)
{
    struct exec_rel rel = {.kind = EXEC_REL_LIMIT, .u.limit.input = frame->rel};
    struct limit limit;

    if (read_limit(query, select, &limit) != EXEC_OK) {
        return query->run->err->code;
    }
    out->one_row = out->one_row || (limit.count >= 0 && limit.count <= 1 && !limit.ties);
    if (limit.count < 0 && limit.offset == 0) {
        return EXEC_OK;
    }
    if (query->domain != NULL) {
        return limit_in_domain(query, select, frame, out, &limit);
    }
    if (limit.ties) {
        limit_by_number(query, frame, out, NULL, 0, &limit);
        return EXEC_OK;
    }
    rel.u.limit.count = limit.count;
    rel.u.limit.offset = limit.offset;
    frame->rel = builder_rel(query->run->plan, &rel);
    return EXEC_OK;
}
