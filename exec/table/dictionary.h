#ifndef EXEC_TABLE_DICTIONARY_H
#define EXEC_TABLE_DICTIONARY_H

#include "numa/arena.h"
#include "vec/batch.h"
#include "vec/string_view.h"

#include <stdatomic.h>

/* The values of a text column, each once, numbered 0, 1, 2, ... in the order they came. A builder
 * fills its own while it copies rows; chunks keep the codes of their rows beside the values, so
 * whoever cares reads codes and everybody else need not know. When a table is made of chunks of
 * several builders, their dictionaries become one (table.c). Reference-counted: chunks, the table
 * and jobs under way hold one; never changed once the table is made. */

enum {
    DICTIONARY_VALUES_MAX = 1 << 20,
    DICTIONARY_TRIAL_ROWS = 1 << 18, /* of a column: from there on ... */
    DICTIONARY_ROWS_A_VALUE =
        2, /* ... a value is to come twice on average, or as if it soon would */
};

struct dictionary {
    _Atomic uint32_t references;
    struct nu_arena arena; /* all of it, this struct too */
    struct string_view *views;
    uint64_t *hashes;
    uint64_t *slots; /* the hash's high half, code + 1; 0: empty */
    uint32_t count, capacity;
    uint32_t slot_bits;
};

/* With one reference; NULL: out of memory. */
struct dictionary *dictionary_create(struct nu_page_pool *pages, struct nu_budget *budget,
                                     unsigned node);
void dictionary_ref(struct dictionary *dictionary);
void dictionary_unref(struct dictionary *dictionary); /* NULL is fine; any thread */

/* codes[i] of a flat column of `count` texts (at most BATCH_ROWS; valid NULL: no nulls), new ones
 * added; of a null: 0. false: too many values, or out of memory: it is of no use any more. */
bool dictionary_encode(struct dictionary *dictionary, const struct string_view *views,
                       const uint64_t *valid, uint32_t count, uint32_t *codes);
/* The same of a finished dictionary that has all of them. */
void dictionary_find(const struct dictionary *dictionary, const struct string_view *views,
                     const uint64_t *valid, uint32_t count, uint32_t *codes);
/* The same where some may be missing: bit i of present_out (BATCH_WORDS of them) says whether text
 * i has a code; of the others, nulls among them, the code is 0. */
void dictionary_seek(const struct dictionary *dictionary, const struct string_view *views,
                     const uint64_t *valid, uint32_t count, uint32_t *codes, uint64_t *present_out);

/* map[code of `from`] = code of `into`, which takes in what it lacks. false as above. */
bool dictionary_merge(struct dictionary *into, const struct dictionary *from, uint32_t *map);

/* Bytes of a code where that many values can be told apart: 1, 2 or 4. */
static inline uint8_t dictionary_code_bytes(uint32_t count)
{
    return count <= 1 << 8 ? 1 : count <= 1 << 16 ? 2 : 4;
}

#endif
