/* Goal:   histogram counts every value once, in order, quoted where a text could be read otherwise;
 *         quantiles and mode follow a descending order of their argument; more values than a
 *         histogram may have are refused by name; none of it depends on the workers.
 * Method: numbers made from row numbers, counted again here row by row; texts with every special
 *         character, with their histogram written out.
 */
#include "job_runner.h"
#include "op/group.h"
#include "spec_builder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 5000, GROUPS = 3, VALUES = 40, TEXT_BYTES = 4000 };

static int64_t value_of(int64_t row)
{
    return (row * row + 7 * row) % VALUES;
}

static struct exec_measure *measure(struct spec_builder *b, enum exec_aggregate_function function,
                                    uint32_t argument, const char *name)
{
    spec_measure(b, function, argument, name);
    struct exec_rel *rel = &b->rels[b->rel_count - 1];
    return (struct exec_measure *)(uintptr_t)&rel->u.aggregate
        .measures[rel->u.aggregate.measure_count - 1];
}

static void descending(struct spec_builder *b, struct exec_measure *of, double fraction)
{
    const struct exec_sort_key key = {.expr = of->args[0], .direction = EXEC_DESC_NULLS_LAST};
    const struct exec_literal literal = {.type.kind = EXEC_TYPE_FLOAT64, .value.f64 = fraction};

    of->order = spec_memory(b, &key, sizeof key);
    of->order_count = 1;
    if (of->function != EXEC_AGG_MODE) {
        of->parameters = spec_memory(b, &literal, sizeof literal);
        of->parameter_count = 1;
    }
}

static void make(struct spec_builder *b)
{
    const uint32_t scan = spec_generator(b, "sequence", ROWS, 0);
    const uint32_t i = spec_column(b, "i");
    const uint32_t square = spec_call2(b, "multiply", i, i);
    const uint32_t more =
        spec_call2(b, "add", square, spec_call2(b, "multiply", i, spec_i64(b, 7)));
    const uint32_t value = spec_call2(b, "modulo", more, spec_i64(b, VALUES));

    spec_group(b, scan);
    spec_key(b, "g", spec_call2(b, "modulo", i, spec_i64(b, GROUPS)));
    measure(b, EXEC_AGG_HISTOGRAM, value, "h");
    measure(b, EXEC_AGG_HISTOGRAM, value, "d")->distinct = true;
    descending(b, measure(b, EXEC_AGG_QUANTILE_DISC, value, "q"), 0.3);
    descending(b, measure(b, EXEC_AGG_QUANTILE_CONT, value, "c"), 0.3);
    descending(b, measure(b, EXEC_AGG_MODE, value, "m"), 0);
}

/* The row of one group, as job_runner.h writes it. */
static void expect(int64_t group, char *text)
{
    uint32_t counts[VALUES] = {0};
    uint32_t total = 0;
    size_t at = (size_t)snprintf(text, TEXT_BYTES, "%d|{", (int)group);

    for (int64_t row = group; row < ROWS; row += GROUPS) {
        counts[value_of(row)]++;
        total++;
    }
    int64_t values[ROWS]; /* descending */
    uint32_t placed = 0;
    int mode = 0;
    for (int v = VALUES - 1; v >= 0; v--) {
        for (uint32_t n = 0; n < counts[v]; n++) {
            values[placed++] = v;
        }
        mode = counts[v] > counts[mode] || (counts[v] == counts[mode] && v > mode) ? v : mode;
    }
    const char *comma = "";
    for (int v = 0; v < VALUES; v++) {
        if (counts[v] != 0) {
            at += (size_t)snprintf(text + at, TEXT_BYTES - at, "%s%d=%u", comma, v, counts[v]);
            comma = ", ";
        }
    }
    at += (size_t)snprintf(text + at, TEXT_BYTES - at, "}|{");
    comma = "";
    for (int v = 0; v < VALUES; v++) {
        if (counts[v] != 0) {
            at += (size_t)snprintf(text + at, TEXT_BYTES - at, "%s%d=1", comma, v);
            comma = ", ";
        }
    }
    uint32_t wanted = 0; /* the first whose share, itself included, is the fraction */
    while ((double)(wanted + 1) < 0.3 * total) {
        wanted++;
    }
    const double place = 0.3 * (total - 1);
    const uint32_t below = (uint32_t)place;
    const double low = (double)values[below];
    const double high = (double)values[below + 1];
    snprintf(text + at, TEXT_BYTES - at, "}|%d|%.17g|%d", (int)values[wanted],
             low + (high - low) * (place - below), mode);
}

Test(group_histogram, counts_and_descending_orders)
{
    static const uint32_t workers[] = {1, 2, 3, 8};

    for (uint32_t w = 0; w < 4; w++) {
        struct exec_engine *engine = test_engine(workers[w], NULL);
        struct spec_builder *b = malloc(sizeof *b);
        struct job_result result;
        cr_assert_not_null(b);
        spec_init(b);
        make(b);
        b->job.options.morsel_rows = 1024;
        b->job.options.hash_bits = w == 3 ? 8 : 0;
        job_run(engine, spec_job(b), &result);
        cr_assert_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
        job_result_sort(&result);
        cr_assert_eq(result.row_count, GROUPS);
        for (uint32_t g = 0; g < GROUPS; g++) {
            char wanted[TEXT_BYTES];
            expect(g, wanted);
            cr_assert_str_eq(result.rows[g], wanted, "%u workers:\n%s\n%s", workers[w],
                             result.rows[g], wanted);
        }
        job_result_fini(&result);
        spec_fini(b);
        free(b);
        exec_engine_destroy(engine);
    }
}

