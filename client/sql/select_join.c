/* JOIN in FROM: conditions to keys, filters and residuals. */
#include "select_query.h"

/* The two sides of a join while its condition is read. */
struct join_sides {
    struct select_query *query;
    struct select_input left, right;
    struct select_join join;
    bool keep_left, keep_right; /* rows without a match stay */
    uint32_t filter;            /* inner joins: what is left of ON, over both */
    json_t *rest;               /* conjuncts that are neither keys nor of one side */
    json_t *late;               /* those with subqueries, of inner joins: behind the join */
};

/* 1: names left columns, 2: right ones, 4: others. */
struct side_search {
    struct join_sides *sides;
    unsigned found;
    bool in_subquery; /* other names are its own */
};

static bool visit_side(void *owner, const char *kind, json_t *body)
{
    struct side_search *search = owner;

    if (strcmp(kind, "ColumnRef") == 0) {
        const uint32_t id = select_resolve_quietly(search->sides->query, body, NULL);
        search->found |= frame_position(&search->sides->left.frame, id) != 0    ? 1u
                         : frame_position(&search->sides->right.frame, id) != 0 ? 2u
                         : search->in_subquery                                  ? 0u
                                                                                : 4u;
    }
    return true;
}

static unsigned sides_of(struct join_sides *sides, json_t *tree)
{
    struct side_search search = {.sides = sides};

    tree_walk(tree, visit_side, &search);
    return search.found | (tree_has(tree, "SubLink") ? 4u : 0u);
}

/* A condition with a subquery: of one side whose rows may go, it filters that side; of an inner
 * join it is left for the rows joined. */
static enum exec_code on_subquery(struct join_sides *sides, json_t *conjunct)
{
    struct side_search search = {.sides = sides, .in_subquery = true};
    struct select_query *query = sides->query;
    struct select_frame *before = query->frame;

    tree_walk(conjunct, visit_side, &search);
    if (sides->join.kind == EXEC_JOIN_INNER) {
        json_array_append(sides->late, conjunct);
        return EXEC_OK;
    }
    if ((search.found != 1 || sides->keep_left) && (search.found != 2 || sides->keep_right)) {
        sql_refuse(&query->lowering, sql_node_location(conjunct), EXEC_NOT_IMPLEMENTED,
                   "a subquery in ON of an outer join that is not about the side without a match "
                   "alone is not implemented yet");
        return EXEC_NOT_IMPLEMENTED;
    }
    query->frame = search.found == 1 ? &sides->left.frame : &sides->right.frame;
    const enum exec_code code = select_conjunct(query, conjunct);
    query->frame = before;
    return code;
}

static uint32_t lower_over(struct select_query *query, struct select_frame *frame, json_t *tree)
{
    struct select_frame *before = query->frame;

    query->frame = frame;
    const uint32_t expr = select_expr(query, tree);
    query->frame = before;
    return expr;
}

static enum exec_code on_conjunct(struct join_sides *sides, json_t *conjunct)
{
    struct select_query *query = sides->query;
    json_t *left = NULL, *right = NULL;
    const char *op = tree_operator(conjunct, &left, &right);
    const unsigned all = sides_of(sides, conjunct);

    if (tree_has(conjunct, "SubLink")) {
        return on_subquery(sides, conjunct);
    }
    if (op != NULL && strcmp(op, "=") == 0 && all == 3) {
        const unsigned first = sides_of(sides, left), second = sides_of(sides, right);
        if (first + second == 3) {
            json_t *of_left = first == 1 ? left : right, *of_right = first == 1 ? right : left;
            const uint32_t left_key = lower_over(query, &sides->left.frame, of_left);
            const uint32_t right_key =
                left_key == 0 ? 0 : lower_over(query, &sides->right.frame, of_right);
            return select_join_key(query, &sides->join, left_key, right_key,
                                   sql_node_location(conjunct));
        }
    }
    /* A condition on one side alone filters that side, unless its rows stay without a match. */
    if ((all == 1 && !sides->keep_left) || (all == 2 && !sides->keep_right)) {
        struct select_frame *frame = all == 1 ? &sides->left.frame : &sides->right.frame;
        const uint32_t predicate = lower_over(query, frame, conjunct);
        select_filter(query, frame, predicate);
        return predicate == 0 ? query->run->err->code : EXEC_OK;
    }
    json_array_append(sides->rest, conjunct);
    return EXEC_OK;
}

