#ifndef EXEC_OP_SCAN_FILES_H
#define EXEC_OP_SCAN_FILES_H

#include "exec/job_spec.h"
#include "op/pipe.h"

/* Files as a source: CSV and TSV, plain or gzip (read straight from the compressed file). Plain
 * files are cut into byte ranges and parsed in parallel; a gzip file is one serial range. Reads go
 * through io; a range that waits for a block is parked.
 *
 * Life: scan_files_open starts opening every file and reading its head, off the workers; `opened`
 * then runs on one of io's threads (hand on to a worker, do nothing else). After it, error or
 * schema can be asked for; then a source is made of it, or it is closed. */

struct scan_files;
typedef void scan_files_opened_fn(struct scan_files *files, void *owner);

/* `rel` (kind EXEC_REL_SCAN over files) is borrowed until close. NULL: out of memory. */
struct scan_files *scan_files_open(struct job_context *job, uint32_t rel_index,
                                   const struct exec_rel *rel, scan_files_opened_fn *opened,
                                   void *owner);

/* On a worker, after `opened`: finds format, header and types (given ones win; others are inferred
 * from the head: int64, float64, bool, date32, timestamp[us], utf8). Fails with
 * EXEC_FILE_NOT_FOUND, EXEC_PATH_DENIED, EXEC_IO, EXEC_BAD_DATA, EXEC_COLUMN_NOT_FOUND,
 * EXEC_SCHEMA_MISMATCH (files of one scan differ), EXEC_NOT_IMPLEMENTED (a format); every message
 * names the path. */
enum exec_code scan_files_bind(struct scan_files *files, struct exec_error *err);
const struct exec_schema *scan_files_schema(const struct scan_files *files); /* whole file */
/* Whether a column's type is a guess made without having seen a value. */
bool scan_files_is_blank(const struct scan_files *files, const char *name);
uint64_t scan_files_row_estimate(const struct scan_files *files);
uint64_t scan_files_bytes(const struct scan_files *files);

/* columns: 0-based, in output order; only these are parsed. The source owns `files` from here on
 * and closes it. NULL: out of memory. Bad rows fail the job with EXEC_BAD_DATA naming path, line
 * and column: "flights.csv:1042 column 7 'dep_delay': \"12,5\" is not int64". */
struct op_source *scan_files_source(struct scan_files *files, const uint32_t *columns,
                                    uint32_t column_count);
void scan_files_close(struct scan_files *files); /* instead of a source */

#endif
