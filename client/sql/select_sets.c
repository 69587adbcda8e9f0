/* GROUPING SETS, ROLLUP, CUBE and grouping(). */
#include "select_query.h"

/* Sets of keys: bit k of a mask is key k. The items of a GROUP BY multiply. */
struct set_list {
    uint32_t masks[EXEC_GROUPING_SETS_MAX];
    uint32_t count;
};

struct set_reader {
    struct select_query *query;
    struct select_keys *keys;
    const struct select_targets *targets;
};

static enum exec_code refuse_count(const struct set_reader *reader, json_t *item)
{
    sql_refuse(&reader->query->lowering, sql_node_location(item), EXEC_LIMIT,
               "more than %d grouping sets", EXEC_GROUPING_SETS_MAX);
    return EXEC_LIMIT;
}

static const char *set_kind(json_t *item)
{
    return json_string_value(json_object_get(tree_body(item, "GroupingSet"), "kind"));
}

static bool is_kind(const char *kind, const char *wanted)
{
    return kind != NULL && strcmp(kind, wanted) == 0;
}

/* A key, or a row of keys. */
static enum exec_code read_element(const struct set_reader *reader, json_t *item,
                                   uint32_t *mask_out)
{
    json_t *args = json_object_get(tree_body(item, "RowExpr"), "args"), *arg = NULL;
    uint32_t position = 0;
    size_t i;

    *mask_out = 0;
    if (set_kind(item) != NULL) {
        sql_refuse(&reader->query->lowering, sql_node_location(item), EXEC_BAD_SPEC,
                   "ROLLUP and CUBE take keys and rows of keys");
        return EXEC_BAD_SPEC;
    }
    if (args == NULL) {
        const enum exec_code code =
            select_add_key(reader->query, reader->keys, item, reader->targets, &position);
        *mask_out = UINT32_C(1) << position;
        return code;
    }
    json_array_foreach(args, i, arg)
    {
        if (select_add_key(reader->query, reader->keys, arg, reader->targets, &position) !=
            EXEC_OK) {
            return reader->query->run->err->code;
        }
        *mask_out |= UINT32_C(1) << position;
    }
    return EXEC_OK;
}

/* ROLLUP (a, b): (a, b), (a), (). */
static enum exec_code read_rollup(const struct set_reader *reader, json_t *content,
                                  struct set_list *out)
{
    const uint32_t count = (uint32_t)json_array_size(content);

    if (count >= EXEC_GROUPING_SETS_MAX) {
        return refuse_count(reader, json_array_get(content, 0));
    }
    out->masks[count] = 0;
    for (uint32_t e = 0; e < count; e++) {
        uint32_t mask = 0;
        if (read_element(reader, json_array_get(content, e), &mask) != EXEC_OK) {
            return reader->query->run->err->code;
        }
        out->masks[count - 1 - e] = mask | out->masks[count - e];
    }
    out->count = count + 1;
    return EXEC_OK;
}

/* CUBE (a, b): (a, b), (a), (b), (). */
static enum exec_code read_cube(const struct set_reader *reader, json_t *content,
                                struct set_list *out)
{
    const uint32_t count = (uint32_t)json_array_size(content);
    uint32_t elements[EXEC_KEYS_MAX];

    if (count >= EXEC_KEYS_MAX || UINT32_C(1) << count > EXEC_GROUPING_SETS_MAX) {
        return refuse_count(reader, json_array_get(content, 0));
    }
    for (uint32_t e = 0; e < count; e++) {
        if (read_element(reader, json_array_get(content, e), &elements[e]) != EXEC_OK) {
            return reader->query->run->err->code;
        }
    }
    out->count = UINT32_C(1) << count;
    for (uint32_t s = 0; s < out->count; s++) {
        const uint32_t chosen = out->count - 1 - s;
        out->masks[s] = 0;
        for (uint32_t e = 0; e < count; e++) {
            out->masks[s] |= (chosen >> (count - 1 - e) & 1) != 0 ? elements[e] : 0;
        }
    }
    return EXEC_OK;
}

static enum exec_code read_item(const struct set_reader *reader, json_t *item, uint32_t depth,
                                struct set_list *out);

