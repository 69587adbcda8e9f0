/* Goal:   uploads copy what is right, refuse what is hostile, keep the order of rows, are seen
 * whole or not at all, and cost nothing once they have ended, however. Method: a real engine;
 * appends of every type, plain and as dictionaries, in many sizes, read back through the catalogue;
 * hostile buffers one by one; aborts, releases half-way and a thousand uploads open at once, with
 * the tables budget read afterwards. */
#include "engine.h"
#include "vec/string_view.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct outcome {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t done, appended;
    struct exec_error error;
    char name[64];
    uint64_t rows, version;
};

static void on_appended(void *owner, void *token)
{
    struct outcome *outcome = owner;
    (void)token;
    pthread_mutex_lock(&outcome->lock);
    outcome->appended++;
    pthread_cond_broadcast(&outcome->changed);
    pthread_mutex_unlock(&outcome->lock);
}

static void on_done(void *owner, const struct exec_error *error, const struct exec_table_info *info)
{
    struct outcome *outcome = owner;
    pthread_mutex_lock(&outcome->lock);
    outcome->done++;
    outcome->error = *error;
    if (info != NULL) {
        snprintf(outcome->name, sizeof outcome->name, "%s", info->name);
        outcome->rows = info->row_count;
        outcome->version = info->version;
    }
    pthread_cond_broadcast(&outcome->changed);
    pthread_mutex_unlock(&outcome->lock);
}

static const struct exec_upload_events events = {.appended = on_appended, .done = on_done};

static void outcome_init(struct outcome *outcome)
{
    *outcome = (struct outcome){.done = 0};
    pthread_mutex_init(&outcome->lock, NULL);
    pthread_cond_init(&outcome->changed, NULL);
}

static void outcome_wait(struct outcome *outcome, uint32_t appended, uint32_t done)
{
    pthread_mutex_lock(&outcome->lock);
    while (outcome->appended < appended || outcome->done < done) {
        pthread_cond_wait(&outcome->changed, &outcome->lock);
    }
    pthread_mutex_unlock(&outcome->lock);
}

static struct exec_engine *start(uint64_t memory_bytes)
{
    struct exec_engine *engine;
    struct exec_error err;
    const struct exec_engine_config config = {.workers = 3, .memory_limit_bytes = memory_bytes};
    cr_assert_eq(exec_engine_create(&config, &engine, &err), EXEC_OK, "%s", err.detail);
    return engine;
}

static uint64_t tables_bytes(struct exec_engine *engine)
{
    return nu_budget_used(catalogue_budget(engine->catalogue));
}

/* The worker that ran the last `done` lets go of its table a moment later. */
static bool tables_become_empty(struct exec_engine *engine)
{
    for (uint32_t i = 0; i < 5000 && tables_bytes(engine) != 0; i++) {
        usleep(1000);
    }
    return tables_bytes(engine) == 0;
}

/* ---- one table of every shape --------------------------------------------------------------- */

enum { COLUMNS = 5, APPEND_ROWS_MAX = 3000 };

static const struct exec_field fields[COLUMNS] = {
    {.name = "n", .type = {.kind = EXEC_TYPE_INT64}},
    {.name = "flag", .type = {.kind = EXEC_TYPE_BOOL}},
    {.name = "text", .type = {.kind = EXEC_TYPE_UTF8}},
    {.name = "word", .type = {.kind = EXEC_TYPE_UTF8}}, /* comes as a dictionary */
    {.name = "small", .type = {.kind = EXEC_TYPE_INT32}},
};
static const struct exec_schema schema = {.fields = fields, .field_count = COLUMNS};

/* Buffers of rows first..first+rows-1; everything at odd addresses, as a wire gives it. */
struct buffers {
    struct exec_column_buffers columns[COLUMNS], dictionary;
    unsigned char memory[APPEND_ROWS_MAX * 80];
    size_t used;
};

static unsigned char *take(struct buffers *buffers, size_t bytes)
{
    unsigned char *piece = buffers->memory + buffers->used;
    cr_assert_leq(buffers->used + bytes + 2, sizeof buffers->memory);
    buffers->used += bytes + 1 - bytes % 2; /* odd again */
    memset(piece, 0, bytes);
    return piece;
}

static const char *row_text(uint64_t row, char text[40])
{
    sprintf(text, row % 2 == 0 ? "%llu" : "a longer text, number %llu", (unsigned long long)row);
    return text;
}

static void set_bit(unsigned char *bits, uint64_t at)
{
    bits[at / 8] |= (unsigned char)(1 << at % 8);
}

