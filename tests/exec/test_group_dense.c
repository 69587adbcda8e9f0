/* Goal:   where statistics bound the keys, groups are found by place, and the answer is the one of
 *         sorting and adding up row by row, bit by bit: every integer type as key and argument,
 *         several keys, nulls in both, floats of wide and narrow spans, variances and correlations,
 *         no keys, no rows, lanes that are emptied on the way, any number of workers; and where
 *         they do not, the hash table is taken.
 * Method: seeded random tables, statistics of exactly their values, the lines that come out
 *         compared with the oracle's. */
#include "op/group.h"
#include "op_harness.h"
#include "oracle/group_oracle.h"
#include "table/column_stats.h"
#include "table/dictionary.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TYPE_OF(KIND)            \
    {                            \
        .kind = EXEC_TYPE_##KIND \
    }

enum { COLUMNS_MAX = 8, MEASURES_MAX = 64 };

struct fixture {
    uint32_t workers, refusals, rows;
    struct exec_type types[COLUMNS_MAX]; /* keys, then arguments */
    uint32_t key_count, argument_count;
    int64_t least; /* of keys and integer arguments */
    uint64_t span; /* likewise */
    uint32_t null_percent;
    int32_t fraction_bits; /* of floats */
    bool sums_only;
    bool packed;
    bool whole_range; /* of the arguments: the first two values are int64's least and greatest */
    uint32_t key_null_percent;
    uint64_t limit_bytes; /* 0: none */
    bool keeps;           /* quantiles, and variances of floats */
    bool threads;
    bool wants_hash; /* the plan is none for lanes */
    uint64_t seed;
};

static bool is_float(const struct exec_type *type)
{
    return type->kind == EXEC_TYPE_FLOAT32 || type->kind == EXEC_TYPE_FLOAT64;
}

static bool is_unsigned(const struct exec_type *type)
{
    return type->kind == EXEC_TYPE_BOOL ||
           (type->kind >= EXEC_TYPE_UINT8 && type->kind <= EXEC_TYPE_UINT64);
}

static void fill_cell(const struct fixture *fixture, const struct exec_type *type, uint64_t *seed,
                      struct cell *cell)
{
    const uint64_t span = type->kind == EXEC_TYPE_BOOL && fixture->span > 2 ? 2 : fixture->span;
    const int64_t least = is_unsigned(type) && fixture->least < 0 ? 0 : fixture->least;
    const int64_t integer = least + (int64_t)(random_next(seed) % span);

    *cell = (struct cell){.integer = integer};
    cell->text_bytes =
        (uint32_t)snprintf(cell->text, sizeof cell->text, "%s%d",
                           integer % 2 == 0 ? "longer than a view: " : "v", (int)integer);
    cell->null = random_next(seed) % 100 < fixture->null_percent;
    if (is_float(type)) {
        cell->real = ldexp((double)integer, -(int32_t)(random_next(seed) % 8));
        cell->real += ldexp((double)(random_next(seed) % 1024), -fixture->fraction_bits);
        cell->real = type->kind == EXEC_TYPE_FLOAT32 ? (double)(float)cell->real : cell->real;
    }
}

static void add_stats(struct column_stats *stats, const struct exec_type *type,
                      const struct cell *cell)
{
    static const uint64_t present = 1;
    static const uint64_t absent = 0;
    const double real = cell->real;
    const float narrow = (float)cell->real;
    const void *data = &cell->integer; /* little-endian: any width */

    if (is_float(type)) {
        data = type->kind == EXEC_TYPE_FLOAT32 ? (const void *)&narrow : (const void *)&real;
    }
    column_stats_add(stats, type->kind, data, cell->null ? &absent : &present, 0, 1);
}

static const enum exec_aggregate_function functions[] = {
    EXEC_AGG_COUNT_STAR, EXEC_AGG_COUNT, EXEC_AGG_SUM,       EXEC_AGG_AVG,
    EXEC_AGG_MIN,        EXEC_AGG_MAX,   EXEC_AGG_ANY_VALUE,
};
static const enum exec_aggregate_function more_functions[] = {
    EXEC_AGG_VAR_SAMP,   EXEC_AGG_VAR_POP,   EXEC_AGG_STDDEV_SAMP,
    EXEC_AGG_STDDEV_POP, EXEC_AGG_COVAR_POP, EXEC_AGG_COVAR_SAMP,
};

