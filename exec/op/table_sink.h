#ifndef EXEC_OP_TABLE_SINK_H
#define EXEC_OP_TABLE_SINK_H

#include "exec/types.h"
#include "op/pipe.h"

struct job_context;

struct table_options {
    const char *table;
    bool replace, ordered;
    bool encodes;      /* text columns get dictionaries: worth its time where tables are loaded */
    uint64_t rows_max; /* more rows fail the job with EXEC_LIMIT; 0: no limit */
};

/* The end of an into_table job: every worker fills chunks on its own node (one builder for all when
 * `ordered`, where only one works at a time); finish makes a table version of them and swaps it in.
 * Nothing is visible before; a failed job leaves nothing. positions[c]: where column c of `schema`
 * is in the batches. Everything is borrowed. NULL: out of memory. */
struct op_sink *table_sink_create(struct job_context *job, uint32_t rel,
                                  const struct exec_schema *schema, const uint32_t *positions,
                                  const struct table_options *options);

#endif
