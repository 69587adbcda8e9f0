/* One worker and two, and how long morsels are: joins and an aggregate on the machine as it is,
 * worker counts in turn. Speed-up is of the least time of ROUNDS; the lengths are of all morsels of
 * the runs with two workers, which only an otherwise idle machine keeps below 2 ms. Usage:
 * bench_workers [smoke] */
#include "bench_engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 7, TRACE_EVENTS = 1 << 14, BINS = 10 };

struct lengths {
    uint64_t bins[BINS]; /* below 2^(i+14) ns: 16 us, 33 us, ... 4.2 ms, 8.4 ms */
    uint64_t *all_ns, count;
};

static void lengths_add(struct lengths *lengths, struct bench_run *run)
{
    lengths->all_ns =
        realloc(lengths->all_ns, (lengths->count + run->morsel_count) * sizeof *lengths->all_ns);
    for (uint64_t i = 0; i < run->morsel_count; i++) {
        uint32_t bin = 0;
        while (bin + 1 < BINS && run->morsel_ns[i] >= 1ULL << (bin + 14)) {
            bin++;
        }
        lengths->bins[bin]++;
        lengths->all_ns[lengths->count++] = run->morsel_ns[i];
    }
    free(run->morsel_ns);
}

static int compare(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void lengths_print(struct lengths *lengths)
{
    qsort(lengths->all_ns, lengths->count, sizeof *lengths->all_ns, compare);
    printf("\nMorsel lengths, two workers: %" PRIu64 " morsels, median %.3f ms, p99 %.3f ms, p99.9 "
           "%.3f ms, longest %.3f ms\n",
           lengths->count, (double)lengths->all_ns[lengths->count / 2] / 1e6,
           (double)lengths->all_ns[lengths->count * 99 / 100] / 1e6,
           (double)lengths->all_ns[lengths->count * 999 / 1000] / 1e6,
           (double)lengths->all_ns[lengths->count - 1] / 1e6);
    for (uint32_t bin = 0; bin < BINS; bin++) {
        printf("  %s%8.3f ms %8" PRIu64 "\n", bin + 1 < BINS ? "below " : "above ",
               (double)(1ULL << (bin + (bin + 1 < BINS ? 14 : 13))) / 1e6, lengths->bins[bin]);
    }
}

int main(int argc, char **argv)
{
    const bool smoke = argc > 1 && strcmp(argv[1], "smoke") == 0;
    struct exec_engine *engines[2] = {bench_engine(1, false), bench_engine(2, false)};
    struct lengths lengths = {.count = 0};

    printf("| job | 1 worker ms | 2 workers ms | ratio |\n|---|---:|---:|---:|\n");
    for (int i = 0; i < 2; i++) {
        bench_tables(engines[i], smoke ? 200000 : 4000000);
    }
    for (enum bench_job job = 0; job < BENCH_JOB_COUNT; job++) {
        uint64_t best_ns[2] = {UINT64_MAX, UINT64_MAX};
        for (int round = 0; round < (smoke ? 1 : ROUNDS); round++) {
            for (int i = 0; i < 2; i++) {
                struct bench_run run;
                bench_run(engines[i], job, EXEC_POLICY_NUMA, i == 1 ? TRACE_EVENTS : 0, &run);
                best_ns[i] =
                    run.status.elapsed_ns < best_ns[i] ? run.status.elapsed_ns : best_ns[i];
                if (i == 1) {
                    lengths_add(&lengths, &run);
                }
            }
        }
        printf("| %s | %.1f | %.1f | %.2f |\n", bench_job_name(job), (double)best_ns[0] / 1e6,
               (double)best_ns[1] / 1e6, (double)best_ns[0] / (double)best_ns[1]);
    }
    if (lengths.count > 0) {
        lengths_print(&lengths);
    }
    free(lengths.all_ns);
    exec_engine_destroy(engines[0]);
    exec_engine_destroy(engines[1]);
    return 0;
}
