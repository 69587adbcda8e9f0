#include "table/distinct_sample.h"

#include "hash/hash_mix.h"
#include "vec/batch.h"
#include "vec/vec.h"

#include <string.h>

static bool is_kept(uint64_t hash, uint32_t shift)
{
    return shift == 0 || hash >> (64 - shift) == 0;
}

/* false: it is there already. */
static bool enter(struct distinct_sample *sample, uint64_t hash)
{
    uint32_t slot = (uint32_t)hash % DISTINCT_SLOTS;

    while (sample->slots[slot] != 0) {
        if (sample->slots[slot] == hash) {
            return false;
        }
        slot = (slot + 1) % DISTINCT_SLOTS;
    }
    sample->slots[slot] = hash;
    sample->count++;
    return true;
}

/* Keeps half. */
static void raise_shift(struct distinct_sample *sample, uint32_t shift)
{
    uint64_t old[DISTINCT_SLOTS];

    memcpy(old, sample->slots, sizeof old);
    memset(sample->slots, 0, sizeof sample->slots);
    sample->shift = shift;
    sample->count = 0;
    for (uint32_t i = 0; i < DISTINCT_SLOTS; i++) {
        if (old[i] != 0 && is_kept(old[i], shift)) {
            enter(sample, old[i]);
        }
    }
}

static void add_hash(struct distinct_sample *sample, uint64_t hash)
{
    hash += hash == 0; /* the bijection's zero, told from an empty slot */
    if (!is_kept(hash, sample->shift) || !enter(sample, hash)) {
        return;
    }
    while (sample->count > DISTINCT_KEPT_MAX) {
        raise_shift(sample, sample->shift + 1);
    }
}

/* Most rows are done with after one comparison: their hash is above what is kept, or it is that of
 * the row before. */
#define ADD_VALUES(type)                                                     \
    static void add_##type(struct distinct_sample *sample, const void *data, \
                           const uint64_t *valid, uint32_t count)            \
    {                                                                        \
        const type *values = data;                                           \
        uint64_t last = 0;                                                   \
        for (uint32_t row = 0; row < count; row++) {                         \
            const uint64_t hash = hash_mix((uint64_t)values[row]);           \
            if (hash > UINT64_MAX >> sample->shift || hash == last) {        \
                continue;                                                    \
            }                                                                \
            if (valid == NULL || bitmap_get(valid, row)) {                   \
                add_hash(sample, hash);                                      \
                last = hash;                                                 \
            }                                                                \
        }                                                                    \
    }
ADD_VALUES(uint16_t)
ADD_VALUES(uint32_t)
ADD_VALUES(uint64_t)

bool distinct_sample_takes(enum exec_type_kind kind)
{
    const bool is_integer =
        exec_type_is_integer(kind) || kind == EXEC_TYPE_DATE32 || kind == EXEC_TYPE_TIMESTAMP;
    return is_integer && exec_type_width(kind) >= sizeof(uint16_t);
}

void distinct_sample_add(struct distinct_sample *sample, enum exec_type_kind kind, const void *data,
                         const uint64_t *valid, uint32_t count)
{
    switch (exec_type_width(kind)) {
        case sizeof(uint16_t): add_uint16_t(sample, data, valid, count); break;
        case sizeof(uint32_t): add_uint32_t(sample, data, valid, count); break;
        default: add_uint64_t(sample, data, valid, count); break;
    }
}

void distinct_sample_merge(struct distinct_sample *into, const struct distinct_sample *from)
{
    if (from->shift > into->shift) {
        raise_shift(into, from->shift);
    }
    for (uint32_t i = 0; i < DISTINCT_SLOTS; i++) {
        if (from->slots[i] != 0) {
            add_hash(into, from->slots[i]);
        }
    }
}

uint64_t distinct_sample_estimate(const struct distinct_sample *sample)
{
    return (uint64_t)sample->count << sample->shift;
}
