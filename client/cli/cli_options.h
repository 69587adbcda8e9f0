#ifndef CLIENT_CLI_CLI_OPTIONS_H
#define CLIENT_CLI_CLI_OPTIONS_H

#include "exec/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The command line as data. Everything borrows from argv. */

enum cli_command {
    CLI_NO_COMMAND,
#define COMMAND(NAME, text, arguments, groups, summary) CLI_##NAME,
#include "cli_commands.def"
    CLI_COMMAND_COUNT
};

enum cli_format {
    FORMAT_AUTO,
    FORMAT_TABLE,
    FORMAT_CSV,
    FORMAT_TSV,
    FORMAT_JSONL,
    FORMAT_ARROW,
};

enum cli_when { WHEN_AUTO, WHEN_NEVER, WHEN_ALWAYS };

enum { CLI_LIST_MAX = 64, CLI_ARGS_MAX = 256 };

struct cli_list {
    const char *texts[CLI_LIST_MAX];
    uint32_t count;
};

struct cli_options {
    enum cli_command command;
    const char *args[CLI_ARGS_MAX];
    uint32_t arg_count;
    bool local; /* server is NULL whatever the environment says */
    bool help, quiet, verbose, errors_json;
    const char *server; /* NULL: embedded */

    const char *on, *how, *select, *by, *agg, *where, *having, *order;
    int64_t limit; /* -1: none */
    bool analyze, json, replace;
    struct cli_list csv, types, null_texts;

    struct cli_list tables; /* sql: NAME=PATH */
    const char *sql_file;
    bool explain, emit_plan;

    enum cli_format format;
    const char *out, *null_out;
    bool stats;
    const char *trace; /* NULL: none */
    bool once;
    uint64_t interval_ns; /* 0: the default */
    enum cli_when progress;

    uint64_t memory_bytes, timeout_ns;
    uint32_t threads;
    struct cli_list settings;
};

/* argv[0] is the program. Returns EXEC_OK, or EXEC_BAD_SPEC and what is wrong with which argument.
 */
enum exec_code cli_options_parse(struct cli_options *options, int argc, char **argv,
                                 struct exec_error *err);

enum cli_command cli_command_of(const char *text);
const char *cli_command_text(enum cli_command command);

/* Help of one command, or (CLI_NO_COMMAND) of the program. */
void cli_help_print(FILE *to, enum cli_command command);

/* "512M", "8G", "1.5g", "4096": bytes. "500ms", "30s", "5m", "2h", "30": ns (bare: seconds). */
bool cli_size_parse(const char *text, uint64_t *bytes_out);
bool cli_duration_parse(const char *text, uint64_t *ns_out);
bool cli_count_parse(const char *text, uint64_t max, uint64_t *count_out);

#endif
