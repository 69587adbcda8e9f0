#include "explore.h"

#include "explore_rt.h"
#include "sim_switch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREADS_MAX = 5,
    BUFFER_MAX = 24,
    CHOICES_MAX = THREADS_MAX + THREADS_MAX * BUFFER_MAX,
    DEPTH_MAX = 4096,
    STACK_BYTES = 32 << 10,
};

struct store {
    volatile void *word;
    uint32_t bytes;
    uint64_t value;
};

struct thread {
    struct sim_context context;
    bool over;
    /* The step it is about to take. */
    enum explore_access access;
    bool is_cas, starts;
    volatile void *word;
    uint32_t bytes;
    uint64_t operand, expected;

    struct store buffer[BUFFER_MAX]; /* oldest first */
    uint32_t buffered;
    uint64_t history; /* hash of all its accesses have returned */
};

/* A thread's next step, or a buffered store's way to memory. */
struct choice {
    uint8_t thread;
    int8_t store; /* index in the thread's buffer; -1: the thread itself */
};

static struct {
    const struct explore_scenario *scenario;
    struct explore_result *result;
    struct thread threads[THREADS_MAX];
    struct sim_context outside;
    uint32_t current; /* the thread that took the last step */
    uint32_t preemptions;
    uint64_t memory; /* hash of all that differs from the beginning */
    _Alignas(16) unsigned char stacks[THREADS_MAX][STACK_BYTES];

    struct {
        uint16_t taken, count;
    } path[DEPTH_MAX];
    struct choice choices[DEPTH_MAX]; /* those taken, for the trace */
    uint64_t values[DEPTH_MAX];
    uint32_t depth, steps;

    uint64_t *seen; /* hash set of states; 0: free */
    uint64_t seen_mask;
} e;

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t mixed = (a ^ b * 0x9e3779b97f4a7c15ULL) + 0x632be59bd9b4e019ULL;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebULL;
    return mixed ^ mixed >> 31;
}

void explore_fail(const char *format, ...)
{
    if (e.result->failure[0] != '\0') {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(e.result->failure, sizeof e.result->failure, format, arguments);
    va_end(arguments);
}

uint32_t explore_self(void)
{
    return e.current;
}

/* ---- memory --------------------------------------------------------------------------------- */

static uint64_t word_read(const volatile void *word, uint32_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, (const void *)(uintptr_t)word, bytes); /* little end first */
    return value;
}

static void word_write(volatile void *word, uint32_t bytes, uint64_t value)
{
    const uint64_t was = word_read(word, bytes);
    memcpy((void *)(uintptr_t)word, &value, bytes);
    const uint64_t is = word_read(word, bytes);
    e.memory ^= mix((uintptr_t)word, was) ^ mix((uintptr_t)word, is);
}

static void buffer_put(struct thread *thread, volatile void *word, uint32_t bytes, uint64_t value)
{
    assert(thread->buffered < BUFFER_MAX);
    thread->buffer[thread->buffered++] = (struct store){word, bytes, value};
}

static void buffer_flush(struct thread *thread, uint32_t index)
{
    const struct store store = thread->buffer[index];
    memmove(&thread->buffer[index], &thread->buffer[index + 1],
            (--thread->buffered - index) * sizeof store);
    word_write(store.word, store.bytes, store.value);
}

static void buffer_empty(struct thread *thread)
{
    while (thread->buffered > 0) {
        buffer_flush(thread, 0);
    }
}

