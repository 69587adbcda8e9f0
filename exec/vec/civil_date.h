#ifndef EXEC_VEC_CIVIL_DATE_H
#define EXEC_VEC_CIVIL_DATE_H

#include "exec/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The proleptic Gregorian calendar: days and timestamps since 1970-01-01 to dates and ISO 8601 text
 * and back. Year 0 is 1 BC. */

struct civil_date {
    int64_t year;
    uint32_t month; /* 1..12 */
    uint32_t day;   /* 1..31 */
};

struct civil_date civil_of_days(int64_t days);
/* month 1..12; any year within +-10^12, day is counted from the first of the month. */
int64_t civil_to_days(int64_t year, uint32_t month, uint32_t day);
uint32_t civil_month_days(int64_t year, uint32_t month);

/* Ticks of a unit in a second: 1, 1000, ... */
int64_t civil_unit_ticks(enum exec_time_unit unit);

/* Quotient rounded down, so that times before 1970 fall into the right day. */
static inline int64_t civil_floor_div(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

/* What is left of value then: 0..by-1, for the least value too, where quotient * by overflows. */
static inline int64_t civil_floor_mod(int64_t value, int64_t by)
{
    return value % by + (value % by < 0 ? by : 0);
}

enum { CIVIL_TEXT_BYTES = 64 };

/* "2013-01-31"; "2013-01-31 05:00:00", with as many digits of a fraction as the unit has unless it
 * is zero, "Z" behind it when zoned (an instant, written in UTC). Years outside of 0..9999 get a
 * sign. Returns the length. */
size_t civil_date_text(int64_t days, char text_out[CIVIL_TEXT_BYTES]);
size_t civil_timestamp_text(int64_t ticks, enum exec_time_unit unit, bool zoned,
                            char text_out[CIVIL_TEXT_BYTES]);

/* The reverse. Dates: [+-]YYYY-MM-DD. Timestamps: a date, then optionally 'T' or ' ',
 * HH:MM[:SS[.f]], then optionally Z or +-HH[[:]MM], which is subtracted; digits finer than the unit
 * are cut off. False: not such a text, or outside of the type. */
bool civil_date_parse(const char *text, size_t text_bytes, int32_t *days_out);
bool civil_timestamp_parse(const char *text, size_t text_bytes, enum exec_time_unit unit,
                           int64_t *ticks_out, bool *has_offset_out);

#endif
