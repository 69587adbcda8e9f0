/* Goal:   whatever a job is refused and whenever it is stopped, it ends once, with an error that
 * says so, gives back every byte, and leaves the engine fit for the next; every scheduling policy
 * gives the same rows. Method: a plan with scans, filters, joins, an aggregate, a union and a sort
 * (a) under memory limits from hopeless to ample, (b) stopped by other threads at seeded moments,
 * many at once, (c) under every policy. The engine asserts that a job's account is 0 when it is
 * freed; the sum over jobs is checked here. */
#include "job_runner.h"
#include "spec_builder.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SCAN_ROWS = 60000, STORM_THREADS = 4, STORM_JOBS = 40 };

/* For v < 50 of one side and i < 40 of the other: counts by i of the pairs with v = i, those with
 * more than 0 rows, twice, in order. */
static void make_plan(struct spec_builder *b)
{
    uint32_t halves[2];

    spec_init(b);
    for (int half = 0; half < 2; half++) {
        const uint32_t left = spec_generator(b, "sequence", SCAN_ROWS, 0);
        const uint32_t low =
            spec_filter(b, left, spec_call2(b, "lt", spec_column(b, "v"), spec_i64(b, 500)));
        const uint32_t scan = spec_generator(b, "sequence", SCAN_ROWS, 0);
        const uint32_t right =
            spec_filter(b, scan, spec_call2(b, "lt", spec_column(b, "i"), spec_i64(b, 400)));
        const uint32_t join =
            spec_join(b, half == 0 ? EXEC_JOIN_INNER : EXEC_JOIN_LEFT, low, right);
        const uint32_t left_key = spec_column(b, "v");
        spec_on(b, left_key, spec_column(b, "i"));
        spec_group(b, join);
        spec_key(b, "v", spec_column_at(b, 2));
        spec_key(b, "s", spec_column_at(b, 8));
        spec_measure(b, EXEC_AGG_COUNT_STAR, 0, "n");
        spec_measure(b, EXEC_AGG_SUM, spec_column_at(b, 1), "total");
        halves[half] = b->rel_count;
    }
    const uint32_t both = spec_union(b, halves, 2);
    spec_sort(b, both, -1);
    spec_order(b, spec_column(b, "v"), EXEC_ASC_NULLS_LAST);
    spec_order(b, spec_column(b, "total"), EXEC_ASC_NULLS_LAST);
}

static struct spec_builder *new_plan(void)
{
    struct spec_builder *b = malloc(sizeof *b);
    cr_assert_not_null(b);
    make_plan(b);
    return b;
}

static void free_plan(struct spec_builder *b)
{
    spec_fini(b);
    free(b);
}

