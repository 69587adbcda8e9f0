#ifndef EXEC_HASH_HASH_MIX_H
#define EXEC_HASH_HASH_MIX_H

#include <stdint.h>

/* Two rounds of xor-shift and multiply (Stafford's variant 13, as in splitmix64). One multiply is
 * not enough: it leaves the low bits, from which tags come, without the high bits of the key.
 * Bijective. */
static inline uint64_t hash_mix(uint64_t word)
{
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

/* The hash of columns so far, followed by one more. The rotation makes it depend on the order; (x,
 * x) does not cancel out, because the first x has gone through the mixer by then. */
static inline uint64_t hash_combine(uint64_t hash, uint64_t word)
{
    return hash_mix(((hash << 23) | (hash >> 41)) ^ word);
}

#endif
