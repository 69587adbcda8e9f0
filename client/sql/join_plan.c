#include "join_plan.h"
#include "sql_list.h"

#include <string.h>

#define JOIN_MARK "mark"

/* One command's worth of state. */
struct join_making {
    struct plan_builder *plan;
    const struct join_request *request;
    struct exec_error *err;
    struct sql_scope left, right, both; /* names for each side of a key, and after the join */
    struct exec_join_key *keys;
    uint32_t key_count;
    bool left_only; /* the join shows the left side; a mark join one column more */
};

static bool is_left_only(enum exec_join_kind kind)
{
    return kind == EXEC_JOIN_LEFT_SEMI || kind == EXEC_JOIN_LEFT_ANTI ||
           kind == EXEC_JOIN_LEFT_ANTI_NULL_AWARE || kind == EXEC_JOIN_LEFT_MARK;
}

enum exec_join_kind join_kind_of(const char *how)
{
    static const struct {
        const char *name;
        enum exec_join_kind kind;
    } kinds[] = {
        {"inner", EXEC_JOIN_INNER},    {"left", EXEC_JOIN_LEFT},
        {"right", EXEC_JOIN_RIGHT},    {"full", EXEC_JOIN_FULL},
        {"semi", EXEC_JOIN_LEFT_SEMI}, {"anti", EXEC_JOIN_LEFT_ANTI},
        {"mark", EXEC_JOIN_LEFT_MARK}, {"not-in", EXEC_JOIN_LEFT_ANTI_NULL_AWARE},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].name, how) == 0) {
            return kinds[i].kind;
        }
    }
    return EXEC_JOIN_NONE;
}

static struct sql_input side_names(const struct join_side *side, const char *letter,
                                   const char *word)
{
    return (struct sql_input){.qualifiers = {letter, side->name, word}};
}

static void make_scopes(struct join_making *making)
{
    const struct join_request *request = making->request;
    const struct sql_input left = side_names(&request->left, "l", "left");
    const struct sql_input right = side_names(&request->right, "r", "right");

    sql_scope_init(&making->left, making->plan);
    sql_scope_init(&making->right, making->plan);
    sql_scope_init(&making->both, making->plan);
    sql_scope_add_schema(&making->left, &left, request->left.schema, 1);
    sql_scope_add_schema(&making->right, &right, request->right.schema, 1);
    sql_scope_add_schema(&making->both, &left, request->left.schema, 1);
    if (request->kind == EXEC_JOIN_LEFT_MARK) {
        sql_scope_add_alias(&making->both, JOIN_MARK, request->left.schema->field_count + 1, 0);
    }
    if (!making->left_only) {
        sql_scope_add_schema(&making->both, &right, request->right.schema,
                             request->left.schema->field_count + 1);
    }
}

/* True when the first qualified column of a key's half names the other side: r.id = l.id. */
static bool names_other_side(const struct sql_scope *other, const struct sql_scope *own,
                             json_t *node)
{
    json_t *column = json_object_get(node, "ColumnRef");
    const char *qualifier = NULL, *name = NULL;

    return column != NULL && sql_column_parts(column, &qualifier, &name) && qualifier != NULL &&
           sql_scope_input(other, qualifier) >= 0 && sql_scope_input(own, qualifier) < 0;
}

static enum exec_code lower_key(struct join_making *making, const struct sql_text *text,
                                const struct sql_item *item, struct exec_join_key *key)
{
    json_t *a_expr = json_object_get(item->expr, "A_Expr"), *name_list = NULL;
    json_t *halves[2] = {item->expr, item->expr};
    struct sql_lowering lowering = {.plan = making->plan, .text = text, .err = making->err};

    name_list = json_object_get(a_expr, "name");
    const char *op = json_string_value(
        json_object_get(json_object_get(json_array_get(name_list, 0), "String"), "sval"));
    if (op != NULL && strcmp(op, "=") == 0 && json_object_get(a_expr, "lexpr") != NULL) {
        halves[0] = json_object_get(a_expr, "lexpr");
        halves[1] = json_object_get(a_expr, "rexpr");
        if (names_other_side(&making->right, &making->left, halves[0])) {
            json_t *swapped = halves[0];
            halves[0] = halves[1];
            halves[1] = swapped;
        }
    }
    lowering.scope = &making->left;
    key->left = sql_lower_expr(&lowering, halves[0]);
    if (key->left == 0) {
        return making->err->code;
    }
    lowering.scope = &making->right;
    key->right = sql_lower_expr(&lowering, halves[1]);
    return key->right == 0 ? making->err->code : EXEC_OK;
}

static enum exec_code make_keys(struct join_making *making)
{
    const struct sql_text text = {"--on", SQL_SELECT_PREFIX, making->request->on};
    struct sql_list list;

    if (sql_list_parse(making->plan, &text, false, &list, making->err) != EXEC_OK) {
        return making->err->code;
    }
    enum exec_code code = EXEC_OK;
    making->keys = builder_alloc(making->plan, list.item_count * sizeof *making->keys);
    making->key_count = list.item_count;
    for (uint32_t i = 0; i < list.item_count && code == EXEC_OK; i++) {
        code = lower_key(making, &text, &list.items[i], &making->keys[i]);
    }
    sql_list_fini(&list);
    return code;
}

