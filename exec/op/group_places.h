#ifndef EXEC_OP_GROUP_PLACES_H
#define EXEC_OP_GROUP_PLACES_H

#include "numa/arena.h"
#include "vec/batch.h"

/* A short way to the groups of a worker's hot table, where every key says what it is in a byte or
 * two: texts with the codes of a dictionary, and numbers of one byte. The codes together are a
 * place in an array of groups; once a group has been found by its hash and its keys, it is found by
 * place, for every measure there is. (group_dense.h goes further, for measures it can keep in
 * lanes.)
 *
 * One worker's own. All-zero memory knows nothing yet: the first batch decides. */
enum {
    GROUP_PLACES_KEYS_MAX = 8,
    GROUP_PLACES_MAX = 1024, /* all of them fit the hot table */
};

struct group_places {
    enum { GROUP_PLACES_UNKNOWN, GROUP_PLACES_USED, GROUP_PLACES_UNUSED } use;
    uint32_t place_count;
    uint32_t spans[GROUP_PLACES_KEYS_MAX]; /* values of a key; a null's code is the span */
    const struct dictionary *dictionaries[GROUP_PLACES_KEYS_MAX]; /* NULL: a number */
    unsigned char **groups; /* by place; NULL: not found yet */
};

/* groups_out[p] and places_out[p] (both of BATCH_ROWS entries) of every selected row of the batch;
 * `keys` are vecs on it. false: some group is not known yet (then places_out is set all the same),
 * or the batch's keys have no places (then places_out[0] is UINT16_MAX). Memory from `arena`, which
 * lives as long as the groups. */
bool group_places_find(struct group_places *places, const struct batch *batch,
                       const struct vec *keys, uint32_t key_count, struct nu_arena *arena,
                       uint16_t *places_out, unsigned char **groups_out);

/* Remembers groups[p], which may be NULL, at place[p]. */
void group_places_learn(struct group_places *places, const uint16_t *place,
                        unsigned char *const *groups, uint32_t count);

#endif
