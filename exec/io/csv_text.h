#ifndef EXEC_IO_CSV_TEXT_H
#define EXEC_IO_CSV_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows and fields of CSV text as RFC 4180 has them: fields between delimiters, rows between line
 * feeds (a carriage return before one belongs to it), a field that begins with a quote ends at the
 * next single one and may hold anything, "" in it is one quote. A quote inside an unquoted field is
 * an ordinary character. */

enum {
    CSV_LINE_BYTES_MAX = 1 << 20, /* of one row, line feed included */
    CSV_SLACK_BYTES = 64,         /* readable and writable behind the end of any text */
};

struct csv_dialect {
    char delimiter, quote;
    char thousands;  /* may stand between groups of three digits of a number; 0: nothing may */
    bool keep_blank; /* a blank line is a row (files of one column), else it is skipped */
};

/* Bytes [at, end) still to be read, whole rows at a time. Set with csv_text_set; `at` and
 * `line_feeds` (counted up to `at`) are then moved by csv_text_row. */
struct csv_text {
    char *at, *end;
    bool is_final; /* nothing comes behind `end` */
    uint64_t line_feeds;
    uint64_t row_line_feeds; /* before the first line of the row that was read last */
    char *block;             /* the 64 bytes `marks` is about */
    uint64_t marks;          /* delimiters and line feeds of the block that are not consumed yet */
};

void csv_text_set(struct csv_text *text, char *at, char *end, bool is_final);

/* Skips blank lines that begin before `stop`. */
void csv_text_skip_blank(struct csv_text *text, const char *stop);

/* One field, quotes stripped; `escaped` ones still hold doubled quotes: see csv_field_unescape.
 * Valid as long as the text is. */
struct csv_field {
    char *bytes;
    uint32_t size;
    bool quoted, escaped;
};

void csv_field_unescape(struct csv_field *field, char quote); /* in place */

enum csv_row {
    CSV_ROW,
    CSV_ROW_CUT,         /* the text ends before the row does; nothing has moved */
    CSV_ROW_NONE,        /* is_final and nothing is left */
    CSV_ROW_LONG,        /* beyond CSV_LINE_BYTES_MAX */
    CSV_ROW_OPEN_QUOTE,  /* is_final and a quoted field is not closed */
    CSV_ROW_AFTER_QUOTE, /* something other than a delimiter follows a closing quote */
};

/* The next row: its first fields_max fields, and in *field_count how many there are. On the three
 * failures `at` stands at the row's begin and *field_count is the 1-based number of the field. */
enum csv_row csv_text_row(const struct csv_dialect *dialect, struct csv_text *text,
                          struct csv_field *fields, uint32_t fields_max, uint32_t *field_count);

#endif
