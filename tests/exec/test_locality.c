/* Goal:   on a skewed table (every chunk on node 0 of two) the worker of node 1 steals, and the
 * figures add up: local plus remote rows are the input exactly, local plus remote morsels all
 * morsels. Method: a fake topology of two nodes with a core each, a table whose chunks are placed
 * by hand, and a filter over it, repeated until a steal was seen; the sums must hold every time. */
#include "engine.h"
#include "job_runner.h"
#include "spec_builder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNKS = 48, ROWS = CHUNKS * TABLE_CHUNK_ROWS - 1000, ATTEMPTS = 50 };

static const char topology_text[] = "node 0 memory 1073741824\n"
                                    "node 1 memory 1073741824\n"
                                    "cpu 0 node 0 core 0 l3 0 socket 0\n"
                                    "cpu 1 node 1 core 1 l3 1 socket 1\n"
                                    "distance 0 0 10\n"
                                    "distance 0 1 20\n"
                                    "distance 1 0 20\n"
                                    "distance 1 1 10\n";

static const struct exec_field fields[] = {{"i", {.kind = EXEC_TYPE_INT64}, true}};
static const struct exec_schema schema = {fields, 1};

static void put_table(struct exec_engine *engine, unsigned node)
{
    struct table_chunk **chunks = calloc(CHUNKS, sizeof(struct table_chunk *));
    struct chunk_builder *builder =
        chunk_builder_create(engine->pages, catalogue_budget(engine->catalogue), node, &schema);
    uint32_t count = 0;
    struct exec_error err;

    cr_assert_not_null(chunks);
    cr_assert_not_null(builder);
    for (int64_t row = 0; row < ROWS; row += BATCH_ROWS) {
        int64_t values[BATCH_ROWS];
        struct vec column = {.data = values, .kind = EXEC_TYPE_INT64};
        const uint32_t rows = ROWS - row < BATCH_ROWS ? (uint32_t)(ROWS - row) : BATCH_ROWS;
        const struct batch batch = {
            .row_count = rows, .sel_count = rows, .columns = &column, .column_count = 1};
        for (uint32_t r = 0; r < rows; r++) {
            values[r] = row + r;
        }
        cr_assert_eq(chunk_builder_append(builder, &batch, &err), EXEC_OK);
    }
    for (struct table_chunk *chunk; (chunk = chunk_builder_take(builder, true)) != NULL;) {
        chunks[count++] = chunk;
    }
    chunk_builder_destroy(builder);
    cr_assert_eq(count, CHUNKS);
    cr_assert_eq(
        catalogue_put(engine->catalogue, "skewed", &schema, chunks, count, true, NULL, &err),
        EXEC_OK);
    free(chunks);
}

struct sums {
    uint64_t rows_local, rows_remote, morsels, steals;
};

static struct sums engine_sums(const struct exec_engine *engine)
{
    struct sums sums = {0};

    for (uint32_t w = 0; w < exec_engine_worker_count(engine); w++) {
        struct exec_worker_info info;
        exec_engine_worker_info(engine, w, &info);
        sums.rows_local += info.counters.rows_local;
        sums.rows_remote += info.counters.rows_remote;
        sums.morsels += info.counters.morsels_local + info.counters.morsels_remote;
        sums.steals += info.counters.steals_smt + info.counters.steals_l3 +
                       info.counters.steals_node + info.counters.steals_remote;
    }
    return sums;
}

static void make_job(struct spec_builder *b)
{
    /* (i % 7 + i % 11) % 65536 = 16: i % 7 is 6 and i % 11 is 10, one row of 77. */
    spec_init(b);
    spec_table(b, "skewed");
    const uint32_t i = spec_column(b, "i");
    const uint32_t seven = spec_call2(b, "modulo", i, spec_i64(b, 7));
    const uint32_t eleven = spec_call2(b, "modulo", i, spec_i64(b, 11));
    const uint32_t sum = spec_call2(b, "add", seven, eleven);
    spec_filter(b, 1, spec_call2(b, "eq", sum, spec_i64(b, 16)));
}

Test(locality, a_skewed_table_is_stolen_and_counted)
{
    char path[] = "/tmp/topology-XXXXXX";
    const int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, topology_text, sizeof topology_text - 1), sizeof topology_text - 1);
    close(fd);

    struct exec_engine *engine = test_engine(2, path);
    struct spec_builder *b = malloc(sizeof *b);
    uint64_t steals = 0;

    unlink(path);
    cr_assert_not_null(b);
    cr_assert_eq(engine->topology.node_count, 2);
    put_table(engine, 0);
    make_job(b);
    for (int attempt = 0; attempt < ATTEMPTS && steals == 0; attempt++) {
        const struct sums before = engine_sums(engine);
        struct job_result result;

        job_run(engine, spec_job(b), &result);
        const struct sums after = engine_sums(engine);
        cr_assert_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
        cr_expect_eq(result.row_count, ROWS / 77, "%lu rows", (unsigned long)result.row_count);
        cr_expect_eq(after.rows_local - before.rows_local + after.rows_remote - before.rows_remote,
                     ROWS);
        cr_expect_eq(after.morsels - before.morsels, result.status.morsels);
        cr_expect_eq(result.status.rows_done, ROWS);
        cr_expect_eq(result.status.rows_total, ROWS);
        cr_expect_eq(after.steals - before.steals, result.status.steals);
        cr_expect((after.rows_remote - before.rows_remote == 0) ==
                  (result.status.morsels_remote == 0));
        steals = result.status.steals;
        job_result_fini(&result);
    }
    cr_expect_gt(steals, 0, "node 1 never stole");
    for (uint32_t w = 0; w < 2; w++) {
        struct exec_worker_info info;
        exec_engine_worker_info(engine, w, &info);
        cr_expect_eq(info.node, w);
        cr_expect_eq(w == 0 ? info.counters.rows_remote : info.counters.rows_local, 0);
    }
    spec_fini(b);
    free(b);
    exec_engine_destroy(engine);
}
