/* Goal:   a join of every kind answers what nested loops answer: any number of keys of any type,
 *         NULLs, duplicates, a key that holds most rows, empty sides, colliding hashes, suspension
 *         at every push, one to eight workers; and an exploding join streams and can be stopped.
 * Method: seeded random tables go through build sink, directory source, probe operator and
 *         unmatched source by hand; the sorted lines that come out are compared with the oracle's.
 */
#include "op/join.h"
#include "op_harness.h"
#include "oracle/join_oracle.h"
#include "table/dictionary.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define TYPE_OF(KIND)            \
    {                            \
        .kind = EXEC_TYPE_##KIND \
    }

static const struct exec_type decimal_type = {
    .kind = EXEC_TYPE_DECIMAL128, .precision = 38, .scale = 2};

struct fixture {
    uint32_t workers;
    uint32_t hash_bits_kept;
    uint32_t refusals;
    uint32_t time_every;
    bool threads;
    uint32_t build_rows, probe_rows;
    uint64_t distinct;
    uint32_t null_percent;
    uint32_t hot_percent; /* of the rows of both sides carry one key */
    const struct exec_type *key_types;
    uint32_t key_count;
    bool nulls_equal; /* of the last key */
    bool residual;
    enum exec_join_kind kind;
    bool emits_build; /* the question of a semi, anti or mark join is about the build rows */
    bool coded;       /* text keys of the probe side have dictionaries */
    uint64_t seed;
};

static const enum exec_join_kind all_kinds[] = {
    EXEC_JOIN_INNER,     EXEC_JOIN_LEFT,      EXEC_JOIN_RIGHT,     EXEC_JOIN_FULL,
    EXEC_JOIN_LEFT_SEMI, EXEC_JOIN_LEFT_ANTI, EXEC_JOIN_LEFT_MARK, EXEC_JOIN_LEFT_ANTI_NULL_AWARE,
};
enum { KIND_COUNT = sizeof all_kinds / sizeof all_kinds[0], COLUMNS_MAX = 16 };

/* keys, then a text and an int64 payload. */
static struct cells make_side(const struct fixture *fixture, uint32_t rows, uint64_t seed,
                              struct exec_type *types)
{
    static const struct exec_type payload[] = {TYPE_OF(UTF8), TYPE_OF(INT64)};
    memcpy(types, fixture->key_types, fixture->key_count * sizeof *types);
    memcpy(types + fixture->key_count, payload, sizeof payload);
    struct cells cells = cells_make(rows, types, fixture->key_count + 2);

    for (uint32_t r = 0; r < rows; r++) {
        const bool hot = random_next(&seed) % 100 < fixture->hot_percent;
        for (uint32_t c = 0; c < cells.column_count; c++) {
            const bool key = c < fixture->key_count;
            uint64_t hot_seed = 42 + c;
            cell_random(cells_at(&cells, r, c), &types[c], key ? fixture->distinct : 50,
                        hot && key ? 0 : fixture->null_percent, hot && key ? &hot_seed : &seed);
        }
    }
    return cells;
}

struct joined {
    struct fixture fixture;
    struct exec_type types[COLUMNS_MAX];
    struct cells build, probe;
    uint32_t columns[COLUMNS_MAX];
    bool nulls_equal[COLUMNS_MAX];
    struct join_output outputs[2 * COLUMNS_MAX];
    struct exec_type out_types[2 * COLUMNS_MAX];
    uint32_t output_count;
    struct expr *exprs[COLUMNS_MAX];
    struct dictionary *dictionaries[COLUMNS_MAX]; /* of probe columns */
};

static void prepare(struct joined *joined, const struct fixture *fixture)
{
    *joined = (struct joined){.fixture = *fixture};
    joined->build = make_side(fixture, fixture->build_rows, fixture->seed * 2, joined->types);
    joined->probe = make_side(fixture, fixture->probe_rows, fixture->seed * 2 + 1, joined->types);
    const uint32_t columns = fixture->key_count + 2;
    for (uint32_t c = 0; c < columns; c++) {
        joined->columns[c] = c;
        joined->outputs[joined->output_count++] = (struct join_output){fixture->emits_build, c};
    }
    if (fixture->key_count > 0) {
        joined->nulls_equal[fixture->key_count - 1] = fixture->nulls_equal;
    }
    for (uint32_t c = 0; fixture->kind <= EXEC_JOIN_FULL && c < columns; c++) {
        joined->outputs[joined->output_count++] = (struct join_output){true, columns - 1 - c};
    }
    for (uint32_t o = 0; o < joined->output_count; o++) {
        joined->out_types[o] = joined->types[joined->outputs[o].column];
    }
    joined->out_types[joined->output_count] = (struct exec_type)TYPE_OF(BOOL);
}

