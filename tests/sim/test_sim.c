/* Goal:   the dispatcher keeps its invariants in every interleaving the simulator can draw, a seed
 * is a run, and the policy numa keeps to its bounds: time, remote rows, steals, fairness,
 * cancelling. Method: the very sources of exec/sched on virtual cores (sim_core.c); sim_model.c
 * checks that every unit is run or dropped once, finish() once and last, caps held, nobody asleep
 * beside work, no morsel of a job begun after its cancel. */
#include "sim_model.h"

#include <criterion/criterion.h>

#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
enum { SEEDS = 50, CORES_MAX = 32 };
#else
enum { SEEDS = 500, CORES_MAX = 128 };
#endif

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

static void race(enum sim_input input, uint32_t cores, uint32_t work_scale,
                 struct sim_result *result)
{
    const struct sim_race race = {.seed = cores,
                                  .cores = cores,
                                  .nodes = cores >= 32 ? cores / 16 : 1,
                                  .policy = EXEC_POLICY_NUMA,
                                  .input = input,
                                  .work_scale = work_scale};
    sim_race(&race, result);
    cr_assert_str_empty(result->failure, "%s on %u cores: %s", sim_input_name(input), cores,
                        result->failure);
}

/* Sums over phases of max(T1 / P, longest unit): nothing can be faster. */
Test(sim, numa_is_within_5_per_cent_of_the_bound)
{
    struct sim_result result;
    for (uint32_t cores = 2; cores <= CORES_MAX; cores *= 2) {
        for (enum sim_input input = SIM_UNIFORM; input <= SIM_ZIPF; input++) {
            race(input, cores, 100, &result);
            cr_assert_lt((double)result.makespan_ns, 1.05 * (double)result.bound_ns,
                         "%s on %u cores: %f ms, bound %f ms", sim_input_name(input), cores,
                         (double)result.makespan_ns / 1e6, (double)result.bound_ns / 1e6);
        }
    }
}

/* Heavy rows all in one place: they are found only by running them, and their node's workers cannot
 * do them alone. */
Test(sim, sorted_and_giant_are_near_the_bound)
{
    struct sim_result result;
    for (uint32_t cores = 2; cores <= CORES_MAX; cores *= 2) {
        for (enum sim_input input = SIM_SORTED; input <= SIM_GIANT; input++) {
            race(input, cores, 100, &result);
            cr_assert_lt((double)result.makespan_ns, 1.20 * (double)result.bound_ns,
                         "%s on %u cores: %f ms, bound %f ms", sim_input_name(input), cores,
                         (double)result.makespan_ns / 1e6, (double)result.bound_ns / 1e6);
        }
    }
}

Test(sim, rows_stay_at_home)
{
    static const double most[] = {[SIM_UNIFORM] = 0.05, [SIM_ZIPF] = 0.15};
    struct sim_result result;
    for (enum sim_input input = SIM_UNIFORM; input <= SIM_ZIPF; input++) {
        race(input, CORES_MAX, 100, &result);
        cr_assert_lt((double)result.units_remote,
                     most[input] * (double)(result.units_local + result.units_remote), "%s",
                     sim_input_name(input));
    }
}

/* Steals even out the end of a phase: they grow with the cores and the longest unit, not with the
 * work. */
Test(sim, steals_do_not_grow_with_the_work)
{
    struct sim_result once, fourfold;
    race(SIM_UNIFORM, 32, 100, &once);
    race(SIM_UNIFORM, 32, 400, &fourfold);
    cr_assert_gt(fourfold.work_ns, 3 * once.work_ns);
    cr_assert_lt(fourfold.steals, 2 * once.steals, "%lu then %lu", (unsigned long)once.steals,
                 (unsigned long)fourfold.steals);
}

Test(sim, equal_jobs_end_together)
{
    struct sim_result result;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        double slowest_ms, fair_ms;
        sim_fair_equal(seed, 20, &slowest_ms, &fair_ms, &result);
        cr_assert_str_empty(result.failure, "%s", result.failure);
        cr_assert_lt(slowest_ms, 1.1 * fair_ms, "%f ms, fair is %f ms", slowest_ms, fair_ms);
    }
}

Test(sim, a_short_job_beside_a_long_one_is_slowed_by_a_small_factor)
{
    struct sim_result result;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        double beside_ms, alone_ms;
        sim_fair_short(seed, &beside_ms, &alone_ms, &result);
        cr_assert_str_empty(result.failure, "%s", result.failure);
        cr_assert_lt(beside_ms, 3 * alone_ms, "%f ms, alone %f ms", beside_ms, alone_ms);
    }
}

/* A morsel of 2 ms may be under way for it, and one of another job on each worker that holds some
 * of its ranges. */
Test(sim, a_cancelled_job_ends_soon)
{
    struct sim_result result;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        double latency_ms;
        sim_cancel(seed, &latency_ms, &result);
        cr_assert_str_empty(result.failure, "%s", result.failure);
        cr_assert_lt(latency_ms, 6, "%f ms", latency_ms);
    }
}
