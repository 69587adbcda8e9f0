#include "sort/window_state.h"

#include <string.h>

/* The sink of a limited window. Every worker knows of each partition the `limit` first rows it has
 * seen, in a max-heap; a row of a full partition that sorts behind the heap's root is dropped, most
 * of them by one comparison of prefixes. The row that leaves the heap is written over by the one
 * that enters, so that memory follows partitions; not so where rank is limited and the one that
 * leaves has the rank of one that stays.
 *
 * Dropping is never needed: the source cuts again. So rows whose hash is that of another partition
 * pass, and where most rows are kept the worker stops looking. */

enum { SLOT_BITS_FIRST = 10, BLOCK_ROWS_FIRST = 64, BLOCK_ROWS_MAX = 4096 };
enum { STRINGS_KEPT_BYTES = 1 << 18, HEAP_ROOM_FIRST = 4 };

static struct nu_arena *own_arena(const struct window *window, uint32_t worker)
{
    return &window->sort.job->workers[worker].arena;
}

static uint64_t hash_of(const struct window *window, const struct sort_entry *entry)
{
    return window->plan.partition_count == 0 ? 0 : entry->high;
}

static bool same_partition(const struct window *window, const unsigned char *a,
                           const unsigned char *b)
{
    return sort_rows_compare_keys(&window->sort.rows, 0, window->plan.partition_count, a, b) == 0;
}

/* ---- partitions by hash
 * ---------------------------------------------------------------------------------------------- */

static uint64_t first_slot(const struct window_worker *own, uint64_t hash)
{
    return (hash ^ hash >> 32) & ((UINT64_C(1) << own->slot_bits) - 1);
}

/* The slot of the hash, or the free one where it would be. */
static struct window_slot *slot_of(const struct window_worker *own, uint64_t hash)
{
    const uint64_t mask = (UINT64_C(1) << own->slot_bits) - 1;
    uint64_t at = first_slot(own, hash);

    while (own->slots[at].group != NULL && own->slots[at].hash != hash) {
        at = (at + 1) & mask;
    }
    return &own->slots[at];
}

/* Room for one more partition. */
static bool grow(struct window_worker *own, struct nu_arena *arena)
{
    const struct window_worker old = *own;
    const uint64_t old_slots = UINT64_C(1) << old.slot_bits;

    if (old.group_count + 1 <= old_slots - old_slots / 4) {
        return true;
    }
    own->slot_bits++;
    own->slots = nu_arena_calloc(arena, 2 * old_slots * sizeof *own->slots, 64);
    if (own->slots == NULL) {
        return false;
    }
    for (uint64_t s = 0; s < old_slots; s++) {
        if (old.slots[s].group != NULL) {
            *slot_of(own, old.slots[s].hash) = old.slots[s];
        }
    }
    return true;
}

static bool worker_init(struct window *window, uint32_t worker)
{
    struct window_worker *own = &window->workers[worker];
    struct job_context *job = window->sort.job;

    own->slot_bits = SLOT_BITS_FIRST;
    own->slots =
        nu_arena_calloc(own_arena(window, worker), sizeof *own->slots << SLOT_BITS_FIRST, 64);
    for (uint32_t i = 0; i < 2; i++) {
        nu_arena_init(&own->strings[i], job->pages, job->worker_node[worker], &job->budget);
    }
    own->has_strings = true;
    return own->slots != NULL;
}

void window_top_destroy(struct window *window)
{
    for (uint32_t w = 0; window->workers != NULL && w < window->sort.job->worker_count; w++) {
        for (uint32_t i = 0; window->workers[w].has_strings && i < 2; i++) {
            nu_arena_destroy(&window->workers[w].strings[i]);
        }
    }
}

/* ---- the heap of one partition
 * ---------------------------------------------------------------------------------------------- */

static bool is_before(const struct window *window, const struct sort_entry *a,
                      const struct sort_entry *b)
{
    return sort_entry_before(&window->sort.rows, a, b);
}

/* Puts `sinking` into the root's place; returns where it comes to stand. */
static uint32_t sift_down(const struct window *window, struct window_group *group,
                          struct sort_entry sinking)
{
    uint32_t at = 0;

    for (uint32_t child = 1; child < group->count; child = 2 * at + 1) {
        if (child + 1 < group->count &&
            is_before(window, &group->heap[child], &group->heap[child + 1])) {
            child++;
        }
        if (!is_before(window, &sinking, &group->heap[child])) {
            break;
        }
        group->heap[at] = group->heap[child];
        at = child;
    }
    group->heap[at] = sinking;
    return at;
}

