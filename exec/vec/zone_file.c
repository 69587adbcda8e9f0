#include "vec/civil_date.h"
#include "vec/zone.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* TZif files to zones (RFC 8536), and the zones of this process: they are few, small and needed as
 * long as it lives, so they have room of their own that nobody gives back. */

enum {
    HEADER_BYTES = 44,
    TYPE_BYTES = 6,
    DAY_SECONDS = 86400,
    CYCLE_YEARS = 400,
    FIRST_CYCLE_YEAR = 1970, /* of zones without transitions of their own */
};

struct counts {
    uint32_t utc, standard, leaps, times, types, chars;
};

static uint32_t load32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static int64_t load64(const unsigned char *bytes)
{
    return (int64_t)((uint64_t)load32(bytes) << 32 | load32(bytes + 4));
}

/* Of the header and the block behind it, whose times have time_bytes; 0: damaged or cut. */
static size_t block_bytes(const unsigned char *bytes, size_t size, size_t time_bytes,
                          struct counts *counts)
{
    if (size < HEADER_BYTES || memcmp(bytes, "TZif", 4) != 0) {
        return 0;
    }
    *counts = (struct counts){load32(bytes + 20), load32(bytes + 24), load32(bytes + 28),
                              load32(bytes + 32), load32(bytes + 36), load32(bytes + 40)};
    const size_t wanted = HEADER_BYTES + (size_t)counts->times * (time_bytes + 1) +
                          (size_t)counts->types * TYPE_BYTES + counts->chars +
                          (size_t)counts->leaps * (time_bytes + 4) + counts->standard + counts->utc;
    return wanted <= size ? wanted : 0;
}

/* ---- the footer: EST5EDT,M3.2.0,M11.1.0 -------------------------------------------------------
 */

struct change {
    enum { CHANGE_WEEK, CHANGE_JULIAN, CHANGE_DAY } kind;
    int month, week, day;
    int32_t seconds; /* of the day, on the clock before; may be negative or above a day */
};

struct rule {
    int32_t standard, summer; /* seconds east of UTC */
    bool has_summer;
    struct change to_summer, to_standard;
};

struct text {
    const char *at, *end;
};

static bool take(struct text *text, char expected)
{
    const bool is = text->at < text->end && *text->at == expected;
    text->at += is;
    return is;
}

static bool read_number(struct text *text, int max, int *out)
{
    const char *begin = text->at;

    for (*out = 0; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
        *out = *out * 10 + (*text->at - '0');
        if (*out > max) {
            return false;
        }
    }
    return text->at > begin;
}

static bool read_name(struct text *text)
{
    const char *begin = text->at;
    const bool quoted = take(text, '<');

    while (text->at < text->end && (quoted ? *text->at != '>'
                                           : (*text->at >= 'A' && *text->at <= 'Z') ||
                                                 (*text->at >= 'a' && *text->at <= 'z'))) {
        text->at++;
    }
    return quoted ? take(text, '>') : text->at > begin;
}

/* [+-]h[:mm[:ss]], up to 167 hours. */
static bool read_clock(struct text *text, int32_t *seconds_out)
{
    const bool negative = take(text, '-');
    int hours, minutes = 0, seconds = 0;

    if (!negative) {
        (void)take(text, '+');
    }
    if (!read_number(text, 167, &hours) || (take(text, ':') && !read_number(text, 59, &minutes)) ||
        (take(text, ':') && !read_number(text, 59, &seconds))) {
        return false;
    }
    *seconds_out = (hours * 3600 + minutes * 60 + seconds) * (negative ? -1 : 1);
    return true;
}

/* The other way round than everywhere else: hours west of Greenwich. */
static bool read_offset(struct text *text, int32_t *offset_out)
{
    if (!read_clock(text, offset_out)) {
        return false;
    }
    *offset_out = -*offset_out;
    return *offset_out >= -ZONE_OFFSET_MAX && *offset_out <= ZONE_OFFSET_MAX;
}

static bool read_change(struct text *text, struct change *out)
{
    *out = (struct change){.seconds = 2 * 3600};
    if (!take(text, ',')) {
        return false;
    }
    if (take(text, 'M')) {
        out->kind = CHANGE_WEEK;
        if (!read_number(text, 12, &out->month) || !take(text, '.') ||
            !read_number(text, 5, &out->week) || !take(text, '.') ||
            !read_number(text, 6, &out->day) || out->month < 1 || out->week < 1) {
            return false;
        }
    } else {
        out->kind = take(text, 'J') ? CHANGE_JULIAN : CHANGE_DAY;
        if (!read_number(text, 365, &out->day) || (out->kind == CHANGE_JULIAN && out->day < 1)) {
            return false;
        }
    }
    return !take(text, '/') || read_clock(text, &out->seconds);
}

