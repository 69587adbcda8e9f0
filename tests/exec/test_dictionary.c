/* Goal:   text columns with few values get codes that stand for exactly their values, through any
 *         number of builders whose dictionaries become one, in codes of 1, 2 and 4 bytes, with
 *         nulls and long texts; a column with many values gets none; all memory comes back.
 * Method: seeded texts through builders, tables made of their chunks, every row's code looked up
 *         and compared with the row's value. */
#include "arena_fixture.h"
#include "table/dictionary.h"
#include "table/table.h"
#include "vec/bitmap.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHUNKS_MAX = 64 };

static const struct exec_field fields[] = {{.name = "text", .type = {.kind = EXEC_TYPE_UTF8}},
                                           {.name = "n", .type = {.kind = EXEC_TYPE_INT32}}};
static const struct exec_schema schema = {.fields = fields, .field_count = 2};

struct source {
    struct chunk_builder *builder;
    uint64_t seed;
};

static uint64_t next(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void append(struct source *source, uint32_t rows, uint64_t first_value, uint64_t values,
                   bool nulls)
{
    static char texts[BATCH_ROWS][40];
    static struct string_view views[BATCH_ROWS];
    static int32_t numbers[BATCH_ROWS];
    uint64_t valid[BATCH_WORDS];
    struct exec_error err;

    for (uint32_t done = 0; done < rows; done += BATCH_ROWS) {
        const uint32_t count = rows - done < BATCH_ROWS ? rows - done : BATCH_ROWS;
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t value = first_value + next(&source->seed) % values;
            const int size = snprintf(texts[i], sizeof texts[i], "%s%d",
                                      value % 3 == 0 ? "a text of some length: " : "t", (int)value);
            views[i] = string_view_make(texts[i], (uint32_t)size);
        }
        for (uint32_t w = 0; w < BATCH_WORDS; w++) {
            valid[w] = next(&source->seed) | next(&source->seed);
        }
        struct vec vecs[] = {{.data = views, .valid = nulls ? valid : NULL, .kind = EXEC_TYPE_UTF8},
                             {.data = numbers, .kind = EXEC_TYPE_INT32}};
        const struct batch batch = {
            .row_count = count, .sel_count = count, .columns = vecs, .column_count = 2};
        cr_assert_eq(chunk_builder_append(source->builder, &batch, &err), EXEC_OK);
    }
}

static struct source source_of(struct arena_fixture *fixture, uint64_t seed, bool encodes)
{
    struct source source = {
        .builder = chunk_builder_create(fixture->pool, &fixture->budget, 0, &schema), .seed = seed};

    cr_assert_not_null(source.builder);
    cr_assert(!encodes || chunk_builder_encode(source.builder, &schema));
    return source;
}

static struct table *table_of(struct catalogue *catalogue, struct source *sources, uint32_t count)
{
    struct table_chunk *chunks[CHUNKS_MAX], *chunk;
    uint32_t chunk_count = 0;
    struct table *table;
    struct exec_error err;

    for (uint32_t s = 0; s < count; s++) {
        while ((chunk = chunk_builder_take(sources[s].builder, true)) != NULL) {
            cr_assert_lt(chunk_count, CHUNKS_MAX);
            chunks[chunk_count++] = chunk;
        }
    }
    cr_assert_eq(catalogue_put(catalogue, "t", &schema, chunks, chunk_count, true, &table, &err),
                 EXEC_OK);
    for (uint32_t s = 0; s < count; s++) {
        chunk_builder_destroy(sources[s].builder);
    }
    return table;
}

static uint32_t code_at(const struct vec *vec, uint32_t row)
{
    switch (vec->code_bytes) {
        case 1: return ((const uint8_t *)vec->codes)[row];
        case 2: return ((const uint16_t *)vec->codes)[row];
        default: return ((const uint32_t *)vec->codes)[row];
    }
}

