#ifndef EXEC_IO_CSV_HEAD_H
#define EXEC_IO_CSV_HEAD_H

#include "io/csv_layout.h"
#include "io/csv_types.h"
#include "numa/arena.h"

/* What the first bytes of a file tell: names, likely types, where the rows begin. */
struct csv_head {
    uint32_t column_count;
    const char *
        *names; /* "column2" for the third where the header has none, or there is no header */
    struct csv_guess *guesses;
    size_t rows_begin;        /* byte offset of the first row */
    uint64_t rows_line_feeds; /* line feeds before it */
    uint64_t row_count;       /* whole rows seen */
    size_t row_bytes;         /* of these */
    bool quoted_feeds;        /* a quoted field holds a line feed */
};

/* Reads the head of `path` (for messages): text[0, size) with CSV_SLACK_BYTES behind it, which is
 * written to. `dialect` gets keep_blank. Everything is put into `arena`. is_final: it is the whole
 * file. A row that is wrong only ends the look. Returns EXEC_OK, EXEC_BAD_DATA (no header line, or
 * it is wrong), EXEC_LIMIT (columns) or EXEC_MEMORY_BUDGET. */
enum exec_code csv_head_read(struct csv_head *head, struct csv_dialect *dialect,
                             const struct csv_null_texts *nulls, bool has_header, const char *path,
                             char *text, size_t size, bool is_final, struct nu_arena *arena,
                             struct exec_error *err);

#endif
