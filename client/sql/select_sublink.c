/* Subqueries in expressions and conditions, as joins of their query's frame.
 *
 *   EXISTS, IN as a condition          semi join; NOT: anti join, null-aware for a plain NOT IN
 *   EXISTS, IN as a value              mark join
 *   (SELECT aggregates ... WHERE inner = outer)
 *                                      grouped by the inner side of the equalities, left join; what
 * is computed from the aggregates is computed behind the join, where a group that is missing counts
 * 0 any other (SELECT ...) of one row  left join of that row with every row */
#include "select_query.h"

/* A subquery whose FROM and WHERE are lowered and whose conditions on the outer query are left. */
struct inner {
    struct select_query query;
    json_t *select;
    bool whole; /* lowered as a statement of its own: the frame is its output */
};

static void inner_fini(struct inner *inner)
{
    select_query_fini(&inner->query);
}

static bool has(json_t *select, const char *clause)
{
    return json_object_get(select, clause) != NULL;
}

/* Only FROM, WHERE and a select list (DISTINCT and ORDER BY change no existence). */
static bool is_plain(json_t *select)
{
    const char *op = json_string_value(json_object_get(select, "op"));

    return (op == NULL || strcmp(op, "SETOP_NONE") == 0) && !has(select, "valuesLists") &&
           !has(select, "groupClause") && !has(select, "havingClause") &&
           !has(select, "limitCount") && !has(select, "limitOffset");
}

/* Aggregates of all rows: exactly one row, whatever the data. */
static bool is_plain_aggregate(json_t *select)
{
    return is_plain(select) && !has(select, "distinctClause") &&
           tree_has_aggregate(json_object_get(select, "targetList"));
}

static enum exec_code lower_from(struct select_query *outer, json_t *select, struct inner *inner)
{
    *inner = (struct inner){.select = select};
    select_query_init(&inner->query, outer->run, outer, outer->ctes);
    if (select_with(&inner->query, select) != EXEC_OK) {
        return outer->run->err->code;
    }
    return select_from(&inner->query, select);
}

static enum exec_code lower_inner(struct select_query *outer, json_t *select, struct inner *inner)
{
    struct select_output output = {0};

    if (is_plain(select) && !tree_has_aggregate(json_object_get(select, "targetList"))) {
        return lower_from(outer, select, inner);
    }
    *inner = (struct inner){.select = select, .whole = true};
    select_query_init(&inner->query, outer->run, outer, outer->ctes);
    if (select_lower(outer->run, select, outer, outer->ctes, &output) != EXEC_OK) {
        return outer->run->err->code;
    }
    *inner->query.frame = output.frame;
    return EXEC_OK;
}

/* ---- conditions between the two */

/* 1: names columns of the outer query, 2: of the inner one. */
struct side_search {
    struct select_query *inner;
    unsigned found;
};

static bool visit_side(void *owner, const char *kind, json_t *body)
{
    struct side_search *search = owner;
    struct select_query *found = NULL;

    if (strcmp(kind, "ColumnRef") == 0) {
        select_resolve_quietly(search->inner, body, &found);
        search->found |= found == search->inner ? 2u : 1u;
    }
    return true;
}

static unsigned side_of(struct select_query *inner, json_t *tree)
{
    struct side_search search = {.inner = inner};

    tree_walk(tree, visit_side, &search);
    return search.found;
}

/* The outer side of an equality. */
static uint32_t lower_outer(struct inner *inner, json_t *tree)
{
    struct select_query *outer = inner->query.outer;
    const bool fixed = outer->frame_fixed;

    outer->frame_fixed = true;
    const uint32_t expr = select_expr(outer, tree);
    outer->frame_fixed = fixed;
    return expr;
}

/* inner = outer, as keys; other conditions go to `rest`. */
static enum exec_code correlated_keys(struct inner *inner, struct select_join *join, json_t *rest)
{
    struct select_query *query = &inner->query;
    json_t *conjunct = NULL;
    size_t i;

    json_array_foreach(query->correlated, i, conjunct)
    {
        json_t *left = NULL, *right = NULL;
        const char *op = tree_operator(conjunct, &left, &right);
        const bool equal = op != NULL && strcmp(op, "=") == 0;
        const unsigned first = equal ? side_of(query, left) : 0;
        const unsigned second = equal ? side_of(query, right) : 0;
        if (first + second != 3 || first == 0 || second == 0) {
            json_array_append(rest, conjunct);
            continue;
        }
        const uint32_t outer_key = lower_outer(inner, first == 1 ? left : right);
        const uint32_t inner_key =
            outer_key == 0 ? 0 : select_expr(query, first == 1 ? right : left);
        if (select_join_key(query, join, outer_key, inner_key, sql_node_location(conjunct)) !=
            EXEC_OK) {
            return query->run->err->code;
        }
    }
    return EXEC_OK;
}

