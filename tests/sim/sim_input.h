#ifndef TESTS_SIM_SIM_INPUT_H
#define TESTS_SIM_SIM_INPUT_H

#include <stdint.h>

/* What the units of a pipeline cost. A unit is what the engine never splits: a batch of 1,024 rows
 * of a scan, or a partition. */
enum sim_input {
    SIM_UNIFORM, /* every unit costs the same, give or take the noise */
    SIM_ZIPF,    /* rows in drawn order that each find as many matches as their key has: keys are
                    Zipf(1.0) in the build side and equally likely in the probe side */
    SIM_SORTED,  /* the same skew, sorted by weight: unit i costs 1 / (1 + i / 64) */
    SIM_GIANT,   /* one unit costs as much as ten morsels, the others the same */
    SIM_INPUT_COUNT
};
const char *sim_input_name(enum sim_input input);

/* Keys of SIM_ZIPF: the build side of a join with 100,000 distinct keys. */
enum { SIM_ZIPF_KEYS = 100000, SIM_UNIT_ROWS = 1024 };

/* Cost of units [0, i) at i, for i of 0..unit_count; about work_ns in all. Every unit costs at
 * least 1 ns; noise of noise_per_cent either way, from the seed. The caller frees. */
uint64_t *sim_input_costs(enum sim_input input, uint64_t unit_count, uint64_t work_ns,
                          uint32_t noise_per_cent, uint64_t seed);

/* Cost of the most expensive unit: one worker at a time runs it. */
uint64_t sim_input_longest(const uint64_t *cost_before_ns, uint64_t unit_count);

#endif
