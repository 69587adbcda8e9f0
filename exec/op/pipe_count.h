#ifndef EXEC_OP_PIPE_COUNT_H
#define EXEC_OP_PIPE_COUNT_H

#include "op/pipe.h"

/* What pipes count: rows and morsels always, time by operator for jobs that are profiled, events
 * for jobs that are traced. Called by pipe.c only. */

struct pipe_suspended;

/* Time by place: 0 the source, then the operators, then the sink. A place has what passes between
 * being entered and entering the next one, so that times add up. */
struct pipe_times {
    uint64_t ns[PIPE_OPS_MAX + 2];
    uint64_t stamp_ns; /* when the place below was entered or come back to */
    uint32_t place;
};

/* Goes on to `place`; returns the one before, for pipe_times_move back. */
uint32_t pipe_times_move(struct pipe_times *times, uint32_t place);

/* A morsel has ended: figures of the worker, the pipe and its operators; the event of a trace.
 * `times` NULL: not profiled. */
void pipe_count_morsel(const struct pipe_run *run, const struct sched_range *range,
                       uint64_t begin_units, uint64_t started_ns, uint64_t ended_ns);
/* A range that was parked goes on. */
void pipe_count_wait(const struct pipe_run *run, const struct pipe_suspended *suspended,
                     uint64_t now_ns);
/* The pipe's end took from started_ns until now on `worker`. */
void pipe_count_finish(struct pipe *pipe, uint32_t worker, uint64_t started_ns);

#endif
