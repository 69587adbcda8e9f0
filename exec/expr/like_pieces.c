#include "expr/like_pieces.h"

#include "expr/text_find.h"

#include <string.h>

bool like_pieces_cut(struct like_pieces *pieces, const char *pattern, size_t bytes)
{
    const char *const end = pattern + bytes;

    if (memchr(pattern, '_', bytes) != NULL || memchr(pattern, '\\', bytes) != NULL) {
        return false;
    }
    for (pieces->count = 0; pieces->count < LIKE_PIECES_MAX;) {
        const char *percent = memchr(pattern, '%', (size_t)(end - pattern));
        const char *stop = percent == NULL ? end : percent;
        pieces->piece[pieces->count].bytes = pattern;
        pieces->piece[pieces->count++].size = (size_t)(stop - pattern);
        if (percent == NULL) {
            return true;
        }
        pattern = percent + 1;
    }
    return false;
}

bool like_pieces_match(const struct like_pieces *pieces, const char *text, size_t bytes)
{
    const uint32_t last = pieces->count - 1;
    const size_t head = pieces->piece[0].size;

    if (last == 0) {
        return bytes == head && memcmp(text, pieces->piece[0].bytes, head) == 0;
    }
    const size_t tail = pieces->piece[last].size;
    if (bytes < head + tail || memcmp(text, pieces->piece[0].bytes, head) != 0) {
        return false;
    }
    const char *const end = text + bytes - tail;
    if (memcmp(end, pieces->piece[last].bytes, tail) != 0) {
        return false;
    }
    text += head;
    for (uint32_t i = 1; i < last; i++) {
        const size_t size = pieces->piece[i].size;
        text = text_find(text, (size_t)(end - text), pieces->piece[i].bytes, size);
        if (text == NULL) {
            return false;
        }
        text += size;
    }
    return true;
}
