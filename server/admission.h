#ifndef ADMISSION_H
#define ADMISSION_H

#include "config.h"
#include "metrics.h"

/* Who may run: at most jobs_running_max jobs at once, at most jobs_queued_max behind them, first
 * come first served. Loop thread only. */

struct admission_ticket {
    struct admission_ticket *next, *prev; /* while queued */
    void (*admitted)(struct admission_ticket *ticket);
    enum { ADMISSION_OUT, ADMISSION_QUEUED, ADMISSION_RUNNING } place;
};

struct admission {
    const struct config *config; /* limits may change at SIGHUP */
    struct metrics *metrics;
    struct admission_ticket *first, *last;
    uint64_t running, queued;
    bool admitting;
};

void admission_init(struct admission *admission, const struct config *config,
                    struct metrics *metrics);

/* True: the ticket runs now or is queued (see its place); `admitted` is called later, from
 * admission_leave, for a queued one. False: the queue is full. */
bool admission_enter(struct admission *admission, struct admission_ticket *ticket);

/* The holder of the ticket is done, or does not want to wait any more. May admit others. */
void admission_leave(struct admission *admission, struct admission_ticket *ticket);

/* When to try again after a refusal. */
uint64_t admission_retry_ms(const struct admission *admission);

#endif
