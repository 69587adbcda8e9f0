#ifndef H2_LIMITS_H
#define H2_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one peer may do to us on one HTTP/2 connection, beyond what nghttp2 1.52 refuses by itself.
 * Counts frames from the raw bytes, so that no frame type escapes by being ignored. No allocation,
 * no sockets. */

enum h2_violation {
    H2_FINE,
#define VIOLATION(name, help) H2_VIOLATION_##name,
#include "h2_violations.def"
    H2_VIOLATION_COUNT
};
const char *h2_violation_name(enum h2_violation violation);

/* A budget that refills with time: room for `burst` events, then `per_second`. */
struct h2_bucket {
    uint32_t burst, per_second;
    uint64_t millis_left; /* thousandths of an event */
    uint64_t refilled_ms;
};
void h2_bucket_init(struct h2_bucket *bucket, uint32_t burst, uint32_t per_second, uint64_t now_ms);
bool h2_bucket_take(struct h2_bucket *bucket, uint64_t now_ms);

enum {
    H2_HEADER_FIELDS_MAX = 64,
    H2_HEADER_BYTES_MAX =
        8192, /* name + value + 32 each, as SETTINGS_MAX_HEADER_LIST_SIZE counts */
    H2_HEADER_STRIKES_MAX = 3,
    H2_FRAME_HEADER_BYTES = 9,
    H2_PREFACE_BYTES = 24,
    H2_HEADERS_TIMEOUT_MS = 10000,
};

struct h2_limits {
    struct h2_bucket peer_resets, own_resets, pings, settings, empty_data, ignored_frames,
        window_updates;
    uint32_t header_strikes;
    uint32_t invalid_frames;
    /* The walker over the input. */
    uint32_t preface_left;
    uint8_t frame_header[H2_FRAME_HEADER_BYTES];
    uint32_t frame_header_have;
    uint32_t payload_left;
    /* Start of what must end within H2_HEADERS_TIMEOUT_MS; 0: nothing is open. */
    uint64_t headers_since_ms;
};

void h2_limits_init(struct h2_limits *limits, uint64_t now_ms);

/* Looks at received bytes in any split, before nghttp2 gets them. */
enum h2_violation h2_limits_input(struct h2_limits *limits, const uint8_t *bytes, size_t size,
                                  uint64_t now_ms);

/* We sent DATA, HEADERS or WINDOW_UPDATE: honest clients probe bandwidth with PINGs and give
 * windows back then. */
void h2_limits_sent_data(struct h2_limits *limits, uint64_t now_ms);
/* We reset a stream on our own account. */
enum h2_violation h2_limits_own_reset(struct h2_limits *limits, uint64_t now_ms);
/* nghttp2 reported a frame that breaks the protocol. */
enum h2_violation h2_limits_invalid_frame(struct h2_limits *limits);
/* Called now and then: a peer that dribbles its preface or headers. */
enum h2_violation h2_limits_tick(const struct h2_limits *limits, uint64_t now_ms);

/* One header list. */
struct h2_header_budget {
    uint32_t fields, bytes;
};
/* False when the list is too big: reset the stream and stop storing. */
bool h2_header_budget_take(struct h2_header_budget *budget, size_t name_bytes, size_t value_bytes);
/* A list was too big; not H2_FINE from the third time on. */
enum h2_violation h2_limits_header_strike(struct h2_limits *limits);

#endif
