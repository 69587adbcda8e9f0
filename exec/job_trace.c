#include "job.h"

/* Traces: a ring a worker, in memory of the job on the worker's node, and what the dispatcher keeps
 * of every worker's idle time while a traced job is there. */

enum { IDLE_EVENTS = 4096 };

enum exec_code job_trace_begin(struct exec_job *job, struct exec_error *err)
{
    const uint32_t events = job->spec->options.trace_events;

    if (events == 0 || job->is_traced) {
        return EXEC_OK;
    }
    job->is_traced = true;
    sched_trace_begin(job->engine->sched);
    for (uint32_t w = 0; w < job->engine->worker_count; w++) {
        struct nu_arena *arena = &job->workers[w].arena; /* nobody else works for the job yet */
        struct trace_ring *ring = &job->sched.shares[w].trace;
        ring->events = nu_arena_alloc(arena, events * sizeof *ring->events, 64);
        if (ring->events == NULL) {
            return job_memory_error(err, arena->refused, "the trace (options.trace_events)");
        }
        ring->capacity = events;
    }
    return EXEC_OK;
}

void job_trace_end(struct exec_job *job)
{
    if (job->is_traced) {
        sched_trace_end(job->engine->sched);
    }
}

void job_trace_add(struct exec_job *job, uint32_t worker, uint64_t begin_ns)
{
    trace_ring_add(&job->sched.shares[worker].trace, &(struct exec_trace_event){
                                                         .begin_ns = begin_ns,
                                                         .end_ns = job_clock_ns(),
                                                         .peer = job->context.worker_node[worker],
                                                         .kind = EXEC_TRACE_MORSEL,
                                                     });
}

uint32_t exec_job_trace_room(const struct exec_job *job)
{
    return job->is_traced ? job->spec->options.trace_events + IDLE_EVENTS : 0;
}

uint32_t exec_job_trace(const struct exec_job *job, uint32_t worker,
                        struct exec_trace_event *events_out, uint32_t room, uint64_t *dropped_out)
{
    const struct trace_ring *ring = &job->sched.shares[worker].trace;
    uint64_t from_ns, to_ns;
    uint32_t taken = 0;

    exec_job_times(job, &from_ns, &to_ns);
    *dropped_out = ring->count > ring->capacity ? ring->count - ring->capacity : 0;
    for (uint64_t i = *dropped_out; i < ring->count && taken < room; i++) {
        events_out[taken++] = ring->events[i % ring->capacity];
    }
    return !job->is_traced ? 0
                           : taken + sched_idle_events(job->engine->sched, worker, from_ns, to_ns,
                                                       events_out + taken, room - taken);
}
