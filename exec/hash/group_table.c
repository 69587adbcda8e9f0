#include "hash/group_table.h"

#include "hash/hash_bits.h"
#include "hash/radix_rows.h"

#include <assert.h>
#include <string.h>

enum {
    SLOT_BITS_FIRST = 11, /* room for a batch of new groups */
    SALT_SHIFT = 48,
    STATE_ALIGN = 16,
    PREFETCH_SLOT_BITS = 17, /* 1 MiB of slots: about an L2 */
};

static uint32_t round_up(uint32_t bytes)
{
    return (bytes + STATE_ALIGN - 1) / STATE_ALIGN * STATE_ALIGN;
}

uint32_t group_table_state_offset(const struct row_layout *layout)
{
    return round_up(layout->row_bytes);
}

void group_table_init(struct group_table *table, const struct row_layout *layout,
                      uint32_t state_bytes, uint32_t radix_bits, struct nu_arena *arena)
{
    const uint32_t state_offset = group_table_state_offset(layout);

    *table = (struct group_table){.layout = layout,
                                  .arena = arena,
                                  .row_bytes = state_offset + round_up(state_bytes),
                                  .state_offset = state_offset,
                                  .radix_bits = (uint8_t)radix_bits};
}

static uint64_t home_slot(const struct group_table *table, uint64_t hash)
{
    return hash_slot(hash << table->radix_bits, table->slot_bits);
}

static uint64_t slot_mask(const struct group_table *table)
{
    return (UINT64_C(1) << table->slot_bits) - 1;
}

static uint64_t entry_of(uint64_t hash, const unsigned char *row)
{
    return (uint64_t)hash_tag(hash) << SALT_SHIFT | (uint64_t)(uintptr_t)row;
}

static unsigned char *entry_row(uint64_t entry)
{
    return (unsigned char *)(uintptr_t)(entry & ((UINT64_C(1) << SALT_SHIFT) - 1));
}

static void enter_again(struct group_table *table, unsigned char *row)
{
    const uint64_t hash = row_hash(row);
    uint64_t slot = home_slot(table, hash);

    while (table->slots[slot] != 0) {
        slot = (slot + 1) & slot_mask(table);
    }
    table->slots[slot] = entry_of(hash, row);
}

/* Room for `more` groups at half full. Old slots stay in the arena: less than the new ones. */
static bool reserve(struct group_table *table, uint64_t more)
{
    uint8_t slot_bits = table->slots == NULL ? SLOT_BITS_FIRST : table->slot_bits;

    while ((table->rows.row_count + more) * 2 > UINT64_C(1) << slot_bits) {
        slot_bits++;
    }
    if (table->slots != NULL && slot_bits == table->slot_bits) {
        return true;
    }
    uint64_t *slots = nu_arena_calloc(table->arena, sizeof *slots << slot_bits, 64);
    if (slots == NULL) {
        return false;
    }
    table->slots = slots;
    table->slot_bits = slot_bits;
    for (struct row_chunk *chunk = table->rows.first; chunk != NULL; chunk = chunk->next) {
        for (uint32_t r = 0; r < chunk->row_count; r++) {
            enter_again(table, chunk->rows + (size_t)r * table->row_bytes);
        }
    }
    return true;
}

/* One call's work: rows still looking, new groups, and rows with an entry to compare. */
struct find {
    uint64_t slot[BATCH_ROWS];
    uint16_t pending[BATCH_ROWS];
    uint16_t fresh[BATCH_ROWS]; /* positions */
    unsigned char *fresh_rows[BATCH_ROWS];
    uint16_t candidate[BATCH_ROWS]; /* indices */
    uint16_t candidate_positions[BATCH_ROWS];
    unsigned char *candidate_rows[BATCH_ROWS];
    uint16_t rest[BATCH_ROWS];
    uint32_t pending_count, fresh_count, candidate_count;
};

static unsigned char *new_group(struct group_table *table, uint64_t hash)
{
    unsigned char *row = row_list_append(&table->rows, table->arena, table->row_bytes);

    if (row != NULL) {
        memset(row, 0, table->row_bytes);
        memcpy(row, &hash, sizeof hash);
    }
    return row;
}

