#ifndef JSON_PLACE_H
#define JSON_PLACE_H

#include <stddef.h>
#include <stdint.h>

/* The way from the root of a JSON text to one of its values, linked on the stack. The root itself
 * is the step without `outer`. */
struct json_step {
    const struct json_step *outer;
    const char *key; /* as it stands in the text; NULL: an element of an array */
    size_t index;    /* from 0 */
};

/* 1-based line and column (in bytes) of the value, or of its key. Jansson keeps no places: this
 * walks over the text again, which it has found well-formed before. */
void json_place(const char *text, size_t size, const struct json_step *step, uint64_t *line_out,
                uint32_t *column_out);

#endif