static void make_dictionaries(struct harness *harness, struct joined *joined)
{
    for (uint32_t k = 0; k < joined->fixture.key_count; k++) {
        if (joined->types[k].kind != EXEC_TYPE_UTF8) {
            continue;
        }
        joined->dictionaries[k] = dictionary_create(harness->job.pages, &harness->job.budget, 0);
        for (uint32_t r = 0; r < joined->probe.row_count; r++) {
            const struct cell *cell = cells_at(&joined->probe, r, k);
            const struct string_view view = string_view_make(cell->text, cell->text_bytes);
            uint32_t code;
            cr_assert(cell->null ||
                      dictionary_encode(joined->dictionaries[k], &view, NULL, 1, &code));
        }
    }
}

static enum exec_code try_create(struct harness *harness, struct joined *joined, struct join **join)
{
    const struct fixture *fixture = &joined->fixture;
    const uint32_t columns = fixture->key_count + 2;
    struct exec_error err;

    for (uint32_t k = 0; k < fixture->key_count; k++) {
        joined->exprs[k] = harness_column(harness, k, &joined->types[k]);
    }
    struct join_plan plan = {
        .rel = 3,
        .kind = fixture->kind,
        .key_count = fixture->key_count,
        .build_keys = joined->exprs,
        .probe_keys = joined->exprs,
        .nulls_equal = joined->nulls_equal,
        .dictionaries = fixture->coded ? joined->dictionaries : NULL,
        .build_types = joined->types,
        .build_column_count = columns,
        .probe_types = joined->types,
        .probe_column_count = columns,
        .outputs = joined->outputs,
        .output_count = joined->output_count,
        .emits_build = fixture->emits_build,
    };
    if (fixture->residual) {
        const uint32_t probe = columns - 1, build = columns + columns - 1;
        plan.residual = fixture->emits_build ? harness_less(harness, build, probe)
                                             : harness_less(harness, probe, build);
    }
    harness->out_types = joined->out_types;
    harness->refusals = fixture->refusals;
    harness->time_every = fixture->time_every;
    harness->threads = fixture->threads;
    return join_create(&harness->job, &plan, join, &err);
}

static struct join *create(struct harness *harness, struct joined *joined)
{
    struct join *join;

    cr_assert_eq(try_create(harness, joined, &join), EXEC_OK);
    return join;
}

static void run_join(struct harness *harness, struct join *join, const struct joined *joined)
{
    harness_feed_sink(harness, join_build_sink(join), &joined->build);
    if (harness_finish_sink(harness, join_build_sink(join)) != EXEC_OK) {
        return;
    }
    if (joined->fixture.coded && join_dense_source(join) != NULL) {
        harness_run_source(harness, join_dense_source(join));
    }
    harness_run_source(harness, join_directory_source(join));
    harness->dictionaries = (const struct dictionary *const *)joined->dictionaries;
    harness_feed_operator(harness, join_probe_operator(join), &joined->probe);
    harness->dictionaries = NULL;
    if (join_unmatched_source(join) != NULL) {
        harness_run_source(harness, join_unmatched_source(join));
    }
}

static void finish(struct joined *joined)
{
    cells_free(&joined->build);
    cells_free(&joined->probe);
}

