/* Goal:   sort and top-n give exactly the rows of a plain sort, in its order, for any types, keys,
 *         directions, null placements, limits and offsets, any number of workers, with suspended
 *         batches and time slices in the middle; no memory stays charged; a refused budget is an
 * error. Method: seeded random tables go through sink, run source and ordered source in the
 * operator harness (which checks that a refused batch is made again) and are compared line by line
 * with qsort() over the same cells. */
#include "sort/sort.h"

#include "expr_builder.h"
#include "op_harness.h"
#include "oracle/row_order.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS_MAX = 4 };

/* The harness stands in for the job; this one function it leaves to us. */
enum exec_code job_memory_error(struct exec_error *err, const struct nu_budget *refused,
                                const char *what)
{
    return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "%s: %s", what,
                     refused == NULL ? "system" : refused->name);
}

struct sort_case {
    struct cells cells;
    struct exec_type types[COLUMNS_MAX];
    struct case_key keys[KEYS_MAX];
    uint32_t key_count;
    int64_t limit, offset;
};

/* ---- the twin
 * -------------------------------------------------------------------------------------------- */

static struct row_order twin; /* qsort() has no context */

static int twin_order(const void *a, const void *b)
{
    return row_order_total(&twin, *(const uint32_t *)a, *(const uint32_t *)b);
}

static void twin_lines(const struct sort_case *sort_case, struct lines *lines)
{
    const uint32_t row_count = sort_case->cells.row_count;
    uint32_t *rows = malloc((row_count + 1) * sizeof *rows);
    const int64_t end = sort_case->limit < 0 || sort_case->limit > row_count - sort_case->offset
                            ? row_count
                            : sort_case->offset + sort_case->limit;

    for (uint32_t r = 0; r < row_count; r++) {
        rows[r] = r;
    }
    twin = (struct row_order){&sort_case->cells, sort_case->types, sort_case->keys,
                              sort_case->key_count};
    qsort(rows, row_count, sizeof *rows, twin_order);
    for (int64_t i = sort_case->offset; i < end; i++) {
        const struct cell *cells[COLUMNS_MAX];
        const struct exec_type *types[COLUMNS_MAX];
        for (uint32_t c = 0; c < sort_case->cells.column_count; c++) {
            cells[c] = cells_at(&sort_case->cells, rows[i], c);
            types[c] = &sort_case->types[c];
        }
        lines_add(lines, cells, types, sort_case->cells.column_count);
    }
    free(rows);
}

/* ---- running
 * ---------------------------------------------------------------------------------------------- */

static struct sort *make_sort(struct harness *harness, const struct sort_case *sort_case)
{
    static struct expr_builder b;
    struct exec_field fields[COLUMNS_MAX];
    const struct exec_schema schema = {fields, sort_case->cells.column_count};
    const struct expr_scope scope = {{&schema, NULL}, 1};
    struct sort_key *keys = nu_arena_calloc(&harness->job.plan, KEYS_MAX * sizeof *keys, 8);
    struct sort_plan plan = {.rel = 3,
                             .types = sort_case->types,
                             .column_count = sort_case->cells.column_count,
                             .keys = keys,
                             .key_count = sort_case->key_count,
                             .limit = sort_case->limit,
                             .offset = sort_case->offset};
    struct sort *sort;
    struct exec_error err;

    memset(&b, 0, sizeof b);
    for (uint32_t c = 0; c < schema.field_count; c++) {
        fields[c] = (struct exec_field){.name = "c", .type = sort_case->types[c]};
    }
    for (uint32_t k = 0; k < sort_case->key_count; k++) {
        const uint32_t column = sort_case->keys[k].column;
        const uint32_t index = column == COMPUTED ? BUILD_CALL(&b, "is_null", build_index(&b, 1))
                                                  : build_index(&b, column + 1);
        keys[k].direction = sort_case->keys[k].direction;
        cr_assert_eq(expr_bind(&harness->job.plan, &b.spec, index, &scope, &keys[k].expr, &err),
                     EXEC_OK, "%s", err.detail);
    }
    cr_assert_eq(sort_create(&harness->job, &plan, &sort, &err), EXEC_OK);
    return sort;
}

static void run_sort(struct harness *harness, const struct sort_case *sort_case)
{
    struct sort *sort = make_sort(harness, sort_case);
    struct op_sink *sink = sort_sink(sort);

    harness->out_types = sort_case->types;
    harness_feed_sink(harness, sink, &sort_case->cells);
    if (sink->kind->finish != NULL) {
        harness_finish_sink(harness, sink);
    }
    if (sort_run_source(sort) != NULL) {
        harness_run_source(harness, sort_run_source(sort));
    }
    harness_run_source(harness, sort_ordered_source(sort));
}

