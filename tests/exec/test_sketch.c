/* Goal:   approximate aggregates keep within their stated errors and answer the same for every
 *         order of the rows and every way to deal them out.
 * Method: sets and samples of known size, added backwards and forwards, in one to five parts that
 *         are then combined. */
#include "hash/hash_mix.h"
#include "kernel/agg_sketch.h"
#include "numa/page_pool.h"
#include "numa/topology.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

static struct nu_topology topology;
static struct nu_page_pool *pool;
static struct nu_budget budget;
static struct nu_arena arena;

static void setup(void)
{
    char why[256];

    cr_assert_eq(nu_topology_read(&topology, NULL, why, sizeof why), 0);
    cr_assert_eq(nu_page_pool_create(&topology, UINT64_C(1) << 32, &pool), 0);
    nu_budget_init(&budget, "test", UINT64_C(1) << 30, NULL);
    nu_arena_init(&arena, pool, 0, &budget);
}

static void teardown(void)
{
    nu_arena_destroy(&arena);
    nu_page_pool_destroy(pool);
}

static int64_t count_of(uint32_t distinct, uint32_t parts, bool backwards)
{
    struct agg_hll states[5] = {0};
    const uint16_t source = 0;
    int64_t result;
    uint64_t valid = 0;

    for (uint32_t i = 0; i < 2 * distinct; i++) {
        const uint32_t value = (backwards ? 2 * distinct - 1 - i : i) % distinct;
        const uint64_t hash = hash_mix(value + 1);
        unsigned char *row = (unsigned char *)&states[i % parts];
        cr_assert(update_hll(&hash, &source, 1, &row, 0, &arena));
    }
    unsigned char *into = (unsigned char *)&states[0];
    for (uint32_t p = 1; p < parts; p++) {
        unsigned char *from = (unsigned char *)&states[p];
        cr_assert(combine_hll(&into, &from, 1, 0, &arena));
    }
    cr_assert_eq(finish_hll(&into, 1, 0, 0, &result, &valid), 1);
    cr_assert_eq(valid, 1);
    return result;
}

Test(sketch, distinct_counts, .init = setup, .fini = teardown)
{
    static const uint32_t sizes[] = {0, 1, 7, 511, 512, 513, 600, 3000, 12000, 100000};

    for (uint32_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const int64_t count = count_of(sizes[s], 1, false);
        const double error = fabs((double)count - sizes[s]);
        cr_expect(sizes[s] <= HLL_SPARSE_MAX ? error == 0 : error < 0.05 * sizes[s], "%u: %d",
                  sizes[s], (int)count);
        for (uint32_t parts = 2; parts <= 5; parts++) {
            cr_expect_eq(count_of(sizes[s], parts, parts % 2 == 0), count, "%u in %u parts",
                         sizes[s], parts);
        }
    }
}

enum { VALUES = 4001 };
static double values[VALUES];

static double quantile_of(double fraction, uint32_t parts, bool backwards)
{
    struct agg_sketch states[5] = {0};
    double result;
    uint64_t valid = 0;

    for (uint32_t i = 0; i < VALUES; i++) {
        const uint16_t source = (uint16_t)(backwards ? VALUES - 1 - i : i);
        unsigned char *row = (unsigned char *)&states[i % parts];
        cr_assert(update_sketch(values, &source, 1, &row, 0, &arena));
    }
    unsigned char *into = (unsigned char *)&states[0];
    for (uint32_t p = 1; p < parts; p++) {
        unsigned char *from = (unsigned char *)&states[p];
        cr_assert(combine_sketch(&into, &from, 1, 0, &arena));
    }
    cr_assert_eq(finish_sketch(&into, 1, 0, (int32_t)(fraction * 1e9), &result, &valid), 1);
    cr_assert_eq(valid, 1);
    return result;
}

static int by_value(const void *a, const void *b)
{
    const double left = *(const double *)a;
    const double right = *(const double *)b;
    return (left > right) - (left < right);
}

Test(sketch, quantiles, .init = setup, .fini = teardown)
{
    static double sorted[VALUES];

    for (uint32_t i = 0; i < VALUES; i++) {
        const double unit = (double)(hash_mix(i) >> 11) * 0x1p-53;
        values[i] = i == 0   ? -HUGE_VAL
                    : i == 1 ? HUGE_VAL
                    : i == 2 ? 0
                             : ldexp(unit - 0.3, (int)(hash_mix(i + 9999) % 40) - 20);
        sorted[i] = values[i];
    }
    qsort(sorted, VALUES, sizeof *sorted, by_value);
    for (uint32_t f = 0; f <= 100; f++) {
        const double wanted = sorted[(uint32_t)(f / 100.0 * (VALUES - 1))];
        const double got = quantile_of(f / 100.0, 1, false);
        cr_expect(got == wanted || fabs(got - wanted) <= 0x1p-8 * fabs(wanted), "%u: %g for %g", f,
                  got, wanted);
        cr_expect_eq(quantile_of(f / 100.0, 2 + f % 4, f % 2 == 0), got);
    }
}
