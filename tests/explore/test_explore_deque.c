/* Goal:   in every interleaving of an owner and one or two thieves, with stores that reach memory
 * late and out of order, every range is taken exactly once and whole; and the search would notice a
 * missing fence or compare-and-swap. Method: deque.c itself under the explorer (explore.h), with a
 * ring of DEQUE_RANGES entries. */
#include "explore.h"
#include "sched/deque.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { NUMBERS = 16 };

static struct deque deque;
static uint32_t taken[NUMBERS], pushed;
static const char *owner_script; /* '+' push, '-' pop; at the end pops all */
static uint32_t steals_tried;

static void reset(void)
{
    memset(&deque, 0, sizeof deque);
    memset(taken, 0, sizeof taken);
    pushed = 0;
}

static struct sched_range numbered(uint64_t number)
{
    return (struct sched_range){.begin = number,
                                .end = number + 100,
                                .pipeline = (struct sched_pipeline *)(uintptr_t)(number * 8 + 8),
                                .cursor = (void *)(uintptr_t)(number + 200),
                                .node = (uint16_t)(number + 300)};
}

static void see(const struct sched_range *range)
{
    if (range->begin >= NUMBERS || ++taken[range->begin] > 1) {
        explore_fail("range %lu was taken twice", (unsigned long)range->begin);
        return;
    }
    const struct sched_range want = numbered(range->begin);
    if (range->end != want.end || range->pipeline != want.pipeline ||
        range->cursor != want.cursor || range->node != want.node) {
        explore_fail("range %lu is torn", (unsigned long)range->begin);
    }
}

static void owner(void)
{
    struct sched_range range;
    for (const char *step = owner_script; *step != '\0'; step++) {
        if (*step == '+') {
            range = numbered(pushed);
            pushed += deque_push(&deque, &range);
        } else if (deque_pop(&deque, &range)) {
            see(&range);
        }
    }
    while (deque_pop(&deque, &range)) {
        see(&range);
    }
}

static void thief(void)
{
    struct sched_range range;
    for (uint32_t i = 0; i < steals_tried; i++) {
        if (deque_steal(&deque, &range) == DEQUE_STOLEN) {
            see(&range);
        }
    }
}

static void check_all_taken(void)
{
    for (uint32_t number = 0; number < pushed; number++) {
        if (taken[number] != 1) {
            explore_fail("range %u was lost", number);
        }
    }
}

static struct explore_result run(const char *script, uint32_t thieves, uint32_t tried,
                                 unsigned mutations)
{
    const struct explore_scenario scenario = {.reset = reset,
                                              .thread_count = 1 + thieves,
                                              .threads = {owner, thief, thief},
                                              .check_end = check_all_taken,
                                              .mutations = mutations};
    static struct explore_result result;
    owner_script = script;
    steals_tried = tried;
    explore(&scenario, &result);
    printf(
        "ring of %d, owner %-10s %u thieves of %u tries, mutations %u: %lu states, %lu ends%s%s\n",
        DEQUE_RANGES, script, thieves, tried, mutations, (unsigned long)result.states,
        (unsigned long)result.ends, result.failure[0] != '\0' ? ", " : "", result.failure);
    return result;
}

static void holds(const char *script, uint32_t thieves, uint32_t tried)
{
    const struct explore_result result = run(script, thieves, tried, EXPLORE_SOUND);
    cr_assert_str_empty(result.failure, "%s\n%s", result.failure, result.trace);
    cr_assert_gt(result.ends, 1);
}

Test(explore_deque, one_thief)
{
    holds("+-+-", 1, 3);
    holds("++-+-", 1, 3);
    holds("+++-+", 1, 4);
#if DEQUE_RANGES == 4
    holds("+++++-+", 1, 5);
#endif
}

Test(explore_deque, two_thieves)
{
    holds("+-", 2, 1);
    holds("++-", 2, 1);
#if DEQUE_RANGES == 2
    holds("++-+", 2, 1);
#else
    holds("+++-", 2, 2);
#endif
}

/* Pop has to see what thieves did before it decides that an entry is its own. */
Test(explore_deque, finds_a_missing_fence)
{
    const struct explore_result result = run("++-", 2, 1, EXPLORE_STORES_WEAK);
    cr_assert_str_not_empty(result.failure);
}

Test(explore_deque, finds_a_missing_compare_and_swap)
{
    const struct explore_result result = run("+-", 1, 1, EXPLORE_CAS_BLIND);
    cr_assert_str_not_empty(result.failure);
}
