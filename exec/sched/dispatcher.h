#ifndef EXEC_SCHED_DISPATCHER_H
#define EXEC_SCHED_DISPATCHER_H

#include "sched/worker.h"

/* Where a range came from decides where its rest goes. */
enum dispatcher_source {
    DISPATCHER_NOTHING,
    DISPATCHER_KEEP,   /* the rest stays with this worker: its deque */
    DISPATCHER_ROTATE, /* the rest goes back to its queue: somebody else's turn comes */
};

/* What next: the job with the smallest pass that has work here; of it, the own deque, then the own
 * queue; if there is no such job, what is for taking elsewhere. On success the worker has a seat in
 * the range's slot; on NOTHING its deque is empty, and while it searches it may keep a seat:
 * whoever sits down and gets up for every try writes a line that all workers need. */
enum dispatcher_source dispatcher_next(struct worker *worker, struct sched_range *range_out);

/* Another job has a range in the worker's queue, no other worker of the node is free to take it,
 * and if it were given a whole morsel now it would still be behind the worker's own job, whose
 * morsel has run for run_ns so far. */
bool dispatcher_is_wanted(struct worker *worker, uint64_t run_ns);

/* The worker's queue under a policy, and the home queue of a range. */
uint32_t dispatcher_lane(const struct worker *worker, enum exec_policy policy);
uint32_t dispatcher_home_lane(const struct sched *sched, enum exec_policy policy,
                              const struct sched_range *range);

/* Put what is left of a range where it can be taken: the own deque, or the home queue when that is
 * full, rotates, or the policy has no deques. */
void dispatcher_keep(struct worker *worker, const struct sched_range *range,
                     enum dispatcher_source source);
/* The same for what the worker itself goes on with next: wakes nobody for it. */
void dispatcher_resume(struct worker *worker, const struct sched_range *range,
                       enum dispatcher_source source);
/* Put the far half of a range where others take it first. */
void dispatcher_share(struct worker *worker, const struct sched_range *range);
/* The units of *range are far heavier than others of the pipeline: cut it into about `pieces` and
 * put all but the first, and what the deque still has of the pipeline, where every worker of the
 * home node sees them before its own next range. *range keeps the first piece, and its unsplit
 * units in any case. */
void dispatcher_spread(struct worker *worker, struct sched_range *range, uint32_t pieces);
/* Put a range into its home queue. The worker has the seat of its slot. */
void dispatcher_return(struct worker *worker, const struct sched_range *range);

/* Take a seat in `slot`, in place of the one the worker has elsewhere. False: none to be had. */
bool dispatcher_sit(struct worker *worker, uint32_t slot);
/* Give up the seat and wake whoever may sit down now; ranges still in the deque go home first. */
void dispatcher_leave(struct worker *worker);

#endif
