#ifndef TESTS_BENCH_BENCH_SCHED_STEAL_H
#define TESTS_BENCH_BENCH_SCHED_STEAL_H

/* What a stolen morsel costs its thief from looking round with an empty deque to having its first
 * morsel in hand: accounts, the choice of job, the search, the choice of victim, taking the range,
 * cutting the morsel off, putting its rest and its far half where others can take them. Beside a
 * victim that stands still, and one that pushes and pops at its end of the deque all the time. */
void bench_stolen_morsel(int rounds);

#endif
