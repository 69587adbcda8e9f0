#include "sched/inject.h"

#include "sched/atomics.h"
#include "sched/spin.h"

#include <assert.h>
#include <errno.h>
#include <sys/mman.h>

struct range_node {
    struct sched_range range;
    _Atomic uint32_t next; /* in a list or in the free stack */
    _Atomic uint32_t lane; /* first of a free batch: the next batch */
};
_Static_assert(sizeof(struct range_node) <= 64, "a queued range takes at most a cache line");

static void *inject_reserve(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                -1, 0);
}

int inject_init(struct inject *inject, uint32_t slot_count, uint32_t lane_count)
{
    *inject = (struct inject){.lane_count = lane_count, .node_count = 1};
    inject->lanes_bytes = (size_t)slot_count * lane_count * sizeof(struct inject_lane);
    inject->lanes = inject_reserve(inject->lanes_bytes);
    if (inject->lanes == MAP_FAILED) {
        return -errno;
    }
    inject->nodes = inject_reserve((size_t)INJECT_RANGES_MAX * sizeof(struct range_node));
    if (inject->nodes == MAP_FAILED) {
        const int failed = -errno;
        munmap(inject->lanes, inject->lanes_bytes);
        return failed;
    }
    return 0;
}

void inject_fini(struct inject *inject)
{
    munmap(inject->lanes, inject->lanes_bytes);
    munmap(inject->nodes, (size_t)INJECT_RANGES_MAX * sizeof(struct range_node));
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* A chain of INJECT_BATCH nodes. */
static uint32_t batch_take(struct inject *inject)
{
    uint64_t head = at_load(&inject->free_head);
    while ((uint32_t)head != 0) {
        /* relaxed: another may take and reuse the batch meanwhile; then the tag has moved on. */
        const uint32_t next = at_load_relaxed(&inject->nodes[(uint32_t)head].lane);
        const uint64_t tag = (head >> 32) + 1;
        if (at_cas(&inject->free_head, &head, tag << 32 | next)) {
            return (uint32_t)head;
        }
    }
    const uint32_t first = at_add(&inject->node_count, INJECT_BATCH);
    assert(first < INJECT_RANGES_MAX - INJECT_BATCH); /* a caller that never splits lazily */
    for (uint32_t i = 0; i + 1 < INJECT_BATCH; i++) {
        at_store_relaxed(&inject->nodes[first + i].next, first + i + 1);
    }
    return first;
}

static void batch_give(struct inject *inject, uint32_t first)
{
    uint64_t head = at_load(&inject->free_head);
    uint64_t next;
    do {
        at_store_relaxed(&inject->nodes[first].lane, (uint32_t)head);
        next = ((head >> 32) + 1) << 32 | first;
    } while (!at_cas(&inject->free_head, &head, next));
}

/* The two below under the lock over `spare`. */
static uint32_t node_take(struct inject *inject, struct range_spare *spare)
{
    if (spare->count == 0) {
        spare->head = spare->full != 0 ? spare->full : batch_take(inject);
        spare->full = 0;
        spare->count = INJECT_BATCH;
    }
    const uint32_t node = spare->head;
    spare->head = at_load_relaxed(&inject->nodes[node].next);
    spare->count--;
    return node;
}

static void node_give(struct inject *inject, struct range_spare *spare, uint32_t node)
{
    at_store_relaxed(&inject->nodes[node].next, spare->count > 0 ? spare->head : 0);
    spare->head = node;
    if (++spare->count < INJECT_BATCH) {
        return;
    }
    if (spare->full != 0) {
        batch_give(inject, spare->full);
    }
    spare->full = spare->head;
    spare->count = 0;
}

static void list_append(struct inject *inject, struct range_list *list, uint32_t node)
{
    at_store_relaxed(&inject->nodes[node].next, 0);
    if (list->tail != 0) {
        at_store_relaxed(&inject->nodes[list->tail].next, node);
    } else {
        list->head = node;
    }
    list->tail = node;
}

static void list_prepend(struct inject *inject, struct range_list *list, uint32_t node)
{
    at_store_relaxed(&inject->nodes[node].next, list->head);
    list->head = node;
    if (list->tail == 0) {
        list->tail = node;
    }
}

static uint32_t list_take_first(struct inject *inject, struct range_list *list)
{
    const uint32_t node = list->head;
    if (node != 0) {
        list->head = at_load_relaxed(&inject->nodes[node].next);
        if (list->head == 0) {
            list->tail = 0;
        }
    }
    return node;
}

/* ---- lanes ---------------------------------------------------------------------------------- */

static struct inject_lane *lane_of(struct inject *inject, uint32_t slot, uint32_t lane)
{
    assert(lane < inject->lane_count);
    return &inject->lanes[(size_t)slot * inject->lane_count + lane];
}

static void lane_show_front(struct inject *inject, struct inject_lane *lane)
{
    const struct sched_range *first = &inject->nodes[lane->list.head].range;
    at_store_relaxed(&lane->front,
                     lane->list.head != 0 ? (uintptr_t)first->pipeline + (first->urgent != 0) : 0);
}

/* Under the lane's lock. */
static void lane_add(struct inject *inject, struct inject_lane *lane, uint32_t node,
                     enum inject_end end)
{
    if (end == INJECT_FRONT) {
        list_prepend(inject, &lane->list, node);
    } else {
        list_append(inject, &lane->list, node);
    }
    lane_show_front(inject, lane);
    /* Total order with park.c's sweep: whoever announces its sleep later sees the count. */
    at_add(&lane->count, 1);
}

void inject_push(struct inject *inject, uint32_t slot, uint32_t lane,
                 const struct sched_range *range, enum inject_end end)
{
    struct inject_lane *to = lane_of(inject, slot, lane);
    spin_lock(&to->lock);
    const uint32_t node = node_take(inject, &to->spare);
    inject->nodes[node].range = *range;
    lane_add(inject, to, node, end);
    spin_unlock(&to->lock);
}

bool inject_pop(struct inject *inject, uint32_t slot, uint32_t lane, struct sched_range *range_out)
{
    struct inject_lane *from = lane_of(inject, slot, lane);
    if (at_load(&from->count) == 0) {
        return false;
    }
    spin_lock(&from->lock);
    const uint32_t node = list_take_first(inject, &from->list);
    if (node != 0) {
        at_sub(&from->count, 1);
        lane_show_front(inject, from);
        *range_out = inject->nodes[node].range;
        node_give(inject, &from->spare, node);
    }
    spin_unlock(&from->lock);
    return node != 0;
}

uint32_t inject_count(struct inject *inject, uint32_t slot, uint32_t lane)
{
    return at_load(&lane_of(inject, slot, lane)->count);
}

bool inject_offers(struct inject *inject, uint32_t slot, uint32_t lane,
                   const struct sched_pipeline *pipeline)
{
    const uintptr_t front = at_load_relaxed(&lane_of(inject, slot, lane)->front);
    return front != 0 && front != (uintptr_t)pipeline;
}

/* ---- waiting lists -------------------------------------------------------------------------- */

void inject_list_append(struct inject *inject, struct range_list *list, uint32_t lane,
                        const struct sched_range *range)
{
    const uint32_t node = node_take(inject, &inject->waiting_spare);
    inject->nodes[node].range = *range;
    at_store_relaxed(&inject->nodes[node].lane, lane);
    list_append(inject, list, node);
}

uint32_t inject_list_to_lanes(struct inject *inject, struct range_list *list, uint32_t slot)
{
    uint32_t count = 0;
    for (uint32_t node = list_take_first(inject, list); node != 0;
         node = list_take_first(inject, list)) {
        struct inject_lane *to = lane_of(inject, slot, at_load_relaxed(&inject->nodes[node].lane));
        spin_lock(&to->lock);
        lane_add(inject, to, node, INJECT_BACK);
        spin_unlock(&to->lock);
        count++;
    }
    return count;
}
