#ifndef EXEC_IO_CSV_TIME_H
#define EXEC_IO_CSV_TIME_H

#include "exec/types.h"
#include "io/csv_number.h"

/* Dates and times as texts, proleptic Gregorian, years 0000 to 9999. */

/* "2013-01-31": days since 1970-01-01. */
enum csv_parse csv_parse_date(const char *text, size_t size, int32_t *days_out);

/* A date, then optionally 'T' or a blank and hh:mm, hh:mm:ss or hh:mm:ss.fraction, then optionally
 * Z, +hh:mm, +hhmm or +hh. In units of `type` since 1970-01-01 00:00. With an offset the instant is
 * told in UTC; without one it is local to the type's zone, which then must be none, UTC or an
 * offset (CSV_NOT_OF_TYPE for other zones). Digits below the unit must be 0 (CSV_OUT_OF_RANGE). */
enum csv_parse csv_parse_timestamp(const char *text, size_t size, const struct exec_type *type,
                                   int64_t *units_out);

#endif
