/* Goal:   the estimate is within 20 % of the count (some four of its deviations), exact for few
 *         values, the same whatever the order, the repetitions, the parts; nulls do not count.
 * Method: columns whose number of different values is known by construction. */
#include "table/distinct_sample.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 1 << 16, PARTS = 32 };

/* Row `row` of a column of `distinct` values, far apart, in no order. */
static int64_t value_at(uint64_t row, uint64_t distinct)
{
    return (int64_t)(row * UINT64_C(2654435761) % distinct * 7919) - 1000000;
}

static void expect_near(const struct distinct_sample *sample, uint64_t distinct)
{
    const double estimate = (double)distinct_sample_estimate(sample);
    cr_expect(estimate >= 0.8 * (double)distinct && estimate <= 1.2 * (double)distinct,
              "%g for %llu", estimate, (unsigned long long)distinct);
}

Test(distinct_sample, parts_together_tell_the_whole)
{
    static const uint64_t distinct[] = {1, 7, 600, 5000, 50000, 1000000, (uint64_t)ROWS * PARTS};
    int64_t *values = malloc(ROWS * sizeof *values);

    for (size_t d = 0; d < sizeof distinct / sizeof distinct[0]; d++) {
        struct distinct_sample whole = {.count = 0};
        for (uint64_t part = 0; part < PARTS; part++) {
            struct distinct_sample sample = {.count = 0};
            for (uint64_t r = 0; r < ROWS; r++) {
                values[r] = value_at(part * ROWS + r, distinct[d]);
            }
            distinct_sample_add(&sample, EXEC_TYPE_INT64, values, NULL, ROWS);
            distinct_sample_merge(&whole, &sample);
        }
        expect_near(&whole, distinct[d]);
        if (distinct[d] <= DISTINCT_KEPT_MAX) {
            cr_expect_eq(distinct_sample_estimate(&whole), distinct[d]);
        }
    }
    free(values);
}

Test(distinct_sample, every_width_and_no_nulls)
{
    struct distinct_sample shorts = {.count = 0}, ints = {.count = 0}, nulls = {.count = 0};
    int16_t small[3000];
    int32_t wide[3000];
    uint64_t valid[3000 / 64 + 1];

    for (int i = 0; i < 3000; i++) {
        small[i] = (int16_t)(i % 500 - 250);
        wide[i] = i % 600 - 300;
    }
    memset(valid, 0, sizeof valid);
    valid[0] = 0x7; /* three rows are there */
    distinct_sample_add(&shorts, EXEC_TYPE_INT16, small, NULL, 3000);
    distinct_sample_add(&ints, EXEC_TYPE_DATE32, wide, NULL, 3000);
    distinct_sample_add(&nulls, EXEC_TYPE_INT32, wide, valid, 3000);
    cr_expect_eq(distinct_sample_estimate(&shorts), 500);
    cr_expect_eq(distinct_sample_estimate(&ints), 600);
    cr_expect_eq(distinct_sample_estimate(&nulls), 3);
}

Test(distinct_sample, which_types)
{
    cr_expect(distinct_sample_takes(EXEC_TYPE_INT64) && distinct_sample_takes(EXEC_TYPE_UINT16));
    cr_expect(distinct_sample_takes(EXEC_TYPE_DATE32) &&
              distinct_sample_takes(EXEC_TYPE_TIMESTAMP));
    cr_expect_not(distinct_sample_takes(EXEC_TYPE_INT8) ||
                  distinct_sample_takes(EXEC_TYPE_FLOAT64) ||
                  distinct_sample_takes(EXEC_TYPE_UTF8) || distinct_sample_takes(EXEC_TYPE_BOOL) ||
                  distinct_sample_takes(EXEC_TYPE_DECIMAL128));
}
