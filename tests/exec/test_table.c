/* Goal:   chunk_builder keeps the selected rows of every batch, in order, with nulls and owned
 *         strings, cuts chunks at TABLE_CHUNK_ROWS, computes their statistics, and neither wastes
 *         nor leaks memory.
 * Method: random batches (selections, constants, nulls, all types) go in; what comes out is
 * compared row by row with copies kept aside; budgets are read before and after. */
#include "random_vec.h"
#include "table/table.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { COLUMNS = 6 };

static const struct exec_field fields[COLUMNS] = {
    {.name = "flag", .type = {.kind = EXEC_TYPE_BOOL}},
    {.name = "small", .type = {.kind = EXEC_TYPE_INT32}},
    {.name = "big", .type = {.kind = EXEC_TYPE_INT64}},
    {.name = "ratio", .type = {.kind = EXEC_TYPE_FLOAT64}},
    {.name = "text", .type = {.kind = EXEC_TYPE_UTF8}},
    {.name = "money", .type = {.kind = EXEC_TYPE_DECIMAL128, .precision = 38}},
};
static const struct exec_schema schema = {.fields = fields, .field_count = COLUMNS};

/* What went in, flat. */
struct kept {
    unsigned char *data[COLUMNS];
    bool *valid[COLUMNS];
    uint32_t rows;
};

static void keep_row(struct kept *kept, const struct vec *vecs, uint32_t row)
{
    for (uint32_t c = 0; c < COLUMNS; c++) {
        const size_t width = exec_type_width(vecs[c].kind);
        const unsigned char *source = vecs[c].data;
        kept->valid[c][kept->rows] = vec_is_valid(&vecs[c], row);
        memcpy(kept->data[c] + kept->rows * width, source + (vecs[c].constant ? 0 : row) * width,
               width);
    }
    kept->rows++;
}

static bool is_text(uint32_t column)
{
    return fields[column].type.kind == EXEC_TYPE_UTF8;
}

static void check_value(const struct kept *kept, uint32_t at, const struct table_chunk *chunk,
                        uint32_t row, uint32_t c)
{
    const size_t width = exec_type_width(fields[c].type.kind);
    const struct table_column *column = &chunk->columns[c];
    const bool valid = column->valid == NULL || bitmap_get(column->valid, row);
    const unsigned char *want = kept->data[c] + at * width;
    const unsigned char *got = (const unsigned char *)column->data + row * width;

    cr_assert_eq(valid, kept->valid[c][at], "row %u column %u", at, c);
    if (!is_text(c)) {
        cr_assert(!valid || memcmp(want, got, width) == 0, "row %u column %u", at, c);
        return;
    }
    const struct string_view *want_view = (const struct string_view *)want;
    const struct string_view *got_view = (const struct string_view *)got;
    cr_assert(valid ? string_view_equal(want_view, got_view) : got_view->size == 0,
              "row %u column %u", at, c);
    cr_assert(got_view->size <= STRING_INLINE_BYTES ||
                  string_view_bytes(got_view) != string_view_bytes(want_view),
              "a long string is the chunk's own");
}

static void run_random(uint32_t batches, uint64_t seed)
{
    struct arena_fixture fixture;
    struct exec_error err;
    struct kept kept = {.rows = 0};
    uint32_t checked = 0;
    struct table_chunk *chunk;

    arena_fixture_init(&fixture, UINT64_MAX);
    for (uint32_t c = 0; c < COLUMNS; c++) {
        kept.data[c] = malloc((size_t)batches * BATCH_ROWS * 16);
        kept.valid[c] = malloc((size_t)batches * BATCH_ROWS);
    }
    const uint64_t before = nu_budget_used(&fixture.budget);
    struct nu_budget budget;
    nu_budget_init(&budget, "tables", UINT64_MAX, NULL);
    struct chunk_builder *builder = chunk_builder_create(fixture.pool, &budget, 0, &schema);
    for (uint32_t b = 0; b < batches; b++) {
        struct vec vecs[COLUMNS];
        uint16_t sel[BATCH_ROWS];
        struct batch batch = {.row_count = 1 + (uint32_t)(test_random(&seed) % BATCH_ROWS),
                              .columns = vecs,
                              .column_count = COLUMNS};
        for (uint32_t c = 0; c < COLUMNS; c++) {
            vecs[c] = random_vec(&seed, fields[c].type.kind, batch.row_count, c * 10, true,
                                 &fixture.arena);
        }
        for (uint32_t row = 0; row < batch.row_count; row++) {
            if (b % 3 == 0 || test_random(&seed) % 4 != 0) {
                sel[batch.sel_count++] = (uint16_t)row;
                keep_row(&kept, vecs, row);
            }
        }
        batch.sel = batch.sel_count == batch.row_count ? NULL : sel;
        cr_assert_eq(chunk_builder_append(builder, &batch, &err), EXEC_OK);
    }
    while ((chunk = chunk_builder_take(builder, true)) != NULL) {
        cr_assert(chunk->row_count == TABLE_CHUNK_ROWS || checked + chunk->row_count == kept.rows);
        for (uint32_t row = 0; row < chunk->row_count; row++) {
            for (uint32_t c = 0; c < COLUMNS; c++) {
                check_value(&kept, checked + row, chunk, row, c);
            }
        }
        checked += chunk->row_count;
        table_chunk_destroy(chunk);
    }
    cr_assert_eq(checked, kept.rows);
    chunk_builder_destroy(builder);
    cr_assert_eq(nu_budget_used(&budget), 0);
    cr_assert_geq(nu_budget_used(&fixture.budget), before);
    for (uint32_t c = 0; c < COLUMNS; c++) {
        free(kept.data[c]);
        free(kept.valid[c]);
    }
    arena_fixture_fini(&fixture);
}

