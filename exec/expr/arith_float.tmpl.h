/* Arithmetic of one float type, as IEEE 754 has it: nothing raises, x / 0 is infinite or NaN.
 * Template; included through vec/each_float.h. */

static inline bool K_FN(op_add)(K_TYPE x, K_TYPE y, K_TYPE *out)
{
    *out = x + y;
    return false;
}

static inline bool K_FN(op_subtract)(K_TYPE x, K_TYPE y, K_TYPE *out)
{
    *out = x - y;
    return false;
}

static inline bool K_FN(op_multiply)(K_TYPE x, K_TYPE y, K_TYPE *out)
{
    *out = x * y;
    return false;
}

static inline bool K_FN(op_divide)(K_TYPE x, K_TYPE y, K_TYPE *out)
{
    *out = x / y;
    return false;
}

static inline bool K_FN(op_modulo)(K_TYPE x, K_TYPE y, K_TYPE *out)
{
    *out = (K_TYPE)fmod((double)x, (double)y);
    return false;
}

static inline bool K_FN(op_negate)(K_TYPE x, K_TYPE *out)
{
    *out = -x;
    return false;
}

static inline bool K_FN(op_abs)(K_TYPE x, K_TYPE *out)
{
    *out = (K_TYPE)fabs((double)x);
    return false;
}

#include "expr/arith_ops.tmpl.h"