static void fill_texts(struct buffers *buffers, uint64_t first, uint32_t rows)
{
    struct exec_column_buffers *column = &buffers->columns[2];
    unsigned char *offsets = take(buffers, (rows + 1) * sizeof(int32_t));
    unsigned char *bytes = take(buffers, rows * 40);
    int32_t at = 0;
    for (uint32_t i = 0; i <= rows; i++) {
        char text[40];
        memcpy(offsets + i * sizeof at, &at, sizeof at);
        if (i < rows) {
            const size_t size = strlen(row_text(first + i, text));
            memcpy(bytes + at, text, size);
            at += (int32_t)size;
        }
    }
    column->offsets = offsets;
    column->offset_bytes = 4;
    column->values = bytes;
    column->values_bytes = (size_t)at;
}

static void fill(struct buffers *buffers, uint64_t first, uint32_t rows)
{
    static const char words[] = "redgreenblue";
    static const int64_t word_offsets[] = {0, 3, 8, 12};
    buffers->used = 1;
    buffers->dictionary = (struct exec_column_buffers){.type = fields[3].type,
                                                       .row_count = 3,
                                                       .values = words,
                                                       .values_bytes = 12,
                                                       .offsets = word_offsets,
                                                       .offset_bytes = 8};
    unsigned char *numbers = take(buffers, rows * sizeof(int64_t));
    unsigned char *flags = take(buffers, rows / 8 + 1);
    unsigned char *valid = take(buffers, rows / 8 + 1);
    unsigned char *indices = take(buffers, rows * sizeof(int16_t));
    unsigned char *smalls = take(buffers, rows * sizeof(int32_t));
    for (uint32_t c = 0; c < COLUMNS; c++) {
        buffers->columns[c] =
            (struct exec_column_buffers){.type = fields[c].type, .row_count = rows};
    }
    for (uint32_t i = 0; i < rows; i++) {
        const int64_t n = (int64_t)(first + i);
        const int16_t index = (int16_t)(n % 3);
        const int32_t small = (int32_t)-n;
        memcpy(numbers + i * sizeof n, &n, sizeof n);
        memcpy(indices + i * sizeof index, &index, sizeof index);
        memcpy(smalls + i * sizeof small, &small, sizeof small);
        if (n % 3 == 1) {
            set_bit(flags, i);
        }
        if (n % 5 != 0) {
            set_bit(valid, i);
        } else {
            buffers->columns[4].null_count++;
        }
    }
    buffers->columns[0].values = numbers;
    buffers->columns[0].values_bytes = rows * sizeof(int64_t);
    buffers->columns[1].values = flags;
    buffers->columns[1].values_bytes = rows / 8 + 1;
    buffers->columns[3].values = indices;
    buffers->columns[3].values_bytes = rows * sizeof(int16_t);
    buffers->columns[3].index_bytes = 2;
    buffers->columns[3].dictionary = &buffers->dictionary;
    buffers->columns[4].values = smalls;
    buffers->columns[4].values_bytes = rows * sizeof(int32_t);
    buffers->columns[4].validity = valid;
    fill_texts(buffers, first, rows);
}

static bool view_is(const struct string_view *view, const char *text)
{
    return view->size == strlen(text) && memcmp(string_view_bytes(view), text, view->size) == 0;
}

static void check_table(const struct table *table, uint64_t rows)
{
    static const char *const words[] = {"red", "green", "blue"};
    uint64_t n = 0;
    char text[40];
    cr_assert_eq(table->row_count, rows);
    for (uint32_t i = 0; i < table->chunk_count; i++) {
        const struct table_column *columns = table->chunks[i]->columns;
        for (uint32_t row = 0; row < table->chunks[i]->row_count; row++, n++) {
            cr_assert_eq(((const int64_t *)columns[0].data)[row], (int64_t)n);
            cr_assert_eq(((const uint8_t *)columns[1].data)[row], n % 3 == 1);
            cr_assert(
                view_is(&((const struct string_view *)columns[2].data)[row], row_text(n, text)));
            cr_assert(view_is(&((const struct string_view *)columns[3].data)[row], words[n % 3]));
            cr_assert_eq(bitmap_get(columns[4].valid, row), n % 5 != 0);
            cr_assert(n % 5 == 0 || ((const int32_t *)columns[4].data)[row] == -(int32_t)n);
        }
    }
    cr_assert_eq(n, rows);
    cr_assert_eq(table->stats[0].max.i64, (int64_t)rows - 1);
    cr_assert_eq(table->stats[4].null_count, (rows + 4) / 5);
}

