#ifndef EXEC_HASH_HASH_BITS_H
#define EXEC_HASH_HASH_BITS_H

#include <stdint.h>

/* Which bits of a row's 64-bit hash mean what; written only here. One hash a row, used by join,
 * group, distinct and run-time filters:
 *
 *   63 ........ 48 47 ............................ 16 15 ...... 0
 *   radix partition, then directory slot (from the top)   tag bits
 *
 * A partition is the top radix_bits; a directory slot is the top slot_bits (so one partition owns a
 * contiguous slice of the directory); a tag comes from the low 16 bits. */

static inline uint32_t hash_partition(uint64_t hash, uint32_t radix_bits)
{
    return radix_bits == 0 ? 0 : (uint32_t)(hash >> (64 - radix_bits));
}

static inline uint64_t hash_slot(uint64_t hash, uint32_t slot_bits)
{
    return slot_bits == 0 ? 0 : hash >> (64 - slot_bits);
}

static inline uint16_t hash_tag(uint64_t hash)
{
    return (uint16_t)hash;
}

#endif
