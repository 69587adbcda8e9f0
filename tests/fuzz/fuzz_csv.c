/* Goal:   no text makes the CSV reader fail an assertion or touch memory that is not its own, and
 * no text reads differently when it comes in blocks. Method: the first byte chooses dialect and
 * block size; the head gives names and types, then all rows are read once from one text and once
 * through a window fed block by block: batches and the first fault must be the same. */
#include "io/csv_head.h"
#include "io/csv_rows.h"
#include "vec/string_view.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_BYTES_MAX = 64 << 10 };

struct reading {
    const struct csv_layout *layout;
    struct csv_rows rows;
    struct csv_text text;
    struct csv_fault fault;
    uint64_t digest, row_count;
};

static void mix(struct reading *reading, const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < size; i++) {
        reading->digest = (reading->digest ^ byte[i]) * UINT64_C(1099511628211);
    }
}

static void take_batch(struct reading *reading)
{
    struct batch batch;
    csv_rows_batch(&reading->rows, reading->layout, &batch);
    for (uint32_t row = 0; row < batch.row_count; row++) {
        for (uint32_t c = 0; c < batch.column_count; c++) {
            const struct vec *vec = &batch.columns[c];
            const size_t width = exec_type_width(vec->kind);
            const bool valid = vec_is_valid(vec, row);
            mix(reading, &valid, sizeof valid);
            if (valid && vec->kind == EXEC_TYPE_UTF8) {
                const struct string_view *view = &((const struct string_view *)vec->data)[row];
                mix(reading, &view->size, sizeof view->size);
                mix(reading, string_view_bytes(view), view->size);
            } else if (valid) {
                mix(reading, (const unsigned char *)vec->data + row * width, width);
            }
        }
    }
    reading->row_count += batch.row_count;
    csv_rows_reset(&reading->rows, reading->layout);
}

/* Reads `size` bytes, at most `block` more of them at a time; returns how it ended. */
static enum csv_read read_all(struct reading *reading, const char *bytes, size_t size, size_t block)
{
    char *window = malloc(size + CSV_SLACK_BYTES);
    size_t given = 0;
    enum csv_read read = CSV_READ_CUT;

    csv_text_set(&reading->text, window, window, false);
    do {
        if (read == CSV_READ_CUT) {
            const size_t rest = (size_t)(reading->text.end - reading->text.at);
            const size_t more = size - given < block ? size - given : block;
            memmove(window, reading->text.at, rest);
            memcpy(window + rest, bytes + given, more);
            given += more;
            csv_text_set(&reading->text, window, window + rest + more, given == size);
        }
        read =
            csv_rows_read(&reading->rows, reading->layout, &reading->text, NULL, &reading->fault);
        take_batch(reading);
    } while (read != CSV_READ_END && read != CSV_READ_FAULT);
    free(window);
    return read;
}

static void reading_init(struct reading *reading, const struct csv_layout *layout, void *memory)
{
    *reading = (struct reading){.layout = layout, .digest = 1};
    csv_rows_init(&reading->rows, layout, memory);
}

static void compare(const struct csv_layout *layout, const char *bytes, size_t size, size_t block)
{
    const size_t room = (csv_rows_bytes(layout) + 63) / 64 * 64;
    void *memory = aligned_alloc(64, room);
    struct reading whole;
    struct reading cut;

    assert(memory != NULL);
    reading_init(&whole, layout, memory);
    const enum csv_read whole_read = read_all(&whole, bytes, size, size + 1);
    reading_init(&cut, layout, memory);
    const enum csv_read cut_read = read_all(&cut, bytes, size, block);
    assert(whole_read == cut_read);
    assert(whole.row_count == cut.row_count);
    assert(whole.digest == cut.digest);
    if (whole_read == CSV_READ_FAULT) {
        struct exec_error err;
        assert(whole.fault.kind == cut.fault.kind);
        assert(whole.fault.line_feeds == cut.fault.line_feeds);
        assert(whole.fault.column == cut.fault.column);
        csv_fault_report(&whole.fault, layout, "fuzz", whole.fault.line_feeds + 1, &err);
    }
    free(memory);
}

static void read_file(struct nu_arena *arena, uint8_t choice, const char *bytes, size_t size)
{
    static const char *const null_texts[] = {"NA", "null"};
    struct csv_layout layout = {.dialect = {.delimiter = choice & 1 ? ';' : ',',
                                            .quote = choice & 2 ? '\'' : '"',
                                            .thousands = choice & 8 ? ',' : '\0'},
                                .nulls = csv_null_texts_make(null_texts, 2)};
    struct csv_head head;
    struct exec_error err;
    char *text = malloc(size + CSV_SLACK_BYTES);

    assert(text != NULL);
    memcpy(text, bytes, size);
    if (csv_head_read(&head, &layout.dialect, &layout.nulls, (choice & 4) == 0, "fuzz", text, size,
                      (choice & 8) == 0, arena, &err) == EXEC_OK &&
        head.column_count <= 64) {
        struct csv_column columns[64];
        uint32_t outputs[64];
        for (uint32_t c = 0; c < head.column_count; c++) {
            columns[c] = (struct csv_column){
                .name = head.names[c], .type = csv_guess_type(&head.guesses[c]), .inferred = true};
            outputs[c] = head.column_count - 1 - c;
        }
        layout.columns = columns;
        layout.column_count = head.column_count;
        layout.outputs = outputs;
        layout.output_count = head.column_count;
        compare(&layout, bytes + head.rows_begin, size - head.rows_begin, 1 + (choice >> 4) * 7);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct nu_topology topology = {.node_count = 1, .cpu_count = 1};
    static struct nu_page_pool *pool;
    static struct nu_budget budget;
    struct nu_arena arena;

    if (size < 1 || size > TEXT_BYTES_MAX) {
        return 0;
    }
    if (pool == NULL) {
        assert(nu_page_pool_create(&topology, 1 << 20, &pool) == 0);
        nu_budget_init(&budget, "fuzz", UINT64_MAX, NULL);
    }
    nu_arena_init(&arena, pool, 0, &budget);
    read_file(&arena, data[0], (const char *)data + 1, size - 1);
    nu_arena_destroy(&arena);
    return 0;
}
