#include "numa/page_pool.h"

#include "numa/check.h"
#include "poison.h"
#include "region_map.h"

#include <assert.h>
#include <errno.h>
#include <numaif.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Each node owns one reserved address range, bound to the node and marked for huge pages as a whole
 * when the pool is made; taking a span is bookkeeping in region_map.c, and the kernel gives pages
 * on first touch. The range is several times the memory, so that large spans find room between
 * others. */
enum {
    POOL_RANGE_FACTOR = 4, /* address range of a node over the memory of the machine */
    POOL_RANGE_REGIONS_MIN = 32,
};
static const uint64_t POOL_RANGE_BYTES_MIN = 1ULL << 30;
static const uint64_t POOL_RANGES_BYTES_MAX = 16ULL << 40; /* all nodes; of 128 TiB a process has */

_Static_assert(NU_HUGE_BYTES == REGION_PAGES * NU_PAGE_BYTES, "a region is one huge page");

struct pool_node {
    _Alignas(128)
        pthread_mutex_t lock; /* adaptive: spins, then sleeps when its holder is off CPU */
    struct region_map map;
    unsigned char *base; /* aligned to NU_HUGE_BYTES */
    void *mapping;
    size_t mapping_bytes;
};

struct nu_page_pool {
    uint32_t node_count;
    uint64_t reserve_bytes;
    /* relaxed: only a threshold; the maps hold the truth. */
    _Atomic uint64_t warm_regions;
    struct pool_node nodes[];
};

/* MPOL_PREFERRED and not MPOL_BIND: a full node must cost locality, not the process its life. */
static void pool_bind(const struct pool_node *node, uint32_t os_node)
{
    unsigned long mask[NU_NODES_MAX / (8 * sizeof(unsigned long))] = {0};
    mask[os_node / (8 * sizeof mask[0])] |= 1UL << (os_node % (8 * sizeof mask[0]));
    /* A refusal (the cpuset forbids this node's memory) leaves the pages where they are touched. */
    (void)mbind(node->mapping, node->mapping_bytes, MPOL_PREFERRED, mask, NU_NODES_MAX + 1, 0);
}

/* Reserves the node's range; under an address space limit a smaller one does. */
static int pool_node_init(struct pool_node *node, uint64_t range_bytes)
{
    for (;;) {
        node->mapping_bytes = range_bytes + NU_HUGE_BYTES;
        node->mapping = mmap(NULL, node->mapping_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (node->mapping != MAP_FAILED) {
            break;
        }
        range_bytes /= 2;
        if (range_bytes < (uint64_t)POOL_RANGE_REGIONS_MIN * NU_HUGE_BYTES) {
            return -errno;
        }
    }
    const int failed = region_map_init(&node->map, (uint32_t)(range_bytes / NU_HUGE_BYTES));
    if (failed != 0) {
        munmap(node->mapping, node->mapping_bytes);
        return failed;
    }
    const uintptr_t address = (uintptr_t)node->mapping;
    node->base = (unsigned char *)node->mapping +
                 ((NU_HUGE_BYTES - address % NU_HUGE_BYTES) % NU_HUGE_BYTES);
    (void)madvise(node->mapping, node->mapping_bytes, MADV_HUGEPAGE);
    (void)madvise(node->mapping, node->mapping_bytes, MADV_DONTDUMP);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&node->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return 0;
}

static void pool_node_fini(struct pool_node *node)
{
    assert(node->map.taken_pages == 0);
    ASAN_UNPOISON_MEMORY_REGION(node->base, (size_t)node->map.used_count * NU_HUGE_BYTES);
    region_map_fini(&node->map);
    munmap(node->mapping, node->mapping_bytes);
    pthread_mutex_destroy(&node->lock);
}

static uint64_t pool_range_bytes(const struct nu_topology *topology)
{
    const uint64_t most = POOL_RANGES_BYTES_MAX / topology->node_count;
    uint64_t bytes = POOL_RANGE_BYTES_MIN;
    const long pages = sysconf(_SC_PHYS_PAGES); /* a cgroup limit may be raised later */
    if (pages > 0) {
        bytes = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) * POOL_RANGE_FACTOR;
    }
    bytes = bytes < POOL_RANGE_BYTES_MIN ? POOL_RANGE_BYTES_MIN : bytes;
    bytes = bytes > most ? most : bytes;
    return bytes / NU_HUGE_BYTES * NU_HUGE_BYTES;
}

int nu_page_pool_create(const struct nu_topology *topology, uint64_t reserve_bytes,
                        struct nu_page_pool **pool_out)
{
    const size_t bytes =
        sizeof(struct nu_page_pool) + topology->node_count * sizeof(struct pool_node);
    struct nu_page_pool *pool =
        aligned_alloc(_Alignof(struct nu_page_pool), (bytes + 127) / 128 * 128);
    if (pool == NULL) {
        return -ENOMEM;
    }
    *pool = (struct nu_page_pool){.reserve_bytes = reserve_bytes};
    for (uint32_t node = 0; node < topology->node_count; node++) {
        const int failed = pool_node_init(&pool->nodes[node], pool_range_bytes(topology));
        if (failed != 0) {
            nu_page_pool_destroy(pool);
            return failed;
        }
        pool->node_count++;
        if (topology->can_bind) {
            pool_bind(&pool->nodes[node], topology->nodes[node].os_node);
        }
    }
    *pool_out = pool;
    return 0;
}

