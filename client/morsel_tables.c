/* Server tables: load, list, drop. Uploads are in morsel_upload.c. */
#include "morsel_tables.h"
#include "proto/job_json.h"
#include "proto/wire_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGES_MAX = 1000 };

/* "id int64, name utf8" into out; returns the length, also when out is NULL. */
static size_t columns_text(const Morsel__V1__Schema *schema, char *out, size_t room)
{
    const size_t count = schema == NULL ? 0 : schema->n_fields;
    struct exec_field *fields = calloc(count + 1, sizeof *fields);
    struct exec_schema parsed = {0};
    struct exec_error ignored = {0};
    size_t size = 0;

    if (count > 0 && fields != NULL &&
        wire_schema_from_message(schema, fields, &parsed, &ignored) == EXEC_OK) {
        for (uint32_t i = 0; i < parsed.field_count; i++) {
            char type[EXEC_TYPE_TEXT_BYTES];
            size += (size_t)snprintf(out == NULL ? NULL : out + size, out == NULL ? 0 : room - size,
                                     "%s%s %s", i > 0 ? ", " : "", fields[i].name,
                                     exec_type_text(&fields[i].type, type));
        }
    }
    if (size == 0 && out != NULL) {
        out[0] = '\0';
    }
    free(fields);
    return size;
}

struct morsel_table_info *tables_block(Morsel__V1__TableInfo *const *tables, size_t count)
{
    size_t text_bytes = 0;

    for (size_t i = 0; i < count; i++) {
        text_bytes += strlen(tables[i]->name) + columns_text(tables[i]->schema, NULL, 0) + 2;
    }
    struct morsel_table_info *infos = malloc((count + 1) * sizeof *infos + text_bytes);
    if (infos == NULL) {
        return NULL;
    }
    char *at = (char *)(infos + count + 1);
    char *const end = at + text_bytes;
    for (size_t i = 0; i < count; i++) {
        const Morsel__V1__TableInfo *table = tables[i];
        infos[i] = (struct morsel_table_info){
            .name = at,
            .row_count = table->row_count,
            .memory_bytes = table->memory_bytes,
            .version = table->version,
            .column_count = table->schema == NULL ? 0 : (uint32_t)table->schema->n_fields,
        };
        at += snprintf(at, (size_t)(end - at), "%s", table->name) + 1;
        infos[i].columns = at;
        at += columns_text(table->schema, at, (size_t)(end - at)) + 1;
    }
    return infos;
}

static int out_of_memory(struct morsel_error *err)
{
    return morsel_error_set(err, MORSEL_FAULT_ARGUMENT, EXEC_MEMORY_BUDGET, "out of memory");
}

int tables_load(struct morsel_connection *connection, const Morsel__V1__LoadTableRequest *request,
                uint64_t timeout_ms, struct morsel_table_info **info_out, struct morsel_error *err)
{
    ProtobufCMessage *answer =
        connection_unary(connection, "/morsel.v1.TableService/LoadTable", &request->base,
                         &morsel__v1__load_table_response__descriptor, timeout_ms, err);
    int failed = 0;

    if (answer == NULL) {
        return -1;
    }
    Morsel__V1__TableInfo *table = ((Morsel__V1__LoadTableResponse *)answer)->table;
    if (info_out != NULL) {
        Morsel__V1__TableInfo none;
        morsel__v1__table_info__init(&none);
        table = table == NULL ? &none : table;
        *info_out = tables_block(&table, 1);
        failed = *info_out == NULL ? out_of_memory(err) : 0;
    }
    protobuf_c_message_free_unpacked(answer, NULL);
    return failed;
}

int morsel_load_json(struct morsel_connection *connection, const char *text, size_t size,
                     uint64_t timeout_ms, struct morsel_table_info **info_out,
                     struct morsel_error *err)
{
    struct exec_error error = {0};
    ProtobufCMessage *request =
        json_to_message(&morsel__v1__load_table_request__descriptor, text, size, "load", &error);

    if (request == NULL) {
        return morsel_error_of_exec(err, MORSEL_FAULT_ARGUMENT, &error);
    }
    const int failed =
        tables_load(connection, (Morsel__V1__LoadTableRequest *)request, timeout_ms, info_out, err);
    protobuf_c_message_free_unpacked(request, NULL);
    return failed;
}

int morsel_list_tables(struct morsel_connection *connection, uint64_t timeout_ms,
                       struct morsel_table_info **tables_out, size_t *count_out,
                       struct morsel_error *err)
{
    Morsel__V1__ListTablesRequest request;
    morsel__v1__list_tables_request__init(&request);
    Morsel__V1__ListTablesResponse **pages = calloc(PAGES_MAX, sizeof *pages);
    Morsel__V1__TableInfo **all = NULL;
    size_t page_count = 0, count = 0;
    int failed = pages == NULL ? out_of_memory(err) : 0;

    while (failed == 0 && page_count < PAGES_MAX) {
        pages[page_count] = (Morsel__V1__ListTablesResponse *)connection_unary(
            connection, "/morsel.v1.TableService/ListTables", &request.base,
            &morsel__v1__list_tables_response__descriptor, timeout_ms, err);
        if (pages[page_count] == NULL) {
            failed = -1;
            break;
        }
        count += pages[page_count]->n_tables;
        request.page_token = pages[page_count++]->next_page_token;
        if (request.page_token[0] == '\0') {
            break;
        }
    }
    if (failed == 0) {
        size_t at = 0;
        all = calloc(count + 1, sizeof *all);
        for (size_t p = 0; all != NULL && p < page_count; p++) {
            memcpy(all + at, pages[p]->tables, pages[p]->n_tables * sizeof *all);
            at += pages[p]->n_tables;
        }
        *tables_out = all == NULL ? NULL : tables_block(all, count);
        *count_out = count;
        failed = *tables_out == NULL ? out_of_memory(err) : 0;
    }
    free(all);
    for (size_t p = 0; p < page_count; p++) {
        morsel__v1__list_tables_response__free_unpacked(pages[p], NULL);
    }
    free(pages);
    return failed;
}

int morsel_drop_table(struct morsel_connection *connection, const char *table, uint64_t timeout_ms,
                      struct morsel_error *err)
{
    Morsel__V1__DropTableRequest request;
    morsel__v1__drop_table_request__init(&request);

    request.table = (char *)(uintptr_t)table; /* packed only */
    ProtobufCMessage *answer =
        connection_unary(connection, "/morsel.v1.TableService/DropTable", &request.base,
                         &morsel__v1__drop_table_response__descriptor, timeout_ms, err);
    if (answer == NULL) {
        return -1;
    }
    protobuf_c_message_free_unpacked(answer, NULL);
    return 0;
}
