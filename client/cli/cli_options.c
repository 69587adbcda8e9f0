#include "cli_options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FOR_ALL = 1,
    FOR_JOIN = 2,
    FOR_GROUP = 4,
    FOR_PLAN = 8,
    FOR_EXPLAIN = 16,
    FOR_INPUT = 32,
    FOR_TABLE = 64,
    FOR_OUTPUT = 128,
    FOR_RUN = 256,
    FOR_CALL = 512,
    FOR_SQL = 1024,
    FOR_TRACE = 2048,
    FOR_TOP = 4096,
    FOR_HERE = 8192, /* may run without a server */
    FOR_VERSION = 16384,
};

enum option_id {
    OPTION_BASE = 1000, /* above every character */
#define OPTION(ID, long, short, metavar, commands, help) OPTION_##ID,
#include "cli_options.def"
};

static const struct option_row {
    enum option_id id;
    const char *name;
    char letter;
    const char *metavar;
    unsigned groups;
    const char *help;
} option_rows[] = {
#define OPTION(ID, long, short, metavar, commands, help) \
    {OPTION_##ID, long, short, metavar, commands, help},
#include "cli_options.def"
};
enum { OPTION_COUNT = sizeof option_rows / sizeof option_rows[0] };

static const struct command_row {
    const char *name, *arguments;
    unsigned groups;
    const char *summary;
} command_rows[CLI_COMMAND_COUNT] = {
    [CLI_NO_COMMAND] = {"", "", FOR_ALL, ""},
#define COMMAND(NAME, text, arguments, groups, summary) \
    [CLI_##NAME] = {text, arguments, groups, summary},
#include "cli_commands.def"
};

enum cli_command cli_command_of(const char *text)
{
    for (int command = 1; command < CLI_COMMAND_COUNT; command++) {
        if (strcmp(command_rows[command].name, text) == 0) {
            return (enum cli_command)command;
        }
    }
    return CLI_NO_COMMAND;
}

const char *cli_command_text(enum cli_command command)
{
    return command_rows[command].name;
}

/* ---- values
 * -------------------------------------------------------------------------------------- */

static bool number_with_unit(const char *text, const char **unit_out, double *value_out)
{
    char *end = NULL;

    errno = 0;
    *value_out = strtod(text, &end);
    *unit_out = end;
    return end != text && errno == 0 && *value_out >= 0 && isfinite(*value_out);
}

bool cli_size_parse(const char *text, uint64_t *bytes_out)
{
    static const char letters[] = "KMGTP";
    const char *unit = NULL;
    double value = 0;

    if (!number_with_unit(text, &unit, &value)) {
        return false;
    }
    if (*unit != '\0') {
        const char upper = *unit >= 'a' ? (char)(*unit - 'a' + 'A') : *unit;
        const char *letter = strchr(letters, upper);
        if (letter == NULL || *letter == '\0') {
            return upper == 'B' && unit[1] == '\0' && (*bytes_out = (uint64_t)value, true);
        }
        value *= pow(1024, (double)(letter - letters + 1));
        unit++;
        unit += unit[0] == 'i' ? 1 : 0;
        unit += unit[0] == 'B' || unit[0] == 'b' ? 1 : 0;
    }
    *bytes_out = (uint64_t)value;
    return *unit == '\0' && value < 9e18;
}

bool cli_duration_parse(const char *text, uint64_t *ns_out)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"", 1e9},  {"ns", 1},   {"us", 1e3},  {"ms", 1e6},
                 {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    const char *unit = NULL;
    double value = 0;

    if (!number_with_unit(text, &unit, &value)) {
        return false;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(units[i].unit, unit) == 0 && value * units[i].ns < 9e18) {
            *ns_out = (uint64_t)(value * units[i].ns);
            return true;
        }
    }
    return false;
}

bool cli_count_parse(const char *text, uint64_t max, uint64_t *count_out)
{
    char *end = NULL;

    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    *count_out = value;
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && value <= max;
}