/* The column a key half is, 0 when it is computed. */
static uint32_t key_column(const struct join_making *making, uint32_t expr)
{
    const struct exec_expr *entry = &making->plan->exprs[expr - 1];

    return entry->kind == EXEC_EXPR_COLUMN ? entry->u.column.index : 0;
}

/* The key of which both halves are columns of the same name, and whose half on that side is
 * `column`; NULL: none. */
static const struct exec_join_key *shared_key(const struct join_making *making, bool right_side,
                                              uint32_t column)
{
    for (uint32_t k = 0; k < making->key_count; k++) {
        const uint32_t left = key_column(making, making->keys[k].left);
        const uint32_t right = key_column(making, making->keys[k].right);
        if (left != 0 && right != 0 && (right_side ? right : left) == column &&
            strcmp(making->request->left.schema->fields[left - 1].name,
                   making->request->right.schema->fields[right - 1].name) == 0) {
            return &making->keys[k];
        }
    }
    return NULL;
}

static bool shows_either_key(const struct join_making *making)
{
    return making->request->kind == EXEC_JOIN_RIGHT || making->request->kind == EXEC_JOIN_FULL;
}

static uint32_t either_key(struct join_making *making, const struct exec_join_key *key)
{
    const uint32_t left_count = making->request->left.schema->field_count;
    const uint32_t args[] = {
        builder_column(making->plan, key_column(making, key->left), NULL),
        builder_column(making->plan, left_count + key_column(making, key->right), NULL),
    };

    return builder_call(making->plan, "coalesce", args, 2, NULL);
}

/* A shared key has one meaning without a qualifier, as with SQL's USING: the left side's value, or
 * whichever is there when the left side may be missing. */
static void merge_keys(struct join_making *making)
{
    const uint32_t left_count = making->request->left.schema->field_count;
    const bool either = shows_either_key(making);

    for (uint32_t i = 0, count = making->both.name_count; i < count; i++) {
        struct sql_name *name = &making->both.names[i];
        if (name->input == SQL_SCOPE_ALIAS) {
            continue;
        }
        const bool right_side = name->input == 1;
        const struct exec_join_key *key =
            shared_key(making, right_side, right_side ? name->column - left_count : name->column);
        if (key == NULL) {
            continue;
        }
        name->qualified_only = right_side || either;
        if (!right_side && either) {
            sql_scope_add_alias(&making->both, name->name, 0, either_key(making, key));
        }
    }
}

/* ---- output columns -----------------------------------------------------------------------------
 */

struct output {
    struct exec_named_expr *exprs;
    uint32_t count, room;
};

static void output_add(struct plan_builder *plan, struct output *output, const char *name,
                       uint32_t expr)
{
    if (output->count == output->room) {
        const uint32_t room = output->room == 0 ? 32 : 2 * output->room;
        struct exec_named_expr *moved = builder_alloc(plan, room * sizeof *moved);
        if (output->count > 0) {
            memcpy(moved, output->exprs, output->count * sizeof *moved);
        }
        output->exprs = moved;
        output->room = room;
    }
    output->exprs[output->count++] =
        (struct exec_named_expr){.name = builder_text(plan, name, strlen(name)), .expr = expr};
}

