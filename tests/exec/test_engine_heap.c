/* Goal:   after warm-up, workers take nothing from the heap, whatever jobs they run. Method: the
 * linker routes every allocation of this program's own objects through counters (--wrap, see
 * tests.cmake), which count those made on worker threads; a thousand jobs: joins, aggregates, sorts
 * and filters. */
#include "job_runner.h"
#include "spec_builder.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 50, JOBS = 1000, KINDS = 4 };

static _Atomic uint64_t on_workers, elsewhere;

static void count(void)
{
    static _Thread_local int is_worker; /* 1: no, 2: yes */
    if (is_worker == 0) {
        char name[16] = "";
        pthread_getname_np(pthread_self(), name, sizeof name);
        is_worker = strncmp(name, "worker-", 7) == 0 ? 2 : 1;
    }
    if (is_worker == 2) {
        on_workers++;
    } else {
        elsewhere++;
    }
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    count();
    return __real_malloc(bytes);
}
void *__wrap_calloc(size_t items, size_t bytes)
{
    count();
    return __real_calloc(items, bytes);
}
void *__wrap_realloc(void *old, size_t bytes)
{
    count();
    return __real_realloc(old, bytes);
}
void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    count();
    return __real_aligned_alloc(align, bytes);
}

static void describe(struct spec_builder *b, uint32_t kind)
{
    const uint32_t rows = spec_generator(b, "skewed", 20000, 7);
    switch (kind) {
        case 0: {
            const uint32_t build = spec_generator(b, "sequence", 1000, 1);
            const uint32_t join = spec_join(b, EXEC_JOIN_INNER, rows, build);
            spec_on(b, spec_side_column(b, 0, "k"), spec_side_column(b, 1, "i"));
            spec_group(b, join);
            spec_measure(b, EXEC_AGG_COUNT, spec_column(b, "k"), "matches");
            break;
        }
        case 1:
            spec_group(b, rows);
            spec_key(b, "k", spec_column(b, "k"));
            spec_measure(b, EXEC_AGG_SUM, spec_column(b, "i"), "sum");
            break;
        case 2:
            spec_sort(b, rows, 10);
            spec_order(b, spec_column(b, "k"), EXEC_ASC_NULLS_LAST);
            break;
        default: spec_filter(b, rows, spec_call2(b, "lt", spec_column(b, "i"), spec_i64(b, 10)));
    }
}

/* The runner's callbacks keep rows as text, on workers: this one only counts them. */
struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool is_done;
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
    struct waiter *waiter = owner;
    (void)job;
    pthread_mutex_lock(&waiter->lock);
    waiter->is_done = true;
    pthread_cond_signal(&waiter->ended);
    pthread_mutex_unlock(&waiter->lock);
}

static void run(struct exec_engine *engine, const struct exec_job_spec *spec)
{
    static const struct exec_job_events events = {on_schema, on_chunk, on_done};
    struct waiter waiter = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
    struct exec_job *job;
    struct exec_error err;

    cr_assert_eq(exec_submit(engine, spec, &events, &waiter, &job, &err), EXEC_OK, "%s",
                 err.detail);
    pthread_mutex_lock(&waiter.lock);
    while (!waiter.is_done) {
        pthread_cond_wait(&waiter.ended, &waiter.lock);
    }
    pthread_mutex_unlock(&waiter.lock);
    cr_assert_eq(exec_job_error(job)->code, EXEC_OK, "%s", exec_job_error(job)->detail);
    exec_job_release(job);
}

Test(engine_heap, a_thousand_jobs_allocate_nothing_on_workers)
{
    struct exec_engine *engine = test_engine(2, NULL);
    struct spec_builder *builders = calloc(KINDS, sizeof *builders);

    cr_assert_not_null(builders);
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        spec_init(&builders[kind]);
        describe(&builders[kind], kind);
    }
    for (uint32_t i = 0; i < WARM_UP; i++) {
        run(engine, spec_job(&builders[i % KINDS]));
    }
    const uint64_t before = on_workers;
    cr_assert_gt(elsewhere, 0, "the counters count");
    for (uint32_t i = 0; i < JOBS; i++) {
        run(engine, spec_job(&builders[i % KINDS]));
    }
    cr_assert_eq(on_workers - before, 0, "%lu allocations on workers",
                 (unsigned long)(on_workers - before));
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        spec_fini(&builders[kind]);
    }
    free(builders);
    exec_engine_destroy(engine);
}