/* Every present row's code is its value's. Returns the widest code seen. */
static uint32_t check_codes(const struct table *table)
{
    const struct dictionary *dictionary = table->stats[0].dictionary;
    static const uint32_t map[] = {0};
    uint32_t widest = 0;

    cr_assert_not_null(dictionary);
    cr_assert_eq(table->stats[0].distinct_estimate, dictionary->count);
    cr_assert_null(table->stats[1].dictionary);
    for (uint32_t c = 0; c < table->chunk_count; c++) {
        const struct table_chunk *chunk = table->chunks[c];
        for (uint32_t row = 0; row < chunk->row_count; row += BATCH_ROWS) {
            const uint32_t left = chunk->row_count - row;
            const uint32_t count = left < BATCH_ROWS ? left : BATCH_ROWS;
            uint32_t found[BATCH_ROWS];
            struct vec vec;
            struct batch batch;
            table_chunk_batch(chunk, table, map, 1, row, count, &vec, &batch);
            cr_assert_eq(vec.dictionary, dictionary);
            dictionary_find(dictionary, vec.data, vec.valid, count, found);
            widest = vec.code_bytes > widest ? vec.code_bytes : widest;
            for (uint32_t i = 0; i < count; i++) {
                if (!vec_is_valid(&vec, i)) {
                    continue;
                }
                const uint32_t code = code_at(&vec, i);
                cr_assert_lt(code, dictionary->count);
                cr_assert_eq(code, found[i]);
                cr_assert(string_view_equal(&dictionary->views[code],
                                            (const struct string_view *)vec.data + i));
            }
        }
    }
    return widest;
}

static void run(uint32_t builders, uint32_t rows, uint64_t values, bool nulls,
                uint32_t wanted_widest)
{
    struct arena_fixture fixture;
    struct source sources[4];
    arena_fixture_init(&fixture, UINT64_MAX);
    struct catalogue *catalogue = catalogue_create(fixture.pool, &fixture.budget);

    for (uint32_t b = 0; b < builders; b++) {
        sources[b] = source_of(&fixture, b + 1, true);
        append(&sources[b], rows, b * values / 2, values, nulls);
    }
    struct table *table = table_of(catalogue, sources, builders);
    cr_assert_eq(check_codes(table), wanted_widest);
    table_unref(table);
    catalogue_destroy(catalogue);
    cr_assert_eq(nu_budget_used(&fixture.budget), 0);
    arena_fixture_fini(&fixture);
}

Test(dictionary, one_builder)
{
    run(1, 3000, 7, false, 1);
    run(1, 70000, 100, true, 1);
    run(1, 70000, 3000, true, 2);
}

/* Their dictionaries overlap by half; codes grow where the common one needs it. */
Test(dictionary, several_builders)
{
    run(3, 3000, 200, true, 2);
    run(2, 66000, 250, false, 2);
    run(4, 100, 7, false, 1);
}

Test(dictionary, wide_codes)
{
    run(2, 150000, 60000, false, 4);
}

/* At a quarter of a million rows most are new, and yet a value will come twice. */
Test(dictionary, values_that_are_about_to_come_again)
{
    run(1, 1200000, 500000, false, 4);
}

static void expect_none(uint32_t rows, uint64_t values)
{
    struct arena_fixture fixture;
    arena_fixture_init(&fixture, UINT64_MAX);
    struct catalogue *catalogue = catalogue_create(fixture.pool, &fixture.budget);
    struct source source = source_of(&fixture, 1, true);

    append(&source, rows, 0, values, false);
    struct table *table = table_of(catalogue, &source, 1);
    cr_assert_null(table->stats[0].dictionary);
    cr_assert_null(table->chunks[0]->columns[0].codes);
    table_unref(table);
    catalogue_destroy(catalogue);
    cr_assert_eq(nu_budget_used(&fixture.budget), 0);
    arena_fixture_fini(&fixture);
}

Test(dictionary, many_values_have_none)
{
    expect_none(5 * TABLE_CHUNK_ROWS, 1 << 30);
}

/* They would have come again, but the table ends before. */
Test(dictionary, values_that_have_not_come_again_have_none)
{
    expect_none(400000, 500000);
}

/* One builder without: the table has none. */
Test(dictionary, all_or_none)
{
    struct arena_fixture fixture;
    arena_fixture_init(&fixture, UINT64_MAX);
    struct catalogue *catalogue = catalogue_create(fixture.pool, &fixture.budget);
    struct source sources[] = {source_of(&fixture, 1, true), source_of(&fixture, 2, false)};

    append(&sources[0], 2000, 0, 9, false);
    append(&sources[1], 2000, 0, 9, false);
    struct table *table = table_of(catalogue, sources, 2);
    cr_assert_null(table->stats[0].dictionary);
    for (uint32_t c = 0; c < table->chunk_count; c++) {
        cr_assert_null(table->chunks[c]->columns[0].codes);
    }
    table_unref(table);
    catalogue_destroy(catalogue);
    cr_assert_eq(nu_budget_used(&fixture.budget), 0);
    arena_fixture_fini(&fixture);
}
