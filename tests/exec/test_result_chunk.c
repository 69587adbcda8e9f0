/* Goal:   what is appended to a chunk of a result comes out in Arrow's layout: every type, nulls,
 *         constants, selections, 64-byte alignment; a value longer than the chunk gets room of its
 *         own; offsets stay monotone.
 * Method: batches made by hand, appended in uneven pieces, read back value by value as text. */
#include "job_runner.h"
#include "op/result_chunk.h"
#include "vec/string_view.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct nu_topology topology;
static struct nu_page_pool *pool;
static struct nu_budget budget;
static struct job_context job;
static struct job_worker worker;
static const uint16_t worker_node[] = {0};

static void setup(void)
{
    char why[256];

    cr_assert_eq(nu_topology_read(&topology, NULL, why, sizeof why), 0);
    cr_assert_eq(nu_page_pool_create(&topology, 0, &pool), 0);
    nu_budget_init(&budget, "test", UINT64_MAX, NULL);
    job_context_init(&job, pool, &budget, UINT64_MAX, 1, worker_node, 1, &worker);
}

static void teardown(void)
{
    job_context_fini(&job);
    cr_expect_eq(nu_budget_used(&budget), 0);
    nu_page_pool_destroy(pool);
}

TestSuite(result_chunk, .init = setup, .fini = teardown);

static const struct exec_field fields[] = {
    {"b", {.kind = EXEC_TYPE_BOOL}, false},
    {"i", {.kind = EXEC_TYPE_INT32}, false},
    {"d", {.kind = EXEC_TYPE_DECIMAL128, .precision = 38, .scale = 2}, false},
    {"s", {.kind = EXEC_TYPE_UTF8}, false},
};
static const struct exec_schema schema = {fields, 4};
static const uint32_t positions[] = {3, 0, 1, 2}; /* batches hold i, d, s, b */
static _Atomic uint32_t means[4] = {16, 16, 16, 16};

static struct batch sample_batch(struct vec columns[4], uint16_t *sel)
{
    static int32_t numbers[BATCH_ROWS];
    static __int128 decimals[BATCH_ROWS];
    static struct string_view strings[1];
    static uint8_t bools[BATCH_ROWS];
    static uint64_t valid[BATCH_WORDS], valid_one[BATCH_WORDS];

    for (int r = 0; r < BATCH_ROWS; r++) {
        numbers[r] = r * 3;
        decimals[r] = -r;
        bools[r] = (uint8_t)(r % 2);
    }
    memset(valid, 0x77, sizeof valid); /* rows 3, 7, 11, ... are null */
    valid_one[0] = 1;
    strings[0] = string_view_make("a string of more than twelve bytes", 34);
    columns[0] = (struct vec){.data = numbers, .valid = valid, .kind = EXEC_TYPE_INT32};
    columns[1] = (struct vec){.data = decimals, .kind = EXEC_TYPE_DECIMAL128};
    columns[2] =
        (struct vec){.data = strings, .valid = valid_one, .kind = EXEC_TYPE_UTF8, .constant = true};
    columns[3] = (struct vec){.data = bools, .kind = EXEC_TYPE_BOOL};
    for (uint16_t p = 0; p < 300; p++) {
        sel[p] = (uint16_t)(p * 3);
    }
    return (struct batch){.row_count = BATCH_ROWS,
                          .sel_count = 300,
                          .sel = sel,
                          .columns = columns,
                          .column_count = 4};
}

