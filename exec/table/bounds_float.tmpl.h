/* Bounds and digits of one float storage. Template; included through vec/each_float.h. */

/* Whether none of the values could change what is known. A value outside of the bounds could, and
 * so could a NaN, and one with a digit below the lowest: `unit` is 2^(52 + digit_low), so that
 * |value| + unit has its last place at 2^digit_low for every |value| below the unit; larger ones
 * have no digits there. No exit from the loop, so that it can be done several values at a time. */
static bool K_FN(tells_nothing)(const K_TYPE *values, uint32_t count, double least, double most,
                                double unit)
{
    int64_t news = 0;

    for (uint32_t i = 0; i < count; i++) {
        const double value = (double)values[i];
        const double size = __builtin_fabs(value);
        const double rounded = (size + unit) - unit;
        const int64_t outside = !(value >= least) | !(value <= most);
        const int64_t finer = (size < unit) & (rounded != size);
        news |= outside | finer;
    }
    return news == 0;
}

/* Of `count` values that are all there. */
static void K_FN(take)(struct column_stats *stats, const void *data, uint32_t count)
{
    const K_TYPE *values = data;

    for (uint32_t done = 0; done < count; done += LOOK_ROWS) {
        const uint32_t left = count - done;
        const uint32_t block = left < LOOK_ROWS ? left : LOOK_ROWS;
        if (stats->has_bounds && stats->digit_low <= UNIT_PLACE_MAX &&
            K_FN(tells_nothing)(values + done, block, finite_bound(stats->min.f64),
                                finite_bound(stats->max.f64), digit_unit(stats))) {
            continue;
        }
        for (uint32_t i = done; i < done + block; i++) {
            add_float(stats, (double)values[i]);
        }
    }
}

#include "table/pack.tmpl.h"
