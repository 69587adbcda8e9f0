#include "sort/sort_state.h"

#include "vec/string_view.h"

#include <string.h>

/* Top-n: every worker keeps the first `top_rows` of its rows in a max-heap; a row that is not
 * before the heap's root costs one comparison of prefixes. Rows of the heap are reused, long
 * strings are copied to one of two arenas; when most of it is garbage the live ones move to the
 * other. */

enum { STRINGS_KEPT_BYTES = 1 << 18 };

static struct nu_arena *heap_strings(struct sort_heap *heap)
{
    return &heap->strings[heap->current];
}

void sort_heap_destroy(struct sort_heap *heap)
{
    for (uint32_t i = 0; heap->entries != NULL && i < 2; i++) {
        nu_arena_destroy(&heap->strings[i]);
    }
}

static bool heap_init(struct sort *sort, uint32_t worker)
{
    struct sort_heap *heap = &sort->workers[worker].heap;
    struct job_context *job = sort->job;

    for (uint32_t i = 0; i < 2; i++) {
        nu_arena_init(&heap->strings[i], job->pages, job->worker_node[worker], &job->budget);
    }
    heap->entries = nu_arena_alloc(&job->workers[worker].arena,
                                   (size_t)sort->top_rows * sizeof *heap->entries, 64);
    return heap->entries != NULL;
}

static void sift_down(const struct sort_rows *rows, struct sort_entry *entries, uint32_t count,
                      uint32_t at)
{
    const struct sort_entry sinking = entries[at];

    for (uint32_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && sort_entry_before(rows, &entries[child], &entries[child + 1])) {
            child++;
        }
        if (!sort_entry_before(rows, &sinking, &entries[child])) {
            break;
        }
        entries[at] = entries[child];
        at = child;
    }
    entries[at] = sinking;
}

