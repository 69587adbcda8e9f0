/* Goal:   spans are usable, reused warm, given back above the reserve, and small jobs do not take a
 *         huge page each.
 * Method: a real pool on a fake topology of two nodes; residence is read with mincore. */
#include "numa/page_pool.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

static struct nu_topology topology;
static struct nu_page_pool *pool;

static void make(uint64_t reserve_bytes)
{
    topology = (struct nu_topology){.node_count = 2, .cpu_count = 1, .fake = true};
    cr_assert_eq(nu_page_pool_create(&topology, reserve_bytes, &pool), 0);
}

static bool resident(void *page)
{
    unsigned char state = 0;
    cr_assert_eq(mincore(page, 4096, &state), 0);
    return state & 1;
}

Test(page_pool, spans_are_reused_warm)
{
    make(64 << 20);
    unsigned char *a = nu_page_pool_take(pool, 0, 8 << 20);
    memset(a, 1, 8 << 20);
    nu_page_pool_give(pool, 0, a, 8 << 20);
    unsigned char *b = nu_page_pool_take(pool, 0, 8 << 20);
    cr_assert_eq(a, b);
    cr_assert(resident(b));
    struct nu_page_usage usage;
    nu_page_pool_usage(pool, 0, &usage);
    cr_assert_eq(usage.taken_bytes, 8 << 20);
    cr_assert_eq(usage.mapped_bytes, 8 << 20);
    nu_page_pool_give(pool, 0, b, 8 << 20);
    nu_page_pool_destroy(pool);
}

Test(page_pool, above_the_reserve_pages_go_back)
{
    make(4 << 20);
    unsigned char *a = nu_page_pool_take(pool, 1, 16 << 20);
    memset(a, 1, 16 << 20);
    nu_page_pool_give(pool, 1, a, 16 << 20);
    struct nu_page_usage usage;
    nu_page_pool_usage(pool, 1, &usage);
    cr_assert_eq(usage.taken_bytes, 0);
    cr_assert_eq(usage.mapped_bytes, 4 << 20);
    cr_assert(resident(a));
    cr_assert_not(resident(a + (15 << 20)));
    nu_page_pool_destroy(pool);
}

Test(page_pool, a_thousand_small_jobs_share_regions)
{
    static void *spans[1000][4];
    make(0);
    for (int job = 0; job < 1000; job++) {
        for (int i = 0; i < 4; i++) {
            spans[job][i] = nu_page_pool_take(pool, 0, NU_PAGE_BYTES);
            cr_assert_not_null(spans[job][i]);
        }
    }
    struct nu_page_usage usage;
    nu_page_pool_usage(pool, 0, &usage);
    cr_assert_eq(usage.mapped_bytes, 1000ULL * 4 * NU_PAGE_BYTES);
    for (int job = 0; job < 1000; job++) {
        for (int i = 0; i < 4; i++) {
            nu_page_pool_give(pool, 0, spans[job][i], NU_PAGE_BYTES);
        }
    }
    nu_page_pool_usage(pool, 0, &usage);
    cr_assert_eq(usage.mapped_bytes, 0);
    nu_page_pool_destroy(pool);
}

Test(page_pool, odd_requests)
{
    make(0);
    cr_assert_null(nu_page_pool_take(pool, 0, 0));
    cr_assert_null(nu_page_pool_take(pool, 0, SIZE_MAX));
    cr_assert_null(nu_page_pool_take(pool, 0, (size_t)1 << 46));
    unsigned char *one = nu_page_pool_take(pool, 0, 1);
    struct nu_page_usage usage;
    nu_page_pool_usage(pool, 0, &usage);
    cr_assert_eq(usage.taken_bytes, NU_PAGE_BYTES);
    one[NU_PAGE_BYTES - 1] = 1;
    const int node = nu_page_node_of(one + NU_PAGE_BYTES - 1);
    cr_assert(node >= -1 && node < NU_NODES_MAX);
    nu_page_pool_give(pool, 0, one, 1);
    nu_page_pool_destroy(pool);
}

static void *take_and_give(void *argument)
{
    uint64_t random = (uintptr_t)argument * 0x9e3779b97f4a7c15ULL + 1;
    unsigned char *held[8] = {0};
    size_t bytes[8] = {0};
    for (int step = 0; step < 3000; step++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        const unsigned i = random & 7, node = i & 1;
        if (held[i] != NULL) {
            cr_assert_eq(held[i][0], (unsigned char)(uintptr_t)argument);
            nu_page_pool_give(pool, node, held[i], bytes[i]);
            held[i] = NULL;
            continue;
        }
        bytes[i] = random >> 20 & 15 ? 1 + (random >> 32) % (1 << 20) : 5 << 20;
        held[i] = nu_page_pool_take(pool, node, bytes[i]);
        held[i][0] = (unsigned char)(uintptr_t)argument;
    }
    for (unsigned i = 0; i < 8; i++) {
        if (held[i] != NULL) {
            nu_page_pool_give(pool, i & 1, held[i], bytes[i]);
        }
    }
    return NULL;
}

Test(page_pool, threads)
{
    pthread_t threads[4];
    make(8 << 20);
    for (uintptr_t i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, take_and_give, (void *)(i + 1));
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    nu_page_pool_destroy(pool); /* asserts that nothing is out */
}
