#include "op/scan_files_reader.h"

#include <assert.h>
#include <string.h>

#define READER_PARKED UINT32_C(0x80000000)

/* ---- life ----------------------------------------------------------------------------------- */

static size_t align_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static size_t blocks_bytes(const struct scan_file *file)
{
    return file->compression != INFLATE_NONE ? (size_t)READER_BLOCKS * READER_BLOCK_BYTES : 0;
}

struct reader *reader_create(struct scan_files *files, struct scan_file *file, uint64_t begin,
                             uint64_t end, unsigned node, const struct nu_budget **refused)
{
    const size_t rows_bytes = align_up(csv_rows_bytes(&files->layout));
    const size_t bytes = align_up(sizeof(struct reader)) + rows_bytes + blocks_bytes(file) +
                         READER_TEXT_BYTES + CSV_SLACK_BYTES;
    unsigned char *span = scan_span_take(files->job, node, bytes, refused);

    if (span == NULL) {
        return NULL;
    }
    struct reader *reader = (struct reader *)span;
    memset(reader, 0, sizeof *reader);
    reader->files = files;
    reader->file = file;
    reader->node = node;
    reader->span = span;
    reader->span_bytes = bytes;
    reader->begin = begin;
    reader->end = end;
    span += align_up(sizeof *reader);
    csv_rows_init(&reader->rows, &files->layout, span);
    span += rows_bytes;
    for (uint32_t i = 0; i < READER_BLOCKS && blocks_bytes(file) > 0; i++) {
        reader->blocks[i].bytes = span;
        span += READER_BLOCK_BYTES;
    }
    reader->buffer = (char *)span;
    reader->capacity = READER_TEXT_BYTES;
    csv_text_set(&reader->text, reader->buffer, reader->buffer, false);
    reader->text.line_feeds = begin == file->rows_begin || file->serial ? file->rows_line_feeds : 0;
    if (file->compression != INFLATE_NONE && !packed_begin(reader)) {
        *refused = NULL;
        reader_destroy(reader);
        return NULL;
    }
    if (file->compression == INFLATE_NONE) {
        reader->read_offset = begin == file->rows_begin ? begin : begin - 1;
    }
    return reader;
}

void reader_destroy(struct reader *reader)
{
    struct job_context *job = reader->files->job;

    assert(reader_is_idle(reader));
    if (reader->inflate != NULL) {
        reader->inflate->ops->destroy(reader->inflate);
        nu_budget_refund(&job->budget, reader->inflate_bytes);
    }
    if (reader->grown_span != NULL) {
        scan_span_give(job, reader->node, reader->grown_span, READER_GROWN_BYTES + CSV_SLACK_BYTES);
    }
    scan_span_give(job, reader->node, reader->span, reader->span_bytes);
}

enum reader_step reader_fail(struct reader *reader, const struct exec_error *err)
{
    struct exec_error placed = *err;

    placed.rel = reader->files->rel_index;
    job_fail(reader->files->job, &placed);
    return READER_FAILED;
}

/* ---- reads ---------------------------------------------------------------------------------- */

static void read_complete(struct io_request *request)
{
    struct reader *reader = request->owner;

    /* acq_rel: releases the bytes read to whoever runs the range, acquires `parked`. */
    if (atomic_fetch_sub_explicit(&reader->pending, 1, memory_order_acq_rel) !=
        (READER_PARKED | 1)) {
        return; /* the reader may be gone already */
    }
    const struct sched_range range = reader->parked;
    /* relaxed: requeueing hands the reader on. */
    atomic_store_explicit(&reader->pending, 0, memory_order_relaxed);
    sched_requeue(&range);
}

bool reader_park(struct reader *reader, const struct sched_range *range)
{
    reader->parked = *range;
    /* acq_rel: releases `parked` to the completion; acquires what was read when there was one. */
    if ((atomic_fetch_or_explicit(&reader->pending, READER_PARKED, memory_order_acq_rel)) != 0) {
        return true;
    }
    atomic_store_explicit(&reader->pending, 0, memory_order_relaxed); /* nobody else is there */
    return false;
}

void reader_read(struct reader *reader, uint32_t block, void *buffer, uint64_t offset, size_t size)
{
    struct io_request *request = &reader->requests[block];

    request->complete = read_complete;
    request->owner = reader;
    /* relaxed: io's lock orders it before the completion. */
    atomic_fetch_add_explicit(&reader->pending, 1, memory_order_relaxed);
    io_read(reader->files->job->io, request, reader->file->fd, offset, buffer, size, reader->node);
}

bool reader_read_failed(struct reader *reader, const struct io_request *request, size_t asked)
{
    struct exec_error err;

    if (request->result < 0) {
        const int sys_errno = (int)-request->result;
        EXEC_FAIL_ERRNO(&err, EXEC_IO, sys_errno, "'%.150s' could not be read at byte %llu: %s",
                        reader->file->path, (unsigned long long)request->offset,
                        strerrordesc_np(sys_errno));
    } else if ((size_t)request->result < asked) {
        EXEC_FAIL(&err, EXEC_BAD_DATA, "'%.150s' became shorter while it was read",
                  reader->file->path);
    } else {
        return false;
    }
    reader_fail(reader, &err);
    return true;
}

/* ---- text ----------------------------------------------------------------------------------- */

