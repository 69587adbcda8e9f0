/* Goal:   a scan of files gives every row once and right, whether the files are plain or
 * compressed, in one piece or in segments, with quotes across segment borders, on any backend and
 * when batches are refused; what is wrong with a file is said with path, line and column. Method:
 * files are written to a temporary directory and scanned by real workers through a pipe whose sink
 * keeps rows as text and refuses batches at random. */
#include "io/io.h"
#include "op/job_context.h"
#include "op/pipe_life.h"
#include "op/scan_files.h"
#include "vec/string_view.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { WORKERS = 3 };

/* ---- rows as text --------------------------------------------------------------------------- */

struct keeper {
    struct op_sink base; /* first */
    pthread_mutex_t lock;
    char **rows;
    size_t count, capacity;
    uint64_t refuse_every; /* 0: never */
    uint64_t asked;
    bool last_was_refused[WORKERS];
    uint64_t stop_after; /* rows; 0: never */
};

static size_t value_text(const struct vec *vec, uint32_t row, char *out, size_t room)
{
    if (!vec_is_valid(vec, row)) {
        return (size_t)snprintf(out, room, "\\N");
    }
    switch (vec->kind) {
        case EXEC_TYPE_BOOL:
            return (size_t)snprintf(out, room, "%s", ((const uint8_t *)vec->data)[row] ? "t" : "f");
        case EXEC_TYPE_INT64:
        case EXEC_TYPE_TIMESTAMP:
            return (size_t)snprintf(out, room, "%lld",
                                    (long long)((const int64_t *)vec->data)[row]);
        case EXEC_TYPE_INT32:
        case EXEC_TYPE_DATE32:
            return (size_t)snprintf(out, room, "%d", ((const int32_t *)vec->data)[row]);
        case EXEC_TYPE_FLOAT64:
            return (size_t)snprintf(out, room, "%.17g", ((const double *)vec->data)[row]);
        default: break;
    }
    const struct string_view *view = &((const struct string_view *)vec->data)[row];
    return (size_t)snprintf(out, room, "%.*s", (int)view->size, string_view_bytes(view));
}

static void keep_row(struct keeper *keeper, const struct batch *batch, uint32_t row)
{
    static char text[1 << 21]; /* under the keeper's lock */
    const size_t room = sizeof text;
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t c = 0; c < batch->column_count; c++) {
        at += value_text(&batch->columns[c], row, text + at, room - at);
        if (c + 1 < batch->column_count) {
            text[at++] = '|';
            text[at] = '\0';
        }
    }
    if (keeper->count == keeper->capacity) {
        keeper->capacity = keeper->capacity == 0 ? 1024 : 2 * keeper->capacity;
        keeper->rows = realloc(keeper->rows, keeper->capacity * sizeof *keeper->rows);
    }
    keeper->rows[keeper->count++] = strdup(text);
}

static enum push_result keeper_push(struct op_sink *sink, struct pipe_run *run, uint32_t index,
                                    const struct batch *batch)
{
    struct keeper *keeper = (struct keeper *)sink;
    (void)index;
    pthread_mutex_lock(&keeper->lock);
    keeper->asked++;
    if (keeper->refuse_every != 0 && keeper->asked % keeper->refuse_every == 0) {
        pthread_mutex_unlock(&keeper->lock);
        run->out_of_time = true;
        return PUSH_SUSPEND;
    }
    for (uint32_t row = 0; row < batch->row_count; row++) {
        keep_row(keeper, batch, row);
    }
    const bool stops = keeper->stop_after != 0 && keeper->count >= keeper->stop_after;
    pthread_mutex_unlock(&keeper->lock);
    return stops ? PUSH_STOP : PUSH_MORE;
}

static const struct sink_kind keeper_kind = {.name = "keeper", .push = keeper_push};

