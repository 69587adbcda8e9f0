#include "op/scan_files_reader.h"

#include <string.h>

/* Where rows begin in the middle of a file. A line feed ends a row unless it is inside quotes, and
 * whether it is depends on everything before it. So a segment tries both: the one that gives rows
 * of the right number of fields is taken, and when both or none do, the first quote that can only
 * open or only close a field decides. Every guess is checked: the row behind segment k must be the
 * one segment k + 1 began with, for all k from the first row on. By induction all guesses were
 * right then, and a file where one was not fails instead of giving wrong rows. */

enum {
    EVIDENCE_BYTES = 64 << 10,
    TRIED_ROWS = 16, /* that must have the right number of fields */
};

/* ---- guessing ------------------------------------------------------------------------------- */

static bool ends_field(const struct csv_dialect *dialect, char byte)
{
    return byte == dialect->delimiter || byte == '\n' || byte == '\r';
}

/* By the first quote that tells: is what follows text[0] inside quotes? */
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
        toggled ^= opens; /* with neither it is a character of an unquoted field */
        at++;
    }
    return false;
}

/* Offset in the text of the first row, if what follows text[0] is inside quotes or not; `limit`
 * when none begins before it. */
static size_t first_row(const struct csv_dialect *dialect, const char *text, size_t limit,
                        bool inside)
{
    for (size_t at = 0; at + 1 < limit; at++) {
        if (text[at] == '\n' && !inside) {
            return at + 1;
        }
        if (at == 0 || text[at] != dialect->quote) {
            continue;
        }
        if (inside && text[at + 1] == dialect->quote) {
            at++;
        } else {
            inside = !inside && ends_field(dialect, text[at - 1]);
        }
    }
    return limit;
}

static bool gives_rows(const struct reader *reader, char *begin)
{
    const struct csv_layout *layout = &reader->files->layout;
    struct csv_text text = {.at = NULL};
    uint32_t field_count;

    csv_text_set(&text, begin, reader->text.end, reader->text.is_final);
    for (uint32_t i = 0; i < TRIED_ROWS; i++) {
        const enum csv_row row = csv_text_row(&layout->dialect, &text, NULL, 0, &field_count);
        if (row != CSV_ROW) {
            return row == CSV_ROW_CUT || row == CSV_ROW_NONE;
        }
        if (field_count != layout->column_count) {
            return false;
        }
    }
    return true;
}

static enum segment_place place_behind(const struct csv_dialect *dialect, enum segment_place place,
                                       char byte)
{
    if (place == PLACE_QUOTED) {
        return byte == dialect->quote ? PLACE_BEHIND_QUOTE : PLACE_QUOTED;
    }
    if (byte == dialect->quote) { /* opens a field, is the second of two, or is a mere character */
        return place == PLACE_IN_FIELD ? PLACE_IN_FIELD : PLACE_QUOTED;
    }
    return byte == dialect->delimiter || byte == '\n' ? PLACE_FIELD_BEGIN : PLACE_IN_FIELD;
}

/* Does the file use quotes as mere characters of unquoted fields (7" tubes)? Then one that seems to
 * close a field is no evidence. text[0] begins a row. */
static bool has_stray_quotes(const struct csv_dialect *dialect, const char *text, size_t size)
{
    enum segment_place place = PLACE_FIELD_BEGIN;

    for (size_t i = 0; i < size; i++) {
        if (place == PLACE_IN_FIELD && text[i] == dialect->quote) {
            return true;
        }
        place = place_behind(dialect, place, text[i]);
    }
    return false;
}

bool segment_find_begin(struct reader *reader)
{
    const struct csv_dialect *dialect = &reader->files->layout.dialect;
    struct csv_text *text = &reader->text;
    const uint64_t position = reader_position(reader);
    const size_t size = (size_t)(text->end - text->at);
    const size_t evidence = size < EVIDENCE_BYTES ? size : EVIDENCE_BYTES;
    const size_t limit = size < reader->end - position ? size : (size_t)(reader->end - position);
    size_t begin = first_row(dialect, text->at, limit, false);

    if (memchr(text->at, dialect->quote, evidence) != NULL) {
        const size_t other = first_row(dialect, text->at, limit, true);
        const bool fits = begin < limit && gives_rows(reader, text->at + begin);
        const bool other_fits = other < limit && gives_rows(reader, text->at + other);
        bool inside = other_fits;
        if (fits == other_fits) {
            const size_t rest = other < evidence ? evidence - other : 0;
            inside = guess_inside(dialect, text->at, evidence) &&
                     !(fits && has_stray_quotes(dialect, text->at + other, rest));
        }
        begin = inside ? other : begin;
    }
    if (begin == limit) {
        return false;
    }
    csv_text_set(text, text->at + begin, text->end, text->is_final);
    reader->begin = position + begin;
    return true;
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

/* Follows the quotes exactly, so that at the end it is known whether the segment's guess was right.
 */
static void count_piece(struct reader *reader, size_t size)
{
    const struct csv_dialect *dialect = &reader->files->layout.dialect;
    enum segment_place place = reader->place;

    for (size_t i = 0; i < size; i++) {
        reader->lines_before += reader->buffer[i] == '\n';
        place = place_behind(dialect, place, reader->buffer[i]);
    }
    reader->place = place;
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
    if (reader->count_offset == 0) {
        reader->count_offset = reader->file->rows_begin;
        reader->lines_before = reader->file->rows_line_feeds;
    }
    const uint64_t left = reader->begin - reader->count_offset;
    if (left > 0) {
        reader->asked = left < SEGMENT_BYTES ? (size_t)left : SEGMENT_BYTES;
        reader_read(reader, 0, reader->buffer, reader->count_offset, reader->asked);
        return READER_WAIT;
    }
    if (reader->place == PLACE_QUOTED) { /* the segment began there: the fault is none */
        fail_guess(reader, reader->begin);
        return READER_FAILED;
    }
    csv_fault_report(&reader->fault, &reader->files->layout, reader->file->path,
                     reader->lines_before + reader->fault.line_feeds + 1, &err);
    return reader_fail(reader, &err);
}
