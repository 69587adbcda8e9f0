#ifndef CLIENT_SQL_SQL_TOKEN_H
#define CLIENT_SQL_SQL_TOKEN_H

#include <stdbool.h>

/* Just enough of SQL's tokens to look for words outside of quotes and comments. All of these return
 * a place behind `at` in the same text. */

bool sql_token_is_letter(char c); /* may begin a name */
const char *sql_token_spaces(const char *at);
const char *sql_token_identifier(const char *at);
/* A quoted text or name; a doubled quote inside is part of it. backslash: E'...'. */
const char *sql_token_quoted(const char *at, bool backslash);

/* Behind the text, name, comment or dollar-quoted text that starts here; `at`: none does. */
const char *sql_token_skip(const char *at);

/* TRY_CAST(x AS type), which the parser does not know, is given to it as CAST behind four blanks:
 * every byte stays where it is. Changes the text in place. */
void sql_token_hide_try(char *text);

/* Whether the CAST that starts at `offset` of the text was a TRY_CAST. */
bool sql_token_was_try(const char *text, unsigned offset);

#endif