static bool output_has(const struct output *output, const char *name)
{
    for (uint32_t i = 0; i < output->count; i++) {
        if (strcmp(output->exprs[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Every column of one side; `merged`: a shared key is shown once. */
static void output_side(struct join_making *making, struct output *output, bool right_side,
                        bool merged)
{
    const struct join_request *request = making->request;
    const struct exec_schema *schema = (right_side ? &request->right : &request->left)->schema;
    const uint32_t base = right_side ? request->left.schema->field_count : 0;

    for (uint32_t i = 0; i < schema->field_count; i++) {
        const struct exec_join_key *key = merged ? shared_key(making, right_side, i + 1) : NULL;
        const char *name = schema->fields[i].name;
        if (key != NULL && right_side) {
            continue;
        }
        const uint32_t expr = key != NULL && shows_either_key(making)
                                  ? either_key(making, key)
                                  : builder_column(making->plan, base + i + 1, NULL);
        while (output_has(output, name)) {
            name = builder_printf(making->plan, right_side ? "%s_right" : "%s_left", name);
        }
        output_add(making->plan, output, name, expr);
    }
}

/* The column a mark join adds: whether the row has a partner. */
static void output_mark(struct join_making *making, struct output *output)
{
    const uint32_t column = making->request->left.schema->field_count + 1;
    const char *name = JOIN_MARK;

    while (output_has(output, name)) {
        name = builder_printf(making->plan, "%s_right", name);
    }
    output_add(making->plan, output, name, builder_column(making->plan, column, NULL));
}

static enum exec_code output_star(struct join_making *making, const struct sql_text *text,
                                  const struct sql_item *item, json_t *column,
                                  struct output *output)
{
    const char *qualifier = NULL, *name = NULL;

    sql_column_parts(column, &qualifier, &name);
    const int input = qualifier == NULL ? -1 : sql_scope_input(&making->both, qualifier);
    if (qualifier != NULL && input < 0) {
        return sql_fail_at(text, item->location, EXEC_COLUMN_NOT_FOUND, making->err,
                           "no input is called '%.60s'", qualifier);
    }
    if (input != 1) {
        output_side(making, output, false, qualifier == NULL);
    }
    if (input != 0 && !making->left_only) {
        output_side(making, output, true, qualifier == NULL);
    }
    if (input < 0 && making->request->kind == EXEC_JOIN_LEFT_MARK) {
        output_mark(making, output);
    }
    return EXEC_OK;
}

/* Lowers the select list, and makes its names known to --order. */
static enum exec_code make_output(struct join_making *making, struct output *output)
{
    const struct sql_text text = {"--select", SQL_SELECT_PREFIX,
                                  making->request->select == NULL ? "*" : making->request->select};
    struct sql_lowering lowering = {
        .plan = making->plan, .scope = &making->both, .text = &text, .err = making->err};
    struct sql_list list;

    if (sql_list_parse(making->plan, &text, true, &list, making->err) != EXEC_OK) {
        return making->err->code;
    }
    enum exec_code code = EXEC_OK;
    for (uint32_t i = 0; i < list.item_count && code == EXEC_OK; i++) {
        const struct sql_item *item = &list.items[i];
        json_t *column = json_object_get(item->expr, "ColumnRef");
        const char *qualifier = NULL, *name = NULL;
        if (column != NULL && sql_column_parts(column, &qualifier, &name) && name == NULL) {
            code = output_star(making, &text, item, column, output);
            continue;
        }
        const uint32_t expr = sql_lower_expr(&lowering, item->expr);
        code = expr == 0 ? making->err->code : EXEC_OK;
        if (code == EXEC_OK && output_has(output, item->name)) {
            code = sql_fail_at(&text, item->location, EXEC_BAD_SPEC, making->err,
                               "two columns are called '%.60s'; NAME = EXPR gives another name",
                               item->name);
        }
        if (code == EXEC_OK) {
            output_add(making->plan, output, item->name, expr);
        }
    }
    sql_list_fini(&list);
    for (uint32_t i = 0; code == EXEC_OK && i < output->count; i++) {
        sql_scope_add_alias(&making->both, output->exprs[i].name, 0, output->exprs[i].expr);
    }
    making->both.aliases_first = true; /* from here on for ORDER BY */
    return code;
}

static enum exec_code make_filter(struct join_making *making, uint32_t *rel)
{
    const struct sql_text text = {"--where", SQL_SELECT_PREFIX, making->request->where};
    struct sql_lowering lowering = {
        .plan = making->plan, .scope = &making->both, .text = &text, .err = making->err};
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

/* Sort (top-n with a limit), or limit alone. */
static enum exec_code make_order(struct join_making *making, uint32_t *rel)
{
    const struct join_request *request = making->request;
    const struct sql_text text = {"--order", SQL_ORDER_PREFIX, request->order};
    struct sql_lowering lowering = {
        .plan = making->plan, .scope = &making->both, .text = &text, .err = making->err};

    if (request->order != NULL) {
        struct exec_rel sort = {.kind = EXEC_REL_SORT,
                                .u.sort = {.input = *rel, .limit = request->limit}};
        struct exec_sort_key *keys = NULL;
        if (sql_lower_order(&lowering, &keys, &sort.u.sort.key_count) != EXEC_OK) {
            return making->err->code;
        }
        sort.u.sort.keys = keys;
        *rel = builder_rel(making->plan, &sort);
    } else if (request->limit >= 0) {
        const struct exec_rel limit = {.kind = EXEC_REL_LIMIT,
                                       .u.limit = {.input = *rel, .count = request->limit}};
        *rel = builder_rel(making->plan, &limit);
    }
    return EXEC_OK;
}

enum exec_code join_plan_make(struct plan_builder *plan, const struct join_request *request,
                              struct exec_error *err)
{
    struct join_making making = {
        .plan = plan,
        .request = request,
        .err = err,
        .left_only = is_left_only(request->kind),
    };
    struct output output = {0};
    uint32_t rel = 0;

    make_scopes(&making);
    if (make_keys(&making) != EXEC_OK) {
        return err->code;
    }
    merge_keys(&making);
    const struct exec_rel join = {
        .kind = EXEC_REL_JOIN,
        .u.join = {.left = request->left.rel,
                   .right = request->right.rel,
                   .kind = request->kind,
                   .keys = making.keys,
                   .key_count = making.key_count},
    };
    rel = builder_rel(plan, &join);
    /* WHERE sees columns only, ORDER BY the select list's names as well, as in SQL. */
    if (make_filter(&making, &rel) != EXEC_OK || make_output(&making, &output) != EXEC_OK ||
        make_order(&making, &rel) != EXEC_OK) {
        return err->code;
    }
    const struct exec_rel project = {
        .kind = EXEC_REL_PROJECT,
        .u.project = {.input = rel, .exprs = output.exprs, .expr_count = output.count},
    };
    builder_rel(plan, &project);
    return EXEC_OK;
}
