#include "oracle/window_oracle.h"

#include "exec/expr_builder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

/* The harness stands in for the job; this one function it leaves to us. */
enum exec_code job_memory_error(struct exec_error *err, const struct nu_budget *refused,
                                const char *what)
{
    return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "%s: %s", what,
                     refused == NULL ? "system" : refused->name);
}

/* ---- the twin
 * -------------------------------------------------------------------------------------------- */

static struct row_order twin; /* qsort() has no context */

static int twin_order(const void *a, const void *b)
{
    return row_order_total(&twin, *(const uint32_t *)a, *(const uint32_t *)b);
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
    twin = (struct row_order){&window_case->cells, window_case->types, window_case->keys,
                              window_case->partition_count + window_case->order_count};
    qsort(rows, row_count, sizeof *rows, twin_order);
    for (uint32_t i = 0; i < row_count; i++) {
        const bool starts = i == 0 || row_order_by_keys(&twin, 0, window_case->partition_count,
                                                        rows[i - 1], rows[i]) != 0;
        const bool differs =
            starts || row_order_by_keys(&twin, window_case->partition_count,
                                        window_case->order_count, rows[i - 1], rows[i]) != 0;
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

static bool is_real(uint8_t kind)
{
    return kind == EXEC_TYPE_FLOAT32 || kind == EXEC_TYPE_FLOAT64;
}

/* As statistics would tell. */
static struct window_column known_of(const struct window_case *window_case, uint32_t column)
{
    const uint8_t kind = window_case->types[column].kind;
    struct window_column known = {.is_bounded = kind != EXEC_TYPE_UTF8 &&
                                                kind != EXEC_TYPE_BINARY &&
                                                kind != EXEC_TYPE_DECIMAL128};
    bool is_first = true;

    for (uint32_t r = 0; r < window_case->cells.row_count; r++) {
        const struct cell *cell = cells_at(&window_case->cells, r, column);
        known.may_be_null |= cell->null;
        if (cell->null || !known.is_bounded) {
            continue;
        }
        if (is_real(kind)) {
            known.is_bounded = isfinite(cell->real);
            continue;
        }
        known.is_bounded = cell->integer <= INT64_MAX;
        const int64_t value = (int64_t)cell->integer;
        known.least = is_first || value < known.least ? value : known.least;
        known.most = is_first || value > known.most ? value : known.most;
        is_first = false;
    }
    return known;
}

struct window *window_case_make(struct harness *harness, const struct window_case *window_case)
{
    static struct expr_builder b;
    struct exec_field fields[COLUMNS_MAX];
    const struct exec_schema schema = {fields, window_case->cells.column_count};
    const struct expr_scope scope = {{&schema, NULL}, 1};
    struct sort_key *keys = nu_arena_calloc(&harness->job.plan, KEYS_MAX * sizeof *keys, 8);
    struct window_column columns[COLUMNS_MAX] = {{.is_bounded = false}};
    const struct window_plan plan = {.rel = 3,
                                     .types = window_case->types,
                                     .column_count = window_case->cells.column_count,
                                     .keys = keys,
                                     .partition_count = window_case->partition_count,
                                     .order_count = window_case->order_count,
                                     .functions = window_case->functions,
                                     .function_count = window_case->function_count,
                                     .limited = window_case->limited,
                                     .limit = window_case->limit,
                                     .columns = window_case->is_known ? columns : NULL,
                                     .rows = window_case->cells.row_count};
    struct window *window;
    struct exec_error err;

    memset(&b, 0, sizeof b);
    for (uint32_t c = 0; c < schema.field_count; c++) {
        fields[c] = (struct exec_field){.name = "c", .type = window_case->types[c]};
        columns[c] = known_of(window_case, c);
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

void window_case_run(struct harness *harness, const struct window_case *window_case)
{
    struct window *window = window_case_make(harness, window_case);

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

void window_case_check(const struct window_case *window_case, uint32_t workers, uint32_t refusals,
                       uint32_t time_every, bool threads, const char *what)
{
    struct harness harness;
    struct lines wanted = {0};

    harness_init(&harness, workers, window_case->hash_bits, UINT64_MAX);
    harness.refusals = refusals;
    harness.time_every = time_every;
    harness.threads = threads;
    window_case_run(&harness, window_case);
    cr_assert_eq(harness.failure.code, EXEC_OK, "%s", harness.failure.detail);
    twin_lines(window_case, &wanted);
    lines_assert_equal(&harness.lines, &wanted, what);
    lines_free(&wanted);
    harness_fini(&harness);
}
