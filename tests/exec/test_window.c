/* Goal:   row_number, rank and dense_rank, with and without a limit, are on each row what counting
 *         by hand gives, for any types, keys, directions, null placements, hash collisions and any
 *         number of workers, with suspended batches and time slices in the middle; a limited window
 *         keeps no more than its first rows; no memory stays charged; a refused budget is an error.
 * Method: seeded random tables go through sink, run source and window source in the operator
 *         harness (which checks that a refused batch is made again) and are compared, sorted, with
 *         rows numbered one at a time behind a qsort() of the same cells. */
#include "sort/window.h"

#include "expr_builder.h"
#include "op_harness.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS_MAX = 5, KEYS_MAX = 5, FUNCTIONS_MAX = 3, COMPUTED = COLUMNS_MAX };

/* The harness stands in for the job; this one function it leaves to us. */
enum exec_code job_memory_error(struct exec_error *err, const struct nu_budget *refused,
                                const char *what)
{
    return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "%s: %s", what,
                     refused == NULL ? "system" : refused->name);
}

struct case_key {
    uint32_t column; /* COMPUTED: whether column 0 is null */
    enum exec_direction direction;
};

struct window_case {
    struct cells cells;
    struct exec_type types[COLUMNS_MAX + FUNCTIONS_MAX]; /* of the output */
    struct case_key keys[KEYS_MAX];
    uint32_t partition_count, order_count;
    enum exec_window_function functions[FUNCTIONS_MAX];
    uint32_t function_count;
    enum exec_window_function limited;
    int64_t limit;
    uint32_t hash_bits;
};

/* ---- the twin
 * -------------------------------------------------------------------------------------------- */

static const struct window_case *twin; /* qsort() has no context */

static int twin_key(const struct case_key *key, uint32_t a, uint32_t b)
{
    const struct cell *x = cells_at(&twin->cells, a, key->column == COMPUTED ? 0 : key->column);
    const struct cell *y = cells_at(&twin->cells, b, key->column == COMPUTED ? 0 : key->column);
    const bool descending =
        key->direction == EXEC_DESC_NULLS_FIRST || key->direction == EXEC_DESC_NULLS_LAST;
    const bool nulls_first =
        key->direction == EXEC_ASC_NULLS_FIRST || key->direction == EXEC_DESC_NULLS_FIRST;
    int order;

    if (key->column == COMPUTED) {
        order = (int)x->null - (int)y->null;
    } else if (x->null || y->null) {
        order = (int)x->null - (int)y->null;
        return nulls_first ? -order : order;
    } else {
        order = cell_compare(x, y, &twin->types[key->column]);
    }
    return descending ? -order : order;
}

static int twin_bytes(const struct cell *x, const struct cell *y, const struct exec_type *type)
{
    const float x_single = (float)x->real;
    const float y_single = (float)y->real;

    if (x->null || y->null) {
        return 0;
    }
    if (type->kind == EXEC_TYPE_FLOAT64) {
        return memcmp(&x->real, &y->real, 8);
    }
    return type->kind == EXEC_TYPE_FLOAT32 ? memcmp(&x_single, &y_single, 4) : 0;
}

static int twin_keys(uint32_t first, uint32_t count, uint32_t a, uint32_t b)
{
    int order = 0;

    for (uint32_t k = first; order == 0 && k < first + count; k++) {
        order = twin_key(&twin->keys[k], a, b);
    }
    return order;
}

static int twin_order(const void *a_row, const void *b_row)
{
    const uint32_t a = *(const uint32_t *)a_row;
    const uint32_t b = *(const uint32_t *)b_row;
    int order = twin_keys(0, twin->partition_count + twin->order_count, a, b);

    for (uint32_t c = 0; order == 0 && c < twin->cells.column_count; c++) {
        const struct case_key whole = {c, EXEC_ASC_NULLS_LAST};
        order = twin_key(&whole, a, b);
    }
    for (uint32_t c = 0; order == 0 && c < twin->cells.column_count; c++) {
        order =
            twin_bytes(cells_at(&twin->cells, a, c), cells_at(&twin->cells, b, c), &twin->types[c]);
    }
    return order;
}

static void twin_line(const struct window_case *window_case, uint32_t row, const int64_t *values,
                      struct lines *lines)
{
    const uint32_t own = window_case->cells.column_count;
    const struct cell *cells[COLUMNS_MAX + FUNCTIONS_MAX];
    const struct exec_type *types[COLUMNS_MAX + FUNCTIONS_MAX];
    struct cell numbers[FUNCTIONS_MAX];

    for (uint32_t c = 0; c < own; c++) {
        cells[c] = cells_at(&window_case->cells, row, c);
        types[c] = &window_case->types[c];
    }
    for (uint32_t f = 0; f < window_case->function_count; f++) {
        numbers[f] = (struct cell){.integer = values[window_case->functions[f]]};
        cells[own + f] = &numbers[f];
        types[own + f] = &window_case->types[own + f];
    }
    lines_add(lines, cells, types, own + window_case->function_count);
}

