#ifndef EXEC_OP_SCAN_TABLE_H
#define EXEC_OP_SCAN_TABLE_H

#include "op/pipe.h"
#include "table/table.h"

/* Rows of a resident table, one range for every run of chunks on one node. Takes over one reference
 * to `table`, given back by close. columns: 0-based, in output order. NULL: out of memory. */
struct op_source *scan_table_create(struct job_context *job, uint32_t rel, struct table *table,
                                    const uint32_t *columns, uint32_t column_count);

#endif