static bool format_parse(const char *text, enum cli_format *format_out)
{
    static const char *const names[] = {"auto", "table", "csv", "tsv", "jsonl", "arrow"};

    for (int i = 1; i < (int)(sizeof names / sizeof names[0]); i++) {
        if (strcmp(names[i], text) == 0) {
            *format_out = (enum cli_format)i;
            return true;
        }
    }
    return false;
}

static bool when_parse(const char *text, enum cli_when *when_out)
{
    static const char *const names[] = {"auto", "never", "always"};

    for (int i = 0; i < 3; i++) {
        if (strcmp(names[i], text) == 0) {
            *when_out = (enum cli_when)i;
            return true;
        }
    }
    return false;
}

static bool list_add(struct cli_list *list, const char *text)
{
    if (list->count == CLI_LIST_MAX) {
        return false;
    }
    list->texts[list->count++] = text;
    return true;
}

/* ---- parsing
 * ------------------------------------------------------------------------------------- */

/* False: the value is not one of this option's. */
static bool option_take(struct cli_options *options, enum option_id id, const char *value)
{
    uint64_t count = 0;

    switch (id) {
        case OPTION_SERVER:
            options->server = value[0] == '\0' ? NULL : value;
            options->local = value[0] == '\0';
            return true;
        case OPTION_LOCAL: options->local = true; return true;
        case OPTION_ON: options->on = value; return true;
        case OPTION_HOW: options->how = value; return true;
        case OPTION_SELECT: options->select = value; return true;
        case OPTION_BY: options->by = value; return true;
        case OPTION_AGG: options->agg = value; return true;
        case OPTION_WHERE: options->where = value; return true;
        case OPTION_HAVING: options->having = value; return true;
        case OPTION_ORDER: options->order = value; return true;
        case OPTION_TOP:
        case OPTION_LIMIT:
            if (!cli_count_parse(value, INT64_MAX, &count)) {
                return false;
            }
            options->limit = (int64_t)count;
            return true;
        case OPTION_ANALYZE: options->analyze = true; return true;
        case OPTION_JSON: options->json = true; return true;
        case OPTION_TABLE: return strchr(value, '=') > value && list_add(&options->tables, value);
        case OPTION_FILE: options->sql_file = value; return value[0] != '\0';
        case OPTION_PLAN: options->explain = true; return true;
        case OPTION_EMIT_PLAN: options->emit_plan = true; return true;
        case OPTION_CSV: return list_add(&options->csv, value);
        case OPTION_TYPES: return list_add(&options->types, value);
        case OPTION_NULL_TEXT: return list_add(&options->null_texts, value);
        case OPTION_REPLACE: options->replace = true; return true;
        case OPTION_OUTPUT: return format_parse(value, &options->format);
        case OPTION_OUT: options->out = value; return value[0] != '\0';
        case OPTION_NULL_OUT: options->null_out = value; return true;
        case OPTION_MEMORY: return cli_size_parse(value, &options->memory_bytes);
        case OPTION_THREADS:
            if (!cli_count_parse(value, 4096, &count) || count == 0) {
                return false;
            }
            options->threads = (uint32_t)count;
            return true;
        case OPTION_TIMEOUT:
            return cli_duration_parse(value, &options->timeout_ns) && options->timeout_ns > 0;
        case OPTION_SET: return strchr(value, '=') != NULL && list_add(&options->settings, value);
        case OPTION_STATS: options->stats = true; return true;
        case OPTION_TRACE: options->trace = value; return value[0] != '\0';
        case OPTION_ONCE: options->once = true; return true;
        case OPTION_INTERVAL:
            return cli_duration_parse(value, &options->interval_ns) && options->interval_ns > 0;
        case OPTION_PROGRESS: return when_parse(value, &options->progress);
        case OPTION_ERRORS:
            options->errors_json = strcmp(value, "json") == 0;
            return options->errors_json || strcmp(value, "text") == 0;
        case OPTION_QUIET: options->quiet = true; return true;
        case OPTION_VERBOSE: options->verbose = true; return true;
        case OPTION_VERSION: options->command = CLI_VERSION; return true;
        case OPTION_HELP: options->help = true; return true;
        case OPTION_BASE: break;
    }
    return false;
}