static void twin_lines(const struct window_case *window_case, struct lines *lines)
{
    const uint32_t row_count = window_case->cells.row_count;
    uint32_t *rows = malloc((row_count + 1) * sizeof *rows);
    int64_t values[4] = {0};

    for (uint32_t r = 0; r < row_count; r++) {
        rows[r] = r;
    }
    twin = window_case;
    qsort(rows, row_count, sizeof *rows, twin_order);
    for (uint32_t i = 0; i < row_count; i++) {
        const bool starts =
            i == 0 || twin_keys(0, twin->partition_count, rows[i - 1], rows[i]) != 0;
        const bool differs = starts || twin_keys(twin->partition_count, twin->order_count,
                                                 rows[i - 1], rows[i]) != 0;
        values[EXEC_WINDOW_ROW_NUMBER] = starts ? 1 : values[EXEC_WINDOW_ROW_NUMBER] + 1;
        values[EXEC_WINDOW_RANK] =
            differs ? values[EXEC_WINDOW_ROW_NUMBER] : values[EXEC_WINDOW_RANK];
        values[EXEC_WINDOW_DENSE_RANK] =
            starts ? 1 : values[EXEC_WINDOW_DENSE_RANK] + (int64_t)differs;
        if (window_case->limit < 0 || values[window_case->limited] <= window_case->limit) {
            twin_line(window_case, rows[i], values, lines);
        }
    }
    free(rows);
}

/* ---- running
 * ---------------------------------------------------------------------------------------------- */

static struct window *make_window(struct harness *harness, const struct window_case *window_case)
{
    static struct expr_builder b;
    struct exec_field fields[COLUMNS_MAX];
    const struct exec_schema schema = {fields, window_case->cells.column_count};
    const struct expr_scope scope = {{&schema, NULL}, 1};
    struct sort_key *keys = nu_arena_calloc(&harness->job.plan, KEYS_MAX * sizeof *keys, 8);
    const struct window_plan plan = {.rel = 3,
                                     .types = window_case->types,
                                     .column_count = window_case->cells.column_count,
                                     .keys = keys,
                                     .partition_count = window_case->partition_count,
                                     .order_count = window_case->order_count,
                                     .functions = window_case->functions,
                                     .function_count = window_case->function_count,
                                     .limited = window_case->limited,
                                     .limit = window_case->limit};
    struct window *window;
    struct exec_error err;

    memset(&b, 0, sizeof b);
    for (uint32_t c = 0; c < schema.field_count; c++) {
        fields[c] = (struct exec_field){.name = "c", .type = window_case->types[c]};
    }
    for (uint32_t k = 0; k < window_case->partition_count + window_case->order_count; k++) {
        const uint32_t column = window_case->keys[k].column;
        const uint32_t index = column == COMPUTED ? BUILD_CALL(&b, "is_null", build_index(&b, 1))
                                                  : build_index(&b, column + 1);
        keys[k].direction = window_case->keys[k].direction;
        cr_assert_eq(expr_bind(&harness->job.plan, &b.spec, index, &scope, &keys[k].expr, &err),
                     EXEC_OK, "%s", err.detail);
    }
    cr_assert_eq(window_create(&harness->job, &plan, &window, &err), EXEC_OK);
    return window;
}

static void run_window(struct harness *harness, const struct window_case *window_case)
{
    struct window *window = make_window(harness, window_case);

    harness->out_types = window_case->types;
    harness_feed_sink(harness, window_sink(window), &window_case->cells);
    if (harness->failure.code == EXEC_OK) {
        harness_run_source(harness, window_run_source(window));
    }
    if (harness->failure.code == EXEC_OK) {
        harness_run_source(harness, window_source(window));
    } else {
        window_source(window)->kind->close(window_source(window), &harness->job);
    }
}

static void check(const struct window_case *window_case, uint32_t workers, uint32_t refusals,
                  uint32_t time_every, bool threads, const char *what)
{
    struct harness harness;
    struct lines wanted = {0};

    harness_init(&harness, workers, window_case->hash_bits, UINT64_MAX);
    harness.refusals = refusals;
    harness.time_every = time_every;
    harness.threads = threads;
    run_window(&harness, window_case);
    cr_assert_eq(harness.failure.code, EXEC_OK, "%s", harness.failure.detail);
    twin_lines(window_case, &wanted);
    lines_assert_equal(&harness.lines, &wanted, what);
    lines_free(&wanted);
    harness_fini(&harness);
}

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
            check(&window_case, workers, (uint32_t)n % 3, n % 2 == 0 ? 2 : 0, false, what);
        }
        for (uint32_t f = 1; f <= FUNCTIONS_MAX; f++) {
            window_case.limited = (enum exec_window_function)f;
            window_case.limit = (int64_t)(random_next(&seed) % 20);
            check(&window_case, 1 + (uint32_t)n % 4, (uint32_t)n % 2, 0, false, what);
            window_case.hash_bits = 3;
            check(&window_case, 2, 0, 3, false, what);
            window_case.hash_bits = 64;
        }
        window_case.limit = 2000;
        check(&window_case, 2, 1, 2, false, what);
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
        check(&window_case, 3, 0, 0, false, "collisions");
        window_case.limit = 3;
        check(&window_case, 3, 0, 0, false, "collisions, limited");
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
        check(&window_case, 4, 0, 0, true, "threads");
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
    check(&window_case, 1, 0, 1, false, "20,000 partitions");
    window_case.limit = 2;
    check(&window_case, 2, 0, 0, false, "20,000 partitions, limited");
    cells_free(&window_case.cells);
    integers(&window_case, 300000, 1);
    check(&window_case, 1, 0, 1, false, "one partition");
    window_case.limit = 100;
    check(&window_case, 2, 0, 0, false, "one partition, limited");
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
        check(&window_case, 2, 0, 0, false, "limit 0");
        window_case.limit = INT64_MAX;
        check(&window_case, 2, 0, 0, false, "largest limit");
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
    run_window(&harness, &window_case);
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
        run_window(&harness, &window_case);
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
            run_window(&harness, &window_case);
            cr_assert(harness.failure.code == EXEC_OK ||
                      harness.failure.code == EXEC_MEMORY_BUDGET);
            refused += harness.failure.code == EXEC_MEMORY_BUDGET;
            harness_fini(&harness);
        }
    }
    cr_assert_gt(refused, 0);
    cells_free(&window_case.cells);
}
