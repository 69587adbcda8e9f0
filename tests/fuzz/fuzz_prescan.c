/* What a stranger may send as a request: pre-scan, unpack, translate to a spec, and back again. The
 * first byte chooses the message. */
#include "proto/prescan.h"
#include "proto/wire_plan.h"

#include "google/rpc/status.pb-c.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void request_translate(const Morsel__V1__ExecuteJobRequest *request)
{
    struct wire_job job;
    struct exec_error err;
    Morsel__V1__ExecuteJobRequest *back;

    if (wire_job_from_plan(request->plan, request->options, request->into_table, &job, &err) !=
        EXEC_OK) {
        return;
    }
    back = wire_request_from_spec(&job.spec, request->job_id);
    if (back == NULL || back->plan->n_rels != request->plan->n_rels) {
        abort();
    }
    wire_request_free(back);
    wire_job_fini(&job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ProtobufCMessageDescriptor *const descriptors[] = {
        &morsel__v1__execute_job_request__descriptor, &morsel__v1__upload_table_request__descriptor,
        &morsel__v1__job_error__descriptor, &google__rpc__status__descriptor};
    const ProtobufCMessageDescriptor *descriptor;
    struct exec_error err;
    ProtobufCMessage *message;

    if (size == 0) {
        return 0;
    }
    descriptor = descriptors[data[0] % 4];
    message = wire_unpack(descriptor, data + 1, size - 1, &prescan_control_limits, &err);
    if (message == NULL) {
        return 0;
    }
    if (descriptor == &morsel__v1__execute_job_request__descriptor) {
        request_translate((const void *)message);
    }
    protobuf_c_message_free_unpacked(message, NULL);
    return 0;
}
