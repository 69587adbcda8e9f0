#include "cli_listing.h"
#include "commands.h"
#include "remote_source.h"

#include <stdlib.h>

static const struct exec_field table_fields[] = {
    {.name = "table", .type = {.kind = EXEC_TYPE_UTF8}},
    {.name = "version", .type = {.kind = EXEC_TYPE_INT64}},
    {.name = "rows", .type = {.kind = EXEC_TYPE_INT64}},
    {.name = "memory_bytes", .type = {.kind = EXEC_TYPE_INT64}},
    {.name = "columns", .type = {.kind = EXEC_TYPE_UTF8}},
};

static enum cli_exit print_tables(const struct cli_options *options,
                                  const struct morsel_table_info *tables, size_t count)
{
    struct listing listing;

    listing_init(&listing, table_fields, sizeof table_fields / sizeof table_fields[0]);
    for (size_t i = 0; i < count && (options->limit < 0 || i < (size_t)options->limit); i++) {
        struct listing_cell *row = listing_row(&listing);
        row[0].text = tables[i].name;
        row[1].number = (int64_t)tables[i].version;
        row[2].number = (int64_t)tables[i].row_count;
        row[3].number = (int64_t)tables[i].memory_bytes;
        row[4].text = tables[i].columns;
    }
    return listing_print(&listing, options);
}

enum cli_exit cmd_tables(const struct cli_options *options)
{
    struct cli_error err = {0};
    struct morsel_error error;
    struct morsel_table_info *tables = NULL;
    size_t count = 0;
    enum cli_exit code = cmd_check(options, 0, 0, true);

    if (code != EXIT_OK) {
        return code;
    }
    struct morsel_connection *connection = remote_connect(options, &err);
    if (connection == NULL) {
        return run_fail(options, &err, NULL, false);
    }
    if (morsel_list_tables(connection, remote_timeout_ms(options), &tables, &count, &error) != 0) {
        cli_error_of_morsel(&err, &error);
        code = run_fail(options, &err, NULL, false);
    } else {
        code = print_tables(options, tables, count);
    }
    free(tables);
    remote_close(connection);
    return code;
}
