#include "kernel/agg_plain.h"

#include "vec/bitmap.h"

struct plain_sum {
    double sum;
    int64_t count;
};

_Static_assert(sizeof(struct plain_sum) <= sizeof(struct float_sum), "it stands in its place");

#define UPDATE(tag, c_type)                                                              \
    static bool update_##tag(const void *values, const uint16_t *source, uint32_t count, \
                             unsigned char *const *rows, uint32_t offset,                \
                             struct nu_arena *strings)                                   \
    {                                                                                    \
        const c_type *from = values;                                                     \
                                                                                         \
        (void)strings;                                                                   \
        for (uint32_t i = 0; i < count; i++) {                                           \
            struct plain_sum *state = (void *)(rows[i] + offset);                        \
            state->sum += (double)from[source[i]];                                       \
            state->count++;                                                              \
        }                                                                                \
        return true;                                                                     \
    }
UPDATE(f32, float)
UPDATE(f64, double)

static bool combine(unsigned char *const *into, unsigned char *const *from, uint32_t count,
                    uint32_t offset, struct nu_arena *strings)
{
    (void)strings;
    for (uint32_t i = 0; i < count; i++) {
        struct plain_sum *state = (void *)(into[i] + offset);
        const struct plain_sum *other = (const void *)(from[i] + offset);
        state->sum += other->sum;
        state->count += other->count;
    }
    return true;
}

static uint32_t finish_sum(unsigned char *const *rows, uint32_t count, uint32_t offset,
                           int32_t scale, void *out, uint64_t *valid)
{
    double *to = out;

    (void)scale;
    for (uint32_t i = 0; i < count; i++) {
        const struct plain_sum *state = (const void *)(rows[i] + offset);
        to[i] = state->sum;
        bitmap_put(valid, i, state->count > 0);
    }
    return count;
}

static uint32_t finish_average(unsigned char *const *rows, uint32_t count, uint32_t offset,
                               int32_t scale, void *out, uint64_t *valid)
{
    double *to = out;

    (void)scale;
    for (uint32_t i = 0; i < count; i++) {
        const struct plain_sum *state = (const void *)(rows[i] + offset);
        to[i] = state->count == 0 ? 0 : state->sum / (double)state->count;
        bitmap_put(valid, i, state->count > 0);
    }
    return count;
}

const struct agg_kernel *agg_plain_sum(enum exec_aggregate_function function,
                                       enum vec_storage storage)
{
    static const struct agg_kernel kernels[2][2] = {
        {{sizeof(struct plain_sum), update_f32, combine, finish_sum},
         {sizeof(struct plain_sum), update_f32, combine, finish_average}},
        {{sizeof(struct plain_sum), update_f64, combine, finish_sum},
         {sizeof(struct plain_sum), update_f64, combine, finish_average}},
    };

    if ((function != EXEC_AGG_SUM && function != EXEC_AGG_AVG) ||
        (storage != VEC_F32 && storage != VEC_F64)) {
        return NULL;
    }
    return &kernels[storage == VEC_F64][function == EXEC_AGG_AVG];
}
