/* GROUP BY and aggregate calls. */
#include "select_query.h"
#include "sql_aggregate.h"

/* ---- calls */

static void add_call(struct select_query *query, uint32_t *room, json_t *node)
{
    for (uint32_t c = 0; c < query->call_count; c++) {
        if (tree_equal(node, query->calls[c].tree, select_same_column, query)) {
            return;
        }
    }
    if (query->call_count == *room) {
        *room = *room == 0 ? 16 : 2 * *room;
        struct select_value *moved = builder_alloc(query->run->plan, *room * sizeof *moved);
        if (query->call_count > 0) {
            memcpy(moved, query->calls, query->call_count * sizeof *moved);
        }
        query->calls = moved;
    }
    query->calls[query->call_count++] =
        (struct select_value){.tree = node, .id = select_new_id(query->run)};
}

/* Node objects, not bodies, are what expressions are made of; so this walks by itself. */
static void find_calls(struct select_query *query, uint32_t *room, json_t *tree)
{
    const char *key = NULL;
    json_t *value = NULL;
    size_t i;

    if (json_is_array(tree)) {
        json_array_foreach(tree, i, value)
        {
            find_calls(query, room, value);
        }
        return;
    }
    json_t *call = tree_body(tree, "FuncCall");
    const char *name = call == NULL ? NULL : tree_function(call);
    if (name != NULL && json_object_get(call, "over") == NULL && sql_is_aggregate(name)) {
        add_call(query, room, tree);
        return;
    }
    json_object_foreach(tree, key, value)
    {
        if (strcmp(key, "SubLink") != 0) {
            find_calls(query, room, value);
        }
    }
}

/* ---- DISTINCT in calls: group by the argument too, then again without it */

static bool is_distinct(const struct exec_measure *measure)
{
    return measure->distinct || measure->function == EXEC_AGG_COUNT_DISTINCT;
}

/* What adds up the values that the first grouping made; EXEC_AGG_NONE: cannot be. */
static enum exec_aggregate_function second_function(const struct exec_measure *measure)
{
    switch (measure->function) {
        case EXEC_AGG_COUNT_STAR:
        case EXEC_AGG_COUNT:
        case EXEC_AGG_SUM: return EXEC_AGG_SUM;
        case EXEC_AGG_MIN: return EXEC_AGG_MIN;
        case EXEC_AGG_MAX: return EXEC_AGG_MAX;
        case EXEC_AGG_ANY_VALUE: return EXEC_AGG_ANY_VALUE;
        default: return EXEC_AGG_NONE;
    }
}

static json_t *argument_of(const struct select_value *call)
{
    return json_object_get(tree_body(call->tree, "FuncCall"), "args");
}

/* Functions that two groupings make sooner than the engine, which keeps a set a group. */
static bool adds_up_distinct(const struct exec_measure *measure)
{
    return measure->function == EXEC_AGG_COUNT_DISTINCT || measure->function == EXEC_AGG_SUM ||
           measure->function == EXEC_AGG_AVG;
}

/* The one argument that every DISTINCT call has; NULL: none, or several, or a call that two
 * groupings cannot make. */
static const struct exec_measure *distinct_measure(struct select_query *query,
                                                   const struct sql_aggregates *aggregates)
{
    const struct exec_measure *found = NULL;
    json_t *argument = NULL;

    for (uint32_t m = 0; m < aggregates->measure_count; m++) {
        const struct exec_measure *measure = &aggregates->measures[m];
        if (!is_distinct(measure)) {
            if (second_function(measure) == EXEC_AGG_NONE || measure->order_count != 0) {
                return NULL;
            }
            continue;
        }
        if (measure->filter != 0 || !adds_up_distinct(measure) ||
            (argument != NULL &&
             !tree_equal(argument, argument_of(&query->calls[m]), select_same_column, query))) {
            return NULL;
        }
        argument = argument_of(&query->calls[m]);
        found = found == NULL ? measure : found;
    }
    return found;
}

