#include "vec/bitmap.h"

/* Ones at bits [first, end) of one word, end <= 64. */
static uint64_t word_mask(uint64_t first, uint64_t end)
{
    const uint64_t below_end = end == 64 ? UINT64_MAX : (UINT64_C(1) << end) - 1;
    return below_end & (UINT64_MAX << first);
}

void bitmap_set_range(uint64_t *bits, uint64_t first, uint64_t count, bool value)
{
    const uint64_t end = first + count;

    while (first < end) {
        const uint64_t word = first / 64;
        const uint64_t word_end = end - word * 64 < 64 ? end - word * 64 : 64;
        const uint64_t mask = word_mask(first % 64, word_end);
        bits[word] = value ? bits[word] | mask : bits[word] & ~mask;
        first = word * 64 + word_end;
    }
}

uint64_t bitmap_count(const uint64_t *bits, uint64_t first, uint64_t count)
{
    const uint64_t end = first + count;
    uint64_t ones = 0;

    while (first < end) {
        const uint64_t word = first / 64;
        const uint64_t word_end = end - word * 64 < 64 ? end - word * 64 : 64;
        ones += (uint64_t)__builtin_popcountll(bits[word] & word_mask(first % 64, word_end));
        first = word * 64 + word_end;
    }
    return ones;
}

void bitmap_and(uint64_t *out, const uint64_t *a, const uint64_t *b, uint64_t bit_count)
{
    for (uint32_t w = 0; w < bitmap_words(bit_count); w++) {
        out[w] = a[w] & b[w];
    }
}

void bitmap_or(uint64_t *out, const uint64_t *a, const uint64_t *b, uint64_t bit_count)
{
    for (uint32_t w = 0; w < bitmap_words(bit_count); w++) {
        out[w] = a[w] | b[w];
    }
}

void bitmap_slice(uint64_t *out, const uint64_t *from, uint64_t first, uint64_t count)
{
    const uint64_t last_word = count == 0 ? 0 : (first + count - 1) / 64;
    const uint64_t shift = first % 64;

    for (uint64_t w = 0; w < bitmap_words(count); w++) {
        const uint64_t source = first / 64 + w;
        out[w] = from[source] >> shift;
        if (shift != 0 && source < last_word) {
            out[w] |= from[source + 1] << (64 - shift);
        }
    }
    if (count % 64 != 0) {
        out[count / 64] &= word_mask(0, count % 64);
    }
}
