#include "job_message.h"

#include "job_run.h"

#include "proto/grpc_status.h"
#include "proto/wire_plan.h"

#include <stdlib.h>

void job_message_duration(uint64_t duration_ns, Google__Protobuf__Duration *out)
{
    google__protobuf__duration__init(out);
    out->seconds = (int64_t)(duration_ns / 1000000000ull);
    out->nanos = (int32_t)(duration_ns % 1000000000ull);
}

void job_message_timestamp(const struct timespec *time, Google__Protobuf__Timestamp *out)
{
    google__protobuf__timestamp__init(out);
    out->seconds = time->tv_sec;
    out->nanos = (int32_t)time->tv_nsec;
}

uint64_t job_message_duration_ns(const Google__Protobuf__Duration *duration)
{
    enum { SECONDS_MAX = 1000000000 };

    if (duration == NULL || duration->seconds < 0 || duration->nanos < 0) {
        return 0;
    }
    const int64_t seconds = duration->seconds < SECONDS_MAX ? duration->seconds : SECONDS_MAX;
    return (uint64_t)seconds * 1000000000ull + (uint64_t)duration->nanos;
}

void job_message_progress(const struct exec_job_status *status, struct job_progress_message *out)
{
    morsel__v1__progress__init(&out->message);
    job_message_duration(status->elapsed_ns, &out->elapsed);
    out->message.rows_done = status->rows_done;
    out->message.rows_total = status->rows_total;
    out->message.memory_bytes = status->memory_bytes;
    out->message.elapsed = &out->elapsed;
}

Morsel__V1__JobState job_message_state(const struct job_record *record)
{
    switch (record->state) {
        case JOB_QUEUED: return MORSEL__V1__JOB_STATE__JOB_STATE_QUEUED;
        case JOB_RUNNING: return MORSEL__V1__JOB_STATE__JOB_STATE_RUNNING;
        case JOB_ENDED: break;
    }
    switch (record->error.code) {
        case EXEC_OK: return MORSEL__V1__JOB_STATE__JOB_STATE_SUCCEEDED;
        case EXEC_CANCELLED: return MORSEL__V1__JOB_STATE__JOB_STATE_CANCELLED;
        default: return MORSEL__V1__JOB_STATE__JOB_STATE_FAILED;
    }
}

void job_message_info(const struct job_record *record, struct job_info_message *out)
{
    struct exec_job_status status = record->status;

    if (record->run != NULL) {
        job_run_status(record->run, &status);
    }
    morsel__v1__job_info__init(&out->message);
    out->message.job_id = (char *)(uintptr_t)record->id;
    out->message.state = job_message_state(record);
    job_message_timestamp(&record->submitted_at, &out->submitted_at);
    out->message.submitted_at = &out->submitted_at;
    job_message_progress(&status, &out->progress);
    out->message.progress = &out->progress.message;
    job_message_duration(status.busy_ns, &out->busy);
    out->message.busy = &out->busy;
    out->message.morsels = status.morsels;
    out->message.remote_morsels = status.morsels_remote;
    out->message.steals = status.steals;
    if (record->state == JOB_ENDED && record->error.code != EXEC_OK) {
        const struct exec_error *error = &record->error;
        morsel__v1__job_error__init(&out->error);
        out->error.reason = (Morsel__V1__ErrorReason)wire_error_reason(error->code);
        out->error.message = (char *)(uintptr_t)error->detail;
        out->error.rel = error->rel;
        out->error.expr = error->expr;
        out->error.retryable = error->code == EXEC_BUSY || error->code == EXEC_DRAINING;
        out->message.error = &out->error;
    }
}

bool job_message_table(const struct exec_table_info *info, Morsel__V1__TableInfo *out)
{
    morsel__v1__table_info__init(out);
    out->schema = wire_schema_message(&info->schema);
    out->name = (char *)(uintptr_t)info->name;
    out->row_count = info->row_count;
    out->memory_bytes = info->memory_bytes;
    out->version = info->version;
    return out->schema != NULL;
}
