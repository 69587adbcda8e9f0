/* Goal:   a traced job tells what every worker did: the rows of its morsels are the rows of the
 *         input, no worker does two things at once, thefts are where the profile counts them, and a
 *         ring that is too small keeps the newest events and says how many it lost. A profile's
 *         relations have the rows that came out and time that adds up to the workers'.
 * Method: a join and a group of generated rows on two workers, with and without a trace; a trace of
 *         eight events a worker. */
#include "engine.h"
#include "job_runner.h"
#include "spec_builder.h"

#include <criterion/criterion.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 2000000, BUILD_ROWS = 1000, WORKERS = 2 };

struct waiter {
    sem_t done;
};

static void on_done(void *owner, struct exec_job *job)
{
    struct waiter *waiter = owner;

    (void)job;
    sem_post(&waiter->done);
}

static void on_chunk(void *owner, struct exec_job *job, struct exec_chunk *chunk)
{
    (void)owner, (void)job;
    exec_chunk_release(chunk);
}

static void on_schema(void *owner, struct exec_job *job, const struct exec_schema *schema)
{
    (void)owner, (void)job, (void)schema;
}

/* Ends the job; the caller owns it. */
static struct exec_job *run(struct exec_engine *engine, const struct exec_job_spec *spec)
{
    static const struct exec_job_events events = {
        .schema = on_schema, .chunk = on_chunk, .done = on_done};
    struct waiter waiter;
    struct exec_job *job = NULL;
    struct exec_error err;

    sem_init(&waiter.done, 0, 0);
    cr_assert_eq(exec_submit(engine, spec, &events, &waiter, &job, &err), EXEC_OK, "%s",
                 err.detail);
    while (sem_wait(&waiter.done) != 0) {
    }
    sem_destroy(&waiter.done);
    cr_assert_eq(exec_job_error(job)->code, EXEC_OK, "%s", exec_job_error(job)->detail);
    return job;
}

/* sequence(ROWS) joined with sequence(BUILD_ROWS) on i, counted by v: relations 1 to 4. */
static struct spec_builder *make_job(void)
{
    struct spec_builder *b = malloc(sizeof *b);

    cr_assert_not_null(b);
    spec_init(b);
    spec_generator(b, "sequence", ROWS, 0);
    spec_generator(b, "sequence", BUILD_ROWS, 0);
    spec_join(b, EXEC_JOIN_INNER, 1, 2);
    spec_on(b, spec_column(b, "i"), spec_column(b, "i"));
    spec_group(b, 3);
    spec_measure(b, EXEC_AGG_COUNT_STAR, 0, "n");
    return b;
}

static void free_job(struct spec_builder *b)
{
    spec_fini(b);
    free(b);
}

