#include "table/column_stats.h"

#include "vec/bitmap.h"
#include "vec/each_name.h"
#include "vec/vec.h"

#include <string.h>

enum {
    LOOK_ROWS = 64,       /* looked at together; where one of them is news, all are taken in */
    UNIT_PLACE_MAX = 900, /* digits from which their unit may have no double */
};

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

/* A NaN compares false both ways and so never becomes a bound. */
static void add_float(struct column_stats *stats, double value)
{
    if (!stats->has_bounds && value == value) {
        stats->min.f64 = stats->max.f64 = value;
        stats->has_bounds = true;
    }
    stats->min.f64 = value < stats->min.f64 ? value : stats->min.f64;
    stats->max.f64 = value > stats->max.f64 ? value : stats->max.f64;
    add_digits(stats, value);
}

/* 2^(52 + digit_low), a normal number; 0 where all values so far are zeros or specials, below
 * which there is nothing: the bounds tell. */
static double digit_unit(const struct column_stats *stats)
{
    const uint64_t bits = (uint64_t)(stats->digit_low + 52 + 1023) << 52;
    double unit;

    memcpy(&unit, &bits, sizeof unit);
    return stats->has_digits ? unit : 0;
}

/* Behind an infinite bound the highest digit is anything: the finite values there are news. */
static double finite_bound(double bound)
{
    return __builtin_isinf(bound) ? 0 : bound;
}

#define K_TEMPLATE "table/bounds_integer.tmpl.h"
#include "vec/each_integer.h"
#undef K_TEMPLATE
#define K_TEMPLATE "table/bounds_float.tmpl.h"
#include "vec/each_float.h"
#undef K_TEMPLATE

static const struct {
    void (*take)(struct column_stats *stats, const void *data, uint32_t count);
    uint32_t (*pack)(const void *data, uint32_t first, uint64_t present, uint32_t count, void *out);
    size_t width;
} storages[VEC_STORAGE_COUNT] = {
#define STORAGE(tag, c_type)                   \
    {                                          \
        take_##tag, pack_##tag, sizeof(c_type) \
    }
    [VEC_I8] = STORAGE(i8, int8_t),     [VEC_I16] = STORAGE(i16, int16_t),
    [VEC_I32] = STORAGE(i32, int32_t),  [VEC_I64] = STORAGE(i64, int64_t),
    [VEC_U8] = STORAGE(u8, uint8_t),    [VEC_U16] = STORAGE(u16, uint16_t),
    [VEC_U32] = STORAGE(u32, uint32_t), [VEC_U64] = STORAGE(u64, uint64_t),
    [VEC_F32] = STORAGE(f32, float),    [VEC_F64] = STORAGE(f64, double),
};

/* Some are null: those of a word of bits that are not are moved together. */
static void add_some(struct column_stats *stats, enum vec_storage storage, const void *data,
                     const uint64_t *valid, uint32_t begin, uint32_t end)
{
    uint64_t packed[65];

    for (uint32_t row = begin; row < end;) {
        const uint32_t word_end = (row / 64 + 1) * 64;
        const uint32_t count = (word_end < end ? word_end : end) - row;
        const uint32_t kept =
            storages[storage].pack(data, row, valid[row / 64] >> row % 64, count, packed);
        if (kept > 0) {
            storages[storage].take(stats, packed, kept);
        }
        row += count;
    }
}

void column_stats_add(struct column_stats *stats, enum exec_type_kind kind, const void *data,
                      const uint64_t *valid, uint32_t begin, uint32_t end)
{
    const enum vec_storage storage = vec_storage(kind);
    const uint64_t present = bitmap_count(valid, begin, end - begin);

    stats->null_count += end - begin - present;
    if (present == 0 || storages[storage].take == NULL) {
        return;
    }
    if (present == end - begin) {
        const unsigned char *first = data;
        storages[storage].take(stats, first + begin * storages[storage].width, end - begin);
        return;
    }
    add_some(stats, storage, data, valid, begin, end);
}

static bool is_float(enum exec_type_kind kind)
{
    return kind == EXEC_TYPE_FLOAT32 || kind == EXEC_TYPE_FLOAT64;
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

bool column_stats_integers(const struct column_stats *stats, enum vec_storage storage,
                           int64_t *least, int64_t *most)
{
    switch (storage) {
        case VEC_I8:
        case VEC_I16:
        case VEC_I32:
        case VEC_I64:
            *least = stats->min.i64;
            *most = stats->max.i64;
            break;
        case VEC_U8:
        case VEC_U16:
        case VEC_U32:
        case VEC_U64:
            if (stats->has_bounds && stats->max.u64 > INT64_MAX) {
                return false;
            }
            *least = (int64_t)stats->min.u64;
            *most = (int64_t)stats->max.u64;
            break;
        default: return false;
    }
    if (!stats->has_bounds) {
        *least = *most = 0;
    }
    return true;
}