static void expect_clean(struct exec_engine *engine)
{
    struct exec_engine_counters counters;

    /* The engine's own reference goes just after `done`. */
    for (int i = 0; i < 1000; i++) {
        exec_engine_counters(engine, &counters);
        if (counters.memory_jobs_bytes == 0) {
            return;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    cr_expect_eq(counters.memory_jobs_bytes, 0);
}

static void expect_answer(const struct job_result *result)
{
    char row[128];

    cr_expect_eq(result->error.code, EXEC_OK, "%s", result->error.detail);
    cr_expect_eq(result->row_count, 900);
    for (uint64_t r = 0; r < result->row_count && r < 800; r++) {
        const unsigned v = (unsigned)r / 2;
        snprintf(row, sizeof row, "%u|s%u|60|%u", v, v % 100, 60 * v + 1000 * (59 * 60 / 2));
        cr_expect_str_eq(result->rows[r], row);
    }
}

Test(job_storm, memory_limits_from_hopeless_to_ample)
{
    struct exec_engine *engine = test_engine(2, NULL);
    struct spec_builder *b = new_plan();
    uint32_t refused = 0, answered = 0;

    for (uint64_t limit = 4096; limit < (64u << 20); limit = limit * 5 / 4) {
        struct job_result result;

        b->job.options.memory_limit_bytes = limit;
        job_run(engine, spec_job(b), &result);
        cr_expect(result.error.code == EXEC_OK || result.error.code == EXEC_MEMORY_BUDGET, "%s: %s",
                  exec_code_name(result.error.code), result.error.detail);
        cr_expect_eq(result.out_of_order, 0);
        refused += result.error.code == EXEC_MEMORY_BUDGET;
        if (result.error.code == EXEC_OK) {
            answered++;
            expect_answer(&result);
        } else {
            cr_expect_not_null(strstr(result.error.detail, "limit of the job"), "%s",
                               result.error.detail);
        }
        job_result_fini(&result);
        expect_clean(engine);
    }
    cr_expect_gt(refused, 5);
    cr_expect_gt(answered, 5);
    free_plan(b);
    exec_engine_destroy(engine);
}

Test(job_storm, every_policy)
{
    for (int policy = EXEC_POLICY_NUMA; policy <= EXEC_POLICY_STATIC; policy++) {
        struct exec_engine *engine = test_engine(3, NULL);
        struct spec_builder *b = new_plan();
        struct job_result result;

        b->job.options.policy = (enum exec_policy)policy;
        b->job.options.workers_max = policy == EXEC_POLICY_STEAL ? 1 : 0;
        job_run(engine, spec_job(b), &result);
        expect_answer(&result);
        job_result_fini(&result);
        free_plan(b);
        exec_engine_destroy(engine);
    }
}

/* ---- many at once ---- */

struct storm {
    pthread_t thread;
    struct exec_engine *engine;
    uint64_t random;
    uint32_t answered, stopped;
};

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t rows;
    uint32_t done;
};

static void waiter_schema(void *owner, struct exec_job *job, const struct exec_schema *schema)
{
    (void)owner;
    (void)job;
    (void)schema;
}

static void waiter_chunk(void *owner, struct exec_job *job, struct exec_chunk *chunk)
{
    struct waiter *waiter = owner;

    (void)job;
    pthread_mutex_lock(&waiter->lock);
    waiter->rows += chunk->row_count;
    pthread_mutex_unlock(&waiter->lock);
    exec_chunk_release(chunk);
}

static void waiter_done(void *owner, struct exec_job *job)
{
    struct waiter *waiter = owner;

    (void)job;
    pthread_mutex_lock(&waiter->lock);
    waiter->done++;
    pthread_cond_signal(&waiter->changed);
    pthread_mutex_unlock(&waiter->lock);
}

static uint32_t next_random(struct storm *storm, uint32_t bound)
{
    storm->random = storm->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((storm->random >> 33) % bound);
}

static void storm_job(struct storm *storm, struct spec_builder *b)
{
    static const struct exec_job_events events = {waiter_schema, waiter_chunk, waiter_done};
    struct waiter waiter = {.rows = 0};
    struct exec_job *job;
    struct exec_error err;
    const uint32_t how = next_random(storm, 4);

    b->job.options.timeout_ns = how == 1 ? 1 + next_random(storm, 4000000) : 0;
    b->job.options.morsel_rows = how == 2 ? 1024 : 0;
    cr_assert_eq(exec_submit(storm->engine, spec_job(b), &events, &waiter, &job, &err), EXEC_OK);
    if (how == 0) {
        nanosleep(&(struct timespec){.tv_nsec = next_random(storm, 4000000)}, NULL);
        exec_job_cancel(job, EXEC_CANCELLED, "storm");
    }
    pthread_mutex_lock(&waiter.lock);
    while (waiter.done == 0) {
        pthread_cond_wait(&waiter.changed, &waiter.lock);
    }
    pthread_mutex_unlock(&waiter.lock);
    const enum exec_code code = exec_job_error(job)->code;
    cr_expect(code == EXEC_OK || code == EXEC_CANCELLED || code == EXEC_DEADLINE, "%s",
              exec_job_error(job)->detail);
    cr_expect_eq(waiter.done, 1);
    if (code == EXEC_OK) {
        cr_expect_eq(waiter.rows, 900);
        storm->answered++;
    } else {
        storm->stopped++;
    }
    exec_job_release(job);
}

static void *storm_main(void *argument)
{
    struct storm *storm = argument;
    struct spec_builder *b = new_plan();

    for (int i = 0; i < STORM_JOBS; i++) {
        storm_job(storm, b);
    }
    free_plan(b);
    return NULL;
}

Test(job_storm, stopped_at_any_moment)
{
    struct exec_engine *engine = test_engine(3, NULL);
    struct storm storms[STORM_THREADS];
    uint32_t answered = 0, stopped = 0;

    for (int i = 0; i < STORM_THREADS; i++) {
        storms[i] = (struct storm){.engine = engine, .random = 77 + (uint64_t)i};
        cr_assert_eq(pthread_create(&storms[i].thread, NULL, storm_main, &storms[i]), 0);
    }
    for (int i = 0; i < STORM_THREADS; i++) {
        pthread_join(storms[i].thread, NULL);
        answered += storms[i].answered;
        stopped += storms[i].stopped;
    }
    cr_expect_gt(answered, 0);
    cr_expect_gt(stopped, 0);
    expect_clean(engine);
    exec_engine_destroy(engine);
}
