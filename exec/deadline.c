#include "deadline.h"

#include "exec/exec.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

struct deadlines {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* on CLOCK_MONOTONIC */
    struct deadline *first, *last;
    bool stopping;
};

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void unlink_entry(struct deadlines *deadlines, struct deadline *deadline)
{
    *(deadline->previous == NULL ? &deadlines->first : &deadline->previous->next) = deadline->next;
    *(deadline->next == NULL ? &deadlines->last : &deadline->next->previous) = deadline->previous;
    deadline->is_listed = false;
}

static void wait_until(struct deadlines *deadlines, uint64_t at_ns)
{
    const struct timespec at = {
        .tv_sec = (time_t)(at_ns / 1000000000u),
        .tv_nsec = (long)(at_ns % 1000000000u),
    };
    pthread_cond_timedwait(&deadlines->changed, &deadlines->lock, &at);
}

static void *deadlines_main(void *argument)
{
    struct deadlines *deadlines = argument;

    pthread_mutex_lock(&deadlines->lock);
    while (!deadlines->stopping) {
        struct deadline *first = deadlines->first;

        if (first == NULL) {
            pthread_cond_wait(&deadlines->changed, &deadlines->lock);
        } else if (first->at_ns > clock_ns()) {
            wait_until(deadlines, first->at_ns);
        } else {
            /* A listed job has not ended, so it can be retained here. */
            struct exec_job *job = first->job;
            unlink_entry(deadlines, first);
            exec_job_retain(job);
            pthread_mutex_unlock(&deadlines->lock);
            exec_job_cancel(job, EXEC_DEADLINE, NULL);
            exec_job_release(job);
            pthread_mutex_lock(&deadlines->lock);
        }
    }
    pthread_mutex_unlock(&deadlines->lock);
    return NULL;
}

struct deadlines *deadlines_create(void)
{
    struct deadlines *deadlines = calloc(1, sizeof *deadlines);
    pthread_condattr_t monotonic;
    sigset_t all, before;

    if (deadlines == NULL) {
        return NULL;
    }
    pthread_mutex_init(&deadlines->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&deadlines->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread takes no signals */
    const int refused = pthread_create(&deadlines->thread, NULL, deadlines_main, deadlines);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (refused != 0) {
        pthread_cond_destroy(&deadlines->changed);
        pthread_mutex_destroy(&deadlines->lock);
        free(deadlines);
        return NULL;
    }
    pthread_setname_np(deadlines->thread, "morsel-deadline");
    return deadlines;
}

void deadlines_destroy(struct deadlines *deadlines)
{
    pthread_mutex_lock(&deadlines->lock);
    deadlines->stopping = true;
    pthread_cond_signal(&deadlines->changed);
    pthread_mutex_unlock(&deadlines->lock);
    pthread_join(deadlines->thread, NULL);
    pthread_cond_destroy(&deadlines->changed);
    pthread_mutex_destroy(&deadlines->lock);
    free(deadlines);
}

void deadline_add(struct deadlines *deadlines, struct deadline *deadline)
{
    struct deadline *before;

    pthread_mutex_lock(&deadlines->lock);
    before = deadlines->last;
    while (before != NULL && before->at_ns > deadline->at_ns) {
        before = before->previous;
    }
    deadline->previous = before;
    deadline->next = before == NULL ? deadlines->first : before->next;
    *(deadline->previous == NULL ? &deadlines->first : &deadline->previous->next) = deadline;
    *(deadline->next == NULL ? &deadlines->last : &deadline->next->previous) = deadline;
    deadline->is_listed = true;
    if (deadlines->first == deadline) {
        pthread_cond_signal(&deadlines->changed);
    }
    pthread_mutex_unlock(&deadlines->lock);
}

void deadline_remove(struct deadlines *deadlines, struct deadline *deadline)
{
    pthread_mutex_lock(&deadlines->lock);
    if (deadline->is_listed) {
        unlink_entry(deadlines, deadline);
    }
    pthread_mutex_unlock(&deadlines->lock);
}
