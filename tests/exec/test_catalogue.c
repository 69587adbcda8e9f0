/* Goal:   the catalogue swaps versions atomically, keeps a version as long as somebody holds it,
 * and gives all memory back; names are checked; lists are sorted copies. Method: by hand on one
 * thread, then four threads that get, put, list and drop a few names at random: every version got
 * must be whole (its rows all equal its row count). Run under ThreadSanitizer. */
#include "arena_fixture.h"
#include "table/table.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 400, NAMES = 3 };

static const struct exec_field field = {.name = "n", .type = {.kind = EXEC_TYPE_INT64}};
static const struct exec_schema schema = {.fields = &field, .field_count = 1};

/* A chunk of `rows` rows that all hold `rows`. */
static struct table_chunk *make_chunk(struct arena_fixture *fixture, uint32_t rows)
{
    struct chunk_builder *builder =
        chunk_builder_create(fixture->pool, &fixture->budget, 0, &schema);
    struct exec_error err;
    int64_t values[BATCH_ROWS];
    struct vec vec = {.data = values, .kind = EXEC_TYPE_INT64};
    const struct batch batch = {
        .row_count = rows, .sel_count = rows, .columns = &vec, .column_count = 1};

    for (uint32_t i = 0; i < rows; i++) {
        values[i] = rows;
    }
    cr_assert_eq(chunk_builder_append(builder, &batch, &err), EXEC_OK);
    struct table_chunk *chunk = chunk_builder_take(builder, true);
    chunk_builder_destroy(builder);
    return chunk;
}

static enum exec_code put(struct catalogue *catalogue, struct arena_fixture *fixture,
                          const char *name, uint32_t rows, bool replace, struct exec_error *err)
{
    struct table_chunk *chunk = make_chunk(fixture, rows);
    return catalogue_put(catalogue, name, &schema, &chunk, 1, replace, NULL, err);
}

Test(catalogue, versions)
{
    struct arena_fixture fixture;
    struct exec_error err;
    struct exec_table_list list;
    arena_fixture_init(&fixture, UINT64_MAX);
    struct catalogue *catalogue = catalogue_create(fixture.pool, &fixture.budget);

    cr_assert_null(catalogue_get(catalogue, "flights"));
    cr_assert_eq(put(catalogue, &fixture, "flights", 7, false, &err), EXEC_OK);
    struct table *old = catalogue_get(catalogue, "flights");
    cr_assert_eq(put(catalogue, &fixture, "flights", 8, false, &err), EXEC_EXISTS);
    cr_assert_str_eq(err.detail, "table 'flights' exists already (replace is not set)");
    cr_assert_eq(put(catalogue, &fixture, "flights", 9, true, &err), EXEC_OK);
    cr_assert_eq(put(catalogue, &fixture, "airlines", 1, false, &err), EXEC_OK);
    struct table *new = catalogue_get(catalogue, "flights");
    cr_expect_eq(old->row_count, 7);
    cr_expect_eq(new->row_count, 9);
    cr_expect_gt(new->version, old->version);
    cr_expect_eq(new->stats[0].max.i64, 9);

    cr_assert_eq(catalogue_list(catalogue, NULL, &list, &err), EXEC_OK);
    cr_assert_eq(list.table_count, 2);
    cr_expect_str_eq(list.tables[0].name, "airlines");
    cr_expect_str_eq(list.tables[1].name, "flights");
    cr_expect_str_eq(list.tables[1].schema.fields[0].name, "n");
    cr_expect_eq(list.tables[1].row_count, 9);
    cr_expect_eq(list.tables[1].memory_bytes, NU_PAGE_BYTES);
    free(list.memory);

    cr_assert_eq(catalogue_drop(catalogue, "flights", &err), EXEC_OK);
    cr_assert_eq(catalogue_drop(catalogue, "flights", &err), EXEC_TABLE_NOT_FOUND);
    cr_assert_str_eq(err.detail, "there is no table 'flights'");
    cr_expect_eq(((const int64_t *)new->chunks[0]->columns[0].data)[0], 9);
    table_unref(old);
    table_unref(new);
    catalogue_destroy(catalogue);
    cr_expect_eq(nu_budget_used(&fixture.budget), 0);
    arena_fixture_fini(&fixture);
}

Test(catalogue, names)
{
    struct exec_error err;
    char longest[300];
    memset(longest, 'x', sizeof longest);
    longest[255] = '\0';
    cr_expect_eq(table_name_check("flüge 2013", &err), EXEC_OK);
    cr_expect_eq(table_name_check(longest, &err), EXEC_OK);
    longest[255] = 'x';
    longest[256] = '\0';
    cr_expect_eq(table_name_check(longest, &err), EXEC_BAD_SPEC);
    cr_expect_not_null(strstr(err.detail, "255"));
    cr_expect_eq(table_name_check("", &err), EXEC_BAD_SPEC);
    cr_expect_eq(table_name_check(NULL, &err), EXEC_BAD_SPEC);
    cr_expect_eq(table_name_check("a\nb", &err), EXEC_BAD_SPEC);
    cr_expect_not_null(strstr(err.detail, "0x0a at byte 2"));
    cr_expect_eq(table_name_check("\xff", &err), EXEC_BAD_SPEC);
}

struct crowd {
    struct catalogue *catalogue;
    struct arena_fixture *fixture;
    uint64_t seed;
};

static void look(struct catalogue *catalogue, const char *name)
{
    struct table *table = catalogue_get(catalogue, name);
    if (table == NULL) {
        return;
    }
    const int64_t *values = table->chunks[0]->columns[0].data;
    for (uint64_t row = 0; row < table->row_count; row++) {
        cr_assert_eq(values[row], (int64_t)table->row_count);
    }
    table_unref(table);
}

static void *crowd_main(void *argument)
{
    struct crowd *crowd = argument;
    struct exec_error err;
    struct exec_table_list list;
    char name[16];

    for (uint32_t i = 0; i < ROUNDS; i++) {
        const uint64_t word = test_random(&crowd->seed);
        snprintf(name, sizeof name, "t%u", (unsigned)(word >> 32) % NAMES);
        switch (word % 6) {
            case 0:
                (void)put(crowd->catalogue, crowd->fixture, name, 1 + (uint32_t)(word >> 8) % 1000,
                          (word & 64) != 0, &err);
                break;
            case 1: (void)catalogue_drop(crowd->catalogue, name, &err); break;
            case 2:
                cr_assert_eq(catalogue_list(crowd->catalogue, NULL, &list, &err), EXEC_OK);
                free(list.memory);
                break;
            default: look(crowd->catalogue, name); break;
        }
    }
    return NULL;
}

Test(catalogue, crowd)
{
    struct arena_fixture fixture;
    pthread_t threads[THREADS];
    struct crowd crowds[THREADS];
    arena_fixture_init(&fixture, UINT64_MAX);
    struct catalogue *catalogue = catalogue_create(fixture.pool, &fixture.budget);

    for (uint32_t t = 0; t < THREADS; t++) {
        crowds[t] = (struct crowd){.catalogue = catalogue, .fixture = &fixture, .seed = t};
        pthread_create(&threads[t], NULL, crowd_main, &crowds[t]);
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
    }
    cr_expect_leq(catalogue_count(catalogue), NAMES);
    catalogue_destroy(catalogue);
    cr_expect_eq(nu_budget_used(&fixture.budget), 0);
    arena_fixture_fini(&fixture);
}
