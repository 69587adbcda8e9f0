/* Goal:   streams of another Arrow library are read to the rows that library says are in them,
 * however the bytes are split; damaged streams end in an error and never touch memory outside.
 * Method: golden streams written by pyarrow beside the rows as text; every split in two, small
 * steps; every truncation; every byte replaced by several values; limits set low. */
#include "arrow_table.h"

#include "proto/arrow_writer.h"

#include <pthread.h>

static const char *const goldens[] = {
    "all_types",        "empty", "dictionary", "dictionary_delta", "dictionary_replace",
    "dictionary_uint8",
};
enum { GOLDENS = sizeof goldens / sizeof goldens[0], MESSAGE_BYTES_MAX = 1 << 20 };

struct outcome {
    enum arrow_event last; /* ARROW_MORE: the stream stopped short */
    struct exec_error err;
    bool boundary;
};

static void events_take(struct arrow_reader *reader, const uint8_t *bytes, size_t size,
                        struct lines *lines, struct outcome *outcome)
{
    size_t at = 0;

    do {
        struct arrow_batch batch;
        struct exec_error ignored;
        size_t used;
        outcome->last =
            arrow_reader_feed(reader, bytes + at, size - at, &used, &batch, &outcome->err);
        at += used;
        if (outcome->last == ARROW_SCHEMA && lines != NULL) {
            schema_print(lines, arrow_reader_schema(reader));
        }
        if (outcome->last == ARROW_BATCH) {
            const bool good =
                arrow_batch_validate(&batch, arrow_reader_schema(reader), &ignored) == EXEC_OK;
            if (good && lines != NULL) {
                batch_print(lines, &batch);
            }
            free(batch.body);
            arrow_batch_fini(&batch);
        }
    } while (outcome->last != ARROW_ERROR && outcome->last != ARROW_END && at < size);
}

static struct outcome stream_read(const uint8_t *bytes, size_t size, size_t first, size_t step,
                                  struct lines *lines)
{
    struct arrow_reader *reader = arrow_reader_create(MESSAGE_BYTES_MAX);
    struct outcome outcome = {.last = ARROW_MORE};
    size_t at = 0;

    cr_assert_not_null(reader);
    if (lines != NULL) {
        lines->size = 0;
    }
    while (at < size && outcome.last != ARROW_ERROR) {
        size_t piece = at == 0 && first != 0 ? first : step;
        uint8_t *copy;
        piece = piece < size - at ? piece : size - at;
        copy = malloc(piece); /* its own block: an overrun is seen by AddressSanitizer */
        memcpy(copy, bytes + at, piece);
        events_take(reader, copy, piece, lines, &outcome);
        free(copy);
        at += piece;
    }
    outcome.boundary = arrow_reader_at_boundary(reader);
    arrow_reader_destroy(reader);
    return outcome;
}

static struct lines lines;

Test(arrow_reader, reads_what_pyarrow_wrote)
{
    for (size_t i = 0; i < GOLDENS; i++) {
        char name[64];
        size_t size, text_size;
        snprintf(name, sizeof name, "%s.arrows", goldens[i]);
        uint8_t *bytes = data_read(name, &size);
        snprintf(name, sizeof name, "%s.txt", goldens[i]);
        uint8_t *text = data_read(name, &text_size);

        const struct outcome outcome = stream_read(bytes, size, size, size, &lines);
        cr_assert_eq(outcome.last, ARROW_END, "%s: %s", goldens[i], outcome.err.detail);
        cr_assert(outcome.boundary);
        cr_assert_str_eq(lines.text, (char *)text, "%s", goldens[i]);
        free(bytes);
        free(text);
    }
}

Test(arrow_reader, any_split_gives_the_same)
{
    for (size_t i = 0; i < GOLDENS; i++) {
        char name[64];
        size_t size, text_size;
        snprintf(name, sizeof name, "%s.arrows", goldens[i]);
        uint8_t *bytes = data_read(name, &size);
        snprintf(name, sizeof name, "%s.txt", goldens[i]);
        uint8_t *text = data_read(name, &text_size);

        for (size_t first = 1; first < size; first += first < 400 ? 1 : 13) {
            const struct outcome outcome = stream_read(bytes, size, first, size, &lines);
            cr_assert_eq(outcome.last, ARROW_END);
            cr_assert_str_eq(lines.text, (char *)text, "%s split at %zu", goldens[i], first);
        }
        for (size_t step = 1; step < 100; step = step * 2 + 1) {
            const struct outcome outcome = stream_read(bytes, size, 0, step, &lines);
            cr_assert_eq(outcome.last, ARROW_END);
            cr_assert_str_eq(lines.text, (char *)text, "%s by %zu", goldens[i], step);
        }
        free(bytes);
        free(text);
    }
}

