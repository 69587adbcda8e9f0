#ifndef EXEC_HASH_ROW_LAYOUT_H
#define EXEC_HASH_ROW_LAYOUT_H

#include "exec/types.h"
#include "numa/arena.h"
#include "vec/batch.h"

#include <stdbool.h>
#include <stdint.h>

/* Rows side by side, as join build rows, groups and sort rows are kept:
 *
 *   [ prefix_bytes for the owner | validity bits, one a column | values, each aligned to its width
 * ]
 *
 * Where nothing is ever null the validity bits may be left out (row_layout_init_present).
 * row_bytes is a multiple of 8 (16 when a column is 16 bytes wide). Strings are views; those longer
 * than 12 bytes point into the arena given at scatter. A null's value bytes are zero. */
struct row_column {
    uint32_t offset;
    uint32_t validity_byte;
    uint8_t validity_bit; /* mask */
    uint8_t width;
    uint8_t kind;
};

struct row_layout {
    uint32_t prefix_bytes;
    uint32_t row_bytes;
    uint32_t column_count;
    bool has_strings;
    bool all_present; /* no null is ever stored; there are no validity bits */
    struct row_column *columns;
};

/* false: out of memory. */
bool row_layout_init(struct row_layout *layout, struct nu_arena *arena,
                     const struct exec_type *types, uint32_t column_count, uint32_t prefix_bytes);

/* A layout without validity bits, for values that are all present. */
bool row_layout_init_present(struct row_layout *layout, struct nu_arena *arena,
                             const struct exec_type *types, uint32_t column_count,
                             uint32_t prefix_bytes);

/* Write columns first..first+count-1 of rows[p] from vecs[0..count-1], for p < position_count:
 * the source row is batch_row(batch, positions == NULL ? p : positions[p]). Only values and
 * validity are written, the prefix is the owner's. Floats are stored canonical (one NaN, no -0.0)
 * when `canonical`. false: `strings` is out of memory. */
bool row_scatter(const struct row_layout *layout, uint32_t first, uint32_t count,
                 const struct batch *batch, const struct vec *vecs, const uint16_t *positions,
                 uint32_t position_count, unsigned char *const *rows, bool canonical,
                 struct nu_arena *strings);

/* Gather one column of rows[0..row_count-1] (row_count <= BATCH_ROWS) into a vec with memory from
 * `scratch`; a NULL row pointer gives a null. Long strings stay views into the rows' arena. false:
 * out of memory. */
bool row_gather(const struct row_layout *layout, uint32_t column, unsigned char *const *rows,
                uint32_t row_count, struct nu_arena *scratch, struct vec *out);

/* The same where no pointer is NULL, as behind a match. */
bool row_gather_matched(const struct row_layout *layout, uint32_t column,
                        unsigned char *const *rows, uint32_t row_count, struct nu_arena *scratch,
                        struct vec *out);

/* Keep the candidates whose columns first..first+count-1 equal (nulls equal nulls, NaN equals NaN)
 * the keys of the batch: candidate i compares vec row batch_row(batch, positions[i]) with rows[i].
 * Writes the indices i that match to match_out and the others to rest_out (either may be NULL), in
 * order; returns the number of matches. */
uint32_t row_match(const struct row_layout *layout, uint32_t first, uint32_t count,
                   const struct batch *batch, const struct vec *keys, const uint16_t *positions,
                   uint32_t candidate_count, unsigned char *const *rows, uint16_t *match_out,
                   uint16_t *rest_out);

/* The same equality, and the total order of a type, between two stored rows. In the order NaN comes
 * after every number and a null after every value; callers that want nulls first test validity. */
bool row_equal(const struct row_layout *layout, uint32_t first, uint32_t count,
               const unsigned char *a, const unsigned char *b);
int row_compare(const struct row_layout *layout, uint32_t column, const unsigned char *a,
                const unsigned char *b);

static inline bool row_is_valid(const struct row_column *column, const unsigned char *row)
{
    return (row[column->validity_byte] & column->validity_bit) != 0;
}

#endif
