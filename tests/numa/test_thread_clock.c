/* Goal:   the threads' clock is CLOCK_MONOTONIC: never back, never far from it, at any reading
 * rate. Method: read beside the system's clock, densely, after pauses and from several threads. */
#include "numa/thread_clock.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <time.h>

static uint64_t system_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Between two readings of the system's clock, give or take what the counter may drift. */
static void check_reading(uint64_t *last_ns)
{
    static const uint64_t DRIFT_NS = 5000;
    const uint64_t before_ns = system_ns();
    const uint64_t now_ns = nu_thread_clock_ns();
    const uint64_t after_ns = system_ns();
    cr_assert_geq(now_ns + DRIFT_NS, before_ns);
    cr_assert_leq(now_ns, after_ns + DRIFT_NS);
    cr_assert_geq(now_ns, *last_ns, "went back");
    *last_ns = now_ns;
}

static void *read_for_a_while(void *argument)
{
    const uint64_t end_ns = system_ns() + 50000000;
    uint64_t last_ns = 0;
    (void)argument;
    while (last_ns < end_ns) {
        for (int i = 0; i < 100; i++) {
            const uint64_t now_ns = nu_thread_clock_ns();
            cr_assert_geq(now_ns, last_ns);
            last_ns = now_ns;
        }
        check_reading(&last_ns);
    }
    return NULL;
}

Test(thread_clock, dense_readings_from_several_threads)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, read_for_a_while, NULL);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
}

Test(thread_clock, sparse_readings)
{
    uint64_t last_ns = 0;
    for (long pause_ns = 100; pause_ns <= 100000000; pause_ns *= 10) {
        const struct timespec pause = {.tv_nsec = pause_ns};
        for (int i = 0; i < 3; i++) {
            nanosleep(&pause, NULL);
            check_reading(&last_ns);
        }
    }
}
