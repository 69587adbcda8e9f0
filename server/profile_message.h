#ifndef PROFILE_MESSAGE_H
#define PROFILE_MESSAGE_H

#include "exec/exec.h"

#include "morsel/v1/job_service.pb-c.h"

/* What a job that has ended did, as messages: its Profile, and its events as Traces. The engine's
 * job must live as long as the messages. Loop thread. */

/* NULL: no memory. One block, free(). */
Morsel__V1__Profile *profile_message(const struct exec_engine *engine, const struct exec_job *job);

/* One Trace after another, each of at most TRACE_MESSAGE_EVENTS events, those of worker 0 first.
 * The message lives until the next call. */
enum { TRACE_MESSAGE_EVENTS = 4096 };

struct trace_messages {
    const struct exec_engine *engine;
    const struct exec_job *job;
    uint32_t worker; /* the next one to read */
    uint32_t count, used;
    uint64_t submitted_ns;
    struct exec_trace_event *events;
    Morsel__V1__Profile *profile; /* for the names of pipelines */
    Morsel__V1__Trace message;
    Morsel__V1__TraceEvent event[TRACE_MESSAGE_EVENTS];
    Morsel__V1__TraceEvent *pointers[TRACE_MESSAGE_EVENTS];
};

/* NULL: the job was not traced, or there is no memory. */
struct trace_messages *trace_messages_create(const struct exec_engine *engine,
                                             const struct exec_job *job);
/* NULL: that was all. */
Morsel__V1__Trace *trace_messages_next(struct trace_messages *messages);
void trace_messages_destroy(struct trace_messages *messages);

/* Events a worker that a server keeps at most: the answer stays within some ten MiB. */
uint32_t trace_events_max(const struct exec_engine *engine);

#endif
