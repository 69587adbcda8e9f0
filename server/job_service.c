#include "job_message.h"
#include "job_run.h"
#include "profile_message.h"
#include "service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The unary calls of JobService. */

enum { LIST_PAGE_DEFAULT = 100, LIST_PAGE_MAX = 1000, PAGE_TOKEN_BYTES = 24 };

static struct job_record *find_job(struct session *session, const char *id)
{
    struct job_record *record = job_table_find(session->env->jobs, id);

    if (record == NULL) {
        session_fail_status(session, GRPC_NOT_FOUND, "no job '%s'", id);
    }
    return record;
}

/* ---- CancelJob --------------------------------------------------------------------------------
 */

static void cancel_message(struct session *session, const uint8_t *bytes, size_t size)
{
    Morsel__V1__CancelJobResponse response;
    ProtobufCMessage *message =
        session_unpack(session, &morsel__v1__cancel_job_request__descriptor, bytes, size);
    char reason[128];

    morsel__v1__cancel_job_response__init(&response);
    if (message == NULL) {
        return;
    }
    const Morsel__V1__CancelJobRequest *request = (const Morsel__V1__CancelJobRequest *)message;
    struct job_record *record = find_job(session, request->job_id);
    if (record != NULL && record->run != NULL) {
        snprintf(reason, sizeof reason, "cancelled by request%s%.100s",
                 request->reason[0] != '\0' ? ": " : "", request->reason);
        job_run_cancel(record->run, EXEC_CANCELLED, reason);
        record = find_job(session, request->job_id); /* a job that had waited has ended */
    }
    if (record != NULL) {
        /* RUNNING: told to stop; its end follows within a few milliseconds. */
        response.state = job_message_state(record);
        session_send(session, &response.base);
        session_finish(session);
    }
    protobuf_c_message_free_unpacked(message, NULL);
}

const struct rpc_handler rpc_cancel_job = {.message = cancel_message};

/* ---- GetJob -----------------------------------------------------------------------------------
 */

static void get_message(struct session *session, const uint8_t *bytes, size_t size)
{
    Morsel__V1__GetJobResponse response;
    ProtobufCMessage *message =
        session_unpack(session, &morsel__v1__get_job_request__descriptor, bytes, size);
    struct job_info_message info;

    morsel__v1__get_job_response__init(&response);
    if (message == NULL) {
        return;
    }
    const Morsel__V1__GetJobRequest *request = (const Morsel__V1__GetJobRequest *)message;
    const struct job_record *record = find_job(session, request->job_id);
    if (record != NULL) {
        job_message_info(record, &info);
        response.job = &info.message;
        if (record->profile != NULL) {
            response.profile =
                morsel__v1__profile__unpack(NULL, record->profile_bytes, record->profile);
        }
        session_send(session, &response.base);
        if (response.profile != NULL) {
            morsel__v1__profile__free_unpacked(response.profile, NULL);
        }
        session_finish(session);
    }
    protobuf_c_message_free_unpacked(message, NULL);
}

const struct rpc_handler rpc_get_job = {.message = get_message};

/* ---- ListJobs ---------------------------------------------------------------------------------
 */

static bool list_wants(const Morsel__V1__ListJobsRequest *request, const struct job_record *record)
{
    const Morsel__V1__JobState state = job_message_state(record);

    for (size_t i = 0; i < request->n_states; i++) {
        if (request->states[i] == state) {
            return true;
        }
    }
    return request->n_states == 0;
}

/* Newest first; the page token is the number of the last job shown. */
static void list_answer(struct session *session, const Morsel__V1__ListJobsRequest *request,
                        uint64_t before, struct job_info_message *infos,
                        Morsel__V1__JobInfo **pointers, uint32_t page_size)
{
    Morsel__V1__ListJobsResponse response;
    char token[PAGE_TOKEN_BYTES];

    morsel__v1__list_jobs_response__init(&response);
    for (const struct job_record *record = session->env->jobs->last; record != NULL;
         record = record->prev) {
        if (record->number >= before || !list_wants(request, record)) {
            continue;
        }
        if (response.n_jobs == page_size) {
            response.next_page_token = token;
            break;
        }
        job_message_info(record, &infos[response.n_jobs]);
        pointers[response.n_jobs] = &infos[response.n_jobs].message;
        response.n_jobs++;
        snprintf(token, sizeof token, "%llu", (unsigned long long)record->number);
    }
    response.jobs = pointers;
    session_send(session, &response.base);
    session_finish(session);
}

/* What only looks like a page token or a state must not give an empty page. */
static bool list_check(struct session *session, const Morsel__V1__ListJobsRequest *request,
                       uint64_t *before_out)
{
    const char *token = request->page_token;
    const size_t digits = strspn(token, "0123456789");

    errno = 0;
    *before_out = token[0] != '\0' ? strtoull(token, NULL, 10) : UINT64_MAX;
    if (token[digits] != '\0' || errno != 0) {
        session_fail_status(session, GRPC_INVALID_ARGUMENT, "page_token '%.32s' is not ours",
                            token);
        return false;
    }
    for (size_t i = 0; i < request->n_states; i++) {
        if (protobuf_c_enum_descriptor_get_value(&morsel__v1__job_state__descriptor,
                                                 (int)request->states[i]) == NULL) {
            session_fail_status(session, GRPC_INVALID_ARGUMENT,
                                "states: morsel.v1.JobState has no value %d",
                                (int)request->states[i]);
            return false;
        }
    }
    return true;
}

