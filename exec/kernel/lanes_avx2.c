/* Compiled for x86-64-v3 (AVX2) where the compiler can; see exec/CMakeLists.txt. */
#ifdef __AVX2__
#define LANES_ISA avx2
#include "kernel/lanes.tmpl.h"
#else
extern const int lane_kernels_avx2_absent;
const int lane_kernels_avx2_absent = 1;
#endif
