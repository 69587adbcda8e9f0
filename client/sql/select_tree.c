#include "select_tree.h"
#include "sql_aggregate.h"

#include <string.h>

json_t *tree_body(json_t *node, const char *kind)
{
    return json_object_get(node, kind);
}

const char *tree_string(json_t *node)
{
    return json_string_value(json_object_get(json_object_get(node, "String"), "sval"));
}

const char *tree_function(json_t *func_call)
{
    json_t *names = json_object_get(func_call, "funcname");

    return tree_string(json_array_get(names, json_array_size(names) - 1));
}

const char *tree_operator(json_t *node, json_t **left_out, json_t **right_out)
{
    json_t *body = tree_body(node, "A_Expr");
    const char *kind = json_string_value(json_object_get(body, "kind"));

    *left_out = json_object_get(body, "lexpr");
    *right_out = json_object_get(body, "rexpr");
    return kind == NULL || strcmp(kind, "AEXPR_OP") != 0 || *left_out == NULL
               ? NULL
               : tree_string(json_array_get(json_object_get(body, "name"), 0));
}

void tree_walk(json_t *tree, tree_visit_fn *visit, void *owner)
{
    const char *key = NULL;
    json_t *value = NULL;
    size_t i;

    if (json_is_array(tree)) {
        json_array_foreach(tree, i, value)
        {
            tree_walk(value, visit, owner);
        }
        return;
    }
    json_object_foreach(tree, key, value)
    {
        /* Node names are capitalized, members are not. */
        const bool is_node = key[0] >= 'A' && key[0] <= 'Z';
        if (!is_node || visit(owner, key, value)) {
            tree_walk(value, visit, owner);
        }
    }
}

bool tree_equal(json_t *a, json_t *b, tree_same_column_fn *same_column, void *owner)
{
    const char *key = NULL;
    json_t *value = NULL;
    size_t i;

    if (json_typeof(a) != json_typeof(b)) {
        return false;
    }
    if (json_is_array(a)) {
        if (json_array_size(a) != json_array_size(b)) {
            return false;
        }
        json_array_foreach(a, i, value)
        {
            if (!tree_equal(value, json_array_get(b, i), same_column, owner)) {
                return false;
            }
        }
        return true;
    }
    if (!json_is_object(a)) {
        return json_equal(a, b) != 0;
    }
    if (json_object_size(a) != json_object_size(b)) {
        return false;
    }
    json_object_foreach(a, key, value)
    {
        json_t *other = json_object_get(b, key);
        if (other == NULL) {
            return false;
        }
        if (strcmp(key, "location") == 0) {
            continue;
        }
        if (strcmp(key, "ColumnRef") == 0 ? !same_column(owner, value, other)
                                          : !tree_equal(value, other, same_column, owner)) {
            return false;
        }
    }
    return true;
}

struct kind_search {
    const char *kind;
    bool found;
};

static bool visit_kind(void *owner, const char *kind, json_t *body)
{
    struct kind_search *search = owner;

    (void)body;
    search->found = search->found || strcmp(kind, search->kind) == 0;
    return !search->found;
}

bool tree_has(json_t *tree, const char *kind)
{
    struct kind_search search = {.kind = kind};

    tree_walk(tree, visit_kind, &search);
    return search.found;
}

static bool visit_aggregate(void *owner, const char *kind, json_t *body)
{
    bool *found = owner;

    if (strcmp(kind, "SubLink") == 0) {
        return false;
    }
    if (strcmp(kind, "FuncCall") == 0 && json_object_get(body, "over") == NULL) {
        const char *name = tree_function(body);
        *found = *found || (name != NULL && sql_is_aggregate(name));
    }
    return !*found;
}

bool tree_has_aggregate(json_t *tree)
{
    bool found = false;

    tree_walk(tree, visit_aggregate, &found);
    return found;
}

void tree_flatten(json_t *tree, const char *boolop, json_t *parts)
{
    json_t *body = tree_body(tree, "BoolExpr");
    const char *op = json_string_value(json_object_get(body, "boolop"));
    json_t *arg = NULL;
    size_t i;

    if (tree == NULL) {
        return;
    }
    if (op == NULL || strcmp(op, boolop) != 0) {
        json_array_append(parts, tree);
        return;
    }
    json_array_foreach(json_object_get(body, "args"), i, arg)
    {
        tree_flatten(arg, boolop, parts);
    }
}
