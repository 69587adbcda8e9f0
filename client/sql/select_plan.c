/* A SELECT from end to end. */
#include "select_plan.h"
#include "select_query.h"

/* ---- WITH */

enum exec_code select_with(struct select_query *query, json_t *select)
{
    json_t *with = json_object_get(select, "withClause"), *node = NULL;
    struct plan_builder *plan = query->run->plan;
    size_t i;

    if (json_is_true(json_object_get(with, "recursive"))) {
        sql_refuse(&query->lowering, (long)json_integer_value(json_object_get(with, "location")),
                   EXEC_NOT_IMPLEMENTED, "WITH RECURSIVE is not implemented yet");
        return EXEC_NOT_IMPLEMENTED;
    }
    json_array_foreach(json_object_get(with, "ctes"), i, node)
    {
        json_t *body = tree_body(node, "CommonTableExpr");
        const char *name = json_string_value(json_object_get(body, "ctename"));
        struct select_cte *cte = builder_alloc(plan, sizeof *cte);
        *cte = (struct select_cte){
            .next = query->ctes,
            .name = builder_text(plan, name, strlen(name)),
            .body = tree_body(json_object_get(body, "ctequery"), "SelectStmt"),
            .columns = json_object_get(body, "aliascolnames"),
            .visible = query->ctes,
        };
        if (cte->body == NULL) {
            sql_refuse(&query->lowering,
                       (long)json_integer_value(json_object_get(body, "location")),
                       EXEC_NOT_IMPLEMENTED, "WITH of anything but a SELECT");
            return EXEC_NOT_IMPLEMENTED;
        }
        query->ctes = cte;
    }
    return EXEC_OK;
}

/* ---- the select list */

static const char *own_name(struct plan_builder *plan, json_t *tree, uint32_t number)
{
    const char *qualifier = NULL, *name = NULL;
    json_t *cast = tree_body(tree, "TypeCast");

    if (cast != NULL) {
        return own_name(plan, json_object_get(cast, "arg"), number);
    }
    if (tree_body(tree, "ColumnRef") != NULL) {
        sql_column_parts(tree_body(tree, "ColumnRef"), &qualifier, &name);
    } else if (tree_body(tree, "FuncCall") != NULL) {
        name = tree_function(tree_body(tree, "FuncCall"));
    } else if (tree_body(tree, "CoalesceExpr") != NULL) {
        name = "coalesce";
    } else if (tree_body(tree, "CaseExpr") != NULL) {
        name = "case";
    }
    return name != NULL ? builder_text(plan, name, strlen(name))
                        : builder_printf(plan, "column%u", number);
}

static struct select_target *add_target(struct plan_builder *plan, struct select_targets *targets)
{
    if (targets->count == targets->room) {
        targets->room = targets->room == 0 ? 32 : 2 * targets->room;
        struct select_target *moved = builder_alloc(plan, targets->room * sizeof *moved);
        if (targets->count > 0) {
            memcpy(moved, targets->items, targets->count * sizeof *moved);
        }
        targets->items = moved;
    }
    return &targets->items[targets->count++];
}

static enum exec_code expand_star(struct select_query *query, const char *qualifier, long location,
                                  struct select_targets *targets)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < query->names.count; i++) {
        const struct select_name *item = &query->names.items[i];
        if (qualifier == NULL
                ? item->qualified_only
                : item->qualifier == NULL || strcmp(item->qualifier, qualifier) != 0) {
            continue;
        }
        *add_target(query->run->plan, targets) =
            (struct select_target){.name = item->name, .id = item->id, .location = location};
        found++;
    }
    if (found == 0) {
        sql_refuse(&query->lowering, location, EXEC_BAD_SPEC,
                   qualifier == NULL ? "* without FROM%s" : "no table in FROM is called '%.60s'",
                   qualifier == NULL ? "" : qualifier);
        return EXEC_BAD_SPEC;
    }
    return EXEC_OK;
}

static enum exec_code read_targets(struct select_query *query, json_t *list,
                                   struct select_targets *targets)
{
    json_t *node = NULL;
    size_t i;

