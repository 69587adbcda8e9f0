/* Goal:   csv_text and csv_rows read what RFC 4180 says, however the text is cut into blocks, with
 *         right line numbers, and report every kind of wrong row.
 * Method: random texts made of the characters that matter go through csv_text_row in blocks of 1 to
 *         200 bytes and are compared with csv_oracle.h; batches and faults are checked by hand. */
#include "csv_oracle.h"
#include "io/csv_rows.h"
#include "vec/string_view.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { WINDOW_BYTES = 8192, FIELDS_MAX = 64 };

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static size_t random_text(uint64_t *seed, char *text, size_t size_max)
{
    static const char alphabet[] = ",,,\n\n\"\"\"\r\nab1\xc3\xa4 ;";
    const size_t size = next_random(seed) % size_max;
    const bool long_fields = next_random(seed) % 3 == 0;
    for (size_t i = 0; i < size; i++) {
        const bool plain = long_fields && next_random(seed) % 16 != 0;
        text[i] = plain ? 'x' : alphabet[next_random(seed) % (sizeof alphabet - 1)];
    }
    return size;
}

/* The same text in blocks, through a window whose unread rest moves to the front. */
struct feed {
    const char *text;
    size_t size, given;
    uint64_t *seed;
    size_t block_max;
    char window[WINDOW_BYTES + CSV_SLACK_BYTES];
};

static void feed_more(struct feed *feed, struct csv_text *text)
{
    const size_t rest = text->end == NULL ? 0 : (size_t)(text->end - text->at);
    size_t block = 1 + next_random(feed->seed) % feed->block_max;

    block = block < feed->size - feed->given ? block : feed->size - feed->given;
    if (rest > 0) {
        memmove(feed->window, text->at, rest);
    }
    cr_assert_leq(rest + block, WINDOW_BYTES);
    memcpy(feed->window + rest, feed->text + feed->given, block);
    feed->given += block;
    csv_text_set(text, feed->window, feed->window + rest + block, feed->given == feed->size);
}

static void check_against_oracle(const char *bytes, size_t size, bool keep_blank, uint64_t *seed,
                                 size_t block_max)
{
    const struct csv_dialect dialect = {.delimiter = ',', .quote = '"', .keep_blank = keep_blank};
    struct feed feed = {.text = bytes, .size = size, .seed = seed, .block_max = block_max};
    struct csv_field fields[FIELDS_MAX];
    struct csv_text text = {.end = NULL};
    struct oracle_table oracle;
    uint32_t count;
    size_t at = 0;
    size_t rows = 0;

    oracle_read(&oracle, bytes, size, ',', '"', keep_blank);
    feed_more(&feed, &text);
    for (;;) {
        const enum csv_row row = csv_text_row(&dialect, &text, fields, FIELDS_MAX, &count);
        if (row == CSV_ROW_CUT) {
            cr_assert_lt(feed.given, feed.size);
            feed_more(&feed, &text);
            continue;
        }
        if (row != CSV_ROW) {
            cr_assert_eq(row != CSV_ROW_NONE, oracle.bad, "text <%.*s>", (int)size, bytes);
            break;
        }
        for (uint32_t f = 0; f < count; f++, at++) {
            struct oracle_field *want = &oracle.fields[at];
            cr_assert_lt(at, oracle.field_count, "text <%.*s>", (int)size, bytes);
            if (fields[f].escaped) {
                csv_field_unescape(&fields[f], '"');
            }
            cr_assert_eq(want->row, rows, "text <%.*s>", (int)size, bytes);
            cr_assert_eq(want->line, text.row_line_feeds, "text <%.*s>", (int)size, bytes);
            cr_assert_eq(want->quoted, fields[f].quoted);
            cr_assert(want->size == fields[f].size &&
                          memcmp(want->bytes, fields[f].bytes, want->size) == 0,
                      "text <%.*s>", (int)size, bytes);
        }
        rows++;
    }
    cr_assert_eq(at, oracle.field_count, "text <%.*s>", (int)size, bytes);
    cr_assert_eq(rows, oracle.row_count);
    oracle_free(&oracle);
}

