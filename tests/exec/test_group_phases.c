/* Goal:   PARTIAL over any split of the rows, then FINAL over the states of all parts, is the same
 *         bits as one aggregation, for every function; the states do not depend on the workers;
 * bytes that are no states are refused by name and change nothing. Method: a table is split by its
 * row numbers into 1, 3 and 7 parts, each part's states become a table, FINAL reads the union of
 * them, on engines of other worker counts. States that are wrong in one respect are written by
 * hand, as binary literals.
 */
#include "job_runner.h"
#include "measure_list.h"
#include "spec_builder.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 7 };

struct split {
    int64_t rows;
    bool keys;
    enum measure_choice choice;
    uint32_t parts;
};

static void finish(struct exec_engine *engine, struct spec_builder *b, struct job_result *out)
{
    job_run(engine, spec_job(b), out);
    cr_assert_eq(out->error.code, EXEC_OK, "%s", out->error.detail);
    job_result_sort(out);
    spec_fini(b);
    free(b);
}

static struct spec_builder *start(void)
{
    struct spec_builder *b = malloc(sizeof *b);

    cr_assert_not_null(b);
    spec_init(b);
    b->job.options.morsel_rows = 1024;
    return b;
}

static void add_keys(struct spec_builder *b, const struct split *split)
{
    if (split->keys) {
        spec_key(b, "k", spec_column(b, "k"));
        spec_key(b, "g", spec_column(b, "g"));
    }
}

static void run_single(struct exec_engine *engine, const struct split *split,
                       struct job_result *out)
{
    struct spec_builder *b = start();

    spec_group(b, measure_input(b, split->rows));
    add_keys(b, split);
    measure_list(b, split->choice);
    finish(engine, b, out);
}

/* Rows whose number modulo `parts` is `part`, as a table of states. */
static void run_partial(struct exec_engine *engine, const struct split *split, uint32_t part,
                        const char *table)
{
    struct spec_builder *b = start();
    struct job_result result;
    const uint32_t input = measure_input(b, split->rows);
    const uint32_t number =
        spec_call2(b, "modulo", spec_column(b, "row"), spec_i64(b, split->parts));

    spec_group(b, spec_filter(b, input, spec_call2(b, "eq", number, spec_i64(b, part))));
    add_keys(b, split);
    measure_list(b, split->choice);
    b->rels[b->rel_count - 1].u.aggregate.phase = EXEC_PHASE_PARTIAL;
    b->job.into_table = table;
    b->job.into_replace = true;
    finish(engine, b, &result);
    job_result_fini(&result);
}

static void run_final(struct exec_engine *engine, const struct split *split, struct job_result *out)
{
    struct spec_builder *b = start();
    uint32_t inputs[PARTS_MAX];

    for (uint32_t p = 0; p < split->parts; p++) {
        char table[16];
        snprintf(table, sizeof table, "part%u", p);
        inputs[p] = spec_table(b, table);
    }
    spec_group(b, spec_union(b, inputs, split->parts));
    add_keys(b, split);
    measure_list_final(b, split->choice);
    b->rels[b->rel_count - 1].u.aggregate.phase = EXEC_PHASE_FINAL;
    finish(engine, b, out);
}

static void check(const struct split *split)
{
    struct exec_engine *engine = test_engine(3, NULL);
    struct job_result wanted, result;

    run_single(engine, split, &wanted);
    for (uint32_t p = 0; p < split->parts; p++) {
        char table[16];
        snprintf(table, sizeof table, "part%u", p);
        run_partial(engine, split, p, table);
    }
    run_final(engine, split, &result);
    cr_assert_eq(result.row_count, wanted.row_count);
    for (uint64_t r = 0; r < wanted.row_count; r++) {
        cr_assert_str_eq(result.rows[r], wanted.rows[r], "%u parts, row %d:\n%s\n%s", split->parts,
                         (int)r, result.rows[r], wanted.rows[r]);
    }
    job_result_fini(&wanted);
    job_result_fini(&result);
    exec_engine_destroy(engine);
}

Test(group_phases, any_split_gives_the_same_bits)
{
    static const uint32_t parts[] = {1, 3, 7};

    for (uint32_t i = 0; i < 3; i++) {
        const struct split keyed = {.rows = 2000, .keys = true, .parts = parts[i]};
        const struct split total = {.rows = 3000, .parts = parts[i]};
        check(&keyed);
        check(&total);
    }
}

