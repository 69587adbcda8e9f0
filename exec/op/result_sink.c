#include "op/result_sink.h"

#include "op/job_context.h"
#include "op/pipe_life.h"
#include "op/result_chunk.h"

#include <assert.h>
#include <inttypes.h>
#include <time.h>

enum {
    WINDOW_FIRST = 2,             /* chunks before the first release */
    CHUNK_BYTES_FIRST = 64 << 10, /* doubled with every release */
    STRING_BYTES_FIRST = 16,      /* mean assumed before any row was seen */
    FLUSH_INTERVAL_NS = 20000000, /* between part-filled chunks to an idle consumer */
};

struct result_worker {
    _Alignas(64) struct result_chunk *chunk; /* being filled in this morsel; NULL: none */
};

struct result_sink {
    struct op_sink op; /* first */
    struct result_shape shape;
    struct result_options options;
    struct result_worker *workers;
    uint32_t window_max;
    _Atomic uint64_t rows_claimed; /* against rows_max */

    pthread_mutex_t lock; /* guards the rest; never held over a callback or an allocation */
    struct result_chunk *free, *partial;
    struct result_chunk *outbox, **outbox_tail; /* sealed, in order, not yet handed on */
    struct pipe_suspended *parked, **parked_tail;
    uint32_t chunk_count; /* made */
    uint32_t window;      /* may be made */
    uint32_t chunks_out;
    size_t chunk_bytes;    /* target of the next chunk */
    uint64_t last_sent_ns; /* 0: nothing was sent yet */
    uint64_t rows, bytes, chunks;
    bool is_delivering, is_closed;
};

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct result_chunk *list_pop(struct result_chunk **list)
{
    struct result_chunk *chunk = *list;
    if (chunk != NULL) {
        *list = chunk->next;
    }
    return chunk;
}

static void list_push(struct result_chunk **list, struct result_chunk *chunk)
{
    chunk->next = *list;
    *list = chunk;
}

/* ---- parked ranges, under the lock
 * ------------------------------------------------------------------- */

static bool has_room(const struct result_sink *sink)
{
    return sink->partial != NULL || sink->free != NULL || sink->chunk_count < sink->window;
}

/* One range for one chunk: whoever runs looks again at the end of its morsel, so that ranges follow
 * each other as long as there is room. Returns false when nothing is to be requeued. */
static bool parked_take(struct result_sink *sink, struct sched_range *range_out)
{
    struct pipe_suspended *suspended = sink->parked;

    if (suspended == NULL || !has_room(sink)) {
        return false;
    }
    sink->parked = suspended->next;
    if (sink->parked == NULL) {
        sink->parked_tail = &sink->parked;
    }
    *range_out = suspended->range;
    return true;
}

static bool result_park(struct op_sink *op, uint32_t worker, const struct sched_range *range)
{
    struct result_sink *sink = (struct result_sink *)op;
    struct pipe_suspended *suspended = range->cursor;
    bool parks;

    (void)worker;
    pthread_mutex_lock(&sink->lock);
    parks =
        !has_room(sink) && !job_is_stopping(sink->shape.job) && !sched_stopping(range->pipeline);
    if (parks) {
        suspended->range = *range;
        suspended->next = NULL;
        *sink->parked_tail = suspended;
        sink->parked_tail = &suspended->next;
    }
    pthread_mutex_unlock(&sink->lock);
    return parks;
}

static void result_unpark_all(struct op_sink *op)
{
    struct result_sink *sink = (struct result_sink *)op;
    struct pipe_suspended *suspended;

    pthread_mutex_lock(&sink->lock);
    suspended = sink->parked;
    sink->parked = NULL;
    sink->parked_tail = &sink->parked;
    pthread_mutex_unlock(&sink->lock);
    while (suspended != NULL) {
        struct pipe_suspended *next = suspended->next;
        const struct sched_range range = suspended->range;
        sched_requeue(&range); /* from here on the range and its record are someone else's */
        suspended = next;
    }
}

