/* Goal:   whole jobs give the right rows, for any number of workers and chunk sizes.
 * Method: jobs over generators and tables with answers that follow from arithmetic; each runs with
 * 1, 2, 3 and 8 workers. Callbacks must keep their order. */
#include "job_runner.h"
#include "spec_builder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint32_t worker_counts[] = {1, 2, 3, 8};

typedef void make_fn(struct spec_builder *b);

/* Runs the plan with every number of workers; rows, sorted, must be as given. */
static void expect_rows(make_fn *make, const char *schema, const char *const *rows, uint64_t count)
{
    for (size_t i = 0; i < sizeof worker_counts / sizeof worker_counts[0]; i++) {
        struct exec_engine *engine = test_engine(worker_counts[i], NULL);
        struct spec_builder *b = malloc(sizeof *b);
        struct job_result result;

        cr_assert_not_null(b);
        spec_init(b);
        make(b);
        b->job.options.morsel_rows = i % 2 == 0 ? 0 : 1024;
        job_run(engine, spec_job(b), &result);
        cr_expect_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
        cr_expect_eq(result.out_of_order, 0);
        cr_expect_str_eq(result.schema, schema);
        cr_expect_eq(result.row_count, count, "%u workers: %lu rows, not %lu", worker_counts[i],
                     (unsigned long)result.row_count, (unsigned long)count);
        job_result_sort(&result);
        for (uint64_t r = 0; rows != NULL && r < count && r < result.row_count; r++) {
            cr_expect_str_eq(result.rows[r], rows[r]);
        }
        job_result_fini(&result);
        spec_fini(b);
        free(b);
        exec_engine_destroy(engine);
    }
}

/* ---- rows ---- */

static uint32_t below(struct spec_builder *b, uint32_t input, const char *name, int64_t limit)
{
    return spec_filter(b, input, spec_call2(b, "lt", spec_column(b, name), spec_i64(b, limit)));
}

static void make_filter_project(struct spec_builder *b)
{
    const uint32_t scan = spec_generator(b, "sequence", 100000, 0);
    const uint32_t few = below(b, scan, "v", 1); /* i = 0, 1000, 2000, ... */
    const uint32_t low = below(b, few, "i", 5000);
    spec_project(b, low);
    spec_item(b, "twice", spec_call2(b, "add", spec_column(b, "i"), spec_column(b, "i")));
    spec_item(b, "s", spec_column(b, "s"));
    spec_item(b, "half", spec_column(b, "f"));
}

Test(engine, filter_and_project)
{
    const char *const rows[] = {"0|s0|0", "2000|s0|500", "4000|s0|1000", "6000|s0|1500",
                                "8000|s0|2000"};
    expect_rows(make_filter_project, "twice:int64,s:utf8,half:float64", rows, 5);
}

static void make_empty(struct spec_builder *b)
{
    below(b, spec_generator(b, "sequence", 100000, 0), "i", -1);
}

Test(engine, an_empty_result_has_a_schema)
{
    expect_rows(make_empty, "i:int64,v:int64,f:float64,s:utf8", NULL, 0);
}

static void make_no_rows(struct spec_builder *b)
{
    spec_generator(b, "skewed", 0, 1);
}

Test(engine, no_input)
{
    expect_rows(make_no_rows, "i:int64,v:int64,f:float64,s:utf8,k:int64", NULL, 0);
}

static void make_limit(struct spec_builder *b)
{
    spec_limit(b, spec_generator(b, "sequence", INT64_C(1000000000000), 0), 1000, 12345);
}

Test(engine, limit_stops_early)
{
    expect_rows(make_limit, "i:int64,v:int64,f:float64,s:utf8", NULL, 12345);
}

static void make_limit_all(struct spec_builder *b)
{
    spec_limit(b, spec_generator(b, "sequence", 5000, 0), 4990, -1);
}

Test(engine, offset_without_limit)
{
    expect_rows(make_limit_all, "i:int64,v:int64,f:float64,s:utf8", NULL, 10);
}

static void make_union(struct spec_builder *b)
{
    const uint32_t a = below(b, spec_generator(b, "sequence", 3000, 0), "i", 2);
    spec_project(b, a);
    spec_item(b, "x", spec_column(b, "i"));
    const uint32_t first = b->rel_count;
    const uint32_t c = below(b, spec_generator(b, "sequence", 3000, 0), "i", 2);
    spec_project(b, c);
    spec_item(b, "y", spec_column(b, "f"));
    spec_union(b, (const uint32_t[]){first, b->rel_count}, 2);
}

