#ifndef BRIDGE_H
#define BRIDGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

/* The only meeting point of engine threads and the loop: many threads push events, the loop drains
 * the whole queue at each wake-up (wake-ups coalesce). Events are part of the caller's own structs;
 * nothing is allocated. */

struct bridge_event {
    struct bridge_event *next;
    void (*run)(struct bridge_event *event); /* on the loop; may free the event */
};

enum { BRIDGE_QUIET_MS = 10 };

struct bridge {
    _Atomic(struct bridge_event *) head; /* newest first */
    atomic_bool woken;                   /* the wake-up is sent and not yet consumed */
    uv_async_t async;
    uv_timer_t quiet;  /* runs while something quiet is expected */
    uint32_t expected; /* loop only */
};

/* 0 or a negative errno of libuv. */
int bridge_init(struct bridge *bridge, uv_loop_t *loop);

/* Any thread, never blocks. Events of one thread run in the order of their pushes. */
void bridge_push(struct bridge *bridge, struct bridge_event *event);
/* The same for an event that another of its job follows soon: it does not wake the loop, which runs
 * it with the next one that does or, while something is expected, after BRIDGE_QUIET_MS at most. */
void bridge_push_quietly(struct bridge *bridge, struct bridge_event *event);

/* On the loop: one more quiet event is expected, and one that was expected has come or never will.
 */
void bridge_expect(struct bridge *bridge);
void bridge_expected(struct bridge *bridge);

/* On the loop: runs everything that is there. Called by the wake-up, and once more at shutdown. */
void bridge_drain(struct bridge *bridge);

/* On the loop, when no thread can push any more. The queue must be empty. */
void bridge_close(struct bridge *bridge);

#endif
