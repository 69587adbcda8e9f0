#ifndef TESTS_BENCH_BENCH_SAMPLE_H
#define TESTS_BENCH_BENCH_SAMPLE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Nanoseconds of one step, from many rounds short enough to fall between two turns of other
 * processes: reported as the least and the median round. */
enum { SAMPLE_ROUNDS_MAX = 400 };

struct sample {
    double each_ns[SAMPLE_ROUNDS_MAX];
    int count;
};

static inline uint64_t sample_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline void sample_add(struct sample *sample, uint64_t start_ns, double share)
{
    sample->each_ns[sample->count++] = (double)(sample_now_ns() - start_ns) * share;
}

static inline int sample_compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static inline void sample_report(const char *what, struct sample *sample)
{
    if (sample->count == 0) {
        return;
    }
    qsort(sample->each_ns, (size_t)sample->count, sizeof sample->each_ns[0], sample_compare);
    printf("%-60s %8.1f ns, median %8.1f ns\n", what, sample->each_ns[0],
           sample->each_ns[sample->count / 2]);
}

#endif
