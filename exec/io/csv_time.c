#include "io/csv_time.h"

#include <string.h>

enum { NANO_DIGITS = 9, DATE_BYTES = 10 };

/* Exactly `count` digits; -1: not so. */
static int digits(const char *text, unsigned count)
{
    int value = 0;
    for (unsigned i = 0; i < count; i++) {
        const unsigned digit = (unsigned char)(text[i] - '0');
        if (digit > 9) {
            return -1;
        }
        value = value * 10 + (int)digit;
    }
    return value;
}

static int month_days(int year, int month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

/* Days since 1970-01-01, counted in eras of 400 years that begin in March (Hinnant). */
static int32_t civil_days(int year, int month, int day)
{
    const int shifted = year - (month <= 2) + 400; /* never negative */
    const int era = shifted / 400;
    const int year_of_era = shifted % 400;
    const int day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    const int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return (era - 1) * 146097 + day_of_era - 719468;
}

enum csv_parse csv_parse_date(const char *text, size_t size, int32_t *days_out)
{
    if (size != DATE_BYTES || text[4] != '-' || text[7] != '-') {
        return CSV_NOT_OF_TYPE;
    }
    const int year = digits(text, 4);
    const int month = digits(text + 5, 2);
    const int day = digits(text + 8, 2);
    if (year < 0 || month < 1 || month > 12 || day < 1 || day > month_days(year, month)) {
        return CSV_NOT_OF_TYPE;
    }
    *days_out = civil_days(year, month, day);
    return CSV_PARSED;
}

/* +hh, +hhmm, +hh:mm, Z: seconds east of UTC. */
static bool parse_offset(const char *text, size_t size, int *seconds_out)
{
    if (size == 1 && (text[0] == 'Z' || text[0] == 'z')) {
        *seconds_out = 0;
        return true;
    }
    if (size < 3 || (text[0] != '+' && text[0] != '-')) {
        return false;
    }
    const char *minute_text = size == 5 ? text + 3 : text + 4;
    const int hour = digits(text + 1, 2);
    int minute = 0;
    if (size == 5 || (size == 6 && text[3] == ':')) {
        minute = digits(minute_text, 2);
    } else if (size != 3) {
        return false;
    }
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59) {
        return false;
    }
    *seconds_out = (hour * 3600 + minute * 60) * (text[0] == '-' ? -1 : 1);
    return true;
}

/* Of a text without an offset. */
static bool zone_offset(const char *zone, int *seconds_out)
{
    *seconds_out = 0;
    if (zone[0] == '\0' || strcmp(zone, "UTC") == 0 || strcmp(zone, "Etc/UTC") == 0 ||
        strcmp(zone, "GMT") == 0) {
        return true;
    }
    return parse_offset(zone, strlen(zone), seconds_out);
}

struct clock_time {
    int seconds; /* of the day */
    int64_t nanos;
    bool below_nanos; /* digits that nothing can hold */
};

/* hh:mm[:ss[.fraction]]; returns the bytes used, 0 when it is no time. */
static size_t parse_clock(const char *text, size_t size, struct clock_time *time)
{
    const int hour = size >= 5 ? digits(text, 2) : -1;
    const int minute = hour >= 0 && text[2] == ':' ? digits(text + 3, 2) : -1;
    size_t at = 5;
    int second = 0;

    if (hour < 0 || hour > 23 || minute < 0 || minute > 59) {
        return 0;
    }
    if (size > at && text[at] == ':') {
        second = size >= 8 ? digits(text + 6, 2) : -1;
        at = 8;
        if (second < 0 || second > 59) {
            return 0;
        }
    }
    time->seconds = hour * 3600 + minute * 60 + second;
    if (at == 8 && size > at + 1 && text[at] == '.' && digits(text + at + 1, 1) >= 0) {
        unsigned count = 0;
        for (at++; at < size && digits(text + at, 1) >= 0; at++, count++) {
            if (count < NANO_DIGITS) {
                time->nanos = time->nanos * 10 + digits(text + at, 1);
            } else {
                time->below_nanos |= text[at] != '0';
            }
        }
        for (; count < NANO_DIGITS; count++) {
            time->nanos *= 10;
        }
    }
    return at;
}

static enum csv_parse to_units(int64_t seconds, const struct clock_time *time, uint8_t unit,
                               int64_t *units_out)
{
    static const int64_t per_second[] = {1, 1, 1000, 1000000, 1000000000};
    const int64_t nanos_each = 1000000000 / per_second[unit];

    if (time->below_nanos || time->nanos % nanos_each != 0 ||
        __builtin_mul_overflow(seconds, per_second[unit], units_out) ||
        __builtin_add_overflow(*units_out, time->nanos / nanos_each, units_out)) {
        return CSV_OUT_OF_RANGE;
    }
    return CSV_PARSED;
}

enum csv_parse csv_parse_timestamp(const char *text, size_t size, const struct exec_type *type,
                                   int64_t *units_out)
{
    struct clock_time time = {.seconds = 0};
    int32_t days;
    int offset;
    size_t at = DATE_BYTES;

    if (size < DATE_BYTES || csv_parse_date(text, DATE_BYTES, &days) != CSV_PARSED) {
        return CSV_NOT_OF_TYPE;
    }
    if (size > at) {
        const size_t used = text[at] == 'T' || text[at] == ' '
                                ? parse_clock(text + at + 1, size - at - 1, &time)
                                : 0;
        if (used == 0) {
            return CSV_NOT_OF_TYPE;
        }
        at += 1 + used;
    }
    if (size > at ? !parse_offset(text + at, size - at, &offset)
                  : !zone_offset(type->zone, &offset)) {
        return CSV_NOT_OF_TYPE;
    }
    return to_units((int64_t)days * 86400 + time.seconds - offset, &time, type->unit, units_out);
}