Test(csv_text, like_the_oracle)
{
    char text[600];
    uint64_t seed = 42;
    for (uint32_t i = 0; i < 20000; i++) {
        const size_t size = random_text(&seed, text, i % 10 == 0 ? sizeof text : 40);
        const size_t block_max = 1 + next_random(&seed) % 200;
        /* FIELDS_MAX bounds what is looked at; rows of such texts stay below it in fields. */
        size_t delimiters = 0;
        for (size_t b = 0; b < size; b++) {
            delimiters += text[b] == ',';
        }
        if (delimiters < FIELDS_MAX) {
            check_against_oracle(text, size, i % 2 == 0, &seed, block_max);
        }
    }
}

/* ---- rows by hand --------------------------------------------------------------------------- */

static const char *const null_texts[] = {"NA", "-"};
static const struct csv_column columns[] = {
    {.name = "id", .type = {.kind = EXEC_TYPE_INT64}},
    {.name = "name", .type = {.kind = EXEC_TYPE_UTF8}},
    {.name = "share", .type = {.kind = EXEC_TYPE_FLOAT64}, .inferred = true},
};

static struct csv_layout make_layout(const uint32_t *outputs, uint32_t output_count)
{
    return (struct csv_layout){.dialect = {.delimiter = ',', .quote = '"'},
                               .nulls = csv_null_texts_make(null_texts, 2),
                               .columns = columns,
                               .column_count = 3,
                               .inferred_rows = 17,
                               .outputs = outputs,
                               .output_count = output_count};
}

struct reading {
    struct csv_layout layout;
    struct csv_rows rows;
    struct csv_text text;
    struct csv_fault fault;
    void *memory;
    char *bytes;
};

static void reading_init(struct reading *reading, const char *bytes, size_t size,
                         const uint32_t *outputs, uint32_t output_count)
{
    *reading = (struct reading){.layout = make_layout(outputs, output_count)};
    reading->memory = aligned_alloc(64, (csv_rows_bytes(&reading->layout) + 63) / 64 * 64);
    csv_rows_init(&reading->rows, &reading->layout, reading->memory);
    reading->bytes = malloc(size + CSV_SLACK_BYTES);
    memcpy(reading->bytes, bytes, size);
    csv_text_set(&reading->text, reading->bytes, reading->bytes + size, true);
}

static enum csv_read reading_go(struct reading *reading)
{
    return csv_rows_read(&reading->rows, &reading->layout, &reading->text, NULL, &reading->fault);
}

static void reading_fini(struct reading *reading)
{
    free(reading->memory);
    free(reading->bytes);
}

Test(csv_text, batches)
{
    const char text[] = "1,abc,0.5\r\n\n2,NA,NA\n-,\"NA\",-1e3\n,\"a \"\"long\"\" line\nbreak\",\n"
                        "5,\"\",1";
    const uint32_t outputs[] = {2, 0, 1};
    struct reading reading;
    struct batch batch;

    reading_init(&reading, text, sizeof text - 1, outputs, 3);
    cr_assert_eq(reading_go(&reading), CSV_READ_END);
    csv_rows_batch(&reading.rows, &reading.layout, &batch);
    cr_assert_eq(batch.row_count, 5);
    const double *share = batch.columns[0].data;
    const int64_t *id = batch.columns[1].data;
    const struct string_view *name = batch.columns[2].data;
    cr_expect(vec_is_valid(&batch.columns[0], 0) && share[0] == 0.5);
    cr_expect_not(vec_is_valid(&batch.columns[0], 1));
    cr_expect(share[2] == -1000.0);
    cr_expect_not(vec_is_valid(&batch.columns[0], 3));
    cr_expect(id[0] == 1 && id[1] == 2 && id[4] == 5);
    cr_expect_not(vec_is_valid(&batch.columns[1], 2));
    cr_expect_not(vec_is_valid(&batch.columns[1], 3));
    cr_expect_not(vec_is_valid(&batch.columns[2], 1));
    cr_expect(name[2].size == 2 && memcmp(string_view_bytes(&name[2]), "NA", 2) == 0);
    cr_expect(name[3].size == 19 &&
              memcmp(string_view_bytes(&name[3]), "a \"long\" line\nbreak", 19) == 0);
    cr_expect(vec_is_valid(&batch.columns[2], 4) && name[4].size == 0);
    reading_fini(&reading);
}

