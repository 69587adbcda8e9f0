#include "hash/row_layout.h"

#include "vec/value.h"

#include <assert.h>
#include <string.h>

/* Fixed-width values are moved by width (a float or a decimal is bytes here) unless a type says
 * otherwise: canonical floats, strings. Rows may be aligned to 8 only, so 16-byte values are read
 * and written as bytes. */

struct bytes16 {
    uint64_t word[2];
};

static uint32_t round_up(uint32_t bytes, uint32_t to)
{
    return (bytes + to - 1) / to * to;
}

static bool init_layout(struct row_layout *layout, struct nu_arena *arena,
                        const struct exec_type *types, uint32_t column_count, uint32_t prefix_bytes,
                        bool all_present)
{
    uint32_t end = prefix_bytes + (all_present ? 0 : (column_count + 7) / 8);
    uint32_t row_align = 8;

    *layout = (struct row_layout){
        .prefix_bytes = prefix_bytes, .column_count = column_count, .all_present = all_present};
    layout->columns = nu_arena_calloc(arena, (column_count + 1) * sizeof *layout->columns, 8);
    if (layout->columns == NULL) {
        return false;
    }
    /* Narrow columns first: they fill the gap behind the validity bytes. */
    for (uint32_t width = 1; width <= 16; width *= 2) {
        for (uint32_t c = 0; c < column_count; c++) {
            if (exec_type_width(types[c].kind) != width) {
                continue;
            }
            end = round_up(end, width);
            layout->columns[c] = (struct row_column){.offset = end,
                                                     .validity_byte = prefix_bytes + c / 8,
                                                     .validity_bit = (uint8_t)(1U << c % 8),
                                                     .width = (uint8_t)width,
                                                     .kind = types[c].kind};
            end += width;
            row_align = width > row_align ? width : row_align;
            layout->has_strings |= types[c].kind == EXEC_TYPE_UTF8;
            layout->has_strings |= types[c].kind == EXEC_TYPE_BINARY;
        }
    }
    layout->row_bytes = round_up(end, row_align);
    return true;
}

bool row_layout_init(struct row_layout *layout, struct nu_arena *arena,
                     const struct exec_type *types, uint32_t column_count, uint32_t prefix_bytes)
{
    return init_layout(layout, arena, types, column_count, prefix_bytes, false);
}

bool row_layout_init_present(struct row_layout *layout, struct nu_arena *arena,
                             const struct exec_type *types, uint32_t column_count,
                             uint32_t prefix_bytes)
{
    return init_layout(layout, arena, types, column_count, prefix_bytes, true);
}

/* ---- scatter
 * ------------------------------------------------------------------------------------- */

/* source[i]: row of the vec that goes to rows[i]. */
static void source_rows(const struct batch *batch, const uint16_t *positions, uint32_t first,
                        uint32_t count, uint16_t *source)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t position = positions == NULL ? first + i : positions[first + i];
        source[i] = (uint16_t)batch_row(batch, position);
    }
}

static void scatter_validity(const struct row_column *column, const struct vec *vec,
                             const uint16_t *source, uint32_t count, unsigned char *const *rows)
{
    const unsigned bit = column->validity_bit;

    for (uint32_t i = 0; i < count; i++) {
        const unsigned valid = vec->valid == NULL ? bit : vec_is_valid(vec, source[i]) ? bit : 0;
        unsigned char *byte = &rows[i][column->validity_byte];
        *byte = (unsigned char)((*byte & ~bit) | valid);
    }
}

/* Values under a cleared bit become zero bytes: a loop over all rows is cheaper than a branch. */
#define ROW_SCATTER(tag, c_type, stored)                                                      \
    static void scatter_##tag(uint32_t offset, const struct vec *vec, const uint16_t *source, \
                              uint32_t count, unsigned char *const *rows)                     \
    {                                                                                         \
        const c_type *values = vec->data;                                                     \
        const bool many = !vec->constant;                                                     \
        for (uint32_t i = 0; i < count; i++) {                                                \
            c_type value = values[many ? source[i] : 0];                                      \
            value = (stored);                                                                 \
            memcpy(rows[i] + offset, &value, sizeof value);                                   \
        }                                                                                     \
        for (uint32_t i = 0; vec->valid != NULL && i < count; i++) {                          \
            if (!vec_is_valid(vec, source[i])) {                                              \
                memset(rows[i] + offset, 0, sizeof(c_type));                                  \
            }                                                                                 \
        }                                                                                     \
    }

