#ifndef EXEC_HASH_GROUP_TABLE_H
#define EXEC_HASH_GROUP_TABLE_H

#include "hash/row_layout.h"
#include "hash/row_list.h"

/* Groups by key: rows that never move, found through open addressing with linear probing. A slot
 * holds 16 bits of the hash and the row's address, so nearly every look at a row is a hit. Half
 * full at most. A row: [ hash | row_layout: the keys | states, all zero bytes when the group is new
 * ]. One thread at a time. All-zero memory with group_table_init is an empty table without memory.
 */
struct group_table {
    const struct row_layout *layout; /* prefix: the hash; columns: the keys */
    struct nu_arena *arena;
    uint64_t *slots;
    struct row_list rows;
    uint32_t row_bytes;
    uint32_t state_offset; /* row_bytes - state_offset bytes of states */
    uint8_t slot_bits;
    uint8_t radix_bits; /* top bits that all hashes here share; slots come from those below */
};

/* Where states begin and how long a row with them is; 16-byte aligned both. */
uint32_t group_table_state_offset(const struct row_layout *layout);

void group_table_init(struct group_table *table, const struct row_layout *layout,
                      uint32_t state_bytes, uint32_t radix_bits, struct nu_arena *arena);

/* rows_out[i] = the group of positions[i], whose hash is hashes[positions[i]] (count <=
 * BATCH_ROWS). Unknown keys become new groups while the table has fewer than row_limit, else
 * rows_out[i] is NULL. `keys` are vecs on `batch`. false: the arena is out of memory. */
bool group_table_find(struct group_table *table, const struct batch *batch, const struct vec *keys,
                      const uint64_t *hashes, const uint16_t *positions, uint32_t count,
                      uint64_t row_limit, unsigned char **rows_out);

#endif
