#include "hash/hash_vec.h"

#include "hash/hash_mix.h"
#include "vec/value.h"

#include <assert.h>
#include <xxhash.h>

/* A column is hashed in three passes over a batch, each a loop without branches: values to 64-bit
 * words (by type), nulls to their own word, words into the hashes. */

static const uint64_t hash_start = UINT64_C(0x2545f4914f6cdd1d);
static const uint64_t null_word = UINT64_C(0x7b1699b1d0cd4a35);
static const XXH64_hash_t string_seed = UINT64_C(0x6d6f7273656c6421);

/* words[p] for position p; sel as in struct batch. */
typedef void words_fn(const void *data, const uint16_t *sel, uint32_t count, uint64_t *words);

static inline uint64_t word_of_decimal(vec_decimal value)
{
    const vec_decimal_bits bits = (vec_decimal_bits)value;
    return hash_mix((uint64_t)(bits >> 64)) + (uint64_t)bits;
}

static inline uint64_t word_of_view(const struct string_view *view)
{
    return XXH3_64bits_withSeed(string_view_bytes(view), view->size, string_seed);
}

#define HASH_WORDS(tag, c_type, expression)                                           \
    static void words_of_##tag(const void *data, const uint16_t *sel, uint32_t count, \
                               uint64_t *words)                                       \
    {                                                                                 \
        const c_type *restrict values = data;                                         \
        if (sel == NULL) {                                                            \
            for (uint32_t p = 0; p < count; p++) {                                    \
                const c_type *value = &values[p];                                     \
                words[p] = (expression);                                              \
            }                                                                         \
            return;                                                                   \
        }                                                                             \
        for (uint32_t p = 0; p < count; p++) {                                        \
            const c_type *value = &values[sel[p]];                                    \
            words[p] = (expression);                                                  \
        }                                                                             \
    }

HASH_WORDS(1, uint8_t, *value)
HASH_WORDS(2, uint16_t, *value)
HASH_WORDS(4, uint32_t, *value)
HASH_WORDS(8, uint64_t, *value)
HASH_WORDS(float32, float, value_float32_bits(*value))
HASH_WORDS(float64, double, value_float64_bits(*value))
HASH_WORDS(decimal, vec_decimal, word_of_decimal(*value))
HASH_WORDS(view, struct string_view, word_of_view(value))

static words_fn *words_of(enum exec_type_kind kind)
{
    switch (kind) {
        case EXEC_TYPE_FLOAT32: return words_of_float32;
        case EXEC_TYPE_FLOAT64: return words_of_float64;
        case EXEC_TYPE_DECIMAL128: return words_of_decimal;
        case EXEC_TYPE_UTF8:
        case EXEC_TYPE_BINARY: return words_of_view;
        default: break;
    }
    switch (exec_type_width(kind)) {
        case 1: return words_of_1;
        case 2: return words_of_2;
        case 4: return words_of_4;
        default: assert(exec_type_width(kind) == 8); return words_of_8;
    }
}

static void null_words(const uint64_t *valid, const uint16_t *sel, uint32_t count, uint64_t *words)
{
    if (sel == NULL) {
        for (uint32_t p = 0; p < count; p++) {
            words[p] = bitmap_get(valid, p) ? words[p] : null_word;
        }
        return;
    }
    for (uint32_t p = 0; p < count; p++) {
        words[p] = bitmap_get(valid, sel[p]) ? words[p] : null_word;
    }
}

static void combine_one(uint64_t word, uint32_t count, uint64_t *restrict hashes)
{
    for (uint32_t p = 0; p < count; p++) {
        hashes[p] = hash_combine(hashes[p], word);
    }
}

static void combine(const uint64_t *restrict words, uint32_t count, uint64_t *restrict hashes)
{
    for (uint32_t p = 0; p < count; p++) {
        hashes[p] = hash_combine(hashes[p], words[p]);
    }
}

static void hash_column(const struct batch *batch, const struct vec *key, uint64_t *hashes)
{
    words_fn *const fill = words_of(key->kind);
    uint64_t words[BATCH_ROWS];

    if (key->constant) {
        words[0] = null_word;
        if (vec_is_valid(key, 0)) {
            fill(key->data, NULL, 1, words);
        }
        combine_one(words[0], batch->sel_count, hashes);
        return;
    }
    fill(key->data, batch->sel, batch->sel_count, words);
    if (key->valid != NULL) {
        null_words(key->valid, batch->sel, batch->sel_count, words);
    }
    combine(words, batch->sel_count, hashes);
}

void hash_keys(const struct batch *batch, const struct vec *keys, uint32_t key_count,
               uint32_t bits_kept, uint64_t *hashes)
{
    assert(batch->sel_count <= BATCH_ROWS);
    for (uint32_t p = 0; p < batch->sel_count; p++) {
        hashes[p] = hash_start;
    }
    for (uint32_t k = 0; k < key_count; k++) {
        hash_column(batch, &keys[k], hashes);
    }
    if (bits_kept < 64) {
        const uint64_t mask = bits_kept == 0 ? 0 : UINT64_MAX << (64 - bits_kept);
        for (uint32_t p = 0; p < batch->sel_count; p++) {
            hashes[p] &= mask;
        }
    }
}

bool hash_is_exact(enum exec_type_kind kind)
{
    return kind != EXEC_TYPE_FLOAT32 && kind != EXEC_TYPE_FLOAT64 && exec_type_width(kind) <= 8;
}

uint32_t hash_present_positions(const struct batch *batch, const struct vec *keys,
                                uint32_t key_count, const bool *nulls_equal,
                                uint16_t *positions_out)
{
    const uint32_t word_count = (batch->row_count + 63) / 64;
    uint64_t present[BATCH_WORDS];
    uint32_t count = 0;
    bool narrowed = false;

    assert(batch->row_count <= BATCH_ROWS);
    for (uint32_t w = 0; w < word_count; w++) {
        present[w] = UINT64_MAX;
    }
    for (uint32_t k = 0; k < key_count; k++) {
        if (keys[k].valid == NULL || (nulls_equal != NULL && nulls_equal[k])) {
            continue;
        }
        if (keys[k].constant) {
            if (!vec_is_valid(&keys[k], 0)) {
                return 0;
            }
            continue;
        }
        narrowed = true;
        for (uint32_t w = 0; w < word_count; w++) {
            present[w] &= keys[k].valid[w];
        }
    }
    if (!narrowed) {
        for (uint32_t p = 0; p < batch->sel_count; p++) {
            positions_out[p] = (uint16_t)p;
        }
        return batch->sel_count;
    }
    for (uint32_t p = 0; p < batch->sel_count; p++) {
        positions_out[count] = (uint16_t)p;
        count += bitmap_get(present, batch_row(batch, p));
    }
    return count;
}
