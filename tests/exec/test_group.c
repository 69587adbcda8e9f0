/* Goal:   an aggregation answers what sorting and adding up row by row answers: every function over
 *         every type it takes, filters, any keys with NULL, NaN and -0.0 among them, no keys, no
 *         rows, colliding hashes, more groups than a hot table holds, suspension at every push; and
 *         the answer, floats included, is the same bits for one to eight workers.
 * Method: seeded random tables go through group sink and group source by hand; the sorted lines
 * that come out (floats as bits) are compared with the oracle's. */
#include "op/group.h"
#include "op_harness.h"
#include "oracle/group_oracle.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TYPE_OF(KIND)            \
    {                            \
        .kind = EXEC_TYPE_##KIND \
    }

enum { COLUMNS_MAX = 16, MEASURES_MAX = 96 };

struct fixture {
    uint32_t workers, hash_bits_kept, refusals, time_every;
    bool threads;
    uint32_t rows;
    uint64_t distinct;
    uint32_t null_percent, hot_percent;
    const struct exec_type *types; /* keys, then arguments; two int64 follow for filters */
    uint32_t key_count, argument_count;
    bool filter;      /* of every second measure */
    bool more;        /* functions too */
    bool approximate; /* the count of distinct values too */
    uint64_t seed;
};

struct wanted_function {
    enum exec_aggregate_function function;
    bool distinct;
    double fraction;
};
static const struct wanted_function functions[] = {
    {EXEC_AGG_COUNT_STAR, false, 0}, {EXEC_AGG_COUNT, false, 0}, {EXEC_AGG_SUM, false, 0},
    {EXEC_AGG_AVG, false, 0},        {EXEC_AGG_MIN, false, 0},   {EXEC_AGG_MAX, false, 0},
    {EXEC_AGG_ANY_VALUE, false, 0},
};
static const struct wanted_function more_functions[] = {
    {EXEC_AGG_VAR_SAMP, false, 0},
    {EXEC_AGG_VAR_POP, false, 0},
    {EXEC_AGG_STDDEV_SAMP, false, 0},
    {EXEC_AGG_STDDEV_POP, false, 0},
    {EXEC_AGG_COVAR_SAMP, false, 0},
    {EXEC_AGG_COVAR_POP, false, 0},
    {EXEC_AGG_BOOL_AND, false, 0},
    {EXEC_AGG_BOOL_OR, false, 0},
    {EXEC_AGG_BIT_AND, false, 0},
    {EXEC_AGG_BIT_OR, false, 0},
    {EXEC_AGG_BIT_XOR, false, 0},
    {EXEC_AGG_COUNT_DISTINCT, true, 0},
    {EXEC_AGG_COUNT_DISTINCT, true, 0},
    {EXEC_AGG_SUM, true, 0},
    {EXEC_AGG_AVG, true, 0},
    {EXEC_AGG_AVG, true, 0},
    {EXEC_AGG_BIT_XOR, true, 0},
    {EXEC_AGG_VAR_POP, true, 0},
    {EXEC_AGG_MAX, true, 0},
    {EXEC_AGG_QUANTILE_DISC, true, 0.5},
    {EXEC_AGG_FIRST, false, 0},
    {EXEC_AGG_LAST, false, 0},
    {EXEC_AGG_FIRST, false, 0},
    {EXEC_AGG_ARG_MIN, false, 0},
    {EXEC_AGG_ARG_MAX, false, 0},
    {EXEC_AGG_ARG_MIN, false, 0},
    {EXEC_AGG_MODE, false, 0},
    {EXEC_AGG_QUANTILE_CONT, false, 0.5},
    {EXEC_AGG_QUANTILE_CONT, false, 0.75},
    {EXEC_AGG_QUANTILE_DISC, false, 0},
    {EXEC_AGG_QUANTILE_DISC, false, 0.25},
    {EXEC_AGG_QUANTILE_DISC, false, 1},
};
enum {
    FUNCTION_COUNT = sizeof functions / sizeof functions[0],
    MORE_COUNT = sizeof more_functions / sizeof more_functions[0],
};