static void sift_up(const struct window *window, struct window_group *group)
{
    uint32_t at = group->count - 1;
    const struct sort_entry rising = group->heap[at];

    while (at > 0 && is_before(window, &group->heap[(at - 1) / 2], &rising)) {
        group->heap[at] = group->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    group->heap[at] = rising;
}

static bool heap_add(const struct window *window, struct window_group *group,
                     const struct sort_entry *entry, struct nu_arena *arena)
{
    if (group->count == group->room) {
        const uint64_t limit = (uint64_t)window->plan.limit;
        const uint32_t wanted = group->room == 0 ? HEAP_ROOM_FIRST : 2 * group->room;
        const uint32_t room = wanted < limit ? wanted : (uint32_t)limit;
        struct sort_entry *more = nu_arena_alloc(arena, room * sizeof *more, 8);
        if (more == NULL) {
            return false;
        }
        if (group->count != 0) {
            memcpy(more, group->heap, group->count * sizeof *more);
        }
        group->heap = more;
        group->room = room;
    }
    group->heap[group->count++] = *entry;
    sift_up(window, group);
    return true;
}

/* ---- rows
 * ---------------------------------------------------------------------------------------------------
 */

/* Room behind the worker's last row. */
static unsigned char *append_row(struct window *window, uint32_t worker)
{
    struct sort_worker *kept = &window->sort.workers[worker];
    struct window_worker *own = &window->workers[worker];
    struct nu_arena *arena = own_arena(window, worker);
    const uint32_t row_bytes = window->sort.rows.layout.row_bytes;

    if (own->row_room == 0) {
        const uint64_t wanted = kept->row_count < BLOCK_ROWS_FIRST ? BLOCK_ROWS_FIRST
                                : kept->row_count > BLOCK_ROWS_MAX ? BLOCK_ROWS_MAX
                                                                   : kept->row_count;
        struct sort_block *block = nu_arena_calloc(arena, sizeof *block, 8);
        unsigned char *rows = nu_arena_alloc(arena, wanted * row_bytes, 16);
        if (block == NULL || rows == NULL) {
            return NULL;
        }
        block->rows = rows;
        if (kept->last == NULL) {
            kept->first = block;
        } else {
            kept->last->next = block;
        }
        kept->last = block;
        own->row_room = (uint32_t)wanted;
    }
    own->row_room--;
    kept->row_count++;
    return kept->last->rows + (size_t)kept->last->row_count++ * row_bytes;
}

/* Writes a row of scratch memory to its place, strings and all. */
static bool keep_row(struct window *window, uint32_t worker, unsigned char *to,
                     const unsigned char *from)
{
    struct window_worker *own = &window->workers[worker];
    const struct sort_rows *rows = &window->sort.rows;

    memcpy(to, from, rows->layout.row_bytes);
    return sort_rows_own_strings(rows, to, &own->strings[own->current], &own->string_bytes);
}

/* When most of the strings are of rows that were written over, the others move. */
static bool compact_strings(struct window *window, uint32_t worker)
{
    struct window_worker *own = &window->workers[worker];
    const struct sort_rows *rows = &window->sort.rows;
    struct nu_arena *old = &own->strings[own->current];

    if (own->string_bytes < STRINGS_KEPT_BYTES + 2 * own->live_bytes) {
        return true;
    }
    own->current = 1 - own->current;
    own->live_bytes = 0;
    for (struct sort_block *block = window->sort.workers[worker].first; block != NULL;
         block = block->next) {
        if (job_is_stopping(window->sort.job)) {
            return true; /* nobody reads them any more */
        }
        for (uint32_t r = 0; r < block->row_count; r++) {
            if (!sort_rows_own_strings(rows, block->rows + (size_t)r * rows->layout.row_bytes,
                                       &own->strings[own->current], &own->live_bytes)) {
                return false;
            }
        }
    }
    own->string_bytes = own->live_bytes;
    nu_arena_reset(old);
    return true;
}

/* ---- one row
 * ------------------------------------------------------------------------------------------------
 */

static bool append_entry(struct window *window, uint32_t worker, struct sort_entry *entry)
{
    unsigned char *to = append_row(window, worker);

    if (to == NULL || !keep_row(window, worker, to, entry->row)) {
        return false;
    }
    entry->row = to;
    return true;
}

static void note_worst(const struct window *window, struct window_worker *own,
                       struct window_slot *slot)
{
    if (slot->group->count == (uint64_t)window->plan.limit) {
        slot->worst_low = slot->group->heap[0].low;
        own->worst_high = slot->group->heap[0].high;
    }
}

/* A partition that is seen for the first time. */
static bool add_group(struct window *window, uint32_t worker, struct sort_entry entry)
{
    struct window_worker *own = &window->workers[worker];
    struct nu_arena *arena = own_arena(window, worker);
    struct window_group *group = nu_arena_calloc(arena, sizeof *group, 8);

    if (group == NULL || !grow(own, arena) || !append_entry(window, worker, &entry) ||
        !heap_add(window, group, &entry, arena)) {
        return false;
    }
    struct window_slot *slot = slot_of(own, hash_of(window, &entry));
    *slot = (struct window_slot){
        .hash = hash_of(window, &entry), .worst_low = UINT64_MAX, .row = entry.row, .group = group};
    own->group_count++;
    own->worst_high = UINT64_MAX;
    note_worst(window, own, slot);
    return true;
}

static int compare_order(const struct window *window, const unsigned char *a,
                         const unsigned char *b)
{
    const struct sort_rows *rows = &window->sort.rows;

    return sort_rows_compare_keys(rows, rows->hashed_count, rows->key_count, a, b);
}

/* A row of a full partition that is not behind its worst one. The worst leaves the heap; it is
 * written over unless it shares its rank with one that stays. */
static bool replace_worst(struct window *window, uint32_t worker, struct window_group *group,
                          struct sort_entry entry)
{
    const bool is_rank = window->plan.limited == EXEC_WINDOW_RANK;
    const struct sort_entry worst = group->heap[0];

    if (is_rank && compare_order(window, entry.row, worst.row) == 0) {
        return append_entry(window, worker, &entry);
    }
    struct sort_entry *kept = &group->heap[sift_down(window, group, entry)];
    if (is_rank && compare_order(window, worst.row, group->heap[0].row) == 0) {
        return append_entry(window, worker, kept);
    }
    kept->row = worst.row;
    return keep_row(window, worker, worst.row, entry.row);
}

/* Whether a row of a full partition cannot be among its first. */
static bool is_behind(const struct window *window, const struct window_group *group,
                      const struct sort_entry *entry)
{
    const struct sort_entry *root = &group->heap[0];

    return window->plan.limited == EXEC_WINDOW_ROW_NUMBER
               ? !is_before(window, entry, root)
               : compare_order(window, entry->row, root->row) > 0;
}

/* `entry.row` lies in scratch memory; kept rows are copied. */
static bool offer(struct window *window, uint32_t worker, struct sort_entry entry)
{
    struct window_worker *own = &window->workers[worker];
    struct window_slot *slot = own->gave_up ? NULL : slot_of(own, hash_of(window, &entry));

    if (slot != NULL && slot->group == NULL) {
        return add_group(window, worker, entry);
    }
    if (slot == NULL || !same_partition(window, entry.row, slot->row)) {
        return append_entry(window, worker, &entry);
    }
    struct window_group *group = slot->group;
    if (group->count < (uint64_t)window->plan.limit) {
        if (!append_entry(window, worker, &entry) ||
            !heap_add(window, group, &entry, own_arena(window, worker))) {
            return false;
        }
    } else if (is_behind(window, group, &entry)) {
        return true;
    } else if (!replace_worst(window, worker, group, entry)) {
        return false;
    }
    note_worst(window, own, slot);
    return true;
}

/* ---- one batch
 * -----------------------------------------------------------------------------------------------
 */

/* Positions whose prefix puts them behind all first rows of the partition that has their hash. */
static uint32_t positions_behind(const struct window *window, const struct window_worker *own,
                                 const struct sort_entry *entries, uint32_t count,
                                 uint16_t *positions, unsigned char **rows)
{
    const bool has_hash = window->plan.partition_count != 0;
    uint32_t found = 0;

    for (uint32_t p = 0; has_hash && p < count; p++) {
        __builtin_prefetch(&own->slots[first_slot(own, entries[p].high)]);
    }
    for (uint32_t p = 0; p < count; p++) {
        const struct window_slot *slot = slot_of(own, hash_of(window, &entries[p]));
        if (slot->group == NULL) {
            continue;
        }
        const uint64_t worst_high = has_hash ? slot->hash : own->worst_high;
        positions[found] = (uint16_t)p;
        rows[found] = slot->row;
        __builtin_prefetch(slot->row);
        __builtin_prefetch(slot->row + window->sort.rows.layout.row_bytes - 1);
        found += (entries[p].high > worst_high) |
                 ((entries[p].high == worst_high) & (entries[p].low > slot->worst_low));
    }
    return found;
}

/* Of these the ones whose partition it really is. */
static uint32_t confirm(const struct window *window, const struct batch *in,
                        const struct vec *extras, uint16_t *positions, unsigned char **rows,
                        uint32_t count)
{
    const struct sort_rows *shape = &window->sort.rows;
    uint16_t matches[BATCH_ROWS];

    for (uint32_t k = 0; k < window->plan.partition_count; k++) {
        const uint32_t column = shape->orders[k].column;
        const struct vec *key = column < shape->column_count
                                    ? &in->columns[column]
                                    : &extras[column - shape->column_count];
        count =
            row_match(&shape->layout, column, 1, in, key, positions, count, rows, matches, NULL);
        for (uint32_t i = 0; i < count; i++) {
            positions[i] = positions[matches[i]];
            rows[i] = rows[matches[i]];
        }
    }
    return count;
}

/* The positions that are not dropped, ascending. */
static uint32_t candidates(const struct window *window, const struct window_worker *own,
                           const struct batch *in, const struct vec *extras,
                           const struct sort_entry *entries, uint16_t *positions)
{
    uint16_t behind[BATCH_ROWS];
    unsigned char *rows[BATCH_ROWS];
    uint32_t behind_count = 0, kept = 0;

    if (!own->gave_up) {
        behind_count = positions_behind(window, own, entries, in->sel_count, behind, rows);
        behind_count = confirm(window, in, extras, behind, rows, behind_count);
    }
    for (uint32_t p = 0, b = 0; p < in->sel_count; p++) {
        const bool drops = b < behind_count && behind[b] == p;
        positions[kept] = (uint16_t)p;
        kept += !drops;
        b += drops;
    }
    return kept;
}

static bool offer_all(struct window *window, struct pipe_run *run, const struct batch *in,
                      const struct vec *extras, const struct sort_entry *entries)
{
    const struct sort_rows *shape = &window->sort.rows;
    struct window_worker *own = &window->workers[run->worker];
    uint16_t positions[BATCH_ROWS];
    unsigned char *rows[BATCH_ROWS];
    const uint32_t count = candidates(window, own, in, extras, entries, positions);
    unsigned char *memory =
        nu_arena_alloc(run->scratch, (size_t)count * shape->layout.row_bytes + 1, 16);

    if (memory == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = memory + (size_t)i * shape->layout.row_bytes;
    }
    if (!sort_rows_write(shape, in, extras, entries, positions, count, rows, run->scratch)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct sort_entry *entry = &entries[positions[i]];
        if (!offer(window, run->worker, (struct sort_entry){entry->high, entry->low, rows[i]})) {
            return false;
        }
    }
    own->rows_seen += in->sel_count;
    own->gave_up =
        own->gave_up || (own->rows_seen >= WINDOW_TOP_TRIAL_ROWS &&
                         window->sort.workers[run->worker].row_count > own->rows_seen / 4 * 3);
    return compact_strings(window, run->worker);
}

static enum push_result top_push(struct op_sink *sink, struct pipe_run *run, uint32_t index,
                                 const struct batch *in)
{
    struct window *window = (struct window *)sink;
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
    struct sort_entry *entries;
    struct vec *extras;
    struct exec_error err;

    (void)index;
    if (window->workers[run->worker].slots == NULL && !worker_init(window, run->worker)) {
        job_fail_memory(run->job, own_arena(window, run->worker), "a window");
        return PUSH_FAILED;
    }
    if (sort_rows_keys(&window->sort.rows, in, run->scratch, &extras, &entries, &err) != EXEC_OK) {
        err.rel = err.rel == 0 ? window->sort.rel : err.rel;
        job_fail(run->job, &err);
        return PUSH_FAILED;
    }
    if (!offer_all(window, run, in, extras, entries)) {
        job_memory_error(&err, &run->job->budget, "the rows of a window");
        err.rel = window->sort.rel;
        job_fail(run->job, &err);
        return PUSH_FAILED;
    }
    nu_arena_rewind(run->scratch, mark);
    return PUSH_MORE;
}

const struct sink_kind window_top_sink_kind = {.name = "window top-n", .push = top_push};
