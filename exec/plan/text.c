#include "plan/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool text_reserve(struct text *text, size_t bytes)
{
    size_t capacity = text->capacity == 0 ? 1024 : text->capacity;
    char *grown;

    if (text->refused) {
        return false;
    }
    if (text->size + bytes < text->capacity) {
        return true;
    }
    while (capacity <= text->size + bytes) {
        capacity *= 2;
    }
    grown = nu_arena_alloc(text->arena, capacity, 1);
    if (grown == NULL) {
        text->refused = true;
        return false;
    }
    if (text->size != 0) {
        memcpy(grown, text->bytes, text->size);
    }
    text->bytes = grown;
    text->capacity = capacity;
    return true;
}

void text_add(struct text *text, const char *fmt, ...)
{
    va_list args, again;
    int bytes;

    va_start(args, fmt);
    va_copy(again, args);
    bytes = vsnprintf(NULL, 0, fmt, args);
    if (bytes >= 0 && text_reserve(text, (size_t)bytes + 1)) {
        vsnprintf(text->bytes + text->size, (size_t)bytes + 1, fmt, again);
        text->size += (size_t)bytes;
    }
    va_end(again);
    va_end(args);
}

void text_add_json_string(struct text *text, const char *string)
{
    text_add(text, "\"");
    for (const unsigned char *at = (const unsigned char *)string; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\') {
            text_add(text, "\\%c", *at);
        } else if (*at < 0x20) {
            text_add(text, "\\u%04x", *at);
        } else {
            text_add(text, "%c", *at);
        }
    }
    text_add(text, "\"");
}
