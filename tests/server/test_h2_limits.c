#include "h2_limits.h"

#include <criterion/criterion.h>
#include <string.h>

/* Goal:   each flood is stopped after its budget, whatever the split of the bytes, and an honest
 * peer is not. Method: hand-made frames, whole and byte by byte, against a clock of our own. */

static struct h2_limits limits;
static uint64_t now_ms;
static bool byte_by_byte;

static enum h2_violation feed(const uint8_t *bytes, size_t size)
{
    if (!byte_by_byte) {
        return h2_limits_input(&limits, bytes, size, now_ms);
    }
    for (size_t i = 0; i < size; i++) {
        const enum h2_violation violation = h2_limits_input(&limits, bytes + i, 1, now_ms);
        if (violation != H2_FINE) {
            return violation;
        }
    }
    return H2_FINE;
}

static enum h2_violation frame(uint8_t type, uint8_t flags, uint32_t payload)
{
    uint8_t bytes[9 + 64] = {0, 0, (uint8_t)payload, type, flags, 0, 0, 0, 1};

    /* The payload looks like frame headers: it must be skipped, not read. */
    memset(bytes + 9, 6, sizeof bytes - 9);
    return feed(bytes, 9 + payload);
}

static void start(void)
{
    static const uint8_t preface[H2_PREFACE_BYTES + 1] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

    now_ms = 1000;
    h2_limits_init(&limits, now_ms);
    cr_assert_eq(feed(preface, H2_PREFACE_BYTES), H2_FINE);
    cr_assert_eq(frame(4, 0, 0), H2_FINE);
}

static uint32_t frames_until(uint8_t type, uint8_t flags, uint32_t payload, enum h2_violation want)
{
    for (uint32_t count = 0; count < 25000; count++) {
        const enum h2_violation violation = frame(type, flags, payload);
        if (violation != H2_FINE) {
            cr_assert_eq(violation, want);
            return count;
        }
    }
    return UINT32_MAX;
}

static void floods(void)
{
    start();
    cr_assert_eq(frames_until(6, 0, 8, H2_VIOLATION_pings), 100);
    start();
    cr_assert_eq(frames_until(4, 0, 6, H2_VIOLATION_settings), 19);
    start();
    cr_assert_eq(frames_until(0, 0, 0, H2_VIOLATION_empty_data), 50);
    start();
    cr_assert_eq(frames_until(2, 0, 5, H2_VIOLATION_ignored_frames), 1000);
    start();
    cr_assert_eq(frames_until(0xbe, 0, 40, H2_VIOLATION_ignored_frames), 1000);
    start();
    cr_assert_eq(frames_until(3, 0, 4, H2_VIOLATION_peer_resets), 200);
    start();
    cr_assert_eq(frames_until(8, 0, 4, H2_VIOLATION_window_updates), 20000);
    start();
    cr_assert_eq(frames_until(0, 1, 0, H2_FINE), UINT32_MAX, "END_STREAM needs no bytes");
    cr_assert_eq(frames_until(0, 0, 30, H2_FINE), UINT32_MAX);
}

Test(h2_limits, floods_are_stopped)
{
    floods();
}

Test(h2_limits, floods_are_stopped_in_any_split)
{
    byte_by_byte = true;
    floods();
}

Test(h2_limits, budgets_come_back)
{
    start();
    for (uint32_t second = 0; second < 300; second++) {
        for (uint32_t i = 0; i < 20; i++) {
            cr_assert_eq(frame(3, 0, 4), H2_FINE);
        }
        cr_assert_eq(frame(6, 0, 8), H2_FINE);
        now_ms += 1000;
    }
    for (uint32_t i = 0; i < 1000; i++) {
        cr_assert_eq(frame(6, 0, 8), H2_FINE, "pings beside data probe bandwidth");
        for (uint32_t update = 0; update < 100; update++) {
            cr_assert_eq(frame(8, 0, 4), H2_FINE, "data is answered with window updates");
        }
        h2_limits_sent_data(&limits, now_ms);
    }
    uint32_t own = 0;
    while (h2_limits_own_reset(&limits, now_ms) == H2_FINE) {
        own++;
    }
    cr_assert_eq(own, 100);
}

Test(h2_limits, slow_headers)
{
    now_ms = 5000;
    h2_limits_init(&limits, now_ms);
    cr_assert_eq(h2_limits_tick(&limits, now_ms + H2_HEADERS_TIMEOUT_MS), H2_FINE);
    cr_assert_eq(h2_limits_tick(&limits, now_ms + H2_HEADERS_TIMEOUT_MS + 1),
                 H2_VIOLATION_slow_headers);
    start();
    cr_assert_eq(h2_limits_tick(&limits, now_ms + 60000), H2_FINE, "settings came");
    cr_assert_eq(frame(1, 0, 10), H2_FINE);
    cr_assert_eq(h2_limits_tick(&limits, now_ms + 60000), H2_VIOLATION_slow_headers);
    cr_assert_eq(frame(9, 4, 10), H2_FINE);
    cr_assert_eq(h2_limits_tick(&limits, now_ms + 60000), H2_FINE, "the block is whole");
}

Test(h2_limits, header_lists)
{
    struct h2_header_budget budget = {0};

    for (uint32_t i = 0; i < H2_HEADER_FIELDS_MAX; i++) {
        cr_assert(h2_header_budget_take(&budget, 10, 10));
    }
    cr_assert(!h2_header_budget_take(&budget, 1, 1));
    budget = (struct h2_header_budget){0};
    cr_assert(h2_header_budget_take(&budget, 100, H2_HEADER_BYTES_MAX - 132));
    cr_assert(!h2_header_budget_take(&budget, 0, 0));
    start();
    cr_assert_eq(h2_limits_header_strike(&limits), H2_FINE);
    cr_assert_eq(h2_limits_header_strike(&limits), H2_FINE);
    cr_assert_eq(h2_limits_header_strike(&limits), H2_VIOLATION_headers);
}
