#include "commands.h"
#include "remote_source.h"

enum cli_exit cmd_version(const struct cli_options *options)
{
    struct cli_error err = {0};
    struct morsel_error error;
    enum cli_exit code = cmd_check(options, 0, 0, false);

    if (code != EXIT_OK) {
        return code;
    }
    printf("morsel %s\n", morsel_version());
    if (options->server == NULL) {
        return EXIT_OK;
    }
    fflush(stdout);
    struct morsel_connection *connection = remote_connect(options, &err);
    if (connection == NULL) {
        return run_fail(options, &err, NULL, false);
    }
    if (morsel_ping(connection, remote_timeout_ms(options), NULL, &error) != 0 &&
        morsel_server_name(connection)[0] == '\0') {
        cli_error_of_morsel(&err, &error);
        code = run_fail(options, &err, NULL, false);
    } else {
        const char *name = morsel_server_name(connection);
        printf("server %s\n", name[0] != '\0' ? name : "does not tell its version");
    }
    remote_close(connection);
    return code;
}