/* What the thread sees: its own latest store, or memory. */
static uint64_t thread_read(const struct thread *thread, const volatile void *word, uint32_t bytes)
{
    for (uint32_t i = thread->buffered; i > 0; i--) {
        if (thread->buffer[i - 1].word == word) {
            return thread->buffer[i - 1].value &
                   (bytes == 8 ? UINT64_MAX : (1ULL << bytes * 8) - 1);
        }
    }
    return word_read(word, bytes);
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* The step waited for is taken; returns what was there. */
static uint64_t step_take(struct thread *thread)
{
    const unsigned mutations = e.scenario->mutations;
    volatile void *word = thread->word;
    const uint32_t bytes = thread->bytes;
    uint64_t was;

    if (thread->is_cas) {
        buffer_empty(thread);
        was = word_read(word, bytes);
        if (was == thread->expected || (mutations & EXPLORE_CAS_BLIND) != 0) {
            word_write(word, bytes, thread->operand);
            was = thread->expected;
        }
        return was;
    }
    switch (thread->access) {
        case EXPLORE_LOAD:
        case EXPLORE_LOAD_RELAXED: return thread_read(thread, word, bytes);
        case EXPLORE_STORE:
            if ((mutations & EXPLORE_STORES_WEAK) == 0) {
                buffer_empty(thread);
                word_write(word, bytes, thread->operand);
                return 0;
            }
            /* A release store: not before what the buffer holds. */
            for (uint32_t i = 0; i < thread->buffered; i++) {
                if (thread->buffer[i].word != word) {
                    buffer_empty(thread);
                    break;
                }
            }
            buffer_put(thread, word, bytes, thread->operand);
            return 0;
        case EXPLORE_STORE_RELAXED: buffer_put(thread, word, bytes, thread->operand); return 0;
        case EXPLORE_ADD:
            if ((mutations & EXPLORE_ADDS_WEAK) != 0) {
                was = thread_read(thread, word, bytes);
                buffer_put(thread, word, bytes, was + thread->operand);
                return was;
            }
            /* fall through */
        case EXPLORE_ADD_RELAXED:
            buffer_empty(thread);
            was = word_read(word, bytes);
            word_write(word, bytes, was + thread->operand);
            return was;
        case EXPLORE_EXCHANGE:
            buffer_empty(thread);
            was = word_read(word, bytes);
            word_write(word, bytes, thread->operand);
            return was;
        case EXPLORE_PARK: return 0;
    }
    return 0;
}

static uint64_t thread_step(struct thread *thread)
{
    sim_switch(&thread->context, &e.outside); /* until the search takes this step */
    const uint64_t was = step_take(thread);
    thread->history = mix(thread->history, was + 1);
    e.values[e.steps - 1] = was;
    return was;
}

static bool is_relaxed(enum explore_access access)
{
    return access == EXPLORE_LOAD_RELAXED || access == EXPLORE_STORE_RELAXED ||
           access == EXPLORE_ADD_RELAXED;
}

uint64_t explore_access(enum explore_access access, const volatile void *at, uint32_t bytes,
                        uint64_t operand)
{
    struct thread *thread = &e.threads[e.current];
    volatile void *word = (volatile void *)(uintptr_t)at; /* loads may come by const pointers */
    thread->access = access;
    thread->is_cas = false;
    thread->word = word;
    thread->bytes = bytes;
    thread->operand = operand;
    if (is_relaxed(access) && e.scenario->relaxed_is_plain) {
        const uint64_t was = word_read(word, bytes);
        const uint64_t is = access == EXPLORE_LOAD_RELAXED    ? was
                            : access == EXPLORE_STORE_RELAXED ? operand
                                                              : was + operand;
        memcpy((void *)(uintptr_t)word, &is, bytes);
        return was;
    }
    if (access == EXPLORE_PARK && (e.scenario->mutations & EXPLORE_PARK_BLIND) != 0) {
        /* Sleeps whatever the word holds, until it changes after that. */
        thread->access = EXPLORE_LOAD;
        thread->operand = thread_step(thread);
        thread->access = EXPLORE_PARK;
    }
    return thread_step(thread);
}

void explore_forget(uint64_t local_state)
{
    e.threads[e.current].history = mix(e.current, local_state);
}

uint64_t explore_cas(volatile void *word, uint32_t bytes, uint64_t expected, uint64_t value)
{
    struct thread *thread = &e.threads[e.current];
    const uint64_t mask = bytes == 8 ? UINT64_MAX : (1ULL << bytes * 8) - 1;
    thread->is_cas = true;
    thread->word = word;
    thread->bytes = bytes;
    thread->operand = value;
    thread->expected = expected & mask;
    const uint64_t was = thread_step(thread);
    return was == (expected & mask) ? expected : was;
}

/* ---- the search ----------------------------------------------------------------------------- */

static void thread_entry(void)
{
    struct thread *thread = &e.threads[e.current];
    e.scenario->threads[e.current]();
    thread->over = true;
    sim_switch(&thread->context, &e.outside);
    abort(); /* nobody resumes a thread that is over */
}

static bool thread_can_go_on(const struct thread *thread)
{
    if (thread->over) {
        return false;
    }
    return thread->starts || thread->is_cas || thread->access != EXPLORE_PARK ||
           word_read(thread->word, thread->bytes) != thread->operand;
}

/* A step that nobody else can see or hinder: taken at once, without alternatives. */
static bool thread_steps_alone(const struct thread *thread)
{
    return !thread->over &&
           (thread->starts || (!thread->is_cas && thread->access == EXPLORE_STORE_RELAXED));
}

/* The thread of the last step must go on: no preemption is left. */
static bool thread_stays(void)
{
    return e.scenario->preemptions_max > 0 && e.preemptions == e.scenario->preemptions_max &&
           thread_can_go_on(&e.threads[e.current]);
}

static uint32_t choices_list(struct choice *choices)
{
    uint32_t count = 0;
    for (uint8_t t = 0; t < e.scenario->thread_count; t++) {
        if (thread_steps_alone(&e.threads[t])) {
            choices[0] = (struct choice){t, -1};
            return 1;
        }
    }
    for (uint8_t t = 0; t < e.scenario->thread_count; t++) {
        struct thread *thread = &e.threads[t];
        if (thread_can_go_on(thread) && (t == e.current || !thread_stays())) {
            choices[count++] = (struct choice){t, -1};
        }
        for (uint32_t i = 0; i < thread->buffered; i++) {
            bool oldest = true;
            for (uint32_t j = 0; j < i; j++) {
                oldest = oldest && thread->buffer[j].word != thread->buffer[i].word;
            }
            if (oldest) {
                choices[count++] = (struct choice){t, (int8_t)i};
            }
        }
    }
    return count;
}

static uint64_t state_hash(void)
{
    uint64_t hash = e.memory;
    if (e.scenario->preemptions_max > 0) {
        hash = mix(hash, e.preemptions * THREADS_MAX + e.current);
    }
    for (uint32_t t = 0; t < e.scenario->thread_count; t++) {
        const struct thread *thread = &e.threads[t];
        uint64_t stores = 0;
        for (uint32_t i = 0; i < thread->buffered; i++) {
            uint64_t turn = 0; /* among stores to the same word: only that order matters */
            for (uint32_t j = 0; j < i; j++) {
                turn += thread->buffer[j].word == thread->buffer[i].word;
            }
            stores += mix(mix((uintptr_t)thread->buffer[i].word, thread->buffer[i].value), turn);
        }
        hash = mix(hash, mix(thread->history + thread->over + 2 * thread->starts, stores));
    }
    return hash != 0 ? hash : 1;
}

static void seen_grow(void)
{
    uint64_t *old = e.seen;
    const uint64_t old_mask = e.seen_mask;
    e.seen_mask = e.seen_mask * 2 + 1;
    e.seen = calloc(e.seen_mask + 1, sizeof *e.seen);
    assert(e.seen != NULL);
    for (uint64_t i = 0; i <= old_mask; i++) {
        uint64_t place = old[i] & e.seen_mask;
        while (old[i] != 0 && e.seen[place] != 0) {
            place = (place + 1) & e.seen_mask;
        }
        e.seen[place] = old[i] != 0 ? old[i] : e.seen[place];
    }
    free(old);
}

/* False when it had been there before. */
static bool seen_add(uint64_t state)
{
    uint64_t place = state & e.seen_mask;
    while (e.seen[place] != 0) {
        if (e.seen[place] == state) {
            return false;
        }
        place = (place + 1) & e.seen_mask;
    }
    e.seen[place] = state;
    if (++e.result->states > e.seen_mask / 2) {
        seen_grow();
    }
    return true;
}

static void choice_take(struct choice choice)
{
    struct thread *thread = &e.threads[choice.thread];
    assert(e.steps < DEPTH_MAX);
    e.choices[e.steps++] = choice;
    if (choice.store >= 0) {
        e.values[e.steps - 1] = thread->buffer[choice.store].value;
        buffer_flush(thread, (uint32_t)choice.store);
        return;
    }
    if (e.scenario->preemptions_max > 0 && choice.thread != e.current && !thread->starts &&
        thread_can_go_on(&e.threads[e.current])) {
        e.preemptions++;
    }
    thread->starts = false;
    e.current = choice.thread;
    sim_switch(&e.outside, &thread->context);
}

/* From the beginning along the path, and on with first choices to an end or a known state. */
static void run_once(void)
{
    struct choice choices[CHOICES_MAX];

    explore_rt_begin();
    e.scenario->reset();
    e.memory = 0;
    e.current = 0;
    e.preemptions = 0;
    e.steps = 0;
    for (uint32_t t = 0; t < e.scenario->thread_count; t++) {
        struct thread *thread = &e.threads[t];
        thread->over = false;
        thread->starts = true;
        thread->buffered = 0;
        thread->history = t;
        sim_switch_prepare(&thread->context, e.stacks[t], STACK_BYTES, thread_entry);
    }
    e.result->runs++;
    for (uint32_t depth = 0;; depth++) {
        const uint32_t count = choices_list(choices);
        if (depth == e.depth) {
            if (e.result->failure[0] != '\0' || !seen_add(state_hash())) {
                return;
            }
            if (count == 0) {
                e.result->ends++;
                e.scenario->check_end();
                return;
            }
            assert(depth < DEPTH_MAX);
            e.path[e.depth].taken = 0;
            e.path[e.depth++].count = (uint16_t)count;
        }
        choice_take(choices[e.path[depth].taken]);
    }
}

static void trace_write(void)
{
    size_t used = 0;
    for (uint32_t i = 0; i < e.steps && used + 40 < sizeof e.result->trace; i++) {
        used += (size_t)snprintf(e.result->trace + used, sizeof e.result->trace - used,
                                 e.choices[i].store >= 0 ? "[%d stores %" PRIu64 "] "
                                                         : "%d:%" PRIu64 " ",
                                 e.choices[i].thread, e.values[i]);
    }
}

void explore(const struct explore_scenario *scenario, struct explore_result *result)
{
    memset(result, 0, sizeof *result);
    memset(&e, 0, sizeof e);
    e.scenario = scenario;
    e.result = result;
    e.seen_mask = (1 << 16) - 1;
    e.seen = calloc(e.seen_mask + 1, sizeof *e.seen);
    assert(e.seen != NULL);
    do {
        run_once();
        if (result->failure[0] != '\0') {
            trace_write();
            break;
        }
        while (e.depth > 0 && e.path[e.depth - 1].taken + 1 == e.path[e.depth - 1].count) {
            e.depth--;
        }
        if (e.depth > 0) {
            e.path[e.depth - 1].taken++;
        }
    } while (e.depth > 0);
    free(e.seen);
    e.seen = NULL;
}
