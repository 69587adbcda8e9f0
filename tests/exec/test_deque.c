/* Goal:   the deque gives every range to exactly one taker, newest to the owner, oldest to thieves.
 * Method: one thread through every edge (empty, full, last entry, wrap-around); then an owner that
 * pushes and pops at random against several thieves, every range counted. */
#include "sched/deque.h"

#include <criterion/criterion.h>
#include <pthread.h>

static struct deque deque;

static struct sched_range numbered(uint64_t number)
{
    return (struct sched_range){.begin = number,
                                .end = number + 7,
                                .pipeline = (struct sched_pipeline *)(uintptr_t)(number * 8 + 8),
                                .cursor = (void *)(uintptr_t)(number ^ 0xabcdef),
                                .unsplit = (uint32_t)number * 3,
                                .node = (uint16_t)(number * 5),
                                .serial = (uint8_t)(number % 2),
                                .urgent = (uint8_t)(number / 2 % 2)};
}

static void check_number(const struct sched_range *range, uint64_t number)
{
    const struct sched_range want = numbered(number);
    cr_assert_eq(range->begin, want.begin);
    cr_assert_eq(range->end, want.end);
    cr_assert_eq(range->pipeline, want.pipeline);
    cr_assert_eq(range->cursor, want.cursor);
    cr_assert_eq(range->unsplit, want.unsplit);
    cr_assert_eq(range->node, want.node);
    cr_assert_eq(range->serial, want.serial);
    cr_assert_eq(range->urgent, want.urgent);
}

static bool push(uint64_t number)
{
    const struct sched_range range = numbered(number);
    return deque_push(&deque, &range);
}

Test(deque, empty)
{
    struct sched_range range;
    for (int i = 0; i < 3; i++) {
        cr_assert_not(deque_pop(&deque, &range));
        cr_assert_eq(deque_steal(&deque, &range), DEQUE_EMPTY);
        cr_assert_eq(deque_count(&deque), 0);
        cr_assert_eq(deque_oldest_units(&deque), 0);
    }
    cr_assert(push(1));
    cr_assert(deque_pop(&deque, &range));
    check_number(&range, 1);
    cr_assert_not(deque_pop(&deque, &range));
}

Test(deque, owner_newest_thief_oldest)
{
    struct sched_range range;
    for (uint64_t i = 0; i < 4; i++) {
        cr_assert(push(i));
    }
    cr_assert_eq(deque_oldest_units(&deque), 7);
    cr_assert_eq(deque_steal(&deque, &range), DEQUE_STOLEN);
    check_number(&range, 0);
    cr_assert(deque_pop(&deque, &range));
    check_number(&range, 3);
    cr_assert_eq(deque_steal(&deque, &range), DEQUE_STOLEN);
    check_number(&range, 1);
    cr_assert(deque_pop(&deque, &range));
    check_number(&range, 2);
    cr_assert_eq(deque_steal(&deque, &range), DEQUE_EMPTY);
}

Test(deque, full_and_wrap_around)
{
    struct sched_range range;
    uint64_t next = 0, oldest = 0;
    for (int lap = 0; lap < 5; lap++) {
        while (push(next)) {
            next++;
        }
        cr_assert_eq(deque_count(&deque), DEQUE_RANGES);
        cr_assert_not(push(next), "still full");
        for (int i = 0; i < DEQUE_RANGES - 13; i++) {
            cr_assert_eq(deque_steal(&deque, &range), DEQUE_STOLEN);
            check_number(&range, oldest++);
        }
    }
    while (deque_pop(&deque, &range)) {
        check_number(&range, --next);
    }
    cr_assert_eq(next, oldest);
}

enum { RANGES = 120000, THIEVES = 3 };
static _Atomic uint8_t seen[RANGES];
static _Atomic bool over;

static void see(const struct sched_range *range)
{
    check_number(range, range->begin);
    cr_assert_lt(range->begin, RANGES);
    cr_assert_eq(atomic_fetch_add(&seen[range->begin], 1), 0);
}

static void *thief(void *argument)
{
    uint64_t *stolen = argument;
    struct sched_range range;
    while (!atomic_load(&over)) {
        if (deque_steal(&deque, &range) == DEQUE_STOLEN) {
            see(&range);
            ++*stolen;
        }
    }
    return NULL;
}

Test(deque, exactly_once_under_thieves)
{
    pthread_t threads[THIEVES];
    uint64_t stolen[THIEVES] = {0}, popped = 0, random = 42;
    struct sched_range range;
    for (int i = 0; i < THIEVES; i++) {
        pthread_create(&threads[i], NULL, thief, &stolen[i]);
    }
    for (uint64_t next = 0; next < RANGES;) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        /* Short bursts keep the deque near empty, where owner and thieves meet. */
        for (uint64_t burst = random >> 61; burst > 0 && next < RANGES; burst--) {
            next += push(next);
        }
        for (uint64_t burst = random >> 58 & 7; burst > 0 && deque_pop(&deque, &range); burst--) {
            see(&range);
            popped++;
        }
    }
    while (deque_pop(&deque, &range)) {
        see(&range);
        popped++;
    }
    atomic_store(&over, true);
    for (int i = 0; i < THIEVES; i++) {
        pthread_join(threads[i], NULL);
        popped += stolen[i];
    }
    cr_assert_eq(popped, RANGES);
    for (int i = 0; i < RANGES; i++) {
        cr_assert_eq(seen[i], 1);
    }
}