Test(engine, union_all_of_two_types)
{
    const char *const rows[] = {"0", "0", "0.5", "1"};
    expect_rows(make_union, "x:float64", rows, 4);
}

/* sequence(2000) joined with rows i < 3 of another, on v = i: v 0..2 occur twice each */
static void make_join_kind(struct spec_builder *b, enum exec_join_kind kind)
{
    const uint32_t left = below(b, spec_generator(b, "sequence", 2000, 0), "v", 4);
    const uint32_t right = below(b, spec_generator(b, "sequence", 5000, 0), "i", 3);
    const uint32_t join = spec_join(b, kind, left, right);
    const uint32_t left_key = spec_column(b, "v");
    spec_on(b, left_key, spec_column(b, "i"));
    spec_project(b, join);
    spec_item(b, "left_i", spec_column_at(b, 1));
    if (kind == EXEC_JOIN_INNER || kind == EXEC_JOIN_LEFT) {
        spec_item(b, "right_f", spec_column_at(b, 7));
    }
}

static void make_inner(struct spec_builder *b)
{
    make_join_kind(b, EXEC_JOIN_INNER);
}

static void make_left(struct spec_builder *b)
{
    make_join_kind(b, EXEC_JOIN_LEFT);
}

static void make_anti(struct spec_builder *b)
{
    make_join_kind(b, EXEC_JOIN_LEFT_ANTI);
}

Test(engine, joins)
{
    const char *const inner[] = {"0|0", "1000|0", "1001|0.5", "1002|1", "1|0.5", "2|1"};
    const char *const left[] = {"0|0",      "1000|0", "1001|0.5", "1002|1",
                                "1003|\\N", "1|0.5",  "2|1",      "3|\\N"};
    const char *const anti[] = {"1003", "3"};
    expect_rows(make_inner, "left_i:int64,right_f:float64", inner, 6);
    expect_rows(make_left, "left_i:int64,right_f:float64", left, 8);
    expect_rows(make_anti, "left_i:int64", anti, 2);
}

static void make_group(struct spec_builder *b)
{
    const uint32_t scan = spec_generator(b, "sequence", 100000, 0);
    spec_group(b, below(b, scan, "v", 3));
    spec_key(b, "v", spec_column(b, "v"));
    spec_measure(b, EXEC_AGG_COUNT_STAR, 0, "n");
    spec_measure(b, EXEC_AGG_SUM, spec_column(b, "i"), "total");
    spec_measure(b, EXEC_AGG_AVG, spec_column(b, "f"), "mean");
    spec_measure(b, EXEC_AGG_MAX, spec_column(b, "s"), "last");
}

Test(engine, group)
{
    /* i = v + 1000 j for j < 100: sum 100 v + 1000 * 4950. */
    const char *const rows[] = {"0|100|4950000|24750|s0", "1|100|4950100|24750.5|s1",
                                "2|100|4950200|24751|s2"};
    expect_rows(make_group, "v:int64,n:int64,total:decimal128(38,0),mean:float64,last:utf8", rows,
                3);
}

static void make_global(struct spec_builder *b)
{
    spec_group(b, below(b, spec_generator(b, "sequence", 100000, 0), "i", -5));
    spec_measure(b, EXEC_AGG_COUNT_STAR, 0, "n");
    spec_measure(b, EXEC_AGG_SUM, spec_column(b, "i"), "total");
}

Test(engine, one_group_over_no_rows)
{
    const char *const rows[] = {"0|\\N"};
    expect_rows(make_global, "n:int64,total:decimal128(38,0)", rows, 1);
}

static void make_count(struct spec_builder *b)
{
    spec_group(b, spec_generator(b, "sequence", 3000000, 0));
    spec_measure(b, EXEC_AGG_COUNT_STAR, 0, "n");
}

Test(engine, count_without_columns)
{
    const char *const rows[] = {"3000000"};
    expect_rows(make_count, "n:int64", rows, 1);
}

static void make_distinct(struct spec_builder *b)
{
    spec_project(b, spec_generator(b, "sequence", 250000, 0));
    spec_item(b, "s", spec_column(b, "s"));
    spec_distinct(b, b->rel_count);
}

Test(engine, distinct)
{
    expect_rows(make_distinct, "s:utf8", NULL, 100);
}

/* ---- order ---- */

enum { SORTED_ROWS = 200000 };

