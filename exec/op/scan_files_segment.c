#include "op/scan_files_reader.h"

#include <string.h>

/* Where rows begin in the middle of a file. A line feed ends a row unless it is inside quotes, and
 * whether it is depends on everything before it. So a segment guesses from the first quote that can
 * only open or only close a field, and every guess is checked: the row behind segment k must be the
 * one segment k + 1 began with, for all k from the first row on. By induction all guesses were
 * right then, and a file where one was not fails instead of giving wrong rows. */

enum { EVIDENCE_BYTES = 64 << 10 };

/* ---- guessing ------------------------------------------------------------------------------- */

static bool ends_field(const struct csv_dialect *dialect, char byte)
{
    return byte == dialect->delimiter || byte == '\n' || byte == '\r';
}

/* Is what follows text[0] inside quotes? */
static bool guess_inside(const struct csv_dialect *dialect, const char *text, size_t size)
{
    const char quote = dialect->quote;
    bool toggled = false; /* by the quotes passed */
    size_t at = 1;

    while (at + 1 < size) {
        const char *found = memchr(text + at, quote, size - 1 - at);
        if (found == NULL) {
            return false;
        }
        at = (size_t)(found - text);
        if (found[1] == quote) { /* doubled, or an empty field: no evidence and no change */
            at += 2;
            continue;
        }
        const bool opens = ends_field(dialect, found[-1]);
        const bool closes = ends_field(dialect, found[1]);
        if (opens != closes) {
            return closes != toggled;
        }
        toggled = !toggled;
        at++;
    }
    return false;
}

bool segment_find_begin(struct reader *reader)
{
    const struct csv_dialect *dialect = &reader->files->layout.dialect;
    struct csv_text *text = &reader->text;
    const uint64_t position = reader_position(reader);
    const size_t size = (size_t)(text->end - text->at);
    bool inside = guess_inside(dialect, text->at, size < EVIDENCE_BYTES ? size : EVIDENCE_BYTES);

    for (size_t at = 0; at < size && position + at + 1 < reader->end; at++) {
        if (at > 0 && text->at[at] == dialect->quote) {
            inside = !inside;
        } else if (text->at[at] == '\n' && !inside) {
            csv_text_set(text, text->at + at + 1, text->end, text->is_final);
            reader->begin = position + at + 1;
            return true;
        }
    }
    return false;
}

/* ---- checking ------------------------------------------------------------------------------- */

static bool fail_guess(struct reader *reader, uint64_t offset)
{
    struct exec_error err;

    EXEC_FAIL(
        &err, EXEC_NOT_IMPLEMENTED,
        "'%.150s' near byte %llu: line breaks inside quotes cannot be told from ends of rows in "
        "parallel; a compressed file (gzip, zstd) is read in one piece",
        reader->file->path, (unsigned long long)offset);
    reader_fail(reader, &err);
    return false;
}

static bool check_marks(struct reader *reader)
{
    const struct scan_file *file = reader->file;
    uint64_t next_row = file->rows_begin;

    for (uint64_t i = 0; i < file->segment_count; i++) {
        const uint64_t segment_end =
            (i + 1) * SEGMENT_BYTES < file->file_bytes ? (i + 1) * SEGMENT_BYTES : file->file_bytes;
        const struct segment_mark *mark = &file->marks[i];
        const bool agrees =
            mark->begin == SEGMENT_NO_ROW ? next_row >= segment_end : next_row == mark->begin;
        if (!agrees) {
            return fail_guess(reader, i * SEGMENT_BYTES);
        }
        next_row = mark->begin == SEGMENT_NO_ROW ? next_row : mark->end;
    }
    return true;
}

bool segment_end(struct reader *reader, uint64_t begin, uint64_t end)
{
    struct scan_file *file = reader->file;

    file->marks[(reader->end - 1) / SEGMENT_BYTES] =
        (struct segment_mark){.begin = begin, .end = end};
    /* acq_rel: the last reader sees the marks of all others. */
    if (atomic_fetch_sub_explicit(&file->segments_left, 1, memory_order_acq_rel) != 1) {
        return true;
    }
    return check_marks(reader);
}

/* ---- line numbers --------------------------------------------------------------------------- */

static void count_piece(struct reader *reader, size_t size)
{
    const char *text = reader->buffer;
    const char quote = reader->files->layout.dialect.quote;
    uint64_t lines = 0;
    uint64_t quotes = 0;

    for (size_t i = 0; i < size; i++) {
        lines += text[i] == '\n';
        quotes += text[i] == quote;
    }
    reader->lines_before += lines;
    reader->quotes_before += quotes;
    reader->count_offset += size;
}

enum reader_step segment_report_fault(struct reader *reader)
{
    struct exec_error err;

    if (reader->asked > 0) {
        if (reader_read_failed(reader, &reader->requests[0], reader->asked)) {
            return READER_FAILED;
        }
        count_piece(reader, reader->asked);
        reader->asked = 0;
    }
    const uint64_t left = reader->begin - reader->count_offset;
    if (left > 0) {
        reader->asked = left < SEGMENT_BYTES ? (size_t)left : SEGMENT_BYTES;
        reader_read(reader, 0, reader->buffer, reader->count_offset, reader->asked);
        return READER_WAIT;
    }
    if (reader->quotes_before % 2 !=
        0) { /* the segment began inside quotes: the fault is not one */
        fail_guess(reader, reader->begin);
        return READER_FAILED;
    }
    csv_fault_report(&reader->fault, &reader->files->layout, reader->file->path,
                     reader->lines_before + reader->fault.line_feeds + 1, &err);
    return reader_fail(reader, &err);
}
