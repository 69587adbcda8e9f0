#ifndef EXEC_IO_IO_BACKEND_H
#define EXEC_IO_IO_BACKEND_H

#include "io/io.h"

#include <pthread.h>

/* What a way of reading files offers: io_uring.c and io_sync.c each define one table. */
struct io_backend;

struct io_backend_kind {
    const char *name;
    /* The request's fd, offset, buffer, size and node are set, result is 0. Ends in
     * io_read_finish, on a thread of the backend's own. Any thread; does not block. */
    void (*read)(struct io_backend *backend, struct io_request *request);
    void (*destroy)(struct io_backend *backend); /* no request under way */
};

struct io_backend {
    const struct io_backend_kind *kind;
    struct io *io;
};

/* 0 or a negative errno: -ENOSYS, -EPERM and -ENOMEM where io_uring is refused. */
int io_uring_backend_create(struct io *io, uint32_t node_count, struct io_backend **backend_out);
int io_sync_backend_create(struct io *io, struct io_backend **backend_out);

/* One transfer of a read is over: `got` bytes or a negative errno. Returns true when the request
 * wants another transfer at offset + result (short read, EINTR, EAGAIN); false when it is whole, at
 * the end of the file or failed, and io_read_finish is due. */
bool io_read_wants_more(struct io_request *request, int64_t got);
void io_read_finish(struct io *io, struct io_request *request, bool uring);

/* A thread of io's: every signal blocked, named. 0 or a negative errno. */
int io_thread_start(pthread_t *thread, const char *name, void *(*main)(void *), void *argument);

#endif
