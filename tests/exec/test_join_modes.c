/* Goal:   a join gives the same rows however its probe meets the build side: shared, replicated or
 *         routed, on one, two and four nodes, for every kind, with either side built; the profile
 *         says which it was; what by cost is chosen follows the machine and the sizes.
 * Method: every kind of join over two tables with NULL keys, duplicates, misses and long strings,
 *         each mode forced on fake topologies; a digest of the rows is compared with that of a
 *         shared join on one node. The choice alone: sizes and distances with a known answer. */
#include "job_runner.h"
#include "op/join_mode.h"
#include "spec_builder.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LARGE = 26000,
    SMALL = 20000,
    KEYS = 17011,
    KEYS_SMALL = 15013,
    FIRST_SMALL = 5000,
    WORKERS = 4
};

struct plan_case {
    enum exec_join_kind kind;
    bool swapped, residual, counts; /* left is the small table; keys are not all; only a count */
};

static const struct plan_case cases[] = {
    {.kind = EXEC_JOIN_INNER},
    {.kind = EXEC_JOIN_INNER, .residual = true},
    {.kind = EXEC_JOIN_INNER, .counts = true},
    {.kind = EXEC_JOIN_LEFT},
    {.kind = EXEC_JOIN_LEFT, .residual = true, .swapped = true},
    {.kind = EXEC_JOIN_RIGHT},
    {.kind = EXEC_JOIN_RIGHT, .residual = true},
    {.kind = EXEC_JOIN_FULL},
    {.kind = EXEC_JOIN_FULL, .residual = true},
    {.kind = EXEC_JOIN_FULL, .swapped = true},
    {.kind = EXEC_JOIN_LEFT_SEMI},
    {.kind = EXEC_JOIN_LEFT_SEMI, .swapped = true},
    {.kind = EXEC_JOIN_LEFT_ANTI},
    {.kind = EXEC_JOIN_LEFT_ANTI, .swapped = true},
    {.kind = EXEC_JOIN_LEFT_MARK},
    {.kind = EXEC_JOIN_LEFT_MARK, .swapped = true},
    {.kind = EXEC_JOIN_LEFT_ANTI_NULL_AWARE},
    {.kind = EXEC_JOIN_ASOF},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static struct exec_engine *engine_of(uint32_t nodes)
{
    char path[] = "/tmp/topology-XXXXXX";
    char text[2000];
    int size = 0;
    const int fd = mkstemp(path);

    for (uint32_t n = 0; n < nodes; n++) {
        size += snprintf(text + size, sizeof text - (size_t)size,
                         "node %u memory 1073741824\ncpu %u node %u core %u l3 %u socket %u\n", n,
                         n, n, n, n, n);
    }
    for (uint32_t a = 0; a < nodes; a++) {
        for (uint32_t b = 0; b < nodes; b++) {
            size += snprintf(text + size, sizeof text - (size_t)size, "distance %u %u %u\n", a, b,
                             a == b ? 10 : 20);
        }
    }
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, (size_t)size), size);
    close(fd);
    struct exec_engine *engine = test_engine(WORKERS, path);
    unlink(path);
    return engine;
}

static uint32_t scattered(struct spec_builder *b, int64_t factor, int64_t modulus)
{
    const uint32_t product = spec_call2(b, "multiply", spec_column(b, "i"), spec_i64(b, factor));
    return spec_call2(b, "modulo", product, spec_i64(b, modulus));
}

/* Columns key (wide apart, NULL in every 13th row when `nulls`), t, name (longer than a view holds)
 * and i. */
static void make_table(struct spec_builder *b, const char *name, int64_t rows, int64_t factor,
                       bool nulls)
{
    const bool is_large = rows == LARGE;

    spec_project(b, spec_generator(b, "sequence", rows, 0));
    const uint32_t key = spec_call2(b, "add", scattered(b, factor, is_large ? KEYS : KEYS_SMALL),
                                    spec_i64(b, is_large ? 0 : FIRST_SMALL));
    const uint32_t wide = spec_call2(b, "multiply", key, spec_i64(b, INT64_C(1000003)));
    const uint32_t present = spec_call2(b, "ne", scattered(b, 1, 13), spec_i64(b, 0));
    const uint32_t args[] = {present, wide, spec_null(b, EXEC_TYPE_INT64)};
    const uint32_t text[] = {spec_text(b, "a name that is long: "), spec_column(b, "s")};

    spec_item(b, "key", nulls ? spec_call(b, "if", args, 3) : wide);
    spec_item(b, "t", scattered(b, 104729, 1000));
    spec_item(b, "name", spec_call(b, "concat", text, 2));
    spec_item(b, "i", spec_column(b, "i"));
    b->job.into_table = name;
}

