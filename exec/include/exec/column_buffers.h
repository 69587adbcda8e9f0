#ifndef EXEC_COLUMN_BUFFERS_H
#define EXEC_COLUMN_BUFFERS_H

#include "exec/types.h"

/* One column of one batch in Arrow's memory layout, little-endian: what crosses the engine's door
 * in both directions, so that the wire writes it without a copy. Shapes for row_count rows:
 *
 *   bool               values: bitmap, bit r of byte r/8
 *   fixed width        values: row_count * width (decimal128: 16 bytes, two's complement)
 *   utf8, binary       offsets: row_count + 1 of int32 (offset_bytes 4) or int64 (8), monotone,
 *                      the first >= 0; values: the bytes they point into
 *   dictionary         (input only) `dictionary` is the value column, `values` are row_count
 * indices of index_bytes each (signed), offsets NULL
 *
 * Inputs may be unaligned and untrusted: exec_upload_append checks offsets, indices and UTF-8.
 * Outputs are 64-byte aligned and always plain. */
struct exec_column_buffers {
    struct exec_type type;
    uint64_t row_count;
    uint64_t null_count;
    const uint8_t *validity; /* bitmap, 1 = present; NULL when null_count == 0 */
    const void *values;
    size_t values_bytes;
    const void *offsets;
    uint8_t offset_bytes; /* 0, 4 or 8 */
    uint8_t index_bytes;  /* 0: plain; 1, 2, 4, 8: dictionary indices */
    const struct exec_column_buffers *dictionary;
};

#endif
