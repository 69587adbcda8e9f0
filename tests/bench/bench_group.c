/* Rows a second of one worker through an aggregation, sink and source apart: sum of int64, average
 * of float64 and count over few, some thousand and many int64 keys, and over no keys. bench_group
 * [rows [most_groups]] */
#include "bench/bench_clock.h"
#include "exec/op_harness.h"
#include "op/group.h"

#include <stdlib.h>

static const struct exec_type int64 = {.kind = EXEC_TYPE_INT64};
static const struct exec_type float64 = {.kind = EXEC_TYPE_FLOAT64};
static const struct exec_type sum_type = {.kind = EXEC_TYPE_DECIMAL128, .precision = 38};

struct columns {
    int64_t *key, *value;
    double *real;
    uint64_t rows;
};

static void push_all(struct harness *harness, struct op_sink *sink, const struct columns *columns)
{
    struct pipe_run *run = &harness->runs[0];

    for (uint64_t first = 0; first < columns->rows; first += BATCH_ROWS) {
        const uint64_t left = columns->rows - first;
        const uint32_t count = left < BATCH_ROWS ? (uint32_t)left : BATCH_ROWS;
        struct vec vecs[] = {{.data = columns->key + first, .kind = EXEC_TYPE_INT64},
                             {.data = columns->value + first, .kind = EXEC_TYPE_INT64},
                             {.data = columns->real + first, .kind = EXEC_TYPE_FLOAT64}};
        const struct batch batch = {
            .row_count = count, .sel_count = count, .columns = vecs, .column_count = 3};
        sink->kind->push(sink, run, 0, &batch);
    }
}

static void bench(const char *name, uint64_t rows, uint64_t distinct, uint32_t run_rows,
                  uint32_t key_count)
{
    struct columns columns = {calloc(rows, 8), calloc(rows, 8), calloc(rows, 8), rows};
    const struct exec_type out_types[] = {int64, sum_type, float64, int64};
    struct harness harness;
    struct exec_error err;
    struct group *group;
    uint64_t seed = 4;
    char what[64];

    for (uint64_t r = 0; r < rows; r++) {
        const bool same = r % run_rows != 0;
        columns.key[r] = same ? columns.key[r - 1] : (int64_t)(random_next(&seed) % distinct);
        columns.value[r] = (int64_t)(random_next(&seed) % 1000);
        columns.real[r] = (double)columns.value[r] * 0.01;
    }
    harness_init(&harness, 1, 64, UINT64_MAX);
    struct expr *key = harness_column(&harness, 0, &int64);
    const struct group_measure measures[] = {
        {.function = EXEC_AGG_SUM,
         .argument = harness_column(&harness, 1, &int64),
         .type = sum_type},
        {.function = EXEC_AGG_AVG,
         .argument = harness_column(&harness, 2, &float64),
         .type = float64},
        {.function = EXEC_AGG_COUNT_STAR, .type = int64},
    };
    const struct group_plan plan = {
        .rel = 1, .keys = &key, .key_count = key_count, .measures = measures, .measure_count = 3};
    if (group_create(&harness.job, &plan, &group, &err) != EXEC_OK) {
        abort();
    }
    harness.count_only = true;
    harness.out_types = key_count == 0 ? out_types + 1 : out_types;
    double start = bench_seconds();
    push_all(&harness, group_sink(group), &columns);
    harness_finish_sink(&harness, group_sink(group));
    snprintf(what, sizeof what, "%s: sink", name);
    bench_print(what, (double)rows, bench_seconds() - start);
    start = bench_seconds();
    harness_run_source(&harness, group_source(group));
    snprintf(what, sizeof what, "%s: merge, %.0f groups", name, (double)harness.rows_out);
    bench_print(what, (double)harness.rows_out, bench_seconds() - start);
    free(columns.key);
    free(columns.value);
    free(columns.real);
    harness_fini(&harness);
}

int main(int argument_count, char **arguments)
{
    const uint64_t rows = argument_count > 1 ? strtoull(arguments[1], NULL, 10) : 1 << 16;
    const uint64_t most = argument_count > 2 ? strtoull(arguments[2], NULL, 10) : rows / 2;

    bench("no keys", rows, 1, 1, 0);
    bench("16 groups", rows, 16, 1, 1);
    bench("16 groups, runs of 64 rows", rows, 16, 64, 1);
    bench("4,096 groups", rows, 4096, 1, 1);
    bench("many groups", rows, most, 1, 1);
    return 0;
}