Test(result_chunk, every_form_of_a_column)
{
    const struct result_shape shape = {
        .job = &job, .schema = &schema, .positions = positions, .mean_bytes = means};
    struct vec columns[4];
    uint16_t sel[BATCH_ROWS];
    const struct batch batch = sample_batch(columns, sel);
    struct result_chunk *chunk = result_chunk_create(&shape, &job.plan);
    struct exec_error err;
    uint32_t position = 0, chunks = 0;

    cr_assert_not_null(chunk);
    while (position < batch.sel_count) {
        cr_assert_eq(result_chunk_open(chunk, &shape, 4000, 0, &batch, position, &err), EXEC_OK);
        const uint32_t first = position;
        uint32_t taken;
        while (position < batch.sel_count &&
               (taken = result_chunk_append(chunk, &shape, &batch, position)) != 0) {
            position += taken;
        }
        cr_assert_gt(position, first);
        result_chunk_seal(chunk, &shape);
        cr_expect_eq(chunk->chunk.row_count, position - first);
        for (uint32_t c = 0; c < 4; c++) {
            cr_expect_eq((uintptr_t)chunk->chunk.columns[c].values % 64, 0);
            cr_expect_eq((uintptr_t)chunk->chunk.columns[c].validity % 64, 0);
            cr_expect_eq((uintptr_t)chunk->chunk.columns[c].offsets % 64, 0);
        }
        for (uint64_t r = 0; r < chunk->chunk.row_count; r++) {
            const int row = (int)(first + r) * 3;
            char expected[128], number[16], *text = chunk_row_text(&chunk->chunk, r);

            snprintf(number, sizeof number, "%d", row * 3);
            snprintf(expected, sizeof expected,
                     "%s|%s|%s%d.%02d|a string of more than twelve bytes", row % 2 ? "t" : "f",
                     row % 4 == 3 ? "\\N" : number, row == 0 ? "" : "-", row / 100, row % 100);
            cr_expect_str_eq(text, expected);
            free(text);
        }
        chunks++;
    }
    cr_expect_gt(chunks, 1);
    result_chunk_free(chunk, &shape);
}

Test(result_chunk, a_value_longer_than_the_chunk)
{
    enum { LONG_BYTES = 3 << 20 };
    static const uint32_t only[] = {0};
    const struct exec_schema one = {&fields[3], 1};
    const struct result_shape shape = {
        .job = &job, .schema = &one, .positions = only, .mean_bytes = means};
    char *bytes = malloc(LONG_BYTES);
    struct string_view views[3];
    struct exec_error err;

    cr_assert_not_null(bytes);
    memset(bytes, 'x', LONG_BYTES);
    views[0] = string_view_make("short", 5);
    views[1] = string_view_make(bytes, LONG_BYTES);
    views[2] = string_view_make("short", 5);
    struct vec column = {.data = views, .kind = EXEC_TYPE_UTF8};
    const struct batch batch = {
        .row_count = 3, .sel_count = 3, .columns = &column, .column_count = 1};
    struct result_chunk *chunk = result_chunk_create(&shape, &job.plan);

    cr_assert_not_null(chunk);
    cr_assert_eq(result_chunk_open(chunk, &shape, 65536, 0, &batch, 0, &err), EXEC_OK);
    cr_expect_eq(result_chunk_append(chunk, &shape, &batch, 0), 1);
    cr_expect_eq(result_chunk_append(chunk, &shape, &batch, 1), 0);
    cr_assert_eq(result_chunk_open(chunk, &shape, 65536, 0, &batch, 1, &err), EXEC_OK);
    cr_expect_geq(result_chunk_append(chunk, &shape, &batch, 1), 1);
    result_chunk_seal(chunk, &shape);
    cr_expect_geq(chunk->chunk.columns[0].values_bytes, LONG_BYTES);
    cr_expect_eq(((const int32_t *)chunk->chunk.columns[0].offsets)[1], LONG_BYTES);
    result_chunk_free(chunk, &shape);

    job.budget.limit_bytes = nu_budget_used(&job.budget) + 100000;
    cr_expect_eq(result_chunk_open(chunk, &shape, 65536, 0, &batch, 1, &err), EXEC_MEMORY_BUDGET);
    cr_expect_not_null(strstr(err.detail, "limit of the job"), "%s", err.detail);
    free(bytes);
}
