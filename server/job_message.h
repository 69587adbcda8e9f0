#ifndef JOB_MESSAGE_H
#define JOB_MESSAGE_H

#include "job_table.h"

#include "morsel/v1/job_service.pb-c.h"

#include <time.h>

/* Figures of jobs and tables as messages. The structs are filled in place and hold no memory of
 * their own; nested messages sit beside them. */

struct job_progress_message {
    Morsel__V1__Progress message;
    Google__Protobuf__Duration elapsed;
};
void job_message_progress(const struct exec_job_status *status, struct job_progress_message *out);

struct job_info_message {
    Morsel__V1__JobInfo message;
    Google__Protobuf__Timestamp submitted_at;
    struct job_progress_message progress;
    Google__Protobuf__Duration busy;
    Morsel__V1__JobError error;
};
/* Borrows id and error text from the record. */
void job_message_info(const struct job_record *record, struct job_info_message *out);
Morsel__V1__JobState job_message_state(const struct job_record *record);

void job_message_duration(uint64_t duration_ns, Google__Protobuf__Duration *out);
void job_message_timestamp(const struct timespec *time, Google__Protobuf__Timestamp *out);
uint64_t
job_message_duration_ns(const Google__Protobuf__Duration *duration); /* NULL, negative: 0 */

/* Borrows names from `info`; the schema is malloc'd, free(out->schema). False: no memory. */
bool job_message_table(const struct exec_table_info *info, Morsel__V1__TableInfo *out);

#endif
