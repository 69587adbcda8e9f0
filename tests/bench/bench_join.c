/* Rows a second of one worker through a join of int64 keys, build and probe apart: unique keys in
 * random order, probes that all hit, one in ten that hits, and a build side with 16 rows a key;
 * then the first two again through a dense map. bench_join [build_rows [probe_rows]] */
#include "bench/bench_clock.h"
#include "exec/op_harness.h"
#include "op/join.h"

#include <stdlib.h>

static const struct exec_type types[] = {{.kind = EXEC_TYPE_INT64}, {.kind = EXEC_TYPE_INT64}};

struct columns {
    int64_t *key, *value;
    uint64_t rows;
};

static struct columns make(uint64_t rows, uint64_t distinct, uint64_t seed)
{
    struct columns columns = {calloc(rows, 8), calloc(rows, 8), rows};

    for (uint64_t r = 0; r < rows; r++) {
        /* A permutation where rows == distinct is a power of two. */
        columns.key[r] = seed == 0 ? (int64_t)(r * UINT64_C(0x9e3779b1) % distinct)
                                   : (int64_t)(random_next(&seed) % distinct);
        columns.value[r] = (int64_t)r;
    }
    return columns;
}

static void push_all(struct harness *harness, struct op_sink *sink, struct operator* op,
                     const struct columns *columns)
{
    struct pipe_run *run = &harness->runs[0];

    for (uint64_t first = 0; first < columns->rows; first += BATCH_ROWS) {
        const uint64_t left = columns->rows - first;
        const uint32_t count = left < BATCH_ROWS ? (uint32_t)left : BATCH_ROWS;
        struct vec vecs[] = {{.data = columns->key + first, .kind = EXEC_TYPE_INT64},
                             {.data = columns->value + first, .kind = EXEC_TYPE_INT64}};
        const struct batch batch = {
            .row_count = count, .sel_count = count, .columns = vecs, .column_count = 2};
        run->cursors[0] = (struct op_cursor){0};
        if (sink != NULL) {
            sink->kind->push(sink, run, 0, &batch);
        } else {
            op->kind->push(op, run, 0, &batch);
        }
    }
}

static void bench(const char *name, bool dense, uint64_t build_rows, uint64_t build_distinct,
                  uint64_t probe_rows, uint64_t probe_distinct)
{
    const struct join_output outputs[] = {{false, 1}, {true, 1}};
    const bool nulls_equal = false;
    struct columns build = make(build_rows, build_distinct, 0);
    struct columns probe = make(probe_rows, probe_distinct, 9);
    struct harness harness;
    struct exec_error err;
    struct join *join;
    char what[64];

    harness_init(&harness, 1, 64, UINT64_MAX);
    struct expr *key = harness_column(&harness, 0, &types[0]);
    const struct join_plan plan = {.rel = 1,
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
    if (join_create(&harness.job, &plan, &join, &err) != EXEC_OK) {
        abort();
    }
    harness.count_only = true;
    harness.out_types = types;
    double start = bench_seconds();
    push_all(&harness, join_build_sink(join), NULL, &build);
    harness_finish_sink(&harness, join_build_sink(join));
    snprintf(what, sizeof what, "%s: build sink", name);
    bench_print(what, (double)build_rows, bench_seconds() - start);
    start = bench_seconds();
    if (dense) {
        harness_run_source(&harness, join_dense_source(join));
    }
    harness_run_source(&harness, join_directory_source(join));
    snprintf(what, sizeof what, "%s: %s", name, dense ? "map" : "directory");
    bench_print(what, (double)build_rows, bench_seconds() - start);
    start = bench_seconds();
    push_all(&harness, NULL, join_probe_operator(join), &probe);
    snprintf(what, sizeof what, "%s: probe", name);
    bench_print(what, (double)probe_rows, bench_seconds() - start);
    printf("%-44s %8.1f M rows\n", "  out", (double)harness.rows_out * 1e-6);
    free(build.key);
    free(build.value);
    free(probe.key);
    free(probe.value);
    harness_fini(&harness);
}

int main(int argument_count, char **arguments)
{
    const uint64_t build_rows = argument_count > 1 ? strtoull(arguments[1], NULL, 10) : 1 << 14;
    const uint64_t probe_rows = argument_count > 2 ? strtoull(arguments[2], NULL, 10) : 1 << 16;

    bench("unique, all hit", false, build_rows, build_rows, probe_rows, build_rows);
    bench("unique, 1 in 10 hits", false, build_rows, build_rows, probe_rows, build_rows * 10);
    bench("16 rows a key", false, build_rows, build_rows / 16, probe_rows, build_rows / 16);
    bench("16 rows in all", false, 16, 16, probe_rows, 16);
    bench("dense, all hit", true, build_rows, build_rows, probe_rows, build_rows);
    bench("dense, 1 in 10 hits", true, build_rows, build_rows, probe_rows, build_rows * 10);
    return 0;
}