static uint32_t add_aggregate(struct select_query *query, uint32_t input,
                              const struct exec_named_expr *keys, uint32_t key_count,
                              struct exec_measure *measures, uint32_t measure_count)
{
    for (uint32_t m = 0; m < measure_count; m++) {
        measures[m].name = builder_printf(query->run->plan, "m%u", m + 1);
    }
    const struct exec_rel rel = {
        .kind = EXEC_REL_AGGREGATE,
        .u.aggregate = {.input = input,
                        .keys = keys,
                        .key_count = key_count,
                        .measures = measures,
                        .measure_count = measure_count,
                        .sets = query->sets,
                        .set_count = query->set_count,
                        .set_name = query->set_count == 0 ? NULL : "set"},
    };
    return builder_rel(query->run->plan, &rel);
}

static uint32_t *one_argument(struct select_query *query, uint32_t column)
{
    uint32_t *args = builder_alloc(query->run->plan, sizeof *args);

    *args = builder_column(query->run->plan, column, NULL);
    return args;
}

static uint32_t group_twice(struct select_query *query, const struct exec_measure *distinct,
                            struct exec_named_expr *keys, uint32_t key_count,
                            struct sql_aggregates *aggregates)
{
    struct plan_builder *plan = query->run->plan;
    const uint32_t count = aggregates->measure_count;
    struct exec_measure *first = builder_alloc(plan, (count + 1) * sizeof *first);
    struct exec_measure *second = builder_alloc(plan, (count + 1) * sizeof *second);
    struct exec_named_expr *again = builder_alloc(plan, (key_count + 1) * sizeof *again);
    uint32_t first_count = 0;

    keys[key_count] = (struct exec_named_expr){.name = "d", .expr = distinct->args[0]};
    for (uint32_t m = 0; m < count; m++) {
        const struct exec_measure *measure = &aggregates->measures[m];
        second[m].arg_count = 1;
        if (is_distinct(measure)) {
            second[m].function =
                measure->function == EXEC_AGG_COUNT_DISTINCT ? EXEC_AGG_COUNT : measure->function;
            second[m].args = one_argument(query, key_count + 1);
        } else {
            first[first_count++] = *measure;
            second[m].function = second_function(measure);
            second[m].args = one_argument(query, key_count + 1 + first_count);
        }
    }
    const uint32_t inner =
        add_aggregate(query, query->frame->rel, keys, key_count + 1, first, first_count);
    for (uint32_t k = 0; k < key_count; k++) {
        again[k].name = keys[k].name;
        again[k].expr = builder_column(plan, k + 1, NULL);
    }
    query->misses_groups = true; /* sums of counts are no counts: int64, and 0 of no rows */
    return add_aggregate(query, inner, again, key_count, second, count);
}

/* ---- the grouping */

static enum exec_code lower_calls(struct select_query *query, struct sql_aggregates *aggregates)
{
    for (uint32_t c = 0; c < query->call_count; c++) {
        json_t *body = tree_body(query->calls[c].tree, "FuncCall");
        const long location = (long)json_integer_value(json_object_get(body, "location"));
        query->lowering.aggregates = aggregates;
        const uint32_t column =
            sql_lower_aggregate(&query->lowering, tree_function(body), body, location);
        query->lowering.aggregates = NULL;
        if (column == 0) {
            return query->run->err->code;
        }
        struct exec_measure *measure = &aggregates->measures[c];
        const enum exec_aggregate_function function = measure->function;
        if (function == EXEC_AGG_MIN || function == EXEC_AGG_MAX ||
            function == EXEC_AGG_ANY_VALUE) {
            measure->distinct = false; /* duplicates change nothing */
        }
        query->calls[c].is_count = function == EXEC_AGG_COUNT_STAR || function == EXEC_AGG_COUNT ||
                                   function == EXEC_AGG_COUNT_DISTINCT;
    }
    return EXEC_OK;
}

