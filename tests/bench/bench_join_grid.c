/* Whole joins on the engine, probe mode shared and routed, each as it is and with hashes cut to 63
 * bits, which makes the probe compare keys (op/join_direct.c is then out of it): sums of the
 * payloads of an inner join on sparse int64 keys, from resident tables. Prints one line a case:
 *
 *     build_rows probe_rows payload_columns hit_rate zipf
 *         shared_ms routed_ms shared_general_ms routed_general_ms
 *
 * the least of several interleaved runs.
 *
 * Usage: bench_join_grid smoke
 *        bench_join_grid case BUILD PROBE COLUMNS HIT ZIPF [REPETITIONS]   with times a pipe
 *        bench_join_grid grid [REPETITIONS]
 *        bench_join_grid sweep [REPETITIONS]      build rows 2^10 to 2^24 */
#include "exec/exec.h"
#include "exec/spec_builder.h"

#include <inttypes.h>
#include <math.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 2, COLUMNS_MAX = 6, APPEND_ROWS = 1 << 20, TRACE_EVENTS = 8192, MODES = 4 };

/* With 63 bits the hash is no longer the key. */
static const struct mode {
    enum exec_probe_mode probe;
    uint32_t hash_bits;
} modes[MODES] = {{EXEC_PROBE_SHARED, 0},
                  {EXEC_PROBE_ROUTED, 0},
                  {EXEC_PROBE_SHARED, 63},
                  {EXEC_PROBE_ROUTED, 63}};

struct join_case {
    uint64_t build_rows, probe_rows;
    uint32_t columns; /* payloads of each side, 8 bytes each */
    double hit_rate, zipf;
};

static void die(const char *what, const struct exec_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->detail);
    exit(1);
}

/* ---- data ------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ (x >> 32);
}

static double uniform(uint64_t *seed)
{
    *seed += UINT64_C(0x9e3779b97f4a7c15);
    return (double)(mix(*seed) >> 11) * 0x1p-53;
}

/* Rank 0..count-1 with weight 1/(rank+1)^exponent, by inversion of the integral. */
static uint64_t zipf_rank(double exponent, uint64_t count, uint64_t *seed)
{
    const double u = uniform(seed);
    double rank = u * (double)count;

    if (exponent == 1) {
        rank = exp(u * log((double)count + 1)) - 1;
    } else if (exponent > 0) {
        const double top = pow((double)count + 1, 1 - exponent);
        rank = pow(1 + u * (top - 1), 1 / (1 - exponent)) - 1;
    }
    return rank < (double)count ? (uint64_t)rank : count - 1;
}

/* Sparse over 63 bits; build row r has key number r * odd modulo a power of two, or r. */
static int64_t key_of(uint64_t number)
{
    return (int64_t)(mix(number + 1) >> 1);
}

static void fill(const struct join_case *c, bool is_probe, uint64_t rows, uint64_t *seed,
                 uint64_t first, int64_t *columns)
{
    const uint64_t count = c->build_rows;

    for (uint64_t r = 0; r < rows; r++) {
        uint64_t number = first + r;
        if (is_probe) {
            /* Neighbouring ranks lie apart: a permutation where count is a power of two. */
            number = zipf_rank(c->zipf, count, seed) * UINT64_C(0x9e3779b1) % count;
            number += uniform(seed) < c->hit_rate ? 0 : count;
        }
        columns[r] = key_of(number);
        for (uint32_t p = 0; p < c->columns; p++) {
            columns[(p + 1) * APPEND_ROWS + r] = (int64_t)(mix(first + r + p) >> 2);
        }
    }
}

static void on_appended(void *owner, void *token)
{
    (void)token;
    sem_post(owner);
}

static void on_uploaded(void *owner, const struct exec_error *error,
                        const struct exec_table_info *info)
{
    (void)info;
    if (error->code != EXEC_OK) {
        die("upload", error);
    }
    sem_post(owner);
}

static void wait_for(sem_t *event)
{
    while (sem_wait(event) != 0) {
    }
}