struct grouped {
    struct fixture fixture;
    struct cells input;
    struct exec_type types[COLUMNS_MAX];
    uint32_t keys[COLUMNS_MAX];
    struct expr *key_exprs[COLUMNS_MAX];
    struct oracle_measure wanted[MEASURES_MAX];
    struct group_measure measures[MEASURES_MAX];
    uint32_t measure_count;
    struct exec_type out_types[COLUMNS_MAX + MEASURES_MAX];
};

static void make_input(struct grouped *grouped)
{
    const struct fixture *fixture = &grouped->fixture;
    const uint32_t columns = fixture->key_count + fixture->argument_count + 2;
    static const struct exec_type int64 = TYPE_OF(INT64);
    uint64_t seed = fixture->seed;

    memcpy(grouped->types, fixture->types, (columns - 2) * sizeof *grouped->types);
    grouped->types[columns - 2] = grouped->types[columns - 1] = int64;
    grouped->input = cells_make(fixture->rows, grouped->types, columns);
    for (uint32_t r = 0; r < fixture->rows; r++) {
        const bool hot = random_next(&seed) % 100 < fixture->hot_percent;
        for (uint32_t c = 0; c < columns; c++) {
            const bool key = c < fixture->key_count;
            uint64_t hot_seed = 5;
            cell_random(cells_at(&grouped->input, r, c), &grouped->types[c],
                        key ? fixture->distinct : 1000, hot && key ? 0 : fixture->null_percent,
                        hot && key ? &hot_seed : &seed);
        }
    }
}

/* Functions that do not take the type are left out. The second argument is the last column. */
static void add_measure(struct grouped *grouped, struct harness *harness,
                        const struct wanted_function *wanted, uint32_t column, bool filter)
{
    const enum exec_aggregate_function function = wanted->function;
    static const struct exec_type int64 = TYPE_OF(INT64);
    static const enum exec_direction directions[] = {EXEC_ASC_NULLS_LAST};
    const uint32_t columns = grouped->input.column_count;
    const uint32_t argument_count = group_function(function)->argument_count;
    struct group_measure *measure = &grouped->measures[grouped->measure_count];
    struct exec_error err;

    cr_assert_lt(grouped->measure_count, MEASURES_MAX);
    *measure = (struct group_measure){
        .function = function,
        .argument =
            argument_count == 0 ? NULL : harness_column(harness, column, &grouped->types[column]),
        .filter = filter ? harness_less(harness, columns - 2, columns - 1) : NULL,
        .distinct = wanted->distinct,
        .fraction = wanted->fraction,
        .directions = directions};
    if (argument_count == 2 || function == EXEC_AGG_FIRST || function == EXEC_AGG_LAST) {
        measure->others = nu_arena_calloc(&harness->job.plan, sizeof(struct expr *), 8);
        measure->others[0] = harness_column(harness, columns - 1, &int64);
        measure->other_count = 1;
    }
    if (group_measure_bind(&harness->job.plan, measure, &err) != EXEC_OK) {
        cr_assert_eq(err.code, EXEC_TYPE_MISMATCH, "%s", err.detail);
        return;
    }
    grouped->wanted[grouped->measure_count++] =
        (struct oracle_measure){.function = function,
                                .column = column,
                                .second = columns - 1,
                                .distinct = wanted->distinct,
                                .fraction = wanted->fraction,
                                .filter = filter,
                                .filter_left = columns - 2,
                                .filter_right = columns - 1,
                                .type = measure->type};
}

/* Exact where a group has 512 distinct values at most. */
static void add_approximate(struct grouped *grouped, struct harness *harness, uint32_t column)
{
    static const struct wanted_function approximate = {EXEC_AGG_APPROX_COUNT_DISTINCT, false, 0};
    const uint32_t m = grouped->measure_count;

    add_measure(grouped, harness, &approximate, column, grouped->fixture.filter);
    grouped->wanted[m].function = EXEC_AGG_COUNT_DISTINCT;
    grouped->wanted[m].distinct = true;
}

static void add_measures(struct grouped *grouped, struct harness *harness, uint32_t column)
{
    for (uint32_t f = 0; f < FUNCTION_COUNT; f++) {
        add_measure(grouped, harness, &functions[f], column, grouped->fixture.filter && f % 2 == 0);
    }
    for (uint32_t f = 0; grouped->fixture.more && f < MORE_COUNT; f++) {
        add_measure(grouped, harness, &more_functions[f], column,
                    grouped->fixture.filter && f % 2 == 0);
    }
    if (grouped->fixture.approximate) {
        add_approximate(grouped, harness, column);
    }
}

