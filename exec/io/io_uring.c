#include "io/io_backend.h"

#include <assert.h>
#include <errno.h>
#include <liburing.h>
#include <sched.h>
#include <stdlib.h>

/* One ring a node. Any thread submits, the ring's reaper completes.
 *
 * Requests go to a list under the ring's lock; the first submitter to find nobody at the ring
 * becomes its user, takes the list in batches and enters the kernel without holding the lock, so
 * others only ever wait for a list operation, and what arrives meanwhile goes along with the next
 * batch. The lock also orders a request's fields between its submitter and the reaper (the kernel's
 * own ordering is invisible to ThreadSanitizer). */

enum {
    RING_ENTRIES = 256, /* in flight at most: the completion queue is twice as long */
    RING_BATCH = 32,
};

struct ring {
    struct io_uring uring;
    struct io *io;
    pthread_t reaper;
    pthread_mutex_t lock;
    struct io_request *first, **last_next; /* waiting */
    uint32_t in_flight;
    bool submitting; /* somebody uses the submission side of `uring` */
};

struct io_rings {
    struct io_backend base; /* first */
    uint32_t ring_count;
    struct ring rings[];
};

struct transfer {
    struct io_request *request;
    int fd;
    void *buffer;
    unsigned size;
    uint64_t offset;
};

static void ring_append(struct ring *ring, struct io_request *request)
{
    request->next = NULL;
    *ring->last_next = request;
    ring->last_next = &request->next;
}

/* Under the lock. Copies what the kernel needs: once submitted, a request may complete and be
 * reused before the submitter looks again. */
static uint32_t ring_take(struct ring *ring, struct transfer transfers[RING_BATCH])
{
    enum { TRANSFER_BYTES_MAX = 1 << 30 };
    uint32_t count = 0;

    while (count < RING_BATCH && ring->first != NULL && ring->in_flight < RING_ENTRIES) {
        struct io_request *request = ring->first;
        const size_t left = request->size - (size_t)request->result;
        transfers[count++] = (struct transfer){
            .request = request,
            .fd = request->fd,
            .buffer = (char *)request->buffer + request->result,
            .size = (unsigned)(left < TRANSFER_BYTES_MAX ? left : TRANSFER_BYTES_MAX),
            .offset = request->offset + (uint64_t)request->result,
        };
        ring->in_flight++;
        ring->first = request->next;
        if (ring->first == NULL) {
            ring->last_next = &ring->first;
        }
    }
    return count;
}

static void ring_submit(struct ring *ring, const struct transfer *transfers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->uring);
        assert(sqe !=
               NULL); /* RING_BATCH is below RING_ENTRIES and each batch is submitted whole */
        io_uring_prep_read(sqe, transfers[i].fd, transfers[i].buffer, transfers[i].size,
                           transfers[i].offset);
        io_uring_sqe_set_data(sqe, transfers[i].request);
    }
    while (count > 0) { /* EAGAIN, EBUSY: the kernel is short of memory or completions wait */
        const int submitted = io_uring_submit(&ring->uring);
        if (submitted > 0) {
            count -= (uint32_t)submitted < count ? (uint32_t)submitted : count;
        } else if (submitted < 0) {
            assert(submitted == -EINTR || submitted == -EAGAIN || submitted == -EBUSY);
            sched_yield();
        }
    }
}

/* Under the lock on entry and exit. */
static void ring_pump(struct ring *ring)
{
    struct transfer transfers[RING_BATCH];
    uint32_t count;

    if (ring->submitting) {
        return;
    }
    ring->submitting = true;
    while ((count = ring_take(ring, transfers)) > 0) {
        pthread_mutex_unlock(&ring->lock);
        ring_submit(ring, transfers, count);
        pthread_mutex_lock(&ring->lock);
    }
    ring->submitting = false;
}

static void rings_read(struct io_backend *backend, struct io_request *request)
{
    struct io_rings *rings = (struct io_rings *)backend;
    struct ring *ring = &rings->rings[request->node % rings->ring_count];

    pthread_mutex_lock(&ring->lock);
    ring_append(ring, request);
    ring_pump(ring);
    pthread_mutex_unlock(&ring->lock);
}

