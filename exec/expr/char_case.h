#ifndef EXEC_EXPR_CHAR_CASE_H
#define EXEC_EXPR_CHAR_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Letters in lower and upper case: Unicode's simple mappings, one character to one (so that 'ß' has
 * no upper case of one letter but 'ẞ'), by utf8proc, which no other file includes. No locale. */

/* Room for `bytes` bytes of text in another case: a character of two bytes may become one of three.
 */
static inline size_t char_case_room(size_t bytes)
{
    return bytes + bytes / 2 + 1;
}

/* Writes the text in the other case to `out` (char_case_room bytes) and returns its length. */
size_t char_case_change(const char *text, size_t bytes, bool to_upper, char *out);

/* The character at `text` (valid UTF-8, bytes > 0) in lower case; *used_out: its bytes. */
int32_t char_case_lower_at(const char *text, size_t bytes, size_t *used_out);

#endif
