#ifndef LOG_H
#define LOG_H

#include "exec/exec.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Lines on stderr, one write each, from any thread. Under the journal (JOURNAL_STREAM set) a line
 * starts with its <N> priority, elsewhere with time and level. */
struct log {
    atomic_int level; /* enum exec_log_level; relaxed: a stale level costs one line */
    bool journal;
};

void log_init(struct log *log);
void log_set_level(struct log *log, const char *name); /* error, warning, info, debug */
void log_line(struct log *log, enum exec_log_level level, const char *fmt, ...) EXEC_PRINTF(3, 4);

/* An exec_log_fn; owner is the log. */
void log_engine_line(void *owner, enum exec_log_level level, const char *line);

#endif
