#include "arrow_column.h"

#include "wire_utf8.h"

#include <inttypes.h>
#include <string.h>

bool arrow_column_is_null(const struct exec_column_buffers *column, uint64_t row)
{
    return column->validity != NULL && (column->validity[row / 8] >> (row % 8) & 1) == 0;
}

int64_t arrow_column_offset(const struct exec_column_buffers *column, uint64_t row)
{
    const uint8_t *offsets = column->offsets;

    if (column->offset_bytes == 8) {
        int64_t offset;
        memcpy(&offset, offsets + row * sizeof offset, sizeof offset);
        return offset;
    }
    int32_t offset;
    memcpy(&offset, offsets + row * sizeof offset, sizeof offset);
    return offset;
}

int64_t arrow_column_index(const struct exec_column_buffers *column, uint64_t row)
{
    const uint8_t *indices = (const uint8_t *)column->values + row * column->index_bytes;
    int16_t index16;
    int32_t index32;
    int64_t index64;

    switch (column->index_bytes) {
        case 1: return (int8_t)indices[0];
        case 2: memcpy(&index16, indices, sizeof index16); return index16;
        case 4: memcpy(&index32, indices, sizeof index32); return index32;
        default: memcpy(&index64, indices, sizeof index64); return index64;
    }
}

enum exec_code arrow_column_check_plain(const struct exec_column_buffers *column, const char *name,
                                        struct exec_error *err)
{
    int64_t begin;

    if (column->offset_bytes == 0) {
        return EXEC_OK;
    }
    begin = arrow_column_offset(column, 0);
    if (begin < 0) {
        return EXEC_FAIL(err, EXEC_BAD_DATA, "arrow column '%.64s': the first offset is negative",
                         name);
    }
    for (uint64_t row = 0; row < column->row_count; row++) {
        const int64_t end = arrow_column_offset(column, row + 1);
        if (end < begin || (uint64_t)end > column->values_bytes) {
            return EXEC_FAIL(err, EXEC_BAD_DATA,
                             "arrow column '%.64s', row %" PRIu64 ": offsets %" PRId64
                             " and %" PRId64 " in %zu bytes",
                             name, row, begin, end, column->values_bytes);
        }
        if (column->type.kind == EXEC_TYPE_UTF8 && end != begin &&
            !arrow_column_is_null(column, row) &&
            !wire_utf8_valid((const uint8_t *)column->values + begin, (size_t)(end - begin))) {
            return EXEC_FAIL(err, EXEC_BAD_DATA,
                             "arrow column '%.64s', row %" PRIu64 ": the text is not UTF-8", name,
                             row);
        }
        begin = end;
    }
    return EXEC_OK;
}

enum exec_code arrow_column_check_indices(const struct exec_column_buffers *column,
                                          const char *name, struct exec_error *err)
{
    for (uint64_t row = 0; row < column->row_count; row++) {
        const int64_t index = arrow_column_index(column, row);
        if (arrow_column_is_null(column, row)) {
            continue;
        }
        if (index < 0 || (uint64_t)index >= column->dictionary->row_count) {
            return EXEC_FAIL(err, EXEC_BAD_DATA,
                             "arrow column '%.64s', row %" PRIu64 ": index %" PRId64
                             " in a dictionary of %" PRIu64,
                             name, row, index, column->dictionary->row_count);
        }
    }
    return EXEC_OK;
}
