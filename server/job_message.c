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

/* One row a worker: the message, what it points to, and its place in the list. */
struct profile_worker {
    Morsel__V1__WorkerProfile message;
    Google__Protobuf__Duration busy;
};

static void profile_workers(const struct job_run *run, struct job_profile_message *out)
{
    const uint32_t count = exec_engine_worker_count(run->env->engine);
    const size_t row_bytes = sizeof(struct profile_worker) + sizeof(Morsel__V1__WorkerProfile *);
    struct profile_worker *rows = calloc(count, row_bytes);

    out->workers = rows;
    if (rows == NULL) {
        return;
    }
    Morsel__V1__WorkerProfile **pointers = (Morsel__V1__WorkerProfile **)(void *)(rows + count);
    for (uint32_t i = 0; i < count; i++) {
        struct exec_job_worker worker;
        exec_job_worker(run->job, i, &worker);
        Morsel__V1__WorkerProfile *message = &rows[i].message;
        morsel__v1__worker_profile__init(message);
        message->worker = i;
        message->node = worker.node;
        message->morsels_local = worker.morsels_local;
        message->morsels_remote = worker.morsels_remote;
        message->rows_local = worker.rows_local;
        message->rows_remote = worker.rows_remote;
        job_message_duration(worker.busy_ns, &rows[i].busy);
        message->busy = &rows[i].busy;
        pointers[i] = message;
    }
    out->message.workers = pointers;
    out->message.n_workers = count;
}

void job_message_profile(const struct job_run *run, struct job_profile_message *out)
{
    const struct exec_job_status *status = &run->record->status;

    morsel__v1__profile__init(&out->message);
    job_message_duration(status->elapsed_ns, &out->wall);
    job_message_duration(status->busy_ns, &out->cpu);
    out->message.wall = &out->wall;
    out->message.cpu = &out->cpu;
    out->message.peak_memory_bytes = status->memory_peak_bytes;
    out->message.remote_numa_morsels = status->morsels_remote;
    out->message.stolen_morsels = status->steals;
    profile_workers(run, out);
}

void job_message_profile_fini(struct job_profile_message *profile)
{
    free(profile->workers);
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
