#include "op/scan_files_reader.h"

#include <assert.h>
#include <string.h>

/* The source: units are bytes of the files, one after another, each file from a multiple of
 * SEGMENT_BYTES on. At most readers_max readers are at work, which bounds the memory and the reads
 * under way; a range that would need one more waits for one to end. */

enum {
    READERS_EACH = 2, /* a worker */
    READERS_MORE = 2, /* for all */
    RANGES_EACH = 32, /* of one file on one node */
};

struct waiting_range {
    struct waiting_range *next;
    struct sched_range range;
};

struct files_source {
    struct op_source base; /* first */
    struct scan_files *files;
    pthread_mutex_t lock; /* guards the block below */
    uint32_t readers, readers_max;
    bool released; /* a reader ended since the last refusal was told to a worker */
    struct waiting_range *waiting, *spare;
    /* relaxed: a row was found to be wrong; the job fails once its line is known, so others need
     * not go on. */
    _Atomic bool doomed;
};

/* ---- start ---------------------------------------------------------------------------------- */

/* Segments [first, last) in several ranges: while the reader of one waits, a worker goes on with
 * the next, so that reads are under way for as many readers as there may be. */
static void node_ranges(struct pipe *pipe, const struct scan_file *file, uint64_t first,
                        uint64_t last, uint32_t node)
{
    const uint64_t each = (last - first + RANGES_EACH - 1) / RANGES_EACH;

    for (uint64_t segment = first; segment < last; segment += each) {
        const uint64_t behind = segment + each < last ? segment + each : last;
        const uint64_t begin = segment * SEGMENT_BYTES;
        const uint64_t end = behind * SEGMENT_BYTES;
        pipe_add_range(
            pipe, file->unit_begin + (begin > file->rows_begin ? begin : file->rows_begin),
            file->unit_begin + (end < file->file_bytes ? end : file->file_bytes), node, false);
    }
}

static bool file_start_parallel(struct files_source *source, struct pipe *pipe,
                                struct scan_file *file)
{
    struct job_context *job = source->files->job;
    const uint64_t segments = (file->file_bytes + SEGMENT_BYTES - 1) / SEGMENT_BYTES;
    const uint32_t nodes = job->node_count;

    file->segment_count = segments;
    /* relaxed: starting the pipeline orders it. */
    atomic_store_explicit(&file->segments_left, segments, memory_order_relaxed);
    file->marks =
        nu_arena_calloc(&job->plan, segments * sizeof *file->marks, _Alignof(struct segment_mark));
    if (file->marks == NULL) {
        return false;
    }
    for (uint32_t n = 0; n < nodes; n++) { /* an even share of each file for every node */
        node_ranges(pipe, file, segments * n / nodes, segments * (n + 1) / nodes, n);
    }
    return true;
}

static enum exec_code files_start(struct op_source *base, struct pipe *pipe, struct exec_error *err)
{
    struct files_source *source = (struct files_source *)base;
    struct scan_files *files = source->files;

    for (uint32_t i = 0; i < files->file_count; i++) {
        struct scan_file *file = &files->files[i];
        const uint64_t begin = file->compression != INFLATE_NONE ? 0 : file->rows_begin;
        base->units_total += file->file_bytes - begin;
        if (file->serial) {
            pipe_add_range(pipe, file->unit_begin + begin, file->unit_begin + file->file_bytes,
                           i % files->job->node_count, true);
        } else if (begin < file->file_bytes && !file_start_parallel(source, pipe, file)) {
            return job_memory_error(err, files->job->plan.refused, "the segments of a file");
        }
    }
    return EXEC_OK;
}

/* ---- readers -------------------------------------------------------------------------------- */

static struct scan_file *file_of_unit(struct scan_files *files, uint64_t unit)
{
    uint32_t low = 0;
    uint32_t high = files->file_count;

