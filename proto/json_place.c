#include "json_place.h"

#include <string.h>

struct text {
    const char *at, *end;
};

static void space_skip(struct text *text)
{
    while (text->at < text->end && strchr(" \t\r\n,:", *text->at) != NULL) {
        text->at++;
    }
}

/* From the opening quote to behind the closing one. */
static void string_skip(struct text *text)
{
    for (text->at++; text->at < text->end && *text->at != '"'; text->at++) {
        text->at += *text->at == '\\';
    }
    text->at += text->at < text->end;
}

static void value_skip(struct text *text)
{
    size_t depth = 0;

    do {
        space_skip(text);
        if (text->at >= text->end) {
            return;
        }
        if (*text->at == '"') {
            string_skip(text);
        } else if (*text->at == '{' || *text->at == '[') {
            depth++;
            text->at++;
        } else if (*text->at == '}' || *text->at == ']') {
            depth--;
            text->at++;
        } else {
            while (text->at < text->end && strchr(" \t\r\n,:]}", *text->at) == NULL) {
                text->at++;
            }
        }
    } while (depth > 0);
}

/* Stands on '{'; afterwards on the key's value. Returns where the key stands; NULL: written with
 * escapes, so not found. */
static const char *key_find(struct text *text, const char *key)
{
    const size_t key_bytes = strlen(key);

    text->at++;
    for (;;) {
        space_skip(text);
        if (text->at >= text->end || *text->at != '"') {
            return NULL;
        }
        const char *found = text->at;
        string_skip(text);
        const size_t bytes = (size_t)(text->at - found) - 2;
        space_skip(text);
        if (bytes == key_bytes && memcmp(found + 1, key, bytes) == 0) {
            return found;
        }
        value_skip(text);
    }
}

/* Leaves `text` on the step's value and returns what to point at. */
static const char *step_find(struct text *text, const struct json_step *step)
{
    if (step->outer == NULL) {
        space_skip(text);
        return text->at;
    }
    const char *place = step_find(text, step->outer);
    if (text->at >= text->end) {
        return place;
    }
    if (step->key != NULL) {
        const char *key = key_find(text, step->key);
        text->at = key == NULL ? text->end : text->at;
        return key == NULL ? place : key;
    }
    text->at++; /* '[' */
    for (size_t i = 0; i < step->index; i++) {
        value_skip(text);
    }
    space_skip(text);
    return text->at;
}

void json_place(const char *text, size_t size, const struct json_step *step, uint64_t *line_out,
                uint32_t *column_out)
{
    struct text walk = {text, text + size};
    const char *place = step_find(&walk, step);
    const char *line_begin = text;
    uint64_t line = 1;

    for (const char *at = text; at < place; at++) {
        if (*at == '\n') {
            line++;
            line_begin = at + 1;
        }
    }
    *line_out = line;
    *column_out = (uint32_t)(place - line_begin) + 1;
}
