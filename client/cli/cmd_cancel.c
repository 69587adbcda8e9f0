#include "commands.h"
#include "remote_source.h"

enum cli_exit cmd_cancel(const struct cli_options *options)
{
    struct cli_error err = {0};
    struct morsel_error error;
    enum morsel_job_state state = MORSEL_JOB_UNKNOWN;
    enum cli_exit code = cmd_check(options, 1, 1, true);

    if (code != EXIT_OK) {
        return code;
    }
    struct morsel_connection *connection = remote_connect(options, &err);
    if (connection == NULL) {
        return run_fail(options, &err, NULL, false);
    }
    if (morsel_cancel_job(connection, options->args[0], "morsel cancel", remote_timeout_ms(options),
                          &state, &error) != 0) {
        cli_error_of_morsel(&err, &error);
        code = run_fail(options, &err, NULL, false);
    } else if (!options->quiet) {
        printf("%s %s\n", options->args[0], morsel_job_state_name(state));
    }
    remote_close(connection);
    return code;
}
