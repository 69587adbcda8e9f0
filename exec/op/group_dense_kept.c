#include "op/group_dense.h"
#include "vec/value.h"

#include <math.h>
#include <string.h>

/* Kept values: taken in by unit of output, gathered by place, and what is made of them. */

/* ---- in -----------------------------------------------------------------------------------------
 */

bool dense_keep_start(const struct group_dense *dense, struct dense_worker *worker)
{
    const size_t count = (size_t)dense->kept_count * dense_units(dense);

    worker->kept = nu_arena_calloc(&worker->arena, (count + 1) * sizeof *worker->kept, 64);
    return worker->kept != NULL;
}

#define REALS(c_type)                                        \
    do {                                                     \
        const c_type *values = (const c_type *)data + first; \
        for (uint32_t i = 0; i < count; i++) {               \
            out[i] = (double)values[i];                      \
        }                                                    \
    } while (0)

static void to_reals(const void *data, enum vec_storage storage, uint32_t first, uint32_t count,
                     double *out)
{
    switch (storage) {
        case VEC_I8: REALS(int8_t); break;
        case VEC_I16: REALS(int16_t); break;
        case VEC_I32: REALS(int32_t); break;
        case VEC_I64: REALS(int64_t); break;
        case VEC_U8: REALS(uint8_t); break;
        case VEC_U16: REALS(uint16_t); break;
        case VEC_U32: REALS(uint32_t); break;
        case VEC_U64: REALS(uint64_t); break;
        case VEC_F32: REALS(float); break;
        default: REALS(double); break;
    }
}

static struct dense_kept_chunk *room(struct dense_worker *worker, struct dense_kept_list *list)
{
    struct dense_kept_chunk *chunk = list->last;

    if (chunk != NULL && chunk->count < DENSE_KEPT_ROWS) {
        return chunk;
    }
    chunk = nu_arena_alloc(&worker->arena, sizeof *chunk, 64);
    if (chunk != NULL) {
        chunk->next = list->last;
        chunk->count = 0;
        list->last = chunk;
    }
    return chunk;
}

bool dense_keep(const struct group_dense *dense, struct dense_worker *worker, uint32_t k,
                const struct vec *vec, uint32_t first, uint32_t count, const uint32_t *slot)
{
    struct dense_kept_list *lists = worker->kept + (size_t)k * dense_units(dense);
    double values[LANES_BLOCK_ROWS];

    to_reals(vec->data, vec_storage(vec->kind), first, count, values);
    for (uint32_t i = 0; i < count; i++) {
        if (vec->valid != NULL && !bitmap_get(vec->valid, first + i)) {
            continue;
        }
        const uint32_t place = slot[i] >> dense->slot_shift;
        struct dense_kept_list *list = &lists[place >> dense->unit_shift];
        struct dense_kept_chunk *chunk = room(worker, list);
        if (chunk == NULL) {
            return false;
        }
        chunk->places[chunk->count] = place;
        chunk->values[chunk->count++] = values[i];
        list->count++;
    }
    return true;
}

/* ---- gather -------------------------------------------------------------------------------------
 */

static const struct dense_kept_list *list_of(const struct group_dense *dense, uint32_t worker,
                                             uint32_t k, uint32_t unit)
{
    static const struct dense_kept_list nothing;
    const struct dense_kept_list *kept = dense->workers[worker].kept;

    return kept == NULL ? &nothing : &kept[(size_t)k * dense_units(dense) + unit];
}

bool dense_gather_kept(const struct group *group, uint32_t k, uint32_t unit,
                       struct nu_arena *scratch, struct dense_gathered *out)
{
    const struct group_dense *dense = group->dense;
    const uint32_t place_mask = (UINT32_C(1) << dense->unit_shift) - 1;
    uint64_t next[BATCH_ROWS];
    uint64_t total = 0;

    memset(out->begin, 0, sizeof out->begin);
    for (uint32_t w = 0; w < group->job->worker_count; w++) {
        const struct dense_kept_list *list = list_of(dense, w, k, unit);
        total += list->count;
        for (const struct dense_kept_chunk *c = list->last; c != NULL; c = c->next) {
            for (uint32_t i = 0; i < c->count; i++) {
                out->begin[(c->places[i] & place_mask) + 1]++;
            }
        }
        if (job_is_stopping(group->job)) {
            return false;
        }
    }
    out->values = nu_arena_alloc(scratch, (total + 1) * sizeof *out->values, 64);
    if (out->values == NULL) {
        return false;
    }
    for (uint32_t p = 0; p < BATCH_ROWS; p++) {
        out->begin[p + 1] += out->begin[p];
        next[p] = out->begin[p];
    }
    for (uint32_t w = 0; w < group->job->worker_count; w++) {
        const struct dense_kept_list *list = list_of(dense, w, k, unit);
        for (const struct dense_kept_chunk *c = list->last; c != NULL; c = c->next) {
            for (uint32_t i = 0; i < c->count; i++) {
                out->values[next[c->places[i] & place_mask]++] = c->values[i];
            }
        }
        if (job_is_stopping(group->job)) {
            return false;
        }
    }
    return true;
}

