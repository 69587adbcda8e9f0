#include "hash/dense_map.h"

#include "vec/each_name.h"
#include "vec/vec.h"

#include "numa/check.h"

#include <assert.h>
#include <string.h>

enum { FILL_ROWS = 256 }; /* whose places are found together: 1 KiB of them */

struct bytes16 {
    uint64_t word[2];
};

#define K_TEMPLATE "hash/dense_map.tmpl.h"
#include "vec/each_integer.h"
#undef K_TEMPLATE

static const struct {
    void (*bounds)(const struct vec *key, const struct batch *batch, const uint16_t *positions,
                   uint32_t count, struct dense_bounds *bounds);
    bool (*enter)(const struct dense_map *map, const unsigned char *rows, uint32_t count,
                  uint8_t mask, uint8_t *states_all, uint32_t *at);
    bool (*places)(const void *data, uint32_t count, uint64_t min, uint64_t span, uint32_t *at_out);
    uint32_t (*find)(const void *data, const uint16_t *sel, uint32_t count, uint64_t min,
                     uint64_t span, uint16_t *rows_out, uint32_t *at_out);
    bool is_signed;
} storages[VEC_STORAGE_COUNT] = {
    [VEC_I8] = {bounds_i8, enter_i8, places_i8, find_i8, true},
    [VEC_I16] = {bounds_i16, enter_i16, places_i16, find_i16, true},
    [VEC_I32] = {bounds_i32, enter_i32, places_i32, find_i32, true},
    [VEC_I64] = {bounds_i64, enter_i64, places_i64, find_i64, true},
    [VEC_U8] = {bounds_u8, enter_u8, places_u8, find_u8, false},
    [VEC_U16] = {bounds_u16, enter_u16, places_u16, find_u16, false},
    [VEC_U32] = {bounds_u32, enter_u32, places_u32, find_u32, false},
    [VEC_U64] = {bounds_u64, enter_u64, places_u64, find_u64, false},
};

bool dense_map_takes(enum exec_type_kind kind)
{
    return storages[vec_storage(kind)].find != NULL;
}

void dense_bounds_add(struct dense_bounds *bounds, const struct batch *batch, const struct vec *key,
                      const uint16_t *positions, uint32_t count)
{
    storages[vec_storage(key->kind)].bounds(key, batch, positions, count, bounds);
}

void dense_bounds_merge(struct dense_bounds *into, const struct dense_bounds *from)
{
    into->low = from->low < into->low ? from->low : into->low;
    into->high = from->high > into->high ? from->high : into->high;
}

/* ---- build
 * ------------------------------------------------------------------------------------------- */

uint64_t dense_map_bytes(const struct row_layout *layout, uint64_t span)
{
    uint64_t bytes = 1;

    for (uint32_t c = 1; c < layout->column_count; c++) {
        bytes += layout->columns[c].width;
    }
    return bytes * span;
}

bool dense_map_init(struct dense_map *map, const struct row_layout *layout,
                    const struct dense_bounds *bounds, struct nu_arena *arena)
{
    const bool is_signed = storages[vec_storage(layout->columns[0].kind)].is_signed;

    assert(layout->column_count <= DENSE_COLUMNS_MAX);
    assert(dense_bounds_width(bounds) < DENSE_KEYS_MAX);
    *map = (struct dense_map){.min = bounds->low - ((uint64_t)is_signed << 63),
                              .span = dense_bounds_width(bounds) + 1,
                              .layout = layout};
    map->states = nu_arena_calloc(arena, map->span, 64);
    bool ok = map->states != NULL;
    for (uint32_t c = 1; ok && c < layout->column_count; c++) {
        map->values[c] = nu_arena_alloc(arena, layout->columns[c].width * map->span, 64);
        ok = map->values[c] != NULL;
    }
    return ok;
}

#define DENSE_MOVES(width, c_type)                                                           \
    static void scatter_##width(void *values, const uint32_t *at, const unsigned char *from, \
                                uint32_t row_bytes, uint32_t count)                          \
    {                                                                                        \
        c_type *to = values;                                                                 \
        for (uint32_t i = 0; i < count; i++) {                                               \
            memcpy(&to[at[i]], from + (size_t)i * row_bytes, sizeof(c_type));                \
        }                                                                                    \
    }                                                                                        \
    static void gather_##width(const void *values, const uint32_t *at, const uint16_t *rows, \
                               uint32_t count, void *out)                                    \
    {                                                                                        \
        const c_type *restrict from = values;                                                \
        c_type *restrict to = out;                                                           \
        if (rows == NULL) {                                                                  \
            for (uint32_t i = 0; i < count; i++) {                                           \
                to[i] = from[at[i]];                                                         \
            }                                                                                \
            return;                                                                          \
        }                                                                                    \
        for (uint32_t i = 0; i < count; i++) {                                               \
            to[rows[i]] = from[at[i]];                                                       \
        }                                                                                    \
    }