/* Over the outer frame's columns, then the inner's. */
static enum exec_code lower_residual(struct inner *inner, json_t *conjuncts, uint32_t *residual)
{
    struct select_query *query = &inner->query;
    struct select_frame *before = query->frame, both = {0};
    enum exec_code code = EXEC_OK;
    json_t *conjunct = NULL;
    size_t i;

    frame_append(query->run->plan, &both, query->outer->frame);
    frame_append(query->run->plan, &both, query->frame);
    query->frame = &both;
    query->frame_fixed = true;
    json_array_foreach(conjuncts, i, conjunct)
    {
        const uint32_t part = code == EXEC_OK ? select_expr(query, conjunct) : 0;
        code = part == 0 ? query->run->err->code : EXEC_OK;
        *residual = select_both(query, *residual, part);
    }
    query->frame = before;
    query->frame_fixed = false;
    return code;
}

/* ---- the value an IN compares with */

static uint32_t first_column(struct inner *inner, size_t index, long location)
{
    struct select_query *query = &inner->query;
    json_t *targets = json_object_get(inner->select, "targetList");
    json_t *target = json_object_get(json_array_get(targets, index), "ResTarget");
    json_t *value = json_object_get(target, "val");
    json_t *column = tree_body(value, "ColumnRef");
    json_t *fields = json_object_get(column, "fields");
    const bool is_star =
        json_object_get(json_array_get(fields, json_array_size(fields) - 1), "A_Star") != NULL;

    if (inner->whole || is_star) {
        if (query->frame->count <= index) {
            return sql_refuse(&query->lowering, location, EXEC_BAD_SPEC,
                              "the subquery has too few columns");
        }
        return builder_column(query->run->plan, (uint32_t)index + 1, NULL);
    }
    return select_expr(query, value);
}

static size_t column_count(const struct inner *inner)
{
    json_t *targets = json_object_get(inner->select, "targetList");
    json_t *first = json_object_get(json_array_get(targets, 0), "ResTarget");
    const bool star = tree_has(json_object_get(first, "val"), "A_Star");

    return inner->whole || (star && json_array_size(targets) == 1) ? inner->query.frame->count
                                                                   : json_array_size(targets);
}

/* Left values of x IN, (x, y) IN. */
static json_t *tested(json_t *sublink, size_t *count_out)
{
    json_t *test = json_object_get(sublink, "testexpr");
    json_t *row = json_object_get(tree_body(test, "RowExpr"), "args");

    *count_out = row == NULL ? 1 : json_array_size(row);
    return row == NULL ? test : row;
}

static enum exec_code in_keys(struct select_query *outer, struct inner *inner, json_t *sublink,
                              struct select_join *join)
{
    const long location = (long)json_integer_value(json_object_get(sublink, "location"));
    size_t count = 0;
    json_t *test = tested(sublink, &count);

    if (column_count(inner) != count) {
        sql_refuse(&outer->lowering, location, EXEC_BAD_SPEC,
                   "the subquery has %zu columns, %zu are compared", column_count(inner), count);
        return EXEC_BAD_SPEC;
    }
    for (size_t i = 0; i < count; i++) {
        json_t *value = json_is_array(test) ? json_array_get(test, i) : test;
        const uint32_t left = select_expr(outer, value);
        const uint32_t right = left == 0 ? 0 : first_column(inner, i, location);
        if (select_join_key(outer, join, left, right, location) != EXEC_OK) {
            return outer->run->err->code;
        }
    }
    return EXEC_OK;
}

/* NOT IN under conditions on the outer row: no row for which x = y is true or NULL. */
static enum exec_code not_in_residual(struct select_query *outer, struct inner *inner,
                                      json_t *sublink, struct select_join *join)
{
    struct plan_builder *plan = outer->run->plan;
    const long location = (long)json_integer_value(json_object_get(sublink, "location"));
    const struct exec_literal yes = {.type = {.kind = EXEC_TYPE_BOOL}, .value.boolean = true};
    struct select_frame both = {0}, *before = inner->query.frame;
    json_t *targets = json_object_get(inner->select, "targetList");
    json_t *target = json_object_get(json_array_get(targets, 0), "ResTarget");

    if (inner->whole || json_array_size(targets) != 1 ||
        tree_has(json_object_get(target, "val"), "A_Star")) {
        sql_refuse(&outer->lowering, location, EXEC_NOT_IMPLEMENTED,
                   "this kind of correlated NOT IN is not implemented yet");
        return EXEC_NOT_IMPLEMENTED;
    }
    frame_append(plan, &both, outer->frame);
    frame_append(plan, &both, inner->query.frame);
    outer->frame_fixed = true; /* `both` is made */
    const uint32_t left = select_expr(outer, json_object_get(sublink, "testexpr"));
    outer->frame_fixed = false;
    inner->query.frame = &both;
    inner->query.frame_fixed = true;
    const uint32_t right =
        left == 0 ? 0 : select_expr(&inner->query, json_object_get(target, "val"));
    inner->query.frame = before;
    inner->query.frame_fixed = false;
    if (right == 0) {
        return outer->run->err->code;
    }
    const uint32_t pair[] = {left, right};
    const uint32_t maybe[] = {builder_call(plan, "eq", pair, 2, NULL),
                              builder_literal(plan, &yes, NULL)};
    join->residual =
        select_both(outer, join->residual, builder_call(plan, "coalesce", maybe, 2, NULL));
    return EXEC_OK;
}

