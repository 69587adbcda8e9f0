#include "table/code_columns.h"

#include "table/dictionary.h"
#include "table/table.h"
#include "vec/vec.h"

#include <assert.h>
#include <string.h>

/* ---- keeping ------------------------------------------------------------------------------------
 */

#define CODE_WIDEN(from_type, to_type)                                                 \
    static void widen_##from_type##_##to_type(const void *codes, const uint16_t *rows, \
                                              uint32_t count, void *out)               \
    {                                                                                  \
        const from_type *restrict from = codes;                                        \
        to_type *restrict to = out;                                                    \
        if (rows == NULL) {                                                            \
            for (uint32_t i = 0; i < count; i++) {                                     \
                to[i] = (to_type)from[i];                                              \
            }                                                                          \
            return;                                                                    \
        }                                                                              \
        for (uint32_t i = 0; i < count; i++) {                                         \
            to[i] = (to_type)from[rows[i]];                                            \
        }                                                                              \
    }

CODE_WIDEN(uint8_t, uint8_t)
CODE_WIDEN(uint8_t, uint16_t)
CODE_WIDEN(uint8_t, uint32_t)
CODE_WIDEN(uint16_t, uint8_t)
CODE_WIDEN(uint16_t, uint16_t)
CODE_WIDEN(uint16_t, uint32_t)
CODE_WIDEN(uint32_t, uint8_t)
CODE_WIDEN(uint32_t, uint16_t)
CODE_WIDEN(uint32_t, uint32_t)

typedef void widen_fn(const void *codes, const uint16_t *rows, uint32_t count, void *out);

/* By the bytes of a code there and here. */
static widen_fn *const widens[5][5] = {
    [1] = {[1] = widen_uint8_t_uint8_t, [2] = widen_uint8_t_uint16_t, [4] = widen_uint8_t_uint32_t},
    [2] = {[1] = widen_uint16_t_uint8_t,
           [2] = widen_uint16_t_uint16_t,
           [4] = widen_uint16_t_uint32_t},
    [4] = {[1] = widen_uint32_t_uint8_t,
           [2] = widen_uint32_t_uint16_t,
           [4] = widen_uint32_t_uint32_t},
};

void code_column_copy(const struct vec *from, const uint16_t *sel, uint32_t position,
                      uint32_t count, size_t code_bytes, void *out)
{
    const unsigned char *codes = from->codes;
    const uint16_t *rows = sel == NULL ? NULL : sel + position;
    unsigned char *kept = out;

    assert(!from->constant && widens[from->code_bytes][code_bytes] != NULL);
    codes += sel == NULL ? (size_t)position * from->code_bytes : 0;
    widens[from->code_bytes][code_bytes](codes, rows, count, out);
    for (uint32_t i = 0; from->valid != NULL && i < count; i++) {
        if (!bitmap_get(from->valid, rows == NULL ? position + i : rows[i])) {
            memset(kept + i * code_bytes, 0, code_bytes);
        }
    }
}

/* ---- reading ------------------------------------------------------------------------------------
 */

static void look_up(const struct vec *vec, uint32_t count, struct string_view *restrict out)
{
    const struct string_view *restrict values = vec->dictionary->views;
    const uint8_t *bytes = vec->codes;
    const uint16_t *shorts = vec->codes;
    const uint32_t *words = vec->codes;

    switch (vec->code_bytes) {
        case 1:
            for (uint32_t i = 0; i < count; i++) {
                out[i] = values[bytes[i]];
            }
            break;
        case 2:
            for (uint32_t i = 0; i < count; i++) {
                out[i] = values[shorts[i]];
            }
            break;
        default:
            for (uint32_t i = 0; i < count; i++) {
                out[i] = values[words[i]];
            }
            break;
    }
}

static void empty_nulls(const uint64_t *valid, uint32_t count, struct string_view *views)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!bitmap_get(valid, i)) {
            views[i] = (struct string_view){.size = 0};
        }
    }
}

bool table_chunk_views(const struct batch *batch, struct nu_arena *scratch)
{
    for (uint32_t c = 0; c < batch->column_count; c++) {
        struct vec *vec = &batch->columns[c];
        struct vec texts;
        void *views;

        if (vec->codes == NULL || vec->data != NULL) {
            continue;
        }
        if (!vec_alloc(vec->kind, batch->row_count, scratch, &texts, &views)) {
            return false;
        }
        look_up(vec, batch->row_count, views);
        if (vec->valid != NULL) {
            empty_nulls(vec->valid, batch->row_count, views);
        }
        vec->data = views;
    }
    return true;
}
