/* FROM: tables, subqueries and joins to frames. */
#include "select_query.h"

static const struct select_cte *find_cte(const struct select_cte *cte, const char *name)
{
    while (cte != NULL && strcmp(cte->name, name) != 0) {
        cte = cte->next;
    }
    return cte;
}

/* ---- tables */

/* Column aliases, t(a, b), of an input. */
static const char *alias_of(json_t *alias, size_t column)
{
    return tree_string(json_array_get(json_object_get(alias, "colnames"), column));
}

static enum exec_code check_aliases(struct select_query *query, json_t *alias, uint32_t columns,
                                    long location)
{
    const size_t count = json_array_size(json_object_get(alias, "colnames"));

    if (count > columns) {
        sql_refuse(&query->lowering, location, EXEC_BAD_SPEC,
                   "%zu column names are given, but there are %u columns", count, columns);
        return EXEC_BAD_SPEC;
    }
    return EXEC_OK;
}

static enum exec_code lower_table(struct select_query *query, json_t *body, const char *name,
                                  struct select_frame *frame, struct select_names *names)
{
    struct select_run *run = query->run;
    json_t *alias = json_object_get(body, "alias");
    const char *called = json_string_value(json_object_get(alias, "aliasname"));
    const long location = (long)json_integer_value(json_object_get(body, "location"));
    const struct select_table *table = run->catalog->find(run->catalog->owner, name, run->err);

    if (table == NULL) {
        if (run->err->code == EXEC_TABLE_NOT_FOUND && run->err->column == 0) {
            const struct exec_error err = *run->err;
            sql_refuse(&query->lowering, location, err.code, "%s", err.detail);
        }
        return run->err->code;
    }
    if (check_aliases(query, alias, table->schema.field_count, location) != EXEC_OK) {
        return run->err->code;
    }
    called = builder_text(run->plan, called == NULL ? name : called,
                          strlen(called == NULL ? name : called));
    frame->rel = builder_rel(run->plan, &table->scan);
    for (uint32_t c = 0; c < table->schema.field_count; c++) {
        const struct exec_field *field = &table->schema.fields[c];
        const char *column = alias_of(alias, c);
        const uint32_t id = select_new_id(run);
        frame_add(run->plan, frame, id, &field->type);
        names_add(run->plan, names, called, column == NULL ? field->name : column, id, false);
    }
    return EXEC_OK;
}

static enum exec_code lower_subquery(struct select_query *query, json_t *select,
                                     const struct select_cte *ctes, const char *called,
                                     json_t *alias, json_t *columns, long location,
                                     struct select_frame *frame, struct select_names *names)
{
    struct select_run *run = query->run;
    struct select_output output = {0};

    if (select_lower(run, select, NULL, ctes, &output) != EXEC_OK ||
        check_aliases(query, alias, output.frame.count, location) != EXEC_OK) {
        return run->err->code;
    }
    called = called == NULL ? NULL : builder_text(run->plan, called, strlen(called));
    frame->rel = output.frame.rel;
    frame_append(run->plan, frame, &output.frame);
    for (uint32_t c = 0; c < output.frame.count; c++) {
        const char *column = alias_of(alias, c);
        column = column == NULL ? tree_string(json_array_get(columns, c)) : column;
        names_add(run->plan, names, called, column == NULL ? output.names[c] : column,
                  output.frame.columns[c].id, false);
    }
    return EXEC_OK;
}

/* ---- LATERAL */

bool select_is_lateral(json_t *node)
{
    return json_is_true(json_object_get(tree_body(node, "RangeSubselect"), "lateral"));
}

enum exec_code select_lateral(struct select_query *query, json_t *node, struct select_input *left,
                              struct select_input *right, struct select_join *join)
{
    json_t *body = tree_body(node, "RangeSubselect"), *alias = json_object_get(body, "alias");
    json_t *select = tree_body(json_object_get(body, "subquery"), "SelectStmt");
    const char *called = json_string_value(json_object_get(alias, "aliasname"));
    struct plan_builder *plan = query->run->plan;
    struct select_output output = {0};
    struct select_query around; /* what the subquery sees */

