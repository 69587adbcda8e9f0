/* Goal:   predicates move only where that cannot change a result or an error, limits go into sorts,
 * the build side follows kind, wish and sizes, unused columns are not read. Method: plans explained
 * by a real engine; each case says what the text must and must not contain.
 */
#include "job_runner.h"
#include "spec_builder.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

typedef void make_fn(struct spec_builder *b);

static void expect_plan(make_fn *make, const char *const *has, const char *has_not)
{
    struct exec_engine *engine = test_engine(1, NULL);
    struct spec_builder *b = malloc(sizeof *b);
    struct job_result result;

    cr_assert_not_null(b);
    spec_init(b);
    make(b);
    b->job.options.explain = true;
    job_run(engine, spec_job(b), &result);
    cr_assert_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
    for (; *has != NULL; has++) {
        cr_expect_not_null(strstr(result.explain_text, *has), "no '%s' in\n%s", *has,
                           result.explain_text);
    }
    cr_expect(has_not == NULL || strstr(result.explain_text, has_not) == NULL, "'%s' in\n%s",
              has_not == NULL ? "" : has_not, result.explain_text);
    job_result_fini(&result);
    spec_fini(b);
    free(b);
    exec_engine_destroy(engine);
}

/* sequence(1000) joined with sequence(500) on v = v: columns i v f s, i v f s */
static uint32_t join_of(struct spec_builder *b, enum exec_join_kind kind)
{
    const uint32_t left = spec_generator(b, "sequence", 1000, 0);
    const uint32_t right = spec_generator(b, "sequence", 500, 0);
    const uint32_t join = spec_join(b, kind, left, right);
    const uint32_t key = spec_column(b, "v");
    spec_on(b, key, key);
    return join;
}

static uint32_t column_below(struct spec_builder *b, uint32_t column, int64_t limit)
{
    const uint32_t at = spec_column_at(b, column);
    return spec_call2(b, "lt", at, spec_i64(b, limit));
}

static void make_both_sides(struct spec_builder *b)
{
    const uint32_t join = join_of(b, EXEC_JOIN_INNER);
    const uint32_t left = column_below(b, 1, 7);
    spec_filter(b, join, spec_call2(b, "and", left, column_below(b, 5, 8)));
}

Test(plan_rewrite, both_sides_of_an_inner_join)
{
    const char *const has[] = {"filter pushed here: (i < 7)", "filter pushed here: (i < 8)",
                               "filter: moved down", "build side right", NULL};
    expect_plan(make_both_sides, has, NULL);
}

static void make_left_join(struct spec_builder *b)
{
    const uint32_t join = join_of(b, EXEC_JOIN_LEFT);
    const uint32_t left = column_below(b, 1, 7);
    spec_filter(b, join, spec_call2(b, "and", left, column_below(b, 5, 8)));
}

Test(plan_rewrite, only_the_kept_side_of_a_left_join)
{
    const char *const has[] = {"filter pushed here: (i < 7)", "filter: (i < 8)", NULL};
    expect_plan(make_left_join, has, "filter pushed here: (i < 8)");
}

static void make_full_join(struct spec_builder *b)
{
    const uint32_t join = join_of(b, EXEC_JOIN_FULL);
    spec_filter(b, join, column_below(b, 1, 7));
}

Test(plan_rewrite, no_side_of_a_full_join)
{
    const char *const has[] = {"filter: (i < 7)", NULL};
    expect_plan(make_full_join, has, "pushed here");
}

static uint32_t raising(struct spec_builder *b, uint32_t column)
{
    const uint32_t ten = spec_i64(b, 10);
    const uint32_t quotient = spec_call2(b, "divide", ten, spec_column_at(b, column));
    return spec_call2(b, "gt", quotient, spec_i64(b, 1));
}

static void make_raising_first(struct spec_builder *b)
{
    const uint32_t join = join_of(b, EXEC_JOIN_INNER);
    const uint32_t first = raising(b, 1);
    spec_filter(b, join, spec_call2(b, "and", first, column_below(b, 1, 7)));
}

static void make_raising_last(struct spec_builder *b)
{
    const uint32_t join = join_of(b, EXEC_JOIN_INNER);
    const uint32_t first = column_below(b, 1, 7);
    spec_filter(b, join, spec_call2(b, "and", first, raising(b, 1)));
}

