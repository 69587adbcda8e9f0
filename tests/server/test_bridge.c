#include "bridge.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>

/* Goal:   no event is lost or run twice, and events of one thread keep their order.
 * Method: four threads push numbered events while the loop runs; wake-ups coalesce as they like.
 * Under ThreadSanitizer this also checks that an event's contents travel with it. */

enum { THREADS = 4, EVENTS = 20000 };

struct numbered {
    struct bridge_event event;
    uint32_t thread, number;
};

struct pusher {
    pthread_t thread;
    struct bridge *bridge;
    struct numbered *events;
    uint32_t index;
};

static uint32_t next_number[THREADS];
static uint32_t seen;
static struct bridge bridge;

static void run_numbered(struct bridge_event *event)
{
    const struct numbered *numbered = (const struct numbered *)event;

    cr_assert_eq(numbered->number, next_number[numbered->thread]);
    next_number[numbered->thread]++;
    if (++seen == THREADS * EVENTS) {
        bridge_close(&bridge);
    }
}

static void *push_all(void *argument)
{
    struct pusher *pusher = argument;

    for (uint32_t i = 0; i < EVENTS; i++) {
        pusher->events[i] =
            (struct numbered){.event = {.run = run_numbered}, .thread = pusher->index, .number = i};
        bridge_push(pusher->bridge, &pusher->events[i].event);
    }
    return NULL;
}

Test(bridge, every_event_once_in_order)
{
    struct pusher pushers[THREADS];
    uv_loop_t loop;

    cr_assert_eq(uv_loop_init(&loop), 0);
    cr_assert_eq(bridge_init(&bridge, &loop), 0);
    for (uint32_t i = 0; i < THREADS; i++) {
        pushers[i] = (struct pusher){
            .bridge = &bridge, .index = i, .events = calloc(EVENTS, sizeof(struct numbered))};
        cr_assert_eq(pthread_create(&pushers[i].thread, NULL, push_all, &pushers[i]), 0);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(pushers[i].thread, NULL);
        cr_assert_eq(next_number[i], EVENTS);
        free(pushers[i].events);
    }
    cr_assert_eq(uv_loop_close(&loop), 0);
}
