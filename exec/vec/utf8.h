#ifndef EXEC_VEC_UTF8_H
#define EXEC_VEC_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Well-formed UTF-8 as in Unicode table 3-7: no surrogates, no overlong forms, at most U+10FFFF.
 * NUL is a character like any other. */
bool utf8_is_valid(const char *bytes, size_t size);

/* Length of the longest well-formed prefix. */
size_t utf8_valid_bytes(const char *bytes, size_t size);

#endif
