#include "op/scan_files_reader.h"

#include <inttypes.h>

/* Compressed files: one block is inflated while the other is read. */

enum { PIECE_BYTES = 64 << 10 }; /* inflated between two looks at the clock */

static void block_read(struct reader *reader, uint32_t index)
{
    struct reader_block *block = &reader->blocks[index];
    const uint64_t left = reader->file->file_bytes - reader->read_offset;

    block->offset = reader->read_offset;
    block->used = 0;
    block->size = left < READER_BLOCK_BYTES ? (size_t)left : READER_BLOCK_BYTES;
    reader->read_offset += block->size;
    if (block->size > 0) {
        reader_read(reader, index, block->bytes, block->offset, block->size);
    }
}

bool packed_begin(struct reader *reader)
{
    reader->inflate = inflate_create(reader->file->compression);
    reader->text_to_skip = (size_t)reader->file->rows_begin;
    return reader->inflate != NULL;
}

static enum reader_fill packed_fail(struct reader *reader, const struct exec_error *err)
{
    reader_fail(reader, err);
    return FILL_FAILED;
}

/* What the library holds is charged once it is known: a window may take megabytes. */
static bool packed_charge(struct reader *reader)
{
    struct job_context *job = reader->files->job;
    const size_t bytes = reader->inflate->ops->memory(reader->inflate);
    struct exec_error err;

    if (bytes <= reader->inflate_bytes) {
        return true;
    }
    const struct nu_budget *refused = nu_budget_charge(&job->budget, bytes - reader->inflate_bytes);
    if (refused != NULL) {
        job_memory_error(&err, refused, "the window of a compressed file");
        reader_fail(reader, &err);
        return false;
    }
    reader->inflate_bytes = bytes;
    return true;
}

static enum reader_fill packed_fault(struct reader *reader, enum inflate_result result,
                                     uint64_t offset)
{
    const struct scan_file *file = reader->file;
    struct exec_error err;

    if (result == INFLATE_MEMORY) {
        EXEC_FAIL(&err, EXEC_MEMORY_BUDGET, "no memory to inflate '%.150s'", file->path);
    } else {
        EXEC_FAIL(&err, EXEC_BAD_DATA, "'%.150s': corrupt %s data near byte %" PRIu64 ": %s",
                  file->path, inflate_kind_name(file->compression), offset, reader->inflate->what);
    }
    return packed_fail(reader, &err);
}

/* The input has ended. */
static enum reader_fill packed_end(struct reader *reader)
{
    struct csv_text *text = &reader->text;
    struct exec_error err;

    if (reader->inflate->inside) {
        EXEC_FAIL(&err, EXEC_BAD_DATA,
                  "'%.150s' is truncated: its %s data breaks off at byte %" PRIu64,
                  reader->file->path, inflate_kind_name(reader->file->compression),
                  reader->file->file_bytes);
        return packed_fail(reader, &err);
    }
    csv_text_set(text, text->at, text->end, true);
    return FILL_OK;
}

/* Before its first use: has the block been read whole? */
static enum reader_fill block_check(struct reader *reader, uint32_t index)
{
    const struct reader_block *block = &reader->blocks[index];
    const bool failed =
        block->used == 0 && reader_read_failed(reader, &reader->requests[index], block->size);
    return failed ? FILL_FAILED : FILL_OK;
}

/* Makes blocks[block] one with unused bytes. FILL_WAIT: they are on their way; *ended: there are
 * none. */
static enum reader_fill packed_next_block(struct reader *reader, bool *ended)
{
    struct reader_block *block = &reader->blocks[reader->block];

    *ended = false;
    if (reader->read_offset == 0) { /* the very first */
        block_read(reader, 0);
        block_read(reader, 1);
        return FILL_WAIT;
    }
    if (block->used < block->size) {
        return block_check(reader, reader->block);
    }
    if (!reader_is_idle(reader)) {
        return FILL_WAIT;
    }
    const uint32_t next = (reader->block + 1) % READER_BLOCKS;
    if (reader->blocks[next].used == reader->blocks[next].size) {
        *ended = true;
        return FILL_OK;
    }
    if (reader->read_offset < reader->file->file_bytes) {
        block_read(reader, reader->block);
    }
    reader->block = next;
    return block_check(reader, next);
}

static void skip_header(struct reader *reader, unsigned char *out)
{
    struct csv_text *text = &reader->text;
    const size_t there = (size_t)((char *)out - text->at);
    const size_t skipped = reader->text_to_skip < there ? reader->text_to_skip : there;

    reader->text_to_skip -= skipped;
    csv_text_set(text, text->at + skipped, (char *)out, false);
}

static enum inflate_result inflate_piece(struct reader *reader, unsigned char **out,
                                         unsigned char *out_end)
{
    struct reader_block *block = &reader->blocks[reader->block];
    const unsigned char *in = block->bytes + block->used;
    unsigned char *piece_end = out_end - *out < PIECE_BYTES ? out_end : *out + PIECE_BYTES;
    const enum inflate_result result =
        reader->inflate->ops->run(reader->inflate, &in, block->bytes + block->size, out, piece_end);

    block->used = (size_t)(in - block->bytes);
    return result;
}

enum reader_fill packed_fill(struct reader *reader, struct pipe_run *run)
{
    if (!reader_make_room(reader, READER_TAIL_BYTES)) {
        return FILL_FAILED;
    }
    unsigned char *begin = (unsigned char *)reader->text.end;
    unsigned char *out = begin;
    unsigned char *out_end = (unsigned char *)reader->buffer + reader->capacity;

    while (out < out_end && !(out > begin && pipe_time_is_up(run))) {
        bool ended;
        const enum reader_fill fill = packed_next_block(reader, &ended);
        if (fill == FILL_FAILED) {
            return fill;
        }
        if (fill == FILL_WAIT) {
            if (out == begin) {
                return FILL_WAIT;
            }
            break;
        }
        /* Also at the end of the input: a library may hold decoded bytes back until asked. */
        const unsigned char *before = out;
        const enum inflate_result result = inflate_piece(reader, &out, out_end);
        if (result != INFLATE_OK) {
            return packed_fault(reader, result, reader_position(reader));
        }
        if (!packed_charge(reader)) {
            return FILL_FAILED;
        }
        if (ended && out == before) {
            skip_header(reader, out);
            return packed_end(reader);
        }
    }
    skip_header(reader, out);
    return FILL_OK;
}