    while (high - low > 1) { /* unit_begin of `low` is at or before the unit */
        const uint32_t middle = low + (high - low) / 2;
        if (files->files[middle].unit_begin <= unit) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &files->files[low];
}

static bool reader_slot_take(struct files_source *source)
{
    pthread_mutex_lock(&source->lock);
    const bool taken = source->readers < source->readers_max;
    source->readers += taken;
    source->released = false;
    pthread_mutex_unlock(&source->lock);
    return taken;
}

/* Gives a slot back and lets one range that waits for it go on. */
static void reader_slot_give(struct files_source *source)
{
    struct sched_range range;

    pthread_mutex_lock(&source->lock);
    source->readers--;
    source->released = true;
    struct waiting_range *waiting = source->waiting;
    if (waiting != NULL) {
        source->waiting = waiting->next;
        range = waiting->range;
        waiting->next = source->spare;
        source->spare = waiting;
    }
    pthread_mutex_unlock(&source->lock);
    if (waiting != NULL) {
        sched_requeue(&range);
    }
}

static void source_drop(struct op_source *base, void *state)
{
    reader_destroy(state);
    reader_slot_give((struct files_source *)base);
}

/* NULL with *waits: another reader must end first; NULL without: the job has failed. */
static struct reader *source_reader(struct files_source *source, const struct sched_range *range,
                                    bool *waits)
{
    struct scan_files *files = source->files;
    struct scan_file *file = file_of_unit(files, range->begin);
    const uint64_t begin = range->begin - file->unit_begin;
    const uint64_t segment_end = (begin / SEGMENT_BYTES + 1) * SEGMENT_BYTES;
    const uint64_t end =
        file->serial || segment_end > file->file_bytes ? file->file_bytes : segment_end;
    const struct nu_budget *refused;
    struct exec_error err;

    assert(range->end >= file->unit_begin + end); /* ranges are cut at multiples of a segment */
    *waits = !reader_slot_take(source);
    if (*waits) {
        return NULL;
    }
    struct reader *reader = reader_create(files, file, begin, end, range->node, &refused);
    if (reader != NULL) {
        return reader;
    }
    pthread_mutex_lock(&source->lock);
    *waits = source->readers > 1; /* their memory will come back */
    source->readers -= *waits;
    pthread_mutex_unlock(&source->lock);
    if (!*waits) {
        job_memory_error(&err, refused, "reading a file");
        err.rel = files->rel_index;
        job_fail(files->job, &err);
        reader_slot_give(source);
    }
    return NULL;
}

/* ---- scan ----------------------------------------------------------------------------------- */

static uint64_t reader_unit_end(const struct reader *reader)
{
    return reader->file->unit_begin + reader->end;
}

/* The unit goes on later: says how much of the range belongs to the reader. */
static void range_keep(struct sched_range *range, const struct reader *reader)
{
    const uint64_t left = reader_unit_end(reader) - range->begin;
    range->unsplit = left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;
}

static void range_advance(struct sched_range *range, const struct reader *reader)
{
    const uint64_t at = reader->file->unit_begin + reader_position(reader);
    const uint64_t last = reader_unit_end(reader) - 1; /* the unit ends when the reader says so */
    const uint64_t begin = at < last ? at : last;

    range->begin = begin > range->begin ? begin : range->begin;
}

static enum push_result scan_wait(struct pipe_run *run, struct sched_range *range,
                                  const struct reader *reader)
{
    range_keep(range, reader);
    run->waits_for_source = true;
    return PUSH_SUSPEND;
}

/* The morsel ends here. While a read is under way the reader cannot be thrown away, so the range
 * waits for that first, whatever it would wait for next: a batch that was not taken is pushed again
 * then. */
static enum push_result scan_leave(struct pipe_run *run, struct sched_range *range,
                                   struct reader *reader, enum push_result result)
{
    if (!reader_is_idle(reader)) {
        reader->stopped |= result == PUSH_STOP || result == PUSH_FAILED;
        return scan_wait(run, range, reader);
    }
    range_keep(range, reader);
    return result;
}

static enum push_result scan_push(struct pipe_run *run, struct sched_range *range,
                                  struct reader *reader)
{
    const uint32_t rows = reader->batch.row_count;
    const enum push_result result = pipe_push_source(run, &reader->batch);

    if (result == PUSH_MORE || result == PUSH_STOP) {
        run->job->workers[run->worker].rows_scanned += rows;
        reader_taken(reader);
        range_advance(range, reader);
    }
    return result;
}

static enum push_result scan_reader(struct files_source *source, struct pipe_run *run,
                                    struct sched_range *range, struct reader *reader)
{
    do {
        const enum reader_step step = reader_next(reader, run);
        if (reader->counting) {
            atomic_store_explicit(&source->doomed, true, memory_order_relaxed);
        }
        if (step == READER_WAIT) {
            return scan_wait(run, range, reader);
        }
        if (step == READER_FAILED) {
            return scan_leave(run, range, reader, PUSH_FAILED);
        }
        if (step == READER_DONE) {
            range->begin = reader_unit_end(reader);
            run->state = NULL;
            source_drop(&source->base, reader);
            return PUSH_MORE;
        }
        const enum push_result result = scan_push(run, range, reader);
        if (result != PUSH_MORE) {
            return scan_leave(run, range, reader, result);
        }
    } while (!pipe_time_is_up(run));
    return scan_leave(run, range, reader, PUSH_MORE);
}

/* The job is about to fail: nobody needs these rows. Not PUSH_STOP, which would end the pipeline
 * before the wrong row's line is known. */
static enum push_result scan_doomed(struct files_source *source, struct pipe_run *run,
                                    struct sched_range *range)
{
    struct reader *reader = run->state;

