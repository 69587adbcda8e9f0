#include "hash/hash_dir.h"

#include "hash/hash_bits.h"

#include <assert.h>
#include <string.h>

enum {
    TAG_BITS = 16,
    SLOT_ROWS_SHORT = 3,
    SLOT_ROWS_LINEAR = 8, /* up to here a run is found by looking at every row of the slot */
    UNIQUE_RUN_MAX = 8,   /* longer runs of one hash are taken for duplicates unseen */
    STEP_ROWS_MAX = 16 << 10,
    LOOKUP_GROUP = 128, /* rows whose directory lines are fetched together: 8 KiB of lines */
};

static uint64_t slot_count(const struct hash_dir *dir)
{
    return UINT64_C(1) << dir->slot_bits;
}

static unsigned char *dir_row(const struct hash_dir *dir, uint64_t row)
{
    return dir->rows + row * dir->row_bytes;
}

/* ---- build --------------------------------------------------------------------------------------
 */

uint64_t hash_dir_count_rows(const struct radix_reader *at_start, uint32_t row_bytes)
{
    struct radix_reader reader = *at_start;
    struct radix_run run;
    uint64_t count = 0;

    while (radix_reader_next(&reader, &run)) {
        for (uint32_t i = 0; run.foreign && i < run.row_count; i++) {
            const uint64_t hash = row_hash(run.rows + (size_t)i * row_bytes);
            count += hash_partition(hash, reader.radix_bits) == reader.partition;
        }
        count += run.foreign ? 0 : run.row_count;
    }
    return count;
}

bool hash_dir_begin(struct hash_dir_build *build, struct hash_dir *dir,
                    const struct row_layout *layout, uint32_t key_count,
                    const struct radix_reader *reader, uint64_t row_count, struct nu_arena *arena)
{
    uint32_t slot_bits = 0;

    while (UINT64_C(1) << slot_bits < row_count + row_count / 2) {
        slot_bits++;
    }
    *dir = (struct hash_dir){.row_count = row_count,
                             .row_bytes = layout->row_bytes,
                             .slot_bits = (uint8_t)slot_bits,
                             .radix_bits = (uint8_t)reader->radix_bits,
                             .unique = true};
    dir->slots = nu_arena_alloc(arena, ((size_t)1 + slot_count(dir)) * sizeof *dir->slots, 64);
    dir->rows = nu_arena_alloc(arena, (size_t)(row_count + 1) * layout->row_bytes, 64);
    if (dir->slots == NULL || dir->rows == NULL) {
        return false;
    }
    dir->slots[0] = 0;
    *build = (struct hash_dir_build){
        .dir = dir, .layout = layout, .key_count = key_count, .reader = *reader};
    return true;
}

static void place_row(struct hash_dir *dir, const unsigned char *row, uint64_t hash)
{
    uint64_t *slot = &dir->slots[1 + hash_dir_slot(dir, hash)];

    memcpy(dir_row(dir, *slot >> TAG_BITS), row, dir->row_bytes);
    *slot = (*slot + (UINT64_C(1) << TAG_BITS)) | hash_dir_tag_bits(hash_tag(hash));
}

/* DIR_COUNT and DIR_PLACE. Returns rows read; 0 at the end. */
static uint64_t step_rows(struct hash_dir_build *build)
{
    struct hash_dir *dir = build->dir;
    struct radix_run run;

    if (!radix_reader_next(&build->reader, &run)) {
        return 0;
    }
    for (uint32_t i = 0; i < run.row_count; i++) {
        const unsigned char *row = run.rows + (size_t)i * dir->row_bytes;
        const uint64_t hash = row_hash(row);
        if (run.foreign && hash_partition(hash, dir->radix_bits) != build->reader.partition) {
            continue;
        }
        if (build->pass == DIR_COUNT) {
            dir->slots[1 + hash_dir_slot(dir, hash)] += UINT64_C(1) << TAG_BITS;
        } else {
            place_row(dir, row, hash);
        }
    }
    return run.row_count;
}

static void swap_rows(struct hash_dir *dir, uint64_t a, uint64_t b)
{
    unsigned char *left = dir_row(dir, a);
    unsigned char *right = dir_row(dir, b);

    for (uint32_t byte = 0; a != b && byte < dir->row_bytes; byte += 8) {
        uint64_t one;
        uint64_t other;
        memcpy(&one, left + byte, 8);
        memcpy(&other, right + byte, 8);
        memcpy(left + byte, &other, 8);
        memcpy(right + byte, &one, 8);
    }
}

static uint64_t hash_at(const struct hash_dir *dir, uint64_t row)
{
    return row_hash(dir_row(dir, row));
}

