#include "json_time.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NANO_DIGITS = 9,
    FRACTION_BYTES = 16,
    NANOS_PER_S = 1000000000,
    DAY_S = 86400,
    ERA_DAYS = 146097
};
static const int64_t duration_s_max = INT64_C(315576000000);
static const int64_t timestamp_s_min = INT64_C(-62135596800); /* 0001-01-01 */
static const int64_t timestamp_s_max = INT64_C(253402300799); /* 9999-12-31T23:59:59 */

/* Reads exactly `digits` digits, or any number up to 18 when it is 0. */
static bool digits_read(const char **at, int digits, int64_t *value_out)
{
    int64_t value = 0;
    int count = 0;

    while (**at >= '0' && **at <= '9' && count < (digits == 0 ? 18 : digits)) {
        value = value * 10 + (**at - '0');
        ++*at;
        count++;
    }
    *value_out = value;
    return count > 0 && (digits == 0 || count == digits);
}

/* ".25" or nothing. */
static bool fraction_read(const char **at, int32_t *nanos_out)
{
    int32_t nanos = 0;
    int count = 0;

    *nanos_out = 0;
    if (**at != '.') {
        return true;
    }
    ++*at;
    while (**at >= '0' && **at <= '9' && count < NANO_DIGITS) {
        nanos = nanos * 10 + (**at - '0');
        ++*at;
        count++;
    }
    if (count == 0) {
        return false;
    }
    for (; count < NANO_DIGITS; count++) {
        nanos *= 10;
    }
    *nanos_out = nanos;
    return true;
}

/* Three, six or nine digits, or none. */
static void fraction_format(int32_t nanos, char text_out[FRACTION_BYTES])
{
    if (nanos == 0) {
        text_out[0] = '\0';
    } else if (nanos % 1000000 == 0) {
        snprintf(text_out, FRACTION_BYTES, ".%03" PRId32, nanos / 1000000);
    } else if (nanos % 1000 == 0) {
        snprintf(text_out, FRACTION_BYTES, ".%06" PRId32, nanos / 1000);
    } else {
        snprintf(text_out, FRACTION_BYTES, ".%09" PRId32, nanos % NANOS_PER_S);
    }
}

bool json_duration_parse(const char *text, int64_t *seconds_out, int32_t *nanos_out)
{
    const bool negative = text[0] == '-';
    const char *at = text + negative;
    int64_t seconds;
    int32_t nanos;

    if (!digits_read(&at, 0, &seconds) || !fraction_read(&at, &nanos) || strcmp(at, "s") != 0 ||
        seconds > duration_s_max) {
        return false;
    }
    *seconds_out = negative ? -seconds : seconds;
    *nanos_out = negative ? -nanos : nanos;
    return true;
}

void json_duration_format(int64_t seconds, int32_t nanos, char text_out[JSON_TIME_TEXT_BYTES])
{
    const bool negative = seconds < 0 || nanos < 0;
    char fraction[FRACTION_BYTES];

    fraction_format(abs(nanos % NANOS_PER_S), fraction);
    snprintf(text_out, JSON_TIME_TEXT_BYTES, "%s%" PRIu64 "%ss", negative ? "-" : "",
             seconds < 0 ? 0 - (uint64_t)seconds : (uint64_t)seconds, fraction);
}

/* Days since 1970-01-01 of a date of the proleptic Gregorian calendar, counted in eras of 400 years
 * that begin on the first of March, so that the leap day is a year's last. */
static int64_t days_from_date(int64_t year, int64_t month, int64_t day)
{
    const int64_t march_year = month <= 2 ? year - 1 : year;
    const int64_t era = (march_year >= 0 ? march_year : march_year - 399) / 400;
    const int64_t year_of_era = march_year - era * 400;
    const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    const int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * ERA_DAYS + day_of_era - 719468;
}

static void date_from_days(int64_t days, int *year, int *month, int *day)
{
    const int64_t shifted = days + 719468;
    const int64_t era = (shifted >= 0 ? shifted : shifted - ERA_DAYS + 1) / ERA_DAYS;
    const int64_t day_of_era = shifted - era * ERA_DAYS;
    const int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t march_month = (5 * day_of_year + 2) / 153;

    *day = (int)(day_of_year - (153 * march_month + 2) / 5 + 1);
    *month = (int)(march_month < 10 ? march_month + 3 : march_month - 9);
    *year = (int)(year_of_era + era * 400 + (*month <= 2));
}

static bool date_is_real(int64_t year, int64_t month, int64_t day)
{
    int back_year, back_month, back_day;

    if (year < 1 || month < 1 || month > 12 || day < 1) {
        return false;
    }
    date_from_days(days_from_date(year, month, day), &back_year, &back_month, &back_day);
    return back_year == year && back_month == month && back_day == day;
}

static bool literal_read(const char **at, char character)
{
    const bool there = **at == character;
    *at += there;
    return there;
}

/* "Z" or "+05:30"; the rest of the text. */
static bool offset_read(const char *at, int64_t *offset_s_out)
{
    const int sign = *at == '-' ? -1 : 1;
    int64_t hours, minutes;

    *offset_s_out = 0;
    if (*at == 'Z' || *at == 'z') {
        return at[1] == '\0';
    }
    if (*at != '+' && *at != '-') {
        return false;
    }
    at++;
    if (!digits_read(&at, 2, &hours) || !literal_read(&at, ':') || !digits_read(&at, 2, &minutes) ||
        hours > 23 || minutes > 59) {
        return false;
    }
    *offset_s_out = sign * (hours * 3600 + minutes * 60);
    return *at == '\0';
}

bool json_timestamp_parse(const char *text, int64_t *seconds_out, int32_t *nanos_out)
{
    int64_t year, month, day, hour, minute, second, offset_s;
    const char *at = text;

    if (!digits_read(&at, 4, &year) || !literal_read(&at, '-') || !digits_read(&at, 2, &month) ||
        !literal_read(&at, '-') || !digits_read(&at, 2, &day)) {
        return false;
    }
    if (!literal_read(&at, 'T') && !literal_read(&at, 't')) {
        return false;
    }
    if (!digits_read(&at, 2, &hour) || !literal_read(&at, ':') || !digits_read(&at, 2, &minute) ||
        !literal_read(&at, ':') || !digits_read(&at, 2, &second)) {
        return false;
    }
    if (!fraction_read(&at, nanos_out) || !offset_read(at, &offset_s) ||
        !date_is_real(year, month, day) || hour > 23 || minute > 59 || second > 59) {
        return false;
    }
    *seconds_out =
        days_from_date(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second - offset_s;
    return *seconds_out >= timestamp_s_min && *seconds_out <= timestamp_s_max;
}

void json_timestamp_format(int64_t seconds, int32_t nanos, char text_out[JSON_TIME_TEXT_BYTES])
{
    char fraction[FRACTION_BYTES];
    int year, month, day;

    if (seconds < timestamp_s_min || seconds > timestamp_s_max || nanos < 0) {
        seconds = 0; /* no timestamp of ours: the mapping has no text for it */
        nanos = 0;
    }
    int64_t days = seconds / DAY_S;
    int64_t second = seconds % DAY_S;
    if (second < 0) {
        second += DAY_S;
        days--;
    }
    date_from_days(days, &year, &month, &day);
    fraction_format(nanos % NANOS_PER_S, fraction);
    snprintf(text_out, JSON_TIME_TEXT_BYTES, "%04d-%02d-%02dT%02d:%02d:%02d%sZ", year % 10000,
             month, day, (int)(second / 3600), (int)(second / 60 % 60), (int)(second % 60),
             fraction);
}
