#ifndef EXEC_HASH_ROW_LIST_H
#define EXEC_HASH_ROW_LIST_H

#include "numa/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* Rows of one layout in the order they came, in chunks that never move. Chunks double from about
 * 2 KiB to 64 KiB, so that sixteen rows cost little and a million rows few chunks. */
struct row_chunk {
    struct row_chunk *next;
    uint32_t row_count;
    uint32_t row_capacity;
    _Alignas(16) unsigned char rows[];
};

struct row_list {
    struct row_chunk *first, *last;
    uint64_t row_count;
};

/* Room for one more row, uninitialised; NULL: the arena is out of memory. */
unsigned char *row_list_append_slow(struct row_list *list, struct nu_arena *arena,
                                    uint32_t row_bytes);

static inline unsigned char *row_list_append(struct row_list *list, struct nu_arena *arena,
                                             uint32_t row_bytes)
{
    struct row_chunk *chunk = list->last;

    if (chunk == NULL || chunk->row_count == chunk->row_capacity) {
        return row_list_append_slow(list, arena, row_bytes);
    }
    list->row_count++;
    return chunk->rows + (size_t)chunk->row_count++ * row_bytes;
}

#endif
