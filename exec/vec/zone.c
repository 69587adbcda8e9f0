#include "vec/zone.h"

#include "vec/civil_date.h"

#include <string.h>

enum { CYCLE_DAYS = 146097, DAY_SECONDS = 86400 };
#define CYCLE_SECONDS (INT64_C(86400) * CYCLE_DAYS)

static int64_t saturated_add(int64_t a, int64_t b)
{
    int64_t sum;
    return !__builtin_add_overflow(a, b, &sum) ? sum : b < 0 ? INT64_MIN : INT64_MAX;
}

struct zone_span zone_span_at(const struct zone *zone, int64_t seconds)
{
    const bool cycles =
        zone->cycle_begin != INT64_MAX && (seconds >= zone->cycle_begin + CYCLE_SECONDS ||
                                           (zone->always_cycles && seconds < zone->cycle_begin));
    uint32_t low = 0, high = zone->span_count;
    int64_t shift = 0;

    if (cycles) {
        const int64_t since = saturated_add(seconds, -zone->cycle_begin);
        shift = civil_floor_div(since, CYCLE_SECONDS) * CYCLE_SECONDS;
        seconds -= shift;
    }
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (zone->begins[middle] <= seconds) {
            low = middle;
        } else {
            high = middle;
        }
    }
    /* A span that reaches over an end of the cycle is given in two parts. */
    const int64_t begin =
        cycles && zone->begins[low] < zone->cycle_begin ? zone->cycle_begin : zone->begins[low];
    int64_t end = low + 1 < zone->span_count ? zone->begins[low + 1] : INT64_MAX;
    if (zone->cycle_begin != INT64_MAX && end > zone->cycle_begin + CYCLE_SECONDS) {
        end = zone->cycle_begin + CYCLE_SECONDS;
    }
    return (struct zone_span){.begin = saturated_add(begin, shift),
                              .end = saturated_add(end, shift),
                              .offset = zone->offsets[low]};
}

/* Whether the span's clock shows `local`, and when. */
static bool shows(const struct zone_span *span, int64_t local, int64_t *instant_out)
{
    return !__builtin_sub_overflow(local, (int64_t)span->offset, instant_out) &&
           *instant_out >= span->begin && *instant_out < span->end;
}

bool zone_instants_of(const struct zone *zone, int64_t local, struct zone_instants *out)
{
    const int64_t end = saturated_add(local, ZONE_OFFSET_MAX);
    struct zone_span span = zone_span_at(zone, saturated_add(local, -ZONE_OFFSET_MAX));
    struct zone_span before;
    bool found = false;
    int64_t instant;

    *out = (struct zone_instants){.is_skipped = false};
    for (;;) {
        if (shows(&span, local, &instant)) {
            out->first = found ? out->first : instant;
            out->last = instant;
            found = true;
        }
        if (span.end > end || span.end == INT64_MAX) {
            break;
        }
        before = span;
        span = zone_span_at(zone, span.end);
        /* Set forward over `local`: before shows less, this one more. */
        if (!found && local - before.offset >= before.end && local - span.offset < span.begin) {
            *out = (struct zone_instants){.first = local - before.offset,
                                          .last = local - before.offset,
                                          .transition = span.begin,
                                          .is_skipped = true};
            return true;
        }
    }
    return found;
}

bool zone_ticks_of_local(const struct zone *zone, int64_t per_second, int64_t local,
                         int64_t *ticks_out)
{
    struct zone_instants instants;

    return zone_instants_of(zone, civil_floor_div(local, per_second), &instants) &&
           !__builtin_mul_overflow(instants.last, per_second, ticks_out) &&
           !__builtin_add_overflow(*ticks_out, civil_floor_mod(local, per_second), ticks_out);
}

/* ---- names ---------------------------------------------------------------------------------- */

bool zone_is_utc(const char *name)
{
    static const char *const names[] = {"", "UTC", "Etc/UTC", "GMT", "Z"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static int two_digits(const char *text)
{
    const bool both = text[0] >= '0' && text[0] <= '9' && text[1] >= '0' && text[1] <= '9';
    return both ? (text[0] - '0') * 10 + (text[1] - '0') : -1;
}

bool zone_fixed_offset(const char *name, int32_t *seconds_out)
{
    const size_t size = strlen(name);

    if ((name[0] != '+' && name[0] != '-') ||
        (size != 3 && size != 5 && !(size == 6 && name[3] == ':'))) {
        return false;
    }
    const int hours = two_digits(name + 1);
    const int minutes = size == 3 ? 0 : two_digits(name + size - 2);
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) {
        return false;
    }
    *seconds_out = (hours * 3600 + minutes * 60) * (name[0] == '-' ? -1 : 1);
    return true;
}

bool zone_name_is_plain(const char *name)
{
    const size_t size = strlen(name);

    return size > 0 && size < ZONE_NAME_BYTES && name[0] != '/' &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/") ==
               size;
}
