/* A table for people: the first rows, aligned; the whole result is counted all the same. Control
 * characters are shown as escapes, so that data cannot drive the terminal. */
#include "batch_writer.h"
#include "column_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { CELL_BYTES_MAX = 200, CELL_WIDTH_MAX = 60 };

struct table_writer {
    struct batch_writer base;
    char **cells; /* TABLE_ROWS_MAX rows of field_count, and the header before them */
    uint32_t kept_rows;
};

/* Columns on a terminal; text that is not UTF-8 in this locale counts bytes. */
static int text_width(const char *text)
{
    mbstate_t state;
    int width = 0;

    memset(&state, 0, sizeof state);
    for (size_t left = strlen(text); left > 0;) {
        wchar_t wide = 0;
        const size_t size = mbrtowc(&wide, text, left, &state);
        if (size == 0 || size > left) {
            return width + (int)left;
        }
        const int columns = wcwidth(wide);
        width += columns > 0 ? columns : 0;
        text += size;
        left -= size;
    }
    return width;
}

/* A cell's text: escapes for control bytes, cut with dots. */
static char *cell_text(const char *text, size_t size)
{
    char *cell = malloc(4 * CELL_BYTES_MAX + 8);
    size_t at = 0, i = 0;

    if (cell == NULL) {
        return NULL;
    }
    for (; i < size && at < CELL_BYTES_MAX; i++) {
        const unsigned char byte = (unsigned char)text[i];
        if (byte < 0x20 || byte == 0x7f) {
            at += (size_t)sprintf(cell + at,
                                  byte == '\n'   ? "\\n"
                                  : byte == '\t' ? "\\t"
                                                 : "\\x%02x",
                                  byte);
        } else {
            cell[at++] = text[i];
        }
    }
    cell[at] = '\0';
    if (i < size || text_width(cell) > CELL_WIDTH_MAX) {
        do { /* back to a character's first byte */
            while (at > 0 && ((unsigned char)cell[--at] & 0xc0) == 0x80) {
            }
            cell[at] = '\0';
        } while (text_width(cell) > CELL_WIDTH_MAX - 3);
        strcpy(cell + at, "...");
    }
    return cell;
}

static char *value_cell(const struct table_writer *table, const struct exec_column_buffers *column,
                        uint64_t row)
{
    char text[COLUMN_VALUE_TEXT_BYTES];
    size_t size = 0;
    const char *bytes = text;

    if (column_value_is_null(column, row)) {
        return cell_text(table->base.null_text, strlen(table->base.null_text));
    }
    if (column->type.kind == EXEC_TYPE_UTF8) {
        bytes = column_value_bytes(column, row, &size);
    } else if (column->type.kind == EXEC_TYPE_BINARY) {
        bytes = column_value_bytes(column, row, &size);
        char hex[2 * CELL_WIDTH_MAX + 3] = "\\x";
        for (size_t i = 0; i < size && i < CELL_WIDTH_MAX; i++) {
            snprintf(hex + 2 + 2 * i, 3, "%02x", (unsigned char)bytes[i]);
        }
        return cell_text(hex, strlen(hex));
    } else {
        size = column_value_text(column, row, text);
    }
    return cell_text(bytes, size);
}

static void table_begin(struct batch_writer *writer)
{
    struct table_writer *table = (struct table_writer *)writer;
    const uint32_t columns = writer->schema->field_count;

    table->cells = calloc((size_t)columns * (TABLE_ROWS_MAX + 1) + 1, sizeof *table->cells);
    for (uint32_t c = 0; table->cells != NULL && c < columns; c++) {
        const char *name = writer->schema->fields[c].name;
        table->cells[c] = cell_text(name, strlen(name));
    }
}

static void table_batch(struct batch_writer *writer, const struct exec_column_buffers *columns,
                        uint64_t row_count)
{
    struct table_writer *table = (struct table_writer *)writer;
    const uint32_t column_count = writer->schema->field_count;

    for (uint64_t row = 0;
         table->cells != NULL && row < row_count && table->kept_rows < TABLE_ROWS_MAX; row++) {
        char **cells = table->cells + (size_t)column_count * ++table->kept_rows;
        for (uint32_t c = 0; c < column_count; c++) {
            cells[c] = value_cell(table, &columns[c], row);
        }
    }
    writer->row_count += row_count;
}

static bool right_aligned(const struct exec_field *field)
{
    return exec_type_is_numeric((enum exec_type_kind)field->type.kind);
}

static void write_spaces(struct output_file *output, int count)
{
    for (; count > 0; count--) {
        output_write(output, " ", 1);
    }
}

static void write_row(struct table_writer *table, uint32_t row, const int *widths)
{
    const uint32_t columns = table->base.schema->field_count;
    struct output_file *output = table->base.output;

    for (uint32_t c = 0; c < columns; c++) {
        const char *cell = table->cells[(size_t)columns * row + c];
        const int pad = widths[c] - (cell == NULL ? 0 : text_width(cell));
        const bool right = right_aligned(&table->base.schema->fields[c]);
        output_text(output, c == 0 ? " " : " | ");
        write_spaces(output, right ? pad : 0);
        output_text(output, cell == NULL ? "" : cell);
        if (c + 1 < columns) {
            write_spaces(output, right ? 0 : pad); /* no blanks at a line's end */
        }
    }
    output_text(output, "\n");
}

static void table_end(struct batch_writer *writer)
{
    struct table_writer *table = (struct table_writer *)writer;
    const uint32_t columns = writer->schema->field_count;
    int *widths = calloc((size_t)columns + 1, sizeof *widths);

    if (table->cells == NULL || widths == NULL) {
        free(widths);
        return;
    }
    for (uint32_t row = 0; row <= table->kept_rows; row++) {
        for (uint32_t c = 0; c < columns; c++) {
            const char *cell = table->cells[(size_t)columns * row + c];
            const int width = cell == NULL ? 0 : text_width(cell);
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    write_row(table, 0, widths);
    for (uint32_t c = 0; c < columns; c++) {
        output_text(writer->output, c == 0 ? "-" : "-+-");
        for (int i = 0; i < widths[c]; i++) {
            output_write(writer->output, "-", 1);
        }
    }
    output_text(writer->output, columns == 0 ? "" : "-\n");
    for (uint32_t row = 1; row <= table->kept_rows; row++) {
        write_row(table, row, widths);
    }
    free(widths);
}

static void table_destroy(struct batch_writer *writer)
{
    struct table_writer *table = (struct table_writer *)writer;

    for (size_t i = 0;
         table->cells != NULL && i < (size_t)writer->schema->field_count * (TABLE_ROWS_MAX + 1);
         i++) {
        free(table->cells[i]);
    }
    free(table->cells);
    free(table);
}

struct batch_writer *format_table_create(void)
{
    static const struct batch_writer_ops ops = {table_begin, table_batch, table_end, table_destroy};
    struct table_writer *table = calloc(1, sizeof *table);

    if (table == NULL) {
        return NULL;
    }
    table->base.ops = &ops;
    return &table->base;
}
