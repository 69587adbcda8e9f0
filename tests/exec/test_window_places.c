/* Goal:   a limited row_number whose output is keys of few values and the order key says without
 *         keeping rows what counting by hand gives: any integer key, any direction and placement of
 *         nulls, zeros of both signs, any number of workers, batches refused in the middle; what it
 *         is not for goes the other way, with the same answer.
 * Method: as test_window.c, the window told of its columns what statistics would tell. */
#include "oracle/window_oracle.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool goes_by_place(const struct window_case *window_case)
{
    struct harness harness;
    bool goes;

    harness_init(&harness, 2, 64, UINT64_MAX);
    struct window *window = window_case_make(&harness, window_case);
    goes = strcmp(window_sink(window)->kind->name, "window top-n by place") == 0;
    window_source(window)->kind->close(window_source(window), &harness.job);
    harness_fini(&harness);
    return goes;
}

static struct cell random_order(const struct exec_type *type, uint64_t *seed)
{
    const uint64_t dice = random_next(seed);
    struct cell cell = {.null = dice % 7 == 0};

    if (type->kind == EXEC_TYPE_FLOAT32 || type->kind == EXEC_TYPE_FLOAT64) {
        static const double values[] = {0.0,      -0.0,      1.5,     -1.5,
                                        0x1p-149, -0x1p-149, 0x1p127, -0x1p127};
        cell.real = values[dice / 7 % 8];
    } else {
        cell.integer = (__int128)(dice / 7 % 50);
        if (exec_type_width(type->kind) == 8 && type->kind != EXEC_TYPE_UINT64 && dice % 3 == 0) {
            cell.integer += INT64_MIN;
        }
    }
    return cell;
}

/* Up to two partition keys, then the order key; sometimes one of them twice. */
static void make_small(struct window_case *window_case, uint64_t *seed, uint32_t row_count)
{
    static const uint8_t key_kinds[] = {EXEC_TYPE_INT8,   EXEC_TYPE_INT16,  EXEC_TYPE_INT32,
                                        EXEC_TYPE_INT64,  EXEC_TYPE_UINT8,  EXEC_TYPE_UINT16,
                                        EXEC_TYPE_UINT32, EXEC_TYPE_DATE32, EXEC_TYPE_BOOL};
    static const uint8_t order_kinds[] = {EXEC_TYPE_FLOAT32, EXEC_TYPE_FLOAT64, EXEC_TYPE_INT16,
                                          EXEC_TYPE_INT64, EXEC_TYPE_UINT64};
    const uint32_t key_count = (uint32_t)(random_next(seed) % 3);
    const uint64_t values = 1 + random_next(seed) % 40;

    *window_case = (struct window_case){.hash_bits = 64,
                                        .is_known = true,
                                        .partition_count = key_count,
                                        .order_count = 1,
                                        .limit = 1 + (int64_t)(random_next(seed) % 8),
                                        .limited = EXEC_WINDOW_ROW_NUMBER,
                                        .function_count = (uint32_t)(random_next(seed) % 3)};
    for (uint32_t c = 0; c <= key_count; c++) {
        window_case->types[c].kind =
            c < key_count ? key_kinds[random_next(seed) % 9] : order_kinds[random_next(seed) % 5];
        window_case->keys[c] =
            (struct case_key){c, (enum exec_direction)(1 + random_next(seed) % 4)};
    }
    for (uint32_t f = 0; f < window_case->function_count; f++) {
        window_case->functions[f] = EXEC_WINDOW_ROW_NUMBER;
        window_case->types[key_count + 1 + f].kind = EXEC_TYPE_INT64;
    }
    window_case->cells = cells_make(row_count, window_case->types, key_count + 1);
    for (uint32_t r = 0; r < row_count; r++) {
        for (uint32_t c = 0; c < key_count; c++) {
            const uint8_t kind = window_case->types[c].kind;
            const bool is_signed = kind >= EXEC_TYPE_INT8 && kind <= EXEC_TYPE_INT64;
            const uint64_t dice = random_next(seed);
            *cells_at(&window_case->cells, r, c) = (struct cell){
                .null = dice % 11 == 0,
                .integer = (__int128)(dice / 11 % (kind == EXEC_TYPE_BOOL ? 2 : values)) -
                           (is_signed ? 7 : 0)};
        }
        *cells_at(&window_case->cells, r, key_count) =
            random_order(&window_case->types[key_count], seed);
    }
}

Test(window_places, partitions_by_place)
{
    uint64_t seed = 2026;
    struct window_case window_case;

    for (uint32_t n = 0; n < 120; n++) {
        char what[64];
        make_small(&window_case, &seed, n < 3 ? n : (uint32_t)(random_next(&seed) % 4000));
        snprintf(what, sizeof what, "by place %u", n);
        cr_assert(goes_by_place(&window_case), "%s", what);
        window_case_check(&window_case, 1 + n % 4, n % 3, n % 2 == 0 ? 2 : 0, n % 10 == 0, what);
        cells_free(&window_case.cells);
    }
}

/* What it is not for goes the other way, with the same answer. */
Test(window_places, not_by_place)
{
    uint64_t seed = 11;
    struct window_case window_case;

    for (uint32_t n = 0; n < 8; n++) {
        do {
            make_small(&window_case, &seed, 500);
        } while (window_case.partition_count != 1 || window_case.function_count == 0 ||
                 window_case.types[1].kind != EXEC_TYPE_FLOAT64);
        switch (n) {
            case 0: window_case.limit = 9; break;
            case 1: window_case.limited = EXEC_WINDOW_RANK; break;
            case 2: window_case.functions[0] = EXEC_WINDOW_RANK; break;
            case 3: window_case.keys[1].column = COMPUTED; break;
            case 4: window_case.is_known = false; break;
            case 5: *cells_at(&window_case.cells, 3, 1) = (struct cell){.real = NAN}; break;
            case 6: window_case.keys[0].column = 1; break;
            default: window_case.order_count = 0; break;
        }
        cr_assert_not(goes_by_place(&window_case), "%u", n);
        window_case_check(&window_case, 2, 0, 0, false, "not by place");
        cells_free(&window_case.cells);
    }
}

/* Integers from one end of int64 to the other have no code; all but the last do. */
Test(window_places, places_of_wide_integers)
{
    struct window_case window_case;

    for (int64_t gap = 0; gap < 6; gap++) {
        window_case = (struct window_case){.hash_bits = 64,
                                           .is_known = true,
                                           .order_count = 1,
                                           .limit = 3,
                                           .limited = EXEC_WINDOW_ROW_NUMBER};
        window_case.types[0].kind = EXEC_TYPE_INT64;
        window_case.cells = cells_make(4, window_case.types, 1);
        *cells_at(&window_case.cells, 0, 0) = (struct cell){.integer = INT64_MAX};
        *cells_at(&window_case.cells, 1, 0) = (struct cell){.integer = INT64_MIN + gap};
        *cells_at(&window_case.cells, 2, 0) = (struct cell){.null = true};
        *cells_at(&window_case.cells, 3, 0) = (struct cell){.integer = 0};
        cr_assert_eq(goes_by_place(&window_case), gap >= 3, "%d", (int)gap);
        for (uint32_t d = 1; d <= 4; d++) {
            window_case.keys[0] = (struct case_key){0, (enum exec_direction)d};
            window_case_check(&window_case, 2, 0, 0, false, "wide integers");
        }
        cells_free(&window_case.cells);
    }
}