static void ring_reap(struct ring *ring, struct io_request *request, int got)
{
    pthread_mutex_lock(&ring->lock);
    ring->in_flight--;
    const bool again = io_read_wants_more(request, got);
    if (again) {
        ring_append(ring, request);
    }
    ring_pump(ring);
    pthread_mutex_unlock(&ring->lock);
    if (!again) {
        io_read_finish(ring->io, request, true);
    }
}

static void *ring_main(void *argument)
{
    struct ring *ring = argument;

    for (;;) {
        struct io_uring_cqe *cqe;
        const int failure = io_uring_wait_cqe(&ring->uring, &cqe);
        if (failure != 0) {
            assert(failure == -EINTR || failure == -EAGAIN);
            continue;
        }
        struct io_request *request = io_uring_cqe_get_data(cqe);
        const int got = cqe->res;
        io_uring_cqe_seen(&ring->uring, cqe);
        if (request == NULL) {
            return NULL; /* ring_stop's message */
        }
        ring_reap(ring, request, got);
    }
}

static void ring_stop(struct ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    while (ring->submitting) { /* its reads are done, but it has not come back from the kernel */
        pthread_mutex_unlock(&ring->lock);
        sched_yield();
        pthread_mutex_lock(&ring->lock);
    }
    assert(ring->in_flight == 0);
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->uring);
    io_uring_prep_nop(sqe);
    io_uring_sqe_set_data(sqe, NULL);
    while (io_uring_submit(&ring->uring) < 1) {
    }
    pthread_mutex_unlock(&ring->lock);
    pthread_join(ring->reaper, NULL);
    pthread_mutex_destroy(&ring->lock);
    io_uring_queue_exit(&ring->uring);
}

static bool ring_can_read(struct io_uring *uring)
{
    struct io_uring_probe *probe = io_uring_get_probe_ring(uring);
    const bool can = probe != NULL && io_uring_opcode_supported(probe, IORING_OP_READ);
    io_uring_free_probe(probe);
    return can;
}

static int ring_start(struct ring *ring, struct io *io)
{
    int failure = io_uring_queue_init(RING_ENTRIES, &ring->uring, 0);

    if (failure != 0) {
        return failure;
    }
    io_uring_ring_dontfork(&ring->uring);
    if (!ring_can_read(&ring->uring)) {
        failure = -ENOSYS;
        goto fail_probe;
    }
    ring->io = io;
    ring->last_next = &ring->first;
    pthread_mutex_init(&ring->lock, NULL);
    failure = io_thread_start(&ring->reaper, "io-ring", ring_main, ring);
    if (failure != 0) {
        goto fail_thread;
    }
    return 0;

fail_thread:
    pthread_mutex_destroy(&ring->lock);
fail_probe:
    io_uring_queue_exit(&ring->uring);
    return failure;
}

static void rings_destroy(struct io_backend *backend)
{
    struct io_rings *rings = (struct io_rings *)backend;

    for (uint32_t i = 0; i < rings->ring_count; i++) {
        ring_stop(&rings->rings[i]);
    }
    free(rings);
}

static const struct io_backend_kind rings_kind = {
    .name = "io_uring",
    .read = rings_read,
    .destroy = rings_destroy,
};

int io_uring_backend_create(struct io *io, uint32_t node_count, struct io_backend **backend_out)
{
    assert(node_count > 0);
    struct io_rings *rings = calloc(1, sizeof *rings + node_count * sizeof rings->rings[0]);
    if (rings == NULL) {
        return -ENOMEM;
    }
    rings->base = (struct io_backend){.kind = &rings_kind, .io = io};
    for (uint32_t i = 0; i < node_count; i++) {
        const int failure = ring_start(&rings->rings[i], io);
        if (failure != 0) {
            rings_destroy(&rings->base);
            return failure;
        }
        rings->ring_count++;
    }
    *backend_out = &rings->base;
    return 0;
}
