#ifndef EXEC_TABLE_CODE_COLUMNS_H
#define EXEC_TABLE_CODE_COLUMNS_H

#include "vec/batch.h"

/* Text that is kept as the codes of a dictionary alone. */

/* Codes of `count` rows, from `position` of the selection on (sel NULL: of the rows), to an array
 * of `code_bytes` wide ones, wide enough for all codes of the dictionary; a null's is 0. `from`
 * brings codes and is not constant. */
void code_column_copy(const struct vec *from, const uint16_t *sel, uint32_t position,
                      uint32_t count, size_t code_bytes, void *out);

#endif
