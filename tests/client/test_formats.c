/* Goal:   every output format writes every type exactly, and what only a format can get wrong:
 * quoting, NULL against the empty text, control characters, rounding. Method: one batch with a
 * column of each type is written to a file and compared with the bytes written out by hand. */
#include "cli/batch_writer.h"
#include "column_value.h"
#include "proto/arrow_reader.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__extension__ typedef __int128 wide;

/* ---- one batch of everything
 * ---------------------------------------------------------------------- */

static const uint8_t two_of_three[] = {0x03}; /* rows 0 and 1 present */
static const uint8_t bools[] = {0x01};
static const int8_t i8s[] = {-128, 127, 0};
static const uint64_t u64s[] = {0, UINT64_MAX, 7};
static const float f32s[] = {0.1f, 16777216.0f, 1e-45f};
static const double f64s[] = {0.1, 1e22, NAN};
static const int32_t dates[] = {0, -1, 19723};
static const int64_t micros[] = {1357016400000001, -1, 0};
static const int32_t text_offsets[] = {0, 0, 6, 6};
static const char texts[] = "a,\"b\"\n";
static const int32_t byte_offsets[] = {0, 2, 2, 2};
static const char bytes[] = "\x00\xff";
static wide decimals[3];

static const struct exec_field fields[] = {
    {.name = "b", .type = {.kind = EXEC_TYPE_BOOL}},
    {.name = "i8", .type = {.kind = EXEC_TYPE_INT8}},
    {.name = "u64", .type = {.kind = EXEC_TYPE_UINT64}},
    {.name = "f32", .type = {.kind = EXEC_TYPE_FLOAT32}},
    {.name = "f64", .type = {.kind = EXEC_TYPE_FLOAT64}},
    {.name = "d", .type = {.kind = EXEC_TYPE_DECIMAL128, .precision = 10, .scale = 2}},
    {.name = "day", .type = {.kind = EXEC_TYPE_DATE32}},
    {.name = "t", .type = {.kind = EXEC_TYPE_TIMESTAMP, .unit = EXEC_UNIT_MICRO, .zone = "UTC"}},
    {.name = "s", .type = {.kind = EXEC_TYPE_UTF8}},
    {.name = "x\"", .type = {.kind = EXEC_TYPE_BINARY}},
};
enum { FIELDS = sizeof fields / sizeof fields[0] };
static const struct exec_schema schema = {fields, FIELDS};

static void make_columns(struct exec_column_buffers columns[FIELDS])
{
    const struct {
        const void *values;
        size_t bytes;
        const void *offsets;
    } data[FIELDS] = {
        {bools, sizeof bools, NULL},
        {i8s, sizeof i8s, NULL},
        {u64s, sizeof u64s, NULL},
        {f32s, sizeof f32s, NULL},
        {f64s, sizeof f64s, NULL},
        {decimals, sizeof decimals, NULL},
        {dates, sizeof dates, NULL},
        {micros, sizeof micros, NULL},
        {texts, sizeof texts - 1, text_offsets},
        {bytes, 2, byte_offsets},
    };

    decimals[0] = -5;
    decimals[1] = 123456;
    decimals[2] = 100;
    for (int c = 0; c < FIELDS; c++) {
        columns[c] = (struct exec_column_buffers){.type = fields[c].type,
                                                  .row_count = 3,
                                                  .values = data[c].values,
                                                  .values_bytes = data[c].bytes,
                                                  .offsets = data[c].offsets};
        columns[c].offset_bytes = data[c].offsets != NULL ? 4 : 0;
    }
    columns[0].validity = columns[8].validity = two_of_three;
    columns[0].null_count = columns[8].null_count = 1;
}

/* Writes `repeat` batches; malloc'd, NUL-terminated. */
static char *written(enum cli_format format, const char *null_out, int repeat, size_t *size_out)
{
    struct exec_column_buffers columns[FIELDS];
    struct output_file output;
    struct exec_error err = {0};
    char path[] = "/tmp/morsel-formats-XXXXXX";

    close(mkstemp(path));
    make_columns(columns);
    cr_assert_eq(output_open(&output, path, &err), EXEC_OK, "%s", err.detail);
    struct batch_writer *writer = batch_writer_create(format, null_out, &schema, &output);
    writer->ops->begin(writer);
    for (int i = 0; i < repeat; i++) {
        writer->ops->batch(writer, columns, 3);
    }
    writer->ops->end(writer);
    cr_expect_eq(writer->row_count, 3u * (unsigned)repeat);
    writer->ops->destroy(writer);
    cr_assert_eq(output_commit(&output, &err), EXEC_OK, "%s", err.detail);
    output_close(&output);
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    *size_out = fread(text, 1, (1 << 20) - 1, file);
    fclose(file);
    unlink(path);
    return text;
}

