#include "vec/vec.h"

#include "vec/bitmap.h"

#include <assert.h>
#include <string.h>

static const uint8_t storage_of_kind[EXEC_TYPE_COUNT] = {
    [EXEC_TYPE_BOOL] = VEC_U8,     [EXEC_TYPE_INT8] = VEC_I8,
    [EXEC_TYPE_INT16] = VEC_I16,   [EXEC_TYPE_INT32] = VEC_I32,
    [EXEC_TYPE_INT64] = VEC_I64,   [EXEC_TYPE_UINT8] = VEC_U8,
    [EXEC_TYPE_UINT16] = VEC_U16,  [EXEC_TYPE_UINT32] = VEC_U32,
    [EXEC_TYPE_UINT64] = VEC_U64,  [EXEC_TYPE_FLOAT32] = VEC_F32,
    [EXEC_TYPE_FLOAT64] = VEC_F64, [EXEC_TYPE_DECIMAL128] = VEC_DECIMAL,
    [EXEC_TYPE_UTF8] = VEC_VIEW,   [EXEC_TYPE_BINARY] = VEC_VIEW,
    [EXEC_TYPE_DATE32] = VEC_I32,  [EXEC_TYPE_TIMESTAMP] = VEC_I64,
};

enum vec_storage vec_storage(enum exec_type_kind kind)
{
    return (size_t)kind < EXEC_TYPE_COUNT ? (enum vec_storage)storage_of_kind[kind] : VEC_NONE;
}

struct vec vec_null(enum exec_type_kind kind)
{
    static const struct string_view zero_value;
    static const uint64_t zero_valid;
    return (struct vec){
        .data = &zero_value, .valid = &zero_valid, .kind = (uint8_t)kind, .constant = true};
}

bool vec_alloc(enum exec_type_kind kind, uint32_t row_count, struct nu_arena *arena,
               struct vec *vec_out, void **data_out)
{
    *data_out = nu_arena_alloc(arena, exec_type_width(kind) * ((size_t)row_count + 1), 64);
    *vec_out = (struct vec){.data = *data_out, .kind = (uint8_t)kind};
    return *data_out != NULL;
}

struct bytes16 {
    uint64_t word[2];
};

/* Rows to the same rows; to the front; the first value to all. By width, types do not matter. */
#define VEC_MOVES(width, c_type)                                                                  \
    static void copy_##width(const void *data, bool one, const uint16_t *rows, uint32_t count,    \
                             void *out)                                                           \
    {                                                                                             \
        const c_type *from = data;                                                                \
        c_type *to = out;                                                                         \
        for (uint32_t i = 0; i < count; i++) {                                                    \
            const uint32_t row = rows == NULL ? i : rows[i];                                      \
            to[row] = from[one ? 0 : row];                                                        \
        }                                                                                         \
    }                                                                                             \
    static void gather_##width(const void *data, const uint16_t *rows, uint32_t count, void *out) \
    {                                                                                             \
        const c_type *from = data;                                                                \
        c_type *to = out;                                                                         \
        for (uint32_t i = 0; i < count; i++) {                                                    \
            to[i] = from[rows[i]];                                                                \
        }                                                                                         \
    }                                                                                             \
    static void repeat_##width(const void *data, uint32_t count, void *out)                       \
    {                                                                                             \
        const c_type value = *(const c_type *)data;                                               \
        c_type *to = out;                                                                         \
        for (uint32_t i = 0; i < count; i++) {                                                    \
            to[i] = value;                                                                        \
        }                                                                                         \
    }
VEC_MOVES(1, uint8_t)
VEC_MOVES(2, uint16_t)
VEC_MOVES(4, uint32_t)
VEC_MOVES(8, uint64_t)
VEC_MOVES(16, struct bytes16)

void vec_copy_rows(const struct vec *vec, const uint16_t *rows, uint32_t count, void *data_out)
{
    switch (exec_type_width(vec->kind)) {
        case 1: copy_1(vec->data, vec->constant, rows, count, data_out); break;
        case 2: copy_2(vec->data, vec->constant, rows, count, data_out); break;
        case 4: copy_4(vec->data, vec->constant, rows, count, data_out); break;
        case 8: copy_8(vec->data, vec->constant, rows, count, data_out); break;
        default: copy_16(vec->data, vec->constant, rows, count, data_out); break;
    }
}

bool vec_flatten(const struct vec *in, uint32_t row_count, struct nu_arena *arena, struct vec *out)
{
    const bool null = !vec_is_valid(in, 0);
    void *data;

    if (!in->constant) {
        *out = *in;
        return true;
    }
    if (!vec_alloc(in->kind, row_count, arena, out, &data)) {
        return false;
    }
    vec_copy_rows(in, NULL, row_count, data);
    if (null) {
        out->valid = nu_arena_calloc(arena, (bitmap_words(row_count) + 1) * sizeof *out->valid, 8);
    }
    return !null || out->valid != NULL;
}

static void repeat(const struct vec *in, uint32_t count, void *data_out)
{
    switch (exec_type_width(in->kind)) {
        case 1: repeat_1(in->data, count, data_out); break;
        case 2: repeat_2(in->data, count, data_out); break;
        case 4: repeat_4(in->data, count, data_out); break;
        case 8: repeat_8(in->data, count, data_out); break;
        default: repeat_16(in->data, count, data_out); break;
    }
}

void vec_gather_values(const struct vec *in, const uint16_t *rows, uint32_t count, void *data_out)
{
    if (in->constant) {
        repeat(in, count, data_out);
        return;
    }
    switch (exec_type_width(in->kind)) {
        case 1: gather_1(in->data, rows, count, data_out); break;
        case 2: gather_2(in->data, rows, count, data_out); break;
        case 4: gather_4(in->data, rows, count, data_out); break;
        case 8: gather_8(in->data, rows, count, data_out); break;
        default: gather_16(in->data, rows, count, data_out); break;
    }
}

bool vec_gather(const struct vec *in, const uint16_t *rows, uint32_t count, struct nu_arena *arena,
                struct vec *out)
{
    void *data;

    if (in->constant) {
        *out = *in;
        return true;
    }
    if (!vec_alloc(in->kind, count, arena, out, &data)) {
        return false;
    }
    vec_gather_values(in, rows, count, data);
    if (in->valid == NULL) {
        return true;
    }
    uint64_t *valid = nu_arena_calloc(arena, (bitmap_words(count) + 1) * sizeof *valid, 8);
    if (valid == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        valid[i / 64] |= (uint64_t)bitmap_get(in->valid, rows[i]) << i % 64;
    }
    out->valid = valid;
    return true;
}

bool batch_compact(const struct batch *in, struct nu_arena *arena, struct batch *out)
{
    struct vec *columns;

    if (in->sel == NULL) {
        *out = *in;
        return true;
    }
    columns = nu_arena_alloc(arena, (in->column_count + 1) * sizeof *columns, 8);
    if (columns == NULL) {
        return false;
    }
    for (uint32_t c = 0; c < in->column_count; c++) {
        if (!vec_gather(&in->columns[c], in->sel, in->sel_count, arena, &columns[c])) {
            return false;
        }
    }
    *out = (struct batch){.row_count = in->sel_count,
                          .sel_count = in->sel_count,
                          .columns = columns,
                          .column_count = in->column_count};
    return true;
}