static uint64_t median_hash(const struct hash_dir *dir, uint64_t begin, uint64_t end)
{
    const uint64_t a = hash_at(dir, begin);
    const uint64_t b = hash_at(dir, begin + (end - begin) / 2);
    const uint64_t c = hash_at(dir, end - 1);
    const uint64_t low = a < b ? a : b;
    const uint64_t high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Three-way partition around `pivot` (Dijkstra's flag): [begin, *low) is below, [*low, *high)
 * equal,
 * [*high, end) above. Stops after `rows` rows; done when *at == *high. */
static void flag_step(struct hash_dir *dir, uint64_t pivot, uint64_t *low, uint64_t *at,
                      uint64_t *high, uint64_t rows)
{
    for (; rows > 0 && *at < *high; rows--) {
        const uint64_t hash = hash_at(dir, *at);
        if (hash < pivot) {
            swap_rows(dir, (*low)++, (*at)++);
        } else if (hash > pivot) {
            swap_rows(dir, *at, --(*high));
        } else {
            (*at)++;
        }
    }
}

/* Quicksort by hash; equal hashes fall together in one pass, so duplicates cost nothing extra.
 * Recursion takes the smaller side: at most 64 deep. */
static void order_rows(struct hash_dir *dir, uint64_t begin, uint64_t end)
{
    while (end - begin > 1) {
        uint64_t low = begin;
        uint64_t at = begin;
        uint64_t high = end;
        flag_step(dir, median_hash(dir, begin, end), &low, &at, &high, UINT64_MAX);
        if (low - begin < end - high) {
            order_rows(dir, begin, low);
            begin = high;
        } else {
            order_rows(dir, high, end);
            end = low;
        }
    }
}

static bool run_is_unique(const struct hash_dir_build *build, uint64_t begin, uint64_t end)
{
    if (end - begin > UNIQUE_RUN_MAX) {
        return false;
    }
    for (uint64_t a = begin; a < end; a++) {
        for (uint64_t b = a + 1; b < end; b++) {
            if (row_equal(build->layout, 0, build->key_count, dir_row(build->dir, a),
                          dir_row(build->dir, b))) {
                return false;
            }
        }
    }
    return true;
}

/* First row of [begin, end), ordered by hash, whose hash is not below (above: above) `hash`. */
static uint64_t bisect(const struct hash_dir *dir, uint64_t begin, uint64_t end, uint64_t hash,
                       bool above)
{
    while (begin < end) {
        const uint64_t middle = begin + (end - begin) / 2;
        const uint64_t found = hash_at(dir, middle);
        if (found < hash || (above && found == hash)) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}

static void judge_slot(struct hash_dir_build *build, uint64_t begin, uint64_t end)
{
    struct hash_dir *dir = build->dir;

    while (begin < end) {
        const uint64_t run_end = bisect(dir, begin, end, hash_at(dir, begin), true);
        const uint64_t run = run_end - begin;
        dir->run_max = run > dir->run_max ? run : dir->run_max;
        dir->unique = dir->unique && (run == 1 || run_is_unique(build, begin, run_end));
        begin = run_end;
    }
}

/* DIR_ORDER for the slot at build->position. A slot larger than a step is a hot key and the few
 * others that fell in with it: its first partition goes in steps, its sides are small. Returns the
 * work. */
static uint64_t step_order(struct hash_dir_build *build, uint64_t rows)
{
    struct hash_dir *dir = build->dir;
    const uint64_t begin = dir->slots[build->position] >> TAG_BITS;
    const uint64_t end = dir->slots[build->position + 1] >> TAG_BITS;

    if (end - begin == 1) {
        dir->run_max = dir->run_max == 0 ? 1 : dir->run_max;
    } else if (end - begin <= STEP_ROWS_MAX) {
        order_rows(dir, begin, end);
        judge_slot(build, begin, end);
    } else {
        if (!build->flag.on) {
            build->flag.on = true;
            build->flag.pivot = median_hash(dir, begin, end);
            build->flag.low = build->flag.at = begin;
            build->flag.high = end;
        }
        flag_step(dir, build->flag.pivot, &build->flag.low, &build->flag.at, &build->flag.high,
                  rows);
        if (build->flag.at < build->flag.high) {
            return rows;
        }
        build->flag.on = false;
        order_rows(dir, begin, build->flag.low);
        order_rows(dir, build->flag.high, end);
        judge_slot(build, begin, end);
    }
    build->position++;
    return 1 + (end - begin);
}

static void next_pass(struct hash_dir_build *build)
{
    build->pass++;
    build->position = 0;
    build->sum = 0;
    radix_reader_rewind(&build->reader);
}

/* DIR_CLEAR and DIR_SUM over at most `rows` slots. */
static uint64_t step_slots(struct hash_dir_build *build, uint64_t rows)
{
    struct hash_dir *dir = build->dir;
    const uint64_t left = slot_count(dir) - build->position;
    const uint64_t count = left < rows ? left : rows;
    uint64_t *slots = dir->slots + 1 + build->position;

    build->position += count;
    if (build->pass == DIR_CLEAR) {
        memset(slots, 0, count * sizeof *slots);
        return count;
    }
    for (uint64_t s = 0; s < count; s++) {
        const uint64_t in_slot = slots[s] >> TAG_BITS;
        slots[s] = build->sum << TAG_BITS;
        build->sum += in_slot;
    }
    return count;
}

bool hash_dir_step(struct hash_dir_build *build, uint64_t rows)
{
    uint64_t work = 0;

    while (work < rows && build->pass != DIR_DONE) {
        uint64_t step;
        if (build->pass == DIR_COUNT || build->pass == DIR_PLACE) {
            step = step_rows(build);
        } else if (build->position == slot_count(build->dir)) {
            step = 0;
        } else if (build->pass == DIR_ORDER) {
            step = step_order(build, rows - work);
        } else {
            step = step_slots(build, rows - work);
        }
        work += step;
        if (step == 0) {
            assert(build->pass != DIR_SUM || build->sum == build->dir->row_count);
            next_pass(build);
        }
    }
    return build->pass == DIR_DONE;
}

/* ---- lookup -------------------------------------------------------------------------------------
 */

/* The rows with `hash` among the `count` from `begin` on, 1 to SLOT_ROWS_SHORT. Which of a few rows
 * it is, is nothing a branch predictor can learn: every one is looked at, the last repeatedly. */
static uint64_t find_short(const struct hash_dir *dir, uint64_t begin, uint64_t count,
                           uint64_t hash, unsigned char **run_row)
{
    unsigned char *first = dir_row(dir, begin);
    uint64_t below = 0;
    uint64_t equal = 0;

    for (uint64_t i = 0; i < SLOT_ROWS_SHORT; i++) {
        const uint64_t at = i < count ? i : count - 1;
        const uint64_t found = row_hash(first + at * dir->row_bytes);
        below += (i < count) & (found < hash);
        equal += (i < count) & (found == hash);
    }
    *run_row = first + below * dir->row_bytes;
    return equal;
}

/* The rows of [begin, end) with `hash`. */
static uint64_t find_run(const struct hash_dir *dir, uint64_t begin, uint64_t end, uint64_t hash,
                         unsigned char **run_row)
{
    uint64_t run_end = end;

    if (begin < end && hash_at(dir, begin) == hash && hash_at(dir, end - 1) == hash) {
        /* The whole slot: the usual case, and for many duplicates the only cheap one. */
    } else if (end - begin > SLOT_ROWS_LINEAR) {
        begin = bisect(dir, begin, end, hash, false);
        run_end = bisect(dir, begin, end, hash, true);
    } else {
        while (begin < end && hash_at(dir, begin) != hash) {
            begin++;
        }
        run_end = begin;
        while (run_end < end && hash_at(dir, run_end) == hash) {
            run_end++;
        }
    }
    *run_row = dir_row(dir, begin);
    return run_end - begin;
}

struct lookup_group {
    const uint64_t *slot[LOOKUP_GROUP]; /* of the slot before: its end is where ours begins */
    const struct hash_dir *dir[LOOKUP_GROUP];
    uint16_t survivor[LOOKUP_GROUP];
};

static void find_slots(const struct hash_dirs *dirs, const uint64_t *hashes,
                       const uint16_t *positions, uint32_t count, struct lookup_group *group)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t hash = hashes[positions[i]];
        const struct hash_dir *dir = &dirs->parts[hash_partition(hash, dirs->radix_bits)];
        group->dir[i] = dir;
        group->slot[i] = dir->slots + hash_dir_slot(dir, hash);
        if (dirs->prefetch) {
            __builtin_prefetch(group->slot[i] + 1, 0, 1);
        }
    }
}

/* Drops what the tags rule out. Branch-free: half of the rows passing is the worst case of a
 * branch. */
static uint32_t test_tags(const struct hash_dirs *dirs, const uint64_t *hashes,
                          const uint16_t *positions, uint32_t count, struct lookup_group *group,
                          uint64_t *run_counts)
{
    uint32_t survivors = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint64_t bits = hash_dir_tag_bits(hash_tag(hashes[positions[i]]));
        if (run_counts != NULL) {
            run_counts[positions[i]] = 0;
        }
        group->survivor[survivors] = (uint16_t)i;
        survivors += (group->slot[i][1] & bits) == bits;
    }
    for (uint32_t k = 0; dirs->prefetch && k < survivors; k++) {
        const uint32_t i = group->survivor[k];
        __builtin_prefetch(dir_row(group->dir[i], group->slot[i][0] >> TAG_BITS), 0, 1);
    }
    return survivors;
}

