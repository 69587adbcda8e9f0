#ifndef BASE64_H
#define BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum base64_padding { BASE64_UNPADDED, BASE64_PADDED };

/* Room for the text of `size` bytes with its padding and NUL. */
#define BASE64_TEXT_BYTES(size) (((size) + 2) / 3 * 4 + 1)

/* Standard alphabet. Returns the text's length; text_out is NUL-terminated. */
size_t base64_encode(const uint8_t *bytes, size_t size, enum base64_padding padding,
                     char *text_out);

/* Takes both alphabets, padded or not. bytes_out has room for text_bytes / 4 * 3 + 3. */
bool base64_decode(const char *text, size_t text_bytes, uint8_t *bytes_out, size_t *size_out);

#endif