Test(table, builder_keeps_rows)
{
    run_random(1, 1);
    run_random(3, 2);
    run_random(20, 3);
    run_random(150, 4);
}

/* One column of int64 0..rows-1 with every third row null. */
static struct table_chunk *sequence_chunk(struct arena_fixture *fixture, struct nu_budget *budget,
                                          uint32_t rows)
{
    static const struct exec_field field = {.name = "n", .type = {.kind = EXEC_TYPE_INT64}};
    const struct exec_schema one = {.fields = &field, .field_count = 1};
    struct chunk_builder *builder = chunk_builder_create(fixture->pool, budget, 0, &one);
    struct exec_error err;
    int64_t values[BATCH_ROWS];

    for (uint32_t row = 0; row < rows;) {
        uint64_t valid[BATCH_WORDS] = {0};
        const uint32_t count = rows - row < BATCH_ROWS ? rows - row : BATCH_ROWS;
        for (uint32_t i = 0; i < count; i++, row++) {
            values[i] = row;
            valid[i / 64] |= (uint64_t)(row % 3 != 0) << (i % 64);
        }
        struct vec vec = {.data = values, .valid = valid, .kind = EXEC_TYPE_INT64};
        const struct batch batch = {
            .row_count = count, .sel_count = count, .columns = &vec, .column_count = 1};
        cr_assert_eq(chunk_builder_append(builder, &batch, &err), EXEC_OK);
    }
    struct table_chunk *chunk = chunk_builder_take(builder, true);
    chunk_builder_destroy(builder);
    return chunk;
}

Test(table, statistics)
{
    struct arena_fixture fixture;
    arena_fixture_init(&fixture, UINT64_MAX);
    struct table_chunk *chunk = sequence_chunk(&fixture, &fixture.budget, 5000);
    cr_expect_eq(chunk->row_count, 5000);
    cr_expect_eq(chunk->columns[0].stats.null_count, 1667);
    cr_expect(chunk->columns[0].stats.has_bounds);
    cr_expect_eq(chunk->columns[0].stats.min.i64, 1);
    cr_expect_eq(chunk->columns[0].stats.max.i64, 4999);
    table_chunk_destroy(chunk);
    arena_fixture_fini(&fixture);
}

Test(table, tiny_tables_are_small)
{
    struct arena_fixture fixture;
    arena_fixture_init(&fixture, UINT64_MAX);
    struct table_chunk *chunk = sequence_chunk(&fixture, &fixture.budget, 10);
    cr_expect_eq(nu_budget_used(&fixture.budget), NU_PAGE_BYTES);
    table_chunk_destroy(chunk);
    chunk = sequence_chunk(&fixture, &fixture.budget, 10000); /* grown for 65,536, cut down */
    cr_expect_leq(nu_budget_used(&fixture.budget), 3 * NU_PAGE_BYTES);
    table_chunk_destroy(chunk);
    cr_expect_eq(nu_budget_used(&fixture.budget), 0);
    arena_fixture_fini(&fixture);
}

Test(table, budget_refusal_is_an_error)
{
    struct arena_fixture fixture;
    struct nu_budget budget;
    struct exec_error err = {.code = EXEC_OK};
    static const struct exec_field field = {.name = "n", .type = {.kind = EXEC_TYPE_INT64}};
    const struct exec_schema one = {.fields = &field, .field_count = 1};
    int64_t values[BATCH_ROWS] = {0};
    struct vec vec = {.data = values, .kind = EXEC_TYPE_INT64};
    const struct batch batch = {
        .row_count = BATCH_ROWS, .sel_count = BATCH_ROWS, .columns = &vec, .column_count = 1};

    arena_fixture_init(&fixture, UINT64_MAX);
    nu_budget_init(&budget, "tables", 256 << 10, NULL);
    struct chunk_builder *builder = chunk_builder_create(fixture.pool, &budget, 0, &one);
    for (uint32_t i = 0; i < 64 && err.code == EXEC_OK; i++) {
        (void)chunk_builder_append(builder, &batch, &err);
    }
    cr_expect_eq(err.code, EXEC_MEMORY_BUDGET);
    cr_expect_not_null(strstr(err.detail, "budget 'tables'"), "%s", err.detail);
    chunk_builder_destroy(builder);
    cr_expect_eq(nu_budget_used(&budget), 0);
    arena_fixture_fini(&fixture);
}