/* ---- semi, anti and mark joins */

enum sublink_kind { SUBLINK_OTHER, SUBLINK_EXISTS, SUBLINK_IN, SUBLINK_NOT_IN, SUBLINK_VALUE };

static enum sublink_kind kind_of(json_t *sublink)
{
    const char *type = json_string_value(json_object_get(sublink, "subLinkType"));
    const char *op = tree_string(json_array_get(json_object_get(sublink, "operName"), 0));

    if (type == NULL) {
        return SUBLINK_OTHER;
    }
    if (strcmp(type, "EXISTS_SUBLINK") == 0) {
        return SUBLINK_EXISTS;
    }
    if (strcmp(type, "ANY_SUBLINK") == 0) {
        return op == NULL || strcmp(op, "=") == 0 ? SUBLINK_IN : SUBLINK_OTHER;
    }
    if (strcmp(type, "ALL_SUBLINK") == 0) {
        return op != NULL && strcmp(op, "<>") == 0 ? SUBLINK_NOT_IN : SUBLINK_OTHER;
    }
    return strcmp(type, "EXPR_SUBLINK") == 0 ? SUBLINK_VALUE : SUBLINK_OTHER;
}

/* Fills join->kind for a condition; the keys and the residual of all of them. */
static enum exec_code condition_join(struct select_query *outer, struct inner *inner,
                                     json_t *sublink, bool in, bool negated,
                                     struct select_join *join)
{
    json_t *rest = json_array();
    const bool plain = json_array_size(inner->query.correlated) == 0;
    size_t tested_count = 0;
    enum exec_code code = EXEC_OK;

    join->kind = negated ? EXEC_JOIN_LEFT_ANTI : EXEC_JOIN_LEFT_SEMI;
    if (in) {
        tested(sublink, &tested_count);
    }
    if (in && negated && tested_count != 1) {
        sql_refuse(&outer->lowering, (long)json_integer_value(json_object_get(sublink, "location")),
                   EXEC_NOT_IMPLEMENTED, "NOT IN of several columns is not implemented yet");
        code = EXEC_NOT_IMPLEMENTED;
    }
    if (code == EXEC_OK && in && (!negated || plain)) {
        code = in_keys(outer, inner, sublink, join);
        join->kind = negated ? EXEC_JOIN_LEFT_ANTI_NULL_AWARE : join->kind;
    }
    if (code == EXEC_OK) {
        code = correlated_keys(inner, join, rest);
    }
    if (code == EXEC_OK && json_array_size(rest) != 0) {
        code = lower_residual(inner, rest, &join->residual);
    }
    if (code == EXEC_OK && in && negated && !plain) {
        code = not_in_residual(outer, inner, sublink, join);
    }
    json_decref(rest);
    return code;
}

static enum exec_code join_condition(struct select_query *query, json_t *sublink, bool in,
                                     bool negated)
{
    json_t *select = tree_body(json_object_get(sublink, "subselect"), "SelectStmt");
    struct select_join join = {0};
    struct inner inner;

    if (lower_inner(query, select, &inner) != EXEC_OK ||
        condition_join(query, &inner, sublink, in, negated, &join) != EXEC_OK) {
        inner_fini(&inner);
        return query->run->err->code;
    }
    select_join_frames(query, query->frame, inner.query.frame, &join);
    inner_fini(&inner);
    return EXEC_OK;
}

bool select_sublink_condition(struct select_query *query, json_t *conjunct,
                              enum exec_code *code_out)
{
    json_t *negation = tree_body(conjunct, "BoolExpr");
    const char *op = json_string_value(json_object_get(negation, "boolop"));
    const bool negated = op != NULL && strcmp(op, "NOT_EXPR") == 0;
    json_t *node = negated ? json_array_get(json_object_get(negation, "args"), 0) : conjunct;
    json_t *sublink = tree_body(node, "SubLink");

