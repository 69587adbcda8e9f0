#ifndef METRICS_H
#define METRICS_H

#include "h2_limits.h"
#include "service.h"

#include "exec/error.h"
#include "proto/grpc_status.h"

#include <stdatomic.h>

/* The server's own figures. One writer (the loop), any reader: every access is relaxed, a scrape
 * may see one figure a moment before another. */

/* Upper bounds of a histogram's buckets in microseconds; one more bucket is +Inf. */
enum { METRICS_BUCKET_COUNT = 14 };
extern const uint64_t metrics_bounds_us[METRICS_BUCKET_COUNT];

struct metrics_histogram {
    atomic_uint_fast64_t counts[METRICS_BUCKET_COUNT + 1];
    atomic_uint_fast64_t sum_us;
};

/* What a job does, as a label. */
enum metrics_op {
    METRICS_OP_SCAN,
    METRICS_OP_JOIN,
    METRICS_OP_GROUPBY,
    METRICS_OP_MIXED,
    METRICS_OP_COUNT
};

enum metrics_goaway {
    METRICS_GOAWAY_drain,
    METRICS_GOAWAY_violation,
    METRICS_GOAWAY_idle,
    METRICS_GOAWAY_COUNT
};

enum metrics_state { METRICS_STARTING, METRICS_READY, METRICS_DRAINING };

struct metrics {
#define METRIC(name, type, help) atomic_uint_fast64_t name;
#define HISTOGRAM(name, help) struct metrics_histogram name;
#include "metrics.def"
    struct metrics_histogram job_duration[METRICS_OP_COUNT];
    atomic_uint_fast64_t jobs[EXEC_CODE_COUNT];
    atomic_uint_fast64_t rpcs[RPC_COUNT + 1][GRPC_CODE_COUNT];
    atomic_uint_fast64_t violations[H2_VIOLATION_COUNT];
    atomic_uint_fast64_t goaways[METRICS_GOAWAY_COUNT];
    atomic_uint_fast64_t net_bytes;    /* memory of connections */
    atomic_uint_fast64_t loop_tick_ms; /* CLOCK_MONOTONIC of the loop's last tick */
    atomic_int state;                  /* enum metrics_state */
};

static inline void metrics_add(atomic_uint_fast64_t *figure, uint64_t count)
{
    atomic_fetch_add_explicit(figure, count, memory_order_relaxed);
}

static inline void metrics_sub(atomic_uint_fast64_t *figure, uint64_t count)
{
    atomic_fetch_sub_explicit(figure, count, memory_order_relaxed);
}

static inline void metrics_set(atomic_uint_fast64_t *figure, uint64_t value)
{
    atomic_store_explicit(figure, value, memory_order_relaxed);
}

static inline uint64_t metrics_get(const atomic_uint_fast64_t *figure)
{
    return atomic_load_explicit(figure, memory_order_relaxed);
}

void metrics_observe(struct metrics_histogram *histogram, uint64_t duration_ns);

uint64_t metrics_monotonic_ns(void);

#endif
