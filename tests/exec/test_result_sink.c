/* Goal:   a result leaves under its consumer's credit: nothing is lost or sent twice, first rows
 * leave early, a consumer that stalls holds neither workers nor much memory, and a parked job still
 *         ends by cancel, deadline or release.
 * Method: whole jobs over the generator, with a consumer that keeps chunks until it is told. */
#include "job_runner.h"
#include "spec_builder.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HELD_MAX = 64 };

/* Keeps up to `keep` chunks; later ones, or all after holder_open, are released at once. */
struct holder {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct exec_chunk *held[HELD_MAX];
    uint32_t held_count, keep;
    uint64_t rows, sum, chunks, rows_max;
    bool is_done;
};

static void holder_schema(void *owner, struct exec_job *job, const struct exec_schema *schema)
{
    (void)owner;
    (void)job;
    cr_assert_gt(schema->field_count, 0);
}

/* The first column of every job here is int64. */
static void holder_chunk(void *owner, struct exec_job *job, struct exec_chunk *chunk)
{
    struct holder *holder = owner;
    const int64_t *values = chunk->columns[0].values;

    (void)job;
    pthread_mutex_lock(&holder->lock);
    holder->chunks++;
    holder->rows += chunk->row_count;
    holder->rows_max = chunk->row_count > holder->rows_max ? chunk->row_count : holder->rows_max;
    for (uint64_t r = 0; r < chunk->row_count; r++) {
        holder->sum += (uint64_t)values[r];
    }
    const bool keeps = holder->held_count < holder->keep;
    if (keeps) {
        holder->held[holder->held_count++] = chunk;
    }
    pthread_cond_broadcast(&holder->changed);
    pthread_mutex_unlock(&holder->lock);
    if (!keeps) {
        exec_chunk_release(chunk);
    }
}

static void holder_done(void *owner, struct exec_job *job)
{
    struct holder *holder = owner;

    (void)job;
    pthread_mutex_lock(&holder->lock);
    holder->is_done = true;
    pthread_cond_broadcast(&holder->changed);
    pthread_mutex_unlock(&holder->lock);
}

static const struct exec_job_events holder_events = {holder_schema, holder_chunk, holder_done};

static void holder_wait_done(struct holder *holder)
{
    pthread_mutex_lock(&holder->lock);
    while (!holder->is_done) {
        pthread_cond_wait(&holder->changed, &holder->lock);
    }
    pthread_mutex_unlock(&holder->lock);
}