static void check(const struct sort_case *sort_case, uint32_t workers, uint32_t refusals,
                  uint32_t time_every, const char *what)
{
    struct harness harness;
    struct lines wanted = {0};

    harness_init(&harness, workers, 64, UINT64_MAX);
    harness.refusals = refusals;
    harness.time_every = time_every;
    run_sort(&harness, sort_case);
    cr_assert_eq(harness.failure.code, EXEC_OK, "%s", harness.failure.detail);
    twin_lines(sort_case, &wanted);
    cr_assert_eq(harness.lines.count, wanted.count, "%s: got %lu rows, wanted %lu", what,
                 (unsigned long)harness.lines.count, (unsigned long)wanted.count);
    for (uint64_t i = 0; i < wanted.count; i++) {
        cr_assert_str_eq(harness.lines.at[i], wanted.at[i], "%s: row %lu", what, (unsigned long)i);
    }
    lines_free(&wanted);
    harness_fini(&harness);
}

static void make_case(struct sort_case *sort_case, uint64_t *seed, uint32_t row_count)
{
    const uint32_t column_count = 1 + (uint32_t)(random_next(seed) % COLUMNS_MAX);
    const uint64_t distinct = random_next(seed) % 2 == 0 ? 4 : 5000;
    const uint32_t nulls = (uint32_t)(random_next(seed) % 3 * 15);

    *sort_case = (struct sort_case){.limit = -1};
    for (uint32_t c = 0; c < column_count; c++) {
        sort_case->types[c].kind = (uint8_t)(1 + random_next(seed) % (EXEC_TYPE_COUNT - 1));
    }
    sort_case->cells = cells_make(row_count, sort_case->types, column_count);
    for (uint32_t r = 0; r < row_count; r++) {
        for (uint32_t c = 0; c < column_count; c++) {
            cell_random(cells_at(&sort_case->cells, r, c), &sort_case->types[c], distinct, nulls,
                        seed);
        }
    }
    sort_case->key_count = 1 + (uint32_t)(random_next(seed) % KEYS_MAX);
    for (uint32_t k = 0; k < sort_case->key_count; k++) {
        const uint64_t dice = random_next(seed);
        sort_case->keys[k].column = dice % 7 == 0 ? COMPUTED : (uint32_t)(dice / 7 % column_count);
        sort_case->keys[k].direction = (enum exec_direction)(1 + (dice >> 20) % 4);
    }
}

Test(sort, random_tables)
{
    uint64_t seed = 2024;
    struct sort_case sort_case;

    for (int n = 0; n < 60; n++) {
        const uint32_t rows =
            n % 5 == 0 ? (uint32_t)(n / 5) : (uint32_t)(random_next(&seed) % 3000);
        char what[64];
        make_case(&sort_case, &seed, rows);
        snprintf(what, sizeof what, "table %d", n);
        check(&sort_case, 1 + (uint32_t)n % 4, (uint32_t)n % 3, n % 2 == 0 ? 2 : 0, what);
        sort_case.offset = (int64_t)(random_next(&seed) % 40);
        check(&sort_case, 3, 0, 3, what);
        sort_case.limit = (int64_t)(random_next(&seed) % 100);
        check(&sort_case, 1 + (uint32_t)n % 4, (uint32_t)n % 2, 0, what);
        sort_case.limit = 9000;
        check(&sort_case, 2, 1, 2, what);
        cells_free(&sort_case.cells);
    }
}

/* Real threads fill and sort their runs; the order of batches differs, the result may not. */
Test(sort, workers_at_once)
{
    uint64_t seed = 31;
    struct sort_case sort_case;

    for (int n = 0; n < 4; n++) {
        struct harness harness;
        struct lines wanted = {0};
        make_case(&sort_case, &seed, 20000);
        sort_case.limit = n % 2 == 0 ? -1 : 500;
        harness_init(&harness, 4, 64, UINT64_MAX);
        struct sort *sort = make_sort(&harness, &sort_case);
        struct op_sink *sink = sort_sink(sort);
        harness.out_types = sort_case.types;
        harness.threads = true;
        harness_feed_sink(&harness, sink, &sort_case.cells);
        if (sink->kind->finish != NULL) {
            harness_finish_sink(&harness, sink);
        }
        if (sort_run_source(sort) != NULL) {
            harness_run_source(&harness, sort_run_source(sort));
        }
        harness.threads = false;
        harness_run_source(&harness, sort_ordered_source(sort));
        twin_lines(&sort_case, &wanted);
        cr_assert_eq(harness.lines.count, wanted.count);
        for (uint64_t i = 0; i < wanted.count; i++) {
            cr_assert_str_eq(harness.lines.at[i], wanted.at[i]);
        }
        lines_free(&wanted);
        harness_fini(&harness);
        cells_free(&sort_case.cells);
    }
}

