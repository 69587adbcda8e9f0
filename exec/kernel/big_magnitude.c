#include "kernel/big_magnitude.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef unsigned __int128 two_words;

enum {
    DOUBLE_DIGITS = 53,
    DOUBLE_EXPONENT_MIN = -1022, /* of the first bit of a normal number */
    POWER10_MAX = 19,            /* 10^19 fits a word */
};

void big_magnitude_scale(struct big_magnitude *big, uint32_t words_up)
{
    for (uint32_t w = BIG_WORDS; w-- > 0;) {
        assert(w + words_up < BIG_WORDS || big->words[w] == 0);
        if (w + words_up < BIG_WORDS) {
            big->words[w + words_up] = big->words[w];
        }
        if (w < words_up) {
            big->words[w] = 0;
        }
    }
    big->exponent -= 64 * (int32_t)words_up;
}

void big_magnitude_divide(struct big_magnitude *big, uint64_t divisor)
{
    uint64_t rest = 0;

    for (uint32_t w = BIG_WORDS; w-- > 0;) {
        if (rest == 0 && big->words[w] == 0) {
            continue;
        }
        const two_words part = (two_words)rest << 64 | big->words[w];
        big->words[w] = (uint64_t)(part / divisor);
        rest = (uint64_t)(part % divisor);
    }
    /* Floors of floors are the floor of the whole quotient, so several divisions lose no more. */
    big->sticky = big->sticky || rest != 0;
}

void big_magnitude_divide_power10(struct big_magnitude *big, uint32_t power)
{
    while (power > 0) {
        uint64_t divisor = 1;
        const uint32_t step = power < POWER10_MAX ? power : POWER10_MAX;
        for (uint32_t i = 0; i < step; i++) {
            divisor *= 10;
        }
        big_magnitude_divide(big, divisor);
        power -= step;
    }
}

static int32_t bit_length(const struct big_magnitude *big)
{
    for (int32_t w = BIG_WORDS; w-- > 0;) {
        if (big->words[w] != 0) {
            return w * 64 + 64 - __builtin_clzll(big->words[w]);
        }
    }
    return 0;
}

static bool bit_at(const struct big_magnitude *big, int32_t bit)
{
    return bit >= 0 && bit < 64 * BIG_WORDS && ((big->words[bit / 64] >> bit % 64) & 1) != 0;
}

static bool any_below(const struct big_magnitude *big, int32_t bit)
{
    for (int32_t w = 0; w < BIG_WORDS && w * 64 < bit; w++) {
        const int32_t in_word = bit - w * 64;
        const uint64_t mask = in_word >= 64 ? UINT64_MAX : (UINT64_C(1) << in_word) - 1;
        if ((big->words[w] & mask) != 0) {
            return true;
        }
    }
    return false;
}

/* `keep` bits from `cut` up; a negative cut appends zeros. */
static uint64_t bits_from(const struct big_magnitude *big, int32_t cut, int32_t keep)
{
    if (keep == 0) {
        return 0;
    }
    if (cut < 0) {
        return big->words[0] << -cut;
    }
    uint64_t bits = big->words[cut / 64] >> cut % 64;
    if (cut % 64 != 0 && cut / 64 + 1 < BIG_WORDS) {
        bits |= big->words[cut / 64 + 1] << (64 - cut % 64);
    }
    return bits & (UINT64_MAX >> (64 - keep));
}

double big_magnitude_double(const struct big_magnitude *big)
{
    const int32_t length = bit_length(big);
    const int32_t first = big->exponent + length - 1; /* exponent of the first bit */
    int32_t keep = DOUBLE_DIGITS;
    uint64_t digits;

    if (first < DOUBLE_EXPONENT_MIN) {
        keep -= DOUBLE_EXPONENT_MIN - first;
    }
    if (length == 0 || keep < 0) {
        return 0;
    }
    const int32_t cut = length - keep; /* may be negative: zeros are appended */
    digits = bits_from(big, cut, keep);
    if (bit_at(big, cut - 1) && (big->sticky || any_below(big, cut - 1) || (digits & 1) != 0)) {
        digits++;
    }
    return ldexp((double)digits, big->exponent + cut);
}
