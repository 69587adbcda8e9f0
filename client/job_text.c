#include "job_text.h"

#include "proto/job_json.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

static bool is_bare_plan(const char *text, size_t size)
{
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    const bool bare = json_object_get(root, "rels") != NULL;

    json_decref(root);
    return bare; /* text that is no JSON is left to json_to_message and its messages */
}

Morsel__V1__ExecuteJobRequest *job_text_parse(const char *text, size_t size, const char *name,
                                              struct exec_error *err)
{
    if (!is_bare_plan(text, size)) {
        return (Morsel__V1__ExecuteJobRequest *)json_to_message(
            &morsel__v1__execute_job_request__descriptor, text, size, name, err);
    }
    Morsel__V1__ExecuteJobRequest *request = malloc(sizeof *request);
    if (request == NULL) {
        EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "%s: out of memory", name);
        return NULL;
    }
    morsel__v1__execute_job_request__init(request);
    request->plan =
        (Morsel__V1__Plan *)json_to_message(&morsel__v1__plan__descriptor, text, size, name, err);
    if (request->plan == NULL) {
        free(request);
        return NULL;
    }
    return request;
}

void job_id_random(char id_out[JOB_ID_BYTES])
{
    uint8_t r[16] = {0};

    /* 16 bytes are never cut short by the kernel once its pool is ready. */
    (void)!getrandom(r, sizeof r, 0);
    r[6] = (uint8_t)((r[6] & 0x0f) | 0x40);
    r[8] = (uint8_t)((r[8] & 0x3f) | 0x80);
    snprintf(id_out, JOB_ID_BYTES,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", r[0], r[1],
             r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12], r[13], r[14],
             r[15]);
}
