/* Goal:   a plan gives the same rows, bit for bit, whatever the number of workers, the size of
 *         morsels and the policy, float sums and averages included; in the same order where the
 *         order is total.
 * Method: a resident table of skewed keys and of floats that no order of plain addition sums alike
 * is read by six plans on engines of 1, 2, 3 and 8 workers, in morsels of 1,024 to 1,000,000 rows,
 * under each policy. Every run is compared with the first.
 */
#include "job_runner.h"
#include "spec_builder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 30000 };

typedef void make_fn(struct spec_builder *b);

/* Table "t": k v i s, and x of 60 binary orders of magnitude, either sign. */
static void make_table(struct spec_builder *b)
{
    const uint32_t scan = spec_generator(b, "skewed", ROWS, 7);

    spec_project(b, scan);
    spec_item(b, "k", spec_column(b, "k"));
    spec_item(b, "v", spec_column(b, "v"));
    spec_item(b, "i", spec_column(b, "i"));
    spec_item(b, "s", spec_column(b, "s"));
    const uint32_t v = spec_cast(b, spec_column(b, "v"), "float64");
    const uint32_t scale = spec_call2(b, "power", spec_f64(b, 1.04), v);
    const uint32_t i = spec_call2(b, "add", spec_column(b, "i"), spec_i64(b, 3));
    const uint32_t third = spec_call2(b, "divide", scale, spec_cast(b, i, "float64"));
    const uint32_t odd = spec_call2(b, "modulo", spec_column(b, "i"), spec_i64(b, 2));
    const uint32_t is_odd = spec_call2(b, "eq", odd, spec_i64(b, 1));
    const uint32_t args[] = {is_odd, third, spec_call1(b, "negate", third)};
    spec_item(b, "x", spec_call(b, "if", args, 3));
    b->job.into_table = "t";
}

static uint32_t below(struct spec_builder *b, uint32_t input, const char *column, int64_t limit)
{
    return spec_filter(b, input, spec_call2(b, "lt", spec_column(b, column), spec_i64(b, limit)));
}

static void sums(struct spec_builder *b, uint32_t key, uint32_t x)
{
    spec_key(b, "key", key);
    spec_measure(b, EXEC_AGG_COUNT_STAR, 0, "n");
    spec_measure(b, EXEC_AGG_SUM, x, "total");
    spec_measure(b, EXEC_AGG_AVG, x, "mean");
    spec_measure(b, EXEC_AGG_MIN, x, "least");
}

static void make_sums(struct spec_builder *b)
{
    const uint32_t left = spec_table(b, "t");
    const uint32_t join =
        spec_join(b, EXEC_JOIN_INNER, left, below(b, spec_table(b, "t"), "i", 900));
    const uint32_t k = spec_column(b, "k");
    spec_on(b, k, spec_column(b, "i"));
    spec_group(b, join);
    sums(b, spec_column_at(b, 2), spec_column_at(b, 5));
    spec_sort(b, b->rel_count, -1);
    spec_order(b, spec_column(b, "key"), EXEC_DESC_NULLS_LAST);
}

/* One group over everything, through a full join. */
static void make_total(struct spec_builder *b)
{
    const uint32_t left = spec_table(b, "t");
    const uint32_t join = spec_join(b, EXEC_JOIN_FULL, left, below(b, spec_table(b, "t"), "k", 40));
    const uint32_t v = spec_column(b, "v");
    spec_on(b, v, spec_column(b, "i"));
    spec_group(b, join);
    spec_measure(b, EXEC_AGG_SUM, spec_column_at(b, 5), "a");
    spec_measure(b, EXEC_AGG_AVG, spec_column_at(b, 10), "b");
    spec_measure(b, EXEC_AGG_COUNT_STAR, 0, "n");
}

/* Top-n of three joined tables, by all their row numbers. */
static void make_top(struct spec_builder *b)
{
    const uint32_t x = spec_table(b, "t");
    const uint32_t y = below(b, spec_table(b, "t"), "i", 5000);
    const uint32_t first = spec_join(b, EXEC_JOIN_INNER, x, y);
    const uint32_t i = spec_column(b, "i");
    spec_on(b, i, i);
    const uint32_t z = below(b, spec_table(b, "t"), "i", 50);
    const uint32_t all = spec_join(b, EXEC_JOIN_INNER, first, z);
    const uint32_t v = spec_column_at(b, 7);
    spec_on(b, v, spec_column(b, "v"));
    spec_sort(b, all, 200);
    spec_order(b, spec_column_at(b, 5), EXEC_DESC_NULLS_FIRST);
    spec_order(b, spec_column_at(b, 3), EXEC_ASC_NULLS_LAST);
    spec_order(b, spec_column_at(b, 8), EXEC_ASC_NULLS_LAST);
    spec_order(b, spec_column_at(b, 13), EXEC_ASC_NULLS_LAST);
}

