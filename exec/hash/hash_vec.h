#ifndef EXEC_HASH_HASH_VEC_H
#define EXEC_HASH_HASH_VEC_H

#include "vec/batch.h"

#include <stdbool.h>
#include <stdint.h>

/* One hash and one equality per type, shared by join, group, distinct and sort ties:
 *   NULL hashes to a constant of its own and equals NULL (callers that must not match NULLs drop
 *   those rows first); every NaN is one value; -0.0 is 0.0; utf8 and binary by bytes (XXH3).
 * Both sides of a join are of one type when they get here, so widths need not agree. */

/* hashes[p] for position p of the selection (p < batch->sel_count), over key_count columns in
 * order: (x, y) and (y, x) hash differently, (x, x) is not degenerate. bits_kept < 64 keeps only
 * that many top bits (tests force collisions). `keys` are row-aligned with `batch` (evaluated on
 * it). */
void hash_keys(const struct batch *batch, const struct vec *keys, uint32_t key_count,
               uint32_t bits_kept, uint64_t *hashes);

/* Positions of the selection whose keys are all present (a key with nulls_equal set counts as
 * present), ascending; returns their number. nulls_equal NULL: false for every key. */
uint32_t hash_present_positions(const struct batch *batch, const struct vec *keys,
                                uint32_t key_count, const bool *nulls_equal,
                                uint16_t *positions_out);

/* Whether a single key of the type is told apart by its hash alone, all 64 bits of it: the mixer is
 * a bijection, and so is the way to it for values of at most 8 bytes that are integers inside. NULL
 * is not among them. */
bool hash_is_exact(enum exec_type_kind kind);

#endif
