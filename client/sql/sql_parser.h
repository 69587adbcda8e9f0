#ifndef CLIENT_SQL_SQL_PARSER_H
#define CLIENT_SQL_SQL_PARSER_H

#include "exec/error.h"

#include <jansson.h>

/* SQL text to PostgreSQL's parse tree, by the program morsel-sqlparse (libpg_query in a process of
 * its own). Positions in the tree are byte offsets into the parsed text. */

enum { SQL_TEXT_BYTES_MAX = 32768 };

/* What is being parsed, for messages and positions: `text` stands behind `prefix` in the SQL. */
struct sql_text {
    const char *option; /* "--where" */
    const char *prefix; /* "SELECT " */
    const char *text;
};

/* The SelectStmt of the one statement; release with json_decref. NULL and err: EXEC_BAD_SPEC with
 * "--where, byte 12: syntax error at or near ..." and err->column = byte offset + 1, or
 * EXEC_INTERNAL when the helper cannot be run. */
json_t *sql_parse(const struct sql_text *text, struct exec_error *err);

/* Fails with a place in the text: "--where, byte 12: <message>", err->column = byte + 1. `location`
 * is one of the tree's: bytes from the start of the SQL, prefix included. */
enum exec_code sql_fail_at(const struct sql_text *text, long location, enum exec_code code,
                           struct exec_error *err, const char *fmt, ...) EXEC_PRINTF(5, 6);

/* The byte in text->text a location stands for. */
uint32_t sql_offset(const struct sql_text *text, long location);

#endif
