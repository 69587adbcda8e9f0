/* Goal:   a join whose build keys are distinct integers close together answers what nested loops
 *         answer, whatever the key type, where the keys begin, how many places are left empty,
 *         which rows are null; a key that comes twice, a wide span or a small budget make it an
 *         ordinary join.
 * Method: seeded tables go through build sink, dense source, directory source and probe operator by
 *         hand; the sorted lines that come out are compared with the oracle's. The figures say
 *         whether the map was used: its places are reported as slots, of which a directory has a
 *         power of two.
 */
#include "op/join.h"
#include "op_harness.h"
#include "oracle/join_oracle.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define TYPE_OF(KIND)            \
    {                            \
        .kind = EXEC_TYPE_##KIND \
    }

enum { COLUMNS = 3 }; /* the key, a text, a number */

struct fixture {
    enum exec_join_kind kind;
    struct exec_type key;
    __int128 first;
    uint32_t build_rows, probe_rows;
    uint32_t spread;       /* between two build keys */
    uint32_t null_percent; /* of keys, but for the first and the last, and of the other columns */
    uint32_t miss_rows;    /* probe keys reach this far beyond both ends */
    bool twice;            /* the last build key is the first once more */
    uint32_t workers, refusals, time_every;
    bool threads;
    uint64_t limit_bytes;
    bool wants_map;
};

static struct fixture plain(enum exec_join_kind kind)
{
    return (struct fixture){.kind = kind,
                            .key = TYPE_OF(INT32),
                            .first = 1,
                            .build_rows = 90,
                            .probe_rows = 3000,
                            .spread = 1,
                            .workers = 2,
                            .limit_bytes = UINT64_MAX,
                            .wants_map = true};
}

static void fill_row(struct cells *cells, uint32_t row, __int128 key, bool null_key,
                     uint32_t null_percent, uint64_t *seed)
{
    *cells_at(cells, row, 0) = (struct cell){.null = null_key, .integer = null_key ? 0 : key};
    for (uint32_t c = 1; c < COLUMNS; c++) {
        cell_random(cells_at(cells, row, c), &cells->types[c], 50, null_percent, seed);
    }
}

static struct cells make_build(const struct fixture *fixture, const struct exec_type *types)
{
    const uint32_t rows = fixture->build_rows;
    struct cells cells = cells_make(rows, types, COLUMNS);
    uint32_t *order = calloc(rows + 1, sizeof *order);
    uint64_t seed = 11;

    for (uint32_t r = 0; r < rows; r++) {
        const uint32_t other = (uint32_t)(random_next(&seed) % (r + 1));
        order[r] = order[other];
        order[other] = r;
    }
    for (uint32_t r = 0; r < rows; r++) {
        const uint32_t k = fixture->twice && r == rows - 1 ? order[0] : order[r];
        const bool null =
            k != 0 && k != rows - 1 && random_next(&seed) % 100 < fixture->null_percent;
        fill_row(&cells, r, fixture->first + (__int128)k * fixture->spread, null,
                 fixture->null_percent, &seed);
    }
    free(order);
    return cells;
}

static struct cells make_probe(const struct fixture *fixture, const struct exec_type *types)
{
    struct cells cells = cells_make(fixture->probe_rows, types, COLUMNS);
    const uint64_t span = (uint64_t)(fixture->build_rows - 1) * fixture->spread + 1;
    uint64_t seed = 12;

    for (uint32_t r = 0; r < fixture->probe_rows; r++) {
        const uint64_t at = random_next(&seed) % (span + 2 * fixture->miss_rows);
        fill_row(&cells, r, fixture->first - fixture->miss_rows + (__int128)at,
                 random_next(&seed) % 100 < fixture->null_percent, fixture->null_percent, &seed);
    }
    return cells;
}

static void run(struct harness *harness, struct join *join, const struct cells *build,
                const struct cells *probe)
{
    harness_feed_sink(harness, join_build_sink(join), build);
    if (harness_finish_sink(harness, join_build_sink(join)) != EXEC_OK) {
        return;
    }
    cr_assert_not_null(join_dense_source(join));
    harness_run_source(harness, join_dense_source(join));
    harness_run_source(harness, join_directory_source(join));
    harness_feed_operator(harness, join_probe_operator(join), probe);
}

static void check_figures(const struct fixture *fixture, const struct join *join)
{
    struct join_figures figures;

    join_figures(join, &figures);
    cr_assert_eq(figures.directory_slots ==
                     (uint64_t)(fixture->build_rows - 1) * fixture->spread + 1,
                 fixture->wants_map, "%d slots", (int)figures.directory_slots);
}

