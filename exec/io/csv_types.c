#include "io/csv_types.h"

#include "io/csv_time.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

static enum csv_parse parse_bool(const char *text, size_t size, uint8_t *value_out)
{
    if (size == 4 && strncasecmp(text, "true", 4) == 0) {
        *value_out = 1;
        return CSV_PARSED;
    }
    *value_out = 0;
    return size == 5 && strncasecmp(text, "false", 5) == 0 ? CSV_PARSED : CSV_NOT_OF_TYPE;
}

#define PARSE_SIGNED(c_type, min, max)                                               \
    do {                                                                             \
        int64_t wide = 0;                                                            \
        const enum csv_parse parsed = csv_parse_signed(text, size, min, max, &wide); \
        *(c_type *)value_out = (c_type)wide;                                         \
        return parsed;                                                               \
    } while (0)
#define PARSE_UNSIGNED(c_type, max)                                               \
    do {                                                                          \
        uint64_t wide = 0;                                                        \
        const enum csv_parse parsed = csv_parse_unsigned(text, size, max, &wide); \
        *(c_type *)value_out = (c_type)wide;                                      \
        return parsed;                                                            \
    } while (0)

enum csv_parse csv_parse_value(const struct exec_type *type, char *text, size_t size,
                               void *value_out)
{
    switch (type->kind) {
        case EXEC_TYPE_BOOL: return parse_bool(text, size, value_out);
        case EXEC_TYPE_INT8: PARSE_SIGNED(int8_t, INT8_MIN, INT8_MAX);
        case EXEC_TYPE_INT16: PARSE_SIGNED(int16_t, INT16_MIN, INT16_MAX);
        case EXEC_TYPE_INT32: PARSE_SIGNED(int32_t, INT32_MIN, INT32_MAX);
        case EXEC_TYPE_INT64: PARSE_SIGNED(int64_t, INT64_MIN, INT64_MAX);
        case EXEC_TYPE_UINT8: PARSE_UNSIGNED(uint8_t, UINT8_MAX);
        case EXEC_TYPE_UINT16: PARSE_UNSIGNED(uint16_t, UINT16_MAX);
        case EXEC_TYPE_UINT32: PARSE_UNSIGNED(uint32_t, UINT32_MAX);
        case EXEC_TYPE_UINT64: PARSE_UNSIGNED(uint64_t, UINT64_MAX);
        case EXEC_TYPE_FLOAT32: return csv_parse_float32(text, size, value_out);
        case EXEC_TYPE_FLOAT64: return csv_parse_float64(text, size, value_out);
        case EXEC_TYPE_DECIMAL128:
            return csv_parse_decimal(text, size, type->precision, (unsigned)type->scale, value_out);
        case EXEC_TYPE_DATE32: return csv_parse_date(text, size, value_out);
        case EXEC_TYPE_TIMESTAMP: return csv_parse_timestamp(text, size, type, value_out);
        default: break;
    }
    assert(!"a type without a text form");
    return CSV_NOT_OF_TYPE;
}

/* ---- guessing ------------------------------------------------------------------------------- */

/* In order of preference. */
static const struct exec_type classes[] = {
    {.kind = EXEC_TYPE_BOOL},
    {.kind = EXEC_TYPE_INT64},
    {.kind = EXEC_TYPE_FLOAT64},
    {.kind = EXEC_TYPE_DATE32},
    {.kind = EXEC_TYPE_TIMESTAMP, .unit = EXEC_UNIT_MICRO},
};
enum { CLASS_COUNT = sizeof classes / sizeof classes[0] };

void csv_guess_add(struct csv_guess *guess, char *text, size_t size)
{
    union {
        int64_t i64;
        double f64;
    } value;

    guess->seen = true;
    for (unsigned c = 0; c < CLASS_COUNT; c++) {
        if ((guess->excluded & 1u << c) == 0 &&
            csv_parse_value(&classes[c], text, size, &value) != CSV_PARSED) {
            guess->excluded |= (uint8_t)(1u << c);
        }
    }
}

void csv_guess_merge(struct csv_guess *into, const struct csv_guess *from)
{
    into->excluded |= from->excluded;
    into->seen |= from->seen;
}

struct exec_type csv_guess_type(const struct csv_guess *guess)
{
    for (unsigned c = 0; guess->seen && c < CLASS_COUNT; c++) {
        if ((guess->excluded & 1u << c) == 0) {
            return classes[c];
        }
    }
    return (struct exec_type){.kind = EXEC_TYPE_UTF8};
}
