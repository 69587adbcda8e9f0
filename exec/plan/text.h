#ifndef EXEC_PLAN_TEXT_H
#define EXEC_PLAN_TEXT_H

#include "exec/error.h"
#include "numa/arena.h"

#include <stdbool.h>

/* A growing text in an arena. When memory runs out `refused` is set and everything later is
 * dropped, so that writing reads straight through. */
struct text {
    struct nu_arena *arena;
    char *bytes; /* NUL-terminated once something was added */
    size_t size, capacity;
    bool refused;
};

void text_add(struct text *text, const char *fmt, ...) EXEC_PRINTF(2, 3);
void text_add_json_string(struct text *text, const char *string); /* quoted and escaped */

#endif
