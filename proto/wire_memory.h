#ifndef WIRE_MEMORY_H
#define WIRE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Memory of one translated message: grows in blocks, zeroed, freed as a whole. Not thread-safe. */
struct wire_block;
struct wire_memory {
    struct wire_block *last;
};

/* Zeroed, aligned for any type; a count of 0 gets an address, too. NULL: no memory. */
void *wire_memory_array(struct wire_memory *memory, size_t count, size_t item_bytes);
char *wire_memory_text(struct wire_memory *memory, const char *text); /* NULL and "" give "" */
void wire_memory_free(struct wire_memory *memory);

#endif
