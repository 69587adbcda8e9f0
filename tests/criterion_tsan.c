/* Criterion (its sandbox BoxFort) maps an arena at an address it draws with rand_r, from a range of
 * which ThreadSanitizer allows a program only 0x550000000000 to 0x568000000000: unless the draw
 * falls there, a test program stops with "Could not initialize inheritable arena" (Criterion issue
 * 274). This rand_r, linked into test programs of the tsan preset only, draws from the last 64 GiB
 * of that part, where neither programs nor heaps are loaded. */
#include <stdlib.h>

enum {
    ARENA_STEP_FIRST = 0x367000, /* (0x567000000000 - 0x200000000000) / 16 MiB */
    ARENA_STEP_COUNT = 0x1000,
};

__attribute__((visibility("default"))) int rand_r(unsigned *seed)
{
    *seed = *seed * 1103515245U + 12345U;
    return ARENA_STEP_FIRST + (int)(*seed >> 8) % ARENA_STEP_COUNT;
}
