#include "table/column_stats.h"

#include "vec/batch.h"

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

static void add_bounds(struct column_stats *stats, enum exec_type_kind kind, const void *data,
                       const uint64_t *valid, uint32_t begin, uint32_t end)
{
    switch (kind) {
        case EXEC_TYPE_INT8: BOUNDS_LOOP(int8_t, i64, int64_t); break;
        case EXEC_TYPE_INT16: BOUNDS_LOOP(int16_t, i64, int64_t); break;
        case EXEC_TYPE_INT32:
        case EXEC_TYPE_DATE32: BOUNDS_LOOP(int32_t, i64, int64_t); break;
        case EXEC_TYPE_INT64:
        case EXEC_TYPE_TIMESTAMP: BOUNDS_LOOP(int64_t, i64, int64_t); break;
        case EXEC_TYPE_BOOL:
        case EXEC_TYPE_UINT8: BOUNDS_LOOP(uint8_t, u64, uint64_t); break;
        case EXEC_TYPE_UINT16: BOUNDS_LOOP(uint16_t, u64, uint64_t); break;
        case EXEC_TYPE_UINT32: BOUNDS_LOOP(uint32_t, u64, uint64_t); break;
        case EXEC_TYPE_UINT64: BOUNDS_LOOP(uint64_t, u64, uint64_t); break;
        case EXEC_TYPE_FLOAT32: BOUNDS_LOOP(float, f64, double); break;
        case EXEC_TYPE_FLOAT64: BOUNDS_LOOP(double, f64, double); break;
        default: break;
    }
}

void column_stats_add(struct column_stats *stats, enum exec_type_kind kind, const void *data,
                      const uint64_t *valid, uint32_t begin, uint32_t end)
{
    for (uint32_t row = begin; row < end; row++) {
        stats->null_count += !bitmap_get(valid, row);
    }
    add_bounds(stats, kind, data, valid, begin, end);
}

static bool is_unsigned(enum exec_type_kind kind)
{
    return kind == EXEC_TYPE_BOOL || (kind >= EXEC_TYPE_UINT8 && kind <= EXEC_TYPE_UINT64);
}

static void widen(struct column_stats *into, enum exec_type_kind kind,
                  const struct column_stats *from)
{
    if (kind == EXEC_TYPE_FLOAT32 || kind == EXEC_TYPE_FLOAT64) {
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

void column_stats_merge(struct column_stats *into, enum exec_type_kind kind,
                        const struct column_stats *from)
{
    into->null_count += from->null_count;
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