/* ---- handing on
 * -------------------------------------------------------------------------------------- */

static void means_update(struct result_sink *sink, const struct result_chunk *chunk)
{
    for (uint32_t c = 0; c < sink->shape.schema->field_count; c++) {
        if (chunk->columns[c].offsets != NULL) {
            const uint64_t mean =
                (chunk->columns[c].values_bytes + chunk->row_count - 1) / chunk->row_count;
            atomic_store_explicit(&sink->shape.mean_bytes[c], (uint32_t)mean, memory_order_relaxed);
        }
    }
}

/* Called with the lock held, which is let go during callbacks. One worker at a time hands on;
 * others leave their chunks in the outbox. */
static void outbox_deliver(struct result_sink *sink)
{
    if (sink->is_delivering) {
        return;
    }
    sink->is_delivering = true;
    while (sink->outbox != NULL) {
        struct result_chunk *chunk = list_pop(&sink->outbox);
        if (sink->outbox == NULL) {
            sink->outbox_tail = &sink->outbox;
        }
        pthread_mutex_unlock(&sink->lock);
        sink->options.deliver(sink->options.job, &chunk->chunk);
        pthread_mutex_lock(&sink->lock);
    }
    sink->is_delivering = false;
}

/* Under the lock. */
static void chunk_send(struct result_sink *sink, struct result_chunk *chunk, bool is_last)
{
    result_chunk_seal(chunk, &sink->shape);
    chunk->chunk.is_last = is_last;
    means_update(sink, chunk);
    chunk->next = NULL;
    *sink->outbox_tail = chunk;
    sink->outbox_tail = &chunk->next;
    sink->chunks_out++;
    sink->last_sent_ns = clock_ns();
    sink->rows += chunk->chunk.row_count;
    sink->bytes += chunk->chunk.byte_count;
    sink->chunks++;
    outbox_deliver(sink);
}

/* A chunk with room for the row at `position`. NULL: no credit, or the job has failed. */
static struct result_chunk *chunk_acquire(struct result_sink *sink, struct pipe_run *run,
                                          const struct batch *batch, uint32_t position)
{
    struct result_chunk *chunk;
    struct exec_error err;
    bool makes = false;

    pthread_mutex_lock(&sink->lock);
    chunk = list_pop(&sink->partial);
    if (chunk == NULL) {
        chunk = list_pop(&sink->free);
    }
    if (chunk == NULL && sink->chunk_count < sink->window) {
        sink->chunk_count++;
        makes = true;
    }
    const size_t target_bytes = sink->chunk_bytes;
    pthread_mutex_unlock(&sink->lock);
    if (makes) {
        struct nu_arena *arena = &run->job->workers[run->worker].arena;
        chunk = result_chunk_create(&sink->shape, arena);
        if (chunk == NULL) {
            job_fail_memory(run->job, arena, "a chunk of the result");
            return NULL;
        }
        chunk->sink = sink;
        chunk->chunk.job = sink->options.job;
    }
    if (chunk == NULL || chunk->row_count != 0) {
        return chunk;
    }
    if (result_chunk_open(chunk, &sink->shape, target_bytes, run->node, batch, position, &err) !=
        EXEC_OK) {
        err.rel = sink->op.rel;
        job_fail(run->job, &err);
        pthread_mutex_lock(&sink->lock);
        list_push(&sink->free, chunk);
        pthread_mutex_unlock(&sink->lock);
        return NULL;
    }
    return chunk;
}

static bool rows_claim(struct result_sink *sink, struct pipe_run *run, uint32_t rows)
{
    struct exec_error err;

    if (sink->options.rows_max == 0) {
        return true;
    }
    /* relaxed: only the sum matters. */
    if (atomic_fetch_add_explicit(&sink->rows_claimed, rows, memory_order_relaxed) + rows <=
        sink->options.rows_max) {
        return true;
    }
    EXEC_FAIL(&err, EXEC_LIMIT, "the result has more than %" PRIu64 " rows (result_row_limit)",
              sink->options.rows_max);
    err.rel = sink->op.rel;
    job_fail(run->job, &err);
    return false;
}

