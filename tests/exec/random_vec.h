#ifndef TESTS_EXEC_RANDOM_VEC_H
#define TESTS_EXEC_RANDOM_VEC_H

#include "arena_fixture.h"
#include "vec/vec.h"

#include <math.h>
#include <stdio.h>

/* Random columns of any type with what breaks things in them: extremes, zeros of both signs, NaNs
 * of several payloads, strings around the inline limit with equal prefixes, nulls. Few distinct
 * values, so that equal ones meet. */

static inline double random_double(uint64_t *state)
{
    static const double special[] = {0.0,
                                     -0.0,
                                     1.0,
                                     -1.0,
                                     0.5,
                                     1e300,
                                     -1e300,
                                     2147483648.0,
                                     9007199254740993.0,
                                     -9223372036854775808.0};
    const uint64_t word = test_random(state);
    double value;
    if (word % 8 == 0) {
        const uint64_t bits = UINT64_C(0x7ff8000000000000) | (word & UINT64_C(0x8000000000000f00));
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (word % 8 == 1) {
        return (word & 256) != 0 ? (double)INFINITY : -(double)INFINITY;
    }
    return word % 8 < 6 ? special[(word >> 8) % 10] : (double)((int64_t)(word >> 8) % 7) - 3.0;
}

static inline int64_t random_integer(uint64_t *state, int bits)
{
    const uint64_t word = test_random(state);
    const int64_t max = (int64_t)(UINT64_MAX >> (65 - bits));
    switch (word % 6) {
        case 0: return max;
        case 1: return -max - 1;
        case 2: return max - 1;
        default: return (int64_t)((word >> 8) % 9) - 4;
    }
}

static inline struct string_view random_view(uint64_t *state, struct nu_arena *arena)
{
    static const char letters[] = "abab";
    const uint64_t word = test_random(state);
    static const uint8_t sizes[] = {0, 1, 3, 4, 5, 11, 12, 13, 14, 20};
    const uint32_t size = sizes[word % 10];
    char *bytes = nu_arena_alloc(arena, size + 1, 1);
    cr_assert_not_null(bytes);
    for (uint32_t i = 0; i < size; i++) {
        bytes[i] = i + 2 < size ? 'a' : letters[(word >> (8 + i)) % 4];
    }
    return string_view_make(bytes, size);
}

static inline void random_value(uint64_t *state, uint8_t kind, struct nu_arena *arena, void *out)
{
    const size_t width = exec_type_width(kind);
    if (kind == EXEC_TYPE_FLOAT64) {
        const double value = random_double(state);
        memcpy(out, &value, width);
    } else if (kind == EXEC_TYPE_FLOAT32) {
        const float value = (float)random_double(state);
        memcpy(out, &value, width);
    } else if (kind == EXEC_TYPE_UTF8 || kind == EXEC_TYPE_BINARY) {
        const struct string_view view = random_view(state, arena);
        memcpy(out, &view, width);
    } else if (kind == EXEC_TYPE_DECIMAL128) {
        const vec_decimal value =
            (vec_decimal)random_integer(state, 64) * (test_random(state) % 2 != 0 ? INT64_MAX : 1);
        memcpy(out, &value, width);
    } else if (kind == EXEC_TYPE_BOOL) {
        *(unsigned char *)out = test_random(state) % 2 != 0;
    } else {
        const int64_t value = random_integer(state, (int)width * 8);
        memcpy(out, &value, width);
    }
}

/* null_percent 0: no bitmap. Every 16th vec or so is constant when `constant_too`. */
static inline struct vec random_vec(uint64_t *state, uint8_t kind, uint32_t row_count,
                                    uint32_t null_percent, bool constant_too,
                                    struct nu_arena *arena)
{
    struct vec vec;
    void *data;
    uint64_t *valid = NULL;
    cr_assert(vec_alloc(kind, row_count, arena, &vec, &data));
    if (null_percent != 0) {
        valid = nu_arena_calloc(arena, (row_count + 63) / 64 * 8 + 8, 8);
        cr_assert_not_null(valid);
    }
    for (uint32_t row = 0; row < row_count; row++) {
        unsigned char *at = (unsigned char *)data + row * exec_type_width(kind);
        random_value(state, kind, arena, at);
        if (valid != NULL) {
            const uint64_t present = test_random(state) % 100 >= null_percent;
            valid[row / 64] |= present << row % 64;
            if (!present && vec_storage(kind) == VEC_VIEW) {
                memset(at, 0, sizeof(struct string_view));
            }
        }
    }
    vec.valid = valid;
    vec.constant = constant_too && test_random(state) % 4 == 0;
    return vec;
}

/* A selection of about keep_percent of the rows. */
static inline uint32_t random_sel(uint64_t *state, uint32_t row_count, uint32_t keep_percent,
                                  uint16_t *sel)
{
    uint32_t count = 0;
    for (uint32_t row = 0; row < row_count; row++) {
        if (test_random(state) % 100 < keep_percent) {
            sel[count++] = (uint16_t)row;
        }
    }
    return count;
}

#endif
