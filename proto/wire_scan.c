#include "wire_rel.h"
#include "wire_types.h"

#include <stdio.h>
#include <string.h>

#define SAME_FORMAT(name)                                                                       \
    _Static_assert((int)EXEC_FORMAT_##name == (int)MORSEL__V1__FILE_FORMAT__FILE_FORMAT_##name, \
                   "one numbering of " #name)
SAME_FORMAT(ARROW_STREAM);
SAME_FORMAT(ARROW_FILE);
SAME_FORMAT(CSV);
SAME_FORMAT(TSV);
SAME_FORMAT(JSON_LINES);
SAME_FORMAT(PARQUET);

enum { FIELD_PATH_BYTES = 96, PATHS_MAX = 65536, NULL_TEXTS_MAX = 64, INLINE_BYTES_MAX = 1 << 20 };

/* ---- message -> spec ------------------------------------------------------------------------ */

static enum exec_code texts_read(const struct wire_reader *reader, const char *field,
                                 char *const *texts, size_t count, size_t count_max, bool names,
                                 const char *const **texts_out)
{
    const char **list;
    enum exec_code code = wire_count_check(reader, field, count, count_max);

    if (code != EXEC_OK) {
        return code;
    }
    list = wire_memory_array(reader->memory, count, sizeof *list);
    if (list == NULL) {
        return wire_fail_memory(reader);
    }
    for (size_t i = 0; i < count && code == EXEC_OK; i++) {
        char path[FIELD_PATH_BYTES];
        snprintf(path, sizeof path, "%s[%zu]", field, i + 1);
        code = names ? wire_name_check(reader, path, texts[i]) : EXEC_OK;
        list[i] = texts[i];
    }
    *texts_out = list;
    return code;
}

static enum exec_code csv_character(const struct wire_reader *reader, const char *field,
                                    const char *text, char *character_out)
{
    if (strlen(text) > 1 || (unsigned char)text[0] >= 0x80 || text[0] == '\n' || text[0] == '\r') {
        return wire_fail(reader, EXEC_BAD_SPEC,
                         "%s must be one ASCII character other than CR and LF", field);
    }
    *character_out = text[0];
    return EXEC_OK;
}

static enum exec_code csv_read(const struct wire_reader *reader,
                               const Morsel__V1__CsvOptions *message, struct exec_csv_options *csv)
{
    enum exec_code code;

    code = csv_character(reader, "scan.files.csv.delimiter", message->delimiter, &csv->delimiter);
    if (code == EXEC_OK) {
        code = csv_character(reader, "scan.files.csv.quote", message->quote, &csv->quote);
    }
    if (code == EXEC_OK) {
        code =
            csv_character(reader, "scan.files.csv.thousands", message->thousands, &csv->thousands);
    }
    if (code == EXEC_OK) {
        code = texts_read(reader, "scan.files.csv.null_texts", message->null_texts,
                          message->n_null_texts, NULL_TEXTS_MAX, false, &csv->null_texts);
    }
    csv->no_header = message->no_header;
    csv->null_text_count = (uint32_t)message->n_null_texts;
    return code;
}

static enum exec_code files_read(const struct wire_reader *reader,
                                 const Morsel__V1__FileSource *message, struct exec_rel *rel)
{
    enum exec_code code;

    rel->u.scan.source = EXEC_SCAN_FILES;
    if (message->n_paths == 0) {
        return wire_fail(reader, EXEC_BAD_SPEC, "scan.files.paths is empty");
    }
    code = texts_read(reader, "scan.files.paths", message->paths, message->n_paths, PATHS_MAX,
                      false, &rel->u.scan.paths);
    rel->u.scan.path_count = (uint32_t)message->n_paths;
    if (code == EXEC_OK) {
        code = wire_enum_check(reader, "scan.files.format", &morsel__v1__file_format__descriptor,
                               (int)message->format, true, EXEC_FORMAT_PARQUET);
        rel->u.scan.format = (enum exec_file_format)message->format;
    }
    if (code == EXEC_OK && message->csv != NULL) {
        if (rel->u.scan.format != EXEC_FORMAT_NONE && rel->u.scan.format != EXEC_FORMAT_CSV &&
            rel->u.scan.format != EXEC_FORMAT_TSV) {
            return wire_fail(reader, EXEC_BAD_SPEC, "scan.files.csv is for CSV and TSV files");
        }
        code = csv_read(reader, message->csv, &rel->u.scan.csv);
    }
    if (code == EXEC_OK) {
        code = wire_schema_read(reader, "scan.files.schema", message->schema, &rel->u.scan.schema);
    }
    return code;
}

static enum exec_code source_read(const struct wire_reader *reader,
                                  const Morsel__V1__ScanRel *message, struct exec_rel *rel)
{
    switch (message->source_case) {
        case MORSEL__V1__SCAN_REL__SOURCE_TABLE:
            rel->u.scan.source = EXEC_SCAN_TABLE;
            rel->u.scan.table = message->table->name;
            rel->u.scan.table_min_version = message->table->min_version;
            return wire_name_check(reader, "scan.table.name", message->table->name);
        case MORSEL__V1__SCAN_REL__SOURCE_FILES: return files_read(reader, message->files, rel);
        case MORSEL__V1__SCAN_REL__SOURCE_INLINE_TABLE:
            rel->u.scan.source = EXEC_SCAN_INLINE;
            rel->u.scan.inline_stream = message->inline_table->arrow_stream.data;
            rel->u.scan.inline_stream_bytes = message->inline_table->arrow_stream.len;
            return message->inline_table->arrow_stream.len <= INLINE_BYTES_MAX
                       ? EXEC_OK
                       : wire_fail(reader, EXEC_LIMIT,
                                   "scan.inline_table.arrow_stream: more than 1 MiB");
        case MORSEL__V1__SCAN_REL__SOURCE_GENERATOR:
            rel->u.scan.source = EXEC_SCAN_GENERATOR;
            rel->u.scan.generator = message->generator->name;
            rel->u.scan.generator_rows = message->generator->rows;
            rel->u.scan.generator_seed = message->generator->seed;
            return wire_name_check(reader, "scan.generator.name", message->generator->name);
        default: return wire_fail(reader, EXEC_BAD_SPEC, "scan.source is not set");
    }
}

enum exec_code wire_scan_read(const struct wire_reader *reader, const Morsel__V1__ScanRel *message,
                              struct exec_rel *rel)
{
    enum exec_code code = source_read(reader, message, rel);

    if (code == EXEC_OK) {
        code = texts_read(reader, "scan.columns", message->columns, message->n_columns,
                          EXEC_COLUMNS_MAX, true, &rel->u.scan.columns);
    }
    if (code == EXEC_OK) {
        code = wire_schema_read(reader, "scan.expected_schema", message->expected_schema,
                                &rel->u.scan.expected_schema);
    }
    rel->u.scan.column_count = (uint32_t)message->n_columns;
    rel->u.scan.filter = message->filter_expr;
    return code;
}

/* ---- spec -> message ------------------------------------------------------------------------ */

static bool texts_write(struct wire_memory *memory, const char *const *texts, size_t count,
                        size_t *count_out, char ***texts_out)
{
    char **list = wire_memory_array(memory, count, sizeof *list);

    for (size_t i = 0; list != NULL && i < count; i++) {
        list[i] = wire_memory_text(memory, texts[i]);
        if (list[i] == NULL) {
            return false;
        }
    }
    *texts_out = list;
    *count_out = count;
    return list != NULL;
}

static bool csv_write(struct wire_memory *memory, const struct exec_csv_options *csv,
                      Morsel__V1__FileSource *files)
{
    const char delimiter[2] = {csv->delimiter, '\0'};
    const char quote[2] = {csv->quote, '\0'};
    const char thousands[2] = {csv->thousands, '\0'};
    Morsel__V1__CsvOptions *message;

    if (csv->delimiter == 0 && csv->quote == 0 && csv->thousands == 0 && !csv->no_header &&
        csv->null_text_count == 0) {
        return true; /* all defaults */
    }
    message = wire_message_new(memory, &morsel__v1__csv_options__descriptor);
    if (message == NULL) {
        return false;
    }
    files->csv = message;
    message->delimiter = wire_memory_text(memory, delimiter);
    message->quote = wire_memory_text(memory, quote);
    message->thousands = wire_memory_text(memory, thousands);
    message->no_header = csv->no_header;
    return message->delimiter != NULL && message->quote != NULL && message->thousands != NULL &&
           texts_write(memory, csv->null_texts, csv->null_text_count, &message->n_null_texts,
                       &message->null_texts);
}

static bool files_write(struct wire_memory *memory, const struct exec_rel *rel,
                        Morsel__V1__ScanRel *scan)
{
    Morsel__V1__FileSource *files = wire_message_new(memory, &morsel__v1__file_source__descriptor);

    if (files == NULL) {
        return false;
    }
    scan->source_case = MORSEL__V1__SCAN_REL__SOURCE_FILES;
    scan->files = files;
    files->format = (Morsel__V1__FileFormat)rel->u.scan.format;
    if (rel->u.scan.schema.field_count != 0) {
        files->schema = wire_schema_write(memory, &rel->u.scan.schema);
        if (files->schema == NULL) {
            return false;
        }
    }
    return csv_write(memory, &rel->u.scan.csv, files) &&
           texts_write(memory, rel->u.scan.paths, rel->u.scan.path_count, &files->n_paths,
                       &files->paths);
}

static bool table_write(struct wire_memory *memory, const struct exec_rel *rel,
                        Morsel__V1__ScanRel *scan)
{
    scan->source_case = MORSEL__V1__SCAN_REL__SOURCE_TABLE;
    scan->table = wire_message_new(memory, &morsel__v1__table_ref__descriptor);
    if (scan->table == NULL) {
        return false;
    }
    scan->table->name = wire_memory_text(memory, rel->u.scan.table);
    scan->table->min_version = rel->u.scan.table_min_version;
    return scan->table->name != NULL;
}

static bool inline_write(struct wire_memory *memory, const struct exec_rel *rel,
                         Morsel__V1__ScanRel *scan)
{
    const size_t size = rel->u.scan.inline_stream_bytes;
    Morsel__V1__InlineTable *table =
        wire_message_new(memory, &morsel__v1__inline_table__descriptor);

    if (table == NULL) {
        return false;
    }
    scan->source_case = MORSEL__V1__SCAN_REL__SOURCE_INLINE_TABLE;
    scan->inline_table = table;
    table->arrow_stream.data = wire_memory_array(memory, size, 1);
    table->arrow_stream.len = size;
    if (table->arrow_stream.data != NULL && size != 0) {
        memcpy(table->arrow_stream.data, rel->u.scan.inline_stream, size);
    }
    return table->arrow_stream.data != NULL;
}

static bool generator_write(struct wire_memory *memory, const struct exec_rel *rel,
                            Morsel__V1__ScanRel *scan)
{
    scan->source_case = MORSEL__V1__SCAN_REL__SOURCE_GENERATOR;
    scan->generator = wire_message_new(memory, &morsel__v1__generator_source__descriptor);
    if (scan->generator == NULL) {
        return false;
    }
    scan->generator->name = wire_memory_text(memory, rel->u.scan.generator);
    scan->generator->rows = rel->u.scan.generator_rows;
    scan->generator->seed = rel->u.scan.generator_seed;
    return scan->generator->name != NULL;
}

static bool source_write(struct wire_memory *memory, const struct exec_rel *rel,
                         Morsel__V1__ScanRel *scan)
{
    switch (rel->u.scan.source) {
        case EXEC_SCAN_TABLE: return table_write(memory, rel, scan);
        case EXEC_SCAN_FILES: return files_write(memory, rel, scan);
        case EXEC_SCAN_INLINE: return inline_write(memory, rel, scan);
        case EXEC_SCAN_GENERATOR: return generator_write(memory, rel, scan);
        default: return true; /* the source stays unset and the server names it */
    }
}

Morsel__V1__ScanRel *wire_scan_write(struct wire_memory *memory, const struct exec_rel *rel)
{
    Morsel__V1__ScanRel *scan = wire_message_new(memory, &morsel__v1__scan_rel__descriptor);

    if (scan == NULL || !source_write(memory, rel, scan)) {
        return NULL;
    }
    if (rel->u.scan.expected_schema.field_count != 0) {
        scan->expected_schema = wire_schema_write(memory, &rel->u.scan.expected_schema);
        if (scan->expected_schema == NULL) {
            return NULL;
        }
    }
    scan->filter_expr = rel->u.scan.filter;
    return texts_write(memory, rel->u.scan.columns, rel->u.scan.column_count, &scan->n_columns,
                       &scan->columns)
               ? scan
               : NULL;
}