static enum push_result result_push(struct op_sink *op, struct pipe_run *run, uint32_t index,
                                    const struct batch *batch)
{
    struct result_sink *sink = (struct result_sink *)op;
    struct result_worker *own = &sink->workers[run->worker];
    struct op_cursor *cursor = &run->cursors[index];

    while (cursor->position < batch->sel_count) {
        if (own->chunk == NULL) {
            own->chunk = chunk_acquire(sink, run, batch, cursor->position);
        }
        if (own->chunk == NULL) {
            return job_is_stopping(run->job) ? PUSH_FAILED : PUSH_SUSPEND;
        }
        const uint32_t taken =
            result_chunk_append(own->chunk, &sink->shape, batch, cursor->position);
        if (!rows_claim(sink, run, taken)) {
            return PUSH_FAILED;
        }
        cursor->position += taken;
        run->job->workers[run->worker].rows_output += taken;
        if (taken == 0 || own->chunk->row_count == own->chunk->row_capacity) {
            pthread_mutex_lock(&sink->lock);
            chunk_send(sink, own->chunk, false);
            pthread_mutex_unlock(&sink->lock);
            own->chunk = NULL;
        }
    }
    return PUSH_MORE;
}

/* Rows go out early to a consumer that has nothing: the very first ones at once, later ones at most
 * every FLUSH_INTERVAL_NS. */
static void result_morsel_end(struct op_sink *op, struct pipe_run *run)
{
    struct result_sink *sink = (struct result_sink *)op;
    struct result_chunk *chunk = sink->workers[run->worker].chunk;
    const uint64_t now_ns = clock_ns();
    struct sched_range range;

    sink->workers[run->worker].chunk = NULL;
    pthread_mutex_lock(&sink->lock);
    if (chunk != NULL) {
        if (chunk->row_count == 0) {
            list_push(&sink->free, chunk);
        } else if (sink->chunks_out == 0 && !job_is_stopping(sink->shape.job) &&
                   (sink->last_sent_ns == 0 || now_ns - sink->last_sent_ns > FLUSH_INTERVAL_NS)) {
            chunk_send(sink, chunk, false);
        } else {
            list_push(&sink->partial, chunk);
        }
    }
    const bool requeues = parked_take(sink, &range);
    pthread_mutex_unlock(&sink->lock);
    if (requeues) {
        sched_requeue(&range);
    }
}

void result_sink_release(struct exec_chunk *released)
{
    struct result_chunk *chunk = (struct result_chunk *)released;
    struct result_sink *sink = chunk->sink;
    struct sched_range range;

    pthread_mutex_lock(&sink->lock);
    assert(sink->chunks_out > 0);
    sink->chunks_out--;
    chunk->row_count = 0;
    if (sink->window < sink->window_max) {
        sink->window++;
    }
    sink->chunk_bytes *= 2;
    if (sink->chunk_bytes > sink->options.batch_bytes) {
        sink->chunk_bytes = sink->options.batch_bytes;
    }
    if (sink->is_closed) {
        result_chunk_free(chunk, &sink->shape);
    } else {
        list_push(&sink->free, chunk);
    }
    const bool requeues = parked_take(sink, &range);
    pthread_mutex_unlock(&sink->lock);
    if (requeues) {
        sched_requeue(&range);
    }
}

/* ---- the end
 * ------------------------------------------------------------------------------------------- */

/* Under the lock: from here on released chunks go back to the pool at once. */
static void sink_close(struct result_sink *sink)
{
    struct result_chunk *chunk;

    sink->is_closed = true;
    while ((chunk = list_pop(&sink->partial)) != NULL) {
        result_chunk_free(chunk, &sink->shape);
    }
    while ((chunk = list_pop(&sink->free)) != NULL) {
        result_chunk_free(chunk, &sink->shape);
    }
}

