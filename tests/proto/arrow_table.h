#ifndef ARROW_TABLE_H
#define ARROW_TABLE_H

#include "proto/arrow_reader.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Files of tests/proto/data, and rows of Arrow streams as text, one row a line, columns separated
 * by
 * '|', NULL as "null", binary as hex: the form of the .txt beside each golden stream. */

static inline uint8_t *data_read(const char *name, size_t *size_out)
{
    char path[4096];
    FILE *file;
    uint8_t *bytes = malloc(1 << 20);

    snprintf(path, sizeof path, "%s/%s", PROTO_DATA_DIR, name);
    file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    cr_assert_not_null(bytes);
    *size_out = fread(bytes, 1, (1 << 20) - 1, file);
    bytes[*size_out] = '\0';
    fclose(file);
    return bytes;
}

/* A growing text. */
struct lines {
    char text[1 << 17];
    size_t size;
};

__attribute__((format(printf, 2, 3))) static inline void lines_add(struct lines *lines,
                                                                   const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    lines->size +=
        (size_t)vsnprintf(lines->text + lines->size, sizeof lines->text - lines->size, fmt, args);
    va_end(args);
    cr_assert_lt(lines->size, sizeof lines->text);
}

static inline int64_t offset_at(const struct exec_column_buffers *column, uint64_t row)
{
    int64_t wide;
    int32_t narrow;
    if (column->offset_bytes == 8) {
        memcpy(&wide, (const uint8_t *)column->offsets + row * 8, 8);
        return wide;
    }
    memcpy(&narrow, (const uint8_t *)column->offsets + row * 4, 4);
    return narrow;
}

static inline bool bit_at(const uint8_t *bits, uint64_t row)
{
    return (bits[row / 8] >> (row % 8) & 1) != 0;
}

#define LOAD(type, column, row)                                                       \
    ({                                                                                \
        type load_value;                                                              \
        memcpy(&load_value, (const uint8_t *)(column)->values + (row) * sizeof(type), \
               sizeof(type));                                                         \
        load_value;                                                                   \
    })

static inline void value_print(struct lines *lines, const struct exec_column_buffers *column,
                               uint64_t row);

static inline void index_print(struct lines *lines, const struct exec_column_buffers *column,
                               uint64_t row)
{
    int64_t index = 0;
    switch (column->index_bytes) {
        case 1: index = LOAD(int8_t, column, row); break;
        case 2: index = LOAD(int16_t, column, row); break;
        case 4: index = LOAD(int32_t, column, row); break;
        default: index = LOAD(int64_t, column, row); break;
    }
    value_print(lines, column->dictionary, (uint64_t)index);
}

static inline void bytes_print(struct lines *lines, const struct exec_column_buffers *column,
                               uint64_t row)
{
    const int64_t begin = offset_at(column, row), end = offset_at(column, row + 1);
    const char *bytes = (const char *)column->values + begin;

    if (column->type.kind == EXEC_TYPE_UTF8) {
        lines_add(lines, "%.*s", (int)(end - begin), bytes);
        return;
    }
    for (int64_t i = 0; i < end - begin; i++) {
        lines_add(lines, "%02x", (unsigned char)bytes[i]);
    }
}

static inline void value_print(struct lines *lines, const struct exec_column_buffers *column,
                               uint64_t row)
{
    if (column->validity != NULL && !bit_at(column->validity, row)) {
        lines_add(lines, "null");
        return;
    }
    if (column->index_bytes != 0) {
        index_print(lines, column, row);
        return;
    }
    switch (column->type.kind) {
        case EXEC_TYPE_BOOL: lines_add(lines, "%d", bit_at(column->values, row)); break;
        case EXEC_TYPE_INT8: lines_add(lines, "%d", LOAD(int8_t, column, row)); break;
        case EXEC_TYPE_INT16: lines_add(lines, "%d", LOAD(int16_t, column, row)); break;
        case EXEC_TYPE_DATE32:
        case EXEC_TYPE_INT32: lines_add(lines, "%d", LOAD(int32_t, column, row)); break;
        case EXEC_TYPE_TIMESTAMP:
        case EXEC_TYPE_INT64:
            lines_add(lines, "%lld", (long long)LOAD(int64_t, column, row));
            break;
        case EXEC_TYPE_UINT8: lines_add(lines, "%u", LOAD(uint8_t, column, row)); break;
        case EXEC_TYPE_UINT16: lines_add(lines, "%u", LOAD(uint16_t, column, row)); break;
        case EXEC_TYPE_UINT32: lines_add(lines, "%u", LOAD(uint32_t, column, row)); break;
        case EXEC_TYPE_UINT64:
            lines_add(lines, "%llu", (unsigned long long)LOAD(uint64_t, column, row));
            break;
        case EXEC_TYPE_FLOAT32: lines_add(lines, "%.9g", (double)LOAD(float, column, row)); break;
        case EXEC_TYPE_FLOAT64: lines_add(lines, "%.17g", LOAD(double, column, row)); break;
        case EXEC_TYPE_DECIMAL128:
            /* the goldens' decimals fit 64 bits, unscaled */
            lines_add(lines, "%lld", (long long)LOAD(__int128, column, row));
            break;
        default: bytes_print(lines, column, row); break;
    }
}

static inline void batch_print(struct lines *lines, const struct arrow_batch *batch)
{
    for (uint64_t row = 0; row < batch->row_count; row++) {
        for (uint32_t i = 0; i < batch->column_count; i++) {
            lines_add(lines, i == 0 ? "" : "|");
            value_print(lines, &batch->columns[i], row);
        }
        lines_add(lines, "\n");
    }
}

static inline void schema_print(struct lines *lines, const struct exec_schema *schema)
{
    char text[EXEC_TYPE_TEXT_BYTES];
    for (uint32_t i = 0; i < schema->field_count; i++) {
        lines_add(lines, "%s%s %s%s", i == 0 ? "" : "|", schema->fields[i].name,
                  exec_type_text(&schema->fields[i].type, text),
                  schema->fields[i].not_null ? " not null" : "");
    }
    lines_add(lines, "\n");
}

#endif