static void make_distinct(struct spec_builder *b)
{
    const uint32_t left = below(b, spec_table(b, "t"), "k", 300);
    const uint32_t join =
        spec_join(b, EXEC_JOIN_LEFT_MARK, left, below(b, spec_table(b, "t"), "v", 9));
    const uint32_t k = spec_column(b, "k");
    spec_on(b, k, spec_column(b, "i"));
    spec_project(b, join);
    spec_item(b, "k", spec_column(b, "k"));
    spec_item(b, "s", spec_column(b, "s"));
    spec_item(b, "mark", spec_column_at(b, 6));
    spec_distinct(b, b->rel_count);
}

/* A sort with many ties: any order among them will do. */
static void make_ties(struct spec_builder *b)
{
    const uint32_t left = spec_table(b, "t");
    const uint32_t join =
        spec_join(b, EXEC_JOIN_LEFT_SEMI, left, below(b, spec_table(b, "t"), "i", 100));
    const uint32_t v = spec_column(b, "v");
    spec_on(b, v, v);
    spec_sort(b, join, -1);
    spec_order(b, spec_column(b, "s"), EXEC_ASC_NULLS_LAST);
}

/* Two windows, one in the other; every row number is in the answer. */
static void make_windows(struct spec_builder *b)
{
    spec_window(b, spec_table(b, "t"), -1);
    spec_partition(b, spec_column(b, "k"));
    spec_window_order(b, spec_column(b, "v"), EXEC_DESC_NULLS_LAST);
    spec_number(b, EXEC_WINDOW_ROW_NUMBER, "n");
    spec_number(b, EXEC_WINDOW_RANK, "r");
    spec_window(b, b->rel_count, 40);
    spec_partition(b, spec_column(b, "n"));
    spec_window_order(b, spec_column(b, "x"), EXEC_ASC_NULLS_LAST);
    spec_number(b, EXEC_WINDOW_ROW_NUMBER, "m");
    spec_number(b, EXEC_WINDOW_DENSE_RANK, "d");
}

static const struct {
    make_fn *make;
    const char *name;
    bool is_total; /* its order is */
    uint64_t rows_least;
} plans[] = {
    {make_sums, "sums", true, 500},   {make_total, "total", true, 1},
    {make_top, "top", true, 200},     {make_distinct, "distinct", false, 100},
    {make_ties, "ties", false, 1000}, {make_windows, "windows", false, 1000},
};
enum { PLAN_COUNT = sizeof plans / sizeof plans[0] };

static void run(struct exec_engine *engine, make_fn *make, uint32_t morsel_rows,
                enum exec_policy policy, struct job_result *out)
{
    struct spec_builder *b = malloc(sizeof *b);

    cr_assert_not_null(b);
    spec_init(b);
    make(b);
    b->job.options.morsel_rows = morsel_rows;
    b->job.options.policy = policy;
    job_run(engine, spec_job(b), out);
    cr_assert_eq(out->error.code, EXEC_OK, "%s", out->error.detail);
    spec_fini(b);
    free(b);
}

static void expect_same(const struct job_result *first, const struct job_result *other,
                        const char *what)
{
    cr_assert_eq(first->row_count, other->row_count, "%s", what);
    for (uint64_t r = 0; r < first->row_count; r++) {
        cr_assert_str_eq(first->rows[r], other->rows[r], "%s, row %d", what, (int)r);
    }
}

static void run_all(struct exec_engine *engine, uint32_t workers, struct job_result *firsts,
                    bool is_first)
{
    static const uint32_t morsels[] = {1024, 20000, 1000000};
    struct job_result table;

    run(engine, make_table, 1024, EXEC_POLICY_DEFAULT, &table);
    job_result_fini(&table);
    for (uint32_t p = 0; p < PLAN_COUNT; p++) {
        for (uint32_t m = 0; m < 3; m++) {
            for (int policy = EXEC_POLICY_NUMA; policy <= EXEC_POLICY_STATIC; policy++) {
                struct job_result result;
                char what[120];

                snprintf(what, sizeof what, "%s, %u workers, morsels of %u, policy %d",
                         plans[p].name, workers, morsels[m], policy);
                run(engine, plans[p].make, morsels[m], (enum exec_policy)policy, &result);
                if (!plans[p].is_total) {
                    job_result_sort(&result);
                }
                if (is_first && m == 0 && policy == EXEC_POLICY_NUMA) {
                    cr_assert_geq(result.row_count, plans[p].rows_least, "%s", what);
                    firsts[p] = result;
                    continue;
                }
                expect_same(&firsts[p], &result, what);
                job_result_fini(&result);
            }
        }
    }
}

Test(determinism, rows_do_not_depend_on_who_ran_what)
{
    static const uint32_t workers[] = {1, 2, 3, 8};
    struct job_result firsts[PLAN_COUNT];

    for (uint32_t w = 0; w < 4; w++) {
        struct exec_engine *engine = test_engine(workers[w], NULL);
        run_all(engine, workers[w], firsts, w == 0);
        exec_engine_destroy(engine);
    }
    for (uint32_t p = 0; p < PLAN_COUNT; p++) {
        job_result_fini(&firsts[p]);
    }
}