static void expect_text(enum cli_format format, const char *null_out, const char *expected)
{
    size_t size = 0;
    char *text = written(format, null_out, 1, &size);

    cr_expect_str_eq(text, expected, "got:\n%s", text);
    free(text);
}

/* ---- tests
 * ------------------------------------------------------------------------------------------ */

Test(formats, csv)
{
    expect_text(FORMAT_CSV, NULL,
                "b,i8,u64,f32,f64,d,day,t,s,\"x\"\"\"\n"
                "true,-128,0,0.1,0.1,-0.05,1970-01-01,2013-01-01T05:00:00.000001Z,\"\",\\x00ff\n"
                "false,127,18446744073709551615,16777216,1e+22,1234.56,1969-12-31,"
                "1969-12-31T23:59:59.999999Z,\"a,\"\"b\"\"\n\",\\x\n"
                ",0,7,1.4013e-45,nan,1.00,2024-01-01,1970-01-01T00:00:00.000000Z,,\\x\n");
}

Test(formats, tsv_and_a_null_text)
{
    expect_text(
        FORMAT_TSV, "NA",
        "b\ti8\tu64\tf32\tf64\td\tday\tt\ts\t\"x\"\"\"\n"
        "true\t-128\t0\t0.1\t0.1\t-0.05\t1970-01-01\t2013-01-01T05:00:00.000001Z\t\"\"\t\\x00ff\n"
        "false\t127\t18446744073709551615\t16777216\t1e+22\t1234.56\t1969-12-31\t"
        "1969-12-31T23:59:59.999999Z\t\"a,\"\"b\"\"\n\"\t\\x\n"
        "NA\t0\t7\t1.4013e-45\tnan\t1.00\t2024-01-01\t1970-01-01T00:00:00.000000Z\tNA\t\\x\n");
}

Test(formats, jsonl)
{
    expect_text(
        FORMAT_JSONL, NULL,
        "{\"b\":true,\"i8\":-128,\"u64\":0,\"f32\":0.1,\"f64\":0.1,\"d\":-0.05,"
        "\"day\":\"1970-01-01\",\"t\":\"2013-01-01T05:00:00.000001Z\",\"s\":\"\","
        "\"x\\\"\":\"\\\\x00ff\"}\n"
        "{\"b\":false,\"i8\":127,\"u64\":18446744073709551615,\"f32\":16777216,\"f64\":1e+22,"
        "\"d\":1234.56,\"day\":\"1969-12-31\",\"t\":\"1969-12-31T23:59:59.999999Z\","
        "\"s\":\"a,\\\"b\\\"\\n\",\"x\\\"\":\"\\\\x\"}\n"
        "{\"b\":null,\"i8\":0,\"u64\":7,\"f32\":1.4013e-45,\"f64\":\"NaN\",\"d\":1.00,"
        "\"day\":\"2024-01-01\",\"t\":\"1970-01-01T00:00:00.000000Z\",\"s\":null,"
        "\"x\\\"\":\"\\\\x\"}\n");
}

Test(formats, table_shows_the_first_rows)
{
    size_t size = 0;
    char *text = written(FORMAT_TABLE, NULL, 20, &size);
    int lines = 0;

    for (size_t i = 0; i < size; i++) {
        lines += text[i] == '\n';
    }
    cr_expect_eq(lines, TABLE_ROWS_MAX + 2);
    cr_expect_not_null(strstr(text, " true  | -128 |"));
    cr_expect_not_null(strstr(text, "a,\"b\"\\n")); /* the line feed is shown, not sent */
    cr_expect_not_null(strstr(text, " NULL  |    0 |"));
    free(text);
}

Test(formats, arrow_reads_back)
{
    size_t size = 0, at = 0;
    char *text = written(FORMAT_ARROW, NULL, 2, &size);
    struct arrow_reader *reader = arrow_reader_create(1 << 20);
    struct exec_error err = {0};
    int batches = 0;
    enum arrow_event event = ARROW_MORE;

    while (at < size) {
        struct arrow_batch batch = {0};
        size_t used = 0;
        event = arrow_reader_feed(reader, (uint8_t *)text + at, size - at, &used, &batch, &err);
        at += used;
        cr_assert_neq(event, ARROW_ERROR, "%s", err.detail);
        if (event == ARROW_BATCH) {
            char value[COLUMN_VALUE_TEXT_BYTES];
            batches++;
            cr_expect_eq(batch.row_count, 3);
            column_value_text(&batch.columns[5], 1, value);
            cr_expect_str_eq(value, "1234.56");
            cr_expect_eq((int)column_value_is_null(&batch.columns[8], 2), 1);
            void *body = batch.body;
            arrow_batch_fini(&batch);
            free(body);
        }
    }
    cr_expect_eq(event, ARROW_END);
    cr_expect_eq(batches, 2);
    arrow_reader_destroy(reader);
    free(text);
}

