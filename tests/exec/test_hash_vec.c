/* Goal:   hash_keys and hash_present_positions keep their contract for every type and form of a
 * vec, and every bit field of the hash that somebody uses is good on keys as people have them.
 * Method: small batches with answers written out by hand (equal values in different guises hash
 *         alike, unequal ones and other orders do not); then counts of partition, slot and tag
 * values over 65,536 keys of each pattern against what chance allows, and flips per input bit. */
#include "hash/hash_bits.h"
#include "hash/hash_vec.h"
#include "vec/value.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

enum { KEYS = 1 << 16 };

static struct batch batch_of(uint32_t row_count)
{
    return (struct batch){.row_count = row_count, .sel_count = row_count};
}

static uint64_t hash_of(uint8_t kind, const void *value)
{
    const struct vec vec = {.data = value, .kind = kind};
    const struct batch batch = batch_of(1);
    uint64_t hash;
    hash_keys(&batch, &vec, 1, 64, &hash);
    return hash;
}

Test(hash_vec, floats_hash_by_value)
{
    const double doubles[] = {0.0, -0.0, NAN, -NAN, 1.0};
    const float floats[] = {0.0F, -0.0F, NAN, -NAN, 1.0F};
    uint64_t payload_bits = UINT64_C(0x7ff0000000000123);
    uint32_t small_bits = UINT32_C(0xff800456);
    double payload;
    float small;
    memcpy(&payload, &payload_bits, sizeof payload);
    memcpy(&small, &small_bits, sizeof small);

    cr_assert_eq(hash_of(EXEC_TYPE_FLOAT64, &doubles[0]), hash_of(EXEC_TYPE_FLOAT64, &doubles[1]));
    cr_assert_eq(hash_of(EXEC_TYPE_FLOAT64, &doubles[2]), hash_of(EXEC_TYPE_FLOAT64, &doubles[3]));
    cr_assert_eq(hash_of(EXEC_TYPE_FLOAT64, &doubles[2]), hash_of(EXEC_TYPE_FLOAT64, &payload));
    cr_assert_neq(hash_of(EXEC_TYPE_FLOAT64, &doubles[0]), hash_of(EXEC_TYPE_FLOAT64, &doubles[4]));
    cr_assert_eq(hash_of(EXEC_TYPE_FLOAT32, &floats[0]), hash_of(EXEC_TYPE_FLOAT32, &floats[1]));
    cr_assert_eq(hash_of(EXEC_TYPE_FLOAT32, &floats[2]), hash_of(EXEC_TYPE_FLOAT32, &floats[3]));
    cr_assert_eq(hash_of(EXEC_TYPE_FLOAT32, &floats[2]), hash_of(EXEC_TYPE_FLOAT32, &small));
    cr_assert_neq(hash_of(EXEC_TYPE_FLOAT32, &floats[0]), hash_of(EXEC_TYPE_FLOAT32, &floats[4]));
}

Test(hash_vec, strings_hash_by_bytes)
{
    const char *const texts[] = {"",
                                 "a",
                                 "ab",
                                 "abcd",
                                 "abcdabcd",
                                 "abcdefghijkl",
                                 "abcdefghijklm",
                                 "abcdefghijkln",
                                 "abcdXXXXXXXXXXXX",
                                 "abcdXXXXXXXXXXXY"};
    enum { TEXTS = sizeof texts / sizeof texts[0] };
    uint64_t hashes[TEXTS];

    for (int i = 0; i < TEXTS; i++) {
        char copy[32];
        strcpy(copy, texts[i]);
        const struct string_view a = string_view_make(texts[i], (uint32_t)strlen(texts[i]));
        const struct string_view b = string_view_make(copy, (uint32_t)strlen(copy));
        hashes[i] = hash_of(EXEC_TYPE_UTF8, &a);
        cr_assert_eq(hashes[i], hash_of(EXEC_TYPE_UTF8, &b));
        cr_assert_eq(hashes[i], hash_of(EXEC_TYPE_BINARY, &b));
        for (int j = 0; j < i; j++) {
            cr_assert_neq(hashes[i], hashes[j], "'%s' and '%s'", texts[i], texts[j]);
        }
    }
}

