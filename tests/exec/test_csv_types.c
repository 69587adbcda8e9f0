/* Goal:   texts become the right values or are refused, doubles are correctly rounded whatever the
 *         locale, dates agree with the C library, and guesses fit all values seen.
 * Method: tables of texts by hand; random doubles printed with 17 digits must come back bit by bit,
 * as strtod reads them; every day of 10,000 years against timegm. */
#include "io/csv_head.h"
#include "io/csv_time.h"
#include "io/csv_types.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static enum csv_parse parse(const char *type_text, const char *text, void *value)
{
    struct exec_type type;
    char buffer[512];
    cr_assert(exec_type_parse(type_text, &type), "%s", type_text);
    const size_t size = strlen(text);
    cr_assert_lt(size, sizeof buffer);
    memcpy(buffer, text, size);
    buffer[size] = '7'; /* whatever follows does not belong to it */
    const enum csv_parse parsed = csv_parse_value(&type, buffer, size, value);
    cr_assert_eq(buffer[size], '7');
    return parsed;
}

Test(csv_types, texts)
{
    static const struct {
        const char *type, *text;
        enum csv_parse parsed;
        int64_t value; /* integers and what is stored like one */
    } cases[] = {
        {"bool", "true", CSV_PARSED, 1},
        {"bool", "FALSE", CSV_PARSED, 0},
        {"bool", "1", CSV_NOT_OF_TYPE, 0},
        {"int8", "-128", CSV_PARSED, -128},
        {"int8", "128", CSV_OUT_OF_RANGE, 0},
        {"uint8", "255", CSV_PARSED, 255},
        {"uint8", "-1", CSV_NOT_OF_TYPE, 0},
        {"int32", "2147483647", CSV_PARSED, INT32_MAX},
        {"int32", "2147483648", CSV_OUT_OF_RANGE, 0},
        {"int64", "-9223372036854775808", CSV_PARSED, INT64_MIN},
        {"int64", "9223372036854775808", CSV_OUT_OF_RANGE, 0},
        {"int64", "000000000000000000000000007", CSV_PARSED, 7},
        {"int64", "18446744073709551617", CSV_OUT_OF_RANGE, 0},
        {"int64", "", CSV_NOT_OF_TYPE, 0},
        {"int64", "-", CSV_NOT_OF_TYPE, 0},
        {"int64", "1.0", CSV_NOT_OF_TYPE, 0},
        {"int64", " 1", CSV_NOT_OF_TYPE, 0},
        {"int64", "+1", CSV_NOT_OF_TYPE, 0},
        {"date32", "1970-01-01", CSV_PARSED, 0},
        {"date32", "2013-01-01", CSV_PARSED, 15706},
        {"date32", "1969-12-31", CSV_PARSED, -1},
        {"date32", "2000-02-29", CSV_PARSED, 11016},
        {"date32", "1900-02-29", CSV_NOT_OF_TYPE, 0},
        {"date32", "2013-13-01", CSV_NOT_OF_TYPE, 0},
        {"date32", "2013-1-1", CSV_NOT_OF_TYPE, 0},
        {"timestamp[s]", "2013-01-01 05:00:00", CSV_PARSED, 1357016400},
        {"timestamp[s]", "2013-01-01T05:00:00Z", CSV_PARSED, 1357016400},
        {"timestamp[s]", "2013-01-01", CSV_PARSED, 1356998400},
        {"timestamp[s]", "2013-01-01 05:00", CSV_PARSED, 1357016400},
        {"timestamp[s]", "2013-01-01T05:00:00+05:30", CSV_PARSED, 1356996600},
        {"timestamp[s]", "2013-01-01T05:00:00-0100", CSV_PARSED, 1357020000},
        {"timestamp[s]", "2013-01-01T05:00:00+01", CSV_PARSED, 1357012800},
        {"timestamp[s]", "2013-01-01 05:00:00.5", CSV_OUT_OF_RANGE, 0},
        {"timestamp[s]", "2013-01-01 05:00:00.", CSV_NOT_OF_TYPE, 0},
        {"timestamp[s]", "2013-01-01 24:00:00", CSV_NOT_OF_TYPE, 0},
        {"timestamp[s]", "2013-01-01 05", CSV_NOT_OF_TYPE, 0},
        {"timestamp[us]", "1970-01-01 00:00:00.000001", CSV_PARSED, 1},
        {"timestamp[us]", "1970-01-01 00:00:00.0000010", CSV_PARSED, 1},
        {"timestamp[us]", "1970-01-01 00:00:00.0000011", CSV_OUT_OF_RANGE, 0},
        {"timestamp[ns]", "1969-12-31 23:59:59.999999999", CSV_PARSED, -1},
        {"timestamp[ns]", "9999-12-31 00:00:00", CSV_OUT_OF_RANGE, 0},
        {"timestamp[s, UTC]", "1970-01-01 00:00:01", CSV_PARSED, 1},
        {"timestamp[s, +01:00]", "1970-01-01 01:00:01", CSV_PARSED, 1},
        {"timestamp[s, Europe/Berlin]", "1970-01-01 00:00:01", CSV_NOT_OF_TYPE, 0},
        {"timestamp[s, Europe/Berlin]", "1970-01-01 00:00:01Z", CSV_PARSED, 1},
        {"decimal(5,2)", "123.45", CSV_PARSED, 12345},
        {"decimal(5,2)", "-1.5", CSV_PARSED, -150},
        {"decimal(5,2)", "7", CSV_PARSED, 700},
        {"decimal(5,2)", "1.230", CSV_PARSED, 123},
        {"decimal(5,2)", "1.234", CSV_OUT_OF_RANGE, 0},
        {"decimal(5,2)", "1000", CSV_OUT_OF_RANGE, 0},
        {"decimal(5,2)", "1e3", CSV_NOT_OF_TYPE, 0},
        {"decimal(5,2)", ".", CSV_NOT_OF_TYPE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct exec_type type;
        int64_t value[2] = {0, 0};
        cr_expect_eq(parse(cases[i].type, cases[i].text, value), cases[i].parsed, "%s '%s'",
                     cases[i].type, cases[i].text);
        if (cases[i].parsed != CSV_PARSED) {
            continue;
        }
        exec_type_parse(cases[i].type, &type);
        cr_expect_eq(memcmp(value, &cases[i].value,
                            exec_type_width(type.kind) < 8 ? exec_type_width(type.kind) : 8),
                     0, "%s '%s' gave %lld", cases[i].type, cases[i].text, (long long)value[0]);
    }
}

Test(csv_types, doubles_by_hand)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"0", 0.0},
        {"-0.0", -0.0},
        {".5", 0.5},
        {"5.", 5.0},
        {"1e3", 1000.0},
        {"1E-3", 0.001},
        {"+2.5e+1", 25.0},
        {"123456789012345678", 123456789012345678.0},
        {"1e23", 1e23},
        {"4.9e-324", 4.9e-324},
        {"1e-400", 0.0},
        {"0.1", 0.1},
        {"1797693134862315708145274237317043567981e269",
         1797693134862315708145274237317043567981e269},
        {"2.2250738585072011e-308", 2.2250738585072011e-308},
        {"9007199254740993", 9007199254740992.0},
    };
    static const char *const bad[] = {"",   ".",  "e5",    "1e",  "1e+",  "0x10", "1,5",
                                      "1 ", " 1", "1.2.3", "--1", "nano", "1e5x", "in"};
    double value;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        cr_expect_eq(parse("float64", good[i].text, &value), CSV_PARSED, "'%s'", good[i].text);
        cr_expect_eq(memcmp(&value, &good[i].value, sizeof value), 0, "'%s' gave %.17g",
                     good[i].text, value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_expect_eq(parse("float64", bad[i], &value), CSV_NOT_OF_TYPE, "'%s'", bad[i]);
    }
    cr_expect_eq(parse("float64", "1e400", &value), CSV_OUT_OF_RANGE);
    cr_expect(parse("float64", "-Infinity", &value) == CSV_PARSED && value == -(double)INFINITY);
    cr_expect(parse("float64", "NaN", &value) == CSV_PARSED && isnan(value));
    float narrow;
    cr_expect(parse("float32", "16777217", &narrow) == CSV_PARSED && narrow == 16777216.0f);
    cr_expect_eq(parse("float32", "1e39", &narrow), CSV_OUT_OF_RANGE);
}

