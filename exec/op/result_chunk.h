#ifndef EXEC_OP_RESULT_CHUNK_H
#define EXEC_OP_RESULT_CHUNK_H

#include "exec/exec.h"
#include "op/job_context.h"
#include "vec/batch.h"

/* One piece of a result being written: Arrow buffers side by side in one span of node memory,
 * 64-byte aligned, filled straight from batches. Room is decided when the chunk is opened, from the
 * widths and the mean string sizes seen so far; what does not fit goes into the next chunk. One
 * writer at a time. */

struct result_column {
    uint8_t *validity;
    unsigned char *values;
    int32_t *offsets;       /* utf8, binary; else NULL */
    size_t values_capacity; /* bytes, utf8 and binary only */
    size_t values_bytes;
    uint64_t null_count;
};

/* What every chunk of one result has in common. mean_bytes is updated between chunks by their
 * owner. */
struct result_shape {
    struct job_context *job;
    const struct exec_schema *schema;
    const uint32_t *positions; /* of each column in the batches */
    /* Of each string column's values; relaxed: an estimate, any worker's latest will do. */
    _Atomic uint32_t *mean_bytes;
    uint32_t rows_max; /* of one chunk; 0: by bytes only */
};

struct result_chunk {
    struct exec_chunk chunk; /* first: what leaves the engine */
    struct result_sink *sink;
    struct result_chunk *next; /* of the list it is in */
    unsigned char *span;       /* NULL: none */
    size_t span_bytes;
    unsigned span_node;
    uint32_t row_capacity, row_count;
    struct exec_column_buffers *buffers;
    struct result_column *columns;
};

/* An empty chunk without a span, from `arena`. NULL: out of memory. */
struct result_chunk *result_chunk_create(const struct result_shape *shape, struct nu_arena *arena);

/* Make room for rows of about target_bytes together, at least for the row at `position` of `batch`.
 * EXEC_OK, EXEC_MEMORY_BUDGET or EXEC_LIMIT (a value beyond 2 GiB). */
enum exec_code result_chunk_open(struct result_chunk *chunk, const struct result_shape *shape,
                                 size_t target_bytes, unsigned node, const struct batch *batch,
                                 uint32_t position, struct exec_error *err);

/* Append rows of `batch` from selection position `position` on; returns how many fitted. */
uint32_t result_chunk_append(struct result_chunk *chunk, const struct result_shape *shape,
                             const struct batch *batch, uint32_t position);

/* Describe what was written in chunk->chunk. */
void result_chunk_seal(struct result_chunk *chunk, const struct result_shape *shape);

/* Give the span back to pool and budget. Any thread. */
void result_chunk_free(struct result_chunk *chunk, const struct result_shape *shape);

#endif