/* More parts than rows: some parts have none, whose states are those of no rows. */
Test(group_phases, parts_without_rows)
{
    const struct split few = {.rows = 3, .parts = 7};
    const struct split none = {.rows = 0, .parts = 3};
    const struct split keyed = {.rows = 3, .keys = true, .parts = 7};

    check(&few);
    check(&none);
    check(&keyed);
}

/* Registers instead of hashes, and sketches of many buckets. */
Test(group_phases, states_that_have_outgrown_their_first_form)
{
    struct exec_engine *engine = test_engine(2, NULL);
    struct job_result results[2];

    for (uint32_t phase = 0; phase < 2; phase++) {
        struct spec_builder *b = start();
        const struct exec_type type = {.kind = EXEC_TYPE_INT64};
        const struct exec_literal half = {.type.kind = EXEC_TYPE_FLOAT64, .value.f64 = 0.5};
        uint32_t input = spec_generator(b, "sequence", 20000, 0);
        for (uint32_t step = 0; step < 1 + phase; step++) {
            const bool last = phase == 1 && step == 1;
            spec_group(b, input);
            spec_measure(b, EXEC_AGG_APPROX_COUNT_DISTINCT, spec_column(b, last ? "d" : "i"), "d");
            spec_measure(b, EXEC_AGG_APPROX_QUANTILE, spec_column(b, last ? "q" : "i"), "q");
            struct exec_rel *rel = &b->rels[b->rel_count - 1];
            struct exec_measure *measures =
                (struct exec_measure *)(uintptr_t)rel->u.aggregate.measures;
            measures[1].parameters = spec_memory(b, &half, sizeof half);
            measures[1].parameter_count = 1;
            for (uint32_t m = 0; last && m < 2; m++) {
                measures[m].argument_types = spec_memory(b, &type, sizeof type);
                measures[m].argument_type_count = 1;
            }
            rel->u.aggregate.phase = phase == 0 ? EXEC_PHASE_SINGLE
                                     : last     ? EXEC_PHASE_FINAL
                                                : EXEC_PHASE_PARTIAL;
            input = b->rel_count;
        }
        finish(engine, b, &results[phase]);
    }
    cr_assert_str_eq(results[0].rows[0], results[1].rows[0]);
    job_result_fini(&results[0]);
    job_result_fini(&results[1]);
    exec_engine_destroy(engine);
}

Test(group_phases, states_do_not_depend_on_the_workers)
{
    const struct split split = {.rows = 2000, .keys = true, .parts = 1};
    struct exec_engine *engine = test_engine(8, NULL);
    struct job_result single, distinct;

    /* Four times the states: whatever differs gives a row more. */
    for (uint32_t p = 0; p < 4; p++) {
        char table[16];
        snprintf(table, sizeof table, "part%u", p);
        run_partial(engine, &split, 0, table);
    }
    struct spec_builder *b = start();
    uint32_t inputs[4];
    for (uint32_t p = 0; p < 4; p++) {
        char table[16];
        snprintf(table, sizeof table, "part%u", p);
        inputs[p] = spec_table(b, table);
    }
    spec_distinct(b, spec_union(b, inputs, 4));
    finish(engine, b, &distinct);
    run_single(engine, &split, &single);
    cr_assert_gt(single.row_count, 10);
    cr_assert_eq(distinct.row_count, single.row_count);
    job_result_fini(&single);
    job_result_fini(&distinct);
    exec_engine_destroy(engine);
}

/* ---- refusals -----------------------------------------------------------------------------------
 */

enum { INT64 = EXEC_TYPE_INT64, UTF8 = EXEC_TYPE_UTF8, FLOAT64 = EXEC_TYPE_FLOAT64 };

struct bad_state {
    enum exec_aggregate_function function;
    struct exec_type type;
    bool distinct;
    const char *bytes;
    size_t size;
    const char *text; /* of the error; NULL: a good one */
};

/* version, function, form, columns, type, scale */
#define BYTES(text) text, sizeof(text) - 1
#define ZEROS8 "\0\0\0\0\0\0\0\0"
#define BINS4 ZEROS8 "\0\0\0\0" ZEROS8 "\0\0\0\0" ZEROS8 "\0\0\0\0" ZEROS8 "\0\0\0\0"

