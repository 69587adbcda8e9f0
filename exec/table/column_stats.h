#ifndef EXEC_TABLE_COLUMN_STATS_H
#define EXEC_TABLE_COLUMN_STATS_H

#include "table/table.h"
#include "vec/vec.h"

/* Add rows [begin, end) of a stored column: data and valid as in struct table_column, valid never
 * NULL. */
void column_stats_add(struct column_stats *stats, enum exec_type_kind kind, const void *data,
                      const uint64_t *valid, uint32_t begin, uint32_t end);

void column_stats_merge(struct column_stats *into, enum exec_type_kind kind,
                        const struct column_stats *from);

/* Bounds of an integer column as signed numbers, 0 and 0 of one without values; false: they are
 * none.
 */
bool column_stats_integers(const struct column_stats *stats, enum vec_storage storage,
                           int64_t *least, int64_t *most);

#endif