/* -1 where it is NULL. */
static uint32_t number_at(struct spec_builder *b, uint32_t column)
{
    const uint32_t args[] = {spec_column_at(b, column), spec_i64(b, -1)};
    return spec_call(b, "coalesce", args, 2);
}

/* One row that tells sets of rows apart: sums over pairs of row numbers, mixed, and over texts. */
static void add_digest(struct spec_builder *b, uint32_t join, enum exec_join_kind kind)
{
    const bool has_right = kind < EXEC_JOIN_LEFT_SEMI || kind == EXEC_JOIN_ASOF;
    const uint32_t left = number_at(b, 4);
    const uint32_t right = has_right ? number_at(b, 8) : spec_i64(b, 5);
    const uint32_t product = spec_call2(b, "multiply", spec_call2(b, "add", left, spec_i64(b, 77)),
                                        spec_call2(b, "add", right, spec_i64(b, 1234567)));

    spec_group(b, join);
    spec_measure(b, EXEC_AGG_COUNT_STAR, 0, "n");
    spec_measure(b, EXEC_AGG_SUM, left, "l");
    spec_measure(b, EXEC_AGG_SUM, right, "r");
    spec_measure(b, EXEC_AGG_SUM, spec_call2(b, "modulo", product, spec_i64(b, 1000003)), "mixed");
    spec_measure(b, EXEC_AGG_COUNT, spec_column_at(b, 1), "keys");
    spec_measure(b, EXEC_AGG_MAX, spec_column_at(b, 3), "left_name");
    if (has_right) {
        spec_measure(b, EXEC_AGG_COUNT, spec_column_at(b, 5), "right_keys");
        spec_measure(b, EXEC_AGG_MAX, spec_column_at(b, 7), "right_name");
    }
    if (kind == EXEC_JOIN_LEFT_MARK) {
        const uint32_t args[] = {spec_column_at(b, 5), left, spec_i64(b, 0)};
        spec_measure(b, EXEC_AGG_COUNT, spec_column_at(b, 5), "known");
        spec_measure(b, EXEC_AGG_SUM, spec_call(b, "if", args, 3), "marked");
    }
}

static void make_join(struct spec_builder *b, const struct plan_case *wanted)
{
    /* What NOT IN asks of must hold no NULL, or nothing would come out. */
    const bool not_in = wanted->kind == EXEC_JOIN_LEFT_ANTI_NULL_AWARE;
    const char *left = wanted->swapped ? "small" : "large";
    const char *right = wanted->swapped ? "large" : not_in ? "small_whole" : "small";
    const uint32_t from = spec_table(b, left);
    const uint32_t join = spec_join(b, wanted->kind, from, spec_table(b, right));
    const uint32_t key = spec_column(b, "key");

    spec_on(b, key, key);
    if (wanted->kind == EXEC_JOIN_ASOF) {
        const uint32_t t = spec_column(b, "t");
        b->rels[join - 1].u.join.asof = (struct exec_asof){
            .left = t, .right = t, .direction = EXEC_ASOF_BACKWARD, .keep_unmatched = true};
    }
    if (wanted->residual) {
        spec_residual(
            b, spec_call2(b, "lt", spec_side_column(b, 1, "t"), spec_side_column(b, 2, "t")));
    }
    if (wanted->counts) {
        spec_group(b, join);
        spec_measure(b, EXEC_AGG_COUNT_STAR, 0, "n");
    } else {
        add_digest(b, join, wanted->kind);
    }
}

static void run(struct exec_engine *engine, const struct plan_case *wanted, bool analyze,
                enum exec_probe_mode mode, struct job_result *out)
{
    struct spec_builder *b = malloc(sizeof *b);

