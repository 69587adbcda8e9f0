#include "kernel/agg_sketch.h"

#include "vec/value.h"

#include <math.h>
#include <string.h>

enum { KEY_SHIFT = 52 - 7, CAPACITY_FIRST = 8 };

static const uint64_t sign_bit = UINT64_C(1) << 63;
static const double billion = 1e9;

/* In the order of the values. */
static uint64_t key_of(double value)
{
    const uint64_t bits = value_float64_bits(value);
    return (bits >> 63 != 0 ? ~bits : bits | sign_bit) >> KEY_SHIFT;
}

static double middle_of(uint64_t key)
{
    const uint64_t low = key << KEY_SHIFT;
    const uint64_t middle = low | UINT64_C(1) << (KEY_SHIFT - 1);
    const uint64_t bits = middle >> 63 != 0 ? middle ^ sign_bit : ~middle;
    double value;

    if (key == key_of(0)) {
        return 0;
    }
    if (key == key_of(HUGE_VAL) || key == key_of(-HUGE_VAL)) {
        return key == key_of(HUGE_VAL) ? HUGE_VAL : -HUGE_VAL;
    }
    memcpy(&value, &bits, sizeof value);
    return value_float64_canonical(value);
}

static bool add(struct agg_sketch *state, uint64_t key, uint64_t count, struct nu_arena *strings)
{
    uint32_t first = 0;
    uint32_t end = state->count;

    while (first < end) {
        const uint32_t middle = first + (end - first) / 2;
        if (state->buckets[middle].key < key) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    if (first == state->count || state->buckets[first].key != key) {
        if (state->count == state->capacity) {
            const uint32_t capacity = state->capacity == 0 ? CAPACITY_FIRST : 2 * state->capacity;
            struct sketch_bucket *more = nu_arena_alloc(strings, capacity * sizeof *more, 8);
            if (more == NULL) {
                return false;
            }
            if (state->count != 0) {
                memcpy(more, state->buckets, state->count * sizeof *more);
            }
            state->buckets = more;
            state->capacity = capacity;
        }
        memmove(&state->buckets[first + 1], &state->buckets[first],
                (state->count - first) * sizeof *state->buckets);
        state->buckets[first] = (struct sketch_bucket){.key = key};
        state->count++;
    }
    state->buckets[first].count += count;
    state->total += count;
    return true;
}

bool update_sketch(const void *values, const uint16_t *source, uint32_t count,
                   unsigned char *const *rows, uint32_t offset, struct nu_arena *strings)
{
    const double *from = values;

    for (uint32_t i = 0; i < count; i++) {
        if (!add((void *)(rows[i] + offset), key_of(from[source[i]]), 1, strings)) {
            return false;
        }
    }
    return true;
}

bool combine_sketch(unsigned char *const *into, unsigned char *const *from, uint32_t count,
                    uint32_t offset, struct nu_arena *strings)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct agg_sketch *other = (const void *)(from[i] + offset);
        for (uint32_t b = 0; b < other->count; b++) {
            if (!add((void *)(into[i] + offset), other->buckets[b].key, other->buckets[b].count,
                     strings)) {
                return false;
            }
        }
    }
    return true;
}

static double quantile(const struct agg_sketch *state, double fraction)
{
    const uint64_t rank = (uint64_t)(fraction * (double)(state->total - 1));
    uint64_t passed = 0;
    uint32_t b = 0;

    while (b + 1 < state->count && passed + state->buckets[b].count <= rank) {
        passed += state->buckets[b++].count;
    }
    return middle_of(state->buckets[b].key);
}

uint32_t finish_sketch(unsigned char *const *rows, uint32_t count, uint32_t offset, int32_t scale,
                       void *out, uint64_t *valid)
{
    double *to = out;

    for (uint32_t i = 0; i < count; i++) {
        const struct agg_sketch *state = (const void *)(rows[i] + offset);
        to[i] = state->total == 0 ? 0 : quantile(state, scale / billion);
        valid[i / 64] |= (uint64_t)(state->total != 0) << i % 64;
    }
    return count;
}
