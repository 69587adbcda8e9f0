#include "cli_input.h"
#include "stdin_file.h"

#include <string.h>

enum { SCHEMA_FIELDS_MAX = 4096, NULL_TEXTS_MAX = 64 };

/* "NAME=rest" for this input, or "rest" for every input; NULL: about another one. The name ends at
 * the first '=' that stands before every ':'. */
static const char *about(const char *text, const char *name)
{
    const char *equals = strchr(text, '='), *colon = strchr(text, ':');

    if (equals == NULL || (colon != NULL && colon < equals)) {
        return text;
    }
    const size_t size = (size_t)(equals - text);
    return strlen(name) == size && memcmp(text, name, size) == 0 ? equals + 1 : NULL;
}

static bool delimiter_parse(const char *text, size_t size, char *delimiter_out)
{
    static const struct {
        const char *name;
        char delimiter;
    } names[] = {{"tab", '\t'}, {"\\t", '\t'},  {"comma", ','},
                 {"pipe", '|'}, {"space", ' '}, {"semicolon", ';'}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strlen(names[i].name) == size && memcmp(names[i].name, text, size) == 0) {
            *delimiter_out = names[i].delimiter;
            return true;
        }
    }
    *delimiter_out = text[0];
    return size == 1;
}

/* A list of texts that grows by plan memory. */
static void null_text_add(struct plan_builder *plan, struct exec_csv_options *csv, const char *text,
                          size_t size)
{
    const char **moved = builder_alloc(plan, (csv->null_text_count + 1) * sizeof *moved);

    for (uint32_t i = 0; i < csv->null_text_count; i++) {
        moved[i] = csv->null_texts[i];
    }
    moved[csv->null_text_count++] = builder_text(plan, text, size);
    csv->null_texts = moved;
}

/* One "key:value". */
static enum exec_code csv_option(struct plan_builder *plan, struct exec_rel *scan, const char *text,
                                 size_t size, struct exec_error *err)
{
    struct exec_csv_options *csv = &scan->u.scan.csv;
    const char *colon = memchr(text, ':', size);
    const size_t key = colon == NULL ? size : (size_t)(colon - text);
    const char *value = colon == NULL ? text + size : colon + 1;
    const size_t column_value_bytes = size - (size_t)(value - text);

    if (key == 6 && memcmp(text, "format", 6) == 0 && column_value_bytes == 3) {
        const bool tsv = memcmp(value, "tsv", 3) == 0;
        scan->u.scan.format = tsv ? EXEC_FORMAT_TSV : EXEC_FORMAT_CSV;
        if (tsv || memcmp(value, "csv", 3) == 0) {
            return EXEC_OK;
        }
    }
    if (key == 6 && memcmp(text, "header", 6) == 0) {
        const bool no = column_value_bytes == 5 && memcmp(value, "false", 5) == 0;
        csv->no_header = no;
        if (no || (column_value_bytes == 4 && memcmp(value, "true", 4) == 0)) {
            return EXEC_OK;
        }
    }
    if (key == 9 && memcmp(text, "delimiter", 9) == 0 &&
        delimiter_parse(value, column_value_bytes, &csv->delimiter)) {
        return EXEC_OK;
    }
    if (key == 5 && memcmp(text, "quote", 5) == 0 && column_value_bytes == 1) {
        csv->quote = value[0];
        return EXEC_OK;
    }
    if (key == 9 && memcmp(text, "thousands", 9) == 0 && column_value_bytes == 1) {
        csv->thousands = value[0];
        return EXEC_OK;
    }
    if (key == 4 && memcmp(text, "null", 4) == 0 && colon != NULL) {
        const char *at = value, *end = value + column_value_bytes;
        while (at <= end) {
            const char *comma = memchr(at, ',', (size_t)(end - at));
            const char *stop = comma == NULL ? end : comma;
            null_text_add(plan, csv, at, (size_t)(stop - at));
            at = stop + 1;
        }
        return EXEC_OK;
    }
    return EXEC_FAIL(err, EXEC_BAD_SPEC,
                     "--csv: '%.*s' is none of format:csv|tsv, header:true|false, delimiter:X, "
                     "quote:X, thousands:X, "
                     "null:A,B",
                     (int)(size > 100 ? 100 : size), text);
}

static enum exec_code csv_parse(struct plan_builder *plan, const struct cli_options *options,
                                const char *name, struct exec_rel *scan, struct exec_error *err)
{
    for (uint32_t i = 0; i < options->null_texts.count; i++) {
        null_text_add(plan, &scan->u.scan.csv, options->null_texts.texts[i],
                      strlen(options->null_texts.texts[i]));
    }
    for (uint32_t i = 0; i < options->csv.count; i++) {
        const char *at = about(options->csv.texts[i], name);
        while (at != NULL && *at != '\0') {
            const size_t size = strcspn(at, "|");
            if (csv_option(plan, scan, at, size, err) != EXEC_OK) {
                return err->code;
            }
            at += size + (at[size] == '|' ? 1 : 0);
        }
    }
    return EXEC_OK;
}

/* "day:date32;t:timestamp[us,UTC]": the type is what follows the last colon before ';'. */
static enum exec_code type_parse(struct plan_builder *plan, const char *text, size_t size,
                                 struct exec_field *field, struct exec_error *err)
{
    const char *colon = memrchr(text, ':', size);

