/* Goal:   every variant of the lane kernels that this machine runs does what the one without any
 *         special instructions does, and that one what its contract says.
 * Method: random columns of every storage and every length up to two vectors and a block, results
 *         compared byte by byte; sums and splits by hand against 128-bit integers. */
#include "kernel/lanes.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { STATE = 64 };

static uint64_t next(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

struct columns {
    uint64_t bytes[2 * LANES_BLOCK_ROWS]; /* room for decimals */
    double doubles[LANES_BLOCK_ROWS];
    float floats[LANES_BLOCK_ROWS];
    uint32_t slot[LANES_BLOCK_ROWS];
    int64_t lanes[LANES_MAX][LANES_BLOCK_ROWS];
};

static void fill(struct columns *columns, uint64_t *seed)
{
    for (uint32_t i = 0; i < LANES_BLOCK_ROWS; i++) {
        columns->bytes[2 * i] = next(seed);
        columns->bytes[2 * i + 1] = next(seed);
        columns->doubles[i] = (double)(int64_t)next(seed) * 0x1p-40;
        columns->floats[i] = (float)columns->doubles[i];
        columns->slot[i] = (uint32_t)(next(seed) % (STATE / LANES_MAX)) * LANES_MAX;
        for (uint32_t l = 0; l < LANES_MAX; l++) {
            columns->lanes[l][i] = (int64_t)next(seed);
        }
    }
}

static const void *values_of(const struct columns *columns, uint32_t storage)
{
    return storage == VEC_F64   ? (const void *)columns->doubles
           : storage == VEC_F32 ? (const void *)columns->floats
                                : (const void *)columns->bytes;
}

struct results {
    int64_t lane[VEC_STORAGE_COUNT][LANES_BLOCK_ROWS];
    int64_t wide[VEC_STORAGE_COUNT][LANES_BLOCK_ROWS], filled[LANES_BLOCK_ROWS];
    int64_t high[VEC_STORAGE_COUNT][LANES_BLOCK_ROWS], low[VEC_STORAGE_COUNT][LANES_BLOCK_ROWS];
    int64_t only[VEC_STORAGE_COUNT][LANES_BLOCK_ROWS];
    uint32_t slot[VEC_STORAGE_COUNT][LANES_BLOCK_ROWS];
    __int128 least[VEC_STORAGE_COUNT][STATE], most[VEC_STORAGE_COUNT][STATE];
    int64_t product[LANES_BLOCK_ROWS];
    int64_t state[LANES_MAX + 1][STATE];
};

static void run(const struct lane_kernels *kernels, const struct columns *columns, uint32_t count,
                struct results *out)
{
    const int64_t *lanes[LANES_MAX];

    memset(out, 0, sizeof *out);
    for (uint32_t s = 1; s < VEC_STORAGE_COUNT; s++) {
        const void *values = values_of(columns, s);
        if (kernels->value[s] != NULL) {
            kernels->value[s](values, count, 77, 3, out->lane[s]);
            kernels->widen[s](values, count, 77, out->wide[s]);
            kernels->slot[s](values, count, -9, 8, out->slot[s]);
        }
        if (kernels->least[s] != NULL) {
            kernels->least[s](values, count, columns->slot, 1, out->least[s]);
            kernels->most[s](values, count, columns->slot, 1, out->most[s]);
        }
        if (kernels->split[s] != NULL) {
            kernels->split[s](values, count, 0x1.8p42, 0x1.8p0, out->high[s], out->low[s]);
            kernels->split[s](values, count, 0x1.8p42, 0, out->only[s], NULL);
        }
    }
    kernels->fill(out->filled, count, -5);
    kernels->product(columns->lanes[0], columns->lanes[1], count, 2, out->product);
    for (uint32_t l = 0; l < LANES_MAX; l++) {
        lanes[l] = columns->lanes[l];
    }
    for (uint32_t width = 1; width <= LANES_MAX; width *= 2) {
        kernels->add[width](out->state[width], columns->slot, lanes, count);
    }
}

Test(lanes, variants_agree)
{
    static struct columns columns;
    static struct results wanted, got;
    const struct lane_kernels *variant;
    uint64_t seed = 11;

    for (uint32_t count = 0; count <= LANES_BLOCK_ROWS; count += count < 20 ? 1 : 123) {
        fill(&columns, &seed);
        run(lane_kernels_variant(0), &columns, count, &wanted);
        for (uint32_t v = 1; (variant = lane_kernels_variant(v)) != NULL; v++) {
            run(variant, &columns, count, &got);
            cr_assert_eq(memcmp(&wanted, &got, sizeof got), 0, "%s, %u rows", variant->name, count);
        }
    }
}

Test(lanes, scalar_does_what_it_says)
{
    const struct lane_kernels *kernels = lane_kernels_variant(0);
    static const int32_t values[] = {5, -7, 1000};
    static const double reals[] = {3.25, -0.1, 0x1p-33};
    const uint32_t slot[] = {4, 0, 4};
    int64_t lane[] = {1, 2, 3};
    uint32_t place[] = {10, 20, 30};
    int32_t least[] = {0, 0, 0}, most[] = {0, 0, 0};
    int64_t high[3] = {0}, low[3] = {0};
    int64_t state[8] = {0};

    kernels->value[VEC_I32](values, 3, -7, 4, lane);
    cr_assert_eq(lane[0], 1 + (12 << 4));
    cr_assert_eq(lane[1], 2);
    cr_assert_eq(lane[2], 3 + (1007 << 4));
    kernels->widen[VEC_I32](values, 3, -7, lane);
    cr_assert_eq(lane[1], 0);
    cr_assert_eq(lane[2], 1007);
    kernels->fill(lane, 3, 9);
    cr_assert_eq(lane[2], 9);
    kernels->slot[VEC_I32](values, 3, -7, 2, place);
    cr_assert_eq(place[0], 10 + 24);
    cr_assert_eq(place[2], 30 + 2014);
    kernels->least[VEC_I32](values, 3, slot, 1, least);
    kernels->most[VEC_I32](values, 3, slot, 1, most);
    cr_assert_eq(least[0], -7);
    cr_assert_eq(least[2], 0);
    cr_assert_eq(most[0], 0);
    cr_assert_eq(most[2], 1000);
    /* Units 2^-10 and 2^-60. */
    kernels->split[VEC_F64](reals, 3, 0x1.8p42, 0x1.8p-8, high, low);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(ldexp((double)high[i], -10) + ldexp((double)low[i], -60), reals[i]);
        cr_assert_leq(fabs(reals[i] - ldexp((double)high[i], -10)), 0x1p-11);
    }
    const int64_t *const lanes[] = {high, low};
    kernels->add[2](state, slot, lanes, 3);
    cr_assert_eq(state[4], high[0] + high[2]);
    cr_assert_eq(state[5], low[0] + low[2]);
    cr_assert_eq(state[0], high[1]);
}
