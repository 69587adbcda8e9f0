/* Goal:   job files are read as protobuf's JSON mapping says; a mistake is shown with its line,
 * column and field. Method: small texts with their outcome; names, numbers, times and base64 at
 * their limits; every prefix of a whole job. */
#include "proto/job_json.h"

#include "morsel/v1/job_service.pb-c.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct exec_error err;

static Morsel__V1__JobOptions *options_read(const char *text)
{
    return (void *)json_to_message(&morsel__v1__job_options__descriptor, text, strlen(text),
                                   "t.json", &err);
}

static void message_free(void *message)
{
    protobuf_c_message_free_unpacked(message, NULL);
}

Test(job_json, both_names_and_all_shapes_of_numbers)
{
    Morsel__V1__JobOptions *options =
        options_read("{\"memoryLimitBytes\": \"18446744073709551615\", \"batch_rows\": 7,"
                     " \"priority\": -3, \"result_row_limit\": 1e3, \"parallelism\": null,"
                     " \"timeout\": \"1.5s\", \"compression\": \"COMPRESSION_NONE\","
                     " \"labels\": {\"a\": \"b\", \"c\": \"\"}}");

    cr_assert_not_null(options, "%s", err.detail);
    cr_assert_eq(options->memory_limit_bytes, UINT64_MAX);
    cr_assert_eq(options->batch_rows, 7);
    cr_assert_eq(options->priority, -3);
    cr_assert_eq(options->result_row_limit, 1000);
    cr_assert_eq(options->parallelism, 0);
    cr_assert_eq(options->timeout->seconds, 1);
    cr_assert_eq(options->timeout->nanos, 500000000);
    cr_assert_eq(options->compression, 1);
    cr_assert_eq(options->n_labels, 2);
    cr_assert_str_eq(options->labels[0]->key, "a");
    cr_assert_str_eq(options->labels[0]->value, "b");
    message_free(options);
}

Test(job_json, mistakes_have_a_place)
{
    static const struct {
        const char *text;
        uint64_t line;
        uint32_t column;
        const char *what;
    } rows[] = {
        {"{\n  \"colour\": 1\n}", 2, 3,
         "t.json:2:3: colour: morsel.v1.JobOptions has no such field"},
        {"{\n  \"labels\": {\n    \"x\": 5}}", 3, 5, "labels.x: a string is expected"},
        {"{\"batch_rows\": 4294967296}", 1, 2, "batch_rows: the number is too large"},
        {"{\"batch_rows\": -1}", 1, 2, "may not be negative"},
        {"{\"batch_rows\": 1.5}", 1, 2, "an integer is expected"},
        {"{\"priority\": \"x\"}", 1, 2, "an integer is expected"},
        {"{\"priority\": 2147483648}", 1, 2, "too large"},
        {"{\"profile\": 1}", 1, 2, "true or false"},
        {"{\"compression\": \"ZIP\"}", 1, 2, "'ZIP' is no value of morsel.v1.Compression"},
        {"{\"timeout\": \"1.5\"}", 1, 2, "a duration like"},
        {"{\"timeout\": 5}", 1, 2, "a duration like"},
        {"{\"batchRows\": 1, \"batch_rows\": 2}", 1, 18, "there twice"},
        {"{\"batchRows\": 1,\n \"batchRows\": 2}", 2, 12, "duplicate"},
        {"[]", 1, 1, "an object (morsel.v1.JobOptions) is expected"},
        {"{\n\"a\": }", 2, 6, "unexpected token"},
        {"", 1, 0, "t.json is empty"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_null(options_read(rows[i].text), "%s", rows[i].text);
        cr_assert_not_null(strstr(err.detail, rows[i].what), "%s", err.detail);
        cr_assert_eq(err.line, rows[i].line, "%s", err.detail);
        cr_assert_eq(err.column, rows[i].column, "%s", err.detail);
    }
}

Test(job_json, a_oneof_holds_one)
{
    static const char text[] = "{\"plan\": {\"rels\": [{},\n"
                               "  {\"scan\": {}, \"filter\": {}}]}}";

    cr_assert_null(json_to_message(&morsel__v1__execute_job_request__descriptor, text,
                                   sizeof text - 1, "j", &err));
    cr_assert_not_null(
        strstr(err.detail, "plan.rels[2].filter: only one of 'scan' and 'filter' may be set"), "%s",
        err.detail);
    cr_assert_eq(err.line, 2);
    cr_assert_eq(err.column, 16);
}

Test(job_json, bytes_are_base64)
{
    static const char *const texts[] = {"AGE/+w==", "AGE_-w"};
    for (size_t i = 0; i < 2; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"bytesValue\": \"%s\"}", texts[i]);
        Morsel__V1__Literal *literal = (void *)json_to_message(&morsel__v1__literal__descriptor,
                                                               text, strlen(text), "t", &err);
        cr_assert_not_null(literal, "%s", err.detail);
        cr_assert_eq(literal->value_case, MORSEL__V1__LITERAL__VALUE_BYTES_VALUE);
        cr_assert_eq(literal->bytes_value.len, 4);
        cr_assert_eq(memcmp(literal->bytes_value.data, "\0a?\xfb", 4), 0);
        message_free(literal);
    }
    cr_assert_null(json_to_message(&morsel__v1__literal__descriptor, "{\"bytesValue\": \"a\"}", 19,
                                   "t", &err));
}

