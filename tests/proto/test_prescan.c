/* Goal:   bytes that protobuf-c must not see are refused with the place and the reason; what passes
 *         unpacks.
 * Method: hand-made wire bytes for each rule; a packed plan cut at every byte and with every byte
 *         changed; the limits one below and at their value. */
#include "proto/prescan.h"

#include "morsel/v1/job_service.pb-c.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

static struct exec_error err;

static enum exec_code scan_request(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size + 1); /* its own block: an overrun is seen by AddressSanitizer */
    memcpy(copy, bytes, size);
    uint8_t *tight = realloc(copy, size == 0 ? 1 : size);
    const enum exec_code code = prescan_message(&morsel__v1__execute_job_request__descriptor, tight,
                                                size, &prescan_control_limits, &err);
    free(tight);
    return code;
}

Test(prescan, each_rule_has_its_answer)
{
    static const struct {
        const char *bytes;
        size_t size;
        enum exec_code code;
        const char *text;
    } rows[] = {
#define ROW(bytes, code, text) {bytes, sizeof(bytes) - 1, code, text}
        ROW("", EXEC_OK, ""),
        ROW("\x0a\x02hi", EXEC_OK, ""), /* job_id */
        ROW("\x0a\x02h\0", EXEC_BAD_SPEC, "job_id: the text holds a NUL"),
        ROW("\x0a\x01\xff", EXEC_BAD_SPEC, "job_id: the text is not UTF-8"),
        ROW("\x0a\x05hi", EXEC_BAD_SPEC, "job_id: the value is cut off"),
        ROW("\x08\x01", EXEC_BAD_SPEC, "job_id: the wire type is not the field's"),
        ROW("\x0b\x0c", EXEC_BAD_SPEC, "groups"),
        ROW("\x0e", EXEC_BAD_SPEC, "no wire type"),
        ROW("\x00", EXEC_BAD_SPEC, "tag is damaged"),
        ROW("\xff\xff\xff\xff\xff\x01", EXEC_BAD_SPEC, "tag is damaged"),
        ROW("\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", EXEC_BAD_SPEC, "into_replace"),
        ROW("\xf8\x06\x01", EXEC_NOT_IMPLEMENTED,
            "field number 111 of message morsel.v1.ExecuteJobRequest"),
        /* plan { rels { scan { field 15 } } }, the second rel */
        ROW("\x12\x08\x12\x00\x12\x04\x12\x02\x78\x01", EXEC_NOT_IMPLEMENTED,
            "plan.rels[2].scan: field number 15 of message morsel.v1.ScanRel"),
        /* exprs { call { args: packed, cut } } */
        ROW("\x12\x08\x1a\x06\x1a\x04\x12\x02\x01\x80", EXEC_BAD_SPEC,
            "plan.exprs[1].call.args[1]: a packed value is cut off"),
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const enum exec_code code = scan_request((const uint8_t *)rows[i].bytes, rows[i].size);
        cr_assert_eq(code, rows[i].code, "row %zu: %s", i, err.detail);
        if (code != EXEC_OK) {
            cr_assert_not_null(strstr(err.detail, rows[i].text), "row %zu: %s", i, err.detail);
        }
    }
}

Test(prescan, field_and_size_limits_hold)
{
    const struct prescan_limits limits = {
        .depth_max = 16, .fields_max = 4, .message_bytes_max = 64};
    uint8_t packed[] = {0x12, 0x08, 0x1a, 0x06, 0x1a, 0x04, 0x12, 0x02, 0x01, 0x01};
    uint8_t large[65] = {0};

    /* plan, exprs, call, args and two elements: six */
    cr_assert_eq(prescan_message(&morsel__v1__execute_job_request__descriptor, packed,
                                 sizeof packed, &limits, &err),
                 EXEC_LIMIT);
    cr_assert_not_null(strstr(err.detail, "more than 4 fields"), "%s", err.detail);
    cr_assert_eq(prescan_message(&morsel__v1__execute_job_request__descriptor, large, sizeof large,
                                 &limits, &err),
                 EXEC_LIMIT);
}