static void check_one(const struct fixture *fixture)
{
    struct harness harness;
    struct joined joined;
    struct lines wanted = {0};
    struct join_figures figures;
    char what[200];

    prepare(&joined, fixture);
    harness_init(&harness, fixture->workers, fixture->hash_bits_kept, UINT64_MAX);
    if (fixture->coded) {
        make_dictionaries(&harness, &joined);
    }
    struct join *join = create(&harness, &joined);
    run_join(&harness, join, &joined);
    cr_assert_eq(harness.failure.code, EXEC_OK, "%s", harness.failure.detail);

    const uint32_t columns = fixture->key_count + 2;
    for (uint32_t o = 0; fixture->emits_build && o < joined.output_count; o++) {
        joined.outputs[o].from_build = false; /* the oracle asks about its probe side */
    }
    const struct join_oracle oracle = {
        .kind = fixture->kind,
        .build = fixture->emits_build ? &joined.probe : &joined.build,
        .probe = fixture->emits_build ? &joined.build : &joined.probe,
        .build_keys = joined.columns,
        .probe_keys = joined.columns,
        .nulls_equal = joined.nulls_equal,
        .key_count = fixture->key_count,
        .residual = fixture->residual,
        .residual_probe = columns - 1,
        .residual_build = columns - 1,
        .outputs = joined.outputs,
        .output_count = joined.output_count,
    };
    join_oracle_run(&oracle, &wanted);
    snprintf(what, sizeof what, "kind %d%s, key kind %d x %u, workers %u, hash bits %u, seed %d",
             (int)fixture->kind, fixture->emits_build ? " of build rows" : "",
             fixture->key_types[0].kind, fixture->key_count, fixture->workers,
             fixture->hash_bits_kept, (int)fixture->seed);
    lines_assert_equal(&harness.lines, &wanted, what);
    join_figures(join, &figures);
    if (fixture->kind == EXEC_JOIN_FULL) {
        cr_assert_eq(figures.build_rows, fixture->build_rows);
    }
    for (uint32_t k = 0; k < fixture->key_count; k++) {
        dictionary_unref(joined.dictionaries[k]);
    }
    lines_free(&wanted);
    harness_fini(&harness);
    finish(&joined);
}

static void check(const struct fixture *fixture)
{
    struct fixture turned = *fixture;

    check_one(fixture);
    if (fixture->kind >= EXEC_JOIN_LEFT_SEMI) {
        turned.emits_build = true;
        check_one(&turned);
    }
}

static void check_coded(const struct fixture *fixture)
{
    struct fixture coded = *fixture;

    coded.coded = true;
    check(&coded);
}

static const struct exec_type int64_key[] = {TYPE_OF(INT64)};

static struct fixture plain(enum exec_join_kind kind)
{
    return (struct fixture){.workers = 2,
                            .hash_bits_kept = 64,
                            .build_rows = 300,
                            .probe_rows = 900,
                            .distinct = 200,
                            .null_percent = 15,
                            .key_types = int64_key,
                            .key_count = 1,
                            .kind = kind,
                            .seed = 1};
}

Test(join, every_kind_on_every_key_type)
{
    static const struct exec_type types[] = {
        TYPE_OF(BOOL),   TYPE_OF(INT8),    TYPE_OF(INT16),   TYPE_OF(INT32),
        TYPE_OF(INT64),  TYPE_OF(UINT8),   TYPE_OF(UINT16),  TYPE_OF(UINT32),
        TYPE_OF(UINT64), TYPE_OF(FLOAT32), TYPE_OF(FLOAT64), decimal_type,
        TYPE_OF(UTF8),   TYPE_OF(BINARY),  TYPE_OF(DATE32),  TYPE_OF(TIMESTAMP),
    };
    for (uint32_t k = 0; k < KIND_COUNT; k++) {
        for (uint32_t t = 0; t < sizeof types / sizeof types[0]; t++) {
            struct fixture fixture = plain(all_kinds[k]);
            fixture.key_types = &types[t];
            fixture.build_rows = 150;
            fixture.probe_rows = 200;
            fixture.distinct = 90;
            fixture.seed = 10 + t;
            check(&fixture);
        }
    }
}

Test(join, several_keys_and_equal_nulls)
{
    static const struct exec_type types[] = {TYPE_OF(INT32), TYPE_OF(UTF8), TYPE_OF(FLOAT64)};
    for (uint32_t k = 0; k < KIND_COUNT - 1; k++) {
        for (uint32_t nulls_equal = 0; nulls_equal < 2; nulls_equal++) {
            struct fixture fixture = plain(all_kinds[k]);
            fixture.key_types = types;
            fixture.key_count = 3;
            fixture.distinct = 6;
            fixture.null_percent = 30;
            fixture.nulls_equal = nulls_equal != 0;
            check(&fixture);
        }
    }
}

