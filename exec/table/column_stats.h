#ifndef EXEC_TABLE_COLUMN_STATS_H
#define EXEC_TABLE_COLUMN_STATS_H

#include "table/table.h"

/* Add rows [begin, end) of a stored column: data and valid as in struct table_column, valid never
 * NULL. */
void column_stats_add(struct column_stats *stats, enum exec_type_kind kind, const void *data,
                      const uint64_t *valid, uint32_t begin, uint32_t end);

void column_stats_merge(struct column_stats *into, enum exec_type_kind kind,
                        const struct column_stats *from);

#endif
