#include "wire_memory.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 4096 };

struct wire_block {
    struct wire_block *before;
    size_t used, room;
    alignas(max_align_t) unsigned char bytes[];
};

void *wire_memory_array(struct wire_memory *memory, size_t count, size_t item_bytes)
{
    const size_t align = alignof(max_align_t);
    struct wire_block *block = memory->last;
    size_t size;

    if (__builtin_mul_overflow(count, item_bytes, &size) || size > SIZE_MAX / 2) {
        return NULL;
    }
    size = (size + align) / align * align; /* at least one unit */
    if (block == NULL || block->room - block->used < size) {
        const size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        block = calloc(1, sizeof *block + room);
        if (block == NULL) {
            return NULL;
        }
        block->room = room;
        block->before = memory->last;
        memory->last = block;
    }
    block->used += size;
    return block->bytes + block->used - size;
}

char *wire_memory_text(struct wire_memory *memory, const char *text)
{
    const size_t size = text == NULL ? 0 : strlen(text);
    char *copy = wire_memory_array(memory, size + 1, 1);

    if (copy != NULL && size != 0) {
        memcpy(copy, text, size);
    }
    return copy;
}

void wire_memory_free(struct wire_memory *memory)
{
    while (memory->last != NULL) {
        struct wire_block *block = memory->last;
        memory->last = block->before;
        free(block);
    }
}
