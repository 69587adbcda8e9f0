#ifndef EXEC_EXPR_VALUE_TEXT_H
#define EXEC_EXPR_VALUE_TEXT_H

#include "exec/types.h"
#include "vec/value.h"
#include "vec/zone.h"

#include <stddef.h>

/* Values as text and back, as casts have them. Formatting writes at most VALUE_TEXT_BYTES bytes,
 * returns the length and does not terminate; parsing takes optional blanks around the value. */
enum { VALUE_TEXT_BYTES = 64 };

/* Of every type but utf8 and binary. Floats: the shortest text that reads back as the same value.
 */
size_t value_text(const struct exec_type *type, const void *value, char text_out[VALUE_TEXT_BYTES]);

enum value_parse {
    VALUE_OK,
    VALUE_MALFORMED,    /* not such a text */
    VALUE_OUT_OF_RANGE, /* a number, but not of this type */
};
enum value_parse value_parse(const struct exec_type *type, const char *text, size_t text_bytes,
                             void *value_out);
/* A timestamp without an offset behind it is what the clock of `zone` shows; NULL: UTC. */
enum value_parse value_parse_in(const struct zone *zone, const struct exec_type *type,
                                const char *text, size_t text_bytes, void *value_out);

#endif
