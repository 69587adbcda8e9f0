#ifndef CLIENT_COLUMN_VALUE_H
#define CLIENT_COLUMN_VALUE_H

#include "exec/column_buffers.h"

/* One value of an Arrow column as text, the same for every output format: integers plain, floats in
 * the fewest digits that read back to the same value, decimals exact, dates and timestamps ISO 8601
 * with as many fraction digits as the unit has, booleans true and false, NaN nan, infinities inf
 * and -inf, binary \x and hex digits. */

bool column_value_is_null(const struct exec_column_buffers *column, uint64_t row);

/* utf8 and binary without copying; dictionaries are looked through. */
const char *column_value_bytes(const struct exec_column_buffers *column, uint64_t row,
                               size_t *size_out);

int64_t column_value_int64(const struct exec_column_buffers *column, uint64_t row);
double column_value_double(const struct exec_column_buffers *column, uint64_t row);
bool column_value_bool(const struct exec_column_buffers *column, uint64_t row);

/* Every type but utf8 and binary; NUL-terminated; returns the length. The row is not NULL. */
enum { COLUMN_VALUE_TEXT_BYTES = 64 };
size_t column_value_text(const struct exec_column_buffers *column, uint64_t row,
                         char text_out[COLUMN_VALUE_TEXT_BYTES]);

#endif
