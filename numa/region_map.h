#ifndef NUMA_REGION_MAP_H
#define NUMA_REGION_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which pages of one node's address range are free: 2 MiB regions of 32 pages of 64 KiB. Pure
 * bookkeeping: no memory of the range is touched and no lock is taken; page_pool.c does both.
 *
 * A small span (fewer pages than a region has) lies inside one region: the one whose longest free
 * run fits best, so that small jobs share regions and a region left alone empties. A large span
 * takes whole free regions and, of the region behind them, the first pages it still needs; the rest
 * of that region serves small spans. Free pages coalesce by themselves, being bits.
 *
 * A free region is warm (its pages are still with us) or cold. */
enum {
    REGION_PAGES = 32,
    REGION_RUN_LISTS = REGION_PAGES, /* partly used regions by longest free run, 1..31 */
};

struct region {
    uint32_t free_pages; /* bit set: page is free; all ones: the region is free */
    uint32_t next, prev; /* of its list, index + 1; 0: none */
    uint32_t listed_run; /* which list holds it; 0: none */
};

struct region_map {
    uint32_t region_count; /* size of the address range */
    uint32_t used_count;   /* regions below this were used once; above it all are cold and free */
    uint32_t warm_hint;    /* no warm free region lies below */
    uint32_t warm_count;   /* free regions still warm */
    uint32_t committed_count; /* regions in use or warm */
    uint64_t taken_pages;
    uint32_t list_heads[REGION_RUN_LISTS]; /* index + 1 */
    struct region *regions;
    uint64_t *free_bits; /* free regions below used_count, warm or cold */
    uint64_t *warm_bits; /* the warm ones among them */
    size_t memory_bytes; /* of one mapping behind the three arrays */
};

/* Returns 0 or a negative errno. The arrays are mapped lazily: an unused range costs no memory. */
int region_map_init(struct region_map *map, uint32_t region_count);
void region_map_fini(struct region_map *map);

enum { REGION_NONE = -1 };

/* Returns the first page of a free span of page_count pages, now taken; REGION_NONE when full. */
int64_t region_map_take(struct region_map *map, uint64_t page_count);
void region_map_give(struct region_map *map, uint64_t first_page, uint64_t page_count);

/* Takes one warm free region out of the map, so that its pages can be given back to the system
 * without the lock; region_map_put_cold returns it. Highest first. REGION_NONE: there is none. */
int64_t region_map_take_warm(struct region_map *map);
void region_map_put_cold(struct region_map *map, uint32_t region);

#endif