Test(sort, limits_at_their_ends)
{
    uint64_t seed = 5;
    struct sort_case sort_case;

    make_case(&sort_case, &seed, 500);
    sort_case.limit = 0;
    check(&sort_case, 2, 0, 0, "limit 0");
    sort_case.offset = 1000;
    sort_case.limit = 10;
    check(&sort_case, 2, 0, 0, "offset behind the end");
    sort_case.limit = -1;
    check(&sort_case, 2, 0, 0, "offset behind the end, no limit");
    sort_case.offset = 499;
    sort_case.limit = INT64_MAX;
    check(&sort_case, 2, 0, 0, "largest limit");
    cells_free(&sort_case.cells);
}

/* More rows than a run holds, many batches, time slices of one check: runs are cut and merged. */
Test(sort, several_runs_a_worker)
{
    uint64_t seed = 77;
    struct sort_case sort_case = {.limit = -1, .key_count = 1};
    const uint32_t rows = 600000;

    sort_case.types[0].kind = EXEC_TYPE_INT32;
    sort_case.keys[0] = (struct case_key){0, EXEC_DESC_NULLS_LAST};
    sort_case.cells = cells_make(rows, sort_case.types, 1);
    for (uint32_t r = 0; r < rows; r++) {
        *cells_at(&sort_case.cells, r, 0) =
            (struct cell){.integer = (__int128)(int32_t)random_next(&seed)};
    }
    check(&sort_case, 1, 0, 1, "600000 rows");
    cells_free(&sort_case.cells);
}

/* Every row replaces one of the heap: its long strings may not pile up. */
Test(sort, top_n_drops_strings_it_no_longer_needs)
{
    const struct exec_type types[] = {{.kind = EXEC_TYPE_INT64}, {.kind = EXEC_TYPE_UTF8}};
    struct sort_case sort_case = {.limit = 10, .key_count = 1};
    const uint32_t rows = 200000;
    struct harness harness;

    memcpy(sort_case.types, types, sizeof types);
    sort_case.keys[0] = (struct case_key){0, EXEC_ASC_NULLS_LAST};
    sort_case.cells = cells_make(rows, sort_case.types, 2);
    for (uint32_t r = 0; r < rows; r++) {
        struct cell *text = cells_at(&sort_case.cells, r, 1);
        *cells_at(&sort_case.cells, r, 0) = (struct cell){.integer = rows - r};
        *text = (struct cell){.text_bytes = 36};
        memset(text->text, 'x', 36);
    }
    harness_init(&harness, 1, 64, UINT64_MAX);
    run_sort(&harness, &sort_case);
    cr_assert_eq(harness.failure.code, EXEC_OK);
    cr_assert_eq(harness.lines.count, 10);
    cr_assert_not_null(strstr(harness.lines.at[0], ":1 "));
    /* 200,000 strings are 7 MB. */
    cr_assert_lt(atomic_load(&harness.job.budget.peak_bytes), 5u << 20);
    harness_fini(&harness);
    cells_free(&sort_case.cells);
}

Test(sort, a_refused_budget_is_an_error)
{
    uint64_t seed = 9;
    struct sort_case sort_case;

    make_case(&sort_case, &seed, 20000);
    for (uint64_t limit = 64 << 10; limit < 3 << 20; limit += 192 << 10) {
        struct harness harness;
        harness_init(&harness, 2, 64, UINT64_MAX);
        struct sort *sort = make_sort(&harness, &sort_case);
        harness.job.budget.limit_bytes = nu_budget_used(&harness.job.budget) + limit;
        harness.out_types = sort_case.types;
        harness_feed_sink(&harness, sort_sink(sort), &sort_case.cells);
        if (harness.failure.code == EXEC_OK) {
            harness_run_source(&harness, sort_run_source(sort));
        }
        if (harness.failure.code == EXEC_OK) {
            harness_run_source(&harness, sort_ordered_source(sort));
        }
        cr_assert(harness.failure.code == EXEC_MEMORY_BUDGET ||
                  harness.rows_out == sort_case.cells.row_count);
        harness_fini(&harness);
    }
    cells_free(&sort_case.cells);
}