Test(hash_vec, decimals_use_both_words)
{
    const vec_decimal values[] = {1, -1, (vec_decimal)1 << 64, ((vec_decimal)1 << 64) + 1, 0};
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < i; j++) {
            cr_assert_neq(hash_of(EXEC_TYPE_DECIMAL128, &values[i]),
                          hash_of(EXEC_TYPE_DECIMAL128, &values[j]));
        }
    }
}

/* Every type: with and without nulls, selection and the constant form, against row-by-row hashing.
 */
static void check_forms(uint8_t kind)
{
    enum { ROWS = 130 };
    static _Alignas(16) unsigned char data[ROWS * 16];
    const size_t width = exec_type_width(kind);
    uint64_t valid[BATCH_WORDS] = {UINT64_C(0xdeadbeefcafe1235), UINT64_C(0x0123456789abcdef), 3};
    uint16_t sel[ROWS];
    uint32_t sel_count = 0;
    uint64_t hashes[BATCH_ROWS];
    uint64_t null_hash;

    for (uint32_t row = 0; row < ROWS; row++) {
        unsigned char *value = data + row * width;
        memset(value, 0, width);
        value[width == 16 && kind != EXEC_TYPE_DECIMAL128 ? 4 : 0] = (unsigned char)(row + 1);
        if (kind == EXEC_TYPE_UTF8 || kind == EXEC_TYPE_BINARY) {
            value[0] = 1;
        }
        if (row % 3 != 1) {
            sel[sel_count++] = (uint16_t)row;
        }
    }
    {
        const uint64_t none = 0;
        const struct vec nothing = {.data = data, .valid = &none, .kind = kind, .constant = true};
        const struct batch one = batch_of(1);
        hash_keys(&one, &nothing, 1, 64, &null_hash);
    }
    for (int form = 0; form < 8; form++) {
        struct batch batch = batch_of(ROWS);
        struct vec vec = {.data = data, .kind = kind};
        vec.valid = form & 1 ? valid : NULL;
        vec.constant = (form & 4) != 0;
        if (form & 2) {
            batch.sel = sel;
            batch.sel_count = sel_count;
        }
        hash_keys(&batch, &vec, 1, 64, hashes);
        for (uint32_t p = 0; p < batch.sel_count; p++) {
            const uint32_t row = vec.constant ? 0 : batch_row(&batch, p);
            const uint64_t expected =
                vec_is_valid(&vec, row) ? hash_of(kind, data + row * width) : null_hash;
            cr_assert_eq(hashes[p], expected, "kind %d form %d position %u", kind, form, p);
        }
    }
}

Test(hash_vec, every_type_in_every_form)
{
    for (uint8_t kind = EXEC_TYPE_BOOL; kind < EXEC_TYPE_COUNT; kind++) {
        check_forms(kind);
    }
}

Test(hash_vec, order_of_columns_counts)
{
    enum { ROWS = 1000 };
    int64_t x[ROWS];
    int64_t y[ROWS];
    uint64_t xy[BATCH_ROWS];
    uint64_t yx[BATCH_ROWS];
    uint32_t buckets[256] = {0};
    const struct batch batch = batch_of(ROWS);

    for (int i = 0; i < ROWS; i++) {
        x[i] = i;
        y[i] = i + 7;
    }
    const struct vec forward[] = {{.data = x, .kind = EXEC_TYPE_INT64},
                                  {.data = y, .kind = EXEC_TYPE_INT64}};
    const struct vec backward[] = {forward[1], forward[0]};
    const struct vec twice[] = {forward[0], forward[0]};
    hash_keys(&batch, forward, 2, 64, xy);
    hash_keys(&batch, backward, 2, 64, yx);
    for (int i = 0; i < ROWS; i++) {
        cr_assert_neq(xy[i], yx[i]);
    }
    hash_keys(&batch, twice, 2, 64, xy);
    for (int i = 0; i < ROWS; i++) {
        buckets[hash_partition(xy[i], 8)]++;
        for (int j = 0; j < i; j++) {
            cr_assert_neq(xy[i], xy[j]);
        }
    }
    for (int b = 0; b < 256; b++) {
        cr_assert_lt(buckets[b], 20, "(x, x) crowds partition %d with %u", b, buckets[b]);
    }
}