Test(formats, floats_read_back)
{
    static const double values[] = {0.1, 1.0 / 3, 1e308, 5e-324, 123456789012345680.0, -0.0, 2.5};

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const struct exec_column_buffers column = {
            .type = {.kind = EXEC_TYPE_FLOAT64}, .row_count = 1, .values = &values[i]};
        char text[COLUMN_VALUE_TEXT_BYTES];
        column_value_text(&column, 0, text);
        const double back = strtod(text, NULL);
        cr_expect_eq(memcmp(&back, &values[i], sizeof back), 0, "%s", text);
        cr_expect_leq(strlen(text), 24);
    }
}

Test(formats, the_ends_of_the_calendar)
{
    static const struct {
        int64_t value;
        struct exec_type type;
        const char *text;
    } cases[] = {
        {INT32_MIN, {.kind = EXEC_TYPE_DATE32}, "-5877641-06-23"},
        {INT32_MAX, {.kind = EXEC_TYPE_DATE32}, "+5881580-07-11"},
        {-719529, {.kind = EXEC_TYPE_DATE32}, "-0001-12-31"},
        {-719528, {.kind = EXEC_TYPE_DATE32}, "0000-01-01"},
        {2932896, {.kind = EXEC_TYPE_DATE32}, "9999-12-31"},
        {2932897, {.kind = EXEC_TYPE_DATE32}, "+10000-01-01"},
        {INT64_MIN,
         {.kind = EXEC_TYPE_TIMESTAMP, .unit = EXEC_UNIT_NANO},
         "1677-09-21T00:12:43.145224192"},
        {INT64_MIN,
         {.kind = EXEC_TYPE_TIMESTAMP, .unit = EXEC_UNIT_MICRO},
         "-290308-12-21T19:59:05.224192"},
        {INT64_MIN,
         {.kind = EXEC_TYPE_TIMESTAMP, .unit = EXEC_UNIT_SECOND},
         "-292277022657-01-27T08:29:52"},
        {INT64_MAX,
         {.kind = EXEC_TYPE_TIMESTAMP, .unit = EXEC_UNIT_SECOND},
         "+292277026596-12-04T15:30:07"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int32_t narrow = (int32_t)cases[i].value;
        const bool is_date = cases[i].type.kind == EXEC_TYPE_DATE32;
        const struct exec_column_buffers column = {.type = cases[i].type,
                                                   .row_count = 1,
                                                   .values = is_date ? (const void *)&narrow
                                                                     : &cases[i].value,
                                                   .values_bytes = is_date ? 4 : 8};
        char text[COLUMN_VALUE_TEXT_BYTES];
        cr_expect_eq(column_value_text(&column, 0, text), strlen(cases[i].text));
        cr_expect_str_eq(text, cases[i].text);
    }
}

Test(formats, decimals_to_38_digits)
{
    wide value = 1;
    char text[COLUMN_VALUE_TEXT_BYTES];

    for (int i = 0; i < 38; i++) {
        value *= 10;
    }
    value = -(value - 1);
    struct exec_column_buffers column = {
        .type = {.kind = EXEC_TYPE_DECIMAL128, .precision = 38}, .row_count = 1, .values = &value};
    column_value_text(&column, 0, text);
    cr_expect_str_eq(text, "-99999999999999999999999999999999999999");
    column.type.scale = 38;
    column_value_text(&column, 0, text);
    cr_expect_str_eq(text, "-0.99999999999999999999999999999999999999");
}

Test(output_file, appears_only_when_committed)
{
    struct output_file output;
    struct exec_error err = {0};
    char path[] = "/tmp/morsel-output-XXXXXX", command[64];

    close(mkstemp(path));
    unlink(path);
    cr_assert_eq(output_open(&output, path, &err), EXEC_OK);
    output_text(&output, "half");
    output_flush(&output);
    cr_expect_eq(access(path, F_OK), -1);
    output_close(&output);
    cr_expect_eq(access(path, F_OK), -1);
    snprintf(command, sizeof command, "ls %s.* 2>/dev/null", path);
    FILE *left = popen(command, "r");
    cr_expect_eq(fgetc(left), EOF, "a temporary file was left");
    pclose(left);
    cr_expect_eq(output_open(&output, "/nonexistent/x", &err), EXEC_BAD_SPEC);
}
