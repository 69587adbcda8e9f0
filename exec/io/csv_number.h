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