Test(csv_text, full_batches_and_stop)
{
    enum { ROWS = 2500 };
    const uint32_t outputs[] = {0};
    struct reading reading;
    char *text = malloc(ROWS * 16);
    size_t size = 0;
    size_t stop_at = 0;
    for (int i = 0; i < ROWS; i++) {
        stop_at = i == 1500 ? size : stop_at;
        size += (size_t)sprintf(text + size, "%d,x,\n", i);
    }
    reading_init(&reading, text, size, outputs, 1);
    const char *stop = reading.bytes + stop_at - 1; /* inside row 1499: it is still ours */
    cr_assert_eq(csv_rows_read(&reading.rows, &reading.layout, &reading.text, stop, &reading.fault),
                 CSV_READ_FULL);
    cr_expect_eq(reading.rows.row_count, BATCH_ROWS);
    csv_rows_reset(&reading.rows, &reading.layout);
    cr_assert_eq(csv_rows_read(&reading.rows, &reading.layout, &reading.text, stop, &reading.fault),
                 CSV_READ_STOP);
    cr_expect_eq(reading.rows.row_count, 1500 - BATCH_ROWS);
    cr_expect_eq(((const int64_t *)reading.rows.data[0])[1500 - BATCH_ROWS - 1], 1499);
    cr_expect_eq(reading.text.line_feeds, 1500);
    free(text);
    reading_fini(&reading);
}

Test(csv_text, faults)
{
    static const struct {
        const char *text;
        const char *message;
        uint32_t column;
    } cases[] = {
        {"1,a,1\n2,b\n", "f.csv:12: expected 3 fields, found 2 in line 12", 0},
        {"1,a,1\n2,b,1,\n", "f.csv:12: expected 3 fields, found 4 in line 12", 0},
        {"1,\"x\ny\",1\n\n7a,b,1\n", "f.csv:14 column 1 'id': \"7a\" is not int64", 1},
        {"99999999999999999999,b,1\n",
         "f.csv:11 column 1 'id': \"99999999999999999999\" does not fit int64", 1},
        {"1,b,\"12,5\"\n",
         "f.csv:11 column 3 'share': \"12,5\" is not float64 (inferred from the first 17 rows; "
         "give its type)",
         3},
        {"1,\"b\"x,1\n",
         "f.csv:11 column 2 'name': the closing quote is not followed by ',' or a "
         "line end",
         2},
        {"1,\"b,1\n",
         "f.csv:11 column 2 'name': the quoted field is not closed before the end of the file", 2},
        {"1,ab\xff,1\n",
         "f.csv:11 column 2 'name': \"ab?\" is not valid UTF-8 at byte 3 of the field in line 11, "
         "column name",
         2},
        {"1,b,007\n",
         "f.csv:11 column 3 'share': \"007\" would lose its leading zeros as float64 (inferred "
         "from "
         "the first 17 rows; give its type)",
         3},
        {"1,b,-9007199254740993\n",
         "f.csv:11 column 3 'share': \"-9007199254740993\" would lose its last digits as float64 "
         "(inferred from the first 17 rows; give its type)",
         3},
        {"1,b,0123456789012345678901234567890123456789012345678901234567890x\n",
         "f.csv:11 column 3 'share': \"012345678901234567890123456789012345678901234567...\" is "
         "not float64 (inferred from the first 17 rows; give its type)",
         3},
    };
    const uint32_t outputs[] = {0, 1, 2};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reading reading;
        struct exec_error err;
        reading_init(&reading, cases[i].text, strlen(cases[i].text), outputs, 3);
        cr_assert_eq(reading_go(&reading), CSV_READ_FAULT, "%s", cases[i].text);
        cr_expect_eq(csv_fault_report(&reading.fault, &reading.layout, "f.csv",
                                      11 + reading.fault.line_feeds, &err),
                     EXEC_BAD_DATA);
        cr_expect_str_eq(err.detail, cases[i].message);
        cr_expect_eq(err.column, cases[i].column);
        cr_expect_eq(err.line, 11 + reading.fault.line_feeds);
        reading_fini(&reading);
    }
}

