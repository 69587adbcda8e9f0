#ifndef EXEC_IO_CSV_TYPES_H
#define EXEC_IO_CSV_TYPES_H

#include "exec/types.h"
#include "io/csv_number.h"

/* From the text of a field to a value of the engine, and from texts to a likely type. */

/* One value in the layout of struct vec, any type but utf8 and binary; never the null text. bool
 * takes true and false in any case. text[size] must be writable: it is overwritten for a moment. */
enum csv_parse csv_parse_value(const struct exec_type *type, char *text, size_t size,
                               void *value_out);

/* What all values seen so far could be: bool, int64, float64, date32, timestamp[us], else utf8. */
struct csv_guess {
    uint8_t excluded; /* classes no longer possible */
    bool seen;        /* a value that is not null */
};

void csv_guess_add(struct csv_guess *guess, char *text, size_t size);
void csv_guess_merge(struct csv_guess *into, const struct csv_guess *from);
struct exec_type csv_guess_type(const struct csv_guess *guess); /* nothing seen: utf8 */

#endif