Test(csv_types, random_doubles_come_back)
{
    uint64_t seed = 7;
    for (uint32_t i = 0; i < 200000; i++) {
        char text[64];
        double value;
        double want;
        seed = seed * UINT64_C(6364136223846793005) + 1;
        const uint64_t bits = seed ^ (seed >> 29);
        if (i % 2 == 0) {
            memcpy(&want, &bits, sizeof want);
            if (!isfinite(want)) {
                continue;
            }
            snprintf(text, sizeof text, i % 4 == 0 ? "%.17g" : "%.12g", want);
        } else {
            snprintf(text, sizeof text, "%lld.%03u", (long long)(int64_t)bits >> (i % 40 + 20),
                     (unsigned)(bits % 1000));
        }
        want = strtod(text, NULL);
        cr_assert_eq(parse("float64", text, &value), CSV_PARSED, "%s", text);
        cr_assert_eq(memcmp(&value, &want, sizeof want), 0, "%s", text);
    }
}

Test(csv_types, every_day)
{
    for (int32_t day = -719528; day <= 2932896; day += 1 + (day % 7 == 0)) {
        const time_t seconds = (time_t)day * 86400;
        struct tm parts;
        char text[48];
        int32_t days;
        gmtime_r(&seconds, &parts);
        snprintf(text, sizeof text, "%04d-%02d-%02d", parts.tm_year + 1900, parts.tm_mon + 1,
                 parts.tm_mday);
        cr_assert_eq(csv_parse_date(text, 10, &days), CSV_PARSED, "%s", text);
        cr_assert_eq(days, day, "%s", text);
    }
}