static struct group *create(struct grouped *grouped, struct harness *harness)
{
    const struct fixture *fixture = &grouped->fixture;
    struct exec_error err;
    struct group *group;

    for (uint32_t k = 0; k < fixture->key_count; k++) {
        grouped->keys[k] = k;
        grouped->key_exprs[k] = harness_column(harness, k, &grouped->types[k]);
        grouped->out_types[k] = grouped->types[k];
    }
    for (uint32_t a = 0; a < fixture->argument_count; a++) {
        add_measures(grouped, harness, fixture->key_count + a);
    }
    for (uint32_t m = 0; m < grouped->measure_count; m++) {
        grouped->out_types[fixture->key_count + m] = grouped->measures[m].type;
    }
    const struct group_plan plan = {.rel = 2,
                                    .keys = grouped->key_exprs,
                                    .key_count = fixture->key_count,
                                    .measures = grouped->measures,
                                    .measure_count = grouped->measure_count};
    cr_assert_eq(group_create(&harness->job, &plan, &group, &err), EXEC_OK, "%s", err.detail);
    harness->out_types = grouped->out_types;
    harness->refusals = fixture->refusals;
    harness->time_every = fixture->time_every;
    harness->threads = fixture->threads;
    return group;
}

static void run(struct harness *harness, struct group *group, const struct grouped *grouped)
{
    harness_feed_sink(harness, group_sink(group), &grouped->input);
    harness_finish_sink(harness, group_sink(group));
    harness_run_source(harness, group_source(group));
}

static struct group_figures check(const struct fixture *fixture)
{
    static struct grouped grouped;
    struct harness harness;
    struct lines wanted = {0};
    struct group_figures figures;
    char what[200];

    grouped = (struct grouped){.fixture = *fixture};
    make_input(&grouped);
    harness_init(&harness, fixture->workers, fixture->hash_bits_kept, UINT64_MAX);
    struct group *group = create(&grouped, &harness);
    run(&harness, group, &grouped);
    cr_assert_eq(harness.failure.code, EXEC_OK, "%s", harness.failure.detail);
    const struct group_oracle oracle = {.input = &grouped.input,
                                        .keys = grouped.keys,
                                        .key_count = fixture->key_count,
                                        .measures = grouped.wanted,
                                        .measure_count = grouped.measure_count};
    group_oracle_run(&oracle, &wanted);
    snprintf(what, sizeof what, "first type %d, keys %u, workers %u, hash bits %u, seed %d",
             fixture->types[0].kind, fixture->key_count, fixture->workers, fixture->hash_bits_kept,
             (int)fixture->seed);
    group_figures(group, &figures);
    cr_assert_eq(figures.groups, wanted.count, "%s", what);
    lines_assert_equal(&harness.lines, &wanted, what);
    lines_free(&wanted);
    cells_free(&grouped.input);
    harness_fini(&harness);
    return figures;
}

static const struct exec_type int_and_float[] = {TYPE_OF(INT64), TYPE_OF(FLOAT64)};

static struct fixture plain(void)
{
    return (struct fixture){.workers = 2,
                            .hash_bits_kept = 64,
                            .rows = 3000,
                            .distinct = 200,
                            .null_percent = 15,
                            .types = int_and_float,
                            .key_count = 1,
                            .argument_count = 1,
                            .seed = 3};
}

static const struct exec_type all_types[] = {
    TYPE_OF(BOOL),    TYPE_OF(INT8),
    TYPE_OF(INT16),   TYPE_OF(INT32),
    TYPE_OF(INT64),   TYPE_OF(UINT8),
    TYPE_OF(UINT16),  TYPE_OF(UINT32),
    TYPE_OF(UINT64),  TYPE_OF(FLOAT32),
    TYPE_OF(FLOAT64), {.kind = EXEC_TYPE_DECIMAL128, .precision = 38, .scale = 2},
    TYPE_OF(UTF8),    TYPE_OF(BINARY),
    TYPE_OF(DATE32),  TYPE_OF(TIMESTAMP),
};
enum { TYPE_COUNT = sizeof all_types / sizeof all_types[0] };

