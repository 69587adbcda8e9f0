#ifndef EXEC_SORT_WINDOW_PLACES_H
#define EXEC_SORT_WINDOW_PLACES_H

#include "sort/window_state.h"
#include "vec/vec.h"

#include <string.h>

/* A limited row_number whose output is made of partition keys and the one order key: a partition is
 * known by the order key's first `limit` values, so no row is kept. Where statistics bound the
 * keys, there is no table either:
 *
 *   place of a partition = sum of (key - least) * stride; a null's key is one behind the largest
 *   code of a value      = a number that sorts as the order asks, ties and nulls included
 *
 * Every worker has `limit` codes a place, ascending, all ones where there are fewer rows. Rows of
 * one place and code are alike in every bit, so which of them stay is nobody's question. */

enum {
    WINDOW_PLACES_LIMIT_MAX = 8,
    WINDOW_PLACES_MAX = 1 << 23,
    WINDOW_PLACES_FREE = 1 << 12,   /* worth it for however few rows */
    WINDOW_PLACES_BUDGET_SHARE = 4, /* of the job's, at most for all workers' codes */
    WINDOW_PLACES_AHEAD = 16,       /* rows between prefetch and use */
};
#define WINDOW_NO_CODE UINT64_MAX

struct window_place_key {
    uint32_t column;
    enum vec_storage storage;
    bool may_be_null;
    int64_t least;
    uint32_t span;   /* values; a null's place is `span` */
    uint32_t stride; /* in places */
};

/* Integers: code = (value ^ flip) + shift. Floats: the bits of the float64 in unsigned order, 0.0
 * before -0.0 whichever the direction, as the bytes of equal floats break ties; then ^ flip. */
struct window_place_order {
    uint32_t column;
    enum vec_storage storage;
    uint64_t flip, shift;
    uint64_t null_code;
    bool may_be_null;
};

struct window_place_worker {
    _Alignas(128) struct nu_arena arena;
    uint64_t *codes; /* by place, then rank; NULL: no rows yet */
};

struct window_places {
    struct window_place_key *keys;
    uint32_t key_count;
    struct window_place_order order;
    uint32_t *key_of_column; /* UINT32_MAX: it is the order's */
    uint32_t places;
    uint32_t limit;
    struct window_place_worker *workers;
};

extern const struct sink_kind window_places_sink_kind;
extern const struct source_kind window_places_source_kind;

/* Whether the window can be done that way; then window->places is made. EXEC_OK also where it
 * cannot; else err is filled in. */
enum exec_code window_places_create(struct window *window, struct exec_error *err);

/* The code joins the `limit` first ones of a place. */
static inline void window_places_offer(uint64_t *codes, uint32_t limit, uint64_t code)
{
    for (uint32_t i = 0; i < limit; i++) {
        const uint64_t kept = codes[i];
        codes[i] = code < kept ? code : kept;
        code = code < kept ? kept : code;
    }
}

#define WINDOW_SIGN_BIT (UINT64_C(1) << 63)

/* Zeros change signs where the order ascends. */
static inline uint64_t window_places_code(const struct window_place_order *order, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    bits ^= value == 0 ? ~order->flip & WINDOW_SIGN_BIT : 0;
    bits ^= (uint64_t) - (int64_t)(bits >> 63) | WINDOW_SIGN_BIT;
    return bits ^ order->flip;
}

static inline double window_places_value(const struct window_place_order *order, uint64_t code)
{
    uint64_t bits = code ^ order->flip;
    double value;

    bits ^= bits >> 63 != 0 ? WINDOW_SIGN_BIT : UINT64_MAX;
    memcpy(&value, &bits, sizeof value);
    bits ^= value == 0 ? ~order->flip & WINDOW_SIGN_BIT : 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
