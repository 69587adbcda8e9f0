/* morsel-sim: the dispatcher in virtual time.
 *
 *   morsel-sim --seed N [--trace]   one run of everything at once; the last line is `trace HASH`
 *   morsel-sim --seeds N            runs 1..N, says which seeds fail
 *   morsel-sim --table              policies against inputs, cores and nodes
 *   morsel-sim --race INPUT POLICY CORES NODES [SEED] [--trace]   one of them, phase by phase
 *
 * Exit code 0 when every invariant held. */
#include "sim_core.h"
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

static void print_race(const struct sim_race *race, const struct sim_result *result)
{
    static const char *const policies[] = {"default", "numa", "steal", "shared", "static"};
    const uint64_t units = result->units_local + result->units_remote;
    printf("%-8s %-7s %6" PRIu32 " %6" PRIu32 " %10.3f %10.3f %8" PRIu64 " %9.2f %7.2f%% %8" PRIu64
           " %s\n",
           sim_input_name(race->input), policies[race->policy], race->cores, race->nodes,
           (double)result->makespan_ns / 1e6,
           (double)result->makespan_ns / (double)result->bound_ns, result->steals,
           (double)result->steals * 1e6 / ((double)race->cores * (double)result->longest_ns),
           units > 0 ? 100.0 * (double)result->units_remote / (double)units : 0, result->parks,
           result->failure);
    fflush(stdout);
}

static void print_heads(void)
{
    printf("%-8s %-7s %6s %6s %10s %10s %8s %9s %8s %8s\n", "input", "policy", "cores", "nodes",
           "ms", "over bound", "steals", "/(P Tinf)", "remote", "parks");
}

/* One queue for 512 cores is under so many accesses at once that its simulation takes hours. */
static bool table_has(enum exec_policy policy, uint32_t cores)
{
    return policy != EXEC_POLICY_SHARED || cores < 512;
}

static int table_rows(enum sim_input input, uint32_t cores, uint32_t nodes)
{
    int failed = 0;
    for (uint32_t policy = 0; policy < 4; policy++) {
        if (!table_has(EXEC_POLICY_NUMA + policy, cores)) {
            continue;
        }
        const struct sim_race race = {.seed = 1,
                                      .cores = cores,
                                      .nodes = nodes,
                                      .policy = EXEC_POLICY_NUMA + policy,
                                      .input = input};
        struct sim_result result;
        sim_race(&race, &result);
        print_race(&race, &result);
        failed |= result.failure[0] != '\0';
    }
    return failed;
}

/* By cores, 16 of them a node up to 8 nodes; then by nodes, with 64 cores. */
static int run_table(void)
{
    int failed = 0;
    print_heads();
    for (enum sim_input input = 0; input < SIM_INPUT_COUNT; input++) {
        for (uint32_t cores = 1; cores <= 512; cores *= 2) {
            failed |= table_rows(input, cores, cores <= 16 ? 1 : cores >= 128 ? 8 : cores / 16);
        }
    }
    for (enum sim_input input = 0; input < SIM_INPUT_COUNT; input++) {
        for (uint32_t nodes = 1; nodes <= 8; nodes *= 2) {
            failed |= nodes != 4 ? table_rows(input, 64, nodes) : 0; /* 4: above */
        }
    }
    return failed;
}

/* --race INPUT POLICY CORES NODES [SEED [WORK [REMOTE]]]: WORK, and the time of a row of another
 * node, in per cent. */
static int run_race(int argc, char **argv)
{
    struct sim_race race = {.seed = argc > 6 ? strtoull(argv[6], NULL, 10) : 1,
                            .cores = (uint32_t)strtoul(argv[4], NULL, 10),
                            .nodes = (uint32_t)strtoul(argv[5], NULL, 10),
                            .work_scale = argc > 7 ? (uint32_t)strtoul(argv[7], NULL, 10) : 0,
                            .remote_row_per_cent =
                                argc > 8 ? (uint32_t)strtoul(argv[8], NULL, 10) : 0,
                            .phases_print = true};
    struct sim_result result;
    while (race.input < SIM_INPUT_COUNT && strcmp(sim_input_name(race.input), argv[2]) != 0) {
        race.input++;
    }
    race.policy = strcmp(argv[3], "steal") == 0    ? EXEC_POLICY_STEAL
                  : strcmp(argv[3], "shared") == 0 ? EXEC_POLICY_SHARED
                  : strcmp(argv[3], "static") == 0 ? EXEC_POLICY_STATIC
                                                   : EXEC_POLICY_NUMA;
    if (race.input == SIM_INPUT_COUNT || race.cores == 0 || race.cores > 512 || race.nodes == 0 ||
        race.nodes > 8 || race.nodes > race.cores) {
        return 2;
    }
    sim_print_trace(strcmp(argv[argc - 1], "--trace") == 0);
    sim_race(&race, &result);
    print_heads();
    print_race(&race, &result);
    return result.failure[0] != '\0';
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
    if (argc >= 6 && strcmp(argv[1], "--race") == 0) {
        return run_race(argc, argv);
    }
    fprintf(stderr, "usage: morsel-sim --seed N [--trace] | --seeds N | --table | --race INPUT "
                    "POLICY CORES NODES [SEED [WORK [REMOTE]]] [--trace]\n");
    return 2;
}