static void sift_up(const struct sort_rows *rows, struct sort_entry *entries, uint32_t at)
{
    const struct sort_entry rising = entries[at];

    while (at > 0 && sort_entry_before(rows, &entries[(at - 1) / 2], &rising)) {
        entries[at] = entries[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    entries[at] = rising;
}

static bool compact_strings(struct sort *sort, struct sort_heap *heap)
{
    struct nu_arena *old = heap_strings(heap);

    if (heap->string_bytes < STRINGS_KEPT_BYTES + 2 * heap->live_bytes) {
        return true;
    }
    heap->current = 1 - heap->current;
    heap->live_bytes = 0;
    for (uint32_t i = 0; i < heap->count; i++) {
        if (!sort_rows_own_strings(&sort->rows, heap->entries[i].row, heap_strings(heap),
                                   &heap->live_bytes)) {
            return false;
        }
    }
    heap->string_bytes = heap->live_bytes;
    nu_arena_reset(old);
    return true;
}

/* `entry` lies in scratch memory; its row is copied when it is among the first so far. */
static bool heap_offer(struct sort *sort, uint32_t worker, const struct sort_entry *entry)
{
    const struct sort_rows *rows = &sort->rows;
    struct sort_heap *heap = &sort->workers[worker].heap;
    const bool full = heap->count == sort->top_rows;
    struct sort_entry kept = *entry;

    if (full && !sort_entry_before(rows, entry, &heap->entries[0])) {
        return true;
    }
    kept.row = full ? heap->entries[0].row
                    : nu_arena_alloc(&sort->job->workers[worker].arena, rows->layout.row_bytes, 16);
    if (kept.row == NULL) {
        return false;
    }
    memcpy(kept.row, entry->row, rows->layout.row_bytes);
    if (!sort_rows_own_strings(rows, kept.row, heap_strings(heap), &heap->string_bytes)) {
        return false;
    }
    if (full) {
        heap->entries[0] = kept;
        sift_down(rows, heap->entries, heap->count, 0);
    } else {
        heap->entries[heap->count++] = kept;
        sift_up(rows, heap->entries, heap->count - 1);
    }
    return true;
}

/* Positions whose prefix alone does not rule them out, in order. */
static uint32_t candidates(const struct sort *sort, const struct sort_heap *heap,
                           const struct sort_entry *entries, uint32_t count, uint16_t *positions)
{
    const bool full = heap->count == sort->top_rows;
    const struct sort_entry root =
        full ? heap->entries[0] : (struct sort_entry){.high = UINT64_MAX, .low = UINT64_MAX};
    uint32_t kept = 0;

    for (uint32_t p = 0; p < count; p++) {
        positions[kept] = (uint16_t)p;
        kept += (entries[p].high < root.high) |
                ((entries[p].high == root.high) & (entries[p].low <= root.low));
    }
    return kept;
}

static bool offer_all(struct sort *sort, struct pipe_run *run, const struct batch *in,
                      const struct vec *extras, const struct sort_entry *entries)
{
    struct sort_heap *heap = &sort->workers[run->worker].heap;
    const uint32_t row_bytes = sort->rows.layout.row_bytes;
    uint16_t positions[BATCH_ROWS];
    unsigned char *rows[BATCH_ROWS];
    const uint32_t count = candidates(sort, heap, entries, in->sel_count, positions);
    unsigned char *memory = nu_arena_alloc(run->scratch, (size_t)count * row_bytes + 1, 16);

    if (memory == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = memory + (size_t)i * row_bytes;
    }
    if (!sort_rows_write(&sort->rows, in, extras, entries, positions, count, rows, run->scratch)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct sort_entry entry = {
            .high = entries[positions[i]].high, .low = entries[positions[i]].low, .row = rows[i]};
        if (!heap_offer(sort, run->worker, &entry)) {
            return false;
        }
    }
    return compact_strings(sort, heap);
}

static enum push_result top_push(struct op_sink *sink, struct pipe_run *run, uint32_t index,
                                 const struct batch *in)
{
    struct sort *sort = (struct sort *)sink;
    struct sort_heap *heap = &sort->workers[run->worker].heap;
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
    struct sort_entry *entries;
    struct vec *extras;
    struct exec_error err;

    (void)index;
    if (sort->limit == 0) {
        return PUSH_STOP;
    }
    if (heap->entries == NULL && !heap_init(sort, run->worker)) {
        job_fail_memory(sort->job, &sort->job->workers[run->worker].arena, "a top-n");
        return PUSH_FAILED;
    }
    if (sort_rows_keys(&sort->rows, in, run->scratch, &extras, &entries, &err) != EXEC_OK) {
        err.rel = err.rel == 0 ? sort->rel : err.rel;
        job_fail(sort->job, &err);
        return PUSH_FAILED;
    }
    if (!offer_all(sort, run, in, extras, entries)) {
        job_memory_error(&err, &sort->job->budget, "the rows of a top-n");
        err.rel = sort->rel;
        job_fail(sort->job, &err);
        return PUSH_FAILED;
    }
    nu_arena_rewind(run->scratch, mark);
    return PUSH_MORE;
}

static bool always(void *context)
{
    (void)context;
    return true;
}

/* At most SORT_TOP_ROWS_MAX rows a worker: sorted at once. */
static enum exec_code top_finish(struct op_sink *sink, struct job_context *job, uint32_t worker,
                                 struct exec_error *err)
{
    struct sort *sort = (struct sort *)sink;
    struct nu_arena *arena = &job->workers[worker].arena;
    struct sort_run *run = nu_arena_calloc(arena, sizeof *run, 16);

    for (uint32_t w = 0; w < job->worker_count; w++) {
        sort->row_count += sort->workers[w].heap.count;
    }
    if (sort->row_count == 0) {
        return EXEC_OK;
    }
    struct sort_entry *entries =
        nu_arena_alloc(arena, 2 * (size_t)sort->row_count * sizeof *entries, 64);
    if (run == NULL || entries == NULL) {
        return job_memory_error(err, arena->refused, "a top-n");
    }
    *run = (struct sort_run){.row_count = (uint32_t)sort->row_count,
                             .entries = entries,
                             .spare = entries + sort->row_count,
                             .node = job->worker_node[worker]};
    for (uint32_t w = 0; w < job->worker_count; w++) {
        const struct sort_heap *heap = &sort->workers[w].heap;
        if (heap->count != 0) {
            memcpy(entries, heap->entries, heap->count * sizeof *entries);
        }
        entries += heap->count;
    }
    (void)sort_run_step(run, &sort->rows, always, NULL);
    sort->runs = run;
    sort->run_count = 1;
    return EXEC_OK;
}

const struct sink_kind sort_top_sink_kind = {
    .name = "top-n", .push = top_push, .finish = top_finish};
