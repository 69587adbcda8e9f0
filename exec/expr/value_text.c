#include "expr/value_text.h"

#include "expr/arith.h"
#include "expr/expr_node.h"
#include "vec/civil_date.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- to text
 * ------------------------------------------------------------------------------------------ */

static size_t integer_text(vec_decimal value, uint32_t scale, char *text_out)
{
    char digits[48];
    size_t count = 0;
    size_t bytes = 0;
    vec_decimal_bits rest = value < 0 ? -(vec_decimal_bits)value : (vec_decimal_bits)value;

    while (rest != 0 || count <= scale) {
        digits[count++] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    }
    if (value < 0) {
        text_out[bytes++] = '-';
    }
    while (count > 0) {
        if (count == scale) {
            text_out[bytes++] = '.';
        }
        text_out[bytes++] = digits[--count];
    }
    return bytes;
}

static size_t float_text(double value, bool is_single, char *text_out)
{
    const int digits_first = is_single ? 6 : 15;
    int bytes = 0;

    if (isnan(value)) {
        memcpy(text_out, "NaN", 3);
        return 3;
    }
    if (isinf(value)) {
        return (size_t)snprintf(text_out, VALUE_TEXT_BYTES, value < 0 ? "-Infinity" : "Infinity");
    }
    for (int digits = digits_first; digits <= digits_first + 3; digits++) {
        bytes = snprintf(text_out, VALUE_TEXT_BYTES, "%.*g", digits, value);
        const double back = strtod(text_out, NULL);
        if (is_single ? (float)back == (float)value : back == value) {
            break;
        }
    }
    return (size_t)bytes;
}

static vec_decimal load_integer(enum exec_type_kind kind, const void *value)
{
    switch (vec_storage(kind)) {
#define VEC_INTEGER(TAG, tag, c_type)        \
    case VEC_##TAG: {                        \
        c_type typed;                        \
        memcpy(&typed, value, sizeof typed); \
        return typed;                        \
    }
#include "vec/vec_types.def"
        default: return 0;
    }
}

size_t value_text(const struct exec_type *type, const void *value, char text_out[VALUE_TEXT_BYTES])
{
    float single;
    double number;

    switch ((enum exec_type_kind)type->kind) {
        case EXEC_TYPE_BOOL:
            return (size_t)snprintf(text_out, VALUE_TEXT_BYTES,
                                    *(const uint8_t *)value != 0 ? "true" : "false");
        case EXEC_TYPE_FLOAT32:
            memcpy(&single, value, sizeof single);
            return float_text((double)single, true, text_out);
        case EXEC_TYPE_FLOAT64:
            memcpy(&number, value, sizeof number);
            return float_text(number, false, text_out);
        case EXEC_TYPE_DATE32:
            return civil_date_text((int64_t)load_integer(type->kind, value), text_out);
        case EXEC_TYPE_TIMESTAMP:
            return civil_timestamp_text((int64_t)load_integer(type->kind, value), type->unit,
                                        type->zone[0] != '\0', text_out);
        case EXEC_TYPE_DECIMAL128:
            return integer_text(load_integer(type->kind, value), (uint32_t)type->scale, text_out);
        default: return integer_text(load_integer(type->kind, value), 0, text_out);
    }
}

void expr_value_text(const struct exec_type *type, const void *value, char *text_out,
                     size_t text_bytes)
{
    char text[VALUE_TEXT_BYTES];
    const struct string_view *view = value;

    if (vec_storage(type->kind) != VEC_VIEW) {
        const size_t bytes = value_text(type, value, text);
        snprintf(text_out, text_bytes, "%.*s", (int)bytes, text);
        return;
    }
    const size_t room = text_bytes - 6;
    const bool cut = view->size > room;
    snprintf(text_out, text_bytes, "'%.*s'%s", (int)(cut ? room : view->size),
             string_view_bytes(view), cut ? "..." : "");
}

/* ---- from text
 * ------------------------------------------------------------------------------------------ */

/* [+-]digits[.digits], unscaled to `scale` digits behind the point; further ones round half away
 * from zero. No point is allowed when `whole`. */
static enum value_parse parse_decimal(const char *text, size_t bytes, uint32_t scale, bool whole,
                                      vec_decimal *value_out)
{
    const bool negative = bytes > 0 && text[0] == '-';
    size_t at = bytes > 0 && (text[0] == '-' || text[0] == '+');
    vec_decimal value = 0;
    uint32_t behind = 0;
    bool point = false;
    bool round_up = false;
    bool overflow = false;
    size_t digits = 0;

    for (; at < bytes; at++) {
        const char c = text[at];
        if (c == '.' && !point && !whole) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9') {
            return VALUE_MALFORMED;
        }
        digits++;
        if (point && behind == scale) {
            round_up = c >= '5';
            behind++;
            continue;
        }
        if (point && behind > scale) {
            continue;
        }
        overflow |= __builtin_mul_overflow(value, (vec_decimal)10, &value);
        overflow |= __builtin_add_overflow(value, (vec_decimal)(c - '0'), &value);
        behind += point;
    }
    for (; behind < scale; behind++) {
        overflow |= __builtin_mul_overflow(value, (vec_decimal)10, &value);
    }
    value += round_up && !overflow;
    *value_out = negative ? -value : value;
    if (digits == 0) {
        return VALUE_MALFORMED;
    }
    return overflow ? VALUE_OUT_OF_RANGE : VALUE_OK;
}

