#include "kernel/lanes.h"

extern const struct lane_kernels lane_kernels_scalar;

#ifdef LANES_HAVE_AVX2
extern const struct lane_kernels lane_kernels_avx2;

static bool have_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}
#endif

const struct lane_kernels *lane_kernels_variant(uint32_t index)
{
#ifdef LANES_HAVE_AVX2
    if (index == 1 && have_avx2()) {
        return &lane_kernels_avx2;
    }
#endif
    return index == 0 ? &lane_kernels_scalar : NULL;
}

const struct lane_kernels *lane_kernels(void)
{
    const struct lane_kernels *best = &lane_kernels_scalar;
    const struct lane_kernels *next;

    for (uint32_t i = 1; (next = lane_kernels_variant(i)) != NULL; i++) {
        best = next;
    }
    return best;
}