Test(plan_rewrite, what_can_raise_stays_and_holds_back_what_follows)
{
    const char *const first[] = {"(i < 7)", NULL};
    const char *const last[] = {"filter pushed here: (i < 7)", "  filter: ", NULL};
    expect_plan(make_raising_first, first, "pushed here");
    expect_plan(make_raising_last, last, "moved down");
}

static void make_through_project(struct spec_builder *b)
{
    const uint32_t scan = spec_generator(b, "sequence", 1000, 0);
    const uint32_t project = spec_project(b, scan);
    spec_item(b, "renamed", spec_column(b, "v"));
    spec_item(b, "half", spec_column(b, "f"));
    spec_filter(b, project, column_below(b, 1, 7));
}

Test(plan_rewrite, through_a_projection_of_columns)
{
    const char *const has[] = {"filter pushed here: (v < 7)", "columns: v, f\n", NULL};
    expect_plan(make_through_project, has, NULL);
}

static void make_sorted(struct spec_builder *b)
{
    const uint32_t scan = spec_generator(b, "sequence", 1000, 0);
    const uint32_t sorted = spec_sort(b, scan, -1);
    spec_order(b, spec_column(b, "v"), EXEC_ASC_NULLS_LAST);
    spec_project(b, sorted);
    spec_item(b, "i", spec_column(b, "i"));
    spec_limit(b, b->rel_count, 2, 5);
}

Test(plan_rewrite, a_limit_into_the_sort)
{
    const char *const has[] = {"top-n 5 after 2", "done by the sort", "columns: i, v\n", NULL};
    expect_plan(make_sorted, has, "limit (");
}

static void make_smaller_left(struct spec_builder *b)
{
    const uint32_t left = spec_generator(b, "sequence", 10, 0);
    const uint32_t right = spec_generator(b, "sequence", 500, 0);
    spec_join(b, EXEC_JOIN_INNER, left, right);
    const uint32_t key = spec_column(b, "v");
    spec_on(b, key, key);
}

static void make_wish(struct spec_builder *b)
{
    make_smaller_left(b);
    b->rels[b->rel_count - 1].u.join.build_side = EXEC_BUILD_RIGHT;
}

static void make_right_join(struct spec_builder *b)
{
    join_of(b, EXEC_JOIN_RIGHT);
}

Test(plan_rewrite, build_sides)
{
    const char *const left[] = {"inner join, build side left", NULL};
    const char *const right[] = {"inner join, build side right", NULL};
    const char *const swapped[] = {"right join, build side left", NULL};
    expect_plan(make_smaller_left, left, NULL);
    expect_plan(make_wish, right, NULL);
    expect_plan(make_right_join, swapped, "unmatched");
}

/* 100,000 rows, 10,000 and 10, filtered: a join b on i, then c on b.v = c.i. */
static void make_three(struct spec_builder *b)
{
    const uint32_t x = spec_generator(b, "sequence", 100000, 0);
    const uint32_t y = spec_generator(b, "sequence", 10000, 0);
    const uint32_t first = spec_join(b, EXEC_JOIN_INNER, x, y);
    const uint32_t i = spec_column(b, "i");
    spec_on(b, i, i);
    const uint32_t z = spec_generator(b, "sequence", 10, 0);
    const uint32_t few = spec_filter(b, z, column_below(b, 1, 5));
    spec_join(b, EXEC_JOIN_INNER, first, few);
    const uint32_t v = spec_column_at(b, 6);
    spec_on(b, v, spec_column(b, "i"));
}

static void make_three_with_wish(struct spec_builder *b)
{
    make_three(b);
    b->rels[2].u.join.build_side = EXEC_BUILD_RIGHT;
}

/* The same from a product and a filter above it. */
static void make_three_comma(struct spec_builder *b)
{
    const uint32_t x = spec_generator(b, "sequence", 100000, 0);
    const uint32_t y = spec_generator(b, "sequence", 10000, 0);
    const uint32_t first = spec_join(b, EXEC_JOIN_CROSS, x, y);
    const uint32_t z = spec_generator(b, "sequence", 10, 0);
    const uint32_t all = spec_join(b, EXEC_JOIN_CROSS, first, z);
    const uint32_t x_i = spec_column_at(b, 1), y_v = spec_column_at(b, 6);
    const uint32_t conditions[] = {
        spec_call2(b, "eq", x_i, spec_column_at(b, 5)),
        spec_call2(b, "eq", y_v, spec_column_at(b, 9)),
        column_below(b, 9, 5),
    };
    spec_filter(b, all, spec_call(b, "and", conditions, 3));
}

