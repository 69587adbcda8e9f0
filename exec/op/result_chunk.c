#include "op/result_chunk.h"

#include "vec/string_view.h"

#include <inttypes.h>
#include <string.h>

enum {
    BUFFER_ALIGN = 64,
    CHUNK_ROWS_MAX = 1 << 20,
    STRING_SLACK_BYTES = 256, /* so that a few longer values do not end a small chunk early */
};

static size_t align_up(size_t bytes)
{
    return (bytes + BUFFER_ALIGN - 1) / BUFFER_ALIGN * BUFFER_ALIGN;
}

static bool is_string(const struct exec_type *type)
{
    return type->kind == EXEC_TYPE_UTF8 || type->kind == EXEC_TYPE_BINARY;
}

static size_t bitmap_bytes(uint32_t rows)
{
    return (rows + 7u) / 8u;
}

static const struct string_view *vec_views(const struct vec *vec)
{
    return vec->data;
}

static double mean_bytes(const struct result_shape *shape, uint32_t column)
{
    return atomic_load_explicit(&shape->mean_bytes[column], memory_order_relaxed);
}

static uint32_t value_index(const struct vec *vec, uint32_t row)
{
    return vec->constant ? 0 : row;
}

static uint32_t string_bytes(const struct vec *vec, uint32_t row)
{
    return vec_is_valid(vec, row) ? vec_views(vec)[value_index(vec, row)].size : 0;
}

struct result_chunk *result_chunk_create(const struct result_shape *shape, struct nu_arena *arena)
{
    const uint32_t columns = shape->schema->field_count;
    struct result_chunk *chunk =
        nu_arena_calloc(arena, sizeof *chunk, _Alignof(struct result_chunk));

    if (chunk == NULL) {
        return NULL;
    }
    chunk->buffers = nu_arena_calloc(arena, columns * sizeof *chunk->buffers, BUFFER_ALIGN);
    chunk->columns = nu_arena_calloc(arena, columns * sizeof *chunk->columns, BUFFER_ALIGN);
    return chunk->buffers == NULL || chunk->columns == NULL ? NULL : chunk;
}

/* ---- room
 * ------------------------------------------------------------------------------------------ */

static uint32_t rows_for(const struct result_shape *shape, size_t target_bytes)
{
    double row_bytes = 0;

    for (uint32_t c = 0; c < shape->schema->field_count; c++) {
        const struct exec_type *type = &shape->schema->fields[c].type;
        row_bytes += 1.0 / 8;
        if (is_string(type)) {
            row_bytes += sizeof(int32_t) + mean_bytes(shape, c);
        } else if (type->kind == EXEC_TYPE_BOOL) {
            row_bytes += 1.0 / 8;
        } else {
            row_bytes += (double)exec_type_width(type->kind);
        }
    }
    const double rows = (double)target_bytes / row_bytes;
    const uint32_t most =
        shape->rows_max != 0 && shape->rows_max < CHUNK_ROWS_MAX ? shape->rows_max : CHUNK_ROWS_MAX;
    return rows < 1 ? 1 : rows > most ? most : (uint32_t)rows;
}

/* Places the buffers of every column behind one another; with base NULL only measures. */
static size_t buffers_place(struct result_chunk *chunk, const struct result_shape *shape,
                            unsigned char *base)
{
    const uint32_t rows = chunk->row_capacity;
    size_t at = 0;

    for (uint32_t c = 0; c < shape->schema->field_count; c++) {
        const struct exec_type *type = &shape->schema->fields[c].type;
        struct result_column *column = &chunk->columns[c];
        size_t values_bytes = rows * exec_type_width(type->kind);

        if (is_string(type)) {
            values_bytes = column->values_capacity;
        } else if (type->kind == EXEC_TYPE_BOOL) {
            values_bytes = bitmap_bytes(rows);
        }
        if (base != NULL) {
            column->validity = base + at;
            column->values = base + at + align_up(bitmap_bytes(rows));
        }
        at += align_up(bitmap_bytes(rows)) + align_up(values_bytes);
        if (is_string(type)) {
            column->offsets = base == NULL ? NULL : (int32_t *)(void *)(base + at);
            at += align_up((rows + (size_t)1) * sizeof(int32_t));
        }
    }
    return at;
}

