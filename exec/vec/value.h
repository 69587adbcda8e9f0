#ifndef EXEC_VEC_VALUE_H
#define EXEC_VEC_VALUE_H

#include "vec/string_view.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* One value of each type: its canonical bits, its equality and its total order, used by hash, join,
 * group, sort and expressions, so that they agree. Every NaN is one value, above all numbers; -0.0
 * is 0.0; strings go by bytes. */

typedef __int128 vec_decimal; /* unscaled, two's complement, 16-byte aligned in a vec */
typedef unsigned __int128 vec_decimal_bits;

static inline uint32_t value_float32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = value == 0 ? 0 : bits;
    return value != value ? UINT32_C(0x7fc00000) : bits;
}

static inline uint64_t value_float64_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = value == 0 ? 0 : bits;
    return value != value ? UINT64_C(0x7ff8000000000000) : bits;
}

/* The same value in canonical form: one NaN, no -0.0. */
static inline float value_float32_canonical(float value)
{
    const uint32_t bits = value_float32_bits(value);
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double value_float64_canonical(double value)
{
    const uint64_t bits = value_float64_bits(value);
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define VEC_INTEGER(TAG, tag, c_type)                         \
    static inline bool value_equal_##tag(c_type a, c_type b)  \
    {                                                         \
        return a == b;                                        \
    }                                                         \
    static inline bool value_less_##tag(c_type a, c_type b)   \
    {                                                         \
        return a < b;                                         \
    }                                                         \
    static inline int value_compare_##tag(c_type a, c_type b) \
    {                                                         \
        return (a > b) - (a < b);                             \
    }
#define VEC_FLOAT(TAG, tag, c_type)                             \
    static inline bool value_equal_##tag(c_type a, c_type b)    \
    {                                                           \
        return (a == b) | ((a != a) & (b != b));                \
    }                                                           \
    static inline bool value_less_##tag(c_type a, c_type b)     \
    {                                                           \
        return (a < b) | ((a == a) & (b != b));                 \
    }                                                           \
    static inline int value_compare_##tag(c_type a, c_type b)   \
    {                                                           \
        return value_less_##tag(b, a) - value_less_##tag(a, b); \
    }
#define VEC_VIEW(TAG, tag, c_type)                            \
    static inline bool value_equal_##tag(c_type a, c_type b)  \
    {                                                         \
        return string_view_equal(&a, &b);                     \
    }                                                         \
    static inline bool value_less_##tag(c_type a, c_type b)   \
    {                                                         \
        return string_view_compare(&a, &b) < 0;               \
    }                                                         \
    static inline int value_compare_##tag(c_type a, c_type b) \
    {                                                         \
        return string_view_compare(&a, &b);                   \
    }
#include "vec/vec_types.def"

#endif