/* ---- quantiles ----------------------------------------------------------------------------------
 */

enum { SELECT_SMALL = 24 };

static void sort_few(double *values, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        const double value = values[i];
        uint64_t at = i;
        for (; at > 0 && values[at - 1] > value; at--) {
            values[at] = values[at - 1];
        }
        values[at] = value;
    }
}

static double median_of_3(double a, double b, double c)
{
    const double low = a < b ? a : b;
    const double high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Ninther: of three medians of three. */
static double pivot_of(const double *values, uint64_t count)
{
    const uint64_t step = count / 9;
    const double *v = values;
    return median_of_3(median_of_3(v[0], v[step], v[2 * step]),
                       median_of_3(v[3 * step], v[4 * step], v[5 * step]),
                       median_of_3(v[6 * step], v[7 * step], v[8 * step]));
}

/* Moves values that are below the pivot (or equal, with `equal`) to the front, without branches;
 * returns how many. */
static uint64_t split_below(double *values, uint64_t count, double pivot, bool equal)
{
    uint64_t below = 0;

    for (uint64_t i = 0; i < count; i++) {
        const double value = values[i];
        const bool goes = equal ? value <= pivot : value < pivot;
        values[i] = values[below];
        values[below] = value;
        below += goes;
    }
    return below;
}

/* Afterwards nothing before values[at] is greater and nothing behind it is smaller (Hoare's
 * quickselect). A pivot that is the smallest value takes its equals out of the way, so every step
 * leaves fewer. */
static void select_at(double *values, uint64_t count, uint64_t at)
{
    while (count > SELECT_SMALL) {
        const double pivot = pivot_of(values, count);
        uint64_t below = split_below(values, count, pivot, false);
        if (below == 0) {
            below = split_below(values, count, pivot, true);
            if (at < below) {
                return;
            }
        }
        if (at < below) {
            count = below;
        } else {
            values += below;
            count -= below;
            at -= below;
        }
    }
    sort_few(values, count);
}

double dense_quantile(double *values, uint64_t count, double fraction)
{
    const double at = fraction * (double)(count - 1);
    const double below = floor(at);
    const uint64_t low_at = (uint64_t)below;

    select_at(values, count, low_at);
    const double low = values[low_at];
    double high = low;
    if ((uint64_t)ceil(at) > low_at) {
        high = values[low_at + 1];
        for (uint64_t i = low_at + 2; i < count; i++) {
            high = values[i] < high ? values[i] : high;
        }
    }
    return value_float64_canonical(low == high ? low : low + (high - low) * (at - below));
}

/* ---- moments ------------------------------------------------------------------------------------
 */

static int64_t bits_of(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* A value is high * 2^h + low * 2^l (kernel/lanes.h), so its square is three products of integers
 * of fewer than 48 bits each: sums of them fit 128 bits. */
void dense_moments(const struct dense_input *input, const double *values, uint64_t count,
                   struct agg_moments *out)
{
    const int32_t h = input->high_exponent;
    const int32_t l = input->low_exponent;
    const int64_t high_zero = bits_of(input->unit);
    const int64_t low_zero = bits_of(input->low_unit);
    __int128 high_sum = 0, low_sum = 0;
    __int128 high_squares = 0, products = 0, low_squares = 0;

    for (uint64_t i = 0; i < count; i++) {
        const double moved = values[i] + input->unit;
        const double rest = values[i] - (moved - input->unit);
        const int64_t high = bits_of(moved) - high_zero;
        const int64_t low = bits_of(rest + input->low_unit) - low_zero;
        high_sum += high;
        low_sum += low;
        high_squares += (__int128)high * high;
        products += (__int128)high * low;
        low_squares += (__int128)low * low;
    }
    *out = (struct agg_moments){.sum = {.count = count}};
    float_sum_open(&out->sum, l);
    float_sum_place(&out->sum, high_sum, h);
    float_sum_place(&out->sum, low_sum, l);
    product_sum_open(&out->squares, 2 * l);
    product_sum_place(&out->squares, high_squares, 2 * h);
    product_sum_place(&out->squares, products, h + l + 1);
    product_sum_place(&out->squares, low_squares, 2 * l);
}
