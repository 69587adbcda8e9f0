#include "numa/pinned_thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <numaif.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- threads -------------------------------------------------------------------------------- */

enum { THREAD_NAME_BYTES = 16 };

struct thread_start {
    void *(*main)(void *);
    void *argument;
    char name[THREAD_NAME_BYTES];
    int preferred_os_node; /* -1: leave the policy alone */
};

static void *thread_main(void *argument)
{
    struct thread_start start = *(struct thread_start *)argument;
    free(argument);
    pthread_setname_np(pthread_self(), start.name);
    if (start.preferred_os_node >= 0) {
        unsigned long mask[NU_NODES_MAX / (8 * sizeof(unsigned long))] = {0};
        const unsigned os_node = (unsigned)start.preferred_os_node;
        mask[os_node / (8 * sizeof mask[0])] |= 1UL << (os_node % (8 * sizeof mask[0]));
        /* A refusal costs locality only; the kernel's default is first touch, nearly the same. */
        (void)set_mempolicy(MPOL_PREFERRED, mask, NU_NODES_MAX + 1);
    }
    return start.main(start.argument);
}

/* The CPU to pin to: of a fake topology, CPU c stands on real CPU c % real count. -1: unknown. */
static int thread_os_cpu(const struct nu_topology *topology, uint32_t cpu)
{
    if (!topology->fake) {
        return topology->cpus[cpu].os_cpu;
    }
    cpu_set_t real;
    CPU_ZERO(&real);
    if (sched_getaffinity(0, sizeof real, &real) != 0 || CPU_COUNT(&real) == 0) {
        return -1;
    }
    uint32_t wanted = cpu % (uint32_t)CPU_COUNT(&real);
    for (int os_cpu = 0; os_cpu < CPU_SETSIZE; os_cpu++) {
        if (CPU_ISSET(os_cpu, &real) && wanted-- == 0) {
            return os_cpu;
        }
    }
    return -1;
}

static int thread_create(struct nu_thread *thread, const pthread_attr_t *attributes,
                         struct thread_start *start)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&thread->handle, attributes, thread_main, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

int nu_thread_start(struct nu_thread *thread, const struct nu_topology *topology, uint32_t cpu,
                    const char *name, void *(*main)(void *), void *argument)
{
    pthread_attr_t attributes;
    cpu_set_t *set = CPU_ALLOC(NU_CPUS_MAX);
    struct thread_start *start = malloc(sizeof *start);
    int failed = ENOMEM;

    if (set == NULL || start == NULL) {
        goto fail_memory;
    }
    *start = (struct thread_start){.main = main, .argument = argument, .preferred_os_node = -1};
    if (topology->can_bind) {
        start->preferred_os_node = topology->nodes[topology->cpus[cpu].node].os_node;
    }
    strncpy(start->name, name, sizeof start->name - 1);
    failed = pthread_attr_init(&attributes);
    if (failed != 0) {
        goto fail_memory;
    }
    thread->os_cpu = thread_os_cpu(topology, cpu);
    if (thread->os_cpu >= 0) {
        const size_t set_bytes = CPU_ALLOC_SIZE(NU_CPUS_MAX);
        CPU_ZERO_S(set_bytes, set);
        CPU_SET_S((size_t)thread->os_cpu, set_bytes, set);
        pthread_attr_setaffinity_np(&attributes, set_bytes, set);
        failed = thread_create(thread, &attributes, start);
    }
    if (thread->os_cpu < 0 || failed == EINVAL || failed == EPERM) {
        pthread_attr_destroy(&attributes);
        failed = pthread_attr_init(&attributes);
        if (failed != 0) {
            goto fail_memory;
        }
        thread->os_cpu = -1;
        failed = thread_create(thread, &attributes, start);
    }
    pthread_attr_destroy(&attributes);
    if (failed == 0) {
        start = NULL; /* the thread frees it */
    }
fail_memory:
    free(start);
    CPU_FREE(set);
    return -failed;
}

void nu_thread_join(struct nu_thread *thread)
{
    pthread_join(thread->handle, NULL);
}

/* ---- parking -------------------------------------------------------------------------------- */

static long futex(_Atomic uint32_t *word, int operation, uint32_t value,
                  const struct timespec *timeout)
{
    return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, timeout, NULL,
                   FUTEX_BITSET_MATCH_ANY);
}

int nu_park(struct nu_parker *parker, uint32_t expected, uint64_t timeout_ns)
{
    struct timespec deadline;
    if (timeout_ns != 0) {
        clock_gettime(CLOCK_MONOTONIC, &deadline);
        const uint64_t nanoseconds = (uint64_t)deadline.tv_nsec + timeout_ns % 1000000000;
        deadline.tv_sec += (time_t)(timeout_ns / 1000000000 + nanoseconds / 1000000000);
        deadline.tv_nsec = (long)(nanoseconds % 1000000000);
    }
    /* acquire: pairs with the release of nu_unpark. */
    while (atomic_load_explicit(&parker->word, memory_order_acquire) == expected) {
        /* FUTEX_WAIT_BITSET takes an absolute time, so an interrupted wait goes on as it was. */
        if (futex(&parker->word, FUTEX_WAIT_BITSET, expected, timeout_ns != 0 ? &deadline : NULL) !=
                0 &&
            errno == ETIMEDOUT) {
            return -ETIMEDOUT;
        }
    }
    return 0;
}

void nu_unpark(struct nu_parker *parker)
{
    /* release: pairs with the acquire of nu_park. */
    atomic_fetch_add_explicit(&parker->word, 1, memory_order_release);
    futex(&parker->word, FUTEX_WAKE, 1, NULL);
}
