#include "group_plan.h"
#include "sql_aggregate.h"
#include "sql_list.h"

#include <string.h>

struct group_making {
    struct plan_builder *plan;
    const struct group_request *request;
    struct exec_error *err;
    struct sql_scope input;  /* names before grouping: left to the engine */
    struct sql_scope output; /* keys and items, over the aggregate's columns */
    struct sql_aggregates aggregates;
    struct exec_named_expr *keys;  /* over the input */
    struct exec_named_expr *items; /* over the aggregate's columns */
    uint32_t key_count, item_count;
};

static struct sql_lowering lowering_of(struct group_making *making, const struct sql_scope *scope,
                                       const struct sql_text *text, bool aggregates)
{
    return (struct sql_lowering){
        .plan = making->plan,
        .scope = scope,
        .text = text,
        .aggregates = aggregates ? &making->aggregates : NULL,
        .err = making->err,
    };
}

static bool is_taken(const struct group_making *making, const char *name)
{
    for (uint32_t i = 0; i < making->output.name_count; i++) {
        if (strcmp(making->output.names[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static enum exec_code check_free(const struct group_making *making, const struct sql_text *text,
                                 const struct sql_item *item)
{
    return is_taken(making, item->name)
               ? sql_fail_at(text, item->location, EXEC_BAD_SPEC, making->err,
                             "two columns are called '%.60s'; NAME = EXPR gives another name",
                             item->name)
               : EXEC_OK;
}

/* "id = 1" looks like a comparison and would be one group. */
static enum exec_code check_key(const struct group_making *making, const struct sql_text *text,
                                const struct sql_item *item)
{
    return item->equals && json_object_get(item->expr, "A_Const") != NULL
               ? sql_fail_at(text, item->location, EXEC_BAD_SPEC, making->err,
                             "the key '%.60s' is a constant: NAME = EXPR names an expression; a "
                             "comparison goes in brackets, x = (a = 1)",
                             item->name)
               : check_free(making, text, item);
}

static enum exec_code make_keys(struct group_making *making)
{
    const struct sql_text text = {"--by", SQL_SELECT_PREFIX, making->request->by};
    struct sql_lowering lowering = lowering_of(making, &making->input, &text, false);
    struct sql_list list;

    if (making->request->by == NULL) {
        return EXEC_OK;
    }
    if (sql_list_parse(making->plan, &text, true, &list, making->err) != EXEC_OK) {
        return making->err->code;
    }
    enum exec_code code = EXEC_OK;
    making->keys = builder_alloc(making->plan, list.item_count * sizeof *making->keys);
    making->key_count = list.item_count;
    for (uint32_t i = 0; i < list.item_count && code == EXEC_OK; i++) {
        making->keys[i].name = list.items[i].name;
        code = check_key(making, &text, &list.items[i]);
        if (code != EXEC_OK) {
            break;
        }
        making->keys[i].expr = sql_lower_expr(&lowering, list.items[i].expr);
        code = making->keys[i].expr == 0 ? making->err->code : EXEC_OK;
        sql_scope_add_alias(&making->output, making->keys[i].name, i + 1, 0);
    }
    sql_list_fini(&list);
    making->aggregates.key_count = making->key_count;
    return code;
}

/* "n", then "n_2", "n_3", ... for items nobody named. */
static const char *free_name(struct group_making *making, const struct sql_item *item)
{
    const char *name = item->name;

    for (uint32_t suffix = 2; !item->named && is_taken(making, name); suffix++) {
        name = builder_printf(making->plan, "%s_%u", item->name, suffix);
    }
    return name;
}

static enum exec_code make_items(struct group_making *making)
{
    const struct sql_text text = {"--agg", SQL_SELECT_PREFIX, making->request->agg};
    struct sql_lowering lowering = lowering_of(making, &making->output, &text, true);
    struct sql_list list;

    if (making->request->agg == NULL) {
        return EXEC_OK;
    }
    if (sql_list_parse(making->plan, &text, true, &list, making->err) != EXEC_OK) {
        return making->err->code;
    }
    enum exec_code code = EXEC_OK;
    making->items = builder_alloc(making->plan, list.item_count * sizeof *making->items);
    for (uint32_t i = 0; i < list.item_count && code == EXEC_OK; i++) {
        const uint32_t expr = sql_lower_expr(&lowering, list.items[i].expr);
        code = expr == 0 ? making->err->code : EXEC_OK;
        if (code == EXEC_OK && list.items[i].named) {
            code = check_free(making, &text, &list.items[i]);
        }
        if (code == EXEC_OK) {
            const char *name = free_name(making, &list.items[i]);
            making->items[making->item_count++] =
                (struct exec_named_expr){.name = name, .expr = expr};
            sql_scope_add_alias(&making->output, name, 0, expr);
        }
    }
    sql_list_fini(&list);
    return code;
}

/* The measure an item is, 1-based; 0 when it is computed from measures. */
static uint32_t item_measure(const struct group_making *making, const struct exec_named_expr *item)
{
    const struct exec_expr *expr = &making->plan->exprs[item->expr - 1];

    return expr->kind == EXEC_EXPR_COLUMN && expr->u.column.index > making->key_count
               ? expr->u.column.index - making->key_count
               : 0;
}

/* True when the aggregate's columns are the result's already: item i is measure i, and nothing
 * hidden follows. Names every measure on the way. */
static bool name_measures(struct group_making *making)
{
    bool plain = making->aggregates.measure_count == making->item_count;

    for (uint32_t m = 0; m < making->aggregates.measure_count; m++) {
        making->aggregates.measures[m].name = builder_printf(making->plan, "measure%u", m + 1);
    }
    for (uint32_t i = 0; i < making->item_count; i++) {
        const uint32_t measure = item_measure(making, &making->items[i]);
        if (measure != 0) {
            making->aggregates.measures[measure - 1].name = making->items[i].name;
        }
        plain = plain && measure == i + 1;
    }
    return plain;
}

static enum exec_code make_where(struct group_making *making, uint32_t *rel)
{
    const struct sql_text text = {"--where", SQL_SELECT_PREFIX, making->request->where};
    struct sql_lowering lowering = lowering_of(making, &making->input, &text, false);
    struct exec_rel filter = {.kind = EXEC_REL_FILTER, .u.filter = {.input = *rel}};

    if (making->request->where == NULL) {
        return EXEC_OK;
    }
    filter.u.filter.predicate = sql_lower_text(&lowering);
    if (filter.u.filter.predicate == 0) {
        return making->err->code;
    }
    *rel = builder_rel(making->plan, &filter);
    return EXEC_OK;
}

static void make_project(struct group_making *making, uint32_t rel)
{
    const uint32_t count = making->key_count + making->item_count;
    struct exec_named_expr *exprs = builder_alloc(making->plan, (count + 1) * sizeof *exprs);

    for (uint32_t k = 0; k < making->key_count; k++) {
        exprs[k].name = making->keys[k].name;
        exprs[k].expr = builder_column(making->plan, k + 1, NULL);
    }
    if (making->item_count > 0) {
        memcpy(exprs + making->key_count, making->items, making->item_count * sizeof *exprs);
    }
    const struct exec_rel project = {
        .kind = EXEC_REL_PROJECT,
        .u.project = {.input = rel, .exprs = exprs, .expr_count = count},
    };
    builder_rel(making->plan, &project);
}

/* Having, sort and limit, all over the aggregate's columns. */
static uint32_t make_tail(struct group_making *making, uint32_t rel, uint32_t having,
                          const struct exec_sort_key *keys, uint32_t key_count)
{
    const int64_t count = making->request->limit;

    if (having != 0) {
        const struct exec_rel filter = {.kind = EXEC_REL_FILTER,
                                        .u.filter = {.input = rel, .predicate = having}};
        rel = builder_rel(making->plan, &filter);
    }
    if (key_count > 0) {
        const struct exec_rel sort = {
            .kind = EXEC_REL_SORT,
            .u.sort = {.input = rel, .keys = keys, .key_count = key_count, .limit = count},
        };
        return builder_rel(making->plan, &sort);
    }
    if (count >= 0) {
        const struct exec_rel limit = {.kind = EXEC_REL_LIMIT,
                                       .u.limit = {.input = rel, .count = count}};
        return builder_rel(making->plan, &limit);
    }
    return rel;
}

enum exec_code group_plan_make(struct plan_builder *plan, const struct group_request *request,
                               struct exec_error *err)
{
    struct group_making making = {.plan = plan, .request = request, .err = err};
    const struct sql_text having_text = {"--having", SQL_SELECT_PREFIX, request->having};
    const struct sql_text order_text = {"--order", SQL_ORDER_PREFIX, request->order};
    struct exec_sort_key *sort_keys = NULL;
    uint32_t rel = request->rel, having = 0, sort_key_count = 0;

    sql_scope_init(&making.input, plan);
    sql_scope_init(&making.output, plan);
    making.input.open = true;
    making.output.grouped = true;
    making.input.input_count = 1;
    making.input.inputs[0].qualifiers[0] = request->name;
    making.aggregates.input = &making.input;
    if (request->by == NULL && request->agg == NULL) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "nothing to group: give --by, --agg or both");
    }
    if (make_where(&making, &rel) != EXEC_OK || make_keys(&making) != EXEC_OK ||
        make_items(&making) != EXEC_OK) {
        return err->code;
    }
    if (request->having != NULL) {
        struct sql_lowering lowering = lowering_of(&making, &making.output, &having_text, true);
        having = sql_lower_text(&lowering);
        if (having == 0) {
            return err->code;
        }
    }
    if (request->order != NULL) {
        struct sql_lowering lowering = lowering_of(&making, &making.output, &order_text, true);
        if (sql_lower_order(&lowering, &sort_keys, &sort_key_count) != EXEC_OK) {
            return err->code;
        }
    }
    const bool plain = name_measures(&making);
    const struct exec_rel aggregate = {
        .kind = EXEC_REL_AGGREGATE,
        .u.aggregate = {.input = rel,
                        .keys = making.keys,
                        .key_count = making.key_count,
                        .measures = making.aggregates.measures,
                        .measure_count = making.aggregates.measure_count},
    };
    rel = make_tail(&making, builder_rel(plan, &aggregate), having, sort_keys, sort_key_count);
    if (!plain) {
        make_project(&making, rel);
    }
    return EXEC_OK;
}