static enum exec_code result_finish(struct op_sink *op, struct job_context *job, uint32_t worker,
                                    struct exec_error *err)
{
    struct result_sink *sink = (struct result_sink *)op;
    struct result_chunk *chunk;

    (void)job;
    (void)worker;
    (void)err;
    pthread_mutex_lock(&sink->lock);
    while ((chunk = list_pop(&sink->partial)) != NULL) {
        chunk_send(sink, chunk, true);
    }
    sink_close(sink);
    pthread_mutex_unlock(&sink->lock);
    return EXEC_OK;
}

static void result_abort(struct op_sink *op, struct job_context *job)
{
    struct result_sink *sink = (struct result_sink *)op;

    (void)job;
    pthread_mutex_lock(&sink->lock);
    sink_close(sink);
    pthread_mutex_unlock(&sink->lock);
}

static const struct sink_kind result_kind = {
    .name = "result",
    .push = result_push,
    .park = result_park,
    .unpark_all = result_unpark_all,
    .morsel_end = result_morsel_end,
    .finish = result_finish,
    .abort = result_abort,
};

struct op_sink *result_sink_create(struct job_context *job, uint32_t rel,
                                   const struct exec_schema *schema, const uint32_t *positions,
                                   const struct result_options *options)
{
    struct result_sink *sink =
        nu_arena_calloc(&job->plan, sizeof *sink, _Alignof(struct result_sink));

    if (sink == NULL) {
        return NULL;
    }
    sink->op.kind = &result_kind;
    sink->op.rel = rel;
    sink->shape = (struct result_shape){
        .job = job,
        .schema = schema,
        .positions = positions,
        .mean_bytes =
            nu_arena_alloc(&job->plan, (schema->field_count + 1) * sizeof(_Atomic uint32_t),
                           _Alignof(_Atomic uint32_t)),
        .rows_max = options->batch_rows,
    };
    sink->workers = nu_arena_calloc(&job->plan, job->worker_count * sizeof *sink->workers, 64);
    if (sink->workers == NULL || sink->shape.mean_bytes == NULL) {
        return NULL;
    }
    for (uint32_t c = 0; c < schema->field_count; c++) {
        atomic_init(&sink->shape.mean_bytes[c], STRING_BYTES_FIRST);
    }
    sink->options = *options;
    sink->window_max = job->worker_count + 2;
    sink->window = WINDOW_FIRST;
    sink->chunk_bytes =
        options->batch_bytes < CHUNK_BYTES_FIRST ? options->batch_bytes : CHUNK_BYTES_FIRST;
    sink->outbox_tail = &sink->outbox;
    sink->parked_tail = &sink->parked;
    pthread_mutex_init(&sink->lock, NULL);
    return &sink->op;
}

void result_sink_figures(struct op_sink *op, struct result_figures *out)
{
    struct result_sink *sink = (struct result_sink *)op;

    pthread_mutex_lock(&sink->lock);
    *out = (struct result_figures){
        .rows = sink->rows,
        .bytes = sink->bytes,
        .chunks = sink->chunks,
        .chunks_out = sink->chunks_out,
        .is_waiting = sink->parked != NULL,
    };
    pthread_mutex_unlock(&sink->lock);
}

/* ---- counting
 * ------------------------------------------------------------------------------------------- */

static enum push_result count_push(struct op_sink *sink, struct pipe_run *run, uint32_t index,
                                   const struct batch *batch)
{
    (void)sink;
    (void)index;
    run->job->workers[run->worker].rows_output += batch->sel_count;
    return PUSH_MORE;
}

static const struct sink_kind count_kind = {.name = "count", .push = count_push};

struct op_sink *count_sink_create(struct job_context *job, uint32_t rel)
{
    struct op_sink *sink = nu_arena_calloc(&job->plan, sizeof *sink, _Alignof(struct op_sink));

    if (sink != NULL) {
        sink->kind = &count_kind;
        sink->rel = rel;
    }
    return sink;
}
