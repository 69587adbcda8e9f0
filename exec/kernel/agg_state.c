#include "kernel/agg_state.h"

#include "kernel/agg_moments.h"
#include "kernel/agg_sketch.h"
#include "vec/utf8.h"

#include <endian.h>
#include <string.h>

/* ---- kinds --------------------------------------------------------------------------------------
 */

/* Which kind the states of agg.def are. */
enum {
    KIND_agg_sum64 = AGG_STATE_SUM64,
    KIND_agg_sum128 = AGG_STATE_SUM128,
    KIND_float_sum = AGG_STATE_FLOAT_SUM,
    KIND_agg_moments = AGG_STATE_MOMENTS,
    KIND_agg_covariance = AGG_STATE_COVARIANCE,
    KIND_agg_correlation = AGG_STATE_CORRELATION,
    KIND_agg_hll = AGG_STATE_HLL,
    KIND_agg_sketch = AGG_STATE_SKETCH,
    KIND_agg_text = AGG_STATE_TEXT,
#define VEC_INTEGER(TAG, tag, c_type) \
    KIND_agg_##tag = AGG_STATE_VALUE, KIND_agg_bits_##tag = AGG_STATE_VALUE,
#define VEC_FLOAT(TAG, tag, c_type) KIND_agg_##tag = AGG_STATE_VALUE,
#define VEC_VIEW(TAG, tag, c_type)
#include "vec/vec_types.def"
};

