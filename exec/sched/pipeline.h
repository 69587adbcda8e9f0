#ifndef EXEC_SCHED_PIPELINE_H
#define EXEC_SCHED_PIPELINE_H

#include "sched/worker.h"

/* The account of a pipeline: units_left counts pending units and guards. A guard is one unit that
 * is no row: it keeps the pipeline from finishing while somebody still speaks of it. Whoever brings
 * the account to 0 is the only one who may touch the pipeline afterwards, and sees to finish(). */

/* From a worker's loop: settles `units` and runs finish() when they were the last. The pipeline may
 * be gone afterwards unless the caller holds other units of it. */
void pipeline_settle(struct worker *worker, struct sched_pipeline *pipeline, uint64_t units);

/* The same for what the worker's own account holds, which is empty afterwards. */
void pipeline_account_settle(struct worker *worker);

/* A queued range without units asks a worker to run finish(). */
static inline bool pipeline_is_finish(const struct sched_range *range)
{
    return range->begin == range->end;
}
void pipeline_finish(struct worker *worker, struct sched_pipeline *pipeline);

/* Queue a range in its home lane and wake somebody for it. From any thread; the range may be run
 * before this returns. */
void pipeline_queue(struct sched *sched, uint32_t lane, const struct sched_range *range);

#endif