static struct exec_type measure_type(const struct select_query *query,
                                     const struct exec_measure *measure)
{
    const bool same = measure->function == EXEC_AGG_MIN || measure->function == EXEC_AGG_MAX ||
                      measure->function == EXEC_AGG_ANY_VALUE;

    return same ? select_type(query, measure->args[0]) : (struct exec_type){0};
}

enum exec_code select_aggregate(struct select_query *query, const uint32_t *keys,
                                const uint32_t *key_ids, uint32_t key_count, json_t *trees)
{
    struct plan_builder *plan = query->run->plan;
    struct sql_aggregates aggregates = {.key_count = key_count};
    struct exec_named_expr *named = builder_alloc(plan, (key_count + 1) * sizeof *named);
    struct select_frame *grouped = builder_alloc(plan, sizeof *grouped);
    uint32_t room = 0;

    query->call_count = 0;
    find_calls(query, &room, trees);
    if (lower_calls(query, &aggregates) != EXEC_OK) {
        return query->run->err->code;
    }
    for (uint32_t k = 0; k < key_count; k++) {
        const struct exec_type type = select_type(query, keys[k]);
        named[k].name = builder_printf(plan, "k%u", k + 1);
        named[k].expr = keys[k];
        frame_add(plan, grouped, key_ids[k], &type);
    }
    for (uint32_t c = 0; c < query->call_count; c++) {
        const struct exec_type type = measure_type(query, &aggregates.measures[c]);
        frame_add(plan, grouped, query->calls[c].id, &type);
    }
    if (query->set_count != 0) {
        const struct exec_type type = {.kind = EXEC_TYPE_INT64};
        query->set_id = select_new_id(query->run);
        frame_add(plan, grouped, query->set_id, &type);
    }
    if (key_count + query->call_count ==
        0) { /* HAVING alone: one group, of which nothing is asked */
        aggregates.measures = builder_alloc(plan, sizeof *aggregates.measures);
        aggregates.measures->function = EXEC_AGG_COUNT_STAR;
        aggregates.measure_count = 1;
    }
    const struct exec_measure *distinct =
        query->set_count != 0 ? NULL : distinct_measure(query, &aggregates);
    grouped->rel = distinct != NULL ? group_twice(query, distinct, named, key_count, &aggregates)
                                    : add_aggregate(query, query->frame->rel, named, key_count,
                                                    aggregates.measures, aggregates.measure_count);
    query->frame = grouped;
    query->grouped = true;
    return EXEC_OK;
}

/* ---- GROUP BY */

/* What a key stands for: a target by number or alias, or an expression. NULL: refused; a target
 * without a tree (of a *) has *id_out. */
static json_t *key_tree(struct select_query *query, json_t *item,
                        const struct select_targets *targets, uint32_t *id_out)
{
    json_t *constant = tree_body(item, "A_Const"), *column = tree_body(item, "ColumnRef");
    const char *qualifier = NULL, *name = NULL;
    struct select_query *owner = NULL;

    *id_out = 0;
    if (json_object_get(constant, "ival") != NULL) {
        const int64_t number =
            json_integer_value(json_object_get(json_object_get(constant, "ival"), "ival"));
        if (number < 1 || number > targets->count) {
            sql_refuse(&query->lowering, sql_node_location(item), EXEC_BAD_SPEC,
                       "GROUP BY: there is no column %lld in the select list", (long long)number);
            return NULL;
        }
        *id_out = targets->items[number - 1].id;
        return targets->items[number - 1].tree == NULL ? item : targets->items[number - 1].tree;
    }
    if (column == NULL || !sql_column_parts(column, &qualifier, &name) || qualifier != NULL ||
        name == NULL) {
        return item;
    }
    if (select_resolve_quietly(query, column, &owner) != 0 && owner == query) {
        return item;
    }
    for (uint32_t t = 0; t < targets->count; t++) {
        if (targets->items[t].tree != NULL && strcmp(targets->items[t].name, name) == 0) {
            return targets->items[t].tree;
        }
    }
    return item;
}

