#include "io/csv_text.h"

#include <assert.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { BLOCK_BYTES = 64 };
_Static_assert((int)BLOCK_BYTES <= (int)CSV_SLACK_BYTES, "a block may begin at the last byte");

/* Bit i: block[i] is `a` or a line feed. */
static uint64_t find_marks(const char *block, char a)
{
    uint64_t marks = 0;
#ifdef __SSE2__
    const __m128i first = _mm_set1_epi8(a);
    const __m128i second = _mm_set1_epi8('\n');
    for (int i = 0; i < BLOCK_BYTES / 16; i++) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(block + 16 * i));
        const __m128i equal =
            _mm_or_si128(_mm_cmpeq_epi8(bytes, first), _mm_cmpeq_epi8(bytes, second));
        marks |= (uint64_t)(uint32_t)_mm_movemask_epi8(equal) << (16 * i);
    }
#else
    for (int i = 0; i < BLOCK_BYTES; i++) {
        marks |= (uint64_t)(block[i] == a || block[i] == '\n') << i;
    }
#endif
    return marks;
}

void csv_text_set(struct csv_text *text, char *at, char *end, bool is_final)
{
    text->at = at;
    text->end = end;
    text->is_final = is_final;
    text->block = NULL;
}

/* Where a row is being read; text->at stays at its begin until it is whole. */
struct row_scan {
    const struct csv_dialect *dialect;
    struct csv_text *text;
    char *at;
    uint64_t line_feeds; /* inside quoted fields */
};

static void scan_seek(struct row_scan *scan, char *at)
{
    struct csv_text *text = scan->text;

    scan->at = at;
    if (text->block == NULL || at < text->block || at - text->block >= BLOCK_BYTES) {
        text->block = at;
        text->marks = find_marks(at, scan->dialect->delimiter);
    } else {
        text->marks &= ~UINT64_C(0) << (at - text->block);
    }
}

/* The delimiter or line feed at or behind scan->at; `end` when there is none. */
static char *scan_mark(struct row_scan *scan)
{
    struct csv_text *text = scan->text;

    while (text->marks == 0) {
        if (text->end - text->block <= BLOCK_BYTES) {
            return text->end;
        }
        text->block += BLOCK_BYTES;
        text->marks = find_marks(text->block, scan->dialect->delimiter);
    }
    char *mark = text->block + __builtin_ctzll(text->marks);
    return mark < text->end ? mark : text->end;
}

static void scan_count_feeds(struct row_scan *scan, const struct csv_field *field)
{
    const char *at = field->bytes;
    const char *end = field->bytes + field->size;

    while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        scan->line_feeds++;
        at++;
    }
}

/* scan->at is behind the opening quote; CSV_ROW: it is behind the closing one. */
static enum csv_row scan_quoted(struct row_scan *scan, struct csv_field *field)
{
    const char quote = scan->dialect->quote;
    struct csv_text *text = scan->text;
    char *at = scan->at;

    *field = (struct csv_field){.bytes = at, .quoted = true};
    for (;;) {
        at = memchr(at, quote, (size_t)(text->end - at));
        if (at == NULL) {
            return text->is_final ? CSV_ROW_OPEN_QUOTE : CSV_ROW_CUT;
        }
        if (at + 1 == text->end) { /* the first half of a doubled quote, perhaps */
            if (!text->is_final) {
                return CSV_ROW_CUT;
            }
            break;
        }
        if (at[1] != quote) {
            break;
        }
        field->escaped = true;
        at += 2;
    }
    const size_t size = (size_t)(at - field->bytes);
    if (size > CSV_LINE_BYTES_MAX) {
        return CSV_ROW_LONG;
    }
    field->size = (uint32_t)size;
    scan_count_feeds(scan, field);
    scan_seek(scan, at + 1);
    return CSV_ROW;
}

/* Behind a closing quote: a delimiter, an end of line or the end. */
static enum csv_row scan_behind_quote(struct row_scan *scan)
{
    const struct csv_text *text = scan->text;
    char *at = scan->at;

    if (at < text->end && *at == '\r') {
        at++;
        if (at == text->end) {
            scan_seek(scan, at);
            return text->is_final ? CSV_ROW : CSV_ROW_CUT;
        }
        if (*at != '\n') {
            return CSV_ROW_AFTER_QUOTE;
        }
        scan_seek(scan, at);
        return CSV_ROW;
    }
    if (at < text->end && *at != scan->dialect->delimiter && *at != '\n') {
        return CSV_ROW_AFTER_QUOTE;
    }
    return CSV_ROW;
}

