#ifndef EXEC_SCHED_PARK_H
#define EXEC_SCHED_PARK_H

#include "numa/pinned_thread.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sched;
struct worker;

/* Who sleeps, who searches, who is woken.
 *
 * No wake-up is lost, in one total order of accesses: whoever queues work (1) makes it visible,
 * then (2) looks for searchers and sleepers. Whoever goes to sleep (3) stops being a searcher, (4)
 * announces its sleep, then (5) sweeps every place it could take work from. If (2) did not see the
 * announcement, (1) precedes (4) and the sweep finds the work. If (2) relied on a searcher, that
 * searcher's (3) comes after, and so does its sweep.
 *
 * At most half of a node's workers search at a time. Work queued while somebody searches wakes
 * nobody; the last searcher that finds work looks, once it has stopped being a searcher, whether
 * there is more, and then wakes one, who does the same: waking doubles, and stops when there is
 * nothing left to find. In the same way a worker that queues one morsel's worth for itself wakes
 * nobody (pipeline_queue) until it has looked round. */
struct park_node {
    _Alignas(128) _Atomic int32_t parked;
    /* Includes workers woken and not yet running. Below 0 for a moment when a woken worker is done
     * before its waker has counted it; never above 0 unless somebody is going to sweep. */
    _Atomic int32_t searching;
    int32_t searching_max;
    uint32_t *workers; /* of this node */
    uint32_t worker_count;
};

enum park_state { PARK_AWAKE, PARK_PARKED, PARK_WOKEN };
struct park_seat {
    _Alignas(128) _Atomic uint32_t state; /* enum park_state */
    struct nu_parker parker;
};

/* Work was queued on `node`: wake a sleeper there or, with `everywhere`, else on another node,
 * unless somebody searches already. */
void park_signal(struct sched *sched, uint32_t node, bool everywhere);
/* Work for `worker` alone. */
void park_signal_worker(struct sched *sched, uint32_t worker);
/* Work for any of them. */
void park_signal_all(struct sched *sched);
/* The engine stops: everybody up, without a search. */
void park_wake_all(struct sched *sched);

/* Become a searcher, unless enough search (not asked with `forced`). */
void park_search_begin(struct worker *worker, bool forced);
void park_search_end(struct worker *worker, bool found);
/* The worker has work in hand, and others relied on it to look: wakes somebody if there is more. */
void park_pass_on(struct worker *worker);

/* Sleep until woken, or until a place with work is affordable; returns at once when the sweep finds
 * such a place. The worker has no work, holds no seat and does not search; afterwards it searches
 * if it was woken or found something. */
void park_sleep(struct worker *worker);

#endif
