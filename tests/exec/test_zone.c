/* Goal:   zones read from TZif files have the offsets that libc has, at any time; local times are
 * found where they are shown; damaged files are refused. Method: random instants from 1800 to 2800
 * and around transitions against localtime_r(); instants of local times against every instant near
 * them; files cut at each length, with each byte changed. */
#include "vec/zone.h"

#include "arena_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char *const names[] = {"America/New_York", "Europe/Berlin",     "Europe/Dublin",
                                    "Asia/Kolkata",     "Pacific/Apia",      "Australia/Lord_Howe",
                                    "America/Havana",   "Africa/Casablanca", "Etc/GMT+5",
                                    "Antarctica/Troll", "Asia/Gaza",         "Pacific/Kiritimati"};

static size_t read_file(const char *name, unsigned char bytes[ZONE_FILE_BYTES_MAX])
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", ZONE_DIRECTORY, name);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s: is tzdata installed?", path);
    const size_t size = fread(bytes, 1, ZONE_FILE_BYTES_MAX, file);
    fclose(file);
    return size;
}

static const struct zone *zone_of(const char *name)
{
    unsigned char bytes[ZONE_FILE_BYTES_MAX];
    const size_t size = read_file(name, bytes);
    const char *wrong = zone_add(name, bytes, size);

    cr_assert_null(wrong, "%s: %s", name, wrong);
    return zone_find(name);
}

static void check_span(const struct zone *zone, const char *name, int64_t seconds)
{
    const struct zone_span span = zone_span_at(zone, seconds);
    const time_t as_time = (time_t)seconds;
    struct tm tm;

    cr_assert_not_null(localtime_r(&as_time, &tm));
    cr_assert_eq(span.offset, tm.tm_gmtoff, "%s at %lld: %d, libc has %ld", name,
                 (long long)seconds, span.offset, tm.tm_gmtoff);
    cr_assert(span.begin <= seconds && seconds < span.end, "%s at %lld", name, (long long)seconds);
}

/* Offsets change on whole minutes, or where LMT ends: looking at every candidate offset will do. */
static void check_local(const struct zone *zone, const char *name, int64_t local)
{
    struct zone_instants got;
    int64_t first = INT64_MAX, last = INT64_MIN;
    bool shown = false;

    cr_assert(zone_instants_of(zone, local, &got), "%s", name);
    for (int64_t t = local - ZONE_OFFSET_MAX; t <= local + ZONE_OFFSET_MAX;) {
        const struct zone_span span = zone_span_at(zone, t);
        const int64_t instant = local - span.offset;
        if (instant >= span.begin && instant < span.end) {
            first = instant < first ? instant : first;
            last = instant > last ? instant : last;
            shown = true;
        }
        if (span.end == INT64_MAX) {
            break;
        }
        t = span.end;
    }
    cr_assert_eq(got.is_skipped, !shown, "%s at %lld", name, (long long)local);
    if (shown) {
        cr_assert(got.first == first && got.last == last, "%s at %lld", name, (long long)local);
        return;
    }
    const int32_t before = zone_span_at(zone, got.transition - 1).offset;
    const int32_t after = zone_span_at(zone, got.transition).offset;
    cr_assert(got.last == local - before && got.first == got.last && after > before);
    cr_assert(local >= got.transition + before && local < got.transition + after);
}

Test(zone, as_libc_has_it)
{
    uint64_t seed = 11;
    uint32_t skipped = 0;

    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        const struct zone *zone = zone_of(names[n]);
        setenv("TZ", names[n], 1);
        tzset();
        for (uint32_t i = 0; i < 4000; i++) {
            const int64_t years = INT64_C(31556952);
            const int64_t seconds =
                (int64_t)(test_random(&seed) % (uint64_t)(1000 * years)) - 170 * years;
            const struct zone_span span = zone_span_at(zone, seconds);
            check_span(zone, names[n], seconds);
            check_local(zone, names[n], seconds);
            if (span.begin != INT64_MIN) {
                const int64_t near =
                    span.begin + (int64_t)(test_random(&seed) % 14400) - 7200 + span.offset;
                struct zone_instants instants;
                check_span(zone, names[n], span.begin);
                check_span(zone, names[n], span.begin - 1);
                check_local(zone, names[n], near);
                skipped += zone_instants_of(zone, near, &instants) && instants.is_skipped;
            }
        }
    }
    cr_assert_gt(skipped, 1000);
}

Test(zone, ends_of_time)
{
    const struct zone *zone = zone_of("America/New_York");
    struct zone_instants instants;

    cr_assert_eq(zone_span_at(zone, INT64_MIN).offset, -17762); /* LMT */
    cr_assert_eq(zone_span_at(zone, INT64_MAX).end, INT64_MAX);
    cr_assert_not(zone_instants_of(zone, INT64_MAX, &instants));
    cr_assert(zone_instants_of(zone, INT64_MIN + 1000000, &instants));
    /* Four hundred years later all is the same. */
    for (int64_t t = INT64_C(5000000000); t < INT64_C(5100000000); t += 1000003) {
        cr_assert_eq(zone_span_at(zone, t).offset,
                     zone_span_at(zone, t + INT64_C(12622780800) * 1000).offset);
    }
}

/* A version 2 file without transitions and with this rule. */
static size_t make_file(const char *rule, unsigned char *bytes)
{
    unsigned char *at = bytes;

    memset(bytes, 0, 200);
    for (uint32_t block = 0; block < 2; block++) {
        memcpy(at, "TZif2", 5);
        at[39] = 1; /* one type, and one character of its name */
        at[43] = 1;
        at += 44 + 6 + 1;
    }
    return (size_t)(at - bytes) + (size_t)sprintf((char *)at, "\n%s\n", rule);
}

