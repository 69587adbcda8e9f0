#ifndef EXEC_IO_CSV_TYPES_H
#define EXEC_IO_CSV_TYPES_H

#include "exec/types.h"
#include "io/csv_number.h"

/* From the text of a field to a value of the engine, and from texts to a likely type. */

/* One value in the layout of struct vec, any type but utf8 and binary; never the null text. bool
 * takes true and false in any case. text[size] must be writable: it is overwritten for a moment. */
enum csv_parse csv_parse_value(const struct exec_type *type, char *text, size_t size,
                               void *value_out);

/* What a value of a guessed type would lose of its text without anybody having said so. */
enum csv_loss {
    CSV_LOSS_NONE,
    CSV_LOSS_ZEROS,  /* the zeros that lead a whole number: often a code, not a number */
    CSV_LOSS_DIGITS, /* a whole number of 2^53 or more as a float64 */
};
enum csv_loss csv_value_loss(const struct exec_type *type, const char *text, size_t size,
                             const void *value); /* size > 0 */

/* What all values seen so far could be: bool, int64, uint64, decimal128(38,0) (whole numbers
 * beyond), float64 (no whole number of 2^53 or more), date32, timestamp[us], else utf8, as are
 * numbers led by zeros. */
struct csv_guess {
    uint8_t excluded; /* classes no longer possible */
    bool seen;        /* a value that is not null */
};

/* text[size] must be writable; `mark` as in csv_ungroup. */
void csv_guess_add(struct csv_guess *guess, char *text, size_t size, char mark);
void csv_guess_merge(struct csv_guess *into, const struct csv_guess *from);
struct exec_type csv_guess_type(const struct csv_guess *guess); /* nothing seen: utf8 */

#endif