void nu_page_pool_destroy(struct nu_page_pool *pool)
{
    for (uint32_t node = 0; node < pool->node_count; node++) {
        pool_node_fini(&pool->nodes[node]);
    }
    free(pool);
}

static uint64_t pool_pages(size_t bytes)
{
    return (bytes + NU_PAGE_BYTES - 1) / NU_PAGE_BYTES;
}

/* The count of warm regions is kept for the whole process, the maps are per node. */
static void pool_count_warm(struct nu_page_pool *pool, uint32_t before, uint32_t after)
{
    if (after != before) {
        atomic_fetch_add_explicit(&pool->warm_regions, (uint64_t)after - before,
                                  memory_order_relaxed);
    }
}

void *nu_page_pool_take(struct nu_page_pool *pool, unsigned node, size_t bytes)
{
    assert(node < pool->node_count);
    if (bytes == 0 || bytes > SIZE_MAX - NU_PAGE_BYTES) {
        return NULL;
    }
    struct pool_node *home = &pool->nodes[node];
    const uint64_t pages = pool_pages(bytes);

    pthread_mutex_lock(&home->lock);
    const uint32_t warm_before = home->map.warm_count;
    const int64_t first = region_map_take(&home->map, pages);
    const uint32_t warm_after = home->map.warm_count;
    pthread_mutex_unlock(&home->lock);
    pool_count_warm(pool, warm_before, warm_after);
    if (first == REGION_NONE) {
        return NULL;
    }
    unsigned char *span = home->base + (uint64_t)first * NU_PAGE_BYTES;
    ASAN_UNPOISON_MEMORY_REGION(span, pages * NU_PAGE_BYTES);
    return span;
}

/* Gives warm regions beyond the reserve back to the system: as many as the span that was just given
 * back freed and one more, so that the excess shrinks and a call's time follows its own span. */
static void pool_trim(struct nu_page_pool *pool, struct pool_node *home, uint32_t region_count)
{
    for (uint32_t i = 0; i < region_count; i++) {
        if (atomic_load_explicit(&pool->warm_regions, memory_order_relaxed) * NU_HUGE_BYTES <=
            pool->reserve_bytes) {
            return;
        }
        pthread_mutex_lock(&home->lock);
        const int64_t region = region_map_take_warm(&home->map);
        pthread_mutex_unlock(&home->lock);
        if (region == REGION_NONE) {
            return;
        }
        pool_count_warm(pool, 1, 0);
        (void)madvise(home->base + (uint64_t)region * NU_HUGE_BYTES, NU_HUGE_BYTES, MADV_DONTNEED);
        pthread_mutex_lock(&home->lock);
        region_map_put_cold(&home->map, (uint32_t)region);
        pthread_mutex_unlock(&home->lock);
    }
}

void nu_page_pool_give(struct nu_page_pool *pool, unsigned node, void *span, size_t bytes)
{
    assert(node < pool->node_count);
    struct pool_node *home = &pool->nodes[node];
    const uint64_t pages = pool_pages(bytes);
    const uint64_t offset = (uint64_t)((unsigned char *)span - home->base);

    assert(offset % NU_PAGE_BYTES == 0);
    ASAN_POISON_MEMORY_REGION(span, pages * NU_PAGE_BYTES);
    pthread_mutex_lock(&home->lock);
    const uint32_t warm_before = home->map.warm_count;
    region_map_give(&home->map, offset / NU_PAGE_BYTES, pages);
    const uint32_t warm_after = home->map.warm_count;
    pthread_mutex_unlock(&home->lock);
    pool_count_warm(pool, warm_before, warm_after);
    pool_trim(pool, home, warm_after - warm_before + 1);
}

void nu_page_pool_usage(struct nu_page_pool *pool, unsigned node, struct nu_page_usage *usage_out)
{
    struct pool_node *home = &pool->nodes[node];
    pthread_mutex_lock(&home->lock);
    usage_out->mapped_bytes = (uint64_t)home->map.committed_count * NU_HUGE_BYTES;
    usage_out->taken_bytes = home->map.taken_pages * NU_PAGE_BYTES;
    pthread_mutex_unlock(&home->lock);
}

int nu_page_node_of(const void *address)
{
    const uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)((uintptr_t)address / page_bytes * page_bytes);
    int node = -1;
    if (move_pages(0, 1, &page, NULL, &node, 0) != 0 || node < 0) {
        return -1;
    }
    return node;
}