static int compare_begin(const void *a, const void *b)
{
    const struct exec_trace_event *x = a, *y = b;
    return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static bool is_on_lane(const struct exec_trace_event *event)
{
    return event->kind == EXEC_TRACE_MORSEL || event->kind == EXEC_TRACE_FINISH ||
           event->kind == EXEC_TRACE_SEARCH || event->kind == EXEC_TRACE_PARK;
}

struct sums {
    uint64_t rows[8], finishes[8], steals, dropped, morsels;
};

static void add_worker(const struct exec_job *job, uint32_t worker, struct sums *sums)
{
    const uint32_t room = exec_job_trace_room(job);
    struct exec_trace_event *events = calloc(room, sizeof *events);
    uint64_t dropped = 0, from_ns, to_ns, last_ns = 0;

    cr_assert_not_null(events);
    exec_job_times(job, &from_ns, &to_ns);
    const uint32_t count = exec_job_trace(job, worker, events, room, &dropped);
    qsort(events, count, sizeof *events, compare_begin);
    sums->dropped += dropped;
    for (uint32_t i = 0; i < count; i++) {
        const struct exec_trace_event *event = &events[i];
        cr_assert_lt(event->kind, EXEC_TRACE_KIND_COUNT);
        cr_assert_leq(event->begin_ns, event->end_ns);
        cr_assert_leq(event->end_ns, to_ns);
        cr_assert_lt(event->pipe, 8);
        sums->steals += event->kind == EXEC_TRACE_STEAL;
        sums->finishes[event->pipe] += event->kind == EXEC_TRACE_FINISH;
        sums->morsels += event->kind == EXEC_TRACE_MORSEL;
        if (event->kind == EXEC_TRACE_MORSEL) {
            sums->rows[event->pipe] += event->rows;
            cr_expect_geq(event->begin_ns, from_ns);
        }
        if (is_on_lane(event)) {
            cr_expect_leq(last_ns, event->begin_ns, "worker %u: event %u (kind %d) overlaps",
                          worker, i, event->kind);
            last_ns = event->end_ns;
        }
    }
    free(events);
}

Test(trace, tells_all_that_happened)
{
    struct exec_engine *engine = test_engine(WORKERS, NULL);
    struct spec_builder *b = make_job();

    b->job.options.trace_events = 16384;
    struct exec_job *job = run(engine, spec_job(b));
    struct sums sums = {0};
    uint64_t steals = 0;
    for (uint32_t w = 0; w < WORKERS; w++) {
        struct exec_job_worker worker;
        add_worker(job, w, &sums);
        exec_job_worker(job, w, &worker);
        steals += worker.steals_smt + worker.steals_l3 + worker.steals_node + worker.steals_remote;
    }
    struct exec_job_status status;
    exec_job_status(job, &status);
    cr_expect_eq(sums.dropped, 0);
    cr_expect_eq(sums.steals, steals);
    cr_expect_eq(status.steals, steals);
    uint64_t inputs = 0;
    cr_assert_eq(exec_job_pipe_count(job), status.pipelines_total);
    for (uint32_t p = 0; p < exec_job_pipe_count(job); p++) {
        const struct exec_job_pipe *pipe = exec_job_pipe(job, p);
        cr_expect_eq(sums.rows[pipe->number], pipe->rows, "pipe %u", pipe->number);
        cr_expect_eq(sums.finishes[pipe->number], 1, "pipe %u", pipe->number);
        inputs += strstr(pipe->steps, "generator") != NULL ? pipe->rows : 0;
    }
    cr_expect_eq(inputs, ROWS + BUILD_ROWS);
    exec_job_release(job);
    free_job(b);
    exec_engine_destroy(engine);
}

Test(trace, a_small_ring_keeps_the_newest)
{
    enum { EVENTS = 8 };
    struct exec_engine *engine = test_engine(WORKERS, NULL);
    struct spec_builder *b = make_job();

    b->job.options.trace_events = EVENTS;
    b->job.options.morsel_rows = 16384;
    struct exec_job *job = run(engine, spec_job(b));
    struct sums sums = {0};
    struct exec_job_status status;
    for (uint32_t w = 0; w < WORKERS; w++) {
        add_worker(job, w, &sums);
    }
    exec_job_status(job, &status);
    cr_expect_gt(status.morsels, WORKERS * EVENTS);
    cr_expect_gt(sums.dropped, 0);
    cr_expect_leq(sums.morsels, WORKERS * EVENTS);
    cr_expect_geq(sums.dropped + WORKERS * EVENTS, status.morsels);
    cr_expect_eq(sums.finishes[exec_job_pipe(job, exec_job_pipe_count(job) - 1)->number], 1,
                 "the last pipeline ended last");
    exec_job_release(job);

    b->job.options.trace_events = EXEC_TRACE_EVENTS_MAX + 1;
    struct exec_error err;
    cr_expect_eq(exec_submit(engine, spec_job(b), &(struct exec_job_events){0}, NULL, &job, &err),
                 EXEC_BAD_SPEC);
    cr_expect_not_null(strstr(err.detail, "trace_events"), "%s", err.detail);
    free_job(b);
    exec_engine_destroy(engine);
}

Test(trace, without_one_there_is_none_and_the_profile_adds_up)
{
    struct exec_engine *engine = test_engine(WORKERS, NULL);
    struct spec_builder *b = make_job();
    struct exec_job *job = run(engine, spec_job(b));
    struct exec_trace_event event;
    uint64_t dropped = 1;

    cr_expect_eq(exec_job_trace_room(job), 0);
    cr_expect_eq(exec_job_trace(job, 0, &event, 1, &dropped), 0);
    cr_expect_eq(dropped, 0);
    cr_expect_eq(exec_job_relation_count(job), 0);
    exec_job_release(job);

    b->job.options.profile = true;
    job = run(engine, spec_job(b));
    uint64_t relations_ns = 0, workers_ns = 0, idle_ns = 0, rows = 0;
    cr_assert_eq(exec_job_relation_count(job), 4);
    for (uint32_t i = 0; i < 4; i++) {
        static const uint64_t outs[] = {0, ROWS, BUILD_ROWS, BUILD_ROWS, 1};
        const struct exec_job_relation *relation = exec_job_relation(job, i);
        cr_expect_eq(relation->rows_out, outs[relation->rel], "%s", relation->name);
        cr_expect_gt(relation->busy_ns, 0, "%s", relation->name);
        cr_expect_neq(relation->rows_estimate, 0, "%s", relation->name);
        relations_ns += relation->busy_ns;
    }
    uint64_t from_ns, to_ns;
    exec_job_times(job, &from_ns, &to_ns);
    for (uint32_t w = 0; w < WORKERS; w++) {
        struct exec_job_worker worker;
        exec_job_worker(job, w, &worker);
        workers_ns += worker.busy_ns;
        idle_ns += worker.search_ns + worker.parked_ns;
        rows += worker.rows_local + worker.rows_socket + worker.rows_remote;
    }
    /* Finishes are in the relations only. */
    cr_expect_geq(relations_ns + 100000, workers_ns);
    cr_expect_leq(idle_ns, WORKERS * (to_ns - from_ns) + 100000000);
    cr_expect_geq(rows, ROWS + BUILD_ROWS);
    exec_job_release(job);
    free_job(b);
    exec_engine_destroy(engine);
}