/* Moves one row to an entry of its salt, or to an empty slot, which becomes its new group where
 * there is room. false: out of memory. */
static bool walk(struct group_table *table, struct find *find, uint32_t i, uint16_t position,
                 uint64_t hash, uint64_t row_limit, unsigned char **row_out)
{
    const uint64_t mask = slot_mask(table);
    uint64_t slot = find->slot[i];
    uint64_t entry;

    while ((entry = table->slots[slot]) != 0) {
        if (entry >> SALT_SHIFT == hash_tag(hash)) {
            find->slot[i] = (slot + 1) & mask;
            find->candidate[find->candidate_count] = (uint16_t)i;
            find->candidate_positions[find->candidate_count] = position;
            find->candidate_rows[find->candidate_count++] = entry_row(entry);
            return true;
        }
        slot = (slot + 1) & mask;
    }
    *row_out = NULL;
    if (table->rows.row_count >= row_limit) {
        return true;
    }
    unsigned char *row = new_group(table, hash);
    if (row == NULL) {
        return false;
    }
    table->slots[slot] = entry_of(hash, row);
    find->fresh[find->fresh_count] = position;
    find->fresh_rows[find->fresh_count++] = row;
    *row_out = row;
    return true;
}

static void start(const struct group_table *table, struct find *find, const uint64_t *hashes,
                  const uint16_t *positions, uint32_t count)
{
    const bool far = table->slot_bits >= PREFETCH_SLOT_BITS;

    for (uint32_t i = 0; i < count; i++) {
        find->slot[i] = home_slot(table, hashes[positions[i]]);
        find->pending[i] = (uint16_t)i;
        if (far) {
            __builtin_prefetch(&table->slots[find->slot[i]], 0, 1);
        }
    }
    for (uint32_t i = 0; far && i < count; i++) {
        __builtin_prefetch(entry_row(table->slots[find->slot[i]]), 1, 1);
    }
    find->pending_count = count;
}

/* Every pending row takes a step; rows that came to an entry of their salt become candidates. */
static bool walk_all(struct group_table *table, struct find *find, const uint64_t *hashes,
                     const uint16_t *positions, uint64_t row_limit, unsigned char **rows_out)
{
    find->fresh_count = 0;
    find->candidate_count = 0;
    for (uint32_t k = 0; k < find->pending_count; k++) {
        const uint16_t i = find->pending[k];
        if (!walk(table, find, i, positions[i], hashes[positions[i]], row_limit, &rows_out[i])) {
            return false;
        }
    }
    return true;
}

/* Candidates with equal keys have found their group, the others go on looking. */
static void compare_all(const struct group_table *table, struct find *find,
                        const struct batch *batch, const struct vec *keys, unsigned char **rows_out)
{
    uint16_t match[BATCH_ROWS];
    const uint32_t matched = row_match(table->layout, 0, table->layout->column_count, batch, keys,
                                       find->candidate_positions, find->candidate_count,
                                       find->candidate_rows, match, find->rest);

    for (uint32_t m = 0; m < matched; m++) {
        rows_out[find->candidate[match[m]]] = find->candidate_rows[match[m]];
    }
    find->pending_count = find->candidate_count - matched;
    for (uint32_t k = 0; k < find->pending_count; k++) {
        find->pending[k] = find->candidate[find->rest[k]];
    }
}

bool group_table_find(struct group_table *table, const struct batch *batch, const struct vec *keys,
                      const uint64_t *hashes, const uint16_t *positions, uint32_t count,
                      uint64_t row_limit, unsigned char **rows_out)
{
    struct find find;

    assert(count <= BATCH_ROWS);
    if (!reserve(table, table->rows.row_count < row_limit ? count : 0)) {
        return false;
    }
    start(table, &find, hashes, positions, count);
    while (find.pending_count > 0) {
        /* New keys are written before anybody is compared with them. */
        if (!walk_all(table, &find, hashes, positions, row_limit, rows_out) ||
            !row_scatter(table->layout, 0, table->layout->column_count, batch, keys, find.fresh,
                         find.fresh_count, find.fresh_rows, true, table->arena)) {
            return false;
        }
        compare_all(table, &find, batch, keys, rows_out);
    }
    return true;
}
