#ifndef NUMA_CHECK_H
#define NUMA_CHECK_H
#include <assert.h>

/* NU_DCHECK(condition): assert for inner loops, compiled in debug builds only. Plain assert stays
 * on in every build type. */
#ifdef MORSEL_DEBUG
#define NU_DCHECK(condition) assert(condition)
#else
#define NU_DCHECK(condition) ((void)sizeof(condition))
#endif

#endif
