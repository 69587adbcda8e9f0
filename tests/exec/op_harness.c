#include "op_harness.h"

#include "table/dictionary.h"
#include "vec/bitmap.h"
#include "vec/value.h"

#include <assert.h>
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells --------------------------------------------------------------------------------------
 */

enum { COLUMNS_MAX = 128, LINE_BYTES = 8192 };

struct cells cells_make(uint32_t row_count, const struct exec_type *types, uint32_t column_count)
{
    struct cells cells = {.row_count = row_count, .column_count = column_count, .types = types};

    cells.at = calloc((size_t)row_count * column_count + 1, sizeof *cells.at);
    cr_assert_not_null(cells.at);
    return cells;
}

void cells_free(struct cells *cells)
{
    free(cells->at);
    cells->at = NULL;
}

uint64_t random_next(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static bool is_text(uint8_t kind)
{
    return kind == EXEC_TYPE_UTF8 || kind == EXEC_TYPE_BINARY;
}

static bool is_real(uint8_t kind)
{
    return kind == EXEC_TYPE_FLOAT32 || kind == EXEC_TYPE_FLOAT64;
}

static bool is_signed(uint8_t kind)
{
    return (kind >= EXEC_TYPE_INT8 && kind <= EXEC_TYPE_INT64) || kind == EXEC_TYPE_DATE32 ||
           kind == EXEC_TYPE_TIMESTAMP || kind == EXEC_TYPE_DECIMAL128;
}

static __int128 integer_extreme(uint8_t kind, bool top)
{
    const uint32_t bits = kind == EXEC_TYPE_BOOL ? 1 : (uint32_t)exec_type_width(kind) * 8;

    if (kind == EXEC_TYPE_DECIMAL128) {
        return top ? (__int128)UINT64_MAX * 1000000007 : -(__int128)UINT64_MAX * 1000000009;
    }
    if (!is_signed(kind)) {
        return top ? ((__int128)1 << bits) - 1 : 0;
    }
    return top ? ((__int128)1 << (bits - 1)) - 1 : -((__int128)1 << (bits - 1));
}

static double random_real(uint64_t value, uint64_t dice)
{
    static const double special[] = {NAN, -NAN, 0.0, -0.0, INFINITY, -INFINITY, 1e30, -1e30, 0.125};

    if (dice % 13 == 0) {
        return special[dice / 13 % (sizeof special / sizeof special[0])];
    }
    return (double)value * 0.25 - 3;
}

void cell_random(struct cell *cell, const struct exec_type *type, uint64_t distinct,
                 uint32_t null_percent, uint64_t *seed)
{
    const uint64_t value = random_next(seed) % distinct;
    const uint64_t dice = random_next(seed);

    *cell = (struct cell){.null = random_next(seed) % 100 < null_percent};
    if (cell->null) {
        return;
    }
    if (is_text(type->kind)) {
        /* Long texts share a beginning longer than a view holds. */
        cell->text_bytes = (uint32_t)snprintf(
            cell->text, sizeof cell->text,
            value % 3 == 0 ? "a long common beginning %" PRIu64 : "%" PRIu64, value);
    } else if (is_real(type->kind)) {
        cell->real = random_real(value, dice);
        if (type->kind == EXEC_TYPE_FLOAT32) {
            cell->real = (double)(float)cell->real;
        }
    } else if (dice % 17 == 0) {
        cell->integer = integer_extreme(type->kind, dice / 17 % 2 == 0);
    } else {
        cell->integer = type->kind == EXEC_TYPE_BOOL ? value % 2 : value % 100;
        if (type->kind != EXEC_TYPE_BOOL && exec_type_width(type->kind) > 1) {
            cell->integer = exec_type_width(type->kind) == 2 ? value % 30000 : value;
        }
    }
}

int cell_compare(const struct cell *a, const struct cell *b, const struct exec_type *type)
{
    if (is_text(type->kind)) {
        const uint32_t shorter = a->text_bytes < b->text_bytes ? a->text_bytes : b->text_bytes;
        const int order = memcmp(a->text, b->text, shorter);
        return order != 0 ? order : (int)a->text_bytes - (int)b->text_bytes;
    }
    if (is_real(type->kind)) {
        if (isnan(a->real) || isnan(b->real)) {
            return (isnan(a->real) != 0) - (isnan(b->real) != 0);
        }
        return (a->real > b->real) - (a->real < b->real);
    }
    return (a->integer > b->integer) - (a->integer < b->integer);
}

bool cell_equal(const struct cell *a, const struct cell *b, const struct exec_type *type)
{
    if (a->null || b->null) {
        return a->null && b->null;
    }
    return cell_compare(a, b, type) == 0;
}

static void cell_store(const struct cell *cell, uint8_t kind, uint32_t row, void *data)
{
    switch (kind) {
        case EXEC_TYPE_FLOAT32: ((float *)data)[row] = (float)cell->real; break;
        case EXEC_TYPE_FLOAT64: ((double *)data)[row] = cell->real; break;
        case EXEC_TYPE_UTF8:
        case EXEC_TYPE_BINARY:
            ((struct string_view *)data)[row] = string_view_make(cell->text, cell->text_bytes);
            break;
        default:
            memcpy((unsigned char *)data + (size_t)row * exec_type_width(kind), &cell->integer,
                   exec_type_width(kind));
            break;
    }
}

static void cell_load(struct cell *cell, const struct vec *vec, uint32_t row)
{
    const uint32_t at = vec->constant ? 0 : row;
    const size_t width = exec_type_width(vec->kind);
    const unsigned char *from = (const unsigned char *)vec->data + at * width;

    *cell = (struct cell){.null = !vec_is_valid(vec, row)};
    if (cell->null) {
        return;
    }
    if (is_text(vec->kind)) {
        struct string_view view;
        memcpy(&view, from, sizeof view);
        cell->text_bytes = view.size;
        cr_assert_leq(view.size, CELL_TEXT_BYTES);
        memcpy(cell->text, string_view_bytes(&view), view.size);
    } else if (is_real(vec->kind)) {
        float single;
        memcpy(&single, from, sizeof single);
        cell->real = (double)single;
        if (vec->kind == EXEC_TYPE_FLOAT64) {
            memcpy(&cell->real, from, sizeof cell->real);
        }
    } else {
        memcpy(&cell->integer, from, width);
        if (is_signed(vec->kind) && width < 16 && (from[width - 1] & 0x80) != 0) {
            cell->integer -= (__int128)1 << (width * 8);
        }
    }
}

/* ---- lines --------------------------------------------------------------------------------------
 */

static size_t cell_print(char *text, size_t room, const struct cell *cell,
                         const struct exec_type *type)
{
    if (cell->null) {
        return (size_t)snprintf(text, room, "NULL ");
    }
    if (is_text(type->kind)) {
        return (size_t)snprintf(text, room, "'%.*s' ", (int)cell->text_bytes, cell->text);
    }
    if (is_real(type->kind)) {
        uint64_t bits;
        const double real = isnan(cell->real) ? (double)NAN : cell->real;
        memcpy(&bits, &real, sizeof bits);
        return (size_t)snprintf(text, room, "%.17g/%" PRIx64 " ", isnan(real) ? 0 : real,
                                isnan(real) ? 0x7ff8000000000000 : bits);
    }
    return (size_t)snprintf(text, room, "%" PRIx64 ":%" PRIx64 " ",
                            (uint64_t)((unsigned __int128)cell->integer >> 64),
                            (uint64_t)cell->integer);
}

static void line_print(char *text, size_t room, const struct cell *const *cells,
                       const struct exec_type *const *types, uint32_t count)
{
    size_t end = 0;

    text[0] = '\0';
    for (uint32_t c = 0; c < count; c++) {
        end += cell_print(text + end, room - end, cells[c], types[c]);
        cr_assert_lt(end, room);
    }
}

static void lines_add_text(struct lines *lines, const char *text)
{
    if (lines->count == lines->capacity) {
        lines->capacity = lines->capacity == 0 ? 1024 : lines->capacity * 2;
        lines->at = realloc(lines->at, lines->capacity * sizeof *lines->at);
        cr_assert_not_null(lines->at);
    }
    lines->at[lines->count++] = strdup(text);
}

void lines_add(struct lines *lines, const struct cell *const *cells,
               const struct exec_type *const *types, uint32_t count)
{
    char text[LINE_BYTES];

    line_print(text, sizeof text, cells, types, count);
    lines_add_text(lines, text);
}

static int line_order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void lines_sort(struct lines *lines)
{
    if (lines->count > 1) {
        qsort(lines->at, lines->count, sizeof *lines->at, line_order);
    }
}

void lines_free(struct lines *lines)
{
    for (uint64_t i = 0; i < lines->count; i++) {
        free(lines->at[i]);
    }
    free(lines->at);
    *lines = (struct lines){0};
}

void lines_assert_equal(struct lines *got, struct lines *wanted, const char *what)
{
    const uint64_t count = got->count < wanted->count ? got->count : wanted->count;

    lines_sort(got);
    lines_sort(wanted);
    for (uint64_t i = 0; i < count; i++) {
        cr_assert_str_eq(got->at[i], wanted->at[i], "%s: line %" PRIu64 ": got %s, wanted %s", what,
                         i, got->at[i], wanted->at[i]);
    }
    cr_assert_eq(got->count, wanted->count, "%s: got %" PRIu64 " rows, wanted %" PRIu64, what,
                 got->count, wanted->count);
}

/* ---- neighbours ---------------------------------------------------------------------------------
 */

enum { RANGES_MAX = 64 };

struct insides {
    struct nu_topology topology;
    pthread_mutex_t lock;

    struct sched_range ranges[RANGES_MAX];
    uint32_t range_count;
};

/* What travels with a suspended batch, in run->rows, which nobody else uses here. */
enum { RUN_REFUSED, RUN_DIGEST, RUN_ASKED };

static struct harness *harness_of(const struct job_context *job)
{
    return job->job;
}

static struct insides *insides_of(const struct harness *harness)
{
    return harness->internal;
}

enum exec_code job_fail(struct job_context *job, const struct exec_error *err)
{
    struct harness *harness = harness_of(job);

    pthread_mutex_lock(&insides_of(harness)->lock);
    if (harness->failure.code == EXEC_OK) {
        harness->failure = *err;
    }
    pthread_mutex_unlock(&insides_of(harness)->lock);
    atomic_store(&job->failed, true);
    return err->code;
}

enum exec_code job_fail_memory(struct job_context *job, const struct nu_arena *arena,
                               const char *what)
{
    struct exec_error err;

    EXEC_FAIL(&err, EXEC_MEMORY_BUDGET, "%s: %s", what,
              arena->refused != NULL ? arena->refused->name : "kernel");
    return job_fail(job, &err);
}

static void batch_line(const struct harness *harness, const struct batch *batch, uint32_t row,
                       char *text, size_t room)
{
    struct cell cells[COLUMNS_MAX];
    const struct cell *at[COLUMNS_MAX];
    const struct exec_type *types[COLUMNS_MAX];

    cr_assert_leq(batch->column_count, COLUMNS_MAX);
    for (uint32_t c = 0; c < batch->column_count; c++) {
        cr_assert_eq(batch->columns[c].kind, harness->out_types[c].kind, "column %u", c);
        cell_load(&cells[c], &batch->columns[c], row);
        at[c] = &cells[c];
        types[c] = &harness->out_types[c];
    }
    line_print(text, room, at, types, batch->column_count);
}

static uint64_t batch_digest(const struct harness *harness, const struct batch *batch)
{
    uint64_t digest = 14695981039346656037U + batch->sel_count;
    char text[LINE_BYTES];

    for (uint32_t p = 0; p < batch->sel_count; p++) {
        batch_line(harness, batch, batch_row(batch, p), text, sizeof text);
        for (const char *c = text; *c != '\0'; c++) {
            digest = (digest ^ (unsigned char)*c) * 1099511628211U;
        }
    }
    return digest;
}

static void take_batch(struct harness *harness, const struct batch *batch)
{
    char text[LINE_BYTES];

    pthread_mutex_lock(&insides_of(harness)->lock);
    harness->rows_out += batch->sel_count;
    harness->batches_pushed++;
    if (batch->sel_count > harness->rows_batch_max) {
        harness->rows_batch_max = batch->sel_count;
    }
    for (uint32_t p = 0; !harness->count_only && p < batch->sel_count; p++) {
        batch_line(harness, batch, batch_row(batch, p), text, sizeof text);
        lines_add_text(&harness->lines, text);
    }
    pthread_mutex_unlock(&insides_of(harness)->lock);
}

enum push_result pipe_push(struct pipe_run *run, uint32_t index, const struct batch *batch)
{
    struct harness *harness = harness_of(run->job);

    (void)index;
    if (job_is_stopping(run->job)) {
        return PUSH_FAILED;
    }
    if (batch->sel_count == 0) {
        return PUSH_MORE;
    }
    cr_assert_leq(batch->sel_count, BATCH_ROWS);
    cr_assert_leq(batch->row_count, BATCH_ROWS);
    if (harness->refusals > 0) {
        const uint64_t digest = batch_digest(harness, batch);
        cr_assert(run->rows[RUN_REFUSED] == 0 || run->rows[RUN_DIGEST] == digest,
                  "a refused batch was not made again");
        run->rows[RUN_DIGEST] = digest;
        if (run->rows[RUN_REFUSED]++ < harness->refusals) {
            return PUSH_SUSPEND;
        }
        run->rows[RUN_REFUSED] = 0;
    }
    take_batch(harness, batch);
    if (harness->cancel_after > 0 && harness->rows_out >= harness->cancel_after) {
        atomic_store(&run->job->failed, true);
    }
    return harness->stop_after > 0 && harness->rows_out >= harness->stop_after ? PUSH_STOP
                                                                               : PUSH_MORE;
}

enum push_result pipe_push_source(struct pipe_run *run, const struct batch *batch)
{
    return pipe_push(run, 0, batch);
}

bool pipe_time_is_up(struct pipe_run *run)
{
    const uint32_t every = harness_of(run->job)->time_every;
    const uint64_t cancel_after = harness_of(run->job)->cancel_after_questions;

    if (cancel_after > 0 && run->rows[RUN_ASKED] >= cancel_after) {
        atomic_store(&run->job->failed, true);
    }
    return (every > 0 && ++run->rows[RUN_ASKED] % every == 0) || job_is_stopping(run->job);
}

void pipe_add_range(struct pipe *pipe, uint64_t begin, uint64_t end, unsigned node, bool serial)
{
    struct insides *insides = insides_of((struct harness *)(void *)pipe);

    cr_assert_lt(insides->range_count, RANGES_MAX);
    insides->ranges[insides->range_count++] =
        (struct sched_range){.begin = begin, .end = end, .node = (uint16_t)node, .serial = serial};
}

/* ---- life
 * ----------------------------------------------------------------------------------------- */

void harness_init(struct harness *harness, uint32_t workers, uint32_t hash_bits_kept,
                  uint64_t limit_bytes)
{
    struct insides *insides = calloc(1, sizeof *insides);
    struct job_context *job = &harness->job;
    uint16_t *nodes = calloc(workers, sizeof *nodes);
    char why[256];

    *harness = (struct harness){.internal = insides};
    cr_assert_eq(nu_topology_read(&insides->topology, NULL, why, sizeof why), 0);
    pthread_mutex_init(&insides->lock, NULL);
    cr_assert_eq(nu_page_pool_create(&insides->topology, UINT64_C(1) << 32, &job->pages), 0);
    nu_budget_init(&job->budget, "job", limit_bytes, NULL);
    nu_arena_init(&job->plan, job->pages, 0, &job->budget);

    job->worker_count = workers;
    job->node_count = 1;
    job->worker_node = nodes;
    job->hash_bits_kept = hash_bits_kept;
    job->job = harness;
    job->workers = aligned_alloc(128, workers * sizeof *job->workers);
    memset(job->workers, 0, workers * sizeof *job->workers);
    harness->runs = calloc(workers, sizeof *harness->runs);
    for (uint32_t w = 0; w < workers; w++) {
        nu_arena_init(&job->workers[w].arena, job->pages, 0, &job->budget);
        nu_arena_init(&job->workers[w].scratch, job->pages, 0, &job->budget);
        harness->runs[w] = (struct pipe_run){
            .job = job,
            .worker = w,
            .scratch = &job->workers[w].scratch,
            .cursors = calloc(PIPE_OPS_MAX + 1, sizeof(struct op_cursor)),
        };
    }
}

void harness_fini(struct harness *harness)
{
    struct job_context *job = &harness->job;
    struct insides *insides = insides_of(harness);

    for (uint32_t w = 0; w < job->worker_count; w++) {
        nu_arena_destroy(&job->workers[w].arena);
        nu_arena_destroy(&job->workers[w].scratch);
        free(harness->runs[w].cursors);
    }
    nu_arena_destroy(&job->plan);

    cr_assert_eq(nu_budget_used(&job->budget), 0, "charged memory was not given back");
    nu_page_pool_destroy(job->pages);
    pthread_mutex_destroy(&insides->lock);
    free((void *)(uintptr_t)job->worker_node);
    free(job->workers);
    free(harness->runs);
    lines_free(&harness->lines);
    free(insides);
}

/* ---- feeding
 * ---------------------------------------------------------------------------------------- */

struct feed_batch {
    struct batch batch;
    uint16_t sel[BATCH_ROWS];
    struct vec columns[32];
    uint64_t valid[32][BATCH_WORDS];
    _Alignas(8) unsigned char codes[32][BATCH_ROWS * 4];
};

/* Rows [first, first + count) of cells; `gaps`: every row is followed by an unselected one. */
static struct feed_batch *batch_make(const struct cells *cells, uint32_t first, uint32_t count,
                                     bool gaps)
{
    struct feed_batch *feed = calloc(1, sizeof *feed);
    const uint32_t stride = gaps ? 2 : 1;

    for (uint32_t c = 0; c < cells->column_count; c++) {
        const uint8_t kind = cells->types[c].kind;
        void *data = aligned_alloc(64, (count * stride * exec_type_width(kind) + 127) / 64 * 64);
        bool constant = true;
        for (uint32_t r = 0; r < count; r++) {
            const struct cell *cell = cells_at(cells, first + r, c);
            const struct cell *other = cells_at(cells, first + (r * 7 + 1) % count, c);
            cell_store(cell, kind, r * stride, data);
            bitmap_put(feed->valid[c], r * stride, !cell->null);
            if (gaps) {
                cell_store(other, kind, r * stride + 1, data);
                bitmap_put(feed->valid[c], r * stride + 1, !other->null);
            }
            constant = constant && !is_real(kind) &&
                       cell_equal(cell, cells_at(cells, first, c), &cells->types[c]);
        }
        feed->columns[c] =
            (struct vec){.data = data, .valid = feed->valid[c], .kind = kind, .constant = constant};
    }
    for (uint32_t r = 0; r < count; r++) {
        feed->sel[r] = (uint16_t)(r * stride);
    }
    feed->batch = (struct batch){.row_count = count * stride,
                                 .sel_count = count,
                                 .sel = gaps ? feed->sel : NULL,
                                 .columns = feed->columns,
                                 .column_count = cells->column_count};
    return feed;
}

static void batch_free(struct feed_batch *feed)
{
    for (uint32_t c = 0; c < feed->batch.column_count; c++) {
        free((void *)(uintptr_t)feed->columns[c].data);
    }
    free(feed);
}

/* Codes of one width; dice say which. Texts under gaps have some too, or the code 0. */
static void bring_codes(struct feed_batch *feed, uint32_t c, const struct dictionary *dictionary,
                        uint64_t dice)
{
    const uint32_t count = feed->batch.row_count;
    const uint8_t least = dictionary_code_bytes(dictionary->count);
    const uint8_t bytes = (uint8_t)(least << dice % 3 > 4 ? 4 : least << dice % 3);
    struct vec *vec = &feed->columns[c];
    uint32_t found[BATCH_ROWS];
    uint64_t present[BATCH_WORDS];

    dictionary_seek(dictionary, vec->data, vec->valid, count, found, present);
    for (uint32_t r = 0; r < count; r++) {
        memcpy(feed->codes[c] + r * bytes, &found[r], bytes); /* little-endian */
    }
    vec->codes = feed->codes[c];
    vec->code_bytes = bytes;
    vec->dictionary = dictionary;
}

struct feeder {
    struct harness *harness;
    struct op_sink *sink;
    struct operator* op;
    const struct cells *cells;
    uint32_t worker; /* whose batches to feed; UINT32_MAX: all, each on its own worker */
};

static enum push_result push_once(const struct feeder *feeder, struct pipe_run *run,
                                  const struct batch *batch)
{
    return feeder->sink != NULL ? feeder->sink->kind->push(feeder->sink, run, 0, batch)
                                : feeder->op->kind->push(feeder->op, run, 0, batch);
}

/* Suspended batches move to the next worker, with all that belongs to them. */
static enum push_result push_whole(const struct feeder *feeder, uint32_t worker,
                                   const struct batch *batch)
{
    struct harness *harness = feeder->harness;
    struct pipe_run *run = &harness->runs[worker];
    enum push_result result;

    memset(run->cursors, 0, (PIPE_OPS_MAX + 1) * sizeof *run->cursors);
    while ((result = push_once(feeder, run, batch)) == PUSH_SUSPEND) {
        if (job_is_stopping(run->job)) {
            return PUSH_FAILED;
        }
        if (feeder->worker != UINT32_MAX) {
            continue;
        }
        struct pipe_run *other = &harness->runs[(run->worker + 1) % harness->job.worker_count];
        if (other != run) {
            memcpy(other->cursors, run->cursors, (PIPE_OPS_MAX + 1) * sizeof *run->cursors);
            memcpy(other->rows, run->rows, sizeof run->rows);
            run->rows[RUN_REFUSED] = 0;
            run = other;
        }
    }
    return result;
}

static void *feed_batches(void *argument)
{
    const struct feeder *feeder = argument;
    const uint32_t workers = feeder->harness->job.worker_count;
    uint64_t seed = 7;
    uint32_t first = 0;

    while (first < feeder->cells->row_count) {
        const uint64_t dice = random_next(&seed);
        const uint32_t left = feeder->cells->row_count - first;
        const bool gaps = dice % 3 == 0;
        uint32_t count = (uint32_t)(dice / 3 % 4 == 0 ? BATCH_ROWS : 1 + dice / 16 % 700);
        count = gaps && count > BATCH_ROWS / 2 ? BATCH_ROWS / 2 : count;
        count = count > left ? left : count;
        const uint32_t worker = (uint32_t)(dice >> 40) % workers;
        if (feeder->worker == UINT32_MAX || feeder->worker == worker) {
            struct feed_batch *feed = batch_make(feeder->cells, first, count, gaps);
            for (uint32_t c = 0; feeder->harness->dictionaries != NULL && dice % 5 != 0 &&
                                 c < feed->batch.column_count;
                 c++) {
                if (feeder->harness->dictionaries[c] != NULL && !feed->columns[c].constant) {
                    bring_codes(feed, c, feeder->harness->dictionaries[c], dice >> 8);
                }
            }
            const enum push_result result = push_whole(feeder, worker, &feed->batch);
            batch_free(feed);
            if (result != PUSH_MORE) {
                break;
            }
        }
        first += count;
    }
    return NULL;
}

static void feed(struct harness *harness, struct op_sink *sink, struct operator* op,
                 const struct cells *cells)
{
    struct feeder feeders[64];
    pthread_t threads[64];
    const uint32_t count = harness->threads ? harness->job.worker_count : 1;

    if (job_is_stopping(&harness->job)) {
        return; /* as pipes of a failed job do not start */
    }
    for (uint32_t t = 0; t < count; t++) {
        feeders[t] = (struct feeder){harness, sink, op, cells, harness->threads ? t : UINT32_MAX};
        if (!harness->threads) {
            feed_batches(&feeders[t]);
            return;
        }
        cr_assert_eq(pthread_create(&threads[t], NULL, feed_batches, &feeders[t]), 0);
    }
    for (uint32_t t = 0; t < count; t++) {
        pthread_join(threads[t], NULL);
    }
}

void harness_feed_sink(struct harness *harness, struct op_sink *sink, const struct cells *cells)
{
    feed(harness, sink, NULL, cells);
}

void harness_feed_operator(struct harness *harness, struct operator* op, const struct cells *cells)
{
    feed(harness, NULL, op, cells);
}

enum exec_code harness_finish_sink(struct harness *harness, struct op_sink *sink)
{
    struct exec_error err = {0};

    if (harness->failure.code != EXEC_OK) {
        if (sink->kind->abort != NULL) {
            sink->kind->abort(sink, &harness->job);
        }
        return harness->failure.code;
    }
    if (sink->kind->finish != NULL && sink->kind->finish(sink, &harness->job, 0, &err) != EXEC_OK) {
        return job_fail(&harness->job, &err);
    }
    return EXEC_OK;
}

/* ---- sources
 * ---------------------------------------------------------------------------------------- */

struct scanner {
    struct harness *harness;
    struct op_source *source;
    struct sched_range range;
    uint32_t worker;
    bool moves;
};

static void *scan_range(void *argument)
{
    struct scanner *scanner = argument;
    struct harness *harness = scanner->harness;
    struct sched_range range = scanner->range;
    struct pipe_run *run = &harness->runs[scanner->worker];

    while (range.begin < range.end) {
        const enum push_result result =
            scanner->source->kind->scan(scanner->source, run, &range, 1);
        if (result == PUSH_FAILED || result == PUSH_STOP || job_is_stopping(run->job)) {
            break;
        }
        if (scanner->moves) {
            struct pipe_run *other = &harness->runs[(run->worker + 1) % harness->job.worker_count];
            other->state = run->state;
            memcpy(other->rows, run->rows, sizeof run->rows);
            run->rows[RUN_REFUSED] = other == run ? run->rows[RUN_REFUSED] : 0;
            run = other;
        }
    }
    return NULL;
}

static void scan_in_threads(struct harness *harness, struct op_source *source,
                            const struct sched_range *range)
{
    struct scanner scanners[64];
    pthread_t threads[64];
    const uint32_t count = harness->job.worker_count;
    const uint64_t units = range->end - range->begin;

    for (uint32_t t = 0; t < count; t++) {
        scanners[t] = (struct scanner){harness, source, *range, t, false};
        scanners[t].range.begin = range->begin + units * t / count;
        scanners[t].range.end = range->begin + units * (t + 1) / count;
        cr_assert_eq(pthread_create(&threads[t], NULL, scan_range, &scanners[t]), 0);
    }
    for (uint32_t t = 0; t < count; t++) {
        pthread_join(threads[t], NULL);
    }
}

void harness_run_source(struct harness *harness, struct op_source *source)
{
    struct insides *insides = insides_of(harness);
    struct exec_error err = {0};

    insides->range_count = 0;
    if (!job_is_stopping(&harness->job)) {
        cr_assert_eq(source->kind->start(source, (struct pipe *)(void *)harness, &err), EXEC_OK);
    }
    for (uint32_t r = 0; r < insides->range_count; r++) {
        if (harness->threads) {
            scan_in_threads(harness, source, &insides->ranges[r]);
            continue;
        }
        struct scanner scanner = {harness, source, insides->ranges[r], 0, true};
        scan_range(&scanner);
    }
    if (source->kind->close != NULL) {
        source->kind->close(source, &harness->job);
    }
}
