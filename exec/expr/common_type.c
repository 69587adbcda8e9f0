#include "expr/expr_node.h"

#include <string.h>

/* The type in which values of two types meet. */

static bool is_float(const struct exec_type *type)
{
    return type->kind == EXEC_TYPE_FLOAT32 || type->kind == EXEC_TYPE_FLOAT64;
}

static bool is_unsigned(const struct exec_type *type)
{
    return type->kind >= EXEC_TYPE_UINT8 && type->kind <= EXEC_TYPE_UINT64;
}

/* An integer as the decimal that holds every one of its values; a decimal as it is. */
static struct exec_type as_decimal(const struct exec_type *type)
{
    static const uint8_t digits[] = {
        [EXEC_TYPE_INT8] = 3,    [EXEC_TYPE_INT16] = 5,  [EXEC_TYPE_INT32] = 10,
        [EXEC_TYPE_INT64] = 19,  [EXEC_TYPE_UINT8] = 3,  [EXEC_TYPE_UINT16] = 5,
        [EXEC_TYPE_UINT32] = 10, [EXEC_TYPE_UINT64] = 20};

    if (type->kind == EXEC_TYPE_DECIMAL128) {
        return *type;
    }
    return (struct exec_type){.kind = EXEC_TYPE_DECIMAL128, .precision = digits[type->kind]};
}

/* The larger scale, and before the point the larger side, as far as 38 digits go. */
static struct exec_type common_decimal(const struct exec_type *a, const struct exec_type *b)
{
    const struct exec_type x = as_decimal(a);
    const struct exec_type y = as_decimal(b);
    const int scale = x.scale > y.scale ? x.scale : y.scale;
    const int x_whole = x.precision - x.scale;
    const int y_whole = y.precision - y.scale;
    const int digits = scale + (x_whole > y_whole ? x_whole : y_whole);

    return (struct exec_type){
        .kind = EXEC_TYPE_DECIMAL128,
        .precision = (uint8_t)(digits < EXEC_DECIMAL_DIGITS_MAX ? digits : EXEC_DECIMAL_DIGITS_MAX),
        .scale = (int8_t)scale};
}

static struct exec_type common_integer(const struct exec_type *a, const struct exec_type *b)
{
    static const uint8_t signed_of_width[] = {
        [1] = EXEC_TYPE_INT8, [2] = EXEC_TYPE_INT16, [4] = EXEC_TYPE_INT32, [8] = EXEC_TYPE_INT64};
    const size_t a_width = exec_type_width(a->kind);
    const size_t b_width = exec_type_width(b->kind);
    size_t width;

    if (is_unsigned(a) == is_unsigned(b)) {
        return a_width >= b_width ? *a : *b;
    }
    const size_t unsigned_width = is_unsigned(a) ? a_width : b_width;
    const size_t signed_width = is_unsigned(a) ? b_width : a_width;
    width = 2 * unsigned_width > signed_width ? 2 * unsigned_width : signed_width;
    return width <= 8 ? (struct exec_type){.kind = signed_of_width[width]} : common_decimal(a, b);
}

static bool common_time(const struct exec_type *a, const struct exec_type *b,
                        struct exec_type *common_out)
{
    const struct exec_type *date = a->kind == EXEC_TYPE_DATE32 ? a : b;
    const struct exec_type *timestamp = date == a ? b : a;

    if (date->kind == EXEC_TYPE_DATE32) {
        *common_out = *timestamp; /* a day is its first instant, on the clock of the zone */
        return timestamp->kind == EXEC_TYPE_TIMESTAMP;
    }
    if (a->kind != EXEC_TYPE_TIMESTAMP || b->kind != EXEC_TYPE_TIMESTAMP ||
        (a->zone[0] == '\0') != (b->zone[0] == '\0')) {
        return false;
    }
    *common_out = *a;
    common_out->unit = a->unit > b->unit ? a->unit : b->unit;
    return true;
}

bool expr_common_type(const struct exec_type *a, const struct exec_type *b,
                      struct exec_type *common_out)
{
    if (exec_type_equal(a, b)) {
        *common_out = *a;
        return true;
    }
    if (!exec_type_is_numeric(a->kind) || !exec_type_is_numeric(b->kind)) {
        return common_time(a, b, common_out);
    }
    if (is_float(a) || is_float(b)) {
        *common_out = (struct exec_type){.kind = EXEC_TYPE_FLOAT64};
        return true;
    }
    if (a->kind == EXEC_TYPE_DECIMAL128 || b->kind == EXEC_TYPE_DECIMAL128) {
        *common_out = common_decimal(a, b);
        return true;
    }
    *common_out = common_integer(a, b);
    return true;
}