Test(csv_text, skipped_columns_are_still_counted)
{
    const uint32_t outputs[] = {1};
    struct reading reading;
    const char text[] = "not a number,b,neither\n1,c\n";
    reading_init(&reading, text, sizeof text - 1, outputs, 1);
    cr_assert_eq(reading_go(&reading), CSV_READ_FAULT);
    cr_expect_eq(reading.rows.row_count, 1);
    cr_expect_eq(reading.fault.kind, CSV_FAULT_RAGGED);
    reading_fini(&reading);
}

Test(csv_text, long_lines)
{
    const uint32_t outputs[] = {1};
    struct reading reading;
    const size_t size = CSV_LINE_BYTES_MAX + 10;
    char *text = malloc(size);
    memset(text, 'x', size);
    memcpy(text, "1,", 2);
    memcpy(text + size - 4, ",1\n", 3);
    reading_init(&reading, text, size - 1, outputs, 1);
    cr_assert_eq(reading_go(&reading), CSV_READ_FAULT);
    cr_expect_eq(reading.fault.kind, CSV_FAULT_LONG_LINE);
    reading_fini(&reading);
    reading_init(&reading, text + 20, size - 21, outputs, 1);
    memcpy(reading.bytes, "1,", 2);
    cr_assert_eq(reading_go(&reading), CSV_READ_END);
    cr_expect_eq(reading.rows.row_count, 1);
    reading_fini(&reading);
    free(text);
}

/* A scan that wants no column still says that a file is not text; numbers may be grouped. */
Test(csv_text, columns_nobody_asked_for)
{
    const char text[] = "1,ok,0.5\n2,caf\xe9,0.5\n";
    struct reading reading;

    reading_init(&reading, text, sizeof text - 1, NULL, 0);
    cr_assert_eq(reading_go(&reading), CSV_READ_FAULT);
    cr_expect_eq(reading.fault.kind, CSV_FAULT_UTF8);
    cr_expect_eq(reading.fault.line_feeds, 1);
    cr_expect_eq(reading.fault.column, 2);
    cr_expect_eq(reading.rows.row_count, 1);
    reading_fini(&reading);
}

Test(csv_text, grouped_numbers)
{
    const char text[] = "\"1,234\",\"1,234\",\"-1,000,000.25\"\n98,x,1\n\"1,23\",x,1\n";
    const uint32_t outputs[] = {0, 1, 2};
    struct reading reading;

    reading_init(&reading, text, sizeof text - 1, outputs, 3);
    reading.layout.dialect.thousands = ',';
    cr_assert_eq(reading_go(&reading), CSV_READ_FAULT);
    cr_expect_eq(reading.fault.kind, CSV_FAULT_TYPE);
    cr_expect_eq(reading.fault.line_feeds, 2);
    cr_assert_eq(reading.rows.row_count, 2);
    cr_expect_eq(((const int64_t *)reading.rows.data[0])[0], 1234);
    cr_expect_eq(((const int64_t *)reading.rows.data[0])[1], 98);
    cr_expect(((const double *)reading.rows.data[2])[0] == -1000000.25);
    cr_expect_eq(((const struct string_view *)reading.rows.data[1])[0].size, 5); /* a text stays */
    reading_fini(&reading);
}
