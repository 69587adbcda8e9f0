#include "sql_names.h"
#include "sql_token.h"

#include <stdbool.h>
#include <string.h>

/* Behind the item that starts here: at its comma or at the end. Commas inside brackets, quotes and
 * comments are its own. */
static const char *skip_item(const char *at)
{
    uint32_t depth = 0;

    while (*at != '\0' && (*at != ',' || depth > 0)) {
        const char *token = sql_token_skip(at);
        if (token != at) {
            at = token;
        } else {
            depth += *at == '(' || *at == '[';
            depth -= depth > 0 && (*at == ')' || *at == ']');
            at++;
        }
    }
    return at;
}

/* The name as the parser would read it: folded, or without its quotes. */
static const char *name_of(struct plan_builder *plan, const char *from, size_t size)
{
    char *name = builder_alloc(plan, size + 1);
    const bool quoted = *from == '"';
    size_t made = 0;

    for (size_t i = quoted ? 1 : 0; i < size - (quoted ? 1 : 0); i++) {
        const bool upper = !quoted && from[i] >= 'A' && from[i] <= 'Z';
        name[made++] = upper ? (char)(from[i] - 'A' + 'a') : from[i];
        i += quoted && from[i] == '"';
    }
    return name;
}

/* The end of "NAME =" at the start of an item, and where the name is; NULL: none. */
static const char *equals_end(const char *item, const char **name_out, size_t *size_out)
{
    const char *name = sql_token_spaces(item), *end = name;

    if (*name == '"') {
        end = sql_token_quoted(name, false);
        end = end - name > 2 && end[-1] == '"' ? end : name;
    } else if (sql_token_is_letter(*name)) {
        end = sql_token_identifier(name);
    }
    const char *equals = sql_token_spaces(end);
    if (end == name || *equals != '=' ||
        (equals[1] != '\0' && strchr("=<>~!@#%^&|`?", equals[1]))) {
        return NULL;
    }
    *name_out = name;
    *size_out = (size_t)(end - name);
    return equals + 1;
}

const char *sql_names_take(struct plan_builder *plan, const char *text, struct sql_names *names_out)
{
    const size_t size = strlen(text);
    char *rest = builder_alloc(plan, size + 1);
    const char *item = text;
    uint32_t room = 1;

    memcpy(rest, text, size);
    for (size_t i = 0; i < size; i++) {
        room += text[i] == ','; /* never fewer than there are items */
    }
    *names_out = (struct sql_names){.names = builder_alloc(plan, room * sizeof *names_out->names)};
    for (;;) {
        const char *name = NULL;
        size_t name_bytes = 0;
        const char *end = equals_end(item, &name, &name_bytes);
        if (end != NULL) {
            names_out->names[names_out->count] = name_of(plan, name, name_bytes);
            memset(rest + (name - text), ' ', (size_t)(end - name));
            item = end;
        }
        names_out->count++;
        item = skip_item(item);
        if (*item == '\0') {
            return rest;
        }
        item++;
    }
}
