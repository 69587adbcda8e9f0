#ifndef EXEC_IO_CSV_NUMBER_H
#define EXEC_IO_CSV_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers as texts, in the "C" locale whatever the process uses. */

enum csv_parse {
    CSV_PARSED,
    CSV_NOT_OF_TYPE,  /* not such a value at all */
    CSV_OUT_OF_RANGE, /* one, but it does not fit the type */
};

/* What a text is as a whole number: [-+]?[0-9]+. */
enum csv_whole {
    CSV_NOT_WHOLE,
    CSV_WHOLE,
    CSV_WHOLE_PADDED, /* zeros lead it, which a number would lose: "0012" */
};
enum csv_whole csv_whole_kind(const char *text, size_t size);

/* A number without the marks between its groups of three digits: "-1,234.5" becomes "-1234.5", and
 * *text and *size are then about `plain`. A text without marks, with groups of other sizes or above
 * CSV_GROUPED_BYTES stays as it is. */
enum { CSV_GROUPED_BYTES = 64 };
void csv_ungroup(char **text, size_t *size, char mark, char plain[CSV_GROUPED_BYTES + 1]);

/* -?[0-9]+ within [min, max]. */
enum csv_parse csv_parse_signed(const char *text, size_t size, int64_t min, int64_t max,
                                int64_t *value_out);
/* [0-9]+ up to max. */
enum csv_parse csv_parse_unsigned(const char *text, size_t size, uint64_t max, uint64_t *value_out);

/* [-+]?, digits with an optional point, an optional exponent; inf, infinity and nan in any case.
 * Correctly rounded. text[size] must be writable: it is overwritten for a moment. */
enum csv_parse csv_parse_float64(char *text, size_t size, double *value_out);
enum csv_parse csv_parse_float32(char *text, size_t size, float *value_out);

/* [-+]?, digits with an optional point, no more than `scale` of them (zeros aside) behind it;
 * value_out is value * 10^scale in two's complement, 16 bytes. */
enum csv_parse csv_parse_decimal(const char *text, size_t size, unsigned precision, unsigned scale,
                                 void *value_out);

#endif
