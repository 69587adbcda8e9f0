#include "vec/civil_date.h"

#include <stdio.h>

/* Howard Hinnant, "chrono-compatible low-level date algorithms": years begin in March, so that the
 * leap day is the last of its year, and are counted in eras of 400 years = 146097 days. */
enum { ERA_YEARS = 400, ERA_DAYS = 146097, EPOCH_SHIFT = 719468, DAY_SECONDS = 86400 };

struct civil_date civil_of_days(int64_t days)
{
    const int64_t shifted = days + EPOCH_SHIFT;
    const int64_t era = civil_floor_div(shifted, ERA_DAYS);
    const uint32_t era_day = (uint32_t)(shifted - era * ERA_DAYS);
    const uint32_t era_year = (era_day - era_day / 1460 + era_day / 36524 - era_day / 146096) / 365;
    const uint32_t year_day = era_day - (365 * era_year + era_year / 4 - era_year / 100);
    const uint32_t march_month = (5 * year_day + 2) / 153;
    struct civil_date date;

    date.day = year_day - (153 * march_month + 2) / 5 + 1;
    date.month = march_month < 10 ? march_month + 3 : march_month - 9;
    date.year = era_year + era * ERA_YEARS + (date.month <= 2);
    return date;
}

int64_t civil_to_days(int64_t year, uint32_t month, uint32_t day)
{
    const int64_t march_year = year - (month <= 2);
    const int64_t era = civil_floor_div(march_year, ERA_YEARS);
    const uint32_t era_year = (uint32_t)(march_year - era * ERA_YEARS);
    const uint32_t march_month = month > 2 ? month - 3 : month + 9;
    const uint32_t year_day = (153 * march_month + 2) / 5;
    const uint32_t era_day = era_year * 365 + era_year / 4 - era_year / 100 + year_day;

    return era * ERA_DAYS + era_day - EPOCH_SHIFT + day - 1;
}