Test(csv_types, guesses)
{
    static const struct {
        const char *texts[4];
        const char *type;
    } cases[] = {
        {{NULL}, "utf8"},
        {{"1", "-2"}, "int64"},
        {{"1", "2.5"}, "float64"},
        {{"1", "18446744073709551615"}, "uint64"},
        {{"-1", "18446744073709551615"}, "decimal128(38,0)"},
        {{"1", "99999999999999999999"}, "decimal128(38,0)"},
        {{"1", "-99999999999999999999999999999999999999"}, "decimal128(38,0)"},
        {{"1", "100000000000000000000000000000000000000"}, "utf8"},
        {{"9007199254740991", "0.5"}, "float64"},
        {{"9007199254740993", "0.5"}, "utf8"}, /* no float64 holds the first one */
        {{"1.0", "1e20"}, "float64"},
        {{"1", "+2"}, "float64"},
        {{"0", "-0", "10"}, "int64"},
        {{"1", "0012"}, "utf8"},
        {{"-007"}, "utf8"},
        {{"00.5"}, "float64"},
        {{"1,234"}, "utf8"},
        {{"true", "False"}, "bool"},
        {{"true", "1"}, "utf8"},
        {{"2013-01-01", "2013-12-31"}, "date32"},
        {{"2013-01-01", "2013-12-31 10:00:00"}, "timestamp[us]"},
        {{"2013-01-01T10:00:00Z"}, "timestamp[us]"},
        {{"2013-01-01", "1"}, "utf8"},
        {{"N14228", "1"}, "utf8"},
        {{"1.5", "nan"}, "float64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct csv_guess guess = {.seen = false};
        char type_text[EXEC_TYPE_TEXT_BYTES];
        for (size_t t = 0; t < 4 && cases[i].texts[t] != NULL; t++) {
            char buffer[64] = "";
            strcpy(buffer, cases[i].texts[t]);
            csv_guess_add(&guess, buffer, strlen(buffer), 0);
        }
        const struct exec_type type = csv_guess_type(&guess);
        cr_expect_str_eq(exec_type_text(&type, type_text), cases[i].type, "case %zu", i);
    }
}

Test(csv_types, groups_of_digits)
{
    static const struct {
        const char *text, *plain, *type;
    } cases[] = {
        {"1,234", "1234", "int64"},
        {"-1,234,567", "-1234567", "int64"},
        {"12,345.5", "12345.5", "float64"},
        {"1,5", "1,5", "utf8"},
        {"1,,234", "1,,234", "utf8"},
        {",123", ",123", "utf8"},
        {"1234,567", "1234,567", "utf8"},
        {"1,234,", "1,234,", "utf8"},
        {"0,123", "0123", "utf8"},
        {"18,446,744,073,709,551,615", "18446744073709551615", "uint64"},
        {"98", "98", "int64"},
        {"", "", "utf8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct csv_guess guess = {.seen = false};
        char type_text[EXEC_TYPE_TEXT_BYTES];
        char plain[CSV_GROUPED_BYTES + 1];
        char buffer[64] = "";
        char *text = buffer;
        size_t size = strlen(cases[i].text);
        strcpy(buffer, cases[i].text);
        csv_guess_add(&guess, buffer, size, ',');
        const struct exec_type type = csv_guess_type(&guess);
        cr_expect_str_eq(exec_type_text(&type, type_text), cases[i].type, "'%s'", cases[i].text);
        csv_ungroup(&text, &size, ',', plain);
        cr_expect(size == strlen(cases[i].plain) && memcmp(text, cases[i].plain, size) == 0, "'%s'",
                  cases[i].text);
    }
}
