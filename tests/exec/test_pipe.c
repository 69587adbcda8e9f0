/* Goal:   a pipe loses and repeats nothing however often its morsels are suspended, for credit or
 * for time, in nested expanding operators; pipes start in the order of their dependencies; close,
 *         finish or abort, and ended happen exactly once, also when the job fails half-way or a
 * limit stops it. Method: operators made for the test on the real scheduler: a source of numbers
 * that counts its calls, two operators that hand on every batch several times, and a sink that adds
 * up, refuses at every third batch and is given room again by a second thread. */
#include "op/limit.h"
#include "op/pipe_life.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

enum { ROWS = 300000, COPIES = 3, PARKED_MAX = 4096, WORKERS_MAX = 3 };

static struct nu_topology topology;
static struct nu_page_pool *pool;
static struct nu_budget budget;
static struct sched *sched;
static struct sched_job sched_job;
static struct job_context job;
static struct job_worker workers[WORKERS_MAX];
static uint16_t worker_node[WORKERS_MAX];

static pthread_mutex_t end_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t end_changed = PTHREAD_COND_INITIALIZER;
static uint32_t ended_count;

/* ---- parts ---- */

struct numbers {
    struct op_source source;
    atomic_uint closed, started;
    atomic_uint *must_be_finished; /* at start; NULL: nothing */
};

static enum exec_code numbers_start(struct op_source *source, struct pipe *pipe,
                                    struct exec_error *err)
{
    struct numbers *numbers = (struct numbers *)source;

    (void)err;
    atomic_fetch_add(&numbers->started, 1);
    if (numbers->must_be_finished != NULL) {
        cr_expect_eq(atomic_load(numbers->must_be_finished), 1);
    }
    pipe_add_range(pipe, 0, ROWS / 2, 0, false);
    pipe_add_range(pipe, ROWS / 2, ROWS, 0, false);
    return EXEC_OK;
}

static enum push_result numbers_scan(struct op_source *source, struct pipe_run *run,
                                     struct sched_range *range, uint64_t unit_target)
{
    const uint64_t stop =
        range->end - range->begin > unit_target ? range->begin + unit_target : range->end;

    (void)source;
    while (range->begin < stop) {
        int64_t values[BATCH_ROWS];
        const uint64_t block = (range->begin / BATCH_ROWS + 1) * BATCH_ROWS;
        const uint64_t end = block < range->end ? block : range->end;
        const uint32_t count = (uint32_t)(end - range->begin);
        struct vec column = {.data = values, .kind = EXEC_TYPE_INT64};
        const struct batch batch = {
            .row_count = count, .sel_count = count, .columns = &column, .column_count = 1};

        for (uint32_t r = 0; r < count; r++) {
            values[r] = (int64_t)(range->begin + r);
        }
        const enum push_result result = pipe_push_source(run, &batch);
        if (result == PUSH_SUSPEND || result == PUSH_FAILED) {
            return result;
        }
        range->begin = end;
        if (result == PUSH_STOP) {
            return result;
        }
    }
    return PUSH_MORE;
}

static void numbers_close(struct op_source *source, struct job_context *context)
{
    (void)context;
    atomic_fetch_add(&((struct numbers *)source)->closed, 1);
}

static const struct source_kind numbers_kind = {
    .name = "numbers",
    .start = numbers_start,
    .scan = numbers_scan,
    .close = numbers_close,
    .unit_hint = BATCH_ROWS,
    .unit_align = BATCH_ROWS,
};

/* Hands on each batch COPIES times; every seventh call it claims its time is up. */
struct copier {
    struct operator op;
    atomic_uint calls;
    uint64_t fails_at; /* this call fails the job; 0: none */
};

static enum push_result copier_push(struct operator* op, struct pipe_run *run, uint32_t index,
                                    const struct batch *in)
{
    struct copier *copier = (struct copier *)op;
    struct op_cursor *cursor = &run->cursors[index];

    for (; cursor->position < COPIES; cursor->position++) {
        const unsigned call = atomic_fetch_add(&copier->calls, 1) + 1;
        struct exec_error err;

        if (call == copier->fails_at) {
            EXEC_FAIL(&err, EXEC_BAD_DATA, "call %u", call);
            job_fail(run->job, &err);
            return PUSH_FAILED;
        }
        if (call % 7 == 0) {
            run->out_of_time = true;
            return PUSH_SUSPEND;
        }
        const enum push_result result = pipe_push(run, index + 1, in);
        if (result != PUSH_MORE) {
            return result;
        }
    }
    return PUSH_MORE;
}

static const struct operator_kind copier_kind = {.name = "copier", .push = copier_push};

struct adder {
    struct op_sink sink;
    atomic_uint_fast64_t sum, rows;
    atomic_uint calls, finished, aborted;
    pthread_mutex_t lock;
    struct sched_range parked[PARKED_MAX];
    uint32_t parked_count;
    bool has_room;
};