Test(zone, rules_of_posix)
{
    static const struct {
        const char *rule;
        int64_t seconds;
        int32_t offset; /* INT32_MIN: the file is refused */
    } cases[] = {
        {"EST5EDT,M3.2.0,M11.1.0", 1720000000, -4 * 3600},
        {"EST5EDT,M3.2.0,M11.1.0", 1705000000, -5 * 3600},
        {"EST5EDT,M3.2.0,M11.1.0", -30000000000, -4 * 3600},
        {"<-03>3<-02>,M3.5.0/-2,M10.5.0/-1", 1720000000, -2 * 3600},
        {"IST-1GMT0,M10.5.0,M3.5.0/1", 1705000000, 0},
        {"<+0545>-5:45", 0, 20700},
        {"AAA-1BBB,J60/0,J61/0", 1709247600,
         7200}, /* 23:00Z on the 29th: there the first of March */
        {"AAA-1BBB,J60/0,J61/0", 1709247599, 3600},
        {"XXX0YYY,60/0,J100/0", 1709251200, 3600}, /* day 60 of a leap year is the first of March */
        {"XXX0YYY,60/0,J100/0", 1709251199, 0},
        {"XXX3EDT4,0/0,J365/23", 1705000000, -4 * 3600}, /* summer all year */
        {"EST", 0, INT32_MIN},
        {"EST5EDT", 0, INT32_MIN},
        {"EST5EDT,M13.2.0,M11.1.0", 0, INT32_MIN},
        {"EST5EDT,M3.6.0,M11.1.0", 0, INT32_MIN},
        {"EST5EDT,M3.2.0", 0, INT32_MIN},
        {"EST5EDT,M3.2.0,M11.1.0,", 0, INT32_MIN},
        {"EST99", 0, INT32_MIN},
        {"<EST5", 0, INT32_MIN},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned char bytes[400];
        char name[20];
        snprintf(name, sizeof name, "case%zu", i);
        const char *wrong = zone_add(name, bytes, make_file(cases[i].rule, bytes));
        const struct zone *zone = zone_find(name);
        cr_expect_eq(wrong == NULL, cases[i].offset != INT32_MIN, "%s: %s", cases[i].rule, wrong);
        cr_expect_eq(zone != NULL, wrong == NULL);
        if (zone != NULL) {
            cr_expect_eq(zone_span_at(zone, cases[i].seconds).offset, cases[i].offset, "%s",
                         cases[i].rule);
        }
    }
}

Test(zone, damaged_files_are_refused)
{
    unsigned char whole[ZONE_FILE_BYTES_MAX];
    unsigned char bytes[ZONE_FILE_BYTES_MAX];
    const size_t size = read_file("Europe/Berlin", whole);
    uint64_t seed = 5;

    for (size_t cut = 0; cut < size; cut++) {
        cr_assert_not_null(zone_add("cut", whole, cut), "%zu of %zu bytes", cut, size);
    }
    cr_assert_null(zone_find("cut"));
    for (size_t i = 0; i < size; i++) { /* whatever it says then: no fault, spans that ascend */
        char name[20];
        snprintf(name, sizeof name, "byte%zu", i % 300);
        memcpy(bytes, whole, size);
        bytes[i] ^= (unsigned char)(1 + test_random(&seed) % 255);
        (void)zone_add(name, bytes, size);
        const struct zone *zone = zone_find(name);
        for (uint32_t s = 1; zone != NULL && s < zone->span_count; s++) {
            cr_assert_lt(zone->begins[s - 1], zone->begins[s]);
        }
        if (zone != NULL) {
            struct zone_instants instants;
            (void)zone_instants_of(zone, (int64_t)test_random(&seed), &instants);
        }
    }
    whole[31]++; /* leap seconds */
    cr_assert_not_null(zone_add("leaps", whole, size));
    whole[4] = 0;
    cr_assert_not_null(zone_add("old", whole, size));
}

Test(zone, names)
{
    static const struct {
        const char *name;
        int32_t offset; /* INT32_MIN: it is no offset */
    } cases[] = {{"+02:00", 7200},      {"-0330", -12600},      {"+14", 50400},
                 {"+24:00", INT32_MIN}, {"02:00", INT32_MIN},   {"+2:00", INT32_MIN},
                 {"+02:60", INT32_MIN}, {"+02-00", INT32_MIN},  {"", INT32_MIN},
                 {"+", INT32_MIN},      {"+02:00x", INT32_MIN}, {"+0a", INT32_MIN}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int32_t offset = INT32_MIN;
        cr_expect_eq(zone_fixed_offset(cases[i].name, &offset), cases[i].offset != INT32_MIN, "%s",
                     cases[i].name);
        cr_expect_eq(offset, cases[i].offset, "%s", cases[i].name);
    }
    cr_expect(zone_name_is_plain("America/Argentina/Buenos_Aires"));
    cr_expect(zone_name_is_plain("Etc/GMT+5"));
    cr_expect_not(zone_name_is_plain("../../etc/passwd"));
    cr_expect_not(zone_name_is_plain("/etc/localtime"));
    cr_expect_not(zone_name_is_plain(""));
    cr_expect(zone_is_utc("UTC") && zone_is_utc("") && !zone_is_utc("Europe/Berlin"));
}
