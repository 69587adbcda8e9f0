#ifndef EXEC_TABLE_TABLE_MAKE_H
#define EXEC_TABLE_TABLE_MAKE_H

#include "table/table.h"

/* A table with one reference and version 0, which takes over the chunks; name and schema are
 * copied. NULL: out of memory, the chunks are still the caller's. */
struct table *table_make(const char *name, const struct exec_schema *schema,
                         struct table_chunk **chunks, uint32_t chunk_count);

/* Copies what there is to say about the tables into one block. false: out of memory. */
bool table_list_make(struct table *const *tables, uint32_t table_count,
                     struct exec_table_list *list_out);

#endif