Test(hash_vec, bits_kept_keeps_the_top)
{
    const int64_t value = 12345;
    const struct vec vec = {.data = &value, .kind = EXEC_TYPE_INT64};
    const struct batch batch = batch_of(1);
    const uint64_t full = hash_of(EXEC_TYPE_INT64, &value);
    uint64_t hash;

    hash_keys(&batch, &vec, 1, 8, &hash);
    cr_assert_eq(hash, full & UINT64_C(0xff00000000000000));
    hash_keys(&batch, &vec, 1, 0, &hash);
    cr_assert_eq(hash, 0);
    hash_keys(&batch, &vec, 1, 63, &hash);
    cr_assert_eq(hash, full & ~UINT64_C(1));
}

Test(hash_vec, present_positions)
{
    const int32_t data[8] = {0};
    const uint64_t valid_a[BATCH_WORDS] = {0xf3};
    const uint64_t valid_b[BATCH_WORDS] = {0x7f};
    const uint64_t none = 0;
    const uint16_t sel[] = {0, 2, 4, 7};
    const bool second_equal[] = {false, true, false};
    struct vec keys[] = {{.data = data, .valid = valid_a, .kind = EXEC_TYPE_INT32},
                         {.data = data, .valid = valid_b, .kind = EXEC_TYPE_INT32},
                         {.data = data, .kind = EXEC_TYPE_INT32}};
    struct batch batch = {.row_count = 8, .sel_count = 4, .sel = sel};
    uint16_t out[BATCH_ROWS];

    cr_assert_eq(hash_present_positions(&batch, keys, 3, NULL, out), 2);
    cr_assert(out[0] == 0 && out[1] == 2);
    cr_assert_eq(hash_present_positions(&batch, keys, 3, second_equal, out), 3);
    cr_assert(out[0] == 0 && out[1] == 2 && out[2] == 3);
    cr_assert_eq(hash_present_positions(&batch, &keys[2], 1, NULL, out), 4);
    keys[2].constant = true;
    keys[2].valid = &none;
    cr_assert_eq(hash_present_positions(&batch, keys, 3, NULL, out), 0);
    batch.sel = NULL;
    batch.sel_count = 8;
    cr_assert_eq(hash_present_positions(&batch, keys, 2, NULL, out), 5);
    cr_assert(out[0] == 0 && out[1] == 1 && out[2] == 4 && out[4] == 6);
}

/* ---- quality
 * ---------------------------------------------------------------------------------------- */

static uint64_t reverse_bits(uint64_t word)
{
    uint64_t out = 0;
    for (int i = 0; i < 64; i++) {
        out = out << 1 | (word >> i & 1);
    }
    return out;
}

/* Chi-square of `counts` against an even spread of `total` over `buckets`, in standard deviations.
 */
static double unevenness(const uint32_t *counts, uint32_t buckets, uint32_t total)
{
    const double expected = (double)total / buckets;
    double chi = 0;
    for (uint32_t b = 0; b < buckets; b++) {
        chi += (counts[b] - expected) * (counts[b] - expected) / expected;
    }
    return (chi - (buckets - 1)) / sqrt(2.0 * (buckets - 1));
}

static void check_fields(const char *pattern, const uint64_t *hashes)
{
    static uint32_t partition[256];
    static uint32_t slot[1 << 14]; /* the slot bits behind the partition */
    static uint32_t tag[1 << 14];

    memset(partition, 0, sizeof partition);
    memset(slot, 0, sizeof slot);
    memset(tag, 0, sizeof tag);
    for (int i = 0; i < KEYS; i++) {
        partition[hash_partition(hashes[i], 8)]++;
        slot[hash_slot(hashes[i] << 8, 14)]++;
        tag[hash_tag(hashes[i]) >> 2]++;
    }
    /* Above five standard deviations is no chance; far below means the hash is linear there, which
     * is harmless, so only the upper side is checked. */
    cr_assert_lt(unevenness(partition, 256, KEYS), 5.0, "%s: partition", pattern);
    cr_assert_lt(unevenness(slot, 1 << 14, KEYS), 5.0, "%s: slot", pattern);
    cr_assert_lt(unevenness(tag, 1 << 14, KEYS), 5.0, "%s: tag", pattern);
}

