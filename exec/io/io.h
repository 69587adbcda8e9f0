#ifndef EXEC_IO_IO_H
#define EXEC_IO_IO_H

#include "exec/error.h"
#include "exec/exec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* File input. Nothing here blocks the caller: opens and stats run on io's own few threads, reads go
 * to one io_uring per node, or to those threads where io_uring is refused (decided once at start,
 * logged, counted). Only io_uring.c includes liburing; io_sync.c is the fallback behind the same
 * table of functions. */

struct io;

struct io_config {
    uint32_t node_count;
    bool no_io_uring;
    exec_log_fn *log;
    void *log_owner;
};
int io_create(const struct io_config *config, struct io **io_out); /* 0 or a negative errno */
/* No request may be under way; waits for closes and for completions on their way out, so it comes
 * before the end of whatever they call (sched). */
void io_destroy(struct io *io);
bool io_uses_uring(const struct io *io);

/* A request is owned by the caller and untouched by it from submit until `complete`, which runs on
 * one of io's threads, must be short and must not block; it may submit again or sched_requeue. */
struct io_request;
typedef void io_complete_fn(struct io_request *request);

struct io_request {
    io_complete_fn *complete;
    void *owner;
    int64_t result; /* bytes read, or a negative errno; short only at the end of the file */
    /* open: */
    int fd; /* the opened file; the caller closes it with io_close */
    uint64_t file_bytes;
    /* io's: */
    const char *root, *path;
    void *buffer;
    size_t size;
    uint64_t offset;
    uint32_t node;
    uint32_t retries;
    struct io_request *next;
};

enum {
    IO_RETRIES_MAX =
        1000, /* times one request is interrupted or told to try again before it fails */
};

/* Open for reading: with root, below it (openat2 RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS: -EXDEV or
 * -ELOOP when it leads out); without, any path. Regular files only (-EISDIR, -EINVAL). root and
 * path are borrowed until completion. */
void io_open(struct io *io, struct io_request *request, const char *root, const char *path);

/* Read size bytes at offset into buffer, retried until whole or end of file. */
void io_read(struct io *io, struct io_request *request, int fd, uint64_t offset, void *buffer,
             size_t size, uint32_t node);

void io_close(struct io *io, int fd); /* on io's threads; returns at once */

struct io_counters {
    uint64_t read_bytes, reads_uring, reads_pread;
};
void io_counters(const struct io *io, struct io_counters *out);

#endif
