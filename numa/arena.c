#include "numa/arena.h"

#include "numa/check.h"
#include "poison.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum {
    ARENA_BLOCK_MIN_BYTES = 64 << 10,
    ARENA_BLOCK_MAX_BYTES = 2 << 20,
    ARENA_ALIGN_MAX_BYTES = 4096,
};

/* Head of every span. Blocks are linked newest first; the one being filled need not be the newest:
 * an object that got a span of its own leaves the block before it in use. */
struct nu_arena_block {
    _Alignas(64) struct nu_arena_block *older;
    size_t bytes; /* of the span, this head included */
};

static unsigned char *block_begin(struct nu_arena_block *block)
{
    return (unsigned char *)(block + 1);
}

static unsigned char *block_end(struct nu_arena_block *block)
{
    return (unsigned char *)block + block->bytes;
}

void nu_arena_init(struct nu_arena *arena, struct nu_page_pool *pool, unsigned node,
                   struct nu_budget *budget)
{
    *arena = (struct nu_arena){.pool = pool, .budget = budget, .node = node};
}

/* ---- blocks --------------------------------------------------------------------------------- */

static struct nu_arena_block *arena_take_block(struct nu_arena *arena, size_t bytes)
{
    arena->refused = nu_budget_charge(arena->budget, bytes);
    if (arena->refused != NULL) {
        return NULL;
    }
    struct nu_arena_block *block = nu_page_pool_take(arena->pool, arena->node, bytes);
    if (block == NULL) {
        nu_budget_refund(arena->budget, bytes);
        return NULL;
    }
    block->bytes = bytes;
    arena->charged_bytes += bytes;
    return block;
}

static void arena_give_block(struct nu_arena *arena, struct nu_arena_block *block)
{
    const size_t bytes = block->bytes;
    nu_page_pool_give(arena->pool, arena->node, block, bytes);
    nu_budget_refund(arena->budget, bytes);
    arena->charged_bytes -= bytes;
}

static void arena_link_block(struct nu_arena *arena, struct nu_arena_block *block)
{
    block->older = arena->blocks;
    arena->blocks = block;
    ASAN_POISON_MEMORY_REGION(block_begin(block), block->bytes - sizeof *block);
}

/* Size of the next shared block: twice the newest shared one. */
static size_t arena_next_block_bytes(const struct nu_arena *arena)
{
    if (arena->blocks == NULL) {
        return ARENA_BLOCK_MIN_BYTES;
    }
    const size_t bytes = arena->blocks->bytes * 2;
    return bytes < ARENA_BLOCK_MAX_BYTES ? bytes : ARENA_BLOCK_MAX_BYTES;
}

/* A block with room for need_bytes: the spare, a shared block, or a span of the object's own. */
static struct nu_arena_block *arena_add_block(struct nu_arena *arena, size_t need_bytes)
{
    struct nu_arena_block *block = arena->spare;
    if (block != NULL && need_bytes <= block->bytes) {
        arena->spare = NULL;
        arena_link_block(arena, block);
        return block;
    }
    const size_t own = (need_bytes + NU_PAGE_BYTES - 1) / NU_PAGE_BYTES * (size_t)NU_PAGE_BYTES;
    const size_t shared = arena_next_block_bytes(arena);
    const size_t bytes = own > shared ? own : shared;
    block = arena_take_block(arena, bytes);
    if (block == NULL && own < bytes) {
        block = arena_take_block(arena, own); /* close to the limit, take only what is needed */
    }
    if (block != NULL) {
        arena_link_block(arena, block);
    }
    return block;
}

/* ---- allocation ----------------------------------------------------------------------------- */

static unsigned char *align_up(unsigned char *pointer, size_t align_bytes)
{
    return pointer + (-(uintptr_t)pointer & (align_bytes - 1));
}

