#ifndef EXEC_VEC_ZONE_H
#define EXEC_VEC_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Time zones: which offset from UTC a zone has when. The rules come from the system's tzdata, files
 * in TZif (RFC 8536, version 2 or later). A zone is read once a process and then never changes;
 * newer tzdata is seen after a restart. */

enum {
    ZONE_NAME_BYTES = 64,           /* its 0 included */
    ZONE_FILE_BYTES_MAX = 16384,    /* those of tzdata have 4 KiB at most */
    ZONE_ZONES_MAX = 640,           /* tzdata has some 600 names */
    ZONE_SPANS_BYTES_MAX = 8 << 20, /* of all zones */
    ZONE_OFFSET_MAX = 26 * 3600,    /* seconds that a zone is away from UTC, RFC 8536 */
};

#define ZONE_DIRECTORY "/usr/share/zoneinfo"

/* Spans of one offset each: span i begins at begins[i] and ends where the next one begins.
 * begins[0] is INT64_MIN. Yearly rules without an end are written out for 400 years, after which
 * the calendar repeats, weekdays included. */
struct zone {
    const int64_t *begins;  /* seconds since 1970, ascending */
    const int32_t *offsets; /* seconds east of UTC */
    uint32_t span_count;
    int64_t cycle_begin; /* from here on all repeats; INT64_MAX: nothing does */
    bool always_cycles;  /* before cycle_begin too */
};

/* A zone read earlier; NULL: none of that name has been. Any thread, no lock. */
const struct zone *zone_find(const char *name);

/* Whether a file of that name may be asked for: a relative path of letters, digits, '_', '-', '+'.
 */
bool zone_name_is_plain(const char *name);

/* Make the contents of a TZif file the zone of that name, for all threads. NULL: done (or there
 * already); else what is wrong, in static storage. Takes a lock for some microseconds. */
const char *zone_add(const char *name, const unsigned char *bytes, size_t size);

/* "+hh", "+hhmm" or "+hh:mm", likewise with '-': seconds east of UTC. */
bool zone_fixed_offset(const char *name, int32_t *seconds_out);

/* Names of UTC itself: "", "UTC", "Etc/UTC", "GMT", "Z". */
bool zone_is_utc(const char *name);

/* ---- what the clock shows ---- */

struct zone_span {
    int64_t begin, end; /* seconds of UTC; end is outside */
    int32_t offset;
};
struct zone_span zone_span_at(const struct zone *zone, int64_t seconds);

/* The instants at which the zone's clock shows `local` (seconds since 1970 as if of UTC). It shows
 * most once. Set back, it shows some twice: `first` and `last` differ. Set forward, it leaves some
 * out: is_skipped; then `transition` is the instant at which it is set, and `last` (and `first`)
 * the local time read with the offset before. False: beyond int64. */
struct zone_instants {
    int64_t first, last, transition;
    bool is_skipped;
};
bool zone_instants_of(const struct zone *zone, int64_t local, struct zone_instants *out);

/* `last` of a local time in ticks, so many a second, in ticks. False: beyond int64. */
bool zone_ticks_of_local(const struct zone *zone, int64_t per_second, int64_t local,
                         int64_t *ticks_out);

#endif