static enum exec_code read_sets(const struct set_reader *reader, json_t *content, uint32_t depth,
                                struct set_list *out)
{
    struct set_list *part = builder_alloc(reader->query->run->plan, sizeof *part);
    json_t *item = NULL;
    size_t i;

    out->count = 0;
    json_array_foreach(content, i, item)
    {
        if (read_item(reader, item, depth + 1, part) != EXEC_OK) {
            return reader->query->run->err->code;
        }
        if (out->count + part->count > EXEC_GROUPING_SETS_MAX) {
            return refuse_count(reader, item);
        }
        memcpy(out->masks + out->count, part->masks, part->count * sizeof *part->masks);
        out->count += part->count;
    }
    return EXEC_OK;
}

static enum exec_code read_item(const struct set_reader *reader, json_t *item, uint32_t depth,
                                struct set_list *out)
{
    const char *kind = set_kind(item);
    json_t *content = json_object_get(tree_body(item, "GroupingSet"), "content");

    if (depth > SELECT_DEPTH_MAX) {
        sql_refuse(&reader->query->lowering, sql_node_location(item), EXEC_LIMIT,
                   "grouping sets nested deeper than %d levels", SELECT_DEPTH_MAX);
        return EXEC_LIMIT;
    }
    if (is_kind(kind, "GROUPING_SET_ROLLUP")) {
        return read_rollup(reader, content, out);
    }
    if (is_kind(kind, "GROUPING_SET_CUBE")) {
        return read_cube(reader, content, out);
    }
    if (is_kind(kind, "GROUPING_SET_SETS")) {
        return read_sets(reader, content, depth, out);
    }
    out->masks[0] = 0;
    out->count = 1;
    return kind != NULL ? EXEC_OK : read_element(reader, item, &out->masks[0]);
}

/* ---- of a query */

static uint32_t mask_of(const struct exec_grouping_set *set)
{
    uint32_t mask = 0;

    for (uint32_t k = 0; k < set->key_count; k++) {
        mask |= UINT32_C(1) << (set->keys[k] - 1);
    }
    return mask;
}

static struct exec_grouping_set set_of(struct select_query *query, uint32_t mask)
{
    uint32_t *keys = builder_alloc(query->run->plan, EXEC_KEYS_MAX * sizeof *keys);
    struct exec_grouping_set set = {.keys = keys};

    for (uint32_t k = 0; k < EXEC_KEYS_MAX; k++) {
        if ((mask >> k & 1) != 0) {
            keys[set.key_count++] = k + 1;
        }
    }
    return set;
}

/* Every set so far with every set of the item. */
static enum exec_code multiply(const struct set_reader *reader, json_t *item,
                               const struct set_list *more)
{
    struct select_query *query = reader->query;
    const uint64_t count = (uint64_t)query->set_count * more->count;
    struct exec_grouping_set *sets;

    if (count > EXEC_GROUPING_SETS_MAX) {
        return refuse_count(reader, item);
    }
    sets = builder_alloc(query->run->plan, (count + 1) * sizeof *sets);
    for (uint32_t s = 0; s < count; s++) {
        sets[s] =
            set_of(query, mask_of(&query->sets[s / more->count]) | more->masks[s % more->count]);
    }
    query->sets = sets;
    query->set_count = (uint32_t)count;
    return EXEC_OK;
}

enum exec_code select_group_item(struct select_query *query, struct select_keys *keys, json_t *item,
                                 const struct select_targets *targets)
{
    const struct set_reader reader = {.query = query, .keys = keys, .targets = targets};
    const uint32_t keys_before = keys->count;
    struct set_list *more;
    uint32_t mask = 0;

    if (query->set_count == 0 && set_kind(item) == NULL) {
        return read_element(&reader, item, &mask);
    }
    if (query->set_count == 0) {
        struct exec_grouping_set *first = builder_alloc(query->run->plan, sizeof *first);
        *first = set_of(query, (uint32_t)((UINT64_C(1) << keys_before) - 1));
        query->sets = first;
        query->set_count = 1;
    }
    more = builder_alloc(query->run->plan, sizeof *more);
    const enum exec_code code = read_item(&reader, item, 0, more);
    return code == EXEC_OK ? multiply(&reader, item, more) : code;
}