    select_query_init(&around, query->run, query->outer, query->ctes);
    around.names = left->names;
    around.frame = &left->frame;
    const struct select_domain *domain = select_domain_of(&around, select);
    enum exec_code code = select_domain_lower(&around, select, domain, &output);
    const uint32_t tail = domain == NULL ? 0 : domain->count;
    if (code == EXEC_OK) {
        code = check_aliases(query, alias, output.frame.count - tail, sql_node_location(node));
    }
    if (code == EXEC_OK && domain != NULL) {
        code = select_domain_join(&around, domain, output.frame.count - tail + 1, join);
    }
    select_query_fini(&around);
    if (code != EXEC_OK) {
        return code;
    }
    called = called == NULL ? NULL : builder_text(plan, called, strlen(called));
    right->frame.rel = output.frame.rel;
    frame_append(plan, &right->frame, &output.frame);
    for (uint32_t c = 0; c < output.frame.count - tail; c++) {
        const char *column = alias_of(alias, c);
        names_add(plan, &right->names, called, column == NULL ? output.names[c] : column,
                  output.frame.columns[c].id, false);
    }
    return EXEC_OK;
}

/* In a list: the inputs before become one, as far as the subquery names them. */
static enum exec_code join_lateral(struct select_query *query, json_t *node,
                                   struct select_input *inputs, uint32_t *count)
{
    struct select_join none = {.kind = EXEC_JOIN_INNER}, join = {.kind = EXEC_JOIN_INNER};
    struct plan_builder *plan = query->run->plan;
    struct select_input right = {0};

    while (*count > 1) {
        struct select_input *last = &inputs[*count - 1], *before = &inputs[*count - 2];
        select_join_frames(query, &before->frame, &last->frame, &none);
        names_append(plan, &before->names, &last->names);
        *last = (struct select_input){0};
        --*count;
    }
    const enum exec_code code = select_lateral(query, node, &inputs[0], &right, &join);
    if (code == EXEC_OK) {
        select_join_frames(query, &inputs[0].frame, &right.frame, &join);
        names_append(plan, &inputs[0].names, &right.names);
    }
    return code;
}

static enum exec_code lower_range(struct select_query *query, json_t *body,
                                  struct select_frame *frame, struct select_names *names)
{
    const char *schema = json_string_value(json_object_get(body, "schemaname"));
    const char *name = json_string_value(json_object_get(body, "relname"));
    json_t *alias = json_object_get(body, "alias");
    const char *called = json_string_value(json_object_get(alias, "aliasname"));
    const long location = (long)json_integer_value(json_object_get(body, "location"));
    const struct select_cte *cte = schema == NULL ? find_cte(query->ctes, name) : NULL;

    if (cte != NULL) {
        return lower_subquery(query, cte->body, cte->visible, called == NULL ? name : called, alias,
                              cte->columns, location, frame, names);
    }
    if (schema != NULL) {
        name = builder_printf(query->run->plan, "%s.%s", schema, name);
    }
    return lower_table(query, body, name, frame, names);
}

/* ---- joins */

void select_join_frames(struct select_query *query, struct select_frame *left,
                        const struct select_frame *right, const struct select_join *join)
{
    static const struct exec_type bool_type = {.kind = EXEC_TYPE_BOOL};
    struct plan_builder *plan = query->run->plan;
    struct exec_join_key *keys = builder_alloc(plan, (join->key_count + 1) * sizeof *keys);
    const bool left_only =
        join->kind >= EXEC_JOIN_LEFT_SEMI && join->kind <= EXEC_JOIN_LEFT_ANTI_NULL_AWARE;

    for (uint32_t k = 0; k < join->key_count; k++) {
        keys[k] =
            (struct exec_join_key){.left = join->left_keys[k],
                                   .right = join->right_keys[k],
                                   .nulls_equal = join->nulls_equal || join->key_nulls_equal[k]};
    }
    const struct exec_rel rel = {
        .kind = EXEC_REL_JOIN,
        .u.join = {.left = left->rel,
                   .right = right->rel,
                   .kind = join->kind,
                   .keys = keys,
                   .key_count = join->key_count,
                   .residual = join->residual},
    };
    left->rel = builder_rel(plan, &rel);
    if (!left_only) {
        frame_append(plan, left, right);
    } else if (join->kind == EXEC_JOIN_LEFT_MARK) {
        frame_add(plan, left, join->mark_id, &bool_type);
    }
}

