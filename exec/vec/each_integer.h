/* Includes the template K_TEMPLATE once for each integer storage, with K_TAG (i8), K_ENUM (I8),
 * K_TYPE, K_BITS (the unsigned type of its width), K_SIGNED, K_MIN and K_MAX set. No include guard.
 * The template ends with vec/each_done.h. */
#define K_TAG i8
#define K_ENUM I8
#define K_TYPE int8_t
#define K_BITS uint8_t
#define K_SIGNED 1
#define K_MIN INT8_MIN
#define K_MAX INT8_MAX
#include K_TEMPLATE
#define K_TAG i16
#define K_ENUM I16
#define K_TYPE int16_t
#define K_BITS uint16_t
#define K_SIGNED 1
#define K_MIN INT16_MIN
#define K_MAX INT16_MAX
#include K_TEMPLATE
#define K_TAG i32
#define K_ENUM I32
#define K_TYPE int32_t
#define K_BITS uint32_t
#define K_SIGNED 1
#define K_MIN INT32_MIN
#define K_MAX INT32_MAX
#include K_TEMPLATE
#define K_TAG i64
#define K_ENUM I64
#define K_TYPE int64_t
#define K_BITS uint64_t
#define K_SIGNED 1
#define K_MIN INT64_MIN
#define K_MAX INT64_MAX
#include K_TEMPLATE
#define K_TAG u8
#define K_ENUM U8
#define K_TYPE uint8_t
#define K_BITS uint8_t
#define K_SIGNED 0
#define K_MIN 0
#define K_MAX UINT8_MAX
#include K_TEMPLATE
#define K_TAG u16
#define K_ENUM U16
#define K_TYPE uint16_t
#define K_BITS uint16_t
#define K_SIGNED 0
#define K_MIN 0
#define K_MAX UINT16_MAX
#include K_TEMPLATE
#define K_TAG u32
#define K_ENUM U32
#define K_TYPE uint32_t
#define K_BITS uint32_t
#define K_SIGNED 0
#define K_MIN 0
#define K_MAX UINT32_MAX
#include K_TEMPLATE
#define K_TAG u64
#define K_ENUM U64
#define K_TYPE uint64_t
#define K_BITS uint64_t
#define K_SIGNED 0
#define K_MIN 0
#define K_MAX UINT64_MAX
#include K_TEMPLATE