static struct job_result run_of(make_fn *make)
{
    struct exec_engine *engine = test_engine(2, NULL);
    struct spec_builder *b = malloc(sizeof *b);
    struct job_result result;

    cr_assert_not_null(b);
    spec_init(b);
    make(b);
    job_run(engine, spec_job(b), &result);
    cr_assert_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
    job_result_sort(&result);
    spec_fini(b);
    free(b);
    exec_engine_destroy(engine);
    return result;
}

Test(plan_rewrite, joins_are_put_in_order)
{
    const char *const has[] = {"project 'columns as written'", "inner join (reordered)",
                               "on: v = i", "filter pushed here: (i < 5)", NULL};
    const char *const written[] = {"inner join, build side", NULL};
    struct job_result ordered = run_of(make_three), as_written = run_of(make_three_with_wish);
    struct job_result comma = run_of(make_three_comma);

    expect_plan(make_three, has, "cross");
    expect_plan(make_three_comma, has + 1, "cross");
    expect_plan(make_three_with_wish, written, "reordered");
    cr_expect_eq(ordered.row_count, 50);
    cr_expect_eq(comma.row_count, 50);
    cr_expect_str_eq(ordered.schema, as_written.schema);
    for (uint64_t r = 0; r < ordered.row_count && r < as_written.row_count; r++) {
        cr_expect_str_eq(ordered.rows[r], as_written.rows[r]);
        cr_expect_str_eq(ordered.rows[r], comma.rows[r]);
    }
    job_result_fini(&ordered);
    job_result_fini(&as_written);
    job_result_fini(&comma);
}

static void make_one_sided(struct spec_builder *b)
{
    join_of(b, EXEC_JOIN_LEFT);
    const uint32_t left = spec_side_column(b, 1, "i"), right = spec_side_column(b, 2, "i");
    const uint32_t below = spec_call2(b, "lt", left, spec_i64(b, 7));
    spec_residual(b, spec_call2(b, "and", below, spec_call2(b, "lt", right, spec_i64(b, 8))));
}

Test(plan_rewrite, a_one_sided_residual_goes_to_the_side_that_is_not_kept)
{
    const char *const has[] = {"residual: (i < 7)", "filter pushed here: (i < 8)", NULL};
    expect_plan(make_one_sided, has, "pushed here: (i < 7)");
}

static uint32_t side_compared(struct spec_builder *b, uint32_t side, const char *with,
                              int64_t value)
{
    return spec_call2(b, with, spec_side_column(b, side, "i"), spec_i64(b, value));
}

/* (l.i < 7 and r.i = 1) or (r.i = 2 and l.i < 7) or (l.i < 7 and r.i = 3 and l.f < r.f) */
static void make_disjunction(struct spec_builder *b, enum exec_join_kind kind)
{
    join_of(b, kind);
    const uint32_t floats =
        spec_call2(b, "lt", spec_side_column(b, 1, "f"), spec_side_column(b, 2, "f"));
    const uint32_t third = spec_call2(b, "and", side_compared(b, 1, "lt", 7),
                                      spec_call2(b, "and", side_compared(b, 2, "eq", 3), floats));
    const uint32_t parts[] = {
        spec_call2(b, "and", side_compared(b, 1, "lt", 7), side_compared(b, 2, "eq", 1)),
        spec_call2(b, "and", side_compared(b, 2, "eq", 2), side_compared(b, 1, "lt", 7)), third};
    spec_residual(b, spec_call(b, "or", parts, 3));
}

static void make_inner_disjunction(struct spec_builder *b)
{
    make_disjunction(b, EXEC_JOIN_INNER);
}

static void make_left_disjunction(struct spec_builder *b)
{
    make_disjunction(b, EXEC_JOIN_LEFT);
}

