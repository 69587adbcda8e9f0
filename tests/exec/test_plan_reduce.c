/* Goal:   groups nobody asks for are not made, and semi joins go below inner joins, only where that
 *         cannot change a result. Method: every plan runs over tables, where both happen, and over
 *         the same rows made by a generator, where no groups are left out; the answers are
 * compared, the explained plans say what must and must not have happened.
 */
#include "job_runner.h"
#include "spec_builder.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 30000, GROUPS = 700, FEW = 1000 };

#define REDUCED "only groups that are asked for"

static uint32_t remainder_of(struct spec_builder *b, int64_t by)
{
    return spec_call2(b, "modulo", spec_column(b, "i"), spec_i64(b, by));
}

/* k: 0..GROUPS-1, NULL in every 13th row; x: the row number */
static uint32_t make_rows(struct spec_builder *b)
{
    const uint32_t project = spec_project(b, spec_generator(b, "sequence", ROWS, 0));
    const uint32_t present = spec_call2(b, "ne", remainder_of(b, 13), spec_i64(b, 0));
    const uint32_t args[] = {present, remainder_of(b, GROUPS), spec_null(b, EXEC_TYPE_INT64)};

    spec_item(b, "k", spec_call(b, "if", args, 3));
    spec_item(b, "x", spec_column(b, "i"));
    return project;
}

/* id: 0..FEW-1, some beyond all k; tag: its last digit */
static uint32_t make_few(struct spec_builder *b)
{
    const uint32_t project = spec_project(b, spec_generator(b, "sequence", FEW, 0));

    spec_item(b, "id", spec_column(b, "i"));
    spec_item(b, "tag", remainder_of(b, 10));
    return project;
}

/* What a plan is made of: over tables, or over generators. */
struct source {
    bool tables;
    enum exec_join_kind kind;
};

static uint32_t rows_of(struct spec_builder *b, const struct source *source)
{
    return source->tables ? spec_table(b, "rows") : make_rows(b);
}

static uint32_t few_of(struct spec_builder *b, const struct source *source)
{
    return source->tables ? spec_table(b, "few") : make_few(b);
}

static uint32_t below(struct spec_builder *b, const char *column, int64_t limit)
{
    return spec_call2(b, "lt", spec_column(b, column), spec_i64(b, limit));
}

static uint32_t groups_of(struct spec_builder *b, uint32_t input)
{
    const uint32_t group = spec_group(b, input);

    spec_key(b, "k", spec_column(b, "k"));
    spec_measure(b, EXEC_AGG_COUNT_STAR, 0, "n");
    spec_measure(b, EXEC_AGG_SUM, spec_column(b, "x"), "sum_x");
    return group;
}

typedef void make_fn(struct spec_builder *b, const struct source *source);

/* few where tag < 1, joined with the groups of rows */
static void make_asked_directly(struct spec_builder *b, const struct source *source)
{
    const uint32_t few = spec_filter(b, few_of(b, source), below(b, "tag", 1));
    const uint32_t groups = groups_of(b, rows_of(b, source));

    spec_join(b, source->kind, few, groups);
    spec_on(b, spec_column(b, "id"), spec_column(b, "k"));
}

/* rows joined with few where tag < 1; their k with the groups of rows */
static void make_asked_by_a_join(struct spec_builder *b, const struct source *source)
{
    const uint32_t few = spec_filter(b, few_of(b, source), below(b, "tag", 1));
    const uint32_t joined = spec_join(b, EXEC_JOIN_INNER, rows_of(b, source), few);

    spec_on(b, spec_column(b, "k"), spec_column(b, "id"));
    const uint32_t groups = groups_of(b, rows_of(b, source));
    spec_join(b, source->kind, joined, groups);
    spec_on(b, spec_column_at(b, 1), spec_column(b, "k"));
}

