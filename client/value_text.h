#ifndef CLIENT_VALUE_TEXT_H
#define CLIENT_VALUE_TEXT_H

#include "exec/column_buffers.h"

/* One value of an Arrow column as text, the same for every output format: integers plain, floats in
 * the fewest digits that read back to the same value, decimals exact, dates and timestamps ISO 8601
 * with as many fraction digits as the unit has, booleans true and false, NaN nan, infinities inf
 * and -inf, binary \x and hex digits. */

bool value_is_null(const struct exec_column_buffers *column, uint64_t row);

/* utf8 and binary without copying; dictionaries are looked through. */
const char *value_bytes(const struct exec_column_buffers *column, uint64_t row, size_t *size_out);

int64_t value_int64(const struct exec_column_buffers *column, uint64_t row);
double value_double(const struct exec_column_buffers *column, uint64_t row);
bool value_bool(const struct exec_column_buffers *column, uint64_t row);

/* Every type but utf8 and binary; NUL-terminated; returns the length. The row is not NULL. */
enum { VALUE_TEXT_BYTES = 64 };
size_t value_text(const struct exec_column_buffers *column, uint64_t row,
                  char text_out[VALUE_TEXT_BYTES]);

#endif