static void check(const struct fixture *fixture)
{
    const struct exec_type types[] = {fixture->key, TYPE_OF(UTF8), TYPE_OF(INT64)};
    const struct join_output outputs[] = {{false, 1}, {false, 0}, {true, 2},
                                          {true, 0},  {true, 1},  {false, 2}};
    const bool exists = fixture->kind > EXEC_JOIN_FULL;
    struct exec_type out_types[6];
    const bool nulls_equal = false;
    const uint32_t column = 0;
    struct cells build = make_build(fixture, types);
    struct cells probe = make_probe(fixture, types);
    struct harness harness;
    struct lines wanted = {0};
    struct exec_error err;
    struct join *join;
    char what[160];

    for (uint32_t o = 0; o < 6; o++) {
        out_types[o] = types[outputs[o].column];
    }
    harness_init(&harness, fixture->workers, 64, fixture->limit_bytes);
    struct expr *key = harness_column(&harness, 0, &types[0]);
    const struct join_plan plan = {.rel = 3,
                                   .kind = fixture->kind,
                                   .key_count = 1,
                                   .build_keys = &key,
                                   .probe_keys = &key,
                                   .nulls_equal = &nulls_equal,
                                   .build_types = types,
                                   .build_column_count = COLUMNS,
                                   .probe_types = types,
                                   .probe_column_count = COLUMNS,
                                   .outputs = outputs,
                                   .output_count = exists ? 2 : 6};
    cr_assert_eq(join_create(&harness.job, &plan, &join, &err), EXEC_OK);
    harness.out_types = out_types;
    harness.refusals = fixture->refusals;
    harness.time_every = fixture->time_every;
    harness.threads = fixture->threads;
    run(&harness, join, &build, &probe);
    cr_assert_eq(harness.failure.code, EXEC_OK, "%s", harness.failure.detail);
    check_figures(fixture, join);

    const struct join_oracle oracle = {.kind = fixture->kind,
                                       .build = &build,
                                       .probe = &probe,
                                       .build_keys = &column,
                                       .probe_keys = &column,
                                       .nulls_equal = &nulls_equal,
                                       .key_count = 1,
                                       .outputs = outputs,
                                       .output_count = plan.output_count};
    join_oracle_run(&oracle, &wanted);
    snprintf(what, sizeof what, "kind %d, key kind %d, spread %u, %u rows", (int)fixture->kind,
             fixture->key.kind, fixture->spread, fixture->build_rows);
    lines_assert_equal(&harness.lines, &wanted, what);
    lines_free(&wanted);
    cells_free(&build);
    cells_free(&probe);
    harness_fini(&harness);
}

static const enum exec_join_kind kinds[] = {EXEC_JOIN_INNER, EXEC_JOIN_LEFT, EXEC_JOIN_LEFT_SEMI,
                                            EXEC_JOIN_LEFT_ANTI};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

Test(join_dense, every_key_type_at_its_ends)
{
    static const struct {
        struct exec_type type;
        __int128 lowest, highest;
    } keys[] = {
        {TYPE_OF(INT8), INT8_MIN, INT8_MAX},     {TYPE_OF(UINT8), 0, UINT8_MAX},
        {TYPE_OF(INT16), INT16_MIN, INT16_MAX},  {TYPE_OF(UINT16), 0, UINT16_MAX},
        {TYPE_OF(INT32), INT32_MIN, INT32_MAX},  {TYPE_OF(UINT32), 0, UINT32_MAX},
        {TYPE_OF(INT64), INT64_MIN, INT64_MAX},  {TYPE_OF(UINT64), 0, UINT64_MAX},
        {TYPE_OF(DATE32), INT32_MIN, INT32_MAX},
    };
    for (uint32_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        for (uint32_t place = 0; place < 3; place++) {
            struct fixture fixture = plain(kinds[k % KIND_COUNT]);
            fixture.key = keys[k].type;
            fixture.probe_rows = 600;
            fixture.null_percent = 10;
            fixture.first = place == 0   ? keys[k].lowest
                            : place == 1 ? keys[k].highest - fixture.build_rows + 1
                                         : (keys[k].lowest + keys[k].highest) / 2;
            fixture.miss_rows = place == 2 ? 7 : 0;
            check(&fixture);
        }
    }
}

Test(join_dense, holes_nulls_and_misses)
{
    for (uint32_t k = 0; k < KIND_COUNT; k++) {
        for (uint32_t variant = 0; variant < 12; variant++) {
            struct fixture fixture = plain(kinds[k]);
            fixture.first = -40;
            fixture.spread = 1 + variant % 3;
            fixture.null_percent = variant % 2 * 20;
            fixture.miss_rows = variant / 4 * variant / 4 * 200; /* none, some, nearly all */
            fixture.refusals = variant % 2;
            fixture.workers = 1 + variant % 3;
            check(&fixture);
        }
    }
}

Test(join_dense, partitions_in_threads, .timeout = 60)
{
    for (uint32_t k = 0; k < KIND_COUNT; k++) {
        struct fixture fixture = plain(kinds[k]);
        fixture.build_rows = 18000;
        fixture.probe_rows = 120;
        fixture.spread = 2;
        fixture.null_percent = 2;
        fixture.miss_rows = 10;
        fixture.workers = 4;
        fixture.threads = true;
        fixture.time_every = 3;
        check(&fixture);
    }
}

/* A place taken twice gives the map up, for kinds that have to say which row it was. */
Test(join_dense, a_key_that_comes_twice)
{
    for (uint32_t k = 0; k < KIND_COUNT; k++) {
        for (uint32_t large = 0; large < 2; large++) {
            struct fixture fixture = plain(kinds[k]);
            fixture.build_rows = large ? 30000 : 300;
            fixture.probe_rows = 200;
            fixture.spread = 3;
            fixture.twice = true;
            fixture.wants_map = kinds[k] > EXEC_JOIN_FULL;
            fixture.workers = 3;
            check(&fixture);
        }
    }
}

Test(join_dense, not_where_it_does_not_pay)
{
    struct fixture fixture = plain(EXEC_JOIN_INNER);

    fixture.build_rows = 3000;
    fixture.probe_rows = 500;
    fixture.spread = 5;
    fixture.wants_map = false;
    check(&fixture);
    /* Four places a key of 25 bytes each, against a quarter of what is left. */
    fixture.spread = 4;
    fixture.build_rows = 15000;
    fixture.limit_bytes = 6 << 20;
    check(&fixture);
}
