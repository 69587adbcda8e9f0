#ifndef RESULT_ENCODER_H
#define RESULT_ENCODER_H

#include "bridge.h"
#include "response.h"

#include "exec/exec.h"

#include <xxhash.h>

/* A job's result as Arrow IPC bytes. The metadata and the hash are made on the worker that delivers
 * the chunk; the bodies stay where the engine put them until the socket took them. */

struct job_run;

/* Worker side of one job's result. Written by the job's callbacks (one at a time, in order), read
 * by the loop after `done`. */
struct result_encoder {
    XXH3_state_t *hash; /* of every byte so far */
    uint64_t chunk_count;
    uint8_t *schema_bytes;
    size_t schema_size;
    bool no_memory; /* something is missing: the job must not count as complete */
};

struct result_chunk {
    struct bridge_event event;
    struct response_body body; /* lives until the last byte is written */
    struct job_run *run;
    struct exec_chunk *chunk;
    struct arrow_batch_message message;
};

bool result_encoder_init(struct result_encoder *encoder); /* false: no memory */
void result_encoder_fini(struct result_encoder *encoder);

/* On a worker. */
void result_encoder_schema(struct result_encoder *encoder, const struct exec_schema *schema);
/* On a worker. The chunk is the result's. NULL: no memory, the chunk is still the caller's. */
struct result_chunk *result_encoder_chunk(struct result_encoder *encoder, struct job_run *run,
                                          struct exec_chunk *chunk);
/* On the loop, after `done`: the hash over schema, batches and the end-of-stream marker. */
uint64_t result_encoder_finish(struct result_encoder *encoder);

/* On the loop: gives the chunk back to the engine and frees all. */
void result_chunk_destroy(struct result_chunk *chunk);

#endif