static enum push_result adder_push(struct op_sink *sink, struct pipe_run *run, uint32_t index,
                                   const struct batch *batch)
{
    struct adder *adder = (struct adder *)sink;
    const int64_t *values = batch->columns[0].data;
    uint64_t sum = 0;

    (void)run;
    (void)index;
    if ((atomic_fetch_add(&adder->calls, 1) + 1) % 3 == 0) {
        return PUSH_SUSPEND;
    }
    for (uint32_t p = 0; p < batch->sel_count; p++) {
        sum += (uint64_t)values[batch_row(batch, p)];
    }
    atomic_fetch_add(&adder->sum, sum);
    atomic_fetch_add(&adder->rows, batch->sel_count);
    return PUSH_MORE;
}

static bool adder_park(struct op_sink *sink, uint32_t worker, const struct sched_range *range)
{
    struct adder *adder = (struct adder *)sink;
    bool parks;

    (void)worker;
    pthread_mutex_lock(&adder->lock);
    parks = adder->parked_count < PARKED_MAX && !sched_stopping(range->pipeline);
    if (parks) {
        adder->parked[adder->parked_count++] = *range;
    }
    pthread_mutex_unlock(&adder->lock);
    return parks;
}

static void adder_unpark_all(struct op_sink *sink)
{
    struct adder *adder = (struct adder *)sink;
    struct sched_range parked[64];
    uint32_t count;

    do {
        pthread_mutex_lock(&adder->lock);
        for (count = 0; count < 64 && adder->parked_count != 0; count++) {
            parked[count] = adder->parked[--adder->parked_count];
        }
        pthread_mutex_unlock(&adder->lock);
        for (uint32_t i = 0; i < count; i++) {
            sched_requeue(&parked[i]);
        }
    } while (count != 0);
}

static enum exec_code adder_finish(struct op_sink *sink, struct job_context *context,
                                   uint32_t worker, struct exec_error *err)
{
    (void)context;
    (void)worker;
    (void)err;
    atomic_fetch_add(&((struct adder *)sink)->finished, 1);
    return EXEC_OK;
}

static void adder_abort(struct op_sink *sink, struct job_context *context)
{
    (void)context;
    atomic_fetch_add(&((struct adder *)sink)->aborted, 1);
}

static const struct sink_kind adder_kind = {
    .name = "adder",
    .push = adder_push,
    .park = adder_park,
    .unpark_all = adder_unpark_all,
    .finish = adder_finish,
    .abort = adder_abort,
};

static void pipe_ended(struct pipe *pipe, uint32_t worker)
{
    (void)pipe;
    (void)worker;
    pthread_mutex_lock(&end_lock);
    ended_count++;
    pthread_cond_signal(&end_changed);
    pthread_mutex_unlock(&end_lock);
}

/* ---- the frame ---- */

static void begin(uint32_t worker_count)
{
    const struct sched_config config = {
        .topology = &topology, .workers = worker_count, .policy = EXEC_POLICY_NUMA, .seed = 1};
    char why[256];

    cr_assert_eq(nu_topology_read(&topology, NULL, why, sizeof why), 0);
    cr_assert_eq(nu_page_pool_create(&topology, 0, &pool), 0);
    cr_assert_eq(sched_create(&config, &sched), 0);
    nu_budget_init(&budget, "test", UINT64_MAX, NULL);
    job_context_init(&job, pool, &budget, UINT64_MAX, worker_count, worker_node, 1, workers);
    memset(&sched_job, 0, sizeof sched_job);
    sched_job_init(sched, &sched_job);
    sched_job.policy = EXEC_POLICY_NUMA;
    job.sched_job = &sched_job;
    ended_count = 0;
}

static void end(void)
{
    sched_destroy(sched);
    job_context_fini(&job);
    cr_expect_eq(nu_budget_used(&budget), 0);
    nu_page_pool_destroy(pool);
}

/* Gives the sinks room again and again until `count` pipes have ended. */
static void wait_ended(uint32_t count, struct adder *const *adders, uint32_t adder_count)
{
    bool over = false;

    while (!over) {
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        for (uint32_t i = 0; i < adder_count; i++) {
            adder_unpark_all(&adders[i]->sink);
        }
        pthread_mutex_lock(&end_lock);
        over = ended_count >= count;
        pthread_mutex_unlock(&end_lock);
    }
    cr_expect_eq(ended_count, count);
}

static void numbers_init(struct numbers *numbers)
{
    memset(numbers, 0, sizeof *numbers);
    numbers->source.kind = &numbers_kind;
}

static void copier_init(struct copier *copier)
{
    memset(copier, 0, sizeof *copier);
    copier->op.kind = &copier_kind;
}

static void adder_init(struct adder *adder)
{
    memset(adder, 0, sizeof *adder);
    adder->sink.kind = &adder_kind;
    pthread_mutex_init(&adder->lock, NULL);
}