static enum exec_code span_resize(struct result_chunk *chunk, const struct result_shape *shape,
                                  size_t bytes, unsigned node, struct exec_error *err)
{
    const size_t wanted = (bytes + NU_PAGE_BYTES - 1) / NU_PAGE_BYTES * NU_PAGE_BYTES;

    if (chunk->span != NULL && chunk->span_bytes >= wanted && chunk->span_bytes / 2 <= wanted) {
        return EXEC_OK;
    }
    result_chunk_free(chunk, shape);
    const struct nu_budget *refused = nu_budget_charge(&shape->job->budget, wanted);
    if (refused != NULL) {
        return job_memory_error(err, refused, "a chunk of the result");
    }
    chunk->span = nu_page_pool_take(shape->job->pages, node, wanted);
    if (chunk->span == NULL) {
        nu_budget_refund(&shape->job->budget, wanted);
        return job_memory_error(err, NULL, "a chunk of the result");
    }
    chunk->span_bytes = wanted;
    chunk->span_node = node;
    return EXEC_OK;
}

enum exec_code result_chunk_open(struct result_chunk *chunk, const struct result_shape *shape,
                                 size_t target_bytes, unsigned node, const struct batch *batch,
                                 uint32_t position, struct exec_error *err)
{
    const uint32_t row = batch_row(batch, position);

    chunk->row_count = 0;
    chunk->row_capacity = rows_for(shape, target_bytes);
    for (uint32_t c = 0; c < shape->schema->field_count; c++) {
        struct result_column *column = &chunk->columns[c];

        *column = (struct result_column){0};
        if (is_string(&shape->schema->fields[c].type)) {
            const uint32_t needed = string_bytes(&batch->columns[shape->positions[c]], row);
            const double mean = mean_bytes(shape, c) * chunk->row_capacity + STRING_SLACK_BYTES;

            if (needed > INT32_MAX) {
                return EXEC_FAIL(err, EXEC_LIMIT,
                                 "column '%s': a value of %" PRIu32
                                 " bytes does not fit a result (%d bytes)",
                                 shape->schema->fields[c].name, needed, INT32_MAX);
            }
            column->values_capacity = mean > INT32_MAX ? INT32_MAX : (size_t)mean;
            if (column->values_capacity < needed) {
                column->values_capacity = needed;
            }
        }
    }
    const size_t bytes = buffers_place(chunk, shape, NULL);
    if (span_resize(chunk, shape, bytes, node, err) != EXEC_OK) {
        return err->code;
    }
    buffers_place(chunk, shape, chunk->span);
    for (uint32_t c = 0; c < shape->schema->field_count; c++) {
        if (chunk->columns[c].offsets != NULL) {
            chunk->columns[c].offsets[0] = 0;
        }
    }
    return EXEC_OK;
}

/* ---- writing
 * ----------------------------------------------------------------------------------------- */

/* Bits beyond the last written one of its byte may be stale: a write at a byte boundary clears
 * them. */
static void bit_append(uint8_t *bits, uint32_t at, bool value)
{
    if (at % 8 == 0) {
        bits[at / 8] = value;
    } else {
        bits[at / 8] = (uint8_t)(bits[at / 8] | (value << (at % 8)));
    }
}

static void bits_append_ones(uint8_t *bits, uint32_t at, uint32_t count)
{
    for (; count != 0 && at % 8 != 0; at++, count--) {
        bit_append(bits, at, true);
    }
    memset(bits + at / 8, 0xff, count / 8);
    at += count / 8 * 8;
    for (uint32_t i = 0; i < count % 8; i++) {
        bit_append(bits, at + i, true);
    }
}

static void validity_append(struct result_column *column, const struct batch *batch,
                            const struct vec *vec, uint32_t position, uint32_t count, uint32_t at)
{
    if (vec->valid == NULL) {
        bits_append_ones(column->validity, at, count);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const bool valid = vec_is_valid(vec, batch_row(batch, position + i));
        bit_append(column->validity, at + i, valid);
        column->null_count += !valid;
    }
}

#define APPEND_FIXED(type)                                                  \
    do {                                                                    \
        const type *from = vec->data;                                       \
        type *to = (type *)(void *)(column->values) + at;                   \
        for (uint32_t i = 0; i < count; i++) {                              \
            to[i] = from[value_index(vec, batch_row(batch, position + i))]; \
        }                                                                   \
    } while (0)

struct sixteen_bytes {
    uint64_t words[2];
};

static void fixed_append(struct result_column *column, const struct batch *batch,
                         const struct vec *vec, uint32_t position, uint32_t count, uint32_t at)
{
    const size_t width = exec_type_width(vec->kind);

    if (!vec->constant && batch->sel == NULL) {
        memcpy(column->values + at * width, (const unsigned char *)vec->data + position * width,
               count * width);
        return;
    }
    switch (width) {
        case 1: APPEND_FIXED(uint8_t); break;
        case 2: APPEND_FIXED(uint16_t); break;
        case 4: APPEND_FIXED(uint32_t); break;
        case 8: APPEND_FIXED(uint64_t); break;
        default: APPEND_FIXED(struct sixteen_bytes); break;
    }
}