void select_distinct_sets(struct select_query *query)
{
    struct exec_grouping_set *sets =
        builder_alloc(query->run->plan, (query->set_count + 1) * sizeof *sets);
    uint32_t count = 0;

    for (uint32_t s = 0; s < query->set_count; s++) {
        bool seen = false;
        for (uint32_t e = 0; e < count; e++) {
            seen = seen || mask_of(&sets[e]) == mask_of(&query->sets[s]);
        }
        if (!seen) {
            sets[count++] = query->sets[s];
        }
    }
    query->sets = sets;
    query->set_count = count;
}

/* ---- grouping() */

/* The key an argument is, from 1; 0: none. */
static uint32_t key_of(struct select_query *query, json_t *arg)
{
    json_t *column = tree_body(arg, "ColumnRef");
    struct select_query *owner = NULL;
    const uint32_t id = column == NULL ? 0 : select_resolve_quietly(query, column, &owner);

    for (uint32_t k = 0; k < query->key_count; k++) {
        const struct select_value *key = &query->keys[k];
        if (key->tree == NULL ? id != 0 && key->id == id
                              : tree_equal(key->tree, arg, select_same_column, query)) {
            return k + 1;
        }
    }
    return 0;
}

/* 1 in the rows of the sets without the key. */
static uint32_t key_is_absent(struct select_query *query, uint32_t key, uint32_t zero,
                              long location)
{
    struct plan_builder *plan = query->run->plan;
    struct exec_literal *numbers = builder_alloc(plan, (query->set_count + 1) * sizeof *numbers);
    struct exec_when *branch = builder_alloc(plan, sizeof *branch);
    struct exec_expr in = {.kind = EXEC_EXPR_IN_LIST, .u.in_list = {.values = numbers}};
    const struct exec_literal one = {.type = {.kind = EXEC_TYPE_INT64}, .value.i64 = 1};
    struct exec_expr choice = {
        .kind = EXEC_EXPR_CASE,
        .u.case_when = {.branches = branch, .branch_count = 1, .otherwise = zero}};

    for (uint32_t s = 0; s < query->set_count; s++) {
        if ((mask_of(&query->sets[s]) >> (key - 1) & 1) == 0) {
            numbers[in.u.in_list.value_count++] = (struct exec_literal){
                .type = {.kind = EXEC_TYPE_INT64}, .value.i64 = (int64_t)s + 1};
        }
    }
    if (in.u.in_list.value_count == 0) {
        return zero;
    }
    in.u.in_list.arg = select_column(query, query->set_id, location);
    branch->when = builder_expr(plan, &in, NULL);
    branch->then = builder_literal(plan, &one, NULL);
    return builder_expr(plan, &choice, NULL);
}

uint32_t select_grouping(struct select_query *query, json_t *args, long location)
{
    struct plan_builder *plan = query->run->plan;
    const struct exec_literal none = {.type = {.kind = EXEC_TYPE_INT64}};
    const struct exec_literal two = {.type = {.kind = EXEC_TYPE_INT64}, .value.i64 = 2};
    const uint32_t zero = builder_literal(plan, &none, NULL);
    uint32_t result = zero;
    json_t *arg = NULL;
    size_t i;

    if (!query->grouped || json_array_size(args) == 0 || json_array_size(args) > EXEC_KEYS_MAX) {
        return sql_refuse(&query->lowering, location, EXEC_BAD_SPEC,
                          "grouping() takes 1 to %d keys of the query's GROUP BY", EXEC_KEYS_MAX);
    }
    json_array_foreach(args, i, arg)
    {
        const uint32_t key = key_of(query, arg);
        if (key == 0) {
            return sql_refuse(&query->lowering, sql_node_location(arg), EXEC_BAD_SPEC,
                              "an argument of grouping() must be a key of the GROUP BY");
        }
        const uint32_t doubled[] = {result, builder_literal(plan, &two, NULL)};
        const uint32_t sum[] = {i == 0 ? zero : builder_call(plan, "multiply", doubled, 2, NULL),
                                key_is_absent(query, key, zero, location)};
        result = i == 0 ? sum[1] : builder_call(plan, "add", sum, 2, NULL);
    }
    return result;
}
