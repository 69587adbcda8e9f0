#ifndef CLIENT_MORSEL_RESULT_H
#define CLIENT_MORSEL_RESULT_H

#include "morsel/v1/job_service.pb-c.h"
#include "morsel_connection.h"
#include "proto/arrow_reader.h"

/* A result while it streams, as the library's own files and the command line see it. */

/* Frees all of a batch, its body included. */
void result_batch_free(struct arrow_batch *batch);

/* Like morsel_result_next, without the wrapping: 1 a batch (end it with result_batch_free), 0 the
 * end, -1 failed, 2 wait_until_ns came first. */
int result_read(struct morsel_result *result, uint64_t wait_until_ns, struct arrow_batch *batch_out,
                struct morsel_error *err);

/* The schema of the Arrow stream; NULL for a job without result columns. */
const struct exec_schema *result_schema(const struct morsel_result *result);

/* The table an into_table job has made; NULL when there is none. After result_read returned 0. */
const Morsel__V1__TableInfo *result_table(const struct morsel_result *result);

/* The index-th message of the job's trace, NULL behind the last. Owned by the result. After
 * result_read returned 0. */
const Morsel__V1__Trace *result_trace(const struct morsel_result *result, uint32_t index);

/* The public wrapping of one batch; takes over *batch. NULL: no memory (then *batch is ended). */
struct morsel_batch *batch_wrap(struct arrow_batch *batch, const struct exec_schema *schema);

/* One column and its schema field in Arrow's C data interface. */
struct ArrowSchema;
struct ArrowArray;
int arrow_export_schema(const struct exec_schema *schema, struct ArrowSchema *out);
int arrow_export_batch(struct arrow_batch *batch /* taken over */, struct ArrowArray *out);

/* True after a failure without a status: the server reset the stream, and why is not known here. */
bool result_was_reset(const struct morsel_result *result);

#endif
