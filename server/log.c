#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const log_names[] = {"error", "warning", "info", "debug"};

void log_init(struct log *log)
{
    atomic_init(&log->level, EXEC_LOG_INFO);
    log->journal = getenv("JOURNAL_STREAM") != NULL;
}

void log_set_level(struct log *log, const char *name)
{
    for (int level = EXEC_LOG_ERROR; level <= EXEC_LOG_DEBUG; level++) {
        if (strcmp(name, log_names[level]) == 0) {
            atomic_store_explicit(&log->level, level, memory_order_relaxed);
        }
    }
}

static int log_prefix(const struct log *log, enum exec_log_level level, char *text, size_t size)
{
    static const int priorities[] = {3, 4, 6, 7};
    struct timespec now;
    struct tm utc;

    if (log->journal) {
        return snprintf(text, size, "<%d>", priorities[level]);
    }
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    return snprintf(text, size, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ %s: ", utc.tm_year + 1900,
                    utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                    now.tv_nsec / 1000000, log_names[level]);
}

void log_line(struct log *log, enum exec_log_level level, const char *fmt, ...)
{
    char line[2048];
    va_list args;

    if ((int)level > atomic_load_explicit(&log->level, memory_order_relaxed)) {
        return;
    }
    size_t used = (size_t)log_prefix(log, level, line, sizeof line);
    va_start(args, fmt);
    const int text = vsnprintf(line + used, sizeof line - used - 1, fmt, args);
    va_end(args);
    if (text < 0) {
        return;
    }
    used += (size_t)text < sizeof line - used - 1 ? (size_t)text : sizeof line - used - 2;
    /* A line must stay one line, whatever a client put into a name. */
    for (size_t i = 0; i < used; i++) {
        if ((unsigned char)line[i] < 0x20) {
            line[i] = ' ';
        }
    }
    line[used++] = '\n';
    if (write(STDERR_FILENO, line, used) < 0) {
        return; /* nowhere left to say so */
    }
}

void log_engine_line(void *owner, enum exec_log_level level, const char *line)
{
    log_line(owner, level, "%s", line);
}
