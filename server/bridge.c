#include "bridge.h"

#include <assert.h>

static void bridge_wake(uv_async_t *async)
{
    bridge_drain(async->data);
}

int bridge_init(struct bridge *bridge, uv_loop_t *loop)
{
    atomic_init(&bridge->head, NULL);
    bridge->async.data = bridge;
    return uv_async_init(loop, &bridge->async, bridge_wake);
}

void bridge_push(struct bridge *bridge, struct bridge_event *event)
{
    struct bridge_event *head = atomic_load_explicit(&bridge->head, memory_order_relaxed);

    do {
        event->next = head;
        /* release: pairs with the acquire in bridge_drain and publishes the event's struct */
    } while (!atomic_compare_exchange_weak_explicit(&bridge->head, &head, event,
                                                    memory_order_release, memory_order_relaxed));
    /* Whoever finds the queue empty wakes the loop; later pushes ride along. The loop empties the
     * queue after the wake-up is consumed, so none is missed. */
    if (head == NULL) {
        uv_async_send(&bridge->async);
    }
}

void bridge_drain(struct bridge *bridge)
{
    /* acquire: pairs with the release in bridge_push */
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
}
