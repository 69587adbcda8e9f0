/* Bounds of one integer storage. Template; included through vec/each_integer.h. */

#if K_SIGNED
#define K_MEMBER i64
#define K_WIDE int64_t
#else
#define K_MEMBER u64
#define K_WIDE uint64_t
#endif

/* Of `count` > 0 values that are all there. */
static void K_FN(take)(struct column_stats *stats, const void *data, uint32_t count)
{
    const K_TYPE *values = data;
    K_TYPE least = values[0];
    K_TYPE most = values[0];

    for (uint32_t i = 0; i < count; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    if (!stats->has_bounds || (K_WIDE)least < stats->min.K_MEMBER) {
        stats->min.K_MEMBER = (K_WIDE)least;
    }
    if (!stats->has_bounds || (K_WIDE)most > stats->max.K_MEMBER) {
        stats->max.K_MEMBER = (K_WIDE)most;
    }
    stats->has_bounds = true;
}

#undef K_MEMBER
#undef K_WIDE

#include "table/pack.tmpl.h"
