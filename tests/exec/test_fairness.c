/* Goal:   of two jobs that never end each gets its weight of the workers' time, to a tenth; and a
 *         new short job beside one that never ends is not starved.
 * Method: two endless jobs of priorities 4 and 0 on two workers, their shares between two moments,
 *         in windows of a third of a second until one fits: a machine that does something else for
 *         a while must not decide. Then twenty short jobs, one after another, must end. Latencies
 *         are tests/bench/bench_fairness.c's. */
#include "job_runner.h"
#include "spec_builder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

enum { PRIORITY = 4, WINDOWS = 30, SHORT_JOBS = 20 };

struct endless {
    struct spec_builder *spec;
    struct exec_job *job;
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
    sem_post(&((struct endless *)owner)->done);
}

static struct spec_builder *counting(int64_t rows, int32_t priority)
{
    struct spec_builder *b = malloc(sizeof *b);

    cr_assert_not_null(b);
    spec_init(b);
    spec_generator(b, "sequence", rows, 0);
    spec_group(b, 1);
    spec_measure(b, EXEC_AGG_COUNT_STAR, 0, "n");
    b->job.options.priority = priority;
    return b;
}

static void endless_start(struct endless *one, struct exec_engine *engine, int32_t priority)
{
    static const struct exec_job_events events = {
        .schema = on_schema, .chunk = on_chunk, .done = on_done};
    struct exec_error err;

    one->spec = counting(1000000000000, priority);
    sem_init(&one->done, 0, 0);
    cr_assert_eq(exec_submit(engine, spec_job(one->spec), &events, one, &one->job, &err), EXEC_OK,
                 "%s", err.detail);
}

static void endless_stop(struct endless *one)
{
    exec_job_cancel(one->job, EXEC_CANCELLED, NULL);
    while (sem_wait(&one->done) != 0) {
    }
    sem_destroy(&one->done);
    exec_job_release(one->job);
    spec_fini(one->spec);
    free(one->spec);
}

static uint64_t busy_ns(const struct endless *one)
{
    struct exec_job_status status;
    exec_job_status(one->job, &status);
    return status.busy_ns;
}

Test(fairness, shares_follow_priorities_and_short_jobs_get_through)
{
    struct exec_engine *engine = test_engine(2, NULL);
    struct endless high, low;
    const double weight = pow(1.25, PRIORITY), fair = weight / (weight + 1);
    double share = 0;

    endless_start(&high, engine, PRIORITY);
    endless_start(&low, engine, 0);
    for (int i = 0; i < WINDOWS && (i == 0 || fabs(share / fair - 1) > 0.1); i++) {
        const uint64_t high_ns = busy_ns(&high), low_ns = busy_ns(&low);
        nanosleep(&(struct timespec){.tv_nsec = 330000000}, NULL);
        const double had = (double)(busy_ns(&high) - high_ns);
        share = had / (had + (double)(busy_ns(&low) - low_ns));
    }
    cr_expect_leq(fabs(share / fair - 1), 0.1, "share %.3f, by weight %.3f", share, fair);

    struct spec_builder *short_job = counting(10000, 0);
    for (int i = 0; i < SHORT_JOBS; i++) {
        struct job_result result;
        job_run(engine, spec_job(short_job), &result);
        cr_expect_eq(result.error.code, EXEC_OK, "%s", result.error.detail);
        cr_expect_eq(result.row_count, 1);
        job_result_fini(&result);
    }
    spec_fini(short_job);
    free(short_job);
    endless_stop(&high);
    endless_stop(&low);
    exec_engine_destroy(engine);
}