    if (sublink == NULL) {
        return false;
    }
    const enum sublink_kind kind = kind_of(sublink);
    if (kind == SUBLINK_OTHER || kind == SUBLINK_VALUE || (kind == SUBLINK_NOT_IN && negated)) {
        return false;
    }
    *code_out =
        join_condition(query, sublink, kind != SUBLINK_EXISTS, negated || kind == SUBLINK_NOT_IN);
    return true;
}

/* EXISTS and IN as a value. IN is NULL where it is unknown, EXISTS never. */
static uint32_t mark_value(struct select_query *query, json_t *sublink, bool in, bool negated)
{
    const long location = (long)json_integer_value(json_object_get(sublink, "location"));
    json_t *select = tree_body(json_object_get(sublink, "subselect"), "SelectStmt");
    const struct exec_literal no = {.type = {.kind = EXEC_TYPE_BOOL}};
    struct plan_builder *plan = query->run->plan;
    struct select_join join = {0};
    struct inner inner;
    enum exec_code code = lower_inner(query, select, &inner);

    if (code == EXEC_OK && in && json_array_size(inner.query.correlated) != 0) {
        sql_refuse(&query->lowering, location, EXEC_NOT_IMPLEMENTED,
                   "a correlated IN is only implemented as a condition of WHERE or HAVING");
        code = EXEC_NOT_IMPLEMENTED;
    }
    if (code == EXEC_OK) {
        code = condition_join(query, &inner, sublink, in, false, &join);
    }
    if (code == EXEC_OK && in && join.key_count != 1) {
        sql_refuse(&query->lowering, location, EXEC_NOT_IMPLEMENTED,
                   "IN of several columns is only implemented as a condition");
        code = EXEC_NOT_IMPLEMENTED;
    }
    if (code == EXEC_OK) {
        join.kind = EXEC_JOIN_LEFT_MARK;
        join.mark_id = select_new_id(query->run);
        select_join_frames(query, query->frame, inner.query.frame, &join);
    }
    inner_fini(&inner);
    if (code != EXEC_OK) {
        return 0;
    }
    uint32_t mark = select_column(query, join.mark_id, location);
    if (!in) {
        const uint32_t pair[] = {mark, builder_literal(plan, &no, NULL)};
        mark = builder_call(plan, "coalesce", pair, 2, NULL);
    }
    return negated ? builder_call(plan, "not", &mark, 1, NULL) : mark;
}

/* ---- scalar subqueries */

static enum exec_code group_inner(struct select_query *query, struct inner *inner,
                                  struct select_join *join)
{
    json_t *rest = json_array();
    uint32_t ids[EXEC_KEYS_MAX];
    enum exec_code code = correlated_keys(inner, join, rest);

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
    enum exec_code code = lower_from(query, select, &inner);

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
    inner_fini(&inner);
    return expr;
}

static uint32_t row_value(struct select_query *query, json_t *select, long location)
{
    struct select_join join = {.kind = EXEC_JOIN_LEFT};
    struct select_output output = {0};

    if (select_lower(query->run, select, query, query->ctes, &output) != EXEC_OK) {
        return 0;
    }
    if (output.frame.count != 1) {
        return sql_refuse(&query->lowering, location, EXEC_BAD_SPEC,
                          "a subquery used as a value has %u columns", output.frame.count);
    }
    if (!output.one_row) {
        return sql_refuse(&query->lowering, location, EXEC_NOT_IMPLEMENTED,
                          "a subquery used as a value must give one row by its shape: use an "
                          "aggregate without GROUP BY, or LIMIT 1");
    }
    select_join_frames(query, query->frame, &output.frame, &join);
    return select_column(query, output.frame.columns[0].id, location);
}

uint32_t select_sublink_value(struct select_query *query, json_t *sublink)
{
    const long location = (long)json_integer_value(json_object_get(sublink, "location"));
    json_t *select = tree_body(json_object_get(sublink, "subselect"), "SelectStmt");

    if (query->frame_fixed) {
        return sql_refuse(&query->lowering, location, EXEC_NOT_IMPLEMENTED,
                          "a subquery in this place is not implemented yet");
    }
    switch (kind_of(sublink)) {
        case SUBLINK_EXISTS: return mark_value(query, sublink, false, false);
        case SUBLINK_IN: return mark_value(query, sublink, true, false);
        case SUBLINK_NOT_IN: return mark_value(query, sublink, true, true);
        case SUBLINK_VALUE:
            return is_plain_aggregate(select) ? aggregate_value(query, select, location)
                                              : row_value(query, select, location);
        case SUBLINK_OTHER: break;
    }
    return sql_refuse(&query->lowering, location, EXEC_NOT_IMPLEMENTED,
                      "this kind of subquery (an operator with ANY or ALL, ARRAY) is not "
                      "implemented yet");
}