Test(upload, rows_in_order)
{
    struct exec_engine *engine = start(0);
    struct exec_upload *upload;
    struct exec_error err;
    struct outcome outcome;
    static struct buffers buffers[40];
    uint64_t rows = 0;

    outcome_init(&outcome);
    cr_assert_eq(
        exec_upload_begin(engine, "t", &schema, false, 1000, &events, &outcome, &upload, &err),
        EXEC_OK);
    for (uint32_t i = 0; i < 40; i++) { /* all under way at once */
        const uint32_t count = i == 5 ? 0 : (i * 997) % APPEND_ROWS_MAX + 1;
        fill(&buffers[i], rows, count);
        rows += count;
        exec_upload_append(upload, buffers[i].columns, &buffers[i]);
    }
    cr_expect_not(catalogue_has(engine->catalogue, "t"));
    exec_upload_commit(upload);
    outcome_wait(&outcome, 40, 1);
    exec_upload_release(upload);
    cr_assert_eq(outcome.error.code, EXEC_OK, "%s", outcome.error.detail);
    cr_expect_str_eq(outcome.name, "t");
    cr_expect_eq(outcome.rows, rows);
    struct table *table = catalogue_get(engine->catalogue, "t");
    check_table(table, rows);
    table_unref(table);
    cr_assert_eq(
        exec_upload_begin(engine, "t", &schema, false, 0, &events, &outcome, &upload, &err),
        EXEC_EXISTS);
    cr_assert_eq(exec_table_drop(engine, "t", &err), EXEC_OK);
    cr_expect(tables_become_empty(engine));
    exec_engine_destroy(engine);
}

/* ---- hostile -------------------------------------------------------------------------------- */

static int32_t offsets_back[] = {0, 3, 2, 4};
static int32_t offsets_far[] = {0, 1, 2, 1000};
static int32_t offsets_negative[] = {-1, 1, 2, 3};
static const int16_t index_far[] = {0, 3, 1};
static const int16_t index_negative[] = {0, -1, 1};

static void spoil(struct buffers *buffers, uint32_t how)
{
    struct exec_column_buffers *columns = buffers->columns;
    switch (how) {
        case 0: columns[2].offsets = offsets_back; break;
        case 1: columns[2].offsets = offsets_far; break;
        case 2: columns[2].offsets = offsets_negative; break;
        case 3: ((unsigned char *)(uintptr_t)columns[2].values)[0] = 0xff; break;
        case 4: columns[3].values = index_far; break;
        case 5: columns[3].values = index_negative; break;
        case 6: columns[0].values_bytes = 23; break;
        case 7: columns[1].values_bytes = 0; break;
        case 8: columns[4].validity = NULL; break;
        case 9: columns[4].row_count = 2; break;
        case 10: columns[4].type.kind = EXEC_TYPE_INT64; break;
        case 11: columns[3].dictionary = NULL; break;
        case 12: columns[3].index_bytes = 3; break;
        case 13: columns[2].offset_bytes = 2; break;
        case 14: columns[2].offsets = NULL; break;
        case 15: columns[3].values_bytes = 5; break;
        default:
            for (uint32_t c = 0; c < COLUMNS; c++) {
                columns[c].row_count = UINT64_MAX / 2;
            }
            break;
    }
}

Test(upload, hostile_buffers)
{
    static const struct {
        enum exec_code code;
        const char *message;
    } cases[] = {
        {EXEC_BAD_DATA, "column 3 'text' row 2: offsets are negative or go backwards"},
        {EXEC_BAD_DATA, "column 3 'text' row 3: an offset points behind the values"},
        {EXEC_BAD_DATA, "column 3 'text' row 1: offsets are negative"},
        {EXEC_BAD_DATA, "column 3 'text' row 1: the text is not valid UTF-8"},
        {EXEC_BAD_DATA, "column 4 'word' row 2: the index is outside the dictionary"},
        {EXEC_BAD_DATA, "column 4 'word' row 2: the index is outside the dictionary"},
        {EXEC_BAD_DATA, "column 1 'n': the values are shorter than the rows need"},
        {EXEC_BAD_DATA, "column 2 'flag': the values are shorter than the rows need"},
        {EXEC_BAD_DATA, "column 5 'small': nulls are announced, but there is no validity"},
        {EXEC_BAD_DATA, "column 5 'small' has 2 rows, but the first has 3"},
        {EXEC_SCHEMA_MISMATCH, "column 5 'small' is int64, expected int32"},
        {EXEC_BAD_DATA, "column 4 'word': the dictionary is missing"},
        {EXEC_BAD_DATA, "column 4 'word': dictionary indices have no size"},
        {EXEC_BAD_DATA, "column 3 'text': offsets have neither 4 nor 8 bytes"},
        {EXEC_BAD_DATA, "column 3 'text': offsets are missing"},
        {EXEC_BAD_DATA, "column 4 'word': the indices are shorter than the rows need"},
        {EXEC_BAD_DATA, "the values are shorter than the rows need"},
    };
    struct exec_engine *engine = start(0);
    static struct buffers good;
    static struct buffers bad;
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct exec_upload *upload;
        struct exec_error err;
        struct outcome outcome;
        outcome_init(&outcome);
        cr_assert_eq(
            exec_upload_begin(engine, "h", &schema, true, 0, &events, &outcome, &upload, &err),
            EXEC_OK);
        fill(&good, 0, 1000);
        fill(&bad, 0, 3);
        spoil(&bad, i);
        exec_upload_append(upload, good.columns, NULL);
        exec_upload_append(upload, bad.columns, NULL);
        outcome_wait(&outcome, 2, 1); /* the failure is told without being asked for */
        cr_expect_eq(outcome.error.code, cases[i].code);
        cr_expect_not_null(strstr(outcome.error.detail, cases[i].message), "%u: %s", i,
                           outcome.error.detail);
        exec_upload_append(upload, good.columns, NULL); /* crosses with it */
        exec_upload_commit(upload);
        outcome_wait(&outcome, 3, 1);
        exec_upload_release(upload);
        cr_expect_eq(outcome.done, 1);
        cr_expect_not(catalogue_has(engine->catalogue, "h"));
    }
    cr_expect(tables_become_empty(engine));
    exec_engine_destroy(engine);
}