    json_array_foreach(list, i, node)
    {
        json_t *target = json_object_get(node, "ResTarget");
        json_t *tree = json_object_get(target, "val");
        json_t *column = tree_body(tree, "ColumnRef");
        const char *given = json_string_value(json_object_get(target, "name"));
        const char *qualifier = NULL, *name = NULL;
        const long location = (long)json_integer_value(json_object_get(target, "location"));
        if (column != NULL && sql_column_parts(column, &qualifier, &name) && name == NULL) {
            if (expand_star(query, qualifier, location, targets) != EXEC_OK) {
                return query->run->err->code;
            }
            continue;
        }
        struct select_target *added = add_target(query->run->plan, targets);
        *added = (struct select_target){
            .name = given != NULL ? builder_text(query->run->plan, given, strlen(given))
                                  : own_name(query->run->plan, tree, targets->count),
            .named = given != NULL,
            .tree = tree,
            .location = location,
        };
    }
    return EXEC_OK;
}

static uint32_t lower_target(struct select_query *query, const struct select_target *target)
{
    struct exec_literal null = {.type = {.kind = EXEC_TYPE_UTF8}, .is_null = true};

    if (target->tree == NULL) {
        const uint32_t column = select_column(query, target->id, target->location);
        return column != 0 ? column
                           : sql_refuse(&query->lowering, target->location, EXEC_BAD_SPEC,
                                        "column '%.60s' must be in GROUP BY or inside an aggregate",
                                        target->name);
    }
    return select_is_null(target->tree) ? builder_literal(query->run->plan, &null, NULL)
                                        : select_expr(query, target->tree);
}

/* ---- ORDER BY */

enum exec_direction select_direction(json_t *sort_by)
{
    const char *dir = json_string_value(json_object_get(sort_by, "sortby_dir"));
    const char *nulls = json_string_value(json_object_get(sort_by, "sortby_nulls"));
    const bool desc = dir != NULL && strcmp(dir, "SORTBY_DESC") == 0;
    const bool said = nulls != NULL && strcmp(nulls, "SORTBY_NULLS_DEFAULT") != 0;
    const bool first = said ? strcmp(nulls, "SORTBY_NULLS_FIRST") == 0 : desc;

    if (desc) {
        return first ? EXEC_DESC_NULLS_FIRST : EXEC_DESC_NULLS_LAST;
    }
    return first ? EXEC_ASC_NULLS_FIRST : EXEC_ASC_NULLS_LAST;
}

/* Which output column an ORDER BY item is, from 1: by number, by name, or (same_tree) because the
 * select list has the expression. 0: none; -1: refused. */
static int output_of(struct select_query *query, json_t *node, const char *const *names,
                     const struct select_targets *targets, uint32_t count)
{
    json_t *number = json_object_get(tree_body(node, "A_Const"), "ival");
    const char *qualifier = NULL, *name = NULL;
    json_t *column = tree_body(node, "ColumnRef");

    if (number != NULL) {
        const int64_t at = json_integer_value(json_object_get(number, "ival"));
        if (at < 1 || at > count) {
            sql_refuse(&query->lowering, sql_node_location(node), EXEC_BAD_SPEC,
                       "ORDER BY: there is no column %lld in the select list", (long long)at);
            return -1;
        }
        return (int)at;
    }
    if (column != NULL && sql_column_parts(column, &qualifier, &name) && qualifier == NULL &&
        name != NULL) {
        for (uint32_t i = 0; i < count; i++) {
            if (strcmp(names[i], name) == 0) {
                return (int)i + 1;
            }
        }
    }
    for (uint32_t i = 0; targets != NULL && i < targets->count; i++) {
        if (targets->items[i].tree != NULL &&
            tree_equal(node, targets->items[i].tree, select_same_column, query)) {
            return (int)i + 1;
        }
    }
    return 0;
}

static void add_sort(struct select_query *query, struct select_frame *frame,
                     const struct exec_sort_key *keys, uint32_t count)
{
    const struct exec_rel rel = {
        .kind = EXEC_REL_SORT,
        .u.sort = {.input = frame->rel, .keys = keys, .key_count = count, .limit = -1},
    };

    frame->rel = builder_rel(query->run->plan, &rel);
}

/* ORDER BY over the output, whose columns it must name. */
static enum exec_code sort_output(struct select_query *query, json_t *clause,
                                  const struct select_targets *targets, struct select_output *out)
{
    const uint32_t count = (uint32_t)json_array_size(clause);
    struct plan_builder *plan = query->run->plan;
    struct exec_sort_key *keys = builder_alloc(plan, (count + 1) * sizeof *keys);

    for (uint32_t i = 0; i < count; i++) {
        json_t *sort_by = json_object_get(json_array_get(clause, i), "SortBy");
        json_t *node = json_object_get(sort_by, "node");
        const int at = output_of(query, node, out->names, targets, out->frame.count);
        if (at == 0) {
            sql_refuse(&query->lowering, sql_node_location(node), EXEC_BAD_SPEC,
                       "ORDER BY of DISTINCT or a set operation must name columns of the select "
                       "list");
        }
        if (at <= 0) {
            return query->run->err->code;
        }
        const struct plan_origin origin = sql_origin(&query->lowering, sql_node_location(node));
        keys[i] = (struct exec_sort_key){.expr = builder_column(plan, (uint32_t)at, &origin),
                                         .direction = select_direction(sort_by)};
    }
    if (count > 0) {
        add_sort(query, &out->frame, keys, count);
    }
    return EXEC_OK;
}

