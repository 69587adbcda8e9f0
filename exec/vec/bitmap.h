#ifndef EXEC_VEC_BITMAP_H
#define EXEC_VEC_BITMAP_H

#include <stdbool.h>
#include <stdint.h>

/* Bitmaps in words of 64 bits, bit r % 64 of word r / 64, as vec.valid. Bits behind the count in
 * the last word may hold anything and stay as they are unless said otherwise. bitmap_get is in
 * vec/batch.h. */

static inline uint32_t bitmap_words(uint64_t bit_count)
{
    return (uint32_t)((bit_count + 63) / 64);
}

static inline void bitmap_set(uint64_t *bits, uint64_t at)
{
    bits[at / 64] |= UINT64_C(1) << at % 64;
}

static inline void bitmap_clear(uint64_t *bits, uint64_t at)
{
    bits[at / 64] &= ~(UINT64_C(1) << at % 64);
}

static inline void bitmap_put(uint64_t *bits, uint64_t at, bool value)
{
    const uint64_t bit = UINT64_C(1) << at % 64;
    bits[at / 64] = (bits[at / 64] & ~bit) | (value ? bit : 0);
}

/* Bits [first, first + count) to `value`. */
void bitmap_set_range(uint64_t *bits, uint64_t first, uint64_t count, bool value);

uint64_t bitmap_count(const uint64_t *bits, uint64_t first, uint64_t count); /* of ones */

/* Whole words up to bit_count: out = a & b, out = a | b; out may be a or b. */
void bitmap_and(uint64_t *out, const uint64_t *a, const uint64_t *b, uint64_t bit_count);
void bitmap_or(uint64_t *out, const uint64_t *a, const uint64_t *b, uint64_t bit_count);

/* Bits [first, first + count) of `from` to bits [0, count) of `out`; the rest of the last word is
 * 0. Reads no word of `from` that holds none of these bits. */
void bitmap_slice(uint64_t *out, const uint64_t *from, uint64_t first, uint64_t count);

#endif
