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

/* Goal:   a quiet event waits for the next event that is not, keeping its place before it; while
 * one is expected it is seen soon without any; when none is, nothing keeps the loop turning.
 * Method: one thread, one loop. Both ends look at the order in which the events ran. */
struct noted {
    struct bridge_event event;
    uint32_t number;
};
static uint32_t noted_order[4], noted_count;

static void run_noted(struct bridge_event *event)
{
    noted_order[noted_count++] = ((const struct noted *)event)->number;
}

static void run_last(struct bridge_event *event)
{
    run_noted(event);
    bridge_expected(&bridge);
    bridge_close(&bridge);
}

Test(bridge, quiet_events_wait_for_the_next_or_for_the_timer)
{
    struct noted first = {.event = {.run = run_noted}, .number = 1};
    struct noted second = {.event = {.run = run_noted}, .number = 2};
    struct noted last = {.event = {.run = run_last}, .number = 3};
    uv_loop_t loop;

    noted_count = 0;
    cr_assert_eq(uv_loop_init(&loop), 0);
    cr_assert_eq(bridge_init(&bridge, &loop), 0);
    bridge_push_quietly(&bridge, &first.event);
    for (int i = 0; i < 3; i++) {
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    cr_assert_eq(noted_count, 0, "a quiet event woke the loop");
    bridge_push(&bridge, &second.event);
    uv_run(&loop, UV_RUN_ONCE);
    cr_assert_eq(noted_count, 2);
    cr_assert_eq(noted_order[0], 1);
    cr_assert_eq(noted_order[1], 2);

    bridge_expect(&bridge);
    bridge_push_quietly(&bridge, &last.event);
    cr_assert_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
    cr_assert_eq(noted_count, 3);
    cr_assert_eq(noted_order[2], 3);
    cr_assert_eq(uv_loop_close(&loop), 0);
}