    if (reader != NULL && !reader_is_idle(reader)) {
        return scan_wait(run, range, reader);
    }
    if (reader != NULL) {
        run->state = NULL;
        run->batch_pending = false;
        source_drop(&source->base, reader);
    }
    range->begin = range->end;
    return PUSH_MORE;
}

static enum push_result files_scan(struct op_source *base, struct pipe_run *run,
                                   struct sched_range *range, uint64_t unit_target)
{
    struct files_source *source = (struct files_source *)base;
    struct reader *reader = run->state;
    bool waits = false;

    (void)unit_target; /* a morsel is what one segment gives within its time */
    if (atomic_load_explicit(&source->doomed, memory_order_relaxed) &&
        (reader == NULL || !reader->counting)) {
        return scan_doomed(source, run, range);
    }
    if (reader == NULL) {
        reader = source_reader(source, range, &waits);
        run->state = reader;
    }
    if (reader == NULL && !waits) {
        return PUSH_FAILED;
    }
    if (reader == NULL) {
        const uint64_t left = range->end - range->begin;
        range->unsplit = left < SEGMENT_BYTES ? (uint32_t)left : SEGMENT_BYTES;
        run->waits_for_source = true;
        return PUSH_SUSPEND;
    }
    if (reader->stopped) {
        return PUSH_STOP;
    }
    return scan_reader(source, run, range, reader);
}

/* ---- waiting -------------------------------------------------------------------------------- */

static bool slot_park(struct files_source *source, uint32_t worker, const struct sched_range *range)
{
    pthread_mutex_lock(&source->lock);
    struct waiting_range *waiting = source->spare;
    if (waiting != NULL) {
        source->spare = waiting->next;
    } else {
        waiting = nu_arena_alloc(&source->files->job->workers[worker].arena, sizeof *waiting,
                                 _Alignof(struct waiting_range));
    }
    /* Without memory for the note the dispatcher asks again and again, which is slow but right. */
    const bool parks = waiting != NULL && !source->released && source->readers > 0 &&
                       !job_is_stopping(source->files->job);
    if (parks) {
        waiting->range = *range;
        waiting->next = source->waiting;
        source->waiting = waiting;
    } else if (waiting != NULL) {
        waiting->next = source->spare;
        source->spare = waiting;
    }
    pthread_mutex_unlock(&source->lock);
    return parks;
}

static bool files_park(struct op_source *base, uint32_t worker, void *state,
                       const struct sched_range *range)
{
    return state != NULL ? reader_park(state, range)
                         : slot_park((struct files_source *)base, worker, range);
}

static void files_unpark_all(struct op_source *base)
{
    struct files_source *source = (struct files_source *)base;
    struct waiting_range *waiting;

    pthread_mutex_lock(&source->lock);
    waiting = source->waiting;
    source->waiting = NULL;
    source->released = true;
    pthread_mutex_unlock(&source->lock);
    while (waiting != NULL) { /* the notes are in the arenas of the job, which these ranges keep */
        struct waiting_range *next = waiting->next;
        const struct sched_range range = waiting->range;
        sched_requeue(&range);
        waiting = next;
    }
}

static void files_close(struct op_source *base, struct job_context *job)
{
    struct files_source *source = (struct files_source *)base;

    (void)job;
    assert(source->readers == 0);
    scan_files_close(source->files);
    pthread_mutex_destroy(&source->lock);
}

static const struct source_kind files_kind = {
    .name = "file scan",
    .start = files_start,
    .scan = files_scan,
    .park = files_park,
    .unpark_all = files_unpark_all,
    .drop = source_drop,
    .close = files_close,
    .unit_hint = SEGMENT_BYTES,
    .unit_align = SEGMENT_BYTES,
};

struct op_source *scan_files_source(struct scan_files *files, const uint32_t *columns,
                                    uint32_t column_count)
{
    struct nu_arena *arena = &files->job->plan;
    struct files_source *source =
        nu_arena_calloc(arena, sizeof *source, _Alignof(struct files_source));
    uint32_t *outputs =
        nu_arena_alloc(arena, (column_count + (size_t)1) * sizeof *outputs, _Alignof(uint32_t));
    uint64_t unit = 0;

    if (source == NULL || outputs == NULL) {
        return NULL;
    }
    if (column_count > 0) {
        memcpy(outputs, columns, column_count * sizeof *outputs);
    }
    files->layout.outputs = outputs;
    files->layout.output_count = column_count;
    for (uint32_t i = 0; i < files->file_count; i++) {
        files->files[i].unit_begin = unit;
        unit += (files->files[i].file_bytes + SEGMENT_BYTES - 1) / SEGMENT_BYTES * SEGMENT_BYTES;
    }
    source->base.kind = &files_kind;
    source->base.rel = files->rel_index;
    source->files = files;
    source->readers_max = READERS_EACH * files->job->worker_count + READERS_MORE;
    pthread_mutex_init(&source->lock, NULL);
    return &source->base;
}