static bool read_rule(struct text *text, struct rule *rule)
{
    if (!read_name(text) || !read_offset(text, &rule->standard)) {
        return false;
    }
    if (text->at == text->end) {
        return true;
    }
    rule->has_summer = true;
    rule->summer = rule->standard + 3600;
    if (!read_name(text) ||
        (text->at < text->end && *text->at != ',' && !read_offset(text, &rule->summer))) {
        return false;
    }
    return read_change(text, &rule->to_summer) && read_change(text, &rule->to_standard) &&
           text->at == text->end;
}

/* Days since 1970 of a change in a year. */
static int64_t change_day(const struct change *change, int64_t year)
{
    const int64_t january = civil_to_days(year, 1, 1);
    const bool leap = civil_month_days(year, 2) == 29;

    if (change->kind == CHANGE_DAY) {
        return january + change->day;
    }
    if (change->kind == CHANGE_JULIAN) { /* day 60 is the first of March in every year */
        return january + change->day - 1 + (leap && change->day >= 60);
    }
    const int64_t first = civil_to_days(year, (uint32_t)change->month, 1);
    const int64_t weekday = civil_floor_mod(first + 4, 7); /* day 0 was a Thursday, 4 */
    const int64_t last = civil_month_days(year, (uint32_t)change->month) - 1;
    int64_t day = civil_floor_mod(change->day - weekday, 7) + 7 * (change->week - 1);
    while (day > last) {
        day -= 7;
    }
    return first + day;
}

/* ---- spans ------------------------------------------------------------------------------------
 */

struct spans {
    int64_t *begins;
    int32_t *offsets;
    uint32_t count, room;
};

static bool add_span(struct spans *spans, int64_t begin, int32_t offset)
{
    if (spans->count > 0 && spans->offsets[spans->count - 1] == offset) {
        return true;
    }
    if (spans->count > 0 && spans->begins[spans->count - 1] == begin) {
        spans->offsets[spans->count - 1] = offset;
        return true;
    }
    if (spans->count == spans->room ||
        (spans->count > 0 && spans->begins[spans->count - 1] > begin)) {
        return false;
    }
    spans->begins[spans->count] = begin;
    spans->offsets[spans->count++] = offset;
    return true;
}

/* What the rule says from `after` on, for a cycle of years that begins in the year behind it. */
static bool add_rule(struct spans *spans, const struct rule *rule, int64_t after, bool is_all,
                     struct zone *zone)
{
    const int64_t year =
        is_all ? FIRST_CYCLE_YEAR - 1 : civil_of_days(civil_floor_div(after, DAY_SECONDS)).year;

    if (!rule->has_summer) {
        return add_span(spans, is_all ? INT64_MIN : after, rule->standard);
    }
    for (int64_t y = year; y <= year + 1 + CYCLE_YEARS; y++) {
        const int64_t to_summer = change_day(&rule->to_summer, y) * DAY_SECONDS +
                                  rule->to_summer.seconds - rule->standard;
        const int64_t to_standard = change_day(&rule->to_standard, y) * DAY_SECONDS +
                                    rule->to_standard.seconds - rule->summer;
        const bool summer_first = to_summer < to_standard;
        const int64_t first = summer_first ? to_summer : to_standard;
        const int64_t second = summer_first ? to_standard : to_summer;
        if ((is_all || first > after) && !add_span(spans, is_all && y == year ? INT64_MIN : first,
                                                   summer_first ? rule->summer : rule->standard)) {
            return false;
        }
        if ((is_all || second > after) &&
            !add_span(spans, second, summer_first ? rule->standard : rule->summer)) {
            return false;
        }
    }
    zone->cycle_begin = civil_to_days(year + 1, 1, 1) * DAY_SECONDS;
    zone->always_cycles = is_all;
    return true;
}

static const char *read_spans(const unsigned char *block, const struct counts *counts,
                              struct text footer, struct spans *spans, struct zone *zone)
{
    const unsigned char *times = block + HEADER_BYTES;
    const unsigned char *types = times + (size_t)counts->times * 8;
    const unsigned char *infos = types + counts->times;
    const bool has_rule = footer.at < footer.end;
    struct rule rule = {.standard = 0};
    int64_t last = INT64_MIN;