    cr_assert_not_null(b);
    spec_init(b);
    make_join(b, wanted);
    b->job.options.morsel_rows = 2048;
    b->job.options.probe_mode = mode;
    b->job.options.analyze = analyze;
    job_run(engine, spec_job(b), out);
    cr_assert_eq(out->error.code, EXEC_OK, "%s", out->error.detail);
    job_result_sort(out);
    spec_fini(b);
    free(b);
}

static void put_tables(struct exec_engine *engine)
{
    static const struct {
        const char *name;
        int64_t rows, factor;
        bool nulls;
    } tables[] = {{"large", LARGE, 7919, true},
                  {"small", SMALL, 31, true},
                  {"small_whole", SMALL, 31, false}};

    for (uint32_t t = 0; t < 3; t++) {
        struct spec_builder *b = malloc(sizeof *b);
        struct job_result result;

        cr_assert_not_null(b);
        spec_init(b);
        make_table(b, tables[t].name, tables[t].rows, tables[t].factor, tables[t].nulls);
        b->job.options.morsel_rows = 2048;
        job_run(engine, spec_job(b), &result);
        cr_assert_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
        job_result_fini(&result);
        spec_fini(b);
        free(b);
    }
}

static void run_nodes(uint32_t nodes, const struct job_result *wanted)
{
    struct exec_engine *engine = engine_of(nodes);

    put_tables(engine);
    for (uint32_t c = 0; c < CASES; c++) {
        for (int mode = EXEC_PROBE_SHARED; mode <= EXEC_PROBE_ROUTED; mode++) {
            struct job_result got;
            char what[100];

            snprintf(what, sizeof what, "case %u, %s, %u nodes", c,
                     join_mode_name((enum exec_probe_mode)mode), nodes);
            run(engine, &cases[c], false, (enum exec_probe_mode)mode, &got);
            cr_assert_eq(got.row_count, 1, "%s", what);
            cr_assert_str_eq(got.rows[0], wanted[c].rows[0], "%s", what);
            job_result_fini(&got);
        }
    }
    exec_engine_destroy(engine);
}

Test(join_modes, the_same_rows_whatever_the_mode, .timeout = 300)
{
    struct exec_engine *engine = engine_of(1);
    struct job_result wanted[CASES];

    put_tables(engine);
    for (uint32_t c = 0; c < CASES; c++) {
        run(engine, &cases[c], false, EXEC_PROBE_SHARED, &wanted[c]);
        cr_assert_eq(wanted[c].row_count, 1);
        cr_assert_neq(wanted[c].rows[0][0], '0', "case %u joins nothing", c);
    }
    exec_engine_destroy(engine);
    run_nodes(1, wanted);
    run_nodes(2, wanted);
    run_nodes(4, wanted);
    for (uint32_t c = 0; c < CASES; c++) {
        job_result_fini(&wanted[c]);
    }
}

static void expect_profile(struct exec_engine *engine, enum exec_probe_mode mode, const char *text)
{
    struct job_result result;

    run(engine, &cases[0], true, mode, &result);
    cr_expect_not_null(strstr(result.explain_text, text), "no '%s' in\n%s", text,
                       result.explain_text);
    job_result_fini(&result);
}

Test(join_modes, the_profile_says_which_and_why)
{
    struct exec_engine *engine = engine_of(2);

    put_tables(engine);
    expect_profile(engine, EXEC_PROBE_SHARED, "probe shared: probe_mode says so");
    expect_profile(engine, EXEC_PROBE_REPLICATED, "probe replicated: probe_mode says so");
    expect_profile(engine, EXEC_PROBE_ROUTED,
                   "probe routed: probe_mode says so; 24000 rows routed");
    expect_profile(engine, EXEC_PROBE_AUTO,
                   "probe shared: the build side fits in every node's cache");
    exec_engine_destroy(engine);
    engine = engine_of(1);
    put_tables(engine);
    expect_profile(engine, EXEC_PROBE_AUTO, "probe shared: there is one node");
    expect_profile(engine, EXEC_PROBE_REPLICATED, "probe shared: there is one node");
    exec_engine_destroy(engine);
}

