#include "region_map.h"

#include "numa/check.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define REGION_ALL_FREE UINT32_MAX

int region_map_init(struct region_map *map, uint32_t region_count)
{
    const size_t words = (region_count + 63) / 64;
    const size_t bytes = region_count * sizeof(struct region) + 2 * words * sizeof(uint64_t);

    memset(map, 0, sizeof *map);
    unsigned char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return -errno;
    }
    map->memory_bytes = bytes;
    map->region_count = region_count;
    map->free_bits = (uint64_t *)(void *)memory;
    map->warm_bits = map->free_bits + words;
    map->regions = (struct region *)(void *)(map->warm_bits + words);
    return 0;
}

void region_map_fini(struct region_map *map)
{
    if (map->memory_bytes != 0) {
        munmap(map->free_bits, map->memory_bytes);
    }
    memset(map, 0, sizeof *map);
}

/* ---- bitmaps of whole regions --------------------------------------------------------------- */

static bool bit_get(const uint64_t *bits, uint32_t index)
{
    return bits[index / 64] >> (index % 64) & 1;
}

static void bit_set(uint64_t *bits, uint32_t index, bool value)
{
    const uint64_t bit = 1ULL << (index % 64);
    bits[index / 64] = value ? bits[index / 64] | bit : bits[index / 64] & ~bit;
}

/* First index >= from, below `end`, whose bit is `value`; `end` when there is none. */
static uint32_t bit_find(const uint64_t *bits, uint32_t from, uint32_t end, bool value)
{
    const uint64_t flip = value ? 0 : UINT64_MAX;
    while (from < end) {
        const uint64_t word = (bits[from / 64] ^ flip) >> (from % 64);
        if (word != 0) {
            const uint32_t found = from + (uint32_t)__builtin_ctzll(word);
            return found < end ? found : end;
        }
        from = (from / 64 + 1) * 64;
    }
    return end;
}

/* First run of `count` set bits in [from, end); REGION_NONE when there is none. */
static int64_t bit_find_run(const uint64_t *bits, uint32_t from, uint32_t end, uint64_t count)
{
    while (from < end) {
        const uint32_t first = bit_find(bits, from, end, true);
        if (end - first < count) {
            return REGION_NONE;
        }
        const uint32_t last = bit_find(bits, first, (uint32_t)(first + count), false);
        if (last - first == count) {
            return first;
        }
        from = last;
    }
    return REGION_NONE;
}

/* ---- partly used regions -------------------------------------------------------------------- */

/* Length of the longest run of set bits. */
static uint32_t longest_run(uint32_t bits)
{
    uint32_t length = 0;
    for (; bits != 0; length++) {
        bits &= bits << 1;
    }
    return length;
}

/* Lowest page where `count` free pages begin; the caller knows there is one. */
static uint32_t first_run(uint32_t bits, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        bits &= bits >> 1;
    }
    NU_DCHECK(bits != 0);
    return (uint32_t)__builtin_ctz(bits);
}

static uint32_t page_mask(uint32_t first, uint32_t count)
{
    return count == REGION_PAGES ? REGION_ALL_FREE : ((1U << count) - 1) << first;
}

/* Puts the region on the list of its longest free run; full and free regions are on none. */
static void region_relist(struct region_map *map, uint32_t index)
{
    struct region *region = &map->regions[index];
    const uint32_t run =
        region->free_pages == REGION_ALL_FREE ? 0 : longest_run(region->free_pages);

    if (run == region->listed_run) {
        return;
    }
    if (region->listed_run != 0) {
        uint32_t *from = region->prev != 0 ? &map->regions[region->prev - 1].next
                                           : &map->list_heads[region->listed_run];
        *from = region->next;
        if (region->next != 0) {
            map->regions[region->next - 1].prev = region->prev;
        }
    }
    region->listed_run = run;
    region->prev = region->next = 0;
    if (run != 0) {
        region->next = map->list_heads[run];
        if (region->next != 0) {
            map->regions[region->next - 1].prev = index + 1;
        }
        map->list_heads[run] = index + 1;
    }
}

/* ---- whole regions -------------------------------------------------------------------------- */

/* A free region leaves the bitmaps and becomes all taken. */
static void region_claim(struct region_map *map, uint32_t index)
{
    struct region *region = &map->regions[index];
    NU_DCHECK(bit_get(map->free_bits, index));
    if (bit_get(map->warm_bits, index)) {
        map->warm_count--;
    } else {
        map->committed_count++;
    }
    bit_set(map->free_bits, index, false);
    bit_set(map->warm_bits, index, false);
    region->free_pages = 0;
}

static void region_release(struct region_map *map, uint32_t index)
{
    bit_set(map->free_bits, index, true);
    bit_set(map->warm_bits, index, true);
    map->warm_count++;
    if (index < map->warm_hint) {
        map->warm_hint = index;
    }
}

