#include "sort/window_places.h"

#include <string.h>

/* ---- a batch's places and codes
 * -------------------------------------------------------------------------------------- */

typedef void add_key_fn(const struct window_place_key *key, const struct vec *vec,
                        const struct batch *in, uint32_t *places);
typedef void code_fn(const struct window_place_order *order, const struct vec *vec,
                     const struct batch *in, uint64_t *codes);

static bool is_flat(const struct vec *vec, const struct batch *in)
{
    return vec->valid == NULL && !vec->constant && in->sel == NULL;
}

#define VEC_INTEGER(TAG, tag, c_type)                                                          \
    static void add_key_##tag(const struct window_place_key *key, const struct vec *vec,       \
                              const struct batch *in, uint32_t *places)                        \
    {                                                                                          \
        const c_type *values = vec->data;                                                      \
        const uint64_t least = (uint64_t)key->least;                                           \
        if (is_flat(vec, in)) {                                                                \
            for (uint32_t p = 0; p < in->sel_count; p++) {                                     \
                places[p] += (uint32_t)((uint64_t)values[p] - least) * key->stride;            \
            }                                                                                  \
            return;                                                                            \
        }                                                                                      \
        for (uint32_t p = 0; p < in->sel_count; p++) {                                         \
            const uint32_t row = batch_row(in, p);                                             \
            const uint64_t value = (uint64_t)values[vec->constant ? 0 : row] - least;          \
            places[p] += (vec_is_valid(vec, row) ? (uint32_t)value : key->span) * key->stride; \
        }                                                                                      \
    }                                                                                          \
    static void code_##tag(const struct window_place_order *order, const struct vec *vec,      \
                           const struct batch *in, uint64_t *codes)                            \
    {                                                                                          \
        const c_type *values = vec->data;                                                      \
        for (uint32_t p = 0; p < in->sel_count; p++) {                                         \
            const uint32_t row = batch_row(in, p);                                             \
            const uint64_t value = (uint64_t)values[vec->constant ? 0 : row];                  \
            const uint64_t code = (value ^ order->flip) + order->shift;                        \
            codes[p] = vec_is_valid(vec, row) ? code : order->null_code;                       \
        }                                                                                      \
    }
#include "vec/vec_types.def"

#define VEC_FLOAT(TAG, tag, c_type)                                                           \
    static void code_##tag(const struct window_place_order *order, const struct vec *vec,     \
                           const struct batch *in, uint64_t *codes)                           \
    {                                                                                         \
        const c_type *values = vec->data;                                                     \
        if (is_flat(vec, in)) {                                                               \
            for (uint32_t p = 0; p < in->sel_count; p++) {                                    \
                codes[p] = window_places_code(order, (double)values[p]);                      \
            }                                                                                 \
            return;                                                                           \
        }                                                                                     \
        for (uint32_t p = 0; p < in->sel_count; p++) {                                        \
            const uint32_t row = batch_row(in, p);                                            \
            const double value = (double)values[vec->constant ? 0 : row];                     \
            codes[p] =                                                                        \
                vec_is_valid(vec, row) ? window_places_code(order, value) : order->null_code; \
        }                                                                                     \
    }
#include "vec/vec_types.def"

static const struct {
    add_key_fn *add_key;
    code_fn *code;
} storages[VEC_STORAGE_COUNT] = {
#define VEC_INTEGER(TAG, tag, c_type) [VEC_##TAG] = {add_key_##tag, code_##tag},
#define VEC_FLOAT(TAG, tag, c_type) [VEC_##TAG] = {NULL, code_##tag},
#include "vec/vec_types.def"
};

/* ---- sink ---------------------------------------------------------------------------------------
 */

static bool worker_init(const struct window_places *places, struct window_place_worker *worker)
{
    const size_t bytes = (size_t)places->places * places->limit * sizeof *worker->codes;

    worker->codes = nu_arena_alloc(&worker->arena, bytes, 64);
    if (worker->codes == NULL) {
        return false;
    }
    memset(worker->codes, 0xff, bytes); /* WINDOW_NO_CODE */
    return true;
}

static inline void offer_all(uint64_t *kept, uint32_t limit, const uint32_t *places,
                             const uint64_t *codes, uint32_t count)
{
    for (uint32_t p = 0; p < count; p++) {
        __builtin_prefetch(&kept[(size_t)places[p + WINDOW_PLACES_AHEAD] * limit], 1);
        window_places_offer(&kept[(size_t)places[p] * limit], limit, codes[p]);
    }
}

/* Most rows of a large partition are behind its first ones: a look at the last of these. */
static void offer_many(uint64_t *kept, uint32_t limit, const uint32_t *places,
                       const uint64_t *codes, uint32_t count)
{
    for (uint32_t p = 0; p < count; p++) {
        uint64_t *first = &kept[(size_t)places[p] * limit];
        __builtin_prefetch(&kept[(size_t)places[p + WINDOW_PLACES_AHEAD] * limit], 1);
        if (codes[p] < first[limit - 1]) {
            window_places_offer(first, limit, codes[p]);
        }
    }
}

static enum push_result places_push(struct op_sink *sink, struct pipe_run *run, uint32_t index,
                                    const struct batch *in)
{
    const struct window_places *places = ((struct window *)sink)->places;
    struct window_place_worker *worker = &places->workers[run->worker];
    uint32_t at[BATCH_ROWS + WINDOW_PLACES_AHEAD] = {0};
    uint64_t codes[BATCH_ROWS];

    (void)index;
    if (worker->codes == NULL && !worker_init(places, worker)) {
        job_fail_memory(run->job, &worker->arena, "the partitions of a window");
        return PUSH_FAILED;
    }
    for (uint32_t k = 0; k < places->key_count; k++) {
        const struct window_place_key *key = &places->keys[k];
        storages[key->storage].add_key(key, &in->columns[key->column], in, at);
    }
    storages[places->order.storage].code(&places->order, &in->columns[places->order.column], in,
                                         codes);
    switch (places->limit) {
        case 1: offer_all(worker->codes, 1, at, codes, in->sel_count); break;
        case 2: offer_all(worker->codes, 2, at, codes, in->sel_count); break;
        default: offer_many(worker->codes, places->limit, at, codes, in->sel_count); break;
    }
    return PUSH_MORE;
}

const struct sink_kind window_places_sink_kind = {.name = "window top-n by place",
                                                  .push = places_push};