/* What is no key: over left then right columns. */
static enum exec_code on_rest(struct join_sides *sides)
{
    struct select_query *query = sides->query;
    struct select_frame both = {0};
    json_t *conjunct = NULL;
    uint32_t all = 0;
    size_t i;

    frame_append(query->run->plan, &both, &sides->left.frame);
    frame_append(query->run->plan, &both, &sides->right.frame);
    query->frame_fixed = true;
    json_array_foreach(sides->rest, i, conjunct)
    {
        const uint32_t part = lower_over(query, &both, conjunct);
        if (part == 0) {
            return query->run->err->code;
        }
        all = select_both(query, all, part);
    }
    query->frame_fixed = false;
    if (sides->join.kind == EXEC_JOIN_INNER) {
        sides->filter = all;
    } else {
        sides->join.residual = all;
    }
    return EXEC_OK;
}

static const struct select_name *unqualified(const struct select_names *names, const char *name,
                                             uint32_t *count_out)
{
    const struct select_name *found = NULL;

    *count_out = 0;
    for (uint32_t i = 0; i < names->count; i++) {
        if (!names->items[i].qualified_only && strcmp(names->items[i].name, name) == 0) {
            found = &names->items[i];
            ++*count_out;
        }
    }
    return found;
}

struct using_column {
    const char *name;
    uint32_t left, right, merged;
};

static enum exec_code using_key(struct join_sides *sides, const char *name, long location,
                                struct using_column *column)
{
    struct select_query *query = sides->query;
    uint32_t lefts = 0, rights = 0;
    const struct select_name *left = unqualified(&sides->left.names, name, &lefts);
    const struct select_name *right = unqualified(&sides->right.names, name, &rights);

    if (lefts != 1 || rights != 1) {
        sql_refuse(&query->lowering, location, EXEC_BAD_SPEC,
                   "USING: column '%.60s' is %s on the %s side", name,
                   (lefts != 1 ? lefts : rights) == 0 ? "missing" : "ambiguous",
                   lefts != 1 ? "left" : "right");
        return EXEC_BAD_SPEC;
    }
    *column = (struct using_column){.name = left->name, .left = left->id, .right = right->id};
    struct plan_builder *plan = query->run->plan;
    const struct plan_origin origin = sql_origin(&query->lowering, location);
    const uint32_t left_key =
        builder_column(plan, frame_position(&sides->left.frame, left->id), &origin);
    const uint32_t right_key =
        builder_column(plan, frame_position(&sides->right.frame, right->id), &origin);
    return select_join_key(query, &sides->join, left_key, right_key, location);
}

/* A full join's merged column is whichever side is there: a projection adds it. */
static void merge_columns(struct join_sides *sides, struct select_frame *frame,
                          struct using_column *columns, uint32_t count)
{
    struct plan_builder *plan = sides->query->run->plan;
    const uint32_t old = frame->count;
    struct exec_named_expr *exprs = builder_alloc(plan, (old + count) * sizeof *exprs);

    for (uint32_t i = 0; i < count; i++) {
        columns[i].merged =
            sides->join.kind == EXEC_JOIN_RIGHT ? columns[i].right : columns[i].left;
    }
    if (sides->join.kind != EXEC_JOIN_FULL) {
        return;
    }
    for (uint32_t c = 0; c < old; c++) {
        exprs[c].name = builder_printf(plan, "c%u", c + 1);
        exprs[c].expr = builder_column(plan, c + 1, NULL);
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t left = frame_position(frame, columns[i].left);
        const uint32_t right = frame_position(frame, columns[i].right);
        const uint32_t pair[] = {builder_column(plan, left, NULL),
                                 builder_column(plan, right, NULL)};
        exprs[old + i].name = columns[i].name;
        exprs[old + i].expr = builder_call(plan, "coalesce", pair, 2, NULL);
        columns[i].merged = select_new_id(sides->query->run);
        const struct exec_type type = frame->columns[left - 1].type;
        frame_add(plan, frame, columns[i].merged, &type);
    }
    const struct exec_rel rel = {
        .kind = EXEC_REL_PROJECT,
        .u.project = {.input = frame->rel, .exprs = exprs, .expr_count = old + count},
    };
    frame->rel = builder_rel(plan, &rel);
}

