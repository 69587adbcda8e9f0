#ifndef BRIDGE_H
#define BRIDGE_H

#include <stdatomic.h>
#include <uv.h>

/* The only meeting point of engine threads and the loop: many threads push events, the loop drains
 * the whole queue at each wake-up (wake-ups coalesce). Events are part of the caller's own structs;
 * nothing is allocated. */

struct bridge_event {
    struct bridge_event *next;
    void (*run)(struct bridge_event *event); /* on the loop; may free the event */
};

struct bridge {
    _Atomic(struct bridge_event *) head; /* newest first */
    uv_async_t async;
};

/* 0 or a negative errno of libuv. */
int bridge_init(struct bridge *bridge, uv_loop_t *loop);

/* Any thread, never blocks. Events of one thread run in the order of their pushes. */
void bridge_push(struct bridge *bridge, struct bridge_event *event);

/* On the loop: runs everything that is there. Called by the wake-up, and once more at shutdown. */
void bridge_drain(struct bridge *bridge);

/* On the loop, when no thread can push any more. The queue must be empty. */
void bridge_close(struct bridge *bridge);

#endif