static void bool_append(struct result_column *column, const struct batch *batch,
                        const struct vec *vec, uint32_t position, uint32_t count, uint32_t at)
{
    const uint8_t *values = vec->data;

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t row = batch_row(batch, position + i);
        bit_append(column->values, at + i,
                   vec_is_valid(vec, row) && values[value_index(vec, row)] != 0);
    }
}

static void string_append(struct result_column *column, const struct batch *batch,
                          const struct vec *vec, uint32_t position, uint32_t count, uint32_t at)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t row = batch_row(batch, position + i);
        const uint32_t size = string_bytes(vec, row);

        if (size != 0) {
            memcpy(column->values + column->values_bytes,
                   string_view_bytes(&vec_views(vec)[value_index(vec, row)]), size);
        }
        column->values_bytes += size;
        column->offsets[at + i + 1] = (int32_t)column->values_bytes;
    }
}

static uint32_t strings_fitting(const struct result_column *column, const struct batch *batch,
                                const struct vec *vec, uint32_t position, uint32_t count)
{
    size_t left = column->values_capacity - column->values_bytes;

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t size = string_bytes(vec, batch_row(batch, position + i));
        if (size > left) {
            return i;
        }
        left -= size;
    }
    return count;
}

uint32_t result_chunk_append(struct result_chunk *chunk, const struct result_shape *shape,
                             const struct batch *batch, uint32_t position)
{
    const uint32_t at = chunk->row_count;
    uint32_t count = batch->sel_count - position;

    if (count > chunk->row_capacity - at) {
        count = chunk->row_capacity - at;
    }
    for (uint32_t c = 0; c < shape->schema->field_count; c++) {
        if (chunk->columns[c].offsets != NULL) {
            count = strings_fitting(&chunk->columns[c], batch, &batch->columns[shape->positions[c]],
                                    position, count);
        }
    }
    for (uint32_t c = 0; c < shape->schema->field_count; c++) {
        struct result_column *column = &chunk->columns[c];
        const struct vec *vec = &batch->columns[shape->positions[c]];

        validity_append(column, batch, vec, position, count, at);
        if (column->offsets != NULL) {
            string_append(column, batch, vec, position, count, at);
        } else if (vec->kind == EXEC_TYPE_BOOL) {
            bool_append(column, batch, vec, position, count, at);
        } else {
            fixed_append(column, batch, vec, position, count, at);
        }
    }
    chunk->row_count += count;
    return count;
}

void result_chunk_seal(struct result_chunk *chunk, const struct result_shape *shape)
{
    const uint32_t rows = chunk->row_count;
    uint64_t bytes = 0;

    for (uint32_t c = 0; c < shape->schema->field_count; c++) {
        const struct result_column *column = &chunk->columns[c];
        const struct exec_type *type = &shape->schema->fields[c].type;
        struct exec_column_buffers *buffers = &chunk->buffers[c];

        *buffers = (struct exec_column_buffers){
            .type = *type,
            .row_count = rows,
            .null_count = column->null_count,
            .validity = column->null_count == 0 ? NULL : column->validity,
            .values = column->values,
            .values_bytes = column->offsets != NULL        ? column->values_bytes
                            : type->kind == EXEC_TYPE_BOOL ? bitmap_bytes(rows)
                                                           : rows * exec_type_width(type->kind),
            .offsets = column->offsets,
            .offset_bytes = column->offsets != NULL ? sizeof(int32_t) : 0,
        };
        bytes += buffers->values_bytes + (buffers->validity == NULL ? 0 : bitmap_bytes(rows)) +
                 (column->offsets == NULL ? 0 : (rows + (size_t)1) * sizeof(int32_t));
    }
    chunk->chunk.columns = chunk->buffers;
    chunk->chunk.column_count = shape->schema->field_count;
    chunk->chunk.row_count = rows;
    chunk->chunk.byte_count = bytes;
}

void result_chunk_free(struct result_chunk *chunk, const struct result_shape *shape)
{
    if (chunk->span != NULL) {
        nu_page_pool_give(shape->job->pages, chunk->span_node, chunk->span, chunk->span_bytes);
        nu_budget_refund(&shape->job->budget, chunk->span_bytes);
        chunk->span = NULL;
        chunk->span_bytes = 0;
    }
}