/* Finds `count` free regions in a row: warm ones, else any used before, else new ones. */
static int64_t regions_find(struct region_map *map, uint64_t count)
{
    if (count <= map->warm_count) {
        map->warm_hint = bit_find(map->warm_bits, map->warm_hint, map->used_count, true);
        const int64_t first = bit_find_run(map->warm_bits, map->warm_hint, map->used_count, count);
        if (first != REGION_NONE) {
            return first;
        }
    }
    const int64_t first = bit_find_run(map->free_bits, 0, map->used_count, count);
    if (first != REGION_NONE) {
        return first;
    }
    /* Free regions at the end of the used part may begin the run. */
    uint32_t begin = map->used_count;
    while (begin > 0 && bit_get(map->free_bits, begin - 1)) {
        begin--;
    }
    if (count > map->region_count - begin) {
        return REGION_NONE;
    }
    while (map->used_count < begin + count) {
        map->regions[map->used_count].free_pages = REGION_ALL_FREE;
        bit_set(map->free_bits, map->used_count++, true);
    }
    return begin;
}

/* ---- spans ---------------------------------------------------------------------------------- */

static int64_t region_take_small(struct region_map *map, uint32_t page_count)
{
    for (uint32_t run = page_count; run < REGION_RUN_LISTS; run++) {
        if (map->list_heads[run] == 0) {
            continue;
        }
        const uint32_t index = map->list_heads[run] - 1;
        struct region *region = &map->regions[index];
        const uint32_t page = first_run(region->free_pages, page_count);
        region->free_pages &= ~page_mask(page, page_count);
        region_relist(map, index);
        return (int64_t)index * REGION_PAGES + page;
    }
    const int64_t index = regions_find(map, 1);
    if (index == REGION_NONE) {
        return REGION_NONE;
    }
    region_claim(map, (uint32_t)index);
    map->regions[index].free_pages = ~page_mask(0, page_count);
    region_relist(map, (uint32_t)index);
    return index * REGION_PAGES;
}

static int64_t region_take_large(struct region_map *map, uint64_t page_count)
{
    const uint64_t count = (page_count + REGION_PAGES - 1) / REGION_PAGES;
    const uint32_t tail_pages = (uint32_t)(page_count % REGION_PAGES);
    const int64_t first = regions_find(map, count);

    if (first == REGION_NONE) {
        return REGION_NONE;
    }
    for (uint64_t i = 0; i < count; i++) {
        region_claim(map, (uint32_t)((uint64_t)first + i));
    }
    if (tail_pages != 0) {
        const uint32_t tail = (uint32_t)((uint64_t)first + count - 1);
        map->regions[tail].free_pages = ~page_mask(0, tail_pages);
        region_relist(map, tail);
    }
    return first * REGION_PAGES;
}

int64_t region_map_take(struct region_map *map, uint64_t page_count)
{
    assert(page_count > 0);
    const int64_t page = page_count < REGION_PAGES ? region_take_small(map, (uint32_t)page_count)
                                                   : region_take_large(map, page_count);
    if (page != REGION_NONE) {
        map->taken_pages += page_count;
    }
    return page;
}

void region_map_give(struct region_map *map, uint64_t first_page, uint64_t page_count)
{
    assert(first_page + page_count <= (uint64_t)map->used_count * REGION_PAGES);
    assert(map->taken_pages >= page_count);
    map->taken_pages -= page_count;
    while (page_count > 0) {
        const uint32_t index = (uint32_t)(first_page / REGION_PAGES);
        const uint32_t offset = (uint32_t)(first_page % REGION_PAGES);
        const uint64_t room = REGION_PAGES - offset;
        const uint32_t here = (uint32_t)(page_count < room ? page_count : room);
        const uint32_t mask = page_mask(offset, here);
        struct region *region = &map->regions[index];

        assert((region->free_pages & mask) == 0); /* given back twice */
        region->free_pages |= mask;
        region_relist(map, index);
        if (region->free_pages == REGION_ALL_FREE) {
            region_release(map, index);
        }
        first_page += here;
        page_count -= here;
    }
}

int64_t region_map_take_warm(struct region_map *map)
{
    if (map->warm_count == 0) {
        return REGION_NONE;
    }
    uint32_t word = (map->used_count - 1) / 64;
    while (map->warm_bits[word] == 0) {
        NU_DCHECK(word > 0);
        word--;
    }
    const uint32_t index = word * 64 + 63 - (uint32_t)__builtin_clzll(map->warm_bits[word]);
    region_claim(map, index);
    return index;
}

void region_map_put_cold(struct region_map *map, uint32_t region)
{
    map->regions[region].free_pages = REGION_ALL_FREE;
    bit_set(map->free_bits, region, true);
    map->committed_count--;
}
