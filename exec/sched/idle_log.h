#ifndef EXEC_SCHED_IDLE_LOG_H
#define EXEC_SCHED_IDLE_LOG_H

#include "exec/trace.h"
#include "sched/sched.h"

/* When a worker searched and slept, for traces: the newest IDLE_LOG_EVENTS intervals a worker, kept
 * only while somebody traces. They belong to no job, so they sit here and not in a job's ring. The
 * worker writes, anybody reads: what may have been overwritten during a read is left out. */
enum { IDLE_LOG_EVENTS = 4096 };

struct idle_log {
    _Atomic uint64_t count;         /* intervals ever written */
    _Atomic uint64_t (*entries)[2]; /* begin; end, with the top bit set when it slept */
    uint64_t from_ns;               /* the worker's own: where its next interval begins */
};

/* One block of address space for all workers, touched only by those that are traced. 0 or a
 * negative errno. */
struct worker;
int idle_logs_init(struct worker *workers, uint32_t worker_count);
void idle_logs_fini(struct worker *workers, uint32_t worker_count);

/* The worker's own; kind: SEARCH or PARK. */
void idle_log_write(struct idle_log *log, enum exec_trace_kind kind, uint64_t begin_ns,
                    uint64_t end_ns);

#endif
