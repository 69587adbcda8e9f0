/* Subqueries in expressions and conditions, as joins of their query's frame.
 *
 *   EXISTS, IN as a condition          semi join; NOT: anti join, null-aware for a plain NOT IN
 *   EXISTS, IN as a value              mark join
 *
 * Those as values are in select_scalar.c. A subquery that none of this fits is lowered within its
 * domain (select_domain.c), of which the join has the columns as keys. */
#include "select_sublink.h"

void sublink_fini(struct inner *inner)
{
    select_query_fini(&inner->query);
}

static bool has(json_t *select, const char *clause)
{
    return json_object_get(select, clause) != NULL;
}

bool sublink_is_plain(json_t *select)
{
    const char *op = json_string_value(json_object_get(select, "op"));

    return (op == NULL || strcmp(op, "SETOP_NONE") == 0) && !has(select, "valuesLists") &&
           !has(select, "groupClause") && !has(select, "havingClause") &&
           !has(select, "limitCount") && !has(select, "limitOffset");
}

enum exec_code sublink_lower_from(struct select_query *outer, json_t *select, struct inner *inner)
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

    if (sublink_is_plain(select) && !tree_has_aggregate(json_object_get(select, "targetList"))) {
        return sublink_lower_from(outer, select, inner);
    }
    *inner = (struct inner){.select = select, .whole = true};
    select_query_init(&inner->query, outer->run, outer, outer->ctes);
    if (select_lower(outer->run, select, outer, outer->ctes, &output) != EXEC_OK) {
        return outer->run->err->code;
    }
    *inner->query.frame = output.frame;
    return EXEC_OK;
}

/* The same within the subquery's domain, after a try without. */
static enum exec_code lower_in_domain(struct select_query *outer, json_t *select,
                                      struct inner *inner)
{
    const struct exec_error before = *outer->run->err;
    const struct select_domain *domain = select_domain_of(outer, select);
    struct select_output output = {0};

    *inner = (struct inner){.select = select, .whole = true, .domain = domain};
    select_query_init(&inner->query, outer->run, outer, outer->ctes);
    if (domain == NULL) {
        *outer->run->err = before;
        return before.code;
    }
    if (select_domain_lower(outer, select, domain, &output) != EXEC_OK) {
        return outer->run->err->code;
    }
    *inner->query.frame = output.frame;
    return EXEC_OK;
}