ROW_SCATTER(1, uint8_t, value)
ROW_SCATTER(2, uint16_t, value)
ROW_SCATTER(4, uint32_t, value)
ROW_SCATTER(8, uint64_t, value)
ROW_SCATTER(16, struct bytes16, value)
ROW_SCATTER(float32, float, value_float32_canonical(value))
ROW_SCATTER(float64, double, value_float64_canonical(value))

static bool scatter_views(uint32_t offset, const struct vec *vec, const uint16_t *source,
                          uint32_t count, unsigned char *const *rows, struct nu_arena *strings)
{
    const struct string_view *views = vec->data;

    for (uint32_t i = 0; i < count; i++) {
        struct string_view view = {.size = 0};
        if (vec_is_valid(vec, source[i])) {
            view = views[vec->constant ? 0 : source[i]];
        }
        if (view.size > STRING_INLINE_BYTES) {
            char *bytes = nu_arena_alloc(strings, view.size, 1);
            if (bytes == NULL) {
                return false;
            }
            memcpy(bytes, string_view_bytes(&view), view.size);
            view = string_view_make(bytes, view.size);
        }
        memcpy(rows[i] + offset, &view, sizeof view);
    }
    return true;
}

static bool scatter_column(const struct row_column *column, const struct vec *vec,
                           const uint16_t *source, uint32_t count, unsigned char *const *rows,
                           bool canonical, struct nu_arena *strings)
{
    if (column->kind == EXEC_TYPE_UTF8 || column->kind == EXEC_TYPE_BINARY) {
        return scatter_views(column->offset, vec, source, count, rows, strings);
    }
    if (canonical && column->kind == EXEC_TYPE_FLOAT32) {
        scatter_float32(column->offset, vec, source, count, rows);
        return true;
    }
    if (canonical && column->kind == EXEC_TYPE_FLOAT64) {
        scatter_float64(column->offset, vec, source, count, rows);
        return true;
    }
    switch (column->width) {
        case 1: scatter_1(column->offset, vec, source, count, rows); break;
        case 2: scatter_2(column->offset, vec, source, count, rows); break;
        case 4: scatter_4(column->offset, vec, source, count, rows); break;
        case 8: scatter_8(column->offset, vec, source, count, rows); break;
        default: scatter_16(column->offset, vec, source, count, rows); break;
    }
    return true;
}

/* Nearly always everything is present: then the bits of all columns are set at once. */
static void scatter_validities(const struct row_layout *layout, uint32_t first, uint32_t count,
                               const struct vec *vecs, const uint16_t *source, uint32_t row_count,
                               unsigned char *const *rows)
{
    bool present = layout->column_count <= 8;
    unsigned bits = 0;

    for (uint32_t c = 0; c < count; c++) {
        present = present && vecs[c].valid == NULL;
        bits |= layout->columns[first + c].validity_bit;
    }
    if (!present) {
        for (uint32_t c = 0; c < count; c++) {
            scatter_validity(&layout->columns[first + c], &vecs[c], source, row_count, rows);
        }
        return;
    }
    for (uint32_t i = 0; count > 0 && i < row_count; i++) {
        rows[i][layout->prefix_bytes] |= (unsigned char)bits;
    }
}

bool row_scatter(const struct row_layout *layout, uint32_t first, uint32_t count,
                 const struct batch *batch, const struct vec *vecs, const uint16_t *positions,
                 uint32_t position_count, unsigned char *const *rows, bool canonical,
                 struct nu_arena *strings)
{
    uint16_t source[BATCH_ROWS];