struct grouped {
    struct cells input;
    struct expr *keys[COLUMNS_MAX];
    uint32_t key_columns[COLUMNS_MAX];
    struct group_measure measures[MEASURES_MAX];
    struct oracle_measure wanted[MEASURES_MAX];
    uint32_t measure_count;
    struct exec_type out_types[COLUMNS_MAX + MEASURES_MAX];
    struct column_stats stats[COLUMNS_MAX];
    struct group_column columns[COLUMNS_MAX];
};

static struct dictionary *dictionary_of(struct harness *harness, const struct cells *cells,
                                        uint32_t column)
{
    struct dictionary *dictionary = dictionary_create(harness->job.pages, &harness->job.budget, 0);
    uint32_t code;

    cr_assert_not_null(dictionary);
    for (uint32_t r = 0; r < cells->row_count; r++) {
        const struct cell *cell = cells_at(cells, r, column);
        const struct string_view view = string_view_make(cell->text, cell->text_bytes);
        cr_assert(cell->null || dictionary_encode(dictionary, &view, NULL, 1, &code));
    }
    return dictionary;
}

static void make_input(const struct fixture *fixture, struct harness *harness,
                       struct grouped *grouped)
{
    const uint32_t columns = fixture->key_count + fixture->argument_count;
    uint64_t seed = fixture->seed;

    grouped->input = cells_make(fixture->rows, fixture->types, columns);
    for (uint32_t r = 0; r < fixture->rows; r++) {
        for (uint32_t c = 0; c < columns; c++) {
            struct cell *cell = cells_at(&grouped->input, r, c);
            fill_cell(fixture, &fixture->types[c], &seed, cell);
            if (fixture->whole_range && c >= fixture->key_count && r < 2) {
                cell->integer = r == 0 ? INT64_MIN : INT64_MAX;
            }
            if (c < fixture->key_count && random_next(&seed) % 100 < fixture->key_null_percent) {
                cell->null = true;
            }
            add_stats(&grouped->stats[c], &fixture->types[c], cell);
        }
    }
    for (uint32_t c = 0; c < columns; c++) {
        if (fixture->types[c].kind == EXEC_TYPE_UTF8) {
            grouped->stats[c].dictionary = dictionary_of(harness, &grouped->input, c);
        }
        grouped->columns[c] = (struct group_column){.stats = &grouped->stats[c]};
    }
}

static void add_measure(const struct fixture *fixture, struct grouped *grouped,
                        struct harness *harness, enum exec_aggregate_function function,
                        uint32_t column, double fraction)
{
    struct group_measure *measure = &grouped->measures[grouped->measure_count];
    const uint32_t last = fixture->key_count + fixture->argument_count - 1;
    const uint32_t argument_count = group_function(function)->argument_count;
    struct exec_error err;

    *measure = (struct group_measure){.function = function, .fraction = fraction};
    if (argument_count > 0) {
        measure->argument = harness_column(harness, column, &fixture->types[column]);
    }
    if (argument_count == 2) {
        measure->others = nu_arena_calloc(&harness->job.plan, sizeof(struct expr *), 8);
        measure->others[0] = harness_column(harness, last, &fixture->types[last]);
        measure->other_count = 1;
    }
    if (group_measure_bind(&harness->job.plan, measure, &err) != EXEC_OK) {
        return;
    }
    grouped->wanted[grouped->measure_count++] = (struct oracle_measure){.function = function,
                                                                        .column = column,
                                                                        .second = last,
                                                                        .fraction = fraction,
                                                                        .type = measure->type};
}

