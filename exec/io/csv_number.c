#include "io/csv_number.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    UINT64_DIGITS_SAFE = 19, /* any number of so many digits fits a uint64_t */
};

static bool is_digit(char byte)
{
    return (unsigned char)(byte - '0') <= 9;
}

/* ---- whole numbers and groups of digits ------------------------------------------------------ */

enum csv_whole csv_whole_kind(const char *text, size_t size)
{
    const size_t first = size > 0 && (text[0] == '-' || text[0] == '+');

    for (size_t i = first; i < size; i++) {
        if (!is_digit(text[i])) {
            return CSV_NOT_WHOLE;
        }
    }
    if (size == first) {
        return CSV_NOT_WHOLE;
    }
    return text[first] == '0' && size > first + 1 ? CSV_WHOLE_PADDED : CSV_WHOLE;
}

void csv_ungroup(char **text_io, size_t *size_io, char mark, char plain[CSV_GROUPED_BYTES + 1])
{
    const char *text = *text_io;
    const size_t size = *size_io;
    size_t at = size > 0 && (text[0] == '-' || text[0] == '+');
    size_t plain_bytes = at;
    size_t run = 0; /* digits since the sign or the last mark */
    bool grouped = false;

    if (mark == '\0' || size > CSV_GROUPED_BYTES || memchr(text, mark, size) == NULL) {
        return;
    }
    memcpy(plain, text, at);
    for (; at < size && (is_digit(text[at]) || text[at] == mark); at++) {
        if (text[at] != mark) {
            plain[plain_bytes++] = text[at];
            run++;
            continue;
        }
        if (grouped ? run != 3 : run == 0 || run > 3) {
            return;
        }
        grouped = true;
        run = 0;
    }
    if (grouped && run != 3) {
        return;
    }
    memcpy(plain + plain_bytes, text + at, size - at); /* a fraction, an exponent or no number */
    *text_io = plain;
    *size_io = plain_bytes + (size - at);
}

/* ---- integers ------------------------------------------------------------------------------- */

enum csv_parse csv_parse_unsigned(const char *text, size_t size, uint64_t max, uint64_t *value_out)
{
    uint64_t value = 0;
    bool overflow = false;

    if (size == 0) {
        return CSV_NOT_OF_TYPE;
    }
    for (size_t i = 0; i < size; i++) {
        if (!is_digit(text[i])) {
            return CSV_NOT_OF_TYPE;
        }
        if (i >= UINT64_DIGITS_SAFE) { /* leading zeros may still make it fit */
            overflow |= __builtin_mul_overflow(value, 10, &value);
            overflow |= __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value);
        } else {
            value = value * 10 + (uint64_t)(text[i] - '0');
        }
    }
    *value_out = value;
    return overflow || value > max ? CSV_OUT_OF_RANGE : CSV_PARSED;
}

enum csv_parse csv_parse_signed(const char *text, size_t size, int64_t min, int64_t max,
                                int64_t *value_out)
{
    const bool negative = size > 0 && text[0] == '-';
    const uint64_t limit = negative ? -(uint64_t)min : (uint64_t)max;
    uint64_t magnitude;
    const enum csv_parse parsed =
        csv_parse_unsigned(text + negative, size - negative, limit, &magnitude);

    if (parsed == CSV_PARSED) {
        *value_out = (int64_t)(negative ? -magnitude : magnitude);
    }
    return parsed;
}

/* ---- floating point ------------------------------------------------------------------------- */

/* What the text says: mantissa * 10^exponent, exact when digits <= UINT64_DIGITS_SAFE. */
struct decimal_text {
    bool negative, is_word; /* inf, nan */
    uint64_t mantissa;
    uint32_t digits; /* significant ones, without leading zeros */
    int64_t exponent;
};

static const char *scan_digits(const char *at, const char *end, struct decimal_text *number,
                               bool fraction)
{
    for (; at < end && is_digit(*at); at++) {
        number->digits += number->digits > 0 || *at != '0';
        if (number->digits <= UINT64_DIGITS_SAFE) {
            number->mantissa = number->mantissa * 10 + (uint64_t)(*at - '0');
            number->exponent -= fraction;
        }
    }
    return at;
}

static bool scan_exponent(const char *at, const char *end, struct decimal_text *number)
{
    const bool negative = at < end && *at == '-';
    int64_t exponent = 0;
    const char *digits = at + (at < end && (*at == '-' || *at == '+'));

    for (at = digits; at < end && is_digit(*at); at++) {
        exponent = exponent < 100000000 ? exponent * 10 + (*at - '0') : exponent;
    }
    number->exponent += negative ? -exponent : exponent;
    return at > digits && at == end;
}

