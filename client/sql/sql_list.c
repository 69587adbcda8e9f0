#include "sql_list.h"
#include "sql_names.h"

#include <stdio.h>
#include <string.h>

static const char *string_of(json_t *node)
{
    return json_string_value(json_object_get(json_object_get(node, "String"), "sval"));
}

/* Refuses every clause but the one named (NULL: only the list). */
static enum exec_code only_list(json_t *select, const char *clause, const struct sql_text *text,
                                struct exec_error *err)
{
    static const char *const plain[] = {"targetList", "limitOption", "op"};
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach(select, key, value)
    {
        bool known = clause != NULL && strcmp(key, clause) == 0;
        for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
            known = known || strcmp(plain[i], key) == 0;
        }
        if (!known) {
            return EXEC_FAIL(err, EXEC_BAD_SPEC, "%s: only expressions are taken here, no %s",
                             text->option, key);
        }
    }
    return EXEC_OK;
}

/* What an expression is called when nobody names it. */
static const char *own_name(struct plan_builder *plan, json_t *expr, uint32_t number)
{
    json_t *body = NULL;
    const char *kind = sql_node_kind(expr, &body), *qualifier = NULL, *name = NULL;

    if (strcmp(kind, "ColumnRef") == 0 && sql_column_parts(body, &qualifier, &name) &&
        name != NULL) {
        return builder_text(plan, name, strlen(name));
    }
    if (strcmp(kind, "FuncCall") == 0) {
        json_t *names = json_object_get(body, "funcname");
        name = string_of(json_array_get(names, json_array_size(names) - 1));
        return builder_text(plan, name == NULL ? "" : name, name == NULL ? 0 : strlen(name));
    }
    if (strcmp(kind, "TypeCast") == 0) {
        return own_name(plan, json_object_get(body, "arg"), number);
    }
    return builder_printf(plan, "column%u", number);
}

enum exec_code sql_list_parse(struct plan_builder *plan, const struct sql_text *text,
                              bool equals_name, struct sql_list *list_out, struct exec_error *err)
{
    struct sql_names names = {0};
    struct sql_text rest = *text;

    if (equals_name) {
        rest.text = sql_names_take(plan, text->text, &names);
    }
    *list_out = (struct sql_list){.select = sql_parse(&rest, err)};
    if (list_out->select == NULL) {
        return err->code;
    }
    json_t *targets = json_object_get(list_out->select, "targetList");
    const size_t count = json_array_size(targets);
    if (only_list(list_out->select, NULL, text, err) != EXEC_OK) {
        sql_list_fini(list_out);
        return err->code;
    }
    if (count == 0) {
        sql_list_fini(list_out);
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "%s: an expression is missing", text->option);
    }
    list_out->items = builder_alloc(plan, count * sizeof *list_out->items);
    list_out->item_count = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++) {
        json_t *target = json_object_get(json_array_get(targets, i), "ResTarget");
        struct sql_item *item = &list_out->items[i];
        const char *name = json_string_value(json_object_get(target, "name"));
        item->expr = json_object_get(target, "val");
        item->location = (long)json_integer_value(json_object_get(target, "location"));
        item->equals = i < names.count && names.names[i] != NULL;
        if (item->equals && name != NULL) {
            sql_fail_at(text, item->location, EXEC_BAD_SPEC, err,
                        "the column has two names, '%.60s' and '%.60s'", names.names[i], name);
            sql_list_fini(list_out);
            return err->code;
        }
        name = item->equals ? names.names[i] : name;
        item->named = name != NULL;
        item->name = name != NULL ? builder_text(plan, name, strlen(name))
                                  : own_name(plan, item->expr, i + 1);
    }
    return EXEC_OK;
}

void sql_list_fini(struct sql_list *list)
{
    json_decref(list->select);
    *list = (struct sql_list){0};
}

uint32_t sql_lower_text(struct sql_lowering *lowering)
{
    struct sql_list list;
    uint32_t expr = 0;

    if (sql_list_parse(lowering->plan, lowering->text, false, &list, lowering->err) != EXEC_OK) {
        return 0;
    }
    if (list.item_count != 1) {
        sql_refuse(lowering, list.items[1].location, EXEC_BAD_SPEC,
                   "one expression is expected here");
    } else {
        expr = sql_lower_expr(lowering, list.items[0].expr);
    }
    sql_list_fini(&list);
    return expr;
}

/* A leading minus on the key; the key without it. */
static json_t *strip_minus(json_t *node, bool *minus_out)
{
    json_t *a_expr = json_object_get(node, "A_Expr");
    const char *op = string_of(json_array_get(json_object_get(a_expr, "name"), 0));

    *minus_out = a_expr != NULL && json_object_get(a_expr, "lexpr") == NULL && op != NULL &&
                 strcmp(op, "-") == 0;
    return *minus_out ? json_object_get(a_expr, "rexpr") : node;
}

enum exec_direction sql_sort_direction(json_t *sort_by, bool minus)
{
    const char *dir = json_string_value(json_object_get(sort_by, "sortby_dir"));
    const char *nulls = json_string_value(json_object_get(sort_by, "sortby_nulls"));
    const bool desc = (dir != NULL && strcmp(dir, "SORTBY_DESC") == 0) != minus;
    const bool said = nulls != NULL && strcmp(nulls, "SORTBY_NULLS_DEFAULT") != 0;
    const bool first = said ? strcmp(nulls, "SORTBY_NULLS_FIRST") == 0 : desc && !minus;

    if (desc) {
        return first ? EXEC_DESC_NULLS_FIRST : EXEC_DESC_NULLS_LAST;
    }
    return first ? EXEC_ASC_NULLS_FIRST : EXEC_ASC_NULLS_LAST;
}

enum exec_code sql_lower_order(struct sql_lowering *lowering, struct exec_sort_key **keys_out,
                               uint32_t *count_out)
{
    json_t *select = sql_parse(lowering->text, lowering->err);
    enum exec_code code = EXEC_OK;

    if (select == NULL) {
        return lowering->err->code;
    }
    json_t *clause = json_object_get(select, "sortClause");
    const size_t count = json_array_size(clause);
    struct exec_sort_key *keys = builder_alloc(lowering->plan, (count + 1) * sizeof *keys);
    code = only_list(select, "sortClause", lowering->text, lowering->err);
    for (size_t i = 0; i < count && code == EXEC_OK; i++) {
        json_t *sort_by = json_object_get(json_array_get(clause, i), "SortBy");
        bool minus = false;
        if (json_object_get(sort_by, "useOp") != NULL) {
            code = EXEC_FAIL(lowering->err, EXEC_NOT_IMPLEMENTED,
                             "%s: USING is not implemented yet", lowering->text->option);
            break;
        }
        json_t *node = strip_minus(json_object_get(sort_by, "node"), &minus);
        keys[i].expr = sql_lower_expr(lowering, node);
        keys[i].direction = sql_sort_direction(sort_by, minus);
        code = keys[i].expr == 0 ? lowering->err->code : EXEC_OK;
    }
    json_decref(select);
    *keys_out = keys;
    *count_out = (uint32_t)count;
    return code;
}