static void upload(struct exec_engine *engine, const struct join_case *c, bool is_probe)
{
    static const char *const names[2][COLUMNS_MAX + 1] = {
        {"k", "p0", "p1", "p2", "p3", "p4", "p5"}, {"k", "q0", "q1", "q2", "q3", "q4", "q5"}};
    const struct exec_upload_events events = {on_appended, on_uploaded};
    const uint64_t rows = is_probe ? c->probe_rows : c->build_rows;
    struct exec_field fields[COLUMNS_MAX + 1] = {0};
    struct exec_column_buffers buffers[COLUMNS_MAX + 1] = {0};
    int64_t *columns = malloc(sizeof *columns * (COLUMNS_MAX + 1) * APPEND_ROWS);
    struct exec_upload *handle;
    struct exec_error err;
    uint64_t seed = 7;
    sem_t event;

    for (uint32_t f = 0; f <= c->columns; f++) {
        fields[f].name = names[is_probe][f];
        fields[f].type.kind = buffers[f].type.kind = EXEC_TYPE_INT64;
    }
    const struct exec_schema schema = {fields, c->columns + 1};
    sem_init(&event, 0, 0);
    if (columns == NULL || exec_upload_begin(engine, is_probe ? "probe" : "build", &schema, true, 0,
                                             &events, &event, &handle, &err) != EXEC_OK) {
        die("upload", &err);
    }
    for (uint64_t first = 0; first < rows; first += APPEND_ROWS) {
        const uint64_t count = rows - first < APPEND_ROWS ? rows - first : APPEND_ROWS;
        fill(c, is_probe, count, &seed, first, columns);
        for (uint32_t f = 0; f <= c->columns; f++) {
            buffers[f].row_count = count;
            buffers[f].values = columns + (size_t)f * APPEND_ROWS;
            buffers[f].values_bytes = count * sizeof *columns;
        }
        exec_upload_append(handle, buffers, NULL);
        wait_for(&event);
    }
    exec_upload_commit(handle);
    wait_for(&event);
    exec_upload_release(handle);
    sem_destroy(&event);
    free(columns);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

struct runner {
    sem_t done;
    int64_t sums[3];
};

static void on_schema(void *owner, struct exec_job *job, const struct exec_schema *schema)
{
    (void)owner, (void)job, (void)schema;
}

static void on_chunk(void *owner, struct exec_job *job, struct exec_chunk *chunk)
{
    struct runner *runner = owner;

    (void)job;
    for (uint32_t c = 0; c < 3 && c < chunk->column_count; c++) {
        memcpy(&runner->sums[c], chunk->columns[c].values, sizeof runner->sums[c]);
    }
    exec_chunk_release(chunk);
}

static void on_done(void *owner, struct exec_job *job)
{
    (void)job;
    sem_post(&((struct runner *)owner)->done);
}

static void describe(struct spec_builder *b, const struct join_case *c)
{
    const uint32_t probe = spec_table(b, "probe");
    const uint32_t build = spec_table(b, "build");
    const uint32_t join = spec_join(b, EXEC_JOIN_INNER, probe, build);
    char name[16];

    spec_on(b, spec_side_column(b, 0, "k"), spec_side_column(b, 1, "k"));
    spec_group(b, join);
    spec_measure(b, EXEC_AGG_COUNT, spec_i64(b, 1), "matches");
    for (uint32_t p = 0; p < c->columns; p++) {
        snprintf(name, sizeof name, "p%u", p);
        spec_measure(b, EXEC_AGG_SUM, spec_column(b, name), name);
        snprintf(name, sizeof name, "q%u", p);
        spec_measure(b, EXEC_AGG_SUM, spec_column(b, name), name);
    }
}

struct run {
    double ms;
    int64_t sums[3];
};

/* Pipes' times, as a share of the workers. */
static void print_pipes(const struct exec_job *job)
{
    for (uint32_t p = 0; p < exec_job_pipe_count(job); p++) {
        const struct exec_job_pipe *pipe = exec_job_pipe(job, p);
        printf("    %9.2f ms  %10" PRIu64 " rows  %5" PRIu64 " morsels  %s\n",
               (double)pipe->busy_ns / 1e6 / WORKERS, pipe->rows, pipe->morsels, pipe->steps);
    }
}

static void run_mode(struct exec_engine *engine, const struct join_case *c, const struct mode *mode,
                     bool pipes, struct run *out)
{
    static const struct exec_job_events events = {on_schema, on_chunk, on_done};
    struct spec_builder *b = malloc(sizeof *b);
    struct runner runner = {0};
    uint64_t submitted_ns, ended_ns;
    struct exec_job *job;
    struct exec_error err;

    spec_init(b);
    describe(b, c);
    b->job.options.probe_mode = mode->probe;
    b->job.options.hash_bits = mode->hash_bits;
    b->job.options.trace_events = pipes ? TRACE_EVENTS : 0;
    sem_init(&runner.done, 0, 0);
    if (exec_submit(engine, spec_job(b), &events, &runner, &job, &err) != EXEC_OK) {
        die("submit", &err);
    }
    wait_for(&runner.done);
    if (exec_job_error(job)->code != EXEC_OK) {
        die("job", exec_job_error(job));
    }
    exec_job_times(job, &submitted_ns, &ended_ns);
    out->ms = (double)(ended_ns - submitted_ns) / 1e6;
    memcpy(out->sums, runner.sums, sizeof out->sums);
    if (pipes) {
        print_pipes(job);
    }
    exec_job_release(job);
    sem_destroy(&runner.done);
    spec_fini(b);
    free(b);
}

static void run_case(struct exec_engine *engine, const struct join_case *c, uint32_t repetitions,
                     bool pipes)
{
    double best[MODES];
    struct run first = {0};

    upload(engine, c, false);
    upload(engine, c, true);
    for (uint32_t r = 0; r <= repetitions; r++) {
        for (uint32_t m = 0; m < MODES; m++) {
            struct run run;
            run_mode(engine, c, &modes[m], pipes && r == repetitions, &run);
            if (r == 0 && m == 0) {
                first = run;
            }
            if (memcmp(run.sums, first.sums, sizeof run.sums) != 0) {
                fprintf(stderr, "the modes differ: %" PRId64 " and %" PRId64 " rows\n", run.sums[0],
                        first.sums[0]);
                exit(1);
            }
            best[m] = r <= 1 || run.ms < best[m] ? run.ms : best[m]; /* the first is the cold one */
        }
    }
    printf("%" PRIu64 " %" PRIu64 " %" PRIu32 " %g %g %.3f %.3f %.3f %.3f\n", c->build_rows,
           c->probe_rows, c->columns, c->hit_rate, c->zipf, best[0], best[1], best[2], best[3]);
    fflush(stdout);
}

static struct exec_engine *engine_new(void)
{
    const struct exec_engine_config config = {.workers = WORKERS,
                                              .pool_reserve_bytes = UINT64_C(5) << 30,
                                              .job_memory_bytes = UINT64_C(8) << 30};
    struct exec_engine *engine = NULL;
    struct exec_error err;

    if (exec_engine_create(&config, &engine, &err) != EXEC_OK) {
        die("no engine", &err);
    }
    return engine;
}

static void grid(struct exec_engine *engine, uint32_t repetitions)
{
    static const uint32_t build_bits[] = {14, 17, 20, 22, 24};
    static const uint32_t columns[] = {1, 2, 4};
    static const double hit_rates[] = {1, 0.5, 0.05};
    static const double zipfs[] = {0, 1, 1.5};

    for (uint32_t b = 0; b < 5; b++) {
        for (uint32_t w = 0; w < 3; w++) {
            for (uint32_t h = 0; h < 3; h++) {
                for (uint32_t z = 0; z < 3; z++) {
                    const struct join_case c = {UINT64_C(1) << build_bits[b], UINT64_C(16) << 20,
                                                columns[w], hit_rates[h], zipfs[z]};
                    run_case(engine, &c, repetitions, false);
                }
            }
        }
    }
}

static void sweep(struct exec_engine *engine, uint32_t repetitions)
{
    for (uint32_t half = 20; half <= 48; half++) {
        const uint64_t rows =
            half % 2 == 0 ? UINT64_C(1) << half / 2 : UINT64_C(3) << (half / 2 - 1);
        const struct join_case c = {rows, UINT64_C(16) << 20, 1, 1, 0};
        run_case(engine, &c, repetitions, false);
    }
}

static uint32_t count_at(int argument_count, char **arguments, int at, uint32_t otherwise)
{
    return argument_count > at ? (uint32_t)strtoul(arguments[at], NULL, 10) : otherwise;
}

int main(int argument_count, char **arguments)
{
    const char *what = argument_count > 1 ? arguments[1] : "";
    struct exec_engine *engine = engine_new();

    if (strcmp(what, "smoke") == 0) {
        run_case(engine, &(struct join_case){40000, 100000, 2, 0.5, 1}, 1, true);
    } else if (strcmp(what, "case") == 0 && argument_count >= 7) {
        const struct join_case c = {strtoull(arguments[2], NULL, 10),
                                    strtoull(arguments[3], NULL, 10),
                                    (uint32_t)strtoul(arguments[4], NULL, 10),
                                    strtod(arguments[5], NULL), strtod(arguments[6], NULL)};
        run_case(engine, &c, count_at(argument_count, arguments, 7, 3), true);
    } else if (strcmp(what, "grid") == 0) {
        grid(engine, count_at(argument_count, arguments, 2, 3));
    } else if (strcmp(what, "sweep") == 0) {
        sweep(engine, count_at(argument_count, arguments, 2, 5));
    } else {
        fprintf(stderr, "usage: bench_join_grid smoke | case BUILD PROBE COLUMNS HIT ZIPF "
                        "[REPETITIONS] | grid | sweep [REPETITIONS]\n");
        return 2;
    }
    exec_engine_destroy(engine);
    return 0;
}