void hash_dirs_lookup(const struct hash_dirs *dirs, const uint64_t *hashes,
                      const uint16_t *positions, uint32_t count, unsigned char **run_rows,
                      uint64_t *run_counts)
{
    struct lookup_group group;

    for (uint32_t done = 0; done < count; done += LOOKUP_GROUP) {
        const uint16_t *at = positions + done;
        const uint32_t left = count - done;
        const uint32_t size = left < LOOKUP_GROUP ? left : LOOKUP_GROUP;
        find_slots(dirs, hashes, at, size, &group);
        const uint32_t survivors = test_tags(dirs, hashes, at, size, &group, run_counts);
        for (uint32_t k = 0; k < survivors; k++) {
            const uint32_t i = group.survivor[k];
            const uint64_t *slot = group.slot[i];
            const uint64_t begin = slot[0] >> TAG_BITS;
            const uint64_t end = slot[1] >> TAG_BITS;
            /* Far rows: a guess that lets the next load begin is worth a wrong one now and then. */
            run_counts[at[i]] =
                !dirs->prefetch && end - begin - 1 < SLOT_ROWS_SHORT
                    ? find_short(group.dir[i], begin, end - begin, hashes[at[i]], &run_rows[at[i]])
                    : find_run(group.dir[i], begin, end, hashes[at[i]], &run_rows[at[i]]);
        }
    }
}

