/* Arithmetic of one integer type. Template; included through vec/each_integer.h. Each operation
 * says true when its result does not fit or does not exist; nothing here is undefined for any
 * operands, because rows that are not selected are computed as well. */

#if K_SIGNED
static inline bool K_FN(op_add)(K_TYPE x, K_TYPE y, K_TYPE *out)
{
    const K_TYPE sum = (K_TYPE)((K_BITS)x + (K_BITS)y);
    *out = sum;
    return ((x ^ sum) & (y ^ sum)) < 0;
}

static inline bool K_FN(op_subtract)(K_TYPE x, K_TYPE y, K_TYPE *out)
{
    const K_TYPE difference = (K_TYPE)((K_BITS)x - (K_BITS)y);
    *out = difference;
    return ((x ^ y) & (x ^ difference)) < 0;
}
#else
static inline bool K_FN(op_add)(K_TYPE x, K_TYPE y, K_TYPE *out)
{
    *out = (K_TYPE)(x + y);
    return *out < x;
}

static inline bool K_FN(op_subtract)(K_TYPE x, K_TYPE y, K_TYPE *out)
{
    *out = (K_TYPE)(x - y);
    return y > x;
}
#endif

static inline bool K_FN(op_multiply)(K_TYPE x, K_TYPE y, K_TYPE *out)
{
    return __builtin_mul_overflow(x, y, out);
}

static inline bool K_FN(op_divide)(K_TYPE x, K_TYPE y, K_TYPE *out)
{
    const bool bad = (y == 0) | (K_SIGNED && x == K_MIN && y == (K_TYPE)-1);
    *out = (K_TYPE)(x / (bad ? (K_TYPE)1 : y));
    return bad;
}

/* The sign is the dividend's. Modulo -1 is 0, also of the least number, whose quotient does not
 * exist. */
static inline bool K_FN(op_modulo)(K_TYPE x, K_TYPE y, K_TYPE *out)
{
    const bool by_one = (y == 0) | (K_SIGNED && y == (K_TYPE)-1);
    *out = (K_TYPE)(x % (by_one ? (K_TYPE)1 : y));
    return y == 0;
}

static inline bool K_FN(op_negate)(K_TYPE x, K_TYPE *out)
{
    *out = (K_TYPE)((K_BITS)0 - (K_BITS)x);
    return K_SIGNED ? x == K_MIN : x != 0;
}

static inline bool K_FN(op_abs)(K_TYPE x, K_TYPE *out)
{
    const bool negative = K_SIGNED && x < (K_TYPE)1 && x != 0;
    *out = negative ? (K_TYPE)((K_BITS)0 - (K_BITS)x) : x;
    return negative && x == K_MIN;
}

#include "expr/arith_ops.tmpl.h"
