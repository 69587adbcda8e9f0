#include "column_value.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool bit(const uint8_t *bitmap, uint64_t row)
{
    return (bitmap[row / 8] >> (row % 8) & 1) != 0;
}

/* Arrow buffers may be unaligned: values are copied out, never dereferenced in place. */
#define LOAD(type, base, row)                                                           \
    __extension__({                                                                     \
        type loaded_;                                                                   \
        memcpy(&loaded_, (const uint8_t *)(base) + (row) * sizeof(type), sizeof(type)); \
        loaded_;                                                                        \
    })

static uint64_t dictionary_row(const struct exec_column_buffers *column, uint64_t row)
{
    switch (column->index_bytes) {
        case 1: return (uint64_t)LOAD(int8_t, column->values, row);
        case 2: return (uint64_t)LOAD(int16_t, column->values, row);
        case 4: return (uint64_t)LOAD(int32_t, column->values, row);
        default: return (uint64_t)LOAD(int64_t, column->values, row);
    }
}

bool column_value_is_null(const struct exec_column_buffers *column, uint64_t row)
{
    assert(row < column->row_count);
    if (column->validity != NULL && !bit(column->validity, row)) {
        return true;
    }
    return column->dictionary != NULL &&
           column_value_is_null(column->dictionary, dictionary_row(column, row));
}

const char *column_value_bytes(const struct exec_column_buffers *column, uint64_t row,
                               size_t *size_out)
{
    assert(row < column->row_count);
    if (column->dictionary != NULL) {
        return column_value_bytes(column->dictionary, dictionary_row(column, row), size_out);
    }
    uint64_t begin, end;
    if (column->offset_bytes == 8) {
        begin = (uint64_t)LOAD(int64_t, column->offsets, row);
        end = (uint64_t)LOAD(int64_t, column->offsets, row + 1);
    } else {
        begin = (uint64_t)LOAD(int32_t, column->offsets, row);
        end = (uint64_t)LOAD(int32_t, column->offsets, row + 1);
    }
    *size_out = (size_t)(end - begin);
    return (const char *)column->values + begin;
}

bool column_value_bool(const struct exec_column_buffers *column, uint64_t row)
{
    assert(row < column->row_count);
    return bit(column->values, row);
}

int64_t column_value_int64(const struct exec_column_buffers *column, uint64_t row)
{
    assert(row < column->row_count);
    switch (column->type.kind) {
        case EXEC_TYPE_INT8: return LOAD(int8_t, column->values, row);
        case EXEC_TYPE_UINT8: return LOAD(uint8_t, column->values, row);
        case EXEC_TYPE_INT16: return LOAD(int16_t, column->values, row);
        case EXEC_TYPE_UINT16: return LOAD(uint16_t, column->values, row);
        case EXEC_TYPE_INT32:
        case EXEC_TYPE_DATE32: return LOAD(int32_t, column->values, row);
        case EXEC_TYPE_UINT32: return LOAD(uint32_t, column->values, row);
        default: return LOAD(int64_t, column->values, row);
    }
}

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

double column_value_double(const struct exec_column_buffers *column, uint64_t row)
{
    assert(row < column->row_count);
    switch (column->type.kind) {
        case EXEC_TYPE_FLOAT32: return (double)LOAD(float, column->values, row);
        case EXEC_TYPE_FLOAT64: return LOAD(double, column->values, row);
        case EXEC_TYPE_UINT64: return (double)LOAD(uint64_t, column->values, row);
        case EXEC_TYPE_DECIMAL128:
            return (double)LOAD(wide, column->values, row) / pow(10, column->type.scale);
        default: return (double)column_value_int64(column, row);
    }
}

static size_t float_text(double value, bool single, char text_out[COLUMN_VALUE_TEXT_BYTES])
{
    int size = 0;

    if (isnan(value)) {
        return (size_t)snprintf(text_out, COLUMN_VALUE_TEXT_BYTES, "nan");
    }
    if (isinf(value)) {
        return (size_t)snprintf(text_out, COLUMN_VALUE_TEXT_BYTES, value < 0 ? "-inf" : "inf");
    }
    /* 6 and 15 digits always survive a round trip, 9 and 17 always suffice. */
    for (int digits = single ? 6 : 15; digits <= (single ? 9 : 17); digits++) {
        size = snprintf(text_out, COLUMN_VALUE_TEXT_BYTES, "%.*g", digits, value);
        if (single ? strtof(text_out, NULL) == (float)value : strtod(text_out, NULL) == value) {
            break;
        }
    }
    return (size_t)size;
}

