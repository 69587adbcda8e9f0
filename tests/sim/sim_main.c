/* morsel-sim: the dispatcher in virtual time.
 *
 *   morsel-sim --seed N [--trace]   one run of everything at once; the last line is `trace HASH`
 *   morsel-sim --seeds N            runs 1..N, says which seeds fail
 *   morsel-sim --table              policies against inputs and core counts
 *
 * Exit code 0 when every invariant held. */
#include "sim_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run_seed(uint64_t seed)
{
    struct sim_result result;
    sim_chaos(seed, &result);
    printf("makespan %.3f ms, %" PRIu64 " morsels, %" PRIu64 " steals, %" PRIu64
           " units local, %" PRIu64 " remote, %" PRIu64 " parks\n",
           (double)result.makespan_ns / 1e6, result.morsels, result.steals, result.units_local,
           result.units_remote, result.parks);
    if (result.failure[0] != '\0') {
        printf("FAILED: %s\n", result.failure);
    }
    printf("trace %016" PRIx64 "\n", result.trace_hash);
    return result.failure[0] != '\0';
}

static int run_seeds(uint64_t count)
{
    uint64_t failed = 0;
    for (uint64_t seed = 1; seed <= count; seed++) {
        struct sim_result result;
        sim_chaos(seed, &result);
        if (result.failure[0] != '\0') {
            printf("seed %" PRIu64 ": %s\n", seed, result.failure);
            failed++;
        }
    }
    printf("%" PRIu64 " seeds, %" PRIu64 " failed\n", count, failed);
    return failed != 0;
}

static int run_table(void)
{
    static const char *const policies[] = {"numa", "steal", "shared", "static"};
    static const uint32_t cores[] = {2, 8, 32, 128, 512};
    int failed = 0;
    printf("%-8s %-7s %6s %6s %9s %8s %8s %8s\n", "input", "policy", "cores", "nodes", "over bound",
           "steals", "remote", "parks");
    for (uint32_t input = 0; input < SIM_INPUT_COUNT; input++) {
        for (uint32_t c = 0; c < sizeof cores / sizeof cores[0]; c++) {
            for (uint32_t policy = 0; policy < 4; policy++) {
                const struct sim_race race = {
                    .seed = 1,
                    .cores = cores[c],
                    .nodes = cores[c] >= 32 ? cores[c] / 16 > 8 ? 8 : cores[c] / 16 : 1,
                    .policy = EXEC_POLICY_NUMA + policy,
                    .input = (enum sim_input)input};
                struct sim_result result;
                sim_race(&race, &result);
                const uint64_t units = result.units_local + result.units_remote;
                printf("%-8s %-7s %6" PRIu32 " %6" PRIu32 " %9.3f %8" PRIu64 " %7.2f%% %8" PRIu64
                       " %s\n",
                       sim_input_name(race.input), policies[policy], race.cores, race.nodes,
                       (double)result.makespan_ns / (double)result.bound_ns, result.steals,
                       units > 0 ? 100.0 * (double)result.units_remote / (double)units : 0,
                       result.parks, result.failure);
                fflush(stdout);
                failed |= result.failure[0] != '\0';
            }
        }
    }
    return failed;
}

int main(int argc, char **argv)
{
    if (argc >= 3 && strcmp(argv[1], "--seed") == 0) {
        sim_print_trace(argc >= 4 && strcmp(argv[3], "--trace") == 0);
        return run_seed(strtoull(argv[2], NULL, 10));
    }
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
        return run_seeds(strtoull(argv[2], NULL, 10));
    }
    if (argc == 2 && strcmp(argv[1], "--table") == 0) {
        return run_table();
    }
    fprintf(stderr, "usage: morsel-sim --seed N [--trace] | --seeds N | --table\n");
    return 2;
}