bool reader_make_room(struct reader *reader, size_t room)
{
    const size_t rest = (size_t)(reader->text.end - reader->text.at);
    char *target = reader->buffer;

    if (rest + room > reader->capacity) {
        const struct nu_budget *refused;
        struct exec_error err;
        assert(reader->grown_span == NULL);
        assert(rest + room <= READER_GROWN_BYTES);
        reader->grown_span = scan_span_take(reader->files->job, reader->node,
                                            READER_GROWN_BYTES + CSV_SLACK_BYTES, &refused);
        if (reader->grown_span == NULL) {
            job_memory_error(&err, refused, "a long line of a file");
            reader_fail(reader, &err);
            return false;
        }
        target = reader->grown_span;
        reader->capacity = READER_GROWN_BYTES;
    }
    memmove(target, reader->text.at, rest);
    reader->buffer = target;
    csv_text_set(&reader->text, target, target + rest, reader->text.is_final);
    return true;
}

/* One read at a time: of the whole segment first, then of what its last row needs. */
enum reader_fill plain_fill(struct reader *reader)
{
    const uint64_t file_bytes = reader->file->file_bytes;
    struct csv_text *text = &reader->text;

    if (reader->asked > 0) {
        const struct io_request *request = &reader->requests[0];
        if (reader_read_failed(reader, request, reader->asked)) {
            return FILL_FAILED;
        }
        reader->read_offset += reader->asked;
        csv_text_set(text, text->at, text->end + reader->asked, reader->read_offset == file_bytes);
        reader->asked = 0;
        return FILL_OK;
    }
    if (reader->read_offset == file_bytes) {
        csv_text_set(text, text->at, text->end, true);
        return FILL_OK;
    }
    if (!reader_make_room(reader, READER_TAIL_BYTES)) {
        return FILL_FAILED;
    }
    size_t size = reader->capacity - (size_t)(text->end - text->at);
    if (!reader->file->serial && reader->read_offset > reader->end) {
        size = READER_TAIL_BYTES; /* only the end of one row is missing */
    } else if (!reader->file->serial &&
               size > reader->end + READER_TAIL_BYTES - reader->read_offset) {
        size = (size_t)(reader->end + READER_TAIL_BYTES - reader->read_offset);
    }
    size =
        size < file_bytes - reader->read_offset ? size : (size_t)(file_bytes - reader->read_offset);
    reader->asked = size;
    reader_read(reader, 0, text->end, reader->read_offset, size);
    return FILL_WAIT;
}

uint64_t reader_position(const struct reader *reader)
{
    if (reader->file->compression == INFLATE_NONE) {
        return reader->read_offset - (uint64_t)(reader->text.end - reader->text.at);
    }
    const struct reader_block *block = &reader->blocks[reader->block];
    return block->offset + block->used;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static bool is_segment(const struct reader *reader)
{
    return !reader->file->serial;
}

static enum reader_step reader_fault(struct reader *reader)
{
    struct exec_error err;

    if (is_segment(reader) && reader->begin != reader->file->rows_begin) {
        reader->counting = true;
        return segment_report_fault(reader);
    }
    csv_fault_report(&reader->fault, &reader->files->layout, reader->file->path,
                     reader->fault.line_feeds + 1, &err);
    return reader_fail(reader, &err);
}

static enum reader_step reader_done(struct reader *reader)
{
    if (is_segment(reader) && !segment_end(reader, reader->begin, reader_position(reader))) {
        return READER_FAILED;
    }
    return READER_DONE;
}

static enum reader_step reader_batch(struct reader *reader)
{
    csv_rows_batch(&reader->rows, &reader->files->layout, &reader->batch);
    reader->has_batch = true;
    return READER_BATCH;
}

/* The first row that is this reader's. Returns false when there is none. */
static bool reader_prime(struct reader *reader)
{
    reader->primed = true;
    if (reader->file->compression != INFLATE_NONE || reader->begin == reader->file->rows_begin) {
        return true;
    }
    return segment_find_begin(reader);
}

static enum reader_step reader_read_rows(struct reader *reader, bool *wants_text)
{
    const struct csv_layout *layout = &reader->files->layout;
    const uint64_t position = reader_position(reader);
    const char *stop = NULL;

    *wants_text = false;
    if (is_segment(reader)) {
        stop = reader->text.at + (reader->end > position ? reader->end - position : 0);
    }
    const enum csv_read read =
        csv_rows_read(&reader->rows, layout, &reader->text, stop, &reader->fault);
    if (read == CSV_READ_FAULT) {
        return reader_fault(reader);
    }
    if (reader->rows.row_count > 0) {
        return reader_batch(reader);
    }
    *wants_text = read == CSV_READ_CUT;
    return *wants_text ? READER_WAIT : reader_done(reader);
}

enum reader_step reader_next(struct reader *reader, struct pipe_run *run)
{
    bool wants_text = !reader->primed || reader->asked > 0;

    assert(reader->file->compression != INFLATE_NONE || reader_is_idle(reader));
    if (reader->has_batch) {
        return READER_BATCH;
    }
    if (reader->counting) {
        return segment_report_fault(reader);
    }
    for (;;) {
        if (wants_text) {
            const enum reader_fill fill = reader->file->compression != INFLATE_NONE
                                              ? packed_fill(reader, run)
                                              : plain_fill(reader);
            if (fill != FILL_OK) {
                return fill == FILL_WAIT ? READER_WAIT : READER_FAILED;
            }
            if (!reader->primed && !reader_prime(reader)) {
                return segment_end(reader, SEGMENT_NO_ROW, 0) ? READER_DONE : READER_FAILED;
            }
        }
        const enum reader_step step = reader_read_rows(reader, &wants_text);
        if (step != READER_WAIT || !wants_text) {
            return step;
        }
    }
}

void reader_taken(struct reader *reader)
{
    reader->has_batch = false;
    csv_rows_reset(&reader->rows, &reader->files->layout);
}
