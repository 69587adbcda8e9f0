#ifndef TESTS_ORACLE_WINDOW_ORACLE_H
#define TESTS_ORACLE_WINDOW_ORACLE_H

#include "sort/window.h"

#include "oracle/row_order.h"

/* A window over cells, run in the operator harness and counted row by row behind a qsort(). */

enum { KEYS_MAX = 5, FUNCTIONS_MAX = 3 };

struct window_case {
    struct cells cells;
    struct exec_type types[COLUMNS_MAX + FUNCTIONS_MAX]; /* of the output */
    struct case_key keys[KEYS_MAX];
    uint32_t partition_count, order_count;
    enum exec_window_function functions[FUNCTIONS_MAX];
    uint32_t function_count;
    enum exec_window_function limited;
    int64_t limit;
    uint32_t hash_bits;
    bool is_known; /* the window is told what its columns hold */
};

/* The window of the case, its memory from the harness's job. */
struct window *window_case_make(struct harness *harness, const struct window_case *window_case);
/* Through sink, run source and window source, or up to the first failure. */
void window_case_run(struct harness *harness, const struct window_case *window_case);
/* Runs it and compares what comes out with the rows counted by hand. */
void window_case_check(const struct window_case *window_case, uint32_t workers, uint32_t refusals,
                       uint32_t time_every, bool threads, const char *what);

#endif
