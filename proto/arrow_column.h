#ifndef ARROW_COLUMN_H
#define ARROW_COLUMN_H

#include "exec/column_buffers.h"
#include "exec/error.h"

#include <stdbool.h>

/* Reading single values of columns that came from outside; buffers may be unaligned. */

bool arrow_column_is_null(const struct exec_column_buffers *column, uint64_t row);
int64_t arrow_column_offset(const struct exec_column_buffers *column, uint64_t row);
int64_t arrow_column_index(const struct exec_column_buffers *column, uint64_t row);

/* Offsets monotone and inside, UTF-8 of the values that are not NULL. `name` is for the error. */
enum exec_code arrow_column_check_plain(const struct exec_column_buffers *column, const char *name,
                                        struct exec_error *err);
/* Indices of values that are not NULL inside the dictionary. */
enum exec_code arrow_column_check_indices(const struct exec_column_buffers *column,
                                          const char *name, struct exec_error *err);

#endif
