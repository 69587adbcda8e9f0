/* min and max of one storage but views. Template; included through vec/each_*.h. */
struct K_FN(agg) {
    K_TYPE value;
    bool seen;
};

#define EXTREME_TAKE(state, candidate, order)                                   \
    do {                                                                        \
        const K_TYPE taken = (candidate);                                       \
        const bool better = K_FN(value_compare)(taken, (state)->value) order 0; \
        (state)->value = better | !(state)->seen ? taken : (state)->value;      \
        (state)->seen = true;                                                   \
    } while (0)

#define EXTREME(name, order)                                                                    \
    static bool K_FN(update_##name)(const void *values, const uint16_t *source, uint32_t count, \
                                    unsigned char *const *rows, uint32_t offset,                \
                                    struct nu_arena *strings)                                   \
    {                                                                                           \
        const K_TYPE *from = values;                                                            \
        (void)strings;                                                                          \
        for (uint32_t i = 0; i < count; i++) {                                                  \
            struct K_FN(agg) *state = (void *)(rows[i] + offset);                               \
            EXTREME_TAKE(state, from[source[i]], order);                                        \
        }                                                                                       \
        return true;                                                                            \
    }                                                                                           \
    static bool K_FN(combine_##name)(unsigned char *const *into, unsigned char *const *from,    \
                                     uint32_t count, uint32_t offset, struct nu_arena *strings) \
    {                                                                                           \
        (void)strings;                                                                          \
        for (uint32_t i = 0; i < count; i++) {                                                  \
            struct K_FN(agg) *state = (void *)(into[i] + offset);                               \
            const struct K_FN(agg) *other = (const void *)(from[i] + offset);                   \
            if (other->seen) {                                                                  \
                EXTREME_TAKE(state, other->value, order);                                       \
            }                                                                                   \
        }                                                                                       \
        return true;                                                                            \
    }

EXTREME(min, <)
EXTREME(max, >)
#undef EXTREME
#undef EXTREME_TAKE

static uint32_t K_FN(finish_extreme)(unsigned char *const *rows, uint32_t count, uint32_t offset,
                                     int32_t scale, void *out, uint64_t *valid)
{
    K_TYPE *to = out;

    (void)scale;
    for (uint32_t i = 0; i < count; i++) {
        const struct K_FN(agg) *state = (const void *)(rows[i] + offset);
        to[i] = K_FN(canonical)(state->value);
        valid[i / 64] |= (uint64_t)state->seen << i % 64;
    }
    return count;
}
#include "vec/each_done.h"
