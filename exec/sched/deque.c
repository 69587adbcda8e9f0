#include "sched/deque.h"

#include "sched/atomics.h"

#include <assert.h>

_Static_assert((DEQUE_RANGES & (DEQUE_RANGES - 1)) == 0, "indices wrap by masking");
_Static_assert(sizeof(void *) == sizeof(uint64_t), "a pointer is one word of an entry");

static void entry_write(struct deque *deque, int64_t index, const struct sched_range *range)
{
    _Atomic uint64_t *words = deque->entries[index & (DEQUE_RANGES - 1)];
    /* relaxed: the store of bottom publishes the entry. */
    at_store_relaxed(&words[0], range->begin);
    at_store_relaxed(&words[1], range->end);
    at_store_relaxed(&words[2], (uint64_t)(uintptr_t)range->pipeline);
    at_store_relaxed(&words[3], (uint64_t)(uintptr_t)range->cursor);
    at_store_relaxed(&words[4], (uint64_t)range->unsplit << 32 | (uint64_t)range->node << 16 |
                                    (uint64_t)range->urgent << 8 | range->serial);
}

static void entry_read(struct deque *deque, int64_t index, struct sched_range *range_out)
{
    _Atomic uint64_t *words = deque->entries[index & (DEQUE_RANGES - 1)];
    /* relaxed: valid only if the caller then finds top unmoved. */
    range_out->begin = at_load_relaxed(&words[0]);
    range_out->end = at_load_relaxed(&words[1]);
    range_out->pipeline = (struct sched_pipeline *)(uintptr_t)at_load_relaxed(&words[2]);
    range_out->cursor = (void *)(uintptr_t)at_load_relaxed(&words[3]);
    const uint64_t rest = at_load_relaxed(&words[4]);
    range_out->unsplit = (uint32_t)(rest >> 32);
    range_out->node = (uint16_t)(rest >> 16);
    range_out->urgent = (uint8_t)(rest >> 8);
    range_out->serial = (uint8_t)rest;
}

bool deque_push(struct deque *deque, const struct sched_range *range)
{
    const int64_t bottom = at_load_relaxed(&deque->bottom); /* our own */
    /* A stale top only makes the ring look fuller than it is. The entry overwritten is one that
     * top has passed: whoever still reads it will fail its compare-and-swap. */
    const int64_t top = at_load(&deque->top);
    if (bottom - top >= DEQUE_RANGES) {
        return false;
    }
    entry_write(deque, bottom, range);
    /* Publishes the entry to the load of bottom in deque_steal; total order with park.c's sweep. */
    at_store(&deque->bottom, bottom + 1);
    return true;
}

bool deque_pop(struct deque *deque, struct sched_range *range_out)
{
    const int64_t bottom = at_load_relaxed(&deque->bottom) - 1;
    /* First claim, then look: a thief that loads bottom after this store leaves the entry alone;
     * one that loaded it before has moved top, or will meet us in the compare-and-swap below. */
    at_store(&deque->bottom, bottom);
    int64_t top = at_load(&deque->top);
    if (top < bottom) {
        entry_read(deque, bottom, range_out);
        return true;
    }
    bool mine = false;
    if (top == bottom) {
        entry_read(deque, bottom, range_out);
        mine = at_cas(&deque->top, &top, top + 1);
    }
    at_store(&deque->bottom, bottom + 1);
    return mine;
}

enum deque_stolen deque_steal(struct deque *deque, struct sched_range *range_out)
{
    int64_t top = at_load(&deque->top);
    const int64_t bottom = at_load(&deque->bottom);
    if (top >= bottom) {
        return DEQUE_EMPTY;
    }
    entry_read(deque, top, range_out);
    return at_cas(&deque->top, &top, top + 1) ? DEQUE_STOLEN : DEQUE_LOST;
}

int64_t deque_count(struct deque *deque)
{
    const int64_t bottom = at_load(&deque->bottom);
    const int64_t count = bottom - at_load(&deque->top);
    return count > 0 ? count : 0;
}

uint64_t deque_oldest_units(struct deque *deque)
{
    const int64_t top = at_load(&deque->top);
    if (top >= at_load(&deque->bottom)) {
        return 0;
    }
    struct sched_range range;
    entry_read(deque, top, &range);
    return range.end > range.begin ? range.end - range.begin : 0;
}
