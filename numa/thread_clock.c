#include "numa/thread_clock.h"

#include <stdbool.h>
#include <time.h>

static uint64_t system_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdatomic.h>
#include <x86intrin.h>

static const uint64_t LEG_NS = 1000000;
/* A rate is taken over this long at most: a leg across a suspended machine says nothing. */
static const uint64_t LEG_NS_MAX = 1000000000;
/* Both clocks are read together unless the thread lost its CPU in between. */
enum { TOGETHER_TICKS_MAX = 1000, TRIES = 4, RATE_BITS = 32 };

/* The leg under way: time = ns + ticks since `tick` at `rate`, for `ticks` more of them. */
static _Thread_local struct leg {
    uint64_t tick, system_ns; /* read together; tick 0: not */
    uint64_t ns;    /* at `tick`: system_ns, or what has been told already if that is more */
    uint64_t ticks; /* 0: the rate is not known, ask the system */
    uint64_t rate;  /* nanoseconds << RATE_BITS a tick */
} leg;

static bool counter_is_invariant(void)
{
    static _Atomic int known; /* 1: no, 2: yes */
    int is = atomic_load_explicit(&known, memory_order_relaxed);
    if (is == 0) {
        unsigned eax, ebx, ecx, edx = 0;
        const bool told = __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0;
        is = told && (edx & (1U << 8)) != 0 ? 2 : 1;
        atomic_store_explicit(&known, is, memory_order_relaxed);
    }
    return is == 2;
}

/* Both clocks at once; false when they could not be read together. */
static bool read_both(uint64_t *tick, uint64_t *ns)
{
    for (int i = 0; i < TRIES; i++) {
        const uint64_t before = __rdtsc();
        *ns = system_ns();
        *tick = __rdtsc();
        if (*tick - before <= TOGETHER_TICKS_MAX) {
            return true;
        }
    }
    return false;
}

/* The leg is over: begins the next one from the system's clock. */
static uint64_t leg_begin(void)
{
    const struct leg old = leg;
    struct leg next = {0};

    if (!counter_is_invariant()) {
        return system_ns();
    }
    const bool together = read_both(&next.tick, &next.system_ns);
    const uint64_t told_ns = old.ns + (old.ticks * old.rate >> RATE_BITS); /* at most, so far */
    next.ns = next.system_ns > told_ns ? next.system_ns : told_ns;
    if (!together) {
        next.tick = 0; /* the next reading begins afresh */
        leg = next;
        return leg.ns;
    }
    const uint64_t passed_ns = next.system_ns - old.system_ns;
    const uint64_t passed_ticks = next.tick - old.tick;
    const bool measured = old.tick != 0 && passed_ns <= LEG_NS_MAX && next.tick > old.tick;
    if (measured && passed_ns < LEG_NS / 2) {
        return next.ns; /* too short to take a rate from: the old leg goes on */
    }
    if (measured) {
        next.rate = (passed_ns << RATE_BITS) / passed_ticks;
        next.ticks = LEG_NS * passed_ticks / passed_ns;
    }
    leg = next;
    return leg.ns;
}

uint64_t nu_thread_clock_ns(void)
{
    const uint64_t ticks = __rdtsc() - leg.tick;
    if (__builtin_expect(ticks < leg.ticks, 1)) {
        return leg.ns + (ticks * leg.rate >> RATE_BITS);
    }
    return leg_begin();
}

#else

uint64_t nu_thread_clock_ns(void)
{
    return system_ns();
}

#endif