Test(join, text_keys_as_codes)
{
    static const struct exec_type types[] = {TYPE_OF(UTF8), TYPE_OF(INT32), TYPE_OF(UTF8)};
    for (uint32_t k = 0; k < KIND_COUNT; k++) {
        for (uint32_t variant = 0; variant < 12; variant++) {
            struct fixture fixture = plain(all_kinds[k]);
            fixture.key_types = types;
            fixture.key_count =
                all_kinds[k] == EXEC_JOIN_LEFT_ANTI_NULL_AWARE ? 1 : 1 + variant % 3;
            fixture.distinct = fixture.key_count > 1 ? 12 : 60 + variant * 70;
            fixture.null_percent = variant % 2 * 20;
            fixture.nulls_equal = variant == 6 && fixture.key_count > 1;
            fixture.build_rows = variant == 7 ? 0 : variant > 9 ? 25 : 150; /* 25: mostly unique */
            fixture.probe_rows = variant == 8 ? 0 : 600;
            fixture.hash_bits_kept = variant % 4 == 3 ? 3 : 64;
            fixture.refusals = variant % 2;
            fixture.seed = 100 + variant;
            check_coded(&fixture);
        }
    }
}

Test(join, empty_sides)
{
    for (uint32_t k = 0; k < KIND_COUNT; k++) {
        for (uint32_t empty = 1; empty < 4; empty++) {
            struct fixture fixture = plain(all_kinds[k]);
            fixture.build_rows = (empty & 1) != 0 ? 0 : 40;
            fixture.probe_rows = (empty & 2) != 0 ? 0 : 40;
            check(&fixture);
        }
    }
}

Test(join, only_null_keys)
{
    for (uint32_t k = 0; k < KIND_COUNT; k++) {
        struct fixture fixture = plain(all_kinds[k]);
        fixture.null_percent = 100;
        check(&fixture);
        fixture.null_percent = 0;
        check(&fixture);
    }
}

Test(join, residual_is_part_of_the_match)
{
    for (uint32_t k = 0; k < KIND_COUNT - 1; k++) {
        struct fixture fixture = plain(all_kinds[k]);
        fixture.residual = true;
        fixture.distinct = 30;
        check(&fixture);
        fixture.refusals = 1;
        fixture.hash_bits_kept = 0;
        check(&fixture);
    }
}

/* The cross product, and joins by a condition alone. */
Test(join, no_keys)
{
    for (uint32_t k = 0; k < KIND_COUNT - 1; k++) {
        for (uint32_t residual = 0; residual < 2; residual++) {
            struct fixture fixture = plain(all_kinds[k]);
            fixture.key_count = 0;
            fixture.build_rows = 90;
            fixture.probe_rows = 70;
            fixture.residual = residual != 0;
            fixture.refusals = 1;
            check(&fixture);
        }
    }
}

/* 90 % of either side carry one key: runs span many batches of output. */
Test(join, one_hot_key)
{
    for (uint32_t k = 0; k < KIND_COUNT; k++) {
        struct fixture fixture = plain(all_kinds[k]);
        fixture.build_rows = 500;
        fixture.probe_rows = 60;
        fixture.hot_percent = 90;
        check(&fixture);
        fixture.refusals = 1;
        fixture.time_every = 2;
        fixture.workers = 3;
        check(&fixture);
    }
}

Test(join, colliding_hashes)
{
    for (uint32_t k = 0; k < KIND_COUNT; k++) {
        struct fixture fixture = plain(all_kinds[k]);
        fixture.hash_bits_kept = 8;
        fixture.refusals = 1;
        check(&fixture);
        fixture.hash_bits_kept = 0;
        fixture.time_every = 1;
        fixture.residual = all_kinds[k] != EXEC_JOIN_LEFT_ANTI_NULL_AWARE && k % 2 == 0;
        check(&fixture);
    }
}

Test(join, any_number_of_workers_gives_the_same)
{
    for (uint32_t k = 0; k < KIND_COUNT; k++) {
        for (uint32_t workers = 1; workers <= 8; workers++) {
            struct fixture fixture = plain(all_kinds[k]);
            fixture.workers = workers;
            fixture.refusals = workers % 3;
            fixture.time_every = workers % 2;
            check(&fixture);
        }
    }
}

