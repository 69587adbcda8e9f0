#include "commands.h"
#include "remote_source.h"

enum cli_exit cmd_drop(const struct cli_options *options)
{
    struct cli_error err = {0};
    struct morsel_error error;
    enum cli_exit code = cmd_check(options, 1, 1, true);

    if (code != EXIT_OK) {
        return code;
    }
    struct morsel_connection *connection = remote_connect(options, &err);
    if (connection == NULL) {
        return run_fail(options, &err, NULL, false);
    }
    if (morsel_drop_table(connection, options->args[0], remote_timeout_ms(options), &error) != 0) {
        cli_error_of_morsel(&err, &error);
        code = run_fail(options, &err, NULL, false);
    } else if (!options->quiet) {
        fprintf(stderr, "dropped %s\n", options->args[0]);
    }
    remote_close(connection);
    return code;
}