static void add_measures(const struct fixture *fixture, struct grouped *grouped,
                         struct harness *harness)
{
    for (uint32_t a = 0; a < fixture->argument_count; a++) {
        const uint32_t column = fixture->key_count + a;
        for (uint32_t f = 0; f < (fixture->packed ? 4 : sizeof functions / sizeof functions[0]);
             f++) {
            add_measure(fixture, grouped, harness, functions[f], column, 0);
        }
        for (uint32_t f = 0; f < sizeof more_functions / sizeof more_functions[0]; f++) {
            if (!fixture->sums_only) {
                add_measure(fixture, grouped, harness, more_functions[f], column, 0);
            }
        }
        for (uint32_t f = 0; fixture->keeps && f < 4; f++) {
            add_measure(fixture, grouped, harness, more_functions[f], column, 0);
        }
        for (uint32_t q = 0; fixture->keeps && q < 5; q++) {
            add_measure(fixture, grouped, harness, EXEC_AGG_QUANTILE_CONT, column, 0.25 * q);
        }
    }
}

static void check(const struct fixture *fixture)
{
    static struct grouped grouped;
    const uint32_t column_count = fixture->key_count + fixture->argument_count;
    struct harness harness;
    struct group_figures figures;
    struct exec_error err;
    struct group *group;
    struct lines wanted = {0};
    char what[120];

    memset(&grouped, 0, sizeof grouped);
    harness_init(&harness, fixture->workers, 64,
                 fixture->limit_bytes == 0 ? UINT64_MAX : fixture->limit_bytes);
    make_input(fixture, &harness, &grouped);
    add_measures(fixture, &grouped, &harness);
    for (uint32_t k = 0; k < fixture->key_count; k++) {
        grouped.key_columns[k] = k;
        grouped.keys[k] = harness_column(&harness, k, &fixture->types[k]);
        grouped.out_types[k] = fixture->types[k];
    }
    for (uint32_t m = 0; m < grouped.measure_count; m++) {
        grouped.out_types[fixture->key_count + m] = grouped.measures[m].type;
    }
    const struct group_plan plan = {.rel = 2,
                                    .keys = grouped.keys,
                                    .key_count = fixture->key_count,
                                    .measures = grouped.measures,
                                    .measure_count = grouped.measure_count,
                                    .columns = grouped.columns,
                                    .column_count = column_count,
                                    .rows = fixture->rows};
    cr_assert_eq(group_create(&harness.job, &plan, &group, &err), EXEC_OK);
    snprintf(what, sizeof what, "first type %d, argument type %d, workers %u, seed %d",
             fixture->types[0].kind, fixture->types[column_count - 1].kind, fixture->workers,
             (int)fixture->seed);
    cr_assert_str_eq(group_sink(group)->kind->name,
                     fixture->wants_hash ? "group" : "group by place", "%s", what);
    harness.out_types = grouped.out_types;
    harness.refusals = fixture->refusals;
    harness.threads = fixture->threads;
    harness_feed_sink(&harness, group_sink(group), &grouped.input);
    harness_finish_sink(&harness, group_sink(group));
    harness_run_source(&harness, group_source(group));
    cr_assert_eq(harness.failure.code, EXEC_OK, "%s", harness.failure.detail);
    const struct group_oracle oracle = {.input = &grouped.input,
                                        .keys = grouped.key_columns,
                                        .key_count = fixture->key_count,
                                        .measures = grouped.wanted,
                                        .measure_count = grouped.measure_count};
    group_oracle_run(&oracle, &wanted);
    group_figures(group, &figures);
    cr_assert_eq(figures.groups, wanted.count, "%s", what);
    lines_assert_equal(&harness.lines, &wanted, what);
    lines_free(&wanted);
    for (uint32_t c = 0; c < column_count; c++) {
        dictionary_unref(grouped.stats[c].dictionary);
    }
    cells_free(&grouped.input);
    harness_fini(&harness);
}

static struct fixture plain(void)
{
    return (struct fixture){.workers = 2,
                            .rows = 3000,
                            .types = {TYPE_OF(INT32), TYPE_OF(INT32)},
                            .key_count = 1,
                            .argument_count = 1,
                            .least = -30,
                            .span = 90,
                            .fraction_bits = 20,
                            .seed = 5};
}

