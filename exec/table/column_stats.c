#include "table/column_stats.h"

#include "vec/batch.h"

#include <string.h>

/* One loop a type: bounds of the present values. `member` is the union member of the type's class.
 * A NaN compares false both ways and so never becomes a bound. */
#define BOUNDS_LOOP(c_type, member, wide_type)                                         \
    do {                                                                               \
        const c_type *values = data;                                                   \
        for (uint32_t row = begin; row < end; row++) {                                 \
            const wide_type value = (wide_type)values[row];                            \
            if (!bitmap_get(valid, row)) {                                             \
                continue;                                                              \
            }                                                                          \
            if (!stats->has_bounds && value == value) {                                \
                stats->min.member = stats->max.member = value;                         \
                stats->has_bounds = true;                                              \
            }                                                                          \
            stats->min.member = value < stats->min.member ? value : stats->min.member; \
            stats->max.member = value > stats->max.member ? value : stats->max.member; \
        }                                                                              \
    } while (0)

/* The same without nulls, as the compiler vectorises it: integers only. */
#define PRESENT_LOOP(c_type, member, wide_type)                           \
    do {                                                                  \
        const c_type *values = data;                                      \
        c_type least = values[begin], most = values[begin];               \
        for (uint32_t row = begin; row < end; row++) {                    \
            least = values[row] < least ? values[row] : least;            \
            most = values[row] > most ? values[row] : most;               \
        }                                                                 \
        if (!stats->has_bounds || (wide_type)least < stats->min.member) { \
            stats->min.member = (wide_type)least;                         \
        }                                                                 \
        if (!stats->has_bounds || (wide_type)most > stats->max.member) {  \
            stats->max.member = (wide_type)most;                          \
        }                                                                 \
        stats->has_bounds = true;                                         \
    } while (0)

#define INTEGER_LOOP(c_type, member, wide_type)      \
    do {                                             \
        if (all_present) {                           \
            PRESENT_LOOP(c_type, member, wide_type); \
        } else {                                     \
            BOUNDS_LOOP(c_type, member, wide_type);  \
        }                                            \
    } while (0)

static void add_bounds(struct column_stats *stats, enum exec_type_kind kind, const void *data,
                       const uint64_t *valid, uint32_t begin, uint32_t end, bool all_present)
{
    switch (kind) {
        case EXEC_TYPE_INT8: INTEGER_LOOP(int8_t, i64, int64_t); break;
        case EXEC_TYPE_INT16: INTEGER_LOOP(int16_t, i64, int64_t); break;
        case EXEC_TYPE_INT32:
        case EXEC_TYPE_DATE32: INTEGER_LOOP(int32_t, i64, int64_t); break;
        case EXEC_TYPE_INT64:
        case EXEC_TYPE_TIMESTAMP: INTEGER_LOOP(int64_t, i64, int64_t); break;
        case EXEC_TYPE_BOOL:
        case EXEC_TYPE_UINT8: INTEGER_LOOP(uint8_t, u64, uint64_t); break;
        case EXEC_TYPE_UINT16: INTEGER_LOOP(uint16_t, u64, uint64_t); break;
        case EXEC_TYPE_UINT32: INTEGER_LOOP(uint32_t, u64, uint64_t); break;
        case EXEC_TYPE_UINT64: INTEGER_LOOP(uint64_t, u64, uint64_t); break;
        case EXEC_TYPE_FLOAT32: BOUNDS_LOOP(float, f64, double); break;
        case EXEC_TYPE_FLOAT64: BOUNDS_LOOP(double, f64, double); break;
        default: break;
    }
}

/* Every float32 is a float64 with the same digits. */
static void add_digits(struct column_stats *stats, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const int32_t exponent = (int32_t)(bits >> 52 & 0x7ff);
    const uint64_t digits = (bits & ((UINT64_C(1) << 52) - 1)) | (uint64_t)(exponent != 0) << 52;

    if (exponent == 0x7ff) {
        stats->has_specials = true;
        return;
    }
    if (digits == 0) {
        return;
    }
    const int32_t place = exponent - (exponent != 0) - 1074; /* of the last of the 53 bits */
    const int16_t low = (int16_t)(place + __builtin_ctzll(digits));
    const int16_t high = (int16_t)(place + 63 - __builtin_clzll(digits));
    stats->digit_low = !stats->has_digits || low < stats->digit_low ? low : stats->digit_low;
    stats->digit_high = !stats->has_digits || high > stats->digit_high ? high : stats->digit_high;
    stats->has_digits = true;
}

static void add_float_digits(struct column_stats *stats, enum exec_type_kind kind, const void *data,
                             const uint64_t *valid, uint32_t begin, uint32_t end)
{
    const double *doubles = data;
    const float *floats = data;

    for (uint32_t row = begin; row < end; row++) {
        if (bitmap_get(valid, row)) {
            add_digits(stats, kind == EXEC_TYPE_FLOAT64 ? doubles[row] : (double)floats[row]);
        }
    }
}

static bool is_float(enum exec_type_kind kind)
{
    return kind == EXEC_TYPE_FLOAT32 || kind == EXEC_TYPE_FLOAT64;
}

void column_stats_add(struct column_stats *stats, enum exec_type_kind kind, const void *data,
                      const uint64_t *valid, uint32_t begin, uint32_t end)
{
    uint32_t present = 0;

    if (begin == end) {
        return;
    }
    for (uint32_t row = begin; row < end; row++) {
        present += bitmap_get(valid, row);
    }
    stats->null_count += end - begin - present;
    add_bounds(stats, kind, data, valid, begin, end, present == end - begin);
    if (is_float(kind)) {
        add_float_digits(stats, kind, data, valid, begin, end);
    }
}

static bool is_unsigned(enum exec_type_kind kind)
{
    return kind == EXEC_TYPE_BOOL || (kind >= EXEC_TYPE_UINT8 && kind <= EXEC_TYPE_UINT64);
}

static void widen(struct column_stats *into, enum exec_type_kind kind,
                  const struct column_stats *from)
{
    if (is_float(kind)) {
        into->min.f64 = from->min.f64 < into->min.f64 ? from->min.f64 : into->min.f64;
        into->max.f64 = from->max.f64 > into->max.f64 ? from->max.f64 : into->max.f64;
    } else if (is_unsigned(kind)) {
        into->min.u64 = from->min.u64 < into->min.u64 ? from->min.u64 : into->min.u64;
        into->max.u64 = from->max.u64 > into->max.u64 ? from->max.u64 : into->max.u64;
    } else {
        into->min.i64 = from->min.i64 < into->min.i64 ? from->min.i64 : into->min.i64;
        into->max.i64 = from->max.i64 > into->max.i64 ? from->max.i64 : into->max.i64;
    }
}

static void merge_digits(struct column_stats *into, const struct column_stats *from)
{
    into->has_specials |= from->has_specials;
    if (!from->has_digits) {
        return;
    }
    if (!into->has_digits || from->digit_low < into->digit_low) {
        into->digit_low = from->digit_low;
    }
    if (!into->has_digits || from->digit_high > into->digit_high) {
        into->digit_high = from->digit_high;
    }
    into->has_digits = true;
}

void column_stats_merge(struct column_stats *into, enum exec_type_kind kind,
                        const struct column_stats *from)
{
    into->null_count += from->null_count;
    merge_digits(into, from);
    if (!from->has_bounds) {
        return;
    }
    if (!into->has_bounds) {
        into->has_bounds = true;
        into->min = from->min;
        into->max = from->max;
        return;
    }
    widen(into, kind, from);
}
