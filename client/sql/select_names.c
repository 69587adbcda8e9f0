/* Names, ids and frames of a query. */
#include "select_query.h"

#include <stdio.h>
#include <stdlib.h>

static void *grown(struct plan_builder *plan, const void *old, uint32_t count, uint32_t *room,
                   size_t entry_bytes)
{
    *room = *room == 0 ? 16 : 2 * *room;
    void *moved = builder_alloc(plan, *room * entry_bytes);

    if (count > 0) {
        memcpy(moved, old, count * entry_bytes);
    }
    return moved;
}

void frame_add(struct plan_builder *plan, struct select_frame *frame, uint32_t id,
               const struct exec_type *type)
{
    if (frame->count == frame->room) {
        frame->columns =
            grown(plan, frame->columns, frame->count, &frame->room, sizeof *frame->columns);
    }
    frame->columns[frame->count++] =
        (struct frame_column){.id = id, .type = type == NULL ? (struct exec_type){0} : *type};
}

void frame_append(struct plan_builder *plan, struct select_frame *to,
                  const struct select_frame *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        frame_add(plan, to, from->columns[i].id, &from->columns[i].type);
    }
}

uint32_t frame_position(const struct select_frame *frame, uint32_t id)
{
    for (uint32_t i = 0; i < frame->count; i++) {
        if (frame->columns[i].id == id) {
            return i + 1;
        }
    }
    return 0;
}

void names_add(struct plan_builder *plan, struct select_names *names, const char *qualifier,
               const char *name, uint32_t id, bool qualified_only)
{
    if (names->count == names->room) {
        names->items = grown(plan, names->items, names->count, &names->room, sizeof *names->items);
    }
    names->items[names->count++] = (struct select_name){
        .qualifier = qualifier,
        .name = builder_text(plan, name, strlen(name)),
        .id = id,
        .qualified_only = qualified_only,
    };
}

void names_append(struct plan_builder *plan, struct select_names *to,
                  const struct select_names *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        const struct select_name *item = &from->items[i];
        names_add(plan, to, item->qualifier, item->name, item->id, item->qualified_only);
    }
}

uint32_t select_new_id(struct select_run *run)
{
    return ++run->id_count;
}

/* How many columns of one query the name fits; the first one's id. */
static uint32_t names_find(const struct select_names *names, const char *qualifier,
                           const char *name, uint32_t *id_out)
{
    const uint32_t wanted = name[0] == '\x01' ? (uint32_t)strtoul(name + 1, NULL, 10) : 0;
    uint32_t found = 0;

    for (uint32_t i = 0; wanted != 0 && i < names->count; i++) {
        if (names->items[i].id == wanted) { /* an id written by select_scalar.c */
            *id_out = wanted;
            return 1;
        }
    }
    for (uint32_t i = 0; i < names->count; i++) {
        const struct select_name *item = &names->items[i];
        const bool fits = qualifier == NULL
                              ? !item->qualified_only
                              : item->qualifier != NULL && strcmp(item->qualifier, qualifier) == 0;
        if (fits && strcmp(item->name, name) == 0) {
            *id_out = found == 0 ? item->id : *id_out;
            found++;
        }
    }
    return found;
}

static uint32_t resolve(struct select_query *query, const char *qualifier, const char *name,
                        struct select_query **query_out, uint32_t *found_out)
{
    uint32_t id = 0;

    for (*found_out = 0; query != NULL; query = query->outer) {
        *found_out = names_find(&query->names, qualifier, name, &id);
        if (*found_out != 0) {
            break;
        }
    }
    if (query_out != NULL) {
        *query_out = query;
    }
    return id;
}

/* "no column 'x'; there are: a, b, c, ..." */
static void list_names(const struct select_query *query, const char *qualifier, char text[240])
{
    size_t size = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < query->names.count; i++) {
        const struct select_name *item = &query->names.items[i];
        if (qualifier != NULL &&
            (item->qualifier == NULL || strcmp(item->qualifier, qualifier) != 0)) {
            continue;
        }
        if (size > 180) {
            snprintf(text + size, 240 - size, ", ...");
            return;
        }
        size +=
            (size_t)snprintf(text + size, 240 - size, "%s%.40s", size == 0 ? "" : ", ", item->name);
    }
}

static bool has_qualifier(const struct select_query *query, const char *qualifier)
{
    for (; query != NULL; query = query->outer) {
        for (uint32_t i = 0; i < query->names.count; i++) {
            const char *own = query->names.items[i].qualifier;
            if (own != NULL && strcmp(own, qualifier) == 0) {
                return true;
            }
        }
    }
    return false;
}

uint32_t select_resolve(struct select_query *query, json_t *column_ref,
                        struct select_query **query_out)
{
    const char *qualifier = NULL, *name = NULL;
    const long location = (long)json_integer_value(json_object_get(column_ref, "location"));
    char there[240];
    uint32_t found = 0;

    if (!sql_column_parts(column_ref, &qualifier, &name) || name == NULL) {
        return sql_refuse(&query->lowering, location, EXEC_BAD_SPEC,
                          "a column name is expected here");
    }
    const uint32_t id = resolve(query, qualifier, name, query_out, &found);
    if (found == 1) {
        return id;
    }
    if (found > 1) {
        return sql_refuse(&query->lowering, location, EXEC_BAD_SPEC,
                          "column '%.60s' is ambiguous: write TABLE.%.60s", name, name);
    }
    if (qualifier != NULL && !has_qualifier(query, qualifier)) {
        return sql_refuse(&query->lowering, location, EXEC_COLUMN_NOT_FOUND,
                          "no table in FROM is called '%.60s'", qualifier);
    }
    list_names(query, qualifier, there);
    return sql_refuse(&query->lowering, location, EXEC_COLUMN_NOT_FOUND,
                      "no column '%.60s'; there are: %s", name, there);
}

uint32_t select_resolve_quietly(struct select_query *query, json_t *column_ref,
                                struct select_query **query_out)
{
    const char *qualifier = NULL, *name = NULL;
    uint32_t found = 0;

    if (!sql_column_parts(column_ref, &qualifier, &name) || name == NULL) {
        return 0;
    }
    const uint32_t id = resolve(query, qualifier, name, query_out, &found);
    return found == 1 ? id : 0;
}

bool select_same_column(void *query, json_t *a, json_t *b)
{
    const uint32_t first = select_resolve_quietly(query, a, NULL);

    return first != 0 && first == select_resolve_quietly(query, b, NULL);
}

void select_query_init(struct select_query *query, struct select_run *run,
                       struct select_query *outer, const struct select_cte *ctes)
{
    *query = (struct select_query){
        .run = run,
        .outer = outer,
        .domain = outer == NULL ? NULL : outer->inner_domain,
        .ctes = ctes,
        .lowering = {.plan = run->plan,
                     .text = run->text,
                     .err = run->err,
                     .hook = select_hook,
                     .hook_owner = query,
                     .exact_literals = true},
        .correlated = json_array(),
    };
    query->frame = builder_alloc(run->plan, sizeof *query->frame);
}

void select_query_fini(struct select_query *query)
{
    json_decref(query->correlated);
}
