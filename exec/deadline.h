#ifndef EXEC_DEADLINE_H
#define EXEC_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

/* One thread that cancels jobs at their deadline, also those whose every range is parked. Entries
 * are embedded in jobs and sorted by time; most deadlines are later than those before them, so that
 * an entry is placed from the end. */

struct deadlines;
struct exec_job;

struct deadline {
    uint64_t at_ns; /* CLOCK_MONOTONIC */
    struct exec_job *job;
    struct deadline *previous, *next;
    bool is_listed;
};

struct deadlines *deadlines_create(void);            /* NULL: no thread or memory */
void deadlines_destroy(struct deadlines *deadlines); /* joins the thread; no entry may be left */
void deadline_add(struct deadlines *deadlines, struct deadline *deadline);
void deadline_remove(struct deadlines *deadlines, struct deadline *deadline); /* idempotent */

#endif
