/* What the simulator charges (tests/sim/sim_costs.c), measured on this machine: nanoseconds, the
 * least of many short rounds; wakes also their median. What needs a second node is measured only
 * where there is one. Usage: bench_costs */
#include "numa/pinned_thread.h"
#include "numa/thread_clock.h"
#include "numa/topology.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 200, STEPS = 2000, WAKES = 400 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static _Alignas(128) _Atomic uint64_t word;

/* Least of many rounds of a statement repeated. */
#define MEASURE(what, statement)                                            \
    do {                                                                    \
        double best_ns_ = 1e18;                                             \
        for (int round_ = 0; round_ < ROUNDS; round_++) {                   \
            const uint64_t start_ns_ = now_ns();                            \
            for (int step_ = 0; step_ < STEPS; step_++) {                   \
                statement;                                                  \
            }                                                               \
            const double each_ns_ = (double)(now_ns() - start_ns_) / STEPS; \
            best_ns_ = each_ns_ < best_ns_ ? each_ns_ : best_ns_;           \
        }                                                                   \
        printf("%-48s %8.1f\n", (what), best_ns_);                          \
    } while (0)

static void measure_own(void)
{
    MEASURE("load_ns: a line this core has", (void)word);
    MEASURE("store_ns: relaxed",
            atomic_store_explicit(&word, (uint64_t)step_, memory_order_relaxed));
    MEASURE("exchange_ns: sequentially consistent", atomic_fetch_add(&word, 1));
    MEASURE("clock_ns: nu_thread_clock_ns", (void)nu_thread_clock_ns());
#if defined(__x86_64__)
    MEASURE("pause_ns", __builtin_ia32_pause());
#endif
    MEASURE("give_way_ns: sched_yield", sched_yield());
}

/* ---- a line that goes to and fro ------------------------------------------------------------- */

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void *ping_main(void *cpu)
{
    pin(*(int *)cpu);
    for (uint64_t turn = 1;; turn += 2) {
        uint64_t seen;
        while ((seen = atomic_load(&word)) < turn) {
        }
        if (seen >= UINT64_MAX / 2) {
            return NULL;
        }
        atomic_store(&word, turn + 1);
    }
}

static void measure_line(const char *what, int from, int to)
{
    pthread_t other;
    double best_ns = 1e18;
    uint64_t turn = 0;

    pin(from);
    atomic_store(&word, 0);
    pthread_create(&other, NULL, ping_main, &to);
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t start_ns = now_ns();
        for (int step = 0; step < 200; step++, turn += 2) {
            atomic_store(&word, turn + 1);
            while (atomic_load(&word) < turn + 2) {
            }
        }
        const double each_ns = (double)(now_ns() - start_ns) / 400;
        best_ns = each_ns < best_ns ? each_ns : best_ns;
    }
    atomic_store(&word, UINT64_MAX);
    pthread_join(other, NULL);
    printf("%-48s %8.1f\n", what, best_ns);
}

/* ---- sleep and wake ---------------------------------------------------------------------------
 */

static struct nu_parker parker;
static _Atomic uint64_t woken_ns;

static void *sleeper_main(void *cpu)
{
    pin(*(int *)cpu);
    for (uint32_t i = 0; i < WAKES; i++) {
        nu_park(&parker, i, 0);
        atomic_store(&woken_ns, now_ns());
    }
    return NULL;
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void measure_wakes(int from, int to)
{
    double call_ns[WAKES], wake_ns[WAKES];
    pthread_t sleeper;

    pin(from);
    pthread_create(&sleeper, NULL, sleeper_main, &to);
    for (int i = 0; i < WAKES; i++) {
        const struct timespec nap = {.tv_nsec = 200000};
        nanosleep(&nap, NULL);
        atomic_store(&woken_ns, 0);
        const uint64_t start_ns = now_ns();
        nu_unpark(&parker);
        call_ns[i] = (double)(now_ns() - start_ns);
        while (atomic_load(&woken_ns) == 0) {
            sched_yield();
        }
        wake_ns[i] = (double)(atomic_load(&woken_ns) - start_ns);
    }
    pthread_join(sleeper, NULL);
    qsort(call_ns, WAKES, sizeof call_ns[0], compare);
    qsort(wake_ns, WAKES, sizeof wake_ns[0], compare);
    printf("%-48s %8.1f median %.1f\n", "wake_call_ns: the waker's futex call", call_ns[0],
           call_ns[WAKES / 2]);
    printf("%-48s %8.1f median %.1f\n", "wake_min_ns: until the woken runs", wake_ns[0],
           wake_ns[WAKES / 2]);
}

int main(void)
{
    struct nu_topology topology;
    int first = -1, near = -1, far = -1;

    char why[256];
    if (nu_topology_read(&topology, NULL, why, sizeof why) != 0) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    for (uint32_t i = 0; i < topology.cpu_count; i++) {
        const int os_cpu = topology.cpus[i].os_cpu;
        if (first < 0) {
            first = os_cpu;
        } else if (topology.cpus[i].node == topology.cpus[0].node) {
            near = near < 0 ? os_cpu : near;
        } else {
            far = far < 0 ? os_cpu : far;
        }
    }
    printf("%s\n", topology.summary);
    pin(first);
    measure_own();
    if (near >= 0) {
        measure_line("line_near_ns: from another core of the node", first, near);
        measure_wakes(first, near);
    }
    if (far >= 0) {
        measure_line("line_far_ns: from a core of another node", first, far);
    } else {
        printf("one node: line_far_ns cannot be measured here\n");
    }
    printf("remote_row_per_cent is not measured: an assumption\n");
    return 0;
}
