/* Sums of one integer storage. Template; included through vec/each_integer.h. Small integers need
 * no overflow test: 2^31 of them fit 64 bits; 64-bit ones take 2^64 rows to overflow 128. */
static bool K_FN(update_sum)(const void *values, const uint16_t *source, uint32_t count,
                             unsigned char *const *rows, uint32_t offset, struct nu_arena *strings)
{
    const K_TYPE *from = values;

    (void)strings;
    for (uint32_t i = 0; i < count; i++) {
#if K_MAX > UINT32_MAX
        struct agg_sum128 *state = (void *)(rows[i] + offset);
#else
        struct agg_sum64 *state = (void *)(rows[i] + offset);
#endif
        state->sum += from[source[i]];
        state->count++;
    }
    return true;
}
#include "vec/each_done.h"
