#ifndef TESTS_BENCH_BENCH_CLOCK_H
#define TESTS_BENCH_BENCH_CLOCK_H

#include <stdio.h>
#include <time.h>

/* Of this thread: the machine may be busy. */
static inline double bench_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline void bench_print(const char *what, double rows, double seconds)
{
    printf("%-44s %8.1f ms  %8.1f M rows/s\n", what, seconds * 1e3, rows / seconds * 1e-6);
}

#endif