static int compare_rows(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void keeper_fini(struct keeper *keeper)
{
    for (size_t i = 0; i < keeper->count; i++) {
        free(keeper->rows[i]);
    }
    free(keeper->rows);
    pthread_mutex_destroy(&keeper->lock);
}

/* ---- one scan ------------------------------------------------------------------------------- */

struct bench {
    char root[64];
    struct nu_topology topology;
    struct nu_page_pool *pages;
    struct nu_budget budget;
    struct io *io;
    struct sched *sched;
    uint16_t nodes[WORKERS];

    bool no_io_uring;
    uint64_t limit_bytes;
};

struct scan {
    const char *paths[8];
    uint32_t path_count;
    struct exec_csv_options csv;
    struct exec_schema schema;
    enum exec_file_format format;
    const char *columns[8]; /* none: all */
    uint64_t refuse_every, stop_after;

    struct exec_error err;
    char schema_text[512];
    struct keeper keeper;
};

struct signal {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool set;
};

static struct signal done_signal = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                    .changed = PTHREAD_COND_INITIALIZER};

static void signal_set(void)
{
    pthread_mutex_lock(&done_signal.lock);
    done_signal.set = true;
    pthread_cond_signal(&done_signal.changed);
    pthread_mutex_unlock(&done_signal.lock);
}

static void signal_wait(void)
{
    pthread_mutex_lock(&done_signal.lock);
    while (!done_signal.set) {
        pthread_cond_wait(&done_signal.changed, &done_signal.lock);
    }
    done_signal.set = false;
    pthread_mutex_unlock(&done_signal.lock);
}

static void files_opened(struct scan_files *files, void *owner)
{
    (void)files;
    (void)owner;
    signal_set();
}

static void pipe_ended(struct pipe *pipe, uint32_t worker)
{
    (void)pipe;
    (void)worker;
    signal_set();
}

static void bench_init(struct bench *bench)
{
    char why[256];
    const struct io_config io_config = {.node_count = 1, .no_io_uring = bench->no_io_uring};
    strcpy(bench->root, "/tmp/test_scan_XXXXXX");
    cr_assert_not_null(mkdtemp(bench->root));
    cr_assert_eq(nu_topology_read(&bench->topology, NULL, why, sizeof why), 0);
    cr_assert_eq(nu_page_pool_create(&bench->topology, 64 << 20, &bench->pages), 0);
    nu_budget_init(&bench->budget, "jobs", UINT64_MAX, NULL);
    cr_assert_eq(io_create(&io_config, &bench->io), 0);
    const struct sched_config config = {
        .topology = &bench->topology, .workers = WORKERS, .policy = EXEC_POLICY_NUMA, .seed = 1};
    cr_assert_eq(sched_create(&config, &bench->sched), 0);
    for (uint32_t w = 0; w < WORKERS; w++) {
        bench->nodes[w] = (uint16_t)sched_worker_node(bench->sched, w);
    }
}

static void bench_fini(struct bench *bench)
{
    char command[128];
    io_destroy(bench->io); /* first: its threads requeue ranges */
    sched_destroy(bench->sched);
    cr_expect_eq(nu_budget_used(&bench->budget), 0);
    nu_page_pool_destroy(bench->pages);
    snprintf(command, sizeof command, "rm -r %s", bench->root);
    cr_assert_eq(system(command), 0);
}

static void describe_schema(struct scan *scan, const struct exec_schema *schema)
{
    char type[EXEC_TYPE_TEXT_BYTES];
    size_t at = 0;
    for (uint32_t f = 0; f < schema->field_count && at < sizeof scan->schema_text; f++) {
        at += (size_t)snprintf(scan->schema_text + at, sizeof scan->schema_text - at, "%s%s:%s",
                               f == 0 ? "" : ",", schema->fields[f].name,
                               exec_type_text(&schema->fields[f].type, type));
    }
}

static uint32_t map_columns(const struct scan *scan, const struct exec_schema *schema,
                            uint32_t *columns)
{
    uint32_t count = 0;
    for (uint32_t c = 0; c < 8 && scan->columns[c] != NULL; c++) {
        for (uint32_t f = 0; f < schema->field_count; f++) {
            if (strcmp(schema->fields[f].name, scan->columns[c]) == 0) {
                columns[count++] = f;
            }
        }
    }
    for (uint32_t f = 0; scan->columns[0] == NULL && f < schema->field_count; f++) {
        columns[count++] = f;
    }
    return count;
}

