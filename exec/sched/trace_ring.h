#ifndef EXEC_SCHED_TRACE_RING_H
#define EXEC_SCHED_TRACE_RING_H

#include "exec/trace.h"

/* The newest `capacity` events of one worker for one job. Written by that worker alone; read when
 * the job is over. The memory is the job's. Without a trace the capacity is 0, which is all that
 * a job without one pays for. */
struct trace_ring {
    struct exec_trace_event *events;
    uint32_t capacity;
    uint64_t count; /* ever added */
};

static inline void trace_ring_add(struct trace_ring *ring, const struct exec_trace_event *event)
{
    if (__builtin_expect(ring->capacity != 0, 0)) {
        ring->events[ring->count++ % ring->capacity] = *event;
    }
}

#endif
