#include "metrics.h"

#include <time.h>

#define METRICS_BOUND(bound) bound,
static const uint64_t metrics_bounds_us[] = {METRICS_BUCKETS(METRICS_BOUND)};

void metrics_observe(struct metrics_histogram *histogram, uint64_t duration_ns)
{
    const uint64_t duration_us = duration_ns / 1000;
    uint32_t bucket = 0;

    while (bucket < METRICS_BUCKET_COUNT && duration_us > metrics_bounds_us[bucket]) {
        bucket++;
    }
    metrics_add(&histogram->counts[bucket], 1);
    metrics_add(&histogram->sum_us, duration_us);
}

uint64_t metrics_monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}