Test(arrow_reader, a_truncated_stream_never_ends)
{
    for (size_t i = 0; i < GOLDENS; i++) {
        char name[64];
        size_t size;
        snprintf(name, sizeof name, "%s.arrows", goldens[i]);
        uint8_t *bytes = data_read(name, &size);
        for (size_t cut = 0; cut < size; cut++) {
            const struct outcome outcome = stream_read(bytes, cut, cut, cut, NULL);
            cr_assert_neq(outcome.last, ARROW_END, "%s cut at %zu", goldens[i], cut);
            cr_assert_neq(outcome.last, ARROW_ERROR, "%s cut at %zu", goldens[i], cut);
        }
        free(bytes);
    }
}

Test(arrow_reader, damage_is_survived)
{
    static const uint8_t masks[] = {0x01, 0x80, 0xFF, 0x10};

    for (size_t i = 0; i < GOLDENS; i++) {
        char name[64];
        size_t size, errors = 0;
        snprintf(name, sizeof name, "%s.arrows", goldens[i]);
        uint8_t *bytes = data_read(name, &size);
        for (size_t at = 0; at < size; at++) {
            const uint8_t before = bytes[at];
            bytes[at] ^= masks[at % sizeof masks];
            errors += stream_read(bytes, size, size, size, NULL).last == ARROW_ERROR;
            bytes[at] = before;
        }
        cr_assert_gt(errors, 10, "%s: damage is noticed", goldens[i]);
        free(bytes);
    }
}

/* ---- single rules --------------------------------------------------------------------------- */

static struct outcome fed(struct arrow_reader *reader, const void *bytes, size_t size)
{
    struct outcome outcome = {.last = ARROW_MORE};
    events_take(reader, bytes, size, NULL, &outcome);
    return outcome;
}

