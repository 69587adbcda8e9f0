/* Goal:   grouping sets give what one aggregation a set gives, every function among the measures:
 *         keys that are NULL and keys that are not in the set are told apart by the set's number,
 *         the grand total is there also of no rows, sets may repeat; the same for 1, 2, 3 and 8
 *         workers, small morsels and colliding hashes; wrong sets are refused by name.
 * Method: the same job twice: once with sets, once as the union of a plain aggregation a set, whose
 *         missing keys are NULL literals. Rows are compared as text, floats as their digits.
 */
#include "job_runner.h"
#include "measure_list.h"
#include "spec_builder.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 3, SETS_MAX = 8 };
static const char *const key_names[KEYS] = {"k", "g", "r"};

struct shape {
    int64_t rows, row_keys; /* row_keys: distinct values of the third key */
    enum measure_choice choice;
    uint32_t sets[SETS_MAX]; /* bit k: key k */
    uint32_t set_count;
};

static uint32_t key_expr(struct spec_builder *b, const struct shape *shape, uint32_t k)
{
    return k < 2 ? spec_column(b, key_names[k])
                 : spec_call2(b, "modulo", spec_column(b, "row"), spec_i64(b, shape->row_keys));
}

static void make_sets(struct spec_builder *b, const struct shape *shape)
{
    static const uint32_t numbers[KEYS] = {1, 2, 3};
    struct exec_grouping_set sets[SETS_MAX];
    struct exec_rel *rel;

    spec_group(b, measure_input(b, shape->rows));
    for (uint32_t k = 0; k < KEYS; k++) {
        spec_key(b, key_names[k], key_expr(b, shape, k));
    }
    measure_list(b, shape->choice);
    for (uint32_t s = 0; s < shape->set_count; s++) {
        uint32_t keys[KEYS];
        sets[s].key_count = 0;
        for (uint32_t k = 0; k < KEYS; k++) {
            if ((shape->sets[s] >> k & 1) != 0) {
                keys[sets[s].key_count++] = numbers[k];
            }
        }
        sets[s].keys = spec_memory(b, keys, sizeof keys);
    }
    rel = &b->rels[b->rel_count - 1];
    rel->u.aggregate.sets = spec_memory(b, sets, sizeof sets);
    rel->u.aggregate.set_count = shape->set_count;
    rel->u.aggregate.set_name = "set";
}

static uint32_t make_one(struct spec_builder *b, const struct shape *shape, uint32_t input,
                         uint32_t set)
{
    static const enum exec_type_kind kinds[KEYS] = {EXEC_TYPE_INT64, EXEC_TYPE_UTF8,
                                                    EXEC_TYPE_INT64};
    uint32_t key_count = 0;
    const uint32_t group = spec_group(b, input);

    for (uint32_t k = 0; k < KEYS; k++) {
        if ((shape->sets[set] >> k & 1) != 0) {
            spec_key(b, key_names[k], key_expr(b, shape, k));
        }
    }
    const uint32_t measures = measure_list(b, shape->choice);
    spec_project(b, group);
    for (uint32_t k = 0; k < KEYS; k++) {
        const bool has = (shape->sets[set] >> k & 1) != 0;
        spec_item(b, key_names[k], has ? spec_column_at(b, ++key_count) : spec_null(b, kinds[k]));
    }
    for (uint32_t m = 0; m < measures; m++) {
        char name[16];
        snprintf(name, sizeof name, "m%u", m);
        spec_item(b, name, spec_column_at(b, key_count + m + 1));
    }
    spec_item(b, "set", spec_i64(b, set + 1));
    return b->rel_count;
}

static void make_union(struct spec_builder *b, const struct shape *shape)
{
    const uint32_t input = measure_input(b, shape->rows);
    uint32_t parts[SETS_MAX];

    for (uint32_t s = 0; s < shape->set_count; s++) {
        parts[s] = make_one(b, shape, input, s);
    }
    spec_union(b, parts, shape->set_count);
}

typedef void make_fn(struct spec_builder *b, const struct shape *shape);

static struct job_result run(make_fn *make, const struct shape *shape, uint32_t workers,
                             uint32_t hash_bits)
{
    struct exec_engine *engine = test_engine(workers, NULL);
    struct spec_builder *b = malloc(sizeof *b);
    struct job_result result;

    cr_assert_not_null(b);
    spec_init(b);
    make(b, shape);
    b->job.options.morsel_rows = 1024;
    b->job.options.hash_bits = hash_bits;
    job_run(engine, spec_job(b), &result);
    cr_assert_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
    job_result_sort(&result);
    spec_fini(b);
    free(b);
    exec_engine_destroy(engine);
    return result;
}