/* What option_take wants; the other options take any text. */
static const char *expected(enum option_id id)
{
    switch (id) {
        case OPTION_LIMIT:
        case OPTION_TOP: return "a whole number, 0 or more";
        case OPTION_THREADS: return "a whole number from 1 to 4096";
        case OPTION_MEMORY: return "a size: 512M, 8G, or bytes";
        case OPTION_INTERVAL:
        case OPTION_TIMEOUT: return "a time above 0: 500ms, 30s, 5m, 2h, or seconds";
        case OPTION_OUTPUT: return "table, csv, tsv, jsonl or arrow";
        case OPTION_PROGRESS: return "auto, never or always";
        case OPTION_ERRORS: return "text or json";
        case OPTION_TABLE: return "NAME=PATH, at most 64 times";
        case OPTION_SET: return "KEY=VALUE, at most 64 times";
        case OPTION_CSV:
        case OPTION_TYPES:
        case OPTION_NULL_TEXT: return "no more than 64 of them";
        default: return "a text that is not empty";
    }
}

/* Options that exclude each other. */
static enum exec_code check_pairs(const struct cli_options *options, const bool *used,
                                  struct exec_error *err)
{
    bool limit = false, top = false;

    for (int i = 0; i < OPTION_COUNT; i++) {
        limit = limit || (used[i] && option_rows[i].id == OPTION_LIMIT);
        top = top || (used[i] && option_rows[i].id == OPTION_TOP);
    }
    if (limit && top) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "--limit and --top say the same: give one of them");
    }
    if (options->local && options->server != NULL) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "--server and --local exclude each other");
    }
    return EXEC_OK;
}

static const struct option_row *option_of(int code)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        if ((int)option_rows[i].id == code ||
            (option_rows[i].letter != 0 && option_rows[i].letter == code)) {
            return &option_rows[i];
        }
    }
    return NULL;
}

static void getopt_tables(struct option longs[OPTION_COUNT + 1], char shorts[3 * OPTION_COUNT + 2])
{
    char *at = shorts;

    *at++ = ':'; /* a missing argument is reported as ':' */
    for (int i = 0; i < OPTION_COUNT; i++) {
        longs[i] = (struct option){
            .name = option_rows[i].name,
            .has_arg = option_rows[i].metavar != NULL ? required_argument : no_argument,
            .val = (int)option_rows[i].id,
        };
        if (option_rows[i].letter != 0) {
            *at++ = option_rows[i].letter;
            if (option_rows[i].metavar != NULL) {
                *at++ = ':';
            }
        }
    }
    longs[OPTION_COUNT] = (struct option){0};
    *at = '\0';
}

enum exec_code cli_options_parse(struct cli_options *options, int argc, char **argv,
                                 struct exec_error *err)
{
    struct option longs[OPTION_COUNT + 1];
    char shorts[3 * OPTION_COUNT + 2];
    bool used[OPTION_COUNT] = {false};
    int code;