static enum exec_code add_key(struct select_query *query, struct select_keys *keys, json_t *tree,
                              uint32_t id, long location, uint32_t *position_out)
{
    json_t *column = tree_body(tree, "ColumnRef");
    struct select_query *owner = NULL;

    if (id == 0 && column != NULL) {
        id = select_resolve(query, column, &owner);
        if (id == 0) {
            return query->run->err->code;
        }
    }
    const bool is_column = id != 0;
    for (uint32_t k = 0; k < keys->count; k++) {
        if (is_column ? keys->ids[k] == id
                      : query->keys[k].tree != NULL &&
                            tree_equal(query->keys[k].tree, tree, select_same_column, query)) {
            *position_out = k;
            return EXEC_OK; /* named twice */
        }
    }
    if (keys->count == EXEC_KEYS_MAX) {
        sql_refuse(&query->lowering, location, EXEC_LIMIT, "more than %d group keys",
                   EXEC_KEYS_MAX);
        return EXEC_LIMIT;
    }
    if (!is_column && tree_has_aggregate(tree)) {
        sql_refuse(&query->lowering, location, EXEC_BAD_SPEC, "an aggregate in GROUP BY");
        return EXEC_BAD_SPEC;
    }
    const uint32_t expr =
        is_column && column == NULL ? select_column(query, id, location) : select_expr(query, tree);
    if (expr == 0) {
        return query->run->err->code;
    }
    id = is_column ? id : select_new_id(query->run);
    *position_out = keys->count;
    keys->exprs[keys->count] = expr;
    keys->ids[keys->count] = id;
    query->keys[keys->count++] = (struct select_value){.tree = is_column ? NULL : tree, .id = id};
    return EXEC_OK;
}

enum exec_code select_add_key(struct select_query *query, struct select_keys *keys, json_t *item,
                              const struct select_targets *targets, uint32_t *position_out)
{
    uint32_t id = 0;
    json_t *tree = key_tree(query, item, targets, &id);

    return tree == NULL ? query->run->err->code
                        : add_key(query, keys, tree, id, sql_node_location(item), position_out);
}

enum exec_code select_group(struct select_query *query, json_t *select,
                            const struct select_targets *targets)
{
    json_t *clause = json_object_get(select, "groupClause");
    json_t *having = json_object_get(select, "havingClause");
    json_t *trees = json_array(), *item = NULL;
    struct select_keys keys = {.count = 0};
    enum exec_code code = EXEC_OK;
    size_t i;

    for (uint32_t t = 0; t < targets->count; t++) {
        if (targets->items[t].tree != NULL) {
            json_array_append(trees, targets->items[t].tree);
        }
    }
    if (having != NULL) {
        json_array_append(trees, having);
    }
    if (json_object_get(select, "sortClause") != NULL) {
        json_array_append(trees, json_object_get(select, "sortClause"));
    }
    if (json_array_size(clause) == 0 && having == NULL && !tree_has_aggregate(trees)) {
        json_decref(trees);
        return EXEC_OK;
    }
    query->keys = builder_alloc(query->run->plan, EXEC_KEYS_MAX * sizeof *query->keys);
    json_array_foreach(clause, i, item)
    {
        code = code == EXEC_OK ? select_group_item(query, &keys, item, targets) : code;
    }
    if (code == EXEC_OK && json_is_true(json_object_get(select, "groupDistinct"))) {
        select_distinct_sets(query);
    }
    if (code == EXEC_OK) {
        query->key_count = keys.count;
        code = select_domain_keys(query, keys.exprs, keys.ids, &keys.count);
    }
    if (code == EXEC_OK) {
        const uint32_t own_count = query->key_count;
        code = select_aggregate(query, keys.exprs, keys.ids, keys.count, trees);
        query->key_count = own_count;
    }
    if (code == EXEC_OK && query->key_count == 0) {
        code = select_domain_fill(query);
    }
    json_decref(trees);
    return code;
}
