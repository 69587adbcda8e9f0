#include "cli_error.h"
#include "morsel_error.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_error_of_morsel(struct cli_error *err, const struct morsel_error *error)
{
    *err = (struct cli_error){.fault = error->fault, .retryable = error->retryable};
    morsel_error_to_exec(error, &err->exec);
}

void cli_error_locate(struct cli_error *err, const struct plan_builder *plan)
{
    if (err->exec.expr != 0 && err->exec.expr <= plan->expr_count) {
        err->origin = plan->origins[err->exec.expr - 1];
    }
}

static const enum cli_exit exits[EXEC_CODE_COUNT] = {
    [EXEC_OK] = EXIT_OK,
    [EXEC_BAD_SPEC] = EXIT_USAGE,
    [EXEC_NOT_IMPLEMENTED] = EXIT_USAGE,
    [EXEC_TABLE_NOT_FOUND] = EXIT_USAGE,
    [EXEC_COLUMN_NOT_FOUND] = EXIT_USAGE,
    [EXEC_TYPE_MISMATCH] = EXIT_USAGE,
    [EXEC_SCHEMA_MISMATCH] = EXIT_USAGE,
    [EXEC_EXISTS] = EXIT_USAGE,
    [EXEC_BUSY] = EXIT_RESOURCES,
    [EXEC_MEMORY_BUDGET] = EXIT_RESOURCES,
    [EXEC_LIMIT] = EXIT_RESOURCES,
    [EXEC_OVERFLOW] = EXIT_JOB_FAILED,
    [EXEC_BAD_ARGUMENT] = EXIT_JOB_FAILED,
    [EXEC_BAD_DATA] = EXIT_INPUT,
    [EXEC_FILE_NOT_FOUND] = EXIT_INPUT,
    [EXEC_PATH_DENIED] = EXIT_INPUT,
    [EXEC_IO] = EXIT_INPUT,
    [EXEC_CANCELLED] = EXIT_CANCELLED,
    [EXEC_DEADLINE] = EXIT_DEADLINE,
    [EXEC_DRAINING] = EXIT_RESOURCES,
    [EXEC_INTERNAL] = EXIT_INTERNAL,
};

enum cli_exit cli_error_exit(const struct cli_error *err)
{
    switch (err->fault) {
        case MORSEL_FAULT_CONNECT:
        case MORSEL_FAULT_TRANSPORT: return EXIT_CONNECT;
        case MORSEL_FAULT_DEADLINE: return EXIT_DEADLINE;
        case MORSEL_FAULT_CANCELLED: return EXIT_CANCELLED;
        case MORSEL_FAULT_INCOMPLETE: return EXIT_JOB_FAILED;
        case MORSEL_FAULT_DATA: return EXIT_JOB_FAILED;
        case MORSEL_FAULT_NONE:
        case MORSEL_FAULT_SERVER:
        case MORSEL_FAULT_ARGUMENT: break;
    }
    return (size_t)err->exec.code < EXEC_CODE_COUNT ? exits[err->exec.code] : EXIT_INTERNAL;
}

/* The option's text and a caret below the byte, one column a character. */
enum { CARET_BEFORE_BYTES = 100, CARET_AFTER_BYTES = 100 };

static bool inside_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* The line of the text that holds the place, or what is around the place in a long one. */
static void print_caret(const struct plan_origin *origin)
{
    const char *text = origin->text, *at = text + origin->offset;
    const char *from = at, *to = at;

    while (from > text && from[-1] != '\n' &&
           (at - from < CARET_BEFORE_BYTES || inside_character(*from))) {
        from--;
    }
    while (*to != '\0' && *to != '\n' && (to - at < CARET_AFTER_BYTES || inside_character(*to))) {
        to++;
    }
    const char *before = from > text && from[-1] != '\n' ? "..." : "";
    const char *after = *to != '\0' && *to != '\n' ? "..." : "";
    fprintf(stderr, "  %s %s%.*s%s\n  %*s", origin->option, before, (int)(to - from), from, after,
            (int)(strlen(origin->option) + 1 + strlen(before)), "");
    for (; from < at; from++) {
        if (!inside_character(*from)) {
            fputc(*from == '\t' ? '\t' : ' ', stderr);
        }
    }
    fputs("^\n", stderr);
}

static void print_json(const struct cli_error *err)
{
    json_t *object = json_pack(
        "{s:{s:s, s:s, s:i, s:b}}", "error", "code", exec_code_name(err->exec.code), "message",
        err->exec.detail[0] != '\0' ? err->exec.detail : exec_code_text(err->exec.code), "exit",
        (int)cli_error_exit(err), "retryable", (int)err->retryable);
    json_t *body = json_object_get(object, "error");

    if (object == NULL) {
        /* A message that is not UTF-8 cannot be JSON. */
        fprintf(stderr, "{\"error\":{\"code\":\"%s\",\"exit\":%d}}\n",
                exec_code_name(err->exec.code), (int)cli_error_exit(err));
        return;
    }
    const struct {
        const char *name;
        uint64_t value;
    } places[] = {
        {"rel", err->exec.rel},
        {"expr", err->exec.expr},
        {"line", err->exec.line},
        {"column", err->exec.column},
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (places[i].value != 0) {
            json_object_set_new(body, places[i].name, json_integer((json_int_t)places[i].value));
        }
    }
    if (err->origin.option != NULL) {
        json_object_set_new(body, "option", json_string(err->origin.option));
        json_object_set_new(body, "byte", json_integer(err->origin.offset + 1));
    }
    char *text = json_dumps(object, JSON_COMPACT);
    fprintf(stderr, "%s\n", text == NULL ? "{}" : text);
    free(text);
    json_decref(object);
}

void cli_error_print(const struct cli_error *err, bool json)
{
    if (json) {
        print_json(err);
        return;
    }
    fprintf(stderr, "morsel: %s\n",
            err->exec.detail[0] != '\0' ? err->exec.detail : exec_code_text(err->exec.code));
    if (err->origin.option != NULL) {
        print_caret(&err->origin);
    }
    if (err->retryable) {
        fputs("morsel: this may pass; try again in a moment\n", stderr);
    }
}