/* ---- texts --------------------------------------------------------------------------------------
 */

static const struct {
    const char *text, *written;
} texts[] = {
    {"", "''"},           {" lead", "' lead'"}, {"\"", "'\"'"},
    {"NULL", "'NULL'"},   {"Nul", "Nul"},       {"[x]", "'[x]'"},
    {"a", "a"},           {"a b", "a b"},       {"a(b)", "'a(b)'"},
    {"a,b", "'a,b'"},     {"a:b", "'a:b'"},     {"a;b", "a;b"},
    {"b\\s", "'b\\\\s'"}, {"it's", "'it\\'s'"}, {"trail ", "'trail '"},
    {"x=y", "'x=y'"},     {"{q}", "'{q}'"},
};
enum { TEXT_COUNT = sizeof texts / sizeof texts[0] };

Test(group_histogram, texts_are_quoted_where_they_must_be)
{
    struct exec_engine *engine = test_engine(2, NULL);
    struct spec_builder *b = malloc(sizeof *b);
    struct job_result result;
    char wanted[TEXT_BYTES] = "{";
    uint32_t parts[TEXT_COUNT];

    cr_assert_not_null(b);
    spec_init(b);
    for (uint32_t t = 0; t < TEXT_COUNT; t++) {
        parts[t] = spec_project(b, spec_generator(b, "sequence", 1, 0));
        spec_item(b, "s", spec_text(b, texts[t].text));
        snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), "%s%s=1",
                 t == 0 ? "" : ", ", texts[t].written);
    }
    snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), "}");
    spec_group(b, spec_union(b, parts, TEXT_COUNT));
    measure(b, EXEC_AGG_HISTOGRAM, spec_column(b, "s"), "h");
    job_run(engine, spec_job(b), &result);
    cr_assert_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
    cr_assert_str_eq(result.rows[0], wanted);
    job_result_fini(&result);
    spec_fini(b);
    free(b);
    exec_engine_destroy(engine);
}

/* ---- refusals -----------------------------------------------------------------------------------
 */

static struct exec_error refused(int64_t rows, bool of_binary, uint64_t memory)
{
    struct exec_engine *engine = test_engine(2, NULL);
    struct spec_builder *b = malloc(sizeof *b);
    struct job_result result;

    cr_assert_not_null(b);
    spec_init(b);
    const uint32_t scan = spec_generator(b, "sequence", rows, 0);
    spec_group(b, scan);
    const struct exec_literal bytes = {.type.kind = EXEC_TYPE_BINARY,
                                       .value.text = {.bytes = "x", .size = 1}};
    measure(b, EXEC_AGG_HISTOGRAM, of_binary ? spec_literal(b, &bytes) : spec_column(b, "i"), "h");
    b->job.options.memory_limit_bytes = memory;
    job_run(engine, spec_job(b), &result);
    const struct exec_error error = result.error;
    job_result_fini(&result);
    spec_fini(b);
    free(b);
    exec_engine_destroy(engine);
    return error;
}

Test(group_histogram, limits_and_types_are_named)
{
    struct exec_error error = refused(65536, false, 0);
    cr_assert_eq(error.code, EXEC_OK, "%s", error.detail);
    error = refused(65537, false, 0);
    cr_assert_eq(error.code, EXEC_LIMIT);
    cr_assert_str_eq(error.detail,
                     "measure 1, histogram: a number of values of 65537, at most 65536");
    error = refused(10, true, 0);
    cr_assert_eq(error.code, EXEC_TYPE_MISMATCH);
    cr_assert_not_null(strstr(error.detail, "histogram of binary"), "%s", error.detail);
    error = refused(3000000, false, 16 << 20);
    cr_assert_eq(error.code, EXEC_MEMORY_BUDGET, "%s", error.detail);
}

Test(group_histogram, an_order_must_be_that_of_the_argument)
{
    struct exec_engine *engine = test_engine(1, NULL);
    struct spec_builder *b = malloc(sizeof *b);
    struct job_result result;

    cr_assert_not_null(b);
    spec_init(b);
    const uint32_t scan = spec_generator(b, "sequence", 10, 0);
    const uint32_t other = spec_column(b, "v");
    const struct exec_sort_key key = {.expr = other, .direction = EXEC_DESC_NULLS_LAST};
    spec_group(b, scan);
    struct exec_measure *mode = measure(b, EXEC_AGG_MODE, spec_column(b, "i"), "m");
    mode->order = &key;
    mode->order_count = 1;
    job_run(engine, spec_job(b), &result);
    cr_assert_eq(result.error.code, EXEC_BAD_SPEC);
    cr_assert_not_null(strstr(result.error.detail, "mode can be ordered by its argument only"),
                       "%s", result.error.detail);
    job_result_fini(&result);
    spec_fini(b);
    free(b);
    exec_engine_destroy(engine);
}
