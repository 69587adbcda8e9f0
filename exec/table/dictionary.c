#include "table/dictionary.h"

#include "hash/hash_vec.h"

#include <assert.h>
#include <string.h>

enum { CAPACITY_FIRST = 256, SLOT_BITS_FIRST = 10 };

struct dictionary *dictionary_create(struct nu_page_pool *pages, struct nu_budget *budget,
                                     unsigned node)
{
    struct nu_arena arena;

    nu_arena_init(&arena, pages, node, budget);
    struct dictionary *dictionary = nu_arena_calloc(&arena, sizeof *dictionary, 64);
    if (dictionary == NULL) {
        nu_arena_destroy(&arena);
        return NULL;
    }
    dictionary->arena = arena;
    atomic_init(&dictionary->references, 1);
    return dictionary;
}

void dictionary_ref(struct dictionary *dictionary)
{
    /* relaxed: whoever adds a reference holds one already. */
    atomic_fetch_add_explicit(&dictionary->references, 1, memory_order_relaxed);
}

void dictionary_unref(struct dictionary *dictionary)
{
    /* acq_rel: every user's reads come before the free, pairing with the other decrements. */
    if (dictionary != NULL &&
        atomic_fetch_sub_explicit(&dictionary->references, 1, memory_order_acq_rel) == 1) {
        struct nu_arena arena = dictionary->arena; /* it lives in there */
        nu_arena_destroy(&arena);
    }
}

/* ---- growing ------------------------------------------------------------------------------------
 */

static uint64_t entry_of(uint64_t hash, uint32_t code)
{
    return (hash & ~(uint64_t)UINT32_MAX) | (code + UINT64_C(1));
}

static bool entry_has(uint64_t entry, uint64_t hash)
{
    return (entry ^ hash) >> 32 == 0;
}

/* The low half of the hash: the high one is the entry's. */
static uint64_t home_of(const struct dictionary *dictionary, uint64_t hash)
{
    return hash & ((UINT64_C(1) << dictionary->slot_bits) - 1);
}

static bool grow_slots(struct dictionary *dictionary)
{
    const uint32_t slot_bits =
        dictionary->slots == NULL ? SLOT_BITS_FIRST : dictionary->slot_bits + 1;
    uint64_t *slots = nu_arena_calloc(&dictionary->arena, sizeof *slots << slot_bits, 64);

    if (slots == NULL) {
        return false;
    }
    dictionary->slots = slots;
    dictionary->slot_bits = slot_bits;
    for (uint32_t code = 0; code < dictionary->count; code++) {
        uint64_t slot = home_of(dictionary, dictionary->hashes[code]);
        while (slots[slot] != 0) {
            slot = (slot + 1) & ((UINT64_C(1) << slot_bits) - 1);
        }
        slots[slot] = entry_of(dictionary->hashes[code], code);
    }
    return true;
}

static bool grow_values(struct dictionary *dictionary)
{
    const uint32_t capacity = dictionary->capacity == 0 ? CAPACITY_FIRST : dictionary->capacity * 2;
    struct string_view *views = nu_arena_alloc(&dictionary->arena, capacity * sizeof *views, 64);
    uint64_t *hashes = nu_arena_alloc(&dictionary->arena, capacity * sizeof *hashes, 64);

    if (views == NULL || hashes == NULL) {
        return false;
    }
    if (dictionary->count > 0) {
        memcpy(views, dictionary->views, dictionary->count * sizeof *views);
        memcpy(hashes, dictionary->hashes, dictionary->count * sizeof *hashes);
    }
    dictionary->views = views;
    dictionary->hashes = hashes;
    dictionary->capacity = capacity;
    return true;
}

/* A third full at most. */
static bool reserve_one(struct dictionary *dictionary)
{
    if (dictionary->count == dictionary->capacity && !grow_values(dictionary)) {
        return false;
    }
    if (dictionary->slots == NULL ||
        (dictionary->count + UINT64_C(1)) * 3 > UINT64_C(1) << dictionary->slot_bits) {
        return grow_slots(dictionary);
    }
    return true;
}

static bool own_text(struct dictionary *dictionary, struct string_view *view)
{
    if (view->size <= STRING_INLINE_BYTES) {
        return true;
    }
    char *bytes = nu_arena_alloc(&dictionary->arena, view->size, 1);
    if (bytes == NULL) {
        return false;
    }
    memcpy(bytes, string_view_bytes(view), view->size);
    *view = string_view_make(bytes, view->size);
    return true;
}

