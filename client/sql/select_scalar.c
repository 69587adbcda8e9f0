/* Subqueries as values, as left joins of their query's frame.
 *
 *   (SELECT aggregates ... WHERE inner = outer)
 *       grouped by the inner side of the equalities; what is computed from the aggregates is
 * computed behind the join, where a group that is missing counts 0 (SELECT value ... WHERE inner =
 * outer) the same with a value and a number of rows as aggregates: more than one row fails where
 * the value is asked for any other by itself, or within its domain (select_domain.c) */
#include "select_sublink.h"

static bool is_plain_aggregate(json_t *select)
{
    return sublink_is_plain(select) && json_object_get(select, "distinctClause") == NULL &&
           tree_has_aggregate(json_object_get(select, "targetList"));
}

static enum exec_code check_one_column(struct select_query *query, size_t count, long location)
{
    if (count == 1) {
        return EXEC_OK;
    }
    sql_refuse(&query->lowering, location, EXEC_BAD_SPEC,
               "a subquery used as a value has %zu columns", count);
    return EXEC_BAD_SPEC;
}

static enum exec_code group_inner(struct select_query *query, struct inner *inner,
                                  struct select_join *join)
{
    json_t *rest = json_array();
    uint32_t ids[EXEC_KEYS_MAX];
    enum exec_code code = sublink_keys(inner, false, join, rest);

    if (code == EXEC_OK && json_array_size(rest) != 0) {
        sql_refuse(&query->lowering, sql_node_location(json_array_get(rest, 0)),
                   EXEC_NOT_IMPLEMENTED,
                   "a scalar subquery tied to its query by anything but equalities is not "
                   "implemented yet");
        code = EXEC_NOT_IMPLEMENTED;
    }
    json_decref(rest);
    if (code != EXEC_OK) {
        return code;
    }
    for (uint32_t k = 0; k < join->key_count; k++) {
        ids[k] = select_new_id(query->run);
    }
    code = select_aggregate(&inner->query, join->right_keys, ids, join->key_count,
                            json_object_get(inner->select, "targetList"));
    for (uint32_t k = 0; k < join->key_count; k++) {
        join->right_keys[k] = builder_column(query->run->plan, k + 1, NULL);
    }
    return code;
}

static uint32_t aggregate_value(struct select_query *query, json_t *select, long location)
{
    struct select_join join = {.kind = EXEC_JOIN_LEFT};
    json_t *targets = json_object_get(select, "targetList");
    struct inner inner;
    uint32_t expr = 0;
    enum exec_code code = sublink_lower_from(query, select, &inner);

    if (code == EXEC_OK && json_array_size(targets) != 1) {
        sql_refuse(&query->lowering, location, EXEC_BAD_SPEC,
                   "a subquery used as a value has %zu columns", json_array_size(targets));
        code = EXEC_BAD_SPEC;
    }
    if (code == EXEC_OK) {
        code = group_inner(query, &inner, &join);
    }
    if (code == EXEC_OK) {
        select_join_frames(query, query->frame, inner.query.frame, &join);
        inner.query.frame = query->frame;
        inner.query.misses_groups = true;
        json_t *target = json_object_get(json_array_get(targets, 0), "ResTarget");
        expr = select_expr(&inner.query, json_object_get(target, "val"));
    }
    sublink_fini(&inner);
    return expr;
}

/* ---- rows as values */

/* Groups a frame by keys: one row each, with a value and how many there were. */
struct collapsed {
    struct select_frame frame; /* the keys, the value, the number */
    uint32_t value_id, count_id;
};

static void collapse(struct select_query *query, const struct select_frame *from,
                     const uint32_t *keys, uint32_t key_count, uint32_t value,
                     const struct exec_type *type, struct collapsed *out)
{
    struct plan_builder *plan = query->run->plan;
    struct exec_named_expr *named = builder_alloc(plan, (key_count + 1) * sizeof *named);
    struct exec_measure *measures = builder_alloc(plan, 2 * sizeof *measures);
    uint32_t *args = builder_alloc(plan, sizeof *args);
    const struct exec_type int64 = {.kind = EXEC_TYPE_INT64}, unknown = {0};

    *out = (struct collapsed){.value_id = select_new_id(query->run),
                              .count_id = select_new_id(query->run)};
    for (uint32_t k = 0; k < key_count; k++) {
        named[k].name = builder_printf(plan, "k%u", k + 1);
        named[k].expr = keys[k];
        frame_add(plan, &out->frame, select_new_id(query->run), &unknown);
    }
    args[0] = value;
    measures[0] = (struct exec_measure){
        .function = EXEC_AGG_ANY_VALUE, .args = args, .arg_count = 1, .name = "value"};
    measures[1] = (struct exec_measure){.function = EXEC_AGG_COUNT_STAR, .name = "rows"};
    const struct exec_rel rel = {
        .kind = EXEC_REL_AGGREGATE,
        .u.aggregate = {.input = from->rel,
                        .keys = named,
                        .key_count = key_count,
                        .measures = measures,
                        .measure_count = 2},
    };
    out->frame.rel = builder_rel(plan, &rel);
    frame_add(plan, &out->frame, out->value_id, type);
    frame_add(plan, &out->frame, out->count_id, &int64);
}