uint32_t civil_month_days(int64_t year, uint32_t month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

int64_t civil_unit_ticks(enum exec_time_unit unit)
{
    static const int64_t ticks[] = {1, 1, 1000, 1000000, 1000000000};
    return ticks[unit];
}

size_t civil_date_text(int64_t days, char text_out[CIVIL_TEXT_BYTES])
{
    const struct civil_date date = civil_of_days(days);
    const bool plain = date.year >= 0 && date.year <= 9999;
    const int bytes =
        snprintf(text_out, CIVIL_TEXT_BYTES, plain ? "%04lld-%02u-%02u" : "%+05lld-%02u-%02u",
                 (long long)date.year, date.month, date.day);
    return (size_t)bytes;
}

size_t civil_timestamp_text(int64_t ticks, enum exec_time_unit unit, bool zoned,
                            char text_out[CIVIL_TEXT_BYTES])
{
    const int64_t per_second = civil_unit_ticks(unit);
    const int64_t seconds = civil_floor_div(ticks, per_second);
    const int64_t fraction = civil_floor_mod(ticks, per_second);
    const int64_t days = civil_floor_div(seconds, DAY_SECONDS);
    const int second_of_day = (int)civil_floor_mod(seconds, DAY_SECONDS);
    size_t bytes = civil_date_text(days, text_out);

    bytes += (size_t)snprintf(text_out + bytes, CIVIL_TEXT_BYTES - bytes, " %02d:%02d:%02d",
                              second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
    if (fraction != 0) {
        bytes += (size_t)snprintf(text_out + bytes, CIVIL_TEXT_BYTES - bytes, ".%0*lld",
                                  ((int)unit - EXEC_UNIT_SECOND) * 3, (long long)fraction);
    }
    if (zoned) {
        bytes += (size_t)snprintf(text_out + bytes, CIVIL_TEXT_BYTES - bytes, "Z");
    }
    return bytes;
}

/* ---- parsing
 * ----------------------------------------------------------------------------------------- */

struct reader {
    const char *at, *end;
};

static bool read_char(struct reader *reader, char expected)
{
    if (reader->at == reader->end || *reader->at != expected) {
        return false;
    }
    reader->at++;
    return true;
}

/* Between min_digits and max_digits decimal digits. */
static bool read_digits(struct reader *reader, int min_digits, int max_digits, int64_t *value_out)
{
    int digits = 0;
    *value_out = 0;
    while (reader->at < reader->end && digits < max_digits && *reader->at >= '0' &&
           *reader->at <= '9') {
        *value_out = *value_out * 10 + (*reader->at - '0');
        reader->at++;
        digits++;
    }
    return digits >= min_digits;
}

static bool read_days(struct reader *reader, int64_t *days_out)
{
    const bool negative = read_char(reader, '-');
    int64_t year;
    int64_t month;
    int64_t day;

    if (!negative) {
        (void)read_char(reader, '+');
    }
    if (!read_digits(reader, 4, 9, &year) || !read_char(reader, '-') ||
        !read_digits(reader, 2, 2, &month) || !read_char(reader, '-') ||
        !read_digits(reader, 2, 2, &day)) {
        return false;
    }
    year = negative ? -year : year;
    if (month < 1 || month > 12 || day < 1 || day > civil_month_days(year, (uint32_t)month)) {
        return false;
    }
    *days_out = civil_to_days(year, (uint32_t)month, (uint32_t)day);
    return true;
}

/* HH:MM[:SS[.f]] as seconds and nanoseconds. */
static bool read_time(struct reader *reader, int64_t *seconds_out, int64_t *nanos_out)
{
    int64_t hour;
    int64_t minute;
    int64_t second = 0;

    *nanos_out = 0;
    if (!read_digits(reader, 2, 2, &hour) || !read_char(reader, ':') ||
        !read_digits(reader, 2, 2, &minute)) {
        return false;
    }
    if (read_char(reader, ':') && !read_digits(reader, 2, 2, &second)) {
        return false;
    }
    if (read_char(reader, '.')) {
        const char *begin = reader->at;
        if (!read_digits(reader, 1, 9, nanos_out)) {
            return false;
        }
        for (long digits = reader->at - begin; digits < 9; digits++) {
            *nanos_out *= 10;
        }
        while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9') {
            reader->at++;
        }
    }
    *seconds_out = hour * 3600 + minute * 60 + second;
    return hour < 24 && minute < 60 && second < 60;
}

/* Z, +HH, +HHMM, +HH:MM or nothing, as seconds east of Greenwich. */
static bool read_offset(struct reader *reader, int64_t *seconds_out)
{
    int64_t hour;
    int64_t minute = 0;
    bool west;

    *seconds_out = 0;
    if (reader->at == reader->end || read_char(reader, 'Z') || read_char(reader, 'z')) {
        return true;
    }
    west = read_char(reader, '-');
    if (!west && !read_char(reader, '+')) {
        return false;
    }
    if (!read_digits(reader, 2, 2, &hour)) {
        return false;
    }
    if (read_char(reader, ':') || reader->at < reader->end) {
        if (!read_digits(reader, 2, 2, &minute)) {
            return false;
        }
    }
    *seconds_out = (hour * 60 + minute) * (west ? -60 : 60);
    return hour < 24 && minute < 60;
}

bool civil_date_parse(const char *text, size_t text_bytes, int32_t *days_out)
{
    struct reader reader = {.at = text, .end = text + text_bytes};
    int64_t days;

    if (!read_days(&reader, &days) || reader.at != reader.end || days < INT32_MIN ||
        days > INT32_MAX) {
        return false;
    }
    *days_out = (int32_t)days;
    return true;
}

bool civil_timestamp_parse(const char *text, size_t text_bytes, enum exec_time_unit unit,
                           int64_t *ticks_out, bool *has_offset_out)
{
    struct reader reader = {.at = text, .end = text + text_bytes};
    const int64_t per_second = civil_unit_ticks(unit);
    int64_t days;
    int64_t seconds = 0;
    int64_t nanos = 0;
    int64_t offset = 0;
    int64_t ticks;
    int64_t fraction;

    *has_offset_out = false;
    if (!read_days(&reader, &days)) {
        return false;
    }
    if (reader.at != reader.end) {
        if (!read_char(&reader, ' ') && !read_char(&reader, 'T') && !read_char(&reader, 't')) {
            return false;
        }
        if (!read_time(&reader, &seconds, &nanos)) {
            return false;
        }
        *has_offset_out = reader.at != reader.end;
        if (!read_offset(&reader, &offset)) {
            return false;
        }
    }
    seconds += days * DAY_SECONDS - offset; /* nine digits of year: far from overflow */
    fraction = nanos / (1000000000 / per_second);
    if (seconds < 0 && fraction != 0) {
        /* Counted back from the second above: the one below the least instant is out of range. */
        seconds++;
        fraction -= per_second;
    }
    if (reader.at != reader.end || __builtin_mul_overflow(seconds, per_second, &ticks) ||
        __builtin_add_overflow(ticks, fraction, &ticks)) {
        return false;
    }
    *ticks_out = ticks;
    return true;
}
