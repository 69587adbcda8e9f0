#include "vec/utf8.h"

#include <stdint.h>
#include <string.h>

/* Bytes of the character at `text`, 0 when it is ill-formed; `size` > 0 bytes are there. */
static size_t character_bytes(const unsigned char *text, size_t size)
{
    const unsigned char lead = text[0];
    size_t bytes = 0;
    unsigned char low = 0x80; /* bounds of the second byte, which carry the special cases */
    unsigned char high = 0xbf;

    if (lead < 0x80) {
        return 1;
    }
    if (lead >= 0xc2 && lead <= 0xdf) {
        bytes = 2;
    } else if (lead >= 0xe0 && lead <= 0xef) {
        bytes = 3;
        low = lead == 0xe0 ? 0xa0 : low;   /* overlong */
        high = lead == 0xed ? 0x9f : high; /* surrogates */
    } else if (lead >= 0xf0 && lead <= 0xf4) {
        bytes = 4;
        low = lead == 0xf0 ? 0x90 : low;   /* overlong */
        high = lead == 0xf4 ? 0x8f : high; /* above U+10FFFF */
    }
    if (bytes == 0 || bytes > size || text[1] < low || text[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return bytes;
}

size_t utf8_valid_bytes(const char *bytes, size_t size)
{
    const unsigned char *text = (const unsigned char *)bytes;
    size_t at = 0;

    while (at < size) {
        uint64_t word;
        if (size - at >= sizeof word) { /* eight ASCII characters at once */
            memcpy(&word, text + at, sizeof word);
            if ((word & UINT64_C(0x8080808080808080)) == 0) {
                at += sizeof word;
                continue;
            }
        }
        const size_t step = character_bytes(text + at, size - at);
        if (step == 0) {
            return at;
        }
        at += step;
    }
    return at;
}

bool utf8_is_valid(const char *bytes, size_t size)
{
    return utf8_valid_bytes(bytes, size) == size;
}