static enum csv_row scan_unquoted(struct row_scan *scan, struct csv_field *field)
{
    char *mark = scan_mark(scan);

    if (mark == scan->text->end && !scan->text->is_final) {
        return CSV_ROW_CUT;
    }
    const size_t size = (size_t)(mark - scan->at);
    if (size > CSV_LINE_BYTES_MAX) {
        return CSV_ROW_LONG;
    }
    *field = (struct csv_field){.bytes = scan->at, .size = (uint32_t)size};
    if ((mark == scan->text->end || *mark == '\n') && size > 0 && mark[-1] == '\r') {
        field->size--;
    }
    scan->at = mark;
    return CSV_ROW;
}

static enum csv_row scan_field(struct row_scan *scan, struct csv_field *field)
{
    if (scan->at < scan->text->end && *scan->at == scan->dialect->quote &&
        scan->dialect->quote != '\0') {
        scan->at++;
        const enum csv_row quoted = scan_quoted(scan, field);
        return quoted == CSV_ROW ? scan_behind_quote(scan) : quoted;
    }
    return scan_unquoted(scan, field);
}

/* Steps over the mark at scan->at. True: it ended the row. */
static bool scan_step(struct row_scan *scan)
{
    struct csv_text *text = scan->text;

    if (scan->at == text->end) {
        return true;
    }
    const bool is_last = *scan->at == '\n';
    scan->at++;
    text->marks &= text->marks - 1;
    return is_last;
}

static bool is_blank(const struct csv_text *text)
{
    const char *at = text->at;

    if (at < text->end && *at == '\r') {
        at++;
    }
    return at < text->end ? *at == '\n' : text->is_final;
}

void csv_text_skip_blank(struct csv_text *text, const char *stop)
{
    while (text->at < text->end && text->at < stop && is_blank(text)) {
        text->at += *text->at == '\r';
        text->line_feeds += text->at < text->end;
        text->at += text->at < text->end;
        text->block = NULL;
    }
}

/* A row that is not whole yet, or wrong, stays where it is. */
static enum csv_row row_not_done(struct csv_text *text, enum csv_row why)
{
    text->block = NULL;
    return why == CSV_ROW_CUT && text->end - text->at > CSV_LINE_BYTES_MAX ? CSV_ROW_LONG : why;
}

enum csv_row csv_text_row(const struct csv_dialect *dialect, struct csv_text *text,
                          struct csv_field *fields, uint32_t fields_max, uint32_t *field_count)
{
    struct csv_field ignored;
    uint32_t count = 0;
    bool is_last = false;

    if (!dialect->keep_blank) {
        csv_text_skip_blank(text, text->end);
    }
    text->row_line_feeds = text->line_feeds;
    if (text->at == text->end) {
        return text->is_final ? CSV_ROW_NONE : CSV_ROW_CUT;
    }
    struct row_scan scan = {.dialect = dialect, .text = text};
    scan_seek(&scan, text->at);
    while (!is_last) {
        const enum csv_row done = scan_field(&scan, count < fields_max ? &fields[count] : &ignored);
        count++;
        if (done != CSV_ROW) {
            *field_count = count;
            return row_not_done(text, done);
        }
        if (scan.at == text->end && !text->is_final) {
            *field_count = count;
            return row_not_done(text, CSV_ROW_CUT);
        }
        is_last = scan_step(&scan);
    }
    *field_count = count;
    if (scan.at - text->at > CSV_LINE_BYTES_MAX) {
        return row_not_done(text, CSV_ROW_LONG);
    }
    text->line_feeds += scan.line_feeds + (scan.at[-1] == '\n'); /* not so at a bare end */
    text->at = scan.at;
    return CSV_ROW;
}

void csv_field_unescape(struct csv_field *field, char quote)
{
    const char *from = memchr(field->bytes, quote, field->size);
    const char *end = field->bytes + field->size;
    char *to = field->bytes + (from - field->bytes);

    while (from < end) { /* `from` is at the first of two quotes */
        *to++ = quote;
        from += 2;
        const char *next = from < end ? memchr(from, quote, (size_t)(end - from)) : NULL;
        const size_t plain = (size_t)((next == NULL ? end : next) - from);
        memmove(to, from, plain);
        to += plain;
        from += plain;
    }
    field->size = (uint32_t)(to - field->bytes);
    field->escaped = false;
}
