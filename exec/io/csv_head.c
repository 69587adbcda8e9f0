#include "io/csv_head.h"

#include "exec/job_spec.h" /* EXEC_COLUMNS_MAX */
#include "vec/utf8.h"

#include <stdio.h>
#include <string.h>

struct head_reader {
    struct csv_head *head;
    struct csv_dialect *dialect;
    const struct csv_null_texts *nulls;
    const char *path;
    struct csv_text text;
    struct csv_field *fields; /* column_count of them */
    struct nu_arena *arena;
    struct exec_error *err;
};

static enum exec_code fail_memory(struct head_reader *reader)
{
    return EXEC_FAIL(reader->err, EXEC_MEMORY_BUDGET,
                     "no memory left in the job's budget for the columns of '%.150s'",
                     reader->path);
}

static void skip_byte_order_mark(struct csv_text *text)
{
    if (text->end - text->at >= 3 && memcmp(text->at, "\xef\xbb\xbf", 3) == 0) {
        csv_text_set(text, text->at + 3, text->end, text->is_final);
    }
}

/* The first row is wrong, cut or missing. */
static enum exec_code fail_first_row(struct head_reader *reader, enum csv_row row,
                                     uint32_t field_count)
{
    const struct csv_layout layout = {.dialect = *reader->dialect};
    struct csv_fault fault = {.kind = CSV_FAULT_LONG_LINE};

    if (row == CSV_ROW_NONE) {
        return EXEC_FAIL(reader->err, EXEC_BAD_DATA, "'%.150s' is empty: it has no header line",
                         reader->path);
    }
    if (row == CSV_ROW_CUT) {
        EXEC_FAIL(reader->err, EXEC_BAD_DATA,
                  "%.150s:%llu: the first line does not end within the first %zu bytes",
                  reader->path, (unsigned long long)reader->text.row_line_feeds + 1,
                  (size_t)(reader->text.end - reader->text.at));
        reader->err->line = reader->text.row_line_feeds + 1;
        return reader->err->code;
    }
    if (row != CSV_ROW_LONG) {
        fault.kind = row == CSV_ROW_OPEN_QUOTE ? CSV_FAULT_OPEN_QUOTE : CSV_FAULT_AFTER_QUOTE;
        fault.column = field_count;
    }
    return csv_fault_report(&fault, &layout, reader->path, reader->text.row_line_feeds + 1,
                            reader->err);
}

/* Counts the fields of the first row, takes memory for as many columns, reads it again. */
static enum exec_code read_first_row(struct head_reader *reader, uint32_t *count_out)
{
    const struct csv_text begin = reader->text;
    uint32_t count = 0;
    enum csv_row row = csv_text_row(reader->dialect, &reader->text, NULL, 0, &count);

    if (row != CSV_ROW) {
        return fail_first_row(reader, row, count);
    }
    if (count > EXEC_COLUMNS_MAX) {
        return EXEC_FAIL(reader->err, EXEC_LIMIT, "'%.150s' has %u columns; at most %d can be read",
                         reader->path, count, EXEC_COLUMNS_MAX);
    }
    reader->fields =
        nu_arena_calloc(reader->arena, count * sizeof *reader->fields, _Alignof(struct csv_field));
    if (reader->fields == NULL) {
        return fail_memory(reader);
    }
    reader->text = begin;
    (void)csv_text_row(reader->dialect, &reader->text, reader->fields, count, &count);
    *count_out = count;
    return EXEC_OK;
}

static enum exec_code set_name(struct head_reader *reader, uint32_t column, bool has_header)
{
    struct csv_field *field = &reader->fields[column];
    char made_up[24];

    if (has_header && field->escaped) {
        csv_field_unescape(field, reader->dialect->quote);
    }
    if (has_header && !utf8_is_valid(field->bytes, field->size)) {
        EXEC_FAIL(reader->err, EXEC_BAD_DATA,
                  "%.150s:1 column %u: the column's name is not valid UTF-8", reader->path,
                  column + 1);
        reader->err->line = 1;
        reader->err->column = column + 1;
        return reader->err->code;
    }
    if (!has_header || field->size == 0) {
        snprintf(made_up, sizeof made_up, "column%u", column);
        reader->head->names[column] = nu_arena_strdup(reader->arena, made_up);
    } else {
        char *name = nu_arena_alloc(reader->arena, (size_t)field->size + 1, 1);
        if (name != NULL) {
            memcpy(name, field->bytes, field->size);
            name[field->size] = '\0';
        }
        reader->head->names[column] = name;
    }
    return reader->head->names[column] != NULL ? EXEC_OK : fail_memory(reader);
}

static bool holds_feed(const struct csv_field *field)
{
    return field->quoted && memchr(field->bytes, '\n', field->size) != NULL;
}

/* Looks at rows until the text or the first wrong row. */
static void guess_types(struct head_reader *reader)
{
    struct csv_head *head = reader->head;
    const char *begin = reader->text.at;
    uint32_t count;

    while (csv_text_row(reader->dialect, &reader->text, reader->fields, head->column_count,
                        &count) == CSV_ROW &&
           count == head->column_count) {
        for (uint32_t c = 0; c < count; c++) {
            struct csv_field *field = &reader->fields[c];
            head->quoted_feeds |= holds_feed(field);
            if (csv_is_null(reader->nulls, field)) {
                continue;
            }
            if (field->escaped) {
                csv_field_unescape(field, reader->dialect->quote);
            }
            csv_guess_add(&head->guesses[c], field->bytes, field->size, reader->dialect->thousands);
        }
        head->row_count++;
        head->row_bytes = (size_t)(reader->text.at - begin);
    }
}

enum exec_code csv_head_read(struct csv_head *head, struct csv_dialect *dialect,
                             const struct csv_null_texts *nulls, bool has_header, const char *path,
                             char *text, size_t size, bool is_final, struct nu_arena *arena,
                             struct exec_error *err)
{
    struct head_reader reader = {
        .head = head, .dialect = dialect, .nulls = nulls, .path = path, .arena = arena, .err = err};

    *head = (struct csv_head){.column_count = 0};
    csv_text_set(&reader.text, text, text + size, is_final);
    skip_byte_order_mark(&reader.text);
    const struct csv_text begin = reader.text;
    enum exec_code code = read_first_row(&reader, &head->column_count);
    if (code != EXEC_OK) {
        return code;
    }
    head->names = nu_arena_calloc(arena, head->column_count * sizeof(char *), _Alignof(char *));
    head->guesses = nu_arena_calloc(arena, head->column_count * sizeof *head->guesses,
                                    _Alignof(struct csv_guess));
    if (head->names == NULL || head->guesses == NULL) {
        return fail_memory(&reader);
    }
    for (uint32_t c = 0; c < head->column_count; c++) {
        code = set_name(&reader, c, has_header);
        if (code != EXEC_OK) {
            return code;
        }
    }
    dialect->keep_blank = head->column_count == 1;
    if (!has_header) {
        reader.text = begin;
    }
    head->rows_begin = (size_t)(reader.text.at - text);
    head->rows_line_feeds = reader.text.line_feeds;
    guess_types(&reader);
    return EXEC_OK;
}