Test(upload, bad_begins)
{
    struct exec_engine *engine = start(256 << 20);
    struct exec_upload *upload;
    struct exec_error err;
    struct exec_field field = {.name = "n", .type = {.kind = EXEC_TYPE_INT64}};
    struct exec_schema one = {.fields = &field, .field_count = 1};
    cr_expect_eq(exec_upload_begin(engine, "", &one, true, 0, &events, NULL, &upload, &err),
                 EXEC_BAD_SPEC);
    cr_expect_eq(
        exec_upload_begin(engine, "t", &one, true, 1ull << 40, &events, NULL, &upload, &err),
        EXEC_MEMORY_BUDGET);
    cr_expect_not_null(strstr(err.detail, "1099511627776"), "%s", err.detail);
    field.type.kind = EXEC_TYPE_NONE;
    cr_expect_eq(exec_upload_begin(engine, "t", &one, true, 0, &events, NULL, &upload, &err),
                 EXEC_BAD_SPEC);
    one.field_count = 0;
    cr_expect_eq(exec_upload_begin(engine, "t", &one, true, 0, &events, NULL, &upload, &err),
                 EXEC_BAD_SPEC);
    exec_engine_destroy(engine);
}

/* ---- abandoned ------------------------------------------------------------------------------ */

Test(upload, thousands_abandoned)
{
    enum { UPLOADS = 1000 };
    struct exec_engine *engine = start(0);
    static struct exec_upload *uploads[UPLOADS];
    static struct outcome outcomes[UPLOADS];
    static struct buffers buffers;
    struct exec_error err;
    char name[16];

    fill(&buffers, 0, 100);
    for (uint32_t i = 0; i < UPLOADS; i++) {
        outcome_init(&outcomes[i]);
        sprintf(name, "t%u", i);
        cr_assert_eq(exec_upload_begin(engine, name, &schema, false, 0, &events, &outcomes[i],
                                       &uploads[i], &err),
                     EXEC_OK);
        exec_upload_append(uploads[i], buffers.columns, NULL);
    }
    for (uint32_t i = 0; i < UPLOADS; i++) {
        if (i % 3 == 0) {
            exec_upload_abort(uploads[i], EXEC_CANCELLED, "changed my mind");
        } else if (i % 3 == 1) {
            exec_upload_commit(uploads[i]);
        }
        exec_upload_release(uploads[i]);
    }
    for (uint32_t i = 0; i < UPLOADS; i++) {
        static const char *const reasons[] = {"changed my mind", "", "the upload was abandoned"};
        outcome_wait(&outcomes[i], 1, 1);
        cr_assert_eq(outcomes[i].error.code, i % 3 == 1 ? EXEC_OK : EXEC_CANCELLED);
        cr_assert_str_eq(outcomes[i].error.detail, reasons[i % 3]);
    }
    cr_expect_eq(catalogue_count(engine->catalogue), (UPLOADS + 1) / 3);
    for (uint32_t i = 1; i < UPLOADS; i += 3) {
        sprintf(name, "t%u", i);
        cr_assert_eq(exec_table_drop(engine, name, &err), EXEC_OK);
    }
    cr_expect(tables_become_empty(engine));
    exec_engine_destroy(engine);
}