static uint32_t checked_value(struct select_query *query, const struct collapsed *collapsed,
                              long location)
{
    const uint32_t value = select_column(query, collapsed->value_id, location);

    return sql_call2(&query->lowering, "single_value", value,
                     select_column(query, collapsed->count_id, location), location);
}

/* FROM and WHERE with equalities between the two. */
static uint32_t plain_value(struct select_query *query, json_t *select, long location)
{
    struct select_join join = {.kind = EXEC_JOIN_LEFT};
    json_t *targets = json_object_get(select, "targetList"), *rest = json_array();
    struct collapsed collapsed;
    struct inner inner;
    uint32_t value = 0;
    enum exec_code code = sublink_lower_from(query, select, &inner);

    code = code == EXEC_OK ? sublink_keys(&inner, false, &join, rest) : code;
    if (code == EXEC_OK && json_array_size(rest) != 0) {
        sql_refuse(&query->lowering, location, EXEC_NOT_IMPLEMENTED,
                   "a subquery used as a value, tied to its query by more than equalities");
        code = EXEC_NOT_IMPLEMENTED;
    }
    if (code == EXEC_OK && check_one_column(query, json_array_size(targets), location) == EXEC_OK) {
        json_t *target = json_object_get(json_array_get(targets, 0), "ResTarget");
        value = select_expr(&inner.query, json_object_get(target, "val"));
    }
    if (value != 0) {
        const struct exec_type type = select_type(&inner.query, value);
        collapse(query, inner.query.frame, join.right_keys, join.key_count, value, &type,
                 &collapsed);
        for (uint32_t k = 0; k < join.key_count; k++) {
            join.right_keys[k] = builder_column(query->run->plan, k + 1, NULL);
        }
        select_join_frames(query, query->frame, &collapsed.frame, &join);
        value = checked_value(query, &collapsed, location);
    }
    json_decref(rest);
    sublink_fini(&inner);
    return value;
}

/* A whole statement, which names nothing outside unless it has a domain. */
static uint32_t whole_value(struct select_query *query, json_t *select,
                            const struct select_domain *domain, long location)
{
    struct select_join join = {.kind = EXEC_JOIN_LEFT};
    struct plan_builder *plan = query->run->plan;
    const uint32_t tail = domain == NULL ? 0 : domain->count;
    struct select_output output = {0};
    struct collapsed collapsed;
    uint32_t keys[EXEC_KEYS_MAX];

    if (select_domain_lower(query, select, domain, &output) != EXEC_OK ||
        check_one_column(query, output.frame.count - tail, location) != EXEC_OK) {
        return 0;
    }
    if (output.one_row) {
        if (domain != NULL && select_domain_join(query, domain, 2, &join) != EXEC_OK) {
            return 0;
        }
        select_join_frames(query, query->frame, &output.frame, &join);
        return select_column(query, output.frame.columns[0].id, location);
    }
    for (uint32_t k = 0; k < tail; k++) {
        keys[k] = builder_column(plan, k + 2, NULL);
    }
    const struct exec_type type = output.frame.columns[0].type;
    collapse(query, &output.frame, keys, tail, builder_column(plan, 1, NULL), &type, &collapsed);
    if (domain != NULL && select_domain_join(query, domain, 1, &join) != EXEC_OK) {
        return 0;
    }
    select_join_frames(query, query->frame, &collapsed.frame, &join);
    return checked_value(query, &collapsed, location);
}

static bool is_star(json_t *select)
{
    return tree_has(json_object_get(select, "targetList"), "A_Star");
}

uint32_t select_scalar(struct select_query *query, json_t *select, long location)
{
    const struct select_mark mark = select_mark(query);
    const bool plain = sublink_is_plain(select) && !is_star(select) &&
                       json_object_get(select, "distinctClause") == NULL &&
                       json_object_get(select, "fromClause") != NULL;
    const uint32_t value = is_plain_aggregate(select) ? aggregate_value(query, select, location)
                           : plain                    ? plain_value(query, select, location)
                                                      : whole_value(query, select, NULL, location);

    if (value != 0) {
        return value;
    }
    const struct exec_error before = *query->run->err;
    if (!select_try_again(query, &mark)) {
        return 0;
    }
    const struct select_domain *domain = select_domain_of(query, select);
    if (domain == NULL) {
        *query->run->err = before;
        return 0;
    }
    return whole_value(query, select, domain, location);
}

/* ---- ANY and ALL as values */