/* ---- lookup of unique hashes --------------------------------------------------------------------
 */

/* A row of the slot with `hash` if there is one, else any: the usual slot has one or two, of which
 * one is chosen without a branch. */
static inline unsigned char *unique_row(const struct hash_dir *dir, uint64_t begin, uint64_t end,
                                        uint64_t hash)
{
    const uint32_t row_bytes = dir->row_bytes;
    unsigned char *row = dir->rows + begin * row_bytes;
    /* As arithmetic: the compiler would make a branch of it, which is a coin's. */
    const uint64_t other = (uint64_t)(end - begin > 1) & (uint64_t)(row_hash(row) != hash);

    row += other * row_bytes;
    if (__builtin_expect(end - begin > 2, 0)) {
        const unsigned char *last = dir->rows + (end - 1) * row_bytes;
        while (row < last && row_hash(row) != hash) {
            row += row_bytes;
        }
    }
    return row;
}

uint32_t hash_dirs_find(const struct hash_dirs *dirs, const uint64_t *hashes,
                        const uint16_t *positions, uint32_t count, uint16_t *positions_out,
                        unsigned char **rows_out)
{
    struct lookup_group group;
    uint32_t found = 0;

    for (uint32_t done = 0; done < count; done += LOOKUP_GROUP) {
        const uint16_t *at = positions + done;
        const uint32_t left = count - done;
        const uint32_t size = left < LOOKUP_GROUP ? left : LOOKUP_GROUP;
        find_slots(dirs, hashes, at, size, &group);
        const uint32_t survivors = test_tags(dirs, hashes, at, size, &group, NULL);
        for (uint32_t k = 0; k < survivors; k++) {
            const uint32_t i = group.survivor[k];
            const uint64_t *slot = group.slot[i];
            const uint64_t hash = hashes[at[i]];
            rows_out[found] =
                unique_row(group.dir[i], slot[0] >> TAG_BITS, slot[1] >> TAG_BITS, hash);
            positions_out[found] = at[i];
            found += row_hash(rows_out[found]) == hash;
        }
    }
    return found;
}

uint32_t hash_dir_find(const struct hash_dir *dir, const uint64_t *hashes, uint32_t count,
                       uint16_t *positions_out, unsigned char **rows_out)
{
    uint64_t begins[BATCH_ROWS];
    uint16_t lengths[BATCH_ROWS];
    uint16_t survivor[BATCH_ROWS];
    uint32_t survivors = 0;
    uint32_t found = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *slot = dir->slots + hash_dir_slot(dir, hashes[i]);
        const uint64_t bits = hash_dir_tag_bits(hash_tag(hashes[i]));
        const uint64_t begin = slot[0] >> TAG_BITS;
        begins[survivors] = begin;
        lengths[survivors] = (uint16_t)((slot[1] >> TAG_BITS) - begin);
        survivor[survivors] = (uint16_t)i;
        survivors += (slot[1] & bits) == bits;
    }
    for (uint32_t k = 0; k < survivors; k++) {
        const uint64_t hash = hashes[survivor[k]];
        rows_out[found] = unique_row(dir, begins[k], begins[k] + lengths[k], hash);
        positions_out[found] = survivor[k];
        found += row_hash(rows_out[found]) == hash;
    }
    return found;
}