static void expect_same(struct job_result *wanted, struct job_result *result, const char *what)
{
    cr_assert_eq(result->row_count, wanted->row_count, "%s: %d rows, not %d", what,
                 (int)result->row_count, (int)wanted->row_count);
    for (uint64_t r = 0; r < wanted->row_count; r++) {
        cr_assert_str_eq(result->rows[r], wanted->rows[r], "%s, row %d:\n%s\n%s", what, (int)r,
                         result->rows[r], wanted->rows[r]);
    }
    job_result_fini(result);
}

static uint64_t check(const struct shape *shape, const char *what)
{
    static const uint32_t workers[] = {1, 2, 3, 8};
    struct job_result wanted = run(make_union, shape, 2, 0);
    const uint64_t rows = wanted.row_count;

    for (uint32_t w = 0; w < 4; w++) {
        struct job_result result = run(make_sets, shape, workers[w], 0);
        expect_same(&wanted, &result, what);
    }
    job_result_fini(&wanted);
    /* approx_count_distinct reads hashes: with fewer bits it is another. */
    wanted = run(make_union, shape, 2, 8);
    struct job_result colliding = run(make_sets, shape, 3, 8);
    expect_same(&wanted, &colliding, what);
    job_result_fini(&wanted);
    return rows;
}

Test(group_sets, every_function)
{
    const struct shape shape = {
        .rows = 1000, .row_keys = 4, .sets = {3, 1, 2, 0, 3, 4}, .set_count = 6};
    const uint64_t rows = check(&shape, "every function");

    /* k: 4 values and NULL, g: 2 and NULL, r: 4. */
    cr_assert_eq(rows, 15 + 5 + 3 + 1 + 15 + 4);
}

/* Measures that keep no rows: the groups of all keys are made first. */
Test(group_sets, every_function_with_a_state_of_fixed_size)
{
    const struct shape shape = {.rows = 2000,
                                .row_keys = 4,
                                .choice = MEASURES_FIXED,
                                .sets = {3, 1, 2, 0, 1, 4},
                                .set_count = 6};

    cr_assert_eq(check(&shape, "fixed size"), 15 + 5 + 3 + 1 + 5 + 4);
}

/* Over a table, whose statistics are known, and without a set that is the grand total. */
Test(group_sets, of_a_table)
{
    static const uint32_t keys[] = {1, 2};
    const struct exec_grouping_set sets[] = {{keys, 1}, {keys + 1, 1}};
    struct exec_engine *engine = test_engine(2, NULL);

    for (uint32_t step = 0; step < 4; step++) {
        struct spec_builder *b = malloc(sizeof *b);
        struct job_result result;
        cr_assert_not_null(b);
        spec_init(b);
        if (step == 0) {
            const uint32_t scan = spec_generator(b, "sequence", 5000, 0);
            spec_project(b, scan);
            const uint32_t i = spec_column(b, "i");
            spec_item(b, "a", spec_call2(b, "modulo", i, spec_i64(b, 10)));
            spec_item(b, "b", spec_call2(b, "modulo", i, spec_i64(b, 3)));
            b->job.into_table = "t";
        } else {
            spec_group(b, spec_table(b, "t"));
            spec_key(b, "a", spec_column(b, "a"));
            spec_key(b, "b", spec_column(b, "b"));
            if (step > 1) {
                spec_measure(b, EXEC_AGG_COUNT_STAR, 0, "n");
            }
            if (step > 2) { /* keeps rows: row by row */
                spec_measure(b, EXEC_AGG_MODE, spec_column(b, "a"), "m");
            }
            b->rels[b->rel_count - 1].u.aggregate.sets = sets;
            b->rels[b->rel_count - 1].u.aggregate.set_count = 2;
        }
        job_run(engine, spec_job(b), &result);
        cr_assert_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
        job_result_sort(&result);
        cr_assert_eq(result.row_count, step == 0 ? 0 : 13);
        if (step == 2) {
            cr_assert_str_eq(result.rows[0], "0|\\N|500");
            cr_assert_str_eq(result.rows[12], "\\N|2|1666");
        }
        job_result_fini(&result);
        spec_fini(b);
        free(b);
    }
    exec_engine_destroy(engine);
}

