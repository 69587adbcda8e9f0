/* Goal:   row_number, rank and dense_rank, with and without a limit, are on each row what counting
 *         by hand gives, for any types, keys, directions, null placements, hash collisions and any
 *         number of workers, with suspended batches and time slices in the middle; a limited window
 *         keeps no more than its first rows; no memory stays
 * charged; a refused budget is an error. Method: seeded random tables go through sink, run source
 * and window source in the operator harness (which checks that a refused batch is made again) and
 * are compared, sorted, with rows numbered one at a time behind a qsort() of the same cells. */
#include "oracle/window_oracle.h"

#include <criterion/criterion.h>
#include <stdio.h>

static void add_functions(struct window_case *window_case, uint64_t dice)
{
    window_case->function_count = 1 + (uint32_t)(dice % FUNCTIONS_MAX);
    for (uint32_t f = 0; f < window_case->function_count; f++) {
        window_case->functions[f] = (enum exec_window_function)(1 + (dice / 3 + f) % 3);
        window_case->types[window_case->cells.column_count + f].kind = EXEC_TYPE_INT64;
    }
    window_case->limited = window_case->functions[0];
}

static void make_case(struct window_case *window_case, uint64_t *seed, uint32_t row_count)
{
    const uint32_t column_count = 1 + (uint32_t)(random_next(seed) % COLUMNS_MAX);
    const uint64_t distinct = random_next(seed) % 2 == 0 ? 4 : 500;
    const uint32_t nulls = (uint32_t)(random_next(seed) % 3 * 15);

    *window_case = (struct window_case){.limit = -1, .hash_bits = 64};
    for (uint32_t c = 0; c < column_count; c++) {
        window_case->types[c].kind = (uint8_t)(1 + random_next(seed) % (EXEC_TYPE_COUNT - 1));
    }
    window_case->cells = cells_make(row_count, window_case->types, column_count);
    for (uint32_t r = 0; r < row_count; r++) {
        for (uint32_t c = 0; c < column_count; c++) {
            cell_random(cells_at(&window_case->cells, r, c), &window_case->types[c], distinct,
                        nulls, seed);
        }
    }
    window_case->partition_count = (uint32_t)(random_next(seed) % 3);
    window_case->order_count = (uint32_t)(random_next(seed) % 4);
    for (uint32_t k = 0; k < KEYS_MAX; k++) {
        const uint64_t dice = random_next(seed);
        window_case->keys[k].column =
            dice % 7 == 0 ? COMPUTED : (uint32_t)(dice / 7 % column_count);
        window_case->keys[k].direction = (enum exec_direction)(1 + (dice >> 20) % 4);
    }
    add_functions(window_case, random_next(seed) >> 8);
}

Test(window, random_tables)
{
    uint64_t seed = 4711;
    struct window_case window_case;

    for (int n = 0; n < 60; n++) {
        const uint32_t rows =
            n % 5 == 0 ? (uint32_t)(n / 5) : (uint32_t)(random_next(&seed) % 3000);
        char what[64];
        make_case(&window_case, &seed, rows);
        snprintf(what, sizeof what, "table %d", n);
        for (uint32_t workers = 1; workers <= 8; workers = workers == 3 ? 8 : workers + 1) {
            window_case_check(&window_case, workers, (uint32_t)n % 3, n % 2 == 0 ? 2 : 0, false,
                              what);
        }
        for (uint32_t f = 1; f <= FUNCTIONS_MAX; f++) {
            window_case.limited = (enum exec_window_function)f;
            window_case.limit = (int64_t)(random_next(&seed) % 20);
            window_case_check(&window_case, 1 + (uint32_t)n % 4, (uint32_t)n % 2, 0, false, what);
            window_case.hash_bits = 3;
            window_case_check(&window_case, 2, 0, 3, false, what);
            window_case.hash_bits = 64;
        }
        window_case.limit = 2000;
        window_case_check(&window_case, 2, 1, 2, false, what);
        cells_free(&window_case.cells);
    }
}

/* Hashes cut to a few bits: partitions of one hash are told apart. */
Test(window, collisions)
{
    uint64_t seed = 8;
    struct window_case window_case;

    for (int n = 0; n < 12; n++) {
        make_case(&window_case, &seed, 3000);
        window_case.partition_count = 1 + (uint32_t)n % 2;
        window_case.hash_bits = 1 + (uint32_t)n % 4;
        window_case_check(&window_case, 3, 0, 0, false, "collisions");
        window_case.limit = 3;
        window_case_check(&window_case, 3, 0, 0, false, "collisions, limited");
        cells_free(&window_case.cells);
    }
}

/* Real threads fill, sort and merge; the order of batches differs, the result may not. */
Test(window, workers_at_once)
{
    uint64_t seed = 31;
    struct window_case window_case;

    for (int n = 0; n < 6; n++) {
        make_case(&window_case, &seed, 40000);
        window_case.limit = n % 2 == 0 ? -1 : 5;
        window_case_check(&window_case, 4, 0, 0, true, "threads");
        cells_free(&window_case.cells);
    }
}