static void *arena_alloc_in_new_block(struct nu_arena *arena, size_t size_bytes, size_t align_bytes)
{
    if (size_bytes > SIZE_MAX / 2) {
        arena->refused = arena->budget;
        return NULL;
    }
    struct nu_arena_block *block =
        arena_add_block(arena, sizeof *block + size_bytes + align_bytes - 1);
    if (block == NULL) {
        return NULL;
    }
    unsigned char *object = align_up(block_begin(block), align_bytes);
    unsigned char *rest = object + size_bytes;
    /* Go on in whichever block has more room left. */
    if (arena->cursor == NULL || block_end(block) - rest > arena->end - arena->cursor) {
        arena->cursor = rest;
        arena->end = block_end(block);
    }
    ASAN_UNPOISON_MEMORY_REGION(object, size_bytes);
    return object;
}

void *nu_arena_alloc(struct nu_arena *arena, size_t size_bytes, size_t align_bytes)
{
    NU_DCHECK(align_bytes != 0 && (align_bytes & (align_bytes - 1)) == 0);
    NU_DCHECK(align_bytes <= ARENA_ALIGN_MAX_BYTES);
    if (arena->cursor != NULL) {
        const size_t room = (size_t)(arena->end - arena->cursor);
        const size_t pad = -(uintptr_t)arena->cursor & (align_bytes - 1);
        if (pad <= room && size_bytes <= room - pad) {
            unsigned char *object = arena->cursor + pad;
            arena->cursor = object + size_bytes;
            ASAN_UNPOISON_MEMORY_REGION(object, size_bytes);
            return object;
        }
    }
    return arena_alloc_in_new_block(arena, size_bytes, align_bytes);
}

void *nu_arena_calloc(struct nu_arena *arena, size_t size_bytes, size_t align_bytes)
{
    void *object = nu_arena_alloc(arena, size_bytes, align_bytes);
    if (object != NULL) {
        memset(object, 0, size_bytes);
    }
    return object;
}

char *nu_arena_strdup(struct nu_arena *arena, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = nu_arena_alloc(arena, bytes, 1);
    if (copy != NULL) {
        memcpy(copy, text, bytes);
    }
    return copy;
}

/* ---- going back ----------------------------------------------------------------------------- */

struct nu_arena_mark nu_arena_mark(const struct nu_arena *arena)
{
    return (struct nu_arena_mark){.block = arena->blocks, .cursor = arena->cursor};
}

/* The larger of two blocks stays as spare, unless it is larger than any shared block. */
static void arena_retire_block(struct nu_arena *arena, struct nu_arena_block *block)
{
    struct nu_arena_block *spare = arena->spare;
    if (block->bytes > ARENA_BLOCK_MAX_BYTES || (spare != NULL && spare->bytes >= block->bytes)) {
        arena_give_block(arena, block);
        return;
    }
    if (spare != NULL) {
        arena_give_block(arena, spare);
    }
    arena->spare = block;
    ASAN_POISON_MEMORY_REGION(block_begin(block), block->bytes - sizeof *block);
}

void nu_arena_rewind(struct nu_arena *arena, struct nu_arena_mark mark)
{
    while (arena->blocks != mark.block) {
        struct nu_arena_block *block = arena->blocks;
        assert(block != NULL); /* the mark is not of this arena, or was rewound over */
        arena->blocks = block->older;
        arena_retire_block(arena, block);
    }
    arena->cursor = arena->end = NULL;
    if (mark.cursor == NULL) {
        return;
    }
    /* The block in use at the mark: the cursor is never at a block's very begin. */
    for (struct nu_arena_block *block = arena->blocks; block != NULL; block = block->older) {
        if (mark.cursor > (unsigned char *)block && mark.cursor <= block_end(block)) {
            arena->cursor = mark.cursor;
            arena->end = block_end(block);
            ASAN_POISON_MEMORY_REGION(arena->cursor, (size_t)(arena->end - arena->cursor));
            return;
        }
    }
    assert(!"a mark's cursor lies in one of the blocks that were there");
}

void nu_arena_reset(struct nu_arena *arena)
{
    nu_arena_rewind(arena, (struct nu_arena_mark){0});
}

void nu_arena_destroy(struct nu_arena *arena)
{
    nu_arena_reset(arena);
    if (arena->spare != NULL) {
        arena_give_block(arena, arena->spare);
        arena->spare = NULL;
    }
    assert(arena->charged_bytes == 0);
}
