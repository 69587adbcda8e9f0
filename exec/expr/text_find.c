#include "expr/text_find.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

enum { STARTS = sizeof(__m128i) };

/* Bit i: the needle may start at text + i. */
static uint32_t candidates(const char *text, size_t needle_bytes, __m128i first, __m128i last)
{
    const __m128i at_first = _mm_loadu_si128((const __m128i *)text);
    const __m128i at_last = _mm_loadu_si128((const __m128i *)(text + needle_bytes - 1));
    const __m128i both =
        _mm_and_si128(_mm_cmpeq_epi8(at_first, first), _mm_cmpeq_epi8(at_last, last));
    return (uint32_t)_mm_movemask_epi8(both);
}

/* `starts` places to start at, STARTS at least; the last block overlaps the one before it. */
static const char *find_by_blocks(const char *text, size_t starts, const char *needle,
                                  size_t needle_bytes)
{
    const __m128i first = _mm_set1_epi8(needle[0]);
    const __m128i last = _mm_set1_epi8(needle[needle_bytes - 1]);

    for (size_t block = 0; block < starts; block += STARTS) {
        const char *at = text + (block + STARTS <= starts ? block : starts - STARTS);
        for (uint32_t mask = candidates(at, needle_bytes, first, last); mask != 0;
             mask &= mask - 1) {
            const char *start = at + __builtin_ctz(mask);
            if (memcmp(start + 1, needle + 1, needle_bytes - 2) == 0) {
                return start;
            }
        }
    }
    return NULL;
}
#endif

const char *text_find(const char *text, size_t text_bytes, const char *needle, size_t needle_bytes)
{
    if (needle_bytes > text_bytes) {
        return NULL;
    }
#ifdef __SSE2__
    const size_t starts = text_bytes - needle_bytes + 1;
    if (needle_bytes >= 2 && starts >= STARTS) {
        return find_by_blocks(text, starts, needle, needle_bytes);
    }
#endif
    return memmem(text, text_bytes, needle, needle_bytes);
}
