#include "h2_limits.h"

#include <string.h>

/* Frame types and flags of RFC 9113. */
enum {
    FRAME_DATA = 0,
    FRAME_HEADERS = 1,
    FRAME_PRIORITY = 2,
    FRAME_RST_STREAM = 3,
    FRAME_SETTINGS = 4,
    FRAME_PING = 6,
    FRAME_GOAWAY = 7,
    FRAME_WINDOW_UPDATE = 8,
    FRAME_CONTINUATION = 9,
    FLAG_ACK = 1,
    FLAG_END_STREAM = 1,
    FLAG_END_HEADERS = 4,
};

static const char *const violation_names[] = {
    [H2_FINE] = "none",
#define VIOLATION(name, help) [H2_VIOLATION_##name] = #name,
#include "h2_violations.def"
};

const char *h2_violation_name(enum h2_violation violation)
{
    return violation_names[violation];
}

void h2_bucket_init(struct h2_bucket *bucket, uint32_t burst, uint32_t per_second, uint64_t now_ms)
{
    *bucket = (struct h2_bucket){.burst = burst,
                                 .per_second = per_second,
                                 .millis_left = (uint64_t)burst * 1000,
                                 .refilled_ms = now_ms};
}

bool h2_bucket_take(struct h2_bucket *bucket, uint64_t now_ms)
{
    const uint64_t full = (uint64_t)bucket->burst * 1000;
    const uint64_t refill = (now_ms - bucket->refilled_ms) * bucket->per_second;

    bucket->millis_left = refill > full - bucket->millis_left ? full : bucket->millis_left + refill;
    bucket->refilled_ms = now_ms;
    if (bucket->millis_left < 1000) {
        return false;
    }
    bucket->millis_left -= 1000;
    return true;
}

void h2_limits_init(struct h2_limits *limits, uint64_t now_ms)
{
    memset(limits, 0, sizeof *limits);
    h2_bucket_init(&limits->peer_resets, 200, 20, now_ms);
    h2_bucket_init(&limits->own_resets, 100, 10, now_ms);
    h2_bucket_init(&limits->pings, 100, 1, now_ms);
    h2_bucket_init(&limits->settings, 20, 1, now_ms);
    h2_bucket_init(&limits->empty_data, 50, 1, now_ms);
    h2_bucket_init(&limits->ignored_frames, 1000, 33, now_ms);
    /* A reader of tiny messages gives a window of 16 MiB back in ten thousands of frames at once.
     */
    h2_bucket_init(&limits->window_updates, 20000, 1000, now_ms);
    limits->preface_left = H2_PREFACE_BYTES;
    limits->headers_since_ms = now_ms; /* until the first SETTINGS */
}

static enum h2_violation limits_check(bool within, enum h2_violation violation)
{
    return within ? H2_FINE : violation;
}

static enum h2_violation limits_frame(struct h2_limits *limits, uint64_t now_ms)
{
    const uint8_t type = limits->frame_header[3];
    const uint8_t flags = limits->frame_header[4];

    switch (type) {
        case FRAME_DATA:
            if (limits->payload_left > 0 || (flags & FLAG_END_STREAM) != 0) {
                return H2_FINE;
            }
            return limits_check(h2_bucket_take(&limits->empty_data, now_ms),
                                H2_VIOLATION_empty_data);
        case FRAME_HEADERS:
        case FRAME_CONTINUATION:
            if ((flags & FLAG_END_HEADERS) != 0) {
                limits->headers_since_ms = 0;
            } else if (limits->headers_since_ms == 0) {
                limits->headers_since_ms = now_ms;
            }
            return H2_FINE;
        case FRAME_RST_STREAM:
            return limits_check(h2_bucket_take(&limits->peer_resets, now_ms),
                                H2_VIOLATION_peer_resets);
        case FRAME_SETTINGS:
            limits->headers_since_ms = 0;
            if ((flags & FLAG_ACK) != 0) {
                return H2_FINE; /* nghttp2 refuses an ACK it did not ask for */
            }
            return limits_check(h2_bucket_take(&limits->settings, now_ms), H2_VIOLATION_settings);
        case FRAME_PING:
            if ((flags & FLAG_ACK) != 0) {
                return limits_check(h2_bucket_take(&limits->ignored_frames, now_ms),
                                    H2_VIOLATION_ignored_frames);
            }
            return limits_check(h2_bucket_take(&limits->pings, now_ms), H2_VIOLATION_pings);
        case FRAME_WINDOW_UPDATE:
            return limits_check(h2_bucket_take(&limits->window_updates, now_ms),
                                H2_VIOLATION_window_updates);
        case FRAME_GOAWAY: return H2_FINE;
        default:
            return limits_check(h2_bucket_take(&limits->ignored_frames, now_ms),
                                H2_VIOLATION_ignored_frames);
    }
}

enum h2_violation h2_limits_input(struct h2_limits *limits, const uint8_t *bytes, size_t size,
                                  uint64_t now_ms)
{
    while (size > 0) {
        /* Skip what is left of the preface or of a payload. */
        uint32_t *skip = limits->preface_left > 0 ? &limits->preface_left : &limits->payload_left;
        if (*skip > 0) {
            const size_t step = size < *skip ? size : *skip;
            *skip -= (uint32_t)step;
            bytes += step;
            size -= step;
            continue;
        }
        limits->frame_header[limits->frame_header_have++] = *bytes++;
        size--;
        if (limits->frame_header_have < H2_FRAME_HEADER_BYTES) {
            continue;
        }
        limits->frame_header_have = 0;
        limits->payload_left = (uint32_t)limits->frame_header[0] << 16 |
                               (uint32_t)limits->frame_header[1] << 8 | limits->frame_header[2];
        const enum h2_violation violation = limits_frame(limits, now_ms);
        if (violation != H2_FINE) {
            return violation;
        }
    }
    return H2_FINE;
}

void h2_limits_sent_data(struct h2_limits *limits, uint64_t now_ms)
{
    h2_bucket_init(&limits->pings, limits->pings.burst, limits->pings.per_second, now_ms);
    h2_bucket_init(&limits->window_updates, limits->window_updates.burst,
                   limits->window_updates.per_second, now_ms);
}

enum h2_violation h2_limits_own_reset(struct h2_limits *limits, uint64_t now_ms)
{
    return limits_check(h2_bucket_take(&limits->own_resets, now_ms), H2_VIOLATION_own_resets);
}

enum h2_violation h2_limits_invalid_frame(struct h2_limits *limits)
{
    enum { INVALID_FRAMES_MAX = 100 };

    return limits_check(++limits->invalid_frames <= INVALID_FRAMES_MAX,
                        H2_VIOLATION_invalid_frames);
}

enum h2_violation h2_limits_tick(const struct h2_limits *limits, uint64_t now_ms)
{
    const bool late =
        limits->headers_since_ms != 0 && now_ms - limits->headers_since_ms > H2_HEADERS_TIMEOUT_MS;

    return limits_check(!late, H2_VIOLATION_slow_headers);
}

bool h2_header_budget_take(struct h2_header_budget *budget, size_t name_bytes, size_t value_bytes)
{
    const size_t bytes = name_bytes + value_bytes + 32;

    if (budget->fields >= H2_HEADER_FIELDS_MAX || bytes > H2_HEADER_BYTES_MAX - budget->bytes) {
        return false;
    }
    budget->fields++;
    budget->bytes += (uint32_t)bytes;
    return true;
}

enum h2_violation h2_limits_header_strike(struct h2_limits *limits)
{
    return limits_check(++limits->header_strikes < H2_HEADER_STRIKES_MAX, H2_VIOLATION_headers);
}