static void using_names(struct join_sides *sides, const struct using_column *columns,
                        uint32_t count, struct select_names *names)
{
    struct plan_builder *plan = sides->query->run->plan;
    const struct select_names *const both[] = {&sides->left.names, &sides->right.names};

    for (uint32_t i = 0; i < count; i++) {
        names_add(plan, names, NULL, columns[i].name, columns[i].merged, false);
    }
    for (int s = 0; s < 2; s++) {
        for (uint32_t n = 0; n < both[s]->count; n++) {
            const struct select_name *item = &both[s]->items[n];
            bool hidden = item->qualified_only;
            for (uint32_t i = 0; i < count; i++) {
                hidden = hidden || item->id == (s == 0 ? columns[i].left : columns[i].right);
            }
            names_add(plan, names, item->qualifier, item->name, item->id, hidden);
        }
    }
}

/* The names both sides have, for NATURAL. */
static json_t *natural_columns(const struct join_sides *sides)
{
    json_t *columns = json_array();

    for (uint32_t i = 0; i < sides->left.names.count; i++) {
        const struct select_name *item = &sides->left.names.items[i];
        uint32_t count = 0;
        if (!item->qualified_only && unqualified(&sides->right.names, item->name, &count) != NULL) {
            json_array_append_new(columns, json_pack("{s:{s:s}}", "String", "sval", item->name));
        }
    }
    return columns;
}

/* USING (x) AS j: `alias`, or NULL, qualifies the merged columns too. */
static enum exec_code join_using(struct join_sides *sides, json_t *using, const char *alias,
                                 long location, struct select_frame *frame,
                                 struct select_names *names)
{
    struct plan_builder *plan = sides->query->run->plan;
    const uint32_t count = (uint32_t)json_array_size(using);
    struct using_column *columns = builder_alloc(plan, (count + 1) * sizeof *columns);

    for (uint32_t i = 0; i < count; i++) {
        if (using_key(sides, tree_string(json_array_get(using, i)), location, &columns[i]) !=
            EXEC_OK) {
            return sides->query->run->err->code;
        }
    }
    *frame = sides->left.frame;
    select_join_frames(sides->query, frame, &sides->right.frame, &sides->join);
    merge_columns(sides, frame, columns, count);
    using_names(sides, columns, count, names);
    for (uint32_t i = 0; alias != NULL && i < count; i++) {
        names_add(plan, names, builder_text(plan, alias, strlen(alias)), columns[i].name,
                  columns[i].merged, true);
    }
    return EXEC_OK;
}

static enum exec_code on_late(struct join_sides *sides, struct select_frame *frame)
{
    struct select_query *query = sides->query;
    struct select_frame *before = query->frame;
    enum exec_code code = EXEC_OK;
    json_t *conjunct = NULL;
    size_t i;

    query->frame = frame;
    json_array_foreach(sides->late, i, conjunct)
    {
        code = code == EXEC_OK ? select_conjunct(query, conjunct) : code;
    }
    query->frame = before;
    return code;
}

static enum exec_code join_on(struct join_sides *sides, json_t *quals, struct select_frame *frame,
                              struct select_names *names)
{
    struct select_query *query = sides->query;
    struct plan_builder *plan = query->run->plan;
    const struct select_names outside = query->names;
    json_t *conjuncts = json_array(), *conjunct = NULL;
    enum exec_code code = EXEC_OK;
    size_t i;

    names_append(plan, names, &sides->left.names);
    names_append(plan, names, &sides->right.names);
    query->names = *names; /* ON sees the two sides and what is around the query */
    sides->rest = json_array();
    sides->late = json_array();
    tree_flatten(quals, "AND_EXPR", conjuncts);
    json_array_foreach(conjuncts, i, conjunct)
    {
        code = code == EXEC_OK ? on_conjunct(sides, conjunct) : code;
    }
    if (code == EXEC_OK) {
        code = on_rest(sides);
    }
    if (code == EXEC_OK) {
        *frame = sides->left.frame;
        select_join_frames(query, frame, &sides->right.frame, &sides->join);
        select_filter(query, frame, sides->filter);
        code = on_late(sides, frame);
    }
    query->names = outside;
    json_decref(conjuncts);
    json_decref(sides->rest);
    json_decref(sides->late);
    return code;
}

