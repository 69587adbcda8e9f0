#ifndef TESTS_EXEC_ARENA_FIXTURE_H
#define TESTS_EXEC_ARENA_FIXTURE_H

#include "numa/arena.h"

#include <criterion/criterion.h>
#include <string.h>

/* Two arenas on a pool of one node, for tests of what takes arenas. */
struct arena_fixture {
    struct nu_topology topology;
    struct nu_page_pool *pool;
    struct nu_budget budget;
    struct nu_arena arena;   /* long-lived things */
    struct nu_arena scratch; /* rewound at will */
};

static inline void arena_fixture_init(struct arena_fixture *fixture, uint64_t limit_bytes)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->topology.node_count = 1;
    fixture->topology.cpu_count = 1;
    cr_assert_eq(nu_page_pool_create(&fixture->topology, 64 << 20, &fixture->pool), 0);
    nu_budget_init(&fixture->budget, "test", limit_bytes, NULL);
    nu_arena_init(&fixture->arena, fixture->pool, 0, &fixture->budget);
    nu_arena_init(&fixture->scratch, fixture->pool, 0, &fixture->budget);
}

static inline void arena_fixture_fini(struct arena_fixture *fixture)
{
    nu_arena_destroy(&fixture->arena);
    nu_arena_destroy(&fixture->scratch);
    nu_page_pool_destroy(fixture->pool);
}

/* A seeded generator (splitmix64) for test data. */
static inline uint64_t test_random(uint64_t *state)
{
    uint64_t word = *state += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

#endif