Test(group, every_function_over_every_type)
{
    for (uint32_t t = 0; t < TYPE_COUNT; t++) {
        const struct exec_type types[] = {TYPE_OF(INT32), all_types[t]};
        for (uint32_t filter = 0; filter < 2; filter++) {
            struct fixture fixture = plain();
            fixture.approximate = true;
            fixture.more = true;
            fixture.types = types;
            fixture.distinct = 20;
            fixture.filter = filter != 0;
            check(&fixture);
        }
    }
}

Test(group, every_type_as_key)
{
    for (uint32_t t = 0; t < TYPE_COUNT; t++) {
        const struct exec_type types[] = {all_types[t], TYPE_OF(INT64)};
        struct fixture fixture = plain();
        fixture.types = types;
        check(&fixture);
    }
}

Test(group, several_keys)
{
    static const struct exec_type types[] = {TYPE_OF(UTF8), TYPE_OF(FLOAT32), TYPE_OF(DATE32),
                                             TYPE_OF(UTF8)};
    struct fixture fixture = plain();
    fixture.types = types;
    fixture.key_count = 3;
    fixture.distinct = 5;
    check(&fixture);
    fixture.null_percent = 100;
    check(&fixture);
}

Test(group, no_keys_is_one_group)
{
    for (uint32_t rows = 0; rows <= 4000; rows += 2000) {
        for (uint32_t workers = 1; workers < 5; workers += 3) {
            struct fixture fixture = plain();
            fixture.more = true;
            fixture.types = int_and_float;
            fixture.key_count = 0;
            fixture.argument_count = 2;
            fixture.rows = rows;
            fixture.workers = workers;
            cr_assert_eq(check(&fixture).groups, 1);
        }
    }
}

Test(group, keys_and_no_rows)
{
    struct fixture fixture = plain();
    fixture.rows = 0;
    cr_assert_eq(check(&fixture).groups, 0);
}

Test(group, keys_and_no_measures)
{
    struct fixture fixture = plain();
    fixture.argument_count = 0;
    check(&fixture);
}

Test(group, colliding_hashes)
{
    struct fixture fixture = plain();
    fixture.more = true;
    fixture.approximate = true; /* of all bits all the same */
    fixture.hash_bits_kept = 8;
    check(&fixture);
    fixture.hash_bits_kept = 0;
    fixture.refusals = 2;
    fixture.time_every = 1;
    check(&fixture);
}

Test(group, any_number_of_workers_gives_the_same_bits)
{
    for (uint32_t workers = 1; workers <= 8; workers++) {
        struct fixture fixture = plain();
        fixture.more = true;
        fixture.workers = workers;
        fixture.refusals = workers % 3;
        fixture.time_every = workers % 2;
        check(&fixture);
    }
}

/* More groups than the hot tables hold: backlogs are flushed, partitions merge. */
Test(group, many_groups, .timeout = 60)
{
    static const struct exec_type types[] = {TYPE_OF(INT32), TYPE_OF(UTF8), TYPE_OF(FLOAT64)};
    for (uint32_t key_count = 1; key_count < 3; key_count++) {
        struct fixture fixture = plain();
        fixture.types = types;
        fixture.key_count = key_count;
        fixture.argument_count = 1;
        fixture.workers = key_count;
        fixture.rows = 90000;
        fixture.distinct = 60000;
        fixture.null_percent = 2;
        fixture.time_every = 3;
        cr_assert_gt(check(&fixture).hot_misses, key_count * 17000);
    }
}

Test(group, one_hot_key)
{
    struct fixture fixture = plain();
    fixture.rows = 20000;
    fixture.distinct = 30000;
    fixture.hot_percent = 90;
    check(&fixture);
    fixture.rows = 5000;
    fixture.more = true;
    check(&fixture);
}

Test(group, real_threads, .timeout = 60)
{
    static const struct exec_type types[] = {TYPE_OF(INT32), TYPE_OF(UTF8)};
    struct fixture fixture = plain();
    fixture.types = types;
    fixture.workers = 4;
    fixture.threads = true;
    fixture.rows = 60000;
    fixture.distinct = 30000;
    fixture.refusals = 1;
    check(&fixture);
    fixture = plain();
    fixture.more = true;
    fixture.workers = 4;
    fixture.threads = true;
    check(&fixture);
}

