#ifndef EXEC_TABLE_CHUNK_CODES_H
#define EXEC_TABLE_CHUNK_CODES_H

#include "table/table.h"

/* Codes of text columns, chunk by chunk, out of one dictionary a column; a column with too many
 * values gets none. One owning thread. */
struct chunk_coder;

/* NULL: out of memory. */
struct chunk_coder *chunk_coder_create(struct nu_page_pool *pages, struct nu_budget *budget,
                                       unsigned node, const struct exec_schema *schema);
void chunk_coder_destroy(struct chunk_coder *coder); /* NULL is fine */

/* Sets codes and dictionary of a finished chunk's columns where there are any. */
void chunk_coder_encode(struct chunk_coder *coder, struct table_chunk *chunk);

/* One dictionary for all chunks of a column, or none: sets table->stats[].dictionary. */
void table_unify_dictionaries(struct table *table);

#endif
