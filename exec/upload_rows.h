#ifndef EXEC_UPLOAD_ROWS_H
#define EXEC_UPLOAD_ROWS_H

#include "exec/column_buffers.h"
#include "exec/error.h"
#include "numa/arena.h"
#include "vec/batch.h"

/* Columns as they come from outside, in Arrow's layout and not to be trusted, become batches of the
 * engine. Every message names the column. */

/* Once per append: types as in the schema, equal row counts, buffers as long as their rows need.
 * Returns EXEC_OK, EXEC_SCHEMA_MISMATCH or EXEC_BAD_DATA. */
enum exec_code upload_check_columns(const struct exec_schema *schema,
                                    const struct exec_column_buffers *columns,
                                    struct exec_error *err);

/* Rows [row, row + count) with count <= BATCH_ROWS as vecs (one a column, room given), memory from
 * `scratch`; strings stay views into the buffers. Checks offsets, indices, UTF-8, decimals and
 * promises of no nulls. EXEC_OK, EXEC_BAD_DATA or EXEC_MEMORY_BUDGET. */
enum exec_code upload_read_rows(const struct exec_schema *schema,
                                const struct exec_column_buffers *columns, uint64_t row,
                                uint32_t count, struct nu_arena *scratch, struct vec *vecs,
                                struct exec_error *err);

#endif