static void make_full_disjunction(struct spec_builder *b)
{
    make_disjunction(b, EXEC_JOIN_FULL);
}

Test(plan_rewrite, a_disjunction_over_both_sides_implies_something_of_each)
{
    const char *const inner[] = {"residual: (", "filter pushed here: (i < 7)\n",
                                 "filter pushed here: ((i = 1) or (i = 2) or (i = 3))\n", NULL};
    const char *const left[] = {"residual: (", inner[2], NULL};
    expect_plan(make_inner_disjunction, inner, NULL);
    expect_plan(make_left_disjunction, left, "pushed here: (i < 7)");
    expect_plan(make_full_disjunction, inner + 3, "pushed here");
}

static void make_residual(struct spec_builder *b)
{
    join_of(b, EXEC_JOIN_INNER);
    const uint32_t left = spec_side_column(b, 1, "i");
    spec_residual(b, spec_call2(b, "lt", left, spec_side_column(b, 2, "f")));
}

Test(plan_rewrite, a_residual_is_shown)
{
    const char *const has[] = {"residual: (", NULL};
    expect_plan(make_residual, has, NULL);
}

/* sequence(1000): v is i % something, so there are ties; number, rank within partitions of v. */
static uint32_t make_window(struct spec_builder *b)
{
    const uint32_t window = spec_window(b, spec_generator(b, "sequence", 1000, 0), -1);
    spec_partition(b, spec_column(b, "v"));
    spec_window_order(b, spec_column(b, "i"), EXEC_DESC_NULLS_LAST);
    spec_number(b, EXEC_WINDOW_ROW_NUMBER, "n");
    spec_number(b, EXEC_WINDOW_RANK, "r");
    return window;
}

static void compare_window(struct spec_builder *b, const char *function, const char *column,
                           int64_t number)
{
    const uint32_t window = make_window(b), at = spec_column(b, column);
    spec_filter(b, window, spec_call2(b, function, at, spec_i64(b, number)));
}

static void make_window_limit(struct spec_builder *b)
{
    compare_window(b, "le", "n", 2);
}

static void make_window_rank_below(struct spec_builder *b)
{
    compare_window(b, "lt", "r", 4);
}

static void make_window_number_is(struct spec_builder *b)
{
    compare_window(b, "eq", "n", 3);
}

static void make_window_number_above(struct spec_builder *b)
{
    compare_window(b, "gt", "n", 3);
}

static void make_window_turned(struct spec_builder *b)
{
    const uint32_t window = make_window(b), three = spec_i64(b, 3);
    const uint32_t turned = spec_call2(b, "ge", three, spec_column(b, "n"));
    const uint32_t other = spec_call2(b, "le", spec_column(b, "r"), three);
    spec_filter(b, window, spec_call2(b, "and", turned, other));
}

static void make_window_partition(struct spec_builder *b)
{
    const uint32_t window = make_window(b), five = spec_i64(b, 5);
    const uint32_t partition = spec_call2(b, "lt", spec_column(b, "v"), five);
    spec_filter(b, window,
                spec_call2(b, "and", partition, spec_call2(b, "lt", spec_column(b, "i"), five)));
}

Test(plan_rewrite, row_numbers_and_ranks_limit_their_window)
{
    const char *const limit[] = {"window, row_number to 2", "filter: moved down",
                                 "functions: row_number, rank", NULL};
    const char *const below[] = {"window, rank to 3", "filter: moved down", NULL};
    const char *const number[] = {"window, row_number to 3", "filter: (n = 3)", NULL};
    const char *const above[] = {"filter: (n > 3)", NULL};
    const char *const turned[] = {"window, row_number to 3", "filter: (r <= 3)", NULL};

    expect_plan(make_window_limit, limit, NULL);
    expect_plan(make_window_rank_below, below, NULL);
    expect_plan(make_window_number_is, number, NULL);
    expect_plan(make_window_number_above, above, "window,");
    expect_plan(make_window_turned, turned, NULL);
}

Test(plan_rewrite, predicates_on_partition_keys_pass_a_window)
{
    const char *const has[] = {"filter pushed here: (v < 5)", "filter: (i < 5)", "partition by: v",
                               "order by: i desc", NULL};

    expect_plan(make_window_partition, has, NULL);
}
