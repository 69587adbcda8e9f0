/* Comparisons of one storage. Template; included through vec/each_type.h. Four loops do for six
 * operators: a > b is b < a. */

static inline bool K_FN(op_eq)(K_TYPE x, K_TYPE y, uint8_t *out)
{
    *out = K_FN(value_equal)(x, y);
    return false;
}

static inline bool K_FN(op_ne)(K_TYPE x, K_TYPE y, uint8_t *out)
{
    *out = !K_FN(value_equal)(x, y);
    return false;
}

static inline bool K_FN(op_lt)(K_TYPE x, K_TYPE y, uint8_t *out)
{
    *out = K_FN(value_less)(x, y);
    return false;
}

static inline bool K_FN(op_le)(K_TYPE x, K_TYPE y, uint8_t *out)
{
    *out = !K_FN(value_less)(y, x);
    return false;
}

static inline bool K_FN(op_least)(K_TYPE x, K_TYPE y, K_TYPE *out)
{
    *out = K_FN(value_less)(y, x) ? y : x;
    return false;
}

static inline bool K_FN(op_greatest)(K_TYPE x, K_TYPE y, K_TYPE *out)
{
    *out = K_FN(value_less)(x, y) ? y : x;
    return false;
}

#define K_NAME K_FN(loop_eq)
#define K_IN K_TYPE
#define K_OUT uint8_t
#define K_OP K_FN(op_eq)
#include "kernel/binary.tmpl.h"

#define K_NAME K_FN(loop_ne)
#define K_IN K_TYPE
#define K_OUT uint8_t
#define K_OP K_FN(op_ne)
#include "kernel/binary.tmpl.h"

#define K_NAME K_FN(loop_lt)
#define K_IN K_TYPE
#define K_OUT uint8_t
#define K_OP K_FN(op_lt)
#include "kernel/binary.tmpl.h"

#define K_NAME K_FN(loop_le)
#define K_IN K_TYPE
#define K_OUT uint8_t
#define K_OP K_FN(op_le)
#include "kernel/binary.tmpl.h"

#define K_NAME K_FN(loop_least)
#define K_IN K_TYPE
#define K_OUT K_TYPE
#define K_OP K_FN(op_least)
#include "kernel/binary.tmpl.h"

#define K_NAME K_FN(loop_greatest)
#define K_IN K_TYPE
#define K_OUT K_TYPE
#define K_OP K_FN(op_greatest)
#include "kernel/binary.tmpl.h"

#include "vec/each_done.h"
