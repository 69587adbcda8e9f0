#include "commands.h"
#include "remote_source.h"

enum cli_exit cmd_ping(const struct cli_options *options)
{
    struct cli_error err = {0};
    struct morsel_error error;
    uint64_t latency_ns = 0;
    enum cli_exit code = cmd_check(options, 0, 0, true);

    if (code != EXIT_OK) {
        return code;
    }
    struct morsel_connection *connection = remote_connect(options, &err);
    if (connection == NULL) {
        return run_fail(options, &err, NULL, false);
    }
    if (morsel_ping(connection, remote_timeout_ms(options), &latency_ns, &error) != 0) {
        cli_error_of_morsel(&err, &error);
        code = run_fail(options, &err, NULL, false);
    } else if (!options->quiet) {
        printf("%s serves, %.3f ms\n", options->server, (double)latency_ns / 1e6);
    }
    remote_close(connection);
    return code;
}
