/* Goal:   objects are aligned, disjoint and charged; marks nest; refusals name the budget.
 * Method: patterns written into random objects and read back, around marks and rewinds of any
 * depth. */
#include "numa/arena.h"

#include <criterion/criterion.h>
#include <string.h>

static struct nu_topology topology = {.node_count = 1, .cpu_count = 1, .fake = true};
static struct nu_page_pool *pool;
static struct nu_budget budget;
static struct nu_arena arena;

static void setup(void)
{
    cr_assert_eq(nu_page_pool_create(&topology, 0, &pool), 0);
    nu_budget_init(&budget, "job", 64 << 20, NULL);
    nu_arena_init(&arena, pool, 0, &budget);
}
static void teardown(void)
{
    nu_arena_destroy(&arena);
    cr_assert_eq(nu_budget_used(&budget), 0);
    nu_page_pool_destroy(pool);
}
TestSuite(arena, .init = setup, .fini = teardown);

Test(arena, takes_nothing_before_the_first_object)
{
    cr_assert_eq(nu_budget_used(&budget), 0);
    cr_assert_not_null(nu_arena_alloc(&arena, 1, 1));
    cr_assert_eq(nu_budget_used(&budget), 64 << 10);
}

Test(arena, alignment)
{
    for (size_t align = 1; align <= 4096; align *= 2) {
        nu_arena_alloc(&arena, 1, 1);
        cr_assert_eq((uintptr_t)nu_arena_alloc(&arena, 3, align) % align, 0);
    }
    cr_assert_eq((uintptr_t)nu_arena_alloc(&arena, 5 << 20, 4096) % 4096, 0);
}

Test(arena, text_and_zeroes)
{
    cr_assert_str_eq(nu_arena_strdup(&arena, "carrier"), "carrier");
    const struct nu_arena_mark mark = nu_arena_mark(&arena);
    memset(nu_arena_alloc(&arena, 1000, 8), 255, 1000);
    nu_arena_rewind(&arena, mark);
    const unsigned char *zeroes = nu_arena_calloc(&arena, 1000, 8);
    for (int i = 0; i < 1000; i++) {
        cr_assert_eq(zeroes[i], 0);
    }
}

Test(arena, a_large_object_leaves_the_block_in_use)
{
    char *before = nu_arena_alloc(&arena, 8, 8);
    nu_arena_alloc(&arena, (10 << 20) - 200, 8);
    cr_assert_eq((char *)nu_arena_alloc(&arena, 8, 8), before + 8);
}

Test(arena, refusal_names_the_budget)
{
    cr_assert_null(nu_arena_alloc(&arena, 65 << 20, 8));
    cr_assert_eq(arena.refused, &budget);
    cr_assert_null(nu_arena_alloc(&arena, SIZE_MAX - 10, 8));
    cr_assert_not_null(nu_arena_alloc(&arena, 10, 8));
    size_t got = 0;
    while (nu_arena_alloc(&arena, 60000, 8) != NULL) {
        got += 60000;
    }
    cr_assert_geq(got, 58 << 20, "close to the limit smaller blocks are taken");
}

Test(arena, warm_reuse_after_reset)
{
    for (int i = 0; i < 100; i++) {
        nu_arena_alloc(&arena, 100000, 8);
    }
    nu_arena_reset(&arena);
    cr_assert_leq(arena.charged_bytes, 2 << 20);
    cr_assert_not_null(arena.spare);
    nu_arena_alloc(&arena, 10, 8);
    cr_assert_null(arena.spare, "the spare is used first");
}

struct object {
    unsigned char *bytes;
    size_t size;
    unsigned char pattern;
};
enum { DEPTH = 12, OBJECTS = 400 };
static struct object objects[OBJECTS];

static void check(int count)
{
    for (int i = 0; i < count; i++) {
        for (size_t b = 0; b < objects[i].size; b += 97) {
            cr_assert_eq(objects[i].bytes[b], objects[i].pattern);
        }
    }
}

Test(arena, marks_nest)
{
    struct nu_arena_mark marks[DEPTH];
    int counts[DEPTH], depth = 0, count = 0;
    uint64_t random = 1234567;
    for (int step = 0; step < 6000; step++) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        const unsigned what = random >> 40 & 15;
        if (what == 0 && depth < DEPTH) {
            marks[depth] = nu_arena_mark(&arena);
            counts[depth++] = count;
        } else if ((what == 1 && depth > 0) || count == OBJECTS) {
            if (depth == 0) {
                nu_arena_reset(&arena);
                count = 0;
                continue;
            }
            depth -= depth > 1 && (random >> 50 & 1) ? 2 : 1;
            nu_arena_rewind(&arena, marks[depth]);
            count = counts[depth];
            check(count);
        } else {
            const size_t size =
                random >> 30 & 31 ? 1 + (random >> 48) % 3000 : (random >> 44) % (300 << 10) + 1;
            unsigned char *bytes = nu_arena_alloc(&arena, size, 1ULL << (random >> 60 & 7));
            cr_assert_not_null(bytes);
            memset(bytes, (int)(step & 255), size);
            objects[count++] = (struct object){bytes, size, (unsigned char)step};
        }
    }
    check(count);
}
