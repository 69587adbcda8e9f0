#include "io/io_backend.h"
#include "io/io_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* The fallback where io_uring is refused: a few threads in pread(). */

enum { SYNC_THREADS = 4 };

struct io_sync {
    struct io_backend base; /* first */
    struct io_queue queue;
};

static void sync_run(void *owner, struct io_request *request)
{
    struct io_sync *sync = owner;
    ssize_t got;

    do {
        got = pread(request->fd, (char *)request->buffer + request->result,
                    request->size - (size_t)request->result,
                    (off_t)(request->offset + (uint64_t)request->result));
    } while (io_read_wants_more(request, got < 0 ? -errno : got));
    io_read_finish(sync->base.io, request, false);
}

static void sync_read(struct io_backend *backend, struct io_request *request)
{
    io_queue_push(&((struct io_sync *)backend)->queue, request);
}

static void sync_destroy(struct io_backend *backend)
{
    struct io_sync *sync = (struct io_sync *)backend;
    io_queue_fini(&sync->queue);
    free(sync);
}

static const struct io_backend_kind sync_kind = {
    .name = "pread",
    .read = sync_read,
    .destroy = sync_destroy,
};

int io_sync_backend_create(struct io *io, struct io_backend **backend_out)
{
    struct io_sync *sync = calloc(1, sizeof *sync);
    if (sync == NULL) {
        return -ENOMEM;
    }
    sync->base = (struct io_backend){.kind = &sync_kind, .io = io};
    const int failure = io_queue_init(&sync->queue, "io-pread", SYNC_THREADS, sync_run, sync);
    if (failure != 0) {
        free(sync);
        return failure;
    }
    *backend_out = &sync->base;
    return 0;
}
