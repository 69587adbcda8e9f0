#include "cli_functions.h"
#include "commands.h"
#include "interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>

enum cli_exit cmd_check(const struct cli_options *options, uint32_t args_min, uint32_t args_max,
                        bool server_needed)
{
    struct cli_error err = {0};
    const char *name = cli_command_text(options->command);

    if (options->arg_count < args_min || options->arg_count > args_max) {
        EXEC_FAIL(&err.exec, EXEC_BAD_SPEC, "%s arguments; see morsel help %s",
                  options->arg_count < args_min ? "too few" : "too many", name);
        return run_fail(options, &err, NULL, false);
    }
    if (server_needed && options->server == NULL) {
        EXEC_FAIL(&err.exec, EXEC_BAD_SPEC,
                  "morsel %s asks a server: give --server HOST[:PORT] or set MORSEL_SERVER", name);
        return run_fail(options, &err, NULL, false);
    }
    return EXIT_OK;
}

static enum cli_exit cmd_help(const struct cli_options *options)
{
    struct cli_error err = {0};

    if (options->arg_count == 0) {
        cli_help_print(stdout, CLI_NO_COMMAND);
        return EXIT_OK;
    }
    if (strcmp(options->args[0], "functions") == 0) {
        cli_functions_print(stdout);
        return EXIT_OK;
    }
    const enum cli_command command = cli_command_of(options->args[0]);
    if (command == CLI_NO_COMMAND) {
        EXEC_FAIL(&err.exec, EXEC_BAD_SPEC, "unknown command '%.100s'; see morsel help",
                  options->args[0]);
        return run_fail(options, &err, NULL, false);
    }
    cli_help_print(stdout, command);
    return EXIT_OK;
}

static enum cli_exit dispatch(const struct cli_options *options)
{
    if (options->help) {
        cli_help_print(stdout, options->command);
        return EXIT_OK;
    }
    switch (options->command) {
        case CLI_JOIN: return cmd_join(options);
        case CLI_GROUP: return cmd_group(options);
        case CLI_RUN: return cmd_run(options);
        case CLI_SQL: return cmd_sql(options);
        case CLI_EXPLAIN: return cmd_explain(options);
        case CLI_JOBS: return cmd_jobs(options);
        case CLI_TOP: return cmd_top(options);
        case CLI_CANCEL: return cmd_cancel(options);
        case CLI_UPLOAD: return cmd_upload(options);
        case CLI_LOAD: return cmd_load(options);
        case CLI_TABLES: return cmd_tables(options);
        case CLI_DROP: return cmd_drop(options);
        case CLI_PING: return cmd_ping(options);
        case CLI_VERSION: return cmd_version(options);
        case CLI_HELP: return cmd_help(options);
        case CLI_NO_COMMAND:
        case CLI_COMMAND_COUNT: break;
    }
    cli_help_print(stderr, CLI_NO_COMMAND);
    return EXIT_USAGE;
}

/* A stream that the caller closed gets /dev/null opened the wrong way, so that its use fails. Left
 * free, its number would go to the next file opened, and errors or rows be written into that. */
static void open_missing_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) {
            _exit(EXIT_INTERNAL);
        }
    }
}

/* What was printed with stdio: help and version. */
static enum cli_exit flush_stdout(const struct cli_options *options)
{
    struct cli_error err = {0};
    const bool failed_before = ferror(stdout) != 0;

    if (fflush(stdout) == 0 && !failed_before) {
        return EXIT_OK;
    }
    if (errno == EPIPE) {
        return EXIT_PIPE;
    }
    EXEC_FAIL_ERRNO(&err.exec, EXEC_IO, errno, "cannot write stdout: %s", strerror(errno));
    run_fail(options, &err, NULL, false);
    return EXIT_JOB_FAILED;
}

enum cli_exit cli_main(int argc, char **argv)
{
    struct cli_options options;
    struct cli_error err = {0};

    /* For the width of characters only: numbers stay as they are everywhere. */
    if (setlocale(LC_CTYPE, "C.UTF-8") == NULL) {
        setlocale(LC_CTYPE, "");
    }
    open_missing_streams();
    interrupt_install();
    if (cli_options_parse(&options, argc, argv, &err.exec) != EXEC_OK) {
        return run_fail(&options, &err, NULL, false);
    }
    const enum cli_exit code = dispatch(&options);
    return code == EXIT_OK ? flush_stdout(&options) : code;
}
