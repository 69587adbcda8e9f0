#ifndef EXEC_EXPR_TEXT_FIND_H
#define EXEC_EXPR_TEXT_FIND_H

#include <stddef.h>

/* The first place of `needle` in `text`, as memmem says it; NULL: none. Sixteen starts at a time:
 * the first and the last byte of the needle are compared, and only where both fit the rest (W.
 * Mula, "SIMD-friendly algorithms for substring searching", 2016). Reads no byte outside. */
const char *text_find(const char *text, size_t text_bytes, const char *needle, size_t needle_bytes);

#endif