Test(arrow_reader, what_is_no_stream_is_said)
{
    static const struct {
        const char *bytes;
        const char *text;
    } rows[] = {
        {"ARROW1\0\0", "Arrow file"},
        {"PAR1abcd", "not an Arrow stream"},
        {"\xff\xff\xff\xff\0\0\0\0", "without a schema"},
        {"\xff\xff\xff\xff\xff\xff\xff\x7f", "metadata of 2147483647"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arrow_reader *reader = arrow_reader_create(MESSAGE_BYTES_MAX);
        const struct outcome outcome = fed(reader, rows[i].bytes, 8);
        cr_assert_eq(outcome.last, ARROW_ERROR);
        cr_assert_not_null(strstr(outcome.err.detail, rows[i].text), "%s", outcome.err.detail);
        cr_assert_eq(fed(reader, rows[i].bytes, 8).last, ARROW_ERROR, "stays refused");
        arrow_reader_destroy(reader);
    }
}

Test(arrow_reader, data_after_the_end_is_an_error)
{
    size_t size;
    uint8_t *bytes = data_read("empty.arrows", &size);
    struct arrow_reader *reader = arrow_reader_create(MESSAGE_BYTES_MAX);

    cr_assert_eq(fed(reader, bytes, size).last, ARROW_END);
    cr_assert_eq(fed(reader, bytes, 1).last, ARROW_ERROR);
    arrow_reader_destroy(reader);
    free(bytes);
}

Test(arrow_reader, the_message_limit_holds)
{
    size_t size;
    uint8_t *bytes = data_read("dictionary_uint8.arrows", &size);
    struct arrow_reader *reader = arrow_reader_create(1024);
    const struct outcome outcome = fed(reader, bytes, size);

    cr_assert_eq(outcome.last, ARROW_ERROR);
    cr_assert_eq(outcome.err.code, EXEC_LIMIT, "%s", outcome.err.detail);
    arrow_reader_destroy(reader);
    free(bytes);
}

Test(arrow_reader, unread_types_are_named)
{
    static const struct {
        const char *file;
        const char *text;
    } rows[] = {
        {"unread_list", "'l': type List"},
        {"unread_struct", "'st': type Struct_"},
        {"unread_float16", "'h': type float16"},
        {"unread_date64", "'d': type date64"},
        {"unread_time", "'t': type Time"},
        {"unread_decimal256", "'d': type decimal256"},
        {"unread_view", "'v': type Utf8View"},
        {"unread_dictionary", "'k': type dictionary of int32"},
        {"unread_compressed", "compression"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[64];
        size_t size;
        snprintf(name, sizeof name, "%s.arrows", rows[i].file);
        uint8_t *bytes = data_read(name, &size);
        const struct outcome outcome = stream_read(bytes, size, size, size, NULL);
        cr_assert_eq(outcome.last, ARROW_ERROR, "%s", rows[i].file);
        cr_assert_eq(outcome.err.code, EXEC_NOT_IMPLEMENTED, "%s", outcome.err.detail);
        cr_assert_not_null(strstr(outcome.err.detail, rows[i].text), "%s", outcome.err.detail);
        free(bytes);
    }
}

Test(arrow_reader, batches_outlive_the_reader)
{
    size_t size, used, at = 0;
    uint8_t *bytes = data_read("dictionary_replace.arrows", &size);
    struct arrow_reader *reader = arrow_reader_create(MESSAGE_BYTES_MAX);
    struct arrow_batch batches[3];
    struct exec_error err;
    uint32_t count = 0;
    enum arrow_event event;

    do {
        event = arrow_reader_feed(reader, bytes + at, size - at, &used, &batches[count % 3], &err);
        at += used;
        count += event == ARROW_BATCH;
    } while (event != ARROW_END && event != ARROW_ERROR);
    cr_assert_eq(count, 3);
    arrow_reader_destroy(reader);
    free(bytes);

    lines.size = 0;
    for (uint32_t i = 0; i < 3; i++) { /* each with the dictionary of its own time */
        value_print(&lines, &batches[i].columns[0], 0);
        free(batches[i].body);
        arrow_batch_fini(&batches[i]);
    }
    cr_assert_str_eq(lines.text, "apecowgnu");
}

/* A batch on another thread: checked and let go there while the reader goes on. */
static void *batch_end(void *owner)
{
    struct arrow_batch *batch = owner;
    const struct exec_schema schema = {NULL, 0};
    struct exec_error ignored;

    cr_assert_eq(arrow_batch_validate(batch, &schema, &ignored), EXEC_BAD_DATA); /* no column */
    for (uint32_t i = 0; i < batch->column_count; i++) {
        cr_assert_leq(batch->columns[i].dictionary->row_count, 5);
    }
    free(batch->body);
    arrow_batch_fini(batch);
    return NULL;
}

Test(arrow_reader, batches_end_on_other_threads)
{
    size_t size, used, at = 0;
    uint8_t *bytes = data_read("dictionary_delta.arrows", &size);
    struct arrow_reader *reader = arrow_reader_create(MESSAGE_BYTES_MAX);
    static struct arrow_batch batches[3];
    pthread_t threads[3];
    struct exec_error err;
    uint32_t count = 0;
    enum arrow_event event;

    do {
        event = arrow_reader_feed(reader, bytes + at, size - at, &used, &batches[count % 3], &err);
        at += used;
        if (event == ARROW_BATCH) {
            cr_assert_eq(pthread_create(&threads[count], NULL, batch_end, &batches[count]), 0);
            count++;
        }
    } while (event != ARROW_END && event != ARROW_ERROR);
    arrow_reader_destroy(reader);
    cr_assert_eq(count, 3);
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    }
    free(bytes);
}

Test(arrow_reader, validation_finds_bad_values)
{
    static const int32_t backwards[] = {0, 3, 1}, outside[] = {0, 1, 9}, good[] = {0, 2, 4};
    static const int8_t indices[] = {0, 2};
    const struct exec_field field = {.name = "c", .type = {.kind = EXEC_TYPE_UTF8}};
    const struct exec_schema schema = {&field, 1};
    struct exec_column_buffers column = {.type = field.type,
                                         .row_count = 2,
                                         .values = "ab\xC3\xA9",
                                         .values_bytes = 4,
                                         .offset_bytes = 4};
    struct arrow_batch batch = {.columns = &column, .column_count = 1, .row_count = 2};
    struct exec_error err;

    column.offsets = good;
    cr_assert_eq(arrow_batch_validate(&batch, &schema, &err), EXEC_OK);
    column.offsets = backwards;
    cr_assert_eq(arrow_batch_validate(&batch, &schema, &err), EXEC_BAD_DATA);
    column.offsets = outside;
    cr_assert_eq(arrow_batch_validate(&batch, &schema, &err), EXEC_BAD_DATA);
    column.offsets = good;
    column.values = "ab\xC3x";
    cr_assert_eq(arrow_batch_validate(&batch, &schema, &err), EXEC_BAD_DATA);
    cr_assert_not_null(strstr(err.detail, "'c', row 1"), "%s", err.detail);

    column.values = "abcd";
    struct exec_column_buffers coded = {.type = field.type,
                                        .row_count = 2,
                                        .values = indices,
                                        .values_bytes = 2,
                                        .index_bytes = 1,
                                        .dictionary = &column};
    batch.columns = &coded;
    cr_assert_eq(arrow_batch_validate(&batch, &schema, &err), EXEC_BAD_DATA);
    cr_assert_not_null(strstr(err.detail, "index 2 in a dictionary of 2"), "%s", err.detail);
}
