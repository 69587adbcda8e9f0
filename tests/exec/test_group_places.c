/* Goal:   a group that was found once is found by place again, whatever its keys are: nulls, codes
 *         of one and two bytes, numbers of one byte; batches whose keys have no places, too many,
 * or another dictionary's are refused. Method: random batches; every place is compared with the one
 * the keys' values had before. */
#include "arena_fixture.h"
#include "op/group_places.h"
#include "table/dictionary.h"

#include <criterion/criterion.h>
#include <string.h>

enum { TEXTS = 5, NUMBERS = 256 };

static struct arena_fixture fixture;
static uint64_t seed = 1;

static uint32_t draw(uint32_t below)
{
    return (uint32_t)(test_random(&seed) % below);
}

struct rows {
    uint16_t codes[BATCH_ROWS];
    uint64_t valid[BATCH_WORDS];
    uint16_t sel[BATCH_ROWS];
    struct batch batch;
};

static void draw_rows(struct rows *rows)
{
    rows->batch = (struct batch){.row_count = BATCH_ROWS, .sel = rows->sel};
    memset(rows->valid, 0, sizeof rows->valid);
    for (uint32_t r = 0; r < BATCH_ROWS; r++) {
        const bool present = draw(7) != 0;
        rows->codes[r] = (uint16_t)(present ? draw(TEXTS) : 0);
        rows->valid[r / 64] |= (uint64_t)present << r % 64;
        if (draw(3) != 0) {
            rows->sel[rows->batch.sel_count++] = (uint16_t)r;
        }
    }
}

static struct vec text_key(const struct rows *rows, const struct dictionary *dictionary)
{
    return (struct vec){.data = rows->codes,
                        .valid = rows->valid,
                        .kind = EXEC_TYPE_UTF8,
                        .code_bytes = 2,
                        .codes = rows->codes,
                        .dictionary = dictionary};
}

/* The text and whether it is there: a group's "address". */
static unsigned char *group_of(const struct rows *rows, uint32_t row)
{
    static unsigned char groups[TEXTS + 1];
    return &groups[bitmap_get(rows->valid, row) ? rows->codes[row] : TEXTS];
}

Test(group_places, what_was_learnt_is_found)
{
    arena_fixture_init(&fixture, 1 << 20);
    const struct dictionary dictionary = {.count = TEXTS};
    struct group_places places = {.use = GROUP_PLACES_UNKNOWN};
    unsigned char *groups[BATCH_ROWS];
    uint16_t place[BATCH_ROWS];
    struct rows rows;
    uint32_t known = 0;

    for (int round = 0; round < 10; round++) {
        draw_rows(&rows);
        const struct vec key = text_key(&rows, &dictionary);
        known += group_places_find(&places, &rows.batch, &key, 1, &fixture.arena, place, groups);
        for (uint32_t p = 0; p < rows.batch.sel_count; p++) {
            unsigned char *group = group_of(&rows, rows.sel[p]);
            cr_assert(groups[p] == group || (round == 0 && groups[p] == NULL));
            groups[p] = group;
        }
        group_places_learn(&places, place, groups, rows.batch.sel_count);
    }
    cr_assert_eq(known, 9);
    const struct dictionary other = {.count = TEXTS};
    const struct vec key = text_key(&rows, &other);
    cr_assert_not(group_places_find(&places, &rows.batch, &key, 1, &fixture.arena, place, groups));
    cr_assert_eq(place[0], UINT16_MAX);
    group_places_learn(&places, place, groups, rows.batch.sel_count);
    arena_fixture_fini(&fixture);
}

Test(group_places, numbers_beside_texts_have_places_of_their_own)
{
    arena_fixture_init(&fixture, 1 << 20);
    const struct dictionary dictionary = {.count = 1};
    struct group_places places = {.use = GROUP_PLACES_UNKNOWN};
    unsigned char *groups[BATCH_ROWS];
    uint16_t place[BATCH_ROWS];
    uint8_t numbers[BATCH_ROWS];
    struct rows rows;
    int32_t seen[GROUP_PLACES_MAX];

    memset(seen, -1, sizeof seen);
    draw_rows(&rows);
    for (uint32_t r = 0; r < BATCH_ROWS; r++) {
        numbers[r] = (uint8_t)draw(NUMBERS);
        rows.codes[r] = 0;
    }
    const struct vec keys[] = {text_key(&rows, &dictionary),
                               {.data = numbers, .kind = EXEC_TYPE_UINT8}};
    cr_assert_not(group_places_find(&places, &rows.batch, keys, 2, &fixture.arena, place, groups));
    for (uint32_t p = 0; p < rows.batch.sel_count; p++) {
        const uint32_t row = rows.sel[p];
        const int32_t both = numbers[row] * 2 + bitmap_get(rows.valid, row);
        cr_assert_lt(place[p], places.place_count);
        cr_assert(seen[place[p]] == -1 || seen[place[p]] == both);
        seen[place[p]] = both;
    }
    arena_fixture_fini(&fixture);
}

Test(group_places, keys_without_places)
{
    arena_fixture_init(&fixture, 1 << 20);
    const struct dictionary large = {.count = GROUP_PLACES_MAX};
    unsigned char *groups[BATCH_ROWS];
    uint16_t place[BATCH_ROWS];
    struct rows rows;

    draw_rows(&rows);
    const struct vec keys[] = {
        text_key(&rows, &large), text_key(&rows, NULL), {.kind = EXEC_TYPE_INT32}};
    for (int k = 0; k < 3; k++) {
        struct group_places places = {.use = GROUP_PLACES_UNKNOWN};
        cr_assert_not(
            group_places_find(&places, &rows.batch, &keys[k], 1, &fixture.arena, place, groups));
        cr_assert_eq(places.use, GROUP_PLACES_UNUSED);
    }
    arena_fixture_fini(&fixture);
}