/* rows joined with few, of which those are kept that are among few where tag < 1 */
static void make_semi_above(struct spec_builder *b, const struct source *source)
{
    const uint32_t joined = spec_join(b, EXEC_JOIN_INNER, few_of(b, source), rows_of(b, source));

    spec_on(b, spec_column(b, "id"), spec_column(b, "k"));
    const uint32_t few = spec_filter(b, few_of(b, source), below(b, "tag", 1));
    const uint32_t semi = spec_join(b, source->kind, joined, few);
    spec_on(b, spec_column_at(b, 1), spec_column(b, "id"));
    spec_filter(b, semi, below(b, "x", 20000));
}

static struct job_result run_of(struct exec_engine *engine, make_fn *make,
                                const struct source *source, bool explain)
{
    struct spec_builder *b = malloc(sizeof *b);
    struct job_result result;

    spec_init(b);
    make(b, source);
    b->job.options.explain = explain;
    job_run(engine, spec_job(b), &result);
    cr_assert_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
    job_result_sort(&result);
    spec_fini(b);
    free(b);
    return result;
}

static void keep(struct exec_engine *engine, uint32_t (*make)(struct spec_builder *),
                 const char *table)
{
    struct spec_builder *b = malloc(sizeof *b);
    struct job_result result;

    spec_init(b);
    make(b);
    b->job.into_table = table;
    job_run(engine, spec_job(b), &result);
    cr_assert_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
    job_result_fini(&result);
    spec_fini(b);
    free(b);
}

static struct exec_engine *engine_with_tables(void)
{
    struct exec_engine *engine = test_engine(2, NULL);

    keep(engine, make_rows, "rows");
    keep(engine, make_few, "few");
    return engine;
}

static void expect_same(struct exec_engine *engine, make_fn *make, enum exec_join_kind kind,
                        const char *has, const char *has_not)
{
    const struct source tables = {true, kind}, generators = {false, kind};
    struct job_result a = run_of(engine, make, &tables, false);
    struct job_result b = run_of(engine, make, &generators, false);
    struct job_result plan = run_of(engine, make, &tables, true);

    cr_assert_eq(a.row_count, b.row_count, "join kind %d", (int)kind);
    cr_assert_gt(a.row_count, 0);
    for (uint64_t r = 0; r < a.row_count; r++) {
        cr_assert_str_eq(a.rows[r], b.rows[r], "join kind %d", (int)kind);
    }
    cr_expect(has == NULL || strstr(plan.explain_text, has) != NULL, "no '%s' in\n%s", has,
              plan.explain_text);
    cr_expect(has_not == NULL || strstr(plan.explain_text, has_not) == NULL, "'%s' in\n%s", has_not,
              plan.explain_text);
    job_result_fini(&a);
    job_result_fini(&b);
    job_result_fini(&plan);
}

Test(plan_reduce, groups_nobody_asks_for_are_not_made)
{
    static const enum exec_join_kind kinds[] = {EXEC_JOIN_INNER, EXEC_JOIN_LEFT,
                                                EXEC_JOIN_LEFT_SEMI};
    struct exec_engine *engine = engine_with_tables();

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        expect_same(engine, make_asked_directly, kinds[i], REDUCED, NULL);
        expect_same(engine, make_asked_by_a_join, kinds[i], REDUCED, NULL);
    }
    exec_engine_destroy(engine);
}

Test(plan_reduce, all_groups_are_made_where_they_come_out)
{
    static const enum exec_join_kind kinds[] = {EXEC_JOIN_RIGHT, EXEC_JOIN_FULL,
                                                EXEC_JOIN_LEFT_ANTI};
    struct exec_engine *engine = engine_with_tables();

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        expect_same(engine, make_asked_directly, kinds[i], NULL, REDUCED);
    }
    exec_engine_destroy(engine);
}

/* The semi join stands deeper than the inner join, on the side of few. */
Test(plan_reduce, semi_joins_go_below_inner_joins)
{
    struct exec_engine *engine = engine_with_tables();

    expect_same(engine, make_semi_above, EXEC_JOIN_LEFT_SEMI, "|- 6 left semi join", NULL);
    expect_same(engine, make_semi_above, EXEC_JOIN_LEFT_ANTI, "left anti join", NULL);
    exec_engine_destroy(engine);
}