static size_t decimal_text(wide value, int scale, char text_out[COLUMN_VALUE_TEXT_BYTES])
{
    char digits[COLUMN_VALUE_TEXT_BYTES];
    unsigned_wide rest = value < 0 ? -(unsigned_wide)value : (unsigned_wide)value;
    size_t at = sizeof digits;
    int written = 0;

    do {
        if (written == scale && scale > 0) {
            digits[--at] = '.';
        }
        digits[--at] = (char)('0' + (int)(rest % 10));
        rest /= 10;
        written++;
    } while (rest > 0 || written <= scale);
    if (value < 0) {
        digits[--at] = '-';
    }
    memcpy(text_out, digits + at, sizeof digits - at);
    text_out[sizeof digits - at] = '\0';
    return sizeof digits - at;
}

/* Days since 1970-01-01 to the proleptic Gregorian calendar (Howard Hinnant's civil_from_days). */
static size_t date_text(int64_t days, char *text_out)
{
    const int64_t shifted = days + 719468;
    const int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    const int64_t day_of_era = shifted - era * 146097;
    const int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t shifted_month = (5 * day_of_year + 2) / 153;
    const int64_t day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    const int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
    const int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);

    /* ISO 8601: a year of other than four digits has a sign. Readers need it, ours too. */
    return (size_t)snprintf(text_out, COLUMN_VALUE_TEXT_BYTES,
                            year >= 0 && year <= 9999 ? "%04" PRId64 "-%02" PRId64 "-%02" PRId64
                                                      : "%+05" PRId64 "-%02" PRId64 "-%02" PRId64,
                            year, month, day);
}

static size_t timestamp_text(int64_t value, const struct exec_type *type,
                             char text_out[COLUMN_VALUE_TEXT_BYTES])
{
    static const int64_t units[] = {1, 1, 1000, 1000000, 1000000000};
    static const int fraction_digits[] = {0, 0, 3, 6, 9};
    const int64_t unit = units[type->unit];
    const int64_t seconds = value / unit - (value % unit < 0 ? 1 : 0);
    /* Not value - seconds * unit, which overflows for the least value. */
    const int64_t fraction = value % unit + (value % unit < 0 ? unit : 0);
    const int64_t days = seconds / 86400 - (seconds % 86400 < 0 ? 1 : 0);
    const int64_t of_day = seconds % 86400 + (seconds % 86400 < 0 ? 86400 : 0);
    size_t size = date_text(days, text_out);

    size += (size_t)snprintf(text_out + size, COLUMN_VALUE_TEXT_BYTES - size,
                             "T%02" PRId64 ":%02" PRId64 ":%02" PRId64, of_day / 3600,
                             of_day / 60 % 60, of_day % 60);
    if (fraction_digits[type->unit] > 0) {
        size += (size_t)snprintf(text_out + size, COLUMN_VALUE_TEXT_BYTES - size, ".%0*" PRId64,
                                 fraction_digits[type->unit], fraction);
    }
    /* A zoned timestamp is an instant; it is written in UTC whatever its zone. */
    if (type->zone[0] != '\0') {
        size += (size_t)snprintf(text_out + size, COLUMN_VALUE_TEXT_BYTES - size, "Z");
    }
    return size;
}

size_t column_value_text(const struct exec_column_buffers *column, uint64_t row,
                         char text_out[COLUMN_VALUE_TEXT_BYTES])
{
    switch (column->type.kind) {
        case EXEC_TYPE_BOOL:
            return (size_t)snprintf(text_out, COLUMN_VALUE_TEXT_BYTES,
                                    column_value_bool(column, row) ? "true" : "false");
        case EXEC_TYPE_UINT64:
            return (size_t)snprintf(text_out, COLUMN_VALUE_TEXT_BYTES, "%" PRIu64,
                                    LOAD(uint64_t, column->values, row));
        case EXEC_TYPE_FLOAT32: return float_text(column_value_double(column, row), true, text_out);
        case EXEC_TYPE_FLOAT64:
            return float_text(column_value_double(column, row), false, text_out);
        case EXEC_TYPE_DECIMAL128:
            return decimal_text(LOAD(wide, column->values, row), column->type.scale, text_out);
        case EXEC_TYPE_DATE32: return date_text(column_value_int64(column, row), text_out);
        case EXEC_TYPE_TIMESTAMP:
            return timestamp_text(column_value_int64(column, row), &column->type, text_out);
        default:
            return (size_t)snprintf(text_out, COLUMN_VALUE_TEXT_BYTES, "%" PRId64,
                                    column_value_int64(column, row));
    }
}
