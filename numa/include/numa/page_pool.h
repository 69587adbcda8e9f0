#ifndef NUMA_PAGE_POOL_H
#define NUMA_PAGE_POOL_H

#include "numa/topology.h"

#include <stddef.h>
#include <stdint.h>

enum {
    NU_PAGE_BYTES = 64 << 10, /* the unit: every span is a whole number of these */
    NU_HUGE_BYTES = 2 << 20,  /* regions are mapped and bound in these */
};

/* Memory by node. Spans come from 2 MiB regions (mmap, mbind to the node, MADV_HUGEPAGE where
 * allowed) and stay mapped and touched after they are given back, up to a reserve, so that the
 * next job starts on warm pages (first touch costs more than most joins). Thread-safe; a node's
 * lock is held for a search in bitmaps only, never across a system call. Where mbind is refused
 * (nu_topology.can_bind is false, said in its summary) the pool works unbound. Under
 * AddressSanitizer spans in the pool are poisoned. */
struct nu_page_pool;

/* reserve_bytes: whole free regions kept warm per process; above it they go back to the system.
 * Returns 0 or a negative errno. `topology` must outlive the pool. */
int nu_page_pool_create(const struct nu_topology *topology, uint64_t reserve_bytes,
                        struct nu_page_pool **pool_out);
void nu_page_pool_destroy(struct nu_page_pool *pool); /* every span must have been given back */

/* A span of `bytes` (rounded up to NU_PAGE_BYTES) whose pages live on `node`. Contents undefined.
 * NULL when the node's address range is full (several times the machine's memory). Does not charge
 * any budget: nu_arena and the callers do, and their limit is what keeps the machine from running
 * out, for the kernel gives pages at first touch. */
void *nu_page_pool_take(struct nu_page_pool *pool, unsigned node, size_t bytes);
void nu_page_pool_give(struct nu_page_pool *pool, unsigned node, void *span, size_t bytes);

struct nu_page_usage {
    uint64_t mapped_bytes; /* regions in use or kept warm */
    uint64_t taken_bytes;  /* held by callers */
};
void nu_page_pool_usage(struct nu_page_pool *pool, unsigned node, struct nu_page_usage *usage_out);

/* Node on which the first page of a span really lives (move_pages); -1 when unknown. For tests and
 * metrics, slow. */
int nu_page_node_of(const void *address);

#endif
