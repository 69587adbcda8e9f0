#ifndef EXEC_OP_SCAN_FILES_SET_H
#define EXEC_OP_SCAN_FILES_SET_H

#include "io/csv_layout.h"
#include "io/inflate.h"
#include "io/io.h"
#include "op/job_context.h"
#include "op/scan_files.h"

/* The files of one scan, shared by opening, binding and reading. In the job's plan arena; constant
 * once bound but for what says otherwise. */

enum {
    SCAN_FILES_MAX = 4096,
    SEGMENT_BYTES = 512 << 10, /* of a plain file: what one reader reads and parses, about 1 ms */
};

/* Where the reader of one segment found its first row and where it stopped; written by it alone,
 * read by the last reader of the file. */
struct segment_mark {
    uint64_t begin; /* SEGMENT_NO_ROW: no row begins inside */
    uint64_t end;   /* begin of the first row behind the segment, or the end of the file */
};
#define SEGMENT_NO_ROW UINT64_MAX

struct scan_file {
    struct io_request request; /* first: open, then the head */
    struct scan_files *files;
    const char *path;
    int fd;          /* -1: not open */
    int64_t failure; /* negative errno of open or read */
    bool failed_to_read;
    uint64_t file_bytes;
    char *head;
    size_t head_bytes;

    enum inflate_kind compression;
    bool serial;
    uint64_t rows_begin;        /* offset of the first row in the plain text */
    uint64_t rows_line_feeds;   /* before it */
    uint64_t unit_begin;        /* the file is units [unit_begin, unit_begin + file_bytes) */
    struct segment_mark *marks; /* of a file read in parallel */
    uint64_t segment_count;
    _Atomic uint64_t segments_left;
};

struct scan_files {
    struct job_context *job;
    const struct exec_rel *rel;
    uint32_t rel_index;
    scan_files_opened_fn *opened;
    void *owner;
    _Atomic uint32_t pending; /* files not opened yet */

    unsigned char *head_span; /* every file's head, until bound */
    size_t head_span_bytes, head_stride;

    struct csv_layout layout;
    struct csv_column *columns;
    struct exec_schema schema;
    uint64_t row_estimate, total_bytes;
    uint32_t file_count;
    struct scan_file files[];
};

/* Memory that belongs to one reader or one call, not to an arena: charged to the job, on `node`.
 * NULL: refused, *refused says by whom (NULL: by the kernel). */
void *scan_span_take(struct job_context *job, unsigned node, size_t bytes,
                     const struct nu_budget **refused);
void scan_span_give(struct job_context *job, unsigned node, void *span, size_t bytes);

/* Gives back the heads; idempotent. */
void scan_files_drop_heads(struct scan_files *files);

#endif
