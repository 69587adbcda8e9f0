#include "kernel/agg_sketch.h"

#include <math.h>
#include <string.h>

enum { SLOT_BITS_FIRST = 3, RANK_MAX = 64 - HLL_INDEX_BITS + 1 };

/* The slot of the hash, or the empty one where it belongs. */
static uint64_t *slot_of(uint64_t *slots, uint32_t slot_bits, uint64_t hash)
{
    const uint64_t mask = (UINT64_C(1) << slot_bits) - 1;
    uint64_t slot = hash & mask;

    while (slots[slot] != 0 && slots[slot] != hash) {
        slot = (slot + 1) & mask;
    }
    return &slots[slot];
}

static void add_dense(struct agg_hll *state, uint64_t hash)
{
    const uint64_t rest = hash << HLL_INDEX_BITS | UINT64_C(1) << (HLL_INDEX_BITS - 1);
    const uint8_t rank = (uint8_t)(__builtin_clzll(rest) + 1);
    uint8_t *cell = &state->registers[hash >> (64 - HLL_INDEX_BITS)];

    *cell = rank > *cell ? rank : *cell;
}

static bool make_dense(struct agg_hll *state, struct nu_arena *strings)
{
    uint64_t *hashes = state->hashes;
    const uint64_t slots = hashes == NULL ? 0 : UINT64_C(1) << state->slot_bits;

    state->registers = nu_arena_calloc(strings, HLL_REGISTERS, 8);
    if (state->registers == NULL) {
        return false;
    }
    state->hashes = NULL;
    for (uint64_t s = 0; s < slots; s++) {
        if (hashes[s] != 0) {
            add_dense(state, hashes[s]);
        }
    }
    return true;
}

static bool grow(struct agg_hll *state, struct nu_arena *strings)
{
    const uint32_t slot_bits = state->hashes == NULL ? SLOT_BITS_FIRST : state->slot_bits + 1;
    uint64_t *slots = nu_arena_calloc(strings, sizeof *slots << slot_bits, 8);

    if (slots == NULL) {
        return false;
    }
    for (uint64_t s = 0; state->hashes != NULL && s < UINT64_C(1) << state->slot_bits; s++) {
        if (state->hashes[s] != 0) {
            *slot_of(slots, slot_bits, state->hashes[s]) = state->hashes[s];
        }
    }
    state->hashes = slots;
    state->slot_bits = slot_bits;
    return true;
}

static bool add(struct agg_hll *state, uint64_t hash, struct nu_arena *strings)
{
    hash = hash == 0 ? 1 : hash;
    if (state->registers != NULL) {
        add_dense(state, hash);
        return true;
    }
    if ((state->hashes == NULL || (state->count + 1) * 2 > UINT32_C(1) << state->slot_bits) &&
        state->count < HLL_SPARSE_MAX && !grow(state, strings)) {
        return false;
    }
    uint64_t *slot = slot_of(state->hashes, state->slot_bits, hash);
    if (*slot == hash) {
        return true;
    }
    if (state->count == HLL_SPARSE_MAX) {
        if (!make_dense(state, strings)) {
            return false;
        }
        add_dense(state, hash);
        return true;
    }
    *slot = hash;
    state->count++;
    return true;
}

bool update_hll(const void *values, const uint16_t *source, uint32_t count,
                unsigned char *const *rows, uint32_t offset, struct nu_arena *strings)
{
    const uint64_t *hashes = values;

    for (uint32_t i = 0; i < count; i++) {
        if (!add((void *)(rows[i] + offset), hashes[source[i]], strings)) {
            return false;
        }
    }
    return true;
}

static bool combine(struct agg_hll *into, const struct agg_hll *from, struct nu_arena *strings)
{
    if (from->registers != NULL) {
        if (into->registers == NULL && !make_dense(into, strings)) {
            return false;
        }
        for (uint32_t r = 0; r < HLL_REGISTERS; r++) {
            const uint8_t other = from->registers[r];
            into->registers[r] = other > into->registers[r] ? other : into->registers[r];
        }
        return true;
    }
    for (uint64_t s = 0; from->hashes != NULL && s < UINT64_C(1) << from->slot_bits; s++) {
        if (from->hashes[s] != 0 && !add(into, from->hashes[s], strings)) {
            return false;
        }
    }
    return true;
}

bool combine_hll(unsigned char *const *into, unsigned char *const *from, uint32_t count,
                 uint32_t offset, struct nu_arena *strings)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!combine((void *)(into[i] + offset), (const void *)(from[i] + offset), strings)) {
            return false;
        }
    }
    return true;
}

/* ---- estimate: Ertl's algorithm 6 ---------------------------------------------------------------
 */

static double sigma(double x)
{
    double y = 1;
    double z = x;
    double before;

    if (x == 1) {
        return HUGE_VAL;
    }
    do {
        x *= x;
        before = z;
        z += x * y;
        y += y;
    } while (z != before);
    return z;
}

static double tau(double x)
{
    double y = 1;
    double z = 1 - x;
    double before;

    if (x == 0 || x == 1) {
        return 0;
    }
    do {
        x = sqrt(x);
        before = z;
        y *= 0.5;
        z -= (1 - x) * (1 - x) * y;
    } while (z != before);
    return z / 3;
}

static int64_t estimate(const struct agg_hll *state)
{
    const double alpha = 0.721347520444481703680; /* 1 / (2 ln 2) */
    const double registers = HLL_REGISTERS;
    uint32_t counts[RANK_MAX + 1] = {0};

    for (uint32_t r = 0; r < HLL_REGISTERS; r++) {
        counts[state->registers[r]]++;
    }
    double z = registers * tau(1 - counts[RANK_MAX] / registers);
    for (uint32_t k = RANK_MAX - 1; k >= 1; k--) {
        z = 0.5 * (z + counts[k]);
    }
    z += registers * sigma(counts[0] / registers);
    return llround(alpha * registers * registers / z);
}

uint32_t finish_hll(unsigned char *const *rows, uint32_t count, uint32_t offset, int32_t scale,
                    void *out, uint64_t *valid)
{
    int64_t *to = out;

    (void)scale;
    for (uint32_t i = 0; i < count; i++) {
        const struct agg_hll *state = (const void *)(rows[i] + offset);
        to[i] = state->registers != NULL ? estimate(state) : (int64_t)state->count;
        valid[i / 64] |= UINT64_C(1) << i % 64;
    }
    return count;
}