static enum value_parse parse_float(const char *text, size_t bytes, bool is_single, void *value_out)
{
    char copy[512];
    char *end;
    double value;

    /* strtod() knows hexadecimal floats, which are no SQL. */
    if (bytes == 0 || bytes >= sizeof copy || memchr(text, 'x', bytes) != NULL ||
        memchr(text, 'X', bytes) != NULL || memchr(text, '\0', bytes) != NULL) {
        return VALUE_MALFORMED;
    }
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    value = strtod(copy, &end);
    if (end != copy + bytes || copy[0] == ' ') {
        return VALUE_MALFORMED;
    }
    if (isinf(value) && memchr(text, 'n', bytes) == NULL && memchr(text, 'N', bytes) == NULL) {
        return VALUE_OUT_OF_RANGE; /* digits, not the word "inf" */
    }
    if (!is_single) {
        memcpy(value_out, &value, sizeof value);
        return VALUE_OK;
    }
    const float single = (float)value;
    memcpy(value_out, &single, sizeof single);
    return isinf(single) && !isinf(value) ? VALUE_OUT_OF_RANGE : VALUE_OK;
}

static enum value_parse parse_bool(const char *text, size_t bytes, uint8_t *value_out)
{
    static const char *const words[] = {"false", "true", "f", "t", "0", "1", "no", "yes"};

    for (uint8_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i]) == bytes && strncasecmp(words[i], text, bytes) == 0) {
            *value_out = i % 2;
            return VALUE_OK;
        }
    }
    return VALUE_MALFORMED;
}

static enum value_parse store_integer(enum exec_type_kind kind, vec_decimal value, void *value_out)
{
    switch (vec_storage(kind)) {
#define VEC_INTEGER(TAG, tag, c_type)                          \
    case VEC_##TAG: {                                          \
        const c_type typed = (c_type)value;                    \
        memcpy(value_out, &typed, sizeof typed);               \
        return typed == value ? VALUE_OK : VALUE_OUT_OF_RANGE; \
    }
#include "vec/vec_types.def"
        default: return VALUE_MALFORMED;
    }
}

static enum value_parse parse_number(const struct exec_type *type, const char *text, size_t bytes,
                                     void *value_out)
{
    const bool whole = type->kind != EXEC_TYPE_DECIMAL128;
    vec_decimal value;
    vec_decimal limit = 1;
    const enum value_parse result =
        parse_decimal(text, bytes, whole ? 0 : (uint32_t)type->scale, whole, &value);

    if (result != VALUE_OK) {
        return result;
    }
    if (!whole) {
        for (uint8_t digit = 0; digit < type->precision; digit++) {
            limit *= 10;
        }
        if (value >= limit || value <= -limit) {
            return VALUE_OUT_OF_RANGE;
        }
    }
    return store_integer(type->kind, value, value_out);
}

enum value_parse value_parse(const struct exec_type *type, const char *text, size_t text_bytes,
                             void *value_out)
{
    return value_parse_in(NULL, type, text, text_bytes, value_out);
}

enum value_parse value_parse_in(const struct zone *zone, const struct exec_type *type,
                                const char *text, size_t text_bytes, void *value_out)
{
    bool has_offset;
    int32_t days;
    int64_t ticks;

    while (text_bytes > 0 && text[0] == ' ') {
        text++;
        text_bytes--;
    }
    while (text_bytes > 0 && text[text_bytes - 1] == ' ') {
        text_bytes--;
    }
    switch ((enum exec_type_kind)type->kind) {
        case EXEC_TYPE_BOOL: return parse_bool(text, text_bytes, value_out);
        case EXEC_TYPE_FLOAT32: return parse_float(text, text_bytes, true, value_out);
        case EXEC_TYPE_FLOAT64: return parse_float(text, text_bytes, false, value_out);
        case EXEC_TYPE_DATE32:
            if (!civil_date_parse(text, text_bytes, &days)) {
                return VALUE_MALFORMED;
            }
            memcpy(value_out, &days, sizeof days);
            return VALUE_OK;
        case EXEC_TYPE_TIMESTAMP:
            if (!civil_timestamp_parse(text, text_bytes, type->unit, &ticks, &has_offset)) {
                return VALUE_MALFORMED;
            }
            if (zone != NULL && !has_offset &&
                !zone_ticks_of_local(zone, civil_unit_ticks(type->unit), ticks, &ticks)) {
                return VALUE_OUT_OF_RANGE;
            }
            memcpy(value_out, &ticks, sizeof ticks);
            return VALUE_OK;
        default: return parse_number(type, text, text_bytes, value_out);
    }
}
