/* The first bits of a key as bits whose unsigned order is the key's order. Template; included
 * through vec/each_type.h. sort_bits_<tag> is defined before for every storage. */

/* Appends the key to the prefixes of all positions, behind `used` bits: one bit for null, then the
 * value, cut where 128 bits end. Values of descending keys are inverted, nulls are not. */
static void K_FN(append)(const struct sort_order *order, const struct vec *key,
                         const struct batch *in, uint32_t used, struct sort_entry *entries)
{
    const K_TYPE *values = key->data;
    const uint64_t null_bit = order->nulls_first ? 0 : 1;

    for (uint32_t p = 0; p < in->sel_count; p++) {
        const uint32_t row = batch_row(in, p);
        const bool present = vec_is_valid(key, row);
        vec_decimal_bits bits = K_FN(sort_bits)(values[key->constant ? 0 : row]);
        bits = order->descending ? ~bits >> (128 - K_FN(sort_width)) << (128 - K_FN(sort_width))
                                 : bits;
        bits = present ? bits : 0;
        vec_decimal_bits field = (vec_decimal_bits)(present ? !null_bit : null_bit) << 127;
        field |= bits >> 1;
        entries[p].high |= (uint64_t)((field >> used) >> 64);
        entries[p].low |= (uint64_t)(field >> used);
    }
}

#include "vec/each_done.h"
