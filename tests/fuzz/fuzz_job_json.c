/* A job file of a stranger: what is read is written and read again to the same text. */
#include "proto/job_json.h"

#include "morsel/v1/job_service.pb-c.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct exec_error err;
    ProtobufCMessage *message, *again;
    char *text, *text_again;

    message = json_to_message(&morsel__v1__execute_job_request__descriptor, (const char *)data,
                              size, "fuzz", &err);
    if (message == NULL) {
        return 0;
    }
    text = json_from_message(message);
    if (text == NULL) {
        abort();
    }
    again = json_to_message(&morsel__v1__execute_job_request__descriptor, text, strlen(text),
                            "again", &err);
    if (again == NULL) {
        abort();
    }
    text_again = json_from_message(again);
    if (text_again == NULL || strcmp(text, text_again) != 0) {
        abort();
    }
    free(text);
    free(text_again);
    protobuf_c_message_free_unpacked(message, NULL);
    protobuf_c_message_free_unpacked(again, NULL);
    return 0;
}