static void holder_release(struct holder *holder, bool opens)
{
    struct exec_chunk *held[HELD_MAX];

    pthread_mutex_lock(&holder->lock);
    const uint32_t count = holder->held_count;
    memcpy(held, holder->held, count * sizeof(struct exec_chunk *));
    holder->held_count = 0;
    holder->keep = opens ? 0 : holder->keep;
    pthread_mutex_unlock(&holder->lock);
    for (uint32_t i = 0; i < count; i++) {
        exec_chunk_release(held[i]);
    }
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* Until the job waits for credit and has stopped moving. */
static void wait_parked(struct exec_job *job, struct exec_job_status *status)
{
    for (int i = 0; i < 2000; i++) {
        exec_job_status(job, status);
        if (status->waiting_for_credit) {
            return;
        }
        sleep_ms(5);
    }
    cr_assert_fail("the job never waited for credit");
}

static struct exec_job *submit(struct exec_engine *engine, struct holder *holder, int64_t rows,
                               const struct exec_job_options *options)
{
    struct spec_builder *b = malloc(sizeof *b);
    struct exec_job *job;
    struct exec_error err;

    cr_assert_not_null(b);
    spec_init(b);
    spec_generator(b, "sequence", rows, 0);
    if (options != NULL) {
        b->job.options = *options;
    }
    cr_assert_eq(exec_submit(engine, spec_job(b), &holder_events, holder, &job, &err), EXEC_OK,
                 "%s", err.detail);
    spec_fini(b);
    free(b);
    return job;
}

static void expect_all(const struct holder *holder, uint64_t rows)
{
    cr_expect_eq(holder->rows, rows);
    cr_expect_eq(holder->sum, rows * (rows - 1) / 2);
}

Test(result_sink, every_row_once)
{
    for (uint32_t workers = 1; workers <= 3; workers += 2) {
        struct exec_engine *engine = test_engine(workers, NULL);
        struct holder holder = {.keep = 0};
        struct exec_job *job = submit(engine, &holder, 1000000, NULL);

        holder_wait_done(&holder);
        cr_expect_eq(exec_job_error(job)->code, EXEC_OK, "%s", exec_job_error(job)->detail);
        expect_all(&holder, 1000000);
        exec_job_release(job);
        exec_engine_destroy(engine);
    }
}

Test(result_sink, small_chunks)
{
    struct exec_engine *engine = test_engine(2, NULL);
    struct holder holder = {.keep = 0};
    const struct exec_job_options options = {.batch_rows = 100};
    struct exec_job *job = submit(engine, &holder, 50000, &options);

    holder_wait_done(&holder);
    expect_all(&holder, 50000);
    cr_expect_leq(holder.rows_max, 100);
    exec_job_release(job);
    exec_engine_destroy(engine);
}

Test(result_sink, stalled_consumer_holds_no_worker)
{
    struct exec_engine *engine = test_engine(2, NULL);
    struct holder stalled = {.keep = HELD_MAX}, other = {.keep = 0};
    struct exec_job *job = submit(engine, &stalled, 20000000, NULL);
    struct exec_job_status status;

    wait_parked(job, &status);
    cr_expect_gt(status.result_chunks, 0);
    cr_expect_lt(status.rows_done, status.rows_total / 10, "first rows came late");
    cr_expect_lt(status.memory_bytes, 2u << 20);

    struct exec_job *second = submit(engine, &other, 500000, NULL);
    holder_wait_done(&other);
    expect_all(&other, 500000);
    cr_expect(!stalled.is_done);

    holder_release(&stalled, false); /* once more a few, then all */
    wait_parked(job, &status);
    holder_release(&stalled, true);
    holder_wait_done(&stalled);
    cr_expect_eq(exec_job_error(job)->code, EXEC_OK, "%s", exec_job_error(job)->detail);
    expect_all(&stalled, 20000000);
    exec_job_release(job);
    exec_job_release(second);
    exec_engine_destroy(engine);
}

Test(result_sink, cancel_while_parked)
{
    struct exec_engine *engine = test_engine(2, NULL);
    struct holder holder = {.keep = HELD_MAX};
    struct exec_job *job = submit(engine, &holder, INT64_C(1000000000000), NULL);
    struct exec_job_status status;

    wait_parked(job, &status);
    exec_job_cancel(job, EXEC_CANCELLED, "because");
    exec_job_cancel(job, EXEC_DEADLINE, "too late");
    holder_wait_done(&holder);
    cr_expect_eq(exec_job_error(job)->code, EXEC_CANCELLED);
    cr_expect_str_eq(exec_job_error(job)->detail, "because");
    holder_release(&holder, true);
    exec_job_release(job);
    exec_engine_destroy(engine);
}

Test(result_sink, deadline_while_parked)
{
    struct exec_engine *engine = test_engine(2, NULL);
    struct holder holder = {.keep = HELD_MAX};
    const struct exec_job_options options = {.timeout_ns = 300000000};
    struct exec_job *job = submit(engine, &holder, INT64_C(1000000000000), &options);
    struct exec_job_status status;

    holder_wait_done(&holder);
    cr_expect_eq(exec_job_error(job)->code, EXEC_DEADLINE);
    exec_job_status(job, &status);
    cr_expect_eq(status.state, EXEC_JOB_FAILED);
    cr_expect_geq(status.elapsed_ns, 290000000);
    holder_release(&holder, true);
    exec_job_release(job);
    exec_engine_destroy(engine);
}

Test(result_sink, deadline_while_running)
{
    struct exec_engine *engine = test_engine(2, NULL);
    struct holder holder = {.keep = 0};
    const struct exec_job_options options = {.timeout_ns = 100000000};
    struct exec_job *job = submit(engine, &holder, INT64_C(1000000000000), &options);

    holder_wait_done(&holder);
    cr_expect_eq(exec_job_error(job)->code, EXEC_DEADLINE);
    cr_expect_str_eq(exec_job_error(job)->detail, "the deadline of 100 ms has passed");
    exec_job_release(job);
    exec_engine_destroy(engine);
}

/* However quick the job would be. */
Test(result_sink, deadline_that_has_passed)
{
    struct exec_engine *engine = test_engine(2, NULL);
    const struct exec_job_options options = {.timeout_ns = 1};

    for (int i = 0; i < 200; i++) {
        struct holder holder = {.keep = 0};
        struct exec_job *job = submit(engine, &holder, 1, &options);
        holder_wait_done(&holder);
        cr_assert_eq(exec_job_error(job)->code, EXEC_DEADLINE);
        exec_job_release(job);
    }
    exec_engine_destroy(engine);
}

Test(result_sink, more_rows_than_allowed)
{
    struct exec_engine *engine = test_engine(2, NULL);
    struct holder holder = {.keep = 0};
    struct exec_job_options options = {.result_rows_max = 1000};
    struct exec_job *job = submit(engine, &holder, 1001, &options);

    holder_wait_done(&holder);
    cr_expect_eq(exec_job_error(job)->code, EXEC_LIMIT);
    cr_expect_not_null(
        strstr(exec_job_error(job)->detail, "more than 1000 rows (result_row_limit)"));
    exec_job_release(job);

    holder = (struct holder){.keep = 0};
    job = submit(engine, &holder, 1000, &options);
    holder_wait_done(&holder);
    cr_expect_eq(exec_job_error(job)->code, EXEC_OK);
    expect_all(&holder, 1000);
    exec_job_release(job);
    exec_engine_destroy(engine);
}

Test(result_sink, a_thousand_stalled_jobs)
{
    enum { STALLED = 1000 };
    struct exec_engine *engine = test_engine(2, NULL);
    struct holder *holders = calloc(STALLED, sizeof *holders);
    struct exec_job **jobs = calloc(STALLED, sizeof *jobs);
    struct holder further = {.keep = 0};
    struct exec_engine_counters counters;
    struct exec_job_status status;

    cr_assert_not_null(holders);
    cr_assert_not_null(jobs);
    for (int i = 0; i < STALLED; i++) {
        holders[i].keep = HELD_MAX;
        jobs[i] = submit(engine, &holders[i], 10000000, NULL);
    }
    for (int i = 0; i < STALLED; i++) {
        wait_parked(jobs[i], &status);
    }
    exec_engine_counters(engine, &counters);
    cr_expect_eq(counters.jobs_running, STALLED);
    cr_expect_lt(counters.memory_jobs_bytes / STALLED, 640u << 10);

    struct exec_job *job = submit(engine, &further, 1000000, NULL);
    holder_wait_done(&further);
    expect_all(&further, 1000000);
    exec_job_release(job);

    for (int i = 0; i < STALLED; i++) {
        exec_job_cancel(jobs[i], EXEC_CANCELLED, NULL);
    }
    for (int i = 0; i < STALLED; i++) {
        holder_wait_done(&holders[i]);
        holder_release(&holders[i], true);
        exec_job_release(jobs[i]);
    }
    /* The engine keeps its own reference until `done` has returned on its worker. */
    for (int ms = 0; ms < 10000; ms++) {
        exec_engine_counters(engine, &counters);
        if (counters.memory_jobs_bytes == 0) {
            break;
        }
        sleep_ms(1);
    }
    cr_expect_eq(counters.memory_jobs_bytes, 0);
    exec_engine_destroy(engine);
    free(holders);
    free(jobs);
}