static uint32_t own_columns(const struct inner *inner)
{
    return inner->query.frame->count - (inner->domain == NULL ? 0 : inner->domain->count);
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

enum exec_code sublink_keys(struct inner *inner, bool answers_in, struct select_join *join,
                            json_t *rest)
{
    struct select_query *query = &inner->query;
    json_t *conjunct = NULL;
    size_t i;

    json_array_foreach(query->correlated, i, conjunct)
    {
        json_t *left = NULL, *right = NULL;
        const char *op = tree_operator(conjunct, &left, &right);
        const bool equal = !answers_in && op != NULL && strcmp(op, "=") == 0;
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
        if (own_columns(inner) <= index) {
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

    return inner->whole || (star && json_array_size(targets) == 1) ? own_columns(inner)
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

/* `x op y` of the value tested and the subquery's column, over the columns of both. `wanted` false:
 * its negation; `unknown_counts`: NULL is taken for true in the end. */
static enum exec_code compared(struct select_query *outer, struct inner *inner, json_t *sublink,
                               const char *function, bool wanted, bool unknown_counts,
                               struct select_join *join)
{
    struct plan_builder *plan = outer->run->plan;
    const long location = (long)json_integer_value(json_object_get(sublink, "location"));
    const struct exec_literal yes = {.type = {.kind = EXEC_TYPE_BOOL}, .value.boolean = true};
    struct select_frame both = {0}, *before = inner->query.frame;
    json_t *targets = json_object_get(inner->select, "targetList");
    json_t *target = json_object_get(json_array_get(targets, 0), "ResTarget");

    if (column_count(inner) != 1) {
        sql_refuse(&outer->lowering, location, EXEC_BAD_SPEC,
                   "the subquery has %zu columns, 1 is compared", column_count(inner));
        return EXEC_BAD_SPEC;
    }
    frame_append(plan, &both, outer->frame);
    const uint32_t left_count = both.count;
    frame_append(plan, &both, inner->query.frame);
    outer->frame_fixed = true; /* `both` is made */
    const uint32_t left = select_expr(outer, json_object_get(sublink, "testexpr"));
    outer->frame_fixed = false;
    inner->query.frame = &both;
    inner->query.frame_fixed = true;
    const uint32_t right = left == 0 ? 0
                           : inner->whole || tree_has(json_object_get(target, "val"), "A_Star")
                               ? builder_column(plan, left_count + 1, NULL)
                               : select_expr(&inner->query, json_object_get(target, "val"));
    inner->query.frame = before;
    inner->query.frame_fixed = false;
    if (right == 0) {
        return outer->run->err->code;
    }
    const uint32_t pair[] = {left, right};
    const struct plan_origin origin = sql_origin(&outer->lowering, location);
    uint32_t result = builder_call(plan, function, pair, 2, &origin);
    result = wanted ? result : builder_call(plan, "not", &result, 1, NULL);
    if (unknown_counts) {
        const uint32_t maybe[] = {result, builder_literal(plan, &yes, NULL)};
        result = builder_call(plan, "coalesce", maybe, 2, NULL);
    }
    join->residual = select_both(outer, join->residual, result);
    return EXEC_OK;
}

/* ---- semi, anti and mark joins */

enum sublink_kind {
    SUBLINK_OTHER,
    SUBLINK_EXISTS,
    SUBLINK_IN,
    SUBLINK_NOT_IN,
    SUBLINK_ANY, /* x < ANY (...) */
    SUBLINK_ALL,
    SUBLINK_VALUE,
};

/* The engine's function of a comparison; NULL: it is none. */
static const char *comparison_of(json_t *sublink)
{
    static const struct {
        const char *sql, *function;
    } comparisons[] = {{"=", "eq"},  {"<>", "ne"}, {"<", "lt"},
                       {"<=", "le"}, {">", "gt"},  {">=", "ge"}};
    const char *op = tree_string(json_array_get(json_object_get(sublink, "operName"), 0));

    for (size_t i = 0; op != NULL && i < sizeof comparisons / sizeof comparisons[0]; i++) {
        if (strcmp(comparisons[i].sql, op) == 0) {
            return comparisons[i].function;
        }
    }
    return NULL;
}

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
        return op == NULL || strcmp(op, "=") == 0 ? SUBLINK_IN
               : comparison_of(sublink) != NULL   ? SUBLINK_ANY
                                                  : SUBLINK_OTHER;
    }
    if (strcmp(type, "ALL_SUBLINK") == 0) {
        return op != NULL && strcmp(op, "<>") == 0 ? SUBLINK_NOT_IN
               : comparison_of(sublink) != NULL    ? SUBLINK_ALL
                                                   : SUBLINK_OTHER;
    }
    return strcmp(type, "EXPR_SUBLINK") == 0 ? SUBLINK_VALUE : SUBLINK_OTHER;
}

/* Keys, residual and kind of the join that keeps the rows for which the condition holds (or, for
 * EXISTS and IN, `marks` them).
 *
 * A row is kept by x op ANY when some pair is true, by NOT ... ANY when no pair is true or NULL; by
 * x op ALL when no pair is false or NULL, by NOT ... ALL when some pair is false. */
static enum exec_code condition_join(struct select_query *outer, struct inner *inner,
                                     json_t *sublink, enum sublink_kind kind, bool negated,
                                     bool marks, struct select_join *join)
{
    json_t *rest = json_array();
    const bool plain = json_array_size(inner->query.correlated) == 0 && inner->domain == NULL;
    const bool in = kind == SUBLINK_IN;
    size_t tested_count = 1;
    enum exec_code code = EXEC_OK;

    if (in) {
        tested(sublink, &tested_count);
    }
    /* A NOT IN of one value under conditions is better hashed by those. */
    const bool null_aware = in && (marks || (negated && (plain || tested_count != 1)));
    join->kind = null_aware                         ? EXEC_JOIN_LEFT_ANTI_NULL_AWARE
                 : negated == (kind != SUBLINK_ALL) ? EXEC_JOIN_LEFT_ANTI
                                                    : EXEC_JOIN_LEFT_SEMI;
    if (in && (!negated || null_aware)) {
        code = in_keys(outer, inner, sublink, join);
    }
    if (code == EXEC_OK) {
        code = sublink_keys(inner, null_aware, join, rest);
    }
    if (code == EXEC_OK && inner->domain != NULL && null_aware) {
        select_domain_residual(outer, inner->domain, own_columns(inner) + 1, join);
    } else if (code == EXEC_OK && inner->domain != NULL) {
        code = select_domain_join(outer, inner->domain, own_columns(inner) + 1, join);
    }
    if (code == EXEC_OK && json_array_size(rest) != 0) {
        code = lower_residual(inner, rest, &join->residual);
    }
    if (code == EXEC_OK && in && negated && !null_aware) {
        code = compared(outer, inner, sublink, "eq", true, true, join);
    }
    if (code == EXEC_OK && kind == SUBLINK_ANY) {
        code = compared(outer, inner, sublink, comparison_of(sublink), true, negated, join);
    }
    if (code == EXEC_OK && kind == SUBLINK_ALL) {
        code = compared(outer, inner, sublink, comparison_of(sublink), false, !negated, join);
    }
    json_decref(rest);
    return code;
}

/* First as it stands, then within the domain. */
static enum exec_code lower_condition(struct select_query *query, json_t *sublink,
                                      enum sublink_kind kind, bool negated, bool marks,
                                      struct inner *inner, struct select_join *join)
{
    json_t *select = tree_body(json_object_get(sublink, "subselect"), "SelectStmt");
    const struct select_mark mark = select_mark(query);
    enum exec_code code = lower_inner(query, select, inner);

    *join = (struct select_join){0};
    code =
        code != EXEC_OK ? code : condition_join(query, inner, sublink, kind, negated, marks, join);
    if (code == EXEC_OK || !select_try_again(query, &mark)) {
        return code;
    }
    sublink_fini(inner);
    *join = (struct select_join){0};
    code = lower_in_domain(query, select, inner);
    return code != EXEC_OK ? code
                           : condition_join(query, inner, sublink, kind, negated, marks, join);
}

static enum exec_code join_condition(struct select_query *query, json_t *sublink,
                                     enum sublink_kind kind, bool negated)
{
    struct select_join join;
    struct inner inner;
    const enum exec_code code =
        lower_condition(query, sublink, kind, negated, false, &inner, &join);

    if (code == EXEC_OK) {
        select_join_frames(query, query->frame, inner.query.frame, &join);
    }
    sublink_fini(&inner);
    return code;
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
    *code_out = kind == SUBLINK_NOT_IN ? join_condition(query, sublink, SUBLINK_IN, true)
                                       : join_condition(query, sublink, kind, negated);
    return true;
}

/* EXISTS and IN as a value. IN is NULL where it is unknown, EXISTS never. */
static uint32_t mark_value(struct select_query *query, json_t *sublink, bool in, bool negated)
{
    const long location = (long)json_integer_value(json_object_get(sublink, "location"));
    const struct exec_literal no = {.type = {.kind = EXEC_TYPE_BOOL}};
    struct plan_builder *plan = query->run->plan;
    struct select_join join;
    struct inner inner;

    if (lower_condition(query, sublink, in ? SUBLINK_IN : SUBLINK_EXISTS, false, true, &inner,
                        &join) != EXEC_OK) {
        sublink_fini(&inner);
        return 0;
    }
    join.kind = EXEC_JOIN_LEFT_MARK;
    join.mark_id = select_new_id(query->run);
    select_join_frames(query, query->frame, inner.query.frame, &join);
    sublink_fini(&inner);
    uint32_t mark = select_column(query, join.mark_id, location);
    if (!in) {
        const uint32_t pair[] = {mark, builder_literal(plan, &no, NULL)};
        mark = builder_call(plan, "coalesce", pair, 2, NULL);
    }
    return negated ? builder_call(plan, "not", &mark, 1, NULL) : mark;
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
        case SUBLINK_VALUE: return select_scalar(query, select, location);
        case SUBLINK_ANY: return select_quantified(query, sublink, false, location);
        case SUBLINK_ALL: return select_quantified(query, sublink, true, location);
        case SUBLINK_OTHER: break;
    }
    return sql_refuse(&query->lowering, location, EXEC_NOT_IMPLEMENTED,
                      "this kind of subquery is not implemented yet");
}