/* Like expect_rows, but the order of arrival must be the given one. */
static void expect_order(make_fn *make, const char *const *rows, uint64_t count)
{
    for (size_t i = 0; i < sizeof worker_counts / sizeof worker_counts[0]; i++) {
        struct exec_engine *engine = test_engine(worker_counts[i], NULL);
        struct spec_builder *b = malloc(sizeof *b);
        struct job_result result;

        cr_assert_not_null(b);
        spec_init(b);
        make(b);
        job_run(engine, spec_job(b), &result);
        cr_expect_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
        cr_expect_eq(result.row_count, count, "%lu rows", (unsigned long)result.row_count);
        for (uint64_t r = 0; r < count && r < result.row_count; r++) {
            cr_expect_str_eq(result.rows[r], rows[r], "%u workers, row %lu: %s, not %s",
                             worker_counts[i], (unsigned long)r, result.rows[r], rows[r]);
        }
        job_result_fini(&result);
        spec_fini(b);
        free(b);
        exec_engine_destroy(engine);
    }
}

/* v descending, then i ascending, of SORTED_ROWS rows. */
static uint32_t ordered(struct spec_builder *b, int64_t limit)
{
    const uint32_t scan = spec_generator(b, "sequence", SORTED_ROWS, 0);
    spec_sort(b, scan, limit);
    spec_order(b, spec_column(b, "v"), EXEC_DESC_NULLS_LAST);
    spec_order(b, spec_column(b, "i"), EXEC_ASC_NULLS_LAST);
    return b->rel_count;
}

static void make_top(struct spec_builder *b)
{
    spec_project(b, ordered(b, 3));
    spec_item(b, "i", spec_column(b, "i"));
}

static void make_sort_limit(struct spec_builder *b)
{
    spec_project(b, ordered(b, -1));
    spec_item(b, "i", spec_column(b, "i"));
    spec_limit(b, b->rel_count, 1, 3);
}

/* The limit stands on a filter, so that the sort is a whole one. */
static void make_sort_filter_limit(struct spec_builder *b)
{
    const uint32_t sorted = ordered(b, -1);
    const uint32_t one = spec_i64(b, 1);
    const uint32_t i = spec_column(b, "i");
    const uint32_t quotient = spec_call2(b, "divide", i, one); /* can raise: stays above */
    const uint32_t rest = spec_filter(b, sorted, spec_call2(b, "gt", quotient, spec_i64(b, 4000)));
    spec_limit(b, rest, 0, 2);
    spec_project(b, b->rel_count);
    spec_item(b, "i", spec_column(b, "i"));
}

Test(engine, order)
{
    const char *const top[] = {"999", "1999", "2999"};
    const char *const after_one[] = {"1999", "2999", "3999"};
    const char *const filtered[] = {"4999", "5999"};
    expect_order(make_top, top, 3);
    expect_order(make_sort_limit, after_one, 3);
    expect_order(make_sort_filter_limit, filtered, 2);
}

static void make_sort_all(struct spec_builder *b)
{
    spec_project(b, ordered(b, -1));
    spec_item(b, "x", spec_column(b, "i"));
}

