#include "bench_engine.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEYS = 100000 };

static void die(const char *what, const struct exec_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->detail);
    exit(1);
}

static void log_errors(void *owner, enum exec_log_level level, const char *line)
{
    (void)owner;
    if (level == EXEC_LOG_ERROR) {
        fprintf(stderr, "%s\n", line);
    }
}

struct exec_engine *bench_engine(uint32_t workers, bool two_nodes)
{
    static const char text[] = "node 0 memory 4294967296\nnode 1 memory 4294967296\n"
                               "cpu 0 node 0 core 0 l3 0 socket 0\n"
                               "cpu 1 node 1 core 1 l3 1 socket 1\n"
                               "distance 0 0 10\ndistance 0 1 20\n"
                               "distance 1 0 20\ndistance 1 1 10\n";
    char path[] = "/tmp/bench_topology_XXXXXX";
    const int file = mkstemp(path);
    const struct exec_engine_config config = {.workers = workers,
                                              .memory_limit_bytes = UINT64_C(4) << 30,
                                              .topology_file = two_nodes ? path : NULL,
                                              .log = log_errors};
    struct exec_engine *engine = NULL;
    struct exec_error err = {.detail = "the topology file"};

    if (file < 0 || write(file, text, sizeof text - 1) != (ssize_t)sizeof text - 1 ||
        exec_engine_create(&config, &engine, &err) != EXEC_OK) {
        die("no engine", &err);
    }
    close(file);
    unlink(path);
    return engine;
}

/* ---- running -------------------------------------------------------------------------------- */

struct runner {
    sem_t done;
};

static void on_schema(void *owner, struct exec_job *job, const struct exec_schema *schema)
{
    (void)owner, (void)job, (void)schema;
}

static void on_chunk(void *owner, struct exec_job *job, struct exec_chunk *chunk)
{
    (void)owner, (void)job;
    exec_chunk_release(chunk);
}

static void on_done(void *owner, struct exec_job *job)
{
    (void)job;
    sem_post(&((struct runner *)owner)->done);
}

static void collect_morsels(const struct exec_engine *engine, const struct exec_job *job,
                            struct bench_run *out)
{
    const uint32_t room = exec_job_trace_room(job);
    const uint32_t workers = exec_engine_worker_count(engine);
    struct exec_trace_event *events = calloc((size_t)room + 1, sizeof *events);

    out->morsel_ns = calloc((size_t)room * workers + 1, sizeof *out->morsel_ns);
    for (uint32_t w = 0; w < workers; w++) {
        uint64_t dropped;
        const uint32_t count = exec_job_trace(job, w, events, room, &dropped);
        for (uint32_t i = 0; i < count; i++) {
            if (events[i].kind == EXEC_TRACE_MORSEL && events[i].pipe != 0) {
                out->morsel_ns[out->morsel_count++] = events[i].end_ns - events[i].begin_ns;
            }
        }
    }
    free(events);
}

static void run_spec(struct exec_engine *engine, const struct exec_job_spec *spec,
                     struct bench_run *out)
{
    static const struct exec_job_events events = {on_schema, on_chunk, on_done};
    struct runner runner;
    struct exec_job *job;
    struct exec_error err;

    memset(out, 0, sizeof *out);
    sem_init(&runner.done, 0, 0);
    if (exec_submit(engine, spec, &events, &runner, &job, &err) != EXEC_OK) {
        die("submit", &err);
    }
    while (sem_wait(&runner.done) != 0) {
    }
    if (exec_job_error(job)->code != EXEC_OK) {
        die("job", exec_job_error(job));
    }
    exec_job_status(job, &out->status);
    if (spec->options.trace_events > 0) {
        collect_morsels(engine, job, out);
    }
    exec_job_release(job);
    sem_destroy(&runner.done);
}

/* ---- jobs ----------------------------------------------------------------------------------- */

const char *bench_job_name(enum bench_job job)
{
    static const char *const names[BENCH_JOB_COUNT] = {"join uniform", "join zipf", "join sorted",
                                                       "group"};
    return names[job];
}

static void keep(struct exec_engine *engine, struct spec_builder *b, const char *table)
{
    struct bench_run run;
    b->job.into_table = table;
    run_spec(engine, spec_job(b), &run);
    spec_fini(b);
    free(b);
}

static struct spec_builder *builder(void)
{
    struct spec_builder *b = malloc(sizeof *b);
    if (b == NULL) {
        abort();
    }
    spec_init(b);
    return b;
}

void bench_tables(struct exec_engine *engine, int64_t rows)
{
    /* Probe side: i, and k that goes through the keys again and again; i * a prime is drawn order.
     */
    struct spec_builder *b = builder();
    uint32_t scan = spec_generator(b, "sequence", rows, 1);
    spec_project(b, scan);
    spec_item(b, "i", spec_column(b, "i"));
    spec_item(
        b, "drawn",
        spec_call2(b, "add", spec_i64(b, 1),
                   spec_call2(b, "modulo",
                              spec_call2(b, "multiply", spec_column(b, "i"), spec_i64(b, 7368787)),
                              spec_i64(b, KEYS))));
    spec_item(
        b, "rising",
        spec_call2(b, "add", spec_i64(b, 1),
                   spec_call2(b, "divide", spec_column(b, "i"), spec_i64(b, rows / KEYS + 1))));
    keep(engine, b, "probe");
    /* Build sides: every key once; keys as often as Zipf says. */
    b = builder();
    scan = spec_generator(b, "sequence", KEYS, 1);
    spec_project(b, scan);
    spec_item(b, "k", spec_call2(b, "add", spec_column(b, "i"), spec_i64(b, 1)));
    keep(engine, b, "once");
    b = builder();
    scan = spec_generator(b, "skewed", KEYS, 3);
    spec_project(b, scan);
    spec_item(b, "k", spec_column(b, "k"));
    keep(engine, b, "often");
}

static void describe(struct spec_builder *b, enum bench_job job)
{
    const uint32_t probe = spec_table(b, "probe");
    if (job == BENCH_GROUP) {
        spec_group(b, probe);
        spec_key(b, "key", spec_column(b, "drawn"));
        spec_measure(b, EXEC_AGG_SUM, spec_column(b, "i"), "sum");
        return;
    }
    const uint32_t build = spec_table(b, job == BENCH_JOIN_UNIFORM ? "once" : "often");
    const uint32_t join = spec_join(b, EXEC_JOIN_INNER, probe, build);
    spec_on(b, spec_side_column(b, 0, job == BENCH_JOIN_SORTED ? "rising" : "drawn"),
            spec_side_column(b, 1, "k"));
    spec_group(b, join);
    spec_measure(b, EXEC_AGG_COUNT, spec_column(b, "i"), "matches");
    spec_measure(b, EXEC_AGG_SUM, spec_column(b, "i"), "sum");
}

void bench_run(struct exec_engine *engine, enum bench_job job, enum exec_policy policy,
               uint32_t trace_events, struct bench_run *out)
{
    struct spec_builder *b = builder();
    describe(b, job);
    b->job.options.policy = policy;
    b->job.options.trace_events = trace_events;
    run_spec(engine, spec_job(b), out);
    spec_fini(b);
    free(b);
}
