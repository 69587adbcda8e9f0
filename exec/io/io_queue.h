#ifndef EXEC_IO_IO_QUEUE_H
#define EXEC_IO_IO_QUEUE_H

#include "io/io.h"

#include <pthread.h>

/* Requests in order of arrival and a few threads that take them: the only threads of io that make
 * blocking calls. */
enum { IO_QUEUE_THREADS_MAX = 8 };

struct io_queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct io_request *first, **last_next;
    bool closing;
    void (*run)(void *owner, struct io_request *request); /* on one of the threads */
    void *owner;
    uint32_t thread_count;
    pthread_t threads[IO_QUEUE_THREADS_MAX];
};

/* 0 or a negative errno; nothing is left behind then. */
int io_queue_init(struct io_queue *queue, const char *thread_name, uint32_t thread_count,
                  void (*run)(void *owner, struct io_request *request), void *owner);
void io_queue_fini(struct io_queue *queue); /* runs what is queued, then joins */
void io_queue_push(struct io_queue *queue, struct io_request *request);

#endif