    assert(first + count <= layout->column_count);
    for (uint32_t done = 0; done < position_count; done += BATCH_ROWS) {
        const uint32_t left = position_count - done;
        const uint32_t block = left < BATCH_ROWS ? left : BATCH_ROWS;
        source_rows(batch, positions, done, block, source);
        if (!layout->all_present) {
            scatter_validities(layout, first, count, vecs, source, block, rows + done);
        }
        for (uint32_t c = 0; c < count; c++) {
            assert(vecs[c].kind == layout->columns[first + c].kind);
            if (!scatter_column(&layout->columns[first + c], &vecs[c], source, block, rows + done,
                                canonical, strings)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- gather
 * ---------------------------------------------------------------------------------------- */

#define ROW_GATHER_MATCHED(tag, c_type)                                                           \
    static void gather_matched_##tag(uint32_t offset, unsigned char *const *rows, uint32_t count, \
                                     void *out)                                                   \
    {                                                                                             \
        c_type *values = out;                                                                     \
        for (uint32_t i = 0; i < count; i++) {                                                    \
            memcpy(&values[i], rows[i] + offset, sizeof(c_type));                                 \
        }                                                                                         \
    }

ROW_GATHER_MATCHED(1, uint8_t)
ROW_GATHER_MATCHED(2, uint16_t)
ROW_GATHER_MATCHED(4, uint32_t)
ROW_GATHER_MATCHED(8, uint64_t)
ROW_GATHER_MATCHED(16, struct bytes16)

#define ROW_GATHER(tag, c_type)                                                           \
    static void gather_##tag(uint32_t offset, unsigned char *const *rows, uint32_t count, \
                             void *out)                                                   \
    {                                                                                     \
        c_type *values = out;                                                             \
        for (uint32_t i = 0; i < count; i++) {                                            \
            memset(&values[i], 0, sizeof(c_type));                                        \
            if (rows[i] != NULL) {                                                        \
                memcpy(&values[i], rows[i] + offset, sizeof(c_type));                     \
            }                                                                             \
        }                                                                                 \
    }

ROW_GATHER(1, uint8_t)
ROW_GATHER(2, uint16_t)
ROW_GATHER(4, uint32_t)
ROW_GATHER(8, uint64_t)
ROW_GATHER(16, struct bytes16)

/* Returns the number of nulls. */
static uint32_t gather_validity(const struct row_column *column, unsigned char *const *rows,
                                uint32_t count, uint64_t *valid)
{
    uint32_t present = 0;

    for (uint32_t first = 0; first < count; first += 64) {
        const uint32_t left = count - first;
        uint64_t word = 0;
        for (uint32_t i = 0; i < 64 && i < left; i++) {
            const unsigned char *row = rows[first + i];
            word |= (uint64_t)(row != NULL && row_is_valid(column, row)) << i;
        }
        valid[first / 64] = word;
        present += (uint32_t)__builtin_popcountll(word);
    }
    return count - present;
}

bool row_gather(const struct row_layout *layout, uint32_t column, unsigned char *const *rows,
                uint32_t row_count, struct nu_arena *scratch, struct vec *out)
{
    const struct row_column *from = &layout->columns[column];
    void *data = nu_arena_alloc(scratch, (size_t)from->width * (row_count + 1), 64);
    uint64_t *valid = nu_arena_calloc(scratch, BATCH_WORDS * sizeof *valid, 8);

    assert(row_count <= BATCH_ROWS);
    if (data == NULL || valid == NULL) {
        return false;
    }
    switch (from->width) {
        case 1: gather_1(from->offset, rows, row_count, data); break;
        case 2: gather_2(from->offset, rows, row_count, data); break;
        case 4: gather_4(from->offset, rows, row_count, data); break;
        case 8: gather_8(from->offset, rows, row_count, data); break;
        default: gather_16(from->offset, rows, row_count, data); break;
    }
    *out = (struct vec){.data = data, .kind = from->kind, .valid = valid};
    if (layout->all_present || gather_validity(from, rows, row_count, valid) == 0) {
        out->valid = NULL;
    }
    return true;
}

static bool all_are_present(const struct row_column *column, unsigned char *const *rows,
                            uint32_t count)
{
    unsigned bits = column->validity_bit;

    for (uint32_t i = 0; i < count; i++) {
        bits &= rows[i][column->validity_byte];
    }
    return bits != 0;
}

bool row_gather_matched(const struct row_layout *layout, uint32_t column,
                        unsigned char *const *rows, uint32_t row_count, struct nu_arena *scratch,
                        struct vec *out)
{
    const struct row_column *from = &layout->columns[column];
    void *data = nu_arena_alloc(scratch, (size_t)from->width * (row_count + 1), 64);

    assert(row_count <= BATCH_ROWS);
    if (data == NULL) {
        return false;
    }
    switch (from->width) {
        case 1: gather_matched_1(from->offset, rows, row_count, data); break;
        case 2: gather_matched_2(from->offset, rows, row_count, data); break;
        case 4: gather_matched_4(from->offset, rows, row_count, data); break;
        case 8: gather_matched_8(from->offset, rows, row_count, data); break;
        default: gather_matched_16(from->offset, rows, row_count, data); break;
    }
    *out = (struct vec){.data = data, .kind = from->kind};
    if (layout->all_present || all_are_present(from, rows, row_count)) {
        return true;
    }
    uint64_t *valid = nu_arena_calloc(scratch, BATCH_WORDS * sizeof *valid, 8);
    out->valid = valid;
    return valid != NULL && gather_validity(from, rows, row_count, valid) <= row_count;
}
