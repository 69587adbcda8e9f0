#ifndef CLIENT_CLI_TRACE_FILE_H
#define CLIENT_CLI_TRACE_FILE_H

#include "job_source.h"

/* --trace FILE: what the job's workers did, in Chrome's trace event format (JSON), which Perfetto
 * and chrome://tracing open. One process; a lane (thread) a worker, with its morsels, named by
 * pipeline, ends of pipelines, searches, sleeps and, as instants, steals. Pieces of input that
 * waited for the reader or for a file are async events beside the lanes: no worker waits. */

enum { TRACE_FILE_EVENTS = 16384 }; /* asked for, a worker */

struct trace_file;

/* NULL and err (EXEC_BAD_SPEC names the path, EXEC_MEMORY_BUDGET). The file takes its name when it
 * is whole. */
struct trace_file *trace_file_open(const char *path, bool quiet, struct exec_error *err);

/* After the end of a job that was traced. EXEC_OK, EXEC_IO, EXEC_MEMORY_BUDGET. Notes on stderr
 * that events were dropped, unless quiet. */
enum exec_code trace_file_write(struct trace_file *file, struct job_source *source,
                                struct exec_error *err);
void trace_file_close(struct trace_file *file); /* NULL is ignored */

#endif
