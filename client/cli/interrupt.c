#include "interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* Written by the handler, read by the main thread: lock-free atomics are async-signal-safe. */
static atomic_int came;
static _Atomic(struct morsel_connection *) watched;

static void on_signal(int number)
{
    int none = 0;

    /* seq_cst: with interrupt_watch's store and load, one of the two sees the other. */
    if (!atomic_compare_exchange_strong(&came, &none, number)) {
        _exit(128 + number);
    }
    struct morsel_connection *connection = atomic_load(&watched);
    if (connection != NULL) {
        morsel_interrupt(connection);
    }
}

void interrupt_install(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
}

void interrupt_watch(struct morsel_connection *connection)
{
    atomic_store(&watched, connection);
    if (connection != NULL && atomic_load(&came) != 0) {
        morsel_interrupt(connection);
    }
}

bool interrupt_came(void)
{
    return atomic_load_explicit(&came, memory_order_relaxed) != 0;
}

int interrupt_signal(void)
{
    return atomic_load_explicit(&came, memory_order_relaxed);
}