Test(job_json, times_go_both_ways)
{
    static const struct {
        const char *text;
        int64_t seconds;
        int32_t nanos;
        const char *back;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0, 0, "1970-01-01T00:00:00Z"},
        {"2013-01-01T05:00:00.25Z", 1357016400, 250000000, "2013-01-01T05:00:00.250Z"},
        {"2013-01-01T00:00:00-05:00", 1357016400, 0, "2013-01-01T05:00:00Z"},
        {"2000-02-29T23:59:59.000000001Z", 951868799, 1, "2000-02-29T23:59:59.000000001Z"},
        {"0001-01-01T00:00:00Z", -62135596800, 0, "0001-01-01T00:00:00Z"},
        {"9999-12-31T23:59:59.999999Z", 253402300799, 999999000, "9999-12-31T23:59:59.999999Z"},
        {"1969-12-31T23:59:59.5Z", -1, 500000000, "1969-12-31T23:59:59.500Z"},
    };
    static const char *const bad[] = {"2013-02-29T00:00:00Z", "2013-01-01", "2013-01-01T24:00:00Z",
                                      "2013-01-01T00:00:00",  "",           "2013-1-1T00:00:00Z"};
    char text[128];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(text, sizeof text, "{\"admittedAt\": \"%s\"}", rows[i].text);
        Morsel__V1__Started *started = (void *)json_to_message(&morsel__v1__started__descriptor,
                                                               text, strlen(text), "t", &err);
        cr_assert_not_null(started, "%s", err.detail);
        cr_assert_eq(started->admitted_at->seconds, rows[i].seconds, "%s", rows[i].text);
        cr_assert_eq(started->admitted_at->nanos, rows[i].nanos);
        char *back = json_from_message(&started->base);
        cr_assert_not_null(strstr(back, rows[i].back), "%s", back);
        free(back);
        message_free(started);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(text, sizeof text, "{\"admittedAt\": \"%s\"}", bad[i]);
        cr_assert_null(
            json_to_message(&morsel__v1__started__descriptor, text, strlen(text), "t", &err));
    }
}

Test(job_json, doubles_keep_their_value)
{
    static const char *const texts[] = {"0.1",          "1e300",         "\"NaN\"",
                                        "\"Infinity\"", "\"-Infinity\"", "-0.0"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"doubleValue\": %s}", texts[i]);
        Morsel__V1__Literal *literal = (void *)json_to_message(&morsel__v1__literal__descriptor,
                                                               text, strlen(text), "t", &err);
        cr_assert_not_null(literal, "%s", err.detail);
        char *back = json_from_message(&literal->base);
        Morsel__V1__Literal *again = (void *)json_to_message(&morsel__v1__literal__descriptor, back,
                                                             strlen(back), "t", &err);
        cr_assert_not_null(again, "%s", back);
        cr_assert_eq(memcmp(&again->double_value, &literal->double_value, sizeof(double)), 0, "%s",
                     back);
        free(back);
        message_free(literal);
        message_free(again);
    }
}

Test(job_json, every_cut_of_a_job_is_refused)
{
    static const char text[] =
        "{\"plan\":{\"rels\":[{\"label\":\"a\\\"b\",\"scan\":{\"files\":{\"paths\":[\"x\",\"y\"]}}}"
        "],"
        "\"exprs\":[{\"inList\":{\"arg\":1,\"values\":[{\"intValue\":\"5\"},{\"nullValue\":true}]}}"
        "]},"
        "\"options\":{\"settings\":{\"policy\":\"numa\"},\"timeout\":\"3s\"}}";

    for (size_t size = 0; size < sizeof text - 1; size++) {
        cr_assert_null(
            json_to_message(&morsel__v1__execute_job_request__descriptor, text, size, "j", &err));
    }
    ProtobufCMessage *message = json_to_message(&morsel__v1__execute_job_request__descriptor, text,
                                                sizeof text - 1, "j", &err);
    cr_assert_not_null(message, "%s", err.detail);
    message_free(message);
}