enum agg_state_kind agg_state_kind(enum exec_aggregate_function function, enum vec_storage storage)
{
    static const uint8_t kinds[EXEC_AGG_FUNCTION_COUNT][VEC_STORAGE_COUNT] = {
#define AGG(FUNCTION, STORAGE, state, update, combine, finish) \
    [EXEC_AGG_##FUNCTION][VEC_##STORAGE] = KIND_##state,
#include "kernel/agg.def"
    };

    if (function == EXEC_AGG_COUNT_STAR || function == EXEC_AGG_COUNT) {
        return AGG_STATE_COUNT;
    }
    return (enum agg_state_kind)kinds[function][storage];
}

/* ---- bytes --------------------------------------------------------------------------------------
 */

void state_write(struct state_writer *writer, const void *from, size_t bytes)
{
    if (writer->bytes != NULL && bytes != 0) {
        memcpy(writer->bytes + writer->size, from, bytes);
    }
    writer->size += bytes;
}

void state_write_u64(struct state_writer *writer, uint64_t value)
{
    const uint64_t little = htole64(value);
    state_write(writer, &little, sizeof little);
}

void state_write_u32(struct state_writer *writer, uint32_t value)
{
    const uint32_t little = htole32(value);
    state_write(writer, &little, sizeof little);
}

void state_write_u16(struct state_writer *writer, uint16_t value)
{
    const uint16_t little = htole16(value);
    state_write(writer, &little, sizeof little);
}

void state_write_u8(struct state_writer *writer, uint8_t value)
{
    state_write(writer, &value, sizeof value);
}

bool state_read(struct state_reader *reader, void *to, size_t bytes)
{
    if (reader->left < bytes) {
        return false;
    }
    if (bytes != 0) {
        memcpy(to, reader->bytes, bytes);
    }
    reader->bytes += bytes;
    reader->left -= bytes;
    return true;
}

bool state_read_u64(struct state_reader *reader, uint64_t *out)
{
    const bool ok = state_read(reader, out, sizeof *out);
    *out = ok ? le64toh(*out) : 0;
    return ok;
}

bool state_read_u32(struct state_reader *reader, uint32_t *out)
{
    const bool ok = state_read(reader, out, sizeof *out);
    *out = ok ? le32toh(*out) : 0;
    return ok;
}

bool state_read_u16(struct state_reader *reader, uint16_t *out)
{
    const bool ok = state_read(reader, out, sizeof *out);
    *out = ok ? le16toh(*out) : 0;
    return ok;
}

bool state_read_u8(struct state_reader *reader, uint8_t *out)
{
    const bool ok = state_read(reader, out, sizeof *out);
    *out = ok ? *out : 0;
    return ok;
}

bool state_value_check(const struct exec_type *type, void *value)
{
    switch (vec_storage(type->kind)) {
        case VEC_F32: {
            float *real = value;
            *real = value_float32_canonical(*real);
            return true;
        }
        case VEC_F64: {
            double *real = value;
            *real = value_float64_canonical(*real);
            return true;
        }
        case VEC_DECIMAL: {
            vec_decimal limit = 1;
            for (int32_t d = 0; d < type->precision; d++) {
                limit *= 10;
            }
            return *(vec_decimal *)value<limit &&*(vec_decimal *)value> - limit;
        }
        default: return type->kind != EXEC_TYPE_BOOL || *(uint8_t *)value <= 1;
    }
}

const char *state_text_check(const struct exec_type *type, const unsigned char *bytes,
                             uint64_t size)
{
    if (size > INT32_MAX) {
        return "a text is too long";
    }
    return type->kind == EXEC_TYPE_UTF8 && !utf8_is_valid((const char *)bytes, size)
               ? "a text is not UTF-8"
               : NULL;
}

/* ---- writing ------------------------------------------------------------------------------------
 */

static void write_bins(struct state_writer *out, const int64_t *low, const int32_t *high,
                       int32_t count)
{
    for (int32_t bin = 0; bin < count; bin++) {
        state_write_u64(out, (uint64_t)low[bin]);
        state_write_u32(out, (uint32_t)high[bin]);
    }
}

static void write_sum(struct state_writer *out, const struct float_sum *sum)
{
    state_write_u64(out, sum->count);
    state_write_u16(out, sum->flags);
    state_write_u16(out, (uint16_t)sum->bins);
    write_bins(out, sum->low, sum->high, FLOAT_SUM_BINS);
}

static void write_products(struct state_writer *out, const struct product_sum *sum)
{
    state_write_u16(out, (uint16_t)sum->bins);
    write_bins(out, sum->low, sum->high, PRODUCT_SUM_BINS);
}

static void write_correlation(struct state_writer *out, const struct agg_correlation *state)
{
    write_sum(out, &state->x);
    write_sum(out, &state->y);
    write_products(out, &state->xx);
    write_products(out, &state->yy);
    write_products(out, &state->xy);
}

static void write_sum128(struct state_writer *out, const struct agg_sum128 *state)
{
    state_write_u64(out, (uint64_t)state->count);
    state_write_u64(out, (uint64_t)state->sum);
    state_write_u64(out, (uint64_t)(state->sum >> 64));
    state_write_u64(out, (uint64_t)state->high);
}

/* Behind the value a byte says whether there is one (agg_extreme.tmpl.h, agg_bits.tmpl.h). */
static void write_value(struct state_writer *out, const struct exec_type *type, const void *state)
{
    const size_t width = exec_type_width(type->kind);
    _Alignas(16) unsigned char value[16];

    if (((const unsigned char *)state)[width] == 0) {
        return;
    }
    memcpy(value, state, width);
    state_value_check(type, value); /* one NaN, one zero */
    state_write(out, value, width);
}

static void write_text(struct state_writer *out, const struct agg_text *state)
{
    state_write_u8(out, state->seen);
    if (state->seen) {
        state_write(out, string_view_bytes(&state->view), state->view.size);
    }
}

static void write_hll(struct state_writer *out, const struct agg_hll *state)
{
    uint64_t sorted[HLL_SPARSE_MAX];
    uint32_t count = 0;

    state_write_u8(out, state->registers != NULL);
    if (state->registers != NULL) {
        state_write(out, state->registers, HLL_REGISTERS);
        return;
    }
    if (out->bytes == NULL) {
        out->size += state->count * sizeof *sorted;
        return;
    }
    for (uint64_t s = 0; state->hashes != NULL && s < UINT64_C(1) << state->slot_bits; s++) {
        const uint64_t hash = state->hashes[s];
        uint32_t at = count;
        if (hash == 0) {
            continue;
        }
        for (; at > 0 && sorted[at - 1] > hash; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = hash;
        count++;
    }
    for (uint32_t i = 0; i < count; i++) {
        state_write_u64(out, sorted[i]);
    }
}

static void write_sketch(struct state_writer *out, const struct agg_sketch *state)
{
    for (uint32_t b = 0; b < state->count; b++) {
        state_write_u64(out, state->buckets[b].key);
        state_write_u64(out, state->buckets[b].count);
    }
}

void agg_state_write(enum agg_state_kind kind, const struct exec_type *type, const void *state,
                     struct state_writer *out)
{
    switch (kind) {
        case AGG_STATE_NONE: break;
        case AGG_STATE_COUNT:
            state_write_u64(out, (uint64_t)((const struct agg_count *)state)->count);
            break;
        case AGG_STATE_SUM64:
            state_write_u64(out, (uint64_t)((const struct agg_sum64 *)state)->count);
            state_write_u64(out, (uint64_t)((const struct agg_sum64 *)state)->sum);
            break;
        case AGG_STATE_SUM128: write_sum128(out, state); break;
        case AGG_STATE_FLOAT_SUM: write_sum(out, state); break;
        case AGG_STATE_MOMENTS:
            write_sum(out, &((const struct agg_moments *)state)->sum);
            write_products(out, &((const struct agg_moments *)state)->squares);
            break;
        case AGG_STATE_COVARIANCE:
            write_sum(out, &((const struct agg_covariance *)state)->x);
            write_sum(out, &((const struct agg_covariance *)state)->y);
            write_products(out, &((const struct agg_covariance *)state)->xy);
            break;
        case AGG_STATE_CORRELATION: write_correlation(out, state); break;
        case AGG_STATE_VALUE: write_value(out, type, state); break;
        case AGG_STATE_TEXT: write_text(out, state); break;
        case AGG_STATE_HLL: write_hll(out, state); break;
        case AGG_STATE_SKETCH: write_sketch(out, state); break;
    }
}

/* ---- reading ------------------------------------------------------------------------------------
 */

static const char too_short[] = "it is too short";
static const char bad_count[] = "a count is above 2^40";
static const char bad_bins[] = "the bins of a sum are not possible";

enum {
    /* Behind the last bin a double, or a product of two, can reach. */
    FLOAT_BINS_END = (2045 + 52) / FLOAT_SUM_BIN_BITS + 2,
    PRODUCT_BINS_END = (2 * 2045 + 105) / FLOAT_SUM_BIN_BITS + 2,
    SKETCH_KEYS = 1 << 19,
    HLL_RANK_MAX = 64 - HLL_INDEX_BITS + 1,
    PIECE = 256,
};

static bool count_is_possible(uint64_t count)
{
    return count <= UINT64_C(1) << AGG_STATE_COUNT_MAX_BITS;
}

/* `count` additions of pieces below 2^32 made each bin; bins that no double reaches are empty. */
static const char *read_bins(struct state_reader *in, uint64_t count, int32_t bins, int32_t end,
                             int32_t bin_count, int64_t *low, int32_t *high)
{
    const __int128 most = (__int128)count * ((__int128)1 << 32);

    for (int32_t bin = 0; bin < bin_count; bin++) {
        uint64_t low_bits;
        uint32_t high_bits;
        if (!state_read_u64(in, &low_bits) || !state_read_u32(in, &high_bits)) {
            return too_short;
        }
        low[bin] = (int64_t)low_bits;
        high[bin] = (int32_t)high_bits;
        const __int128 value = (__int128)high[bin] * ((__int128)1 << 64) + low[bin];
        const bool below = bin + bins < bin_count; /* the number line's end */
        if (value > most || value < -most || (below && value != 0)) {
            return bad_bins;
        }
    }
    return bins >= end ? bad_bins : NULL;
}

static const char *read_sum(struct state_reader *in, struct float_sum *sum)
{
    uint16_t bins;

    if (!state_read_u64(in, &sum->count) || !state_read_u16(in, &sum->flags) ||
        !state_read_u16(in, &bins)) {
        return too_short;
    }
    if (!count_is_possible(sum->count)) {
        return bad_count;
    }
    if (sum->flags > (FLOAT_SUM_NAN | FLOAT_SUM_PLUS | FLOAT_SUM_MINUS) ||
        (sum->count == 0 && (sum->flags != 0 || bins != 0))) {
        return "the flags of a sum are not possible";
    }
    sum->bins = (int16_t)bins;
    return bins >= FLOAT_BINS_END ? bad_bins
                                  : read_bins(in, sum->count, bins, FLOAT_BINS_END, FLOAT_SUM_BINS,
                                              sum->low, sum->high);
}

static const char *read_products(struct state_reader *in, uint64_t count, struct product_sum *sum)
{
    uint16_t bins;

    if (!state_read_u16(in, &bins)) {
        return too_short;
    }
    if (bins >= PRODUCT_BINS_END) {
        return bad_bins;
    }
    sum->bins = bins;
    return read_bins(in, count, bins, PRODUCT_BINS_END, PRODUCT_SUM_BINS, sum->low, sum->high);
}

static const char *read_sum64(struct state_reader *in, struct agg_sum64 *state)
{
    uint64_t count;
    uint64_t sum;

    if (!state_read_u64(in, &count) || !state_read_u64(in, &sum)) {
        return too_short;
    }
    state->count = (int64_t)count;
    state->sum = (int64_t)sum;
    if (!count_is_possible(count)) {
        return bad_count;
    }
    const __int128 most = (__int128)count * ((__int128)1 << 32);
    return state->sum > most || state->sum < -most ? "the sum is above its count" : NULL;
}

static const char *read_sum128(struct state_reader *in, struct agg_sum128 *state)
{
    uint64_t count;
    uint64_t low;
    uint64_t middle;
    uint64_t high;

    if (!state_read_u64(in, &count) || !state_read_u64(in, &low) || !state_read_u64(in, &middle) ||
        !state_read_u64(in, &high)) {
        return too_short;
    }
    if (!count_is_possible(count)) {
        return bad_count;
    }
    state->count = (int64_t)count;
    state->sum = (__int128)((unsigned __int128)middle << 64 | low);
    state->high = (int64_t)high;
    const int64_t most = (int64_t)count;
    return state->high > most || state->high < -most || (count == 0 && state->sum != 0)
               ? "the sum is above its count"
               : NULL;
}

static const char *read_value(struct state_reader *in, const struct exec_type *type, void *state)
{
    const size_t width = exec_type_width(type->kind);

    if (in->left == 0) {
        return NULL;
    }
    ((unsigned char *)state)[width] = 1;
    if (!state_read(in, state, width)) {
        return too_short;
    }
    return state_value_check(type, state) ? NULL : "the value is none of its type";
}

static const char *read_text(struct state_reader *in, const struct exec_type *type,
                             struct agg_text *state)
{
    uint8_t seen;

    if (!state_read_u8(in, &seen)) {
        return too_short;
    }
    if (seen > 1 || (seen == 0 && in->left != 0)) {
        return "it does not say whether there is a text";
    }
    const char *why = state_text_check(type, in->bytes, in->left);
    if (why != NULL) {
        return why;
    }
    state->seen = seen != 0;
    state->view = string_view_make((const char *)in->bytes, (uint32_t)in->left);
    in->bytes += in->left;
    in->left = 0;
    return NULL;
}

static const char *read_correlation(struct state_reader *in, struct agg_correlation *state)
{
    const char *why = read_sum(in, &state->x);

    why = why == NULL ? read_sum(in, &state->y) : why;
    why = why == NULL ? read_products(in, state->x.count, &state->xx) : why;
    why = why == NULL ? read_products(in, state->x.count, &state->yy) : why;
    why = why == NULL ? read_products(in, state->x.count, &state->xy) : why;
    return why != NULL || state->x.count == state->y.count ? why : "two counts differ";
}

/* States that are plain data. */
union plain_state {
    struct agg_count count;
    struct agg_sum64 sum64;
    struct agg_sum128 sum128;
    struct float_sum float_sum;
    struct agg_moments moments;
    struct agg_covariance covariance;
    struct agg_correlation correlation;
    struct agg_text text;
    unsigned char value[32];
};

static const char *read_plain(enum agg_state_kind kind, const struct exec_type *type,
                              struct state_reader *in, union plain_state *state)
{
    const char *why = NULL;
    uint64_t count;

    switch (kind) {
        case AGG_STATE_COUNT:
            if (!state_read_u64(in, &count)) {
                return too_short;
            }
            state->count.count = (int64_t)count;
            return count_is_possible(count) ? NULL : bad_count;
        case AGG_STATE_SUM64: return read_sum64(in, &state->sum64);
        case AGG_STATE_SUM128: return read_sum128(in, &state->sum128);
        case AGG_STATE_FLOAT_SUM: return read_sum(in, &state->float_sum);
        case AGG_STATE_MOMENTS:
            why = read_sum(in, &state->moments.sum);
            return why != NULL
                       ? why
                       : read_products(in, state->moments.sum.count, &state->moments.squares);
        case AGG_STATE_COVARIANCE:
            why = read_sum(in, &state->covariance.x);
            why = why == NULL ? read_sum(in, &state->covariance.y) : why;
            why = why == NULL ? read_products(in, state->covariance.x.count, &state->covariance.xy)
                              : why;
            return why != NULL || state->covariance.x.count == state->covariance.y.count
                       ? why
                       : "two counts differ";
        case AGG_STATE_CORRELATION: return read_correlation(in, &state->correlation);
        case AGG_STATE_TEXT: return read_text(in, type, &state->text);
        default: return read_value(in, type, state->value);
    }
}

/* Combining looks at every slot, so that an array of hashes with empty ones behind them is a table.
 */
static enum agg_state_result take_hll(const struct agg_kernel *kernel, struct state_reader *in,
                                      unsigned char *into, struct nu_arena *strings,
                                      const char **why_out)
{
    uint64_t hashes[HLL_SPARSE_MAX] = {0};
    uint8_t registers[HLL_REGISTERS];
    struct agg_hll state = {.hashes = hashes};
    unsigned char *from = (unsigned char *)&state;
    uint8_t is_dense;

    *why_out = "its hashes or registers are not possible";
    if (!state_read_u8(in, &is_dense) || is_dense > 1) {
        return AGG_STATE_BAD;
    }
    if (is_dense != 0) {
        if (in->left != HLL_REGISTERS || !state_read(in, registers, HLL_REGISTERS)) {
            return AGG_STATE_BAD;
        }
        for (uint32_t r = 0; r < HLL_REGISTERS; r++) {
            if (registers[r] > HLL_RANK_MAX) {
                return AGG_STATE_BAD;
            }
        }
        state = (struct agg_hll){.registers = registers};
        return kernel->combine(&into, &from, 1, 0, strings) ? AGG_STATE_TAKEN : AGG_STATE_NO_MEMORY;
    }
    if (in->left % sizeof *hashes != 0 || in->left > sizeof hashes) {
        return AGG_STATE_BAD;
    }
    while (in->left != 0) {
        if (!state_read_u64(in, &hashes[state.count]) ||
            hashes[state.count] <= (state.count == 0 ? 0 : hashes[state.count - 1])) {
            return AGG_STATE_BAD;
        }
        state.count++;
    }
    while (UINT32_C(1) << state.slot_bits < state.count) {
        state.slot_bits++;
    }
    return kernel->combine(&into, &from, 1, 0, strings) ? AGG_STATE_TAKEN : AGG_STATE_NO_MEMORY;
}

static bool sketch_is_possible(struct state_reader in)
{
    uint64_t before = 0;
    uint64_t key;
    uint64_t count;

    for (bool first = true; in.left != 0; first = false) {
        if (!state_read_u64(&in, &key) || !state_read_u64(&in, &count) || key >= SKETCH_KEYS ||
            (!first && key <= before) || count == 0 || !count_is_possible(count)) {
            return false;
        }
        before = key;
    }
    return true;
}

static enum agg_state_result take_sketch(const struct agg_kernel *kernel, struct state_reader *in,
                                         unsigned char *into, struct nu_arena *strings,
                                         const char **why_out)
{
    struct sketch_bucket buckets[PIECE];
    struct agg_sketch state = {.buckets = buckets};
    unsigned char *from = (unsigned char *)&state;

    if (!sketch_is_possible(*in)) {
        *why_out = "its buckets are not possible";
        return AGG_STATE_BAD;
    }
    while (in->left != 0) {
        for (state.count = 0; state.count < PIECE && in->left != 0; state.count++) {
            state_read_u64(in, &buckets[state.count].key);
            state_read_u64(in, &buckets[state.count].count);
        }
        if (!kernel->combine(&into, &from, 1, 0, strings)) {
            return AGG_STATE_NO_MEMORY;
        }
    }
    return AGG_STATE_TAKEN;
}

enum agg_state_result agg_state_take(enum agg_state_kind kind, const struct exec_type *type,
                                     const struct agg_kernel *kernel, struct state_reader *reader,
                                     unsigned char *into, struct nu_arena *strings,
                                     const char **why_out)
{
    _Alignas(16) union plain_state state;
    unsigned char *from = (unsigned char *)&state;

    if (kind == AGG_STATE_HLL) {
        return take_hll(kernel, reader, into, strings, why_out);
    }
    if (kind == AGG_STATE_SKETCH) {
        return take_sketch(kernel, reader, into, strings, why_out);
    }
    memset(&state, 0, sizeof state);
    *why_out = read_plain(kind, type, reader, &state);
    if (*why_out == NULL && reader->left != 0) {
        *why_out = "it is too long";
    }
    if (*why_out != NULL) {
        return AGG_STATE_BAD;
    }
    return kernel->combine(&into, &from, 1, 0, strings) ? AGG_STATE_TAKEN : AGG_STATE_NO_MEMORY;
}
