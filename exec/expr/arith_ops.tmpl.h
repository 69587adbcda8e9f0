/* The loops around op_add, ..., op_abs of one type. Template; last part of arith_*.tmpl.h. */

#define K_NAME K_FN(loop_add)
#define K_IN K_TYPE
#define K_OUT K_TYPE
#define K_OP K_FN(op_add)
#include "kernel/binary.tmpl.h"

#define K_NAME K_FN(loop_subtract)
#define K_IN K_TYPE
#define K_OUT K_TYPE
#define K_OP K_FN(op_subtract)
#include "kernel/binary.tmpl.h"

#define K_NAME K_FN(loop_multiply)
#define K_IN K_TYPE
#define K_OUT K_TYPE
#define K_OP K_FN(op_multiply)
#include "kernel/binary.tmpl.h"

#define K_NAME K_FN(loop_divide)
#define K_IN K_TYPE
#define K_OUT K_TYPE
#define K_OP K_FN(op_divide)
#include "kernel/binary.tmpl.h"

#define K_NAME K_FN(loop_modulo)
#define K_IN K_TYPE
#define K_OUT K_TYPE
#define K_OP K_FN(op_modulo)
#include "kernel/binary.tmpl.h"

#define K_NAME K_FN(loop_negate)
#define K_IN K_TYPE
#define K_OUT K_TYPE
#define K_OP K_FN(op_negate)
#include "kernel/unary.tmpl.h"

#define K_NAME K_FN(loop_abs)
#define K_IN K_TYPE
#define K_OUT K_TYPE
#define K_OP K_FN(op_abs)
#include "kernel/unary.tmpl.h"

#include "vec/each_done.h"
