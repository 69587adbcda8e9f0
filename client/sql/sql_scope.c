#include "sql_scope.h"

#include <stdio.h>
#include <string.h>

void sql_scope_init(struct sql_scope *scope, struct plan_builder *plan)
{
    *scope = (struct sql_scope){.plan = plan};
}

static struct sql_name *scope_push(struct sql_scope *scope)
{
    if (scope->name_count == scope->name_room) {
        const uint32_t room = scope->name_room == 0 ? 32 : 2 * scope->name_room;
        struct sql_name *moved = builder_alloc(scope->plan, room * sizeof *moved);
        if (scope->name_count > 0) {
            memcpy(moved, scope->names, scope->name_count * sizeof *moved);
        }
        scope->names = moved;
        scope->name_room = room;
    }
    return &scope->names[scope->name_count++];
}

void sql_scope_add_schema(struct sql_scope *scope, const struct sql_input *input,
                          const struct exec_schema *schema, uint32_t first_column)
{
    const uint32_t number = scope->input_count++;

    scope->inputs[number] = *input;
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const char *name = schema->fields[i].name;
        *scope_push(scope) = (struct sql_name){
            .name = builder_text(scope->plan, name, strlen(name)),
            .input = number,
            .column = first_column + i,
        };
    }
}

void sql_scope_add_alias(struct sql_scope *scope, const char *name, uint32_t column, uint32_t expr)
{
    *scope_push(scope) = (struct sql_name){
        .name = builder_text(scope->plan, name, strlen(name)),
        .input = SQL_SCOPE_ALIAS,
        .column = column,
        .expr = expr,
    };
}

int sql_scope_input(const struct sql_scope *scope, const char *qualifier)
{
    for (uint32_t i = 0; i < scope->input_count; i++) {
        for (int q = 0; q < SQL_QUALIFIERS_MAX; q++) {
            if (scope->inputs[i].qualifiers[q] != NULL &&
                strcmp(scope->inputs[i].qualifiers[q], qualifier) == 0) {
                return (int)i;
            }
        }
    }
    return -1;
}

/* "no column 'x'; there are: a, b, c, ..." */
static enum exec_code not_found(const struct sql_scope *scope, int input, const char *name,
                                char message_out[256])
{
    int size = snprintf(message_out, 256,
                        scope->grouped ? "'%.60s' is neither a key nor an aggregate%s"
                                       : "no column '%.60s'%s",
                        name, scope->name_count > 0 ? "; there are: " : "");
    const char *comma = "";

    for (uint32_t i = 0; i < scope->name_count; i++) {
        if (input >= 0 && scope->names[i].input != (uint32_t)input) {
            continue;
        }
        if (size > 200) {
            snprintf(message_out + size, 256 - (size_t)size, ", ...");
            break;
        }
        size += snprintf(message_out + size, 256 - (size_t)size, "%s%.40s", comma,
                         scope->names[i].name);
        comma = ", ";
    }
    return EXEC_COLUMN_NOT_FOUND;
}

enum exec_code sql_scope_find(const struct sql_scope *scope, const char *qualifier,
                              const char *name, const struct sql_name **name_out,
                              char message_out[256])
{
    const struct sql_name *found = NULL, *alias = NULL, *ambiguous = NULL;
    int input = -1;

    *name_out = NULL;
    if (qualifier != NULL) {
        input = sql_scope_input(scope, qualifier);
        if (input < 0) {
            snprintf(message_out, 256, "no input is called '%.60s'", qualifier);
            return EXEC_COLUMN_NOT_FOUND;
        }
    }
    for (uint32_t i = 0; i < scope->name_count; i++) {
        const struct sql_name *candidate = &scope->names[i];
        if (strcmp(candidate->name, name) != 0 ||
            (input >= 0 && candidate->input != (uint32_t)input) ||
            (input < 0 && candidate->qualified_only)) {
            continue;
        }
        if (candidate->input == SQL_SCOPE_ALIAS) {
            alias = alias == NULL ? candidate : alias;
        } else if (found != NULL && ambiguous == NULL) {
            ambiguous = found;
        } else if (found == NULL) {
            found = candidate;
        }
    }
    if (alias != NULL && scope->aliases_first) {
        *name_out = alias;
        return EXEC_OK;
    }
    if (ambiguous != NULL) {
        snprintf(message_out, 256, "column '%.60s' is ambiguous: write %.60s.%.60s", name,
                 scope->inputs[ambiguous->input].qualifiers[0], name);
        return EXEC_BAD_SPEC;
    }
    *name_out = found != NULL ? found : alias;
    if (*name_out == NULL && !scope->open) {
        return not_found(scope, input, name, message_out);
    }
    return EXEC_OK;
}
