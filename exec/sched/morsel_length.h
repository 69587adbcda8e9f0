#ifndef EXEC_SCHED_MORSEL_LENGTH_H
#define EXEC_SCHED_MORSEL_LENGTH_H

#include "sched/dispatcher.h"
#include "sched/worker.h"

/* How long a morsel is: about a millisecond, from what the worker's own last morsels of the
 * pipeline took. Workers keep their own measure, for heavy rows often lie together and a worker
 * stays where it is; the pipeline's is where a worker new to it starts. */

/* Units of the next morsel of `pipeline` on this worker. */
uint64_t morsel_units(struct worker *worker, struct sched_pipeline *pipeline);

/* A morsel was to be `target` units, and run() did `done` of them in run_ns. */
void morsel_measure(struct worker *worker, struct sched_pipeline *pipeline, uint64_t target,
                    uint64_t done, uint64_t run_ns);

/* Cuts the morsel off the front of *range and puts the rest where it can be taken meanwhile. */
void morsel_cut(struct worker *worker, struct sched_range *range, uint64_t target,
                enum dispatcher_source source);

/* After a morsel that was cut short by time: into how many pieces what is left of its range is to
 * be spread, so that others take it before lighter work. 1: it is to stay whole. */
uint32_t morsel_pieces(const struct sched_range *rest, uint64_t target, uint64_t done,
                       uint64_t run_ns);

#endif
