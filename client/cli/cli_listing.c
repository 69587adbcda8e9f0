#include "cli_listing.h"
#include "batch_writer.h"
#include "run_loop.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *listing_alloc(size_t bytes)
{
    void *memory = calloc(1, bytes + 1);

    if (memory == NULL) {
        fputs("morsel: out of memory\n", stderr);
        exit(EXIT_INTERNAL);
    }
    return memory;
}

void listing_init(struct listing *listing, const struct exec_field *fields, uint32_t column_count)
{
    *listing = (struct listing){.fields = fields, .column_count = column_count};
}

struct listing_cell *listing_row(struct listing *listing)
{
    if (listing->row_count == listing->row_room) {
        const uint64_t room = listing->row_room == 0 ? 64 : 2 * listing->row_room;
        void *moved = listing_alloc(room * sizeof *listing->cells);
        if (listing->row_count > 0) {
            memcpy(moved, listing->cells, listing->row_count * sizeof *listing->cells);
        }
        free(listing->cells);
        listing->cells = moved;
        listing->row_room = room;
    }
    return listing->cells[listing->row_count++];
}

static void text_column(const struct listing *listing, uint32_t c,
                        struct exec_column_buffers *column)
{
    int32_t *offsets = listing_alloc((listing->row_count + 1) * sizeof *offsets);
    size_t bytes = 0;

    for (uint64_t row = 0; row < listing->row_count; row++) {
        bytes += strlen(listing->cells[row][c].text);
    }
    char *values = listing_alloc(bytes);
    for (uint64_t row = 0; row < listing->row_count; row++) {
        const char *text = listing->cells[row][c].text;
        memcpy(values + offsets[row], text, strlen(text));
        offsets[row + 1] = offsets[row] + (int32_t)strlen(text);
    }
    column->offsets = offsets;
    column->offset_bytes = 4;
    column->values = values;
    column->values_bytes = bytes;
}

static void number_column(const struct listing *listing, uint32_t c,
                          struct exec_column_buffers *column)
{
    int64_t *values = listing_alloc(listing->row_count * sizeof *values);

    for (uint64_t row = 0; row < listing->row_count; row++) {
        values[row] = listing->cells[row][c].number;
    }
    column->values = values;
    column->values_bytes = listing->row_count * sizeof *values;
}

enum cli_exit listing_print(struct listing *listing, const struct cli_options *options)
{
    const struct exec_schema schema = {listing->fields, listing->column_count};
    struct exec_column_buffers columns[LISTING_COLUMNS_MAX] = {0};
    struct cli_error err = {0};
    struct output_file output;
    enum cli_exit code = EXIT_OK;
    enum cli_format format = options->format;

    if (format == FORMAT_AUTO) {
        format = options->out == NULL && isatty(STDOUT_FILENO) != 0 ? FORMAT_TABLE : FORMAT_CSV;
    }
    for (uint32_t c = 0; c < listing->column_count; c++) {
        columns[c].type = listing->fields[c].type;
        columns[c].row_count = listing->row_count;
        if (listing->fields[c].type.kind == EXEC_TYPE_UTF8) {
            text_column(listing, c, &columns[c]);
        } else {
            number_column(listing, c, &columns[c]);
        }
    }
    if (output_open(&output, options->out, &err.exec) != EXEC_OK) {
        code = run_fail(options, &err, NULL, false);
    } else {
        struct batch_writer *writer =
            batch_writer_create(format, options->null_out, &schema, &output);
        if (writer != NULL) {
            writer->ops->begin(writer);
            writer->ops->batch(writer, columns, listing->row_count);
            writer->ops->end(writer);
            writer->ops->destroy(writer);
        }
        if (output_commit(&output, &err.exec) != EXEC_OK) {
            code = run_output_fail(options, &err, &output);
        }
        output_close(&output);
    }
    for (uint32_t c = 0; c < listing->column_count; c++) {
        free((void *)(uintptr_t)columns[c].values);
        free((void *)(uintptr_t)columns[c].offsets);
    }
    free(listing->cells);
    return code;
}