static struct numbers numbers[2];
static struct copier copiers[2];
static struct adder adders[2];

static struct pipe *make_pipe(uint32_t which, bool expands)
{
    numbers_init(&numbers[which]);
    adder_init(&adders[which]);
    struct pipe *pipe = pipe_create(&job, &numbers[which].source, 0, pipe_ended);
    cr_assert_not_null(pipe);
    if (expands) {
        copier_init(&copiers[0]);
        copier_init(&copiers[1]);
        cr_assert(pipe_append(pipe, &copiers[0].op));
        cr_assert(pipe_append(pipe, &copiers[1].op));
    }
    return pipe;
}

/* ---- tests ---- */

Test(pipe, suspensions_lose_and_repeat_nothing)
{
    const uint64_t all = (uint64_t)ROWS * (ROWS - 1) / 2;

    for (uint32_t count = 1; count <= WORKERS_MAX; count += 2) {
        struct adder *const given[] = {&adders[0]};
        begin(count);
        struct pipe *pipe = make_pipe(0, true);
        pipe_set_sink(pipe, &adders[0].sink);
        pipe_launch(pipe, 0);
        wait_ended(1, given, 1);
        cr_expect_eq(atomic_load(&adders[0].sum), all * COPIES * COPIES);
        cr_expect_eq(atomic_load(&adders[0].rows), (uint64_t)ROWS * COPIES * COPIES);
        cr_expect_eq(atomic_load(&numbers[0].source.rows_out), ROWS);
        cr_expect_eq(atomic_load(&copiers[0].op.rows_out), ROWS * COPIES);
        cr_expect_eq(atomic_load(&copiers[1].op.rows_out), ROWS * COPIES * COPIES);
        cr_expect_eq(atomic_load(&adders[0].sink.rows_in), ROWS * COPIES * COPIES);
        cr_expect_eq(atomic_load(&numbers[0].closed), 1);
        cr_expect_eq(atomic_load(&adders[0].finished), 1);
        cr_expect_eq(atomic_load(&adders[0].aborted), 0);
        end();
    }
}

Test(pipe, a_failure_aborts_once)
{
    struct adder *const given[] = {&adders[0], &adders[1]};

    begin(2);
    struct pipe *first = make_pipe(0, true);
    struct pipe *second = make_pipe(1, false);
    copiers[1].fails_at = 500;
    pipe_set_sink(first, &adders[0].sink);
    pipe_set_sink(second, &adders[1].sink);
    cr_assert(pipe_run_after(second, first));
    pipe_launch(second, 0);
    pipe_launch(first, 0);
    wait_ended(2, given, 2);
    cr_expect_eq(job.error.code, EXEC_BAD_DATA);
    cr_expect_str_eq(job.error.detail, "call 500");
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(atomic_load(&numbers[i].closed), 1);
        cr_expect_eq(atomic_load(&numbers[i].started), i == 0);
        cr_expect_eq(atomic_load(&adders[i].finished), 0);
        cr_expect_eq(atomic_load(&adders[i].aborted), 1);
    }
    end();
}

Test(pipe, dependencies_and_a_shared_sink)
{
    struct adder *const given[] = {&adders[0], &adders[1]};
    const uint64_t all = (uint64_t)ROWS * (ROWS - 1) / 2;

    begin(3);
    struct pipe *first = make_pipe(0, false);
    struct pipe *second = make_pipe(1, false);
    struct numbers third_numbers;
    numbers_init(&third_numbers);
    struct pipe *third = pipe_create(&job, &third_numbers.source, 0, pipe_ended);
    cr_assert_not_null(third);
    numbers[1].must_be_finished = &adders[0].finished;
    pipe_set_sink(first, &adders[0].sink);
    pipe_set_sink(second, &adders[1].sink);
    pipe_set_sink(third, &adders[1].sink);
    cr_assert(pipe_run_after(second, first));
    pipe_launch(second, 0);
    pipe_launch(third, 0);
    pipe_launch(first, 0);
    wait_ended(3, given, 2);
    cr_expect_eq(atomic_load(&adders[0].sum), all);
    cr_expect_eq(atomic_load(&adders[1].sum), all * 2);
    cr_expect_eq(atomic_load(&adders[1].finished), 1);
    end();
}

Test(pipe, a_limit_delivers_exactly_its_rows)
{
    for (uint32_t round = 0; round < 20; round++) {
        struct adder *const given[] = {&adders[0]};
        begin(3);
        struct pipe *pipe = make_pipe(0, true);
        cr_assert(pipe_append(pipe, limit_create(&job, 1, 100 * round, 10000 + round)));
        pipe_set_sink(pipe, &adders[0].sink);
        pipe_launch(pipe, 0);
        wait_ended(1, given, 1);
        cr_expect_eq(atomic_load(&adders[0].rows), 10000 + round);
        cr_expect_eq(atomic_load(&adders[0].finished), 1);
        end();
    }
}
