#ifndef NUMA_ARENA_H
#define NUMA_ARENA_H

#include "numa/budget.h"
#include "numa/page_pool.h"

#include <stddef.h>

struct nu_arena_block;

/* A growing bump allocator whose pages all live on one node and are charged to one budget. Blocks
 * double from 64 KiB to 2 MiB; a larger object gets a span of its own. Objects are never freed one
 * by one. Not thread-safe: one arena has one owning thread at a time.
 * reset() and destroy() poison the memory under AddressSanitizer, so a pointer that outlives its
 * arena is reported where it is used. */
struct nu_arena {
    struct nu_page_pool *pool;
    struct nu_budget *budget;
    struct nu_arena_block *blocks; /* newest first */
    struct nu_arena_block *spare;  /* kept by rewind and reset, charged; NULL: none */
    unsigned char *cursor, *end;   /* free part of the block in use */
    size_t charged_bytes;
    unsigned node;
    const struct nu_budget *refused; /* who said no, for the error message; NULL: the kernel */
};

/* Takes no memory yet. pool and budget must outlive the arena. */
void nu_arena_init(struct nu_arena *arena, struct nu_page_pool *pool, unsigned node,
                   struct nu_budget *budget);

/* Returns uninitialised memory owned by `arena`, or NULL when a budget or the kernel refuses: a
 * decision for the caller, never a reason to abort. `align_bytes` is a power of two <= 4096. */
void *nu_arena_alloc(struct nu_arena *arena, size_t size_bytes, size_t align_bytes);
void *nu_arena_calloc(struct nu_arena *arena, size_t size_bytes, size_t align_bytes);
char *nu_arena_strdup(struct nu_arena *arena, const char *text);

/* Stack use, for scratch memory: everything allocated after the mark is gone after the rewind.
 * Marks nest; a mark older than the last rewind target stays valid. */
struct nu_arena_mark {
    struct nu_arena_block *block;
    unsigned char *cursor;
};
struct nu_arena_mark nu_arena_mark(const struct nu_arena *arena);
void nu_arena_rewind(struct nu_arena *arena, struct nu_arena_mark mark); /* keeps one spare block */

void nu_arena_reset(struct nu_arena *arena); /* keeps one block as spare */
void nu_arena_destroy(
    struct nu_arena *arena); /* gives back pages and charge; arena may be reused */

#endif
