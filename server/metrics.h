#ifndef METRICS_H
#define METRICS_H

#include "h2_limits.h"
#include "service.h"

#include "exec/error.h"
#include "proto/grpc_status.h"

#include <stdatomic.h>

/* The server's own figures. One writer (the loop), any reader: every access is relaxed, a scrape
 * may see one figure a moment before another. */

/* Upper bounds in microseconds; the last bucket is +Inf. */
#define METRICS_BUCKETS(BUCKET)                                                    \
    BUCKET(100)                                                                    \
    BUCKET(1000)                                                                   \
    BUCKET(5000)                                                                   \
    BUCKET(10000)                                                                  \
    BUCKET(25000)                                                                  \
    BUCKET(50000)                                                                  \
    BUCKET(100000)                                                                 \
    BUCKET(250000) BUCKET(500000) BUCKET(1000000) BUCKET(2500000) BUCKET(10000000) \
        BUCKET(60000000) BUCKET(300000000)

#define METRICS_ONE(bound) +1
enum { METRICS_BUCKET_COUNT = METRICS_BUCKETS(METRICS_ONE) };
#undef METRICS_ONE

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
