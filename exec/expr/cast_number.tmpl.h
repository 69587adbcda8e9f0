/* Casts of one integer storage to int64 and float64, the most used ones. Only uint64 to int64 can
 * fail. Template; included through vec/each_integer.h. */

static inline bool K_FN(op_to_i64)(K_TYPE x, int64_t *out)
{
    *out = (int64_t)x;
    return !K_SIGNED && *out < 0;
}

static inline bool K_FN(op_to_f64)(K_TYPE x, double *out)
{
    *out = (double)x;
    return false;
}

#define K_NAME K_FN(widen_i64)
#define K_IN K_TYPE
#define K_OUT int64_t
#define K_OP K_FN(op_to_i64)
#include "kernel/unary.tmpl.h"

#define K_NAME K_FN(widen_f64)
#define K_IN K_TYPE
#define K_OUT double
#define K_OP K_FN(op_to_f64)
#include "kernel/unary.tmpl.h"

#include "vec/each_done.h"
