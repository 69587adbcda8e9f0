#include "io/io.h"

#include "io/io_backend.h"
#include "io/io_open.h"
#include "io/io_queue.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { IO_FILE_THREADS = 2 };

struct io {
    struct io_backend *backend;
    struct io_queue files; /* opens and closes */
    bool uring;
    /* relaxed: figures only, they order nothing. */
    atomic_uint_fast64_t read_bytes, reads_uring, reads_pread;
};

static void io_log(const struct io_config *config, enum exec_log_level level, const char *line)
{
    if (config->log != NULL) {
        config->log(config->log_owner, level, line);
    }
}

static int io_choose_backend(struct io *io, const struct io_config *config)
{
    char line[160];
    int refusal = 0;

    if (!config->no_io_uring) {
        refusal = io_uring_backend_create(io, config->node_count, &io->backend);
        if (refusal == 0) {
            io->uring = true;
            snprintf(line, sizeof line, "file reads: io_uring, one ring for each of %u nodes",
                     config->node_count);
            io_log(config, EXEC_LOG_INFO, line);
            return 0;
        }
    }
    snprintf(line, sizeof line, "file reads: pread threads (io_uring %s%s)",
             refusal == 0 ? "is switched off" : "was refused: ",
             refusal == 0 ? "" : strerrordesc_np(-refusal));
    io_log(config, refusal == 0 ? EXEC_LOG_INFO : EXEC_LOG_WARNING, line);
    return io_sync_backend_create(io, &io->backend);
}

int io_create(const struct io_config *config, struct io **io_out)
{
    struct io *io = calloc(1, sizeof *io);
    int failure;

    if (io == NULL) {
        return -ENOMEM;
    }
    failure = io_queue_init(&io->files, "io-open", IO_FILE_THREADS, io_open_run, io);
    if (failure != 0) {
        goto fail_queue;
    }
    failure = io_choose_backend(io, config);
    if (failure != 0) {
        goto fail_backend;
    }
    *io_out = io;
    return 0;

fail_backend:
    io_queue_fini(&io->files);
fail_queue:
    free(io);
    return failure;
}

void io_destroy(struct io *io)
{
    io->backend->kind->destroy(io->backend);
    io_queue_fini(&io->files);
    free(io);
}

bool io_uses_uring(const struct io *io)
{
    return io->uring;
}

void io_open(struct io *io, struct io_request *request, const char *root, const char *path)
{
    request->root = root;
    request->path = path;
    request->fd = -1;
    request->result = 0;
    request->file_bytes = 0;
    io_queue_push(&io->files, request);
}

void io_read(struct io *io, struct io_request *request, int fd, uint64_t offset, void *buffer,
             size_t size, uint32_t node)
{
    request->fd = fd;
    request->offset = offset;
    request->buffer = buffer;
    request->size = size;
    request->node = node;
    request->result = 0;
    request->retries = 0;
    io->backend->kind->read(io->backend, request);
}

/* Freed by the thread that has closed the descriptor. */
static void close_complete(struct io_request *request)
{
    /* As it was opened (openat2 has no wrapper): ThreadSanitizer, who does not see that either,
     * would take the number for that of a socket which libuv, also by itself, closed before. */
    syscall(SYS_close, request->fd);
    free(request);
}

void io_close(struct io *io, int fd)
{
    struct io_request *request = calloc(1, sizeof *request);

    if (request == NULL) {
        close(fd); /* better a short wait than a lost descriptor */
        return;
    }
    request->complete = close_complete;
    request->fd = fd;
    io_queue_push(&io->files, request);
}

bool io_read_wants_more(struct io_request *request, int64_t got)
{
    if (got == -EINTR || got == -EAGAIN) {
        if (request->retries++ < IO_RETRIES_MAX) {
            return true;
        }
        request->result = got;
        return false;
    }
    if (got < 0) {
        request->result = got;
        return false;
    }
    request->result += got;
    return got > 0 && (uint64_t)request->result < request->size;
}

void io_read_finish(struct io *io, struct io_request *request, bool uring)
{
    if (request->result > 0) {
        atomic_fetch_add_explicit(&io->read_bytes, (uint64_t)request->result, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(uring ? &io->reads_uring : &io->reads_pread, 1, memory_order_relaxed);
    request->complete(request); /* the request may be gone from here on */
}

void io_counters(const struct io *io, struct io_counters *out)
{
    out->read_bytes = atomic_load_explicit(&io->read_bytes, memory_order_relaxed);
    out->reads_uring = atomic_load_explicit(&io->reads_uring, memory_order_relaxed);
    out->reads_pread = atomic_load_explicit(&io->reads_pread, memory_order_relaxed);
}

int io_thread_start(pthread_t *thread, const char *name, void *(*main)(void *), void *argument)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failure = pthread_create(thread, NULL, main, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure == 0) {
        pthread_setname_np(*thread, name);
    }
    return -failure;
}
