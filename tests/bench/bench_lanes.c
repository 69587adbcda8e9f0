/* Rows a second through each lane kernel, in every variant this machine runs, one thread, data in
 * cache; at the end an order-independent sum of doubles by group beside a plain one.
 * bench_lanes [rows [groups]] */
#include "bench/bench_clock.h"
#include "kernel/float_sum.h"
#include "kernel/lanes.h"

#include <stdlib.h>

struct data {
    int32_t integers[LANES_BLOCK_ROWS];
    double reals[LANES_BLOCK_ROWS];
    uint32_t slot[LANES_BLOCK_ROWS], places[LANES_BLOCK_ROWS];
    int64_t lanes[LANES_MAX][LANES_BLOCK_ROWS];
    int64_t *state;
    uint64_t blocks;
};

static void report(const struct lane_kernels *kernels, const char *what, const struct data *data,
                   double seconds)
{
    char name[64];

    snprintf(name, sizeof name, "%s: %s", kernels->name, what);
    bench_print(name, (double)data->blocks * LANES_BLOCK_ROWS, seconds);
}

#define BENCH(what, ...)                                      \
    do {                                                      \
        const double start = bench_seconds();                 \
        for (uint64_t b = 0; b < data->blocks; b++) {         \
            __VA_ARGS__;                                      \
        }                                                     \
        report(kernels, what, data, bench_seconds() - start); \
    } while (0)

static void bench(const struct lane_kernels *kernels, struct data *data)
{
    const uint32_t rows = LANES_BLOCK_ROWS;
    const int64_t *lanes[LANES_MAX];
    char what[32];

    for (uint32_t l = 0; l < LANES_MAX; l++) {
        lanes[l] = data->lanes[l];
    }
    BENCH("value i32", kernels->value[VEC_I32](data->integers, rows, 0, 20, data->lanes[0]));
    BENCH("widen i32", kernels->widen[VEC_I32](data->integers, rows, 0, data->lanes[0]));
    BENCH("slot i32", kernels->slot[VEC_I32](data->integers, rows, 0, 8, data->slot));
    BENCH("split f64", kernels->split[VEC_F64](data->reals, rows, 0x1.8p20, 0x1.8p-20,
                                               data->lanes[1], data->lanes[2]));
    BENCH("product", kernels->product(lanes[3], lanes[4], rows, 0, data->lanes[5]));
    for (uint32_t width = 1; width <= LANES_MAX; width *= 2) {
        for (uint32_t i = 0; i < rows; i++) {
            data->slot[i] = data->places[i] * width;
        }
        snprintf(what, sizeof what, "add %u lanes", width);
        BENCH(what, kernels->add[width](data->state, data->slot, lanes, rows));
    }
}

/* The same sums by group: plain, in two lanes, and value by value through float_sum. */
static void bench_sums(const struct lane_kernels *kernels, struct data *data, uint64_t groups)
{
    double *plain = calloc(groups, sizeof *plain);
    struct float_sum *sums = calloc(groups, sizeof *sums);
    const int64_t *lanes[] = {data->lanes[0], data->lanes[1]};

    for (uint32_t i = 0; i < LANES_BLOCK_ROWS; i++) {
        data->slot[i] = data->places[i] * 2;
    }
    BENCH(
        "plain sum of doubles", for (uint32_t i = 0; i < LANES_BLOCK_ROWS;
                                     i++) { plain[data->places[i]] += data->reals[i]; });
    BENCH("fixed-point sum of doubles", {
        kernels->fill(data->lanes[0], LANES_BLOCK_ROWS, 0);
        kernels->fill(data->lanes[1], LANES_BLOCK_ROWS, 0);
        kernels->split[VEC_F64](data->reals, LANES_BLOCK_ROWS, 0x1.8p20, 0x1.8p-20, data->lanes[0],
                                data->lanes[1]);
        kernels->add[2](data->state, data->slot, lanes, LANES_BLOCK_ROWS);
    });
    BENCH(
        "float_sum of doubles", for (uint32_t i = 0; i < LANES_BLOCK_ROWS; i++) {
            float_sum_add(&sums[data->places[i]], data->reals[i]);
        });
    free(plain);
    free(sums);
}

int main(int argument_count, char **arguments)
{
    const uint64_t rows = argument_count > 1 ? strtoull(arguments[1], NULL, 10) : 1 << 16;
    const uint64_t groups = argument_count > 2 ? strtoull(arguments[2], NULL, 10) : 100;
    struct data *data = calloc(1, sizeof *data);
    const struct lane_kernels *kernels;
    uint64_t seed = 4;

    data->blocks = rows / LANES_BLOCK_ROWS;
    data->state = calloc(groups * LANES_MAX, sizeof *data->state);
    for (uint32_t i = 0; i < LANES_BLOCK_ROWS; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        data->integers[i] = (int32_t)(seed >> 40) % 100;
        data->reals[i] = (double)(seed >> 34) * 1e-7;
        data->places[i] = (uint32_t)((seed >> 33) % groups);
    }
    for (uint32_t v = 0; (kernels = lane_kernels_variant(v)) != NULL; v++) {
        bench(kernels, data);
    }
    bench_sums(lane_kernels(), data, groups);
    free(data->state);
    free(data);
    return 0;
}
