/* Equality and order of one storage type in rows. Template; included through vec/each_type.h. */

/* alive[i] &= row i holds a value and it equals vec row source[i]. */
static void K_FN(match)(const struct row_column *column, const struct vec *vec,
                        const uint16_t *source, uint32_t count, unsigned char *const *rows,
                        uint8_t *alive)
{
    const K_TYPE *values = vec->data;
    const bool many = !vec->constant;

    for (uint32_t i = 0; i < count; i++) {
        const bool present = row_is_valid(column, rows[i]);
        K_TYPE stored;
        memcpy(&stored, rows[i] + column->offset, sizeof stored);
        const bool same = K_FN(value_equal)(values[many ? source[i] : 0], stored);
        alive[i] &= (uint8_t)(present & same);
    }
}

/* The usual join: one key, a value in every row of the vec, nobody asks for the rest. */
static uint32_t K_FN(match_one)(const struct row_column *column, const void *data,
                                const struct batch *batch, const uint16_t *positions,
                                uint32_t count, unsigned char *const *rows, uint16_t *match_out)
{
    const K_TYPE *values = data;
    const uint16_t *sel = batch->sel;
    uint32_t match_count = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t row = sel == NULL ? positions[i] : sel[positions[i]];
        const bool present = row_is_valid(column, rows[i]);
        K_TYPE stored;
        memcpy(&stored, rows[i] + column->offset, sizeof stored);
        match_out[match_count] = (uint16_t)i;
        match_count += present & K_FN(value_equal)(values[row], stored);
    }
    return match_count;
}

static bool K_FN(equal)(const unsigned char *a, const unsigned char *b)
{
    K_TYPE x;
    K_TYPE y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return K_FN(value_equal)(x, y);
}

static int K_FN(compare)(const unsigned char *a, const unsigned char *b)
{
    K_TYPE x;
    K_TYPE y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return K_FN(value_compare)(x, y);
}

#include "vec/each_done.h"