Test(engine, a_whole_sort_keeps_its_order_through_chunks)
{
    enum { EACH = SORTED_ROWS / 1000 }; /* rows of one v */
    static char texts[SORTED_ROWS][8];
    static const char *rows[SORTED_ROWS];

    for (int r = 0; r < SORTED_ROWS; r++) {
        snprintf(texts[r], sizeof texts[r], "%d", 999 - r / EACH + r % EACH * 1000);
        rows[r] = texts[r];
    }
    expect_order(make_sort_all, rows, SORTED_ROWS);
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

static void make_file_count(struct spec_builder *b)
{
    spec_group(b, spec_file(b, file_path));
    spec_measure(b, EXEC_AGG_COUNT_STAR, 0, "n");
}

static void write_file(const char *last_line)
{
    snprintf(file_path, sizeof file_path, "/tmp/engine-%ld.csv", (long)getpid());
    FILE *file = fopen(file_path, "w");
    cr_assert_not_null(file);
    fprintf(file, "a,b,c\n");
    for (int r = 0; r < 60000; r++) {
        fprintf(file, r % 3 == 2 ? "%d,,x%d\n" : "%d,0.5,x%d\n", r, r % 2);
    }
    fprintf(file, "%s", last_line);
    fclose(file);
}

Test(engine, files)
{
    /* Rows with r % 3 != 2; of those half are even. */
    const char *const rows[] = {"x0|20000|599980000", "x1|20000|599980000"};
    const char *const count[] = {"60000"};

    write_file("");
    expect_rows(make_file_job, "c:utf8,n:int64,total:decimal128(38,0)", rows, 2);
    expect_rows(make_file_count, "n:int64", count, 1);
    unlink(file_path);
}

/* ---- explain, tables ---- */

static void make_explained(struct spec_builder *b)
{
    const uint32_t left = spec_generator(b, "sequence", 100000, 0);
    const uint32_t right = spec_generator(b, "sequence", 1000000, 0);
    const uint32_t join = spec_join(b, EXEC_JOIN_INNER, left, right);
    const uint32_t left_key = spec_column(b, "i");
    spec_on(b, left_key, spec_column(b, "v"));
    const uint32_t low =
        spec_filter(b, join, spec_call2(b, "lt", spec_column_at(b, 2), spec_i64(b, 5)));
    spec_project(b, low);
    spec_item(b, "f", spec_column_at(b, 7));
}

Test(engine, explain_and_analyze)
{
    struct exec_engine *engine = test_engine(2, NULL);
    struct spec_builder *b = malloc(sizeof *b);
    struct job_result result;

    cr_assert_not_null(b);
    spec_init(b);
    make_explained(b);
    b->job.options.explain = true;
    job_run(engine, spec_job(b), &result);
    cr_expect_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
    cr_expect_null(result.schema);
    cr_expect_eq(result.row_count, 0);
    cr_assert_not_null(result.explain_text);
    cr_expect_not_null(strstr(result.explain_text, "inner join, build side left"), "%s",
                       result.explain_text);
    cr_expect_not_null(strstr(result.explain_text, "filter pushed here: (v < 5)"), "%s",
                       result.explain_text);
    cr_expect_not_null(strstr(result.explain_text, "filter: moved down"), "%s",
                       result.explain_text);
    cr_expect_not_null(strstr(result.explain_text, "columns: i, v\n"), "%s", result.explain_text);
    cr_expect_not_null(strstr(result.explain_json, "\"build_side\":\"left\""), "%s",
                       result.explain_json);
    job_result_fini(&result);

    b->job.options.explain = false;
    b->job.options.analyze = true;
    job_run(engine, spec_job(b), &result);
    cr_expect_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
    cr_expect_eq(result.row_count, 0);
    cr_assert_not_null(result.explain_text);
    cr_expect_not_null(strstr(result.explain_text, "actual 500  time "), "%s", result.explain_text);
    cr_expect_not_null(strstr(result.explain_json, "\"workers\":["), "%s", result.explain_json);
    job_result_fini(&result);
    spec_fini(b);
    free(b);
    exec_engine_destroy(engine);
}

Test(engine, into_a_table_and_back)
{
    struct exec_engine *engine = test_engine(3, NULL);
    struct spec_builder *b = malloc(sizeof *b);
    struct job_result result;

    cr_assert_not_null(b);
    spec_init(b);
    below(b, spec_generator(b, "skewed", 500000, 7), "v", 500);
    b->job.into_table = "kept";
    job_run(engine, spec_job(b), &result);
    cr_expect_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
    cr_expect_null(result.schema);
    cr_expect_eq(result.status.result_rows, 250000);
    job_result_fini(&result);

    job_run(engine, spec_job(b), &result);
    cr_expect_eq(result.error.code, EXEC_EXISTS, "%s", result.error.detail);
    job_result_fini(&result);
    b->job.into_replace = true;
    job_run(engine, spec_job(b), &result);
    cr_expect_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
    job_result_fini(&result);
    spec_fini(b);

    spec_init(b);
    below(b, spec_table(b, "kept"), "i", 5);
    job_run(engine, spec_job(b), &result);
    cr_expect_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
    cr_expect_eq(result.row_count, 5);
    cr_expect_str_eq(result.schema, "i:int64,v:int64,f:float64,s:utf8,k:int64");
    job_result_fini(&result);
    spec_fini(b);
    free(b);
    exec_engine_destroy(engine);
}

static void make_top_none(struct spec_builder *b)
{
    spec_limit(b, ordered(b, -1), 0, 0);
}

static void make_limit_none(struct spec_builder *b)
{
    spec_limit(b, spec_generator(b, "sequence", INT64_C(1000000000000), 0), 5, 0);
}

Test(engine, limits_of_no_rows)
{
    expect_order(make_top_none, NULL, 0);
    expect_order(make_limit_none, NULL, 0);
}
