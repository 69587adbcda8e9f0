/* Goal:   a job that cannot be run says where and why (code, relation, names), leaves nothing
 * behind, and the engine serves the next one. Method: one bad plan, file or limit at a time; after
 * each a small job must succeed.
 */
#include "job_runner.h"
#include "spec_builder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void make_fn(struct spec_builder *b);

static void expect_error(make_fn *make, enum exec_code code, uint32_t rel, const char *part)
{
    struct exec_engine *engine = test_engine(2, NULL);
    struct spec_builder *b = malloc(sizeof *b);
    struct job_result result;

    cr_assert_not_null(b);
    spec_init(b);
    make(b);
    job_run(engine, spec_job(b), &result);
    cr_expect_eq(result.error.code, code, "%s: %s", exec_code_name(result.error.code),
                 result.error.detail);
    cr_expect_eq(result.error.rel, rel, "relation %u: %s", result.error.rel, result.error.detail);
    cr_expect_not_null(strstr(result.error.detail, part), "%s", result.error.detail);
    cr_expect_eq(result.out_of_order, 0);
    job_result_fini(&result);
    spec_fini(b);
    free(b);
    /* The engine lives. */
    b = malloc(sizeof *b);
    cr_assert_not_null(b);
    spec_init(b);
    spec_generator(b, "sequence", 10, 0);
    job_run(engine, spec_job(b), &result);
    cr_expect_eq(result.row_count, 10);
    job_result_fini(&result);
    spec_fini(b);
    free(b);
    exec_engine_destroy(engine);
}

static uint32_t below(struct spec_builder *b, uint32_t input, const char *name, int64_t limit)
{
    return spec_filter(b, input, spec_call2(b, "lt", spec_column(b, name), spec_i64(b, limit)));
}

static void make_unknown_column(struct spec_builder *b)
{
    below(b, spec_generator(b, "sequence", 10, 0), "nope", 1);
}

static void make_unknown_table(struct spec_builder *b)
{
    spec_table(b, "nope");
}

static void make_unknown_generator(struct spec_builder *b)
{
    spec_generator(b, "nope", 10, 0);
}

static void make_unknown_scan_column(struct spec_builder *b)
{
    spec_generator(b, "sequence", 10, 0);
    spec_scan_column(b, "x");
}

static void make_not_bool(struct spec_builder *b)
{
    spec_filter(b, spec_generator(b, "sequence", 10, 0), spec_column(b, "i"));
}

static void make_key_types(struct spec_builder *b)
{
    const uint32_t left = spec_generator(b, "sequence", 10, 0);
    const uint32_t right = spec_generator(b, "sequence", 10, 0);
    spec_join(b, EXEC_JOIN_INNER, left, right);
    const uint32_t left_key = spec_column(b, "i");
    spec_on(b, left_key, spec_column(b, "s"));
}

static void make_asof(struct spec_builder *b)
{
    const uint32_t left = spec_generator(b, "sequence", 10, 0);
    spec_join(b, EXEC_JOIN_ASOF, left, spec_generator(b, "sequence", 10, 0));
    const uint32_t i = spec_column(b, "i"), f = spec_column(b, "f");
    b->rels[b->rel_count - 1].u.join.asof =
        (struct exec_asof){.left = i, .right = f, .direction = EXEC_ASOF_FORWARD};
}

static void make_residual_type(struct spec_builder *b)
{
    const uint32_t left = spec_generator(b, "sequence", 10, 0);
    spec_join(b, EXEC_JOIN_LEFT, left, spec_generator(b, "sequence", 10, 0));
    spec_residual(b, spec_side_column(b, 2, "i"));
}

static void make_residual_name(struct spec_builder *b)
{
    const uint32_t left = spec_generator(b, "sequence", 10, 0);
    spec_join(b, EXEC_JOIN_LEFT, left, spec_generator(b, "sequence", 10, 0));
    const uint32_t a = spec_side_column(b, 1, "i");
    spec_residual(b, spec_call2(b, "lt", a, spec_side_column(b, 0, "i")));
}

static void make_raise(struct spec_builder *b)
{
    const uint32_t scan = spec_generator(b, "sequence", 1000000, 0);
    spec_project(b, scan);
    const uint32_t i = spec_column(b, "i");
    const uint32_t shifted = spec_call2(b, "subtract", i, spec_i64(b, 700000));
    const uint32_t one = spec_i64(b, 1);
    spec_item(b, "x", spec_call2(b, "divide", one, shifted));
}

static void make_expected(struct spec_builder *b)
{
    static const struct exec_field fields[] = {{"i", {.kind = EXEC_TYPE_INT32}, false}};
    spec_generator(b, "sequence", 10, 0);
    spec_scan_column(b, "i");
    b->rels[0].u.scan.expected_schema = (struct exec_schema){fields, 1};
}

