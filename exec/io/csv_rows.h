#ifndef EXEC_IO_CSV_ROWS_H
#define EXEC_IO_CSV_ROWS_H

#include "io/csv_layout.h"
#include "vec/batch.h"

/* Rows of text become batches: the wanted columns only, long strings as views into the text. */

/* One batch being filled; all memory is the caller's. */
struct csv_rows {
    struct csv_field *fields; /* of the row being read */
    struct vec *vecs;         /* one an output */
    void **data;
    uint64_t **valid;
    bool *has_nulls;
    uint32_t row_count;
};

/* Memory of one csv_rows for `layout`, 64-byte aligned. */
size_t csv_rows_bytes(const struct csv_layout *layout);
void csv_rows_init(struct csv_rows *rows, const struct csv_layout *layout, void *memory);
void csv_rows_reset(struct csv_rows *rows, const struct csv_layout *layout);

enum csv_read {
    CSV_READ_FULL,  /* BATCH_ROWS rows */
    CSV_READ_STOP,  /* the next row begins at `stop` or behind it */
    CSV_READ_CUT,   /* the text ends before the next row does */
    CSV_READ_END,   /* text->is_final and nothing is left */
    CSV_READ_FAULT, /* *fault says what; the rows before it are good */
};

/* Append rows until one of these. stop NULL: no stop. Views point into the text, which must stay as
 * it is until the batch is done with (it is written to: doubled quotes are made single in place).
 */
enum csv_read csv_rows_read(struct csv_rows *rows, const struct csv_layout *layout,
                            struct csv_text *text, const char *stop, struct csv_fault *fault);

/* The rows as a batch, valid until the next read or reset. */
void csv_rows_batch(struct csv_rows *rows, const struct csv_layout *layout,
                    struct batch *batch_out);

#endif