static const struct exec_type integers[] = {
    TYPE_OF(INT8),  TYPE_OF(INT16),  TYPE_OF(INT32),  TYPE_OF(INT64),
    TYPE_OF(UINT8), TYPE_OF(UINT16), TYPE_OF(UINT32), TYPE_OF(UINT64),
};
enum { INTEGER_COUNT = sizeof integers / sizeof integers[0] };

Test(group_dense, every_integer_as_key_and_argument)
{
    for (uint32_t t = 0; t < INTEGER_COUNT; t++) {
        for (uint32_t nulls = 0; nulls < 40; nulls += 20) {
            struct fixture fixture = plain();
            fixture.types[0] = integers[t];
            fixture.types[1] = integers[INTEGER_COUNT - 1 - t];
            fixture.null_percent = nulls;
            fixture.sums_only = nulls > 0; /* products of nulls are the hash table's */
            check(&fixture);
        }
    }
}

Test(group_dense, other_keys)
{
    static const struct exec_type types[] = {TYPE_OF(BOOL), TYPE_OF(DATE32), TYPE_OF(TIMESTAMP)};
    for (uint32_t t = 0; t < 3; t++) {
        struct fixture fixture = plain();
        fixture.types[0] = types[t];
        fixture.null_percent = 10;
        fixture.sums_only = true;
        check(&fixture);
    }
}

Test(group_dense, text_by_its_dictionary)
{
    for (uint32_t nulls = 0; nulls < 40; nulls += 20) {
        struct fixture fixture = plain();
        fixture.types[0] = (struct exec_type)TYPE_OF(UTF8);
        fixture.types[1] = (struct exec_type)TYPE_OF(INT16);
        fixture.types[2] = (struct exec_type)TYPE_OF(UTF8);
        fixture.types[3] = (struct exec_type)TYPE_OF(INT32);
        fixture.key_count = 3;
        fixture.span = 7;
        fixture.null_percent = nulls;
        fixture.sums_only = true;
        check(&fixture);
    }
}

Test(group_dense, floats)
{
    static const struct exec_type types[] = {TYPE_OF(FLOAT32), TYPE_OF(FLOAT64)};
    for (uint32_t t = 0; t < 2; t++) {
        for (int32_t bits = 0; bits < 60; bits += 15) {
            struct fixture fixture = plain();
            fixture.types[1] = types[t];
            fixture.fraction_bits = bits;
            fixture.null_percent = bits == 15 ? 10 : 0;
            fixture.sums_only = true;
            check(&fixture);
        }
    }
}

Test(group_dense, several_keys_and_arguments)
{
    struct fixture fixture = plain();
    fixture.types[1] = (struct exec_type)TYPE_OF(UINT8);
    fixture.types[2] = (struct exec_type)TYPE_OF(INT64);
    fixture.types[3] = (struct exec_type)TYPE_OF(INT16);
    fixture.types[4] = (struct exec_type)TYPE_OF(INT32);
    fixture.key_count = 3;
    fixture.argument_count = 2;
    fixture.least = -3;
    fixture.span = 9;
    check(&fixture);
    fixture.null_percent = 30;
    fixture.sums_only = true;
    check(&fixture);
    fixture.null_percent = 100;
    check(&fixture);
}

Test(group_dense, kept_values, .timeout = 60)
{
    static const struct exec_type types[] = {TYPE_OF(FLOAT64), TYPE_OF(INT16), TYPE_OF(FLOAT64)};
    for (uint32_t t = 0; t < 3; t++) {
        struct fixture fixture = plain();
        fixture.types[1] = types[t];
        fixture.rows = 9000;
        fixture.keeps = true;
        fixture.sums_only = true;
        fixture.fraction_bits = t == 2 ? 3 : 30; /* few values, many times */
        check(&fixture);
        fixture.null_percent =
            t == 2 ? 30 : 0; /* variances of integers that may be null are hashed */
        fixture.workers = 3;
        fixture.key_count = t == 0 ? 0 : 1;
        fixture.argument_count = t == 0 ? 2 : 1;
        check(&fixture);
    }
}