static void run_pipe(struct job_context *job, struct scan *scan, struct scan_files *files)
{
    uint32_t columns[64];
    const uint32_t count = map_columns(scan, scan_files_schema(files), columns);
    struct op_source *source = scan_files_source(files, columns, count);
    cr_assert_not_null(source);
    struct pipe *pipe = pipe_create(job, source, 0, pipe_ended);
    cr_assert_not_null(pipe);
    scan->keeper.base.kind = &keeper_kind;
    scan->keeper.refuse_every = scan->refuse_every;
    scan->keeper.stop_after = scan->stop_after;
    pipe_set_sink(pipe, &scan->keeper.base);
    pipe_launch(pipe, 0);
    signal_wait();
}

/* Runs the scan; scan->err.code tells how it went, scan->keeper holds the rows, sorted. */
static void scan_run(struct bench *bench, struct scan *scan)
{
    static struct job_worker workers[WORKERS];
    struct sched_job sched_job = {.owner = NULL};
    struct job_context job;
    struct exec_rel rel = {.kind = EXEC_REL_SCAN};

    pthread_mutex_init(&scan->keeper.lock, NULL);
    job_context_init(&job, bench->pages, &bench->budget,
                     bench->limit_bytes == 0 ? UINT64_MAX : bench->limit_bytes, WORKERS,
                     bench->nodes, 1, workers);
    job.io = bench->io;
    job.data_root = bench->root;
    job.sched_job = &sched_job;
    sched_job_init(bench->sched, &sched_job);
    rel.u.scan.source = EXEC_SCAN_FILES;
    rel.u.scan.paths = scan->paths;
    rel.u.scan.path_count = scan->path_count;
    rel.u.scan.csv = scan->csv;
    rel.u.scan.schema = scan->schema;
    rel.u.scan.format = scan->format;
    struct scan_files *files = scan_files_open(&job, 7, &rel, files_opened, NULL);
    cr_assert_not_null(files);
    signal_wait();
    scan->err.code = EXEC_OK;
    if (scan_files_bind(files, &scan->err) != EXEC_OK) {
        scan_files_close(files);
    } else {
        describe_schema(scan, scan_files_schema(files));
        run_pipe(&job, scan, files);
        scan->err = job.error;
    }
    cr_expect(scan->err.code == EXEC_OK || scan->err.rel == 7);
    job_context_fini(&job);
    cr_assert_eq(nu_budget_used(&bench->budget), 0, "%llu bytes are still charged",
                 (unsigned long long)nu_budget_used(&bench->budget));
    if (scan->keeper.count > 0) {
        qsort(scan->keeper.rows, scan->keeper.count, sizeof(char *), compare_rows);
    }
}

/* ---- files ---------------------------------------------------------------------------------- */