/* Large enough to be partitioned; some workers stay below the splitting size. */
Test(join, partitioned_build, .timeout = 60)
{
    static const struct exec_type keys[] = {TYPE_OF(INT64)};
    struct harness harness;
    const struct exec_type types[] = {TYPE_OF(INT64), TYPE_OF(INT64)};
    struct cells build = cells_make(40000, types, 2);
    struct cells probe = cells_make(20000, types, 2);
    const struct join_output outputs[] = {{false, 1}, {true, 1}};
    struct exec_error err;
    struct join *join;
    struct join_figures figures;
    struct lines wanted = {0};

    for (uint32_t r = 0; r < build.row_count; r++) {
        cells_at(&build, r, 0)->integer = r * 3;
        cells_at(&build, r, 1)->integer = r;
    }
    for (uint32_t r = 0; r < probe.row_count; r++) {
        cells_at(&probe, r, 0)->integer = r * 2;
        cells_at(&probe, r, 1)->integer = r;
        if (r * 2 % 3 == 0 && r * 2 / 3 < build.row_count) {
            const struct cell *at[] = {cells_at(&probe, r, 1), cells_at(&build, r * 2 / 3, 1)};
            const struct exec_type *at_types[] = {&types[1], &types[1]};
            lines_add(&wanted, at, at_types, 2);
        }
    }
    harness_init(&harness, 4, 64, UINT64_MAX);
    struct expr *key = harness_column(&harness, 0, &keys[0]);
    const bool nulls_equal = false;
    const struct join_plan plan = {.rel = 3,
                                   .kind = EXEC_JOIN_INNER,
                                   .key_count = 1,
                                   .build_keys = &key,
                                   .probe_keys = &key,
                                   .nulls_equal = &nulls_equal,
                                   .build_types = types,
                                   .build_column_count = 2,
                                   .probe_types = types,
                                   .probe_column_count = 2,
                                   .outputs = outputs,
                                   .output_count = 2};
    cr_assert_eq(join_create(&harness.job, &plan, &join, &err), EXEC_OK);
    harness.out_types = types;
    harness.threads = true;
    harness.time_every = 3;
    harness_feed_sink(&harness, join_build_sink(join), &build);
    cr_assert_eq(harness_finish_sink(&harness, join_build_sink(join)), EXEC_OK);
    harness_run_source(&harness, join_directory_source(join));
    harness_feed_operator(&harness, join_probe_operator(join), &probe);
    lines_assert_equal(&harness.lines, &wanted, "partitioned build");
    join_figures(join, &figures);
    cr_assert_eq(figures.build_rows, 40000);
    cr_assert_eq(figures.partitions, 64);
    cr_assert(figures.unique_keys);
    cr_assert_eq(figures.max_chain, 1);
    lines_free(&wanted);
    cells_free(&build);
    cells_free(&probe);
    harness_fini(&harness);
}

Test(join, real_threads)
{
    for (uint32_t k = 0; k < KIND_COUNT; k++) {
        struct fixture fixture = plain(all_kinds[k]);
        fixture.workers = 4;
        fixture.threads = true;
        fixture.refusals = 1;
        fixture.build_rows = 2000;
        fixture.distinct = 900;
        check(&fixture);
    }
}

/* 3,000 x 3,000 rows of one key: nine million pairs, none of them kept. */
Test(join, explosion_streams_in_constant_memory)
{
    struct fixture fixture = plain(EXEC_JOIN_LEFT);
    struct harness harness;
    struct joined joined;

    fixture.build_rows = 3000;
    fixture.probe_rows = 3000;
    fixture.hot_percent = 100;
    fixture.time_every = 2;
    prepare(&joined, &fixture);
    harness_init(&harness, 1, 64, 4 << 20);
    struct join *join = create(&harness, &joined);
    harness.count_only = true;
    run_join(&harness, join, &joined);
    cr_assert_eq(harness.failure.code, EXEC_OK, "%s", harness.failure.detail);
    cr_assert_eq(harness.rows_out, UINT64_C(9000000));
    cr_assert_leq(harness.rows_batch_max, BATCH_ROWS);
    harness_fini(&harness);
    finish(&joined);
}

