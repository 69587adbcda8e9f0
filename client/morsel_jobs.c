/* The job list, cancelling by id, explain, health. */
#include "grpc/health/v1/health.pb-c.h"
#include "job_text.h"
#include "morsel_connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGES_MAX = 1000, PING_TIMEOUT_MS = 10000 };

int morsel_ping(struct morsel_connection *connection, uint64_t timeout_ms, uint64_t *latency_ns_out,
                struct morsel_error *err)
{
    Grpc__Health__V1__HealthCheckRequest request;
    grpc__health__v1__health_check_request__init(&request);
    const uint64_t before_ns = grpc_clock_ns();
    ProtobufCMessage *answer =
        connection_unary(connection, "/grpc.health.v1.Health/Check", &request.base,
                         &grpc__health__v1__health_check_response__descriptor,
                         timeout_ms == 0 ? PING_TIMEOUT_MS : timeout_ms, err);

    if (answer == NULL) {
        return -1;
    }
    if (latency_ns_out != NULL) {
        *latency_ns_out = grpc_clock_ns() - before_ns;
    }
    const bool serving = ((Grpc__Health__V1__HealthCheckResponse *)answer)->status ==
                         GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING;
    protobuf_c_message_free_unpacked(answer, NULL);
    return serving ? 0
                   : morsel_error_set(err, MORSEL_FAULT_SERVER, EXEC_DRAINING,
                                      "the server answers, but it is not serving");
}

const char *morsel_job_state_name(enum morsel_job_state state)
{
    static const char *const names[] = {"unknown",   "queued", "running",
                                        "succeeded", "failed", "cancelled"};

    return (size_t)state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}

/* Jobs and their strings become one block: the array first, the texts behind it. */
struct job_block {
    struct morsel_job_info *jobs;
    char *texts;
};

static const char *block_text(struct job_block *block, const char *text)
{
    char *at = block->texts;
    const size_t size = strlen(text) + 1;

    memcpy(at, text, size);
    block->texts += size;
    return at;
}

static struct morsel_job_info info_of(struct job_block *block, const Morsel__V1__JobInfo *job)
{
    struct morsel_job_info info = {
        .job_id = block_text(block, job->job_id),
        .state = (enum morsel_job_state)job->state,
        .error = block_text(block, job->error == NULL ? "" : job->error->message),
    };

    if (job->submitted_at != NULL) {
        info.submitted_at = (double)job->submitted_at->seconds + job->submitted_at->nanos / 1e9;
    }
    if (job->progress != NULL) {
        info.progress.rows_done = job->progress->rows_done;
        info.progress.rows_total = job->progress->rows_total;
        info.progress.memory_bytes = job->progress->memory_bytes;
        if (job->progress->elapsed != NULL) {
            info.elapsed_seconds =
                (double)job->progress->elapsed->seconds + job->progress->elapsed->nanos / 1e9;
        }
    }
    return info;
}

static struct morsel_job_info *jobs_of_pages(Morsel__V1__ListJobsResponse *const *pages,
                                             size_t page_count, size_t *count_out)
{
    size_t count = 0, text_bytes = 0;

    for (size_t p = 0; p < page_count; p++) {
        count += pages[p]->n_jobs;
        for (size_t i = 0; i < pages[p]->n_jobs; i++) {
            const Morsel__V1__JobInfo *job = pages[p]->jobs[i];
            text_bytes += strlen(job->job_id) + 2;
            text_bytes += job->error == NULL ? 0 : strlen(job->error->message);
        }
    }
    struct job_block block = {.jobs = malloc((count + 1) * sizeof *block.jobs + text_bytes)};
    if (block.jobs == NULL) {
        return NULL;
    }
    block.texts = (char *)(block.jobs + count + 1);
    *count_out = 0;
    for (size_t p = 0; p < page_count; p++) {
        for (size_t i = 0; i < pages[p]->n_jobs; i++) {
            block.jobs[(*count_out)++] = info_of(&block, pages[p]->jobs[i]);
        }
    }
    return block.jobs;
}

