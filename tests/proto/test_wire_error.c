/* Goal:   every engine code has its status and reason and comes back the same on the other side.
 * Method: each code of codes.def there and back through grpc-status-details-bin; details that are
 *         missing, padded, cut or foreign; errors that fill every field. */
#include "proto/grpc_status.h"

#include "morsel/v1/job_service.pb-c.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(wire_error, every_code_comes_back)
{
    for (int code = EXEC_OK + 1; code < EXEC_CODE_COUNT; code++) {
        struct exec_error error = {.code = (enum exec_code)code,
                                   .rel = 3,
                                   .expr = 4,
                                   .line = 5000000000,
                                   .column = 6,
                                   .detail = "what went wr\xC3\xB6ng"};
        struct exec_error back;
        char text[GRPC_DETAILS_BYTES];
        const size_t size = wire_error_details_encode(&error, 250, text);

        cr_assert_gt(size, 0);
        cr_assert_neq(wire_error_grpc_code(error.code), GRPC_OK);
        cr_assert_neq(wire_error_reason(error.code), 0, "%s", exec_code_name(error.code));
        wire_error_from_status(wire_error_grpc_code(error.code), "short", text, size, &back);
        cr_assert_eq(back.code, error.code, "%s", exec_code_name(error.code));
        cr_assert_str_eq(back.detail, error.detail);
        cr_assert_eq(back.rel, 3);
        cr_assert_eq(back.expr, 4);
        cr_assert_eq(back.line, 5000000000);
        cr_assert_eq(back.column, 6);
    }
    cr_assert_eq(wire_error_grpc_code(EXEC_OK), GRPC_OK);
}

Test(wire_error, statuses_are_the_documented_ones)
{
    cr_assert_eq(wire_error_grpc_code(EXEC_BAD_SPEC), GRPC_INVALID_ARGUMENT);
    cr_assert_eq(wire_error_grpc_code(EXEC_NOT_IMPLEMENTED), GRPC_UNIMPLEMENTED);
    cr_assert_eq(wire_error_grpc_code(EXEC_TABLE_NOT_FOUND), GRPC_NOT_FOUND);
    cr_assert_eq(wire_error_grpc_code(EXEC_MEMORY_BUDGET), GRPC_RESOURCE_EXHAUSTED);
    cr_assert_eq(wire_error_grpc_code(EXEC_DRAINING), GRPC_UNAVAILABLE);
    cr_assert_eq(wire_error_grpc_code(EXEC_OVERFLOW), GRPC_OUT_OF_RANGE);
    cr_assert_eq(wire_error_grpc_code(EXEC_BAD_DATA), GRPC_DATA_LOSS);
    cr_assert_eq(wire_error_grpc_code((enum exec_code)999), GRPC_INTERNAL);
}

Test(wire_error, without_details_the_status_speaks)
{
    struct exec_error error;

    wire_error_from_status(GRPC_NOT_FOUND, "no table 't'", NULL, 0, &error);
    cr_assert_eq(error.code, EXEC_TABLE_NOT_FOUND);
    cr_assert_str_eq(error.detail, "no table 't'");
    wire_error_from_status(GRPC_UNAVAILABLE, NULL, NULL, 0, &error);
    cr_assert_eq(error.code, EXEC_DRAINING);
    cr_assert_neq(error.detail[0], '\0');
    wire_error_from_status((enum grpc_code)77, "x", "!!not base64!!", 14, &error);
    cr_assert_eq(error.code, EXEC_INTERNAL);
}

Test(wire_error, padding_is_fine_and_cut_details_are_left_out)
{
    const struct exec_error error = {.code = EXEC_OVERFLOW, .detail = "sum"};
    struct exec_error back;
    char text[GRPC_DETAILS_BYTES + 4];
    size_t size = wire_error_details_encode(&error, 0, text);

    for (size_t cut = 0; cut < size; cut++) {
        wire_error_from_status(GRPC_OUT_OF_RANGE, "m", text, cut, &back);
        cr_assert_eq(back.code, EXEC_OVERFLOW);
    }
    while (size % 4 != 0) {
        text[size++] = '=';
    }
    wire_error_from_status(GRPC_INTERNAL, "m", text, size, &back);
    cr_assert_eq(back.code, EXEC_OVERFLOW, "from the details, not the status");
}

Test(wire_error, the_longest_error_fits)
{
    struct exec_error error = {.code = EXEC_BUSY, .rel = UINT32_MAX, .line = UINT64_MAX};
    char text[GRPC_DETAILS_BYTES];
    struct exec_error back;

    memset(error.detail, 'x', sizeof error.detail - 1);
    error.detail[sizeof error.detail - 2] = '\xC3'; /* cut inside a character */
    const size_t size = wire_error_details_encode(&error, UINT64_MAX, text);
    cr_assert_gt(size, 1000);
    cr_assert_lt(size, GRPC_DETAILS_BYTES);
    wire_error_from_status(GRPC_RESOURCE_EXHAUSTED, "m", text, size, &back);
    cr_assert_eq(back.code, EXEC_BUSY);
    cr_assert_eq(back.detail[sizeof error.detail - 2], '?');
}