/* The header's bytes are numbers that the wire fixes: functions and types as in plan.proto. */
static const struct bad_state bad_states[] = {
    {EXEC_AGG_COUNT, {.kind = INT64}, false, BYTES("\1\2\0\0\5\0\0\0\0\0\0\0"), NULL},
    {EXEC_AGG_COUNT, {.kind = INT64}, false, BYTES(""), "shorter than its header"},
    {EXEC_AGG_COUNT, {.kind = INT64}, false, BYTES("\1\2\0"), "shorter than its header"},
    {EXEC_AGG_COUNT, {.kind = INT64}, false, BYTES("\2\2\0\0\5\0\0\0\0\0\0\0"), "version"},
    {EXEC_AGG_COUNT, {.kind = INT64}, false, BYTES("\1\1\0\0\5\0\0\0\0\0\0\0"), "another function"},
    {EXEC_AGG_COUNT, {.kind = INT64}, false, BYTES("\1\2\0\0\5\0\0\0"), "too short"},
    {EXEC_AGG_COUNT, {.kind = INT64}, false, BYTES("\1\2\0\0\5\0\0\0\0\0\0\0\0"), "too long"},
    {EXEC_AGG_COUNT, {.kind = INT64}, false, BYTES("\1\2\0\0\5\0\0\0\0\2\0\0"), "above 2^40"},
    {EXEC_AGG_COUNT,
     {.kind = INT64},
     false,
     BYTES("\1\2\0\0\xff\xff\xff\xff\xff\xff\xff\xff"),
     "above 2^40"},
    {EXEC_AGG_SUM,
     {.kind = INT64},
     false,
     BYTES("\1\3\0\1\5\0\2"
           "\0\0\0\0\0\0\0"
           "\7"
           "\0\0\0\0\0\0\0" ZEROS8 ZEROS8),
     NULL},
    {EXEC_AGG_SUM,
     {.kind = INT64},
     false,
     BYTES("\1\3\0\1\4\0\2"
           "\0\0\0\0\0\0\0"
           "\7"
           "\0\0\0\0\0\0\0" ZEROS8 ZEROS8),
     "arguments of other types"},
    {EXEC_AGG_SUM,
     {.kind = INT64},
     false,
     BYTES("\1\3\0\1\5\0\2"
           "\0\0\0\0\0\0\0"
           "\7"
           "\0\0\0\0\0\0\0" ZEROS8 "\3\0\0\0\0\0\0\0"),
     "the sum is above its count"},
    {EXEC_AGG_SUM,
     {.kind = EXEC_TYPE_INT32},
     false,
     BYTES("\1\3\0\1\4\0\1"
           "\0\0\0\0\0\0\0"
           "\0\0\0\0\2\0\0\0"),
     "the sum is above its count"},
    {EXEC_AGG_SUM,
     {.kind = FLOAT64},
     false,
     BYTES("\1\3\0\1\13\0\1\0\0\0\0\0\0\0"
           "\0\0"
           "\43\0" BINS4),
     NULL},
    {EXEC_AGG_SUM,
     {.kind = FLOAT64},
     false,
     BYTES("\1\3\0\1\13\0\1\0\0\0\0\0\0\0"
           "\10\0"
           "\43\0" BINS4),
     "flags"},
    {EXEC_AGG_SUM,
     {.kind = FLOAT64},
     false,
     BYTES("\1\3\0\1\13\0\1\0\0\0\0\0\0\0"
           "\0\0"
           "\xff\xff" BINS4),
     "bins"},
    {EXEC_AGG_SUM,
     {.kind = FLOAT64},
     false,
     BYTES("\1\3\0\1\13\0\1\0\0\0\0\0\0\0"
           "\0\0"
           "\103\0" BINS4),
     "bins"},
    {EXEC_AGG_SUM,
     {.kind = FLOAT64},
     false,
     BYTES("\1\3\0\1\13\0\1\0\0\0\0\0\0\0"
           "\0\0"
           "\1\0"
           "\1\0\0\0\0\0\0\0"
           "\0\0\0\0" ZEROS8 "\0\0\0\0" ZEROS8 "\0\0\0\0" ZEROS8 "\0\0\0\0"),
     "bins"},
    {EXEC_AGG_SUM,
     {.kind = FLOAT64},
     false,
     BYTES("\1\3\0\1\13\0\1\0\0\0\0\0\0\0"
           "\0\0"
           "\43\0" ZEROS8 "\1\0\0\0" ZEROS8 "\0\0\0\0" ZEROS8 "\0\0\0\0" ZEROS8 "\0\0\0\0"),
     "bins"},
    {EXEC_AGG_MIN, {.kind = INT64}, false, BYTES("\1\4\0\1\5\0"), NULL},
    {EXEC_AGG_MIN, {.kind = INT64}, false, BYTES("\1\4\0\1\5\0\1"), "too short"},
    {EXEC_AGG_BOOL_OR,
     {.kind = EXEC_TYPE_BOOL},
     false,
     BYTES("\1\16\0\1\1\0\2"),
     "none of its type"},
    {EXEC_AGG_MAX,
     {.kind = EXEC_TYPE_DECIMAL128, .precision = 3, .scale = 1},
     false,
     BYTES("\1\5\0\1\14\1\xe7\3"
           "\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
     NULL},
    {EXEC_AGG_MAX,
     {.kind = EXEC_TYPE_DECIMAL128, .precision = 3, .scale = 1},
     false,
     BYTES("\1\5\0\1\14\1\xe8\3"
           "\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
     "none of its type"},
    {EXEC_AGG_MAX,
     {.kind = EXEC_TYPE_DECIMAL128, .precision = 3, .scale = 2},
     false,
     BYTES("\1\5\0\1\14\1\xe7\3"
           "\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
     "other types"},
    {EXEC_AGG_MAX, {.kind = UTF8}, false, BYTES("\1\5\0\1\15\0\1abc"), NULL},
    {EXEC_AGG_MAX, {.kind = UTF8}, false, BYTES("\1\5\0\1\15\0\1\xff"), "not UTF-8"},
    {EXEC_AGG_MAX, {.kind = UTF8}, false, BYTES("\1\5\0\1\15\0\0a"), "whether there is a text"},
    {EXEC_AGG_APPROX_COUNT_DISTINCT,
     {.kind = INT64},
     false,
     BYTES("\1\24\0\1\5\0\0"
           "\1\0\0\0\0\0\0\0"
           "\2\0\0\0\0\0\0\0"),
     NULL},
    {EXEC_AGG_APPROX_COUNT_DISTINCT,
     {.kind = INT64},
     false,
     BYTES("\1\24\0\1\5\0\0"
           "\2\0\0\0\0\0\0\0"
           "\2\0\0\0\0\0\0\0"),
     "hashes or registers"},
    {EXEC_AGG_APPROX_COUNT_DISTINCT,
     {.kind = INT64},
     false,
     BYTES("\1\24\0\1\5\0\1\0"),
     "hashes or registers"},
    {EXEC_AGG_APPROX_COUNT_DISTINCT,
     {.kind = INT64},
     false,
     BYTES("\1\24\0\1\5\0\0\0"),
     "hashes or registers"},
    {EXEC_AGG_COUNT_DISTINCT,
     {.kind = INT64},
     true,
     BYTES("\1\7\2\1\5\0"
           "\1\1\0\0\0\0\0\0\0"
           "\1\1\0\0\0\0\0\0\0"),
     NULL},
    {EXEC_AGG_COUNT_DISTINCT,
     {.kind = INT64},
     true,
     BYTES("\1\7\2\1\5\0"
           "\0"),
     "a value is missing"},
    {EXEC_AGG_COUNT_DISTINCT,
     {.kind = INT64},
     true,
     BYTES("\1\7\2\1\5\0"
           "\1\1\0\0"),
     "cut short"},
    {EXEC_AGG_COUNT_DISTINCT,
     {.kind = INT64},
     true,
     BYTES("\1\7\2\1\5\0"
           "\3"),
     "cut short"},
    {EXEC_AGG_MODE,
     {.kind = UTF8},
     false,
     BYTES("\1\30\3\1\15\0"
           "\1\2\0\0\0ab"),
     NULL},
    {EXEC_AGG_MODE,
     {.kind = UTF8},
     false,
     BYTES("\1\30\3\1\15\0"
           "\1\3\0\0\0ab"),
     "cut short"},
    {EXEC_AGG_MODE,
     {.kind = UTF8},
     false,
     BYTES("\1\30\3\1\15\0"
           "\1\xff\xff\xff\xff"
           "ab"),
     "cut short"},
    {EXEC_AGG_HISTOGRAM,
     {.kind = INT64},
     false,
     BYTES("\1\37\4\1\5\0\2\0\0\0\0\0\0\0\1\1\0\0\0\0\0\0\0"),
     NULL},
    {EXEC_AGG_HISTOGRAM,
     {.kind = INT64},
     false,
     BYTES("\1\37\4\1\5\0" ZEROS8 "\1\1\0\0\0\0\0\0\0"),
     "a count is 0"},
    {EXEC_AGG_FIRST,
     {.kind = INT64},
     false,
     BYTES("\1\17\1\1\5\0"
           "\1\1\0\0\0\0\0\0\0"
           "\0"),
     "more than one row"},
};

static void run_state(struct exec_engine *engine, const struct bad_state *state,
                      struct job_result *out)
{
    struct spec_builder *b = start();
    const struct exec_literal bytes = {.type.kind = EXEC_TYPE_BINARY,
                                       .value.text = {.bytes = state->bytes, .size = state->size}};

    spec_project(b, spec_generator(b, "sequence", 1, 0));
    spec_item(b, "state", spec_literal(b, &bytes));
    spec_group(b, b->rel_count);
    spec_measure(b, state->function, spec_column(b, "state"), "m");
    struct exec_rel *rel = &b->rels[b->rel_count - 1];
    struct exec_measure *measure = (struct exec_measure *)(uintptr_t)rel->u.aggregate.measures;
    measure->distinct = state->distinct;
    measure->argument_types = &state->type;
    measure->argument_type_count = 1;
    rel->u.aggregate.phase = EXEC_PHASE_FINAL;
    job_run(engine, spec_job(b), out);
    spec_fini(b);
    free(b);
}

Test(group_phases, bytes_that_are_no_states_are_refused)
{
    struct exec_engine *engine = test_engine(2, NULL);

    for (uint32_t i = 0; i < sizeof bad_states / sizeof bad_states[0]; i++) {
        const struct bad_state *state = &bad_states[i];
        struct job_result result;
        run_state(engine, state, &result);
        if (state->text == NULL) {
            cr_expect_eq(result.error.code, EXEC_OK, "%u: %s", i, result.error.detail);
        } else {
            cr_expect_eq(result.error.code, EXEC_BAD_DATA, "%u: %s", i, result.error.detail);
            cr_expect_not_null(strstr(result.error.detail, "measure 1, "), "%u", i);
            cr_expect_not_null(strstr(result.error.detail, state->text), "%u: '%s' in '%s'", i,
                               state->text, result.error.detail);
        }
        job_result_fini(&result);
    }
    exec_engine_destroy(engine);
}

/* Every byte of good states turned, and every length: an answer or a refusal, never a crash. */
Test(group_phases, damaged_states_do_no_harm)
{
    struct exec_engine *engine = test_engine(2, NULL);
    uint32_t refused = 0;

    for (uint32_t i = 0; i < sizeof bad_states / sizeof bad_states[0]; i++) {
        for (size_t at = 0; bad_states[i].text == NULL && at < bad_states[i].size; at++) {
            struct bad_state state = bad_states[i];
            struct job_result result;
            char *bytes = malloc(state.size);
            cr_assert_not_null(bytes);
            memcpy(bytes, state.bytes, state.size);
            bytes[at] = (char)(bytes[at] ^ (0x81 + 7 * (int)at));
            state.bytes = bytes;
            run_state(engine, &state, &result);
            cr_expect(result.error.code == EXEC_OK || result.error.code == EXEC_BAD_DATA ||
                          result.error.code == EXEC_OVERFLOW,
                      "%u, byte %d: %s", i, (int)at, result.error.detail);
            refused += result.error.code == EXEC_BAD_DATA;
            job_result_fini(&result);
            state.size = at;
            run_state(engine, &state, &result);
            cr_expect(result.error.code == EXEC_OK || result.error.code == EXEC_BAD_DATA,
                      "%u, %d bytes: %s", i, (int)at, result.error.detail);
            refused += result.error.code == EXEC_BAD_DATA;
            job_result_fini(&result);
            free(bytes);
        }
    }
    cr_assert_gt(refused, 200);
    exec_engine_destroy(engine);
}