int morsel_list_jobs(struct morsel_connection *connection, uint64_t timeout_ms,
                     struct morsel_job_info **jobs_out, size_t *count_out, struct morsel_error *err)
{
    Morsel__V1__ListJobsRequest request;
    morsel__v1__list_jobs_request__init(&request);
    Morsel__V1__ListJobsResponse **pages = calloc(PAGES_MAX, sizeof *pages);
    size_t page_count = 0;
    int failed = pages == NULL ? morsel_error_set(err, MORSEL_FAULT_ARGUMENT, EXEC_MEMORY_BUDGET,
                                                  "out of memory")
                               : 0;

    while (failed == 0 && page_count < PAGES_MAX) {
        pages[page_count] = (Morsel__V1__ListJobsResponse *)connection_unary(
            connection, "/morsel.v1.JobService/ListJobs", &request.base,
            &morsel__v1__list_jobs_response__descriptor, timeout_ms, err);
        if (pages[page_count] == NULL) {
            failed = -1;
            break;
        }
        request.page_token = pages[page_count++]->next_page_token;
        if (request.page_token[0] == '\0') {
            break;
        }
    }
    if (failed == 0) {
        *jobs_out = jobs_of_pages(pages, page_count, count_out);
        failed = *jobs_out != NULL ? 0
                                   : morsel_error_set(err, MORSEL_FAULT_DATA, EXEC_MEMORY_BUDGET,
                                                      "out of memory");
    }
    for (size_t p = 0; p < page_count; p++) {
        morsel__v1__list_jobs_response__free_unpacked(pages[p], NULL);
    }
    free(pages);
    return failed;
}

int morsel_cancel_job(struct morsel_connection *connection, const char *job_id, const char *reason,
                      uint64_t timeout_ms, enum morsel_job_state *state_out,
                      struct morsel_error *err)
{
    Morsel__V1__CancelJobRequest request;
    morsel__v1__cancel_job_request__init(&request);

    request.job_id = (char *)(uintptr_t)job_id; /* packed only */
    if (reason != NULL) {
        request.reason = (char *)(uintptr_t)reason;
    }
    ProtobufCMessage *answer =
        connection_unary(connection, "/morsel.v1.JobService/CancelJob", &request.base,
                         &morsel__v1__cancel_job_response__descriptor, timeout_ms, err);
    if (answer == NULL) {
        return -1;
    }
    if (state_out != NULL) {
        *state_out = (enum morsel_job_state)((Morsel__V1__CancelJobResponse *)answer)->state;
    }
    protobuf_c_message_free_unpacked(answer, NULL);
    return 0;
}

int morsel_explain_json(struct morsel_connection *connection, const char *text, size_t size,
                        const char *name, bool analyze, uint64_t timeout_ms, char **text_out,
                        struct morsel_error *err)
{
    Morsel__V1__ExplainJobRequest explain;
    morsel__v1__explain_job_request__init(&explain);
    struct exec_error error = {0};
    Morsel__V1__ExecuteJobRequest *request =
        job_text_parse(text, size, name == NULL ? "job" : name, &error);

    if (request == NULL) {
        return morsel_error_of_exec(err, MORSEL_FAULT_ARGUMENT, &error);
    }
    explain.plan = request->plan;
    explain.options = request->options;
    explain.analyze = analyze;
    ProtobufCMessage *answer =
        connection_unary(connection, "/morsel.v1.JobService/ExplainJob", &explain.base,
                         &morsel__v1__explain_job_response__descriptor, timeout_ms, err);
    morsel__v1__execute_job_request__free_unpacked(request, NULL);
    if (answer == NULL) {
        return -1;
    }
    *text_out = strdup(((Morsel__V1__ExplainJobResponse *)answer)->text);
    protobuf_c_message_free_unpacked(answer, NULL);
    return *text_out != NULL
               ? 0
               : morsel_error_set(err, MORSEL_FAULT_DATA, EXEC_MEMORY_BUDGET, "out of memory");
}
