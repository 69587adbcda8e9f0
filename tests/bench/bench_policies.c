/* The four policies on the real engine: joins and an aggregate over tables spread over two fake
 * nodes of a CPU each, the policies in turn, the least time of ROUNDS. Usage: bench_policies
 * [smoke] */
#include "bench_engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 7, POLICIES = 4 };

int main(int argc, char **argv)
{
    static const char *const names[POLICIES] = {"numa", "steal", "shared", "static"};
    const bool smoke = argc > 1 && strcmp(argv[1], "smoke") == 0;
    struct exec_engine *engine = bench_engine(2, true);

    bench_tables(engine, smoke ? 200000 : 4000000);
    printf("| job | policy | ms | busy ms of both workers | morsels | remote morsels | steals |\n"
           "|---|---|---:|---:|---:|---:|---:|\n");
    for (enum bench_job job = 0; job < BENCH_JOB_COUNT; job++) {
        struct exec_job_status best[POLICIES] = {0};
        for (int round = 0; round < (smoke ? 1 : ROUNDS); round++) {
            for (uint32_t p = 0; p < POLICIES; p++) {
                struct bench_run run;
                bench_run(engine, job, EXEC_POLICY_NUMA + p, 0, &run);
                if (round == 0 || run.status.elapsed_ns < best[p].elapsed_ns) {
                    best[p] = run.status;
                }
            }
        }
        for (uint32_t p = 0; p < POLICIES; p++) {
            printf("| %s | %s | %.1f | %.1f | %" PRIu64 " | %.1f %% | %" PRIu64 " |\n",
                   bench_job_name(job), names[p], (double)best[p].elapsed_ns / 1e6,
                   (double)best[p].busy_ns / 1e6, best[p].morsels,
                   100.0 * (double)best[p].morsels_remote /
                       (double)(best[p].morsels > 0 ? best[p].morsels : 1),
                   best[p].steals);
        }
    }
    exec_engine_destroy(engine);
    return 0;
}