/* A probe side whose rows must keep their order is not routed. */
Test(join_modes, an_order_is_kept)
{
    struct exec_engine *engine = engine_of(2);
    struct spec_builder *b = malloc(sizeof *b);
    struct job_result result;
    long last = -1;

    cr_assert_not_null(b);
    put_tables(engine);
    spec_init(b);
    const uint32_t sort = spec_sort(b, spec_table(b, "large"), -1);
    spec_order(b, spec_column(b, "i"), EXEC_ASC_NULLS_LAST);
    const uint32_t join = spec_join(b, EXEC_JOIN_LEFT_SEMI, sort, spec_table(b, "small"));
    const uint32_t key = spec_column(b, "key");
    spec_on(b, key, key);
    spec_project(b, join);
    spec_item(b, "i", spec_column(b, "i"));
    b->job.options.probe_mode = EXEC_PROBE_ROUTED;
    job_run(engine, spec_job(b), &result);
    cr_assert_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
    cr_assert_gt(result.row_count, 1000);
    for (uint64_t r = 0; r < result.row_count; r++) {
        const long i = strtol(result.rows[r], NULL, 10);
        cr_assert_gt(i, last);
        last = i;
    }
    job_result_fini(&result);
    spec_fini(b);
    free(b);
    exec_engine_destroy(engine);
}

/* ---- the choice --------------------------------------------------------------------------------
 */

static struct join_mode_input machine(void)
{
    return (struct join_mode_input){
        .node_count = 2,
        .worker_count = 32,
        .distance = 20,
        .cache_bytes = 32u << 20,
        .table_bytes = 100u << 20,
        .memory_bytes = UINT64_C(64) << 30,
        .probe_rows = 1e9,
        .probe_row_bytes = 24,
        .can_route = true,
        .wanted = EXEC_PROBE_AUTO,
    };
}

static void expect_choice(const struct join_mode_input *input, enum exec_probe_mode mode)
{
    const struct join_mode_choice choice = join_mode_choose(input);
    char text[200];

    join_mode_text(&choice, text, sizeof text);
    cr_expect_eq(choice.mode, mode, "wanted %s, is %s", join_mode_name(mode), text);
}

Test(join_modes, by_cost)
{
    struct join_mode_input input = machine();

    /* A billion probes pay for copies of a small table, not for those of a huge one. */
    expect_choice(&input, EXEC_PROBE_REPLICATED);
    input.probe_rows = 1e5;
    expect_choice(&input, EXEC_PROBE_SHARED);
    input = machine();
    input.table_bytes = UINT64_C(20) << 30;
    input.can_route = false;
    expect_choice(&input, EXEC_PROBE_SHARED);

    /* Far nodes, a table too large to copy: narrow rows are sent, wide ones are not. */
    input = machine();
    input.node_count = 8;
    input.worker_count = 256;
    input.distance = 32;
    input.table_bytes = UINT64_C(40) << 30;
    input.memory_bytes = UINT64_C(200) << 30;
    input.probe_row_bytes = 16;
    expect_choice(&input, EXEC_PROBE_ROUTED);
    input.probe_row_bytes = 400;
    expect_choice(&input, EXEC_PROBE_SHARED);
    input.probe_row_bytes = 16;
    input.can_route = false;
    expect_choice(&input, EXEC_PROBE_SHARED);

    /* No memory for copies. */
    input = machine();
    input.memory_bytes = 300u << 20;
    input.can_route = false;
    expect_choice(&input, EXEC_PROBE_SHARED);
}

Test(join_modes, without_a_choice)
{
    struct join_mode_input input = machine();

    input.node_count = 1;
    expect_choice(&input, EXEC_PROBE_SHARED);
    input = machine();
    input.probe_rows = -1;
    expect_choice(&input, EXEC_PROBE_SHARED);
    input = machine();
    input.table_bytes = input.cache_bytes;
    expect_choice(&input, EXEC_PROBE_SHARED);
    input = machine();
    input.wanted = EXEC_PROBE_ROUTED;
    input.probe_rows = -1;
    expect_choice(&input, EXEC_PROBE_ROUTED);
    input.can_route = false;
    expect_choice(&input, EXEC_PROBE_SHARED);
    input.wanted = EXEC_PROBE_REPLICATED;
    input.table_bytes = 1;
    expect_choice(&input, EXEC_PROBE_REPLICATED);
}
