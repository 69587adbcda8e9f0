#ifndef CLIENT_JOB_TEXT_H
#define CLIENT_JOB_TEXT_H

#include "exec/error.h"
#include "morsel/v1/job_service.pb-c.h"

#include <stddef.h>

/* A job file: the JSON mapping of an ExecuteJobRequest, or of a bare Plan (an object with "rels" at
 * the top). Free with protobuf_c_message_free_unpacked. NULL and err (line, column) on failure. */
Morsel__V1__ExecuteJobRequest *job_text_parse(const char *text, size_t size, const char *name,
                                              struct exec_error *err);

enum { JOB_ID_BYTES = 37 };
void job_id_random(char id_out[JOB_ID_BYTES]); /* a UUID, version 4 */

#endif
