#include "cli_hint.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void EXEC_PRINTF(2, 3) append(struct exec_error *error, const char *fmt, ...)
{
    const size_t size = strlen(error->detail);
    va_list args;

    va_start(args, fmt);
    vsnprintf(error->detail + size, sizeof error->detail - size, fmt, args);
    va_end(args);
}

/* With a server, a bare argument is a table; one that looks like a file may be meant as one. */
static void hint_table(const struct cli_options *options, struct exec_error *error)
{
    for (uint32_t i = 0; i < options->arg_count; i++) {
        const char *arg = options->args[i];
        char quoted[256];
        if (strpbrk(arg, "./") == NULL || strncmp(arg, "server:", 7) == 0) {
            continue;
        }
        snprintf(quoted, sizeof quoted, "'%.200s'", arg);
        if (strstr(error->detail, quoted) != NULL) {
            append(error,
                   "; a file of this machine takes --local (or morsel upload), one below the "
                   "server's data root is server:%.200s",
                   arg);
            return;
        }
    }
}

static void hint_types(struct exec_error *error)
{
    const bool text = strstr(error->detail, "utf8") != NULL;

    if (text && strstr(error->detail, "date32") != NULL) {
        append(error, "; a date is written date '2024-01-31'");
    } else if (text && strstr(error->detail, "timestamp") != NULL) {
        append(error, "; a time is written timestamp '2024-01-31 12:00:00'");
    }
}

/* A field like NA where an inferred number was expected: what most such files mean by it. */
static void hint_null(struct exec_error *error)
{
    static const char *const usual[] = {"NA",   "N/A", "na",   "n/a", "NULL",
                                        "null", "\\N", "None", "-",   "?"};
    static const char inferred[] = "; give its type)";
    const size_t size = strlen(error->detail);

    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        char quoted[16];
        snprintf(quoted, sizeof quoted, "\"%s\" is not ", usual[i]);
        if (strstr(error->detail, quoted) != NULL && size >= sizeof inferred &&
            strcmp(error->detail + size - (sizeof inferred - 1), inferred) == 0) {
            append(error, "; if it means NULL: --null '%s'", usual[i]);
            return;
        }
    }
}

void cli_hint(const struct cli_options *options, struct cli_error *err)
{
    const bool makes_table = options->command == CLI_LOAD || options->command == CLI_UPLOAD;

    if (err->exec.code == EXEC_TABLE_NOT_FOUND && options->server != NULL) {
        hint_table(options, &err->exec);
    } else if (err->exec.code == EXEC_EXISTS && makes_table) {
        snprintf(err->exec.detail, sizeof err->exec.detail,
                 "table '%.200s' exists already; --replace replaces it", options->args[0]);
    } else if (err->exec.code == EXEC_TYPE_MISMATCH) {
        hint_types(&err->exec);
    } else if (err->exec.code == EXEC_BAD_DATA) {
        hint_null(&err->exec);
    }
}
