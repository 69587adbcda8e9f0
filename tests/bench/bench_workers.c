/* One worker and two, and how long morsels are: joins and an aggregate on the machine as it is,
 * worker counts in turn, after one run of each job that touches its memory. Speed-up is of the
 * least time of all rounds; the lengths are of all morsels of the runs with two workers, which only
 * an otherwise idle machine keeps below 2 ms. Usage: bench_workers [smoke | rows of the probe side]
 */
#include "bench_engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int64_t ROWS = 4000000, SMOKE_ROWS = 200000;
enum { ROUNDS = 30, ROUNDS_OF_MANY = 7, TRACE_EVENTS = 1 << 14 };

struct lengths {
    uint64_t *all_ns, count;
};

static void lengths_add(struct lengths *lengths, struct bench_run *run)
{
    lengths->all_ns =
        realloc(lengths->all_ns, (lengths->count + run->morsel_count) * sizeof *lengths->all_ns);
    memcpy(lengths->all_ns + lengths->count, run->morsel_ns,
           run->morsel_count * sizeof *run->morsel_ns);
    lengths->count += run->morsel_count;
}

static int compare(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void lengths_print(struct lengths *lengths)
{
    qsort(lengths->all_ns, lengths->count, sizeof *lengths->all_ns, compare);
    printf("%" PRIu64 " | %.2f | %.2f | %.2f | %.2f |\n", lengths->count,
           (double)lengths->all_ns[lengths->count / 2] / 1e6,
           (double)lengths->all_ns[lengths->count * 99 / 100] / 1e6,
           (double)lengths->all_ns[lengths->count * 999 / 1000] / 1e6,
           (double)lengths->all_ns[lengths->count - 1] / 1e6);
}

/* In the real-time class, which keeps other programs away, the kernel leaves them 5 % of a CPU. */
static void leave_the_others_their_share(uint64_t run_ns)
{
    const struct timespec nap = {.tv_sec = (time_t)(run_ns / 8 / 1000000000),
                                 .tv_nsec = (long)(run_ns / 8 % 1000000000)};
    nanosleep(&nap, NULL);
}

static void compare_counts(struct exec_engine *const *engines, enum bench_job job, int rounds,
                           struct lengths *all)
{
    uint64_t best_ns[2] = {UINT64_MAX, UINT64_MAX};
    struct lengths lengths = {.count = 0};

    for (int round = -1; round < rounds; round++) {
        for (int i = 0; i < 2; i++) {
            struct bench_run run;
            bench_run(engines[i], job, EXEC_POLICY_NUMA, i == 1 ? TRACE_EVENTS : 0, &run);
            leave_the_others_their_share(run.status.elapsed_ns);
            if (round >= 0) {
                const uint64_t ns = run.status.elapsed_ns;
                best_ns[i] = ns < best_ns[i] ? ns : best_ns[i];
            }
            if (round >= 0 && i == 1) {
                lengths_add(&lengths, &run);
                lengths_add(all, &run);
            }
            free(run.morsel_ns);
        }
    }
    printf("| %s | %.1f | %.1f | %.2f | ", bench_job_name(job), (double)best_ns[0] / 1e6,
           (double)best_ns[1] / 1e6, (double)best_ns[0] / (double)best_ns[1]);
    lengths_print(&lengths);
    free(lengths.all_ns);
}

int main(int argc, char **argv)
{
    const bool smoke = argc > 1 && strcmp(argv[1], "smoke") == 0;
    const int64_t rows = smoke ? SMOKE_ROWS : argc > 1 ? atoll(argv[1]) : ROWS;
    struct exec_engine *engines[2] = {bench_engine(1, false), bench_engine(2, false)};
    struct lengths all = {.count = 0};

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 0; i < 2; i++) {
        bench_tables(engines[i], rows);
    }
    printf("| job | 1 worker ms | 2 workers ms | ratio | morsels | median ms | p99 | p99.9 | "
           "longest |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (enum bench_job job = 0; job < BENCH_JOB_COUNT; job++) {
        compare_counts(engines, job, smoke ? 1 : rows > ROWS ? ROUNDS_OF_MANY : ROUNDS, &all);
    }
    printf("| all | | | | ");
    lengths_print(&all);
    free(all.all_ns);
    exec_engine_destroy(engines[0]);
    exec_engine_destroy(engines[1]);
    return 0;
}
