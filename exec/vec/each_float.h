/* As each_integer.h, for the float storages: K_TAG, K_ENUM, K_TYPE, K_BITS. */
#define K_TAG f32
#define K_ENUM F32
#define K_TYPE float
#define K_BITS uint32_t
#include K_TEMPLATE
#define K_TAG f64
#define K_ENUM F64
#define K_TYPE double
#define K_BITS uint64_t
#include K_TEMPLATE