    if (colon == NULL || colon == text) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "--types: '%.*s' is not column:type",
                         (int)(size > 100 ? 100 : size), text);
    }
    const char *type = builder_text(plan, colon + 1, size - (size_t)(colon + 1 - text));
    field->name = builder_text(plan, text, (size_t)(colon - text));
    if (!exec_type_parse(type, &field->type)) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "--types: column '%.80s' has unknown type '%.60s'",
                         field->name, type);
    }
    return EXEC_OK;
}

static enum exec_code types_parse(struct plan_builder *plan, const struct cli_options *options,
                                  const char *name, struct exec_schema *schema,
                                  struct exec_error *err)
{
    struct exec_field *fields = NULL;
    uint32_t count = 0;

    for (uint32_t i = 0; i < options->types.count; i++) {
        const char *at = about(options->types.texts[i], name);
        while (at != NULL && *at != '\0') {
            const size_t size = strcspn(at, ";");
            fields =
                fields != NULL ? fields : builder_alloc(plan, SCHEMA_FIELDS_MAX * sizeof *fields);
            if (count == SCHEMA_FIELDS_MAX) {
                return EXEC_FAIL(err, EXEC_LIMIT, "--types: more than %d columns",
                                 SCHEMA_FIELDS_MAX);
            }
            if (size > 0 && type_parse(plan, at, size, &fields[count++], err) != EXEC_OK) {
                return err->code;
            }
            at += size + (at[size] == ';' ? 1 : 0);
        }
    }
    *schema = (struct exec_schema){.fields = fields, .field_count = count};
    return EXEC_OK;
}

static const char *stem(struct plan_builder *plan, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    const size_t size = strcspn(base, ".");

    return size == 0 ? base : builder_text(plan, base, size);
}

uint32_t cli_input_files(struct plan_builder *plan, const struct cli_options *options,
                         const char *name, const char *const *paths, uint32_t count,
                         struct exec_error *err)
{
    struct exec_rel rel = {.kind = EXEC_REL_SCAN, .label = name};
    const char **copies = builder_alloc(plan, (count + 1) * sizeof *copies);

    for (uint32_t i = 0; i < count; i++) {
        copies[i] = builder_text(plan, paths[i], strlen(paths[i]));
    }
    rel.u.scan.source = EXEC_SCAN_FILES;
    rel.u.scan.paths = copies;
    rel.u.scan.path_count = count;
    if (csv_parse(plan, options, name, &rel, err) != EXEC_OK ||
        types_parse(plan, options, name, &rel.u.scan.schema, err) != EXEC_OK) {
        return 0;
    }
    if (stdin_file_is(paths[0]) && rel.u.scan.format == EXEC_FORMAT_NONE) {
        rel.u.scan.format = EXEC_FORMAT_CSV;
    }
    return builder_rel(plan, &rel);
}

uint32_t cli_input_scan(struct plan_builder *plan, const struct cli_options *options,
                        const char *arg, const char **name_out, struct exec_error *err)
{
    static const char prefix[] = "server:";
    const bool below_root = strncmp(arg, prefix, sizeof prefix - 1) == 0;

    if (strcmp(arg, "-") == 0 && options->server != NULL) {
        EXEC_FAIL(
            err, EXEC_BAD_SPEC,
            "an input from stdin is for this machine: upload it first, or leave --server out");
        return 0;
    }
    if (strcmp(arg, "-") == 0) {
        const char *path = stdin_file_path(err);
        *name_out = "stdin";
        return path == NULL ? 0 : cli_input_files(plan, options, *name_out, &path, 1, err);
    }
    if (options->server == NULL && below_root) {
        EXEC_FAIL(err, EXEC_BAD_SPEC, "'%.200s' names a file of a server: give --server", arg);
        return 0;
    }
    if (options->server == NULL || below_root) {
        const char *path = below_root ? arg + sizeof prefix - 1 : arg;
        *name_out = stem(plan, path);
        return cli_input_files(plan, options, *name_out, &path, 1, err);
    }
    *name_out = builder_text(plan, arg, strlen(arg));
    const struct exec_rel rel = {
        .kind = EXEC_REL_SCAN,
        .label = *name_out,
        .u.scan = {.source = EXEC_SCAN_TABLE, .table = *name_out},
    };
    return builder_rel(plan, &rel);
}

static enum exec_code check_list(const char *option, const char *form, const struct cli_list *list,
                                 const char *const *names, uint32_t count, struct exec_error *err)
{
    for (uint32_t i = 0; i < list->count; i++) {
        bool known = false;
        for (uint32_t n = 0; n < count; n++) {
            known = known || about(list->texts[i], names[n]) != NULL;
        }
        if (!known) {
            return EXEC_FAIL(
                err, EXEC_BAD_SPEC, "%s %.100s: no input is called '%.*s'; write [INPUT=]%s",
                option, list->texts[i], (int)strcspn(list->texts[i], "="), list->texts[i], form);
        }
    }
    return EXEC_OK;
}

enum exec_code cli_input_check_names(const struct cli_options *options, const char *const *names,
                                     uint32_t count, struct exec_error *err)
{
    if (check_list("--csv", "KEY:VALUE", &options->csv, names, count, err) != EXEC_OK) {
        return err->code;
    }
    return check_list("--types", "COLUMN:TYPE", &options->types, names, count, err);
}
