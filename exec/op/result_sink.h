#ifndef EXEC_OP_RESULT_SINK_H
#define EXEC_OP_RESULT_SINK_H

#include "exec/exec.h"
#include "op/pipe.h"

/* The end of a streaming job: rows leave as chunks of Arrow buffers. A bounded set of chunks
 * (workers + 2) is the job's credit: no chunk left means the pipe parks until one is released. The
 * set starts at two small chunks and grows with every release, so that a client that never reads
 * costs little. Partly filled chunks are shared: a worker takes one for a morsel and puts it back,
 * so no parked worker ever holds room that another needs. */

struct job_context;
struct result_sink;

struct result_options {
    uint32_t batch_rows;  /* of one chunk; 0: by bytes only */
    uint32_t batch_bytes; /* of one chunk, about */
    uint64_t rows_max;    /* 0: no limit */
    struct exec_job *job;
    /* Hand a chunk on; called by one worker at a time, in order, without a lock held. */
    void (*deliver)(struct exec_job *job, struct exec_chunk *chunk);
};

/* positions[c]: where column c of `schema` is in the batches; both arrays are borrowed. NULL: out
 * of memory. */
struct op_sink *result_sink_create(struct job_context *job, uint32_t rel,
                                   const struct exec_schema *schema, const uint32_t *positions,
                                   const struct result_options *options);

/* Body of exec_chunk_release. Any thread. */
void result_sink_release(struct exec_chunk *chunk);

struct result_figures {
    uint64_t rows, bytes, chunks;
    uint32_t chunks_out; /* delivered and not released */
    bool is_waiting;     /* some range is parked for credit */
};
/* Any thread. */
void result_sink_figures(struct op_sink *sink, struct result_figures *out);

/* Drops what arrives and counts it: the end of an analysed job. NULL: out of memory. */
struct op_sink *count_sink_create(struct job_context *job, uint32_t rel);

#endif