static void integers(struct window_case *window_case, uint32_t rows, uint32_t partitions)
{
    uint64_t seed = 77;

    *window_case =
        (struct window_case){.limit = -1, .partition_count = 1, .order_count = 1, .hash_bits = 64};
    window_case->types[0].kind = EXEC_TYPE_INT32;
    window_case->types[1].kind = EXEC_TYPE_INT64;
    window_case->keys[0] = (struct case_key){0, EXEC_ASC_NULLS_LAST};
    window_case->keys[1] = (struct case_key){1, EXEC_DESC_NULLS_LAST};
    window_case->cells = cells_make(rows, window_case->types, 2);
    for (uint32_t r = 0; r < rows; r++) {
        *cells_at(&window_case->cells, r, 0) =
            (struct cell){.integer = (__int128)(random_next(&seed) % partitions)};
        *cells_at(&window_case->cells, r, 1) =
            (struct cell){.integer = (__int128)(random_next(&seed) % 1000000)};
    }
    add_functions(window_case, 2);
}

/* More rows than a run holds and several units; then the same rows in one partition. */
Test(window, several_runs_a_worker)
{
    struct window_case window_case;

    integers(&window_case, 300000, 20000);
    window_case_check(&window_case, 1, 0, 1, false, "20,000 partitions");
    window_case.limit = 2;
    window_case_check(&window_case, 2, 0, 0, false, "20,000 partitions, limited");
    cells_free(&window_case.cells);
    integers(&window_case, 300000, 1);
    window_case_check(&window_case, 1, 0, 1, false, "one partition");
    window_case.limit = 100;
    window_case_check(&window_case, 2, 0, 0, false, "one partition, limited");
    cells_free(&window_case.cells);
}

Test(window, limit_of_nothing)
{
    uint64_t seed = 5;
    struct window_case window_case;

    for (uint32_t f = 1; f <= FUNCTIONS_MAX; f++) {
        make_case(&window_case, &seed, 500);
        window_case.limited = (enum exec_window_function)f;
        window_case.limit = 0;
        window_case_check(&window_case, 2, 0, 0, false, "limit 0");
        window_case.limit = INT64_MAX;
        window_case_check(&window_case, 2, 0, 0, false, "largest limit");
        cells_free(&window_case.cells);
    }
}

/* Every row is the first of its partition so far: rows and long strings may not pile up. */
Test(window, a_limit_keeps_memory_small)
{
    const uint32_t rows = 200000;
    struct window_case window_case = {
        .limit = 2, .partition_count = 1, .order_count = 1, .hash_bits = 64};
    struct harness harness;

    window_case.types[0].kind = EXEC_TYPE_INT32;
    window_case.types[1].kind = EXEC_TYPE_INT64;
    window_case.types[2].kind = EXEC_TYPE_UTF8;
    window_case.keys[0] = (struct case_key){0, EXEC_ASC_NULLS_LAST};
    window_case.keys[1] = (struct case_key){1, EXEC_ASC_NULLS_LAST};
    window_case.cells = cells_make(rows, window_case.types, 3);
    for (uint32_t r = 0; r < rows; r++) {
        struct cell *text = cells_at(&window_case.cells, r, 2);
        *cells_at(&window_case.cells, r, 0) = (struct cell){.integer = r % 100};
        *cells_at(&window_case.cells, r, 1) = (struct cell){.integer = rows - r};
        *text = (struct cell){.text_bytes = 36};
        memset(text->text, 'x', 36);
    }
    window_case.functions[0] = window_case.limited = EXEC_WINDOW_ROW_NUMBER;
    window_case.function_count = 1;
    window_case.types[3].kind = EXEC_TYPE_INT64;
    harness_init(&harness, 1, 64, UINT64_MAX);
    window_case_run(&harness, &window_case);
    cr_assert_eq(harness.failure.code, EXEC_OK);
    cr_assert_eq(harness.lines.count, 200);
    /* 200,000 strings are 7 MB, rows and entries another 17. */
    cr_assert_lt(atomic_load(&harness.job.budget.peak_bytes), 5u << 20);
    harness_fini(&harness);
    cells_free(&window_case.cells);
}

Test(window, a_stop_is_seen)
{
    struct window_case window_case;

    integers(&window_case, 100000, 1);
    for (uint64_t questions = 1; questions < 40; questions += 6) {
        struct harness harness;
        harness_init(&harness, 1, 64, UINT64_MAX);
        harness.time_every = 1000; /* questions are counted */
        harness.cancel_after_questions = questions;
        window_case_run(&harness, &window_case);
        cr_assert_lt(harness.rows_out, window_case.cells.row_count);
        harness_fini(&harness);
    }
    cells_free(&window_case.cells);
}

Test(window, a_refused_budget_is_an_error)
{
    uint64_t seed = 9;
    struct window_case window_case;
    uint32_t refused = 0;

    make_case(&window_case, &seed, 20000);
    for (int64_t window_limit = -1; window_limit <= 3; window_limit += 4) {
        window_case.limit = window_limit;
        window_case.limited = EXEC_WINDOW_ROW_NUMBER;
        for (uint64_t limit = 64 << 10; limit < 3 << 20; limit += 192 << 10) {
            struct harness harness;
            harness_init(&harness, 2, 64, limit);
            window_case_run(&harness, &window_case);
            cr_assert(harness.failure.code == EXEC_OK ||
                      harness.failure.code == EXEC_MEMORY_BUDGET);
            refused += harness.failure.code == EXEC_MEMORY_BUDGET;
            harness_fini(&harness);
        }
    }
    cr_assert_gt(refused, 0);
    cells_free(&window_case.cells);
}
