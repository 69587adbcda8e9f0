/* Keys of one integer storage in a dense map. Template; included through vec/each_integer.h. */

/* Bounds are kept in an order of words that fits the type: signed ones are moved up by 2^63. */
static void K_FN(bounds)(const struct vec *key, const struct batch *batch,
                         const uint16_t *positions, uint32_t count, struct dense_bounds *bounds)
{
    const K_TYPE *values = key->data;
    const bool many = !key->constant;
    uint64_t low = bounds->low;
    uint64_t high = bounds->high;

    for (uint32_t i = 0; i < count; i++) {
        const K_TYPE value = values[many ? batch_row(batch, positions[i]) : 0];
        const uint64_t word = (uint64_t)value + ((uint64_t)K_SIGNED << 63);
        low = word < low ? word : low;
        high = word > high ? word : high;
    }
    *bounds = (struct dense_bounds){low, high};
}

/* Places of keys in rows; the states are entered. False: a place was taken. */
static bool K_FN(enter)(const struct dense_map *map, const unsigned char *rows, uint32_t count,
                        uint8_t mask, uint8_t *states_all, uint32_t *at)
{
    const struct row_column *key = &map->layout->columns[0];
    const uint32_t row_bytes = map->layout->row_bytes;
    uint8_t taken = 0;

    for (uint32_t i = 0; i < count; i++) {
        const unsigned char *row = rows + (size_t)i * row_bytes;
        const uint8_t state = row[key->validity_byte] & mask;
        K_TYPE value;
        memcpy(&value, row + key->offset, sizeof value);
        at[i] = (uint32_t)((uint64_t)value - map->min);
        NU_DCHECK(at[i] < map->span);
        taken |= map->states[at[i]];
        map->states[at[i]] = state;
        *states_all &= state;
    }
    return taken == 0;
}

/* Places of all rows of a batch. False: some are outside. The loop has no exit, so that it can be
 * done several rows at a time. */
static bool K_FN(places)(const void *data, uint32_t count, uint64_t min, uint64_t span,
                         uint32_t *restrict at_out)
{
    const K_TYPE *restrict values = data;
    uint64_t widest = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint64_t at = (uint64_t)values[i] - min;
        at_out[i] = (uint32_t)at;
        widest |= at >= span;
    }
    return widest == 0;
}

static uint32_t K_FN(find)(const void *data, const uint16_t *sel, uint32_t count, uint64_t min,
                           uint64_t span, uint16_t *restrict rows_out, uint32_t *restrict at_out)
{
    const K_TYPE *restrict values = data;
    uint32_t found = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint16_t row = sel == NULL ? (uint16_t)i : sel[i];
        const uint64_t at = (uint64_t)values[row] - min;
        rows_out[found] = row;
        at_out[found] = (uint32_t)at;
        found += at < span;
    }
    return found;
}

#include "vec/each_done.h"