static json_t *column_by_id(uint32_t id)
{
    char name[16];

    snprintf(name, sizeof name, "\x01%u", id);
    return json_pack("{s:[{s:{s:s}}], s:i}", "fields", "String", "sval", name, "location", 0);
}

/* Names to ids: inside of the subquery the names may mean something else. */
static void names_to_ids(struct select_query *query, json_t *tree)
{
    const char *key = NULL;
    json_t *value = NULL;
    size_t i;

    json_array_foreach(tree, i, value)
    {
        names_to_ids(query, value);
    }
    json_object_foreach(tree, key, value)
    {
        const uint32_t id =
            strcmp(key, "ColumnRef") == 0 ? select_resolve_quietly(query, value, NULL) : 0;
        if (id != 0) {
            json_object_clear(value);
            json_t *column = column_by_id(id);
            json_object_update(value, column);
            json_decref(column);
        } else {
            names_to_ids(query, value);
        }
    }
}

static json_t *call_of(const char *function, json_t *arg)
{
    return json_pack("{s:{s:[{s:{s:s}}], s:[o], s:i}}", "FuncCall", "funcname", "String", "sval",
                     function, "args", arg, "location", 0);
}

static json_t *case_when(json_t *when, json_t *then)
{
    return json_pack("{s:{s:o, s:o}}", "CaseWhen", "expr", when, "result", then);
}

static json_t *truth(bool value)
{
    return json_pack("{s:{s:{s:b}, s:i}}", "A_Const", "boolval", "boolval", (int)value, "location",
                     0);
}

/* SELECT CASE WHEN bool_or(x op v) THEN true WHEN bool_or(x op v IS NULL) THEN NULL ELSE false END
 * FROM (SELECT ...) q(v); ALL: false where some is false, then NULL, then true. */
uint32_t select_quantified(struct select_query *query, json_t *sublink, bool all, long location)
{
    json_t *select = tree_body(json_object_get(sublink, "subselect"), "SelectStmt");
    if (tree_has(json_object_get(sublink, "testexpr"), "SubLink") ||
        tree_has(json_object_get(sublink, "testexpr"), "RowExpr")) {
        return sql_refuse(&query->lowering, location, EXEC_NOT_IMPLEMENTED,
                          "a subquery or a row compared with ANY or ALL is only implemented as a "
                          "condition of WHERE or HAVING");
    }
    json_t *tested = json_deep_copy(json_object_get(sublink, "testexpr"));
    json_t *targets = json_object_get(select, "targetList");
    json_t *target = json_object_get(json_array_get(targets, 0), "ResTarget");
    const bool plain = sublink_is_plain(select) && !is_star(select) &&
                       !tree_has_aggregate(targets) && json_array_size(targets) == 1;
    json_t *compared = plain ? json_deep_copy(json_object_get(target, "val"))
                             : json_pack("{s:{s:[{s:{s:s}}], s:i}}", "ColumnRef", "fields",
                                         "String", "sval", "v", "location", 0);
    json_t *test = NULL;

    names_to_ids(query, tested);
    test = json_pack("{s:{s:s, s:O, s:o, s:o, s:i}}", "A_Expr", "kind", "AEXPR_OP", "name",
                     json_object_get(sublink, "operName"), "lexpr", tested, "rexpr", compared,
                     "location", (int)location);
    json_t *known = json_pack("{s:{s:s, s:[O], s:i}}", "BoolExpr", "boolop", "NOT_EXPR", "args",
                              test, "location", 0);
    json_t *unknown = json_pack("{s:{s:O, s:s, s:i}}", "NullTest", "arg", test, "nulltesttype",
                                "IS_NULL", "location", 0);
    json_t *decided = all ? known : json_incref(test);
    json_t *whens =
        json_pack("[o, o]", case_when(call_of("bool_or", decided), truth(!all)),
                  case_when(call_of("bool_or", unknown),
                            json_pack("{s:{s:b, s:i}}", "A_Const", "isnull", 1, "location", 0)));
    json_t *value = json_pack("{s:{s:o, s:o, s:i}}", "CaseExpr", "args", whens, "defresult",
                              truth(all), "location", 0);
    json_t *from = plain ? json_deep_copy(select)
                         : json_pack("{s:[{s:{s:{s:O}, s:{s:s, s:[{s:{s:s}}]}}}]}", "fromClause",
                                     "RangeSubselect", "subquery", "SelectStmt", select, "alias",
                                     "aliasname", "q", "colnames", "String", "sval", "v");
    if (!all) {
        json_decref(known);
    }
    json_decref(test);
    json_object_set_new(from, "targetList",
                        json_pack("[{s:{s:o, s:i}}]", "ResTarget", "val", value, "location", 0));
    json_object_del(from, "sortClause");
    json_object_del(from, "distinctClause");
    const uint32_t expr = select_scalar(query, from, location);
    json_decref(from);
    return expr;
}