    for (uint32_t t = 0; t < counts->types; t++) {
        const int32_t offset = (int32_t)load32(infos + (size_t)t * TYPE_BYTES);
        if (offset < -ZONE_OFFSET_MAX || offset > ZONE_OFFSET_MAX) {
            return "an offset beyond 26 hours";
        }
    }
    if (has_rule && !read_rule(&footer, &rule)) {
        return "the rule at its end is not POSIX's";
    }
    if (counts->times > 0 || !has_rule) {
        (void)add_span(spans, INT64_MIN, (int32_t)load32(infos));
    }
    for (uint32_t t = 0; t < counts->times; t++) {
        const int64_t begin = load64(times + (size_t)t * 8);
        if (types[t] >= counts->types || (t > 0 && begin <= last) || begin > INT64_MAX / 4 ||
            begin < INT64_MIN / 4 ||
            !add_span(spans, begin, (int32_t)load32(infos + (size_t)types[t] * TYPE_BYTES))) {
            return "its transitions are damaged";
        }
        last = begin;
    }
    if (has_rule && !add_rule(spans, &rule, last, counts->times == 0, zone)) {
        return "its rule does not follow its transitions";
    }
    return NULL;
}

/* ---- the zones of the process ------------------------------------------------------------------
 */

struct named_zone {
    char name[ZONE_NAME_BYTES];
    struct zone zone;
};

static pthread_mutex_t zones_lock = PTHREAD_MUTEX_INITIALIZER; /* of writers */
static struct named_zone zones[ZONE_ZONES_MAX];
static atomic_uint zone_count; /* zones below it never change */
static _Alignas(8) unsigned char span_bytes[ZONE_SPANS_BYTES_MAX];
static size_t span_bytes_used;

const struct zone *zone_find(const char *name)
{
    /* acquire: pairs with the release in zone_add. */
    const unsigned count = atomic_load_explicit(&zone_count, memory_order_acquire);

    for (unsigned z = 0; z < count; z++) {
        if (strcmp(zones[z].name, name) == 0) {
            return &zones[z].zone;
        }
    }
    return NULL;
}

static const char *add_locked(const char *name, const unsigned char *block,
                              const struct counts *counts, struct text footer)
{
    const unsigned count = atomic_load_explicit(&zone_count, memory_order_relaxed);
    const uint32_t room = counts->times + 2 + 2 * (CYCLE_YEARS + 2);
    unsigned char *at = span_bytes + span_bytes_used;
    struct spans spans = {.begins = (int64_t *)(void *)at,
                          .offsets = (int32_t *)(void *)(at + room * sizeof(int64_t)),
                          .room = room};

    if (zone_find(name) != NULL) {
        return NULL;
    }
    if (count == ZONE_ZONES_MAX ||
        room * (sizeof(int64_t) + sizeof(int32_t)) > sizeof span_bytes - span_bytes_used) {
        return "too many zones are in use";
    }
    struct named_zone *named = &zones[count];
    named->zone = (struct zone){.cycle_begin = INT64_MAX};
    const char *wrong = read_spans(block, counts, footer, &spans, &named->zone);
    if (wrong != NULL) {
        return wrong;
    }
    /* Offsets move up to the end of what is used, and the room is as large as that. */
    int32_t *offsets = (int32_t *)(void *)(at + spans.count * sizeof(int64_t));
    memmove(offsets, spans.offsets, spans.count * sizeof(int32_t));
    named->zone.begins = spans.begins;
    named->zone.offsets = offsets;
    named->zone.span_count = spans.count;
    memcpy(named->name, name, strlen(name) + 1);
    span_bytes_used += (spans.count * (sizeof(int64_t) + sizeof(int32_t)) + 7) / 8 * 8;
    /* release: pairs with the acquire in zone_find. */
    atomic_store_explicit(&zone_count, count + 1, memory_order_release);
    return NULL;
}

const char *zone_add(const char *name, const unsigned char *bytes, size_t size)
{
    struct counts counts;
    struct text footer;
    const size_t first = block_bytes(bytes, size, 4, &counts);

    if (!zone_name_is_plain(name)) {
        return "its name is no path of letters and digits";
    }
    if (first == 0) {
        return "it is no TZif file";
    }
    if (bytes[4] < '2') {
        return "its version is below 2";
    }
    const size_t second = block_bytes(bytes + first, size - first, 8, &counts);
    if (second == 0 || counts.types == 0) {
        return "it is damaged";
    }
    if (counts.leaps != 0) {
        return "it counts leap seconds";
    }
    footer.at = (const char *)bytes + first + second;
    footer.end = (const char *)bytes + size;
    if (!take(&footer, '\n')) {
        return "it lacks the rule at its end";
    }
    const char *end = memchr(footer.at, '\n', (size_t)(footer.end - footer.at));
    if (end == NULL) {
        return "it lacks the rule at its end";
    }
    footer.end = end;
    pthread_mutex_lock(&zones_lock);
    const char *wrong = add_locked(name, bytes + first, &counts, footer);
    pthread_mutex_unlock(&zones_lock);
    return wrong;
}
