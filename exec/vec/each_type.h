/* As each_integer.h, for every storage; only K_TAG, K_ENUM and K_TYPE are certain to be set. */
#include "vec/each_float.h"
#include "vec/each_integer.h"
#define K_TAG decimal
#define K_ENUM DECIMAL
#define K_TYPE vec_decimal
#include K_TEMPLATE
#define K_TAG view
#define K_ENUM VIEW
#define K_TYPE struct string_view
#include K_TEMPLATE