static void hash_all(const uint64_t *keys, uint8_t kind, uint64_t *hashes)
{
    const struct batch batch = batch_of(BATCH_ROWS);
    for (int done = 0; done < KEYS; done += BATCH_ROWS) {
        const struct vec vec = {.data = keys + done, .kind = kind};
        hash_keys(&batch, &vec, 1, 64, hashes + done);
    }
}

Test(hash_vec, bit_fields_are_even_on_common_keys)
{
    static uint64_t keys[KEYS];
    static uint64_t hashes[KEYS];
    static struct string_view views[KEYS];
    static char texts[KEYS][24];

    for (int i = 0; i < KEYS; i++) {
        keys[i] = (uint64_t)i;
    }
    hash_all(keys, EXEC_TYPE_INT64, hashes);
    check_fields("sequential", hashes);
    for (int shift = 4; shift <= 48; shift += 4) {
        for (int i = 0; i < KEYS; i++) {
            keys[i] = (uint64_t)i << shift;
        }
        hash_all(keys, EXEC_TYPE_INT64, hashes);
        check_fields("strided", hashes);
    }
    for (int i = 0; i < KEYS; i++) {
        keys[i] = reverse_bits((uint64_t)i);
    }
    hash_all(keys, EXEC_TYPE_INT64, hashes);
    check_fields("bit-reversed", hashes);
    for (int i = 0; i < KEYS; i++) {
        const double value = i;
        memcpy(&keys[i], &value, sizeof value);
    }
    hash_all(keys, EXEC_TYPE_FLOAT64, hashes);
    check_fields("float-as-int", hashes);
    for (int i = 0; i < KEYS; i++) {
        snprintf(texts[i], sizeof texts[i], i % 2 ? "key %08d" : "a longer key %08d", i);
        views[i] = string_view_make(texts[i], (uint32_t)strlen(texts[i]));
    }
    const struct batch batch = batch_of(BATCH_ROWS);
    for (int done = 0; done < KEYS; done += BATCH_ROWS) {
        const struct vec vec = {.data = views + done, .kind = EXEC_TYPE_UTF8};
        hash_keys(&batch, &vec, 1, 64, hashes + done);
    }
    check_fields("texts", hashes);
}

Test(hash_vec, every_input_bit_flips_half_of_the_output)
{
    enum { SAMPLES = 1024 };
    uint64_t keys[SAMPLES];
    uint64_t base[SAMPLES];
    uint64_t flipped[SAMPLES];
    const struct batch batch = batch_of(SAMPLES);
    const struct vec vec = {.data = keys, .kind = EXEC_TYPE_UINT64};

    for (int in = 0; in < 64; in++) {
        uint32_t flips[64] = {0};
        for (uint64_t i = 0; i < SAMPLES; i++) {
            keys[i] = i * i * 77 + i;
        }
        hash_keys(&batch, &vec, 1, 64, base);
        for (int i = 0; i < SAMPLES; i++) {
            keys[i] ^= UINT64_C(1) << in;
        }
        hash_keys(&batch, &vec, 1, 64, flipped);
        for (int i = 0; i < SAMPLES; i++) {
            for (int out = 0; out < 64; out++) {
                flips[out] += (uint32_t)((base[i] ^ flipped[i]) >> out & 1);
            }
        }
        for (int out = 0; out < 64; out++) {
            /* 512 expected, standard deviation 16. */
            cr_assert(flips[out] > 400 && flips[out] < 624, "bit %d flips bit %d in %u of 1024", in,
                      out, flips[out]);
        }
    }
}