Test(join, a_limit_behind_it_stops_it)
{
    struct fixture fixture = plain(EXEC_JOIN_INNER);
    struct harness harness;
    struct joined joined;

    fixture.build_rows = 3000;
    fixture.probe_rows = 3000;
    fixture.hot_percent = 100;
    prepare(&joined, &fixture);
    harness_init(&harness, 1, 64, UINT64_MAX);
    struct join *join = create(&harness, &joined);
    harness.count_only = true;
    harness.stop_after = 5000;
    run_join(&harness, join, &joined);
    cr_assert_leq(harness.rows_out, 5000 + BATCH_ROWS);
    harness_fini(&harness);
    finish(&joined);
}

/* A cancelled job is left within some thousand rows, in the middle of a batch. */
Test(join, a_cancelled_explosion_ends)
{
    struct fixture fixture = plain(EXEC_JOIN_INNER);
    struct harness harness;
    struct joined joined;

    fixture.build_rows = 3000;
    fixture.probe_rows = 3000;
    fixture.hot_percent = 100;
    prepare(&joined, &fixture);
    harness_init(&harness, 1, 64, UINT64_MAX);
    struct join *join = create(&harness, &joined);
    harness.count_only = true;
    harness.cancel_after = 100000;
    run_join(&harness, join, &joined);
    cr_assert_leq(harness.rows_out, 100000 + BATCH_ROWS);
    harness_fini(&harness);
    finish(&joined);
}

/* Likewise where no row comes out: a residual turns every pair of a hot key down. */
Test(join, a_cancelled_search_ends)
{
    const enum exec_join_kind kinds[] = {EXEC_JOIN_INNER, EXEC_JOIN_LEFT_SEMI};
    for (uint32_t k = 0; k < 2; k++) {
        struct fixture fixture = plain(kinds[k]);
        struct harness harness;
        struct joined joined;

        fixture.build_rows = 20000;
        fixture.probe_rows = 2000;
        fixture.hot_percent = 100;
        fixture.residual = true;
        fixture.time_every = 1000000;
        prepare(&joined, &fixture);
        for (uint32_t r = 0; r < joined.probe.row_count; r++) {
            cells_at(&joined.probe, r, 2)->null = true;
        }
        harness_init(&harness, 1, 64, UINT64_MAX);
        struct join *join = create(&harness, &joined);
        harness.count_only = true;
        harness.cancel_after_questions = 50;
        run_join(&harness, join, &joined);
        cr_assert_eq(harness.rows_out, 0);
        cr_assert_leq(harness.runs[0].rows[2], 60, "the clock was asked after the end");
        harness_fini(&harness);
        finish(&joined);
    }
}

/* Every limit from nothing up: an error that names the budget, or the right answer; never a leak
 * (harness_fini looks). */
Test(join, a_small_budget_is_an_error)
{
    uint32_t refused = 0;
    for (uint64_t limit = 64 << 10; limit < 4 << 20; limit += 64 << 10) {
        struct fixture fixture = plain(EXEC_JOIN_FULL);
        struct harness harness;
        struct joined joined;
        struct join *join = NULL;

        fixture.build_rows = 6000;
        fixture.workers = 1;
        prepare(&joined, &fixture);
        harness_init(&harness, 1, 64, limit);
        join = create(&harness, &joined);
        harness.count_only = true;
        run_join(&harness, join, &joined);
        if (harness.failure.code != EXEC_OK) {
            refused++;
            cr_assert_eq(harness.failure.code, EXEC_MEMORY_BUDGET);
        }
        harness_fini(&harness);
        finish(&joined);
    }
    cr_assert_gt(refused, 0);
    cr_assert_lt(refused, 60);
}

Test(join, what_is_not_there_is_named)
{
    struct harness harness;
    struct exec_error err;
    struct join *join;
    const struct join_plan plan = {.rel = 4, .kind = EXEC_JOIN_ASOF};

    harness_init(&harness, 1, 64, UINT64_MAX);
    cr_assert_eq(join_create(&harness.job, &plan, &join, &err), EXEC_NOT_IMPLEMENTED);
    cr_assert_eq(err.rel, 4);
    harness_fini(&harness);
}
