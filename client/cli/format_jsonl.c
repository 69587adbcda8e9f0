/* One JSON object a line. Numbers are JSON numbers, decimals and 64-bit integers with all their
 * digits; NaN and infinities, which JSON has no numbers for, are the texts protobuf uses; binary is
 * hex as in CSV; times are ISO 8601 texts. */
#include "batch_writer.h"
#include "column_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_string(struct output_file *output, const char *text, size_t size)
{
    output_write(output, "\"", 1);
    for (size_t begin = 0, i = 0; i <= size; i++) {
        const unsigned char byte = i < size ? (unsigned char)text[i] : 0;
        if (i < size && byte >= 0x20 && byte != '"' && byte != '\\') {
            continue;
        }
        output_write(output, text + begin, i - begin);
        begin = i + 1;
        if (i < size) {
            char escape[8];
            const char *named = strchr("\"\"\\\\\nn\tt\rr", byte);
            const int length = byte != 0 && named != NULL
                                   ? snprintf(escape, sizeof escape, "\\%c", named[1])
                                   : snprintf(escape, sizeof escape, "\\u%04x", byte);
            output_write(output, escape, (size_t)length);
        }
    }
    output_write(output, "\"", 1);
}

static void write_binary(struct output_file *output, const char *bytes, size_t size)
{
    char pair[4];

    output_text(output, "\"\\\\x");
    for (size_t i = 0; i < size; i++) {
        snprintf(pair, sizeof pair, "%02x", (unsigned char)bytes[i]);
        output_write(output, pair, 2);
    }
    output_write(output, "\"", 1);
}

static void write_float(struct output_file *output, const struct exec_column_buffers *column,
                        uint64_t row)
{
    char text[COLUMN_VALUE_TEXT_BYTES];
    const double value = column_value_double(column, row);

    if (isnan(value)) {
        output_text(output, "\"NaN\"");
    } else if (isinf(value)) {
        output_text(output, value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
    } else {
        output_write(output, text, column_value_text(column, row, text));
    }
}

static void write_value(struct output_file *output, const struct exec_column_buffers *column,
                        uint64_t row)
{
    char text[COLUMN_VALUE_TEXT_BYTES];
    size_t size = 0;
    const char *bytes = NULL;

    if (column_value_is_null(column, row)) {
        output_text(output, "null");
        return;
    }
    switch (column->type.kind) {
        case EXEC_TYPE_UTF8:
            bytes = column_value_bytes(column, row, &size);
            write_string(output, bytes, size);
            return;
        case EXEC_TYPE_BINARY:
            bytes = column_value_bytes(column, row, &size);
            write_binary(output, bytes, size);
            return;
        case EXEC_TYPE_FLOAT32:
        case EXEC_TYPE_FLOAT64: write_float(output, column, row); return;
        case EXEC_TYPE_DATE32:
        case EXEC_TYPE_TIMESTAMP:
            size = column_value_text(column, row, text);
            write_string(output, text, size);
            return;
        default: output_write(output, text, column_value_text(column, row, text)); return;
    }
}

static void jsonl_begin(struct batch_writer *writer)
{
    (void)writer;
}

static void jsonl_batch(struct batch_writer *writer, const struct exec_column_buffers *columns,
                        uint64_t row_count)
{
    for (uint64_t row = 0; row < row_count; row++) {
        for (uint32_t c = 0; c < writer->schema->field_count; c++) {
            const char *name = writer->schema->fields[c].name;
            output_write(writer->output, c == 0 ? "{" : ",", 1);
            write_string(writer->output, name, strlen(name));
            output_write(writer->output, ":", 1);
            write_value(writer->output, &columns[c], row);
        }
        output_text(writer->output, "}\n");
    }
    writer->row_count += row_count;
}

static void jsonl_end(struct batch_writer *writer)
{
    (void)writer;
}

static void jsonl_destroy(struct batch_writer *writer)
{
    free(writer);
}

struct batch_writer *format_jsonl_create(void)
{
    static const struct batch_writer_ops ops = {jsonl_begin, jsonl_batch, jsonl_end, jsonl_destroy};
    struct batch_writer *writer = calloc(1, sizeof *writer);

    if (writer != NULL) {
        writer->ops = &ops;
    }
    return writer;
}
