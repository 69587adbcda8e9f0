#include "sort/sort_state.h"

#include "hash/hash_vec.h"
#include "vec/each_name.h"
#include "vec/string_view.h"
#include "vec/vec.h"

#include <string.h>

/* ---- prefixes
 * ------------------------------------------------------------------------------------------ */

/* sort_bits: the value's bits at the top of 128, in unsigned order; sort_width: how many there are.
 */
#define VEC_INTEGER(TAG, tag, c_type)                                                          \
    enum { sort_width_##tag = 8 * (int)sizeof(c_type) };                                       \
    static inline vec_decimal_bits sort_bits_##tag(c_type value)                               \
    {                                                                                          \
        const vec_decimal_bits sign = (c_type)-1 < (c_type)1 ? (vec_decimal_bits)1 << 127 : 0; \
        return ((vec_decimal_bits)value << (128 - sort_width_##tag)) ^ sign;                   \
    }
#include "vec/vec_types.def"

enum { sort_width_f32 = 32, sort_width_f64 = 64, sort_width_view = 128 };

/* Negative floats: all bits flip, so that larger magnitudes come first; others: the sign bit is
 * set. */
static inline vec_decimal_bits sort_bits_f64(double value)
{
    const uint64_t bits = value_float64_bits(value);
    const uint64_t flip = (uint64_t) - (int64_t)(bits >> 63) | (UINT64_C(1) << 63);
    return (vec_decimal_bits)(bits ^ flip) << 64;
}

static inline vec_decimal_bits sort_bits_f32(float value)
{
    const uint32_t bits = value_float32_bits(value);
    const uint32_t flip = (uint32_t) - (int32_t)(bits >> 31) | (UINT32_C(1) << 31);
    return (vec_decimal_bits)(bits ^ flip) << 96;
}

/* The first 16 bytes, zeros behind a shorter string: "a" and "a\0" tie. */
static inline vec_decimal_bits sort_bits_view(struct string_view view)
{
    unsigned char bytes[16] = {0};
    uint64_t words[2];

    memcpy(bytes, string_view_bytes(&view), view.size < sizeof bytes ? view.size : sizeof bytes);
    memcpy(words, bytes, sizeof words);
    return (vec_decimal_bits)__builtin_bswap64(words[0]) << 64 | __builtin_bswap64(words[1]);
}

#define K_TEMPLATE "sort/sort_prefix.tmpl.h"
#include "vec/each_type.h"
#undef K_TEMPLATE

static const struct {
    void (*append)(const struct sort_order *order, const struct vec *key, const struct batch *in,
                   uint32_t used, struct sort_entry *entries);
    uint32_t bits;
} storages[VEC_STORAGE_COUNT] = {
#define VEC_INTEGER(TAG, tag, c_type) [VEC_##TAG] = {append_##tag, 1 + (uint32_t)sort_width_##tag},
#define VEC_FLOAT(TAG, tag, c_type) [VEC_##TAG] = {append_##tag, 1 + (uint32_t)sort_width_##tag},
#define VEC_VIEW(TAG, tag, c_type) [VEC_##TAG] = {append_##tag, 1 + (uint32_t)sort_width_##tag},
#include "vec/vec_types.def"
};

/* ---- layout
 * ---------------------------------------------------------------------------------------------- */

static bool is_descending(enum exec_direction direction)
{
    return direction == EXEC_DESC_NULLS_LAST || direction == EXEC_DESC_NULLS_FIRST;
}

static bool puts_nulls_first(enum exec_direction direction)
{
    return direction == EXEC_ASC_NULLS_FIRST || direction == EXEC_DESC_NULLS_FIRST;
}

/* Bits of the prefix that the hash of the hashed keys takes. */
static uint32_t prefix_start(const struct sort_rows *rows)
{
    return rows->hashed_count == 0 ? 0 : 64;
}

bool sort_rows_init(struct sort_rows *rows, struct nu_arena *arena, const struct sort_plan *plan)
{
    const size_t columns_max = (size_t)plan->column_count + plan->key_count + 1;
    struct exec_type *types = nu_arena_alloc(arena, columns_max * sizeof *types, 8);
    uint32_t bits = 0;

    *rows = (struct sort_rows){.column_count = plan->column_count,
                               .keys = plan->keys,
                               .key_count = plan->key_count,
                               .hashed_count = plan->hashed_key_count,
                               .hash_bits_kept = plan->hash_bits_kept,
                               .ties_in_prefix = !plan->prefix_is_keys};
    rows->orders = nu_arena_alloc(arena, (plan->key_count + 1) * sizeof *rows->orders, 8);
    if (types == NULL || rows->orders == NULL) {
        return false;
    }
    if (plan->column_count != 0) {
        memcpy(types, plan->types, plan->column_count * sizeof *types);
    }
    for (uint32_t k = 0; k < plan->key_count; k++) {
        struct sort_order *order = &rows->orders[k];
        const struct exec_type *type = expr_type(plan->keys[k].expr);
        *order = (struct sort_order){.descending = is_descending(plan->keys[k].direction),
                                     .nulls_first = puts_nulls_first(plan->keys[k].direction)};
        if (!expr_is_column(plan->keys[k].expr, &order->column)) {
            order->column = plan->column_count + rows->extra_count;
            types[order->column] = *type;
            rows->extra_count++;
        }
        bits += k < rows->hashed_count ? 0 : storages[vec_storage(type->kind)].bits;
    }
    /* A string alone has more bits than there are. */
    rows->tied_key_count = bits <= 128 - prefix_start(rows) ? rows->hashed_count : rows->key_count;
    return row_layout_init(&rows->layout, arena, types, plan->column_count + rows->extra_count, 16);
}

/* ---- batches to rows
 * ----------------------------------------------------------------------------------------- */

static bool is_key_column(const struct sort_rows *rows, uint32_t column)
{
    for (uint32_t k = 0; k < rows->key_count; k++) {
        if (rows->orders[k].column == column) {
            return true;
        }
    }
    return false;
}

/* Room behind the keys goes to the columns that break their ties, in their order: with few distinct
 * keys that saves most comparisons of whole rows. Key columns are equal by then. */
static void append_ties(const struct sort_rows *rows, const struct batch *in, uint32_t used,
                        struct sort_entry *entries)
{
    static const struct sort_order ascending = {.nulls_first = false};

    for (uint32_t c = 0; c < rows->column_count && used < 128; c++) {
        const struct vec *column = &in->columns[c];
        if (!is_key_column(rows, c)) {
            storages[vec_storage(column->kind)].append(&ascending, column, in, used, entries);
            used += storages[vec_storage(column->kind)].bits;
        }
    }
}

static void hash_prefixes(const struct sort_rows *rows, const struct batch *in,
                          const struct vec *keys, struct sort_entry *entries)
{
    uint64_t hashes[BATCH_ROWS];

    hash_keys(in, keys, rows->hashed_count, rows->hash_bits_kept, hashes);
    for (uint32_t p = 0; p < in->sel_count; p++) {
        entries[p].high = hashes[p];
    }
}

enum exec_code sort_rows_keys(const struct sort_rows *rows, const struct batch *in,
                              struct nu_arena *scratch, struct vec **extras_out,
                              struct sort_entry **entries_out, struct exec_error *err)
{
    struct vec *extras = nu_arena_alloc(scratch, (rows->extra_count + 1) * sizeof *extras, 8);
    struct vec *keys = nu_arena_alloc(scratch, (rows->key_count + 1) * sizeof *keys, 8);
    struct sort_entry *entries =
        nu_arena_calloc(scratch, (in->sel_count + 1) * sizeof *entries, 16);
    uint32_t used = prefix_start(rows);

    if (extras == NULL || keys == NULL || entries == NULL) {
        return job_memory_error(err, scratch->refused, "the keys of a sort");
    }
    for (uint32_t k = 0; k < rows->key_count; k++) {
        const struct sort_order *order = &rows->orders[k];
        const enum exec_code code = expr_eval(rows->keys[k].expr, in, scratch, &keys[k], err);
        if (code != EXEC_OK) {
            return code;
        }
        if (order->column >= rows->column_count) {
            extras[order->column - rows->column_count] = keys[k];
        }
        if (k >= rows->hashed_count && used < 128) {
            storages[vec_storage(keys[k].kind)].append(order, &keys[k], in, used, entries);
            used += storages[vec_storage(keys[k].kind)].bits;
        }
    }
    if (rows->ties_in_prefix) {
        append_ties(rows, in, used, entries);
    }
    if (rows->hashed_count != 0) {
        hash_prefixes(rows, in, keys, entries);
    }
    *extras_out = extras;
    *entries_out = entries;
    return EXEC_OK;
}

bool sort_rows_write(const struct sort_rows *rows, const struct batch *in, const struct vec *extras,
                     const struct sort_entry *entries, const uint16_t *positions, uint32_t count,
                     unsigned char *const *rows_out, struct nu_arena *strings)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct sort_entry *entry = &entries[positions == NULL ? i : positions[i]];
        memcpy(rows_out[i], &entry->high, sizeof entry->high);
        memcpy(rows_out[i] + 8, &entry->low, sizeof entry->low);
    }
    return row_scatter(&rows->layout, 0, rows->column_count, in, in->columns, positions, count,
                       rows_out, false, strings) &&
           row_scatter(&rows->layout, rows->column_count, rows->extra_count, in, extras, positions,
                       count, rows_out, false, strings);
}

bool sort_rows_own_strings(const struct sort_rows *rows, unsigned char *row,
                           struct nu_arena *strings, uint64_t *bytes)
{
    const struct row_layout *layout = &rows->layout;

    for (uint32_t c = 0; layout->has_strings && c < layout->column_count; c++) {
        const struct row_column *column = &layout->columns[c];
        struct string_view view;
        char *copy;
        if (column->kind != EXEC_TYPE_UTF8 && column->kind != EXEC_TYPE_BINARY) {
            continue;
        }
        memcpy(&view, row + column->offset, sizeof view);
        if (view.size <= STRING_INLINE_BYTES) {
            continue;
        }
        copy = nu_arena_alloc(strings, view.size, 1);
        if (copy == NULL) {
            return false;
        }
        memcpy(copy, string_view_bytes(&view), view.size);
        view = string_view_make(copy, view.size);
        memcpy(row + column->offset, &view, sizeof view);
        *bytes += view.size;
    }
    return true;
}

/* ---- order
 * ----------------------------------------------------------------------------------------------------
 */

static int compare_key(const struct sort_rows *rows, const struct sort_order *order,
                       const unsigned char *a, const unsigned char *b)
{
    const struct row_column *column = &rows->layout.columns[order->column];
    const bool a_present = row_is_valid(column, a);
    const bool b_present = row_is_valid(column, b);
    int result;

    if (a_present != b_present) {
        return a_present == order->nulls_first ? 1 : -1;
    }
    result = row_compare(&rows->layout, order->column, a, b);
    return order->descending ? -result : result;
}

/* Bytes that compare as equal and are not: 0.0 and -0.0, NaNs. */
static int compare_float_bytes(const struct row_column *column, const unsigned char *a,
                               const unsigned char *b)
{
    if (column->kind != EXEC_TYPE_FLOAT32 && column->kind != EXEC_TYPE_FLOAT64) {
        return 0;
    }
    return memcmp(a + column->offset, b + column->offset, column->width);
}

int sort_rows_compare_keys(const struct sort_rows *rows, uint32_t first, uint32_t end,
                           const unsigned char *a, const unsigned char *b)
{
    for (uint32_t k = first; k < end; k++) {
        const int result = compare_key(rows, &rows->orders[k], a, b);
        if (result != 0) {
            return result;
        }
    }
    return 0;
}

int sort_rows_compare_tied(const struct sort_rows *rows, const unsigned char *a,
                           const unsigned char *b)
{
    const int keys = sort_rows_compare_keys(rows, 0, rows->tied_key_count, a, b);

    if (keys != 0) {
        return keys;
    }
    for (uint32_t c = 0; c < rows->column_count; c++) {
        const int result = row_compare(&rows->layout, c, a, b);
        if (result != 0) {
            return result;
        }
    }
    for (uint32_t c = 0; c < rows->column_count; c++) {
        const int result = compare_float_bytes(&rows->layout.columns[c], a, b);
        if (result != 0) {
            return result;
        }
    }
    return 0;
}
