/* Goal:   a result stream that the server resets is explained by what the server knows of the job.
 * Method: a fake server (grpc_fake.c) that resets the first call behind its first message and
 * answers the second, which must be GetJob, with a job that ended. */
#include "cli/job_source.h"
#include "client/grpc_fake.h"
#include "proto/grpc_frame.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

static size_t message_of(const ProtobufCMessage *message, uint8_t out[512])
{
    const size_t size = protobuf_c_message_pack(message, out + GRPC_PREFIX_BYTES);

    grpc_prefix_write(out, (uint32_t)size);
    return size + GRPC_PREFIX_BYTES;
}

static size_t started_of(uint8_t out[512])
{
    Morsel__V1__ExecuteJobResponse response;
    Morsel__V1__Started started;

    morsel__v1__execute_job_response__init(&response);
    morsel__v1__started__init(&started);
    response.payload_case = MORSEL__V1__EXECUTE_JOB_RESPONSE__PAYLOAD_STARTED;
    response.started = &started;
    return message_of(&response.base, out);
}

static size_t ended_of(uint8_t out[512], const char *reason)
{
    Morsel__V1__GetJobResponse response;
    Morsel__V1__JobInfo info;
    Morsel__V1__JobError error;

    morsel__v1__get_job_response__init(&response);
    morsel__v1__job_info__init(&info);
    morsel__v1__job_error__init(&error);
    error.message = (char *)(uintptr_t)reason;
    info.error = &error;
    response.job = &info;
    return message_of(&response.base, out);
}

Test(remote_source, a_reset_is_explained_by_the_job)
{
    uint8_t started[512], ended[512];
    struct fake_server server = {.behaviour = FAKE_CALM_FIRST, .body = started};
    struct cli_options options = {.limit = -1};
    struct cli_error err = {0};
    const struct exec_rel rel = {.kind = EXEC_REL_SCAN,
                                 .u.scan = {.source = EXEC_SCAN_TABLE, .table = "t"}};
    const struct source_job job = {.spec = {.rels = &rel, .rel_count = 1}};
    enum source_event event = SOURCE_TICK;

    server.body_bytes = started_of(started);
    server.next_body = ended;
    server.next_body_bytes = ended_of(ended, "the client took no byte for 60 s");
    fake_start(&server);
    options.server = server.address;
    struct job_source *source = remote_source_create(&options, &err);
    cr_assert_not_null(source, "%s", err.exec.detail);
    cr_assert_eq(source->ops->start(source, &job, &err), 0, "%s", err.exec.detail);
    while (event == SOURCE_TICK) {
        struct source_batch batch;
        event = source->ops->next(source, &batch, &err);
    }
    cr_expect_eq(event, SOURCE_FAILED);
    cr_expect_eq(cli_error_exit(&err), EXIT_RESOURCES);
    cr_expect_not_null(strstr(err.exec.detail, "result_stall_timeout"), "%s", err.exec.detail);
    cr_expect_not_null(strstr(err.exec.detail, "; the job: the client took no byte for 60 s"), "%s",
                       err.exec.detail);
    source->ops->finish(source);
    source->ops->destroy(source);
    fake_stop(&server);
}
