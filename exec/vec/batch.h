#ifndef EXEC_VEC_BATCH_H
#define EXEC_VEC_BATCH_H

#include "exec/types.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    BATCH_ROWS = 1024,
    BATCH_WORDS = BATCH_ROWS / 64,
};

/* One column of a batch: a borrowed view into a table chunk or into scratch memory.
 *
 *   data   row_count values of exec_type_width(kind) bytes, aligned to their width at least;
 *          bool: one byte, 0 or 1; utf8 and binary: struct string_view. Values under a cleared
 *          validity bit are undefined but readable (a view there has size 0).
 *   valid  bit r % 64 of word r / 64 set: row r is present. NULL: no nulls.
 *
 * `constant`: data and bit 0 of valid[0] hold one value for all rows. Whoever reads a vec handles
 * both forms or calls vec_flatten first. */
struct dictionary; /* table/dictionary.h */
struct vec {
    const void *data;
    const uint64_t *valid;
    uint8_t kind; /* enum exec_type_kind */
    bool constant;
    /* A text column of a table with a dictionary may say the same a second time, as codes of 1, 2
     * or 4 bytes; NULL: it does not. Whoever makes a column of another leaves them out. */
    uint8_t code_bytes;
    const void *codes;
    const struct dictionary *dictionary;
};

/* At most BATCH_ROWS rows, column by column. `sel` lists the rows still alive, strictly ascending;
 * NULL: all of 0..row_count-1. Rows are not moved to filter them. Everything is borrowed; a batch
 * is valid until the push() it was handed to returns. */
struct batch {
    uint32_t row_count;
    uint32_t sel_count; /* == row_count when sel is NULL */
    const uint16_t *sel;
    struct vec *columns;
    uint32_t column_count;
};

static inline bool bitmap_get(const uint64_t *bits, uint32_t row)
{
    return (bits[row / 64] >> (row % 64)) & 1;
}

static inline bool vec_is_valid(const struct vec *vec, uint32_t row)
{
    return vec->valid == NULL || bitmap_get(vec->valid, vec->constant ? 0 : row);
}

static inline uint32_t batch_row(const struct batch *batch, uint32_t position)
{
    return batch->sel == NULL ? position : batch->sel[position];
}

#endif
