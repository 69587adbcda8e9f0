/* CSV as RFC 4180 has it, but for the line end, which is a bare line feed; TSV is the same with a
 * tab. A text that would read back as NULL (equal to the NULL text, the empty text included) is
 * quoted. */
#include "batch_writer.h"
#include "column_value.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool needs_quotes(const struct batch_writer *writer, const char *text, size_t size)
{
    const size_t null_bytes = strlen(writer->null_text);

    if (size == null_bytes && memcmp(text, writer->null_text, size) == 0) {
        return true;
    }
    return memchr(text, writer->delimiter, size) != NULL || memchr(text, '"', size) != NULL ||
           memchr(text, '\n', size) != NULL || memchr(text, '\r', size) != NULL;
}

static void write_field(struct batch_writer *writer, const char *text, size_t size)
{
    if (size > 0 && !needs_quotes(writer, text, size)) {
        output_write(writer->output, text, size);
        return;
    }
    output_write(writer->output, "\"", 1);
    while (size > 0) {
        const char *quote = memchr(text, '"', size);
        const size_t piece = quote == NULL ? size : (size_t)(quote - text) + 1;
        output_write(writer->output, text, piece);
        if (quote != NULL) {
            output_write(writer->output, "\"", 1);
        }
        text += piece;
        size -= piece;
    }
    output_write(writer->output, "\"", 1);
}

static void write_hex(struct batch_writer *writer, const char *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";

    output_write(writer->output, "\\x", 2);
    for (size_t i = 0; i < size; i++) {
        const unsigned char byte = (unsigned char)bytes[i];
        const char pair[2] = {digits[byte >> 4], digits[byte & 15]};
        output_write(writer->output, pair, 2);
    }
}

static void write_value(struct batch_writer *writer, const struct exec_column_buffers *column,
                        uint64_t row)
{
    char text[COLUMN_VALUE_TEXT_BYTES];
    size_t size = 0;

    if (column_value_is_null(column, row)) {
        output_text(writer->output, writer->null_text);
    } else if (column->type.kind == EXEC_TYPE_UTF8) {
        const char *bytes = column_value_bytes(column, row, &size);
        write_field(writer, bytes, size);
    } else if (column->type.kind == EXEC_TYPE_BINARY) {
        const char *bytes = column_value_bytes(column, row, &size);
        write_hex(writer, bytes, size);
    } else {
        size = column_value_text(column, row, text);
        output_write(writer->output, text, size);
    }
}

static void csv_begin(struct batch_writer *writer)
{
    for (uint32_t c = 0; c < writer->schema->field_count; c++) {
        const char *name = writer->schema->fields[c].name;
        if (c > 0) {
            output_write(writer->output, &writer->delimiter, 1);
        }
        write_field(writer, name, strlen(name));
    }
    output_write(writer->output, "\n", 1);
}

static void csv_batch(struct batch_writer *writer, const struct exec_column_buffers *columns,
                      uint64_t row_count)
{
    for (uint64_t row = 0; row < row_count; row++) {
        for (uint32_t c = 0; c < writer->schema->field_count; c++) {
            if (c > 0) {
                output_write(writer->output, &writer->delimiter, 1);
            }
            write_value(writer, &columns[c], row);
        }
        output_write(writer->output, "\n", 1);
    }
    writer->row_count += row_count;
}

static void csv_end(struct batch_writer *writer)
{
    (void)writer;
}

static void csv_destroy(struct batch_writer *writer)
{
    free(writer);
}

struct batch_writer *format_csv_create(char delimiter)
{
    static const struct batch_writer_ops ops = {csv_begin, csv_batch, csv_end, csv_destroy};
    struct batch_writer *writer = calloc(1, sizeof *writer);

    if (writer != NULL) {
        writer->ops = &ops;
        writer->delimiter = delimiter;
    }
    return writer;
}
