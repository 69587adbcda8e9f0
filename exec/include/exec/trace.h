#ifndef EXEC_TRACE_H
#define EXEC_TRACE_H

#include <stdint.h>

/* What happened when, on which worker, for jobs that ask for it (exec_job_options.trace_events).
 * Times are CLOCK_MONOTONIC in nanoseconds. */
enum exec_trace_kind {
    EXEC_TRACE_MORSEL,      /* the worker ran a morsel of `pipe`; pipe 0: the job was planned */
    EXEC_TRACE_FINISH,      /* the worker ended `pipe`: its source closed, its sink combined */
    EXEC_TRACE_SEARCH,      /* the worker looked for work, of any job */
    EXEC_TRACE_PARK,        /* the worker slept */
    EXEC_TRACE_STEAL,       /* an instant: it took a range of `units` from worker `peer` */
    EXEC_TRACE_WAIT_CREDIT, /* rows of `pipe` waited for the result's reader, no worker did */
    EXEC_TRACE_WAIT_IO,     /* rows of `pipe` waited for a file; the worker is who went on */
    EXEC_TRACE_KIND_COUNT
};

/* Events of one worker do not overlap, but for waits, which are not the worker's. */
struct exec_trace_event {
    uint64_t begin_ns, end_ns;
    uint64_t rows;  /* morsel: that the source handed over */
    uint64_t units; /* morsel, steal: rows, file bytes or partitions, as the source counts */
    uint32_t pipe;  /* 1-based, see exec_job_pipe */
    uint16_t peer;  /* steal: the victim; morsel: home node of the rows */
    uint8_t kind;   /* enum exec_trace_kind */
    uint8_t level;  /* steal: 0 SMT sibling, 1 last-level cache, 2 node, 3 remote */
};

#endif