/* ---- looking ------------------------------------------------------------------------------------
 */

/* The code, or UINT32_MAX and the empty slot where it belongs. */
static uint32_t look(const struct dictionary *dictionary, const struct string_view *view,
                     uint64_t hash, uint64_t *slot_out)
{
    const uint64_t mask = (UINT64_C(1) << dictionary->slot_bits) - 1;
    uint64_t slot = home_of(dictionary, hash);
    uint64_t entry;

    while ((entry = dictionary->slots[slot]) != 0) {
        const uint32_t code = (uint32_t)entry - 1;
        if (entry_has(entry, hash) && string_view_equal(&dictionary->views[code], view)) {
            return code;
        }
        slot = (slot + 1) & mask;
    }
    *slot_out = slot;
    return UINT32_MAX;
}

/* UINT32_MAX: it takes no more. */
static uint32_t look_or_add(struct dictionary *dictionary, const struct string_view *view,
                            uint64_t hash)
{
    uint64_t slot;

    if (!reserve_one(dictionary)) {
        return UINT32_MAX;
    }
    const uint32_t found = look(dictionary, view, hash, &slot);
    if (found != UINT32_MAX || dictionary->count == DICTIONARY_VALUES_MAX) {
        return found;
    }
    struct string_view own = *view;
    if (!own_text(dictionary, &own)) {
        return UINT32_MAX;
    }
    const uint32_t code = dictionary->count++;
    dictionary->views[code] = own;
    dictionary->hashes[code] = hash;
    dictionary->slots[slot] = entry_of(hash, code);
    return code;
}

static void hash_views(const struct string_view *views, const uint64_t *valid, uint32_t count,
                       uint64_t *hashes)
{
    const struct vec vec = {.data = views, .valid = valid, .kind = EXEC_TYPE_UTF8};
    const struct batch batch = {.row_count = count, .sel_count = count};

    assert(count <= BATCH_ROWS);
    hash_keys(&batch, &vec, 1, 64, hashes);
}

bool dictionary_encode(struct dictionary *dictionary, const struct string_view *views,
                       const uint64_t *valid, uint32_t count, uint32_t *codes)
{
    uint64_t hashes[BATCH_ROWS];

    hash_views(views, valid, count, hashes);
    for (uint32_t i = 0; i < count; i++) {
        codes[i] = 0;
        if (valid != NULL && !bitmap_get(valid, i)) {
            continue;
        }
        codes[i] = look_or_add(dictionary, &views[i], hashes[i]);
        if (codes[i] == UINT32_MAX) {
            return false;
        }
    }
    return true;
}

void dictionary_find(const struct dictionary *dictionary, const struct string_view *views,
                     const uint64_t *valid, uint32_t count, uint32_t *codes)
{
    uint64_t hashes[BATCH_ROWS];
    uint64_t slot;

    hash_views(views, valid, count, hashes);
    for (uint32_t i = 0; i < count; i++) {
        codes[i] = 0;
        if (valid == NULL || bitmap_get(valid, i)) {
            codes[i] = look(dictionary, &views[i], hashes[i], &slot);
            assert(codes[i] != UINT32_MAX);
        }
    }
}

void dictionary_seek(const struct dictionary *dictionary, const struct string_view *views,
                     const uint64_t *valid, uint32_t count, uint32_t *codes, uint64_t *present_out)
{
    uint64_t hashes[BATCH_ROWS];
    uint64_t slot;

    memset(present_out, 0, BATCH_WORDS * sizeof *present_out);
    memset(codes, 0, count * sizeof *codes);
    if (dictionary->count == 0) {
        return;
    }
    hash_views(views, valid, count, hashes);
    for (uint32_t i = 0; i < count; i++) {
        if (valid != NULL && !bitmap_get(valid, i)) {
            continue;
        }
        const uint32_t code = look(dictionary, &views[i], hashes[i], &slot);
        codes[i] = code == UINT32_MAX ? 0 : code;
        present_out[i / 64] |= (uint64_t)(code != UINT32_MAX) << i % 64;
    }
}

bool dictionary_merge(struct dictionary *into, const struct dictionary *from, uint32_t *map)
{
    for (uint32_t code = 0; code < from->count; code++) {
        map[code] = look_or_add(into, &from->views[code], from->hashes[code]);
        if (map[code] == UINT32_MAX) {
            return false;
        }
    }
    return true;
}
