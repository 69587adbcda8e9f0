#ifndef EXEC_HASH_DENSE_MAP_H
#define EXEC_HASH_DENSE_MAP_H

#include "hash/row_layout.h"

/* A map from one integer key to the columns behind it, for keys that lie close together: arrays
 * with a place for every key from `min` on, so a look costs a subtraction and one cache line a
 * column. Keys are unique. Column 0 of the row layout is the key; what is stored are columns 1 and
 * up. The validity bytes of a row become the key's state: bit 0 says that the key is there, bit c
 * that column c is not null; which limits the columns.
 *
 * Keys are taken as 64-bit words, sign-extended or not by their type, and compared by their
 * distance from `min` modulo 2^64. */
enum { DENSE_COLUMNS_MAX = 8, DENSE_KEYS_MAX = 16 << 20 };

struct dense_map {
    uint64_t min;
    uint64_t span; /* places */
    const struct row_layout *layout;
    uint8_t *states;
    void *values[DENSE_COLUMNS_MAX]; /* by layout column; [0] is not used */
    uint8_t states_all;              /* the bits that every key there has; set by the owner */
    bool full;                       /* every place is taken; set by the owner */
};

/* Whether keys of the type can be looked up so. */
bool dense_map_takes(enum exec_type_kind kind);

/* Bounds of the keys so far, in an order that fits the type. Start with {UINT64_MAX, 0}. */
struct dense_bounds {
    uint64_t low, high;
};
void dense_bounds_add(struct dense_bounds *bounds, const struct batch *batch, const struct vec *key,
                      const uint16_t *positions, uint32_t count);
void dense_bounds_merge(struct dense_bounds *into, const struct dense_bounds *from);

/* high - low; the places are one more. */
static inline uint64_t dense_bounds_width(const struct dense_bounds *bounds)
{
    return bounds->high - bounds->low;
}

uint64_t dense_map_bytes(const struct row_layout *layout, uint64_t span);

/* An empty map over the bounds, at most DENSE_KEYS_MAX of them. false: out of memory. */
bool dense_map_init(struct dense_map *map, const struct row_layout *layout,
                    const struct dense_bounds *bounds, struct nu_arena *arena);

/* Takes in `count` rows that lie side by side. states_all: the bits that all of them have are kept
 * in it. false: a key was there already; the map still answers whether keys are there, but no
 * longer which columns they have. Threads may fill one map with rows of different keys. */
bool dense_map_fill(struct dense_map *map, const unsigned char *rows, uint32_t count,
                    uint8_t *states_all);

/* The selected rows whose key is there, in order: rows_out[i] of the batch has the key at place
 * at_out[i]. Both have room for BATCH_ROWS + 1. `key` is not constant. Returns how many. */
uint32_t dense_map_find(const struct dense_map *map, const struct batch *batch,
                        const struct vec *key, uint16_t *rows_out, uint32_t *at_out);

/* out[rows[i]] = the column at place at[i], for i < count (rows NULL: out[i]); a vec of row_count
 * values, 0 in the rows not listed. `outer`: rows not listed are null. false: out of memory. */
bool dense_map_gather(const struct dense_map *map, uint32_t column, const uint32_t *at,
                      const uint16_t *rows, uint32_t count, uint32_t row_count, bool outer,
                      struct nu_arena *scratch, struct vec *out);

#endif
