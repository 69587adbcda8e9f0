#include "wire_utf8.h"

#include <string.h>

static bool is_tail(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

size_t wire_utf8_char(const uint8_t *bytes, size_t size)
{
    const uint8_t first = bytes[0];

    if (first < 0x80) {
        return 1;
    }
    if (first < 0xC2 || size < 2 || !is_tail(bytes[1])) {
        return 0;
    }
    if (first < 0xE0) {
        return 2;
    }
    if (size < 3 || !is_tail(bytes[2])) {
        return 0;
    }
    if (first < 0xF0) {
        const bool overlong = first == 0xE0 && bytes[1] < 0xA0;
        const bool surrogate = first == 0xED && bytes[1] >= 0xA0;
        return overlong || surrogate ? 0 : 3;
    }
    if (size < 4 || !is_tail(bytes[3])) {
        return 0;
    }
    const bool overlong = first == 0xF0 && bytes[1] < 0x90;
    const bool above = first > 0xF4 || (first == 0xF4 && bytes[1] >= 0x90);
    return overlong || above ? 0 : 4;
}

bool wire_utf8_valid(const uint8_t *bytes, size_t size)
{
    size_t at = 0;

    while (at < size) {
        uint64_t word;
        if (size - at >= sizeof word) {
            memcpy(&word, bytes + at, sizeof word);
            if ((word & UINT64_C(0x8080808080808080)) == 0) { /* eight ASCII bytes at a time */
                at += sizeof word;
                continue;
            }
        }
        const size_t step = wire_utf8_char(bytes + at, size - at);
        if (step == 0) {
            return false;
        }
        at += step;
    }
    return true;
}

void wire_utf8_clean(char *text)
{
    uint8_t *bytes = (uint8_t *)text;
    const size_t size = strlen(text);
    size_t at = 0;

    while (at < size) {
        const size_t step = wire_utf8_char(bytes + at, size - at);
        if (step == 0) {
            bytes[at] = '?';
        }
        at += step == 0 ? 1 : step;
    }
}