/* The keys of ORDER BY before the projection, where every column still is; *keys_out is one a
 * item. */
static enum exec_code order_keys(struct select_query *query, json_t *clause,
                                 const struct select_targets *targets, const char *const *names,
                                 const uint32_t *exprs, struct exec_sort_key **keys_out)
{
    const uint32_t count = (uint32_t)json_array_size(clause);
    struct exec_sort_key *keys = builder_alloc(query->run->plan, (count + 1) * sizeof *keys);

    for (uint32_t i = 0; i < count; i++) {
        json_t *sort_by = json_object_get(json_array_get(clause, i), "SortBy");
        json_t *node = json_object_get(sort_by, "node");
        const int at = output_of(query, node, names, NULL, targets->count);
        if (at < 0) {
            return query->run->err->code;
        }
        keys[i].direction = select_direction(sort_by);
        keys[i].expr = at > 0 ? exprs[at - 1] : select_expr(query, node);
        if (keys[i].expr == 0) {
            return query->run->err->code;
        }
    }
    *keys_out = keys;
    return EXEC_OK;
}

/* DISTINCT ON: of the rows with equal keys the first in ORDER BY stays. */
static enum exec_code distinct_on(struct select_query *query, json_t *clause,
                                  const struct select_targets *targets, const char *const *names,
                                  const uint32_t *exprs, const struct exec_sort_key *order,
                                  uint32_t order_count)
{
    const uint32_t count = (uint32_t)json_array_size(clause);
    uint32_t *keys = builder_alloc(query->run->plan, (count + EXEC_KEYS_MAX) * sizeof *keys);
    const uint32_t outer_count = select_domain_exprs(query, keys + count);

    for (uint32_t i = 0; i < count; i++) {
        json_t *node = json_array_get(clause, i);
        const int at = output_of(query, node, names, NULL, targets->count);
        keys[i] = at < 0 ? 0 : at > 0 ? exprs[at - 1] : select_expr(query, node);
        if (keys[i] == 0) {
            return query->run->err->code;
        }
    }
    return select_first_rows(query, keys, count + outer_count, order, order_count,
                             sql_node_location(json_array_get(clause, 0)));
}

void select_distinct(struct select_query *query, struct select_frame *frame)
{
    const struct exec_rel rel = {.kind = EXEC_REL_DISTINCT, .u.distinct.input = frame->rel};

    frame->rel = builder_rel(query->run->plan, &rel);
}

/* ---- one SELECT */

static enum exec_code lower_lists(struct select_query *query, json_t *select,
                                  struct select_targets *targets, struct select_output *out)
{
    struct plan_builder *plan = query->run->plan;
    json_t *distinct = json_object_get(select, "distinctClause");
    json_t *order = json_object_get(select, "sortClause");
    const uint32_t room = targets->count + EXEC_KEYS_MAX + 1;
    uint32_t *exprs = builder_alloc(plan, room * sizeof *exprs);
    const char **names = builder_alloc(plan, room * sizeof *names);
    uint32_t count = targets->count;

    const bool is_on = json_is_object(json_array_get(distinct, 0)) &&
                       json_object_size(json_array_get(distinct, 0)) != 0;
    const uint32_t order_count = (uint32_t)json_array_size(order);
    struct exec_sort_key *keys = NULL;

    for (uint32_t t = 0; t < targets->count; t++) {
        names[t] = targets->items[t].name;
        exprs[t] = lower_target(query, &targets->items[t]);
        if (exprs[t] == 0) {
            return query->run->err->code;
        }
    }
    count += select_domain_exprs(query, exprs + count);
    for (uint32_t t = targets->count; t < count; t++) {
        names[t] = builder_printf(plan, "d%u", t - targets->count + 1);
    }
    if (distinct == NULL || is_on) {
        if (order_keys(query, order, targets, names, exprs, &keys) != EXEC_OK ||
            (is_on &&
             distinct_on(query, distinct, targets, names, exprs, keys, order_count) != EXEC_OK)) {
            return query->run->err->code;
        }
        if (order_count > 0) {
            add_sort(query, query->frame, keys, order_count);
        }
        if (select_limit(query, select, query->frame, out) != EXEC_OK) {
            return query->run->err->code;
        }
        select_project(query, exprs, names, count, out);
        return EXEC_OK;
    }
    select_project(query, exprs, names, count, out);
    select_distinct(query, &out->frame);
    if (sort_output(query, order, targets, out) != EXEC_OK) {
        return query->run->err->code;
    }
    return select_limit(query, select, &out->frame, out);
}

