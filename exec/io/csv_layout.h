#ifndef EXEC_IO_CSV_LAYOUT_H
#define EXEC_IO_CSV_LAYOUT_H

#include "exec/error.h"
#include "exec/types.h"
#include "io/csv_text.h"

/* What is known of the files of one scan once their heads are read: the dialect, every column and
 * which of them are wanted. Constant while rows are read. */

struct csv_null_texts {
    const char *const *texts;
    uint32_t count;
    uint64_t sizes; /* bit s: some text has min(s, 63) bytes; most fields are ruled out by it */
};

struct csv_column {
    const char *name;
    struct exec_type type;
    bool inferred; /* the type, from the first inferred_rows rows */
    bool blank;    /* none of those rows had a value, so that it is utf8 */
};

struct csv_layout {
    struct csv_dialect dialect;
    struct csv_null_texts nulls;
    const struct csv_column *columns;
    uint32_t column_count;
    uint64_t inferred_rows;
    const uint32_t *outputs; /* 0-based columns, in output order */
    uint32_t output_count;
};

struct csv_null_texts csv_null_texts_make(const char *const *texts, uint32_t count);
/* The empty unquoted field and the unquoted null texts. */
bool csv_is_null(const struct csv_null_texts *nulls, const struct csv_field *field);

/* ---- what can be wrong with a row ------------------------------------------------------------ */

enum csv_fault_kind {
    CSV_FAULT_NONE,
    CSV_FAULT_RAGGED, /* field_count is not column_count */
    CSV_FAULT_TYPE,   /* a text that is not of the column's type */
    CSV_FAULT_RANGE,  /* a value that does not fit the column's type */
    CSV_FAULT_ZEROS,  /* a value of a guessed type would lose its leading zeros */
    CSV_FAULT_DIGITS, /* or its last digits */
    CSV_FAULT_UTF8,   /* bad_byte: its place in the field, 1-based */
    CSV_FAULT_LONG_LINE,
    CSV_FAULT_OPEN_QUOTE,
    CSV_FAULT_AFTER_QUOTE,
};

enum { CSV_FAULT_TEXT_BYTES = 48 };

struct csv_fault {
    enum csv_fault_kind kind;
    uint64_t line_feeds; /* before the row's first line, from where the text's counting began */
    uint32_t column;     /* 1-based; 0: the whole row */
    uint32_t field_count;
    size_t bad_byte;
    char text[CSV_FAULT_TEXT_BYTES + 4]; /* the field, printable, shortened */
};

void csv_fault_set_text(struct csv_fault *fault, const char *bytes, size_t size);

/* Fills err (code EXEC_BAD_DATA, line, column): "flights.csv:1042 column 7 'dep_delay': "12,5" is
 * not int64". `line` is 1-based. Returns the code. */
enum exec_code csv_fault_report(const struct csv_fault *fault, const struct csv_layout *layout,
                                const char *path, uint64_t line, struct exec_error *err);

#endif