static bool is_word(const char *text, size_t size)
{
    return (size == 3 && (strncasecmp(text, "nan", 3) == 0 || strncasecmp(text, "inf", 3) == 0)) ||
           (size == 8 && strncasecmp(text, "infinity", 8) == 0);
}

/* Checks the grammar, so that strtod never sees hexadecimal, blanks or a local decimal comma. */
static bool scan_number(const char *text, size_t size, struct decimal_text *number)
{
    const char *at = text;
    const char *end = text + size;

    *number = (struct decimal_text){.negative = false};
    if (at < end && (*at == '-' || *at == '+')) {
        number->negative = *at == '-';
        at++;
    }
    const char *digits = at;
    at = scan_digits(at, end, number, false);
    size_t digit_count = (size_t)(at - digits);
    if (at < end && *at == '.') {
        const char *fraction = at + 1;
        at = scan_digits(fraction, end, number, true);
        digit_count += (size_t)(at - fraction);
    }
    if (digit_count == 0) {
        number->is_word = is_word(digits, (size_t)(end - digits));
        return number->is_word;
    }
    if (at == end) {
        return true;
    }
    return (*at == 'e' || *at == 'E') && scan_exponent(at + 1, end, number);
}

static locale_t c_locale;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t get_c_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_c_locale);
    return c_locale;
}

/* Both operands are exact, so one operation rounds once (Clinger 1990). */
static bool float64_fast(const struct decimal_text *number, double *value_out)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double value = (double)number->mantissa;

    if (number->is_word || number->digits > UINT64_DIGITS_SAFE ||
        number->mantissa > UINT64_C(1) << 53 || number->exponent < -22 || number->exponent > 22) {
        return false;
    }
    value =
        number->exponent < 0 ? value / powers[-number->exponent] : value * powers[number->exponent];
    *value_out = number->negative ? -value : value;
    return true;
}

enum csv_parse csv_parse_float64(char *text, size_t size, double *value_out)
{
    struct decimal_text number;

    if (!scan_number(text, size, &number)) {
        return CSV_NOT_OF_TYPE;
    }
    if (float64_fast(&number, value_out)) {
        return CSV_PARSED;
    }
    const locale_t locale = get_c_locale();
    if (locale == (locale_t)0) {
        return CSV_NOT_OF_TYPE;
    }
    const char behind = text[size];
    text[size] = '\0';
    *value_out = strtod_l(text, NULL, locale);
    text[size] = behind;
    return isinf(*value_out) && !number.is_word ? CSV_OUT_OF_RANGE : CSV_PARSED;
}

enum csv_parse csv_parse_float32(char *text, size_t size, float *value_out)
{
    struct decimal_text number;

    if (!scan_number(text, size, &number)) {
        return CSV_NOT_OF_TYPE;
    }
    const locale_t locale = get_c_locale();
    if (locale == (locale_t)0) {
        return CSV_NOT_OF_TYPE;
    }
    const char behind = text[size];
    text[size] = '\0';
    *value_out = strtof_l(text, NULL, locale); /* not by way of a double: that would round twice */
    text[size] = behind;
    return isinf(*value_out) && !number.is_word ? CSV_OUT_OF_RANGE : CSV_PARSED;
}

/* ---- decimals ------------------------------------------------------------------------------- */

enum csv_parse csv_parse_decimal(const char *text, size_t size, unsigned precision, unsigned scale,
                                 void *value_out)
{
    __int128 value = 0;
    unsigned digits = 0;
    unsigned fraction = 0;
    bool point = false;
    bool any = false;
    bool lossy = false;
    const bool negative = size > 0 && text[0] == '-';

    for (size_t i = size > 0 && (negative || text[0] == '+'); i < size; i++) {
        if (text[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (!is_digit(text[i])) {
            return CSV_NOT_OF_TYPE;
        }
        any = true;
        if (point && fraction == scale) {
            lossy |= text[i] != '0';
            continue;
        }
        fraction += point;
        digits += digits > 0 || text[i] != '0';
        lossy |= digits > precision;
        value = lossy ? 0 : value * 10 + (text[i] - '0');
    }
    if (!any) {
        return CSV_NOT_OF_TYPE;
    }
    for (; fraction < scale && !lossy; fraction++) {
        digits += digits > 0;
        lossy = digits > precision;
        value = lossy ? 0 : value * 10;
    }
    value = negative ? -value : value;
    memcpy(value_out, &value, sizeof value);
    return lossy ? CSV_OUT_OF_RANGE : CSV_PARSED;
}
