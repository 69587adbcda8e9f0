#ifndef EXEC_KERNEL_BIG_MAGNITUDE_H
#define EXEC_KERNEL_BIG_MAGNITUDE_H

#include <stdbool.h>
#include <stdint.h>

/* A non-negative number words * 2^exponent of 512 bits, so that sums and their quotients become
 * doubles with one rounding. `sticky`: something below the last bit was cut off by a division. */
enum { BIG_WORDS = 8 };

struct big_magnitude {
    uint64_t words[BIG_WORDS]; /* least significant first */
    int32_t exponent;
    bool sticky;
};

/* Makes room below: `words_up` words. A quotient then keeps 64 bits at least where all divisors
 * multiply up to 2^(64 words_up - 64) at most. The words shifted out must be 0. */
void big_magnitude_scale(struct big_magnitude *big, uint32_t words_up);
void big_magnitude_divide(struct big_magnitude *big, uint64_t divisor);
void big_magnitude_divide_power10(struct big_magnitude *big, uint32_t power);

/* To nearest, ties to even; subnormals too; too large is infinity. */
double big_magnitude_double(const struct big_magnitude *big);

#endif