/* Sums of decimals may pass the limit on the way; what counts is where they end. */
Test(group, overflow_is_an_error_that_names_the_measure)
{
    const struct exec_type types[] = {TYPE_OF(INT32),
                                      {.kind = EXEC_TYPE_DECIMAL128, .precision = 38, .scale = 3}};
    const __int128 large =
        (__int128)UINT64_C(10000000000000000000) * (__int128)UINT64_C(9000000000000000000);
    for (uint32_t rows = 2; rows < 4; rows++) {
        struct fixture fixture = plain();
        struct grouped grouped = {.fixture = fixture};
        struct harness harness;
        grouped.fixture.types = types;
        grouped.fixture.rows = rows;
        make_input(&grouped);
        for (uint32_t r = 0; r < rows; r++) {
            *cells_at(&grouped.input, r, 0) = (struct cell){.integer = 1};
            *cells_at(&grouped.input, r, 1) = (struct cell){.integer = r == 2 ? -large : large};
        }
        harness_init(&harness, 1, 64, UINT64_MAX);
        struct group *group = create(&grouped, &harness);
        run(&harness, group, &grouped);
        cr_assert_eq(harness.failure.code, rows == 2 ? EXEC_OVERFLOW : EXEC_OK);
        if (rows == 2) {
            cr_assert_str_eq(harness.failure.detail, "measure 3, sum(decimal128(38,3)): the result "
                                                     "does not fit decimal128(38,3)");
            cr_assert_eq(harness.failure.rel, 2);
        }
        cells_free(&grouped.input);
        harness_fini(&harness);
    }
}

/* Memory follows the groups, not the rows. */
Test(group, memory_is_bounded_by_groups, .timeout = 60)
{
    static const struct exec_type types[] = {TYPE_OF(UTF8), TYPE_OF(UTF8)};
    struct fixture fixture = plain();
    fixture.types = types;
    fixture.rows = 30000;
    fixture.distinct = 30000;
    fixture.null_percent = 0;
    const uint64_t once = check(&fixture).memory_bytes;
    fixture.rows = 120000;
    const uint64_t often = check(&fixture).memory_bytes;
    cr_assert_lt(often, 2 * once, "%d MiB then %d MiB", (int)(once >> 20), (int)(often >> 20));
}

static void small_budgets(bool more, uint32_t rows)
{
    static struct grouped grouped;
    static const struct exec_type types[] = {TYPE_OF(UTF8), TYPE_OF(UTF8)};
    uint32_t refused = 0;
    uint32_t tried = 0;

    for (uint64_t limit = 256 << 10; limit < 24 << 20; limit += 1 << 20) {
        struct harness harness;
        grouped = (struct grouped){.fixture = plain()};
        grouped.fixture.types = types;
        grouped.fixture.rows = rows;
        grouped.fixture.distinct = rows;
        grouped.fixture.more = more;
        make_input(&grouped);
        harness_init(&harness, 2, 64, limit);
        struct group *group = create(&grouped, &harness);
        harness.count_only = true;
        run(&harness, group, &grouped);
        tried++;
        if (harness.failure.code != EXEC_OK) {
            refused++;
            cr_assert_eq(harness.failure.code, EXEC_MEMORY_BUDGET);
        }
        cells_free(&grouped.input);
        harness_fini(&harness);
    }
    cr_assert_gt(refused, 0);
    cr_assert_lt(refused, tried);
}

Test(group, a_small_budget_is_an_error, .timeout = 60)
{
    small_budgets(false, 20000);
    small_budgets(true, 4000);
}

Test(group, what_does_not_fit_is_named)
{
    const struct exec_type date = TYPE_OF(DATE32);
    struct exec_type type;
    struct exec_error err;

    cr_assert_eq(group_measure_type(EXEC_AGG_SUM, &date, &type, &err), EXEC_TYPE_MISMATCH);
    cr_assert_str_eq(err.detail, "sum of date32");
    cr_assert_eq(group_measure_type(EXEC_AGG_VAR_SAMP, &date, &type, &err), EXEC_TYPE_MISMATCH);
    cr_assert_str_eq(err.detail, "var_samp of date32");
}
