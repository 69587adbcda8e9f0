/* Goal:   spans never overlap, freed pages coalesce, and small spans share regions.
 * Method: random takes and gives of all sizes against an owner per page, then the map must be empty
 * and every region free; hand-made cases for sharing, tails and warmth. */
#include "region_map.h"

#include <criterion/criterion.h>
#include <string.h>

static struct region_map map;

static void setup(void)
{
    cr_assert_eq(region_map_init(&map, 256), 0);
}
static void teardown(void)
{
    region_map_fini(&map);
}
TestSuite(region_map, .init = setup, .fini = teardown);

Test(region_map, small_spans_share_a_region)
{
    for (int i = 0; i < 1000; i++) {
        cr_assert_neq(region_map_take(&map, 3), REGION_NONE);
    }
    cr_assert_leq(map.committed_count, 1000 / 10 + 1);
}

Test(region_map, tail_of_a_large_span_serves_small_ones)
{
    const int64_t large = region_map_take(&map, 33);
    cr_assert_eq(map.committed_count, 2);
    const int64_t small = region_map_take(&map, 31);
    cr_assert_eq(small, large + 33);
    cr_assert_eq(map.committed_count, 2);
    region_map_give(&map, (uint64_t)large, 33);
    region_map_give(&map, (uint64_t)small, 31);
    cr_assert_eq(region_map_take(&map, 64), large, "coalesced and warm");
    cr_assert_eq(map.committed_count, 2);
}

Test(region_map, warm_before_cold_before_new)
{
    const int64_t a = region_map_take(&map, 32), b = region_map_take(&map, 32);
    region_map_give(&map, (uint64_t)a, 32);
    region_map_give(&map, (uint64_t)b, 32);
    cr_assert_eq(map.warm_count, 2);
    const int64_t region = region_map_take_warm(&map);
    cr_assert_eq(region, b / 32, "highest first");
    region_map_put_cold(&map, (uint32_t)region);
    cr_assert_eq(map.committed_count, 1);
    cr_assert_eq(region_map_take(&map, 32), a);
    cr_assert_eq(region_map_take(&map, 32), b);
    cr_assert_eq(map.used_count, 2);
}

Test(region_map, full_map_says_so)
{
    cr_assert_eq(region_map_take(&map, 256 * 32 + 1), REGION_NONE);
    const int64_t all = region_map_take(&map, 256 * 32);
    cr_assert_eq(all, 0);
    cr_assert_eq(region_map_take(&map, 1), REGION_NONE);
    region_map_give(&map, 0, 256 * 32);
    cr_assert_eq(region_map_take(&map, 256 * 32), 0);
}

enum { SPANS = 200, STEPS = 60000 };

Test(region_map, random_spans_never_overlap)
{
    static unsigned char owned[256 * 32];
    static uint64_t first[SPANS], count[SPANS];
    uint64_t random = 88172645463325252ULL;

    for (int step = 0; step < STEPS; step++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        const int i = (int)(random % SPANS);
        if (count[i] != 0) {
            memset(owned + first[i], 0, count[i]);
            region_map_give(&map, first[i], count[i]);
            count[i] = 0;
            continue;
        }
        const uint64_t pages =
            random >> 32 & 7 ? 1 + (random >> 16) % 31 : 1 + (random >> 16) % 500;
        const int64_t page = region_map_take(&map, pages);
        if (page == REGION_NONE) {
            continue;
        }
        for (uint64_t p = 0; p < pages; p++) {
            cr_assert_not(owned[(uint64_t)page + p]);
        }
        memset(owned + page, 1, pages);
        first[i] = (uint64_t)page;
        count[i] = pages;
    }
    for (int i = 0; i < SPANS; i++) {
        if (count[i] != 0) {
            region_map_give(&map, first[i], count[i]);
        }
    }
    cr_assert_eq(map.taken_pages, 0);
    cr_assert_eq(map.warm_count, map.committed_count);
    while (region_map_take_warm(&map) != REGION_NONE) {
    }
    cr_assert_eq(map.warm_count, 0);
}
