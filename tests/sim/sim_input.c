#include "sim_input.h"

#include <assert.h>
#include <stdlib.h>

static const uint64_t GIANT_NS = 10000000;

static uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15ULL;
    uint64_t mixed = *state;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebULL;
    return mixed ^ mixed >> 31;
}

const char *sim_input_name(enum sim_input input)
{
    static const char *const names[SIM_INPUT_COUNT] = {"uniform", "zipf", "sorted", "giant"};
    return names[input];
}

/* A key of rank r weighs 1 / r and is probed by as many rows as any other. Keys rare enough to be
 * spread evenly over units are; each row of the heavier ones lands in a unit of its own drawing. */
static void weigh_zipf(double *weight, uint64_t unit_count, uint64_t *random)
{
    const double rows_per_key = (double)unit_count * SIM_UNIT_ROWS / SIM_ZIPF_KEYS;
    const double unit_mean = 12.1 * SIM_UNIT_ROWS / SIM_ZIPF_KEYS; /* H(100,000) is 12.1 */
    double spread = 0;

    for (uint64_t rank = 1; rank <= SIM_ZIPF_KEYS; rank++) {
        const double each = 1.0 / (double)rank;
        if (each < unit_mean / 64) {
            spread += each * rows_per_key;
            continue;
        }
        const uint64_t share = next_random(random) % 1000000; /* of the fraction of a row */
        const double whole = (double)(uint64_t)rows_per_key;
        const uint64_t rows =
            (uint64_t)whole + ((double)share < (rows_per_key - whole) * 1e6 ? 1 : 0);
        for (uint64_t row = 0; row < rows; row++) {
            weight[next_random(random) % unit_count] += each;
        }
    }
    for (uint64_t i = 0; i < unit_count; i++) {
        weight[i] += spread / (double)unit_count;
    }
}

uint64_t *sim_input_costs(enum sim_input input, uint64_t unit_count, uint64_t work_ns,
                          uint32_t noise_per_cent, uint64_t seed)
{
    uint64_t *before = calloc(unit_count + 1, sizeof *before);
    double *weight = calloc(unit_count + 1, sizeof *weight);
    uint64_t random = seed;
    double sum = 0;

    assert(before != NULL && weight != NULL);
    if (input == SIM_ZIPF) {
        weigh_zipf(weight, unit_count, &random);
    }
    for (uint64_t i = 0; i < unit_count; i++) {
        if (input != SIM_ZIPF) {
            weight[i] = input == SIM_SORTED ? 1.0 / (1.0 + (double)i / 64) : 1.0;
        }
        if (noise_per_cent > 0) {
            const double drawn = (double)(next_random(&random) % 2001) / 1000 - 1;
            weight[i] *= 1 + drawn * noise_per_cent / 100;
        }
        sum += weight[i];
    }
    for (uint64_t i = 0; i < unit_count; i++) {
        const uint64_t cost_ns = (uint64_t)(weight[i] / sum * (double)work_ns);
        before[i + 1] = before[i] + (cost_ns > 0 ? cost_ns : 1);
        if (input == SIM_GIANT && i == unit_count / 3) {
            before[i + 1] += GIANT_NS;
        }
    }
    free(weight);
    return before;
}

uint64_t sim_input_longest(const uint64_t *cost_before_ns, uint64_t unit_count)
{
    uint64_t longest_ns = 0;
    for (uint64_t i = 0; i < unit_count; i++) {
        const uint64_t cost_ns = cost_before_ns[i + 1] - cost_before_ns[i];
        longest_ns = cost_ns > longest_ns ? cost_ns : longest_ns;
    }
    return longest_ns;
}
