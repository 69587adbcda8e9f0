/* Goal:   command lines are taken as documented, and wrong ones are refused with the argument
 * named. Method: tables of command lines; sizes, durations and counts on their own; every command's
 * help names each of its options. */
#include "cli/cli_options.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 24 };

/* Splits at blanks. */
static enum exec_code parse(const char *line, struct cli_options *options, struct exec_error *err)
{
    static char copy[512]; /* the options point into it */
    char *argv[WORDS_MAX + 1] = {NULL}, *save = NULL;
    int argc = 0;

    snprintf(copy, sizeof copy, "morsel %s", line);
    for (char *word = strtok_r(copy, " ", &save); word != NULL && argc < WORDS_MAX;
         word = strtok_r(NULL, " ", &save)) {
        argv[argc++] = word;
    }
    return cli_options_parse(options, argc, argv, err);
}

Test(cli_options, takes_what_is_documented)
{
    struct cli_options options;
    struct exec_error err = {0};

    unsetenv("MORSEL_SERVER");
    cr_assert_eq(parse("join a.csv --on id b.csv --how left -o jsonl --limit 5 -q --threads 8 "
                       "--set policy=numa",
                       &options, &err),
                 EXEC_OK, "%s", err.detail);
    cr_expect_eq(options.command, CLI_JOIN);
    cr_expect_eq(options.arg_count, 2);
    cr_expect_str_eq(options.args[1], "b.csv");
    cr_expect_str_eq(options.on, "id");
    cr_expect_eq(options.format, FORMAT_JSONL);
    cr_expect_eq(options.limit, 5);
    cr_expect_eq(options.threads, 8);
    cr_expect_eq(options.settings.count, 1);
    cr_expect_null(options.server);
    cr_expect_eq((int)options.quiet, 1);

    cr_assert_eq(parse("run - --memory=1.5G --timeout 250ms", &options, &err), EXEC_OK, "%s",
                 err.detail);
    cr_expect_eq(options.memory_bytes, UINT64_C(3) << 29);
    cr_expect_eq(options.timeout_ns, 250000000);
    cr_expect_eq(options.limit, -1);

    setenv("MORSEL_SERVER", "h:1", 1);
    cr_assert_eq(parse("ping", &options, &err), EXEC_OK);
    cr_expect_str_eq(options.server, "h:1");
    cr_assert_eq(parse("ping --server x:2", &options, &err), EXEC_OK);
    cr_expect_str_eq(options.server, "x:2");
    cr_assert_eq(parse("group f --local", &options, &err), EXEC_OK);
    cr_expect_null(options.server);
    cr_assert_eq(parse("group f --server=", &options, &err), EXEC_OK);
    cr_expect_null(options.server);
    unsetenv("MORSEL_SERVER");
}

Test(cli_options, refuses_the_rest)
{
    static const struct {
        const char *line, *word;
    } cases[] = {
        {"frob", "'frob'"},
        {"group f --nosuch", "'--nosuch'"},
        {"group f --by", "needs an argument"},
        {"group f --analyze", "--analyze is not an option of morsel group"},
        {"ping --by x", "--by is not an option of morsel ping"},
        {"run f --limit -1", "--limit"},
        {"run f --limit 1x", "--limit 1x: expected a whole number, 0 or more"},
        {"run f --threads 100000", "expected a whole number from 1 to 4096"},
        {"group f --limit 1 --top 2", "--limit and --top"},
        {"group f --server h:1 --local", "--server and --local"},
        {"run f --threads 0", "--threads"},
        {"run f --memory 12Q", "--memory 12Q"},
        {"run f --timeout 5y",
         "--timeout 5y: expected a time above 0: 500ms, 30s, 5m, 2h, or seconds"},
        {"run f --timeout 0", "--timeout 0"},
        {"run f -o xml", "--output xml"},
        {"run f --set policy", "--set policy"},
        {"run f --progress maybe", "--progress maybe"},
        {"run f --errors xml", "--errors xml"},
        {"run f --quiet=1", "takes no argument"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cli_options options;
        struct exec_error err = {0};
        cr_expect_eq(parse(cases[i].line, &options, &err), EXEC_BAD_SPEC, "%s", cases[i].line);
        cr_expect_not_null(strstr(err.detail, cases[i].word), "%s: %s", cases[i].line, err.detail);
    }
}

/* The value, or UINT64_MAX when the text is refused. */
static uint64_t size_of(const char *text)
{
    uint64_t value = 0;
    return cli_size_parse(text, &value) ? value : UINT64_MAX;
}

static uint64_t duration_of(const char *text)
{
    uint64_t value = 0;
    return cli_duration_parse(text, &value) ? value : UINT64_MAX;
}

static uint64_t count_of(const char *text, uint64_t max)
{
    uint64_t value = 0;
    return cli_count_parse(text, max, &value) ? value : UINT64_MAX;
}

Test(cli_options, units)
{
    static const char *const wrong[] = {"", "M", "-1", "1MM", "nan", "inf", "1e30"};

    cr_expect_eq(size_of("4096"), 4096);
    cr_expect_eq(size_of("512M"), UINT64_C(512) << 20);
    cr_expect_eq(size_of("8g"), UINT64_C(8) << 30);
    cr_expect_eq(size_of("2GiB"), UINT64_C(2) << 30);
    cr_expect_eq(size_of("100B"), 100);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_expect_eq(size_of(wrong[i]), UINT64_MAX, "%s", wrong[i]);
        cr_expect_eq(duration_of(wrong[i]), UINT64_MAX, "%s", wrong[i]);
    }
    cr_expect_eq(duration_of("30"), UINT64_C(30000000000));
    cr_expect_eq(duration_of("1.5m"), UINT64_C(90000000000));
    cr_expect_eq(duration_of("10us"), 10000);
    cr_expect_eq(duration_of("1 s"), UINT64_MAX);
    cr_expect_eq(count_of("7", 7), 7);
    cr_expect_eq(count_of("8", 7), UINT64_MAX);
    cr_expect_eq(count_of("+1", 7), UINT64_MAX);
    cr_expect_eq(count_of("99999999999999999999", UINT64_MAX - 1), UINT64_MAX);
}

Test(cli_options, every_command_has_help_and_exit_codes)
{
    for (int command = 1; command < CLI_COMMAND_COUNT; command++) {
        char *text = NULL;
        size_t size = 0;
        FILE *memory = open_memstream(&text, &size);
        cli_help_print(memory, (enum cli_command)command);
        fclose(memory);
        cr_expect_not_null(strstr(text, cli_command_text((enum cli_command)command)));
        cr_expect_not_null(strstr(text, "--server"));
        cr_expect_not_null(strstr(text, "9 partial output"));
        free(text);
    }
}
