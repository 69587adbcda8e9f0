/* Goal:   the dispatcher keeps its invariants in every interleaving the simulator can draw, and a
 * seed is a run. Method: the very sources of exec/sched on virtual cores (sim_core.c); sim_model.c
 * checks that every unit is run or dropped once, finish() once and last, caps held, nobody asleep
 * beside work. */
#include "sim_model.h"

#include <criterion/criterion.h>

enum { SEEDS = 40 };

Test(sim, invariants_hold_for_many_seeds)
{
    struct sim_result result;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        sim_chaos(seed, &result);
        cr_assert_str_empty(result.failure, "seed %lu: %s", (unsigned long)seed, result.failure);
    }
}

Test(sim, a_seed_is_a_run)
{
    struct sim_result first, again, other;
    sim_chaos(7, &first);
    sim_chaos(8, &other);
    sim_chaos(7, &again);
    cr_assert_eq(first.trace_hash, again.trace_hash);
    cr_assert_neq(first.trace_hash, other.trace_hash);
}

Test(sim, numa_is_near_the_bound)
{
    for (uint32_t input = 0; input < SIM_INPUT_COUNT; input++) {
        const struct sim_race race = {.seed = 3,
                                      .cores = 16,
                                      .nodes = 2,
                                      .policy = EXEC_POLICY_NUMA,
                                      .input = (enum sim_input)input};
        struct sim_result result;
        sim_race(&race, &result);
        cr_assert_str_empty(result.failure, "%s", result.failure);
        cr_assert_lt((double)result.makespan_ns, 1.15 * (double)result.bound_ns, "%s",
                     sim_input_name(race.input));
    }
}
