#include "metrics.h"

#include <time.h>

const uint64_t metrics_bounds_us[METRICS_BUCKET_COUNT] = {
    100,    1000,   5000,    10000,   25000,    50000,    100000,
    250000, 500000, 1000000, 2500000, 10000000, 60000000, 300000000,
};

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