DENSE_MOVES(1, uint8_t)
DENSE_MOVES(2, uint16_t)
DENSE_MOVES(4, uint32_t)
DENSE_MOVES(8, uint64_t)
DENSE_MOVES(16, struct bytes16)

static void scatter(const struct dense_map *map, uint32_t column, const uint32_t *at,
                    const unsigned char *rows, uint32_t count)
{
    const struct row_column *of = &map->layout->columns[column];
    const uint32_t row_bytes = map->layout->row_bytes;
    const unsigned char *from = rows + of->offset;
    void *to = map->values[column];

    switch (of->width) {
        case 1: scatter_1(to, at, from, row_bytes, count); break;
        case 2: scatter_2(to, at, from, row_bytes, count); break;
        case 4: scatter_4(to, at, from, row_bytes, count); break;
        case 8: scatter_8(to, at, from, row_bytes, count); break;
        default: scatter_16(to, at, from, row_bytes, count); break;
    }
}

bool dense_map_fill(struct dense_map *map, const unsigned char *rows, uint32_t count,
                    uint8_t *states_all)
{
    const struct row_layout *layout = map->layout;
    const enum vec_storage storage = vec_storage(layout->columns[0].kind);
    const uint8_t mask = (uint8_t)((1U << layout->column_count) - 1);
    uint32_t at[FILL_ROWS];
    bool unique = true;

    for (uint32_t done = 0; done < count; done += FILL_ROWS) {
        const unsigned char *block_rows = rows + (size_t)done * layout->row_bytes;
        const uint32_t left = count - done;
        const uint32_t block = left < FILL_ROWS ? left : FILL_ROWS;
        unique &= storages[storage].enter(map, block_rows, block, mask, states_all, at);
        for (uint32_t c = 1; c < layout->column_count; c++) {
            scatter(map, c, at, block_rows, block);
        }
    }
    return unique;
}

/* ---- lookup
 * ------------------------------------------------------------------------------------------ */

static uint32_t drop_null_keys(const struct vec *key, uint32_t count, uint16_t *rows, uint32_t *at)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint16_t row = rows[i];
        rows[kept] = row;
        at[kept] = at[i];
        kept += bitmap_get(key->valid, row);
    }
    return kept;
}

static uint32_t drop_holes(const struct dense_map *map, uint32_t count, uint16_t *rows,
                           uint32_t *at)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t place = at[i];
        rows[kept] = rows[i];
        at[kept] = place;
        kept += map->states[place] & 1;
    }
    return kept;
}

uint32_t dense_map_find(const struct dense_map *map, const struct batch *batch,
                        const struct vec *key, uint16_t *rows_out, uint32_t *at_out)
{
    const enum vec_storage storage = vec_storage(key->kind);
    uint32_t count;

    assert(!key->constant && batch->row_count <= BATCH_ROWS);
    if (batch->sel == NULL &&
        storages[storage].places(key->data, batch->row_count, map->min, map->span, at_out)) {
        count = batch->row_count;
        for (uint32_t i = 0; i < count; i++) {
            rows_out[i] = (uint16_t)i;
        }
    } else {
        count = storages[storage].find(key->data, batch->sel, batch->sel_count, map->min, map->span,
                                       rows_out, at_out);
    }
    if (key->valid != NULL) {
        count = drop_null_keys(key, count, rows_out, at_out);
    }
    return map->full ? count : drop_holes(map, count, rows_out, at_out);
}

static void gather_validity(const struct dense_map *map, uint32_t column, const uint32_t *at,
                            const uint16_t *rows, uint32_t count, uint64_t *valid)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t row = rows == NULL ? i : rows[i];
        const uint64_t bit = map->states[at[i]] >> column & 1;
        valid[row / 64] |= bit << row % 64;
    }
}

bool dense_map_gather(const struct dense_map *map, uint32_t column, const uint32_t *at,
                      const uint16_t *rows, uint32_t count, uint32_t row_count, bool outer,
                      struct nu_arena *scratch, struct vec *out)
{
    const struct row_column *of = &map->layout->columns[column];
    const void *values = map->values[column];
    void *data;

    assert(column > 0 && count <= row_count);
    if (!vec_alloc(of->kind, row_count, scratch, out, &data)) {
        return false;
    }
    if (count < row_count) {
        memset(data, 0, (size_t)of->width * row_count);
    }
    switch (of->width) {
        case 1: gather_1(values, at, rows, count, data); break;
        case 2: gather_2(values, at, rows, count, data); break;
        case 4: gather_4(values, at, rows, count, data); break;
        case 8: gather_8(values, at, rows, count, data); break;
        default: gather_16(values, at, rows, count, data); break;
    }
    if ((map->states_all >> column & 1) != 0 && !(outer && count < row_count)) {
        return true;
    }
    uint64_t *valid = nu_arena_calloc(scratch, BATCH_WORDS * sizeof *valid, 8);
    if (valid == NULL) {
        return false;
    }
    gather_validity(map, column, at, rows, count, valid);
    out->valid = valid;
    return true;
}