static enum exec_code check_correlated(struct select_query *query)
{
    if (json_array_size(query->correlated) == 0) {
        return EXEC_OK;
    }
    sql_refuse(&query->lowering, sql_node_location(json_array_get(query->correlated, 0)),
               EXEC_NOT_IMPLEMENTED,
               "a subquery with GROUP BY, LIMIT or no aggregate that names columns of the query "
               "around it is not implemented yet");
    return EXEC_NOT_IMPLEMENTED;
}

static enum exec_code lower_select(struct select_query *query, json_t *select,
                                   struct select_output *out)
{
    json_t *having = json_array(), *conjunct = NULL;
    struct select_targets targets = {0};
    enum exec_code code = EXEC_OK;
    size_t i;

    code = code == EXEC_OK ? select_from(query, select) : code;
    code = code == EXEC_OK ? check_correlated(query) : code;
    code = code == EXEC_OK ? read_targets(query, json_object_get(select, "targetList"), &targets)
                           : code;
    code = code == EXEC_OK ? select_group(query, select, &targets) : code;
    out->one_row = json_object_get(select, "fromClause") == NULL ||
                   (query->grouped && query->key_count == 0 && query->set_count <= 1);
    tree_flatten(json_object_get(select, "havingClause"), "AND_EXPR", having);
    json_array_foreach(having, i, conjunct)
    {
        code = code == EXEC_OK ? select_conjunct(query, conjunct) : code;
    }
    code = code == EXEC_OK ? select_windows(query, select, &targets) : code;
    code = code == EXEC_OK ? lower_lists(query, select, &targets, out) : code;
    json_decref(having);
    return code;
}

static enum exec_code lower_any(struct select_query *query, json_t *select,
                                struct select_output *out)
{
    const char *op = json_string_value(json_object_get(select, "op"));
    json_t *lists = json_object_get(select, "valuesLists");
    const bool is_set = op != NULL && strcmp(op, "SETOP_NONE") != 0;

    if (select_with(query, select) != EXEC_OK) {
        return query->run->err->code;
    }
    if (json_object_get(select, "lockingClause") != NULL ||
        json_object_get(select, "intoClause") != NULL) {
        return EXEC_FAIL(query->run->err, EXEC_NOT_IMPLEMENTED,
                         "%s: SELECT INTO and FOR UPDATE are not implemented",
                         query->run->text->option);
    }
    if (!is_set && lists == NULL) {
        return lower_select(query, select, out);
    }
    const enum exec_code code =
        is_set ? select_set(query, select, out) : select_values(query, lists, out);
    if (code != EXEC_OK ||
        sort_output(query, json_object_get(select, "sortClause"), NULL, out) != EXEC_OK) {
        return query->run->err->code;
    }
    return select_limit(query, select, &out->frame, out);
}

enum exec_code select_lower(struct select_run *run, json_t *select, struct select_query *outer,
                            const struct select_cte *ctes, struct select_output *out)
{
    struct select_query query;

    if (run->depth == SELECT_DEPTH_MAX || run->plan->rel_count > EXEC_RELS_MAX) {
        return EXEC_FAIL(run->err, EXEC_LIMIT,
                         "%s: queries nested deeper than %d levels, or a plan of more than %d "
                         "relations",
                         run->text->option, SELECT_DEPTH_MAX, EXEC_RELS_MAX);
    }
    run->depth++;
    select_query_init(&query, run, outer, ctes);
    const enum exec_code code = lower_any(&query, select, out);
    select_query_fini(&query);
    run->depth--;
    return code;
}

enum exec_code select_plan_make(struct plan_builder *plan, const struct select_catalog *catalog,
                                const struct sql_text *text, struct exec_error *err)
{
    struct select_run run = {.plan = plan, .catalog = catalog, .text = text, .err = err};
    struct select_output output = {0};
    json_t *select = sql_parse(text, err);

    if (select == NULL) {
        return err->code;
    }
    const enum exec_code code = select_lower(&run, select, NULL, NULL, &output);
    json_decref(select);
    return code;
}
