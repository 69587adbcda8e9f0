#include "op/group_places.h"

#include "table/dictionary.h"
#include "vec/vec.h"

/* How many values the key can have; 0: no telling. */
static uint32_t span_of(const struct vec *key)
{
    if (key->constant) {
        return 0;
    }
    if (key->dictionary != NULL) {
        return key->dictionary->count + 1; /* nulls have code 0, even where there is no value */
    }
    switch (vec_storage(key->kind)) {
        case VEC_I8:
        case VEC_U8: return 1 << 8;
        default: return 0;
    }
}

/* Whether the keys of a first batch have places, few enough. */
static bool start(struct group_places *places, const struct vec *keys, uint32_t key_count,
                  struct nu_arena *arena)
{
    uint64_t count = 1;

    if (key_count == 0 || key_count > GROUP_PLACES_KEYS_MAX) {
        return false;
    }
    for (uint32_t k = 0; k < key_count; k++) {
        places->spans[k] = span_of(&keys[k]);
        places->dictionaries[k] = keys[k].dictionary;
        count *= places->spans[k] + (uint64_t)1;
        if (places->spans[k] == 0 || count > GROUP_PLACES_MAX) {
            return false;
        }
    }
    places->place_count = (uint32_t)count;
    places->groups = nu_arena_calloc(arena, count * sizeof(unsigned char *), 8);
    return places->groups != NULL;
}

/* Later batches may come from another table. */
static bool is_like_first(const struct group_places *places, const struct vec *keys,
                          uint32_t key_count)
{
    for (uint32_t k = 0; k < key_count; k++) {
        if (keys[k].constant || keys[k].dictionary != places->dictionaries[k] ||
            (keys[k].dictionary != NULL && keys[k].code_bytes > 2)) {
            return false;
        }
    }
    return true;
}

#define ADD_CODES(type)                                                                         \
    static void add_##type(const struct batch *batch, const struct vec *key, const void *codes, \
                           uint32_t span, uint32_t stride, uint16_t *place)                     \
    {                                                                                           \
        const type *code = codes;                                                               \
        for (uint32_t p = 0; p < batch->sel_count; p++) {                                       \
            const uint32_t row = batch_row(batch, p);                                           \
            const uint32_t at = vec_is_valid(key, row) ? code[row] : span;                      \
            place[p] = (uint16_t)(place[p] + at * stride);                                      \
        }                                                                                       \
    }
ADD_CODES(uint8_t)
ADD_CODES(uint16_t)

static void add_key(const struct batch *batch, const struct vec *key, uint32_t span,
                    uint32_t stride, uint16_t *place)
{
    if (key->dictionary != NULL && key->code_bytes == 2) {
        add_uint16_t(batch, key, key->codes, span, stride, place);
        return;
    }
    add_uint8_t(batch, key, key->dictionary != NULL ? key->codes : key->data, span, stride, place);
}

bool group_places_find(struct group_places *places, const struct batch *batch,
                       const struct vec *keys, uint32_t key_count, struct nu_arena *arena,
                       uint16_t *places_out, unsigned char **groups_out)
{
    uint32_t stride = 1;
    bool all_known = true;

    if (places->use == GROUP_PLACES_UNKNOWN) {
        places->use =
            start(places, keys, key_count, arena) ? GROUP_PLACES_USED : GROUP_PLACES_UNUSED;
    }
    places_out[0] = UINT16_MAX;
    if (places->use == GROUP_PLACES_UNUSED || !is_like_first(places, keys, key_count)) {
        return false;
    }
    for (uint32_t p = 0; p < batch->sel_count; p++) {
        places_out[p] = 0;
    }
    for (uint32_t k = 0; k < key_count; k++) {
        add_key(batch, &keys[k], places->spans[k], stride, places_out);
        stride *= places->spans[k] + 1;
    }
    for (uint32_t p = 0; p < batch->sel_count; p++) {
        groups_out[p] = places->groups[places_out[p]];
        all_known &= groups_out[p] != NULL;
    }
    return all_known;
}

void group_places_learn(struct group_places *places, const uint16_t *place,
                        unsigned char *const *groups, uint32_t count)
{
    if (places->use != GROUP_PLACES_USED || count == 0 || place[0] == UINT16_MAX) {
        return;
    }
    for (uint32_t p = 0; p < count; p++) {
        places->groups[place[p]] = groups[p];
    }
}