/* A key that no set has is NULL everywhere. */
Test(group_sets, keys_of_no_set)
{
    const struct shape shape = {
        .rows = 2000, .row_keys = 4, .choice = MEASURES_FEW, .sets = {2, 0}, .set_count = 2};

    cr_assert_eq(check(&shape, "no set has k and r"), 3 + 1);
}

static void expect_way(const struct shape *shape, const char *text)
{
    struct exec_engine *engine = test_engine(1, NULL);
    struct spec_builder *b = malloc(sizeof *b);
    struct job_result result;

    cr_assert_not_null(b);
    spec_init(b);
    make_sets(b, shape);
    b->job.options.explain = true;
    job_run(engine, spec_job(b), &result);
    cr_assert_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
    cr_expect_not_null(strstr(result.explain_text, text), "no '%s' in\n%s", text,
                       result.explain_text);
    job_result_fini(&result);
    spec_fini(b);
    free(b);
    exec_engine_destroy(engine);
}

Test(group_sets, groups_go_first_where_they_are_few_and_keep_no_rows)
{
    struct shape shape = {
        .rows = 2000, .row_keys = 4, .choice = MEASURES_FIXED, .sets = {3, 1}, .set_count = 2};

    expect_way(&shape, "grouping sets: (k, g), (k), out of the groups of all keys");
    expect_way(&shape, "group merge (3) -> expand (3) -> group (3)");
    shape.choice = MEASURES_ALL;
    expect_way(&shape, "grouping sets: (k, g), (k), row by row");
    shape.choice = MEASURES_FIXED;
    shape.rows = 20; /* 10 groups, for all that is known */
    expect_way(&shape, "row by row");
}

Test(group_sets, of_no_rows_the_grand_totals_only)
{
    const struct shape shape = {.rows = 0, .row_keys = 4, .sets = {3, 0, 1, 0}, .set_count = 4};

    cr_assert_eq(check(&shape, "no rows"), 2);
}

Test(group_sets, more_groups_than_a_hot_table_holds)
{
    const struct shape shape = {
        .rows = 6000, .row_keys = 3000, .choice = MEASURES_FEW, .sets = {6, 4, 0}, .set_count = 3};

    cr_assert_gt(check(&shape, "many groups"), 5000);
}

Test(group_sets, totals_alone)
{
    const struct shape shape = {.rows = 100, .row_keys = 1, .sets = {0, 0}, .set_count = 2};

    cr_assert_eq(check(&shape, "totals"), 2);
}

/* ---- refusals -----------------------------------------------------------------------------------
 */

struct refusal {
    struct exec_grouping_set set;
    uint32_t set_count;
    const char *set_name;
    enum exec_code code;
    const char *text;
};

Test(group_sets, wrong_sets_are_refused)
{
    static const uint32_t past[] = {4}, none[] = {0}, twice[] = {2, 2}, good[] = {1};
    static struct exec_grouping_set many[EXEC_GROUPING_SETS_MAX + 1];
    const struct refusal refusals[] = {
        {{past, 1}, 1, NULL, EXEC_BAD_SPEC, "key 4 of 3"},
        {{none, 1}, 1, NULL, EXEC_BAD_SPEC, "key 0 of 3"},
        {{twice, 2}, 1, NULL, EXEC_BAD_SPEC, "key 2 is in one set twice"},
        {{good, 1}, 0, "set", EXEC_BAD_SPEC, "grouping_set_name without"},
        {{good, 1}, EXEC_GROUPING_SETS_MAX + 1, NULL, EXEC_BAD_SPEC, "aggregate.grouping_sets"},
    };
    const struct shape shape = {.rows = 10, .row_keys = 2, .sets = {1}, .set_count = 1};
    struct exec_engine *engine = test_engine(1, NULL);

    for (uint32_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const struct refusal *refusal = &refusals[i];
        struct spec_builder *b = malloc(sizeof *b);
        struct job_result result;
        cr_assert_not_null(b);
        spec_init(b);
        make_sets(b, &shape);
        struct exec_rel *rel = &b->rels[b->rel_count - 1];
        rel->u.aggregate.sets = refusal->set_count > 1 ? many : &refusal->set;
        rel->u.aggregate.set_count = refusal->set_count;
        rel->u.aggregate.set_name = refusal->set_name;
        job_run(engine, spec_job(b), &result);
        cr_expect_eq(result.error.code, refusal->code, "%s", result.error.detail);
        cr_expect_not_null(strstr(result.error.detail, refusal->text), "'%s' is not in '%s'",
                           refusal->text, result.error.detail);
        job_result_fini(&result);
        spec_fini(b);
        free(b);
    }
    exec_engine_destroy(engine);
}
