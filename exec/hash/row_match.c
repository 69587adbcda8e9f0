#include "hash/row_layout.h"
#include "vec/each_name.h"
#include "vec/vec.h"

#include <assert.h>
#include <string.h>

/* Equality of a batch's keys with stored rows, and of stored rows among themselves. Columns are
 * compared one after the other over all candidates without branches: behind a hash and its tag
 * nearly every candidate matches, so leaving early would not pay. */

/* alive[i] &= vec row source[i] equals rows[i]. */
typedef void match_fn(const struct row_column *column, const struct vec *vec,
                      const uint16_t *source, uint32_t count, unsigned char *const *rows,
                      uint8_t *alive);

/* The candidates that are equal, to match_out; returns how many. */
typedef uint32_t match_one_fn(const struct row_column *column, const void *data,
                              const struct batch *batch, const uint16_t *positions, uint32_t count,
                              unsigned char *const *rows, uint16_t *match_out);

#define K_TEMPLATE "hash/row_match.tmpl.h"
#include "vec/each_type.h"
#undef K_TEMPLATE

typedef bool equal_fn(const unsigned char *a, const unsigned char *b);
typedef int compare_fn(const unsigned char *a, const unsigned char *b);

static const struct {
    match_fn *match;
    match_one_fn *match_one;
    equal_fn *equal;
    compare_fn *compare;
} storages[VEC_STORAGE_COUNT] = {
#define VEC_INTEGER(TAG, tag, c_type) \
    [VEC_##TAG] = {match_##tag, match_one_##tag, equal_##tag, compare_##tag},
#define VEC_FLOAT(TAG, tag, c_type) \
    [VEC_##TAG] = {match_##tag, match_one_##tag, equal_##tag, compare_##tag},
#define VEC_VIEW(TAG, tag, c_type) \
    [VEC_##TAG] = {match_##tag, match_one_##tag, equal_##tag, compare_##tag},
#include "vec/vec_types.def"
};

/* A null key matches a null alone. The value loop compares what lies under cleared bits as well (it
 * is readable) and rejects every null row; this one puts nulls right, so it runs with the state
 * from before the value loop. */
static void match_nulls(const struct row_column *column, const struct vec *vec,
                        const uint16_t *source, uint32_t count, unsigned char *const *rows,
                        const uint8_t *before, uint8_t *alive)
{
    for (uint32_t i = 0; i < count; i++) {
        const bool key_present = vec_is_valid(vec, source[i]);
        const bool both_null = !key_present & !row_is_valid(column, rows[i]);
        alive[i] = (uint8_t)((alive[i] & key_present) | (before[i] & both_null));
    }
}

static void match_column(const struct row_column *column, const struct vec *vec,
                         const uint16_t *source, uint32_t count, unsigned char *const *rows,
                         uint8_t *alive)
{
    uint8_t before[BATCH_ROWS];

    assert(vec->kind == column->kind);
    if (vec->valid == NULL) {
        storages[vec_storage(column->kind)].match(column, vec, source, count, rows, alive);
        return;
    }
    memcpy(before, alive, count);
    storages[vec_storage(column->kind)].match(column, vec, source, count, rows, alive);
    match_nulls(column, vec, source, count, rows, before, alive);
}

uint32_t row_match(const struct row_layout *layout, uint32_t first, uint32_t count,
                   const struct batch *batch, const struct vec *keys, const uint16_t *positions,
                   uint32_t candidate_count, unsigned char *const *rows, uint16_t *match_out,
                   uint16_t *rest_out)
{
    uint16_t source[BATCH_ROWS];
    uint8_t alive[BATCH_ROWS];
    uint32_t match_count = 0;
    uint32_t rest_count = 0;

    assert(first + count <= layout->column_count);
    if (count == 0) {
        for (uint32_t i = 0; match_out != NULL && i < candidate_count; i++) {
            match_out[i] = (uint16_t)i;
        }
        return candidate_count;
    }
    if (count == 1 && positions != NULL && rest_out == NULL && match_out != NULL &&
        keys[0].valid == NULL && !keys[0].constant) {
        const struct row_column *column = &layout->columns[first];
        assert(keys[0].kind == column->kind);
        return storages[vec_storage(column->kind)].match_one(column, keys[0].data, batch, positions,
                                                             candidate_count, rows, match_out);
    }
    for (uint32_t done = 0; done < candidate_count; done += BATCH_ROWS) {
        const uint32_t left = candidate_count - done;
        const uint32_t block = left < BATCH_ROWS ? left : BATCH_ROWS;
        for (uint32_t i = 0; i < block; i++) {
            const uint32_t position = positions == NULL ? done + i : positions[done + i];
            source[i] = (uint16_t)batch_row(batch, position);
        }
        memset(alive, 1, block);
        for (uint32_t c = 0; c < count; c++) {
            match_column(&layout->columns[first + c], &keys[c], source, block, rows + done, alive);
        }
        for (uint32_t i = 0; i < block; i++) {
            if (match_out != NULL) {
                match_out[match_count] = (uint16_t)(done + i);
            }
            if (rest_out != NULL) {
                rest_out[rest_count] = (uint16_t)(done + i);
            }
            match_count += alive[i];
            rest_count += !alive[i];
        }
    }
    return match_count;
}

bool row_equal(const struct row_layout *layout, uint32_t first, uint32_t count,
               const unsigned char *a, const unsigned char *b)
{
    for (uint32_t c = first; c < first + count; c++) {
        const struct row_column *column = &layout->columns[c];
        const bool present = row_is_valid(column, a);
        if (present != row_is_valid(column, b)) {
            return false;
        }
        if (present &&
            !storages[vec_storage(column->kind)].equal(a + column->offset, b + column->offset)) {
            return false;
        }
    }
    return true;
}

int row_compare(const struct row_layout *layout, uint32_t column, const unsigned char *a,
                const unsigned char *b)
{
    const struct row_column *of = &layout->columns[column];
    const bool a_present = row_is_valid(of, a);
    const bool b_present = row_is_valid(of, b);

    if (!a_present || !b_present) {
        return (int)b_present - (int)a_present;
    }
    return storages[vec_storage(of->kind)].compare(a + of->offset, b + of->offset);
}
