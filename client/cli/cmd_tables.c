#include "commands.h"
#include "remote_source.h"

#include <inttypes.h>
#include <stdlib.h>

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
    }
    for (size_t i = 0; i < count; i++) {
        printf("%s\tversion %" PRIu64 "\t%" PRIu64 " rows\t%" PRIu64 " bytes\t%s\n", tables[i].name,
               tables[i].version, tables[i].row_count, tables[i].memory_bytes, tables[i].columns);
    }
    free(tables);
    remote_close(connection);
    return code;
}
