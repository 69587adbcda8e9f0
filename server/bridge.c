#include "bridge.h"

#include <assert.h>

static void bridge_wake(uv_async_t *async)
{
    bridge_drain(async->data);
}

static void bridge_look(uv_timer_t *timer)
{
    bridge_drain(timer->data);
}

int bridge_init(struct bridge *bridge, uv_loop_t *loop)
{
    atomic_init(&bridge->head, NULL);
    atomic_init(&bridge->woken, false);
    bridge->expected = 0;
    bridge->async.data = bridge;
    bridge->quiet.data = bridge;
    uv_timer_init(loop, &bridge->quiet);
    return uv_async_init(loop, &bridge->async, bridge_wake);
}

void bridge_push_quietly(struct bridge *bridge, struct bridge_event *event)
{
    struct bridge_event *head = atomic_load_explicit(&bridge->head, memory_order_relaxed);

    do {
        event->next = head;
        /* release: pairs with the acquire in bridge_drain and publishes the event's struct */
    } while (!atomic_compare_exchange_weak_explicit(&bridge->head, &head, event,
                                                    memory_order_release, memory_order_relaxed));
}

void bridge_push(struct bridge *bridge, struct bridge_event *event)
{
    bridge_push_quietly(bridge, event);
    /* The first wakes the loop; later ones ride along. acq_rel: pairs with the exchange in
     * bridge_drain, so that whoever finds the wake-up under way has its event seen by it. */
    if (!atomic_exchange_explicit(&bridge->woken, true, memory_order_acq_rel)) {
        uv_async_send(&bridge->async);
    }
}

void bridge_expect(struct bridge *bridge)
{
    if (bridge->expected++ == 0) {
        uv_timer_start(&bridge->quiet, bridge_look, BRIDGE_QUIET_MS, BRIDGE_QUIET_MS);
    }
}

void bridge_expected(struct bridge *bridge)
{
    assert(bridge->expected > 0);
    if (--bridge->expected == 0) {
        uv_timer_stop(&bridge->quiet);
    }
}

void bridge_drain(struct bridge *bridge)
{
    /* Before the queue is emptied: whoever pushes from here on wakes the loop again. */
    atomic_exchange_explicit(&bridge->woken, false, memory_order_acq_rel);
    /* acquire: pairs with the release in bridge_push_quietly */
    struct bridge_event *newest =
        atomic_exchange_explicit(&bridge->head, NULL, memory_order_acquire);
    struct bridge_event *oldest = NULL;

    while (newest != NULL) {
        struct bridge_event *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest != NULL) {
        struct bridge_event *event = oldest;
        oldest = event->next;
        event->run(event);
    }
}

void bridge_close(struct bridge *bridge)
{
    assert(atomic_load_explicit(&bridge->head, memory_order_acquire) == NULL);
    uv_close((uv_handle_t *)&bridge->async, NULL);
    uv_close((uv_handle_t *)&bridge->quiet, NULL);
}
