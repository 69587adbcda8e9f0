#ifndef TESTS_EXPLORE_EXPLORE_H
#define TESTS_EXPLORE_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every interleaving of a few threads that run the very sources of exec/sched, compiled with
 * explore_rt.h: each access to a shared word is a step, and a depth-first search takes the steps in
 * every order.
 *
 * Memory is weaker than x86: a relaxed store waits in the thread's store buffer and reaches memory
 * at any later time, stores to different words in any order (partial store order); a thread sees
 * its own. Sequentially consistent stores, exchanges, additions and compare-and-swaps first empty
 * the buffer. Loads happen in program order: what an ARM core may do to those is not explored.
 *
 * A state is memory, buffers and, for each thread, what its accesses have returned so far (a thread
 * is deterministic, so that is where it stands); a state seen before is not gone into again. Kept
 * as a hash of 64 bits. */

/* What is broken on purpose, to show that the search finds it. */
enum explore_mutation {
    EXPLORE_SOUND = 0,
    EXPLORE_STORES_WEAK = 1 << 0, /* seq_cst stores do not empty the buffer, nor go past it */
    EXPLORE_CAS_BLIND = 1 << 1,   /* a compare-and-swap does not compare */
    EXPLORE_ADDS_WEAK = 1 << 2,   /* additions are a load and a buffered store */
    EXPLORE_PARK_BLIND = 1 << 3,  /* going to sleep does not look at the word once more */
};

struct explore_scenario {
    void (*reset)(void); /* the world before the first step; also forgets what threads kept */
    uint32_t thread_count;
    void (*threads[5])(void);
    void (*check_end)(void); /* nobody can go on and every buffer is empty */
    unsigned mutations;
    uint32_t preemptions_max; /* times a thread is left that could go on; 0: any number */
    bool relaxed_is_plain;    /* relaxed accesses are figures: no steps */
};

struct explore_result {
    uint64_t states, runs, ends;
    char failure[200]; /* empty: it holds in every interleaving */
    char trace[4000];  /* of the failed run: thread or buffer, access, value */
};

void explore(const struct explore_scenario *scenario, struct explore_result *result);

/* From a thread or a check: this run is wrong. The first is kept; the search ends. */
void explore_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What the running thread goes on with is told by `local_state` alone, not by what its accesses
 * have returned so far: for loops, which would never come back to a state otherwise. */
void explore_forget(uint64_t local_state);
/* Index of the running thread. */
uint32_t explore_self(void);

#endif