static void list_message(struct session *session, const uint8_t *bytes, size_t size)
{
    ProtobufCMessage *message =
        session_unpack(session, &morsel__v1__list_jobs_request__descriptor, bytes, size);

    if (message == NULL) {
        return;
    }
    const Morsel__V1__ListJobsRequest *request = (const Morsel__V1__ListJobsRequest *)message;
    uint32_t page_size = request->page_size != 0 ? request->page_size : LIST_PAGE_DEFAULT;
    page_size = page_size < LIST_PAGE_MAX ? page_size : LIST_PAGE_MAX;
    uint64_t before = 0;
    struct job_info_message *infos = calloc(page_size, sizeof *infos);
    Morsel__V1__JobInfo **pointers = calloc(page_size, sizeof(Morsel__V1__JobInfo *));

    if (infos == NULL || pointers == NULL) {
        session_fail_status(session, GRPC_RESOURCE_EXHAUSTED, "no memory for the list");
    } else if (list_check(session, request, &before)) {
        list_answer(session, request, before, infos, pointers, page_size);
    }
    free(infos);
    free(pointers);
    protobuf_c_message_free_unpacked(message, NULL);
}

const struct rpc_handler rpc_list_jobs = {.message = list_message};

/* ---- ExplainJob -------------------------------------------------------------------------------
 */

struct explain_call {
    struct session *session;
    struct job_run *run;
    bool analyze;
};

static void explain_done(void *owner)
{
    struct explain_call *call = owner;
    Morsel__V1__ExplainJobResponse response;
    const struct job_run *run = call->run;
    struct session *session = call->session;

    morsel__v1__explain_job_response__init(&response);
    call->run = NULL;
    if (run->record->error.code != EXEC_OK) {
        session_fail(session, &run->record->error, 0);
        return;
    }
    const char *text = exec_job_explain_text(run->job);
    const char *json = exec_job_explain_json(run->job);
    const struct exec_schema *schema = exec_job_schema(run->job);
    response.text = (char *)(uintptr_t)(text != NULL ? text : "");
    response.json = (char *)(uintptr_t)(json != NULL ? json : "");
    response.schema = schema != NULL ? wire_schema_message(schema) : NULL;
    if (call->analyze) {
        response.profile = profile_message(session->env->engine, run->job);
    }
    session_send(session, &response.base);
    free(response.schema);
    free(response.profile);
    session_finish(session);
}

static void explain_free(void *request)
{
    protobuf_c_message_free_unpacked(request, NULL);
}

static void explain_message(struct session *session, const uint8_t *bytes, size_t size)
{
    static const struct job_run_events events = {.done = explain_done};
    ProtobufCMessage *message =
        session_unpack(session, &morsel__v1__explain_job_request__descriptor, bytes, size);
    struct explain_call *call = message != NULL ? calloc(1, sizeof *call) : NULL;
    struct exec_error err;
    uint64_t retry_ms = 0;

    if (message == NULL) {
        return;
    }
    if (call == NULL) {
        explain_free(message);
        session_fail_status(session, GRPC_RESOURCE_EXHAUSTED, "no memory for a job");
        return;
    }
    const Morsel__V1__ExplainJobRequest *request = (const Morsel__V1__ExplainJobRequest *)message;
    *call = (struct explain_call){.session = session, .analyze = request->analyze};
    session->call = call;
    const struct job_run_request run = {
        .job_id = "",
        .peer = session_peer(session),
        .plan = request->plan,
        .options = request->options,
        .into_table = "",
        .explain = !request->analyze,
        .analyze = request->analyze,
        .timeout_ns = session->timeout_ns,
        .request = message,
        .request_free = explain_free,
    };
    if (job_run_start(session->env, &run, &events, call, &call->run, &retry_ms, &err) != EXEC_OK) {
        session_fail(session, &err, retry_ms);
    }
}

static void explain_detach(struct session *session)
{
    struct explain_call *call = session->call;

    if (call != NULL && call->run != NULL) {
        job_run_detach(call->run, session->end_reason != NULL ? session->end_reason
                                                              : "the client cancelled the call");
    }
    free(call);
}

const struct rpc_handler rpc_explain_job = {.message = explain_message, .detach = explain_detach};

/* ---- AttachJob --------------------------------------------------------------------------------
 */

static void attach_message(struct session *session, const uint8_t *bytes, size_t size)
{
    (void)bytes;
    (void)size;
    session_fail_status(session, GRPC_UNIMPLEMENTED,
                        "AttachJob is not implemented yet: run the job again");
}

const struct rpc_handler rpc_attach_job = {.message = attach_message};
