/* Goal:   what is written is an Arrow stream of the same rows, aligned, with no body byte copied.
 * Method: rewrite the golden stream of every type (64-bit offsets, slices and NULLs among them) and
 *         read it back; look at the pieces themselves. The other Arrow library reads these streams
 * in the interop tests. */
#include "arrow_table.h"

#include "proto/arrow_writer.h"

enum { MESSAGE_BYTES_MAX = 1 << 20, ALIGN_BYTES = 64 };

static struct lines lines;

static uint8_t stream[1 << 16];
static size_t stream_size;

static void stream_add(const void *bytes, size_t size)
{
    cr_assert_leq(stream_size + size, sizeof stream);
    memcpy(stream + stream_size, bytes, size);
    stream_size += size;
}

static void batch_write(const struct exec_column_buffers *columns, uint32_t count, uint64_t rows)
{
    struct arrow_batch_message message;
    size_t size = 0;

    cr_assert_eq(arrow_write_batch(columns, count, rows, &message), 0);
    cr_assert_eq(message.pieces[0].bytes, message.header);
    for (uint32_t i = 0; i < message.piece_count; i++) {
        size += message.pieces[i].size;
        stream_add(message.pieces[i].bytes, message.pieces[i].size);
    }
    cr_assert_eq(size, message.size);
    cr_assert_eq(size % ALIGN_BYTES, 0);
    arrow_batch_message_fini(&message);
}

static void stream_print(const uint8_t *bytes, size_t size, bool rewrite)
{
    struct arrow_reader *reader = arrow_reader_create(MESSAGE_BYTES_MAX);
    struct exec_error err;
    enum arrow_event event = ARROW_MORE;
    size_t at = 0, used, schema_size;

    lines.size = 0;
    while (event != ARROW_END) {
        struct arrow_batch batch;
        event = arrow_reader_feed(reader, bytes + at, size - at, &used, &batch, &err);
        at += used;
        cr_assert_neq(event, ARROW_ERROR, "%s", err.detail);
        if (event == ARROW_SCHEMA) {
            schema_print(&lines, arrow_reader_schema(reader));
            if (rewrite) {
                uint8_t *schema = arrow_write_schema(arrow_reader_schema(reader), &schema_size);
                cr_assert_not_null(schema);
                cr_assert_eq(schema_size % ALIGN_BYTES, 0);
                stream_add(schema, schema_size);
                free(schema);
            }
        }
        if (event == ARROW_BATCH) {
            cr_assert_eq(arrow_batch_validate(&batch, arrow_reader_schema(reader), &err), EXEC_OK);
            batch_print(&lines, &batch);
            if (rewrite) {
                batch_write(batch.columns, batch.column_count, batch.row_count);
            }
            free(batch.body);
            arrow_batch_fini(&batch);
        }
    }
    arrow_reader_destroy(reader);
}

Test(arrow_writer, what_is_written_reads_the_same)
{
    size_t size, text_size;
    uint8_t *bytes = data_read("all_types.arrows", &size);
    uint8_t *text = data_read("all_types.txt", &text_size);
    const char *path = getenv("ARROW_WRITER_OUT"); /* for a look with other tools */

    stream_print(bytes, size, true);
    stream_add(arrow_end_of_stream, ARROW_EOS_BYTES);
    stream_print(stream, stream_size, false);
    cr_assert_str_eq(lines.text, (char *)text);
    if (path != NULL) {
        FILE *file = fopen(path, "wb");
        cr_assert_not_null(file);
        cr_assert_eq(fwrite(stream, 1, stream_size, file), stream_size);
        fclose(file);
    }
    free(bytes);
    free(text);
}

Test(arrow_writer, pieces_point_into_the_columns)
{
    static const int64_t numbers[3] = {1, 2, 3};
    static const int32_t offsets[4] = {0, 1, 1, 3};
    static const uint8_t validity[1] = {0x05};
    static const char text[] = "abc";
    const struct exec_column_buffers columns[] = {
        {.type = {.kind = EXEC_TYPE_INT64}, .row_count = 3, .values = numbers, .values_bytes = 24},
        {.type = {.kind = EXEC_TYPE_UTF8},
         .row_count = 3,
         .null_count = 1,
         .validity = validity,
         .values = text,
         .values_bytes = 3,
         .offsets = offsets,
         .offset_bytes = 4},
    };
    const void *expected[] = {numbers, validity, offsets, text};
    const size_t sizes[] = {24, 1, 16, 3};
    struct arrow_batch_message message;

    cr_assert_eq(arrow_write_batch(columns, 2, 3, &message), 0);
    cr_assert_eq(message.piece_count, 9); /* header, four buffers, each with padding */
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert_eq(message.pieces[1 + 2 * i].bytes, expected[i]);
        cr_assert_eq(message.pieces[1 + 2 * i].size, sizes[i]);
        cr_assert_eq(
            (message.pieces[1 + 2 * i].size + message.pieces[2 + 2 * i].size) % ALIGN_BYTES, 0);
    }
    arrow_batch_message_fini(&message);
}

Test(arrow_writer, no_rows_and_no_columns)
{
    const struct exec_column_buffers columns[] = {{.type = {.kind = EXEC_TYPE_UTF8}},
                                                  {.type = {.kind = EXEC_TYPE_BOOL}}};
    const struct exec_field fields[] = {{.name = "a", .type = {.kind = EXEC_TYPE_UTF8}},
                                        {.name = "b", .type = {.kind = EXEC_TYPE_BOOL}}};
    const struct exec_schema schemas[] = {{fields, 2}, {NULL, 0}};

    for (uint32_t i = 0; i < 2; i++) {
        size_t size;
        uint8_t *schema = arrow_write_schema(&schemas[i], &size);
        cr_assert_not_null(schema);
        stream_size = 0;
        stream_add(schema, size);
        free(schema);
        batch_write(columns, schemas[i].field_count, 0);
        stream_add(arrow_end_of_stream, ARROW_EOS_BYTES);
        stream_print(stream, stream_size, false);
        cr_assert_str_eq(lines.text, i == 0 ? "a utf8|b bool\n" : "\n");
    }
}

Test(arrow_writer, more_than_two_gib_of_text_is_refused)
{
    static const int64_t offsets[2] = {0, INT64_C(1) << 31};
    const struct exec_column_buffers column = {.type = {.kind = EXEC_TYPE_UTF8},
                                               .row_count = 1,
                                               .values = "",
                                               .values_bytes = (size_t)1 << 31,
                                               .offsets = offsets,
                                               .offset_bytes = 8};
    struct arrow_batch_message message;

    cr_assert_eq(arrow_write_batch(&column, 1, 1, &message), -1);
}
