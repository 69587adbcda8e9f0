#include "io/csv_types.h"

#include "io/csv_time.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* 2^53: every whole number below it is a float64 of its own; 2^53 + 1 rounds to it. */
#define FLOAT64_WHOLE_END 9007199254740992.0

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

enum csv_loss csv_value_loss(const struct exec_type *type, const char *text, size_t size,
                             const void *value)
{
    const bool is_float = type->kind == EXEC_TYPE_FLOAT64;

    if (!exec_type_is_numeric(type->kind)) {
        return CSV_LOSS_NONE;
    }
    const size_t first = text[0] == '-' || text[0] == '+';
    if (size > first + 1 && text[first] == '0' && csv_whole_kind(text, size) == CSV_WHOLE_PADDED) {
        return CSV_LOSS_ZEROS;
    }
    if (is_float && fabs(*(const double *)value) >= FLOAT64_WHOLE_END &&
        csv_whole_kind(text, size) == CSV_WHOLE) {
        return CSV_LOSS_DIGITS;
    }
    return CSV_LOSS_NONE;
}

/* ---- guessing ------------------------------------------------------------------------------- */

/* In order of preference. The decimal is for whole numbers only: fractions are not known to be
 * exact. */
enum guess_class {
    CLASS_BOOL,
    CLASS_INT64,
    CLASS_UINT64,
    CLASS_WHOLE38,
    CLASS_FLOAT64,
    CLASS_DATE,
    CLASS_TIMESTAMP,
    CLASS_COUNT,
};

static const struct exec_type classes[CLASS_COUNT] = {
    [CLASS_BOOL] = {.kind = EXEC_TYPE_BOOL},
    [CLASS_INT64] = {.kind = EXEC_TYPE_INT64},
    [CLASS_UINT64] = {.kind = EXEC_TYPE_UINT64},
    [CLASS_WHOLE38] = {.kind = EXEC_TYPE_DECIMAL128, .precision = 38, .scale = 0},
    [CLASS_FLOAT64] = {.kind = EXEC_TYPE_FLOAT64},
    [CLASS_DATE] = {.kind = EXEC_TYPE_DATE32},
    [CLASS_TIMESTAMP] = {.kind = EXEC_TYPE_TIMESTAMP, .unit = EXEC_UNIT_MICRO},
};

static bool parses(enum guess_class class, char *text, size_t size)
{
    union {
        int64_t i64;
        double f64;
        unsigned char bytes[16];
    } value;

    return csv_parse_value(&classes[class], text, size, &value) == CSV_PARSED;
}

/* Most values of most columns: few enough digits that every type of numbers holds them. */
static bool is_small_whole(const char *text, size_t size)
{
    const size_t first = text[0] == '-';
    return size - first <= 15 && csv_whole_kind(text, size) == CSV_WHOLE && text[0] != '+';
}

/* The classes a whole number may be of. */
static unsigned whole_classes(char *text, size_t size)
{
    unsigned fits = 0;
    double value = 0;

    if (is_small_whole(text, size)) {
        return 1u << CLASS_INT64 | 1u << CLASS_WHOLE38 | 1u << CLASS_FLOAT64 |
               (text[0] == '-' ? 0 : 1u << CLASS_UINT64);
    }
    if (csv_whole_kind(text, size) == CSV_WHOLE_PADDED) {
        return 0;
    }
    fits |= parses(CLASS_INT64, text, size) ? 1u << CLASS_INT64 : 0;
    fits |= parses(CLASS_UINT64, text, size) ? 1u << CLASS_UINT64 : 0;
    fits |= text[0] != '+' && parses(CLASS_WHOLE38, text, size) ? 1u << CLASS_WHOLE38 : 0;
    if (csv_parse_float64(text, size, &value) == CSV_PARSED && fabs(value) < FLOAT64_WHOLE_END) {
        fits |= 1u << CLASS_FLOAT64;
    }
    return fits;
}

static unsigned other_classes(char *text, size_t size, unsigned excluded)
{
    static const enum guess_class tried[] = {CLASS_BOOL, CLASS_FLOAT64, CLASS_DATE,
                                             CLASS_TIMESTAMP};
    unsigned fits = 0;

    for (size_t i = 0; i < sizeof tried / sizeof tried[0]; i++) {
        if ((excluded & 1u << tried[i]) == 0 && parses(tried[i], text, size)) {
            fits |= 1u << tried[i];
        }
    }
    return fits;
}

void csv_guess_add(struct csv_guess *guess, char *text, size_t size, char mark)
{
    char plain[CSV_GROUPED_BYTES + 1];

    guess->seen = true;
    if (guess->excluded == (1u << CLASS_COUNT) - 1) {
        return;
    }
    csv_ungroup(&text, &size, mark, plain);
    const unsigned fits = csv_whole_kind(text, size) != CSV_NOT_WHOLE
                              ? whole_classes(text, size)
                              : other_classes(text, size, guess->excluded);
    guess->excluded |= (uint8_t)(~fits & ((1u << CLASS_COUNT) - 1));
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
