/* Fairness between jobs, measured on whole jobs of the real engine:
 *
 *   beside    short jobs one after another, alone and beside one job that never ends
 *   equal     many equal jobs submitted at once: submit to end of the slowest, beside the time that
 *             all of them take one after another
 *   priority  two jobs that never end, of different priority: their shares of worker time, beside
 *             those of their weights (1.25 a step)
 *
 * bench_fairness [workers] prints all three; `bench_fairness smoke` is a life sign for ctest. */
#include "spec_builder.h"

#include "exec/exec.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ENDLESS_JOBS_MAX = 2, EQUAL_JOBS = 100 };

static uint64_t wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct sizes {
    int64_t short_rows, equal_rows;
    uint32_t short_jobs;
    double share_seconds;
};

/* ---- jobs ------------------------------------------------------------------------------------ */

struct one_job {
    struct spec_builder *spec;
    struct exec_job *job;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool is_done;
    uint64_t submitted_ns, ended_ns;
};

static void on_done(void *owner, struct exec_job *job)
{
    struct one_job *one = owner;

    (void)job;
    pthread_mutex_lock(&one->lock);
    one->ended_ns = wall_ns();
    one->is_done = true;
    pthread_cond_signal(&one->ended);
    pthread_mutex_unlock(&one->lock);
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

/* Counts the generated rows whose number is divisible by 7 by the rest of 11: some 20 ns a row. */
static void one_init(struct one_job *one, int64_t rows)
{
    struct spec_builder *b = malloc(sizeof *b);

    *one = (struct one_job){.spec = b};
    pthread_mutex_init(&one->lock, NULL);
    pthread_cond_init(&one->ended, NULL);
    spec_init(b);
    spec_generator(b, "sequence", rows, 0);
    const uint32_t seven = spec_call2(b, "modulo", spec_column(b, "i"), spec_i64(b, 7));
    spec_filter(b, 1, spec_call2(b, "eq", seven, spec_i64(b, 0)));
    spec_group(b, 2);
    spec_key(b, "k", spec_call2(b, "modulo", spec_column(b, "i"), spec_i64(b, 11)));
    spec_measure(b, EXEC_AGG_COUNT_STAR, 0, "n");
}

static void one_fini(struct one_job *one)
{
    spec_fini(one->spec);
    free(one->spec);
    pthread_cond_destroy(&one->ended);
    pthread_mutex_destroy(&one->lock);
}

static void one_start(struct one_job *one, struct exec_engine *engine)
{
    static const struct exec_job_events events = {
        .schema = on_schema, .chunk = on_chunk, .done = on_done};
    struct exec_error err;

    one->is_done = false;
    one->submitted_ns = wall_ns();
    if (exec_submit(engine, spec_job(one->spec), &events, one, &one->job, &err) != EXEC_OK) {
        fprintf(stderr, "bench_fairness: %s\n", err.detail);
        exit(1);
    }
}

/* Milliseconds from submit to end. */
static double one_wait(struct one_job *one)
{
    pthread_mutex_lock(&one->lock);
    while (!one->is_done) {
        pthread_cond_wait(&one->ended, &one->lock);
    }
    pthread_mutex_unlock(&one->lock);
    exec_job_release(one->job);
    return (double)(one->ended_ns - one->submitted_ns) / 1e6;
}

static uint64_t one_busy_ns(const struct one_job *one)
{
    struct exec_job_status status;
    exec_job_status(one->job, &status);
    return status.busy_ns;
}

static void one_stop(struct one_job *one)
{
    exec_job_cancel(one->job, EXEC_CANCELLED, NULL);
    (void)one_wait(one);
}

static void sleep_seconds(double seconds)
{
    const struct timespec time = {.tv_sec = (time_t)seconds,
                                  .tv_nsec = (long)((seconds - floor(seconds)) * 1e9)};
    nanosleep(&time, NULL);
}

/* ---- short jobs beside a long one ------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Runs the job `count` times; sorted milliseconds in ms_out. */
static void short_jobs(struct exec_engine *engine, const struct sizes *sizes, int64_t rows,
                       double *ms_out)
{
    struct one_job one;

    one_init(&one, rows);
    for (uint32_t i = 0; i < sizes->short_jobs; i++) {
        one_start(&one, engine);
        ms_out[i] = one_wait(&one);
    }
    one_fini(&one);
    qsort(ms_out, sizes->short_jobs, sizeof *ms_out, compare);
}

static void bench_beside(struct exec_engine *engine, const struct sizes *sizes, int64_t rows)
{
    const uint32_t count = sizes->short_jobs;
    double *alone = calloc(count, sizeof *alone), *beside = calloc(count, sizeof *beside);
    struct one_job endless;

    short_jobs(engine, sizes, rows, alone); /* warm up */
    short_jobs(engine, sizes, rows, alone);
    one_init(&endless, 1000000000000);
    one_start(&endless, engine);
    sleep_seconds(sizes->share_seconds / 4); /* until it has had its share of a new job */
    short_jobs(engine, sizes, rows, beside);
    one_stop(&endless);
    one_fini(&endless);
    const uint32_t p99 = count * 99 / 100;
    printf("beside   %u short jobs: alone median %.2f ms, p99 %.2f ms; beside a long one median "
           "%.2f ms, p99 %.2f ms: p99 is %.2f times the median alone, %.2f times the p99 alone\n",
           count, alone[count / 2], alone[p99], beside[count / 2], beside[p99],
           beside[p99] / alone[count / 2], beside[p99] / alone[p99]);
    free(alone);
    free(beside);
}

/* ---- equal jobs at once ---------------------------------------------------------------------- */

static void bench_equal(struct exec_engine *engine, const struct sizes *sizes)
{
    struct one_job *jobs = calloc(EQUAL_JOBS, sizeof *jobs);
    double one_ms = 0, slowest_ms = 0, fastest_ms = INFINITY;

    for (uint32_t i = 0; i < EQUAL_JOBS; i++) {
        one_init(&jobs[i], sizes->equal_rows);
    }
    for (uint32_t i = 0; i < EQUAL_JOBS; i++) { /* one after another: what the work is */
        one_start(&jobs[i], engine);
        one_ms += one_wait(&jobs[i]);
    }
    for (uint32_t i = 0; i < EQUAL_JOBS; i++) {
        one_start(&jobs[i], engine);
    }
    for (uint32_t i = 0; i < EQUAL_JOBS; i++) {
        const double ms = one_wait(&jobs[i]);
        slowest_ms = ms > slowest_ms ? ms : slowest_ms;
        fastest_ms = ms < fastest_ms ? ms : fastest_ms;
        one_fini(&jobs[i]);
    }
    printf("equal    %d jobs of %.2f ms alone: at once the slowest takes %.1f ms, the fastest "
           "%.1f ms; fair is %.1f ms: %.2f times\n",
           EQUAL_JOBS, one_ms / EQUAL_JOBS, slowest_ms, fastest_ms, one_ms, slowest_ms / one_ms);
    free(jobs);
}

/* ---- priorities ------------------------------------------------------------------------------ */

static void bench_priority(struct exec_engine *engine, const struct sizes *sizes, int32_t priority)
{
    struct one_job jobs[ENDLESS_JOBS_MAX];
    uint64_t before[ENDLESS_JOBS_MAX], had[ENDLESS_JOBS_MAX];
    const double weight = pow(1.25, priority), fair = weight / (weight + 1);

    for (int i = 0; i < ENDLESS_JOBS_MAX; i++) {
        one_init(&jobs[i], 1000000000000);
        jobs[i].spec->job.options.priority = i == 0 ? priority : 0;
        one_start(&jobs[i], engine);
    }
    sleep_seconds(sizes->share_seconds / 4); /* both have had what a new job gets */
    for (int i = 0; i < ENDLESS_JOBS_MAX; i++) {
        before[i] = one_busy_ns(&jobs[i]);
    }
    sleep_seconds(sizes->share_seconds);
    for (int i = 0; i < ENDLESS_JOBS_MAX; i++) {
        had[i] = one_busy_ns(&jobs[i]) - before[i];
    }
    for (int i = 0; i < ENDLESS_JOBS_MAX; i++) {
        one_stop(&jobs[i]);
        one_fini(&jobs[i]);
    }
    const double share = (double)had[0] / (double)(had[0] + had[1]);
    printf("priority %+d beside 0: share of worker time %.3f, by weight %.3f: %+.1f %%\n",
           (int)priority, share, fair, 100 * (share / fair - 1));
}

/* On a busy machine: `chrt -r 10 bench_fairness`. The workers then keep their CPUs for a time slice
 * of 100 ms, so this thread, which hands out jobs and sleeps, goes above them. */
static void above_workers(void)
{
    struct sched_param param;
    int policy;

    if (pthread_getschedparam(pthread_self(), &policy, &param) == 0 && policy == SCHED_RR) {
        param.sched_priority++;
        (void)pthread_setschedparam(pthread_self(), policy, &param);
    }
}

int main(int argc, char **argv)
{
    const bool smoke = argc > 1 && strcmp(argv[1], "smoke") == 0;
    const struct sizes full = {1000000, 2000000, 300, 2}, small = {20000, 20000, 10, 0.05};
    const struct sizes *sizes = smoke ? &small : &full;
    const struct exec_engine_config config = {.workers = smoke      ? 2
                                                         : argc > 1 ? (uint32_t)atoi(argv[1])
                                                                    : 0};
    struct exec_engine *engine = NULL;
    struct exec_error err;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (exec_engine_create(&config, &engine, &err) != EXEC_OK) {
        fprintf(stderr, "bench_fairness: %s\n", err.detail);
        return 1;
    }
    above_workers();
    printf("%u workers\n", exec_engine_worker_count(engine));
    for (int64_t rows = sizes->short_rows / 100; rows <= sizes->short_rows; rows *= 10) {
        bench_beside(engine, sizes, rows);
    }
    bench_equal(engine, sizes);
    for (int32_t priority = smoke ? 10 : 1; priority <= 10; priority += 3) {
        bench_priority(engine, sizes, priority);
    }
    exec_engine_destroy(engine);
    return 0;
}