enum exec_code select_join_key(struct select_query *query, struct select_join *join, uint32_t left,
                               uint32_t right, long location)
{
    if (left == 0 || right == 0) {
        return query->run->err->code;
    }
    if (join->key_count == EXEC_KEYS_MAX) {
        sql_refuse(&query->lowering, location, EXEC_LIMIT, "more than %d join keys", EXEC_KEYS_MAX);
        return EXEC_LIMIT;
    }
    join->left_keys[join->key_count] = left;
    join->right_keys[join->key_count++] = right;
    return EXEC_OK;
}

/* ---- one item of FROM */

enum exec_code select_lower_item(struct select_query *query, json_t *node,
                                 struct select_frame *frame, struct select_names *names)
{
    json_t *body = NULL;
    const char *kind = sql_node_kind(node, &body);

    if (strcmp(kind, "RangeVar") == 0) {
        return lower_range(query, body, frame, names);
    }
    if (strcmp(kind, "JoinExpr") == 0) {
        return select_join_expr(query, body, frame, names);
    }
    if (strcmp(kind, "RangeSubselect") == 0) {
        json_t *alias = json_object_get(body, "alias");
        return lower_subquery(query, tree_body(json_object_get(body, "subquery"), "SelectStmt"),
                              query->ctes, json_string_value(json_object_get(alias, "aliasname")),
                              alias, NULL, sql_node_location(node), frame, names);
    }
    sql_refuse(&query->lowering, sql_node_location(node), EXEC_NOT_IMPLEMENTED,
               "%s in FROM is not implemented yet",
               strcmp(kind, "RangeFunction") == 0 ? "a function" : kind);
    return EXEC_NOT_IMPLEMENTED;
}

/* Two inputs of one name could not be told apart. */
static enum exec_code check_qualifiers(struct select_query *query,
                                       const struct select_input *inputs, uint32_t count,
                                       const struct select_input *added, long location)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t a = 0; a < inputs[i].names.count; a++) {
            const char *name = inputs[i].names.items[a].qualifier;
            for (uint32_t b = 0; name != NULL && b < added->names.count; b++) {
                const char *other = added->names.items[b].qualifier;
                if (other != NULL && strcmp(other, name) == 0) {
                    sql_refuse(&query->lowering, location, EXEC_BAD_SPEC,
                               "FROM has two inputs called '%.60s': give one an alias", name);
                    return EXEC_BAD_SPEC;
                }
            }
        }
    }
    return EXEC_OK;
}

enum exec_code select_from(struct select_query *query, json_t *select)
{
    struct plan_builder *plan = query->run->plan;
    json_t *from = json_object_get(select, "fromClause");
    const uint32_t count = (uint32_t)json_array_size(from);
    struct select_input *inputs = builder_alloc(plan, (count + 2) * sizeof *inputs);
    uint32_t input_count = 0;

    if (count > SELECT_INPUTS_MAX - 1) {
        sql_refuse(&query->lowering, sql_node_location(json_array_get(from, SELECT_INPUTS_MAX - 1)),
                   EXEC_LIMIT, "more than %d inputs in FROM", SELECT_INPUTS_MAX - 1);
        return EXEC_LIMIT;
    }
    if (query->domain != NULL) {
        select_domain_input(query, &inputs[input_count++].frame);
    }
    for (uint32_t i = 0; i < count; i++) {
        json_t *node = json_array_get(from, i);
        struct select_input *input = &inputs[input_count];
        if (select_is_lateral(node) && input_count > 0) {
            if (join_lateral(query, node, inputs, &input_count) != EXEC_OK) {
                return query->run->err->code;
            }
            continue;
        }
        if (select_lower_item(query, node, &input->frame, &input->names) != EXEC_OK ||
            check_qualifiers(query, inputs, input_count, input, sql_node_location(node)) !=
                EXEC_OK) {
            return query->run->err->code;
        }
        input_count++;
    }
    for (uint32_t i = 0; i < input_count; i++) {
        names_append(plan, &query->names, &inputs[i].names);
    }
    if (input_count == 0) {
        inputs[0].frame.rel = select_rows(query->run, &inputs[0].frame, 1);
        input_count = 1;
    }
    return select_where(query, inputs, input_count, json_object_get(select, "whereClause"),
                        query->frame);
}