Test(job_errors, name_their_place)
{
    expect_error(make_unknown_column, EXEC_COLUMN_NOT_FOUND, 2, "nope");
    expect_error(make_unknown_table, EXEC_TABLE_NOT_FOUND, 1, "no table 'nope'");
    expect_error(make_unknown_generator, EXEC_BAD_SPEC, 1, "no generator 'nope'");
    expect_error(make_unknown_scan_column, EXEC_COLUMN_NOT_FOUND, 1, "it has: i, v, f, s");
    expect_error(make_not_bool, EXEC_TYPE_MISMATCH, 2, "int64, it must be bool");
    expect_error(make_key_types, EXEC_TYPE_MISMATCH, 3, "int64 and utf8 cannot be compared");
    expect_error(make_asof, EXEC_TYPE_MISMATCH, 3, "int64 and float64 have no common order");
    expect_error(make_residual_type, EXEC_TYPE_MISMATCH, 3, "join.residual is int64");
    expect_error(make_residual_name, EXEC_COLUMN_NOT_FOUND, 3, "'i'");
    expect_error(make_raise, EXEC_BAD_ARGUMENT, 2, "");
    expect_error(make_expected, EXEC_SCHEMA_MISMATCH, 1, "is 'i' int64, expected was 'i' int32");
}

static void make_big_build(struct spec_builder *b)
{
    const uint32_t left = spec_generator(b, "sequence", 10000000, 0);
    const uint32_t right = spec_generator(b, "sequence", 10000000, 0);
    const uint32_t join = spec_join(b, EXEC_JOIN_INNER, left, right);
    const uint32_t left_key = spec_column(b, "i");
    spec_on(b, left_key, spec_column(b, "i"));
    spec_group(b, join);
    spec_measure(b, EXEC_AGG_COUNT_STAR, 0, "n");
    b->job.options.memory_limit_bytes = 8 << 20;
}

Test(job_errors, a_budget_that_is_too_small)
{
    expect_error(make_big_build, EXEC_MEMORY_BUDGET, 0, "limit of the job");
}

/* ---- files ---- */

static char file_path[64];

static void make_file_job(struct spec_builder *b)
{
    const uint32_t scan = spec_file(b, file_path);
    const uint32_t kept = spec_filter(b, scan, spec_call1(b, "is_not_null", spec_column(b, "b")));
    spec_group(b, kept);
    spec_key(b, "c", spec_column(b, "c"));
    spec_measure(b, EXEC_AGG_COUNT_STAR, 0, "n");
    spec_measure(b, EXEC_AGG_SUM, spec_column(b, "a"), "total");
}

static void make_file_missing(struct spec_builder *b)
{
    const uint32_t there = spec_file(b, file_path);
    const uint32_t join = spec_join(b, EXEC_JOIN_INNER, there, spec_file(b, "/nope/nope.csv"));
    const uint32_t left_key = spec_column(b, "a");
    spec_on(b, left_key, spec_column(b, "a"));
    (void)join;
}

static void write_file(const char *last_line)
{
    snprintf(file_path, sizeof file_path, "/tmp/job-errors-%ld.csv", (long)getpid());
    FILE *file = fopen(file_path, "w");
    cr_assert_not_null(file);
    fprintf(file, "a,b,c\n");
    for (int r = 0; r < 60000; r++) {
        fprintf(file, r % 3 == 2 ? "%d,,x%d\n" : "%d,0.5,x%d\n", r, r % 2);
    }
    fprintf(file, "%s", last_line);
    fclose(file);
}

Test(job_errors, files)
{
    write_file("");
    expect_error(make_file_missing, EXEC_FILE_NOT_FOUND, 2, "/nope/nope.csv");
    write_file("1,2.5\n");
    expect_error(make_file_job, EXEC_BAD_DATA, 1, "60002");
    write_file("1,wrong,x0\n");
    expect_error(make_file_job, EXEC_BAD_DATA, 1, "'b'");
    unlink(file_path);
}

/* ---- what is left behind ---- */

/* A job that fails or is too long leaves no table and no memory. */
Test(job_errors, a_failed_job_leaves_no_table)
{
    struct exec_engine *engine = test_engine(2, NULL);
    struct spec_builder *b = malloc(sizeof *b);
    struct exec_engine_counters counters;
    struct exec_table_list list;
    struct exec_error err;
    struct job_result result;

    cr_assert_not_null(b);
    for (int attempt = 0; attempt < 2; attempt++) {
        spec_init(b);
        make_raise(b);
        if (attempt == 1) {
            b->rel_count = 1; /* the scan alone: does not raise, but is too long */
            b->job.options.result_rows_max = 900000;
        }
        b->job.into_table = "failed";
        job_run(engine, spec_job(b), &result);
        cr_expect_eq(result.error.code, attempt == 0 ? EXEC_BAD_ARGUMENT : EXEC_LIMIT, "%s",
                     result.error.detail);
        job_result_fini(&result);
        spec_fini(b);
    }
    cr_assert_eq(exec_table_list(engine, NULL, &list, &err), EXEC_OK);
    cr_expect_eq(list.table_count, 0);
    exec_table_list_free(&list);
    exec_engine_counters(engine, &counters);
    cr_expect_eq(counters.memory_tables_bytes, 0);
    cr_expect_gt(counters.rows_scanned, 700000);
    free(b);
    exec_engine_destroy(engine);
}