    *options = (struct cli_options){.limit = -1};
    getopt_tables(longs, shorts);
    optind = 0; /* GNU: start over, so that tests may parse many command lines */
    opterr = 0;
    while ((code = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        if (code == '?' || code == ':') {
            const struct option_row *row = option_of(optopt);
            return EXEC_FAIL(err, EXEC_BAD_SPEC,
                             row != NULL && row->metavar != NULL ? "option '%s' needs an argument"
                             : row != NULL                       ? "option '%s' takes no argument"
                                                                 : "unknown option '%s'",
                             argv[optind - 1]);
        }
        const struct option_row *row = option_of(code);
        if (!option_take(options, row->id, optarg)) {
            return EXEC_FAIL(err, EXEC_BAD_SPEC, "--%s %.100s: expected %s", row->name, optarg,
                             expected(row->id));
        }
        used[row - option_rows] = true;
    }
    for (; optind < argc; optind++) {
        if (options->command == CLI_NO_COMMAND) {
            options->command = cli_command_of(argv[optind]);
            if (options->command == CLI_NO_COMMAND) {
                return EXEC_FAIL(err, EXEC_BAD_SPEC, "unknown command '%s'; see morsel help",
                                 argv[optind]);
            }
        } else if (options->arg_count < CLI_ARGS_MAX) {
            options->args[options->arg_count++] = argv[optind];
        } else {
            return EXEC_FAIL(err, EXEC_LIMIT, "more than %d arguments", CLI_ARGS_MAX);
        }
    }
    if (check_pairs(options, used, err) != EXEC_OK) {
        return err->code;
    }
    if (options->server == NULL && !options->local && getenv("MORSEL_SERVER") != NULL &&
        getenv("MORSEL_SERVER")[0] != '\0') {
        options->server = getenv("MORSEL_SERVER");
    }
    if (options->help || options->command == CLI_NO_COMMAND) {
        return EXEC_OK;
    }
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (used[i] && (option_rows[i].groups & command_rows[options->command].groups) == 0) {
            return EXEC_FAIL(err, EXEC_BAD_SPEC, "--%s is not an option of morsel %s",
                             option_rows[i].name, command_rows[options->command].name);
        }
    }
    return EXEC_OK;
}

/* ---- help
 * ---------------------------------------------------------------------------------------- */

static const char exit_help[] =
    "Exit codes:\n"
    "  0 ok   1 the job failed   2 wrong usage or plan   3 cannot connect\n"
    "  4 rejected or out of resources   5 deadline   6 bad input data   7 cancelled (130: Ctrl-C)\n"
    "  8 internal error   9 partial output was written before a failure   141 the reader went "
    "away\n";

static const char input_help[] = "Inputs: CSV and TSV files (.csv .tsv, plain, .gz or .zst; for "
                                 "other names --csv format:csv);\n"
                                 "with --server, NAME is a table of the server and server:PATH a "
                                 "file below its data root.\n";
static const char upload_help[] = "FILE: CSV or TSV (.csv .tsv, plain, .gz or .zst; for other "
                                  "names --csv format:csv), or an Arrow\n"
                                  "IPC stream (.arrows), which goes to the server as it is.\n";

static void options_print(FILE *to, unsigned groups)
{
    fputs("Options:\n", to);
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_rows[i];
        char left[48];
        if ((row->groups & groups) == 0) {
            continue;
        }
        int size = row->letter != 0 ? snprintf(left, sizeof left, "-%c, ", row->letter)
                                    : snprintf(left, sizeof left, "    ");
        snprintf(left + size, sizeof left - (size_t)size, "--%s%s%s", row->name,
                 row->metavar != NULL ? " " : "", row->metavar != NULL ? row->metavar : "");
        fprintf(to, "  %-25s %s\n", left, row->help);
    }
}

void cli_help_print(FILE *to, enum cli_command command)
{
    if (command == CLI_NO_COMMAND) {
        fputs("morsel: parallel joins and aggregates, in this process or on a morseld server\n\n"
              "Usage: morsel COMMAND [ARGUMENTS] [OPTIONS]\n\nCommands:\n",
              to);
        for (int i = 1; i < CLI_COMMAND_COUNT; i++) {
            fprintf(to, "  %-8s %-28s %s\n", command_rows[i].name, command_rows[i].arguments,
                    command_rows[i].summary);
        }
        fputs("\nmorsel help COMMAND shows a command's options.\n\n", to);
        fputs(exit_help, to);
        return;
    }
    const struct command_row *row = &command_rows[command];
    fprintf(to, "morsel %s: %s\n\nUsage: morsel %s%s%s [OPTIONS]\n\n", row->name, row->summary,
            row->name, row->arguments[0] == '\0' ? "" : " ", row->arguments);
    if ((row->groups & FOR_INPUT) != 0) {
        fprintf(to, "%s\n", command == CLI_UPLOAD ? upload_help : input_help);
    }
    options_print(to, row->groups);
    fprintf(to, "\n%s", exit_help);
}
