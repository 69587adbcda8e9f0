#include "admission.h"

#include <assert.h>
#include <string.h>

void admission_init(struct admission *admission, const struct config *config,
                    struct metrics *metrics)
{
    memset(admission, 0, sizeof *admission);
    admission->config = config;
    admission->metrics = metrics;
}

static void admission_publish(const struct admission *admission)
{
    metrics_set(&admission->metrics->jobs_running, admission->running);
    metrics_set(&admission->metrics->jobs_queued, admission->queued);
}

static void admission_unlink(struct admission *admission, struct admission_ticket *ticket)
{
    if (ticket->prev != NULL) {
        ticket->prev->next = ticket->next;
    } else {
        admission->first = ticket->next;
    }
    if (ticket->next != NULL) {
        ticket->next->prev = ticket->prev;
    } else {
        admission->last = ticket->prev;
    }
    ticket->next = NULL;
    ticket->prev = NULL;
    admission->queued--;
}

bool admission_enter(struct admission *admission, struct admission_ticket *ticket)
{
    assert(ticket->place == ADMISSION_OUT);
    if (admission->queued == 0 && admission->running < admission->config->jobs_running_max) {
        ticket->place = ADMISSION_RUNNING;
        admission->running++;
    } else if (admission->queued < admission->config->jobs_queued_max) {
        ticket->place = ADMISSION_QUEUED;
        ticket->next = NULL;
        ticket->prev = admission->last;
        if (admission->last != NULL) {
            admission->last->next = ticket;
        } else {
            admission->first = ticket;
        }
        admission->last = ticket;
        admission->queued++;
    } else {
        return false;
    }
    admission_publish(admission);
    return true;
}

void admission_leave(struct admission *admission, struct admission_ticket *ticket)
{
    if (ticket->place == ADMISSION_QUEUED) {
        admission_unlink(admission, ticket);
    } else if (ticket->place == ADMISSION_RUNNING) {
        admission->running--;
    }
    ticket->place = ADMISSION_OUT;
    if (admission->admitting) {
        return; /* an admitted job ended at once; the loop below goes on with the next */
    }
    admission->admitting = true;
    while (admission->first != NULL && admission->running < admission->config->jobs_running_max) {
        struct admission_ticket *next = admission->first;
        admission_unlink(admission, next);
        next->place = ADMISSION_RUNNING;
        admission->running++;
        next->admitted(next);
    }
    admission->admitting = false;
    admission_publish(admission);
}

uint64_t admission_retry_ms(const struct admission *admission)
{
    /* A second, and longer the longer the queue is in proportion to what runs. */
    return 1000 + 1000 * admission->queued / (admission->running + 1);
}
