/* bit_and, bit_or, bit_xor of one integer storage. Template; included through vec/each_integer.h.
 */
struct K_FN(agg_bits) {
    K_TYPE bits;
    bool seen;
};

#define BITS(name, operator)                                                                      \
    static bool K_FN(update_##name)(const void *values, const uint16_t *source, uint32_t count,   \
                                    unsigned char *const *rows, uint32_t offset,                  \
                                    struct nu_arena *strings)                                     \
    {                                                                                             \
        const K_TYPE *from = values;                                                              \
        (void)strings;                                                                            \
        for (uint32_t i = 0; i < count; i++) {                                                    \
            struct K_FN(agg_bits) *state = (void *)(rows[i] + offset);                            \
            const K_TYPE bits = from[source[i]];                                                  \
            state->bits = state->seen ? (K_TYPE)(state->bits operator bits) : bits;               \
            state->seen = true;                                                                   \
        }                                                                                         \
        return true;                                                                              \
    }                                                                                             \
    static bool K_FN(combine_##name)(unsigned char *const *into, unsigned char *const *from,      \
                                     uint32_t count, uint32_t offset, struct nu_arena *strings)   \
    {                                                                                             \
        (void)strings;                                                                            \
        for (uint32_t i = 0; i < count; i++) {                                                    \
            struct K_FN(agg_bits) *state = (void *)(into[i] + offset);                            \
            const struct K_FN(agg_bits) *other = (const void *)(from[i] + offset);                \
            if (!other->seen) {                                                                   \
                continue;                                                                         \
            }                                                                                     \
            state->bits = state->seen ? (K_TYPE)(state->bits operator other->bits) : other->bits; \
            state->seen = true;                                                                   \
        }                                                                                         \
        return true;                                                                              \
    }

BITS(bit_and, &)
BITS(bit_or, |)
BITS(bit_xor, ^)
#undef BITS

static uint32_t K_FN(finish_bits)(unsigned char *const *rows, uint32_t count, uint32_t offset,
                                  int32_t scale, void *out, uint64_t *valid)
{
    K_TYPE *to = out;

    (void)scale;
    for (uint32_t i = 0; i < count; i++) {
        const struct K_FN(agg_bits) *state = (const void *)(rows[i] + offset);
        to[i] = state->bits;
        valid[i / 64] |= (uint64_t)state->seen << i % 64;
    }
    return count;
}
#include "vec/each_done.h"