static enum exec_join_kind join_kind(json_t *body)
{
    const char *type = json_string_value(json_object_get(body, "jointype"));

    return type == NULL || strcmp(type, "JOIN_INNER") == 0 ? EXEC_JOIN_INNER
           : strcmp(type, "JOIN_LEFT") == 0                ? EXEC_JOIN_LEFT
           : strcmp(type, "JOIN_RIGHT") == 0               ? EXEC_JOIN_RIGHT
                                                           : EXEC_JOIN_FULL;
}

static enum exec_code lower_join(struct select_query *query, json_t *body,
                                 struct select_frame *frame, struct select_names *names)
{
    json_t *using = json_object_get(body, "usingClause");
    const enum exec_join_kind kind = join_kind(body);
    struct join_sides sides = {
        .query = query,
        .join.kind = kind,
        .keep_left = kind == EXEC_JOIN_LEFT || kind == EXEC_JOIN_FULL,
        .keep_right = kind == EXEC_JOIN_RIGHT || kind == EXEC_JOIN_FULL,
    };
    json_t *right = json_object_get(body, "rarg");
    const char *alias =
        json_string_value(json_object_get(json_object_get(body, "join_using_alias"), "aliasname"));
    const long location = sql_node_location(right);

    if (select_is_lateral(right) && sides.keep_right) {
        sql_refuse(&query->lowering, location, EXEC_BAD_SPEC,
                   "a LATERAL subquery cannot be on the side whose rows stay without a match");
        return EXEC_BAD_SPEC;
    }
    if (select_lower_item(query, json_object_get(body, "larg"), &sides.left.frame,
                          &sides.left.names) != EXEC_OK) {
        return query->run->err->code;
    }
    const enum exec_code of_right =
        select_is_lateral(right)
            ? select_lateral(query, right, &sides.left, &sides.right, &sides.join)
            : select_lower_item(query, right, &sides.right.frame, &sides.right.names);
    if (of_right != EXEC_OK) {
        return of_right;
    }
    if (json_is_true(json_object_get(body, "isNatural"))) {
        json_t *columns = natural_columns(&sides);
        const enum exec_code code = join_using(&sides, columns, NULL, location, frame, names);
        json_decref(columns);
        return code;
    }
    return using != NULL ? join_using(&sides, using, alias, location, frame, names)
                         : join_on(&sides, json_object_get(body, "quals"), frame, names);
}

/* (a JOIN b ON ...) AS j(x, y): its columns are j's, and nobody else's. */
static enum exec_code rename_join(struct select_query *query, json_t *alias, long location,
                                  const struct select_names *inside, struct select_names *names)
{
    const char *called = json_string_value(json_object_get(alias, "aliasname"));
    json_t *columns = json_object_get(alias, "colnames");
    struct plan_builder *plan = query->run->plan;
    size_t count = 0;

    called = builder_text(plan, called, strlen(called));
    for (uint32_t i = 0; i < inside->count; i++) {
        const struct select_name *item = &inside->items[i];
        if (item->qualified_only) {
            continue;
        }
        const char *column = tree_string(json_array_get(columns, count++));
        names_add(plan, names, called,
                  column == NULL ? item->name : builder_text(plan, column, strlen(column)),
                  item->id, false);
    }
    if (json_array_size(columns) > count) {
        sql_refuse(&query->lowering, location, EXEC_BAD_SPEC,
                   "%zu column names are given, but there are %zu columns",
                   json_array_size(columns), count);
        return EXEC_BAD_SPEC;
    }
    return EXEC_OK;
}

enum exec_code select_join_expr(struct select_query *query, json_t *body,
                                struct select_frame *frame, struct select_names *names)
{
    json_t *alias = json_object_get(body, "alias");
    struct select_names inside = {0};

    if (alias == NULL) {
        return lower_join(query, body, frame, names);
    }
    const enum exec_code code = lower_join(query, body, frame, &inside);
    return code != EXEC_OK
               ? code
               : rename_join(query, alias, sql_node_location(json_object_get(body, "larg")),
                             &inside, names);
}