static void write_file(const struct bench *bench, const char *name, const void *bytes, size_t size)
{
    char path[192];
    snprintf(path, sizeof path, "%s/%s", bench->root, name);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void write_text(const struct bench *bench, const char *name, const char *text)
{
    write_file(bench, name, text, strlen(text));
}

/* `members` gzip members behind one another. */
static size_t gzip_bytes(const char *bytes, size_t size, uint32_t members, unsigned char **out)
{
    const size_t room = size + 1024 * (members + 1) + size / 100;
    size_t packed = 0;
    *out = malloc(room);
    for (uint32_t m = 0; m < members; m++) {
        z_stream zlib = {.next_in = (Bytef *)(uintptr_t)(bytes + size * m / members),
                         .avail_in = (uInt)(size * (m + 1) / members - size * m / members),
                         .next_out = *out + packed,
                         .avail_out = (uInt)(room - packed)};
        cr_assert_eq(deflateInit2(&zlib, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
        cr_assert_eq(deflate(&zlib, Z_FINISH), Z_STREAM_END);
        packed += zlib.total_out;
        deflateEnd(&zlib);
    }
    return packed;
}

static void write_gzip(const struct bench *bench, const char *name, const char *bytes, size_t size,
                       uint32_t members)
{
    unsigned char *packed;
    const size_t packed_size = gzip_bytes(bytes, size, members, &packed);
    write_file(bench, name, packed, packed_size);
    free(packed);
}

static void write_zstd(const struct bench *bench, const char *name, const char *bytes, size_t size)
{
    const size_t room = ZSTD_compressBound(size);
    void *packed = malloc(room);
    const size_t packed_size = ZSTD_compress(packed, room, bytes, size, 3);
    cr_assert(!ZSTD_isError(packed_size));
    write_file(bench, name, packed, packed_size);
    free(packed);
}

/* Rows "i,text,x": every 50th text of the last part is quoted with line breaks when `quoted` says
 * so. */
static char *make_rows(uint64_t rows, bool quoted, size_t *size_out, char ***want_out)
{
    char *text = malloc(rows * 96 + 64);
    char **want = malloc(rows * sizeof *want);
    size_t size = (size_t)sprintf(text, "id,text,share\n");
    for (uint64_t i = 0; i < rows; i++) {
        char row[128];
        if (quoted && i > rows / 2 && i % 50 == 0) {
            size +=
                (size_t)sprintf(text + size, "%llu,\"line one,\nline \"\"two\"\" of %llu\",%.17g\n",
                                (unsigned long long)i, (unsigned long long)i, (double)i / 8);
            snprintf(row, sizeof row, "%llu|line one,\nline \"two\" of %llu|%.17g",
                     (unsigned long long)i, (unsigned long long)i, (double)i / 8);
        } else if (i % 7 == 0) {
            size += (size_t)sprintf(text + size, "%llu,NA,\r\n", (unsigned long long)i);
            snprintf(row, sizeof row, "%llu|\\N|\\N", (unsigned long long)i);
        } else {
            size += (size_t)sprintf(text + size, "%llu,some words for row %llu,%.17g\n",
                                    (unsigned long long)i, (unsigned long long)i, (double)i / 8);
            snprintf(row, sizeof row, "%llu|some words for row %llu|%.17g", (unsigned long long)i,
                     (unsigned long long)i, (double)i / 8);
        }
        want[i] = strdup(row);
    }
    qsort(want, rows, sizeof *want, compare_rows);
    *size_out = size;
    *want_out = want;
    return text;
}

static void free_rows(char **want, uint64_t rows)
{
    for (uint64_t i = 0; i < rows; i++) {
        free(want[i]);
    }
    free(want);
}

static const char *const null_texts[] = {"NA"};

static struct scan scan_of(const char *path)
{
    return (struct scan){
        .paths = {path}, .path_count = 1, .csv = {.null_texts = null_texts, .null_text_count = 1}};
}

static void expect_rows(struct bench *bench, struct scan *scan, const char *const *want,
                        uint64_t rows)
{
    scan_run(bench, scan);
    cr_assert_eq(scan->err.code, EXEC_OK, "%s: %s", scan->paths[0], scan->err.detail);
    cr_assert_eq(scan->keeper.count, rows, "%s: %zu rows", scan->paths[0], scan->keeper.count);
    for (uint64_t i = 0; i < rows; i++) {
        cr_assert_str_eq(scan->keeper.rows[i], want[i], "%s", scan->paths[0]);
    }
    keeper_fini(&scan->keeper);
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void check_all_forms(bool no_io_uring)
{
    enum { ROWS = 40000 }; /* about 2.2 MB: five segments */
    struct bench bench = {.no_io_uring = no_io_uring};
    size_t size;
    char **want;
    bench_init(&bench);
    for (int quoted = 0; quoted < 2; quoted++) {
        char *text = make_rows(ROWS, quoted == 1, &size, &want);
        write_file(&bench, "plain.csv", text, size);
        write_file(&bench, "no_feed.csv", text, size - 1);
        write_gzip(&bench, "one.csv.gz", text, size, 1);
        write_gzip(&bench, "many.csv.gz", text, size, 40);
        write_zstd(&bench, "one.csv.zst", text, size);
        const char *names[] = {"plain.csv", "no_feed.csv", "one.csv.gz", "many.csv.gz",
                               "one.csv.zst"};
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            for (uint64_t refuse = 0; refuse < 4; refuse += 3) {
                struct scan scan = scan_of(names[i]);
                scan.refuse_every = refuse;
                expect_rows(&bench, &scan, (const char *const *)want, ROWS);
                cr_assert_str_eq(scan.schema_text, "id:int64,text:utf8,share:float64");
            }
        }
        free_rows(want, ROWS);
        free(text);
    }
    bench_fini(&bench);
}

Test(scan_files, all_forms_ring)
{
    check_all_forms(false);
}

Test(scan_files, all_forms_pread)
{
    check_all_forms(true);
}

Test(scan_files, small_things)
{
    struct bench bench = {.no_io_uring = false};
    bench_init(&bench);
    write_text(&bench, "bom.csv",
               "\xef\xbb\xbf"
               "a,b\r\n1,2013-01-01 05:00:00\r\n");
    struct scan scan = scan_of("bom.csv");
    expect_rows(&bench, &scan, (const char *[]){"1|1357016400000000"}, 1);
    cr_expect_str_eq(scan.schema_text, "a:int64,b:timestamp[us]");

    write_text(&bench, "header.csv", "a,b\n");
    scan = scan_of("header.csv");
    expect_rows(&bench, &scan, NULL, 0);
    cr_expect_str_eq(scan.schema_text, "a:utf8,b:utf8");

    write_text(&bench, "tabs.tsv", "d\tt\n2013-01-31\ttrue\nNA\t\"a\tb\"\n");
    scan = scan_of("tabs.tsv");
    expect_rows(&bench, &scan, (const char *[]){"15736|true", "\\N|a\tb"}, 2);

    write_text(&bench, "bare.csv", "1;x\n2;y");
    scan = scan_of("bare.csv");
    scan.csv.no_header = true;
    scan.csv.delimiter = ';';
    expect_rows(&bench, &scan, (const char *[]){"1|x", "2|y"}, 2);
    cr_expect_str_eq(scan.schema_text, "column0:int64,column1:utf8");

    write_text(&bench, "single.csv", "only\n1\n\n3\n");
    scan = scan_of("single.csv");
    expect_rows(&bench, &scan, (const char *[]){"1", "3", "\\N"}, 3);

    const struct exec_field fields[] = {{.name = "b", .type = {.kind = EXEC_TYPE_UTF8}},
                                        {.name = "a", .type = {.kind = EXEC_TYPE_FLOAT64}}};
    write_text(&bench, "given.csv", "a,b,c\n1,2,3\n4,5,6\n");
    scan = scan_of("given.csv");
    scan.schema = (struct exec_schema){.fields = fields, .field_count = 2};
    scan.columns[0] = "c";
    scan.columns[1] = "a";
    expect_rows(&bench, &scan, (const char *[]){"3|1", "6|4"}, 2);
    cr_expect_str_eq(scan.schema_text, "a:float64,b:utf8,c:int64");
    bench_fini(&bench);
}

Test(scan_files, several_files)
{
    struct bench bench = {.no_io_uring = false};
    bench_init(&bench);
    write_text(&bench, "one.csv", "a,b\n1,x\n");
    write_text(&bench, "two.csv", "a,b\n2.5,y\n");
    write_gzip(&bench, "three.csv.gz", "a,b\n3,z\n", 8, 1);
    struct scan scan = scan_of("one.csv");
    scan.paths[1] = "two.csv";
    scan.paths[2] = "three.csv.gz";
    scan.path_count = 3;
    expect_rows(&bench, &scan, (const char *[]){"1|x", "2.5|y", "3|z"}, 3);
    cr_expect_str_eq(scan.schema_text, "a:float64,b:utf8");
    bench_fini(&bench);
}

Test(scan_files, stop_leaves_nothing)
{
    enum { ROWS = 40000 };
    struct bench bench = {.no_io_uring = false};
    size_t size;
    char **want;
    bench_init(&bench);
    char *text = make_rows(ROWS, true, &size, &want);
    write_file(&bench, "plain.csv", text, size);
    write_gzip(&bench, "one.csv.gz", text, size, 1);
    const char *names[] = {"plain.csv", "one.csv.gz"};
    for (uint32_t i = 0; i < 30; i++) {
        struct scan scan = scan_of(names[i % 2]);
        scan.stop_after = 1 + i * 300;
        scan.refuse_every = i % 3 == 0 ? 0 : 5;
        scan_run(&bench, &scan); /* checks that every byte is given back */
        cr_assert_eq(scan.err.code, EXEC_OK);
        cr_assert_geq(scan.keeper.count, scan.stop_after);
        keeper_fini(&scan.keeper);
    }
    free_rows(want, ROWS);
    free(text);
    bench_fini(&bench);
}

static void expect_failure(struct bench *bench, struct scan scan, enum exec_code code,
                           const char *message, uint64_t line, uint32_t column)
{
    scan_run(bench, &scan);
    cr_expect_eq(scan.err.code, code, "%s: code %s", scan.paths[0], exec_code_name(scan.err.code));
    cr_expect_not_null(strstr(scan.err.detail, message), "%s: %s", message, scan.err.detail);
    cr_expect_eq(scan.err.line, line, "line %llu", (unsigned long long)scan.err.line);
    cr_expect_eq(scan.err.column, column);
    keeper_fini(&scan.keeper);
}

Test(scan_files, what_is_wrong_is_said)
{
    struct bench bench = {.no_io_uring = false};
    bench_init(&bench);
    write_text(&bench, "ragged.csv", "a,b\n1,2\n3\n");
    expect_failure(&bench, scan_of("ragged.csv"), EXEC_BAD_DATA,
                   "ragged.csv:3: expected 2 fields, found 1 in line 3", 3, 0);
    write_text(&bench, "empty.csv", "");
    expect_failure(&bench, scan_of("empty.csv"), EXEC_BAD_DATA, "'empty.csv' is empty", 0, 0);
    expect_failure(&bench, scan_of("missing.csv"), EXEC_FILE_NOT_FOUND,
                   "there is no file 'missing.csv'", 0, 0);
    expect_failure(&bench, scan_of("../etc/passwd.csv"), EXEC_PATH_DENIED,
                   "'../etc/passwd.csv' leads out of the data root", 0, 0);
    expect_failure(&bench, scan_of("ragged"), EXEC_FILE_NOT_FOUND, "ragged", 0, 0);
    write_text(&bench, "x.parquet", "PAR1");
    expect_failure(&bench, scan_of("x.parquet"), EXEC_NOT_IMPLEMENTED,
                   "reading Parquet files ('x.parquet') is not implemented", 0, 0);
    write_text(&bench, "x.dat", "a\n1\n");
    expect_failure(&bench, scan_of("x.dat"), EXEC_BAD_SPEC, "the format of 'x.dat' cannot be told",
                   0, 0);
    write_text(&bench, "not.csv.gz", "a\n1\n");
    expect_failure(&bench, scan_of("not.csv.gz"), EXEC_BAD_DATA, "'not.csv.gz' is not a gzip file",
                   0, 0);
    write_text(&bench, "none.csv.gz", "");
    expect_failure(&bench, scan_of("none.csv.gz"), EXEC_BAD_DATA, "'none.csv.gz' is empty", 0, 0);
    struct scan scan = scan_of("ragged.csv");
    scan.paths[1] = "other.csv";
    scan.path_count = 2;
    write_text(&bench, "ragged.csv", "a,b\n1,2\n");
    write_text(&bench, "other.csv", "a,c\n1,2\n");
    expect_failure(&bench, scan, EXEC_SCHEMA_MISMATCH,
                   "column 2 of 'other.csv' is 'c', but of 'ragged.csv' it is 'b'", 0, 2);
    const struct exec_field field = {.name = "zz", .type = {.kind = EXEC_TYPE_INT64}};
    scan = scan_of("ragged.csv");
    scan.schema = (struct exec_schema){.fields = &field, .field_count = 1};
    expect_failure(&bench, scan, EXEC_COLUMN_NOT_FOUND, "'ragged.csv' has no column 'zz'", 0, 0);
    bench_fini(&bench);
}

/* A wrong row deep inside a file, behind quoted line breaks, in a segment of its own. */
Test(scan_files, lines_are_counted_across_segments)
{
    enum { ROWS = 40000 };
    struct bench bench = {.no_io_uring = false};
    size_t size;
    char **want;
    bench_init(&bench);
    char *text = make_rows(ROWS, true, &size, &want);
    char *place = strstr(text, "\n35555,");
    cr_assert_not_null(place);
    place[3] = 'x';
    uint64_t line = 2;
    for (const char *at = text; at < place; at++) {
        line += *at == '\n';
    }
    write_file(&bench, "plain.csv", text, size);
    write_gzip(&bench, "packed.csv.gz", text, size, 3);
    for (int i = 0; i < 2; i++) {
        char message[160];
        const char *name = i == 0 ? "plain.csv" : "packed.csv.gz";
        snprintf(message, sizeof message,
                 "%s:%llu column 1 'id': \"35x55\" is not int64 (inferred from the first ", name,
                 (unsigned long long)line);
        expect_failure(&bench, scan_of(name), EXEC_BAD_DATA, message, line, 1);
    }
    free_rows(want, ROWS);
    free(text);
    bench_fini(&bench);
}

/* Quotes that only look like ends of quoted fields must not mislead the guess of a segment, and
 * rows of nothing but quoted line breaks must be found again. */
Test(scan_files, misleading_quotes)
{
    enum { ROWS = 30000 };
    struct bench bench = {.no_io_uring = false};
    char *text = malloc(ROWS * 128);
    bench_init(&bench);
    for (int kind = 0; kind < 3; kind++) { /* 2: both at once, which may be refused */
        size_t size = (size_t)sprintf(text, "id,screen,note\n");
        for (int i = 0; i < ROWS; i++) {
            /* The head has no line break inside quotes: the file is read in segments. */
            const char *note = kind == 0   ? "tube 7\" or 8\""
                               : i < 10000 ? "\"plain, but quoted\""
                                           : "\"a\nb,c\n\"\"d\"\",e\nf,g,h\"";
            size += (size_t)sprintf(text + size, kind != 1 ? "%d,%d\",%s\n" : "%d,%d,%s\n", i,
                                    i % 60, note);
        }
        write_file(&bench, "quotes.csv", text, size);
        struct scan scan = scan_of("quotes.csv");
        scan.refuse_every = 7;
        scan_run(&bench, &scan);
        if (kind == 2 && scan.err.code != EXEC_OK) {
            cr_assert_eq(scan.err.code, EXEC_NOT_IMPLEMENTED, "%s", scan.err.detail);
        } else {
            cr_assert_eq(scan.err.code, EXEC_OK, "%s", scan.err.detail);
            cr_assert_eq(scan.keeper.count, ROWS);
        }
        keeper_fini(&scan.keeper);
    }
    free(text);
    bench_fini(&bench);
}

/* One column of line breaks inside quotes: nothing tells where a segment stands. It may fail, but
 * then says why, and it never gives wrong rows. */
Test(scan_files, undecidable_quotes)
{
    enum { ROWS = 100000 };
    struct bench bench = {.no_io_uring = false};
    char *text = malloc(ROWS * 32 + 64);
    bench_init(&bench);
    size_t size = (size_t)sprintf(text, "only\n");
    for (int i = 0; i < ROWS; i++) {
        size += (size_t)sprintf(text + size, i < 50000 ? "row of plain text\n" : "\"\n,\n,\"\n");
    }
    write_file(&bench, "lines.csv", text, size);
    struct scan scan = scan_of("lines.csv");
    scan_run(&bench, &scan);
    if (scan.err.code == EXEC_OK) {
        cr_expect_eq(scan.keeper.count, ROWS);
    } else {
        cr_expect_eq(scan.err.code, EXEC_NOT_IMPLEMENTED);
        cr_expect_not_null(strstr(scan.err.detail, "'lines.csv' near byte "), "%s",
                           scan.err.detail);
    }
    keeper_fini(&scan.keeper);
    free(text);
    bench_fini(&bench);
}

Test(scan_files, damaged_compression)
{
    enum { ROWS = 40000 };
    struct bench bench = {.no_io_uring = false};
    size_t size;
    char **want;
    unsigned char *packed;
    char message[128];
    bench_init(&bench);
    char *text = make_rows(ROWS, false, &size, &want);
    const size_t packed_size = gzip_bytes(text, size, 1, &packed);
    write_file(&bench, "cut.csv.gz", packed, packed_size / 2 * 1);
    snprintf(message, sizeof message,
             "'cut.csv.gz' is truncated: its gzip data breaks off at byte %zu", packed_size / 2);
    expect_failure(&bench, scan_of("cut.csv.gz"), EXEC_BAD_DATA, message, 0, 0);
    write_file(&bench, "cut.csv.gz", packed, 40);
    expect_failure(&bench, scan_of("cut.csv.gz"), EXEC_BAD_DATA,
                   "'cut.csv.gz' is truncated: its gzip data breaks off at byte 40", 0, 0);
    packed[packed_size - 6] ^= 0xff; /* the checksum */
    write_file(&bench, "bad.csv.gz", packed, packed_size);
    expect_failure(&bench, scan_of("bad.csv.gz"), EXEC_BAD_DATA,
                   "'bad.csv.gz': corrupt gzip data near byte ", 0, 0);
    free(packed);
    free_rows(want, ROWS);
    free(text);
    bench_fini(&bench);
}

Test(scan_files, long_lines)
{
    struct bench bench = {.no_io_uring = false};
    const size_t longest = (1 << 20) - 16;
    char *text = malloc(3 << 20);
    bench_init(&bench);
    size_t size = (size_t)sprintf(text, "a,b\n");
    for (int i = 0; i < 2; i++) {
        size += (size_t)sprintf(text + size, "%d,", i);
        memset(text + size, 'y', longest);
        size += longest;
        size += (size_t)sprintf(text + size, "\n7,short\n");
    }
    write_file(&bench, "long.csv", text, size);
    struct scan scan = scan_of("long.csv");
    scan.csv.no_header = true; /* so that the head ends inside a line */
    scan_run(&bench, &scan);
    cr_expect_eq(scan.err.code, EXEC_OK, "%s", scan.err.detail);
    cr_expect_eq(scan.keeper.count, 5);
    keeper_fini(&scan.keeper);
    write_gzip(&bench, "long.csv.gz", text, size, 1);
    scan = scan_of("long.csv.gz");
    scan_run(&bench, &scan);
    cr_expect_eq(scan.err.code, EXEC_OK, "%s", scan.err.detail);
    cr_expect_eq(scan.keeper.count, 4);
    keeper_fini(&scan.keeper);
    memset(text + 6, 'y', (1 << 20) + 64);
    write_file(&bench, "long.csv", text, size);
    expect_failure(&bench, scan_of("long.csv"), EXEC_BAD_DATA,
                   "long.csv:2: the line is longer than 1048576 bytes", 2, 0);
    free(text);
    bench_fini(&bench);
}

Test(scan_files, little_memory)
{
    enum { ROWS = 40000 };
    struct bench bench = {.limit_bytes = 3 << 20};
    size_t size;
    char **want;
    bench_init(&bench);
    char *text = make_rows(ROWS, false, &size, &want);
    write_file(&bench, "plain.csv", text, size);
    struct scan scan = scan_of("plain.csv");
    expect_rows(&bench, &scan, (const char *const *)want,
                ROWS); /* readers wait for one another's memory */
    bench.limit_bytes = 640 << 10;
    expect_failure(&bench, scan_of("plain.csv"), EXEC_MEMORY_BUDGET, "memory limit", 0, 0);
    free_rows(want, ROWS);
    free(text);
    bench_fini(&bench);
}
