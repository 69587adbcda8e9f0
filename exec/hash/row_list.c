#include "hash/row_list.h"

enum { CHUNK_BYTES_FIRST = 2 << 10, CHUNK_BYTES_LAST = 64 << 10, CHUNK_ROWS_MIN = 4 };

unsigned char *row_list_append_slow(struct row_list *list, struct nu_arena *arena,
                                    uint32_t row_bytes)
{
    const uint64_t held_bytes = list->row_count * row_bytes;
    size_t chunk_bytes = CHUNK_BYTES_FIRST;

    while (chunk_bytes < held_bytes && chunk_bytes < CHUNK_BYTES_LAST) {
        chunk_bytes *= 2;
    }
    /* The head is part of the size, so that a full-grown chunk does not spill over a page. */
    size_t rows = (chunk_bytes - sizeof(struct row_chunk)) / row_bytes;
    rows = rows < CHUNK_ROWS_MIN ? CHUNK_ROWS_MIN : rows;
    struct row_chunk *chunk = nu_arena_alloc(arena, sizeof *chunk + rows * row_bytes, 16);
    if (chunk == NULL) {
        return NULL;
    }
    chunk->next = NULL;
    chunk->row_count = 1;
    chunk->row_capacity = (uint32_t)rows;
    if (list->last == NULL) {
        list->first = chunk;
    } else {
        list->last->next = chunk;
    }
    list->last = chunk;
    list->row_count++;
    return chunk->rows;
}
