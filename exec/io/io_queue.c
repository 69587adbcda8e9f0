#include "io/io_queue.h"

#include "io/io_backend.h"

#include <assert.h>

static struct io_request *queue_take(struct io_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->first == NULL && !queue->closing) {
        pthread_cond_wait(&queue->filled, &queue->lock);
    }
    struct io_request *request = queue->first;
    if (request != NULL) {
        queue->first = request->next;
        if (queue->first == NULL) {
            queue->last_next = &queue->first;
        }
    }
    pthread_mutex_unlock(&queue->lock);
    return request;
}

static void *queue_main(void *argument)
{
    struct io_queue *queue = argument;
    struct io_request *request;

    while ((request = queue_take(queue)) != NULL) {
        queue->run(queue->owner, request);
    }
    return NULL;
}

int io_queue_init(struct io_queue *queue, const char *thread_name, uint32_t thread_count,
                  void (*run)(void *owner, struct io_request *request), void *owner)
{
    assert(thread_count <= IO_QUEUE_THREADS_MAX);
    *queue = (struct io_queue){.run = run, .owner = owner};
    queue->last_next = &queue->first;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->filled, NULL);
    for (uint32_t i = 0; i < thread_count; i++) {
        const int failure = io_thread_start(&queue->threads[i], thread_name, queue_main, queue);
        if (failure != 0) {
            io_queue_fini(queue);
            return failure;
        }
        queue->thread_count++;
    }
    return 0;
}

void io_queue_fini(struct io_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closing = true;
    pthread_cond_broadcast(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
    for (uint32_t i = 0; i < queue->thread_count; i++) {
        pthread_join(queue->threads[i], NULL);
    }
    pthread_cond_destroy(&queue->filled);
    pthread_mutex_destroy(&queue->lock);
}

void io_queue_push(struct io_queue *queue, struct io_request *request)
{
    request->next = NULL;
    pthread_mutex_lock(&queue->lock);
    *queue->last_next = request;
    queue->last_next = &request->next;
    pthread_cond_signal(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
}
