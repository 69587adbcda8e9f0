/* Goal:   text that brings codes is kept as codes alone and read back as the texts it was: through
 *         selections, nulls, growing chunks, codes of every width; text of another dictionary or of
 *         none ends that, without a row lost; the dictionary outlives the table it came from; all
 *         memory comes back.
 * Method: tables with dictionaries are copied, batch by batch, into builders without; every row of
 *         the copy is compared with the text it was made of.
 */
#include "arena_fixture.h"
#include "table/dictionary.h"
#include "table/table.h"
#include "vec/bitmap.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHUNKS_MAX = 64, ROWS_MAX = 200000, TEXT_BYTES = 40 };

static const struct exec_field fields[] = {{.name = "text", .type = {.kind = EXEC_TYPE_UTF8}},
                                           {.name = "n", .type = {.kind = EXEC_TYPE_INT32}}};
static const struct exec_schema schema = {.fields = fields, .field_count = 2};

static uint64_t next(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The text of a number. */
static uint32_t text_of(int32_t number, char *out)
{
    return (uint32_t)snprintf(out, TEXT_BYTES, "%s%d",
                              number % 3 == 0 ? "a text of some length: " : "t", number);
}

struct copy {
    struct arena_fixture fixture;
    struct catalogue *catalogue;
    struct chunk_builder *builder;
    struct nu_arena scratch;
    uint32_t row_count;
    int32_t wanted[ROWS_MAX]; /* n of every row, which says what its text is */
};

static struct chunk_builder *builder_of(struct copy *copy, bool encodes)
{
    struct chunk_builder *builder =
        chunk_builder_create(copy->fixture.pool, &copy->fixture.budget, 0, &schema);

    cr_assert_not_null(builder);
    cr_assert(!encodes || chunk_builder_encode(builder, &schema));
    return builder;
}

static struct table *table_of(struct copy *copy, struct chunk_builder *builder, const char *name)
{
    struct table_chunk *chunks[CHUNKS_MAX], *chunk;
    uint32_t count = 0;
    struct table *table;
    struct exec_error err;

    while ((chunk = chunk_builder_take(builder, true)) != NULL) {
        cr_assert_lt(count, CHUNKS_MAX);
        chunks[count++] = chunk;
    }
    cr_assert_eq(catalogue_put(copy->catalogue, name, &schema, chunks, count, true, &table, &err),
                 EXEC_OK);
    chunk_builder_destroy(builder);
    return table;
}

/* Rows of numbers below `values`, every third text null where `nulls`. */
static struct table *source_table(struct copy *copy, const char *name, uint32_t rows,
                                  int32_t values, bool nulls, bool encodes)
{
    static char texts[BATCH_ROWS][TEXT_BYTES];
    struct string_view views[BATCH_ROWS];
    int32_t numbers[BATCH_ROWS];
    uint64_t valid[BATCH_WORDS];
    struct chunk_builder *builder = builder_of(copy, encodes);
    struct exec_error err;
    uint64_t seed = (uint64_t)rows + (uint64_t)values;

    for (uint32_t done = 0; done < rows; done += BATCH_ROWS) {
        const uint32_t count = rows - done < BATCH_ROWS ? rows - done : BATCH_ROWS;
        for (uint32_t i = 0; i < count; i++) {
            numbers[i] = (int32_t)(next(&seed) % (uint64_t)values);
            views[i] = string_view_make(texts[i], text_of(numbers[i], texts[i]));
            bitmap_put(valid, i, !nulls || numbers[i] % 3 != 1);
        }
        struct vec vecs[] = {{.data = views, .valid = valid, .kind = EXEC_TYPE_UTF8},
                             {.data = numbers, .kind = EXEC_TYPE_INT32}};
        const struct batch batch = {
            .row_count = count, .sel_count = count, .columns = vecs, .column_count = 2};
        cr_assert_eq(chunk_builder_append(builder, &batch, &err), EXEC_OK);
    }
    return table_of(copy, builder, name);
}

static void begin(struct copy *copy)
{
    arena_fixture_init(&copy->fixture, UINT64_MAX);
    copy->catalogue = catalogue_create(copy->fixture.pool, &copy->fixture.budget);
    copy->builder = builder_of(copy, false);
    nu_arena_init(&copy->scratch, copy->fixture.pool, 0, &copy->fixture.budget);
}

static void end(struct copy *copy)
{
    nu_arena_destroy(&copy->scratch);
    catalogue_destroy(copy->catalogue);
    cr_assert_eq(nu_budget_used(&copy->fixture.budget), 0);
    arena_fixture_fini(&copy->fixture);
    free(copy);
}

/* Of every batch each row, or about one of three. */
static void append_table(struct copy *copy, const struct table *table, bool thin)
{
    static const uint32_t map[] = {0, 1};
    uint64_t seed = 5;
    struct exec_error err;

    for (uint32_t c = 0; c < table->chunk_count; c++) {
        for (uint32_t row = 0; row < table->chunks[c]->row_count; row += BATCH_ROWS) {
            const uint32_t left = table->chunks[c]->row_count - row;
            const uint32_t count = left < BATCH_ROWS ? left : BATCH_ROWS;
            uint16_t sel[BATCH_ROWS + 1];
            struct vec vecs[2];
            struct batch batch;
            table_chunk_batch(table->chunks[c], table, map, 2, row, count, vecs, &batch);
            const struct nu_arena_mark mark = nu_arena_mark(&copy->scratch);
            cr_assert(table_chunk_views(&batch, &copy->scratch));
            batch.sel_count = thin ? 0 : count;
            for (uint32_t i = 0; i < count; i++) {
                if (thin && next(&seed) % 3 != 0) {
                    continue;
                }
                sel[batch.sel_count] = (uint16_t)i;
                batch.sel_count += thin;
                copy->wanted[copy->row_count++] = ((const int32_t *)vecs[1].data)[i];
            }
            batch.sel = thin ? sel : NULL;
            cr_assert_eq(chunk_builder_append(copy->builder, &batch, &err), EXEC_OK);
            nu_arena_rewind(&copy->scratch, mark);
        }
    }
}

/* The rows of a table in order, against copy->wanted. Returns how many chunks keep codes alone. */
static uint32_t check_rows(struct copy *copy, const struct table *table, bool nulls)
{
    static const uint32_t map[] = {0, 1};
    uint32_t at = 0;
    uint32_t bare = 0;

    for (uint32_t c = 0; c < table->chunk_count; c++) {
        const struct table_chunk *chunk = table->chunks[c];
        bare += chunk->columns[0].codes != NULL && chunk->columns[0].data == NULL;
        for (uint32_t row = 0; row < chunk->row_count; row += BATCH_ROWS) {
            const uint32_t left = chunk->row_count - row;
            const uint32_t count = left < BATCH_ROWS ? left : BATCH_ROWS;
            struct vec vecs[2];
            struct batch batch;
            table_chunk_batch(chunk, table, map, 2, row, count, vecs, &batch);
            const struct nu_arena_mark mark = nu_arena_mark(&copy->scratch);
            cr_assert(table_chunk_views(&batch, &copy->scratch));
            const struct string_view *views = vecs[0].data;
            for (uint32_t i = 0; i < count; i++, at++) {
                char text[TEXT_BYTES];
                const int32_t n = ((const int32_t *)vecs[1].data)[i];
                const bool null = nulls && n % 3 == 1;
                const struct string_view wanted = string_view_make(text, text_of(n, text));
                cr_assert_eq(n, copy->wanted[at]);
                cr_assert_eq(vec_is_valid(&vecs[0], i), !null);
                cr_assert(null ? views[i].size == 0 : string_view_equal(&views[i], &wanted),
                          "row %u", at);
            }
            nu_arena_rewind(&copy->scratch, mark);
        }
    }
    cr_assert_eq(at, copy->row_count);
    cr_assert_eq(table->row_count, copy->row_count);
    return bare;
}

static struct copy *copy_make(void)
{
    struct copy *copy = calloc(1, sizeof *copy);

    cr_assert_not_null(copy);
    begin(copy);
    return copy;
}

static void run(uint32_t rows, int32_t values, bool nulls, bool thin)
{
    struct copy *copy = copy_make();
    struct table *source = source_table(copy, "source", rows, values, nulls, true);
    struct exec_error err;

    cr_assert_not_null(source->stats[0].dictionary);
    append_table(copy, source, thin);
    struct table *made = table_of(copy, copy->builder, "made");
    cr_assert_eq(made->stats[0].dictionary, source->stats[0].dictionary);
    cr_assert_eq(made->stats[0].null_count != 0, nulls);
    cr_assert_eq(catalogue_drop(copy->catalogue, "source", &err), EXEC_OK);
    table_unref(source);
    cr_assert_eq(check_rows(copy, made, nulls), made->chunk_count);
    table_unref(made);
    end(copy);
}

Test(code_columns, every_width)
{
    run(3000, 7, false, false);
    run(3000, 7, true, true);
    run(150000, 250, true, false);
    run(150000, 3000, true, true);
    run(190000, 70000, false, true);
}

Test(code_columns, a_copy_of_a_copy)
{
    struct copy *copy = copy_make();
    struct table *source = source_table(copy, "source", 3000, 50, true, true);

    append_table(copy, source, false);
    struct table *first = table_of(copy, copy->builder, "first");
    copy->builder = builder_of(copy, false);
    copy->row_count = 0;
    append_table(copy, first, true);
    struct table *second = table_of(copy, copy->builder, "second");
    cr_assert_eq(second->stats[0].dictionary, source->stats[0].dictionary);
    cr_assert_eq(check_rows(copy, second, true), second->chunk_count);
    table_unref(source);
    table_unref(first);
    table_unref(second);
    end(copy);
}

/* Texts without codes, or with others, end the chunk under way; those before stay codes. */
Test(code_columns, until_texts_come_without)
{
    for (uint32_t encoded = 0; encoded < 2; encoded++) {
        struct copy *copy = copy_make();
        struct table *source = source_table(copy, "source", 70000, 50, true, true);
        struct table *other = source_table(copy, "other", 5000, 3000, true, encoded != 0);

        append_table(copy, source, true);
        append_table(copy, other, false);
        append_table(copy, source, true);
        struct table *made = table_of(copy, copy->builder, "made");
        cr_assert_null(made->stats[0].dictionary);
        cr_assert_eq(check_rows(copy, made, true), 1);
        cr_assert_eq(made->chunk_count, 2);
        table_unref(source);
        table_unref(other);
        table_unref(made);
        end(copy);
    }
}
