#ifndef WIRE_UTF8_H
#define WIRE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the character at bytes[0] (1..4), 0 when it is none: cut off, overlong, a surrogate or
 * above U+10FFFF. size > 0. */
size_t wire_utf8_char(const uint8_t *bytes, size_t size);

bool wire_utf8_valid(const uint8_t *bytes, size_t size);

/* Overwrites what is no UTF-8 with '?'. For texts that were cut to a buffer's size. */
void wire_utf8_clean(char *text);

#endif