Test(prescan, depth_is_limited)
{
    const struct prescan_limits limits = {
        .depth_max = 3, .fields_max = 100, .message_bytes_max = 64};

    /* request 1, plan 2, rel 3, scan 4 */
    cr_assert_eq(prescan_message(&morsel__v1__execute_job_request__descriptor,
                                 BYTES("\x12\x04\x12\x02\x12\x00"), &limits, &err),
                 EXEC_LIMIT);
    cr_assert_not_null(strstr(err.detail, "plan.rels[1].scan: messages nest deeper than 3"), "%s",
                       err.detail);
    cr_assert_eq(prescan_message(&morsel__v1__execute_job_request__descriptor,
                                 BYTES("\x12\x02\x12\x00"), &limits, &err),
                 EXEC_OK);
}

static size_t request_pack(uint8_t *bytes)
{
    Morsel__V1__ExecuteJobRequest request;
    Morsel__V1__Plan plan;
    Morsel__V1__Rel rel, *rels[1] = {&rel};
    Morsel__V1__SortRel sort;
    Morsel__V1__Int64Value limit;
    char label[] = "top";

    morsel__v1__execute_job_request__init(&request);
    morsel__v1__plan__init(&plan);
    morsel__v1__rel__init(&rel);
    morsel__v1__sort_rel__init(&sort);
    morsel__v1__int64_value__init(&limit);
    limit.value = 1234567;
    sort.limit = &limit;
    sort.input = 300;
    rel.label = label;
    rel.kind_case = MORSEL__V1__REL__KIND_SORT;
    rel.sort = &sort;
    plan.n_rels = 1;
    plan.rels = rels;
    request.plan = &plan;
    return morsel__v1__execute_job_request__pack(&request, bytes);
}

Test(prescan, what_passes_unpacks_and_what_is_damaged_does_not_crash)
{
    uint8_t bytes[128];
    const size_t size = request_pack(bytes);
    size_t refused = 0;

    for (size_t at = 0; at <= size; at++) {
        for (unsigned value = 0; value < 256; value++) {
            uint8_t changed[128];
            memcpy(changed, bytes, size);
            if (at < size) {
                changed[at] = (uint8_t)value;
            }
            ProtobufCMessage *message = wire_unpack(&morsel__v1__execute_job_request__descriptor,
                                                    changed, size, &prescan_control_limits, &err);
            refused += message == NULL;
            if (message != NULL) {
                protobuf_c_message_free_unpacked(message, NULL);
            }
        }
    }
    cr_assert_gt(refused, 1000);

    ProtobufCMessage *message = wire_unpack(&morsel__v1__execute_job_request__descriptor, bytes,
                                            size, &prescan_control_limits, &err);
    cr_assert_not_null(message);
    cr_assert_eq(((Morsel__V1__ExecuteJobRequest *)message)->plan->rels[0]->sort->limit->value,
                 1234567);
    protobuf_c_message_free_unpacked(message, NULL);
    cr_assert_not_null(message = wire_unpack(&morsel__v1__plan__descriptor, NULL, 0,
                                             &prescan_control_limits, &err));
    protobuf_c_message_free_unpacked(message, NULL);
}

/* The same submessage again and again is merged each time: quadratic work unless it is counted. */
Test(prescan, merging_without_end_is_refused)
{
    enum { COPIES = 6000 };
    /* plan { exprs { } exprs { } ... } twice as two fields "plan" each with many entries */
    uint8_t *bytes = malloc(COPIES * 6);
    size_t size = 0;

    for (int i = 0; i < COPIES; i++) {
        memcpy(bytes + size, "\x12\x04\x1a\x00\x1a\x00", 6);
        size += 6;
    }
    ProtobufCMessage *message = wire_unpack(&morsel__v1__execute_job_request__descriptor, bytes,
                                            size, &prescan_control_limits, &err);
    cr_assert_null(message);
    cr_assert_eq(err.code, EXEC_BAD_SPEC);
    free(bytes);
}
