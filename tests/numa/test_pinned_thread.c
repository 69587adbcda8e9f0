/* Goal:   threads carry their name, run where they are pinned with signals blocked, and no wake-up
 * is lost. Method: the thread reads its own state; two threads hand a token to and fro through two
 * parkers. */
#include "numa/pinned_thread.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>

static struct nu_topology topology;
static char why[256];

struct seen {
    char name[16];
    int cpu_count, os_cpu;
    bool signals_blocked;
};

static void *look(void *argument)
{
    struct seen *seen = argument;
    cpu_set_t set;
    sigset_t signals;
    pthread_getname_np(pthread_self(), seen->name, sizeof seen->name);
    sched_getaffinity(0, sizeof set, &set);
    seen->cpu_count = CPU_COUNT(&set);
    seen->os_cpu = sched_getcpu();
    pthread_sigmask(SIG_SETMASK, NULL, &signals);
    seen->signals_blocked = sigismember(&signals, SIGTERM) == 1;
    return NULL;
}

Test(pinned_thread, runs_where_it_says)
{
    cr_assert_eq(nu_topology_read(&topology, NULL, why, sizeof why), 0);
    for (uint32_t cpu = 0; cpu < topology.cpu_count; cpu++) {
        struct nu_thread thread;
        struct seen seen = {0};
        cr_assert_eq(
            nu_thread_start(&thread, &topology, cpu, "a-name-too-long-to-fit", look, &seen), 0);
        nu_thread_join(&thread);
        cr_assert_str_eq(seen.name, "a-name-too-long");
        cr_assert(seen.signals_blocked);
        if (thread.os_cpu >= 0) {
            cr_assert_eq(seen.cpu_count, 1);
            cr_assert_eq(seen.os_cpu, topology.cpus[cpu].os_cpu);
        }
    }
}

Test(pinned_thread, fake_cpus_stand_on_real_ones)
{
    topology = (struct nu_topology){.node_count = 1, .cpu_count = 5, .fake = true};
    for (uint32_t cpu = 0; cpu < 5; cpu++) {
        struct nu_thread thread;
        struct seen seen = {0};
        topology.cpus[cpu].os_cpu = (uint16_t)(500 + cpu);
        cr_assert_eq(nu_thread_start(&thread, &topology, cpu, "fake", look, &seen), 0);
        nu_thread_join(&thread);
        cr_assert_lt(thread.os_cpu, 500);
    }
}

Test(pinned_thread, park_times_out)
{
    static struct nu_parker parker;
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    cr_assert_eq(nu_park(&parker, 0, 20000000), -ETIMEDOUT);
    clock_gettime(CLOCK_MONOTONIC, &after);
    cr_assert_geq((after.tv_sec - before.tv_sec) * 1000000000L + after.tv_nsec - before.tv_nsec,
                  20000000L);
}

Test(pinned_thread, a_wake_before_the_park_is_not_lost)
{
    static struct nu_parker parker;
    nu_unpark(&parker);
    cr_assert_eq(nu_park(&parker, 0, 0), 0);
    cr_assert_eq(parker.word, 1);
}

enum { ROUNDS = 3000 };
static struct nu_parker ping, pong;

static void *answer(void *argument)
{
    (void)argument;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        nu_park(&ping, round, 0);
        nu_unpark(&pong);
    }
    return NULL;
}

Test(pinned_thread, token_to_and_fro)
{
    struct nu_thread thread;
    topology = (struct nu_topology){.node_count = 1, .cpu_count = 1, .fake = true};
    cr_assert_eq(nu_thread_start(&thread, &topology, 0, "answer", answer, NULL), 0);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        nu_unpark(&ping);
        cr_assert_eq(nu_park(&pong, round, 10000000000ULL), 0);
    }
    nu_thread_join(&thread);
}
