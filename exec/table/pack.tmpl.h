/* The values that are there, moved together. Template; included by those of statistics, whose
 * K_TAG and K_TYPE it ends. */

/* out has room for `count` + 1. Returns how many. */
static uint32_t K_FN(pack)(const void *data, uint32_t first, uint64_t present, uint32_t count,
                           void *out)
{
    const K_TYPE *values = (const K_TYPE *)data + first;
    K_TYPE *packed = out;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        packed[kept] = values[i];
        kept += (uint32_t)(present >> i & 1);
    }
    return kept;
}

#include "vec/each_done.h"