/* Too many places: keys are packed into a word. */
Test(group_dense, packed_keys, .timeout = 60)
{
    for (uint32_t nulls = 0; nulls < 20; nulls += 10) {
        struct fixture fixture = plain();
        fixture.packed = true;
        fixture.rows = 70000;
        fixture.types[1] = (struct exec_type)TYPE_OF(UTF8);
        fixture.types[2] = (struct exec_type)TYPE_OF(INT64);
        fixture.types[3] = (struct exec_type)TYPE_OF(FLOAT64);
        fixture.types[4] = (struct exec_type)TYPE_OF(INT16);
        fixture.key_count = 3;
        fixture.argument_count = 2;
        fixture.span = 300;
        fixture.sums_only = true;
        fixture.key_null_percent = nulls;
        fixture.refusals = nulls / 10;
        fixture.workers = 2;
        check(&fixture);
    }
}

/* Records go to the tables on the way, from several workers at once. */
Test(group_dense, packed_records_are_bounded, .timeout = 60)
{
    struct fixture fixture = plain();
    fixture.packed = true;
    fixture.rows = 250000;
    fixture.sums_only = true;
    fixture.types[1] = (struct exec_type)TYPE_OF(INT64);
    fixture.types[2] = (struct exec_type)TYPE_OF(INT32);
    fixture.key_count = 2;
    fixture.span = 400;
    fixture.workers = 3;
    fixture.threads = true;
    fixture.limit_bytes = 40 << 20; /* some 54,000 records a worker */
    check(&fixture);
}

Test(group_dense, no_keys_or_no_rows)
{
    for (uint32_t rows = 0; rows < 4000; rows += 2000) {
        struct fixture fixture = plain();
        fixture.rows = rows;
        check(&fixture);
        fixture.key_count = 0;
        fixture.workers = 3;
        check(&fixture);
    }
}

Test(group_dense, many_places)
{
    struct fixture fixture = plain();
    fixture.types[1] = (struct exec_type)TYPE_OF(FLOAT64);
    fixture.types[2] = (struct exec_type)TYPE_OF(INT32);
    fixture.argument_count = 2;
    fixture.rows = 40000;
    fixture.span = 9000;
    fixture.sums_only = true;
    fixture.refusals = 1;
    check(&fixture);
}

/* More rows on one worker than a lane has room for. */
Test(group_dense, lanes_are_emptied, .timeout = 60)
{
    struct fixture fixture = plain();
    fixture.workers = 1;
    fixture.rows = 140000;
    fixture.types[1] = (struct exec_type)TYPE_OF(FLOAT64);
    fixture.types[2] = (struct exec_type)TYPE_OF(INT32);
    fixture.argument_count = 2;
    fixture.span = 3;
    fixture.sums_only = true;
    check(&fixture);
}

Test(group_dense, any_number_of_workers, .timeout = 60)
{
    for (uint32_t workers = 1; workers <= 8; workers++) {
        struct fixture fixture = plain();
        fixture.workers = workers;
        fixture.refusals = workers % 3;
        fixture.threads = workers % 2 == 0;
        check(&fixture);
    }
}

/* The least and the greatest int64 in one column. */
Test(group_dense, whole_ranges_are_hashed)
{
    struct fixture fixture = plain();
    fixture.types[1] = (struct exec_type)TYPE_OF(INT64);
    fixture.sums_only = true;
    fixture.whole_range = true;
    fixture.wants_hash = true;
    check(&fixture);
}

Test(group_dense, what_does_not_fit_is_hashed)
{
    struct fixture fixture = plain();
    fixture.wants_hash = true;
    fixture.span = 6000; /* more places than rows, and not few */
    check(&fixture);
    fixture.span = 90;
    fixture.types[1] = (struct exec_type)TYPE_OF(FLOAT64);
    fixture.fraction_bits = 90; /* too far down for two lanes */
    fixture.sums_only = true;
    check(&fixture);
    fixture.fraction_bits = 10;
    fixture.types[0] = (struct exec_type)TYPE_OF(FLOAT64);
    check(&fixture);
}
