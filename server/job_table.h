#ifndef JOB_TABLE_H
#define JOB_TABLE_H

#include "exec/exec.h"

#include <time.h>

/* Every job the daemon knows: those that wait or run, and the last JOB_TABLE_ENDED_MAX that ended.
 * Loop thread only. */

enum { JOB_ID_BYTES = 129, JOB_TABLE_ENDED_MAX = 512, JOB_TABLE_BUCKETS = 1024 };

enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_ENDED };

struct job_run;

struct job_record {
    struct job_record *next, *prev; /* in order of submission */
    struct job_record *bucket_next;
    uint64_t number; /* rises with every submission; the page token */
    char id[JOB_ID_BYTES];
    enum job_state state;
    struct timespec submitted_at;  /* CLOCK_REALTIME */
    struct job_run *run;           /* NULL once it ended */
    uint32_t ended_slot;           /* of an ended job */
    struct exec_job_status status; /* of an ended job */
    struct exec_error error;       /* of an ended job; code EXEC_OK: it succeeded */
    uint8_t *profile;              /* of an ended job that asked for one: packed; or NULL */
    size_t profile_bytes;
};

struct job_table {
    struct job_record *first, *last;
    struct job_record *buckets[JOB_TABLE_BUCKETS];
    struct job_record *ended[JOB_TABLE_ENDED_MAX]; /* a ring, in order of their ends */
    uint32_t ended_next;
    uint64_t next_number;
    uint32_t live_count;
};

/* Takes a new id ("" makes a random UUID). An ended job of the same id is forgotten. EXEC_BAD_SPEC
 * (too long, or not printable), EXEC_EXISTS (it is live) or EXEC_MEMORY_BUDGET. */
enum exec_code job_table_add(struct job_table *table, const char *id, struct job_run *run,
                             struct job_record **record_out, struct exec_error *err);
/* The job ended: keeps the record for later questions, within the limit. */
void job_table_end(struct job_table *table, struct job_record *record);
struct job_record *job_table_find(const struct job_table *table, const char *id);
void job_table_fini(struct job_table *table);

#endif
